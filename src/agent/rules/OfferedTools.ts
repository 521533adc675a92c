/**
 * Which tools are offered in a state, and so which request its agent makes.
 *
 * 1. For the last answer that a limit allows (`docs/decisions/0010`), no tool is offered except `final_answer`. A program may still call one.
 * 2. A mode that names tools hides the others of the agent and of modes below it. Conversation settings that name tools hide the agent's
 *    others. The final answer and the tool that leaves a mode stay.
 * 3. A tool of a mode is offered while the mode is entered, and a tool that enters a mode if the mode could be entered.
 * 4. While a mode is set up or cleaned up, no tool takes the agent elsewhere: neither to another agent nor to another mode.
 *
 * @since 0.1.0
 */
import { inProgress } from "../../domain/AgentStatus.ts"
import { isWithin } from "../../domain/Isolation.ts"
import { isInvoked } from "../../domain/RefusedCall.ts"
import * as Spending from "../../domain/Spending.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import * as Usage from "../../domain/Usage.ts"
import { internalsOf, isOfferedIn } from "../../handoff/HandoffType.ts"
import type { Definition, ModeTool, Request, ToolEntry } from "../definition/AgentDefinition.ts"
import * as RequestTools from "../definition/RequestTools.ts"

type Modes = Definition["modes"]

/** The place in the stack of the mode that a tool belongs to, or -1 if it is the agent's own. */
const ownerOf = (entry: ToolEntry, { modes }: AgentState): number =>
  entry._tag === "Handled" && entry.modes !== undefined
    ? modes.findLastIndex(({ name }) => entry.modes!.includes(name))
    : -1

/** Checks that neither the conversation settings nor the modes above the one that a tool belongs to hide the tool. */
const isLeft = (entry: ToolEntry, owner: number, state: AgentState, modes: Modes): boolean => {
  if (entry._tag === "Output" || (entry._tag === "Mode" && entry.mode === undefined)) return true
  const { name } = entry.tool
  const narrowed = state.modes.slice(owner + 1).map((frame) => modes.get(frame.name)?.mode.tools)
  return [...narrowed, owner < 0 ? state.settings?.tools : undefined].every((tools) => tools?.includes(name) ?? true)
}

/** Checks whether a model can ask for a move into a mode, or out of the mode on top. */
const isReachable = ({ mode }: ModeTool, { modes: stack }: AgentState, modes: Modes): boolean => {
  const top = stack.at(-1)
  if (mode === undefined) return top !== undefined && modes.get(top.name)?.mode.isInvokable === true
  const around = mode.invocation === "switch" ? stack[stack.length - 2] : top
  return top?.name !== mode.name && isWithin(mode.isolation, around?.isolation)
}

/** Checks whether an agent has a tool in a state. `isChangingModes` says that a mode is being set up or cleaned up. */
const isAtHand = (entry: ToolEntry, state: AgentState, modes: Modes, isChangingModes: boolean): boolean => {
  const owner = ownerOf(entry, state)
  if (!isLeft(entry, owner, state, modes)) return false
  switch (entry._tag) {
    case "Handoff":
      return !isChangingModes && isOfferedIn(entry.handoff, state)
    case "Mode":
      return !isChangingModes && isReachable(entry, state, modes)
    case "Handled":
      return entry.modes === undefined || owner >= 0
    case "Agent":
    case "Output":
      return true
  }
}

/** Checks whether a tool is offered to the model in a state. */
const isOffered = (entry: ToolEntry, state: AgentState, modes: Modes, isChangingModes: boolean): boolean =>
  state.run.landing === undefined ? isAtHand(entry, state, modes, isChangingModes) : entry._tag === "Output"

/** Checks whether a program may call a tool in a state. */
export const isInvokable = (entry: ToolEntry, state: AgentState, modes: Modes): boolean =>
  entry._tag === "Handled" && isAtHand(entry, state, modes, false)

/**
 * The state in which the model was asked for its last answer, if it has answered in this run.
 *
 * What the agents called by that answer have spent counts as if it was spent before the answer.
 */
const beforeAnswer = (self: AgentState): AgentState | undefined => {
  const { run } = self
  const { turns } = self.conversation
  const at = turns.findLastIndex((turn) => turn._tag === "Assistant")
  const turn = turns[at]
  if (run.iteration === 0 || turn?._tag !== "Assistant") return undefined
  const used = Usage.add(Usage.empty, turn.usage)
  return {
    ...self,
    conversation: { turns: turns.slice(0, at) },
    status: inProgress,
    steps: Math.max(0, self.steps - 1),
    usage: Spending.less(self.usage, used),
    run: {
      ...run,
      steps: Math.max(0, run.steps - 1),
      iteration: run.iteration - 1,
      usage: Spending.less(run.usage, used)
    }
  }
}

/**
 * Checks whether a call may be answered: whether its tool is offered, or if a program called it, whether the agent has the tool.
 *
 * A handoff's `when` is asked about the state that the model was asked in, because the call itself may change the state. If a user spoke
 * since, the earlier state isn't known any more, and the call may be answered.
 */
export const mayCall = (
  { modes }: Pick<Definition, "modes">,
  state: AgentState,
  call: Call,
  entry: ToolEntry,
  isChangingModes: boolean
): boolean => {
  if (call.state._tag === "Delegated" || call.state._tag === "Answered") return true
  if (isInvoked(call)) return isAtHand(entry, state, modes, isChangingModes)
  const isConditional = entry._tag === "Handoff" && internalsOf(entry.handoff).when !== undefined
  const asked = isConditional ? beforeAnswer(state) : state
  return asked === undefined || isOffered(entry, asked, modes, isChangingModes)
}

/** Checks whether a mode that is entered hides tools. */
const isNarrowed = ({ modes: stack }: AgentState, modes: Modes): boolean =>
  stack.some(({ name }) => modes.get(name)?.mode.tools !== undefined)

/**
 * Returns the request that an agent makes in a state, without its prompt. Unless the state changes the offered tools or the tool choice,
 * this is a request that was prepared with the agent, so it costs nothing.
 *
 * A choice that forces a call counts for the first request after an input or a handoff: if it counted for all, no run would end.
 */
export const requestIn = (
  { modes, requests, toolChoice, tools }: Definition,
  state: AgentState,
  isChangingModes: boolean
): Request => {
  const { run: { iteration, landing }, settings } = state
  const { names } = requests
  const offersAll = !requests.isConditional && !isChangingModes && settings?.tools === undefined &&
    landing === undefined &&
    !isNarrowed(state, modes)
  const offered = offersAll ? names : names.filter((name) => isOffered(tools.get(name)!, state, modes, isChangingModes))
  const choice = settings?.toolChoice ?? toolChoice
  const isFirst = iteration === 0
  if (offered.length === names.length && choice === toolChoice) return isFirst ? requests.first : requests.later
  return RequestTools.offering(requests, offered, isFirst ? choice : RequestTools.unforced(choice))
}
