/**
 * The tools of an agent by name, each with what answers a call of it.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Schema from "effect/Schema"
import * as Handoff from "../../handoff/Handoff.ts"
import type { AnyToolkit } from "../../modes/AnyToolkit.ts"
import type { AgentTool, HandledTool, ToolEntry } from "./AgentDefinition.ts"
import { foreignParam, paramsDecoder, resultDecoder, resultEncoder } from "./Codec.ts"
import { DuplicateHandoff, DuplicateTool } from "./DuplicateName.ts"
import { InvalidParams } from "./InvalidParams.ts"
import type { OutputCodec } from "./OutputCodec.ts"
import * as ToolPolicy from "./ToolPolicy.ts"

/** Prepares a tool whose handler comes from the environment, or from its toolkit if that has handlers. */
export const handledTool = (tool: Tool.Any, isFatal: boolean, toolkit: AnyToolkit | undefined): HandledTool => ({
  _tag: "Handled",
  tool,
  policy: ToolPolicy.get(tool),
  isFatal,
  decode: paramsDecoder(tool),
  encodeSuccess: resultEncoder(tool.successSchema),
  decodeSuccess: resultDecoder(tool.successSchema),
  encodeFailure: Schema.encodeUnknownEffect(Schema.toCodecJson(tool.failureSchema)),
  // A toolkit's `handle` takes the parameters of its tools, which are decoded by their own schemas.
  handle: toolkit !== undefined && "handle" in toolkit ? toolkit.handle as HandledTool["handle"] : undefined,
  encodeParams: Schema.encodeUnknownEffect(tool.parametersSchema)
})

/**
 * Adds a tool. Throws `DuplicateTool` if the agent has one of that name, and `InvalidParams` if no model could write its parameters.
 */
export const addTool = (tools: Map<string, ToolEntry>, agent: string, entry: ToolEntry): void => {
  const { name } = entry.tool
  if (tools.has(name)) throw new DuplicateTool({ agent, tool: name })
  const param = foreignParam(entry.tool)
  if (param !== undefined) throw new InvalidParams({ agent, tool: name, param: `params${param}` })
  tools.set(name, entry)
}

/** Adds the tool of a handoff, or throws if the agent has one of that name. */
export const addHandoff = (tools: Map<string, ToolEntry>, agent: string, handoff: Handoff.Any): void => {
  const { tool } = Handoff.internalsOf(handoff)
  const known = tools.get(tool.name)
  if (known?._tag === "Handoff") {
    throw new DuplicateHandoff({ agent, tool: tool.name, targets: [known.handoff.target, handoff.target] })
  }
  addTool(tools, agent, { _tag: "Handoff", tool, handoff })
}

/** Prepares the tools that an agent has outside of modes. */
export const entriesOf = (
  agent: string,
  toolkit: AnyToolkit | undefined,
  fatal: ReadonlyArray<string>,
  agents: ReadonlyArray<AgentTool>,
  output: OutputCodec | undefined,
  handoffs: ReadonlyArray<Handoff.Any>
): ReadonlyMap<string, ToolEntry> => {
  const tools = new Map<string, ToolEntry>()
  for (const tool of Object.values(toolkit?.tools ?? {})) {
    addTool(tools, agent, handledTool(tool, fatal.includes(tool.name), toolkit))
  }
  for (const entry of agents) addTool(tools, agent, entry)
  if (output !== undefined) addTool(tools, agent, output.tool)
  for (const handoff of handoffs) addHandoff(tools, agent, handoff)
  return tools
}
