/**
 * What a request offers its model: the tools of an agent, made once.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { inProgress } from "../../domain/AgentStatus.ts"
import { isWithin } from "../../domain/Isolation.ts"
import { lazy } from "../../domain/Lazy.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type * as Usage from "../../domain/Usage.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import type { Definition, ModeTool, Request, ToolEntry } from "./AgentDefinition.ts"
import { add } from "./AgentModes.ts"

/** Stands in a toolkit that would otherwise be empty; it is never sent. */
const emptyToolkitStandIn = lazy(() => Tool.make("troupe_no_tool"))

/**
 * Makes a toolkit whose calls come back as the model wrote them, unknown names and wrong parameters included: the loop
 * answers them.
 */
const makeToolkit = (tools: ReadonlyArray<Tool.Any>): Request["toolkit"] => {
  const byName: Record<string, Tool.Any> = {}
  for (const tool of tools.length === 0 ? [emptyToolkitStandIn()] : tools) {
    Object.defineProperty(byName, tool.name, { value: tool, enumerable: true, configurable: true, writable: true })
  }
  return { tools: byName, handle: () => Effect.die(new Error("An agent answers its calls itself")) }
}

const isForced = (choice: Choice | undefined): boolean =>
  choice === "required" || (typeof choice === "object" && ("tool" in choice || choice.mode === "required"))

type Choice = LanguageModel.ToolChoice<string>

/** Gives a choice among the tools that are offered, of a toolkit that has others. */
const among = (choice: Choice | undefined, offered: ReadonlyArray<string>): Choice => {
  if (choice === "none") return { oneOf: [] }
  if (typeof choice !== "object") return { mode: choice ?? "auto", oneOf: offered }
  const wanted = "tool" in choice ? [choice.tool] : choice.oneOf
  const oneOf = wanted.filter((name) => offered.includes(name))
  if (oneOf.length === 0 && wanted.length > 0) return { mode: "auto", oneOf: offered }
  return { mode: "tool" in choice ? "required" : choice.mode ?? "auto", oneOf }
}

/** Takes back what `Usage.add` added: tokens that were reported, and a request that didn't report its own. */
const subtract = (self: Usage.Usage, request: Usage.RequestUsage): Usage.Usage => {
  const less = (kind: keyof Usage.RequestUsage): Usage.TokenCount => {
    const { known, unreported } = self[kind]
    const reported = request[kind]
    return reported === undefined
      ? { known, unreported: Math.max(0, unreported - 1) }
      : { known: Math.max(0, known - reported), unreported }
  }
  return {
    requests: Math.max(0, self.requests - 1),
    input: less("input"),
    output: less("output"),
    reasoning: less("reasoning"),
    cached: less("cached")
  }
}

/**
 * Gives the state in which the model was asked for its last answer, if it has answered in this run.
 *
 * What agents used that the answer called and that have run since counts as if it had been used before.
 */
export const unanswered = (self: AgentState): AgentState | undefined => {
  const { run } = self
  const { turns } = self.conversation
  const at = turns.findLastIndex((turn) => turn._tag === "Assistant")
  const turn = turns[at]
  if (run.iteration === 0 || turn?._tag !== "Assistant") return undefined
  return {
    ...self,
    conversation: { turns: turns.slice(0, at) },
    status: inProgress,
    steps: Math.max(0, self.steps - 1),
    usage: subtract(self.usage, turn.usage),
    run: {
      ...run,
      steps: Math.max(0, run.steps - 1),
      iteration: run.iteration - 1,
      usage: subtract(run.usage, turn.usage)
    }
  }
}

/** Gives the place in the stack of the mode that a tool belongs to: -1 for the agent's own. */
const ownerOf = (entry: ToolEntry, { modes }: AgentState): number =>
  entry._tag === "Handled" && entry.modes !== undefined
    ? modes.findLastIndex(({ name }) => entry.modes!.includes(name))
    : -1

/** Checks whether the modes around a tool, and what is set, leave it. An answer and a way out are always left. */
const isLeft = (entry: ToolEntry, owner: number, state: AgentState, modes: Modes): boolean => {
  if (entry._tag === "Output" || (entry._tag === "Mode" && entry.mode === undefined)) return true
  const { name } = entry.tool
  const narrowed = state.modes.slice(owner + 1).map((frame) => modes.get(frame.name)?.mode.tools)
  return [...narrowed, owner < 0 ? state.settings?.tools : undefined].every((tools) => tools?.includes(name) ?? true)
}

/** Checks whether a model can ask for a move into a mode, or out of the one on top. */
const isReachable = ({ mode }: ModeTool, { modes: stack }: AgentState, modes: Modes): boolean => {
  const top = stack[stack.length - 1]
  if (mode === undefined) return top !== undefined && modes.get(top.name)?.mode.isInvokable === true
  const around = mode.invocation === "switch" ? stack[stack.length - 2] : top
  return top?.name !== mode.name && isWithin(mode.isolation, around?.isolation)
}

/**
 * Checks whether a tool is offered in a state. While a mode is set up or cleaned up, nothing is that would take the agent
 * elsewhere.
 */
export const isOffered = (entry: ToolEntry, state: AgentState, modes: Modes, isNested: boolean): boolean => {
  // Who may only answer once more has nothing left to call but that.
  if (state.run.landing !== undefined) return entry._tag === "Output"
  const owner = ownerOf(entry, state)
  if (!isLeft(entry, owner, state, modes)) return false
  switch (entry._tag) {
    case "Handoff":
      return !isNested && (entry.when === undefined || entry.when(state))
    case "Mode":
      return !isNested && isReachable(entry, state, modes)
    case "Handled":
      return entry.modes === undefined || owner >= 0
    default:
      return true
  }
}

type Modes = Definition["modes"]

/** Checks whether a mode that is entered leaves only some tools. */
const isNarrowed = (stack: AgentState["modes"], modes: Modes): boolean =>
  stack.some(({ name }) => modes.get(name)?.mode.tools !== undefined)

const noModes: Modes = new Map()

/** Checks whether it depends on the state if a tool is offered. */
const isConditional = (entry: ToolEntry): boolean =>
  (entry._tag === "Handoff" && entry.when !== undefined) || entry._tag === "Mode" ||
  (entry._tag === "Handled" && entry.modes !== undefined)

/**
 * Gives what the next request of an agent in a state says.
 *
 * `shared` are the tools of everybody whom the run may reach. `effect/ai` keeps the response decoder of one set of tools, by
 * their names and schemas, so agents that take turns have them all in their toolkits, and each offers its own.
 *
 * A choice that forces a call holds for the first request after an input or a handoff: one that held for all would never
 * let a run end.
 */
export const requests = (
  tools: ReadonlyMap<string, ToolEntry>,
  toolChoice: Choice | undefined,
  modes: Modes = noModes,
  shared: ReadonlyMap<string, Tool.Any> = new Map()
): Definition["request"] => {
  const entries = [...tools.values()]
  const names = [...tools.keys()]
  const isWhole = names.length > 0 && shared.size <= names.length
  const toolkit = makeToolkit(
    shared.size === 0
      ? entries.map(({ tool }) => tool)
      : [...shared].map(([name, tool]) => tools.get(name)?.tool ?? tool)
  )
  const make = (choice: Choice): Request => ({
    toolkit,
    toolChoice: choice,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  })
  const makeBoth = (offered: ReadonlyArray<string>, choice: Choice | undefined): Both => {
    const isAll = isWhole && offered.length === names.length
    const first = make(isAll ? choice ?? "auto" : among(choice, offered))
    return [first, isForced(choice) ? make(isAll ? "auto" : among("auto", offered)) : first]
  }
  const all = makeBoth(names, toolChoice)
  const isAlwaysAll = !entries.some(isConditional)
  return (state, isNested) => {
    const { modes: stack, run: { iteration, landing }, settings } = state
    const choice = settings?.toolChoice ?? toolChoice
    const isAll = isAlwaysAll && !isNested && settings?.tools === undefined && landing === undefined &&
      !isNarrowed(stack, modes)
    const offered = isAll ? names : names.filter((name) => isOffered(tools.get(name)!, state, modes, isNested))
    const both = offered.length === names.length && choice === toolChoice ? all : makeBoth(offered, choice)
    return iteration === 0 ? both[0] : both[1]
  }
}

type Both = readonly [first: Request, later: Request]

/** Checks whether two tools of one name are decoded alike. */
const isAlike = (self: Tool.Any, that: Tool.Any): boolean =>
  self.parametersSchema === that.parametersSchema && self.successSchema === that.successSchema &&
  self.failureSchema === that.failureSchema

/** Gives the tools of all agents by name; none where two of one name aren't decoded alike. */
export const united = (agents: Iterable<Definition>): ReadonlyMap<string, Tool.Any> => {
  const tools = new Map<string, Tool.Any>()
  for (const agent of agents) {
    for (const { tool } of agent.tools.values()) {
      const known = tools.get(tool.name)
      if (known === undefined) tools.set(tool.name, tool)
      else if (!isAlike(known, tool)) return new Map()
    }
  }
  return tools
}

/** Gives a definition other tools. */
export const withTools = (self: Definition, tools: ReadonlyMap<string, ToolEntry>): Definition => ({
  ...self,
  tools,
  request: requests(tools, self.toolChoice, self.modes)
})

/** Gives a definition more modes. */
export const withModes = (self: Definition, modes: ReadonlyArray<ModeType.Any>): Definition => {
  const added = add(self.name, self, modes)
  return { ...self, ...added, request: requests(added.tools, self.toolChoice, added.modes) }
}
