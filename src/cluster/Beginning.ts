/**
 * What a conversation takes in only if nothing is under way in it, and how it looks meanwhile.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Input, partsOf } from "../agent/definition/Input.ts"
import { lazy } from "../domain/Lazy.ts"
import { UserPart } from "../domain/Part.ts"
import * as StateJson from "../domain/StateJson.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import { ConversationError, ConversationUnreadable } from "./ConversationError.ts"

const together = Schema.optionalKey(Schema.Boolean)

const Kinds = lazy(() =>
  Schema.Union([
    Schema.TaggedStruct("Say", { input: Schema.Array(UserPart) }),
    Schema.TaggedStruct("Approve", { callId: Schema.String, params: Schema.optionalKey(Schema.Json), together }),
    Schema.TaggedStruct("Deny", { callId: Schema.String, reason: Schema.String, together }),
    Schema.TaggedStruct("Resume", {})
  ])
)

/** Something to begin, as the conversation's owner reads it. */
export type Kind = ReturnType<typeof Kinds>["Type"]

/**
 * Something to begin: what a user says, an approval or a denial of a call, or a continuation. `params` replace those that the model wrote.
 * With `together: true`, the approval or denial is stored, and the run continues once no call awaits approval any more; by default it
 * continues at once.
 *
 * @category models
 * @since 0.1.0
 */
export type Beginning =
  | { readonly _tag: "Say"; readonly input: Input }
  | { readonly _tag: "Approve"; readonly callId: string; readonly params?: Schema.Json; readonly together?: boolean }
  | { readonly _tag: "Deny"; readonly callId: string; readonly reason: string; readonly together?: boolean }
  | { readonly _tag: "Resume" }

const codecs = lazy(() => ({
  encode: Schema.encodeSync(Schema.toCodecJson(Kinds())),
  read: Schema.decodeUnknownResult(Schema.toCodecJson(Kinds()))
}))

/** Schema for something to begin as JSON. Anything else is refused when it is sent or received, and reaches no conversation. */
export const BeginningJson = Schema.Json.check(
  Schema.makeFilter((json) => Result.isSuccess(codecs().read(json)), { expected: "something to begin" })
)

/** Encodes something to begin. */
export const toJson = (beginning: Beginning): Schema.Json =>
  codecs().encode(
    beginning._tag === "Say" ? { _tag: "Say", input: partsOf(beginning.input) } : beginning
  ) as Schema.Json

/** Decodes something to begin, which `toJson` has encoded. */
export const fromJson = (json: Schema.Json): Kind => Result.getOrThrow(codecs().read(json))

/**
 * Schema for what was taken in: `cursor` is the number of the last event before it, and `isNew` whether its key was new. A repeated key
 * gets the cursor that it got first. If its events were removed since (`keepEvents`), `events` after this cursor fails with `EventsGone`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Begun = Schema.Struct({ cursor: Schema.Int, isNew: Schema.Boolean })

/** What was taken in. */
export interface Begun extends Schema.Schema.Type<typeof Begun> {}

/**
 * A conversation as it stands: its stored state, the number of the last event in it, and whether something is under way.
 *
 * @category models
 * @since 0.1.0
 */
export interface View {
  readonly state: AgentState
  readonly cursor: number
  readonly isRunning: boolean
}

const decodeView = lazy(() =>
  Schema.decodeUnknownResult(
    Schema.Struct({ state: Schema.Unknown, cursor: Schema.Int, isRunning: Schema.Boolean })
  )
)

/** Encodes how a conversation stands. */
export const viewToJson = ({ state, ...view }: View): Schema.Json => ({ ...view, state: StateJson.toJson(state) })

/** Decodes how a conversation stands. */
export const viewFromJson = (id: string, json: Schema.Json): Effect.Effect<View, ConversationError> =>
  Effect.fromResult(Result.gen(function*() {
    const { state, ...view } = yield* decodeView()(json)
    return { ...view, state: yield* StateJson.fromJson(state) }
  })).pipe(
    Effect.mapError(({ message: issue }) =>
      new ConversationError({ reason: new ConversationUnreadable({ id, issue }) })
    )
  )
