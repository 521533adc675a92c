/**
 * Verdicts that are returned directly or in an Effect. A direct verdict needs no turn of the runtime (`docs/decisions/0008`).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Verdict } from "./Verdict.ts"

/** A verdict, or an Effect of one. */
export type Judged = Verdict<unknown> | Effect.Effect<Verdict<unknown>, never, unknown>

/** Turns a verdict that may be returned directly into an Effect. */
export const toEffect = (self: Judged): Effect.Effect<Verdict<unknown>, never, unknown> =>
  Effect.isEffect(self) ? self : Effect.succeed(self)

/** Changes a verdict. */
export const map = (self: Judged, f: (verdict: Verdict<unknown>) => Verdict<unknown>): Judged =>
  Effect.isEffect(self) ? Effect.map(self, f) : f(self)

/** Asks for verdicts in order, from the index `from` on, until `take` returns a verdict; if none does, `last` returns it. */
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
