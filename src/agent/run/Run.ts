/**
 * A run from its start to its end. Every start gets an end, and an event is emitted for both. Agents that answer calls run in the same way.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { beforeCleanUps } from "../../domain/AgentAnswer.ts"
import type * as AgentStatus from "../../domain/AgentStatus.ts"
import { hasOpenCalls, openCalls } from "../../domain/conversation/Turns.ts"
import * as ModeStack from "../../domain/ModeStack.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import * as Underway from "../../domain/Underway.ts"
import type { AgentTool, Definition, Roster } from "../definition/AgentDefinition.ts"
import { judgesInput } from "../definition/guardrail/AgentGuardrails.ts"
import type * as Delivery from "../journal/Delivery.ts"
import * as Failure from "../journal/Failure.ts"
import { Journal } from "../journal/Journal.ts"
import type { LiveModes } from "../journal/LiveModes.ts"
import * as Loop from "../journal/Loop.ts"
import { RunServices } from "../journal/RunServices.ts"
import * as Telemetry from "../journal/Telemetry.ts"
import * as Guard from "../perform/guard/Guard.ts"
import { waiting } from "../perform/HandOver.ts"
import { markAtWork, provideLoop } from "../perform/LoopServices.ts"
import * as EnterMode from "../perform/mode/EnterMode.ts"
import { RunHost } from "../perform/mode/RunHost.ts"
import { takeAll } from "../perform/mode/TakeMoves.ts"
import { decide, type Decision, Fail } from "../rules/Decision.ts"
import { findInputIssue, isTakeable } from "../rules/InputIssue.ts"
import { findMismatch } from "../rules/Mismatch.ts"
import { hasNothingLeft } from "../rules/NothingLeft.ts"
import { closing, end } from "./EndRun.ts"
import { pick } from "./Picking.ts"
import { type Extent, isFinished, runLoop } from "./RunLoop.ts"
import type { From } from "./RunStart.ts"
import { askAnyway, type Start, tellStart } from "./StartEvent.ts"

const finish: Decision = { _tag: "Finish" }

/**
 * Runs a loop from its start or from where it stopped, and emits its events, unless nothing is left to do. Errors are passed on as they
 * were thrown.
 */
const runInSpan = (
  loop: Loop.Loop,
  from: Pick<From, "input" | "isPicked" | "isReopened">,
  mode?: string
): Effect.Effect<Decision, unknown, unknown> => {
  if (from.input === undefined && from.isReopened !== true && hasNothingLeft(Loop.known(loop))) {
    return Effect.succeed(finish)
  }
  const run = (picked: Exit.Exit<Definition, unknown>) => {
    const inControl = Exit.isSuccess(picked) ? picked.value : loop.definition
    return Telemetry.runSpan(loop, inControl, (span, addSpan) =>
      Effect.onExitPrimitive(
        provideLoop(loop, begin(loop, from, picked, mode), addSpan),
        (exit) => {
          const ending = end(loop, exit)
          const tell = () => Telemetry.endRun(span, loop, exit)
          // There is something to wait for only if somebody observes the run, or a mode is live.
          if (ending !== undefined) return Effect.updateContext(Effect.ensuring(ending, Effect.sync(tell)), addSpan)
          tell()
          return undefined
        }
      ))
  }
  const { definition, roster } = loop
  const { input, isPicked } = from
  const isAsked = isPicked && input !== undefined &&
    (roster.picker === undefined || isTakeable(loop, input))
  const picking = isAsked ? pick(loop, input) : definition
  return Effect.isEffect(picking) ? Effect.flatMap(Effect.exit(picking), run) : run(Exit.succeed(picking))
}

/** Settles the calls whose handoffs failed the last run: the model reads the reason, and the new input reaches the model. */
const giveUpHandoffs = (loop: Loop.Loop, { message }: AgentStatus.Failure): void => {
  for (const { id: callId, name } of openCalls(loop.state.conversation)) {
    if (loop.definition.tools.get(name)?._tag !== "Handoff") continue
    Loop.settle(loop, { callId, name, outcome: "Failed", result: `The handoff failed: ${message}`, duration: 0 })
  }
}

/**
 * Checks whether modes must be handled before an input: modes that aren't set up, and moves that were requested. Open calls come before
 * both, and while a mode is set up or cleaned up, nothing moves.
 */
const hasModesFirst = ({ isChangingModes, live, state }: Loop.Loop): boolean =>
  (state.transition !== undefined || live.open.length < state.modes.length) && !isChangingModes &&
  state.status._tag !== "HandoffRequested" && !hasOpenCalls(state.conversation)

/** Sets up modes and carries out moves before an input, so that the input stays the last words: set-ups and clean-ups may talk. */
const modesFirst = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> =>
  Effect.andThen(EnterMode.resume(loop), Effect.suspend(() => takeAll(loop, false)))

/** Emits the event that a run starts or continues, and runs the loop, unless the state or the input is invalid. */
const emitStartAndRun = (loop: Loop.Loop, start: Start): Effect.Effect<Decision, unknown, unknown> => {
  const { state: { status } } = loop
  const telling = tellStart(loop, start)
  return telling === undefined
    ? runStarted(loop, start, status)
    : Effect.flatMap(telling, () => runStarted(loop, start, status))
}

/** Runs the loop of a run whose start event was emitted. `status` is the status before it. */
const runStarted = (
  loop: Loop.Loop,
  start: Start,
  status: AgentStatus.AgentStatus
): Effect.Effect<Decision, unknown, unknown> => {
  if (start.reason !== undefined) return Effect.fail(new Fail(start.reason))
  if (Exit.isFailure(start.picked)) {
    const { cause } = start.picked
    return start.from.input === undefined
      ? Effect.failCause(cause)
      : Effect.andThen(askAnyway(loop, start, cause), Effect.failCause(cause))
  }
  const { from: { input }, picked: { value: chosen } } = start
  if (input !== undefined && status._tag === "Failed") giveUpHandoffs(loop, status.error)
  const going = Loop.flushed(loop, goOn(loop, "Run"))
  // The input is judged now if something else comes before the first request: a set-up may emit events, save, or keep what was said.
  const guard = judgesInput(chosen.guardrails) ? Guard.guardOf(chosen) : undefined
  return input !== undefined && guard !== undefined &&
      (needsModes(loop) || decide(Loop.known(loop))._tag !== "AskModel")
    ? Effect.andThen(guard.askNow(loop), going)
    : going
}

/** Begins a run. Its input is kept even if the modes that come before it fail. */
const begin = (
  loop: Loop.Loop,
  from: Start["from"],
  picked: Start["picked"],
  mode: string | undefined
): Effect.Effect<Decision, unknown, unknown> =>
  Effect.suspend(() => {
    const { input } = from
    const { definition, roster, state } = loop
    const reason = findMismatch(roster, state) ??
      (input === undefined ? undefined : findInputIssue(Exit.isSuccess(picked) ? picked.value : definition, input))
    const start: Start = { from, picked, mode, reason }
    if (input === undefined || reason !== undefined || Exit.isFailure(picked) || !hasModesFirst(loop)) {
      return emitStartAndRun(loop, start)
    }
    const first = Effect.onExit(
      modesFirst(loop),
      (exit) =>
        Exit.isFailure(exit)
          ? Effect.andThen(
            loop.journal.flush,
            Effect.suspend(() =>
              Effect.andThen(tellStart(loop, start, exit.cause) ?? Effect.void, askAnyway(loop, start, exit.cause))
            )
          )
          : loop.journal.flush
    )
    return Effect.flatMap(first, () => emitStartAndRun(loop, start))
  })

/** Checks whether modes that a state says are entered aren't live. */
const needsModes = ({ live, state }: Loop.Loop): boolean => live.open.length < state.modes.length

/** Sets up the modes that a state says are entered and that aren't live, unless nothing is left to do, and runs the loop. */
export const goOn = (loop: Loop.Loop, extent: Extent): Effect.Effect<Decision, unknown, unknown> =>
  !needsModes(loop) || isFinished(loop)
    ? runLoop(loop, extent)
    : Effect.andThen(EnterMode.resume(loop), runLoop(loop, extent))

/** Makes the loop of an agent that answers a call. */
const loopOf = (parent: Loop.Loop, call: Call, entry: AgentTool): Loop.Loop => {
  const roster = entry.roster()
  const state = call.state._tag === "Delegated" ? call.state.child : roster.initial
  return new Loop.Loop(parent.journal, runner, parent, call.id, roster, state)
}

/** Makes the loop of the agent that open calls lead to. There is none if its definition isn't known any more. */
export const loopAt = (loop: Loop.Loop, [outer, ...calls]: ReadonlyArray<string>): Loop.Loop | undefined => {
  if (outer === undefined) return loop
  const call = openCalls(loop.state.conversation).find(({ id }) => id === outer)
  const entry = call === undefined ? undefined : loop.definition.tools.get(call.name)
  return call?.state._tag === "Delegated" && entry?._tag === "Agent"
    ? loopAt(loopOf(loop, call, entry), calls)
    : undefined
}

/** Runs an agent that answers a call. Its typed failures are in the state that it leaves. */
const runCalled: Loop.Runner["runCalled"] = (parent, call, entry, params) =>
  Effect.suspend(() => {
    const isResumed = call.state._tag === "Delegated"
    const loop = loopOf(parent, call, entry)
    return runInSpan(loop, { input: isResumed ? undefined : entry.toInput(params), isPicked: !isResumed }).pipe(
      Effect.catch(() => Effect.void),
      Effect.map(() => beforeCleanUps(loop.state))
    )
  })

/** Lets a mode talk to the agent while it is set up or cleaned up: within the run under way, or in a run of its own. */
const talk: Loop.Runner["talk"] = (loop, input) =>
  waiting(loop, () => {
    const mode = ModeStack.top(loop.state)?.name ?? ""
    const isInRun = Underway.latest(loop.underway, "RunStarted") !== undefined
    const given = (said: Guard.Said) => ({ _tag: "InputGiven", mode, ...said }) as const
    const telling = Effect.suspend(() =>
      Guard.emitInput(
        loop,
        [loop.definition],
        input,
        () => Loop.foresee(loop, given({ input })),
        (said) => Loop.emit(loop, given(said))
      ) ?? Effect.void
    )
    const told = Effect.andThen(telling, loop.journal.flush)
    // Events without an end get one here, because the run continues, if only to clean up.
    const within = closing(loop, Effect.andThen(told, runLoop(loop, "Run")))
    const answered = isInRun ? within : runInSpan(loop, { input, isPicked: false }, mode)
    return Effect.matchEffect(answered, {
      onSuccess: () => Effect.succeed(loop.state),
      onFailure: (error) =>
        Effect.failCause(Failure.withState(isInRun ? Failure.failedBy(loop, Cause.fail(error)) : loop.state, error))
    })
  })

const runner: Loop.Runner = { runCalled, talk, hostOf: (loop) => new RunHost(loop) }

/** Makes the outermost loop of a conversation. Its events belong to the run with the given id, or to a new run. */
export const makeLoop = (
  services: RunServices,
  roster: Roster,
  state: AgentState,
  receiver: Delivery.Receiver | undefined,
  run: string | undefined,
  live?: LiveModes,
  beside?: ReadonlyArray<AgentState>
): Loop.Loop =>
  new Loop.Loop(
    new Journal(services, state, receiver, run, beside, live),
    runner,
    undefined,
    undefined,
    roster,
    state,
    live
  )

/** Runs what a roster describes. Returns the last state, and fails with an `AgentError` or an error of the program's own. */
export const run = (
  roster: Roster,
  from: From,
  receiver: Delivery.Receiver | undefined,
  onFailure: "Fail" | "Keep",
  live?: LiveModes
): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    // An input begins a new run. Without an input the run continues, and keeps its id.
    const id = from.input === undefined ? receiver?.log?.run : undefined
    const loop = makeLoop(new RunServices(fiber), roster, from.state, receiver, id, live, from.beside)
    const running = Telemetry.inConversation(loop.journal, markAtWork(loop, runInSpan(loop, from)))
    return Effect.matchCauseEffect(running, {
      onFailure: (cause) =>
        onFailure === "Keep" && Cause.hasFails(cause)
          ? Effect.succeed(loop.state)
          : Effect.failCause(Failure.withStates(loop.state, cause)),
      onSuccess: () => Effect.succeed(loop.state)
    })
  })
