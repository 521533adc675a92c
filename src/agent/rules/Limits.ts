/**
 * When an agent must not ask its model again: it is finished, or a limit was met, its own or that of an agent around it.
 *
 * A caller's limits apply in the agents that it calls, since their spending counts for it. The called agent stops. By default it keeps its
 * state, and the caller's run fails, and continues from there once it is reopened with a larger limit. With `onExhausted: "finish"` the
 * caller gives the call up, and its model answers once more.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import { isAccepted } from "./FinalAnswer.ts"
import type { Known } from "./Known.ts"
import * as StopVerdict from "./StopVerdict.ts"

/** A limit that was met, and whether it is the agent's own. */
export interface Met extends StopVerdict.Met {
  readonly isOwn: boolean
}

/** Finds a met budget of an agent that handed over in this run, whose budgets still apply. */
const metByEarlier = (roster: Roster, state: AgentState, now: number): StopVerdict.Met | undefined => {
  for (const from of state.run.sharing ?? []) {
    const condition = roster.agents.get(from.agent)?.stopWhen
    const budget = condition === undefined ? undefined : StopVerdict.budgetOf(condition)
    const limit = budget === undefined ? undefined : StopVerdict.limitIn(budget, state, now, from)
    if (limit !== undefined) return limit
  }
  return undefined
}

/** Checks whether a limit was met that lets the model answer once more, and the model hasn't given that answer yet. */
const isLastAnswer = ({ run }: AgentState): boolean => run.landing === run.iteration

type Limited = Pick<Known, "definition" | "now" | "roster" | "state">

/** Finds a limit that was met in a state: of the agent in control, or a budget of an agent before it. */
const limitOf = ({ definition, now, roster, state }: Limited): StopVerdict.Met | undefined =>
  isLastAnswer(state)
    ? undefined
    : StopVerdict.limitIn(definition.stopWhen, state, now) ?? metByEarlier(roster, state, now)

/** Counts models that are being asked as if they had answered, because agents that run in parallel share a limit. */
const foreseen = ({ asked, state }: Known): AgentState =>
  asked === 0 ? state : { ...state, run: { ...state.run, steps: state.run.steps + asked } }

/** Finds the limit that was met, of the agent or of one around it. */
export const met = (known: Known): Met | undefined => {
  for (let at: Known | undefined = known; at !== undefined; at = at.caller) {
    const limit = limitOf(at.asked === 0 ? at : { ...at, state: foreseen(at) })
    if (limit !== undefined) return { ...limit, isOwn: at === known }
  }
  return undefined
}

/** Checks whether an agent is finished: by an accepted output, or by a condition that finishes its run. A rejected answer doesn't count. */
export const isFinished = ({ definition, now, state }: Limited): boolean =>
  state.run.iteration > 0 && state.conversation.turns.at(-1)?._tag !== "Feedback" && (
    (definition.output !== undefined && isAccepted(state)) ||
    StopVerdict.evaluate(definition.stopWhen, state, now) === "Finish"
  )
