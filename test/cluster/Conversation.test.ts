import { assert, describe, it } from "@effect/vitest"
import { Clock, DateTime, Deferred, type Duration, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { EntityProxy, Sharding, TestRunner } from "effect/cluster"
import { SchemaBinary } from "effect/encoding"
import { RpcSchema } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Agent, AgentPicker, type AgentState, Group, Session, StopWhen, ToolPolicy } from "troupe"
import { Conversation, ConversationStore } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { slowToLook } from "./runners.ts"

const params = Schema.Struct({ order: Schema.Int })
const Pay = Tool.make("pay", { parameters: params, success: Schema.String, needsApproval: true })
const Send = Tool.make("send", { parameters: params, success: Schema.String })
const Look = ToolPolicy.set(Tool.make("look", { parameters: params, success: Schema.String }), { idempotent: true })
const Kit = Toolkit.make(Pay, Send, Look)
const clerk = Agent.make("clerk", { toolkit: Kit })
const Desk = Conversation.make("Desk", clerk)

const Sleepy = Conversation.make("Desk", clerk, { maxIdleTime: "1 minute" })

/** Lets time pass while something is done. */
const during = <A, E, R>(time: Duration.Input, self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const doing = yield* Effect.forkChild(self, { startImmediately: true })
    yield* TestClock.adjust(time)
    return yield* Fiber.join(doing)
  })

interface Hands {
  readonly pay: (order: number) => Effect.Effect<string>
  readonly send: (order: number) => Effect.Effect<string>
}

const done: Hands = {
  pay: (order) => Effect.succeed(`paid ${order}`),
  send: (order) => Effect.succeed(`sent ${order}`)
}

const call = (name: string, order: number) => MockResponse.toolCall(name, { order }, { id: `${name}-${order}` })

/** Calls the tool that the user names, and then says what it gave. */
const script = MockModel.make(({ lastToolResults, lastUserText }) => {
  if (lastToolResults.length > 0) return lastToolResults.map(({ result }) => String(result)).join("; ")
  const [name = "", ...orders] = lastUserText.split(" ")
  return ["pay", "send", "look"].includes(name)
    ? MockResponse.all(...orders.map((order) => call(name, Number(order))))
    : `You said ${lastUserText}.`
})

const runner = (hands: Hands, desk = Desk) =>
  desk.layer.pipe(
    Layer.provide(Kit.toLayer({
      pay: ({ order }) => hands.pay(order),
      send: ({ order }) => hands.send(order),
      look: ({ order }) => Effect.succeed(`saw ${order}`)
    })),
    Layer.provide(MockModel.layer(script))
  )

const withDesk = (hands: Hands = done, desk = Desk) => <A, E>(self: Effect.Effect<A, E, Sharding.Sharding>) =>
  self.pipe(
    Effect.provide(
      Layer.provideMerge(runner(hands, desk), Layer.merge(TestRunner.layer, ConversationStore.layerMemory))
    )
  )

const closed = new Session.SessionClosed({ agent: "clerk", operation: "run" })

const userTurns = (state: AgentState.AgentState): ReadonlyArray<string> =>
  state.conversation.turns.flatMap((turn) =>
    turn._tag === "User" ? turn.parts.flatMap((part) => part._tag === "Text" ? [part.text] : []) : []
  )

describe("A conversation", () => {
  it.live("answers what is said, once for each key", () =>
    Effect.gen(function*() {
      const chat = (yield* Desk.client)("1")
      const answer = yield* chat.say("Hello", { key: "m1" })
      assert.deepStrictEqual([answer.status, answer.text], ["Complete", "You said Hello."])
      assert.deepStrictEqual(yield* chat.say("Hello", { key: "m1" }), answer)
      yield* chat.say("Bye")
      assert.deepStrictEqual(userTurns(yield* chat.state), ["Hello", "Bye"])
    }).pipe(withDesk()))

  it.live("gives the same answer to all who say one message at once", () =>
    Effect.gen(function*() {
      const chat = (yield* Desk.client)("1")
      const say = chat.say("send 1", { key: "m1" })
      const answers = yield* Effect.all([say, say, say], { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ text }) => text), ["sent 1", "sent 1", "sent 1"])
      assert.deepStrictEqual(userTurns(yield* chat.state), ["send 1"])
    }).pipe(withDesk()))

  it.live("is held by a group as by an agent", () => {
    // Its picker chooses who answers the first message, and nobody after that.
    const start = AgentPicker.match([[/send/, "clerk"]], "greeter")
    const Grouped = Conversation.make("Desk", Group.make({ greeter: Agent.make("greeter"), clerk }, { start }))
    return Effect.gen(function*() {
      const chat = (yield* Grouped.client)("1")
      assert.strictEqual((yield* chat.say("send 2")).text, "sent 2")
      assert.strictEqual((yield* chat.say("Thanks")).text, "You said Thanks.")
      assert.deepStrictEqual((yield* chat.state).trail, ["clerk"])
    }).pipe(withDesk(done, Grouped))
  })

  it.live("keeps what is posted, and tells its events behind a cursor, each once and in order", () =>
    Effect.gen(function*() {
      const chat = (yield* Desk.client)("1")
      yield* chat.post("look 7", { key: "m1" })
      const ends = (event: { readonly _tag: string }) => event._tag === "RunCompleted"
      const told = yield* chat.events().pipe(Stream.takeUntil(({ event }) => ends(event)), Stream.runCollect)
      const kept = told.filter(({ piece }) => piece === undefined)
      assert.deepStrictEqual(kept.map(({ cursor }) => cursor), kept.map((_, at) => at + 1))
      assert.deepStrictEqual(
        kept.flatMap(({ event }) => event._tag.startsWith("ToolCall") ? [event._tag] : []),
        ["ToolCallStarted", "ToolCallSettled"]
      )
      const rest = yield* chat.events({ after: 3 }).pipe(
        Stream.takeUntil(({ event }) => ends(event)),
        Stream.runCollect
      )
      assert.deepStrictEqual(rest.map(({ cursor }) => cursor), kept.slice(3).map(({ cursor }) => cursor))
    }).pipe(withDesk()))

  it.live("waits for approvals, and goes on with the parameters that were approved, or without the call", () =>
    Effect.gen(function*() {
      const chat = (yield* Desk.client)("1")
      const answer = yield* chat.say("pay 1 2")
      assert.deepStrictEqual([answer.status, answer.pending.map(({ callId }) => callId)], ["Waiting", [
        "pay-1",
        "pay-2"
      ]])
      const rejected = yield* Effect.flip(chat.approve("pay-1", { params: { order: "one" } }))
      assert.strictEqual(rejected._tag === "ConversationError" && rejected.reason._tag, "ParametersRejected")
      const one = yield* chat.approve("pay-1", { params: { order: 11 } })
      assert.deepStrictEqual(one.pending.map(({ callId }) => callId), ["pay-2"])
      const both = yield* chat.deny("pay-2", "too much")
      assert.deepStrictEqual([both.status, both.text], ["Complete", "paid 11; This call was denied: too much"])
      assert.deepStrictEqual(yield* chat.deny("pay-2", "too much"), both)
      const late = yield* Effect.flip(chat.approve("pay-2"))
      assert.strictEqual(late._tag === "ConversationError" && late.reason._tag, "NotAwaitingApproval")
    }).pipe(withDesk()))

  it.live("waits for results that come later, takes each once, and says what is wrong with one", () =>
    Effect.gen(function*() {
      const chat = (yield* Desk.client)("1")
      const answer = yield* chat.say("send 1 2", { key: "m1" })
      assert.deepStrictEqual([answer.status, answer.pending, answer.awaited], ["Waiting", [], [
        { callId: "send-1", name: "send", path: ["clerk"], params: { order: 1 } },
        { callId: "send-2", name: "send", path: ["clerk"], params: { order: 2 } }
      ]])
      assert.deepStrictEqual(answer.unknown, [])
      const reasonOf = (error: unknown) => error instanceof Conversation.ConversationError ? error.reason : undefined
      const rejected = reasonOf(yield* Effect.flip(chat.giveResult("send-1", 7)))
      assert.isTrue(rejected?._tag === "ResultRejected" && rejected.callId === "send-1")
      const unknown = reasonOf(yield* Effect.flip(chat.giveFailure("send-3", "lost")))
      assert.isTrue(unknown?._tag === "NotAwaitingResult" && unknown.awaiting.join() === "send-1,send-2")
      const one = yield* chat.giveResult("send-1", "arrived")
      assert.deepStrictEqual([one.status, one.awaited?.map(({ callId }) => callId)], ["Waiting", ["send-2"]])
      assert.deepStrictEqual(yield* chat.giveResult("send-1", "arrived"), one)
      const both = yield* chat.giveFailure("send-2", "lost at sea")
      assert.deepStrictEqual([both.status, both.text, both.awaited], ["Complete", "arrived; lost at sea", undefined])
      assert.deepStrictEqual(yield* chat.giveFailure("send-2", "lost at sea"), both)
      const late = reasonOf(yield* Effect.flip(chat.giveResult("send-2", "arrived")))
      assert.isTrue(late?._tag === "NotAwaitingResult" && late.found === "Settled")
    }).pipe(withDesk({ ...done, send: () => ToolPolicy.deferResult })))

  it.live("goes on when its caller leaves", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const open = yield* Deferred.make<void>()
      const hands = {
        ...done,
        send: () => Deferred.succeed(began, undefined).pipe(Effect.andThen(Deferred.await(open)), Effect.as("sent"))
      }
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        const asking = yield* Effect.forkChild(chat.say("send 1", { key: "m1" }))
        yield* Deferred.await(began)
        yield* Fiber.interrupt(asking)
        yield* Deferred.succeed(open, undefined)
        assert.strictEqual((yield* chat.say("send 1", { key: "m1" })).text, "sent")
      }).pipe(withDesk(hands))
    }))

  it.live("stops a run that is cancelled, says what is unknown, and doesn't begin one that was cancelled before", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const hands = { ...done, send: () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never) }
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        const asking = yield* Effect.forkChild(chat.say("send 1", { key: "m1" }))
        yield* Deferred.await(began)
        assert.isTrue(yield* chat.cancel("m1"))
        const answer = yield* Fiber.join(asking)
        assert.deepStrictEqual([answer.status, answer.unknown.map(({ callId }) => callId)], ["Cancelled", ["send-1"]])
        assert.isTrue(yield* chat.cancel("m2"))
        assert.strictEqual((yield* chat.say("Hello", { key: "m2" })).status, "Cancelled")
        assert.strictEqual((yield* chat.say("Hello", { key: "m3" })).status, "Complete")
        assert.isFalse(yield* chat.cancel("m3"))
        assert.deepStrictEqual(userTurns(yield* chat.state), ["send 1", "Hello"])
      }).pipe(withDesk(hands))
    }))

  it.live("says that a cancellation came too late if the run ended meanwhile", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const looked = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const hands = {
        ...done,
        send: () => Effect.as(Effect.andThen(Deferred.succeed(began, undefined), Deferred.await(looked)), "sent")
      }
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        const asking = yield* Effect.forkChild(chat.say("send 1", { key: "m1" }))
        yield* Deferred.await(began)
        const cancelling = yield* Effect.forkChild(chat.cancel("m1"))
        assert.strictEqual((yield* Fiber.join(asking)).status, "Complete")
        yield* Deferred.succeed(ended, undefined)
        assert.isFalse(yield* Fiber.join(cancelling))
        assert.isFalse(yield* chat.cancel("m1"))
      }).pipe(Effect.provide(
        Layer.provideMerge(runner(hands), Layer.merge(TestRunner.layer, slowToLook({ began, looked, ended })))
      ))
    }))

  it.live("forks into another once, and is removed with its messages", () =>
    Effect.gen(function*() {
      const client = yield* Desk.client
      const chat = client("1")
      const other = client("2")
      yield* chat.say("Hello", { key: "m1" })
      yield* chat.fork("2")
      yield* chat.fork("2")
      yield* other.say("And on")
      assert.deepStrictEqual(userTurns(yield* other.state), ["Hello", "And on"])
      const taken = yield* Effect.flip(other.fork("1"))
      assert.strictEqual(taken._tag === "ConversationError" && taken.reason._tag, "ConversationExists")
      yield* chat.remove
      assert.deepStrictEqual(userTurns(yield* chat.state), [])
      assert.strictEqual((yield* chat.say("Anew", { key: "m1" })).text, "You said Anew.")
      assert.deepStrictEqual(userTurns(yield* other.state), ["Hello", "And on"])
    }).pipe(withDesk()))

  it.live("says what failed as an answer, and can be resumed", () =>
    Effect.gen(function*() {
      const limited = Agent.make("clerk", { toolkit: Kit, maxInputLength: 5 })
      const Limited = Conversation.make("Desk", limited)
      yield* Effect.gen(function*() {
        const chat = (yield* Limited.client)("1")
        const failed = yield* chat.say("far too long", { key: "m1" })
        assert.strictEqual(failed.status, "Failed")
        assert.isString(failed.error?.tag)
        assert.deepStrictEqual(yield* chat.say("far too long", { key: "m1" }), failed)
        assert.strictEqual((yield* chat.say("short")).status, "Complete")
      }).pipe(withDesk(done, Limited))
    }))

  it.live.each<readonly [string, Effect.Effect<never, unknown>, string]>([
    ["an error", Effect.fail({ _tag: "NoRoom", message: "full" }), "NoRoom"],
    ["an error without a tag", Effect.fail("full"), "Failure"],
    ["a session's error", Effect.fail(new Session.SessionError({ reason: closed })), "SessionClosed"],
    ["a defect", Effect.die({ _tag: "NoRoom", message: "full" }), "Defect"]
  ])("names %s that keeps a run from its beginning", ([, failing, tag]) => {
    const Kept = Conversation.make("Desk", clerk, {
      around: () => (run) => Effect.andThen(failing as Effect.Effect<never>, run)
    })
    return Effect.gen(function*() {
      const { error, status } = yield* (yield* Kept.client)("1").say("Hello", { key: "m1" })
      const message = tag === "SessionClosed" ? closed.message : "full"
      assert.deepStrictEqual([status, error], ["Failed", { tag, message, agent: "clerk", step: 0 }])
    }).pipe(withDesk(done, Kept))
  })

  it.live("that has ended is resumed without an event, and gives its answer, once for each key", () =>
    Effect.gen(function*() {
      const chat = (yield* Desk.client)("1")
      const { cursor } = yield* chat.say("Hello")
      const before = yield* chat.state
      const answer = yield* chat.resume({ key: "r1" })
      assert.deepStrictEqual([answer.status, answer.text, answer.cursor], ["Complete", "You said Hello.", cursor])
      assert.deepStrictEqual(yield* chat.begin({ _tag: "Resume" }, { key: "r2" }), { cursor, isNew: true })
      assert.deepStrictEqual(yield* chat.state, before)
      yield* chat.say("Bye")
      assert.deepStrictEqual(yield* chat.resume({ key: "r1" }), answer)
    }).pipe(withDesk()))

  it.effect("is told something at its time, and holds no memory until then", () =>
    Effect.gen(function*() {
      const chat = (yield* Sleepy.client)("1")
      const sharding = yield* Sharding.Sharding
      const now = yield* Clock.currentTimeMillis
      yield* chat.post("Later", { at: DateTime.makeUnsafe(now + 3_600_000) })
      yield* during("2 seconds", chat.say("Now"))
      assert.strictEqual(yield* sharding.activeEntityCount, 1)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(yield* sharding.activeEntityCount, 0)
      assert.deepStrictEqual(userTurns(yield* chat.state), ["Now"])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(userTurns(yield* chat.state), ["Now", "Later"])
    }).pipe(withDesk(done, Sleepy)))

  it.live("that a new definition doesn't know says what is missing, and takes nothing in until it is migrated", () => {
    const Filed = Conversation.make("Desk", Agent.make("filer", { toolkit: Kit }))
    const Migrated = Conversation.make("Desk", Agent.make("filer", { toolkit: Kit }), {
      migrate: (state, missing) => missing[0]?.kind === "Agent" ? { ...state, agent: "filer" } : undefined
    })
    const say = (desk: typeof Desk, input: string) =>
      Effect.flatMap(desk.client, (client) => client("1").say(input)).pipe(
        Effect.provide(Layer.provideMerge(runner(done, desk), TestRunner.layer))
      )
    return Effect.gen(function*() {
      yield* say(Desk, "Hello")
      const error = yield* Effect.flip(say(Filed, "Still there?"))
      assert.deepStrictEqual(error._tag === "ConversationError" && error.reason._tag, "DefinitionChanged")
      assert.match(error.message, /agent "clerk"/)
      const answer = yield* say(Migrated, "And now?")
      assert.strictEqual(answer.text, "You said And now?.")
    }).pipe(Effect.provide(ConversationStore.layerMemory))
  })

  it.live("that met a limit goes on under a larger one of a new definition, or with what is said next", () => {
    const limited = (steps: number) =>
      Conversation.make("Desk", Agent.make("clerk", { toolkit: Kit, stopWhen: StopWhen.maxSteps(steps) }))
    const on = <A, E>(desk: typeof Desk, use: (chat: Conversation.Client) => Effect.Effect<A, E>) =>
      Effect.flatMap(desk.client, (client) => use(client("1"))).pipe(
        Effect.provide(Layer.provideMerge(runner(done, desk), TestRunner.layer))
      )
    return Effect.gen(function*() {
      const [met, again, next] = yield* on(
        limited(1),
        (chat) => Effect.all([chat.say("send 1"), chat.resume(), chat.say("And?")])
      )
      assert.deepStrictEqual([met.error?.tag, again.error?.tag], ["StepLimitReached", "StepLimitReached"])
      assert.deepStrictEqual([next.status, next.text], ["Complete", "sent 1"])
      yield* on(limited(1), (chat) => chat.say("send 2"))
      const last = yield* on(limited(2), (chat) => chat.resume())
      assert.deepStrictEqual([last.status, last.text], ["Complete", "sent 2"])
    }).pipe(Effect.provide(ConversationStore.layerMemory))
  })

  it.live("that waits for an approval of its provider's own call is opened again by the same definition", () => {
    const Plain = Conversation.make("Desk", Agent.make("plain"))
    const on = <A, E>(answer: MockModel.Reply, use: (chat: Conversation.Client) => Effect.Effect<A, E>) =>
      Effect.flatMap(Plain.client, (client) => use(client("1"))).pipe(
        Effect.provide(Layer.provide(Plain.layer, MockModel.layer(MockModel.queue(answer)))),
        Effect.provide(TestRunner.layer)
      )
    return Effect.gen(function*() {
      const asking = MockResponse.approvalRequest("mcp.search", { q: 1 }, { id: "w1" })
      assert.strictEqual((yield* on(asking, (chat) => chat.say("Search"))).status, "Waiting")
      const answer = yield* on("Found.", (chat) => chat.approve("w1"))
      assert.deepStrictEqual([answer.status, answer.text], ["Complete", "Found."])
    }).pipe(Effect.provide(ConversationStore.layerMemory))
  })

  it.live("opens again from a snapshot and what is behind it, and is the fold of its log", () =>
    Effect.gen(function*() {
      const long = "word ".repeat(500)
      yield* Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        for (let n = 0; n < 30; n++) yield* chat.say(`${n} ${long}`)
      }).pipe(Effect.provide(Layer.provideMerge(runner(done), TestRunner.layer)))
      const store = yield* ConversationStore.ConversationStore
      const { entries, snapshot } = yield* store.claim("Desk/1")
      assert.isDefined(snapshot)
      assert.isBelow(entries.length, 60)
      const state = yield* Effect.flatMap(Desk.client, (client) => client("1").state).pipe(
        Effect.provide(Layer.provideMerge(runner(done), TestRunner.layer))
      )
      assert.strictEqual(userTurns(state).length, 30)
    }).pipe(Effect.provide(ConversationStore.layerMemory)))

  it("sends each request and each answer in the cluster's binary form", () => {
    for (const rpc of Desk.entity.protocol.requests.values()) {
      for (const schema of [rpc.payloadSchema, rpc.errorSchema, rpc.successSchema]) {
        const element: Schema.Constraint = RpcSchema.isStreamSchema(schema) ? schema.success : schema
        assert.doesNotThrow(() => SchemaBinary.toCodec(element))
      }
    }
  })

  it("is an entity, so it can be asked from outside of the cluster by its requests", () => {
    const requests = EntityProxy.toRpcGroup(Desk.entity)
    assert.isTrue(requests.requests.has("Desk.Say"))
  })
})
