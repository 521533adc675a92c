import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Latch, Layer, Ref, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Sharding } from "effect/cluster"
import { SqlClient } from "effect/sql"
import { Agent, Guardrail } from "troupe"
import { Conversation, ConversationStore } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { single } from "../../examples/backend/cluster.ts"
import { sqlite } from "./databases.ts"
import { changedStore, makeCluster, withRunner } from "./runners.ts"

const Pay = Tool.make("pay", { success: Schema.String, needsApproval: true })
const Kit = Toolkit.make(Pay)
const clerk = Agent.make("clerk", { toolkit: Kit })
const handlers = Kit.toLayer({ pay: () => Effect.succeed("paid") })

/** A model that waits until it may answer, and says when it was asked. */
const gate = Effect.gen(function*() {
  const asked = yield* Deferred.make<void>()
  const may = yield* Deferred.make<void>()
  const model = MockModel.make(({ lastUserText }) =>
    Effect.as(
      Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(may)),
      `You said ${lastUserText}.`
    )
  )
  return { asked: Deferred.await(asked), go: Deferred.succeed(may, undefined), model }
})

const reasonOf = (error: unknown) => error instanceof Conversation.ConversationError ? error.reason._tag : error

/** Waits until nothing is under way. */
const idle = (chat: Conversation.Client) => Effect.repeat(chat.view, { until: ({ isRunning }) => !isRunning })

describe("What a conversation takes in at once", () => {
  it.live("is stopped without waiting for the messages behind it", () =>
    Effect.gen(function*() {
      const { asked, go, model } = yield* gate
      const Desk = Conversation.make("Desk", clerk)
      // What is stored of the first message is read slowly, so the second one is under way before its end is seen.
      const slow = changedStore(({ find }) => ({
        find: (id, key) => Effect.delay(find(id, key), key === "m1" ? 30 : 0)
      }))
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        yield* chat.post("Hello", { key: "m1" })
        yield* asked
        yield* chat.post("And then?", { key: "m2" })
        assert.strictEqual(yield* Effect.timeout(chat.stop, "2 seconds"), true)
        yield* go
        assert.strictEqual((yield* chat.say("Hello", { key: "m1" })).status, "Cancelled")
        assert.strictEqual((yield* chat.say("And then?", { key: "m2" })).status, "Complete")
      }).pipe(Effect.provide(withRunner(Desk.layer, Layer.merge(handlers, MockModel.layer(model)), slow)))
    }))

  for (const when of ["is looked up", "runs"] as const) {
    it.live(`is stopped, and what it waits for too, if that ${when} when the stop comes`, () =>
      Effect.gen(function*() {
        const { asked, model } = yield* gate
        const [looked, may] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const slow = changedStore(({ find }) => ({
          find: (id, key) =>
            key === "m1" && !Deferred.isDoneUnsafe(may)
              ? Deferred.succeed(looked, undefined).pipe(
                Effect.andThen(Deferred.await(may)),
                Effect.andThen(find(id, key))
              )
              : find(id, key)
        }))
        const Desk = Conversation.make("Desk", clerk)
        yield* Effect.gen(function*() {
          const chat = (yield* Desk.client)("1")
          yield* chat.post("Hello", { key: "m1" })
          yield* Deferred.await(looked)
          const beginning = yield* Effect.forkChild(chat.begin({ _tag: "Say", input: "And then?" }, { key: "m2" }))
          yield* Effect.repeat(chat.view, { until: ({ isRunning }) => isRunning })
          if (when === "runs") yield* Effect.andThen(Deferred.succeed(may, undefined), asked)
          const stopping = yield* Effect.forkChild(chat.stop, { startImmediately: true })
          // A conversation gets requests in order, so it has the one to stop when it answers this one.
          yield* chat.view
          yield* Deferred.succeed(may, undefined)
          assert.isTrue(yield* Effect.timeout(Fiber.join(stopping), "2 seconds"))
          assert.isTrue((yield* Fiber.join(beginning)).isNew)
          const { isRunning, state } = yield* chat.view
          assert.deepStrictEqual([isRunning, state.conversation.turns.map(({ _tag }) => _tag)], [false, [
            "User",
            "User"
          ]])
          assert.strictEqual((yield* chat.say("Hello", { key: "m1" })).status, "Cancelled")
        }).pipe(Effect.provide(withRunner(Desk.layer, Layer.merge(handlers, MockModel.layer(model)), slow)))
      }))
  }

  it.live("is answered if it is cancelled before anything is stored, so its key needn't be kept as cancelled", () =>
    Effect.gen(function*() {
      const before = yield* Deferred.make<void>()
      const Desk = Conversation.make("Desk", clerk, {
        around: () => (run) => Effect.andThen(Deferred.succeed(before, undefined), Effect.andThen(Effect.never, run))
      })
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        const hello = { _tag: "Say", input: "Hello" } as const
        const beginning = yield* Effect.forkChild(Effect.flip(chat.begin(hello, { key: "m1" })))
        yield* Deferred.await(before)
        assert.isTrue(yield* chat.cancel("m1"))
        const first = yield* Fiber.join(beginning)
        const { answer } = yield* (yield* ConversationStore.ConversationStore).find("Desk/1", "m1")
        assert.include(answer, "Cancelled")
        for (const refused of [first, yield* Effect.flip(chat.begin(hello, { key: "m1" }))]) {
          assert.strictEqual(reasonOf(refused), "NotBegun")
          assert.include(refused.message, "its key was cancelled")
        }
      }).pipe(Effect.provide(withRunner(Desk.layer, Layer.merge(handlers, MockModel.layer(MockModel.queue())))))
    }))

  it.live("isn't called cancelled if something else interrupts its run", () => {
    const Desk = Conversation.make("Desk", clerk, { around: () => () => Effect.interrupt })
    return Effect.gen(function*() {
      const refused = yield* Effect.flip((yield* Desk.client)("1").begin({ _tag: "Say", input: "Hello" }))
      assert.strictEqual(reasonOf(refused), "NotBegun")
      assert.include(refused.message, "its run was interrupted")
    }).pipe(Effect.provide(withRunner(Desk.layer, Layer.merge(handlers, MockModel.layer(MockModel.queue())))))
  })

  it.live("is refused under a key that was cancelled before also when the events of that time are gone", () =>
    Effect.gen(function*() {
      const { asked, model } = yield* gate
      const Desk = Conversation.make("Desk", clerk, { keepEvents: 0 })
      const cluster = yield* makeCluster
      const hello = { _tag: "Say", input: "Hello" } as const
      const one = yield* cluster.start(Desk.layer, Layer.merge(handlers, MockModel.layer(model)))
      const first = (yield* one.provide(Desk.client))("1")
      yield* first.cancel("m1")
      assert.strictEqual((yield* first.say("Hello", { key: "m1" })).status, "Cancelled")
      yield* first.begin(hello, { key: "m2" })
      yield* asked
      yield* first.stop
      yield* one.end
      for (const key of ["m1", "m2"]) {
        assert.strictEqual((yield* cluster.store.find("Desk/1", key)).taken?.text, "")
      }
      const two = yield* cluster.start(Desk.layer, Layer.merge(handlers, MockModel.layer(model)))
      const chat = (yield* two.provide(Desk.client))("1")
      assert.strictEqual(reasonOf(yield* Effect.flip(chat.begin(hello, { key: "m1" }))), "NotBegun")
      // This one had begun when it was cancelled.
      assert.isFalse((yield* chat.begin(hello, { key: "m2" })).isNew)
    }))

  it.live("has begun under its key also when it was cancelled in the same moment and its entry is gone", () =>
    Effect.gen(function*() {
      const Desk = Conversation.make("Desk", clerk, { keepEvents: 0 })
      const two = MockModel.queue(MockResponse.all(
        MockResponse.toolCall("pay", {}, { id: "p1" }),
        MockResponse.toolCall("pay", {}, { id: "p2" })
      ))
      const needs = Layer.merge(handlers, MockModel.layer(two))
      const { start, store } = yield* makeCluster
      const [storing, looked] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { append, find } = store
      Object.assign(store, {
        find: (id: string, key: string) =>
          Effect.tap(
            find(id, key),
            () => Deferred.isDoneUnsafe(storing) ? Deferred.succeed(looked, undefined) : Effect.void
          ),
        append: (entry: ConversationStore.Append) =>
          entry.taken !== "k1" ? append(entry) : Deferred.succeed(storing, undefined).pipe(
            Effect.andThen(Deferred.await(looked)),
            Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 50 })),
            Effect.andThen(append(entry))
          )
      })
      const one = yield* start(Desk.layer, needs)
      const first = (yield* one.provide(Desk.client))("1")
      const { pending } = yield* first.say("Hello", { key: "m1" })
      const approval = { _tag: "Approve", callId: pending[0]!.callId, together: true } as const
      const beginning = yield* Effect.forkChild(first.begin(approval, { key: "k1" }))
      yield* Deferred.await(storing)
      assert.isTrue(yield* first.cancel("k1"))
      assert.isTrue((yield* Fiber.join(beginning)).isNew)
      const answer = yield* first.say("Hello", { key: "k1" })
      assert.deepStrictEqual([answer.status, answer.pending.length], ["Cancelled", 1])
      assert.notProperty(answer, "hasBegun")
      yield* one.end
      assert.deepStrictEqual((yield* store.find("Desk/1", "k1")).taken, { lastEvent: answer.cursor, text: "" })
      const next = yield* start(Desk.layer, needs)
      const chat = (yield* next.provide(Desk.client))("1")
      const { cursor, isNew } = yield* chat.begin(approval, { key: "k1" })
      assert.isFalse(isNew)
      assert.strictEqual(reasonOf(yield* Effect.flip(Stream.runDrain(chat.events({ after: cursor })))), "EventsGone")
    }))

  it.live("is in the log when it is answered, once for each key, and refused while something is under way", () =>
    Effect.gen(function*() {
      const { asked, go, model } = yield* gate
      const Desk = Conversation.make("Desk", clerk, { tellsStarts: true })
      const runner = yield* (yield* makeCluster).start(Desk.layer, Layer.merge(handlers, MockModel.layer(model)))
      const chat = (yield* runner.provide(Desk.client))("1")
      const hello = { _tag: "Say", input: "Hello" } as const
      assert.deepStrictEqual(yield* chat.begin(hello, { key: "m1" }), { cursor: 0, isNew: true })
      yield* asked
      const { cursor, isRunning, state } = yield* chat.view
      assert.isTrue(isRunning)
      assert.strictEqual(state.conversation.turns[0]?._tag, "User")
      // That the model is asked is told while it is.
      const told = yield* chat.events().pipe(Stream.takeUntil((told) => told.cursor === cursor), Stream.runCollect)
      assert.strictEqual(told.at(-1)?.event._tag, "ModelCallStarted")
      assert.strictEqual(reasonOf(yield* Effect.flip(chat.begin(hello, { key: "m2" }))), "ConversationBusy")
      // A caller that asks again gets the cursor that it got first, so its reader misses nothing, and waits for nothing that was told.
      assert.deepStrictEqual(yield* chat.begin(hello, { key: "m1" }), { cursor: 0, isNew: false })
      yield* go
      const after = yield* idle(chat)
      assert.strictEqual(after.state.conversation.turns.length, 2)
      assert.deepStrictEqual(yield* chat.begin(hello, { key: "m1" }), { cursor: 0, isNew: false })
      assert.deepStrictEqual(yield* chat.begin(hello, { key: "m2" }), { cursor: after.cursor, isNew: true })
      assert.strictEqual((yield* idle(chat)).state.conversation.turns.length, 4)
      const again = yield* chat.begin(hello, { key: "m2" })
      assert.deepStrictEqual(again, { cursor: after.cursor, isNew: false })
      const run = yield* chat.events({ after: again.cursor }).pipe(
        Stream.takeUntil(({ event }) => event._tag === "RunCompleted"),
        Stream.runCollect
      )
      assert.strictEqual(run[0]?.event._tag, "RunStarted")
    }))

  it.live("goes on at the next runner, and is stopped whichever message it is", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const Desk = Conversation.make("Desk", clerk)
      const first = yield* gate
      const dying = yield* cluster.start(Desk.layer, Layer.merge(handlers, MockModel.layer(first.model)))
      const before = (yield* dying.provide(Desk.client))("1")
      yield* before.begin({ _tag: "Say", input: "Hello" }, { key: "m1" })
      yield* first.asked
      yield* dying.die
      const second = yield* gate
      const living = yield* cluster.start(Desk.layer, Layer.merge(handlers, MockModel.layer(second.model)))
      const chat = (yield* living.provide(Desk.client))("1")
      yield* second.asked
      assert.isTrue(yield* chat.stop)
      assert.deepInclude(yield* chat.view, { isRunning: false })
      assert.isFalse(yield* chat.stop)
      yield* second.go
      yield* chat.begin({ _tag: "Resume" })
      const { state } = yield* idle(chat)
      assert.strictEqual(state.conversation.turns.at(-1)?._tag, "Assistant")
    }), 20_000)

  it.live("is in the log also when it is stopped while it is being taken in, and can be resumed", () =>
    Effect.gen(function*() {
      const inner = yield* Effect.map(
        Layer.build(ConversationStore.layerMemory),
        Context.get(ConversationStore.ConversationStore)
      )
      const [looked, may] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let looks = 0
      // The first look at a key is that of the request, the second that of the message which runs it.
      const find: ConversationStore.Service["find"] = (id, key) =>
        ++looks === 2
          ? Deferred.succeed(looked, undefined).pipe(
            Effect.andThen(Deferred.await(may)),
            Effect.andThen(inner.find(id, key))
          )
          : inner.find(id, key)
      const Desk = Conversation.make("Desk", clerk)
      const layer = Desk.layer.pipe(
        Layer.provide(Layer.succeed(ConversationStore.ConversationStore, { ...inner, find }))
      )
      const { go, model } = yield* gate
      const runner = yield* (yield* makeCluster).start(layer, Layer.merge(handlers, MockModel.layer(model)))
      const chat = (yield* runner.provide(Desk.client))("1")
      const hello = { _tag: "Say", input: "Hello" } as const
      const beginning = yield* Effect.forkChild(chat.begin(hello, { key: "m1" }), { startImmediately: true })
      yield* Deferred.await(looked)
      const stopping = yield* Effect.forkChild(chat.stop, { startImmediately: true })
      // A conversation gets requests in order, so it has the one to stop when it answers this one.
      yield* chat.view
      yield* Deferred.succeed(may, undefined)
      assert.deepStrictEqual(yield* Fiber.join(beginning), { cursor: 0, isNew: true })
      assert.isTrue(yield* Fiber.join(stopping))
      const { cursor, isRunning, state } = yield* chat.view
      assert.deepStrictEqual([isRunning, state.conversation.turns.map(({ _tag }) => _tag)], [false, ["User"]])
      assert.isAbove(cursor, 0)
      yield* go
      yield* chat.begin({ _tag: "Resume" })
      assert.strictEqual((yield* idle(chat)).state.conversation.turns.at(-1)?._tag, "Assistant")
    }))

  it.live("is refused, with its key unused, if it is stopped while its run is held back", () =>
    Effect.gen(function*() {
      const [held, may] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const Desk = Conversation.make("Desk", clerk, {
        around: () => (run) =>
          Deferred.succeed(held, undefined).pipe(Effect.andThen(Deferred.await(may)), Effect.andThen(run))
      })
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        const hello = { _tag: "Say", input: "Hello" } as const
        const beginning = yield* Effect.forkChild(Effect.flip(chat.begin(hello, { key: "m1" })))
        yield* Deferred.await(held)
        assert.isTrue(yield* chat.stop)
        const refused = yield* Fiber.join(beginning)
        assert.strictEqual(reasonOf(refused), "NotBegun")
        assert.include(refused.message, "it was stopped before it was stored")
        assert.deepInclude(yield* chat.view, { isRunning: false, cursor: 0 })
        yield* Deferred.succeed(may, undefined)
        assert.deepStrictEqual(yield* chat.begin(hello, { key: "m1" }), { cursor: 0, isNew: true })
        assert.strictEqual((yield* idle(chat)).state.conversation.turns.length, 2)
      }).pipe(
        Effect.provide(withRunner(Desk.layer, Layer.merge(handlers, MockModel.layer(MockModel.queue("Hello.")))))
      )
    }))

  it.live("is in the log also when it is stopped while a guardrail looks at it", () =>
    Effect.gen(function*() {
      const looking = yield* Deferred.make<void>()
      let isSlow = true
      const slow = Guardrail.make(
        "slow",
        () =>
          isSlow
            ? Effect.andThen(Deferred.succeed(looking, undefined), Effect.never)
            : Effect.succeed(Guardrail.pass)
      )
      const Desk = Conversation.make("Desk", Agent.make("clerk", { guardrails: { input: [slow] } }))
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        const beginning = yield* Effect.forkChild(chat.begin({ _tag: "Say", input: "Hello" }, { key: "m1" }))
        yield* Deferred.await(looking)
        assert.isTrue(yield* chat.stop)
        assert.isTrue((yield* Fiber.join(beginning)).isNew)
        isSlow = false
        yield* chat.begin({ _tag: "Resume" })
        const { state } = yield* idle(chat)
        assert.deepStrictEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
      }).pipe(Effect.provide(withRunner(Desk.layer, MockModel.layer(MockModel.queue("Hello.")))))
    }))

  it.live("is one message for all that send its key at once, also while the log is being looked through", () =>
    Effect.gen(function*() {
      const inner = yield* Effect.map(
        Layer.build(ConversationStore.layerMemory),
        Context.get(ConversationStore.ConversationStore)
      )
      const find: ConversationStore.Service["find"] = (id, key) => Effect.delay(inner.find(id, key), "20 millis")
      const Desk = Conversation.make("Desk", clerk)
      const layer = Desk.layer.pipe(
        Layer.provide(Layer.succeed(ConversationStore.ConversationStore, { ...inner, find }))
      )
      const model = MockModel.make(() => "An answer.")
      const runner = yield* (yield* makeCluster).start(layer, Layer.merge(handlers, MockModel.layer(model)))
      const chat = (yield* runner.provide(Desk.client))("1")
      const begin = chat.begin({ _tag: "Say", input: "Hello" }, { key: "m1" })
      const begun = yield* Effect.all([begin, begin, Effect.delay(begin, "30 millis")], { concurrency: "unbounded" })
      assert.deepStrictEqual(begun.map(({ cursor }) => cursor), [0, 0, 0])
      assert.lengthOf(begun.filter(({ isNew }) => isNew), 1)
      assert.strictEqual((yield* idle(chat)).state.conversation.turns.length, 2)
    }))

  it.live("is refused, with its key unused, where the conversation can't be opened or the key was cancelled", () =>
    Effect.gen(function*() {
      let isBroken = true
      const services = Effect.suspend(() => isBroken ? Effect.die(new Error("a bug")) : Effect.succeed(Context.empty()))
      const Desk = Conversation.make("Desk", clerk, { services: () => services })
      const model = MockModel.make(() => "An answer.")
      const runner = yield* (yield* makeCluster).start(Desk.layer, Layer.merge(handlers, MockModel.layer(model)))
      const chat = (yield* runner.provide(Desk.client))("1")
      const hello = { _tag: "Say", input: "Hello" } as const
      for (const _ of [1, 2]) {
        const refused = yield* Effect.flip(chat.begin(hello, { key: "m1" }))
        assert.strictEqual(reasonOf(refused), "NotBegun")
        assert.include(refused.message, "a bug")
      }
      isBroken = false
      yield* chat.cancel("m2")
      for (const _ of [1, 2]) {
        assert.strictEqual(reasonOf(yield* Effect.flip(chat.begin(hello, { key: "m2" }))), "NotBegun")
      }
      assert.strictEqual((yield* chat.view).state.conversation.turns.length, 0)
      assert.deepStrictEqual(yield* chat.begin(hello, { key: "m1" }), { cursor: 0, isNew: true })
      assert.strictEqual((yield* idle(chat)).state.conversation.turns.length, 2)
    }))

  it.live("answers calls together where that is wanted, and tells who asks for a call that isn't there", () =>
    Effect.gen(function*() {
      const call = (id: string) => MockResponse.toolCall("pay", {}, { id })
      const Desk = Conversation.make("Desk", clerk)
      const model = MockModel.queue(MockResponse.all(call("a"), call("b")), "Done.")
      const runner = yield* (yield* makeCluster).start(Desk.layer, Layer.merge(handlers, MockModel.layer(model)))
      const chat = (yield* runner.provide(Desk.client))("1")
      yield* chat.begin({ _tag: "Say", input: "Pay" })
      const { cursor } = yield* idle(chat)
      const unknown = yield* Effect.flip(chat.begin({ _tag: "Approve", callId: "c" }))
      assert.strictEqual(reasonOf(unknown), "NotAwaitingApproval")
      yield* chat.begin({ _tag: "Deny", callId: "a", reason: "no", together: true })
      const denied = yield* idle(chat)
      assert.strictEqual(denied.cursor, cursor + 1)
      yield* chat.begin({ _tag: "Approve", callId: "b", together: true })
      assert.strictEqual((yield* idle(chat)).state.status._tag, "Complete")
    }))

  it.live("is stored as the guardrails let it pass, and nowhere before", () =>
    Effect.gen(function*() {
      const masked = Agent.make("clerk", {
        guardrails: {
          input: [Guardrail.make("mask", (text) => Guardrail.replace(text.replace("4111", "****"), "a card"))]
        }
      })
      const Desk = Conversation.make("Desk", masked)
      const cluster = Layer.provideMerge(Layer.merge(single, ConversationStore.layerSql()), sqlite)
      const context = yield* Layer.build(
        Desk.layer.pipe(
          Layer.provide(MockModel.layer(MockModel.queue("Thank you."))),
          Layer.provideMerge(cluster)
        )
      )
      const sql = Context.get(context, SqlClient.SqlClient)
      const chat =
        (yield* Effect.provideService(Desk.client, Sharding.Sharding, Context.get(context, Sharding.Sharding)))(
          "1"
        )
      yield* chat.begin({ _tag: "Say", input: "My card is 4111 1111" })
      yield* idle(chat)
      const texts = yield* Effect.all([
        sql`SELECT payload FROM cluster_messages`,
        sql`SELECT payload FROM cluster_replies`,
        sql`SELECT text, answer FROM troupe_conversation_log`
      ])
      assert.isAbove(texts[0].length, 0)
      assert.include(JSON.stringify(texts), "My card is ****")
      assert.notInclude(JSON.stringify(texts), "4111 1111")
    }))
})

describe("A conversation", () => {
  it.live("has services of its own, with something around each run, and ends its readers when it is removed", () =>
    Effect.gen(function*() {
      const runs = yield* Ref.make<ReadonlyArray<string>>([])
      const Who = Tool.make("who", { success: Schema.String })
      const Names = Toolkit.make(Who)
      const Desk = Conversation.make("Desk", Agent.make("clerk", { toolkit: Names }), {
        services: (id) => Layer.build(Names.toLayer({ who: () => Effect.succeed(`I am ${id}`) })),
        around: (id) => (run) => Effect.andThen(Ref.update(runs, (all) => [...all, id]), run)
      })
      const model = MockModel.make(({ lastToolResults: [result] }) =>
        result === undefined ? MockResponse.toolCall("who", {}) : String(result.result)
      )
      const runner = yield* (yield* makeCluster).start(Desk.layer, MockModel.layer(model))
      const client = yield* runner.provide(Desk.client)
      assert.strictEqual((yield* client("1").say("Who are you?")).text, "I am 1")
      assert.strictEqual((yield* client("2").say("Who are you?")).text, "I am 2")
      assert.deepStrictEqual(yield* Ref.get(runs), ["1", "2"])
      const told = { "1": yield* Latch.make(), "2": yield* Latch.make() }
      const eventsOf = (id: keyof typeof told) => Stream.tap(client(id).events(), () => told[id].open)
      const reading = yield* Effect.forkChild(Stream.runCollect(eventsOf("1")))
      const waiting = yield* Effect.forkChild(Stream.runDrain(eventsOf("2")))
      yield* Effect.andThen(told["1"].await, told["2"].await)
      yield* client("1").remove
      assert.strictEqual((yield* Fiber.join(reading)).at(-1)?.event._tag, "RunCompleted")
      assert.isUndefined(waiting.pollUnsafe())
    }))
})
