import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Dialogue, Guardrail, ToolPolicy } from "troupe"
import { ClusterDialogue } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { makeCluster, withRunner } from "./runners.ts"

const params = Schema.Struct({ n: Schema.Int })
const Order = Tool.make("order", { parameters: params, success: Schema.String, needsApproval: true })
const Send = Tool.make("send", { parameters: params, success: Schema.String })
const Kit = Toolkit.make(Order, Send)

const ada = Agent.make("ada")
const bob = Agent.make("bob", { toolkit: Kit })

const call = (name: string, n: number) => MockResponse.toolCall(name, { n }, { id: `${name}-${n}` })

/** Ada counts how often she was asked, and Bob calls the tool that the user named. */
const script = MockModel.byAgent({
  ada: MockModel.make(({ messages }) => `Ada ${messages.filter(({ role }) => role === "user").length}`),
  bob: MockModel.make(({ lastToolResults: [result], lastUserText, messages }) => {
    if (result !== undefined) return `Bob: ${String(result.result)}`
    const told = lastUserText.includes("order") ? "order" : lastUserText.includes("send") ? "send" : undefined
    return told === undefined ? `Bob ${messages.filter(({ role }) => role === "user").length}` : call(told, 1)
  })
})

const tools = (send: Effect.Effect<string>) =>
  Layer.merge(
    Kit.toLayer({ order: ({ n }) => Effect.succeed(`ordered ${n}`), send: () => send }),
    MockModel.layer(script)
  )

const desk = Dialogue.make(ada, bob, { maxTurns: 2 })
const Talk = ClusterDialogue.make("Talk", desk)

const said = ({ transcript }: Dialogue.DialogueState) => transcript.map(Dialogue.textOf)

describe("A dialogue on a cluster", () => {
  it.live("is had as in one process, once for each key, and says more when the user does", () =>
    Effect.gen(function*() {
      const talk = (yield* Talk.client)("1")
      const answer = yield* talk.say("Hello", { key: "m1" })
      assert.deepStrictEqual([answer.status, answer.text], ["Complete", "Bob 1"])
      assert.deepStrictEqual(yield* talk.say("Hello", { key: "m1" }), answer)
      yield* talk.say("And now?", { key: "m2" })
      assert.deepStrictEqual(said(yield* talk.state), ["Hello", "Ada 1", "Bob 1", "And now?", "Ada 2", "Bob 2"])
      const local = yield* Dialogue.run(desk, "Hello").pipe(
        Effect.flatMap((state) => Dialogue.resume(desk, Dialogue.say(state, "And now?"))),
        Effect.provide(tools(Effect.succeed("sent")))
      )
      const { participants, ...here } = local
      const { participants: elsewhere, ...there } = yield* talk.state
      assert.deepStrictEqual(there, here)
      assert.deepStrictEqual(
        elsewhere.map(({ heard, name, state }) => [name, heard, state?.conversation.turns.map(({ _tag }) => _tag)]),
        participants.map(({ heard, name, state }) => [name, heard, state?.conversation.turns.map(({ _tag }) => _tag)])
      )
    }).pipe(Effect.provide(withRunner(Talk.layer, tools(Effect.succeed("sent"))))))

  it.live("shows the state of a participant whose name every object has", () => {
    const names = ["__proto__", "constructor"]
    const Named = ClusterDialogue.make(
      "Named",
      Dialogue.make(Agent.make("__proto__"), Agent.make("constructor"), { maxTurns: 3 })
    )
    return Effect.gen(function*() {
      const talk = (yield* Named.client)("1")
      yield* talk.say("Hello")
      const { participants } = yield* talk.state
      assert.deepStrictEqual(participants.map(({ heard, name, state }) => [name, heard, state?.steps]), [
        [names[0], 3, 2],
        [names[1], 2, 1]
      ])
    }).pipe(Effect.provide(withRunner(Named.layer, MockModel.layer(MockModel.make(() => "Yes.")))))
  })

  it.live("says a value in the JSON of its schema, as in one process", () => {
    const clerk = Agent.make("clerk", {
      output: Schema.Struct({ n: Schema.BigInt, names: Schema.ReadonlySet(Schema.String) })
    })
    const Count = ClusterDialogue.make("Count", Dialogue.make(clerk, bob, { maxTurns: 1 }))
    const counted = { n: "12345678901234567890", names: ["a"] }
    const model = MockModel.layer(MockModel.queue(MockResponse.toolCall("final_answer", counted)))
    return Effect.gen(function*() {
      const answer = yield* (yield* Count.client)("1").say("Count", { key: "m1" })
      assert.deepStrictEqual([answer.status, answer.text], ["Complete", JSON.stringify(counted)])
    }).pipe(Effect.provide(withRunner(Count.layer, Layer.merge(tools(Effect.succeed("sent")), model))))
  })

  it.live("waits for approvals in the turn of their agent, and goes on with them on another runner", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const one = yield* cluster.start(Talk.layer, tools(Effect.succeed("sent")))
      const answer = yield* (yield* one.provide(Talk.client))("1").say("order", { key: "m1" })
      assert.deepStrictEqual([answer.status, answer.pending.map(({ callId }) => callId)], ["Waiting", ["bob/order-1"]])
      assert.deepStrictEqual(answer.pending.map(({ path }) => path), [["bob", "bob"]])
      yield* one.die
      const two = yield* cluster.start(Talk.layer, tools(Effect.succeed("sent")))
      const talk = (yield* two.provide(Talk.client))("1")
      assert.strictEqual((yield* talk.state).status._tag, "Speaking")
      const late = yield* Effect.flip(talk.approve("ada/order-1"))
      assert.strictEqual(late._tag === "ConversationError" && late.reason._tag, "NotAwaitingApproval")
      const done = yield* talk.approve("bob/order-1", { params: { n: 7 } })
      assert.deepStrictEqual([done.status, done.text], ["Complete", "Bob: ordered 7"])
      assert.deepStrictEqual(said(yield* talk.state), ["order", "Ada 1", "Bob: ordered 7"])
    }))

  it.live("fails if a participant that has heard something isn't there any more, and goes on where it is", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const on = Effect.fnUntraced(function*<A, E>(
        names: readonly [string, string],
        use: (talk: ReturnType<Effect.Success<typeof Talk.client>>) => Effect.Effect<A, E>
      ) {
        const [first, second] = [Agent.make(names[0]), Agent.make(names[1], { toolkit: Kit })]
        const Version = ClusterDialogue.make("Talk", Dialogue.make(first, second, { maxTurns: 2 }))
        const runner = yield* cluster.start(Version.layer, tools(Effect.succeed("sent")))
        const used = yield* use((yield* runner.provide(Version.client))("1") as never)
        yield* runner.end
        return used
      })
      assert.strictEqual((yield* on(["ada", "bob"], (talk) => talk.say("order"))).status, "Waiting")
      const renamed = yield* on(
        ["ada", "rob"],
        (talk) =>
          Effect.all([talk.approve("bob/order-1"), talk.resume(), talk.say("send"), talk.deny("rob/order-1", "no")])
      )
      for (const { error, status } of renamed) {
        assert.deepStrictEqual([status, error?.tag], ["Failed", "ParticipantMismatch"])
        assert.strictEqual(
          error?.message,
          "The state is of a dialogue between \"ada\", \"bob\", this one is between \"ada\", \"rob\""
        )
      }
      const [answer, state] = yield* on(
        ["ada", "bob"],
        (talk) => Effect.all([talk.approve("bob/order-1", { key: "again" }), talk.state])
      )
      // What was said meanwhile is heard too.
      assert.strictEqual(answer.status, "Complete")
      assert.deepStrictEqual(said(state).slice(0, 4), ["order", "Ada 1", "send", "Bob: ordered 1"])
    }))

  it.live("waits for results in the turn of their agent, and goes on with them", () =>
    Effect.gen(function*() {
      const talk = (yield* Talk.client)("1")
      const answer = yield* talk.say("send", { key: "m1" })
      assert.deepStrictEqual([answer.status, answer.pending, answer.awaited?.map(({ callId }) => callId)], [
        "Waiting",
        [],
        ["bob/send-1"]
      ])
      const state = yield* talk.state
      assert.deepStrictEqual(Dialogue.pendingResults(state).map(({ callId }) => callId), ["send-1"])
      const late = yield* Effect.flip(talk.giveResult("ada/send-1", "sent"))
      assert.strictEqual(late._tag === "ConversationError" && late.reason._tag, "NotAwaitingResult")
      const wrong = yield* Effect.flip(talk.giveResult("bob/send-1", 7))
      assert.isTrue(
        wrong._tag === "ConversationError" && wrong.reason._tag === "ResultRejected" &&
          wrong.reason.callId === "bob/send-1"
      )
      const done = yield* talk.giveResult("bob/send-1", "sent later")
      assert.deepStrictEqual([done.status, done.text], ["Complete", "Bob: sent later"])
    }).pipe(Effect.provide(withRunner(Talk.layer, tools(ToolPolicy.deferResult)))))

  it.live("continues on another runner: nothing is said twice, and no call that was started runs again", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const began = yield* Deferred.make<void>()
      let sends = 0
      const send = Effect.suspend(() => {
        sends++
        return Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      })
      const one = yield* cluster.start(Talk.layer, tools(send))
      yield* Effect.forkChild((yield* one.provide(Talk.client))("1").say("send", { key: "m1" }))
      yield* Deferred.await(began)
      yield* one.die
      const two = yield* cluster.start(Talk.layer, tools(send))
      const talk = (yield* two.provide(Talk.client))("1")
      const answer = yield* talk.say("send", { key: "m1" })
      assert.strictEqual(sends, 1)
      assert.deepStrictEqual(answer.unknown, [{ callId: "bob/send-1", name: "send", path: ["bob", "bob"] }])
      assert.match(answer.text, /unknown/)
      assert.strictEqual((yield* talk.participant("ada").state).conversation.turns.length, 2)
      assert.strictEqual((yield* talk.state).transcript.length, 3)
    }))

  it.live("is cancelled with the agent that speaks, which hears nothing twice when the dialogue is resumed", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const stuck = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      yield* Effect.gen(function*() {
        const talk = (yield* Talk.client)("1")
        const asking = yield* Effect.forkChild(talk.say("send", { key: "m1" }))
        yield* Deferred.await(began)
        assert.isTrue(yield* talk.cancel("m1"))
        const answer = yield* Fiber.join(asking)
        assert.deepStrictEqual([answer.status, answer.unknown.map(({ callId }) => callId)], [
          "Cancelled",
          ["bob/send-1"]
        ])
        const resumed = yield* talk.resume()
        assert.strictEqual(resumed.status, "Complete")
        const { conversation } = yield* talk.participant("bob").state
        assert.strictEqual(conversation.turns.filter(({ _tag }) => _tag === "User").length, 1)
      }).pipe(Effect.provide(withRunner(Talk.layer, tools(stuck))))
    }))

  it.live("says who failed, and asks that one again when it is resumed", () => {
    let isBroken = true
    const flaky = Agent.make("flaky", { maxInputLength: 5 })
    const strict = ClusterDialogue.make(
      "Strict",
      Dialogue.make(ada, flaky, { maxTurns: 2, until: () => !isBroken })
    )
    return Effect.gen(function*() {
      const talk = (yield* strict.client)("1")
      const failed = yield* talk.say("far too long to take in", { key: "m1" })
      assert.deepStrictEqual([failed.status, failed.error?.agent], ["Failed", "flaky"])
      const again = yield* talk.resume()
      assert.strictEqual(again.status, "Failed")
      isBroken = false
      assert.deepStrictEqual(said(yield* talk.state), ["far too long to take in", "Ada 1"])
    }).pipe(Effect.provide(withRunner(
      strict.layer,
      MockModel.layer(MockModel.byAgent({ ada: MockModel.queue("Ada 1"), flaky: MockModel.queue("no") }))
    )))
  })

  it.live("tells a participant again what it rejected or a guardrail blocked, once that has changed", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const model = MockModel.layer(MockModel.byAgent({
        ada: MockModel.make(() => "Ada"),
        bob: MockModel.make(({ lastUserText }) => `Bob heard ${lastUserText.length > 0}`)
      }))
      const makeTalk = (max: number, maxInputLength?: number) => {
        const bob = Agent.make("bob", { guardrails: { input: [Guardrail.length({ max })] }, maxInputLength })
        return ClusterDialogue.make("Talk", Dialogue.make(ada, bob, { maxTurns: 2 }))
      }
      const limited = makeTalk(1, 1)
      for (const strict of [makeTalk(1), limited]) {
        const id = strict === limited ? "1" : "2"
        const one = yield* cluster.start(strict.layer, model)
        const talk = (yield* one.provide(strict.client))(id)
        assert.strictEqual((yield* talk.say("Hello")).status, "Failed")
        const again = yield* talk.resume()
        assert.strictEqual(again.error?.tag, strict === limited ? "InputRejected" : "GuardrailBlocked")
        yield* one.end
        const Looser = makeTalk(1000)
        const two = yield* cluster.start(Looser.layer, model)
        const looser = (yield* two.provide(Looser.client))(id)
        const done = yield* looser.resume()
        assert.deepStrictEqual([done.status, done.text], ["Complete", "Bob heard true"])
        assert.deepStrictEqual((yield* looser.state).participants.map(({ heard }) => heard), [1, 2])
        yield* two.end
      }
    }))

  it.live("tells its steps behind a cursor, forks, and is removed with its participants", () =>
    Effect.gen(function*() {
      const client = yield* Talk.client
      const talk = client("1")
      yield* talk.post("order", { key: "m1" })
      const told = yield* talk.events().pipe(
        Stream.takeUntil(({ event }) => event._tag === "TurnStopped"),
        Stream.runCollect
      )
      assert.deepStrictEqual(told.map(({ event }) => event._tag), [
        "UserSpoke",
        "SpeakerChosen",
        "TurnStarted",
        "TurnCompleted",
        "SpeakerChosen",
        "TurnStarted",
        "TurnStopped"
      ])
      yield* talk.fork("2")
      assert.strictEqual((yield* client("2").deny("bob/order-1", "no")).status, "Complete")
      assert.strictEqual((yield* talk.state).status._tag, "Speaking")
      yield* talk.remove
      assert.deepStrictEqual((yield* talk.state).transcript, [])
      assert.strictEqual((yield* talk.participant("ada").state).conversation.turns.length, 0)
      assert.strictEqual((yield* client("2").state).transcript.length, 3)
    }).pipe(Effect.provide(withRunner(Talk.layer, tools(Effect.succeed("sent"))))))

  it.live("ends its readers when it is removed", () =>
    Effect.gen(function*() {
      const talk = (yield* Talk.client)("1")
      yield* talk.say("Hello")
      const told = yield* Latch.make()
      const reading = yield* Effect.forkChild(Stream.runCollect(Stream.tap(talk.events(), () => told.open)))
      yield* told.await
      yield* talk.remove
      assert.strictEqual((yield* Fiber.join(reading))[0]?.event._tag, "UserSpoke")
    }).pipe(Effect.provide(withRunner(Talk.layer, tools(Effect.succeed("sent"))))))
})
