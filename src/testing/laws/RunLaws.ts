/**
 * The laws of a run, each with what breaks it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../agent/Agent.ts"
import { AgentEvent } from "../../domain/AgentEvent.ts"
import * as AgentState from "../../domain/AgentState.ts"
import * as Usage from "../../domain/Usage.ts"
import { deepFreeze } from "../arbitrary/Choice.ts"
import type { MockRequest } from "../MockRequest.ts"
import { imbalances } from "./Balance.ts"
import { difference } from "./Difference.ts"
import { interruptAt } from "./Interrupter.ts"
import type { Breach } from "./LawBroken.ts"
import { problems } from "./Legality.ts"
import { illegalMoves, misfit } from "./Moves.ts"
import { modelOf, type Plan } from "./Plan.ts"
import { Requests } from "./Requests.ts"

/** What is looked at: what runs, and all that it needs beside a model. */
export interface Subject {
  readonly runnable: Agent.Runnable<string, unknown, unknown, unknown>
  readonly layer: Layer.Layer<never, unknown, unknown>
}

/** What a run begins with: what the user says, or a state in which something was decided. */
type Start = string | AgentState.AgentState

/** Stops the clock during a run, so that durations in states are 0. */
const timeless = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => {
    const still: Readonly<Record<string | symbol, unknown>> = {
      currentTimeMillisUnsafe: () => 0,
      currentTimeMillis: Effect.succeed(0),
      currentTimeNanosUnsafe: () => 0n,
      currentTimeNanos: Effect.succeed(0n)
    }
    const stopped = new Proxy(clock, {
      get: (target, key) => {
        if (Object.hasOwn(still, key)) return still[key]
        const value: unknown = Reflect.get(target, key)
        return typeof value === "function" ? value.bind(target) : value
      }
    })
    return Effect.provideService(self, Clock.Clock, stopped)
  })

const within = <A, E>(
  { layer }: Subject,
  plan: Plan,
  self: Effect.Effect<A, E, unknown>,
  hear?: (request: MockRequest) => void
): Effect.Effect<A, unknown> =>
  timeless(Effect.provide(self, Layer.fresh(Layer.provideMerge(layer, modelOf(plan, hear))))) as Effect.Effect<
    A,
    unknown
  >

const runOf = ({ runnable }: Subject, from: Start) =>
  typeof from === "string" ? Agent.run(runnable, from) : Agent.resume(runnable, from)

const encode = Schema.encodeResult(Schema.fromJsonString(AgentEvent))
const decode = Schema.decodeUnknownResult(Schema.fromJsonString(AgentEvent))

/** A run that was looked at from start to end. */
export interface Observed {
  readonly events: ReadonlyArray<AgentEvent>
  readonly exit: Exit.Exit<unknown, unknown>
  readonly before: AgentState.AgentState
  readonly states: ReadonlyArray<AgentState.AgentState>
  readonly last: AgentState.AgentState
}

/** Returns a run by its events. */
export const observed = (
  start: Start,
  events: ReadonlyArray<AgentEvent>,
  exit: Exit.Exit<unknown, unknown>
): Observed => {
  const before = typeof start === "string" ? AgentState.make(events[0]?.path[0] ?? "") : start
  let last = before
  const states = events.map((event) => last = deepFreeze(AgentState.reduce(last, event)))
  return { events, exit, before, states, last }
}

const endOf = (events: ReadonlyArray<AgentEvent>): AgentState.AgentState | undefined => {
  const end = events[events.length - 1]
  return end !== undefined && "state" in end ? end.state : undefined
}

const through = (state: AgentState.AgentState): Result.Result<AgentState.AgentState, string> =>
  Result.flatMap(
    Result.try({ try: () => JSON.stringify(AgentState.toJson(state)), catch: String }),
    (text) => Result.mapError(AgentState.fromJson(text), ({ message }) => message)
  )

type Pure = (run: Observed) => string | undefined

const first = <A>(values: Iterable<A>, find: (value: A) => string | undefined): string | undefined => {
  for (const value of values) {
    const found = find(value)
    if (found !== undefined) return found
  }
  return undefined
}

/** Laws that the events of a run decide alone. */
export const pure: Readonly<Record<string, Pure>> = {
  "events are balanced": ({ events }) => imbalances(events)[0],
  "every event fits": ({ before, events, states }) =>
    first(events.entries(), ([at, event]) => misfit(states[at - 1] ?? before, event, states[at] ?? before)),
  "every move is listed": ({ before, states }) => illegalMoves([before, ...states])[0],
  "every state is legal": ({ states }) => first(states, ({ conversation }) => problems(conversation)[0]),
  "every state survives JSON": ({ states }) =>
    first(states, (state) => {
      const again = through(state)
      return Result.isFailure(again) ? again.failure : difference(again.success, state)
    }),
  "the last event holds the fold of all": ({ events, last }) => difference(endOf(events), last),
  "events that were stored give the same state": ({ before, events, last }) => {
    let state = before
    for (const event of events) {
      const again = Result.flatMap(encode(event), decode)
      if (Result.isFailure(again)) return `${event._tag}: ${again.failure.message}`
      state = AgentState.reduce(state, again.success)
    }
    return difference(state, last)
  },
  "usage adds up": ({ before, events, last }) => {
    // A blocked answer has its price too.
    const answers = events.flatMap((event) =>
      (event._tag === "ModelResponded" || event._tag === "ModelCallFailed") && event.usage !== undefined
        ? [event.usage]
        : []
    )
    const summaries = events.flatMap((event) =>
      event._tag === "ConversationSummarized" && event.usage !== undefined ? [event.usage] : []
    )
    const usage = [...answers, ...summaries].reduce((sum, usage) => Usage.add(sum, usage), before.usage)
    const broken = events.filter((event) => event._tag === "ModelCallFailed" && event.isBrokenOff === true)
    const steps = before.steps + answers.length - broken.length
    return difference(last.usage, usage, "usage") ?? difference(last.steps, steps, "steps")
  }
}

/** Goes on from a state. Its layer was built before, so it is a defect where it can't be built again. */
const settled = (subject: Subject, plan: Plan, state: AgentState.AgentState): Effect.Effect<AgentState.AgentState> =>
  Effect.orDie(within(subject, plan, Agent.settle(subject.runnable, state)))

/**
 * Checks whether a state stands behind an answer that a guardrail blocked or that broke off, before the next answer or the end of the
 * run: the agent asks its model again there, for another price.
 */
const isBlocked = ({ events }: Observed, index: number): boolean => {
  const at = events.findLastIndex((event, at) =>
    at <= index && event._tag === "ModelCallFailed" && (event.tag === "GuardrailBlocked" || event.isBrokenOff === true)
  )
  const calls = events[at]?.calls.length
  return at >= 0 &&
    !events.slice(at, index + 1).some((event) =>
      (event._tag === "RunFailed" || event._tag === "ModelResponded") && event.calls.length === calls
    )
}

/** Checks whether a state stands in front of the end of an answer that was paid for and not taken: a new run pays for its own. */
const isInDiscarded = ({ events }: Observed, index: number): boolean => {
  const end = events.slice(index + 1).find(({ _tag }) => _tag === "ModelResponded" || _tag === "ModelCallFailed")
  return end?._tag === "ModelCallFailed" && end.usage !== undefined
}

/** Checks whether an agent, called or not, met a limit. Calls that it gives up are settled as interrupted, though nobody interrupts the run. */
const meetsLimit = (events: ReadonlyArray<AgentEvent>): boolean =>
  events.some((event) =>
    event._tag === "LimitReached" ||
    (event._tag === "ToolCallSettled" && event.outcome === "Interrupted") ||
    (event._tag === "RunFailed" && (event.error.tag === "StepLimitReached" || event.error.tag === "BudgetExceeded"))
  )

/** Checks whether a state stands in a request of a called agent that works beside others. */
const isBesideOthers = ({ events }: Observed, index: number): boolean =>
  events.slice(0, index + 1).some(({ _tag, calls }, start) => {
    if (_tag !== "ModelCallStarted" || calls.length === 0) return false
    const isSame = (event: AgentEvent) => event.calls.join() === calls.join()
    const end = events.findIndex((event, at) =>
      at > start && isSame(event) && (event._tag === "ModelResponded" || event._tag === "ModelCallFailed")
    )
    return end > index && events.slice(start, end).some((event) => !isSame(event))
  })

/**
 * Checks whether a limit was met while an answer was under way in a state. The run takes that answer; one that is continued from the state
 * doesn't ask for it again, or lets another agent ask.
 */
const isOvertaken = Effect.fnUntraced(function*(
  subject: Subject,
  plan: Plan,
  run: Observed,
  index: number,
  state: AgentState.AgentState
) {
  if (!isBesideOthers(run, index)) return false
  const events: Array<AgentEvent> = []
  const look = Agent.observe((event) => Effect.sync(() => void events.push(event)))
  yield* look(settled(subject, plan, state))
  return meetsLimit(run.events) || meetsLimit(events)
})

const resumes = Effect.fnUntraced(function*(subject: Subject, plan: Plan, run: Observed) {
  for (const [index, state] of run.states.entries()) {
    if (state === run.states[index - 1] || isInDiscarded(run, index) || isBlocked(run, index)) continue
    const again = Result.getOrElse(through(state), () => state)
    const last = yield* settled(subject, plan, again)
    const found = difference(last, run.last)
    if (found === undefined || (yield* isOvertaken(subject, plan, run, index, again))) continue
    return `resumed after event ${index}, ${run.events[index]?._tag}: ${found}`
  }
  return undefined
})

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
 * Decides what waits for approval, and gives the results that are awaited: `undefined` if nothing waits, or nothing more is decided. What
 * somebody gives needn't fit the tool: then the call fails.
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

/** Looks at a run, and returns it, or the first law that it breaks. What it tells is put into `events`. */
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
  if (events.length === 0) return { law: "a run tells what it does", issue: String(exit), events }
  const run = observed(from, events, exit)
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
    breach("a run goes on from each of its states as if it had never stopped", yield* resumes(subject, plan, run))
  if (found !== undefined) return found
  const cut = yield* interrupted(subject, plan, from)
  return cut === undefined ? run : { law: "an interruption leaves a legal state", ...cut }
})

/** Returns the first law that runs of a plan break: one from what the user says, and one from each decision on what waits. */
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
