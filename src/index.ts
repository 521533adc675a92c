/**
 * An immutable agent core for Effect: state as a value, one loop, conversations that are legal by construction.
 *
 * @since 0.1.0
 */

/**
 * An agent: a model with instructions and tools, and a loop that continues until there is an answer.
 *
 * @since 0.1.0
 */
export * as Agent from "./agent/Agent.ts"

/**
 * The error of a run: the reason, and the state in which the run failed.
 *
 * @since 0.1.0
 */
export * as AgentError from "./domain/AgentError.ts"

/**
 * Events: what happened in a run, as data.
 *
 * @since 0.1.0
 */
export * as AgentEvent from "./domain/AgentEvent.ts"

/**
 * Pickers: which agent of a group begins a run.
 *
 * @since 0.1.0
 */
export * as AgentPicker from "./handoff/AgentPicker.ts"

/**
 * The whole of an agent's run as an immutable value, what it needs next, and how events change it.
 *
 * @since 0.1.0
 */
export * as AgentState from "./domain/AgentState.ts"

/**
 * The status of a state: what its run needs next, or how it ended.
 *
 * @since 0.1.0
 */
export * as AgentStatus from "./domain/AgentStatus.ts"

/**
 * How much of a conversation each request sends to an agent's model.
 *
 * @since 0.1.0
 */
export * as ContextWindow from "./agent/ContextWindow.ts"

/**
 * Conversations: lists of turns in which each call holds its one result once it is settled.
 *
 * @since 0.1.0
 */
export * as Conversation from "./domain/Conversation.ts"

/**
 * Agents that talk to each other, each with a conversation of its own.
 *
 * @since 0.1.0
 */
export * as Dialogue from "./handoff/Dialogue.ts"

/**
 * Guardrails: checks of what users say, of answers, of calls and their results, and of handoffs.
 *
 * @since 0.1.0
 */
export * as Guardrail from "./agent/Guardrail.ts"

/**
 * Groups: several agents that hold one conversation by rules of yours.
 *
 * @since 0.1.0
 */
export * as Group from "./handoff/Group.ts"

/**
 * Handoffs: offers to a model that another agent takes the conversation over.
 *
 * @since 0.1.0
 */
export * as Handoff from "./handoff/Handoff.ts"

/**
 * Policies: which agent of a group continues after another, and what crosses at a handoff.
 *
 * @since 0.1.0
 */
export * as HandoffPolicy from "./handoff/HandoffPolicy.ts"

/**
 * The tools of an MCP server as a toolkit of an agent.
 *
 * @since 0.1.0
 */
export * as McpToolkit from "./agent/definition/McpToolkit.ts"

/**
 * Modes: another prompt, tools, model and values for an agent, for a while; leaving a mode undoes them.
 *
 * @since 0.1.0
 */
export * as Mode from "./modes/Mode.ts"

/**
 * Moves from mode to mode, as data.
 *
 * @since 0.1.0
 */
export * as ModeTransition from "./domain/ModeTransition.ts"

/**
 * A plan: agents and effects as the nodes of a graph. Each starts as soon as its own inputs are there.
 *
 * @since 0.1.0
 */
export * as Plan from "./handoff/Plan.ts"

/**
 * A conversation that is held for you: the current state of an agent or a group, and the runs that change it.
 *
 * @since 0.1.0
 */
export * as Session from "./agent/Session.ts"

/**
 * Conditions that end a run before its model is done, such as limits on steps, tokens and cost.
 *
 * @since 0.1.0
 */
export * as StopWhen from "./agent/StopWhen.ts"

/**
 * Changes of the system prompt during a conversation.
 *
 * @since 0.1.0
 */
export * as SystemPrompt from "./modes/SystemPrompt.ts"

/**
 * How a tool is run, as an annotation on the tool.
 *
 * @since 0.1.0
 */
export * as ToolPolicy from "./agent/definition/ToolPolicy.ts"

/**
 * What a run did, for people: as a Markdown log, as a diagram, and as a file that grows during the run.
 *
 * @since 0.1.0
 */
export * as Trace from "./agent/trace/Trace.ts"

/**
 * Tokens spent; a number that no provider reported stays unknown.
 *
 * @since 0.1.0
 */
export * as Usage from "./domain/Usage.ts"
