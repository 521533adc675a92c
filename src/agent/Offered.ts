/**
 * What a request offers its model: the tools of an agent, made once for each set of them.
 *
 * `effect/ai` keeps its response decoder by the identity of the toolkit, so the same set is always the same value.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { inProgress } from "../domain/AgentStatus.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Definition, HandoffTool, Request, ToolEntry } from "./Definition.ts"

/** Stands in a toolkit that would otherwise be empty; it is never sent. */
const placeholder = Tool.make("troupe_no_tool")

/**
 * Makes what a request says.
 *
 * Calls come back as the model wrote them, unknown names and wrong parameters included, and are answered by the loop.
 * `effect/ai` keeps its response decoder only for a toolkit with tools, so an agent without any sends none of one.
 */
const make = (
  entries: Iterable<ToolEntry>,
  toolChoice: LanguageModel.ToolChoice<string> | undefined
): Request => {
  const tools: Record<string, Tool.Any> = {}
  for (const { tool } of entries) {
    Object.defineProperty(tools, tool.name, { value: tool, enumerable: true, configurable: true, writable: true })
  }
  const isEmpty = Object.keys(tools).length === 0
  return {
    toolkit: {
      tools: isEmpty ? { [placeholder.name]: placeholder } : tools,
      handle: () => Effect.die(new Error("An agent answers its calls itself"))
    },
    toolChoice: isEmpty ? { oneOf: [] } : toolChoice ?? "auto",
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  }
}

const isForced = (choice: LanguageModel.ToolChoice<string> | undefined): boolean =>
  choice === "required" || (typeof choice === "object" && ("tool" in choice || choice.mode === "required"))

/** Leaves out of a choice what isn't offered. */
const without = (
  choice: LanguageModel.ToolChoice<string> | undefined,
  hidden: ReadonlyArray<string>
): LanguageModel.ToolChoice<string> | undefined => {
  if (typeof choice !== "object") return choice
  if ("tool" in choice) return hidden.includes(choice.tool) ? "auto" : choice
  const oneOf = choice.oneOf.filter((name) => !hidden.includes(name))
  return oneOf.length === 0 && choice.mode === "required" ? "auto" : { ...choice, oneOf }
}

/** Gives the state in which the model was asked for its last answer, but for the tokens that this answer used. */
export const unanswered = (self: AgentState): AgentState => {
  const { turns } = self.conversation
  const steps = Math.max(0, self.run.steps - 1)
  return {
    ...self,
    conversation: { turns: turns.slice(0, turns.findLastIndex((turn) => turn._tag === "Assistant")) },
    status: inProgress,
    steps: Math.max(0, self.steps - 1),
    run: { ...self.run, steps, iteration: Math.max(0, self.run.iteration - 1) }
  }
}

/** Checks whether a handoff is offered in a state. */
export const isOffered = ({ when }: HandoffTool, state: AgentState): boolean => when === undefined || when(state)

/**
 * Gives what the next request of an agent in a state says.
 *
 * A choice that forces a call holds for the first request after an input or a handoff: one that held for all would never
 * let a run end.
 */
export const requests = (
  tools: ReadonlyMap<string, ToolEntry>,
  toolChoice: LanguageModel.ToolChoice<string> | undefined
): (state: AgentState) => Request => {
  const entries = [...tools.values()]
  const conditional = entries.filter((entry): entry is HandoffTool =>
    entry._tag === "Handoff" && entry.when !== undefined
  )
  const makeBoth = (hidden: ReadonlyArray<string>): readonly [first: Request, later: Request] => {
    const offered = hidden.length === 0 ? entries : entries.filter(({ tool }) => !hidden.includes(tool.name))
    const first = make(offered, without(toolChoice, hidden))
    return [first, isForced(toolChoice) ? make(offered, "auto") : first]
  }
  const all = makeBoth([])
  if (conditional.length === 0) return (state) => state.run.iteration === 0 ? all[0] : all[1]
  const made = new Map<string, readonly [Request, Request]>()
  return (state) => {
    const hidden = conditional.filter((entry) => !isOffered(entry, state)).map(({ tool }) => tool.name)
    const key = hidden.join("\n")
    const both = made.get(key) ?? makeBoth(hidden)
    made.set(key, both)
    return state.run.iteration === 0 ? both[0] : both[1]
  }
}

/** Gives a definition other tools. */
export const withTools = (self: Definition, tools: ReadonlyMap<string, ToolEntry>): Definition => ({
  ...self,
  tools,
  request: requests(tools, self.toolChoice)
})
