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
import * as OwnModel from "./ask/OwnModel.ts"
import { AgentAtWork } from "./mode/RunHost.ts"

/**
 * Checks whether a loop may call a program that asks a model: a handler, a guardrail, a mode's set-up, a window's strategy, instructions.
 * In a session others may talk to the model too.
 */
const callsPrograms = ({ definition, live, roster }: Loop.Loop): boolean =>
  definition.tools.size > 0 || definition.modes.size > 0 || typeof definition.instructions === "function" ||
  definition.contextWindow !== undefined || definition.output !== undefined ||
  definition.guardrails.performer !== undefined ||
  roster.agents.size > 1 || live.holder !== undefined

/** Provides a loop to models, handlers and instructions. */
export const provideLoop = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, (context: Context.Context<R>) => {
    const seen = callsPrograms(loop) ? OwnModel.addLater(loop, MeasuredModel.within(context)) : context
    const provided = Context.add(Context.add(seen, CurrentAgent, new AgentAtWork(loop)), Host, loop.host)
    // A context searches the layers of what was added one by one, and is copied at the eighth. `effect/ai` adds services for each request,
    // and one for each delta, so the context of a run that may have many of those has a single layer.
    return loop.journal.isStreaming || loop.definition.tools.size > 0
      ? Context.makeUnsafe(provided.mapUnsafe)
      : provided
  })

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
