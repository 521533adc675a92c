/**
 * Verdicts that are there at once, or that an effect gives: what is there at once costs no effect.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Verdict } from "./Verdict.ts"

/** A verdict, given at once or by an effect. */
export type Judged = Verdict<unknown> | Effect.Effect<Verdict<unknown>, never, unknown>

/** Gives a verdict by an effect, whether or not it is there at once. */
export const toEffect = (self: Judged): Effect.Effect<Verdict<unknown>, never, unknown> =>
  Effect.isEffect(self) ? self : Effect.succeed(self)

/** Makes another verdict of one. */
export const map = (self: Judged, f: (verdict: Verdict<unknown>) => Verdict<unknown>): Judged =>
  Effect.isEffect(self) ? Effect.map(self, f) : f(self)

/** Asks for one verdict after another, of places from `from` on, until one of them ends it or `last` does. */
export const inOrder = (
  count: number,
  judge: (index: number) => Judged,
  take: (verdict: Verdict<unknown>, index: number) => Verdict<unknown> | undefined,
  last: () => Verdict<unknown>,
  from = 0
): Judged => {
  for (let index = from; index < count; index++) {
    const judged = judge(index)
    if (Effect.isEffect(judged)) {
      return Effect.flatMap(judged, (verdict) => {
        const ended = take(verdict, index)
        return ended === undefined ? toEffect(inOrder(count, judge, take, last, index + 1)) : Effect.succeed(ended)
      })
    }
    const ended = take(judged, index)
    if (ended !== undefined) return ended
  }
  return last()
}
