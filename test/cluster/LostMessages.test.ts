/** What is asked of a conversation, and interrupted or lost on the way, because its runner leaves or is killed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Result, type Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as AtOnce from "../../src/cluster/AtOnce.ts"
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

  it.effect("that asks again in the middle of an answer is told no piece twice, and those of another runner", () =>
    Effect.gen(function*() {
      const stream = (epoch: number, count: number) =>
        Stream.concat(
          Stream.fromIterable(Array.from({ length: count }, (_, number) =>
            EventStream.toJson(
              { cursor: 0, piece: { epoch, number }, event: `${epoch}/${number}` },
              (event) => event as Schema.Json
            ))),
          Stream.never
        )
      const streams = [stream(1, 2), stream(1, 3), stream(1, 3), stream(2, 1)]
      // A reader sends no other request.
      const client = Client.make("c1", { Events: () => streams.shift() ?? Stream.never } as never, codec)
      const told: Array<string> = []
      const reading = yield* client.events().pipe(
        Stream.runForEach(({ event }) => Effect.sync(() => void told.push(event))),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(told, ["1/0", "1/1"])
      yield* TestClock.adjust("31 seconds")
      yield* TestClock.adjust("30 seconds")
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(told, ["1/0", "1/1", "1/2", "2/0"])
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

describe("A request whose runner leaves", () => {
  /** An entity whose runner interrupts so many requests before another one answers. */
  const leaving = (times: number, asked: Array<string>) => {
    let left = times
    const answer = (what: string, given: unknown) =>
      Effect.suspend(() => {
        asked.push(what)
        return left-- > 0 ? Effect.interrupt : Effect.succeed(given)
      })
    return {
      Begin: ({ key }: { readonly key: string }) => answer(`begin ${key}`, { cursor: 7, isNew: true }),
      Stop: () => answer("stop", true),
      State: () => answer("state", "the state")
      // Nothing else is asked.
    } as never
  }

  it.effect("is sent again under the same key, and answered by the next one", () =>
    Effect.gen(function*() {
      for (const options of [{ key: "k" }, undefined]) {
        const asked: Array<string> = []
        const client = AtOnce.make("c1", leaving(3, asked))
        const begun = yield* Effect.forkChild(client.begin({ _tag: "Resume" }, options), { startImmediately: true })
        yield* TestClock.adjust("1 seconds")
        assert.strictEqual((yield* Fiber.join(begun)).cursor, 7)
        assert.lengthOf(asked, 4)
        assert.lengthOf(new Set(asked), 1)
      }
      const asked: Array<string> = []
      const stopped = yield* Effect.forkChild(AtOnce.make("c1", leaving(1, asked)).stop, { startImmediately: true })
      yield* TestClock.adjust("1 seconds")
      assert.isTrue(yield* Fiber.join(stopped))
      const state = yield* Effect.forkChild(Client.make("c1", leaving(1, asked), codec).state, {
        startImmediately: true
      })
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* Fiber.join(state), "the state")
    }))

  it.effect("is interrupted if all runners leave, and at once if its caller is", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const { stop } = AtOnce.make("c1", leaving(Number.POSITIVE_INFINITY, asked))
      const stopping = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* TestClock.adjust("11 seconds")
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(stopping)))
      assert.lengthOf(asked, 101)
      const caller = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* Fiber.interrupt(caller)
      yield* TestClock.adjust("11 seconds")
      assert.lengthOf(asked, 102)
    }))
})
