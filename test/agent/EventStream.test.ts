import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentEvent } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "./balanced.ts"

const Count = Toolkit.make(Tool.make("count", { success: Schema.Int }))
const counters = Agent.make("counters", { toolkit: Count })

/** How many preliminary results each of four calls tells: a few buffers. */
const count = 250

/** Tells preliminary results, in view of others that do the same. */
const handlers = Count.toLayer({
  count: (_, { preliminary }) =>
    Effect.forEach(
      Array.from({ length: count }, (_, n) => n),
      (n) => Effect.andThen(preliminary(n), n % 7 === 0 ? Effect.yieldNow : Effect.void),
      { discard: true }
    ).pipe(Effect.as(count))
})

const script = MockModel.queue(
  MockResponse.all(...Array.from({ length: 4 }, () => MockResponse.toolCall("count", {}))),
  "Done."
)

describe("Agent.stream", () => {
  it.effect.each([0, 1, 40])(
    "tells more than its buffer holds in order, to a reader that rests %i turns",
    (rest) =>
      Effect.gen(function*() {
        const events = yield* Agent.stream(counters, "Count").pipe(
          Stream.tap(() => Effect.forEach(Array.from({ length: rest }), () => Effect.yieldNow, { discard: true })),
          Stream.runCollect,
          Effect.provide([handlers, MockModel.layer(script)])
        )
        assert.strictEqual(events.filter((event) => event._tag === "ToolCallProgressed").length, 4 * count)
        assert.deepStrictEqual(events.map(({ sequence }) => sequence), events.map((_, index) => index))
        assert.deepStrictEqual(imbalances(events), [])
        assert.isTrue(AgentEvent.isRunEnd(events[events.length - 1]!))
      })
  )
})
