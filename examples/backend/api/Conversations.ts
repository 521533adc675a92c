/**
 * Conversations: opened, talked to, watched, cancelled and deleted by customers, read and approved by colleagues.
 *
 * 1. A message is taken in when it is answered with 202: from then on it is kept, and answered whoever goes away.
 * 2. Events of a conversation are numbered without gaps; a piece of text has the number of the event before it. A cursor is the
 *    number of the last one that was seen; a stream gives what comes after it, each event once and in order, and doesn't end
 *    by itself.
 * 3. Events tell what happened, the state what is. Where a process died in the middle of a step, what it told stands, and
 *    the next `RunStarted` says that the conversation goes on from its state.
 */
import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { AgentEvent, AgentState } from "troupe"
import { Authentication, ColleaguesOnly, CustomersOnly } from "./Authentication.ts"
import {
  ApprovalNotFound,
  ConversationBusy,
  ConversationNotFound,
  CursorAhead,
  CursorExpired,
  NothingToResume,
  TooManyRequests,
  Unavailable
} from "./Problems.ts"

const { RunCompleted, RunFailed, RunInterrupted, ...others } = AgentEvent.AgentEvent.cases
const { state: _completed, ...completed } = RunCompleted.fields
const { state: _failed, ...failed } = RunFailed.fields
const { state: _interrupted, ...interrupted } = RunInterrupted.fields

/** What happened in a run. The last event of a run goes without its state: that is the conversation's. */
export const Event = Schema.Union([
  ...Object.values(others),
  Schema.Struct(completed),
  Schema.Struct(failed),
  Schema.Struct(interrupted)
])
export type Event = typeof Event.Type

/** The number of an event; 0 is before all of them. */
export const Cursor = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A cursor in a query, a header or a stream: decimal digits and nothing else. */
export const CursorText = Schema.String.check(
  Schema.isPattern(/^\d{1,15}$/, {
    message: "A cursor is the number of an event, in decimal digits: 0 for all of them, or such as 42"
  })
).pipe(Schema.decodeTo(Cursor, SchemaTransformation.numberFromString))

/** An event in a stream: `id` is its number, `event` its tag. */
export const StreamedEvent = Schema.Struct({
  id: CursorText,
  event: Schema.String,
  data: Schema.fromJsonString(Schema.toCodecJson(Event))
})

/** The id of a conversation: made by the service. */
export const ConversationId = Schema.String.check(Schema.isPattern(/^[0-9a-f-]{36}$/))

/** A conversation in a list. `isRunning` says whether something is under way. */
export const Summary = Schema.Struct({
  id: ConversationId,
  title: Schema.String,
  createdAt: Schema.DateTimeUtcFromString,
  updatedAt: Schema.DateTimeUtcFromString,
  isRunning: Schema.Boolean
})

/** A call that awaits approval. `path` names the agents from the one in control to the one that asks. */
export const Approval = Schema.Struct({
  callId: Schema.NonEmptyString,
  name: Schema.String,
  params: Schema.Json,
  path: Schema.NonEmptyArray(Schema.String)
})

/** A guardrail changed what the user said in a turn: which one, and why. */
export const Change = Schema.Struct({
  /** The turn's place in the conversation of the state. */
  turn: Schema.Int,
  guardrail: Schema.String,
  reason: Schema.optionalKey(Schema.String)
})
export type Change = typeof Change.Type

/** A conversation as it is now; events after `cursor` change it further. */
export const View = Schema.Struct({
  ...Summary.fields,
  cursor: Cursor,
  state: AgentState.AgentState,
  approvals: Schema.Array(Approval),
  changes: Schema.Array(Change)
})

/** Taken in: events after `cursor` tell what comes of it. */
export const Accepted = Schema.Struct({ cursor: Cursor }).pipe(HttpApiSchema.status(202))

const params = { id: ConversationId }
const unknown = [ConversationNotFound, Unavailable] as const
const changing = [...unknown, ConversationBusy, TooManyRequests] as const

/** Most characters of a message. */
export const maxMessageLength = 10_000

/** What somebody says: an agent takes no blank text, so neither does the service. */
const Text = Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(maxMessageLength))

export class Conversations extends HttpApiGroup.make("conversations")
  .add(
    HttpApiEndpoint.post("open", "/", {
      success: View.pipe(HttpApiSchema.status(201)),
      error: [Unavailable, TooManyRequests]
    }).middleware(CustomersOnly),
    /** The tenant's conversations, the last touched first, at most a hundred. */
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(Summary), error: Unavailable }),
    HttpApiEndpoint.get("read", "/:id", { params, success: View, error: unknown }),
    /** What happened, as Markdown. */
    HttpApiEndpoint.get("trace", "/:id/trace", {
      params,
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/markdown" })),
      error: unknown
    }),
    /**
     * Says something. A message with the `key` of one that was taken in before isn't said again, so that a client may
     * repeat what it has no answer to.
     */
    HttpApiEndpoint.post("say", "/:id/messages", {
      params,
      payload: Schema.Struct({
        text: Text,
        key: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(100)))
      }),
      success: Accepted,
      error: changing
    }).middleware(CustomersOnly),
    /** Streams events after `after`, or after the header `Last-Event-ID`, which a browser sends when it reconnects. */
    HttpApiEndpoint.get("events", "/:id/events", {
      params,
      query: { after: Schema.optionalKey(CursorText) },
      headers: { "last-event-id": Schema.optionalKey(CursorText) },
      success: HttpApiSchema.StreamSse({ events: StreamedEvent }),
      error: [...unknown, CursorAhead, CursorExpired, TooManyRequests]
    }),
    HttpApiEndpoint.get("approvals", "/:id/approvals", { params, success: Schema.Array(Approval), error: unknown }),
    /** Approves a call, or denies it, which is a colleague's to do. The run goes on when nothing awaits approval any more. */
    HttpApiEndpoint.post("resolve", "/:id/approvals/:callId", {
      params: { ...params, callId: Schema.NonEmptyString },
      payload: Schema.Union([
        Schema.Struct({ decision: Schema.Literal("approve") }),
        Schema.Struct({
          decision: Schema.Literal("deny"),
          reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000)))
        })
      ]),
      success: Accepted,
      error: [...changing, ApprovalNotFound]
    }).middleware(ColleaguesOnly),
    /** Goes on after a failure or a cancellation. */
    HttpApiEndpoint.post("resume", "/:id/resume", { params, success: Accepted, error: [...changing, NothingToResume] })
      .middleware(CustomersOnly),
    /** Stops what is under way, the request to the model too, and answers when it has stopped. */
    HttpApiEndpoint.post("cancel", "/:id/cancel", {
      params,
      success: View,
      error: [...unknown, ConversationBusy]
    }).middleware(CustomersOnly),
    /** Cancels what is under way, and removes everything that is kept of the conversation. */
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [...unknown, ConversationBusy]
    }).middleware(CustomersOnly)
  )
  .middleware(Authentication)
  .prefix("/v1/conversations")
{}
