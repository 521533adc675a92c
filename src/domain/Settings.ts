/**
 * What of an agent can be set while its conversation goes on, as data: names of tools and of a model.
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
 * Schema for what is set: `tools` are those that the agent still offers, `toolChoice` which of them the model must or may
 * use, `model` names one of the agent's models. What is missing is as the agent's definition says.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Settings = Schema.Struct({
  tools: Schema.optionalKey(ToolNames),
  toolChoice: Schema.optionalKey(ToolChoice),
  model: Schema.optionalKey(Schema.String)
})

/** What is set: which tools are offered, which of them the model must or may use, and the name of the model. */
export interface Settings extends Schema.Schema.Type<typeof Settings> {}

/** Gives what is set once more is. The program that set it can't change it later, and what is no setting is left out. */
export const merge = (before: Settings | undefined, more: Settings): Settings => ({
  ...before,
  ...(JsonValue.detached(Struct.pick(more, Struct.keys(Settings.fields))) as Settings)
})
