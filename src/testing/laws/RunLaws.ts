/**
 * The laws of a run, checked on runs of plans: which of them a subject breaks first.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Agent from "../../agent/Agent.ts"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import * as AgentState from "../../domain/AgentState.ts"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import { deepFreeze } from "../arbitrary/Choice.ts"
import { difference } from "./Difference.ts"
import { first, type Observed, observed, pure, type Start } from "./EventLaws.ts"
import { interruptAt } from "./Interrupter.ts"
import type { Breach } from "./LawBroken.ts"
import { problems } from "./Legality.ts"
import type { Plan } from "./Plan.ts"
import { Requests } from "./Requests.ts"
import { resumes } from "./ResumeLaw.ts"
import { settled, type Subject, within } from "./Subject.ts"

const runOf = ({ runnable }: Subject, from: Start) =>
  typeof from === "string" ? Agent.run(runnable, from) : Agent.resume(runnable, from)

const interrupted = Effect.fnUntraced(function*(subject: Subject, plan: Plan, from: Start) {
  const start = (events: Array<AgentEvent>) =>
    within(
      subject,
      plan,
      runOf(subject, from).pipe(
        Agent.observe((event) => Effect.sync(() => void events.push(event)))
      )
    )
  const { scheduler } = yield* interruptAt(start([]), 0)
  const at = 1 + plan.cut % Math.max(1, scheduler.ops)
  const events: Array<AgentEvent> = []
  yield* interruptAt(start(events), at)
  if (events.length === 0) return undefined
  const run = observed(from, events, Exit.void)
  const found = first(Object.keys(pure), (law) => pure[law]!(run))
  const where = `interrupted at operation ${at}: `
  if (found !== undefined) return { issue: where + found, events }
  const last = yield* settled(subject, plan, run.last)
  const problem = problems(last.conversation)[0]
  return problem === undefined ? undefined : { issue: `${where}continued: ${problem}`, events }
})

/** How often decisions are made in a run. */
const maxRounds = 3

/**
 * Decides on calls that wait for approval, and gives calls the results that they await. Returns `undefined` if no call waits, or if nothing
 * more is decided. A given result needn't fit the tool: then the call fails.
 */
const decided = (state: AgentState.AgentState, { decides }: Plan, round: number): AgentState.AgentState | undefined => {
  const waiting = AgentState.pendingApprovals(state)
  const awaited = AgentState.pendingResults(state)
  if (waiting.length + awaited.length === 0 || decides === "leaves" || round >= maxRounds) return undefined
  const given = awaited.reduce((state, { callId }, index) => {
    const isGiven = decides === "approves" || (decides === "does both" && (round + index) % 2 === 0)
    return Result.getOrThrow(
      isGiven ? AgentState.giveResult(state, callId, "Here it is.") : AgentState.giveFailure(state, callId, "Lost.")
    )
  }, state)
  return waiting.reduce((state, { callId }, index) => {
    const isApproved = decides === "approves" || (decides === "does both" && (round + index) % 2 === 0)
    return Result.getOrThrow(
      isApproved ? AgentState.approve(state, callId) : AgentState.deny(state, callId, "No.")
    )
  }, given)
}

const dies = "nothing in a run dies"

/** Checks a run, and returns it, or the first law that it breaks. Its events are added to `events`. */
const observe = Effect.fnUntraced(function*(subject: Subject, plan: Plan, from: Start, events: Array<AgentEvent>) {
  const streamed = new Requests()
  const plain = new Requests()
  const exit = yield* Effect.exit(within(
    subject,
    plan,
    Stream.runForEach(
      Agent.stream(subject.runnable, from),
      (event) => Effect.sync(() => void events.push(deepFreeze(event)))
    ),
    streamed.hear
  ))
  if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
    return { law: dies, issue: String(Cause.squash(exit.cause)), events }
  }
  const hasEnded = typeof from !== "string" && AgentStatus.isTerminal(from.status)
  if (events.length === 0 && !hasEnded) {
    // What fails before the first event is the layer.
    const issue = Exit.isSuccess(exit)
      ? "there are none"
      : `it fails before it begins: ${String(Cause.squash(exit.cause))}`
    return { law: "a run emits events", issue, events }
  }
  const run = observed(from, events, exit)
  if (events.length === 0) return run
  const breach = (law: string, issue: string | undefined): Breach | undefined =>
    issue === undefined ? undefined : { law, issue, events }
  for (const [law, check] of Object.entries(pure)) {
    const found = breach(law, check(run))
    if (found !== undefined) return found
  }
  const told = yield* Effect.exit(within(subject, plan, runOf(subject, from), plain.hear))
  const plainly = Exit.isSuccess(told) ? told.value : Option.getOrUndefined(Agent.failedState(told.cause))
  const errorOf = (each: Exit.Exit<unknown, unknown>): string | undefined =>
    Exit.isSuccess(each) ? undefined : String(Cause.squash(each.cause))
  const found = breach(
    "a run is the same streamed",
    difference(plainly, run.last) ?? difference(errorOf(told), errorOf(exit), "the error")
  ) ??
    breach("a run asks its models the same each time", difference(plain.prompts, streamed.prompts, "the requests")) ??
    breach("a run continues from each of its states as if it had never stopped", yield* resumes(subject, plan, run))
  if (found !== undefined) return found
  const cut = yield* interrupted(subject, plan, from)
  return cut === undefined ? run : { law: "an interruption leaves a legal state", ...cut }
})

/** Returns the first law that runs of a plan break: one run begins with what the user says, and one with each decision on what waits. */
export const breachOf = Effect.fnUntraced(function*(subject: Subject, plan: Plan) {
  let from: Start | undefined = plan.input
  const before: Array<AgentEvent> = []
  for (let round = 0; from !== undefined; round++) {
    const events: Array<AgentEvent> = []
    const found: Breach | Observed = yield* Effect.catchDefect(
      observe(subject, plan, from, events),
      (defect) => Effect.succeed({ law: dies, issue: String(defect), events })
    )
    if ("law" in found) return { ...found, events: [...before, ...found.events] }
    before.push(...found.events)
    from = decided(found.last, plan, round)
  }
  return undefined
})
