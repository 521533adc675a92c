/**
 * What the laws of runs are checked on, and how it runs: with a model that follows a plan, and a clock that stands still.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Agent from "../../agent/Agent.ts"
import { CurrentOverrides } from "../../agent/definition/Overrides.ts"
import type * as AgentState from "../../domain/AgentState.ts"
import type { MockRequest } from "../MockRequest.ts"
import { modelOf, type Plan } from "./Plan.ts"

/** What is checked: an agent or a group, and everything that it needs besides a model. */
export interface Subject {
  readonly runnable: Agent.Runnable<string, unknown, unknown, unknown>
  readonly layer: Layer.Layer<never, unknown, unknown>
}

/** Stops the clock during a run, so that durations in states are 0. */
const timeless = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => {
    const still: Readonly<Record<string | symbol, unknown>> = {
      currentTimeMillisUnsafe: () => 0,
      currentTimeMillis: Effect.succeed(0),
      currentTimeNanosUnsafe: () => 0n,
      currentTimeNanos: Effect.succeed(0n),
      monotonicTimeNanosUnsafe: () => 0n,
      monotonicTimeNanos: Effect.succeed(0n)
    }
    const stopped = new Proxy(clock, {
      get: (target, key) => {
        if (Object.hasOwn(still, key)) return still[key]
        const value: unknown = Reflect.get(target, key)
        return typeof value === "function" ? value.bind(target) : value
      }
    })
    return Effect.provideService(self, Clock.Clock, stopped)
  })

/** Lets retries follow at once: a schedule decides how often, but nobody waits for its delays. */
const impatient = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateService(self, CurrentOverrides, (overrides) => ({
    ...overrides,
    retry: (schedule) => Schedule.modifyDelay(schedule, () => Effect.succeed(0))
  }))

/** Runs a program with a model that follows a plan, and calls `hear` with each request. */
export const within = <A, E>(
  { layer }: Subject,
  plan: Plan,
  self: Effect.Effect<A, E, unknown>,
  hear?: (request: MockRequest) => void
): Effect.Effect<A, unknown> =>
  timeless(
    Effect.provide(impatient(self), Layer.fresh(Layer.provideMerge(layer, modelOf(plan, hear))))
  ) as Effect.Effect<
    A,
    unknown
  >

/** Continues from a state. The subject's layer was built before, so it is a defect if it can't be built again. */
export const settled = (
  subject: Subject,
  plan: Plan,
  state: AgentState.AgentState
): Effect.Effect<AgentState.AgentState> => Effect.orDie(within(subject, plan, Agent.settle(subject.runnable, state)))
