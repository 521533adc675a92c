/**
 * How a request names the tools of an agent, prepared once for each agent.
 *
 * Which of them are offered in a state is a rule: `rules/OfferedTools.ts`.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { lazy } from "../../domain/Lazy.ts"
import * as ToolName from "../../domain/ToolName.ts"
import { internalsOf, toolNameOf } from "../../handoff/Handoff.ts"
import type { Request, Requests, ToolEntry } from "./AgentDefinition.ts"

type Choice = LanguageModel.ToolChoice<string>

/** A placeholder for a toolkit that would be empty (`docs/decisions/0003`). No provider sees it. */
const placeholder = lazy(() => Tool.make("troupe_no_tool"))

/** Makes a toolkit that runs no calls. They come back as the model wrote them, and the loop runs them. */
const makeToolkit = (tools: ReadonlyArray<Tool.Any>): Request["toolkit"] => {
  const byName: Record<string, Tool.Any> = {}
  for (const tool of tools.length === 0 ? [placeholder()] : tools) {
    // A tool may be called `__proto__`.
    Object.defineProperty(byName, tool.name, { value: tool, enumerable: true, configurable: true, writable: true })
  }
  return { tools: byName, handle: () => Effect.die(new Error("An agent answers its calls itself")) }
}

/** Replaces the names in a choice by the real names of tools. An agent's name may have characters that a tool's name can't have. */
export const withToolNames = (
  choice: Choice | undefined,
  tools: ReadonlyMap<string, ToolEntry>
): Choice | undefined => {
  const nameOf = (name: string): string =>
    tools.has(name)
      ? name
      : name.startsWith("handoff_to_")
      ? toolNameOf(name.slice("handoff_to_".length))
      : ToolName.from("", name)
  if (typeof choice !== "object") return choice
  return "tool" in choice ? { tool: nameOf(choice.tool) } : { ...choice, oneOf: choice.oneOf.map(nameOf) }
}

/** Returns a choice that forces no call, so that the model may answer in text. */
export const unforced = (choice: Choice | undefined): Choice | undefined =>
  choice === "required" || (typeof choice === "object" && ("tool" in choice || choice.mode === "required"))
    ? "auto"
    : choice

/** Limits a choice to the offered tools, for a toolkit that has others too. */
const among = (choice: Choice | undefined, offered: ReadonlyArray<string>): Choice => {
  if (choice === "none") return { oneOf: [] }
  if (typeof choice !== "object") return { mode: choice ?? "auto", oneOf: offered }
  const wanted = "tool" in choice ? [choice.tool] : choice.oneOf
  const oneOf = wanted.filter((name) => offered.includes(name))
  if (oneOf.length === 0 && wanted.length > 0) return { mode: "auto", oneOf: offered }
  return { mode: "tool" in choice ? "required" : choice.mode ?? "auto", oneOf }
}

/** Makes a request that offers some tools of a toolkit. */
export const offering = (
  { hasOthers, names, toolkit }: Pick<Requests, "hasOthers" | "names" | "toolkit">,
  offered: ReadonlyArray<string>,
  choice: Choice | undefined
): Request => {
  const toolChoice = hasOthers || offered.length < names.length ? among(choice, offered) : choice ?? "auto"
  return {
    toolkit,
    tools: toolsFor(toolkit, toolChoice),
    toolChoice,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  }
}

/** Returns the tools that a choice leaves, as `effect/ai` does. */
const toolsFor = ({ tools }: Request["toolkit"], choice: Choice): ReadonlyArray<Tool.Any> => {
  const all = Object.values(tools)
  return typeof choice === "object" && "oneOf" in choice ? all.filter(({ name }) => choice.oneOf.includes(name)) : all
}

const isConditional = (entry: ToolEntry): boolean =>
  (entry._tag === "Handoff" && internalsOf(entry.handoff).when !== undefined) || entry._tag === "Mode" ||
  (entry._tag === "Handled" && entry.modes !== undefined)

/**
 * Prepares the requests of an agent.
 *
 * `shared` has the tools of every agent that the run can reach, if they share a toolkit. `effect/ai` keeps the decoder of only one toolkit,
 * so agents that take turns send the same toolkit, and each offers its own tools of it (`docs/decisions/0005`).
 */
export const make = (
  tools: ReadonlyMap<string, ToolEntry>,
  choice: Choice | undefined,
  shared: ReadonlyMap<string, Tool.Any> = new Map()
): Requests => {
  const entries = [...tools.values()]
  const names = [...tools.keys()]
  const toolkit = makeToolkit(
    shared.size === 0
      ? entries.map(({ tool }) => tool)
      : [...shared].map(([name, tool]) => tools.get(name)?.tool ?? tool)
  )
  const kit = { names, toolkit, hasOthers: names.length === 0 || shared.size > names.length }
  const first = offering(kit, names, choice)
  const later = unforced(choice) === choice ? first : offering(kit, names, "auto")
  return { ...kit, isConditional: entries.some(isConditional), first, later }
}
