/**
 * The errors of a session, as opposed to those of its runs.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { listOf } from "../../domain/Described.ts"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import { Outcome } from "../../domain/StateSchema.ts"

/**
 * The session's scope was closed before the operation was done.
 *
 * @category errors
 * @since 0.1.0
 */
export class SessionClosed extends ErrorClass<SessionClosed>("troupe/agent/Session")("SessionClosed", {
  agent: Schema.String,
  operation: Schema.String
}, ({ agent, operation }) => `The session of "${agent}" was closed before "${operation}" was done`) {}

/**
 * Code that a session runs, such as a tool's handler, a model or an observer, called that session. The operation would wait for its own end.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReentrantOperation extends ErrorClass<ReentrantOperation>("troupe/agent/Session")(
  "ReentrantOperation",
  { agent: Schema.String, operation: Schema.String, within: Schema.String },
  ({ agent, operation, within }) =>
    `"${operation}" of the session of "${agent}" was called from within its own "${within}": it would wait for its own end`
) {}

/**
 * Another session wrote or removed what is stored under the session's id. Nothing was overwritten.
 *
 * `expected` and `found` are revisions. If they are the same, another session wrote that revision.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoreConflict extends ErrorClass<StoreConflict>("troupe/agent/Session")("StoreConflict", {
  id: Schema.String,
  expected: Schema.Int,
  found: Schema.UndefinedOr(Schema.Int)
}, ({ expected, found, id }) => {
  const there = found === undefined ? "nothing" : `revision ${found}`
  return expected === found
    ? `Revision ${expected} of "${id}" was written by another session`
    : `Expected revision ${expected} of "${id}" in the store, found ${there}`
}) {}

/**
 * The store failed to read, write or remove a session; `error` is the store's own.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoreUnavailable extends ErrorClass<StoreUnavailable>("troupe/agent/Session")("StoreUnavailable", {
  id: Schema.String,
  operation: Schema.Literals(["read", "write", "remove"]),
  issue: Schema.String,
  error: Schema.Unknown
}, ({ id, issue, operation }) => `The store can't ${operation} "${id}": ${issue}`) {}

/**
 * What is stored under an id isn't a session that this release can read. Nothing was overwritten.
 *
 * @category errors
 * @since 0.1.0
 */
export class StoredStateUnreadable
  extends ErrorClass<StoredStateUnreadable>("troupe/agent/Session")("StoredStateUnreadable", {
    id: Schema.String,
    issue: Schema.String
  }, ({ id, issue }) => `What is stored under "${id}" can't be read: ${issue}`)
{}

/**
 * The agent in control can't run the tool now: it doesn't have the tool, a conversation setting or a mode hides it, or another agent answers its
 * calls. A tool of the same name with other schemas is another tool.
 *
 * @category errors
 * @since 0.1.0
 */
export class ToolNotFound extends ErrorClass<ToolNotFound>("troupe/agent/Session")(
  "ToolNotFound",
  { agent: Schema.String, tool: Schema.String, available: Schema.Array(Schema.String) },
  ({ agent, available, tool }) =>
    available.includes(tool)
      ? `The tool "${tool}" of agent "${agent}" has other schemas: pass the agent's own tool`
      : `Agent "${agent}" has no tool "${tool}" to invoke; available: ${listOf(available)}`
) {}

/**
 * A tool was invoked while calls are open. They need their results first.
 *
 * @category errors
 * @since 0.1.0
 */
export class CallsOpen extends ErrorClass<CallsOpen>("troupe/agent/Session")("CallsOpen", {
  tool: Schema.String,
  callIds: Schema.Array(Schema.String)
}, ({ callIds, tool }) => `Tool "${tool}" can't be invoked while calls are open: ${listOf(callIds)}`) {}

/**
 * A tool was invoked, or its call approved, with parameters that don't fit its schema. If a call was approved with other parameters, it may
 * also be that a guardrail refused them, or that the agent doesn't have the tool any more. Nothing was recorded.
 *
 * @category errors
 * @since 0.1.0
 */
export class ParametersRejected extends ErrorClass<ParametersRejected>("troupe/agent/Session")("ParametersRejected", {
  tool: Schema.String,
  issue: Schema.String
}, ({ issue, tool }) => `The parameters of tool "${tool}" were rejected: ${issue}`) {}

/**
 * The result of a call doesn't fit the success schema of its tool, or the agent doesn't have the tool any more. Nothing was recorded: the
 * call still awaits its result.
 *
 * @category errors
 * @since 0.1.0
 */
export class ResultRejected extends ErrorClass<ResultRejected>("troupe/agent/Session")("ResultRejected", {
  callId: Schema.String,
  tool: Schema.String,
  issue: Schema.String
}, ({ callId, issue, tool }) => `The result of call "${callId}" of tool "${tool}" was rejected: ${issue}`) {}

/**
 * The handler of an invoked tool ended without a result, because the result comes later. The call awaits it.
 *
 * @category errors
 * @since 0.1.0
 */
export class ResultPending extends ErrorClass<ResultPending>("troupe/agent/Session")("ResultPending", {
  callId: Schema.String,
  tool: Schema.String
}, ({ callId, tool }) => `Call "${callId}" of tool "${tool}" awaits its result: give it by \`giveResult\``) {}

/**
 * An invoked tool returned neither a result nor a failure of its own. For example, it took too long, it failed with an `AiError` that its
 * failure schema doesn't accept, its result didn't fit its schema, or a guardrail blocked the call or its result. The call is settled, and
 * the model reads what `issue` says.
 *
 * @category errors
 * @since 0.1.0
 */
export class CallUnanswered extends ErrorClass<CallUnanswered>("troupe/agent/Session")("CallUnanswered", {
  tool: Schema.String,
  callId: Schema.String,
  outcome: Outcome,
  issue: Schema.String
}, ({ callId, issue, tool }) => `Call "${callId}" of tool "${tool}" has no result from its handler: ${issue}`) {}

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
  ResultRejected,
  ResultPending,
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
 * The session keeps its state, even if the store couldn't save it.
 *
 * @category errors
 * @since 0.1.0
 */
export class SessionError extends ErrorClass<SessionError>("troupe/agent/Session")(
  "SessionError",
  { reason: Reason },
  ({ reason }) => reason.message
) {}

/** Makes a session's error of its reason. */
export const because = (reason: Reason): SessionError => new SessionError({ reason })

/**
 * Checks whether a value is a `SessionError`.
 *
 * @category guards
 * @since 0.1.0
 */
export const isSessionError = (u: unknown): u is SessionError => Predicate.isTagged(u, "SessionError")
