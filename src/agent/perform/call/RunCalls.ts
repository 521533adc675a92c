/**
 * Running the open calls of a turn: several at once, settled in the model's order.
 *
 * 1. A call that requests a handoff stays open: the agent hands over once the others are settled.
 * 2. The result of a call is emitted after those of the calls before it, whenever it ends. So the events of a turn have one order.
 * 3. If a fatal tool fails, the other calls of its turn end first, and then the run fails. The state says so, for a run that continues
 *    elsewhere: there the rules of the loop end it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Struct from "effect/Struct"
import { callsOf, lastAssistant } from "../../../domain/conversation/Turns.ts"
import { crashed } from "../../../domain/FailedCall.ts"
import type { Settlement } from "../../../domain/Happening.ts"
import type { AgentState, Call } from "../../../domain/StateSchema.ts"
import type { AgentTool, HandledTool } from "../../definition/AgentDefinition.ts"
import { isDeferred } from "../../definition/DeferResult.ts"
import * as Failure from "../../journal/Failure.ts"
import * as Loop from "../../journal/Loop.ts"
import * as Telemetry from "../../journal/Telemetry.ts"
import { Fail } from "../../rules/Decision.ts"
import { toResult } from "../../rules/FinalAnswer.ts"
import { guardAt } from "../guard/Guard.ts"
import { type CallSlot, concludeMove, type Job, prepare } from "./PrepareCall.ts"
import { type CallResult, failed, run } from "./ToolCall.ts"

/** Prepared calls: the slots of all, and those that are to run. */
interface Ready {
  readonly slots: Array<CallSlot>
  readonly jobs: Array<Job>
}

/** Prepares calls one after the other. Returns an effect for the rest once a call needs one. */
const prepareAll = (
  loop: Loop.Loop,
  calls: ReadonlyArray<Call>,
  ready: Ready
): Effect.Effect<void, never, unknown> | undefined => {
  const { jobs, slots } = ready
  while (slots.length < calls.length) {
    const slot: CallSlot = { isDone: false, settlement: undefined, move: undefined, ending: undefined }
    const call = calls[slots.length]!
    slots.push(slot)
    const prepared = prepare(loop, call, slot)
    if (Effect.isEffect(prepared)) {
      return Effect.flatMap(prepared, (job) => {
        if (job !== undefined) jobs.push(job)
        return prepareAll(loop, calls, ready) ?? Effect.void
      })
    }
    if (prepared !== undefined) jobs.push(prepared)
  }
  return undefined
}

/** Runs prepared calls. Returns an effect if that takes one. */
const runAll = (
  loop: Loop.Loop,
  { jobs, slots }: Ready,
  onAnswer: RunningCalls["onAnswer"]
): Effect.Effect<void, unknown, unknown> | undefined => {
  for (const slot of slots) concludeMove(loop, slot, jobs.length > 0)
  const lastJob = jobs.length === 0 ? -1 : slots.indexOf(jobs[jobs.length - 1]!.slot)
  settleInOrder(loop, slots, lastJob)
  if (jobs.length === 0) return Loop.flushIfBehind(loop)
  const running: RunningCalls = { loop, slots, lastJob, onAnswer }
  const runGroup = (group: ReadonlyArray<Job>) =>
    group.length === 1 ? execute(running, group[0]!) : Effect.forEach(group, (job) => execute(running, job), {
      concurrency: loop.definition.toolConcurrency,
      discard: true
    })
  const run = jobs.length === 1
    ? execute(running, jobs[0]!)
    : Effect.forEach(groups(jobs), runGroup, { discard: true })
  const ran = onAnswer === undefined && jobs.some(({ entry }) => entry._tag === "Handled" && entry.isFatal)
    ? Effect.flatMap(run, () => failByCall(loop, slots))
    : run
  return Loop.flushed(loop, ran)
}

/**
 * Fails with the error of the first of these calls that ends the run. If a call that was settled before these ends it, this doesn't fail:
 * the rules of the loop then fail the run by that call.
 */
const failByCall = (loop: Loop.Loop, slots: ReadonlyArray<CallSlot>): Effect.Effect<void, unknown> => {
  const ending = slots.find(({ ending }) => ending !== undefined)?.ending
  const told = loop.isChangingModes ? undefined : loop.state.run.fatal
  return ending === undefined || (told !== undefined && told.callId !== ending.callId)
    ? Effect.void
    : Effect.failCause(ending.cause)
}

/**
 * Runs the calls with these ids. Once they have ended, fails with the error of the first one, in the model's order, that ends the run. With
 * `onAnswer` a program makes the call, so the call ends no run. Returns an effect if the calls take one; a handoff doesn't.
 */
export const runCalls = (
  loop: Loop.Loop,
  callIds: ReadonlyArray<string>,
  onAnswer?: (answered: CallResult) => void
): Effect.Effect<void, unknown, unknown> | undefined => {
  const turn = lastAssistant(loop.state.conversation)
  const calls = turn === undefined ? [] : callsOf(turn).filter(({ id }) => callIds.includes(id))
  const ready: Ready = { slots: [], jobs: [] }
  const preparing = prepareAll(loop, calls, ready)
  return preparing === undefined
    ? runAll(loop, ready, onAnswer)
    : Effect.flatMap(preparing, () => runAll(loop, ready, onAnswer) ?? Effect.void)
}

interface RunningCalls {
  readonly loop: Loop.Loop
  readonly slots: ReadonlyArray<CallSlot>
  /** The index of the last call that runs. */
  readonly lastJob: number
  readonly onAnswer: ((answered: CallResult) => void) | undefined
}

/**
 * Returns why a call ends its run, if it does. While a mode is set up or cleaned up, the mode's program may handle the failure of a call
 * and continue, so the state doesn't say then that the call ends the run.
 */
const fatalIn = ({ loop, onAnswer }: RunningCalls, { fatal }: CallResult): Pick<Settlement, "fatal"> | undefined => {
  if (fatal === undefined || onAnswer !== undefined || loop.isChangingModes) return undefined
  const error = Cause.squash(fatal)
  return {
    fatal: error instanceof Fail && error.reason._tag === "GuardrailBlocked"
      ? Struct.pick(error.reason, ["guardrail", "reason"])
      : Failure.describe(error)
  }
}

/** Returns groups of calls that may run side by side. The call of an exclusive tool is a group of its own. */
const groups = (jobs: ReadonlyArray<Job>): ReadonlyArray<ReadonlyArray<Job>> => {
  const groups: Array<Array<Job>> = []
  let last: Array<Job> | undefined
  for (const job of jobs) {
    const isAlone = job.entry.policy.exclusive === true
    if (isAlone || last === undefined) groups.push(last = [job])
    else last.push(job)
    if (isAlone) last = undefined
  }
  return groups
}

/**
 * Emits the results of the calls that have ended, up to the first that hasn't. The model is told that a move between modes is certain if no
 * later call runs. It is told the same if another run continues from a state in which the earlier calls are settled.
 */
const settleInOrder = (loop: Loop.Loop, slots: ReadonlyArray<CallSlot>, lastJob: number): void => {
  for (const [index, slot] of slots.entries()) {
    if (!slot.isDone) break
    concludeMove(loop, slot, index < lastJob)
    if (slot.settlement === undefined) continue
    Loop.settle(loop, slot.settlement)
    slot.settlement = undefined
  }
}

/** Runs a call, and settles it once the calls before it are settled. */
const execute = (running: RunningCalls, job: Job): Effect.Effect<void, never, unknown> => {
  const { lastJob, loop, slots } = running
  const { call, entry, slot } = job
  return Effect.suspend(() => {
    const startedAt = Loop.now(loop)
    const { asked, id: callId, name, params } = call
    Loop.emit(loop, { _tag: "ToolCallStarted", callId, name, params, ...(asked === undefined ? undefined : { asked }) })
    const done = (answered: CallResult | "Suspended" | "Deferred"): Effect.Effect<void> => {
      slot.isDone = true
      if (answered === "Suspended") {
        Loop.emit(loop, { _tag: "ToolCallSuspended", callId, name })
      } else if (answered === "Deferred") {
        Loop.emit(loop, { _tag: "ResultAwaited", callId, name, params })
      } else {
        const duration = Math.max(0, Loop.now(loop) - startedAt)
        slot.settlement = { callId, name, ...answered.settlement, ...fatalIn(running, answered), duration }
        running.onAnswer?.(answered)
        if (answered.fatal !== undefined) slot.ending = { callId, cause: answered.fatal }
      }
      settleInOrder(loop, slots, lastJob)
      // A call before it hasn't ended.
      if (slot.settlement !== undefined) Loop.keepCall(loop, slot.settlement)
      return Loop.flushIfBehind(loop) ?? Effect.void
    }
    return Telemetry.toolSpan(loop, call, entry.tool, (span) =>
      Effect.matchCauseEffect(
        loop.journal.isObserved ? keptAnswer(loop, job) : seenAnswer(loop, job),
        {
          onSuccess: (answered) => {
            Telemetry.endTool(span, loop, call, answered?.settlement)
            return done(answered ?? "Suspended")
          },
          onFailure: (cause) => {
            if (!Cause.hasDies(cause)) return Effect.failCause(cause)
            if (entry._tag === "Handled" && isDeferred(cause)) {
              Telemetry.endTool(span, loop, call, undefined)
              return done("Deferred")
            }
            Telemetry.endFailed(span, loop, Exit.failCause(cause))
            const settling = done(failed(crashed(name)))
            return Effect.flatMap(Effect.uninterruptible(settling), () => Effect.failCause(cause))
          }
        }
      ))
  })
}

type Answering = Effect.Effect<CallResult | undefined, never, unknown>

/**
 * Begins a call once its start is stored. If events can't be stored any more, the run stops, and no other call begins: a call whose start
 * was emitted stays open, because its handler never ran.
 */
const keptAnswer = (loop: Loop.Loop, job: Job): Answering => {
  const { call: { id: callId, name } } = job
  let hasBegun = false
  const begin = Effect.suspend(() => {
    if (loop.journal.hasFailed) return Effect.interrupt
    hasBegun = true
    return seenAnswer(loop, job)
  })
  const keepOpen = Effect.sync(() => {
    if (loop.journal.hasFailed && !hasBegun) Loop.emit(loop, { _tag: "ToolCallSuspended", callId, name })
  })
  return Effect.onInterrupt(Effect.andThen(loop.journal.flush, begin), () => keepOpen)
}

/** Returns the result of a call after guardrails have judged it. */
const seenAnswer = (loop: Loop.Loop, job: Job): Answering => {
  const answering = answerOf(loop, job)
  const guard = guardAt(loop.definition, "toolResult")
  return guard === undefined ?
    answering :
    Effect.flatMap(
      answering,
      (answered) => answered === undefined ? Effect.undefined : guard.judgeResult(loop, job.call, job.entry, answered)
    )
}

const answerOf = (loop: Loop.Loop, { call, entry, params }: Job): Answering => {
  switch (entry._tag) {
    case "Handled":
      return inMode(loop, entry, run(loop, call, entry, params))
    case "Agent":
      return Effect.map(loop.runner.runCalled(loop, call, entry, params), (child) => answerOfChild(entry, child))
    case "Output":
      return Effect.succeed<CallResult>({ settlement: { outcome: "Succeeded", result: "Accepted." } })
  }
}

/** Runs a tool of a mode that is used alone with the services of the program that entered the mode. */
const inMode = ({ live }: Loop.Loop, { modes }: HandledTool, self: Answering): Answering => {
  const context = modes === undefined
    ? undefined
    : live.open.findLast(({ entry: { mode } }) => modes.includes(mode.name))?.context
  return context === undefined ? self : Effect.provideContext(self, context)
}

/** Returns the answer of a called agent, or `undefined` if its run has only stopped. */
const answerOfChild = (entry: AgentTool, child: AgentState): CallResult | undefined => {
  switch (child.status._tag) {
    case "Complete":
      return { settlement: { outcome: "Succeeded", result: toResult(entry.roster(), child) } }
    case "Failed":
      return failed(`Agent "${child.agent}" failed: ${child.status.error.message}`)
    case "InProgress":
    case "WaitingForTools":
    case "HandoffRequested":
      return undefined
  }
}
