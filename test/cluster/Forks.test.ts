/** Forks of plans and dialogues that stop in the middle: nobody takes a part for the whole, and the fork can be made again. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { Agent, Dialogue, Plan } from "troupe"
import { ClusterDialogue, ClusterPlan, Conversation, type ConversationStore } from "troupe/cluster"
import { MockModel } from "troupe/testing"
import { makeCluster } from "./runners.ts"

const ada = Agent.make("ada")
const bob = Agent.make("bob")
const model = MockModel.layer(MockModel.make(({ agent, lastUserText }) => `${agent}: ${lastUserText}`))

const Report = ClusterPlan.make("Report", Plan.make({ nodes: [ada, bob], edges: [Plan.edge(ada, bob)] }))
const Talk = ClusterDialogue.make("Talk", Dialogue.make(ada, bob, { maxTurns: 2 }))

const reasonOf = (error: { readonly _tag: string; readonly reason?: unknown }) =>
  error._tag === "ConversationError" ? (error as Conversation.ConversationError).reason : error

/** Replaces functions of a store. */
const change = (store: ConversationStore.Service, changes: Partial<ConversationStore.Service>) =>
  void Object.assign(store, changes)

/** Lets a store wait before it creates a conversation: `forking` says that it waits, and `go` lets it go on. */
const holdUp = Effect.fnUntraced(function*(store: ConversationStore.Service, held: string) {
  const forking = yield* Deferred.make<void>()
  const go = yield* Deferred.make<void>()
  const { create } = store
  change(store, {
    create: (id, origin, text) =>
      id === held
        ? Deferred.succeed(forking, undefined).pipe(
          Effect.andThen(Deferred.await(go)),
          Effect.andThen(create(id, origin, text))
        )
        : create(id, origin, text)
  })
  return { forking, go }
})

describe("A fork on a cluster", () => {
  it.live("of a plan leaves nothing if an agent's conversation can't be forked, and can be made again", () =>
    Effect.gen(function*() {
      const { start, store } = yield* makeCluster
      const one = yield* start(Report.layer, model)
      yield* (yield* one.provide(Report.client))("1").say("orders")
      yield* one.end
      const { claim } = store
      let isBroken = true
      change(store, {
        claim: (id) =>
          Effect.map(
            claim(id),
            (claimed) =>
              id === "Report.bob/1/1" && isBroken ? { ...claimed, entries: [{ revision: 1, text: "?" }] } : claimed
          )
      })
      const two = yield* start(Report.layer, model)
      const client = yield* two.provide(Report.client)
      const report = client("1")
      const copy = client("2")
      const refused = yield* Effect.flip(report.fork("2"))
      assert.deepInclude(reasonOf(refused), { _tag: "ConversationUnreadable", id: "Report.bob/1/1" })
      assert.deepStrictEqual(yield* copy.state, { nodes: {} })
      assert.strictEqual((yield* copy.node("ada").state).conversation.turns.length, 0)
      isBroken = false
      yield* report.fork("2", { key: "again" })
      assert.deepStrictEqual(yield* copy.state, yield* report.state)
      for (const name of ["ada", "bob"]) {
        assert.deepStrictEqual((yield* copy.node(name).state).conversation.turns.length, 2)
      }
      assert.strictEqual((yield* copy.say("more")).status, "Complete")
    }))

  it.live("of a dialogue leaves nothing if a participant's conversation can't be forked", () =>
    Effect.gen(function*() {
      const { start, store } = yield* makeCluster
      yield* store.create("Talk.bob/2", "somebody", "{\"events\":[]}")
      const client = yield* (yield* start(Talk.layer, model)).provide(Talk.client)
      const talk = client("1")
      yield* talk.say("Hello")
      const refused = yield* Effect.flip(talk.fork("2"))
      assert.deepInclude(reasonOf(refused), { _tag: "ConversationExists", id: "2" })
      assert.deepStrictEqual((yield* client("2").state).transcript, [])
      assert.strictEqual((yield* client("2").participant("ada").state).conversation.turns.length, 0)
      yield* talk.fork("3")
      assert.strictEqual((yield* client("3").state).transcript.length, 3)
    }))

  it.live("isn't read before it is whole, and is made whole by the next runner", () =>
    Effect.gen(function*() {
      const { start, store } = yield* makeCluster
      const one = yield* start(Report.layer, model)
      const before = yield* one.provide(Report.client)
      yield* before("1").say("orders")
      yield* before("3").say("others")
      const forking = yield* Deferred.make<void>()
      const { create } = store
      let isStuck = true
      change(store, {
        create: (id, origin, text) =>
          id === "Report.bob/2/1" && isStuck
            ? Effect.andThen(Deferred.succeed(forking, undefined), Effect.never)
            : create(id, origin, text)
      })
      const asking = yield* Effect.forkChild(before("1").fork("2"))
      yield* Deferred.await(forking)
      const copy = before("2")
      const unfinished = { _tag: "ForkUnfinished", id: "Report/2", from: "Report/1" }
      const all = [copy.state, copy.say("more"), copy.fork("4"), Stream.runDrain(copy.events())]
      for (const reading of all) assert.deepInclude(reasonOf(yield* Effect.flip(reading as typeof all[0])), unfinished)
      const other = yield* Effect.flip(before("3").fork("2"))
      assert.deepInclude(reasonOf(other), { _tag: "ConversationExists", id: "2" })
      yield* one.die
      isStuck = false
      yield* Fiber.interrupt(asking)
      const two = yield* start(Report.layer, model)
      const after = yield* two.provide(Report.client)
      yield* after("1").fork("2")
      assert.deepStrictEqual(yield* after("2").state, yield* after("1").state)
      assert.strictEqual((yield* after("2").node("bob").state).conversation.turns.length, 2)
    }))

  it.live("that was whole when its runner died takes the new plan from nobody", () =>
    Effect.gen(function*() {
      const { start, store } = yield* makeCluster
      const one = yield* start(Report.layer, model)
      const before = yield* one.provide(Report.client)
      yield* before("1").say("orders")
      const dead = yield* Deferred.make<void>()
      const { append, claim } = store
      let claims = 0
      change(store, {
        append: (entry) =>
          entry.id === "Report/2"
            ? Effect.tap(append(entry), () => Effect.andThen(one.die, Deferred.succeed(dead, undefined)))
            : append(entry),
        claim: (id) => {
          if (id === "Report/2") claims++
          return claim(id)
        }
      })
      const asking = yield* Effect.forkChild(before("1").fork("2"))
      yield* Deferred.await(dead)
      yield* Fiber.interrupt(asking)
      claims = 0
      const after = yield* (yield* start(Report.layer, model)).provide(Report.client)
      yield* after("1").fork("2")
      assert.strictEqual(claims, 0)
      assert.deepStrictEqual(yield* after("2").state, yield* after("1").state)
    }))

  it.live("is read as it is by who has read its empty target before", () =>
    Effect.gen(function*() {
      const Desk = Conversation.make("Desk", ada)
      const { start } = yield* makeCluster
      const client = yield* (yield* start(Desk.layer, model)).provide(Desk.client)
      yield* client("1").say("Hello")
      assert.strictEqual((yield* client("2").state).conversation.turns.length, 0)
      yield* client("1").fork("2")
      assert.strictEqual((yield* client("2").state).conversation.turns.length, 2)
    }))

  it.live("that is given up can be removed", () =>
    Effect.gen(function*() {
      const { start, store } = yield* makeCluster
      const client = yield* (yield* start(Report.layer, model)).provide(Report.client)
      const forkOf = "Report/1"
      const state = { run: 1, input: "orders", nodes: {}, open: {} }
      yield* store.create("Report/2", "Report/1/gone", JSON.stringify({ steps: [], state, forkOf }))
      assert.strictEqual(
        (reasonOf(yield* Effect.flip(client("2").state)) as Conversation.Reason)._tag,
        "ForkUnfinished"
      )
      yield* client("2").remove
      assert.strictEqual((yield* client("2").say("orders")).status, "Complete")
    }))

  it.live("that is removed while it is under way leaves no agent's conversation", () =>
    Effect.gen(function*() {
      const { start, store } = yield* makeCluster
      const client = yield* (yield* start(Report.layer, model)).provide(Report.client)
      yield* client("1").say("orders")
      const { forking, go } = yield* holdUp(store, "Report.bob/2/1")
      const asking = yield* Effect.forkChild(client("1").fork("2"))
      yield* Deferred.await(forking)
      const copy = client("2")
      yield* copy.remove
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(asking)
      assert.strictEqual((yield* copy.node("bob").state).conversation.turns.length, 0)
      yield* copy.say("again")
      assert.strictEqual((yield* copy.node("bob").state).conversation.turns.length, 2)
    }))

  it.live("that fails after its target was removed and begun anew leaves that", () =>
    Effect.gen(function*() {
      const { start, store } = yield* makeCluster
      const client = yield* (yield* start(Report.layer, model)).provide(Report.client)
      yield* client("1").say("orders")
      const { forking, go } = yield* holdUp(store, "Report.ada/2/1")
      const asking = yield* Effect.forkChild(Effect.flip(client("1").fork("2")))
      yield* Deferred.await(forking)
      const copy = client("2")
      yield* copy.remove
      yield* copy.say("again")
      const kept = yield* store.read("Report/2", 0, 100)
      yield* Deferred.succeed(go, undefined)
      assert.deepInclude(reasonOf(yield* Fiber.join(asking)), { _tag: "ConversationExists" })
      assert.isNotEmpty(kept)
      assert.deepStrictEqual(yield* store.read("Report/2", 0, 100), kept)
    }))
})
