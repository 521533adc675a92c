/**
 * What can be wrong with a request, as the problem documents of RFC 9457.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"

const type = <const Name extends string>(name: Name) => `urn:troupe-backend:${name}` as const

/** There is no token, or nobody knows it. */
export class Unauthorized extends HttpApiError.Problem<Unauthorized>()("Unauthorized", {
  type: type("unauthorized"),
  status: 401,
  title: "A bearer token is needed"
}) {}

/** The token is of a role that mustn't do that. `role` is the one that may. */
export class Forbidden extends HttpApiError.Problem<Forbidden>()("Forbidden", {
  type: type("forbidden"),
  status: 403,
  title: "This token's role may not do that"
}, { role: Schema.Literals(["customer", "colleague"]) }) {}

/** There is no such conversation, or it is another tenant's: nobody can tell which. */
export class ConversationNotFound extends HttpApiError.Problem<ConversationNotFound>()("ConversationNotFound", {
  type: type("conversation-not-found"),
  status: 404,
  title: "There is no such conversation"
}, { conversation: Schema.String }) {}

/** No call of that id awaits approval. */
export class ApprovalNotFound extends HttpApiError.Problem<ApprovalNotFound>()("ApprovalNotFound", {
  type: type("approval-not-found"),
  status: 404,
  title: "No such call awaits approval"
}, { call: Schema.String }) {}

/** The conversation has something under way, here or in another instance, which has to end first. */
export class ConversationBusy extends HttpApiError.Problem<ConversationBusy>()("ConversationBusy", {
  type: type("conversation-busy"),
  status: 409,
  title: "The conversation is busy"
}, { conversation: Schema.String }) {}

/** The conversation has its answer, hasn't begun, or waits for an approval: there is nothing that could go on. */
export class NothingToResume extends HttpApiError.Problem<NothingToResume>()("NothingToResume", {
  type: type("nothing-to-resume"),
  status: 409,
  title: "There is nothing to resume"
}, { conversation: Schema.String }) {}

/** Events after that cursor are no longer kept: read the conversation, and stream from the cursor that it gives. */
export class CursorExpired extends HttpApiError.Problem<CursorExpired>()("CursorExpired", {
  type: type("cursor-expired"),
  status: 410,
  title: "The events after that cursor are no longer kept"
}, { cursor: Schema.Int, oldest: Schema.Int }) {}

/** There is no event of that number yet: read the conversation, and stream from the cursor that it gives. `last` is the last event's. */
export class CursorAhead extends HttpApiError.Problem<CursorAhead>()("CursorAhead", {
  type: type("cursor-ahead"),
  status: 400,
  title: "That cursor is beyond the last event"
}, { cursor: Schema.Int, last: Schema.Int }) {}

/** The body is larger than `limit` bytes. */
export class BodyTooLarge extends HttpApiError.Problem<BodyTooLarge>()("BodyTooLarge", {
  type: type("body-too-large"),
  status: 413,
  title: "The body is too large"
}, { limit: Schema.Int }) {
  static of(limit: number): BodyTooLarge {
    return new BodyTooLarge({ detail: `A body may have ${limit} bytes`, limit })
  }
}

/** The body is packed, or written in another encoding of characters. */
export class UnsupportedEncoding extends HttpApiError.Problem<UnsupportedEncoding>()("UnsupportedEncoding", {
  type: type("unsupported-encoding"),
  status: 415,
  title: "The encoding of the body isn't supported"
}) {}

/** The body has bytes that aren't UTF-8. */
export class MalformedText extends HttpApiError.Problem<MalformedText>()("MalformedText", {
  type: type("malformed-text"),
  status: 400,
  title: "The body isn't valid UTF-8"
}) {}

/** The tenant asks too often, has too many runs under way, or too much is being taken in. `retryAfter` is in seconds. */
export class TooManyRequests extends HttpApiError.Problem<TooManyRequests>()("TooManyRequests", {
  type: type("too-many-requests"),
  status: 429,
  title: "Too many requests"
}, { retryAfter: Schema.Int, limit: Schema.Literals(["rate", "runs", "streams", "waiting"]) }) {}

/** The service is shutting down, can't reach its store, or has too many conversations in memory: `detail` says which. `retryAfter` is in seconds. */
export class Unavailable extends HttpApiError.Problem<Unavailable>()("Unavailable", {
  type: type("unavailable"),
  status: 503,
  title: "The service can't do that now"
}, { retryAfter: Schema.Int }) {}
