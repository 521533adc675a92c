/**
 * Leaves modes, the innermost first, or releases their resources while they stay entered.
 *
 * If a clean-up fails, its mode is left all the same, and so are the modes around it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import type { ModeFailed } from "../../../domain/AgentEvent.ts"
import * as ModeStack from "../../../domain/ModeStack.ts"
import * as ModeTransition from "../../../domain/ModeTransition.ts"
import * as Wanted from "../../../domain/Wanted.ts"
import { atExit } from "../../journal/AtExit.ts"
import { asAgentError, fromCause } from "../../journal/Failure.ts"
import type { LiveMode } from "../../journal/LiveModes.ts"
import * as Loop from "../../journal/Loop.ts"
import { shownExit } from "../../journal/SpanExit.ts"
import { SpanRecorder } from "../../journal/SpanRecorder.ts"
import * as Telemetry from "../../journal/Telemetry.ts"
import * as StayingModes from "../../rules/StayingModes.ts"
import * as CheckMove from "./CheckMove.ts"
import { ranBy } from "./ModeEffect.ts"
import { runModeEffect } from "./ModeEffect.ts"

/**
 * Why modes are left. With `isOver` the scope or run that they were entered for is over, so none of them can stay. With `recovers` the
 * lowest one may recover from the failure of its body; the failure of a clean-up above it (`failedAbove`) isn't part of that. `note` is for
 * a model that continues. With `endsRun` the run's answer is kept. With `isRuns` the run itself leaves them: if a clean-up requests a move
 * that isn't possible, the run fails with the reason `ModeFailed`.
 */
export interface Why {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly isOver: boolean
  readonly recovers?: boolean | undefined
  readonly failedAbove?: boolean | undefined
  readonly note?: ((mode: string) => string) | undefined
  readonly endsRun?: boolean | undefined
  readonly isRuns?: boolean | undefined
}

/** What the model is told if it continues after a mode was left. */
export const noteOfLeaving = (mode: string): string => `Mode "${mode}" was left.`

/** What the model is told if it continues after a mode stayed. If another mode is put on top, its entering says so. */
const noteOfStaying = (mode: string): string => `You are still in mode "${mode}".`

type Wish = ModeTransition.ModeTransition | undefined

/** The result of leaving a mode: whether it stays, the exit of its body, and what failed meanwhile. */
interface Left {
  readonly isKept: boolean
  readonly exit: Exit.Exit<unknown, unknown>
  readonly failures: ReadonlyArray<Cause.Cause<unknown>>
}

const causeOf = (exit: Exit.Exit<unknown, unknown>): Cause.Cause<unknown> =>
  Exit.isFailure(exit) ? exit.cause : Cause.empty

/** Adds failures to what went wrong before them. */
const join = (exit: Exit.Exit<unknown, unknown>, causes: ReadonlyArray<Cause.Cause<unknown>>) => {
  if (causes.length === 0) return exit
  const cause = [causeOf(exit), ...causes].reduce(Cause.combine)
  return cause.reasons.length === 0 ? exit : Exit.failCause(cause)
}

/**
 * Returns the move that a clean-up requested. If the mode can't stay, a request to stay is dropped, and a push replaces the mode. Throws if
 * a text or a tagged value isn't a move: it was meant as one. Any other value counts as nothing, since a function may return it as `void`.
 */
const wishOf = ({ entry: { mode } }: LiveMode, cleaned: Exit.Exit<unknown, unknown>, isOver: boolean): Wish => {
  const value = Exit.isSuccess(cleaned) ? cleaned.value : undefined
  const wish = ModeTransition.read(value)
  if (wish === undefined && (Predicate.isString(value) || Predicate.hasProperty(value, "_tag"))) {
    throw Wanted.mustReturn(`\`exit\` of mode "${mode.name}"`, "move of `ModeTransition`", value)
  }
  if (wish === undefined || wish._tag === "Exit") return undefined
  if (!isOver) return wish
  return wish._tag === "Stay" ? undefined : wish._tag === "Push" ? { ...wish, _tag: "Switch" } : wish
}

/** Emits `ModeFailed` of a mode, with its parameters and the modes around it. */
export const tellFailure = (
  loop: Loop.Loop,
  { entry: { mode: { name } } }: LiveMode,
  about: Pick<ModeFailed, "params" | "phase" | "stack" | "isResumed">,
  cause: Cause.Cause<unknown>
): void => {
  const { message, tag } = fromCause(loop, cause)
  const why = { tag: Cause.hasInterruptsOnly(cause) ? "Interrupted" : tag, message }
  Loop.emit(loop, { _tag: "ModeFailed", name, ...about, ...why })
}

/** Runs a part of a mode's set-up or clean-up. Modes that it entered and didn't leave are left with it. */
export const runAndLeaveNested = (
  loop: Loop.Loop,
  open: LiveMode,
  self: Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<Exit.Exit<unknown, unknown>, never, unknown> =>
  Effect.flatMap(
    Effect.exit(runModeEffect(open, self)),
    (exit) => {
      const height = loop.live.open.indexOf(open) + 1
      return loop.live.open.length <= height ? Effect.succeed(exit) : leaveTo(loop, height, { exit, isOver: true })
    }
  )

/** Returns the exit that clean-ups and finalizers get: a failure of the run is an `AgentError` for them too. */
const asTold = (loop: Loop.Loop, exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> =>
  Exit.isFailure(exit) ? Exit.failCause(Cause.map(exit.cause, (error) => asAgentError(loop, error))) : exit

const isKeeping = (wish: Wish): boolean => wish?._tag === "Stay" || wish?._tag === "Push"

/** What a mode's clean-up leaves: what it recovered with, the move that it wishes, and its failures. */
interface Cleaned {
  readonly recovered: Exit.Exit<unknown, unknown> | undefined
  readonly wish: Wish
  readonly failures: ReadonlyArray<Cause.Cause<unknown>>
}

const nothingCleaned: Cleaned = { recovered: undefined, wish: undefined, failures: [] }

/** Checks whether a mode has a recovery, a clean-up or finalizers to run. */
const hasCleanUp = ({ entry: { mode }, scope }: LiveMode, { exit, recovers }: Why): boolean =>
  mode.exit !== undefined || scope.state._tag !== "Empty" ||
  (recovers === true && Exit.isFailure(exit) && mode.recover !== undefined)

/** Recovers from the failure of a mode's body, if the mode can, and runs its clean-up and its finalizers. */
const clean: (
  loop: Loop.Loop,
  open: LiveMode,
  why: Why
) => Effect.Effect<Cleaned, never, unknown> = Effect.fnUntraced(function*(
  loop,
  open,
  { exit: ended, isOver, isRuns, recovers }
) {
  const { entry: { mode }, scope } = open
  const exit = asTold(loop, ended)
  const { recover } = mode
  const recovered = recovers === true && Exit.isFailure(exit) && recover !== undefined
    ? yield* runAndLeaveNested(loop, open, ranBy(`\`recover\` of mode "${mode.name}"`, () => recover(exit.cause)))
    : undefined
  const cleaned = mode.exit === undefined
    ? Exit.void
    : yield* runAndLeaveNested(loop, open, ranBy(`\`exit\` of mode "${mode.name}"`, () => mode.exit!(exit)))
  const checked = yield* Effect.exit(Effect.suspend(() => {
    const asked = wishOf(open, cleaned, isOver)
    if (asked === undefined) return Effect.undefined
    return isRuns === true ? CheckMove.checkInRun(loop, asked) : CheckMove.check(loop, asked)
  }))
  const wish = Exit.isSuccess(checked) ? checked.value : undefined
  const closed = isKeeping(wish) || scope.state._tag === "Empty"
    ? Exit.void
    : yield* runAndLeaveNested(loop, open, Scope.close(scope, exit))
  const failures = [recovered ?? Exit.void, cleaned, checked, closed].filter(Exit.isFailure).map(({ cause }) => cause)
  return { recovered, wish, failures }
})

/** Settles the open calls of modes that don't stay. Returns how many there were. */
export const giveUpCalls = (loop: Loop.Loop, stays: ReadonlyArray<string>): number => {
  const calls = StayingModes.callsToGiveUp(stays, loop.definition, loop.state)
  const result = "The mode of this tool was left before this had a result."
  for (const { id: callId, name } of calls) {
    Loop.settle(loop, { callId, name, outcome: "Interrupted", result, duration: 0 })
  }
  return calls.length
}

/** Leaves the innermost mode. */
const leaveTop = Effect.fnUntraced(function*(loop: Loop.Loop, open: LiveMode, why: Why) {
  const { endsRun, exit, note } = why
  const { name } = open.entry.mode
  const frame = ModeStack.top(loop.state)
  const params = frame?.params ?? null
  const stack = ModeStack.names(loop.state)
  if (Exit.isFailure(exit)) tellFailure(loop, open, { params, stack, phase: "Body" }, exit.cause)
  Loop.emit(loop, { _tag: "ModeExiting", name, params, stack })
  // If an observer breaks, the mode is still left, and the defect is reported at the end.
  const seen = loop.journal.isBehind() ? yield* Effect.exit(loop.journal.flush) : Exit.void
  const { failures: own, recovered, wish } = hasCleanUp(open, why) ? yield* clean(loop, open, why) : nothingCleaned
  const isKept = isKeeping(wish)
  if (own.length > 0) tellFailure(loop, open, { params, stack, phase: "CleanUp" }, own.reduce(Cause.combine))
  if (wish !== undefined) Loop.emit(loop, { _tag: "ModeTransitionRequested", transition: wish })
  if (!isKept) {
    giveUpCalls(loop, stack.slice(0, -1))
    loop.live.open.pop()
  }
  const at = Loop.now(loop)
  Loop.emit(loop, {
    _tag: "ModeExited",
    name,
    params,
    stack: isKept ? stack : stack.slice(0, -1),
    duration: Math.max(0, at - (frame?.enteredAt ?? 0)),
    ...(isKept ? { isKept } : undefined),
    ...(endsRun === true ? { endsRun } : undefined),
    ...(note === undefined || wish?._tag === "Push"
      ? undefined
      : { note: (isKept ? noteOfStaying : note)(name) })
  }, at)
  const seenEnd = loop.journal.isBehind() ? yield* Effect.exit(loop.journal.flush) : Exit.void
  const failures = [...own, ...[seen, seenEnd].filter(Exit.isFailure).map(({ cause }) => cause)]
  // The failure that was recovered from is dropped only if leaving succeeds.
  const isRecovered = recovered !== undefined && failures.length === 0 && why.failedAbove !== true
  const body = isRecovered ? recovered : exit
  return { isKept, exit: join(body, failures), failures } satisfies Left
})

/** Leaves the innermost mode in a span, which ends with what failed meanwhile. */
const leaveInSpan = (loop: Loop.Loop, open: LiveMode, why: Why): Effect.Effect<Left, never, unknown> =>
  Effect.withFiber((fiber) => {
    const spans = new SpanRecorder(fiber)
    const span = Telemetry.beginMode(loop, spans, "exit_mode", open.entry.mode.name)
    const leaving = leaveTop(loop, open, why)
    return span === undefined
      ? leaving
      : atExit(Telemetry.within(leaving, span), (exit) => {
        const hasFailed = Exit.isSuccess(exit) && exit.value.failures.length > 0
        const ended = hasFailed ? Exit.failCause(exit.value.failures.reduce(Cause.combine)) : exit
        spans.end(span, shownExit(span, ended, loop.journal.recordsContent))
      })
  })

const leaveNext = (
  loop: Loop.Loop,
  height: number,
  why: Why
): Effect.Effect<Exit.Exit<unknown, unknown>, never, unknown> => {
  const { open } = loop.live
  const top = open.at(-1)
  if (top === undefined || open.length <= height) return Effect.succeed(why.exit)
  const isLast = open.length === height + 1
  return Effect.flatMap(
    leaveInSpan(loop, top, isLast ? why : { ...why, recovers: false }),
    ({ exit, failures, isKept }) =>
      isKept
        ? Effect.succeed(exit)
        : leaveNext(loop, height, { ...why, exit, failedAbove: why.failedAbove === true || failures.length > 0 })
  )
}

/**
 * Leaves modes until only `height` remain, unless one of them stays. Returns the exit of their bodies: the body's own failure first, then
 * those of the clean-ups.
 */
export const leaveTo = (loop: Loop.Loop, height: number, why: Why): Effect.Effect<Exit.Exit<unknown, unknown>> =>
  Effect.uninterruptible(
    Effect.suspend(() =>
      leaveNext(loop, height, { ...why, recovers: why.recovers === true && Exit.isFailure(why.exit) })
    )
  ) as Effect.Effect<
    Exit.Exit<unknown, unknown>
  >

/** Leaves a mode, and those above it, if it is still entered. It must be called in the run or operation. */
export const leave = (loop: Loop.Loop, open: LiveMode, why: Why): Effect.Effect<Exit.Exit<unknown, unknown>> => {
  const height = loop.live.open.indexOf(open)
  return height < 0 ? Effect.succeed(why.exit) : leaveTo(loop, height, why)
}

/**
 * Keeps modes on the stack and releases their resources. The run that continues the state sets them up again. Finalizers get `told`; what
 * they fail with is added to `before`, which is returned.
 */
export const suspend = (
  loop: Loop.Loop,
  told: Exit.Exit<unknown, unknown>,
  before = told
): Effect.Effect<Exit.Exit<unknown, unknown>> =>
  // Closing a scope needs only services that the run has.
  Effect.uninterruptible(
    Effect.map(Effect.suspend(() => closeAll(loop, asTold(loop, told))), (failures) => join(before, failures))
  ) as Effect.Effect<Exit.Exit<unknown, unknown>>

/**
 * Closes the scopes of set-ups, the innermost first. Each mode is on top while its scope is closed. Returns the failures of
 * finalizers: the other scopes are closed even if one fails.
 */
const closeAll = Effect.fnUntraced(function*({ live: { open } }: Loop.Loop, exit: Exit.Exit<unknown, unknown>) {
  const failures: Array<Cause.Cause<unknown>> = []
  for (let top = open[open.length - 1]; top !== undefined; top = open[open.length - 1]) {
    const closed = yield* Effect.exit(runModeEffect(top, Scope.close(top.scope, exit)))
    if (Exit.isFailure(closed)) failures.push(closed.cause)
    open.pop()
  }
  return failures
})

/** Withdraws a requested move. */
export const takeBack = (loop: Loop.Loop): void =>
  Loop.emit(loop, { _tag: "ModeTransitionRequested", transition: ModeTransition.stay })
