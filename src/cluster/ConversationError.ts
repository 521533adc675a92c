/**
 * Why a conversation can't do what was requested.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ParametersRejected, ResultRejected } from "../agent/session/SessionError.ts"
import { NotAwaitingApproval } from "../domain/Approval.ts"
import { NotAwaitingResult } from "../domain/DeferredResult.ts"
import { ErrorClass } from "../domain/ErrorClass.ts"
import { Missing } from "./Definition.ts"

/**
 * The conversation's state names something that this version of its agent lacks, so nothing was done. Change such a state by the option
 * `migrate` of `Conversation.make`.
 *
 * @category errors
 * @since 0.1.0
 */
export class DefinitionChanged extends ErrorClass<DefinitionChanged>("troupe/cluster")("DefinitionChanged", {
  id: Schema.String,
  missing: Schema.Array(Missing)
}, ({ id, missing }) => {
  const names = missing.map(({ agent, kind, name }) =>
    kind === "Agent" ? `agent "${name}"` : `${kind.toLowerCase()} "${name}" of agent "${agent}"`
  ).join(", ")
  return `Conversation "${id}" names what its agent lacks: ${names}; the option "migrate" can change its state`
}) {}

/**
 * The stored conversation can't be read. Nothing was overwritten.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationUnreadable
  extends ErrorClass<ConversationUnreadable>("troupe/cluster")("ConversationUnreadable", {
    id: Schema.String,
    issue: Schema.String
  }, ({ id, issue }) => `The stored conversation "${id}" can't be read: ${issue}`)
{}

/**
 * A fork's target isn't empty: there already is a conversation of this id.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationExists extends ErrorClass<ConversationExists>("troupe/cluster")("ConversationExists", {
  id: Schema.String
}, ({ id }) => `There is a conversation "${id}" already`) {}

/**
 * The plan or the dialogue is being forked from `from`, and some of its agents' conversations may still be missing. If no fork into it is
 * under way any more, `remove` it.
 *
 * @category errors
 * @since 0.1.0
 */
export class ForkUnfinished extends ErrorClass<ForkUnfinished>("troupe/cluster")("ForkUnfinished", {
  id: Schema.String,
  from: Schema.String
}, ({ from, id }) => `"${id}" isn't whole yet: it is being forked from "${from}"`) {}

/**
 * Something is under way in the conversation, so nothing was begun. `say` and `post` wait for their turn instead.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationBusy extends ErrorClass<ConversationBusy>("troupe/cluster")("ConversationBusy", {
  id: Schema.String
}, ({ id }) => `Conversation "${id}" has something under way`) {}

/**
 * What was to begin isn't in the log: its key was cancelled, or its run failed, was stopped or was interrupted before anything was stored,
 * as when the services of the conversation couldn't be made.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotBegun extends ErrorClass<NotBegun>("troupe/cluster")("NotBegun", {
  id: Schema.String,
  issue: Schema.String
}, ({ id, issue }) => `Nothing was begun in conversation "${id}": ${issue}`) {}

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
  ({ conversation }) =>
    `Conversation "${conversation}" would wait for itself: what it runs may \`post\` to it, which doesn't wait`
) {}

/**
 * The events up to the number `until` were removed, because of `keepEvents`. Those after `until` can be read.
 *
 * @category errors
 * @since 0.1.0
 */
export class EventsGone extends ErrorClass<EventsGone>("troupe/cluster")("EventsGone", {
  id: Schema.String,
  until: Schema.Int
}, ({ id, until }) => `The events of conversation "${id}" up to ${until} are gone: read on \`after\` ${until}`) {}

/**
 * Why a conversation can't do what was requested.
 *
 * @category errors
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  NotAwaitingApproval,
  ParametersRejected,
  NotAwaitingResult,
  ResultRejected,
  DefinitionChanged,
  ConversationUnreadable,
  ConversationExists,
  ForkUnfinished,
  ConversationBusy,
  NotBegun,
  EventsGone,
  WaitsForItself
])

/** Why a conversation can't do what was requested. */
export type Reason = typeof Reason.Type

/**
 * The error of a conversation that can't do what was requested; `reason` says why. A failed run isn't such an error: the answer says that
 * it failed.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationError extends ErrorClass<ConversationError>("troupe/cluster")("ConversationError", {
  reason: Reason
}, ({ reason }) => reason.message) {}
