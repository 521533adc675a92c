/**
 * A run as the conversation that modes are entered in.
 *
 * What a step runs, such as a tool, sees the conversation and may ask for a move; what runs between steps may also enter modes
 * and talk to the agent.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Adjustment } from "../../../domain/Adjustment.ts"
import { isAgentError } from "../../../domain/AgentError.ts"
import type { ModeTransition } from "../../../domain/ModeTransition.ts"
import { OwnError } from "../../../domain/OwnError.ts"
import type { UserPart } from "../../../domain/Part.ts"
import * as PromptSegments from "../../../domain/PromptSegments.ts"
import type { Settings } from "../../../domain/Settings.ts"
import type { AgentState } from "../../../domain/StateSchema.ts"
import * as Underway from "../../../domain/Underway.ts"
import {
  type Adjust,
  type CallError,
  type Enterable,
  type Operations,
  type Restore,
  TypeId
} from "../../../modes/Host.ts"
import {
  because,
  isModeError,
  type ModeError,
  StepUnderWay,
  Unavailable,
  UnknownSetting
} from "../../../modes/ModeError.ts"
import type * as ModeType from "../../../modes/ModeType.ts"
import type { Definition } from "../../definition/AgentDefinition.ts"
import { partsOf } from "../../definition/Input.ts"
import type { RunningAgent } from "../../journal/CurrentAgent.ts"
import type { Shown } from "../../journal/Delivery.ts"
import type { LiveModes } from "../../journal/LiveModes.ts"
import * as Loop from "../../journal/Loop.ts"
import * as OwnModel from "../ask/OwnModel.ts"
import { render } from "../ask/RenderPrompt.ts"
import * as CheckMove from "./CheckMove.ts"
import * as EnterForProgram from "./EnterForProgram.ts"
import * as EnterMode from "./EnterMode.ts"
import * as LeaveMode from "./LeaveMode.ts"

/** Returns which tool or model of a setting an agent lacks. */
const findUnknown = (
  { models, name: agent, tools }: Definition,
  { model, toolChoice, tools: offered }: Settings
): UnknownSetting | undefined => {
  const chosen = typeof toolChoice !== "object" ? [] : "tool" in toolChoice ? [toolChoice.tool] : toolChoice.oneOf
  const tool = [...offered ?? [], ...chosen].find((name) => !tools.has(name))
  if (tool !== undefined) {
    return new UnknownSetting({ agent, setting: "tool", wanted: tool, available: [...tools.keys()] })
  }
  return model === undefined || models.has(model)
    ? undefined
    : new UnknownSetting({ agent, setting: "model", wanted: model, available: [...models.keys()] })
}

/**
 * Checks whether a resumed set-up's change is already in the state: the same piece of the prompt, or any value under the key that it sets.
 * A value that it computes (`Mode.update`) is set again, and so is a value that a tool sets while the set-up talks to the agent.
 */
const isFound = (
  { live: { open }, state, underway }: Loop.Loop,
  operation: string,
  adjustment: Adjustment
): boolean => {
  if (Underway.latest(underway, "ModeEntering")?.isResumed !== true) return false
  const at = open.length - 1
  switch (adjustment._tag) {
    case "SegmentAdded":
      return PromptSegments.has(state, adjustment.segment, at)
    case "ValueSet":
      return operation === "Mode.set" && Underway.latest(underway, "StepStarted") === undefined &&
        Object.hasOwn(open[at]?.found ?? {}, adjustment.key)
    case "SettingsChanged":
    case "ViewChanged":
    case "TurnPinned":
      return false
  }
}

/** Changes the state of a loop as a program asks. Fails if the agent lacks a tool or model that the change names. */
export const adjust = (loop: Loop.Loop, operation: string, make: Adjust): Effect.Effect<void, ModeError> =>
  Effect.suspend(() =>
    Effect.flatMapEager(make(EnterMode.seen(loop)), (adjustment) => emitAdjusted(loop, operation, adjustment))
  )

const emitAdjusted = (loop: Loop.Loop, operation: string, adjustment: Adjustment): Effect.Effect<void, ModeError> => {
  const unknown = adjustment._tag === "SettingsChanged"
    ? findUnknown(loop.definition, adjustment.settings)
    : undefined
  if (unknown !== undefined) return Effect.fail(because(unknown))
  if (isFound(loop, operation, adjustment)) return Effect.void
  const mode = EnterMode.nextFrame(loop) === undefined ? undefined : { mode: loop.live.open.length - 1 }
  Loop.emit(loop, { _tag: "StateAdjusted", adjustment, ...mode })
  return Loop.flushed(loop, Effect.void)
}

/** Notes a requested move, if it is possible. */
export const schedule = (
  loop: Loop.Loop,
  asked: Parameters<Operations["schedule"]>[0]
): Effect.Effect<void, ModeError> =>
  Effect.flatMap(Effect.suspend(() => CheckMove.check(loop, CheckMove.given(asked))), (transition) => {
    Loop.emit(loop, { _tag: "ModeTransitionRequested", transition })
    return loop.journal.flush
  }) as Effect.Effect<void, ModeError>

const asCallError = (loop: Loop.Loop, error: unknown): CallError =>
  isAgentError(error) || isModeError(error) ? error : new OwnError({ agent: loop.definition.name, error })

/** The modes that the agent in control of a loop has, those that programs entered beside its own included. */
export const modesOf = ({ definition: { modes } }: Loop.Loop): ReadonlyArray<ModeType.Definition> =>
  Array.from(modes.values(), ({ mode }) => mode)

/** The system prompt that a loop sends next. */
export const systemPrompt = (loop: Loop.Loop, instructions: string | undefined): Effect.Effect<string, CallError> =>
  Effect.mapError(
    render("SystemPrompt.render", loop, instructions),
    (error) => asCallError(loop, error)
  ) as Effect.Effect<string, CallError>

const unavailable = (operation: string, issue: string): ModeError =>
  because(new Unavailable({ operation, issue, error: null }))

/**
 * Returns why nothing can be said or entered: a step is under way, only the resources of modes are being released, the agent's model is
 * being built, or the run waits for the caller.
 */
const findRefusal = (
  loop: Loop.Loop,
  operation: string,
  asker: Fiber.Fiber<unknown, unknown>
): ModeError | undefined =>
  loop.isLettingGo
    ? unavailable(operation, "the mode stays entered, and only its resources are released")
    : !loop.isChangingModes || Underway.latest(loop.underway, "StepStarted") !== undefined
    ? because(new StepUnderWay({ operation }))
    : OwnModel.isBuilding(loop)
    ? unavailable(operation, "the conversation waits for the model that is being built")
    : loop.journal.shownIn(asker) !== undefined
    ? unavailable(operation, "the conversation waits for the observer or the store that asks for it")
    : undefined

/**
 * Why an observer of these events, or a store that saves a state, can't change the conversation: changes would have no end, the run has
 * ended, or it waits for the store.
 */
const unchangeable: { readonly [Tag in Shown]?: string } = {
  StateAdjusted: "an observer can't answer a change by another change",
  ModeTransitionRequested: "an observer can't answer a change by another change",
  RunCompleted: "the run has ended",
  RunInterrupted: "the run has ended",
  RunFailed: "the run has ended",
  State: "the conversation waits for the store that asks for it"
}

/** Changes a conversation, unless that isn't possible for the fiber that asks. */
const change = (
  loop: Loop.Loop,
  operation: string,
  self: () => Effect.Effect<void, ModeError>
): Effect.Effect<void, ModeError> =>
  Effect.withFiber((asker) => {
    const shown = loop.journal.shownIn(asker)
    const issue = shown === undefined ? undefined : unchangeable[shown]
    return issue === undefined ? self() : Effect.fail(unavailable(operation, issue))
  })

/** What a run can do for the modes in it. */
class RunOperations implements Operations {
  readonly #loop: Loop.Loop
  constructor(loop: Loop.Loop) {
    this.#loop = loop
  }
  get state(): Operations["state"] {
    return Effect.sync(() => EnterMode.seen(this.#loop))
  }
  get modes(): Operations["modes"] {
    return Effect.sync(() => modesOf(this.#loop))
  }
  systemPrompt(instructions: string | undefined): ReturnType<Operations["systemPrompt"]> {
    return systemPrompt(this.#loop, instructions)
  }
  adjust(operation: string, make: Adjust): Effect.Effect<void, ModeError> {
    return change(this.#loop, operation, () => adjust(this.#loop, operation, make))
  }
  schedule(transition: ModeTransition): Effect.Effect<void, ModeError> {
    return change(this.#loop, "Mode.schedule", () => schedule(this.#loop, transition))
  }
  call(input: string | ReadonlyArray<UserPart>): ReturnType<Operations["call"]> {
    const loop = this.#loop
    return Effect.withFiber((asker) => {
      const refusal = findRefusal(loop, "Mode.call", asker)
      return refusal === undefined
        ? Effect.mapError(loop.runner.talk(loop, partsOf(input)), (error) => asCallError(loop, error))
        : Effect.fail(refusal)
    }) as ReturnType<Operations["call"]>
  }
  enter(
    mode: ModeType.Any,
    params: unknown,
    context: Context.Context<never>,
    restore: Restore
  ): ReturnType<Operations["enter"]> {
    const loop = this.#loop
    return Effect.withFiber((asker) => {
      const refusal = findRefusal(loop, "Mode.enter", asker)
      return refusal === undefined
        ? EnterForProgram.leavable(
          (result) => restore(EnterForProgram.enter(loop, mode, params, context, result)),
          (open, exit, recovers) => Effect.suspend(() => LeaveMode.leave(loop, open, { exit, isOver: true, recovers }))
        )
        : Effect.fail(refusal)
    })
  }
}

/**
 * A run as the conversation that modes are entered in.
 *
 * A finalizer or a fiber of a set-up keeps the host of its run. After that run the host refers to the current run of the conversation, or
 * else to the session that holds it.
 */
export class RunHost implements Enterable {
  readonly #loop: Loop.Loop
  #operations: Operations | undefined
  constructor(loop: Loop.Loop) {
    this.#loop = loop
  }
  /** Returns the loop in which a set-up or a clean-up may talk to the agent now. */
  loopBetween(live: LiveModes, asker: Fiber.Fiber<unknown, unknown>): Loop.Loop | undefined {
    if (this.#loop.live !== live) return undefined
    const loop = RunHost.atWork(this.#loop)
    return findRefusal(loop, "", asker) === undefined ? loop : undefined
  }
  /** Returns the loop that is at work on the conversation of a loop, or the loop itself. */
  static atWork(loop: Loop.Loop): Loop.Loop {
    const { atWork } = loop.live
    return atWork instanceof RunHost ? atWork.#loop : loop
  }
  get [TypeId](): Operations {
    const { live: { atWork, holder } } = this.#loop
    const host = atWork ?? holder?.() ?? this
    return host === this ? this.#operations ??= new RunOperations(this.#loop) : host[TypeId]
  }
}

/**
 * The agent in control of a loop, with its state at the time of reading. Fibers and finalizers of a set-up see the loop that is at work then.
 */
export class AgentAtWork implements RunningAgent {
  readonly #loop: Loop.Loop
  constructor(loop: Loop.Loop) {
    this.#loop = loop
  }
  get agent(): string {
    return RunHost.atWork(this.#loop).definition.name
  }
  get path(): RunningAgent["path"] {
    return RunHost.atWork(this.#loop).path
  }
  get calls(): RunningAgent["calls"] {
    return RunHost.atWork(this.#loop).calls
  }
  get state(): AgentState {
    return RunHost.atWork(this.#loop).state
  }
}
