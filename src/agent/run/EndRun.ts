/**
 * The end of a run: it emits the missing end events, releases the run's modes, and emits the event that ends the run.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Underway from "../../domain/Underway.ts"
import { hasLasting } from "../../domain/WaitingCall.ts"
import { whatWasAdded } from "../../modes/Host.ts"
import * as Failure from "../journal/Failure.ts"
import * as Loop from "../journal/Loop.ts"
import * as OwnModel from "../perform/ask/OwnModel.ts"
import * as PromptCache from "../perform/ask/PromptCache.ts"
import { provideLoop } from "../perform/LoopServices.ts"
import * as LeaveMode from "../perform/mode/LeaveMode.ts"
import type { Decision } from "../rules/Decision.ts"
import * as StayingModes from "../rules/StayingModes.ts"

/** How a loop ended: with the decision at which it stopped, or with a failure. */
export type LoopExit = Exit.Exit<Decision, unknown>

const isInterruption = (exit: LoopExit): boolean => Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

const because = (what: string, tag: Underway.Why["tag"] = "Interrupted") => ({
  tag,
  message: `The run ${what} before this had a result.`
})

/** Returns why open starts have no end of their own, if the loop was cut short. */
const whyOf = ({ journal }: Loop.Loop, exit: LoopExit): Underway.Why | undefined =>
  isInterruption(exit)
    ? journal.hasFailed
      ? { ...because("was stopped"), keepsOpen: true }
      : because("was interrupted")
    : Exit.isFailure(exit) && Cause.hasDies(exit.cause)
    ? because("broke down", "Defect")
    : undefined

/** Ends what is still open in a loop. A loop that began nothing keeps its state as it was. */
const close = (loop: Loop.Loop, exit: LoopExit): void => Loop.close(loop, whyOf(loop, exit))

/** Runs an effect that isn't a run of the loop's own, and ends what it left open in the loop. */
export const closing = <A extends Decision>(
  loop: Loop.Loop,
  self: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> =>
  Effect.onExitPrimitive(self, (exit) => {
    close(loop, exit)
    return Loop.flushIfBehind(loop)
  })

const suspended: LoopExit = Exit.succeed({ _tag: "Suspend" })

/** How a run ended: after modes were left (`left`), and after the resources of the modes that stay were released too (`released`). */
interface LetGo {
  readonly left: Exit.Exit<unknown, unknown>
  readonly released: LoopExit
}

/** Releases the modes that only this loop holds: depending on the exit they stay entered, or are left. */
const letGo = (loop: Loop.Loop, exit: LoopExit): Effect.Effect<LetGo> => {
  const { live, parent } = loop
  const modes = live.open.map(({ context, entry: { mode: { name } } }) => ({ name, isForeign: context !== undefined }))
  const why = whyOf(loop, exit)
  const canGoOn = parent === undefined || (Exit.isSuccess(exit)
    ? exit.value._tag !== "Finish"
    : why !== undefined && (why.keepsOpen === true || hasLasting(loop.state)))
  const height = StayingModes.count(modes, canGoOn)
  const release = (left: Exit.Exit<unknown, unknown>) =>
    Effect.map(LeaveMode.suspend(loop, exit, left), (released) => ({ left, released: released as LoopExit }))
  if (height === live.open.length) return release(exit)
  const givenUp = LeaveMode.giveUpCalls(loop, modes.slice(0, height).map(({ name }) => name))
  const ended = givenUp > 0 && Exit.isSuccess(exit) ? suspended : exit
  return Effect.flatMap(
    LeaveMode.leaveTo(loop, height, { exit: ended, isOver: true, isRuns: true, endsRun: true }),
    release
  )
}

/**
 * Ends what is still open in a loop, and then its run, if it has one: a step that is taken by hand has none. Returns an effect if that takes
 * one.
 */
export const end = (loop: Loop.Loop, exit: LoopExit): Effect.Effect<void> | undefined => {
  close(loop, exit)
  const { isChangingModes, live } = loop
  return live.open.length === 0 || live.holder !== undefined || isChangingModes
    ? endRun(loop, exit)
    : Effect.flatMap(
      provideLoop(loop, letGo(loop, exit)),
      ({ left, released }) =>
        Effect.flatMap(endRun(loop, released) ?? Effect.void, () =>
          // A called agent's state already tells its caller of failed clean-ups, so only failures of releasing are added here.
          whatWasAdded(released, loop.parent === undefined ? exit : left, (error) => Failure.asAgentError(loop, error)))
    )
}

const endOf = (loop: Loop.Loop, exit: LoopExit): Loop.EndOf =>
  Exit.isSuccess(exit)
    ? { _tag: exit.value._tag === "Suspend" ? "RunInterrupted" : "RunCompleted" }
    : isInterruption(exit)
    ? { _tag: "RunInterrupted" }
    : { _tag: "RunFailed", error: Failure.fromCause(loop, exit.cause) }

/**
 * Emits the event that ends a run, after all observers have seen the events before it: until then an observer may change the conversation.
 */
const endRun = (loop: Loop.Loop, exit: LoopExit): Effect.Effect<void> | undefined => {
  const { journal, parent } = loop
  if (parent === undefined) journal.release()
  const tell = (): Effect.Effect<void> | undefined => {
    if (Underway.latest(loop.underway, "RunStarted") !== undefined) Loop.emitEnd(loop, endOf(loop, exit))
    if (parent === undefined) PromptCache.rest(loop)
    return OwnModel.release(loop, exit, Loop.flushIfBehind(loop))
  }
  const flush = Loop.flushIfBehind(loop)
  return flush === undefined ? tell() : Effect.andThen(flush, Effect.suspend(() => tell() ?? Effect.void))
}
