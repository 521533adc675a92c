/**
 * Entering modes, and setting up again what a state says is entered.
 *
 * The mode is on the stack while its set-up runs. One that fails or is interrupted is undone whole: its finalizers run, and the
 * state is what it was before.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import { AgentMismatch } from "../../../domain/AgentError.ts"
import * as JsonValue from "../../../domain/JsonValue.ts"
import type { AgentState, ModeFrame } from "../../../domain/StateSchema.ts"
import { because, ParamsRejected, Unavailable } from "../../../modes/ModeError.ts"
import type { ModeEntry } from "../../definition/AgentDefinition.ts"
import type { LiveMode } from "../../journal/LiveModes.ts"
import * as Loop from "../../journal/Loop.ts"
import { CurrentOperations, type Operation } from "../../journal/Operations.ts"
import { Recorder } from "../../journal/SpanRecorder.ts"
import { Fail } from "../../rules/Decision.ts"
import {
  begin,
  beginSetUp,
  endSpan,
  entered,
  type Options,
  type Params,
  runsIn,
  servicesIn,
  succeeded,
  undo
} from "./SettingUp.ts"

/** Reads parameters from JSON, of which the state has a copy of its own. */
export const decode = (entry: ModeEntry, params: unknown): Effect.Effect<Params, unknown, unknown> =>
  read(
    entry,
    entry.decode(JsonValue.fromUnknown(params)),
    (decoded) => Effect.succeed({ json: JsonValue.fromUnknown(params), decoded })
  )

/** Reads parameters from values of the mode's own types. */
export const encode = (entry: ModeEntry, params: unknown): Effect.Effect<Params, unknown, unknown> =>
  read(entry, entry.encode(params), (json) => decode(entry, json))

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

/** Gives the frame that is set up again next, while the mode around it is. */
export const nextFrame = ({ isBetween, live, state }: Loop.Loop): ModeFrame | undefined =>
  isBetween ? state.modes[live.open.length] : undefined

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
): Effect.Effect<LiveMode, unknown, unknown> =>
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
): Effect.Effect<LiveMode, unknown, unknown> => {
  const frame = options.isResumed === true ? undefined : nextFrame(loop)
  return frame === undefined ? setUp(loop, entry, params, options) : enterAgain(loop, entry, frame, options)
}

const setUp = (
  loop: Loop.Loop,
  entry: ModeEntry,
  params: Params,
  options: Options
): Effect.Effect<LiveMode, unknown, unknown> =>
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

/** What is left to do of something that has begun already, and the services that it is run with. */
export interface Begun<A> {
  readonly task: Effect.Effect<A, unknown, unknown>
  readonly services: Context.Context<unknown>
}

/** Where a mode is entered by a fiber that doesn't run its set-up: what makes spans there, and what that runs with. */
export interface Here {
  readonly spans: Recorder
  readonly services: Context.Context<unknown>
  readonly operations: ReadonlyArray<Operation>
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
  { operations, services, spans }: Here
): Begun<LiveMode> | Exit.Success<LiveMode> => {
  const setting = begin(loop, entry, params, options, spans)
  const settingUp = beginSetUp(setting)
  if (isAtOnce(settingUp)) {
    endSpan(setting, settingUp)
    const task = entered(setting)
    return isAtOnce(task) ? task : { task, services: Context.add(services, CurrentOperations, operations) }
  }
  const outside = <A>(self: Effect.Effect<A, unknown, unknown>): Effect.Effect<A, unknown, unknown> =>
    Exit.isExit(self) ? self : Effect.updateContext(self, () => Context.add(services, CurrentOperations, operations))
  return {
    services: servicesIn(setting, services, operations),
    task: Effect.matchCauseEffect(Effect.interruptible(settingUp), {
      onSuccess: (value) => outside(succeeded(setting, value)),
      onFailure: (cause) => outside(undo(setting, cause))
    })
  }
}

/** Sets up again what a state says is entered and isn't live, from the bottom. To be called where it runs. */
export const resume = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> => {
  const { definition, live, state } = loop
  const frame = state.modes[live.open.length]
  if (frame === undefined) return Effect.void
  const entry = definition.modes.get(frame.name)
  if (entry === undefined) {
    const available = [...definition.modes.keys()]
    const { name: agent } = definition
    return Effect.fail(new Fail(new AgentMismatch({ agent, missing: "mode", wanted: frame.name, available })))
  }
  return Effect.flatMapEager(
    decode(entry, frame.params),
    (params) => Effect.flatMap(enter(loop, entry, params, { isResumed: true }), () => resume(loop))
  )
}
