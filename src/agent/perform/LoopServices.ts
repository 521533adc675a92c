/**
 * The services that a loop provides to code that it calls, `CurrentAgent` and `Mode.Host`, and which loop is at work on a conversation.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Host } from "../../modes/Host.ts"
import { CurrentAgent } from "../journal/CurrentAgent.ts"
import type * as Loop from "../journal/Loop.ts"
import * as MeasuredModel from "../journal/MeasuredModel.ts"
import { AgentAtWork } from "./mode/RunHost.ts"

/** Provides a loop to models, handlers and instructions. */
export const provideLoop = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(
    self,
    (context: Context.Context<R>) =>
      Context.add(Context.add(MeasuredModel.within(context), CurrentAgent, new AgentAtWork(loop)), Host, loop.host)
  )

/** Notes which loop is at work, if a session keeps the modes. Fibers and finalizers of a set-up refer to that loop. */
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
