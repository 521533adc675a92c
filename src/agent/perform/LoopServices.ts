/**
 * Who can see which loop is at work: those whom it calls, and what holds modes beyond its run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Host } from "../../modes/Host.ts"
import { CurrentAgent } from "../journal/CurrentAgent.ts"
import type * as Loop from "../journal/Loop.ts"
import { AgentAtWork } from "./mode/RunHost.ts"

/** Lets those whom a loop calls see its agent: models, handlers, instructions. */
export const provideLoop = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(
    self,
    (context: Context.Context<R>) =>
      Context.add(Context.add(context, CurrentAgent, new AgentAtWork(loop)), Host, loop.host)
  )

/** Lets what holds modes beyond a run know which loop is at work on their conversation. */
export const markAtWork = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const { live } = loop
  if (live.holder === undefined) return self
  const working = Effect.suspend(() => {
    live.atWork = loop.host
    return self
  })
  return Effect.onExitPrimitive(working, () => {
    live.atWork = undefined
    return undefined
  }, true)
}
