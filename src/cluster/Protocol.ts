/**
 * The messages of a conversation, as requests to an entity of the cluster.
 *
 * 1. A request that changes a conversation is persisted and has a key: it is delivered until it is answered, and once for each key.
 * 2. A sender that stops waiting interrupts nothing. A runner that is stopping lets a run continue to its next save.
 * 3. A request that only reads isn't persisted, and doesn't wait for a run.
 *
 * @since 0.1.0
 */
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as DeliverAt from "effect/cluster/DeliverAt"
import * as Entity from "effect/cluster/Entity"
import type * as DateTime from "effect/DateTime"
import * as PrimaryKey from "effect/PrimaryKey"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { entityNamed } from "../domain/InvalidName.ts"
import { lazy } from "../domain/Lazy.ts"
import { UserPart } from "../domain/Part.ts"
import type { User } from "../domain/StateSchema.ts"
import { Answer } from "./Answer.ts"
import { BeginningJson, Begun } from "./Beginning.ts"
import { ConversationError } from "./ConversationError.ts"

const error = ConversationError
const key = Schema.String
const primaryKey = ({ key }: { readonly key: string }) => key
/** Inputs, states and events are sent as JSON, because the cluster's binary encoding doesn't support unions without tags. */
const input = Schema.Json

const Say = Rpc.make("Say", { payload: { key, input }, primaryKey, success: Answer, error })

/** The payload of something that is said at a later time. */
class SayAtPayload extends Schema.Class<SayAtPayload>("troupe/cluster/SayAt")({ key, input, at: Schema.DateTimeUtc }) {
  [PrimaryKey.symbol](): string {
    return this.key
  }
  [DeliverAt.symbol](): DateTime.DateTime {
    return this.at
  }
}

const SayAt = Rpc.make("SayAt", { payload: SayAtPayload, success: Answer, error })

const Approve = Rpc.make("Approve", {
  payload: { key, callId: Schema.String, params: Schema.optionalKey(Schema.Json) },
  primaryKey,
  success: Answer,
  error
})

const Deny = Rpc.make("Deny", {
  payload: { key, callId: Schema.String, reason: Schema.String },
  primaryKey,
  success: Answer,
  error
})

/** `result` is what the tool gave, or with `failed` why it gave nothing. */
const GiveResult = Rpc.make("GiveResult", {
  payload: { key, callId: Schema.String, result: Schema.Json, failed: Schema.optionalKey(Schema.Literal(true)) },
  primaryKey,
  success: Answer,
  error
})

const Resume = Rpc.make("Resume", { payload: { key }, primaryKey, success: Answer, error })

const Fork = Rpc.make("Fork", { payload: { key, to: Schema.String }, primaryKey, error })

const Cancel = Rpc.make("Cancel", { payload: { key }, primaryKey, success: Schema.Boolean, error })

const Remove = Rpc.make("Remove", { error })

const State = Rpc.make("State", { success: Schema.Json, error })

/** It never ends by itself, so a runner that is to leave doesn't wait for it. */
const Events = Rpc.make("Events", { payload: { after: Schema.Int }, success: Schema.Json, error, stream: true })
  .annotate(ClusterSchema.InterruptOnTermination, true)

/** Something that is taken in only if nothing is under way: what it is, as JSON. Its text isn't in the cluster's own tables. */
const Begin = Rpc.make("Begin", { payload: { key, beginning: BeginningJson }, success: Begun, error })
  .annotate(ClusterSchema.Uninterruptible, "client")

/** Runs what has begun under the key `of`. If the runner leaves before this is answered, the next one continues it. */
const Continue = Rpc.make("Continue", { payload: { key, of: key }, primaryKey, error })
  .annotate(ClusterSchema.Persisted, true)
  .annotate(ClusterSchema.Uninterruptible, "client")

const Stop = Rpc.make("Stop", { success: Schema.Boolean, error })

const View = Rpc.make("View", { success: Schema.Json, error })

const parts = lazy(() => Schema.toCodecJson(Schema.Array(UserPart)))

/** Encodes a user's input. */
export const inputToJson = (input: User["parts"]): Schema.Json => Schema.encodeSync(parts())(input) as Schema.Json

/** Decodes a user's input, which `inputToJson` has encoded. */
export const inputFromJson = (json: Schema.Json): User["parts"] => Schema.decodeUnknownSync(parts())(json)

/** The entity of some name. */
export type Named = ReturnType<typeof make>

/**
 * Forgets which name an entity has, and the further requests of a conversation's entity. The name is invariant in the type of an entity, so
 * TypeScript refuses this without a cast.
 */
export const named = <Name extends string>(
  entity: ReturnType<typeof make<Name>> | ReturnType<typeof makeConversation<Name>>
): Named => entity as unknown as Named

/** Makes the entity of a name. */
export const make = <Name extends string>(name: Name) =>
  Entity.fromRpcGroup(
    entityNamed(name),
    RpcGroup.make(Say, SayAt, Approve, Deny, GiveResult, Resume, Fork, Cancel)
      .annotateRpcs(ClusterSchema.Persisted, true)
      .annotateRpcs(ClusterSchema.Uninterruptible, "client")
      .add(Remove, State, Events)
  )

/** The entity of a conversation of some name. */
export type NamedConversation = ReturnType<typeof makeConversation>

/** Forgets which name a conversation's entity has, as `named` does. */
export const namedConversation = <Name extends string>(
  entity: ReturnType<typeof makeConversation<Name>>
): NamedConversation => entity as unknown as NamedConversation

/** Makes the entity of the conversations of a name. */
export const makeConversation = <Name extends string>(name: Name) =>
  Entity.fromRpcGroup(name, make(name).protocol.add(Begin, Continue, Stop, View))
