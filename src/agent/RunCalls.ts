/**
 * Running the open calls of a turn: several at once, settled in the model's order.
 *
 * A call that can't run (no such tool, wrong parameters) is settled at once; one that needs approval is left waiting, and
 * so is the first that asks for a handoff: the agent hands over once the others are settled.
 * A call that finishes before one in front of it is told after it, so that the events of a turn have one order.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { callsOf, lastAssistant } from "../domain/Conversation.ts"
import * as JsonValue from "../domain/JsonValue.ts"
import * as ModeTransition from "../domain/ModeTransition.ts"
import { toMessages } from "../domain/Projection.ts"
import type { AgentState, Call } from "../domain/StateSchema.ts"
import * as Handoff from "../handoff/Handoff.ts"
import * as Codec from "./Codec.ts"
import type { AgentTool, HandledTool, HandoffTool, ModeTool, RunTool, ToolEntry } from "./Definition.ts"
import * as Loop from "./Loop.ts"
import { isOffered, unanswered } from "./Offered.ts"
import * as Telemetry from "./Telemetry.ts"
import { type Answered, failed, run } from "./ToolCall.ts"

/** A call that is ready to run. */
interface Job {
  readonly call: Call
  readonly entry: RunTool
  readonly params: unknown
  readonly slot: Slot
}

/** The place of a call in its turn: told once it is done and everything in front of it is told. */
interface Slot {
  isDone: boolean
  settlement: Loop.Settlement | undefined
}

/** Runs the calls of these ids. Fails with the error of the first fatal tool that failed, once all are settled. */
export const runCalls = Effect.fnUntraced(function*(
  loop: Loop.Loop,
  callIds: ReadonlyArray<string>,
  onAnswer?: (answered: Answered) => void
) {
  const turn = lastAssistant(loop.state.conversation)
  const slots: Array<Slot> = []
  const jobs: Array<Job> = []
  for (const call of turn === undefined ? [] : callsOf(turn)) {
    if (!callIds.includes(call.id)) continue
    const slot: Slot = { isDone: false, settlement: undefined }
    slots.push(slot)
    const prepared = prepare(loop, call, slot)
    const job = Effect.isEffect(prepared) ? yield* prepared : prepared
    if (job !== undefined) jobs.push(job)
  }
  yield* settleInOrder(loop, slots)
  if (jobs.length === 0) return
  const running: Running = { loop, slots, onAnswer, fatal: undefined }
  for (const group of groups(jobs)) {
    yield* group.length === 1
      ? execute(running, group[0]!)
      : Effect.forEach(group, (job) => execute(running, job), {
        concurrency: loop.definition.toolConcurrency,
        discard: true
      })
  }
  if (running.fatal !== undefined) return yield* Effect.failCause(running.fatal)
})

interface Running {
  readonly loop: Loop.Loop
  readonly slots: ReadonlyArray<Slot>
  readonly onAnswer: ((answered: Answered) => void) | undefined
  fatal: Cause.Cause<unknown> | undefined
}

/** Calls that may run side by side; one of an exclusive tool stands alone. */
const groups = (jobs: ReadonlyArray<Job>): ReadonlyArray<ReadonlyArray<Job>> => {
  if (jobs.length === 1) return [jobs]
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

/** Tells the settlements that nothing stands in front of any more. */
const settleInOrder = (loop: Loop.Loop, slots: ReadonlyArray<Slot>): Effect.Effect<void> => {
  for (const slot of slots) {
    if (!slot.isDone) break
    if (slot.settlement === undefined) continue
    Loop.settle(loop, slot.settlement)
    slot.settlement = undefined
  }
  return loop.root.flush
}

/** Settles a call that has no handler to run. That it is open until it is told keeps its result, whatever happens before. */
const settleAtOnce = (loop: Loop.Loop, call: Call, slot: Slot, { settlement }: Answered): undefined => {
  slot.isDone = true
  slot.settlement = { callId: call.id, name: call.name, ...settlement, duration: 0 }
  loop.open.calls.set(call.id, { name: call.name, startedAt: Loop.now(loop), settlement: slot.settlement })
  return undefined
}

type Prepared = Job | undefined

/** Makes a call ready to run, or settles it where it can't be, or leaves it waiting for approval. */
const prepare = (loop: Loop.Loop, call: Call, slot: Slot): Prepared | Effect.Effect<Prepared, never, unknown> => {
  const entry = loop.definition.tools.get(call.name)
  if (entry === undefined) {
    const names = [...loop.definition.tools.keys()]
    const available = names.length === 0 ? "There are no tools." : `Available tools: ${names.join(", ")}.`
    return settleAtOnce(loop, call, slot, failed(`There is no tool "${call.name}". ${available}`))
  }
  if (!isOfferedTo(loop, call, entry)) {
    return settleAtOnce(loop, call, slot, failed(`"${call.name}" isn't offered now.`))
  }
  if (entry._tag === "Handoff") return askForHandoff(loop, call, slot, entry)
  const decoded = Codec.run(entry.decode, JsonValue.fromUnknown(call.params))
  return Exit.isExit(decoded)
    ? ready(loop, call, slot, entry, decoded)
    : Effect.flatMap(decoded, (exit) => {
      const prepared = ready(loop, call, slot, entry, exit)
      return Effect.isEffect(prepared) ? prepared : Effect.succeed(prepared)
    })
}

/** Checks whether the tool of a call was offered when it was called, and is now. */
const isOfferedTo = ({ definition, live, state }: Loop.Loop, call: Call, entry: ToolEntry): boolean => {
  if (call.state._tag === "Delegated") return true
  // A user who spoke meanwhile began a new count of the run: what was offered before can't be told from the state then.
  const asked = entry._tag === "Handoff" ? unanswered(state) : state
  return asked === undefined || isOffered(entry, asked, definition.modes, live.between > 0)
}

/** Asks for a handoff, unless its parameters are wrong, or another call of the turn asked first. */
const askForHandoff = (loop: Loop.Loop, call: Call, slot: Slot, entry: HandoffTool): undefined => {
  const request = Handoff.requestOf(entry.handoff, call)
  if (Result.isFailure(request)) {
    return settleAtOnce(
      loop,
      call,
      slot,
      failed(`The parameters of "${call.name}" are wrong: ${request.failure.message}`)
    )
  }
  const { status } = loop.state
  if (status._tag === "HandoffRequested") {
    const { target } = status.request
    return settleAtOnce(loop, call, slot, failed(`Only one agent can take over, and the first was asked: "${target}".`))
  }
  slot.isDone = true
  Loop.requestHandoff(loop, request.success)
  return undefined
}

/** Asks for a move between modes. It is taken once the other calls of the turn are settled. */
const askForMove = (loop: Loop.Loop, call: Call, slot: Slot, { mode }: ModeTool): undefined => {
  const { params } = call
  Loop.tell(loop, {
    _tag: "ModeTransitionRequested",
    transition: mode === undefined
      ? ModeTransition.exit
      : mode.invocation === "push"
      ? ModeTransition.push(mode.name, params)
      : ModeTransition.switch(mode.name, params)
  })
  const top = loop.state.modes[loop.state.modes.length - 1]
  const result = mode === undefined ? `Leaving mode "${top?.name ?? ""}".` : `Entering mode "${mode.name}".`
  return settleAtOnce(loop, call, slot, { settlement: { outcome: "Succeeded", result } })
}

const ready = (
  loop: Loop.Loop,
  call: Call,
  slot: Slot,
  entry: RunTool | ModeTool,
  decoded: Codec.CodecExit
): Prepared | Effect.Effect<Prepared, never, unknown> => {
  if (Exit.isFailure(decoded)) {
    const error = Cause.findError(decoded.cause)
    if (Result.isFailure(error)) return Effect.failCause(error.failure)
    return settleAtOnce(
      loop,
      call,
      slot,
      failed(`The parameters of "${call.name}" are wrong: ${error.success.message}`)
    )
  }
  if (entry._tag === "Mode") return askForMove(loop, call, slot, entry)
  const job: Job = { call, entry, params: decoded.value, slot }
  const { needsApproval } = entry.tool
  if (call.state._tag !== "Pending" || needsApproval === undefined || needsApproval === false) return job
  const decide = (isNeeded: boolean): Prepared => {
    if (!isNeeded) return job
    slot.isDone = true
    Loop.tell(loop, { _tag: "ApprovalRequested", callId: call.id, name: call.name, params: call.params })
    return undefined
  }
  if (needsApproval === true) return decide(true)
  const needed: boolean | Effect.Effect<boolean, never, unknown> = needsApproval(decoded.value, {
    toolCallId: call.id,
    get messages() {
      return loop.state.conversation.turns.filter((turn) => turn !== lastAssistant(loop.state.conversation)).flatMap(
        toMessages
      )
    }
  })
  return Effect.isEffect(needed) ? Effect.map(needed, decide) : decide(needed)
}

/** Runs a call and settles it when its turn comes. */
const execute = (running: Running, job: Job): Effect.Effect<void, never, unknown> => {
  const { loop, slots } = running
  const { call, entry, slot } = job
  return Effect.suspend(() => {
    const startedAt = Loop.now(loop)
    const open: Loop.OpenCall = { name: call.name, startedAt, settlement: undefined }
    loop.open.calls.set(call.id, open)
    Loop.tell(loop, { _tag: "ToolCallStarted", callId: call.id, name: call.name, params: call.params })
    const done = (answered: Answered | undefined): Effect.Effect<void> => {
      slot.isDone = true
      if (answered === undefined) {
        loop.open.calls.delete(call.id)
        Loop.tell(loop, { _tag: "ToolCallSuspended", callId: call.id, name: call.name })
      } else {
        const duration = Math.max(0, Loop.now(loop) - startedAt)
        slot.settlement = { callId: call.id, name: call.name, ...answered.settlement, duration }
        open.settlement = slot.settlement
        running.onAnswer?.(answered)
        if (answered.fatal !== undefined) running.fatal ??= answered.fatal
      }
      return settleInOrder(loop, slots)
    }
    return Telemetry.toolSpan(loop, call, entry.tool, (span) =>
      Effect.matchCauseEffect(
        loop.root.isObserved ? Effect.andThen(loop.root.flush, answerOf(running, job)) : answerOf(running, job),
        {
          onSuccess: (answered) => {
            Telemetry.endTool(span, loop, call, answered)
            return done(answered)
          },
          onFailure: (cause) => {
            if (!Cause.hasDies(cause)) return Effect.failCause(cause)
            Telemetry.crashTool(span)
            return Effect.flatMap(
              Effect.uninterruptible(done(failed(`The tool "${call.name}" crashed.`))),
              () => Effect.failCause(cause)
            )
          }
        }
      ))
  })
}

const answerOf = (
  running: Running,
  { call, entry, params }: Job
): Effect.Effect<Answered | undefined, never, unknown> => {
  switch (entry._tag) {
    case "Handled":
      return inMode(running.loop, entry, run(running.loop, call, entry, params))
    case "Agent":
      return Effect.map(
        running.loop.root.runChild(running.loop, call, entry, params),
        (child) => answerOfChild(entry, child)
      )
    case "Output":
      return Effect.succeed<Answered>({ settlement: { outcome: "Succeeded", result: "Accepted." } })
  }
}

/** Lets a tool of a mode that is used alone run with the services of whoever entered that. */
const inMode = <A>(
  { live }: Loop.Loop,
  { modes }: HandledTool,
  self: Effect.Effect<A, never, unknown>
): Effect.Effect<A, never, unknown> => {
  const context = modes === undefined
    ? undefined
    : live.open.findLast(({ entry: { mode } }) => modes.includes(mode.name))?.context
  return context === undefined ? self : Effect.provideContext(self, context)
}

/** What an agent that was called answers: nothing yet while it is stopped. */
const answerOfChild = (entry: AgentTool, child: AgentState): Answered | undefined => {
  switch (child.status._tag) {
    case "Complete":
      return { settlement: { outcome: "Succeeded", result: entry.toResult(child) } }
    case "Failed":
      return failed(`Agent "${child.agent}" failed: ${child.status.error.message}`)
    case "InProgress":
    case "WaitingForTools":
    case "HandoffRequested":
      return undefined
  }
}
