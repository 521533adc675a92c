/**
 * Modes as an agent has them: prepared once, with the tools that belong to them.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Schema from "effect/Schema"
import { lazy } from "../../domain/Lazy.ts"
import * as ModeType from "../../modes/ModeType.ts"
import type * as Definition from "./AgentDefinition.ts"
import { paramsDecoder } from "./Codec.ts"
import { DuplicateMode } from "./DuplicateName.ts"
import { addTool, handledTool } from "./ToolEntries.ts"

export type { Any as AnyMode, Services as ModeServices } from "../../modes/ModeType.ts"

/** Gives a model in the form in which agents and modes have one. */
export const ownModel = (model: unknown): Definition.OwnModel =>
  ExecutionPlan.isExecutionPlan(model)
    ? { _tag: "Plan", plan: model }
    : { _tag: "Layer", layer: model as Definition.ModelLayer }

/** The tool by which a model leaves the mode on top. */
const exitTool = lazy((): Definition.ModeTool => {
  const tool = Tool.make("exit_current_mode", { description: "Leaves the current mode." })
  return { _tag: "Mode", tool, mode: undefined, decode: paramsDecoder(tool) }
})

const toolOf = (mode: ModeType.Definition): Tool.Any =>
  Tool.make(mode.toolName, {
    description: `Enters the mode "${mode.name}".${mode.description === undefined ? "" : ` ${mode.description}`}`,
    parameters: mode.paramsOfTool as Schema.Struct<{}>
  })

const entryOf = (self: ModeType.Any, mode: ModeType.Definition): Definition.ModeEntry => ({
  self,
  mode,
  model: mode.model === undefined ? undefined : ownModel(mode.model),
  decode: Schema.decodeUnknownEffect(mode.params),
  encode: Schema.encodeUnknownEffect(mode.params)
})

/** Gives a mode that models may enter, whether or not it lets them. */
export const invokable = (self: ModeType.Any): ModeType.Any => ({
  ...self,
  [ModeType.TypeId]: { definition: { ...ModeType.definitionOf(self), isInvokable: true } }
})

const prepared = new WeakMap<ModeType.Definition, Definition.ModeEntry>()

/** Prepares a mode, once. */
export const prepare = (self: ModeType.Any): Definition.ModeEntry => {
  const mode = ModeType.definitionOf(self)
  const known = prepared.get(mode)
  if (known !== undefined) return known
  const entry = entryOf(self, mode)
  prepared.set(mode, entry)
  return entry
}

/** Adds a tool of a mode. Several modes may bring the same tool. */
const addHandled = (
  tools: Map<string, Definition.ToolEntry>,
  agent: string,
  tool: Tool.Any,
  { name, toolkit }: ModeType.Definition
): void => {
  const known = tools.get(tool.name)
  if (known?._tag === "Handled" && known.tool === tool && known.modes !== undefined) {
    tools.set(tool.name, { ...known, modes: [...known.modes, name] })
  } else addTool(tools, agent, { ...handledTool(tool, false, toolkit), modes: [name] })
}

/** Adds modes, and the tools that belong to them, to those of an agent. A mode that is there already stays as it is. */
export const addModes = (
  agent: string,
  self: Pick<Definition.Definition, "modes" | "tools">,
  more: ReadonlyArray<ModeType.Any>
): Pick<Definition.Definition, "modes" | "tools"> => {
  const modes = new Map(self.modes)
  const tools = new Map(self.tools)
  for (const added of more) {
    const entry = prepare(added)
    const { mode } = entry
    const known = modes.get(mode.name)
    if (known?.mode === mode) continue
    if (known !== undefined) throw new DuplicateMode({ agent, mode: mode.name })
    modes.set(mode.name, entry)
    for (const tool of Object.values(mode.toolkit?.tools ?? {})) addHandled(tools, agent, tool, mode)
    if (!mode.isInvokable) continue
    const tool = toolOf(mode)
    addTool(tools, agent, { _tag: "Mode", tool, mode, decode: paramsDecoder(tool) })
    const exit = exitTool()
    if (tools.get(exit.tool.name) !== exit) addTool(tools, agent, exit)
  }
  return { modes, tools }
}
