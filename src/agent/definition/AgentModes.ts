/**
 * Modes as an agent has them: prepared once, with the tools that belong to them.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as ExecutionPlan from "effect/ExecutionPlan"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { lazy } from "../../domain/Lazy.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as ModeType from "../../modes/ModeType.ts"
import * as Definition from "./AgentDefinition.ts"
import { DuplicateMode, DuplicateTool } from "./DuplicateName.ts"

export type { Any as AnyMode, Services as ModeServices } from "../../modes/ModeType.ts"

/** Gives a model in the form in which agents and modes have one. */
export const ownModel = (model: unknown): Definition.OwnModel =>
  ExecutionPlan.isExecutionPlan(model)
    ? { _tag: "Plan", plan: model }
    : { _tag: "Layer", layer: model as Layer.Layer<LanguageModel.LanguageModel, unknown, unknown> }

/** The tool by which a model leaves the mode on top. */
const exitTool = lazy((): Definition.ModeTool => {
  const tool = Tool.make("exit_current_mode", { description: "Leaves the current mode." })
  return { _tag: "Mode", tool, mode: undefined, decode: Definition.decoder(tool) }
})

const toolOf = (mode: ModeType.Definition): Tool.Any =>
  Tool.make(mode.toolName, {
    description: `Enters the mode "${mode.name}".${mode.description === undefined ? "" : ` ${mode.description}`}`,
    parameters: mode.paramsOfTool as Schema.Struct<{}>
  })

const handleOf = ({ toolkit }: ModeType.Definition): Definition.HandledTool["handle"] =>
  toolkit !== undefined && "handle" in toolkit ? toolkit.handle as Definition.HandledTool["handle"] : undefined

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
  mode: ModeType.Definition
): void => {
  const known = tools.get(tool.name)
  if (known === undefined) {
    tools.set(tool.name, { ...Definition.handledTool(tool, false, handleOf(mode)), modes: [mode.name] })
  } else if (known._tag === "Handled" && known.tool === tool && known.modes !== undefined) {
    tools.set(tool.name, { ...known, modes: [...known.modes, mode.name] })
  } else throw new DuplicateTool({ agent, tool: tool.name })
}

/** Adds modes, and the tools that belong to them, to those of an agent. One that is there already stays as it is. */
export const add = (
  agent: string,
  { modes, tools }: Pick<Definition.Definition, "modes" | "tools">,
  more: ReadonlyArray<ModeType.Any>
): Pick<Definition.Definition, "modes" | "tools"> => {
  const allModes = new Map(modes)
  const allTools = new Map(tools)
  for (const self of more) {
    const entry = prepare(self)
    const { mode } = entry
    const known = allModes.get(mode.name)
    if (known?.mode === mode) continue
    if (known !== undefined) throw new DuplicateMode({ agent, mode: mode.name })
    allModes.set(mode.name, entry)
    for (const tool of Object.values(mode.toolkit?.tools ?? {})) addHandled(allTools, agent, tool, mode)
    if (!mode.isInvokable) continue
    if (allTools.has(mode.toolName)) throw new DuplicateTool({ agent, tool: mode.toolName })
    const tool = toolOf(mode)
    allTools.set(mode.toolName, { _tag: "Mode", tool, mode, decode: Definition.decoder(tool) })
    const exit = exitTool()
    const taken = allTools.get(exit.tool.name)
    if (taken !== undefined && taken !== exit) throw new DuplicateTool({ agent, tool: exit.tool.name })
    allTools.set(exit.tool.name, exit)
  }
  return { modes: allModes, tools: allTools }
}

/** Gives the model that is asked in a state: the innermost mode's that has one, the one that is set, or the agent's own. */
export const modelIn = (
  { model, models, modes }: Definition.Definition,
  state: AgentState
): Definition.OwnModel | undefined => {
  const mode = state.modes.findLast(({ name }) => modes.get(name)?.model !== undefined)
  if (mode !== undefined) return modes.get(mode.name)?.model
  const name = state.settings?.model
  return name === undefined ? model : models.get(name) ?? model
}
