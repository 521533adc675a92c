import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent } from "troupe"
import { Conversation, ConversationStore } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { LogWriter } from "../../src/cluster/LogWriter.ts"
import { times } from "../matrix.ts"
import { makeCluster } from "./runners.ts"

const emptyStore = Effect.map(
  Layer.build(Layer.fresh(ConversationStore.layerMemory)),
  (context) => Context.get(context, ConversationStore.ConversationStore)
)

/** How long each entry is. */
const entrySize = 200

/**
 * Writes so many events, two in an entry. Gives how many entries are read to open the log, and how many characters all entries, all
 * snapshots and the last snapshot have. Without `size` the state grows by each entry. After so many entries another owner follows.
 */
const write = Effect.fnUntraced(function*(events: number, size?: number, entriesOfOwner = Infinity) {
  const store = yield* emptyStore
  let snapshots = 0
  const counting = {
    ...store,
    saveSnapshot: (...args: Parameters<typeof store.saveSnapshot>) =>
      Effect.suspend(() => {
        snapshots += args[2].text.length
        return store.saveSnapshot(...args)
      })
  }
  const open = Effect.map(store.claim("a"), (claimed) => new LogWriter({ id: "a", store: counting }, claimed))
  let writer = yield* open
  let state = "-".repeat(size ?? 0)
  for (let lastEvent = 2; lastEvent <= events; lastEvent += 2) {
    const text = `entry ${lastEvent} `.padEnd(entrySize, "-")
    if (size === undefined) state += text
    yield* writer.write({ text, lastEvent, taken: undefined, answered: undefined, answer: undefined })
    yield* writer.snapshot(() => state, lastEvent)
    if (lastEvent % (2 * entriesOfOwner) !== 0) continue
    yield* writer.end(() => state, lastEvent)
    writer = yield* open
  }
  const { entries, snapshot } = yield* store.claim("a")
  return { read: entries.length, snapshots, log: events / 2 * entrySize, last: snapshot?.text.length ?? 0 }
})

const Hello = Conversation.make("Desk", Agent.make("clerk"), { keepEvents: 8 })
const model = MockModel.layer(MockModel.make(({ lastUserText }) => `You said ${lastUserText}.`))

describe("The log of a conversation", () => {
  it.effect("is opened by few entries, or by half as much as its state has", () =>
    Effect.gen(function*() {
      for (const size of [undefined, 0, 1000, 100_000]) {
        for (const events of [600, 3000, 10_000, 10_250]) {
          for (const entriesOfOwner of [Infinity, 3]) {
            const { last, read } = yield* write(events, size, entriesOfOwner)
            assert.isAtMost(read, Math.max(256, last / 2 / entrySize), `${events} events, a state of ${size}`)
          }
        }
      }
    }))

  it.effect("stores states that together are some times as long as it, however long it is", () =>
    Effect.gen(function*() {
      for (const events of [3000, 10_000, times(40_000, 20_000)]) {
        for (const entriesOfOwner of [Infinity, 1, 5]) {
          const { log, snapshots } = yield* write(events, undefined, entriesOfOwner)
          assert.isAbove(snapshots, 0)
          assert.isAtMost(snapshots, 3 * log, `${events} events, an owner for each ${entriesOfOwner} entries`)
        }
      }
    }))

  it.live("is shortened to its newest events if that is wanted, and says up to where others are gone", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const say = (runner: Effect.Success<ReturnType<typeof cluster.start>>, text: string) =>
        Effect.flatMap(runner.provide(Hello.client), (client) => client("1").say(text, { key: text }))
      const one = yield* cluster.start(Hello.layer, model)
      const first = yield* say(one, "one")
      yield* say(one, "two")
      const last = yield* say(one, "three")
      yield* one.end
      const { entries, snapshot } = yield* cluster.store.claim("Desk/1")
      assert.isDefined(snapshot)
      assert.strictEqual(entries.length, 0)
      const two = yield* cluster.start(Hello.layer, model)
      const chat = (yield* two.provide(Hello.client))("1")
      const gone = yield* Effect.flip(Stream.runDrain(chat.events()))
      assert.strictEqual(gone._tag, "ConversationError")
      const reason = gone._tag === "ConversationError" ? gone.reason : undefined
      const until = reason?._tag === "EventsGone" ? reason.until : 0
      assert.isAbove(until, first.cursor - 1)
      const told = yield* chat.events({ after: until }).pipe(
        Stream.takeUntil(({ cursor }) => cursor === last.cursor),
        Stream.runCollect
      )
      assert.deepStrictEqual(told.map(({ cursor }) => cursor), told.map((_, at) => until + 1 + at))
      assert.isAtLeast(told.length, 8)
      const turns = (yield* chat.state).conversation.turns.length
      assert.strictEqual(turns, 6)
      const again = yield* chat.begin({ _tag: "Say", input: "one" }, { key: "one" })
      assert.isFalse(again.isNew)
      const missed = yield* Effect.flip(Stream.runDrain(chat.events({ after: again.cursor })))
      assert.strictEqual(missed._tag === "ConversationError" && missed.reason._tag, "EventsGone")
      assert.deepStrictEqual(yield* say(two, "one"), first)
      assert.strictEqual((yield* say(two, "four")).text, "You said four.")
    }))
})

describe("A handler that talks to its own conversation", () => {
  it.live("is refused where it would wait for itself, and may post to it or wait for another", () => {
    const Ask = Tool.make("ask", { success: Schema.Array(Schema.String) })
    const Kit = Toolkit.make(Ask)
    const Desk = Conversation.make("Desk", Agent.make("clerk", { toolkit: Kit }))
    const script = MockModel.make(({ lastToolResults: [result], lastUserText }) =>
      result !== undefined
        ? JSON.stringify(result.result)
        : lastUserText === "ask"
        ? MockResponse.toolCall("ask", {})
        : `You said ${lastUserText}.`
    )
    return Effect.gen(function*() {
      const cluster = yield* makeCluster
      const clients = yield* Deferred.make<(id: string) => Conversation.Client>()
      const handler = Effect.gen(function*() {
        const client = yield* Deferred.await(clients)
        const chat = client("1")
        const asked = [
          chat.say("Hi"),
          chat.resume(),
          chat.approve("x"),
          chat.deny("x", "no"),
          chat.fork("2"),
          chat.remove
        ]
        const refused = yield* Effect.forEach(asked, (ask) => Effect.flip(Effect.asVoid(ask)))
        yield* chat.post("Later", { key: "m2" })
        const other = yield* client("2").say("Hi")
        return [...refused.map((error) => error._tag === "ConversationError" ? error.reason._tag : ""), other.text]
      })
      const needs = Layer.merge(Kit.toLayer({ ask: () => Effect.orDie(handler) }), MockModel.layer(script))
      const runner = yield* cluster.start(Desk.layer, needs)
      const client = yield* runner.provide(Desk.client)
      yield* Deferred.succeed(clients, client)
      const answer = yield* client("1").say("ask", { key: "m1" })
      assert.deepStrictEqual(JSON.parse(answer.text), [
        ...Array.from({ length: 6 }, () => "WaitsForItself"),
        "You said Hi."
      ])
      assert.strictEqual((yield* client("1").say("Later", { key: "m2" })).text, "You said Later.")
    })
  })
})
