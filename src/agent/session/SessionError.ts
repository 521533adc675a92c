/**
 * The errors of a session, as opposed to those of its runs.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Outcome } from "../../domain/StateSchema.ts"

const quoted = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ")

/**
 * The session's scope was closed before the operation was done.
 *
 * @category errors
 * @since 0.1.0
 */
export class SessionClosed extends Schema.TaggedError<SessionClosed>("troupe/agent/Session/SessionClosed")(
  "SessionClosed",
  { agent: Schema.String, operation: Schema.String }
) {
  override get message(): string {
    return `The session of "${this.agent}" was closed before "${this.operation}" was done`
  }
}

/**
 * A tool's handler, a model or an observer called the session that runs it. The operation would wait for its own end.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReentrantOperation
  extends Schema.TaggedError<ReentrantOperation>("troupe/agent/Session/ReentrantOperation")(
    "ReentrantOperation",
    { agent: Schema.String, operation: Schema.String, within: Schema.String }
  )
{
  override get message(): string {
    return `"${this.operation}" of the session of "${this.agent}" was asked for by its own "${this.within}", and would wait for its own end`
  }
}

/**
 * Another session wrote or removed what is stored under the session's id. Nothing was overwritten.
 *
 * `expected` and `found` are revisions. If they are the same, another session wrote that revision.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoreConflict extends Schema.TaggedError<StoreConflict>("troupe/agent/Session/StoreConflict")(
  "StoreConflict",
  { id: Schema.String, expected: Schema.Int, found: Schema.UndefinedOr(Schema.Int) }
) {
  override get message(): string {
    const found = this.found === undefined ? "nothing" : `revision ${this.found}`
    return this.expected === this.found
      ? `Revision ${this.expected} of "${this.id}" was written by another session`
      : `Expected revision ${this.expected} of "${this.id}" in the store, found ${found}`
  }
}

/**
 * The store failed to read, write or remove a session; `error` is the store's own.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>("troupe/agent/Session/StoreUnavailable")(
  "StoreUnavailable",
  {
    id: Schema.String,
    operation: Schema.Literals(["read", "write", "remove"]),
    issue: Schema.String,
    error: Schema.Unknown
  }
) {
  override get message(): string {
    return `The store can't ${this.operation} "${this.id}": ${this.issue}`
  }
}

/**
 * What is stored under an id isn't a session that this release can read. Nothing was overwritten.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoredStateUnreadable
  extends Schema.TaggedError<StoredStateUnreadable>("troupe/agent/Session/StoredStateUnreadable")(
    "StoredStateUnreadable",
    { id: Schema.String, issue: Schema.String }
  )
{
  override get message(): string {
    return `What is stored under "${this.id}" can't be read: ${this.issue}`
  }
}

/**
 * The agent in control doesn't have the tool. A tool of the same name with other schemas is another tool.
 *
 * @category errors
 * @since 0.1.0
 */
export class ToolNotFound extends Schema.TaggedError<ToolNotFound>("troupe/agent/Session/ToolNotFound")(
  "ToolNotFound",
  { agent: Schema.String, tool: Schema.String, available: Schema.Array(Schema.String) }
) {
  override get message(): string {
    return `Agent "${this.agent}" has no tool "${this.tool}" to invoke; available: ${quoted(this.available)}`
  }
}

/**
 * A tool was invoked while calls are open. They need their results first.
 *
 * @category errors
 * @since 0.1.0
 */
export class CallsOpen extends Schema.TaggedError<CallsOpen>("troupe/agent/Session/CallsOpen")("CallsOpen", {
  tool: Schema.String,
  callIds: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `Tool "${this.tool}" can't be invoked while calls are open: ${quoted(this.callIds)}`
  }
}

/**
 * A tool was invoked, or its call approved, with parameters that don't fit its schema. Nothing was recorded.
 *
 * @category errors
 * @since 0.1.0
 */
export class ParametersRejected
  extends Schema.TaggedError<ParametersRejected>("troupe/agent/Session/ParametersRejected")("ParametersRejected", {
    tool: Schema.String,
    issue: Schema.String
  })
{
  override get message(): string {
    return `The parameters of tool "${this.tool}" don't fit their schema: ${this.issue}`
  }
}

/**
 * An invoked tool returned neither a result nor a failure of its own: it took too long, or its result didn't fit its schema.
 * The call is settled, and the model reads the same text.
 *
 * @category errors
 * @since 0.1.0
 */
export class CallUnanswered extends Schema.TaggedError<CallUnanswered>("troupe/agent/Session/CallUnanswered")(
  "CallUnanswered",
  { tool: Schema.String, callId: Schema.String, outcome: Outcome, issue: Schema.String }
) {
  override get message(): string {
    return `Call "${this.callId}" of tool "${this.tool}" gave no result of its own: ${this.issue}`
  }
}

/**
 * Schema for the reason of a `SessionError`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  SessionClosed,
  ReentrantOperation,
  StoreConflict,
  StoreUnavailable,
  StoredStateUnreadable,
  ToolNotFound,
  CallsOpen,
  ParametersRejected,
  CallUnanswered
])

/**
 * The reason of a `SessionError`.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason = typeof Reason.Type

/**
 * The error of a session's operation. Errors of a run are `AgentError`s.
 *
 * The session keeps its state, so nothing that was done is lost.
 *
 * @category errors
 * @since 0.1.0
 */
export class SessionError extends Schema.TaggedError<SessionError>("troupe/agent/Session/SessionError")(
  "SessionError",
  { reason: Reason }
) {
  override get message(): string {
    return this.reason.message
  }
}

/** Makes a session's error of its reason. */
export const because = (reason: Reason): SessionError => new SessionError({ reason })

/**
 * Checks whether a value is a `SessionError`.
 *
 * @category guards
 * @since 0.1.0
 */
export const isSessionError = (u: unknown): u is SessionError => Predicate.isTagged(u, "SessionError")
