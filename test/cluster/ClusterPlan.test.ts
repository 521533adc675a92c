import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Plan, ToolPolicy } from "troupe"
import { ClusterPlan } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { changedStore, makeCluster, slowToLook, withRunner } from "./runners.ts"

const params = Schema.Struct({ n: Schema.Int })
const Pay = Tool.make("pay", { parameters: params, success: Schema.String, needsApproval: true })
const Send = Tool.make("send", { parameters: params, success: Schema.String })
const Kit = Toolkit.make(Pay, Send)

const payer = Agent.make("payer", { toolkit: Kit })
const sender = Agent.make("sender", { toolkit: Kit })
const writer = Agent.make("writer")

const call = (name: string, n: number) => MockResponse.toolCall(name, { n }, { id: `${name}-${n}` })

const script = MockModel.byAgent({
  payer: MockModel.make(({ lastToolResults: [result] }) =>
    result === undefined ? call("pay", 1) : String(result.result)
  ),
  sender: MockModel.make(({ lastToolResults: [result] }) =>
    result === undefined ? call("send", 2) : String(result.result)
  ),
  writer: MockModel.make(({ lastUserText }) => `Written: ${lastUserText}`)
})

interface Hands {
  readonly send: Effect.Effect<string>
}

const tools = ({ send }: Hands) =>
  Layer.merge(
    Kit.toLayer({ pay: ({ n }) => Effect.succeed(`paid ${n}`), send: () => send }),
    MockModel.layer(script)
  )

const sent: Hands = { send: Effect.succeed("sent 2") }

/** Reads, pays and sends side by side, and writes what came of it. */
const makePlan = (read: (text: string) => Effect.Effect<string>, options?: { readonly idempotent: boolean }) => {
  const reading = Plan.node("read", read, options)
  const write = Plan.agent(writer, {
    name: "write",
    input: (of: { readonly pay: string; readonly send: string }) => `${of.pay}, ${of.send}`
  })
  const pay = Plan.agent(payer, { name: "pay" })
  const send = Plan.agent(sender, { name: "send" })
  return Plan.make({
    nodes: [reading, pay, send, write],
    edges: [Plan.edge(reading, pay), Plan.edge(reading, send), Plan.edge(pay, write), Plan.edge(send, write)]
  })
}

const read = (text: string) => Effect.succeed(`read ${text}`)

describe("A plan on a cluster", () => {
  it.live("runs on until all waits for approvals, and goes on with them", () => {
    const Report = ClusterPlan.make("Report", makePlan(read))
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      const answer = yield* report.say("orders", { key: "m1" })
      assert.deepStrictEqual([answer.status, answer.pending.map(({ callId }) => callId)], ["Waiting", ["pay/pay-1"]])
      assert.deepStrictEqual(answer.pending.map(({ path }) => path), [["pay", "payer"]])
      assert.deepStrictEqual(Object.keys((yield* report.state).nodes), ["read", "send"])
      assert.deepStrictEqual(yield* report.say("orders", { key: "m1" }), answer)
      const done = yield* report.approve("pay/pay-1")
      assert.deepStrictEqual([done.status, done.output], ["Complete", { write: "Written: paid 1, sent 2" }])
      assert.deepStrictEqual(yield* report.approve("pay/pay-1"), done)
      const late = yield* Effect.flip(report.deny("pay/pay-1", "no"))
      assert.strictEqual(late._tag === "ConversationError" && late.reason._tag, "NotAwaitingApproval")
    }).pipe(Effect.provide(withRunner(Report.layer, tools(sent))))
  })

  it.live("runs on until all waits for approvals and results, and goes on with them", () => {
    const Report = ClusterPlan.make("Report", makePlan(read))
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      const answer = yield* report.say("orders", { key: "m1" })
      const idsOf = (calls: typeof answer.pending | undefined) => calls?.map(({ callId }) => callId)
      assert.deepStrictEqual([answer.status, idsOf(answer.pending), idsOf(answer.awaited)], [
        "Waiting",
        ["pay/pay-1"],
        ["send/send-2"]
      ])
      const nowhere = yield* Effect.flip(report.approve("pay-1"))
      assert.deepInclude(nowhere._tag === "ConversationError" && nowhere.reason, { awaiting: ["pay/pay-1"] })
      const one = yield* report.approve("pay/pay-1")
      assert.deepStrictEqual([one.status, one.pending, idsOf(one.awaited)], ["Waiting", [], ["send/send-2"]])
      const unknown = yield* Effect.flip(report.giveResult("nobody/send-2", "sent"))
      assert.deepInclude(unknown._tag === "ConversationError" && unknown.reason, {
        _tag: "NotAwaitingResult",
        awaiting: ["send/send-2"]
      })
      const done = yield* report.giveFailure("send/send-2", "lost")
      assert.deepStrictEqual([done.status, done.output], ["Complete", { write: "Written: paid 1, lost" }])
    }).pipe(Effect.provide(withRunner(Report.layer, tools({ send: ToolPolicy.deferResult }))))
  })

  it.live("continues on another runner: no effect and no call that was started runs again", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const ran: Array<string> = []
      const began = yield* Deferred.make<void>()
      const counting = (text: string) => Effect.sync(() => (ran.push("read"), `read ${text}`))
      const Report = ClusterPlan.make("Report", makePlan(counting))
      const stuck = Effect.suspend(() => {
        ran.push("send")
        return Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      })
      const one = yield* cluster.start(Report.layer, tools({ send: stuck }))
      const client = yield* one.provide(Report.client)
      yield* Effect.forkChild(client("1").say("orders", { key: "m1" }))
      yield* Deferred.await(began)
      yield* one.die
      const two = yield* cluster.start(Report.layer, tools({ send: Effect.sync(() => (ran.push("send"), "sent 2")) }))
      const report = (yield* two.provide(Report.client))("1")
      const answer = yield* report.say("orders", { key: "m1" })
      assert.deepStrictEqual(ran, ["read", "send"])
      assert.deepStrictEqual(answer.pending.map(({ callId }) => callId), ["pay/pay-1"])
      assert.deepStrictEqual(answer.unknown, [{ callId: "send/send-2", name: "send", path: ["send", "sender"] }])
      const done = yield* report.approve("pay/pay-1")
      assert.strictEqual(done.status, "Complete")
      assert.match(done.text, /paid 1, The process that ran .* unknown/)
    }))

  it.live("names an approved call whose runner died in the answer to the approval", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const began = yield* Deferred.make<void>()
      const stuck = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      const agent = Agent.make("payer", { toolkit: Kit })
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [agent] }))
      const needs = (pay: Effect.Effect<string>) =>
        Layer.merge(Kit.toLayer({ pay: () => pay, send: () => Effect.succeed("sent") }), MockModel.layer(script))
      const one = yield* cluster.start(Report.layer, needs(stuck))
      const client = (yield* one.provide(Report.client))("1")
      yield* client.say("orders", { key: "m1" })
      yield* Effect.forkChild(client.approve("payer/pay-1"))
      yield* Deferred.await(began)
      yield* one.die
      const two = yield* cluster.start(Report.layer, needs(Effect.succeed("paid")))
      const answer = yield* (yield* two.provide(Report.client))("1").approve("payer/pay-1")
      assert.strictEqual(answer.status, "Complete")
      assert.deepStrictEqual(answer.unknown, [{ callId: "payer/pay-1", name: "pay", path: ["payer", "payer"] }])
    }))

  it.live("fails if nobody knows how an effect ended, and starts it again if it is resumed", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const began = yield* Deferred.make<void>()
      const runs: Array<number> = []
      let isStuck = true
      const once = (text: string) =>
        Effect.suspend(() => {
          runs.push(runs.length)
          return isStuck ? Effect.andThen(Deferred.succeed(began, undefined), Effect.never) : Effect.succeed(text)
        })
      const Report = ClusterPlan.make("Report", makePlan(once))
      const one = yield* cluster.start(Report.layer, tools(sent))
      yield* Effect.forkChild((yield* one.provide(Report.client))("1").say("orders", { key: "m1" }))
      yield* Deferred.await(began)
      yield* one.die
      isStuck = false
      const two = yield* cluster.start(Report.layer, tools(sent))
      const report = (yield* two.provide(Report.client))("1")
      const failed = yield* report.say("orders", { key: "m1" })
      assert.deepStrictEqual([failed.status, failed.error?.tag], ["Failed", "EffectUnknown"])
      assert.deepStrictEqual(failed.unknown, [{ callId: "read", name: "read", path: ["read"] }])
      assert.strictEqual(runs.length, 1)
      const resumed = yield* report.resume()
      assert.deepStrictEqual([resumed.status, resumed.unknown], ["Waiting", []])
      assert.strictEqual(runs.length, 2)
    }))

  it.live("starts an effect again at once that is idempotent", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const began = yield* Deferred.make<void>()
      let isStuck = true
      const again = (text: string) =>
        Effect.suspend(() =>
          isStuck ? Effect.andThen(Deferred.succeed(began, undefined), Effect.never) : Effect.succeed(text)
        )
      const Report = ClusterPlan.make("Report", makePlan(again, { idempotent: true }))
      const one = yield* cluster.start(Report.layer, tools(sent))
      yield* Effect.forkChild((yield* one.provide(Report.client))("1").say("orders", { key: "m1" }))
      yield* Deferred.await(began)
      yield* one.die
      isStuck = false
      const two = yield* cluster.start(Report.layer, tools(sent))
      const report = (yield* two.provide(Report.client))("1")
      assert.strictEqual((yield* report.say("orders", { key: "m1" })).status, "Waiting")
    }))

  it.live("is cancelled with the agents that run in it, and goes on with them when it is resumed", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const stuck = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      const Report = ClusterPlan.make("Report", makePlan(read))
      yield* Effect.gen(function*() {
        const report = (yield* Report.client)("1")
        const asking = yield* Effect.forkChild(report.say("orders", { key: "m1" }))
        yield* Deferred.await(began)
        assert.isTrue(yield* report.cancel("m1"))
        const answer = yield* Fiber.join(asking)
        assert.deepStrictEqual([answer.status, answer.unknown.map(({ callId }) => callId)], ["Cancelled", [
          "send/send-2"
        ]])
        const resumed = yield* report.resume()
        assert.deepStrictEqual(resumed.pending.map(({ callId }) => callId), ["pay/pay-1"])
        assert.strictEqual((yield* report.deny("pay/pay-1", "no")).status, "Complete")
      }).pipe(Effect.provide(withRunner(Report.layer, tools({ send: stuck }))))
    }))

  it.live("doesn't blame a process for an effect that was interrupted when its message was cancelled", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const runs: Array<number> = []
      const shipping = Effect.fnUntraced(function*(text: string) {
        runs.push(runs.length)
        if (runs.length > 1) return `shipped ${text}`
        yield* Deferred.succeed(began, undefined)
        return yield* Effect.never
      })
      const nodes = [Plan.agent(payer, { name: "pay" }), Plan.node("ship", shipping)] as const
      const Report = ClusterPlan.make("Report", Plan.make({ nodes }))
      yield* Effect.gen(function*() {
        const report = (yield* Report.client)("1")
        const asking = yield* Effect.forkChild(report.say("orders", { key: "m1" }))
        yield* Deferred.await(began)
        yield* report.node("pay").events().pipe(
          Stream.takeUntil(({ event }) => event._tag === "ApprovalRequested"),
          Stream.runDrain
        )
        assert.isTrue(yield* report.cancel("m1"))
        const cancelled = yield* Fiber.join(asking)
        assert.deepStrictEqual([cancelled.status, cancelled.unknown], ["Cancelled", [
          { callId: "ship", name: "ship", path: ["ship"] }
        ]])
        const approved = yield* report.approve("pay/pay-1")
        assert.deepStrictEqual(approved.error, {
          tag: "EffectUnknown",
          message:
            "\"ship\" was interrupted, or its process ended, before it was done: whether it took effect is unknown",
          agent: "ship",
          step: 0
        })
        assert.strictEqual(runs.length, 1)
        const done = yield* report.resume()
        assert.deepStrictEqual(done.output, { pay: "paid 1", ship: "shipped orders" })
      }).pipe(Effect.provide(withRunner(Report.layer, tools(sent))))
    }))

  it.live("says that a cancellation came too late if it ended meanwhile", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const looked = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const reading = Effect.as(Effect.andThen(Deferred.succeed(began, undefined), Deferred.await(looked)), "read")
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [Plan.node("read", reading)] }))
      yield* Effect.gen(function*() {
        const report = (yield* Report.client)("1")
        const asking = yield* Effect.forkChild(report.say("orders", { key: "m1" }))
        yield* Deferred.await(began)
        const cancelling = yield* Effect.forkChild(report.cancel("m1"))
        assert.strictEqual((yield* Fiber.join(asking)).status, "Complete")
        yield* Deferred.succeed(ended, undefined)
        assert.isFalse(yield* Fiber.join(cancelling))
        assert.isFalse(yield* report.cancel("m1"))
      }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty, slowToLook({ began, looked, ended }))))
    }))

  it.live("is cancelled if the cancellation is kept before the answer, though all nodes have ended", () =>
    Effect.gen(function*() {
      const storing = yield* Deferred.make<void>()
      const open = yield* Deferred.make<void>()
      const looked = yield* Deferred.make<void>()
      const slow = changedStore((store) => ({
        // What cancels looks for an answer, and then appends.
        find: (id, key) =>
          Effect.tap(
            store.find(id, key),
            () => Deferred.isDoneUnsafe(storing) ? Deferred.succeed(looked, undefined) : Effect.void
          ),
        append: (entry) =>
          entry.text.includes("NodeEnded")
            ? Deferred.succeed(storing, undefined).pipe(
              Effect.andThen(Deferred.await(open)),
              Effect.andThen(store.append(entry))
            )
            : Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 50 }), store.append(entry))
      }))
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [Plan.node("read", read)] }))
      yield* Effect.gen(function*() {
        const report = (yield* Report.client)("1")
        const asking = yield* Effect.forkChild(report.say("orders", { key: "m1" }))
        yield* Deferred.await(storing)
        const cancelling = yield* Effect.forkChild(report.cancel("m1"))
        yield* Deferred.await(looked)
        yield* Deferred.succeed(open, undefined)
        const answer = yield* Fiber.join(asking)
        assert.deepStrictEqual([answer.status, answer.text, answer.output], ["Cancelled", "", undefined])
        assert.isTrue(yield* Fiber.join(cancelling))
        const resumed = yield* report.resume()
        assert.deepStrictEqual([resumed.status, resumed.output], ["Complete", { read: "read orders" }])
      }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty, slow)))
    }))

  it.live("says which agent failed, and resumes that agent's own conversation", () => {
    let isBroken = true
    const Flaky = Tool.make("send", { parameters: params, success: Schema.String, failure: Schema.String })
    const FlakyKit = Toolkit.make(Flaky)
    const flaky = Agent.make("sender", { toolkit: FlakyKit, fatal: ["send"] })
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [flaky] }))
    const needs = Layer.merge(
      FlakyKit.toLayer({
        send: () => Effect.suspend(() => isBroken ? Effect.fail("offline") : Effect.succeed("sent"))
      }),
      MockModel.layer(script)
    )
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      const failed = yield* report.say("orders", { key: "m1" })
      assert.deepStrictEqual([failed.status, failed.error?.agent], ["Failed", "sender"])
      isBroken = false
      const done = yield* report.resume()
      assert.strictEqual(done.status, "Complete")
      const state = yield* report.node("sender").state
      assert.strictEqual(state.conversation.turns.filter(({ _tag }) => _tag === "User").length, 1)
    }).pipe(Effect.provide(withRunner(Report.layer, needs)))
  })

  it.live("tells its steps behind a cursor, begins anew with the next input, forks, and is removed with its agents", () => {
    const Report = ClusterPlan.make("Report", makePlan(read))
    return Effect.gen(function*() {
      const client = yield* Report.client
      const report = client("1")
      yield* report.post("one", { key: "m1" })
      const told = yield* report.events().pipe(
        Stream.takeUntil(({ event }) => event._tag === "NodeEnded" && event.node === "send"),
        Stream.runCollect
      )
      assert.deepStrictEqual(told.map(({ cursor }) => cursor), told.map((_, at) => at + 1))
      yield* report.say("two", { key: "m2" })
      assert.strictEqual((yield* report.state).input, "two")
      yield* report.fork("2")
      const forked = client("2")
      const done = yield* forked.approve("pay@2/pay-1")
      assert.deepStrictEqual(done.output, { write: "Written: paid 1, sent 2" })
      assert.deepStrictEqual(Object.keys((yield* report.state).nodes), ["read", "send"])
      yield* report.remove
      assert.deepStrictEqual(yield* report.state, { nodes: {} })
      assert.strictEqual((yield* report.node("send", 2).state).conversation.turns.length, 0)
      assert.strictEqual((yield* forked.state).input, "two")
    }).pipe(Effect.provide(withRunner(Report.layer, tools(sent))))
  })

  it.live("leaves a plan as it is onto which another one can't be forked", () => {
    const pay = Plan.agent(payer, { name: "pay" })
    const write = Plan.agent(writer, { name: "write" })
    // The agent that only one of the plans has asked so far is the first that would be forked.
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [write, pay], edges: [Plan.edge(pay, write)] }))
    return Effect.gen(function*() {
      const client = yield* Report.client
      const [one, other] = [client("1"), client("2")]
      yield* one.say("mine")
      yield* one.approve("pay/pay-1")
      yield* other.say("yours")
      const refused = yield* Effect.flip(one.fork("2"))
      assert.deepInclude(refused._tag === "ConversationError" && refused.reason, {
        _tag: "ConversationExists",
        id: "2"
      })
      assert.strictEqual((yield* other.node("write").state).conversation.turns.length, 0)
    }).pipe(Effect.provide(withRunner(Report.layer, tools(sent))))
  })

  it.live("refuses what isn't JSON, since nobody else could go on from it", () => {
    const dated = Plan.node("dated", Effect.succeed({ at: new Date(0) }))
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [dated] }))
    return Effect.gen(function*() {
      const answer = yield* (yield* Report.client)("1").say("now")
      assert.deepStrictEqual([answer.status, answer.error?.tag], ["Failed", "OutputNotJson"])
      assert.match(answer.error?.message ?? "", /"at \(Date\)"/)
    }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty)))
  })

  it.live("ends its readers when it is removed", () => {
    const Report = ClusterPlan.make("Report", makePlan(read))
    return Effect.gen(function*() {
      const client = yield* Report.client
      yield* client("1").say("orders")
      yield* client("2").say("orders")
      const told = { "1": yield* Latch.make(), "2": yield* Latch.make() }
      const eventsOf = (id: keyof typeof told) => Stream.tap(client(id).events(), () => told[id].open)
      const reading = yield* Effect.forkChild(Stream.runCollect(eventsOf("1")))
      const waiting = yield* Effect.forkChild(Stream.runDrain(eventsOf("2")))
      yield* Effect.andThen(told["1"].await, told["2"].await)
      yield* client("1").remove
      assert.strictEqual((yield* Fiber.join(reading))[0]?.event._tag, "PlanBegun")
      assert.isUndefined(waiting.pollUnsafe())
    }).pipe(Effect.provide(withRunner(Report.layer, tools(sent))))
  })
})
