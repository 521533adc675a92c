/**
 * The conversation settings of an agent, which can change during a conversation, as data: names of tools and of a model.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as JsonValue from "./JsonValue.ts"

const ToolNames = Schema.Array(Schema.String)

/** Which tools a model must or may use, as in `effect/ai`. */
const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({ tool: Schema.String }),
  Schema.Struct({ mode: Schema.optionalKey(Schema.Literals(["auto", "required"])), oneOf: ToolNames })
])

/**
 * Schema for conversation settings: `tools` are those that the agent still offers, `toolChoice` says which of them the model must or may
 * use, `model` names one of the agent's models. A missing setting is as the agent's definition says.
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
 * A change of conversation settings. A setting that is `undefined` returns to the agent's own; one that is missing stays as it is.
 *
 * @category models
 * @since 0.1.0
 */
export type SettingsChange = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

/** Changes the settings before. The result is a copy, and fields that aren't settings are left out. */
export const merge = (before: Settings | undefined, change: SettingsChange): Settings => {
  const given = Struct.pick(change, Struct.keys(Settings.fields))
  const isKept = (name: keyof Settings): boolean => !(name in given && given[name] === undefined)
  const kept = Struct.pick({ ...before, ...given }, Struct.keys(Settings.fields).filter(isKept))
  // A copy has the type of the original, and none of the kept settings is undefined.
  return JsonValue.detached(kept) as Settings
}
