/**
 * A run as it happens: its events as a stream, the text as it arrives, and the last state in the last event, from which the
 * conversation goes on.
 */
import { Effect, Option, Stream } from "effect"
import { Agent, type AgentEvent, AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const poet = Agent.make("poet", { instructions: "Rhyme." })

const show = (event: AgentEvent.AgentEvent) =>
  Effect.sync(() => {
    if (event._tag === "RunStarted") console.log("…")
    if (event._tag === "TextDelta") console.log(JSON.stringify(event.delta))
  })

const ask = Effect.fn("ask")(function*(input: string, state: AgentState.AgentState) {
  const last = yield* Agent.stream(poet, input, { state }).pipe(Stream.tap(show), Stream.runLast)
  return Option.isSome(last) && last.value._tag === "RunCompleted" ? last.value.state : state
})

const program = Effect.gen(function*() {
  const first = yield* ask("A line about the sea.", AgentState.make("poet"))
  const second = yield* ask("And one that rhymes.", first)
  console.log(`${second.conversation.turns.length} turns, ${second.steps} steps, ${second.status._tag}`)
}).pipe(
  Effect.provide(MockModel.layer(MockModel.queue(
    MockResponse.chunked("The sea is grey today,", 8),
    MockResponse.chunked("and cold is all its spray.", 8)
  )))
)

await Effect.runPromise(program)

// Output:
// …
// "The sea "
// "is grey "
// "today,"
// …
// "and cold"
// " is all "
// "its spra"
// "y."
// 4 turns, 2 steps, Complete
