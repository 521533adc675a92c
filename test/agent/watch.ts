/**
 * Looking on while agents run: their events, what their models read of calls, and how many handlers run at once.
 */
import { Effect } from "effect"
import { Agent, type AgentEvent, type AgentState, type Conversation } from "troupe"
import { MockModel } from "troupe/testing"
import { callsIn, places } from "../domain/legal.ts"

/** Runs an effect to its end, whatever that is, and gives the events of the runs in it. */
export const watch = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    const exit = yield* Effect.exit(Agent.observe(self, (event) => Effect.sync(() => void events.push(event))))
    return { exit, events }
  })

/** Gives the events of a tag. */
export const ofTag = <Tag extends AgentEvent.AgentEvent["_tag"]>(
  events: ReadonlyArray<AgentEvent.AgentEvent>,
  tag: Tag
): ReadonlyArray<Extract<AgentEvent.AgentEvent, { readonly _tag: Tag }>> =>
  events.filter((event): event is Extract<AgentEvent.AgentEvent, { readonly _tag: Tag }> => event._tag === tag)

/** What the model read of its calls in its last request: each id with its result, and whether it was a failure. */
export const told = Effect.map(
  MockModel.calls,
  (calls) =>
    (calls[calls.length - 1]?.request.lastToolResults ?? []).map((part) => ({
      id: part.id,
      isFailure: part.isFailure,
      result: part.result
    }))
)

/** What the model read of one call in its last request. */
export const toldOf = (id: string) => Effect.map(told, (results) => results.find((result) => result.id === id)?.result)

/** All calls of a state, those of agents that are still at it too. */
export const allCalls = (state: AgentState.AgentState): ReadonlyArray<Conversation.Call> =>
  places(state).flatMap((place) => callsIn(place.state.conversation))

/** The call of an id, wherever it is in a state. */
export const callOf = (state: AgentState.AgentState, id: string): Conversation.Call | undefined =>
  allCalls(state).find((call) => call.id === id)

/** Counts what runs at once, and keeps in which order it began and ended. */
export const makeGauge = () => {
  const gauge = {
    running: 0,
    most: 0,
    log: [] as Array<string>,
    run: <A, E, R>(name: string, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          gauge.most = Math.max(gauge.most, ++gauge.running)
          gauge.log.push(`+${name}`)
        }),
        () => self,
        () =>
          Effect.sync(() => {
            gauge.running--
            gauge.log.push(`-${name}`)
          })
      )
  }
  return gauge
}
