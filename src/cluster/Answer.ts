/**
 * The status of a conversation after a message.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as AgentState from "../domain/AgentState.ts"
import { Failure } from "../domain/AgentStatus.ts"
import { pendingApprovals } from "../domain/Approval.ts"
import { pendingResults } from "../domain/DeferredResult.ts"
import type { WaitingCall } from "../domain/WaitingCall.ts"
import type { Kept } from "./Kept.ts"
import { UnknownCall } from "./UnknownCall.ts"

const Waiting = Schema.Struct({ ...UnknownCall.fields, params: Schema.Json })

/**
 * Schema for how a conversation stands once a message is answered.
 *
 * - `Complete`: the agent has answered with `text`
 * - `Waiting`: calls await approval (`pending`) or their results (`awaited`)
 * - `Failed`: the run failed with `error`, and can be resumed. If it failed before it began, for example because the services of the
 *   conversation couldn't be made, what the user said wasn't added: say it again, with another key
 * - `Cancelled`: somebody cancelled the message. If that was before it was stored, what the user said wasn't added
 * - `Stopped`: the run was interrupted in another way, and can be resumed
 *
 * `text` is empty unless the status is `Complete`. A plan that is `Complete` has its `output`, and the same as JSON in `text`.
 *
 * `unknown` lists the calls of this message that were started, but of which nobody knows whether they took effect. In a plan it also lists
 * such effects, until the plan is resumed or begun anew. `cursor` is the number of the last event so far.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Answer = Schema.Struct({
  status: Schema.Literals(["Complete", "Waiting", "Failed", "Cancelled", "Stopped"]),
  text: Schema.String,
  output: Schema.optionalKey(Schema.Json),
  pending: Schema.Array(Waiting),
  awaited: Schema.optionalKey(Schema.Array(Waiting)),
  unknown: Schema.Array(UnknownCall),
  error: Schema.optionalKey(Failure),
  cursor: Schema.Int
})

/** The status of a conversation after a message. */
export interface Answer extends Schema.Schema.Type<typeof Answer> {}

/** The error of a run that failed before it began. */
export interface RunFailure {
  readonly tag: string
  readonly message: string
}

/**
 * An answer as it is stored. `hasBegun` says that a cancelled message had begun, because its events, which would say so too, may be gone.
 * Answers that an earlier version stored don't have it.
 */
interface StoredAnswer extends Answer {
  readonly hasBegun?: true
}

/** Writes an answer for the store. */
export const toText = (answer: Answer, hasBegun: boolean): string => {
  const stored: StoredAnswer = hasBegun && answer.status === "Cancelled" ? { ...answer, hasBegun } : answer
  return JSON.stringify(stored)
}

/** Reads an answer, which `toText` has written, and whether it says that its message had begun. */
export const fromText = (text: string): { readonly answer: Answer; readonly hasBegun: boolean } => {
  const { hasBegun = false, ...answer } = JSON.parse(text) as StoredAnswer
  return { answer, hasBegun }
}

const statusOf = ({ status }: AgentState.AgentState, isWaiting: boolean): Answer["status"] =>
  status._tag === "Complete" || status._tag === "Failed" ? status._tag : isWaiting ? "Waiting" : "Stopped"

/** Returns a waiting call as answers show it. */
export const shown = ({ callId, name, params, path }: WaitingCall) => ({ callId, name, path, params })

/** Returns the status of a conversation. */
export const of = (kept: Kept, isCancelled: boolean, notBegun?: RunFailure): Answer => {
  const { events, state, unknown } = kept
  const pending = pendingApprovals(state).map(shown)
  const awaited = pendingResults(state).map(shown)
  const isWaiting = pending.length > 0 || awaited.length > 0
  const status = isCancelled ? "Cancelled" : notBegun === undefined ? statusOf(state, isWaiting) : "Failed"
  const error = notBegun === undefined
    ? state.status._tag === "Failed" ? state.status.error : undefined
    : { ...notBegun, agent: state.agent, step: 0 }
  return {
    status,
    text: status === "Complete" ? AgentState.text(state) : "",
    pending,
    ...(awaited.length === 0 ? undefined : { awaited }),
    unknown,
    ...(status === "Failed" && error !== undefined ? { error } : undefined),
    cursor: events
  }
}
