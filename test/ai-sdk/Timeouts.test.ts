/** Providers that keep silent: before an answer, in the middle of one, and all the while saying that they are there. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schedule, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { providers } from "./providers.ts"
import { finish, saying } from "./stub.ts"

type Part = LanguageModelV4StreamPart

/** A model that streams what stands in a list, one part whenever it is asked, and then keeps silent; and whether it was let go of. */
const silentAfter = (
  parts: ReadonlyArray<Part>,
  afterwards?: Part,
  arrive: (then: () => void) => unknown = setImmediate
) => {
  const seen = { isAborted: false }
  const model: LanguageModelV4 = {
    ...saying([]).model,
    doGenerate: ({ abortSignal }) => {
      abortSignal?.addEventListener("abort", () => seen.isAborted = true)
      return new Promise(() => {})
    },
    doStream: ({ abortSignal }) => {
      abortSignal?.addEventListener("abort", () => seen.isAborted = true)
      const left = [...parts]
      return Promise.resolve({
        stream: new ReadableStream<Part>({
          pull: (controller) =>
            new Promise((resolve) => {
              const part = left.shift() ?? afterwards
              if (part !== undefined) {
                arrive(() => {
                  if (!seen.isAborted) controller.enqueue(part)
                  resolve()
                })
              }
            })
        }, { highWaterMark: 0 })
      })
    }
  }
  return { model, seen }
}

const ask = { prompt: "Hi" } as const
const drain = Stream.runDrain(LanguageModel.streamText(ask))

const generate = () => LanguageModel.generateText(ask)

const word: ReadonlyArray<Part> = [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "one" }]

/** Lets what is under way in promises come to its next wait. */
const settle = Effect.promise(async () => {
  for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve))
})

/** Runs a request, and gives how many seconds it took to fail, and its error. */
const failing = <A, E>(
  asking: Effect.Effect<A, E, LanguageModel.LanguageModel>,
  layer: ReturnType<typeof AiSdkModel.layer>
) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(Effect.flip(Effect.provide(asking, layer)), { startImmediately: true })
    for (let seconds = 0; seconds <= 1200; seconds += 10) {
      yield* settle
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return { seconds, error: yield* Fiber.join(fiber) }
      yield* TestClock.adjust("10 seconds")
    }
    return assert.fail("it waits for ever")
  })

describe("A request to a provider", () => {
  it.effect("that keeps silent fails after 5 minutes, 2 minutes between parts, or 15 minutes in all, and is let go of", () =>
    Effect.gen(function*() {
      const ping: Part = { type: "raw", rawValue: "ping" }
      type Case = readonly [
        typeof drain | ReturnType<typeof generate>,
        ReadonlyArray<Part>,
        Part | undefined,
        number,
        string
      ]
      const cases: ReadonlyArray<Case> = [
        [drain, [], undefined, 300, "nothing for 5m"],
        [drain, [{ type: "stream-start", warnings: [] }], undefined, 300, "nothing for 5m"],
        [drain, [], ping, 300, "nothing for 5m"],
        [drain, word, undefined, 120, "nothing for 2m"],
        [drain, word, ping, 120, "nothing for 2m"],
        [drain, word, word[1], 900, "longer than 15m"],
        [generate(), [], undefined, 900, "longer than 15m"]
      ]
      for (const [asking, parts, afterwards, expected, words] of cases) {
        const { model, seen } = silentAfter(parts, afterwards)
        const { error, seconds } = yield* failing(asking, AiSdkModel.layer(model))
        assert.strictEqual(seconds, expected, words)
        assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["NetworkError", true])
        assert.include(error.message, words)
        assert.isTrue(seen.isAborted)
      }
    }))

  it.effect("has the limits of its layer, under those of its agent", () =>
    Effect.gen(function*() {
      const { model } = silentAfter([])
      const layer = AiSdkModel.layer(model, { timeouts: { first: "20 seconds", total: "1 minute" } })
      assert.strictEqual((yield* failing(drain, layer)).seconds, 20)
      const agent = Agent.make("assistant", { settings: AiSdkModel.settings({ timeouts: { first: "40 seconds" } }) })
      assert.strictEqual((yield* failing(Stream.runDrain(Agent.stream(agent, "Hi")), layer)).seconds, 40)
      assert.strictEqual((yield* failing(Agent.run(agent, "Hi"), layer)).seconds, 60)
      const missing: Record<string, unknown> = { first: undefined }
      const silent = Agent.make("assistant", { settings: AiSdkModel.settings({ timeouts: missing }) })
      assert.strictEqual((yield* failing(Stream.runDrain(Agent.stream(silent, "Hi")), layer)).seconds, 20)
      const endless = AiSdkModel.layer(model, {
        timeouts: { first: "Infinity", between: "Infinity", total: "Infinity" }
      })
      const fiber = yield* Effect.forkChild(Effect.provide(drain, endless), { startImmediately: true })
      yield* TestClock.adjust("10 hours")
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
    }))

  it.effect("isn't in a hurry while its answer waits to be read, and needs no end of the connection after its finish", () =>
    Effect.gen(function*() {
      const { model } = silentAfter([...word, { type: "text-end", id: "1" }, { type: "finish", ...finish }])
      const slowly = LanguageModel.streamText(ask).pipe(
        Stream.tap(() => Effect.sleep("3 minutes")),
        Stream.runDrain,
        Effect.provide(AiSdkModel.layer(model, { timeouts: { total: "Infinity" } }))
      )
      const fiber = yield* Effect.forkChild(slowly, { startImmediately: true })
      for (let n = 0; n < 10 && fiber.pollUnsafe() === undefined; n++) {
        yield* settle
        yield* TestClock.adjust("3 minutes")
      }
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
    }))

  it.effect("isn't waited for once it has its finish, and is let go of if it stays open", () =>
    Effect.gen(function*() {
      const later = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 1_200)))
      const whole: ReadonlyArray<Part> = [...word, { type: "text-end", id: "1" }, { type: "finish", ...finish }]
      for (
        const afterwards of [undefined, { type: "raw", rawValue: ": ping" }] satisfies ReadonlyArray<Part | undefined>
      ) {
        const { model, seen } = silentAfter(whole, afterwards)
        const events = yield* Agent.stream(Agent.make("assistant"), "Hi").pipe(
          Stream.runCollect,
          Effect.provide(AiSdkModel.layer(model))
        )
        assert.strictEqual(events.at(-1)?._tag, "RunCompleted")
        assert.isFalse(seen.isAborted)
        yield* later
        assert.isTrue(seen.isAborted)
      }
      // One that closes soon may do so, and what a middleware does at the end is done.
      const ends = { isFlushed: false, isAborted: false }
      const closing: LanguageModelV4 = {
        ...saying([]).model,
        doStream: ({ abortSignal }) => {
          abortSignal?.addEventListener("abort", () => ends.isAborted = true)
          const stream = new ReadableStream<Part>({
            start: (controller) => {
              for (const part of whole) controller.enqueue(part)
              setTimeout(() => controller.close(), 50)
            }
          })
          const flush = () => void (ends.isFlushed = true)
          return Promise.resolve({ stream: stream.pipeThrough(new TransformStream<Part, Part>({ flush })) })
        }
      }
      yield* Effect.provide(drain, AiSdkModel.layer(closing))
      assert.deepStrictEqual(ends, { isFlushed: false, isAborted: false })
      yield* later
      assert.deepStrictEqual(ends, { isFlushed: true, isAborted: false })
    }))

  it.effect("leaves the process to others if its stream has parts without end after its finish", () =>
    Effect.gen(function*() {
      const parts: ReadonlyArray<Part> = [...word, { type: "text-end", id: "1" }, { type: "finish", ...finish }]
      const seen = { sent: 0, isCancelled: false }
      const endless: LanguageModelV4 = {
        ...saying([]).model,
        doStream: () =>
          Promise.resolve({
            stream: new ReadableStream<Part>({
              pull: (controller) => {
                // Read without a pause, a stream without end would hold up the test for good.
                if (seen.sent === 100_000) return controller.close()
                controller.enqueue(parts[seen.sent++] ?? { type: "raw", rawValue: ": ping" })
              },
              cancel: () => void (seen.isCancelled = true)
            })
          })
      }
      yield* Effect.provide(drain, AiSdkModel.layer(endless))
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 1_200)))
      assert.isTrue(seen.isCancelled)
      assert.isBelow(seen.sent, 10_000)
    }))

  it.effect("is made again by the agent's retry", () =>
    Effect.gen(function*() {
      const { model } = silentAfter([])
      const { model: speaking } = saying([[{ type: "text", text: "Here." }]])
      let asked = 0
      const late: LanguageModelV4 = {
        ...model,
        doGenerate: (options) => (asked++ === 0 ? model : speaking).doGenerate(options)
      }
      const fiber = yield* Agent.run(Agent.make("assistant", { retry: Schedule.recurs(1) }), "Hi").pipe(
        Effect.provide(AiSdkModel.layer(late, { timeouts: { total: "1 minute" } })),
        Effect.forkChild({ startImmediately: true })
      )
      yield* settle
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(AgentState.text(yield* Fiber.join(fiber)), "Here.")
    }))
})

describe("By the clock of the process", () => {
  const limited = (timeouts: AiSdkModel.Timeouts, parts: ReadonlyArray<Part> = []) => {
    const { model, seen } = silentAfter(parts)
    return { seen, layer: AiSdkModel.layer(model, { timeouts }) }
  }
  const reasonIn = (exit: Exit.Exit<unknown, unknown>) => Exit.isFailure(exit) ? String(exit.cause) : "an answer"

  it.live("a request fails, and is let go of, once a limit is reached", () =>
    Effect.gen(function*() {
      const whole = limited({ total: "20 millis" })
      assert.match(reasonIn(yield* Effect.exit(Effect.provide(generate(), whole.layer))), /took longer than 20ms/)
      assert.isTrue(whole.seen.isAborted)
      const first = limited({ first: "20 millis" })
      assert.match(reasonIn(yield* Effect.exit(Effect.provide(drain, first.layer))), /nothing for 20ms/)
      assert.isTrue(first.seen.isAborted)
      // The limit to the first part is longer than those that follow: the timer that is set for it has to make way.
      const between = limited({ first: "1 hour", between: "20 millis" }, word)
      assert.match(reasonIn(yield* Effect.exit(Effect.provide(drain, between.layer))), /nothing for 20ms/)
      assert.isTrue(between.seen.isAborted)
    }))

  it.live("a request doesn't count the time in which its answer waits to be read", () =>
    Effect.gen(function*() {
      const parts: ReadonlyArray<Part> = [...word, { type: "text-end", id: "1" }, { type: "finish", ...finish }]
      const { model } = silentAfter(parts, undefined, (then) => setTimeout(then, 20))
      const layer = AiSdkModel.layer(model, { timeouts: { first: "800 millis", between: "800 millis" } })
      const slowly = LanguageModel.streamText(ask).pipe(
        Stream.tap(({ type }) => type === "text-start" ? Effect.sleep("900 millis") : Effect.void),
        Stream.runDrain,
        Effect.provide(layer)
      )
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(slowly)))
    }))

  it.live("no timer is left once a request has ended, however it has", () =>
    Effect.gen(function*() {
      const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
      const before = timers()
      const answered = saying([[{ type: "text", text: "Hi" }]])
      yield* Effect.provide(generate(), AiSdkModel.layer(answered.model))
      yield* Effect.exit(Effect.provide(drain, limited({ between: "10 millis" }, word).layer))
      const asking = yield* Effect.forkChild(Effect.provide(generate(), limited({}).layer))
      yield* settle
      yield* Fiber.interrupt(asking)
      assert.isAtMost(timers(), before)
    }))
})

for (const [what, { modelOf }] of Object.entries(providers)) {
  it.effect(`a stream of ${what} that has only comments fails all the same`, () =>
    Effect.gen(function*() {
      const fetch: typeof globalThis.fetch = () => {
        let isGone = false
        const body = new ReadableStream<Uint8Array>({
          pull: (controller) =>
            new Promise((resolve) => {
              setImmediate(() => {
                if (!isGone) controller.enqueue(new TextEncoder().encode(": still here\n\n"))
                resolve()
              })
            }),
          cancel: () => {
            isGone = true
          }
        })
        return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }))
      }
      const { error, seconds } = yield* failing(
        drain,
        AiSdkModel.layer(modelOf({ baseURL: "https://house/v1", fetch }))
      )
      assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["NetworkError", true])
      assert.strictEqual(seconds, 300)
    }))
}
