/** A reader of events whose stream has lost a message between runners, and hears nothing any more. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result, type Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Client from "../../src/cluster/Client.ts"
import * as EventStream from "../../src/cluster/EventStream.ts"

const codec: Client.Codec<string, unknown, string> = {
  inputToJson: (input) => input,
  stateFromJson: Result.succeed,
  eventFromJson: (json) => Result.succeed(String(json))
}

/** A client of an entity that tells three events, each stream only one of them: what follows is lost, or never ends. */
const losing = (asked: Array<number>, last: Stream.Stream<never> = Stream.never) =>
  Client.make(
    "c1",
    {
      Events: ({ after }: { readonly after: number }) => {
        asked.push(after)
        if (after === 3) return last
        const told = EventStream.toJson({ cursor: after + 1, event: `event ${after + 1}` }, (event) =>
          event as Schema.Json)
        return Stream.concat(Stream.succeed(told), Stream.never)
      }
      // A reader sends no other request.
    } as never,
    codec
  )

describe("A reader of events", () => {
  it.effect("that hears nothing for 30 s asks again for what comes next, and tells each event once", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const told: Array<number> = []
      const reading = yield* losing(asked).events({ after: 0 }).pipe(
        Stream.runForEach(({ cursor }) => Effect.sync(() => void told.push(cursor))),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual([asked, told], [[0], [1]])
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual([asked, told], [[0, 1], [1, 2]])
      yield* TestClock.adjust("30 seconds")
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual([asked, told], [[0, 1, 2, 3], [1, 2, 3]])
      yield* Fiber.interrupt(reading)
    }))

  it.effect("goes on for as long as nothing comes", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      yield* Effect.forkChild(Stream.runDrain(losing(asked).events({ after: 3 })), { startImmediately: true })
      for (let hour = 0; hour < 50; hour++) yield* TestClock.adjust("1 hour")
      assert.isAtLeast(asked.length, 5_900)
    }))

  it.effect("ends when its stream does", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const reading = yield* Effect.forkChild(Stream.runCollect(losing(asked, Stream.empty).events({ after: 2 })), {
        startImmediately: true
      })
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual((yield* Fiber.join(reading)).map(({ cursor }) => cursor), [3])
      assert.deepStrictEqual(asked, [2, 3])
    }))
})
