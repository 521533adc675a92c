/**
 * What the laws of runs have in common: a run that is looked at from start to end, and one that is cut at each of its
 * states.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Option, type Result, Schema, Stream } from "effect"
import { Agent, AgentEvent, AgentState } from "troupe"
import { deepFreeze } from "../domain/legal.ts"

/** What the user says in each run. */
export const input = "What is it?"

export const encodeEvent = Schema.encodeEffect(Schema.fromJsonString(AgentEvent.AgentEvent))
export const decodeEvent = Schema.decodeEffect(Schema.fromJsonString(AgentEvent.AgentEvent))

/** An event without its number, which counts deltas, too. */
export const unnumbered = (event: AgentEvent.AgentEvent) => ({ ...event, sequence: 0 })

/** Every event of a run from a state, how it ended, and every state of it by the fold. */
export const observe = <E, R>(run: Stream.Stream<AgentEvent.AgentEvent, E, R>, from: AgentState.AgentState) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    const exit = yield* run.pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(deepFreeze(event)))),
      Effect.exit
    )
    let state = from
    const states = events.map((event) => state = deepFreeze(AgentState.reduce(state, event)))
    return { events, exit, states, last: state }
  })

/** The state that a run leaves, whatever it ended with. */
export const lastOf = (exit: Exit.Exit<AgentState.AgentState, unknown>): AgentState.AgentState | undefined =>
  Exit.isSuccess(exit) ? exit.value : Option.getOrUndefined(Agent.failedState(exit.cause))

/** Cuts a run at each of its states, and lets each go on in another process, which reads its text: all end alike. */
export const cutEverywhere = Effect.fnUntraced(function*<E, R>(
  observed: ReturnType<typeof observe<unknown, R>>,
  read: (text: string) => Result.Result<AgentState.AgentState, unknown>,
  resume: (state: AgentState.AgentState) => Effect.Effect<AgentState.AgentState, E, R>
) {
  const { last, states } = yield* observed
  for (const [index, state] of states.entries()) {
    if (state === states[index - 1]) continue
    const again = deepFreeze(yield* Effect.fromResult(read(JSON.stringify(AgentState.toJson(state)))))
    assert.deepStrictEqual(again, state)
    assert.deepStrictEqual(yield* resume(again), last)
  }
  return last
})
