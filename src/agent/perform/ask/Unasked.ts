/**
 * A request that is given up before it is sent, because a summary that was made for it has used up a limit.
 *
 * The loop then decides anew, as a run does that continues from the state with the summary.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Loop from "../../journal/Loop.ts"
import { decide } from "../../rules/Decision.ts"

/** Ends the asking of a request that is given up. */
class Unasked {
  readonly _tag = "troupe/agent/Unasked"
}

const unasked = new Unasked()

/** Gives a request up. */
export const giveUp: Effect.Effect<never, Unasked> = Effect.fail(unasked)

/** Succeeds if asking the model is still what the loop decides; otherwise the request is given up. */
export const unlessDecided = (loop: Loop.Loop): Effect.Effect<void, Unasked> =>
  Effect.suspend(() => decide(Loop.known(loop))._tag === "AskModel" ? Effect.void : giveUp)

/** Returns no answer, and calls `onUnasked`, if the request is given up. Without a context window, that never happens. */
export const orUnasked = <A, E, R>(
  { definition: { contextWindow } }: Loop.Loop,
  asking: Effect.Effect<A, E, R>,
  onUnasked?: () => void
): Effect.Effect<A | undefined, E, R> =>
  contextWindow === undefined ? asking : Effect.catch(asking, (error) => {
    if (error !== unasked) return Effect.fail(error)
    onUnasked?.()
    return Effect.undefined
  })
