/**
 * Carries out the requested moves between modes, before the model is asked.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as ModeTransition from "../../../domain/ModeTransition.ts"
import { because, isModeError, TransitionCycle } from "../../../modes/ModeError.ts"
import type { Loop } from "../../journal/Loop.ts"
import { asReason, findTarget } from "./CheckMove.ts"
import * as EnterMode from "./EnterMode.ts"
import * as LeaveMode from "./LeaveMode.ts"

/** Ends a run whose move isn't possible. Nothing was left or entered, and the request is withdrawn. */
const refuse = (loop: Loop, { enter }: ModeTransition.Pending, error: unknown): Effect.Effect<never, unknown> => {
  if (isModeError(error)) LeaveMode.takeBack(loop)
  return Effect.fail(asReason(loop, enter?.name, error))
}

const entered = (mode: string): string => `You are now in mode "${mode}".`

/** Carries out one move, unless a clean-up meanwhile requests another. With `goesOn` the model is told. */
const take = Effect.fnUntraced(function*(
  loop: Loop,
  pending: ModeTransition.Pending,
  before: number,
  goesOn: boolean
) {
  if (before >= EnterMode.maxMoves) {
    const modes = [
      ...loop.state.modes.map(({ name }) => name),
      ...(pending.enter === undefined ? [] : [pending.enter.name])
    ]
    return yield* refuse(loop, pending, because(new TransitionCycle({ modes, limit: EnterMode.maxMoves })))
  }
  const target = yield* Effect.catch(findTarget(loop, pending), (error) => refuse(loop, pending, error))
  if (pending.to !== undefined) {
    const why = { exit: Exit.void, isOver: false, isRuns: true, note: goesOn ? LeaveMode.noteOfLeaving : undefined }
    const exit = yield* LeaveMode.leaveTo(loop, pending.to, why)
    if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
  }
  if (target === undefined || loop.state.transition !== pending) return
  const note = goesOn ? entered(target.entry.mode.name) : undefined
  yield* EnterMode.enter(loop, target.entry, target.params, { note })
  // The mode was on top already, and stays, so no other event says that the move is done.
  if (loop.state.transition === pending) LeaveMode.takeBack(loop)
})

/** Carries out requested moves until there are none. With `goesOn` the model is told, because it answers next without a new input. */
export const takeAll: (loop: Loop, goesOn: boolean) => Effect.Effect<void, unknown, unknown> = Effect.fnUntraced(
  function*(loop: Loop, goesOn: boolean) {
    for (let before = 0; loop.state.transition !== undefined; before++) {
      yield* take(loop, loop.state.transition, before, goesOn)
    }
  }
)
