/**
 * What the laws of runs have in common: a run that is looked at from start to end, and one that is cut at each of its
 * states.
 */
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Option, type Result, Schema, Stream } from "effect"
import { Agent, AgentEvent, AgentState, Usage } from "troupe"
import { Laws } from "troupe/testing"
import { misfit } from "../../src/testing/laws/Moves.ts"
import { deepFreeze } from "../domain/legal.ts"
import { imbalances } from "./balanced.ts"

/** What the user says in each run. */
export const input = "What is it?"

const encodeEvent = Schema.encodeEffect(Schema.fromJsonString(AgentEvent.AgentEvent))
const decodeEvent = Schema.decodeEffect(Schema.fromJsonString(AgentEvent.AgentEvent))

/** An event without the id of its run, which is each one's own, and without its number, which counts deltas, too. */
const unnumbered = (event: AgentEvent.AgentEvent) => ({
  ...event,
  run: "",
  sequence: 0,
  ...(event._tag === "GuardrailSettled" ? { started: 0 } : undefined)
})

/** A run as it was seen: every event, how it ended, every state by the fold, and the last one. */
interface Observed {
  readonly from: AgentState.AgentState
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly exit: Exit.Exit<void, unknown>
  readonly states: ReadonlyArray<AgentState.AgentState>
  readonly last: AgentState.AgentState
}

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
    return { from, events, exit, states, last: state }
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

/** A run gives the fold of its events, which is what its last event holds. */
export const holdsItsFold = ({ events, last }: Observed): void => {
  const end = events[events.length - 1]
  assert.isTrue(end?._tag === "RunCompleted" || end?._tag === "RunFailed")
  assert.deepStrictEqual(end !== undefined && "state" in end ? end.state : undefined, last)
  assert.strictEqual(last.status._tag === "Failed", end?._tag === "RunFailed")
}

/** A run makes no move that isn't listed, and none of its events is left out. */
export const movesAsListed = ({ events, from, states }: Observed): void => {
  assert.strictEqual(Laws.illegalMoves([from, ...states]).join("\n"), "")
  const unfit = events.filter((event, at) => misfit(states[at - 1] ?? from, event, states[at]!) !== undefined)
  assert.deepStrictEqual(unfit, [])
}

/** A run ends whatever it starts, and numbers its events without a gap. */
export const endsWhatItStarts = ({ events }: Observed): void => {
  assert.strictEqual(imbalances(events).join("\n"), "")
}

/** Events survive JSON. */
export const survivesJson = Effect.fnUntraced(function*({ events }: Observed) {
  for (const event of events) assert.deepStrictEqual(yield* decodeEvent(yield* encodeEvent(event)), event)
})

/** A state counts the tokens and the steps of all answers. */
export const countsAnswers = ({ events, last }: Observed): void => {
  const answers = events.filter((event) => event._tag === "ModelResponded")
  const usage = answers.reduce((sum, event) => Usage.add(sum, event.usage), Usage.empty)
  assert.deepStrictEqual(last.usage, usage)
  assert.deepStrictEqual(last.run.usage, usage)
  assert.strictEqual(last.steps, answers.length)
  assert.strictEqual(last.run.steps, answers.length)
}

/** What was observed as a stream is the same as a run that nobody looks at, one by its states, and one that is looked at. */
export const isTheSameHowever = Effect.fnUntraced(function*<E, R>(
  { events, exit: streamed, last, states: folded }: Observed,
  run: Effect.Effect<AgentState.AgentState, E, R>,
  states: Stream.Stream<AgentState.AgentState, E, R>
) {
  const exit = yield* Effect.exit(run)
  assert.deepStrictEqual(lastOf(exit), last)
  assert.deepStrictEqual(
    Exit.isSuccess(exit) ? undefined : Cause.squash(exit.cause),
    Exit.isSuccess(streamed) ? undefined : Cause.squash(streamed.cause)
  )
  const given: Array<AgentState.AgentState> = []
  yield* states.pipe(Stream.runForEach((state) => Effect.sync(() => given.push(state))), Effect.exit)
  assert.deepStrictEqual(given, folded.filter((state, index) => state !== folded[index - 1]))
  const seen: Array<AgentEvent.AgentEvent> = []
  yield* Effect.exit(run).pipe(Agent.observe((event) => Effect.sync(() => seen.push(event))))
  const whole = events.filter((event) => !event._tag.endsWith("Delta"))
  assert.deepStrictEqual(seen.map(unnumbered), whole.map(unnumbered))
})
