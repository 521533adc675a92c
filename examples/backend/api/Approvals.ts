/**
 * Who somebody is here, and what awaits a colleague's decision in all of a tenant's conversations.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authentication, ColleaguesOnly, Role } from "./Authentication.ts"
import { Approval, ConversationId, CursorText } from "./Conversations.ts"
import { TooManyRequests, Unavailable } from "./Problems.ts"

/** A call that awaits a decision, and the conversation that it is made in. */
export const Waiting = Schema.Struct({
  conversation: ConversationId,
  title: Schema.String,
  updatedAt: Schema.DateTimeUtcFromString,
  ...Approval.fields
})

/** The whole list of what awaits a decision. What an earlier list had and this list lacks was decided, or is gone. */
export const StreamedWaiting = Schema.Struct({
  id: CursorText,
  event: Schema.String,
  data: Schema.fromJsonString(Schema.toCodecJson(Schema.Array(Waiting)))
})

export class Approvals extends HttpApiGroup.make("approvals")
  .add(
    /** The tenant and the role that the token stands for. */
    HttpApiEndpoint.get("me", "/me", { success: Schema.Struct({ tenant: Schema.String, role: Role }) }),
    /** What awaits a decision, the longest waiting conversation first, of a hundred conversations at most. */
    HttpApiEndpoint.get("waiting", "/approvals", {
      success: Schema.Array(Waiting),
      error: Unavailable
    }).middleware(ColleaguesOnly),
    /** Streams the same list, at once and whenever it changes. */
    HttpApiEndpoint.get("follow", "/approvals/events", {
      success: HttpApiSchema.StreamSse({ events: StreamedWaiting }),
      error: [Unavailable, TooManyRequests]
    }).middleware(ColleaguesOnly)
  )
  .middleware(Authentication)
  .prefix("/v1")
{}
