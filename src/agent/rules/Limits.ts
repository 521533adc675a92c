/**
 * When a loop must not ask its model again: it has what it wanted, or a limit was met, its own or one around it.
 *
 * @since 0.1.0
 */
import { next } from "../../domain/Command.ts"
import { callsOf, lastAssistant, openCalls } from "../../domain/Conversation.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Definition, Roster } from "../definition/AgentDefinition.ts"
import { Halt } from "../journal/Halt.ts"
import * as Loop from "../journal/Loop.ts"
import { wrongAnswer } from "./Corrections.ts"
import { isAccepted } from "./FinalAnswer.ts"
import * as StopVerdict from "./StopVerdict.ts"

/** A limit that was met, and the loop whose it is: that one stops. */
export interface Met extends StopVerdict.Met {
  readonly of: Loop.Loop
}

/** Gives the budget that was met of an agent which handed over in this run. */
const metByEarlier = (roster: Roster, state: AgentState, time: number): StopVerdict.Verdict => {
  for (const from of state.run.sharing ?? []) {
    const condition = roster.agents.get(from.agent)?.stopWhen
    const budget = condition === undefined ? undefined : StopVerdict.budgetOf(condition)
    const verdict = budget === undefined ? undefined : StopVerdict.evaluate(budget, state, time, from)
    if (verdict !== undefined) return verdict
  }
  return undefined
}

/** Says what the conditions of the agent in control, and the budgets of those before it, make of a state. */
const verdictOf = (definition: Definition, roster: Roster, state: AgentState, time: number): StopVerdict.Verdict => {
  if (isLastAnswer(state)) return undefined
  const own = StopVerdict.evaluate(definition.stopWhen, state, time)
  return own === undefined || own === "Finish" ? metByEarlier(roster, state, time) ?? own : own
}

/** Checks whether a limit was met that lets the model answer once more, and it hasn't yet. */
const isLastAnswer = ({ run }: AgentState): boolean => run.landing === run.iteration

/** Gives the limit that a loop has met: its own, or one of a loop around it, which then stops this one. */
export const met = (loop: Loop.Loop): Met | undefined => {
  const time = Loop.now(loop)
  for (let at: Loop.Loop | undefined = loop; at !== undefined; at = at.parent) {
    const verdict = verdictOf(at.definition, at.roster, Loop.foreseen(at), time)
    if (verdict !== undefined && verdict !== "Finish") return { ...verdict, of: at }
  }
  return undefined
}

/**
 * Stops a loop by its limit, unless that lets its model answer once more: then the calls are given up whose agents would only ask
 * further, and once there are none left the model is told.
 */
export const stop = (loop: Loop.Loop, { lands, reason }: Met): Halt | undefined => {
  if (!lands || loop.state.run.landing !== undefined) return new Halt(reason)
  const calls = openCalls(loop.state.conversation).filter((call) => call.state._tag !== "AwaitingApproval")
  for (const call of calls) {
    const result = "A limit was met before this had a result."
    Loop.settle(loop, { callId: call.id, name: call.name, outcome: "Interrupted", result, duration: 0 })
  }
  if (calls.length > 0) return undefined
  Loop.tell(loop, {
    _tag: "LimitReached",
    limit: reason.message,
    text: `${reason.message}. Answer now, with what you have: nothing more can be looked up or done.`
  })
  return undefined
}

/**
 * Checks whether a loop has what it wanted: an accepted output, or a condition that finishes its run. An answer that was sent back is
 * none.
 */
export const isFinished = (loop: Loop.Loop): boolean =>
  loop.state.run.iteration > 0 && loop.state.conversation.turns.at(-1)?._tag !== "Feedback" && (
    (loop.definition.output !== undefined && isAccepted(loop.state)) ||
    StopVerdict.evaluate(loop.definition.stopWhen, loop.state, Loop.now(loop)) === "Finish"
  )

/** Gives the limit that a loop has met where all that it could do is let agents ask their models, which that forbids. */
export const metByAgents = (loop: Loop.Loop): Met | undefined => {
  const limit = met(loop)
  return limit !== undefined && onlyAgentsAsk(loop.definition, loop.state, Loop.now(loop)) ? limit : undefined
}

const onlyAgentsAsk = (definition: Definition, state: AgentState, time: number): boolean => {
  const command = next(state)
  const turn = lastAssistant(state.conversation)
  return command._tag === "RunCalls" && (turn === undefined ? [] : callsOf(turn)).every((call) => {
    if (!command.callIds.includes(call.id)) return true
    const entry = definition.tools.get(call.name)
    if (call.state._tag !== "Delegated" || entry?._tag !== "Agent") return false
    const { child } = call.state
    const roster = entry.roster()
    const inControl = roster.agents.get(child.agent)
    return inControl !== undefined && asks(inControl, roster, child, time)
  })
}

/** Checks whether an agent asks its model next: one whose own limit or wish is met, or whose answer is wrong, doesn't. */
const asks = (definition: Definition, roster: Roster, state: AgentState, time: number): boolean => {
  const verdict = verdictOf(definition, roster, state, time)
  if (next(state)._tag !== "AskModel") {
    return (verdict === undefined || verdict === "Finish") && onlyAgentsAsk(definition, state, time)
  }
  return verdict === undefined && !isAccepted(state) && wrongAnswer({ definition, state }) === undefined
}
