/**
 * Runs from their start to their end, and the steps and calls that are taken by hand.
 *
 * Whatever a run starts, it ends, and it tells both. The agents that answer calls run in the same way.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { AgentError } from "../domain/AgentError.ts"
import * as AgentStatus from "../domain/AgentStatus.ts"
import { openCalls } from "../domain/Conversation.ts"
import * as Reducer from "../domain/Reducer.ts"
import type { AgentState, Call, User } from "../domain/StateSchema.ts"
import { annotate } from "../handoff/FailedState.ts"
import * as Binding from "./Binding.ts"
import * as Correction from "./Correction.ts"
import { CurrentAgent } from "./CurrentAgent.ts"
import type { AgentTool, Roster } from "./Definition.ts"
import * as Delivery from "./Delivery.ts"
import { conclude, driveAll, type Ending } from "./Drive.ts"
import * as Failure from "./Failure.ts"
import { Halt } from "./Halt.ts"
import * as Loop from "./Loop.ts"
import { CurrentObservers } from "./Observer.ts"
import * as OwnModel from "./OwnModel.ts"
import { pick } from "./Picking.ts"
import { runCalls, type RunChild } from "./RunCalls.ts"
import * as TakenIds from "./TakenIds.ts"
import * as Telemetry from "./Telemetry.ts"
import type { Answered } from "./ToolCall.ts"

/**
 * What a run starts from: a state, and what the user says, if this isn't a run that goes on.
 *
 * With `isPicked` it is chosen anew who begins; otherwise the agent goes on that was in control.
 */
export interface From {
  readonly state: AgentState
  readonly input: User["parts"] | undefined
  readonly isPicked: boolean
}

/** Ends what is still open in a loop, and then its run, if it has one: a step by hand has none. */
const end = (loop: Loop.Loop, exit: Exit.Exit<Ending, unknown>): Effect.Effect<void> => {
  const isInterrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
  if (isInterrupted) {
    Loop.close(loop, { tag: "Interrupted", message: "The run was interrupted before this had a result." })
  } else if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
    Loop.close(loop, { tag: "Defect", message: "The run broke down before this had a result." })
  }
  Loop.endStep(loop)
  Loop.suspendHandoff(loop)
  if (loop.open.run) {
    Loop.tellEnd(
      loop,
      Exit.isSuccess(exit)
        ? exit.value === "Ended" ? "RunCompleted" : "RunInterrupted"
        : isInterrupted
        ? "RunInterrupted"
        : Failure.fromCause(loop, exit.cause)
    )
  }
  return loop.models === undefined ? loop.root.flush : Effect.andThen(loop.root.flush, OwnModel.release(loop, exit))
}

/** Lets those whom a loop calls see its agent: models, handlers, instructions. */
const inView = <A, E, R>(loop: Loop.Loop, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(self, CurrentAgent, new Loop.Running(loop))

/** Runs a loop from its start or from where it stopped, and tells it all. Errors are as they were thrown. */
const play = (
  loop: Loop.Loop,
  input: User["parts"] | undefined,
  isPicked: boolean
): Effect.Effect<Ending, unknown, unknown> => {
  const run = (picked: Exit.Exit<void, unknown>) =>
    Telemetry.runSpan(loop, (span) =>
      Effect.onExit(inView(loop, begin(loop, input, picked)), (exit) => {
        const ended = end(loop, exit)
        Telemetry.endRun(span, loop)
        return ended
      }))
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
const begin = (loop: Loop.Loop, input: User["parts"] | undefined, picked: Exit.Exit<void, unknown>) =>
  Effect.suspend((): Effect.Effect<Ending, unknown, unknown> => {
    const reason = Binding.findMismatch(loop.roster, loop.state) ??
      (input === undefined ? undefined : Binding.findInputIssue(loop.definition, input))
    // What isn't taken in doesn't change who is in control.
    if (reason !== undefined) Loop.putInControl(loop, loop.roster.agents.get(loop.state.agent) ?? loop.roster.first)
    const failure = input !== undefined && loop.state.status._tag === "Failed" ? loop.state.status.error : undefined
    loop.open.run = true
    if (input !== undefined) loop.step = 0
    Loop.tell(loop, {
      _tag: "RunStarted",
      ...(input === undefined || reason !== undefined ? undefined : { input })
    })
    if (reason !== undefined) return Effect.fail(new Halt(reason))
    if (Exit.isFailure(picked)) return Effect.failCause(picked.cause)
    if (failure !== undefined) giveUpHandoffs(loop, failure)
    const driven = driveAll(loop, "Run", runChild)
    return loop.root.isObserved ? Effect.andThen(loop.root.flush, driven) : driven
  })

/** Runs an agent that answers a call. Its typed failures are in the state that it leaves. */
const runChild: RunChild = (parent: Loop.Loop, call: Call, entry: AgentTool, params: unknown) =>
  Effect.suspend(() => {
    const roster = entry.roster()
    const isResumed = call.state._tag === "Delegated"
    const state = call.state._tag === "Delegated" ? call.state.child : Reducer.make(roster.first.name)
    const loop = Loop.make(parent.root, parent, call.id, roster, state)
    return play(loop, isResumed ? undefined : entry.toInput(params), !isResumed).pipe(
      Effect.catch(() => Effect.void),
      Effect.map(() => loop.state)
    )
  })

/** Fails with an `AgentError`, or with an error as it was thrown and the state beside it. */
const withState = (loop: Loop.Loop, error: unknown): Cause.Cause<unknown> =>
  error instanceof Halt
    ? Cause.fail(new AgentError({ state: loop.state, reason: error.reason }))
    : annotate(Cause.fail(error), loop.state)

/** Runs what a roster describes. Gives the last state, and fails with an `AgentError` or an error of somebody's own. */
export const run = (
  roster: Roster,
  from: From,
  receiver: Delivery.Receiver | undefined,
  onFailure: "Fail" | "Keep"
): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.flatMap(makeRoot(from.state, receiver), (root) => {
    const loop = Loop.make(root, undefined, undefined, roster, from.state)
    return Effect.matchCauseEffect(play(loop, from.input, from.isPicked), {
      onFailure: (cause) => {
        const error = Cause.findError(cause)
        return Result.isFailure(error)
          ? Effect.failCause(annotate(error.failure, loop.state))
          : onFailure === "Keep"
          ? Effect.succeed(loop.state)
          : Effect.failCause(withState(loop, error.success))
      },
      onSuccess: () => Effect.succeed(loop.state)
    })
  })

/** Concludes a step, so that a state which is `Complete` needs nothing: no handoff that the policy wants either. */
const endByHand = (loop: Loop.Loop): void => {
  const { _tag } = loop.state.status
  if (_tag !== "Complete" && Correction.wrongAnswer(loop) !== undefined) return
  if (conclude(loop) === "Ended" && _tag === "InProgress") {
    loop.state = { ...loop.state, status: AgentStatus.complete }
  }
}

/** Takes one step: one answer of the model and the calls in it, the calls that are open, or a handoff. */
export const step = (roster: Roster, state: AgentState): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.flatMap(makeRoot(state, undefined), (root) => {
    const loop = Loop.make(root, undefined, undefined, roster, state)
    const taken = Effect.suspend(() => {
      const mismatch = Binding.findMismatch(roster, state)
      return mismatch === undefined ? driveAll(loop, "Step", runChild) : Effect.fail(new Halt(mismatch))
    }).pipe(Effect.tap(() => Effect.sync(() => endByHand(loop))))
    return Effect.matchCauseEffect(inView(loop, Effect.onExit(taken, (exit) => end(loop, exit))), {
      onFailure: (cause) => {
        if (!Cause.hasInterruptsOnly(cause)) {
          loop.state = { ...loop.state, status: AgentStatus.failed(Failure.fromCause(loop, cause)) }
        }
        const error = Cause.findError(cause)
        return Effect.failCause(
          Result.isFailure(error) ? annotate(error.failure, loop.state) : withState(loop, error.success)
        )
      },
      onSuccess: () => Effect.succeed(loop.state)
    })
  })

/** Runs one open call by hand, and gives the state with its result. No run starts. Fails where a fatal tool does. */
export const runCall = (
  roster: Roster,
  state: AgentState,
  callId: string,
  receiver: Delivery.Receiver,
  onAnswer: (answered: Answered) => void
): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.flatMap(makeRoot(state, receiver), (root) => {
    const loop = Loop.make(root, undefined, undefined, roster, state)
    const ran = Effect.suspend(() => {
      Loop.startStep(loop)
      return Effect.as(runCalls(loop, [callId], runChild, onAnswer), "Ended" as const)
    })
    return Effect.map(inView(loop, Effect.onExit(ran, (exit) => end(loop, exit))), () => loop.state)
  })

const makeRoot = (state: AgentState, receiver: Delivery.Receiver | undefined): Effect.Effect<Loop.Root> =>
  Effect.withFiberSucceed((fiber) => ({
    clock: fiber.getRef(Clock.Clock),
    takenIds: TakenIds.of(state.conversation),
    ...Delivery.make(fiber.getRef(CurrentObservers), receiver),
    recordsContent: fiber.getRef(Telemetry.RecordContent),
    sequence: 0
  }))
