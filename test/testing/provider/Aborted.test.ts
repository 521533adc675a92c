/** Clients that give up: what they asked for ends, before the response and in the middle of it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { anthropicOf, openaiOf, rejection, served } from "./serve.ts"

setFlagsFromString("--expose-gc")
const gc: () => void = runInNewContext("gc")

const turn = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 0)))

/** Lets what nobody holds be gone. */
const collect = Effect.gen(function*() {
  for (let round = 0; round < 3; round++) {
    yield* turn
    gc()
  }
})

const path = "http://mock/v1/chat/completions"

const messages = [{ role: "user" as const, content: "Hello" }]

const body = (stream: boolean) => JSON.stringify({ model: "any", messages, stream })

/** The ways in which a request is given its signal. */
const ways = {
  "beside it": (fetch: MockProvider.Provider["fetch"], stream: boolean, signal: AbortSignal) =>
    fetch(path, { method: "POST", body: body(stream), signal }),
  "with it": (fetch: MockProvider.Provider["fetch"], stream: boolean, signal: AbortSignal) =>
    fetch(new Request(path, { method: "POST", body: body(stream), signal }))
}

/** What a client streams. */
type Streamed = AsyncIterable<unknown> & { readonly controller: AbortController }

const enough = new Error("enough")

const outcomes = ({ entries }: MockProvider.Provider) => Effect.map(entries, (all) => all.map(({ outcome }) => outcome))

describe("A request whose signal is aborted", () => {
  for (const [way, ask] of Object.entries(ways)) {
    it.live(`rejects before its response, whoever holds it, with a signal ${way}`, () =>
      Effect.gen(function*() {
        const provider = MockProvider.make({ handler: MockModel.make(() => Effect.never) })
        const controller = new AbortController()
        const error = yield* Effect.forkChild(rejection(() => ask(provider.fetch, false, controller.signal)), {
          startImmediately: true
        })
        yield* provider.wait(1)
        yield* collect
        controller.abort(enough)
        assert.strictEqual(yield* Fiber.join(error), enough)
        assert.deepStrictEqual(yield* outcomes(provider), ["aborted"])
      }), 15_000)

    it.live(
      `rejects in the middle of its response, whoever holds it, with a signal ${way}`,
      () =>
        Effect.gen(function*() {
          const provider = MockProvider.make({ handler: MockModel.make(() => MockResponse.hang("one two", 2)) })
          const controller = new AbortController()
          const response = yield* Effect.promise(() => ask(provider.fetch, true, controller.signal))
          const error = yield* Effect.forkChild(rejection(() => response.text()), { startImmediately: true })
          yield* collect
          assert.deepStrictEqual(yield* outcomes(provider), ["hanging"])
          controller.abort(enough)
          assert.strictEqual(yield* Fiber.join(error), enough)
          assert.deepStrictEqual(yield* outcomes(provider), ["aborted"])
        }),
      15_000
    )
  }

  it.live("breaks a response off that isn't read, too, and none that is over", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ handler: MockModel.make(() => "one two three") })
      const controller = new AbortController()
      const ask = () => ways["beside it"](provider.fetch, true, controller.signal)
      const read = yield* Effect.promise(async () => (await ask()).text())
      const unread = yield* Effect.promise(ask)
      controller.abort(enough)
      assert.strictEqual(yield* rejection(() => unread.text()), enough)
      assert.include(read, "[DONE]")
      assert.deepStrictEqual(yield* outcomes(provider), ["sent", "aborted"])
    }), 15_000)

  it.live("lets the clients of the providers stop a stream in which nothing follows", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ handler: MockModel.make(() => MockResponse.hang("one two three", 2)) })
      const ask = { model: "any", messages, max_tokens: 9 }
      const streams: ReadonlyArray<PromiseLike<Streamed>> = [
        openaiOf(provider.fetch).chat.completions.create({ ...ask, stream: true }),
        openaiOf(provider.fetch).responses.create({ model: "any", input: "Hello", stream: true }),
        anthropicOf(provider.fetch).messages.create({ ...ask, stream: true })
      ]
      for (const opened of streams) {
        const stream = yield* Effect.promise(() => opened)
        let heard = 0
        const read = yield* Effect.forkChild(
          Effect.promise(async () => {
            for await (const _ of stream) heard++
          }),
          { startImmediately: true }
        )
        yield* collect
        stream.controller.abort()
        yield* Fiber.join(read)
        assert.isAbove(heard, 1)
      }
      assert.deepStrictEqual(yield* outcomes(provider), ["aborted", "aborted", "aborted"])
    }), 15_000)
})

describe("A client of a server that gives up", () => {
  it.live("ends the handler before its response, and lets the server be closed", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const asked = Effect.gen(function*() {
        const url = yield* MockProvider.url
        const controller = new AbortController()
        const options = { method: "POST", body: body(false), signal: controller.signal }
        const error = yield* Effect.forkChild(rejection(() => fetch(`${url}/v1/chat/completions`, options)))
        yield* MockProvider.wait(1)
        controller.abort(enough)
        assert.strictEqual(yield* Fiber.join(error), enough)
        yield* Deferred.await(ended)
        yield* turn
        assert.deepStrictEqual(yield* outcomes(yield* MockProvider.MockProvider), ["aborted"])
      })
      const handler = MockModel.make(() => Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined)))
      const exit = yield* Effect.exit(Effect.provide(asked, served({ handler })))
      assert.isTrue(Exit.isSuccess(exit), String(exit))
    }), 15_000)
})
