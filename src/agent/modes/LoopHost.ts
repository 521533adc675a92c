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
import * as Exit from "effect/Exit"
import type { Adjustment } from "../../domain/Adjustment.ts"
import { isAgentError } from "../../domain/AgentError.ts"
import { messageOf } from "../../domain/Described.ts"
import * as ModeStack from "../../domain/ModeStack.ts"
import { OwnError } from "../../domain/OwnError.ts"
import * as PromptSegments from "../../domain/PromptSegments.ts"
import type { Settings } from "../../domain/Settings.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type CallError, type Enterable, type Entered, type Operations, TypeId } from "../../modes/Host.ts"
import {
  because,
  isModeError,
  type ModeError,
  NameTaken,
  StepUnderWay,
  Unavailable,
  UnknownSetting
} from "../../modes/ModeError.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import type { RunningAgent } from "../CurrentAgent.ts"
import type { Definition } from "../Definition.ts"
import { partsOf } from "../Input.ts"
import * as Loop from "../Loop.ts"
import { extend } from "../Roster.ts"
import { servicesOf } from "../session/Environment.ts"
import * as Entering from "./Entering.ts"
import * as Leaving from "./Leaving.ts"
import type { Live, Open } from "./Live.ts"
import { prepare } from "./ModeEntry.ts"
import * as Moving from "./Moving.ts"

/** Says which tool or model of a setting an agent doesn't have. */
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

/** Gives the state as a mode sees it: while one is set up again, those above it aren't there yet. */
export const seen = (loop: Loop.Loop): AgentState => {
  const { live, state } = loop
  const height = live.open.length
  return Entering.nextFrame(loop) === undefined ? state : {
    ...state,
    modes: state.modes.slice(0, height),
    prompt: state.prompt.filter(({ mode }) => mode === undefined || mode < height)
  }
}

/** Changes the state of a loop by hand. */
export const adjust = (loop: Loop.Loop, adjustment: Adjustment): Effect.Effect<void, ModeError> =>
  Effect.suspend(() => {
    const unknown = adjustment._tag === "SettingsChanged"
      ? findUnknown(loop.definition, adjustment.settings)
      : undefined
    if (unknown !== undefined) return Effect.fail(because(unknown))
    const at = loop.live.open.length - 1
    // What a set-up adds to the prompt is still there when it resumes.
    const isThere = adjustment._tag === "SegmentAdded" && loop.live.open[at]?.isResuming === true &&
      PromptSegments.has(loop.state, adjustment.segment, at)
    if (isThere) return Effect.void
    const mode = Entering.nextFrame(loop) === undefined ? undefined : { mode: at }
    Loop.tell(loop, { _tag: "StateAdjusted", adjustment, ...mode })
    if (adjustment._tag === "ViewChanged") Loop.forgetSent(loop)
    return Loop.flushed(loop, Effect.void)
  })

/** Notes a move that is asked for, if it is possible. */
export const schedule = (
  loop: Loop.Loop,
  transition: Parameters<Operations["schedule"]>[0]
): Effect.Effect<void, ModeError> =>
  Effect.flatMap(Moving.check(loop, transition), () => {
    Loop.tell(loop, { _tag: "ModeTransitionRequested", transition })
    return loop.root.flush
  }) as Effect.Effect<void, ModeError>

/**
 * Enters a mode by hand: one that the agent has, or one that is used alone, with the services of whoever enters it. To be called
 * where it runs.
 */
export const enter = (
  loop: Loop.Loop,
  mode: ModeType.Any,
  params: unknown,
  context: Context.Context<never>,
  onEntered?: Entering.Options["onEntered"]
): Effect.Effect<Open, unknown, unknown> => {
  const entry = prepare(mode)
  const isOwn = loop.definition.modes.get(mode.name) === entry
  const obstacle = Moving.findObstacle(entry, ModeStack.top(seen(loop)))
  if (obstacle !== undefined) return Effect.fail(because(obstacle))
  return Effect.flatMapEager(isOwn ? Effect.void : bring(loop, mode), () =>
    Effect.flatMapEager(
      Entering.encode(entry, params),
      (read) => Entering.enter(loop, entry, read, isOwn ? { onEntered } : { context: servicesOf(context), onEntered })
    ))
}

/**
 * Enters a mode for somebody who leaves it, or doesn't: an interruption may come when it is entered already, and before anybody
 * knows. To be called where it runs.
 */
export const enterFor = (
  enter: (onEntered: (open: Open) => void) => Effect.Effect<Open, unknown, unknown>,
  leave: (
    open: Open,
    exit: Exit.Exit<unknown, unknown>,
    recovers: boolean
  ) => Effect.Effect<Exit.Exit<unknown, unknown>>
): Effect.Effect<Entered, unknown, unknown> => {
  let entered: Open | undefined
  const entering = enter((open) => {
    entered = open
  })
  return Effect.matchCauseEffectEager(entering, {
    onSuccess: (open) => Effect.succeed<Entered>({ leave: (exit, recovers) => leave(open, exit, recovers) }),
    onFailure: (cause) =>
      entered === undefined
        ? Effect.failCause(cause)
        : Effect.flatMap(
          leave(entered, Exit.failCause(cause), false),
          (left) => Effect.andThen(left, Effect.failCause(cause))
        )
  })
}

/** Gives the agents of a loop a mode that is used alone. */
const bring = (loop: Loop.Loop, mode: ModeType.Any): Effect.Effect<void, ModeError> =>
  Effect.try({
    try: () => Loop.putOnRoster(loop, extend(loop.roster, [mode])),
    catch: (error) => because(new NameTaken({ mode: mode.name, issue: messageOf(error) }))
  })

const asCallError = (loop: Loop.Loop, error: unknown): CallError =>
  isAgentError(error) || isModeError(error) ? error : new OwnError({ agent: loop.definition.name, error })

/** Says why nothing can be said or entered: a step is under way, or modes are let go of that stay entered. */
const findRefusal = ({ live, open }: Loop.Loop, operation: string): ModeError | undefined =>
  live.isLettingGo
    ? because(
      new Unavailable({
        operation,
        issue: "the mode stays entered, and only its resources are let go of",
        error: null
      })
    )
    : live.between === 0 || open.step
    ? because(new StepUnderWay({ operation }))
    : undefined

const operations = (loop: Loop.Loop): Operations => ({
  state: Effect.sync(() => seen(loop)),
  adjust: (_, adjustment) => adjust(loop, adjustment),
  schedule: (transition) => schedule(loop, transition),
  call: (input) =>
    Effect.suspend(() => {
      const refusal = findRefusal(loop, "Mode.call")
      return refusal === undefined
        ? Effect.mapError(loop.root.talk(loop, partsOf(input)), (error) => asCallError(loop, error))
        : Effect.fail(refusal)
    }) as ReturnType<Operations["call"]>,
  enter: (mode, params, restore) =>
    Effect.contextWith((context) => {
      const refusal = findRefusal(loop, "Mode.enter")
      return refusal === undefined
        ? enterFor(
          (onEntered) => restore(enter(loop, mode, params, context, onEntered)),
          (open, exit, recovers) => Effect.suspend(() => Leaving.leave(loop, open, { exit, isOver: true, recovers }))
        )
        : Effect.fail(refusal)
    })
})

/**
 * A run as the conversation that modes are entered in.
 *
 * What a set-up leaves behind, a finalizer or a fiber, keeps the host of its run. Once that is over it means the conversation
 * all the same: the run that is under way by then, or else whoever holds what the run left.
 */
export class LoopHost implements Enterable {
  readonly #loop: Loop.Loop
  #operations: Operations | undefined
  constructor(loop: Loop.Loop) {
    this.#loop = loop
  }
  /** The loop of a conversation in which a set-up or a clean-up may talk to the agent at this time. */
  loopBetween(live: Live): Loop.Loop | undefined {
    if (this.#loop.live !== live) return undefined
    const loop = LoopHost.atWork(this.#loop)
    return findRefusal(loop, "") === undefined ? loop : undefined
  }
  /** The loop that is at work on the conversation of a loop, or that itself. */
  static atWork(loop: Loop.Loop): Loop.Loop {
    const { atWork } = loop.live
    return atWork instanceof LoopHost ? atWork.#loop : loop
  }
  get [TypeId](): Operations {
    const { live: { atWork, holder } } = this.#loop
    const host = atWork ?? holder ?? this
    return host === this ? this.#operations ??= operations(this.#loop) : host[TypeId]
  }
}

/**
 * Shows a loop to those whom it calls: its state is the one at the time of looking. What a set-up leaves behind sees the loop
 * that is at work by then.
 */
export class Running implements RunningAgent {
  readonly #loop: Loop.Loop
  constructor(loop: Loop.Loop) {
    this.#loop = loop
  }
  get agent(): string {
    return LoopHost.atWork(this.#loop).definition.name
  }
  get path(): RunningAgent["path"] {
    return LoopHost.atWork(this.#loop).path
  }
  get calls(): RunningAgent["calls"] {
    return LoopHost.atWork(this.#loop).calls
  }
  get state(): AgentState {
    return LoopHost.atWork(this.#loop).state
  }
}
