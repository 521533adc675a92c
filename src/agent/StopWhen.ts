/**
 * When a run stops before its model has nothing more to do.
 *
 * A condition is data. `maxSteps`, `tokens` and `duration` are limits: meeting one fails the run with its reason, and
 * `AgentState.reopen` goes on from there with a larger one. The others finish the run: it ends `Complete`.
 *
 * Conditions are looked at before each request to the model; those that finish a run only once the model has answered.
 *
 * An agent's limits count from when it got control of the run: from its input, or from the handoff to it.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { BudgetExceeded, StepLimitReached } from "../domain/AgentError.ts"
import { callsOf, lastAssistant } from "../domain/Conversation.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import * as Usage from "../domain/Usage.ts"

/** Fails the run that took `steps` steps. */
export interface MaxSteps {
  readonly _tag: "MaxSteps"
  readonly steps: number
}
/** Fails the run that used `tokens` tokens. */
export interface Tokens {
  readonly _tag: "Tokens"
  readonly tokens: number
}
/** Fails the run that ran for `millis` milliseconds. */
export interface MaxDuration {
  readonly _tag: "Duration"
  readonly millis: number
}
/** Finishes the run whose last turn called a tool of this name. */
export interface ToolCalled {
  readonly _tag: "ToolCalled"
  readonly name: string
}
/** Finishes the run whose last turn called no tool. */
export interface NoToolCalls {
  readonly _tag: "NoToolCalls"
}
/** Finishes the run whose state satisfies a predicate. */
export interface Satisfies {
  readonly _tag: "Satisfies"
  readonly predicate: (state: AgentState) => boolean
}
/** Stops the run as soon as one of the conditions does. */
export interface Any {
  readonly _tag: "Any"
  readonly conditions: ReadonlyArray<StopWhen>
}
/** Stops the run when all of the conditions do. */
export interface All {
  readonly _tag: "All"
  readonly conditions: ReadonlyArray<StopWhen>
}

/**
 * A condition under which a run stops.
 *
 * @category models
 * @since 0.1.0
 */
export type StopWhen = MaxSteps | Tokens | MaxDuration | ToolCalled | NoToolCalls | Satisfies | Any | All

/**
 * Fails a run with `StepLimitReached` when its model, and the agents that it called, answered `steps` times.
 *
 * A step is one answer of the model and the calls in it; the last step's calls are run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const maxSteps = (steps: number): StopWhen => ({ _tag: "MaxSteps", steps })

/**
 * Fails a run with `BudgetExceeded` when its known input and output tokens reach `tokens`. What a provider doesn't
 * report can't be counted.
 *
 * @category constructors
 * @since 0.1.0
 */
export const tokens = (tokens: number): StopWhen => ({ _tag: "Tokens", tokens })

/**
 * Fails a run with `BudgetExceeded` when it has run for a time, not counting the time in which it was stopped.
 *
 * @category constructors
 * @since 0.1.0
 */
export const duration = (duration: Duration.Input): StopWhen => ({
  _tag: "Duration",
  millis: Duration.toMillis(duration)
})

/**
 * Finishes a run when the model's last answer called the tool `name`, once the call is settled.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolCalled = (name: string): StopWhen => ({ _tag: "ToolCalled", name })

/**
 * Finishes a run when the model's last answer called no tool.
 *
 * A run ends then anyway; within `all` it says that a limit counts only once the model has nothing more to call.
 *
 * @category constructors
 * @since 0.1.0
 */
export const noToolCalls: StopWhen = Object.freeze({ _tag: "NoToolCalls" })

/**
 * Finishes a run when its state satisfies a predicate.
 *
 * @category constructors
 * @since 0.1.0
 */
export const satisfies = (predicate: (state: AgentState) => boolean): StopWhen => ({ _tag: "Satisfies", predicate })

/**
 * Stops a run as soon as one of the conditions does; the first one says how.
 *
 * @category combinators
 * @since 0.1.0
 */
export const any = (...conditions: ReadonlyArray<StopWhen>): StopWhen => ({ _tag: "Any", conditions })

/**
 * Stops a run when all of the conditions do; it fails if one of them is a limit. None at all never stop a run.
 *
 * @category combinators
 * @since 0.1.0
 */
export const all = (...conditions: ReadonlyArray<StopWhen>): StopWhen => ({ _tag: "All", conditions })

/**
 * The condition of an agent that was given none: 20 steps.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultCondition: StopWhen = Object.freeze({ _tag: "MaxSteps", steps: 20 })

/**
 * What a condition says of a state: `undefined` to go on, `"Finish"`, or the limit that was met.
 *
 * @category models
 * @since 0.1.0
 */
export type Verdict = undefined | "Finish" | StepLimitReached | BudgetExceeded

const isFinish = (holds: boolean): Verdict => holds ? "Finish" : undefined

const millisOf = ({ run }: AgentState, now: number): number =>
  run.elapsed + Math.max(0, now - run.startedAt) - (run.before?.elapsed ?? 0)

/**
 * Says what a condition makes of a state at a time (epoch milliseconds).
 *
 * @category getters
 * @since 0.1.0
 */
export const evaluate = (self: StopWhen, state: AgentState, now: number): Verdict => {
  switch (self._tag) {
    case "MaxSteps": {
      const steps = state.run.steps - (state.run.before?.steps ?? 0)
      return !(steps < self.steps) ? new StepLimitReached({ agent: state.agent, limit: self.steps, steps }) : undefined
    }
    case "Tokens": {
      const used = Usage.knownTotal(state.run.usage) - (state.run.before?.tokens ?? 0)
      return !(used < self.tokens)
        ? new BudgetExceeded({ agent: state.agent, budget: "tokens", limit: self.tokens, used })
        : undefined
    }
    case "Duration": {
      const used = millisOf(state, now)
      return !(used < self.millis)
        ? new BudgetExceeded({ agent: state.agent, budget: "duration", limit: self.millis, used })
        : undefined
    }
    case "ToolCalled":
      return isFinish(lastCalls(state).some((call) => call.name === self.name))
    case "NoToolCalls":
      return isFinish(state.run.iteration > 0 && lastCalls(state).length === 0)
    case "Satisfies":
      return isFinish(state.run.iteration > 0 && self.predicate(state))
    case "Any": {
      for (const condition of self.conditions) {
        const verdict = evaluate(condition, state, now)
        if (verdict !== undefined) return verdict
      }
      return undefined
    }
    case "All": {
      let met: Verdict = undefined
      for (const condition of self.conditions) {
        const verdict = evaluate(condition, state, now)
        if (verdict === undefined) return undefined
        if (met === undefined || met === "Finish") met = verdict
      }
      return met
    }
  }
}

const lastCalls = (state: AgentState) => {
  const turn = state.run.iteration > 0 ? lastAssistant(state.conversation) : undefined
  return turn === undefined ? [] : callsOf(turn)
}
