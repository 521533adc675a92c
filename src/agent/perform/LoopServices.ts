/**
 * The services that a loop provides to code that it calls, `CurrentAgent` and `Mode.Host`, and which loop is at work on a conversation.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import { Host } from "../../modes/Host.ts"
import { atExit } from "../journal/AtExit.ts"
import { CurrentAgent } from "../journal/CurrentAgent.ts"
import type * as Loop from "../journal/Loop.ts"
import * as MeasuredModel from "../journal/MeasuredModel.ts"
import * as OwnModel from "./ask/OwnModel.ts"
import { AgentAtWork } from "./mode/RunHost.ts"

/** Checks whether an agent brings models. It provides them within a loop, so what is around the loop can't be added there any more. */
const hasModels = ({ model, models }: Loop.Loop["definition"]): boolean => model !== undefined || models.size > 0

/**
 * Checks whether a loop may call a program that asks a model before the first answer: a guardrail, a mode's set-up, a window's strategy,
 * instructions. In a session others may talk to the model too.
 */
const callsPrograms = ({ definition, live, roster }: Loop.Loop): boolean =>
  definition.modes.size > 0 || typeof definition.instructions === "function" ||
  definition.contextWindow !== undefined || definition.output !== undefined ||
  definition.guardrails.performer !== undefined ||
  (definition.tools.size > 0 && hasModels(definition)) ||
  roster.agents.size > 1 || live.holder !== undefined

const addModel = <R>(loop: Loop.Loop, context: Context.Context<R>): Context.Context<R> =>
  OwnModel.addLater(loop, MeasuredModel.within(context))

/**
 * Checks whether a run has many requests or deltas. A context searches the layers of what was added one by one, and is copied at the
 * eighth. `effect/ai` adds services for each request, and one for each delta, so such a run puts its services into a single layer.
 */
const isLong = ({ journal, roster }: Loop.Loop): boolean => journal.isStreaming || roster.agents.size > 1

const toSingleLayer = <R>(context: Context.Context<R>): Context.Context<R> => Context.makeUnsafe(context.mapUnsafe)

/**
 * Provides a loop to models, handlers and instructions, and what `add` adds. That comes last, because a context to which a span was added
 * stays in memory as long as the contexts that were made from it.
 */
export const provideLoop = <A, E, R>(
  loop: Loop.Loop,
  self: Effect.Effect<A, E, R>,
  add: (context: Context.Context<R>) => Context.Context<R> = identity
): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, (around: Context.Context<R>) => {
    const seen = callsPrograms(loop) ? addModel(loop, around) : around
    const provided = add(Context.add(Context.add(seen, CurrentAgent, new AgentAtWork(loop)), Host, loop.host))
    return isLong(loop) ? toSingleLayer(provided) : provided
  })

/** Checks whether a loop has from the start what `provideForCalls` provides. */
export const isReadyForCalls = (loop: Loop.Loop): boolean => callsPrograms(loop) && isLong(loop)

/**
 * Provides the model that calls of tools may ask, and makes later requests cheap. Many runs end with their first answer, so they don't pay
 * for either.
 */
export const provideForCalls = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(
    self,
    (context: Context.Context<R>) =>
      toSingleLayer(callsPrograms(loop) || hasModels(loop.definition) ? context : addModel(loop, context))
  )

/** Notes that a loop is at work, if a session keeps the modes. Fibers and finalizers of a set-up refer to that loop. */
export const beginWork = ({ host, live }: Loop.Loop): void => {
  if (live.holder !== undefined) live.atWork = host
}

/** Notes that a loop is done. */
export const endWork = ({ live }: Loop.Loop): void => {
  if (live.holder !== undefined) live.atWork = undefined
}

/** Runs an effect while a loop is at work. */
export const markAtWork = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (loop.live.holder === undefined) return self
  const working = Effect.suspend(() => {
    beginWork(loop)
    return self
  })
  return atExit(working, () => endWork(loop))
}
