/**
 * The law that a run continues from each of its states as if it had never stopped, and the states to which it doesn't apply.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Agent from "../../agent/Agent.ts"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type * as AgentState from "../../domain/AgentState.ts"
import { difference } from "./Difference.ts"
import { type Observed, through } from "./EventLaws.ts"
import type { Plan } from "./Plan.ts"
import { settled, type Subject } from "./Subject.ts"

/**
 * Checks whether a state comes after an answer that a guardrail blocked or that broke off, and before the next answer or the end of the
 * run. A run that continues there asks its model again, and has other costs.
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

/**
 * Checks whether a state comes before the end of a paid answer that wasn't used. A run that continues there pays for an answer of its own.
 */
const isInDiscarded = ({ events }: Observed, index: number): boolean => {
  const end = events.slice(index + 1).find(({ _tag }) => _tag === "ModelResponded" || _tag === "ModelCallFailed")
  return end?._tag === "ModelCallFailed" && end.usage !== undefined
}

/**
 * Checks whether an agent, called or not, met a limit. Calls that it gives up are settled as interrupted, though nobody interrupts the run.
 */
const meetsLimit = (events: ReadonlyArray<AgentEvent>): boolean =>
  events.some((event) =>
    event._tag === "LimitReached" ||
    (event._tag === "ToolCallSettled" && event.outcome === "Interrupted") ||
    (event._tag === "RunFailed" && (event.error.tag === "StepLimitReached" || event.error.tag === "BudgetExceeded"))
  )

/** Checks whether a called agent that works in parallel with others is waiting for its model in a state. */
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
 * Checks whether a limit was met while an answer was under way in a state. The run uses that answer. A run that continues from the state
 * needn't ask for it again, or may let another agent ask.
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

/** Continues a run from each of its states. Returns what differs from the run. */
export const resumes = Effect.fnUntraced(function*(subject: Subject, plan: Plan, run: Observed) {
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
