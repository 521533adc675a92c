/**
 * The one recursive value of Troupe: a state holds a conversation, whose calls may hold the state of another agent.
 *
 * The schemas refer to each other, so they are in one file; `Conversation` and `AgentState` hold their functions.
 *
 * 1. An assistant turn owns its calls and a call owns its result, so a result without a call, a second result, and a
 *    result in the wrong place have no representation.
 * 2. A call keeps its place among the parts of its turn: parts are in the model's own order.
 * 3. Everything here is data that survives JSON; agents, tools and modes appear by name.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import * as Schema from "effect/Schema"
import * as AgentStatus from "./AgentStatus.ts"
import { Count } from "./Count.ts"
import { ForgottenIds } from "./ForgottenIds.ts"
import { Isolation, isWithin } from "./Isolation.ts"
import { Pending as PendingTransition } from "./ModeTransition.ts"
import * as Part from "./Part.ts"
import { Run } from "./RunRecord.ts"
import { Settings } from "./Settings.ts"
import { Models } from "./Spending.ts"
import { fits, Summarized } from "./Summarized.ts"
import * as Usage from "./Usage.ts"

/**
 * Schema for how a call ended.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Outcome = Schema.Literals(["Succeeded", "Failed", "Denied", "Interrupted", "HandedOff"])

/**
 * How a call ended. `Interrupted` means that its handler was cut short, and what it had done by then is unknown; or that it never started,
 * for example because its run, its response or its mode ended first.
 */
export type Outcome = typeof Outcome.Type

/** The call waits for its turn to run. */
export interface Pending extends Schema.Schema.Type<typeof CallState.cases.Pending> {}
/** The call runs only when somebody approves it. `judged` names the guardrails that have let its parameters pass, if a run asked them. */
export interface AwaitingApproval extends Schema.Schema.Type<typeof CallState.cases.AwaitingApproval> {}
/**
 * Somebody approved the call; it waits for its turn to run. `judged` names the guardrails that have let its parameters pass: before the
 * approval was requested, or when the approval brought other parameters.
 */
export interface Approved extends Schema.Schema.Type<typeof CallState.cases.Approved> {}
/** The handler has ended without a result: somebody outside of the run gives it later. */
export interface AwaitingResult extends Schema.Schema.Type<typeof CallState.cases.AwaitingResult> {}
/**
 * Somebody gave the result, or said that the call failed; the model reads it when the run continues. `judged` names the guardrails that
 * have judged it already: it is what they let pass; `modelOutput`, if present, is what the model reads instead.
 */
export interface Answered extends Schema.Schema.Type<typeof CallState.cases.Answered> {}
/** Another agent answers the call; its state so far is `child`. */
export interface Delegated extends Schema.Schema.Type<typeof CallState.cases.Delegated> {}
/** The call has its result: `result` is what the model reads, or `modelOutput` instead if the tool defines one. */
export interface Settled extends Schema.Schema.Type<typeof CallState.cases.Settled> {}

/**
 * The state of a call: what it waits for, or that it has its result.
 *
 * @category models
 * @since 0.1.0
 */
export type CallState = Pending | AwaitingApproval | Approved | AwaitingResult | Answered | Delegated | Settled

/**
 * Schema for the state of a call.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CallState = Schema.TaggedUnion({
  Pending: {},
  AwaitingApproval: { judged: Schema.optionalKey(Schema.Array(Schema.String)) },
  Approved: { judged: Schema.optionalKey(Schema.Array(Schema.String)) },
  AwaitingResult: {},
  Answered: {
    outcome: Schema.Literals(["Succeeded", "Failed"]),
    result: Schema.Json,
    modelOutput: Schema.optionalKey(Schema.Array(Prompt.ToolModelOutputPart)),
    judged: Schema.optionalKey(Schema.Array(Schema.String))
  },
  Delegated: { child: Schema.suspend((): Schema.Codec<AgentState, unknown> => AgentState) },
  Settled: {
    outcome: Outcome,
    result: Schema.Json,
    modelOutput: Schema.optionalKey(Schema.Array(Prompt.ToolModelOutputPart)),
    metadata: Schema.optionalKey(Part.Metadata)
  }
})

/**
 * Schema for a call of a tool, with its result once it is settled.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Call = Schema.TaggedStruct("Call", {
  id: Schema.NonEmptyString,
  name: Schema.String,
  params: Schema.Json,
  asked: Schema.optionalKey(Schema.Json),
  state: CallState,
  providerExecuted: Schema.optionalKey(Schema.Literal(true)),
  approvalId: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Part.Metadata)
})

/**
 * A call of a tool, with its result once it is settled.
 *
 * `id` is unique in its conversation. `params` are what runs and what the model reads; `asked` is what the model had written, if somebody
 * approved the call with other parameters. `providerExecuted` is set if the provider itself runs the tool. `approvalId` is set if the
 * provider asks for an approval first: then the approval or denial settles the call. `metadata` is the provider's; `troupe` in it marks a
 * call that a program made, or that a guardrail refused.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call extends Schema.Schema.Type<typeof Call> {}

/**
 * What an assistant's turn is made of, in the model's own order.
 *
 * @category models
 * @since 0.1.0
 */
export type AssistantPart = Part.Text | Part.Reasoning | Part.File | Part.Source | Call

/**
 * Schema for what an assistant's turn is made of.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AssistantPart = Schema.Union([Part.Text, Part.Reasoning, Part.File, Part.Source, Call])

/** Marks a turn that a context window never leaves out. */
const pinned = { pinned: Schema.optionalKey(Schema.Literal(true)) }

/** Schema for a block: the guardrail that blocked something, and why. */
export const Blocked = Schema.Struct({
  agent: Schema.optionalKey(Schema.NonEmptyString),
  guardrail: Schema.NonEmptyString,
  reason: Schema.String
})

/**
 * A block: the guardrail that blocked something, and why. `agent` is whose guardrail it was, if it wasn't that of the agent in control.
 */
export interface Blocked extends Schema.Schema.Type<typeof Blocked> {}

/**
 * Schema for one turn of a conversation.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Turn = Schema.TaggedUnion({
  User: {
    parts: Schema.Array(Part.UserPart),
    mode: Schema.optionalKey(Schema.NonEmptyString),
    blocked: Schema.optionalKey(Blocked),
    ...pinned
  },
  Assistant: {
    agent: Schema.String,
    parts: Schema.Array(AssistantPart),
    usage: Usage.RequestUsage,
    finishReason: Response.FinishReason,
    counted: Schema.optionalKey(Count),
    ...pinned
  },
  Summary: { text: Schema.String, of: Count, ...pinned },
  Feedback: { text: Schema.String, ...pinned }
})

/**
 * What a user said, or what a mode's set-up or clean-up said in the user's place. With `blocked` a guardrail blocked it, and its words
 * aren't kept.
 */
export interface User {
  readonly _tag: "User"
  /** Text and files. */
  readonly parts: ReadonlyArray<Part.UserPart>
  /** The mode that said it, if a user didn't. */
  readonly mode?: string
  /** The guardrail that blocked it, and why. */
  readonly blocked?: Blocked
  /** Marks a turn that a context window never leaves out. */
  readonly pinned?: true
}
/** The model's answer to one request with the results of its calls, or a call that a program made. */
export interface Assistant {
  readonly _tag: "Assistant"
  /** The name of the agent whose model answered, or for which a program made the call. */
  readonly agent: string
  /** What the answer is made of, calls with their results included, in the model's own order. */
  readonly parts: ReadonlyArray<AssistantPart>
  /** The tokens that the provider reported for the request. */
  readonly usage: Usage.RequestUsage
  /** Why the model stopped, as the provider says. */
  readonly finishReason: Response.FinishReason
  /** The context window's count of the request's tokens, if the agent has a window that counts them. */
  readonly counted?: number
  /** Marks a turn that a context window never leaves out. */
  readonly pinned?: true
}
/** A text that stands for `of` earlier turns. */
export interface Summary extends Schema.Schema.Type<typeof Turn.cases.Summary> {}
/** What Troupe itself told the model, for example why an answer wasn't accepted. The model reads it as a user's words. */
export interface Feedback extends Schema.Schema.Type<typeof Turn.cases.Feedback> {}

/**
 * One turn of a conversation.
 *
 * @category models
 * @since 0.1.0
 */
export type Turn = User | Assistant | Summary | Feedback

/**
 * Schema for a conversation: its turns, oldest first, and texts that stand for its first turns.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Conversation = Schema.Struct({
  turns: Schema.Array(Turn),
  summaries: Schema.optionalKey(Schema.Array(Summarized))
}).check(Schema.makeFilter((conversation) => illegality(conversation), { expected: "a legal conversation" }))

/**
 * Returns what is illegal in a conversation: a repeated call id, a call left open before the last assistant turn, a summary of missing
 * turns, or one of no more turns than the summary before it.
 */
const illegality = ({ summaries, turns }: Conversation): Schema.FilterIssue | undefined => {
  const misfit = summaries?.findIndex((summary, at) => !fits(summary, summaries[at - 1], turns.length)) ?? -1
  if (misfit >= 0) {
    return {
      path: ["summaries", misfit],
      issue: "Expected a summary of existing turns, and of more turns than the summary before it"
    }
  }
  const ids = new Set<string>()
  const last = turns.findLastIndex((turn) => turn._tag === "Assistant")
  for (const [index, turn] of turns.entries()) {
    if (turn._tag !== "Assistant") continue
    for (const [at, part] of turn.parts.entries()) {
      if (part._tag !== "Call") continue
      const path = ["turns", index, "parts", at]
      if (ids.has(part.id)) return { path: [...path, "id"], issue: `Expected a unique id, got "${part.id}" again` }
      if (part.state._tag !== "Settled" && index !== last) {
        const issue = "Expected a settled call: only the last assistant turn may have open ones"
        return { path: [...path, "state"], issue }
      }
      ids.add(part.id)
    }
  }
  return undefined
}

const isOpenAtEnd = ({ turns }: Conversation): boolean => {
  const last = turns.findLast((turn) => turn._tag === "Assistant")
  return last?._tag === "Assistant" && last.parts.some((part) => part._tag === "Call" && part.state._tag !== "Settled")
}

/**
 * Returns what is illegal in a state's modes: a mode that is less isolated than the one around it, or a segment of a mode that isn't
 * entered.
 */
const misplaced = ({ modes, prompt }: AgentState): Schema.FilterIssue | undefined => {
  const at = modes.findIndex(({ isolation }, index) => !isWithin(isolation, modes[index - 1]?.isolation))
  if (at >= 0) {
    return { path: ["modes", at, "isolation"], issue: "Expected a mode at least as isolated as the one around it" }
  }
  const of = prompt.findIndex(({ mode }) => mode !== undefined && mode >= modes.length)
  return of >= 0 ? { path: ["prompt", of, "mode"], issue: "Expected the place of an entered mode" } : undefined
}

/** Returns how a state's status contradicts its conversation, if it does. */
const contradiction = (state: AgentState): Schema.FilterIssue | undefined => {
  const { _tag } = state.status
  const isOpen = isOpenAtEnd(state.conversation)
  return isOpen && (_tag === "InProgress" || _tag === "Complete")
    ? { path: ["status"], issue: `Expected "WaitingForTools" while calls are open, got "${_tag}"` }
    : !isOpen && _tag === "WaitingForTools"
    ? { path: ["status"], issue: "Expected an open call while waiting for tools" }
    : undefined
}

/**
 * A conversation: its turns, and summaries that a context window sends instead of its first turns.
 *
 * @category models
 * @since 0.1.0
 */
export interface Conversation {
  /** The turns, oldest first. */
  readonly turns: ReadonlyArray<Turn>
  /** Summaries of the first turns, which stay in `turns`. Each covers more turns than the one before. */
  readonly summaries?: ReadonlyArray<Summarized>
}

/**
 * Schema for a mode that is entered, and what leaving it needs to know.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModeFrame = Schema.Struct({
  name: Schema.NonEmptyString,
  isolation: Isolation,
  params: Schema.Json,
  values: Schema.Record(Schema.String, Schema.Json),
  enteredAt: Schema.Int,
  turns: Count,
  view: Schema.optionalKey(Schema.Struct({
    hidden: Schema.Array(Turn),
    shown: Count,
    summaries: Schema.optionalKey(Schema.Array(Summarized))
  })),
  before: Schema.Struct({
    initialQuery: Schema.optionalKey(Schema.String),
    settings: Schema.optionalKey(Settings),
    transition: Schema.optionalKey(PendingTransition),
    modeHistory: Schema.optionalKey(Schema.Array(Schema.NonEmptyString))
  })
})

/**
 * A mode that is entered: its name, its parameters and values, and what leaving it needs to know.
 *
 * `values` are the mode's own, its parameters first. `enteredAt` is in epoch milliseconds, and `turns` is how many turns the conversation
 * had then. If turns were cut or edited since, `view` holds the original turns with their summaries, and how many turns are shown instead.
 * `before` holds what the state had when the mode was entered: first input, conversation settings, requested move, and earlier modes.
 */
export interface ModeFrame extends Schema.Schema.Type<typeof ModeFrame> {}

const piece = {
  text: Schema.String,
  mode: Schema.optionalKey(Count),
  persist: Schema.optionalKey(Schema.Literal(true))
}

/**
 * Schema for a piece of the system prompt that is added to the agent's instructions.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PromptSegment = Schema.Union([
  Schema.Struct({ place: Schema.Literals(["prepend", "append"]), ...piece }),
  Schema.Struct({ place: Schema.Literal("section"), name: Schema.String, ...piece })
])

/**
 * A piece of the system prompt that is added to the agent's instructions.
 *
 * A section has a `name`. `mode` says which of the entered modes the piece belongs to, from 0 at the bottom; leaving that mode removes
 * the piece, unless it is to `persist` and the mode isn't a `fork`. Without `mode` it belongs to the conversation, until a handoff.
 */
export type PromptSegment = typeof PromptSegment.Type

const { target: _, ...asked } = AgentStatus.HandoffRequest.fields

/**
 * Schema for the handoff that gave the agent control: its source, the call and tool that asked, the reason and the context.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Received = Schema.Struct({ from: Schema.NonEmptyString, ...asked })

/** The handoff that gave the agent control: its source, the call and tool that asked, the reason and the context. */
export interface Received extends Schema.Schema.Type<typeof Received> {}

/**
 * The whole of an agent's run as an immutable value.
 *
 * @category models
 * @since 0.1.0
 */
export interface AgentState {
  /** The version of the format. */
  readonly version: 1
  /** The name of the agent in control. */
  readonly agent: string
  /** What was said and called. */
  readonly conversation: Conversation
  /** What the run needs next, or how it ended. */
  readonly status: AgentStatus.AgentStatus
  /** The text of the first input of a user. */
  readonly initialQuery?: string
  /** Text for the system prompt of this conversation, after the agent's instructions. It isn't a turn. */
  readonly systemMessage?: string
  /** How often models have answered since the conversation began, those of called agents included. */
  readonly steps: number
  /** The tokens used since the conversation began, those of called agents and of a context window's summaries included. */
  readonly usage: Usage.Usage
  /** The tokens of each model that said its name. */
  readonly models?: { readonly [model: string]: Usage.Usage }
  /** What the current run, or else the last one, has used. */
  readonly run: Run
  /** The names of the agents that were in control, in order; the last one is `agent`. */
  readonly trail: ReadonlyArray<string>
  /** The handoff that gave the agent control, if one did. */
  readonly handoff?: Received
  /** The modes that are entered, the innermost last. */
  readonly modes: ReadonlyArray<ModeFrame>
  /** The names of the last 100 modes that were entered, in order, those that were left included. */
  readonly modeHistory?: ReadonlyArray<string>
  /** A requested move between modes that is still to be carried out. */
  readonly transition?: PendingTransition
  /** The conversation settings that were changed; a missing one is the agent's own. */
  readonly settings?: Settings
  /** The pieces that were added to the system prompt. */
  readonly prompt: ReadonlyArray<PromptSegment>
  /** Lines that `AgentState.log` added, and one for each handoff. */
  readonly logs: ReadonlyArray<string>
  /** The ids of the last calls that are gone, such as those of called agents; at most 1,000. No call gets one of them again. */
  readonly retired?: ReadonlyArray<string>
  /** More of these ids, in states that earlier versions stored. */
  readonly retiredBefore?: ReadonlyArray<string>
  /** All such ids before those, as a filter of a fixed size. */
  readonly forgotten?: ForgottenIds
}

/**
 * Schema for the whole of an agent's run.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AgentState = Schema.Struct({
  version: Schema.Literal(1),
  agent: Schema.NonEmptyString,
  conversation: Conversation,
  status: AgentStatus.AgentStatus,
  initialQuery: Schema.optionalKey(Schema.String),
  systemMessage: Schema.optionalKey(Schema.String),
  steps: Count,
  usage: Usage.Usage,
  models: Schema.optionalKey(Models),
  run: Run,
  trail: Schema.Array(Schema.NonEmptyString),
  handoff: Schema.optionalKey(Received),
  modes: Schema.Array(ModeFrame),
  modeHistory: Schema.optionalKey(Schema.Array(Schema.NonEmptyString)),
  transition: Schema.optionalKey(PendingTransition),
  settings: Schema.optionalKey(Settings),
  prompt: Schema.Array(PromptSegment),
  logs: Schema.Array(Schema.String),
  retired: Schema.optionalKey(Schema.Array(Schema.String)),
  retiredBefore: Schema.optionalKey(Schema.Array(Schema.String)),
  forgotten: Schema.optionalKey(ForgottenIds)
}).check(
  Schema.makeFilter((state) => contradiction(state), { expected: "a status that fits the conversation" }),
  Schema.makeFilter((state) => misplaced(state), { expected: "modes that fit into each other" })
)
