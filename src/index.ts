/**
 * An immutable agent core for Effect: state as a value, one loop, conversations that are legal by construction.
 *
 * @since 0.1.0
 */

/**
 * An agent: a model with instructions and tools, and a loop that goes on until it has an answer.
 *
 * @since 0.1.0
 */
export * as Agent from "./agent/Agent.ts"

/**
 * The error of a run: what went wrong, and the state it went wrong in.
 *
 * @since 0.1.0
 */
export * as AgentError from "./domain/AgentError.ts"

/**
 * What happened in a run, one value for each thing.
 *
 * @since 0.1.0
 */
export * as AgentEvent from "./domain/AgentEvent.ts"

/**
 * Who of a group begins a run.
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
 * Where an agent stands.
 *
 * @since 0.1.0
 */
export * as AgentStatus from "./domain/AgentStatus.ts"

/**
 * How much of a conversation an agent's model is sent.
 *
 * @since 0.1.0
 */
export * as ContextWindow from "./agent/ContextWindow.ts"

/**
 * A conversation that can't be broken: turns own their calls, and calls own their results.
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
 * What may pass: guardrails on what users say, on answers, on calls and their results, and on handoffs.
 *
 * @since 0.1.0
 */
export * as Guardrail from "./agent/Guardrail.ts"

/**
 * Several agents that hold one conversation: who starts, and how they collaborate.
 *
 * @since 0.1.0
 */
export * as Group from "./handoff/Group.ts"

/**
 * The offer to a model that another agent take the conversation over.
 *
 * @since 0.1.0
 */
export * as Handoff from "./handoff/Handoff.ts"

/**
 * How the agents of a group collaborate, as an immutable value.
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
 * Scoped resources over a conversation: what entering sets up, and what leaving undoes.
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
 * When a run stops before its model has nothing more to do.
 *
 * @since 0.1.0
 */
export * as StopWhen from "./agent/StopWhen.ts"

/**
 * Pieces of the system prompt that are added while a conversation goes on.
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
 * What a run did, for people to read: as a Markdown log, as a diagram, and as a file that grows while the run goes.
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
