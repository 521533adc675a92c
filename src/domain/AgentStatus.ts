/**
 * The status of a state: what its run needs next, or how it ended, as a closed union of plain immutable values.
 *
 * A status names agents and tool calls and never holds live things, so each one survives JSON.
 *
 * 1. While a call of the last assistant turn is open the status is `WaitingForTools`, `HandoffRequested`, which waits for the other calls of
 *    its turn, or `Failed`.
 * 2. `Complete` and `Failed` end a run; a new message begins the next, and `AgentState.reopen` lets the same run continue.
 * 3. A move that `moves` doesn't list isn't made; staying isn't a move.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { listOf } from "./Described.ts"
import { ErrorClass } from "./ErrorClass.ts"

/**
 * Schema for a request that another agent take over.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HandoffRequest = Schema.Struct({
  target: Schema.NonEmptyString,
  callId: Schema.optionalKey(Schema.NonEmptyString),
  tool: Schema.optionalKey(Schema.NonEmptyString),
  reason: Schema.optionalKey(Schema.String),
  context: Schema.optionalKey(Schema.Json)
})

/**
 * A request that another agent take over: the target's name, the reason, the context, and the model's call that asked, with the name of its
 * tool.
 *
 * There is no `callId` if a group's policy asked, if the call went with the turns of a mode that was left, or if the call was settled
 * first, because a mode's set-up or clean-up talks to the agent before the handoff.
 */
export interface HandoffRequest extends Schema.Schema.Type<typeof HandoffRequest> {}

/**
 * Schema for what ended a run, as plain data.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Failure = Schema.Struct({
  tag: Schema.NonEmptyString,
  message: Schema.String,
  agent: Schema.String,
  step: Schema.Int
})

/**
 * What ended a run, as plain data.
 *
 * `tag` is the tag of the error's reason (`StepLimitReached`, …) or of a tool's or model's own error, `Failure` if that error has no tag,
 * or `Defect`. `agent` is the agent that was in control, and `step` its step, from 0.
 */
export interface Failure extends Schema.Schema.Type<typeof Failure> {}

/**
 * Schema for the status of a state.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AgentStatus = Schema.TaggedUnion({
  InProgress: {},
  WaitingForTools: {},
  HandoffRequested: { request: HandoffRequest },
  Complete: {},
  Failed: { error: Failure }
})

type Case<Tag extends keyof typeof AgentStatus.cases> = Schema.Schema.Type<(typeof AgentStatus.cases)[Tag]>

/** The model speaks next. */
export interface InProgress extends Case<"InProgress"> {}
/** A call of the last assistant turn is still open. */
export interface WaitingForTools extends Case<"WaitingForTools"> {}
/** Another agent takes over next, once the other calls of the turn are settled. */
export interface HandoffRequested extends Case<"HandoffRequested"> {}
/** The run ended with an answer. */
export interface Complete extends Case<"Complete"> {}
/** The run ended without one. */
export interface Failed extends Case<"Failed"> {}

/**
 * The status of a state: what its run needs next, or how it ended.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentStatus = InProgress | WaitingForTools | HandoffRequested | Complete | Failed

const Tag = Schema.Literals(Struct.keys(AgentStatus.cases))
type Tag = AgentStatus["_tag"]

/**
 * Error for a move that `moves` doesn't list.
 *
 * @category errors
 * @since 0.1.0
 */
export class IllegalMove extends ErrorClass<IllegalMove>("troupe/domain/AgentStatus")(
  "IllegalMove",
  { from: Tag, to: Tag },
  ({ from, to }) => `An agent can't go from "${from}" to "${to}"; from "${from}" it can go to ${listOf(moves[from])}`
) {}

/**
 * Moves from status to status that an agent may make, as data. `AgentState.reduce` makes no other: it ignores an event that would.
 *
 * `Complete` and `Failed` have moves because a conversation outlives a run. Going back to an earlier turn, or putting another conversation
 * into a state by hand, isn't a move: it makes a new state.
 *
 * @category constants
 * @since 0.1.0
 */
export const moves: { readonly [From in Tag]: ReadonlyArray<Tag> } = {
  InProgress: [
    "WaitingForTools", // the model called tools, or a program invoked one
    "HandoffRequested", // a condition finished the agent's part, and the policy of its group hands over
    "Complete", // the model answered, or a condition finished the run
    "Failed" // a limit was met, a fatal tool failed, the model gave no answer, or what runs around it failed
  ],
  WaitingForTools: [
    "InProgress", // the last open call was settled, or went with the turns of a mode that was left
    "HandoffRequested", // an open call asks for it
    "Complete", // a mode was left or undone whose turns had the open call, and the turns that stay end with an answer
    "Failed" // a fatal tool failed, or a called agent met a limit of the agent's own
  ],
  HandoffRequested: [
    "InProgress", // the other agent took over, or the call that asked was settled
    "WaitingForTools", // a mode that is set up again speaks: the call that asked is settled first, as one that isn't offered then
    "Failed" // the other agent isn't there, the run changed hands too often, or a fatal tool failed beside the call that asked
  ],
  Complete: [
    "InProgress", // somebody speaks, the answer goes back to its model, or the answer went with the turns of a mode that was left
    "WaitingForTools", // a program invoked a tool
    "HandoffRequested", // the policy of its group hands over
    "Failed" // the answer is wrong once too often, a guardrail blocks the policy's handoff, or a clean-up failed
  ],
  Failed: [
    "InProgress", // somebody speaks, the state is reopened, or what failed went with the turns of a mode that was left
    "WaitingForTools", // the same while calls are open, or a program invoked a tool
    "Complete" // the state is reopened and its conversation ends with an answer, or so do the turns that stay once a mode is left
  ]
}

/**
 * The status of an agent whose model speaks next.
 *
 * @category constructors
 * @since 0.1.0
 */
export const inProgress: InProgress = Object.freeze({ _tag: "InProgress" })

/**
 * The status of an agent with open calls.
 *
 * @category constructors
 * @since 0.1.0
 */
export const waitingForTools: WaitingForTools = Object.freeze({ _tag: "WaitingForTools" })

/**
 * The status of a run that ended with an answer.
 *
 * @category constructors
 * @since 0.1.0
 */
export const complete: Complete = Object.freeze({ _tag: "Complete" })

/**
 * The status of a run that ended with an error.
 *
 * @category constructors
 * @since 0.1.0
 */
export const failed = (error: Failure): Failed => ({ _tag: "Failed", error })

/**
 * The status of an agent whose conversation another agent takes over next.
 *
 * @category constructors
 * @since 0.1.0
 */
export const handoffRequested = (request: HandoffRequest): HandoffRequested => ({ _tag: "HandoffRequested", request })

/**
 * Checks whether a run has ended.
 *
 * @category guards
 * @since 0.1.0
 */
export const isTerminal: (self: AgentStatus) => self is Complete | Failed = AgentStatus.isAnyOf(["Complete", "Failed"])

/**
 * Moves an agent to its next status, or fails with `IllegalMove` if `moves` doesn't list the move. Staying in a status isn't listed.
 *
 * **Example** (Finishing a run)
 *
 * ```ts
 * import { Result } from "effect"
 * import { AgentStatus } from "troupe"
 *
 * AgentStatus.moveTo(AgentStatus.inProgress, AgentStatus.complete) // => Result.succeed(AgentStatus.complete)
 * Result.isFailure(AgentStatus.moveTo(AgentStatus.handoffRequested({ target: "billing" }), AgentStatus.complete)) // => true
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const moveTo: {
  (next: AgentStatus): (self: AgentStatus) => Result.Result<AgentStatus, IllegalMove>
  (self: AgentStatus, next: AgentStatus): Result.Result<AgentStatus, IllegalMove>
} = dual(
  2,
  (self: AgentStatus, next: AgentStatus): Result.Result<AgentStatus, IllegalMove> =>
    moves[self._tag].includes(next._tag)
      ? Result.succeed(next)
      : Result.fail(new IllegalMove({ from: self._tag, to: next._tag }))
)
