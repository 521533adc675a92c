/** A provider that has many parts at hand, which a loop takes natively: in one wait, and without a turn of the runtime for each. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { Agent, type AgentEvent } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { finish, saying } from "./stub.ts"

type Part = LanguageModelV4StreamPart

const start: Part = { type: "text-start", id: "1" }
const delta: Part = { type: "text-delta", id: "1", delta: "word " }
const end: ReadonlyArray<Part> = [{ type: "text-end", id: "1" }, { type: "finish", ...finish }]
const times = (count: number, part: Part): ReadonlyArray<Part> => Array.from({ length: count }, () => part)

/** A model whose parts are there as soon as they are asked for. With `isSilent` it says no more after them. */
const having = (parts: ReadonlyArray<Part>, isSilent = false) => {
  const seen = { sent: 0, isAborted: false }
  const model: LanguageModelV4 = {
    ...saying([]).model,
    doStream: ({ abortSignal }) => {
      abortSignal?.addEventListener("abort", () => seen.isAborted = true)
      return Promise.resolve({
        stream: new ReadableStream<Part>({
          pull: (controller) => {
            const part = parts[seen.sent]
            if (part === undefined) return isSilent ? new Promise(() => {}) : controller.close()
            seen.sent++
            controller.enqueue(part)
          }
        }, { highWaterMark: 0 })
      })
    }
  }
  return { model, seen }
}

const agent = Agent.make("assistant")

/** Lets what is under way come to its next wait. */
const settle = Effect.promise(async () => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
})

const deltas = (events: ReadonlyArray<AgentEvent.AgentEvent>): number =>
  events.filter(({ _tag }) => _tag === "TextDelta").length

const toList = (model: LanguageModelV4, timeouts?: AiSdkModel.Timeouts) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    const exit = yield* Agent.stream(agent, "Hi").pipe(
      Stream.runForEach((event) => Effect.sync(() => void events.push(event))),
      Effect.exit,
      Effect.provide(AiSdkModel.layer(model, timeouts === undefined ? {} : { timeouts }))
    )
    return { events, exit }
  })

describe("Many parts at hand", () => {
  for (
    const [limit, timeouts, words] of [
      ["between parts", { between: "30 millis" }, "nothing for 30ms"],
      ["of the whole answer", { total: "200 millis" }, "longer than 200ms"]
    ] as const
  ) {
    it.live(`the limit ${limit} ends the wait for the next one`, () =>
      Effect.gen(function*() {
        const { model, seen } = having([start, ...times(600, delta)], true)
        const { events, exit } = yield* toList(model, timeouts)
        assert.strictEqual(deltas(events), 600)
        assert.include(String(exit), words)
        assert.isTrue(seen.isAborted)
      }))
  }

  it.live("an interruption lets go of the stream, and takes no part that comes later", () =>
    Effect.gen(function*() {
      let later: (() => void) | undefined
      const seen = { reads: 0, isAborted: false }
      const model: LanguageModelV4 = {
        ...saying([]).model,
        doStream: ({ abortSignal }) => {
          abortSignal?.addEventListener("abort", () => seen.isAborted = true)
          const left = [start, ...times(600, delta)]
          return Promise.resolve({
            stream: {
              getReader: () => ({
                read: () => {
                  seen.reads++
                  return left.length > 0
                    ? Promise.resolve({ done: false, value: left.shift() })
                    : new Promise((resolve) => later = () => resolve({ done: false, value: delta }))
                },
                cancel: () => Promise.resolve()
              })
            } as unknown as ReadableStream<Part>
          })
        }
      }
      const seenDeltas = { count: 0 }
      const fiber = yield* Agent.stream(agent, "Hi").pipe(
        Stream.runForEach(({ _tag }) => Effect.sync(() => void (_tag === "TextDelta" && seenDeltas.count++))),
        Effect.provide(AiSdkModel.layer(model)),
        Effect.forkChild({ startImmediately: true })
      )
      yield* settle
      assert.deepStrictEqual([seenDeltas.count, seen], [600, { reads: 602, isAborted: false }])
      yield* Fiber.interrupt(fiber)
      later?.()
      yield* settle
      assert.deepStrictEqual([seenDeltas.count, seen], [600, { reads: 602, isAborted: true }])
    }))

  it.live("other fibers get their turn after 256 in a row", () =>
    Effect.gen(function*() {
      const parts = [...times(5_120, { type: "raw", rawValue: ": ping" }), start, delta, ...end]
      const { model, seen } = having(parts)
      const turns: Array<number> = []
      // `forever` yields after each round.
      const other = yield* Effect.forkChild(Effect.forever(Effect.sync(() => {
        if (seen.sent > 0 && turns.at(-1) !== seen.sent) turns.push(seen.sent)
      })))
      const { exit } = yield* toList(model)
      yield* Fiber.interrupt(other)
      assert.isTrue(Exit.isSuccess(exit))
      const gaps = turns.map((sent, at) => sent - (turns[at - 1] ?? 0))
      assert.isAtLeast(turns.length, 20)
      assert.isAtMost(Math.max(...gaps), 257)
    }))

  it.live("no more than 256 events wait for a reader that is slow", () =>
    Effect.gen(function*() {
      const { model, seen } = having([start, ...times(5_000, delta), ...end])
      const open = yield* Deferred.make<void>()
      const fiber = yield* Agent.stream(agent, "Hi").pipe(
        Stream.filter(({ _tag }) => _tag === "TextDelta"),
        Stream.runForEach(() => Deferred.await(open)),
        Effect.provide(AiSdkModel.layer(model)),
        Effect.forkChild({ startImmediately: true })
      )
      yield* settle
      const held = seen.sent
      yield* settle
      assert.deepStrictEqual([held > 200, held < 300, seen.sent], [true, true, held])
      yield* Deferred.succeed(open, undefined)
      yield* Fiber.join(fiber)
      assert.isAbove(seen.sent, 5_000)
    }))
})
