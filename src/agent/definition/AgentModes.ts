/**
 * The modes of an agent: prepared once, with their tools.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Schema from "effect/Schema"
import { lazy } from "../../domain/Lazy.ts"
import * as Wanted from "../../domain/Wanted.ts"
import * as ModeType from "../../modes/ModeType.ts"
import type { Definition, ModeEntry, ModeTool, OwnModel, ToolEntry } from "./AgentDefinition.ts"
import { paramsDecoder } from "./Codec.ts"
import { DuplicateMode } from "./DuplicateName.ts"
import type { ModelLayer } from "./ModelLayer.ts"
import { addTool, handledTool } from "./ToolEntries.ts"

export type { Any as AnyMode, Services as ModeServices } from "../../modes/ModeType.ts"

/** Returns the model of an agent or a mode, tagged as a Layer or a plan. */
export const ownModel = (model: unknown): OwnModel =>
  ExecutionPlan.isExecutionPlan(model)
    ? { _tag: "Plan", plan: model }
    // A model is a Layer if it isn't a plan; both come from typed options.
    : { _tag: "Layer", layer: model as ModelLayer }

/** The tool by which a model leaves the mode on top: one for all agents, so that their toolkits are decoded in the same way. */
const exitTool = lazy((): ModeTool => {
  const tool = Tool.make("exit_current_mode", { description: "Leaves the current mode." })
  return { _tag: "Mode", tool, mode: undefined, decode: paramsDecoder(tool) }
})

const enterTool = (mode: ModeType.Definition): ModeTool => {
  const tool: Tool.Any = Tool.make(mode.toolName, {
    description: `Enters the mode "${mode.name}".${mode.description === undefined ? "" : ` ${mode.description}`}`,
    // A mode's parameters are a struct, whose fields aren't known here.
    parameters: mode.paramsOfTool as Schema.Struct<{}>
  })
  return { _tag: "Mode", tool, mode, decode: paramsDecoder(tool) }
}

/** Returns a mode that models may enter, whatever its own options say. */
export const invokable = (self: ModeType.Any): ModeType.Any => ({
  ...self,
  [ModeType.TypeId]: { definition: { ...ModeType.definitionOf(self), isInvokable: true } }
})

const prepared = new WeakMap<ModeType.Definition, ModeEntry>()

/** Prepares a mode, once. */
export const prepare = (self: ModeType.Any): ModeEntry => {
  const mode = ModeType.definitionOf(self)
  const entry = prepared.get(mode) ?? {
    self,
    mode,
    model: mode.model === undefined ? undefined : ownModel(mode.model),
    decode: Schema.decodeUnknownEffect(mode.params),
    encode: Schema.encodeUnknownEffect(mode.params)
  }
  prepared.set(mode, entry)
  return entry
}

/** Adds a tool of a mode. Several modes may bring the same tool. */
const addHandled = (
  tools: Map<string, ToolEntry>,
  agent: string,
  tool: Tool.Any,
  { name, toolkit }: ModeType.Definition
): void => {
  const known = tools.get(tool.name)
  if (known?._tag === "Handled" && known.tool === tool && known.modes !== undefined) {
    tools.set(tool.name, { ...known, modes: [...known.modes, name] })
  } else addTool(tools, agent, { ...handledTool(tool, false, toolkit), modes: [name] })
}

/** Adds modes, and the tools that belong to them, to those of an agent. Throws if it has another mode or tool with one of their names. */
export const addModes = (
  agent: string,
  self: Pick<Definition, "modes" | "tools">,
  more: ReadonlyArray<ModeType.Any>
): Pick<Definition, "modes" | "tools"> => {
  const modes = new Map(self.modes)
  const tools = new Map(self.tools)
  for (const entry of Wanted.members(agent, "modes", "Mode.make", ModeType.isMode, more).map(prepare)) {
    const { mode } = entry
    const known = modes.get(mode.name)
    if (known?.mode === mode) continue
    if (known !== undefined) throw new DuplicateMode({ agent, mode: mode.name })
    modes.set(mode.name, entry)
    for (const tool of Object.values(mode.toolkit?.tools ?? {})) addHandled(tools, agent, tool, mode)
    if (!mode.isInvokable) continue
    addTool(tools, agent, enterTool(mode))
    const exit = exitTool()
    if (tools.get(exit.tool.name) !== exit) addTool(tools, agent, exit)
  }
  return { modes, tools }
}
