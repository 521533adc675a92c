/**
 * What runs between steps: the set-ups and clean-ups of modes. They see the conversation, and may talk to the agent.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Scope from "effect/Scope"
import { Host } from "../../modes/Host.ts"
import type { Loop } from "../Loop.ts"
import { CurrentPlaces, leaveStage, type Place, takeStage } from "../session/Line.ts"
import type { Open } from "./Live.ts"

/**
 * Runs what a mode is set up or cleaned up by, with services of its own and those that `view` adds. To be run where nothing can
 * interrupt it; what it runs may let itself be interrupted.
 */
export const between = <A>(
  loop: Loop,
  { context, scope, stage }: Open,
  self: Effect.Effect<A, unknown, unknown>,
  view: (services: Context.Context<unknown>) => Context.Context<unknown> = identity
): Effect.Effect<A, unknown, unknown> => {
  const { live } = loop
  let within: ReadonlyArray<Place> = []
  const seen = Effect.updateContext(self, (services: Context.Context<unknown>) => {
    live.between++
    const isFirst = stage.places === undefined
    within = takeStage(stage, Context.get(services, CurrentPlaces))
    const own = view(context === undefined ? services : Context.merge(services, context)).pipe(
      Context.add(Host, loop.host),
      Context.add(Scope.Scope, scope)
    )
    return isFirst && within.length > 0 ? Context.add(own, CurrentPlaces, within) : own
  })
  return Effect.onExitPrimitive(seen, () => {
    leaveStage(within)
    live.between--
    return undefined
  }, true)
}
