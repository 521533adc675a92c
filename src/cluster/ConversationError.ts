/**
 * Why a conversation can't do what it is asked for.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ParametersRejected } from "../agent/session/SessionError.ts"
import { NotAwaitingApproval } from "../domain/Approval.ts"
import { listOf } from "../domain/Described.ts"
import { ErrorClass } from "../domain/ErrorClass.ts"
import { Missing } from "./Definition.ts"

/**
 * The conversation names what this version of its agent lacks. Nothing was done with it. The `migrate` of `Conversation.make` changes such
 * a state.
 *
 * @category errors
 * @since 0.1.0
 */
export class DefinitionChanged extends ErrorClass<DefinitionChanged>("troupe/cluster")("DefinitionChanged", {
  id: Schema.String,
  missing: Schema.Array(Missing)
}, ({ id, missing }) => {
  const names = missing.map(({ agent, kind, name }) =>
    kind === "Agent" ? `agent "${name}"` : `${kind} "${name}" of "${agent}"`
  )
  return `Conversation "${id}" names what its agent lacks now: ${listOf(names)}`
}) {}

/**
 * What is kept of the conversation can't be read. Nothing was overwritten.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationUnreadable
  extends ErrorClass<ConversationUnreadable>("troupe/cluster")("ConversationUnreadable", {
    id: Schema.String,
    issue: Schema.String
  }, ({ id, issue }) => `What is kept of conversation "${id}" can't be read: ${issue}`)
{}

/**
 * There is a conversation of this id already.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationExists extends ErrorClass<ConversationExists>("troupe/cluster")("ConversationExists", {
  id: Schema.String
}, ({ id }) => `There is a conversation "${id}" already`) {}

/**
 * What a conversation runs, such as a tool's handler, asked the same conversation for something and would have waited for its own end.
 * `post` doesn't wait.
 *
 * @category errors
 * @since 0.1.0
 */
export class WaitsForItself extends ErrorClass<WaitsForItself>("troupe/cluster")(
  "WaitsForItself",
  {
    conversation: Schema.String
  },
  ({ conversation }) => `Conversation "${conversation}" would wait for itself: what it runs can only \`post\` to it`
) {}

/**
 * The events up to a number are gone: the log was shortened. What comes after it can be read.
 *
 * @category errors
 * @since 0.1.0
 */
export class EventsGone extends ErrorClass<EventsGone>("troupe/cluster")("EventsGone", {
  id: Schema.String,
  until: Schema.Int
}, ({ id, until }) => `The events of conversation "${id}" up to ${until} are gone: read on \`after\` ${until}`) {}

/**
 * Why a conversation can't do what it is asked for.
 *
 * @category errors
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  NotAwaitingApproval,
  ParametersRejected,
  DefinitionChanged,
  ConversationUnreadable,
  ConversationExists,
  EventsGone,
  WaitsForItself
])

/** Why a conversation can't do what it is asked for. */
export type Reason = typeof Reason.Type

/**
 * A conversation can't do what it is asked for; its `reason` says why. That a run failed is no such error: its answer says so.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationError extends ErrorClass<ConversationError>("troupe/cluster")("ConversationError", {
  reason: Reason
}, ({ reason }) => reason.message) {}
