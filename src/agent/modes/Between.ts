/**
 * What runs between steps: the set-ups and clean-ups of modes. They see the conversation, and may talk to the agent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { Host } from "../../modes/Host.ts"
import type { Loop } from "../Loop.ts"
import { onStage } from "../session/Line.ts"
import type { Open } from "./Live.ts"

/** Runs what a mode is set up or cleaned up by. */
export const between = <A>(
  loop: Loop,
  { context, scope, stage }: Open,
  self: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> =>
  Effect.suspend(() => {
    loop.live.between++
    const part = onStage(stage, self)
    const seen = Effect.provideService(Effect.provideService(part, Scope.Scope, scope), Host, loop.host)
    return Effect.ensuring(
      context === undefined ? seen : Effect.provideContext(seen, context),
      Effect.sync(() => {
        loop.live.between--
      })
    )
  })
