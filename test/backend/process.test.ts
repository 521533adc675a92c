import { NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AgentState } from "troupe"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { Client, Refused, type Told, type View } from "../../bench/backend/client.ts"
import { type Service, start } from "../../bench/backend/service.ts"
import { folder, postgres } from "./store/backings.ts"

/** A provider of models on a socket, which begins an answer and never ends it, but for the second request. */
const provider = MockProvider.layerServer({
  handler: MockModel.firstOf(
    MockModel.queue(MockResponse.hang("Here", 1), "Here I am."),
    MockModel.make(() => MockResponse.hang("One moment", 1))
  )
}).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })))

/** The service as a process until the scope closes, with the model of that provider. */
const begin = Effect.fnUntraced(function*(
  data: string,
  database: string | undefined,
  port?: number,
  own: Readonly<Record<string, string>> = {}
) {
  const env = {
    DATABASE_URL: database,
    OPENAI_BASE_URL: `${yield* MockProvider.url}/v1`,
    OPENAI_MODEL: "model",
    GRACE: "1 millis",
    LIMIT_WAITING: "10 seconds",
    NODE_COMPILE_CACHE: join(tmpdir(), "troupe-compile-cache"),
    ...own
  }
  return yield* Effect.acquireRelease(
    Effect.promise(() => start(data, port, env)),
    ({ end }) => Effect.promise(() => end("SIGKILL"))
  )
})

const end = (service: Service, signal: NodeJS.Signals) => Effect.promise(() => service.end(signal))

/** Adds the events of a conversation to those that were told. */
const read = (client: Client, id: string, told: Array<Told>, isLast: (event: Told) => boolean) =>
  Effect.promise(() =>
    client.events(id, told.at(-1)?.id ?? 0, (event) => {
      told.push(event)
      return isLast(event)
    })
  )

const isAsking = ({ event }: Told): boolean => event === "ModelCallStarted"

const isDelta = ({ event }: Told): boolean => event.endsWith("Delta")

const isAnswered = ({ event }: Told): boolean => event === "RunCompleted"

/** Checks a conversation that was gone on with: it has its answer, and its events tell of two runs in order. */
const assertAnswered = ({ isRunning, state }: View, told: ReadonlyArray<Told>) => {
  assert.isTrue(Result.isSuccess(AgentState.fromJson(state)))
  assert.isFalse(isRunning)
  assert.deepEqual(
    state.conversation.turns.map(({ _tag, parts }) => [_tag, parts?.map(({ text }) => text).join("")]),
    [["User", "Hello?"], ["Assistant", "Here I am."]]
  )
  assert.deepEqual(told.map(({ id }) => id), told.map(({ id }) => id).toSorted((a, b) => a - b))
  assert.deepEqual(
    told.flatMap(({ event }) => event.startsWith("Run") ? [event] : []),
    ["RunStarted", "RunInterrupted", "RunStarted", "RunCompleted"]
  )
}

it.live("A process that is killed in mid-answer goes on when it starts again, cancels requests to the model, and ends in order", () =>
  Effect.gen(function*() {
    const { place } = yield* folder.make
    const first = yield* begin(place, undefined)
    assert.include(first.greeting, "The model is model of http://127.0.0.1:")
    const client = new Client(first.url)
    const { id } = yield* Effect.promise(() => client.open())
    yield* Effect.promise(() => client.say(id, "Hello?", "once"))
    const told: Array<Told> = []
    yield* read(client, id, told, isAsking)
    yield* MockProvider.wait(1)
    assert.strictEqual(yield* end(first, "SIGKILL"), "SIGKILL")

    const second = yield* begin(place, undefined, Number(new URL(first.url).port))
    // What has no answer is repeated: it was taken in.
    yield* Effect.promise(() => client.say(id, "Hello?", "once"))
    yield* read(client, id, told, isAnswered)
    assertAnswered(yield* Effect.promise(() => client.read(id)), told)

    const ask = (key: string) =>
      Effect.gen(function*() {
        const { cursor } = yield* Effect.promise(() => client.say(id, "And now?", key))
        yield* Effect.promise(() => client.events(id, cursor, isAsking))
      })
    yield* ask("twice")
    assert.isFalse((yield* Effect.promise(() => client.cancel(id))).isRunning)
    const [, , aborted] = yield* MockProvider.wait(3)
    assert.strictEqual(aborted!.outcome, "aborted")

    yield* ask("three times")
    assert.strictEqual(yield* end(second, "SIGTERM"), 0)
    assert.strictEqual(second.log(), "")
  }).pipe(Effect.provide(provider)))

/** How many conversations there are: some of them are on the process that is killed. */
const several = 12

/** A provider whose answers never end until it is told otherwise. */
const makeProvider = () => {
  const may = { answer: false }
  const layer = MockProvider.layerServer({
    handler: MockModel.make(() => may.answer ? "Here I am." : MockResponse.hang("Here", 1))
  }).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })))
  return { may, layer }
}

postgres.describe("Two processes on one Postgres", () => {
  it.live(
    "run a conversation one after the other: the second goes on by itself when the first is killed, and cancels",
    () => {
      const { layer, may } = makeProvider()
      return Effect.gen(function*() {
        const { place: data } = yield* folder.make
        const { place } = yield* postgres.make
        const [first, second] = yield* Effect.all([begin(data, place), begin(data, place)], { concurrency: 2 })
        const [one, other] = [new Client(first.url), new Client(second.url)]
        const ids = yield* Effect.forEach(Array.from({ length: several }), () =>
          Effect.promise(async () => {
            const { id } = await one.open()
            await one.say(id, "Hello?", "once")
            return id
          }), { concurrency: several })
        const told = new Map(ids.map((id) => [id, [] as Array<Told>]))
        for (const id of ids) yield* read(other, id, told.get(id)!, isAsking)
        const [id] = ids
        assert.isTrue((yield* Effect.promise(() => other.read(id!))).isRunning)
        const refused = yield* Effect.promise(() =>
          other.say(id!, "And now?", "twice").catch((error: unknown) => error)
        )
        assert(refused instanceof Refused)
        assert.strictEqual(refused.status, 409)
        assert.include(refused.message, "conversation-busy")

        // Readers on the process that lives follow all of them, whichever process has one.
        const reading = yield* Effect.forEach(
          ids,
          (id) => Effect.forkChild(Effect.as(read(other, id, told.get(id)!, isAnswered), id))
        )
        may.answer = true
        yield* end(first, "SIGKILL")
        const gone = yield* Effect.raceAllFirst(reading.map(Fiber.join))
        const { state } = yield* Effect.promise(() => other.read(gone))
        assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
        // Conversations may have changed places when the processes met, too.
        assert.match(
          told.get(gone)!.flatMap(({ event }) => event.startsWith("Run") ? [event] : []).join(" "),
          /^(RunStarted RunInterrupted )+RunStarted RunCompleted$/
        )
        // What the living one had goes on there, until somebody cancels it.
        for (const id of ids) {
          const { isRunning } = yield* Effect.promise(() => other.cancel(id))
          assert.isFalse(isRunning)
          const numbers = told.get(id)!.filter((event) => !isDelta(event)).map(({ id }) => id)
          assert.deepEqual(numbers, numbers.map((_, at) => at + 1))
        }
        assert.strictEqual(yield* end(second, "SIGTERM"), 0)
        assert.strictEqual(second.log(), "")
      }).pipe(Effect.provide(layer))
    },
    60_000
  )

  it.live("count the runs and the requests of a tenant together", () => {
    const { layer } = makeProvider()
    const limits = { LIMIT_RATE: "15", LIMIT_RUNS: "2" }
    return Effect.gen(function*() {
      const { place: data } = yield* folder.make
      const { place } = yield* postgres.make
      const services = yield* Effect.all([
        begin(data, place, undefined, limits),
        begin(data, place, undefined, limits)
      ], { concurrency: 2 })
      const [one, other] = services.map(({ url }) => new Client(url)) as [Client, Client]
      const attempt = <A>(f: () => Promise<A>) =>
        Effect.promise(() =>
          f().then(() => "accepted", (error: unknown) => error instanceof Refused ? error : "broken")
        )
      const open = Effect.promise(() => one.open())
      const [first, second, third] = yield* Effect.all([open, open, open])
      assert.strictEqual(yield* attempt(() => one.say(first.id, "Hello?", "once")), "accepted")
      assert.strictEqual(yield* attempt(() => other.say(second.id, "Hello?", "once")), "accepted")
      for (const client of [one, other]) {
        const refused = yield* attempt(() => client.say(third.id, "Hello?", "once"))
        assert(refused instanceof Refused)
        assert.strictEqual(refused.status, 429)
        assert.include(refused.message, "2 runs are under way")
      }
      // Seven requests were counted. The bucket fills by one in four seconds meanwhile.
      const answers: Array<unknown> = []
      for (let sent = 0; sent < 24; sent++) {
        answers.push(yield* attempt(() => (sent % 2 === 0 ? one : other).read(first.id)))
      }
      const accepted = answers.filter((answer) => answer === "accepted").length
      assert.isAtLeast(accepted, 7)
      assert.isBelow(accepted, 16)
      for (const refused of answers.slice(-2)) {
        assert(refused instanceof Refused)
        assert.include(refused.message, "15 requests a minute are the limit")
      }
    }).pipe(Effect.provide(layer))
  }, 60_000)
})
