/**
 * The laws that need only the events of a run, each with a function that finds what breaks it.
 *
 * @since 0.1.0
 */
import type * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AgentEvent } from "../../domain/AgentEvent.ts"
import * as AgentState from "../../domain/AgentState.ts"
import * as Usage from "../../domain/Usage.ts"
import { deepFreeze } from "../arbitrary/Choice.ts"
import { imbalances } from "./Balance.ts"
import { difference } from "./Difference.ts"
import { problems } from "./Legality.ts"
import { illegalMoves, misfit } from "./Moves.ts"

/** What a run begins with: what the user says, or a state in which something was decided. */
export type Start = string | AgentState.AgentState

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
  const end = events.at(-1)
  return end !== undefined && "state" in end ? end.state : undefined
}

/** Returns a state as it comes back from JSON. */
export const through = (state: AgentState.AgentState): Result.Result<AgentState.AgentState, string> =>
  Result.flatMap(
    Result.try({ try: () => JSON.stringify(AgentState.toJson(state)), catch: String }),
    (text) => Result.mapError(AgentState.fromJson(text), ({ message }) => message)
  )

type Pure = (run: Observed) => string | undefined

/** Returns the first that is found. */
export const first = <A>(values: Iterable<A>, find: (value: A) => string | undefined): string | undefined => {
  for (const value of values) {
    const found = find(value)
    if (found !== undefined) return found
  }
  return undefined
}

/** Laws that need only the events of a run. */
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
