/**
 * The conversation settings of an agent, which can change during a conversation, as data: names of tools and of a model.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as JsonValue from "./JsonValue.ts"
import { lazy } from "./Lazy.ts"
import * as VersionedJson from "./VersionedJson.ts"

const ToolNames = Schema.Array(Schema.String)

/** Which tools a model must or may use, as in `effect/ai`. */
const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({ tool: Schema.String }),
  Schema.Struct({ mode: Schema.optionalKey(Schema.Literals(["auto", "required"])), oneOf: ToolNames })
])

/**
 * Schema for conversation settings: `tools` are those that the agent still offers, `toolChoice` says which of them the model must or may
 * use, `model` names one of the agent's models. A missing one is as the agent's definition says.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Settings = Schema.Struct({
  tools: Schema.optionalKey(ToolNames),
  toolChoice: Schema.optionalKey(ToolChoice),
  model: Schema.optionalKey(Schema.String)
})

/** Conversation settings: which tools are offered, which of them the model must or may use, and the name of the model. */
export interface Settings extends Schema.Schema.Type<typeof Settings> {}

/**
 * A change of conversation settings. One that is `undefined` returns to the agent's own; one that is missing stays as it is.
 *
 * @category models
 * @since 0.1.0
 */
export type SettingsChange = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

const reader = lazy(() =>
  Schema.decodeUnknownResult(Schema.Struct({
    tools: Schema.optional(ToolNames),
    toolChoice: Schema.optional(ToolChoice),
    model: Schema.optional(Schema.String)
  }))
)

/** Returns a change that a program gave, without unknown fields, or throws. */
const read = (change: SettingsChange): SettingsChange =>
  Result.getOrThrowWith(
    reader()(change),
    ({ issue }) =>
      new TypeError(VersionedJson.malformedMessage("conversation settings")(VersionedJson.problemIn(issue)))
  )

/** Applies a change to conversation settings. The result is a copy without unknown fields. Throws if one has a wrong type. */
export const merge = (before: Settings | undefined, change: SettingsChange): Settings => {
  const given = read(change)
  const isKept = (name: keyof Settings): boolean => !(name in given && given[name] === undefined)
  const kept = Struct.pick({ ...before, ...given }, Struct.keys(Settings.fields).filter(isKept))
  // A copy has the type of the original, and none of the kept fields is undefined.
  return JsonValue.detached(kept) as Settings
}
