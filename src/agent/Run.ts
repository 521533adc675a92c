/**
 * Runs from their start to their end, and the steps and calls that are taken by hand.
 *
 * Whatever a run starts, it ends, and it tells both. The agents that answer calls run in the same way.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { AgentError, isAgentError } from "../domain/AgentError.ts"
import * as AgentStatus from "../domain/AgentStatus.ts"
import { next } from "../domain/Command.ts"
import { openCalls } from "../domain/Conversation.ts"
import * as ModeStack from "../domain/ModeStack.ts"
import * as Reducer from "../domain/Reducer.ts"
import type { AgentState, Call, User } from "../domain/StateSchema.ts"
import { annotate } from "../handoff/FailedState.ts"
import { type Enterable, Host, whatWasAdded } from "../modes/Host.ts"
import * as Binding from "./Binding.ts"
import * as Correction from "./Correction.ts"
import { CurrentAgent } from "./CurrentAgent.ts"
import type { AgentTool, Roster } from "./Definition.ts"
import * as Delivery from "./Delivery.ts"
import { conclude, driveAll, type Ending, type Extent, finish, isOver } from "./Drive.ts"
import * as Failure from "./Failure.ts"
import { Halt } from "./Halt.ts"
import type { From } from "./Input.ts"
import * as Loop from "./Loop.ts"
import * as Entering from "./modes/Entering.ts"
import * as Leaving from "./modes/Leaving.ts"
import type { Live } from "./modes/Live.ts"
import { LoopHost, Running } from "./modes/LoopHost.ts"
import { CurrentObservers } from "./Observer.ts"
import * as OwnModel from "./OwnModel.ts"
import { pick } from "./Picking.ts"
import { runCalls } from "./RunCalls.ts"
import * as TakenIds from "./TakenIds.ts"
import * as Telemetry from "./Telemetry.ts"
import type { Answered } from "./ToolCall.ts"

const isInterruption = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

/** Ends what is still open in a loop. */
const close = (loop: Loop.Loop, exit: Exit.Exit<Ending, unknown>): void => {
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
const end = (loop: Loop.Loop, exit: Exit.Exit<Ending, unknown>): Effect.Effect<void> => {
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

/** Lets those whom a loop calls see its agent: models, handlers, instructions. */
const inView = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(
    self,
    (context: Context.Context<R>) => Context.add(Context.add(context, CurrentAgent, new Running(loop)), Host, loop.host)
  )

/** Lets what holds modes beyond a run know which loop is at work on their conversation. */
const atWork = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const { live } = loop
  if (!live.isHeld) return self
  return Effect.suspend(() => {
    live.atWork = loop.host
    return Effect.ensuring(
      self,
      Effect.sync(() => {
        live.atWork = undefined
      })
    )
  })
}

/** Runs a loop from its start or from where it stopped, and tells it all. Errors are as they were thrown. */
const play = (
  loop: Loop.Loop,
  input: User["parts"] | undefined,
  isPicked: boolean,
  mode?: string
): Effect.Effect<Ending, unknown, unknown> => {
  const run = (picked: Exit.Exit<void, unknown>) =>
    Telemetry.runSpan(loop, (span) =>
      Effect.onExit(
        inView(loop, begin(loop, input, picked, mode)),
        (exit) => Effect.ensuring(end(loop, exit), Effect.sync(() => Telemetry.endRun(span, loop)))
      ))
  const isAsked = isPicked && input !== undefined &&
    (loop.roster.picker === undefined || Binding.isTakeable(loop, input))
  const picking = isAsked ? pick(loop, input) : undefined
  return picking === undefined ? run(Exit.void) : Effect.flatMap(Effect.exit(picking), run)
}

/** Settles the calls whose handoffs failed the last run: the model reads why, and the user's new words reach it. */
const giveUpHandoffs = (loop: Loop.Loop, { message }: AgentStatus.Failure): void => {
  for (const call of openCalls(loop.state.conversation)) {
    if (loop.definition.tools.get(call.name)?._tag !== "Handoff") continue
    Loop.settle(loop, {
      callId: call.id,
      name: call.name,
      outcome: "Failed",
      result: `The handoff failed: ${message}`,
      duration: 0
    })
  }
}

/** Tells that a run starts, or goes on, and drives it, unless its state or its input can't be taken. */
const begin = (
  loop: Loop.Loop,
  input: User["parts"] | undefined,
  picked: Exit.Exit<void, unknown>,
  mode: string | undefined
) =>
  Effect.suspend((): Effect.Effect<Ending, unknown, unknown> => {
    const reason = Binding.findMismatch(loop.roster, loop.state) ??
      (input === undefined ? undefined : Binding.findInputIssue(loop.definition, input))
    // What isn't taken in doesn't change who is in control.
    if (reason !== undefined) Loop.putInControl(loop, loop.roster.agents.get(loop.state.agent) ?? loop.roster.first)
    const failure = input !== undefined && loop.state.status._tag === "Failed" ? loop.state.status.error : undefined
    loop.open.run = true
    if (input !== undefined) loop.step = 0
    if (loop.live.between === 0) loop.live.moves = 0
    Loop.tell(loop, {
      _tag: "RunStarted",
      ...(input === undefined || reason !== undefined ? undefined : { input }),
      ...(mode === undefined ? undefined : { mode })
    })
    if (reason !== undefined) return Effect.fail(new Halt(reason))
    if (Exit.isFailure(picked)) return Effect.failCause(picked.cause)
    if (failure !== undefined) giveUpHandoffs(loop, failure)
    const driven = goOn(loop, "Run")
    return Loop.flushed(loop, driven)
  })

/** Sets up the modes that a state says are entered and that aren't live, unless nothing is left to do, and drives a loop. */
const goOn = (loop: Loop.Loop, extent: Extent): Effect.Effect<Ending, unknown, unknown> =>
  loop.live.open.length >= loop.state.modes.length || isOver(loop)
    ? driveAll(loop, extent)
    : Effect.andThen(Entering.resume(loop), driveAll(loop, extent))

/** Runs an agent that answers a call. Its typed failures are in the state that it leaves. */
const runChild: Loop.Root["runChild"] = (parent: Loop.Loop, call: Call, entry: AgentTool, params: unknown) =>
  Effect.suspend(() => {
    const roster = entry.roster()
    const isResumed = call.state._tag === "Delegated"
    const state = call.state._tag === "Delegated" ? call.state.child : Reducer.make(roster.first.name)
    const loop = Loop.make(parent.root, parent, call.id, roster, state)
    return play(loop, isResumed ? undefined : entry.toInput(params), !isResumed).pipe(
      Effect.catch(() => Effect.void),
      Effect.map(() => loop.state.status._tag === "Failed" ? loop.state : loop.answered ?? loop.state)
    )
  })

/** Lets a mode, on its way in or out, talk to the agent: within the run under way, or in a run of its own. */
const talk: Loop.Root["talk"] = (loop, input) =>
  Effect.suspend(() => {
    const mode = ModeStack.top(loop.state)?.name ?? ""
    const { run } = loop.open
    if (run) Loop.tell(loop, { _tag: "InputGiven", input, mode })
    // What of it breaks off is ended here: the run goes on, if only to clean up.
    const within = Effect.onExit(Effect.andThen(loop.root.flush, driveAll(loop, "Run")), (exit) => {
      close(loop, exit)
      return loop.root.flush
    })
    const answered = run ? within : play(loop, input, false, mode)
    return Effect.matchEffect(answered, {
      onSuccess: () => Effect.succeed(loop.state),
      onFailure: (error) =>
        Effect.failCause(withState(run ? { state: failedBy(loop, Cause.fail(error)) } : loop, error))
    })
  })

const failedBy = (loop: Loop.Loop, cause: Cause.Cause<unknown>): AgentState => ({
  ...loop.state,
  status: AgentStatus.failed(Failure.fromCause(loop, cause))
})

/** Fails with an `AgentError`, or with an error as it was thrown and the state beside it. */
const withState = ({ state }: Pick<Loop.Loop, "state">, error: unknown): Cause.Cause<unknown> =>
  error instanceof Halt || isAgentError(error)
    ? Cause.fail(new AgentError({ state, reason: error.reason }))
    : annotate(Cause.fail(error), state)

/** Gives all that a run failed with, in its order: what a set-up failed with comes before what its clean-up did. */
const withStates = (loop: Loop.Loop, { reasons }: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  reasons
    .map((reason) =>
      Cause.isFailReason(reason) ? withState(loop, reason.error) : annotate(Cause.fromReasons([reason]), loop.state)
    )
    .reduce(Cause.combine)

/** Runs what a roster describes. Gives the last state, and fails with an `AgentError` or an error of somebody's own. */
export const run = (
  roster: Roster,
  from: From,
  receiver: Delivery.Receiver | undefined,
  onFailure: "Fail" | "Keep",
  live?: Live
): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.flatMap(makeRoot(from.state, receiver), (root) => {
    const loop = Loop.make(root, undefined, undefined, roster, from.state, live)
    return Effect.matchCauseEffect(atWork(loop, play(loop, from.input, from.isPicked)), {
      onFailure: (cause) =>
        onFailure === "Keep" && Cause.hasFails(cause)
          ? Effect.succeed(loop.state)
          : Effect.failCause(withStates(loop, cause)),
      onSuccess: () => Effect.succeed(loop.state)
    })
  })

/** Concludes a step, so that a state which is `Complete` needs nothing: no handoff that the policy wants either. */
const endByHand = Effect.fnUntraced(function*(loop: Loop.Loop) {
  const { _tag } = loop.state.status
  if (_tag !== "Complete" && Correction.wrongAnswer(loop) !== undefined) return
  const conclusion = conclude(loop)
  if (conclusion === undefined) return
  const isHandingOver = yield* finish(loop, conclusion)
  if (!isHandingOver && _tag === "InProgress") loop.state = { ...loop.state, status: AgentStatus.complete }
})

/** Takes one step: one answer of the model and the calls in it, the calls that are open, or a handoff. */
export const step = (roster: Roster, state: AgentState): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.flatMap(makeRoot(state, undefined), (root) => {
    const loop = Loop.make(root, undefined, undefined, roster, state)
    const taken = Effect.suspend(() => {
      const mismatch = Binding.findMismatch(roster, state)
      return mismatch === undefined ? goOn(loop, "Step") : Effect.fail(new Halt(mismatch))
    }).pipe(Effect.tap(() => endByHand(loop)))
    return Effect.matchCauseEffect(inView(loop, Effect.onExit(taken, (exit) => end(loop, exit))), {
      onFailure: (cause) => {
        if (!Cause.hasInterruptsOnly(cause)) {
          loop.state = failedBy(loop, cause)
        }
        return Effect.failCause(withStates(loop, cause))
      },
      onSuccess: () => Effect.succeed(loop.state)
    })
  })

/** Runs one open call by hand. Fails where a fatal tool does. */
export const runCall = (
  loop: Loop.Loop,
  callId: string,
  onAnswer: (answered: Answered) => void
): Effect.Effect<void, unknown, unknown> =>
  Effect.onExit(
    Effect.as(runCalls(loop, [callId], onAnswer), "Ended" as const),
    (exit) => {
      close(loop, exit)
      return loop.root.flush
    }
  )

/** Does something with a conversation by hand, and gives the state after it. No run starts. */
export const byHand = <A>(
  roster: Roster,
  state: AgentState,
  receiver: Delivery.Receiver | undefined,
  live: Live,
  f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> =>
  Effect.flatMap(makeRoot(state, receiver), (root) => {
    const loop = Loop.make(root, undefined, undefined, roster, state, live)
    return Effect.ensuring(atWork(loop, inView(loop, Effect.suspend(() => f(loop)))), root.flush)
  })

/** What a run is, for the loops in it: of one hidden class for all, as a loop is. */
class Root implements Loop.Root {
  readonly clock: Clock.Clock
  readonly deliver: Loop.Root["deliver"]
  readonly flush: Effect.Effect<void>
  readonly isBehind: () => boolean
  readonly isObserved: boolean
  readonly isStreaming: boolean
  readonly recordsContent: boolean
  readonly runChild = runChild
  readonly talk = talk
  readonly hostOf = hostOf
  sequence = 0
  readonly #state: AgentState
  #takenIds: Set<string> | undefined = undefined
  constructor(state: AgentState, fiber: Fiber.Fiber<unknown, unknown>, receiver: Delivery.Receiver | undefined) {
    const { deliver, flush, isBehind, isObserved, isStreaming } = Delivery.make(
      fiber.getRef(CurrentObservers),
      receiver
    )
    this.clock = fiber.getRef(Clock.Clock)
    this.deliver = deliver
    this.flush = flush
    this.isBehind = isBehind
    this.isObserved = isObserved
    this.isStreaming = isStreaming
    this.recordsContent = fiber.getRef(Telemetry.RecordContent)
    this.#state = state
  }
  get takenIds(): Set<string> {
    return this.#takenIds ??= TakenIds.of(this.#state)
  }
}

const hostOf = (loop: Loop.Loop): Enterable => new LoopHost(loop)

const makeRoot = (state: AgentState, receiver: Delivery.Receiver | undefined): Effect.Effect<Loop.Root> =>
  Effect.withFiberSucceed((fiber) => new Root(state, fiber, receiver))
