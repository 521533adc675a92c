import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import type { AgentEvent } from "troupe"
import * as EventQueue from "../../src/agent/journal/EventQueue.ts"

const event = (sequence: number): AgentEvent.AgentEvent => ({
  _tag: "TextDelta",
  run: "",
  path: ["teller"],
  calls: [],
  step: 0,
  sequence,
  at: 0,
  delta: "."
})

const happened = (sequence: number) => ({ event: event(sequence) })

const numbers = (events: ReadonlyArray<AgentEvent.AgentEvent>) => events.map(({ sequence }) => sequence)

describe("EventQueue", () => {
  it.effect("keeps the order of what waits for room, and lets its sender go on only then", () =>
    Effect.gen(function*() {
      const queue = EventQueue.make(2)
      assert.deepStrictEqual([0, 1, 2].map((n) => queue.offer(event(n))), [true, true, false])
      const sender = yield* Effect.forkChild(queue.offerAll([2, 3, 4, 5, 6].map(happened)), { startImmediately: true })
      const waits: Array<boolean> = []
      const read: Array<ReadonlyArray<number>> = []
      for (let n = 0; n < 4; n++) {
        waits.push(sender.pollUnsafe() === undefined)
        read.push(numbers(yield* queue.pull))
        yield* Effect.yieldNow
      }
      assert.deepStrictEqual(read, [[0, 1], [2, 3], [4, 5], [6]])
      assert.deepStrictEqual(waits, [true, true, true, false])
    }))

  it.effect("keeps senders in the order in which they came", () =>
    Effect.gen(function*() {
      const queue = EventQueue.make(1)
      yield* Effect.forkChild(queue.offerAll([0, 1].map(happened)), { startImmediately: true })
      yield* Effect.forkChild(queue.offerAll([2, 3].map(happened)), { startImmediately: true })
      const read: Array<number> = []
      for (let n = 0; n < 4; n++) read.push(...numbers(yield* queue.pull))
      assert.deepStrictEqual(read, [0, 1, 2, 3])
    }))

  it.effect("wakes the reader that waits, with the event that wakes it", () =>
    Effect.gen(function*() {
      const queue = EventQueue.make(2)
      const reader = yield* Effect.forkChild(queue.pull, { startImmediately: true })
      assert.isUndefined(reader.pollUnsafe())
      queue.offer(event(7))
      queue.offer(event(8))
      assert.deepStrictEqual(numbers(yield* Fiber.join(reader)), [7])
      assert.deepStrictEqual(numbers(yield* queue.pull), [8])
    }))

  it.effect("loses nothing to a reader that stopped waiting", () =>
    Effect.gen(function*() {
      const queue = EventQueue.make(2)
      const reader = yield* Effect.forkChild(queue.pull, { startImmediately: true })
      yield* Fiber.interrupt(reader)
      queue.offer(event(1))
      assert.deepStrictEqual(numbers(yield* queue.pull), [1])
    }))

  it.effect("ends after the last event, as the run did, however often it is asked", () =>
    Effect.gen(function*() {
      const done = EventQueue.make(2)
      done.offer(event(1))
      yield* done.end(Exit.void)
      assert.deepStrictEqual(numbers(yield* done.pull), [1])
      for (const exit of [yield* Effect.exit(done.pull), yield* Effect.exit(done.pull)]) {
        assert.isTrue(Exit.isFailure(exit) && Cause.isDone(Cause.squash(exit.cause)))
      }
      const failed = EventQueue.make(2)
      const reader = yield* Effect.forkChild(Effect.exit(failed.pull), { startImmediately: true })
      yield* failed.end(Exit.fail("no"))
      assert.deepStrictEqual(yield* Fiber.join(reader), Exit.fail("no"))
    }))

  it.effect("lets a sender go when the reader leaves, and never keeps one again", () =>
    Effect.gen(function*() {
      const queue = EventQueue.make(1)
      const sender = yield* Effect.forkChild(Effect.uninterruptible(queue.offerAll([0, 1, 2].map(happened))), {
        startImmediately: true
      })
      assert.isUndefined(sender.pollUnsafe())
      yield* queue.shutdown
      yield* Fiber.join(sender)
      assert.isTrue(queue.offer(event(3)))
      assert.isTrue(queue.offer(event(4)))
      yield* queue.offerAll([5, 6].map(happened))
    }))
})
