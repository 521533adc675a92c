/**
 * Leaves modes that a state says are entered, and that can't be set up again.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Loop } from "../../journal/Loop.ts"
import * as EnterMode from "./EnterMode.ts"
import * as LeaveMode from "./LeaveMode.ts"

/** Counts the modes that aren't set up as set up, without resources. Returns false if the agent doesn't have all of them. */
const standIn = ({ definition, live: { open }, state }: Loop): boolean => {
  const frames = state.modes.slice(open.length)
  if (!frames.every(({ name }) => definition.modes.has(name))) return false
  for (const { name, values } of frames) {
    open.push({
      entry: definition.modes.get(name)!,
      scope: Scope.makeUnsafe(),
      setUpIn: { operations: undefined },
      context: undefined,
      found: values
    })
  }
  return true
}

/**
 * Sets up again the modes that aren't set up, and leaves modes until only `height` remain.
 *
 * If a set-up fails, the modes are left all the same: their clean-ups run, and there are no finalizers to run. Those that remain are set up
 * by what comes next. A defect of the set-up is reported at the end. Fails with the set-up's error if the agent doesn't have the modes, or
 * if the set-up was interrupted: then nothing is left.
 */
export const leaveTo = (
  loop: Loop,
  height: number,
  why: LeaveMode.Why
): Effect.Effect<Exit.Exit<unknown, unknown>, unknown, unknown> =>
  Effect.matchCauseEffect(EnterMode.resume(loop), {
    onSuccess: () => LeaveMode.leaveTo(loop, height, why),
    onFailure: (cause) =>
      Effect.uninterruptible(Effect.suspend(() => {
        const { open } = loop.live
        const ready = open.length
        if (Cause.hasInterrupts(cause) || !standIn(loop)) return Effect.failCause(cause)
        return Effect.flatMap(LeaveMode.leaveTo(loop, height, why), (left) => {
          open.splice(ready)
          if (!Cause.hasDies(cause)) return Effect.succeed(left)
          return Effect.failCause(Exit.isFailure(left) ? Cause.combine(left.cause, cause) : cause)
        })
      }))
  })
