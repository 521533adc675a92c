/**
 * The one loop: decide what the agent needs next, do it, and repeat until nothing is needed.
 *
 * Running, streaming and resuming use this loop with different observers; stepping by hand is one step of it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { next } from "../../domain/Command.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Loop from "../journal/Loop.ts"
import * as Telemetry from "../journal/Telemetry.ts"
import { askModel } from "../perform/ask/AskModel.ts"
import * as OwnModel from "../perform/ask/OwnModel.ts"
import { failByTool } from "../perform/call/OwnFailure.ts"
import { runCalls } from "../perform/call/RunCalls.ts"
import { guardAt } from "../perform/guard/Guard.ts"
import { handOver } from "../perform/HandOver.ts"
import { isReadyForCalls, provideForCalls } from "../perform/LoopServices.ts"
import { takeAll } from "../perform/mode/TakeMoves.ts"
import { decide, type Decision, isRest, type RequestHandoff } from "../rules/Decision.ts"
import { eventsOf } from "../rules/DecisionEvents.ts"
import { modelIn } from "../rules/ModelInUse.ts"

/** How far a loop goes: to the end of its run, or of one step. */
export type Extent = "Run" | "Step"

/** Ends the step that is under way. If a step that is taken by hand completes the state, its end says so, because no run ends. */
const endStep = (loop: Loop.Loop, extent: Extent): void => {
  const isLast = extent === "Step" && loop.state.status._tag === "InProgress" &&
    decide(Loop.known(loop))._tag === "Finish"
  if (isLast) Loop.emit(loop, { _tag: "StepCompleted", endsRun: true })
  else Loop.emitStep(loop, "StepCompleted", loop.step)
}

/** Emits the events that carry a decision out. */
const emit = (loop: Loop.Loop, decision: Parameters<typeof eventsOf>[0]): undefined => {
  for (const happening of eventsOf(decision, loop.state)) {
    if (happening._tag === "ToolCallSettled") Loop.settle(loop, happening)
    else Loop.emit(loop, happening)
  }
}

/** What carries a decision out: an effect, if that takes one. */
type Performing = Effect.Effect<void, unknown, unknown> | undefined

/** Requests the handoff that a policy wants, once the guardrails have let it pass. */
const request = (loop: Loop.Loop, decision: RequestHandoff): Performing => {
  const guard = guardAt(loop.definition, "handoff")
  return guard === undefined
    ? emit(loop, decision)
    : Effect.map(
      guard.judgeDecision(loop, decision.request),
      (request) => emit(loop, { ...decision, request })
    )
}

/** Carries out a decision that isn't a step. */
const perform = (
  loop: Loop.Loop,
  decision: Exclude<Decision, { readonly _tag: "AskModel" | "RunCalls" }>
): Performing => {
  switch (decision._tag) {
    case "SendBack":
    case "GiveUpCalls":
    case "GiveLastAnswer":
      return emit(loop, decision)
    case "RequestHandoff":
      return request(loop, decision)
    case "HandOver":
      return handOver(loop, decision.request)
    case "TakeMove":
      return takeAll(loop, true)
    case "FailByTool":
      return failByTool(loop, decision)
    case "Fail":
      return Effect.fail(decision)
    case "Finish":
    case "Await":
    case "Suspend":
      return undefined
  }
}

/** Checks whether a decision is a step of its own, as a caller who steps by hand counts them. */
const isStep = ({ _tag }: Decision): boolean => _tag === "AskModel" || _tag === "RunCalls" || _tag === "HandOver"

/**
 * Checks whether a step that is taken by hand continues with a decision: what concludes an answer or its calls belongs to its step. A limit
 * that was met fails the next step.
 */
const goesOn = (decision: Decision, { run }: AgentState): boolean =>
  decision._tag === "SendBack" || decision._tag === "RequestHandoff" || decision._tag === "FailByTool" ||
  (decision._tag === "Fail" && (decision.reason._tag === "OutputInvalid" || run.fatal !== undefined))

/** How far a step that is taken by hand has come. */
interface Progress {
  hasStepped: boolean
}

const isOver = (extent: Extent, { hasStepped }: Progress, decision: Decision, state: AgentState): boolean =>
  isRest(decision) || (extent === "Step" && hasStepped && !goesOn(decision, state))

/** Which services the steps that follow have: those of the first request, of the calls in its answer, or of all that follows. */
type Provided = "First" | "Calls" | "All"

/**
 * Decides and acts, with one model. Returns the decision at which it stopped: nothing is left to do, the next step is the caller's, or a
 * handoff was carried out. Returns `undefined` if another model must be asked now.
 */
const takeSteps: (
  loop: Loop.Loop,
  extent: Extent,
  progress: Progress,
  first: Decision,
  model: OwnModel.Model,
  provided: Provided
) => Effect.Effect<Decision | undefined, unknown, unknown> = Effect.fnUntraced(
  function*(loop, extent, progress, first, model, provided) {
    let decision = first
    let hasAsked = provided === "Calls"
    while (!isOver(extent, progress, decision, loop.state)) {
      if (decision._tag === "AskModel") {
        if (!hasAsked) {
          Loop.emitStep(loop, "StepStarted", loop.state.run.iteration)
          // The request includes what an observer has changed by now.
          if (loop.journal.isBehind()) yield* loop.journal.flush
          yield* askModel(loop)
        }
        hasAsked = false
        // The calls of an answer belong to its step, so no limit is checked between them.
        const calls = next(loop.state)
        if (calls._tag === "RunCalls") {
          if (provided === "First") {
            return yield* provideForCalls(loop, takeSteps(loop, extent, progress, decision, model, "Calls"))
          }
          const running = runCalls(loop, calls.callIds)
          if (running !== undefined) yield* running
        }
        endStep(loop, extent)
      } else if (provided === "First") {
        return yield* provideForCalls(loop, takeSteps(loop, extent, progress, decision, model, "All"))
      } else if (decision._tag === "RunCalls") {
        Loop.emitStep(loop, "StepStarted", Math.max(0, loop.state.run.iteration - 1))
        const running = runCalls(loop, decision.callIds)
        if (running !== undefined) yield* running
        endStep(loop, extent)
      } else {
        const performing = perform(loop, decision)
        if (performing !== undefined) yield* performing
      }
      if (loop.journal.isBehind()) yield* loop.journal.flush
      progress.hasStepped ||= isStep(decision)
      if (decision._tag === "HandOver") return decision
      if (modelIn(loop.definition, loop.state) !== model) return undefined
      decision = decide(Loop.known(loop))
    }
    return decision
  }
)

/** Runs the agent in control, with the model that it brings, until it stops, it hands over, or another model must be asked. */
const runInControl = (
  loop: Loop.Loop,
  extent: Extent,
  progress: Progress
): Effect.Effect<Decision | undefined, unknown, unknown> =>
  Effect.suspend(() => {
    const first = decide(Loop.known(loop))
    if (isOver(extent, progress, first, loop.state)) return Effect.succeed(first)
    const model = modelIn(loop.definition, loop.state)
    return OwnModel.provide(
      loop,
      model,
      takeSteps(loop, extent, progress, first, model, isReadyForCalls(loop) ? "All" : "First")
    )
  })

/** Repeats the run of an agent while another model must be asked. */
const untilModelStays = (
  agent: Effect.Effect<Decision | undefined, unknown, unknown>
): Effect.Effect<Decision, unknown, unknown> =>
  Effect.flatMap(agent, (last) => last === undefined ? untilModelStays(agent) : Effect.succeed(last))

/** Runs a loop until it stops, and continues with the next agent after a handoff. Returns the decision at which it stopped. */
export const runLoop = (loop: Loop.Loop, extent: Extent): Effect.Effect<Decision, unknown, unknown> => {
  const agent = runInControl(loop, extent, { hasStepped: false })
  // It repeats the agent itself, as `untilModelStays` does: so one continuation fewer waits for each answer.
  const goOn = (last: Decision | undefined): Effect.Effect<Decision, unknown, unknown> =>
    last === undefined
      ? Effect.flatMap(agent, goOn)
      : last._tag === "HandOver" && extent === "Run"
      ? Effect.flatMap(loop.journal.hasSpans ? Telemetry.handoffSpan(loop, untilModelStays(agent)) : agent, goOn)
      : Effect.succeed(last)
  return Effect.flatMap(agent, goOn)
}

/** Checks whether a loop has nothing left to do, so that it needs neither a model nor its modes. */
export const isFinished = (loop: Loop.Loop): boolean => decide(Loop.known(loop))._tag === "Finish"

/** Completes a state that needs nothing more, if a step that is taken by hand finds nothing to do. */
export const finishStepping = (loop: Loop.Loop): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (loop.state.status._tag !== "InProgress" || !isFinished(loop)) return Effect.void
    Loop.emitStep(loop, "StepStarted", Math.max(0, loop.state.run.iteration - 1))
    endStep(loop, "Step")
    return loop.journal.flush
  })
