/**
 * Entering modes, and setting up again what a state says is entered.
 *
 * The mode is on the stack while its set-up runs. One that fails or is interrupted is undone whole: its finalizers run, and the
 * state is what it was before.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { AgentMismatch } from "../../domain/AgentError.ts"
import * as JsonValue from "../../domain/JsonValue.ts"
import * as ModeStack from "../../domain/ModeStack.ts"
import type { ModeFrame } from "../../domain/StateSchema.ts"
import { because, type ModeError, ParamsRejected, Unavailable } from "../../modes/ModeError.ts"
import type { ModeEntry } from "../Definition.ts"
import { fromCause } from "../Failure.ts"
import { Halt } from "../Halt.ts"
import * as Loop from "../Loop.ts"
import { Recorder } from "../Recorder.ts"
import * as Telemetry from "../Telemetry.ts"
import { Part } from "./Between.ts"
import { leave, noteOfLeaving, runPart } from "./Leaving.ts"
import type { Open } from "./Live.ts"

/** Parameters as they are stored, and as the mode is given them. */
export interface Params {
  readonly json: Schema.Json
  readonly decoded: unknown
}

/** Reads parameters from JSON. */
export const decode = (entry: ModeEntry, json: Schema.Json): Effect.Effect<Params, unknown, unknown> =>
  Effect.mapBothEager(entry.decode(json), {
    onSuccess: (decoded) => ({ json, decoded }),
    onFailure: rejected(entry)
  })

const rejected = ({ mode }: ModeEntry) => ({ message: issue }: Schema.SchemaError): ModeError =>
  because(new ParamsRejected({ mode: mode.name, issue }))

/** Reads parameters from values of the mode's own types. */
export const encode = (entry: ModeEntry, params: unknown): Effect.Effect<Params, unknown, unknown> =>
  Effect.flatMapEager(
    Effect.mapErrorEager(entry.encode(params), rejected(entry)),
    (json) => decode(entry, JsonValue.fromUnknown(json))
  )

/**
 * How a mode is entered: by hand with the `context` of whoever does, in a run that goes on, or anew after it was stored.
 *
 * `onEntered` is told as soon as the mode is: an interruption may come before anybody is given it.
 */
export interface Options {
  readonly onEntered?: ((open: Open) => void) | undefined
  readonly context?: Context.Context<never> | undefined
  readonly note?: string | undefined
  readonly isResumed?: boolean | undefined
}

/** Gives the frame that is set up again next, while the mode around it is. */
export const nextFrame = ({ live, state }: Loop.Loop): ModeFrame | undefined =>
  live.between > 0 ? state.modes[live.open.length] : undefined

/** Enters in a set-up that resumes what the first one entered: it is set up again too. Nothing else has a place there. */
const enterAgain = (
  loop: Loop.Loop,
  entry: ModeEntry,
  frame: ModeFrame,
  options: Options
): Effect.Effect<Open, unknown, unknown> =>
  frame.name === entry.mode.name
    ? Effect.flatMap(
      decode(entry, frame.params),
      (params) => enter(loop, entry, params, { ...options, isResumed: true })
    )
    : Effect.fail(because(
      new Unavailable({
        operation: `Entering mode "${entry.mode.name}"`,
        issue: `mode "${frame.name}" is entered in its place, and isn't set up again yet`,
        error: null
      })
    ))

/** Enters a mode whose parameters were read, and gives what is live of it. To be called where it runs. */
export const enter = (
  loop: Loop.Loop,
  entry: ModeEntry,
  params: Params,
  options: Options
): Effect.Effect<Open, unknown, unknown> => {
  const frame = options.isResumed === true ? undefined : nextFrame(loop)
  return frame === undefined ? setUp(loop, entry, params, options) : enterAgain(loop, entry, frame, options)
}

const setUp = (
  loop: Loop.Loop,
  entry: ModeEntry,
  params: Params,
  options: Options
): Effect.Effect<Open, unknown, unknown> =>
  // What is done at once waits until nothing can interrupt any more: the mask itself may still be followed by an interruption.
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((fiber) => {
      const { mode } = entry
      const { live } = loop
      const isResumed = options.isResumed ?? false
      const spans = new Recorder(fiber)
      const span = Telemetry.beginMode(loop, spans, "enter_mode", mode.name)
      const startedAt = Loop.now(loop)
      Loop.tell(loop, {
        _tag: "ModeEntering",
        name: mode.name,
        params: params.json,
        isolation: mode.isolation,
        stack: [...ModeStack.names(loop.state).slice(0, live.open.length), mode.name],
        ...(isResumed ? { isResumed } : undefined)
      })
      const open: Open = {
        entry,
        scope: Scope.makeUnsafe(),
        stage: { places: undefined },
        context: options.context,
        isResuming: isResumed
      }
      live.open.push(open)
      const setting: SettingUp = {
        loop,
        open,
        params: params.json,
        stack: ModeStack.names(loop.state).slice(0, live.open.length),
        startedAt,
        options
      }
      const part = new Part(loop, open)
      const view = span === undefined ? undefined : Telemetry.inSpan(span)
      const settingUp = Effect.updateContext(
        restore(Effect.suspend(() => mode.enter(params.decoded, { isResumed }))),
        (services: Context.Context<unknown>) => part.begin(services, view)
      )
      const end = (exit: Exit.Exit<unknown, unknown>): void => {
        part.end()
        if (span !== undefined) spans.end(span, exit)
      }
      const ended = Effect.matchCauseEffect(settingUp, {
        onSuccess: (value) => {
          end(Exit.succeed(value))
          return succeeded(setting)
        },
        onFailure: (cause) => {
          end(Exit.failCause(cause))
          return undo(setting, cause)
        }
      })
      return Loop.flushed(loop, ended)
    })
  )

/** A mode on its way in: what is told of it, however that ends. */
interface SettingUp {
  readonly loop: Loop.Loop
  readonly open: Open
  readonly params: Schema.Json
  readonly stack: ReadonlyArray<string>
  readonly startedAt: number
  readonly options: Options
}

/** Tells that a mode is set up. One that is only that is left at once. */
const succeeded = (
  { loop, open, options: { note, onEntered }, params, stack, startedAt }: SettingUp
): Effect.Effect<Open, unknown, unknown> => {
  const { isSingleShot, name } = open.entry.mode
  open.isResuming = false
  Loop.tell(loop, {
    _tag: "ModeEntered",
    name,
    params,
    stack,
    duration: Math.max(0, Loop.now(loop) - startedAt),
    ...(note === undefined || isSingleShot ? undefined : { note })
  })
  onEntered?.(open)
  if (!isSingleShot) return Loop.flushed(loop, Effect.succeed(open))
  const why = { exit: Exit.void, isOver: true, note: note === undefined ? undefined : noteOfLeaving }
  return Effect.andThen(loop.root.flush, Effect.flatMap(leave(loop, open, why), (left) => Effect.as(left, open)))
}

/** Undoes a set-up that failed: what it opened is closed, and the mode was never entered. */
const undo = Effect.fnUntraced(function*(
  { loop, open, options: { isResumed }, params, stack }: SettingUp,
  cause: Cause.Cause<unknown>
) {
  const exit = Exit.failCause(cause)
  open.isResuming = false
  const undone = yield* runPart(loop, open, exit)
  const closed = yield* runPart(loop, open, Scope.close(open.scope, exit))
  loop.live.open.pop()
  const { message, tag } = fromCause(loop, cause)
  Loop.tell(loop, {
    _tag: "ModeFailed",
    name: open.entry.mode.name,
    params,
    stack,
    phase: "SetUp",
    tag: Cause.hasInterruptsOnly(cause) ? "Interrupted" : tag,
    message,
    ...(isResumed === true ? { isResumed } : undefined)
  })
  Loop.forgetSent(loop)
  yield* loop.root.flush
  return yield* Effect.failCause(
    [undone, closed].filter(Exit.isFailure).map(({ cause }) => cause).reduce(Cause.combine)
  )
})

/** Sets up again what a state says is entered and isn't live, from the bottom. To be called where it runs. */
export const resume = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> => {
  const { definition, live, state } = loop
  const frame = state.modes[live.open.length]
  if (frame === undefined) return Effect.void
  const entry = definition.modes.get(frame.name)
  if (entry === undefined) {
    const available = [...definition.modes.keys()]
    const { name: agent } = definition
    return Effect.fail(new Halt(new AgentMismatch({ agent, missing: "mode", wanted: frame.name, available })))
  }
  return Effect.flatMapEager(
    decode(entry, frame.params),
    (params) => Effect.flatMap(enter(loop, entry, params, { isResumed: true }), () => resume(loop))
  )
}
