/**
 * Setting up a mode: its events, its span, and the undoing of a set-up that fails or is interrupted (`docs/decisions/0006`).
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { ModeEntry } from "../../definition/AgentDefinition.ts"
import { atExit } from "../../journal/AtExit.ts"
import type { LiveMode } from "../../journal/LiveModes.ts"
import * as Loop from "../../journal/Loop.ts"
import { shownExit } from "../../journal/SpanExit.ts"
import { SpanRecorder } from "../../journal/SpanRecorder.ts"
import * as Telemetry from "../../journal/Telemetry.ts"
import { leave, noteOfLeaving, runAndLeaveNested, tellFailure } from "./LeaveMode.ts"
import { ranBy, runModeEffect } from "./ModeEffect.ts"
import type { ModeParams } from "./ModeParams.ts"

/**
 * The result of entering a mode, stored as soon as it is known, because an interruption may come before it is returned. `failed` is what
 * the set-up failed with.
 */
export interface EnterResult {
  open: LiveMode | undefined
  failed: Cause.Cause<unknown> | undefined
}

/**
 * How a mode is entered: `context` has a program's services if the mode is used alone, `note` tells a model that continues what
 * happened, and with `isResumed` the mode was entered before and is only set up again.
 */
export interface EnterOptions {
  readonly result?: EnterResult | undefined
  readonly context?: Context.Context<never> | undefined
  readonly note?: string | undefined
  readonly isResumed?: boolean | undefined
}

/** A mode whose set-up is under way. */
interface SetUp {
  readonly loop: Loop.Loop
  readonly open: LiveMode
  readonly params: ModeParams
  readonly stack: ReadonlyArray<string>
  readonly startedAt: number
  readonly options: EnterOptions
}

/** Emits `ModeEntering`, and puts the mode on the stack. */
const begin = (loop: Loop.Loop, entry: ModeEntry, params: ModeParams, options: EnterOptions): SetUp => {
  const { mode } = entry
  const { live } = loop
  const startedAt = Loop.now(loop)
  const stack = [...live.open.map(({ entry }) => entry.mode.name), mode.name]
  Loop.emit(loop, {
    _tag: "ModeEntering",
    name: mode.name,
    params: params.json,
    isolation: mode.isolation,
    stack,
    ...(options.isResumed === true ? { isResumed: true } : undefined)
  }, startedAt)
  const open: LiveMode = {
    entry,
    scope: Scope.makeUnsafe(),
    setUpIn: { operations: undefined },
    context: options.context,
    found: options.isResumed === true ? loop.state.modes[live.open.length]?.values : undefined
  }
  live.open.push(open)
  return { loop, open, params, stack, startedAt, options }
}

/**
 * Puts a mode on top of the others and sets it up. If the set-up fails or is interrupted, the mode counts as never entered, unless it was
 * only set up again: then the state keeps it.
 */
export const setUp = (
  loop: Loop.Loop,
  entry: ModeEntry,
  params: ModeParams,
  options: EnterOptions
): Effect.Effect<void, unknown, unknown> =>
  // The first changes are made inside the uninterruptible region, because an interruption may still come right before it.
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((fiber) => {
      const spans = new SpanRecorder(fiber)
      const span = Telemetry.beginMode(loop, spans, "enter_mode", entry.mode.name)
      const setting = begin(loop, entry, params, options)
      const { isResumed = false } = options
      const settingUp = runModeEffect(
        setting.open,
        restore(ranBy(`\`enter\` of mode "${entry.mode.name}"`, () => entry.mode.enter(params.decoded, { isResumed }))),
        span === undefined ? undefined : Telemetry.inSpan(span)
      )
      // An observer that breaks when it is told of the set-up is a failure of the set-up.
      const ended = atExit(Loop.flushed(loop, settingUp), (exit) => {
        if (span !== undefined) spans.end(span, shownExit(span, exit, loop.journal.recordsContent))
      })
      return Effect.matchCauseEffect(ended, {
        onSuccess: () => entered(setting),
        onFailure: (cause) => undo(setting, cause)
      })
    })
  )

/** Emits `ModeEntered`. A single-shot mode is left at once. */
const entered = (
  { loop, open, options: { result, note }, params, stack, startedAt }: SetUp
): Effect.Effect<void, unknown, unknown> => {
  const { isSingleShot, name } = open.entry.mode
  const at = Loop.now(loop)
  Loop.emit(loop, {
    _tag: "ModeEntered",
    name,
    params: params.json,
    stack,
    duration: Math.max(0, at - startedAt),
    ...(note === undefined || isSingleShot ? undefined : { note })
  }, at)
  if (result !== undefined) result.open = open
  if (!isSingleShot) return Loop.flushed(loop, Effect.void)
  const why = { exit: Exit.void, isOver: true, note: note === undefined ? undefined : noteOfLeaving }
  return Effect.flatMap(
    Effect.exit(loop.journal.flush),
    (seen) => Effect.flatMap(leave(loop, open, why), (left) => Effect.andThen(Effect.asVoid(left), seen))
  )
}

/** Closes the scope of a set-up that failed, takes the mode off the stack, and emits `ModeFailed`. */
const undo = Effect.fnUntraced(function*(setting: SetUp, cause: Cause.Cause<unknown>) {
  const { loop, open, options: { result, isResumed }, params, stack } = setting
  const exit = Exit.failCause(cause)
  if (result !== undefined) result.failed = cause
  const undone = yield* runAndLeaveNested(loop, open, exit)
  const closed = yield* runAndLeaveNested(loop, open, Scope.close(open.scope, exit))
  loop.live.open.pop()
  const resumed = isResumed === true ? { isResumed } : undefined
  tellFailure(loop, open, { params: params.json, stack, phase: "SetUp", ...resumed }, cause)
  yield* loop.journal.flush
  return yield* Effect.failCause(
    [undone, closed].filter(Exit.isFailure).map(({ cause }) => cause).reduce(Cause.combine)
  )
})
