/**
 * A mode on its way in: its set-up, and what is told of it however that ends.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import { useAtOnce } from "../../../modes/Host.ts"
import type { ModeEntry } from "../../definition/AgentDefinition.ts"
import { fromCause } from "../../journal/Failure.ts"
import type { LiveMode } from "../../journal/LiveModes.ts"
import * as Loop from "../../journal/Loop.ts"
import type { Operation } from "../../journal/Operations.ts"
import type { Recorder } from "../../journal/SpanRecorder.ts"
import * as Telemetry from "../../journal/Telemetry.ts"
import { Part } from "./Between.ts"
import { leave, noteOfLeaving, runPart } from "./Leaving.ts"

/** Parameters as they are stored, and as the mode is given them. */
export interface Params {
  readonly json: Schema.Json
  readonly decoded: unknown
}

/**
 * Has what is live of a mode as soon as it is entered, since an interruption may come before anybody is given it; or what its set-up
 * failed with.
 */
export interface Entrance {
  open: LiveMode | undefined
  failed: Cause.Cause<unknown> | undefined
}

/** How a mode is entered: by hand with the `context` of whoever does, in a run that goes on, or anew after it was stored. */
export interface Options {
  readonly entrance?: Entrance | undefined
  readonly context?: Context.Context<never> | undefined
  readonly note?: string | undefined
  readonly isResumed?: boolean | undefined
}

/** A mode on its way in: what is told of it, however that ends. */
export interface SettingUp {
  readonly loop: Loop.Loop
  readonly open: LiveMode
  readonly params: Params
  readonly stack: ReadonlyArray<string>
  readonly startedAt: number
  readonly options: Options
  readonly part: Part
  readonly spans: Recorder
  readonly span: Tracer.Span | undefined
}

/** Tells that a mode is being entered, and puts it on the stack. */
export const begin = (
  loop: Loop.Loop,
  entry: ModeEntry,
  params: Params,
  options: Options,
  spans: Recorder
): SettingUp => {
  const { mode } = entry
  const { live } = loop
  const isResumed = options.isResumed ?? false
  const span = Telemetry.beginMode(loop, spans, "enter_mode", mode.name)
  const startedAt = Loop.now(loop)
  const stack = [...live.open.map(({ entry }) => entry.mode.name), mode.name]
  Loop.tell(loop, {
    _tag: "ModeEntering",
    name: mode.name,
    params: params.json,
    isolation: mode.isolation,
    stack,
    ...(isResumed ? { isResumed } : undefined)
  }, startedAt)
  const open: LiveMode = {
    entry,
    scope: Scope.makeUnsafe(),
    setUpIn: { operations: undefined },
    context: options.context
  }
  live.open.push(open)
  return { loop, open, params, stack, startedAt, options, part: new Part(open), spans, span }
}

/** Begins to set a mode up, without a fiber, and gives what is left of that. */
export const beginSetUp = ({ loop, open, options, params }: SettingUp): Effect.Effect<unknown, unknown, unknown> => {
  try {
    return useAtOnce(open.entry.mode.enter(params.decoded, { isResumed: options.isResumed ?? false }), loop.host)
  } catch (defect) {
    return Effect.die(defect)
  }
}

/** Gives what sets a mode up. */
export const runsIn = ({ open, options, params }: SettingUp): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => open.entry.mode.enter(params.decoded, { isResumed: options.isResumed ?? false }))

/** Gives the services of what sets a mode up, which begins with that. */
export const servicesIn = (
  { part, span }: SettingUp,
  services: Context.Context<unknown>,
  operations?: ReadonlyArray<Operation>
): Context.Context<unknown> => part.begin(services, span === undefined ? undefined : Telemetry.inSpan(span), operations)

/** Ends what sets a mode up. */
const endSetUp = (setting: SettingUp, exit: Exit.Exit<unknown, unknown>): void => {
  setting.part.end()
  endSpan(setting, exit)
}

export const endSpan = ({ span, spans }: SettingUp, exit: Exit.Exit<unknown, unknown>): void => {
  if (span !== undefined) spans.end(span, exit)
}

export const succeeded = (setting: SettingUp, value: unknown): Effect.Effect<LiveMode, unknown, unknown> => {
  endSetUp(setting, Exit.succeed(value))
  return entered(setting)
}

/** Tells that a mode is set up. One that is only that is left at once. */
export const entered = (
  { loop, open, options: { entrance, note }, params, stack, startedAt }: SettingUp
): Effect.Effect<LiveMode, unknown, unknown> => {
  const { isSingleShot, name } = open.entry.mode
  const at = Loop.now(loop)
  Loop.tell(loop, {
    _tag: "ModeEntered",
    name,
    params: params.json,
    stack,
    duration: Math.max(0, at - startedAt),
    ...(note === undefined || isSingleShot ? undefined : { note })
  }, at)
  if (entrance !== undefined) entrance.open = open
  if (!isSingleShot) return Loop.flushed(loop, Effect.succeed(open))
  const why = { exit: Exit.void, isOver: true, note: note === undefined ? undefined : noteOfLeaving }
  return Effect.andThen(loop.journal.flush, Effect.flatMap(leave(loop, open, why), (left) => Effect.as(left, open)))
}

/** Undoes a set-up that failed: what it opened is closed, and the mode was never entered. */
export const undo = Effect.fnUntraced(function*(setting: SettingUp, cause: Cause.Cause<unknown>) {
  const { loop, open, options: { entrance, isResumed }, params, stack } = setting
  const exit = Exit.failCause(cause)
  endSetUp(setting, exit)
  if (entrance !== undefined) entrance.failed = cause
  const undone = yield* runPart(loop, open, exit)
  const closed = yield* runPart(loop, open, Scope.close(open.scope, exit))
  loop.live.open.pop()
  const { message, tag } = fromCause(loop, cause)
  Loop.tell(loop, {
    _tag: "ModeFailed",
    name: open.entry.mode.name,
    params: params.json,
    stack,
    phase: "SetUp",
    tag: Cause.hasInterruptsOnly(cause) ? "Interrupted" : tag,
    message,
    ...(isResumed === true ? { isResumed } : undefined)
  })
  yield* loop.journal.flush
  return yield* Effect.failCause(
    [undone, closed].filter(Exit.isFailure).map(({ cause }) => cause).reduce(Cause.combine)
  )
})
