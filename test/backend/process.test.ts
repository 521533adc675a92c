import { NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { Client, isEnd, type Told } from "../../bench/backend/client.ts"
import { type Service, start } from "../../bench/backend/service.ts"

/** A provider of models on a socket, which begins an answer and never ends it, but for the second request. */
const provider = MockProvider.layerServer({
  handler: MockModel.firstOf(
    MockModel.queue(MockResponse.hang("Here", 1), "Here I am."),
    MockModel.make(() => MockResponse.hang("One moment", 1))
  )
}).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })))

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "backend-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

it.live("A process that is killed in mid-answer goes on when it starts again, cancels requests to the model, and ends in order", () =>
  Effect.gen(function*() {
    const env = {
      OPENAI_BASE_URL: `${yield* MockProvider.url}/v1`,
      OPENAI_MODEL: "model",
      GRACE: "1 millis",
      NODE_COMPILE_CACHE: join(tmpdir(), "troupe-compile-cache")
    }
    const data = yield* folder
    const begin = (port?: number) =>
      Effect.acquireRelease(
        Effect.promise(() => start(data, port, env)),
        ({ end }) => Effect.promise(() => end("SIGKILL"))
      )
    const end = (service: Service, signal: NodeJS.Signals) => Effect.promise(() => service.end(signal))

    const first = yield* begin()
    assert.include(first.greeting, "The model is model of http://127.0.0.1:")
    const client = new Client(first.url)
    const { id } = yield* Effect.promise(() => client.open())
    const { cursor } = yield* Effect.promise(() => client.say(id, "Hello?", "once"))
    const told: Array<Told> = []
    const read = (isLast: (event: Told) => boolean, of = id) =>
      Effect.promise(() =>
        client.events(of, told.at(-1)?.id ?? cursor, (event) => {
          told.push(event)
          return isLast(event)
        })
      )
    yield* read(({ event }) => event === "ModelCallStarted")
    yield* MockProvider.wait(1)
    assert.strictEqual(yield* end(first, "SIGKILL"), "SIGKILL")

    const second = yield* begin(Number(new URL(first.url).port))
    // What has no answer is repeated: it was taken in.
    yield* Effect.promise(() => client.say(id, "Hello?", "once"))
    yield* read(isEnd)
    assert.deepEqual(told.map(({ id }) => id), told.map(({ id }) => id).toSorted((a, b) => a - b))
    assert.strictEqual(told.filter(({ event }) => event === "RunStarted").length, 2)
    const { state } = yield* Effect.promise(() => client.read(id))
    assert.deepEqual(
      state.conversation.turns.map(({ _tag, parts }) => [_tag, parts?.map(({ text }) => text).join("")]),
      [["User", "Hello?"], ["Assistant", "Here I am."]]
    )

    const ask = (key: string) =>
      Effect.gen(function*() {
        const { cursor } = yield* Effect.promise(() => client.say(id, "And now?", key))
        told.length = 0
        yield* Effect.promise(() => client.events(id, cursor, ({ event }) => event === "ModelCallStarted"))
      })
    yield* ask("twice")
    assert.isFalse((yield* Effect.promise(() => client.cancel(id))).isRunning)
    const [, , aborted] = yield* MockProvider.wait(3)
    assert.strictEqual(aborted!.outcome, "aborted")

    yield* ask("three times")
    assert.strictEqual(yield* end(second, "SIGTERM"), 0)
    assert.strictEqual(second.log(), "")
  }).pipe(Effect.provide(provider)))
