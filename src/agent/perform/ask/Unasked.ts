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

/** Succeeds if asking the model is still what the loop decides; otherwise the request is given up. */
export const unlessDecided = (loop: Loop.Loop): Effect.Effect<void, Unasked> =>
  Effect.suspend(() => decide(Loop.known(loop))._tag === "AskModel" ? Effect.void : Effect.fail(unasked))

/** Lets the step of a request that was given up end without an answer. */
export const orUnasked = <E, R>(asking: Effect.Effect<void, E, R>): Effect.Effect<void, E, R> =>
  Effect.catch(asking, (error) => error === unasked ? Effect.void : Effect.fail(error))
