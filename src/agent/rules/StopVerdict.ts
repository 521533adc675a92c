/**
 * What a condition says of a state: whether a run stops, and how.
 *
 * A limit counts as reached unless the count is below the limit, so the limit `NaN` is reached at once.
 *
 * @since 0.1.0
 */
import { BudgetExceeded, StepLimitReached } from "../../domain/AgentError.ts"
import { callsOf, lastAssistant } from "../../domain/conversation/Turns.ts"
import * as Spending from "../../domain/Spending.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import * as Usage from "../../domain/Usage.ts"
import * as Wanted from "../../domain/Wanted.ts"
import type { Limit, StopWhen } from "../definition/StopWhen.ts"

/**
 * What a condition says of a state: `undefined` to go on, `"Finish"`, or the limit that was reached.
 *
 * @category models
 * @since 0.1.0
 */
export type Verdict = undefined | "Finish" | Met

/** A limit that was reached. With `lands` the model may answer once more (`docs/decisions/0010`). */
export interface Met {
  readonly reason: StepLimitReached | BudgetExceeded
  readonly lands: boolean
}

/** Whose limits are looked at, and what the run had spent when they began to count. */
export interface From {
  readonly agent: string
  readonly before?: Spending.Spent
}

const isFinish = (holds: boolean): Verdict => holds ? "Finish" : undefined

const met = ({ onExhausted }: Limit, reason: Met["reason"]): Met => ({ reason, lands: onExhausted === "finish" })

const exceeded = (
  self: Limit,
  agent: string,
  budget: BudgetExceeded["budget"],
  limit: number,
  used: number,
  more?: Pick<BudgetExceeded, "tool" | "unpriced">
): Met => met(self, new BudgetExceeded({ agent, budget, limit, used, ...more }))

/** The calls of the model's last answer in this run. */
const lastCalls = ({ conversation, run }: AgentState): ReadonlyArray<Call> => {
  const turn = run.iteration > 0 ? lastAssistant(conversation) : undefined
  return turn === undefined ? [] : callsOf(turn)
}

/**
 * Returns what a condition says of a state at a time (epoch milliseconds).
 *
 * `from` says whose condition it is and from where it counts; by default the agent in control, and from when it got control.
 *
 * @category getters
 * @since 0.1.0
 */
export const evaluate = (
  self: StopWhen,
  state: AgentState,
  now: number,
  from: From = { agent: state.agent, ...(state.run.before === undefined ? undefined : { before: state.run.before }) }
): Verdict => {
  const { agent, before } = from
  const { run } = state
  switch (self._tag) {
    case "MaxSteps": {
      const steps = self.counts === "Unreported"
        ? Usage.unreported(run.usage) - (before === undefined ? 0 : Usage.unreported(before.usage))
        : run.steps - (before?.steps ?? 0)
      return steps < self.steps ? undefined : met(self, new StepLimitReached({ agent, limit: self.steps, steps }))
    }
    case "Tokens": {
      const used = Usage.knownTotal(run.usage) - (before === undefined ? 0 : Usage.knownTotal(before.usage))
      return used < self.tokens ? undefined : exceeded(self, agent, "tokens", self.tokens, used)
    }
    case "Cost": {
      const cost = Spending.cost(Spending.until(run, now), self.prices)
      const earlier = before === undefined ? { known: 0, unpriced: 0 } : Spending.cost(before, self.prices)
      const used = cost.known - earlier.known
      const unpriced = cost.unpriced - earlier.unpriced
      if (used < self.limit && unpriced <= 0) return undefined
      return exceeded(self, agent, "cost", self.limit, used, unpriced > 0 ? { unpriced } : undefined)
    }
    case "ToolCalls": {
      const { calls: limit, name } = self
      const used = Spending.countCalls(run.calls, name) - Spending.countCalls(before?.calls, name)
      return used < limit
        ? undefined
        : exceeded(self, agent, "toolCalls", limit, used, name === undefined ? undefined : { tool: name })
    }
    case "Duration": {
      const used = Spending.until(run, now).elapsed - (before?.elapsed ?? 0)
      return used < self.millis ? undefined : exceeded(self, agent, "duration", self.millis, used)
    }
    case "ToolCalled":
      return isFinish(lastCalls(state).some((call) => call.name === self.name))
    case "NoToolCalls":
      return isFinish(run.iteration > 0 && lastCalls(state).length === 0)
    case "Satisfies":
      return isFinish(
        run.iteration > 0 && Wanted.booleanAtOnce("The predicate of `StopWhen.satisfies`", self.predicate(state))
      )
    case "Any": {
      for (const condition of self.conditions) {
        const verdict = evaluate(condition, state, now, from)
        if (verdict !== undefined) return verdict
      }
      return undefined
    }
    case "All": {
      let met: Verdict = undefined
      for (const condition of self.conditions) {
        const verdict = evaluate(condition, state, now, from)
        if (verdict === undefined) return undefined
        if (met === undefined || met === "Finish") met = verdict
      }
      return met
    }
  }
}

/**
 * Returns the limit that a condition has reached. A condition that finishes a run doesn't hide a limit beside it, because the run may have
 * to continue all the same: an answer must be corrected, or a called agent is still working.
 */
export const limitIn = (self: StopWhen, state: AgentState, now: number, from?: From): Met | undefined => {
  switch (self._tag) {
    case "Any":
      return firstLimit(self.conditions, state, now, from)
    case "All":
      return evaluate(self, state, now, from) === undefined ? undefined : firstLimit(self.conditions, state, now, from)
    default: {
      const verdict = evaluate(self, state, now, from)
      return verdict === "Finish" ? undefined : verdict
    }
  }
}

const firstLimit = (
  conditions: ReadonlyArray<StopWhen>,
  state: AgentState,
  now: number,
  from: From | undefined
): Met | undefined => {
  for (const condition of conditions) {
    const limit = limitIn(condition, state, now, from)
    if (limit !== undefined) return limit
  }
  return undefined
}

/**
 * Returns the part of a condition that still counts once its agent has handed over: its budgets (`docs/decisions/0010`). Conditions on
 * steps and on answers count only while the agent is in control.
 */
export const budgetOf = (self: StopWhen): StopWhen | undefined => {
  switch (self._tag) {
    case "Tokens":
    case "Cost":
    case "ToolCalls":
    case "Duration":
      return self
    case "Any": {
      const conditions = self.conditions.flatMap((condition) => budgetOf(condition) ?? [])
      return conditions.length === 0 ? undefined : { _tag: "Any", conditions }
    }
    case "All":
      return self.conditions.length > 0 && self.conditions.every((condition) => budgetOf(condition) !== undefined)
        ? self
        : undefined
    case "MaxSteps":
    case "ToolCalled":
    case "NoToolCalls":
    case "Satisfies":
      return undefined
  }
}
