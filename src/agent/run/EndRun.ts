/**
 * The end of a run: whatever is still open in it is ended, its modes are let go of, and its end is told.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { next } from "../../domain/Command.ts"
import { openCalls } from "../../domain/Conversation.ts"
import { whatWasAdded } from "../../modes/Host.ts"
import * as Failure from "../journal/Failure.ts"
import * as Loop from "../journal/Loop.ts"
import * as OwnModel from "../perform/ask/OwnModel.ts"
import { inView } from "../perform/InView.ts"
import * as Leaving from "../perform/mode/Leaving.ts"
import type { Ending } from "./Drive.ts"

const isInterruption = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

/** Ends what is still open in a loop. One that had begun nothing leaves its state as it was. */
export const close = (loop: Loop.Loop, exit: Exit.Exit<Ending, unknown>): void => {
  if (!loop.open.run && !loop.open.step) return
  if (isInterruption(exit)) {
    Loop.close(loop, { tag: "Interrupted", message: "The run was interrupted before this had a result." })
  } else if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
    Loop.close(loop, { tag: "Defect", message: "The run broke down before this had a result." })
  }
  Loop.endStep(loop)
  Loop.suspendHandoff(loop)
}

/**
 * Gives how many modes stay entered when a loop ends. All do in a state that can go on, but for those from the lowest upwards that
 * is used alone: nobody else could set that up again. The state of an agent which answered a call can't go on.
 */
const countStaying = ({ live, parent, state }: Loop.Loop, exit: Exit.Exit<Ending, unknown>): number => {
  const canGoOn = parent === undefined ||
    (Exit.isSuccess(exit) && (exit.value === "Suspended" || next(state)._tag === "Await"))
  if (!canGoOn) return 0
  const alone = live.open.findIndex(({ context }) => context !== undefined)
  return alone < 0 ? live.open.length : alone
}

/** Settles the calls that await approval and whose tools go with modes that are used alone. Checks whether there are any. */
const giveUpCalls = (loop: Loop.Loop): boolean => {
  const alone = loop.live.open.flatMap(({ context, entry: { mode } }) => context === undefined ? [] : [mode.name])
  let areAny = false
  for (const { id: callId, name } of openCalls(loop.state.conversation)) {
    const entry = loop.definition.tools.get(name)
    if (entry?._tag !== "Handled" || entry.modes?.every((mode) => alone.includes(mode)) !== true) continue
    areAny = true
    const result = "The mode of this tool was left before this had a result."
    Loop.settle(loop, { callId, name, outcome: "Interrupted", result, duration: 0 })
  }
  return areAny
}

/** Lets go of the modes that only this loop holds: they stay entered, or are left. */
const letGo = (loop: Loop.Loop, exit: Exit.Exit<Ending, unknown>): Effect.Effect<Exit.Exit<Ending, unknown>> => {
  const height = countStaying(loop, exit)
  if (height === loop.live.open.length) return Effect.as(Leaving.suspend(loop, exit), exit)
  // What clean-ups say now is no answer of the run.
  if (loop.state.status._tag === "Complete") loop.answered = loop.state
  const ended = giveUpCalls(loop) && Exit.isSuccess(exit) ? Exit.succeed("Suspended" as const) : exit
  const left = Leaving.leaveTo(loop, height, { exit: ended, isOver: true, endsRun: true })
  return Effect.tap(left, () => Leaving.suspend(loop, exit)) as Effect.Effect<Exit.Exit<Ending, unknown>>
}

/** Ends what is still open in a loop, and then its run, if it has one: a step by hand has none. */
export const end = (loop: Loop.Loop, exit: Exit.Exit<Ending, unknown>): Effect.Effect<void> => {
  close(loop, exit)
  const { live } = loop
  return live.open.length === 0 || live.isHeld || live.between > 0
    ? endRun(loop, exit)
    : Effect.flatMap(inView(loop, letGo(loop, exit)), (left) => {
      const ended = endRun(loop, left)
      return loop.parent === undefined ? Effect.andThen(ended, whatWasAdded(left, exit)) : ended
    })
}

const endRun = (loop: Loop.Loop, exit: Exit.Exit<Ending, unknown>): Effect.Effect<void> => {
  if (loop.open.run) {
    Loop.tellEnd(
      loop,
      Exit.isSuccess(exit)
        ? exit.value === "Ended" ? "RunCompleted" : "RunInterrupted"
        : isInterruption(exit)
        ? "RunInterrupted"
        : Failure.fromCause(loop, exit.cause)
    )
  }
  return loop.models === undefined ? loop.root.flush : Effect.andThen(loop.root.flush, OwnModel.release(loop, exit))
}
