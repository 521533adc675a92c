/**
 * Work on a text that pauses now and then, so that a long text doesn't block the event loop.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Work that returns a value in the end. When it yields, other fibers may run. */
export type Work<A> = Generator<undefined, A>

/** How many characters are read between two pauses. */
export const piece = 16_384

/** Texts up to this length are read without a pause. */
export const short = 2 * piece

/** Checks whether work is unfinished. */
export const isWork = <A extends object>(self: A | Work<A>): self is Work<A> => "next" in self

/** Does work without a pause. */
export const atOnce = <A>(work: Work<A>): A => {
  let next = work.next()
  while (next.done !== true) next = work.next()
  return next.value
}

/** Does work piece by piece, with other fibers in between. */
const inPieces = <A>(work: () => Work<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const left = work()
    const goOn = (): Effect.Effect<A> => {
      const next = left.next()
      return next.done === true ? Effect.succeed(next.value) : Effect.flatMap(Effect.yieldNow, goOn)
    }
    return goOn()
  })

/** Does work on a text: at once if that is short. */
export const on = <A>(text: string, work: (text: string) => Work<A>): A | Effect.Effect<A> =>
  text.length <= short ? atOnce(work(text)) : inPieces(() => work(text))
