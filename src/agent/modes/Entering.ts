/**
 * Entering modes, and setting up again what a state says is entered.
 *
 * The mode is on the stack while its set-up runs. One that fails or is interrupted is undone whole: its finalizers run, and the
 * state is what it was before.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"
import { AgentMismatch } from "../../domain/AgentError.ts"
import * as JsonValue from "../../domain/JsonValue.ts"
import type { AgentState, ModeFrame } from "../../domain/StateSchema.ts"
import { useAtOnce } from "../../modes/Host.ts"
import { because, ParamsRejected, Unavailable } from "../../modes/ModeError.ts"
import type { ModeEntry } from "../Definition.ts"
import { fromCause } from "../Failure.ts"
import { Halt } from "../Halt.ts"
import * as Loop from "../Loop.ts"
import { Recorder } from "../Recorder.ts"
import { CurrentPlaces, type Place } from "../session/Line.ts"
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
  read(entry, entry.decode(json), (decoded) => Effect.succeed({ json, decoded }))

/** Reads parameters from values of the mode's own types. */
export const encode = (entry: ModeEntry, params: unknown): Effect.Effect<Params, unknown, unknown> =>
  read(entry, entry.encode(params), (json) => decode(entry, JsonValue.fromUnknown(json)))

/** Checks whether something has succeeded already. */
export const isAtOnce = <A, E>(self: Effect.Effect<A, E, unknown>): self is Exit.Success<A> =>
  Exit.isExit(self) && Exit.isSuccess(self)

/** Goes on with what was read. What can't be read is no parameter of the mode. */
const read = (
  { mode }: ModeEntry,
  self: Effect.Effect<unknown, Schema.SchemaError, unknown>,
  goOn: (value: unknown) => Effect.Effect<Params, unknown, unknown>
): Effect.Effect<Params, unknown, unknown> =>
  isAtOnce(self) ? goOn(self.value) : Effect.matchEffect(self, {
    onSuccess: goOn,
    onFailure: ({ message: issue }) => Effect.fail(because(new ParamsRejected({ mode: mode.name, issue })))
  })

/**
 * Has what is live of a mode as soon as it is entered, since an interruption may come before anybody is given it; or what its set-up
 * failed with.
 */
export interface Entrance {
  open: Open | undefined
  failed: Cause.Cause<unknown> | undefined
}

/** How a mode is entered: by hand with the `context` of whoever does, in a run that goes on, or anew after it was stored. */
export interface Options {
  readonly entrance?: Entrance | undefined
  readonly context?: Context.Context<never> | undefined
  readonly note?: string | undefined
  readonly isResumed?: boolean | undefined
}

/** Gives the frame that is set up again next, while the mode around it is. */
export const nextFrame = ({ live, state }: Loop.Loop): ModeFrame | undefined =>
  live.between > 0 ? state.modes[live.open.length] : undefined

/** Gives the state as a mode sees it: while one is set up again, those above it aren't there yet. */
export const seen = (loop: Loop.Loop): AgentState => {
  const { live, state } = loop
  const height = live.open.length
  return nextFrame(loop) === undefined ? state : {
    ...state,
    modes: state.modes.slice(0, height),
    prompt: state.prompt.filter(({ mode }) => mode === undefined || mode < height)
  }
}

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
      const setting = begin(loop, entry, params, options, new Recorder(fiber))
      const settingUp = Effect.updateContext(
        restore(runsIn(setting)),
        (services: Context.Context<unknown>) => servicesIn(setting, services)
      )
      const ended = Effect.matchCauseEffect(settingUp, {
        onSuccess: (value) => succeeded(setting, value),
        onFailure: (cause) => undo(setting, cause)
      })
      return Loop.flushed(loop, ended)
    })
  )

/** Where a mode is entered by a fiber that doesn't run its set-up: what makes spans there, and what that runs with. */
export interface Here {
  readonly spans: Recorder
  readonly services: Context.Context<unknown>
  readonly places: ReadonlyArray<Place>
}

/** What is left to do of entering a mode, and the services that it is run with. */
export interface Begun {
  readonly task: Effect.Effect<Open, unknown, unknown>
  readonly services: Context.Context<unknown>
}

/**
 * Tells that a mode is being entered, and gives what is left to do: its set-up, and what comes of it; or what is live of it, where that
 * took no time. To be called where nobody is waited for who looks on; what it gives is to be run where nothing can interrupt it.
 */
export const beginToEnter = (
  loop: Loop.Loop,
  entry: ModeEntry,
  params: Params,
  options: Options,
  { places, services, spans }: Here
): Begun | Exit.Success<Open> => {
  const setting = begin(loop, entry, params, options, spans)
  const settingUp = beginSetUp(setting)
  if (isAtOnce(settingUp)) {
    endSpan(setting, settingUp)
    const task = entered(setting)
    return isAtOnce(task) ? task : { task, services: Context.add(services, CurrentPlaces, places) }
  }
  const outside = <A>(self: Effect.Effect<A, unknown, unknown>): Effect.Effect<A, unknown, unknown> =>
    Exit.isExit(self) ? self : Effect.updateContext(self, () => Context.add(services, CurrentPlaces, places))
  return {
    services: servicesIn(setting, services, places),
    task: Effect.matchCauseEffect(Effect.interruptible(settingUp), {
      onSuccess: (value) => outside(succeeded(setting, value)),
      onFailure: (cause) => outside(undo(setting, cause))
    })
  }
}

/** A mode on its way in: what is told of it, however that ends. */
interface SettingUp {
  readonly loop: Loop.Loop
  readonly open: Open
  readonly params: Params
  readonly stack: ReadonlyArray<string>
  readonly startedAt: number
  readonly options: Options
  readonly part: Part
  readonly spans: Recorder
  readonly span: Tracer.Span | undefined
}

/** Tells that a mode is being entered, and puts it on the stack. */
const begin = (
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
  const open: Open = {
    entry,
    scope: Scope.makeUnsafe(),
    stage: { places: undefined },
    context: options.context,
    isResuming: isResumed
  }
  live.open.push(open)
  return { loop, open, params, stack, startedAt, options, part: new Part(loop, open), spans, span }
}

/** Begins to set a mode up, without a fiber, and gives what is left of that. */
const beginSetUp = ({ loop, open, params }: SettingUp): Effect.Effect<unknown, unknown, unknown> => {
  try {
    return useAtOnce(open.entry.mode.enter(params.decoded, { isResumed: open.isResuming }), loop.host)
  } catch (defect) {
    return Effect.die(defect)
  }
}

/** Gives what sets a mode up. */
const runsIn = ({ open, params }: SettingUp): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => open.entry.mode.enter(params.decoded, { isResumed: open.isResuming }))

/** Gives the services of what sets a mode up, which begins with that. */
const servicesIn = (
  { part, span }: SettingUp,
  services: Context.Context<unknown>,
  places?: ReadonlyArray<Place>
): Context.Context<unknown> => part.begin(services, span === undefined ? undefined : Telemetry.inSpan(span), places)

/** Ends what sets a mode up. */
const endSetUp = (setting: SettingUp, exit: Exit.Exit<unknown, unknown>): void => {
  setting.part.end()
  setting.open.isResuming = false
  endSpan(setting, exit)
}

const endSpan = ({ span, spans }: SettingUp, exit: Exit.Exit<unknown, unknown>): void => {
  if (span !== undefined) spans.end(span, exit)
}

const succeeded = (setting: SettingUp, value: unknown): Effect.Effect<Open, unknown, unknown> => {
  endSetUp(setting, Exit.succeed(value))
  return entered(setting)
}

/** Tells that a mode is set up. One that is only that is left at once. */
const entered = (
  { loop, open, options: { entrance, note }, params, stack, startedAt }: SettingUp
): Effect.Effect<Open, unknown, unknown> => {
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
  return Effect.andThen(loop.root.flush, Effect.flatMap(leave(loop, open, why), (left) => Effect.as(left, open)))
}

/** Undoes a set-up that failed: what it opened is closed, and the mode was never entered. */
const undo = Effect.fnUntraced(function*(setting: SettingUp, cause: Cause.Cause<unknown>) {
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
