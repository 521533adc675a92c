/**
 * The one error of a dialogue: what went wrong, and the dialogue's state, in which everything said before is kept.
 *
 * The `reason` is a closed union, so `Effect.catchReason("DialogueError", "AgentFailed", …)` picks one. The `state` can be
 * stored, shown and resumed: the agent, the choice or the condition that failed is tried again.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { listOf, messageOf } from "../../domain/Described.ts"
import { ErrorClass, showShortly, StateErrorClass } from "../../domain/ErrorClass.ts"
import type { DialogueState } from "./DialogueState.ts"

/**
 * The agent whose turn it was failed: `error` is an `AgentError`, or an error of the agent's own, such as that of a fatal tool. Turns are
 * numbered from 0.
 *
 * @category errors
 * @since 0.1.0
 */
export class AgentFailed<out E = unknown>
  extends ErrorClass<AgentFailed>("troupe/handoff/dialogue/DialogueError")("AgentFailed", {
    speaker: Schema.String,
    turn: Schema.Int,
    error: Schema.Unknown
  }, ({ error, speaker, turn }) => `Agent "${speaker}" failed in turn ${turn}: ${messageOf(error)}`)
{
  declare readonly error: E
}

const failure = { error: Schema.Unknown }

/**
 * The choice of the next speaker failed.
 *
 * @category errors
 * @since 0.1.0
 */
export class ChoiceFailed<out E = unknown> extends ErrorClass<ChoiceFailed>("troupe/handoff/dialogue/DialogueError")(
  "ChoiceFailed",
  failure,
  ({ error }) => `The choice of the next speaker failed: ${messageOf(error)}`
) {
  declare readonly error: E
}

/**
 * The predicate `until` failed.
 *
 * @category errors
 * @since 0.1.0
 */
export class UntilFailed<out E = unknown> extends ErrorClass<UntilFailed>("troupe/handoff/dialogue/DialogueError")(
  "UntilFailed",
  failure,
  ({ error }) => `The condition "until" of the dialogue failed: ${messageOf(error)}`
) {
  declare readonly error: E
}

/**
 * The chosen name isn't a participant's.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownSpeaker extends ErrorClass<UnknownSpeaker>("troupe/handoff/dialogue/DialogueError")(
  "UnknownSpeaker",
  {
    speaker: Schema.String,
    available: Schema.Array(Schema.String)
  },
  ({ available, speaker }) =>
    `"${speaker}" was chosen to speak, but isn't a participant; available: ${listOf(available)}`
) {}

/**
 * The state belongs to a dialogue with other participants.
 *
 * @category errors
 * @since 0.1.0
 */
export class ParticipantMismatch extends ErrorClass<ParticipantMismatch>("troupe/handoff/dialogue/DialogueError")(
  "ParticipantMismatch",
  {
    found: Schema.Array(Schema.String),
    available: Schema.Array(Schema.String)
  },
  ({ available, found }) =>
    `The state is of a dialogue between ${listOf(found)}, this one is between ${listOf(available)}`
) {}

/**
 * What went wrong in a dialogue.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason<E = unknown> =
  | AgentFailed<E>
  | ChoiceFailed<E>
  | UntilFailed<E>
  | UnknownSpeaker
  | ParticipantMismatch

/** The state in an error isn't validated: it came from the dialogue that failed. */
const State = Schema.declare(
  (u): u is DialogueState => Predicate.hasProperty(u, "transcript") && Predicate.hasProperty(u, "status"),
  { identifier: "DialogueState" }
)

const AnyReason = Schema.Union([AgentFailed, ChoiceFailed, UntilFailed, UnknownSpeaker, ParticipantMismatch])

/**
 * The error of a dialogue: the `reason`, and the `state` it happened in.
 *
 * **Example** (What was said before it failed)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AiError } from "effect/ai"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const debate = Dialogue.make(Agent.make("ada"), Agent.make("bob"))
 * const refused = new AiError.AuthenticationError({ kind: "InvalidKey" })
 *
 * const program = Dialogue.run(debate, "Tea or coffee?").pipe(
 *   Effect.flip,
 *   Effect.provide(MockModel.layer(MockModel.queue("Tea.", MockResponse.fail(refused))))
 * )
 *
 * const { reason, state } = await Effect.runPromise(program)
 *
 * reason._tag === "AgentFailed" ? [reason.speaker, reason.turn] : [] // => ["bob", 1]
 * state.transcript.map(Dialogue.textOf) // => ["Tea or coffee?", "Tea."]
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class DialogueError<out E = unknown> extends StateErrorClass<DialogueError>("troupe/handoff/dialogue")(
  "DialogueError",
  { state: State, reason: AnyReason },
  ({ reason }) => reason.message
) {
  declare readonly reason: Reason<E>
  constructor(fields: { readonly state: typeof State.Type; readonly reason: Reason<E> }, options?: Schema.MakeOptions) {
    super(fields, options)
    showShortly(this, `\`reason\` is ${this.reason._tag}; \`state\` has all that was said (\`Dialogue.toJson\`)`)
  }
}

/**
 * Checks whether something is the error of a dialogue.
 *
 * @category guards
 * @since 0.1.0
 */
export const isDialogueError = (u: unknown): u is DialogueError => Predicate.isTagged(u, "DialogueError")
