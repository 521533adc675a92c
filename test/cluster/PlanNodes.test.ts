/** Nodes of plans on a cluster: their names, what they return, and what they wait for. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Schema } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, Guardrail, Plan } from "troupe"
import { ClusterPlan, ConversationStore } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { makeCluster, withRunner } from "./runners.ts"

const Pay = Tool.make("pay", { success: Schema.String, needsApproval: true })
const Kit = Toolkit.make(Pay)
const payer = Agent.make("payer", { toolkit: Kit })

/** Pays once it is told something, and says what came of it. Each conversation gives its call the same id. */
const needs = Layer.merge(
  Kit.toLayer({ pay: () => Effect.succeed("paid") }),
  MockModel.layer(
    MockModel.make(({ lastToolResults: [result] }) =>
      result === undefined ? MockResponse.toolCall("pay", {}, { id: "pay-0" }) : String(result.result)
    )
  )
)

describe("A node of a plan on a cluster", () => {
  it.live("may be the last one and return nothing", () => {
    const send = Plan.node("send", () => Effect.void)
    const count = Plan.node("count", (text: string) => Effect.succeed(text.length))
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [send, count] }))
    return Effect.gen(function*() {
      const answer = yield* (yield* Report.client)("1").say("four")
      assert.deepStrictEqual([answer.status, answer.text], ["Complete", "{\"count\":4}"])
      assert.deepStrictEqual(answer.output, { count: 4 } as never)
    }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty)))
  })

  it.live("that changes its input changes neither the state nor what was said", () => {
    const first = Plan.node("first", (words: Array<string>) => Effect.sync(() => [words.push("first")]))
    const second = Plan.node("second", (lengths: Array<number>) => Effect.sync(() => lengths.push(9)))
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [first, second], edges: [Plan.edge(first, second)] }))
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      yield* report.say(["said"])
      const nodes = { first: { _tag: "Completed", output: [2] }, second: { _tag: "Completed", output: 2 } }
      assert.deepStrictEqual(yield* report.state, { input: ["said"], nodes } as never)
    }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty)))
  })

  for (const name of ["constructor", "toString", "__proto__"]) {
    it.live(`may have the name ${name}`, () => {
      // Types know no edges of a name that isn't a literal.
      const count: Plan.Node<"count", string, number> = Plan.node(
        name as "count",
        (text: string) => Effect.succeed(text.length)
      )
      const asked = Plan.agent(Agent.make("asked"), { input: (count: number) => `${count}` })
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [count, asked], edges: [Plan.edge(count, asked)] }))
      return Effect.gen(function*() {
        const report = (yield* Report.client)("1")
        const answer = yield* report.say("four")
        assert.deepStrictEqual([answer.status, answer.text], ["Complete", "{\"asked\":\"Yes.\"}"])
        assert.deepStrictEqual(Object.entries((yield* report.state).nodes)[0], [name, { _tag: "Completed", output: 4 }])
      }).pipe(Effect.provide(withRunner(Report.layer, MockModel.layer(MockModel.queue("Yes.")))))
    })
  }

  it("can't have the name of another node's fallback", () => {
    const fallback = Plan.node("b", () => Effect.void)
    const named = Plan.node("a/b", () => Effect.void)
    for (
      const node of [
        named,
        Plan.node("a", () => Effect.void, { fallback: Plan.node("b", () => Effect.void, { fallback: named }) })
      ]
    ) {
      assert.throws(
        () => ClusterPlan.make("Report", Plan.make({ nodes: [node] })),
        Plan.InvalidPlan,
        "The plan is invalid: on a cluster, the name of a node can't have a \"/\" or end in \"@\" and a number, as \"a/b\" does"
      )
    }
    ClusterPlan.make("Report", Plan.make({ nodes: [Plan.node("a", () => Effect.void, { fallback })] }))
  })

  it("can't have the name of another node when the plan begins again, or an old approval could approve a new call", () => {
    const named = Plan.agent(payer, { name: "pay@2" })
    for (const node of [named, Plan.agent(payer, { name: "pay", fallback: named })]) {
      assert.throws(
        () => ClusterPlan.make("Report", Plan.make({ nodes: [node] })),
        Plan.InvalidPlan,
        "as \"pay@2\" does"
      )
    }
    for (const name of ["pay@", "pay@2x", "a@2b"]) {
      ClusterPlan.make("Report", Plan.make({ nodes: [Plan.agent(payer, { name })] }))
    }
  })

  it.live("whose conversation can't be read hides nothing of the others from who asks for a call that isn't there", () =>
    Effect.gen(function*() {
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [payer, Plan.agent(payer, { name: "other" })] }))
      const { start, store } = yield* makeCluster
      const one = yield* start(Report.layer, needs)
      yield* (yield* one.provide(Report.client))("1").say("orders")
      yield* one.end
      const { claim } = store
      Object.assign(store, {
        claim: (id: string) =>
          Effect.map(
            claim(id),
            (claimed) => id === "Report.other/1/1" ? { ...claimed, entries: [{ revision: 1, text: "?" }] } : claimed
          )
      })
      const two = yield* start(Report.layer, needs)
      const report = (yield* two.provide(Report.client))("1")
      const unreadable = yield* Effect.flip(report.node("other").state)
      assert.strictEqual(unreadable._tag === "ConversationError" && unreadable.reason._tag, "ConversationUnreadable")
      const unknown = yield* Effect.flip(report.approve("nobody/pay-0"))
      assert.deepInclude(unknown._tag === "ConversationError" && unknown.reason, {
        _tag: "NotAwaitingApproval",
        awaiting: ["payer/pay-0"]
      })
    }))

  it.live("has ended if its output isn't JSON, so it isn't unknown how", () => {
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [Plan.node("n", () => Effect.succeed(NaN))] }))
    return Effect.gen(function*() {
      const answer = yield* (yield* Report.client)("1").say("now")
      assert.deepStrictEqual([answer.error?.tag, answer.unknown], ["OutputNotJson", []])
    }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty)))
  })

  it.live("that gives no Effect ends the plan with a defect that names it", () => {
    const promised = Plan.node("promised", (() => Promise.resolve("a")) as unknown as () => Effect.Effect<string>)
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [promised] }))
    return Effect.gen(function*() {
      const answer = yield* (yield* Report.client)("1").say("now")
      assert.deepStrictEqual([answer.error?.tag, answer.error?.message], [
        "Defect",
        "Node \"promised\" must return an Effect, not a Promise: `Effect.promise` or `Effect.tryPromise` makes an Effect of it"
      ])
    }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty)))
  })

  it.live("stores its start before its function is called", () => {
    let atStart: ReadonlyArray<unknown> = []
    const steps: Array<unknown> = []
    const send = Plan.node("send", () => {
      atStart = [...steps]
      return Effect.succeed("sent")
    })
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [send] }))
    return Effect.gen(function*() {
      const store = yield* ConversationStore.ConversationStore
      const append = store.append
      Object.assign(store, {
        append: (entry: ConversationStore.Append) =>
          Effect.tap(append(entry), () => Effect.sync(() => steps.push(...JSON.parse(entry.text).steps)))
      })
      yield* (yield* Report.client)("1").say("now", { key: "m1" })
      assert.deepStrictEqual(atStart.at(-1), { _tag: "PlaceStarted", place: "send", message: "m1", isAgent: false })
    }).pipe(Effect.provide(withRunner(Report.layer, Layer.empty)))
  })

  it.live("that waits and times out holds up nothing: its fallback runs to its end", () => {
    const later = (millis: number, text: string) => Effect.delay(Effect.succeed(text), millis)
    const pay = Plan.agent(payer, { timeout: 100, fallback: Plan.node("short", () => later(300, "short")) })
    const slow = Plan.node("slow", () => later(200, "slow"))
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [pay, slow] }))
    return Effect.gen(function*() {
      const answer = yield* (yield* Report.client)("1").say("orders")
      assert.deepStrictEqual([answer.status, answer.output, answer.unknown], [
        "Complete",
        { payer: "short", slow: "slow" },
        []
      ])
    }).pipe(Effect.provide(withRunner(Report.layer, needs)))
  })

  it.live("isn't begun again while its fallback waits, until somebody resumes the plan", () => {
    let begun = 0
    const down = (text: string) => Effect.suspend(() => ++begun < 3 ? Effect.fail("down") : Effect.succeed(text))
    const first = Plan.node("first", down, { fallback: payer })
    const other = Plan.agent(payer, { name: "other" })
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [first, other] }))
    return Effect.gen(function*() {
      const client = yield* Report.client
      const report = client("1")
      const idsOf = ({ pending }: { readonly pending: ReadonlyArray<{ readonly callId: string }> }) =>
        pending.map(({ callId }) => callId).sort()
      const ids = ["first/payer/pay-0", "other/pay-0"]
      assert.deepStrictEqual(idsOf(yield* report.say("orders")), ids)
      assert.deepStrictEqual(idsOf(yield* report.approve("other/pay-0")), ["first/payer/pay-0"])
      assert.strictEqual(begun, 1)
      const done = yield* report.approve("first/payer/pay-0")
      assert.deepStrictEqual([done.output, begun], [{ first: "paid", other: "paid" }, 1])
      const again = client("2")
      yield* again.say("orders")
      assert.deepStrictEqual([idsOf(yield* again.deny("other/pay-0", "no")), begun], [["first/payer/pay-0"], 2])
      const resumed = yield* again.resume()
      assert.strictEqual(begun, 3)
      assert.deepInclude(resumed.output, { first: "orders" })
    }).pipe(Effect.provide(withRunner(Report.layer, needs)))
  })

  it.live("resumes a fallback that waits, if what it stands in for fails again", () => {
    let begun = 0
    const down = (text: string) => Effect.suspend(() => Effect.fail([text, ++begun]))
    const Report = ClusterPlan.make(
      "Report",
      Plan.make({ nodes: [Plan.node("first", down, { fallback: payer })] })
    )
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      const waiting = yield* report.say("orders")
      assert.deepStrictEqual([(yield* report.resume()).pending, begun], [waiting.pending, 2])
      const done = yield* report.approve("first/payer/pay-0")
      assert.deepStrictEqual([done.output, begun], [{ first: "paid" }, 2])
      const said = (yield* report.node("first/payer").state).conversation.turns.filter(({ _tag }) => _tag === "User")
      assert.strictEqual(said.length, 1)
    }).pipe(Effect.provide(withRunner(Report.layer, needs)))
  })

  it.live("tells its own failure before that of its fallback, also if the fallback went on elsewhere", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      let begun = 0
      class Down extends Schema.TaggedError<Down>()("Down", {}) {
        override readonly message = "the shop is down"
      }
      const asked = yield* Deferred.make<void>()
      let isStuck = true
      const script = MockModel.make(({ agent }) =>
        agent === "payer" && isStuck
          ? Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
          : MockResponse.fail(new AiError.AuthenticationError({ kind: "InvalidKey" }))
      )
      const last = Plan.node("last", (_text: string) => Effect.fail("no cache"), { idempotent: true })
      const payment = Plan.agent(payer, { name: "payment", fallback: last })
      const shop = Plan.node("shop", (_text: string) => Effect.suspend(() => (begun++, new Down())), {
        fallback: payment
      })
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [shop] }))
      const kit = Kit.toLayer({ pay: () => Effect.succeed("paid") })
      const layer = Layer.merge(kit, MockModel.layer(script))
      const failure = {
        tag: "Down",
        agent: "shop",
        step: 0,
        message: "the shop is down; its fallback \"payment\" failed: The model of agent \"payer\" gave no answer " +
          "in step 1 after 1 attempt: MockModel.respond: InvalidKey: Verify your API key is correct; " +
          "its fallback \"last\" failed: no cache"
      }
      const one = yield* cluster.start(Report.layer, layer)
      const before = (yield* one.provide(Report.client))("1")
      yield* Effect.forkChild(before.say("orders", { key: "m1" }))
      yield* Deferred.await(asked)
      yield* one.die
      isStuck = false
      const two = yield* cluster.start(Report.layer, layer)
      const client = yield* two.provide(Report.client)
      const moved = yield* client("1").say("orders", { key: "m1" })
      const whole = yield* client("2").say("orders", { key: "m1" })
      assert.deepStrictEqual([moved.error, begun], [whole.error, 2])
      assert.deepStrictEqual(whole.error, failure)
      // Resumed, it is tried again itself.
      assert.deepStrictEqual([(yield* client("1").resume()).error, begun], [failure, 3])
    }))

  it.live("whose fallback an earlier version began is continued by the fallback", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const down = Plan.node("first", (_text: string) => Effect.die("It isn't begun again"), { fallback: payer })
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [down] }))
      const open = { "first/payer": { message: "m1", isAgent: true, isTold: false } }
      const state = { run: 1, input: "orders", nodes: {}, open }
      yield* cluster.store.create("Report/1", "before", JSON.stringify({ steps: [], taken: "m1", state }))
      const one = yield* cluster.start(Report.layer, needs)
      const answer = yield* (yield* one.provide(Report.client))("1").say("orders", { key: "m1" })
      assert.deepStrictEqual(answer.pending.map(({ callId }) => callId), ["first/payer/pay-0"])
    }))

  it.live("doesn't run again by a new name: the plan fails until it has the old names, and keeps what it has", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const ran: Array<string> = []
      const version = (name: string, fallback: string) => {
        const pay = Plan.node(name, (text: string) => Effect.sync(() => (ran.push(name), text)))
        const send = Plan.node("send", (_text: string) => Effect.fail("down"), {
          fallback: Plan.agent(payer, { name: fallback })
        })
        return ClusterPlan.make("Report", Plan.make({ nodes: [pay, send] }))
      }
      const on = Effect.fnUntraced(function*<A, E>(
        [name, fallback]: readonly [string, string],
        use: (report: ReturnType<Effect.Success<ReturnType<typeof version>["client"]>>) => Effect.Effect<A, E>
      ) {
        const Report = version(name, fallback)
        const runner = yield* cluster.start(Report.layer, needs)
        const used = yield* use((yield* runner.provide(Report.client))("1"))
        yield* runner.end
        return used
      })
      const waiting = yield* on(["pay", "later"], (report) => report.say("order"))
      assert.deepStrictEqual([waiting.status, ran], ["Waiting", ["pay"]])
      const renamed = yield* on(["charge", "later"], (report) => report.resume())
      assert.deepStrictEqual([renamed.status, renamed.error?.tag, renamed.error?.message], [
        "Failed",
        "PlanMismatch",
        "\"pay\" is none of these nodes: \"charge\", \"send\", \"send/later\""
      ])
      const other = yield* on(["pay", "soon"], (report) => report.resume())
      const early = yield* on(["pay", "soon"], (report) => report.approve("send/later/pay-0"))
      assert.deepStrictEqual([early.error?.tag, other.error?.tag], ["PlanMismatch", "PlanMismatch"])
      assert.match(other.error?.message ?? "", /"send\/later" is none of these nodes/)
      const done = yield* on(["pay", "later"], (report) => report.approve("send/later/pay-0", { key: "again" }))
      assert.deepStrictEqual([done.output, ran], [{ pay: "order", send: "paid" }, ["pay"]] as never)
      const anew = yield* on(["charge", "soon"], (report) => report.say("order"))
      assert.deepStrictEqual([anew.status, ran], ["Waiting", ["pay", "charge"]])
    }))

  it.live("whose end is unknown doesn't run by a new name when the plan is resumed", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const ran: Array<string> = []
      const begun = yield* Deferred.make<void>()
      const version = (name: string) => {
        const pay = Plan.node(name, () =>
          Effect.suspend(() =>
            ran.push(name) > 1
              ? Effect.succeed("paid")
              : Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
          ))
        return ClusterPlan.make("Report", Plan.make({ nodes: [pay] }))
      }
      const [Old, New] = [version("pay"), version("charge")]
      const one = yield* cluster.start(Old.layer, Layer.empty)
      yield* Effect.forkChild((yield* one.provide(Old.client))("1").say("order", { key: "m1" }))
      yield* Deferred.await(begun)
      yield* one.die
      const two = yield* cluster.start(New.layer, Layer.empty)
      const renamed = (yield* two.provide(New.client))("1")
      const tags = [yield* renamed.say("order", { key: "m1" }), yield* renamed.resume(), yield* renamed.resume()]
      assert.deepStrictEqual([
        tags.map(({ error }) => error?.tag),
        ran
      ], [Array(3).fill("PlanMismatch"), ["pay"]])
      yield* two.end
      const three = yield* cluster.start(Old.layer, Layer.empty)
      const done = yield* (yield* three.provide(Old.client))("1").resume()
      assert.deepStrictEqual([done.output, done.unknown, ran], [{ pay: "paid" }, [], ["pay", "pay"]])
    }))

  it.live("is told its input again if a guardrail blocked it or it was rejected, once that has changed", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const model = MockModel.layer(MockModel.make(({ lastUserText }) => `You said ${lastUserText}.`))
      const makeReport = (limits: { readonly guarded: number; readonly short: number }) => {
        const guardrails = { input: [Guardrail.length({ max: limits.guarded })] }
        return ClusterPlan.make(
          "Report",
          Plan.make({
            nodes: [Agent.make("guarded", { guardrails }), Agent.make("short", { maxInputLength: limits.short })],
            concurrency: 1
          })
        )
      }
      const Strict = makeReport({ guarded: 3, short: 3 })
      const one = yield* cluster.start(Strict.layer, model)
      const strict = (yield* one.provide(Strict.client))("1")
      assert.strictEqual((yield* strict.say("orders")).error?.tag, "GuardrailBlocked")
      assert.strictEqual((yield* strict.resume()).error?.tag, "GuardrailBlocked")
      yield* one.end
      const Looser = makeReport({ guarded: 10, short: 3 })
      const two = yield* cluster.start(Looser.layer, model)
      const looser = (yield* two.provide(Looser.client))("1")
      assert.strictEqual((yield* looser.resume()).error?.tag, "InputRejected")
      yield* two.end
      const Report = makeReport({ guarded: 10, short: 10 })
      const three = yield* cluster.start(Report.layer, model)
      const report = (yield* three.provide(Report.client))("1")
      const done = yield* report.resume()
      assert.deepStrictEqual(done.output, { guarded: "You said orders.", short: "You said orders." })
    }))

  it.live("has a fallback with a conversation of its own, whatever the ids of plans are", () => {
    const write = Plan.agent(Agent.make("write"), { fallback: Agent.make("short") })
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [write] }))
    const model = MockModel.make(({ agent, lastUserText }) =>
      agent === "write" && lastUserText === "fail"
        ? MockResponse.fail(new AiError.AuthenticationError({ kind: "InvalidKey" }))
        : `${agent}: ${lastUserText}`
    )
    return Effect.gen(function*() {
      const client = yield* Report.client
      yield* client("short/1").say("secret")
      const answer = yield* client("1").say("fail")
      assert.deepStrictEqual(answer.output, { write: "short: fail" })
      const { conversation } = yield* client("1").node("write/short").state
      assert.strictEqual(conversation.turns.length, 2)
    }).pipe(Effect.provide(withRunner(Report.layer, MockModel.layer(model))))
  })

  it.live("has other ids for its calls each time the plan begins, so an old approval approves nothing new", () => {
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [payer] }))
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      const idOf = ({ pending }: { readonly pending: ReadonlyArray<{ readonly callId: string }> }) => pending[0]?.callId
      const first = idOf(yield* report.say("one", { key: "m1" }))
      assert.strictEqual(first, "payer/pay-0")
      assert.deepStrictEqual((yield* report.approve("payer/pay-0")).output, { payer: "paid" })
      const second = idOf(yield* report.say("two", { key: "m2" }))
      assert.strictEqual(second, "payer@2/pay-0")
      yield* report.approve("payer/pay-0")
      const late = yield* Effect.flip(report.deny("payer/pay-0", "no"))
      assert.strictEqual(late._tag === "ConversationError" && late.reason._tag, "NotAwaitingApproval")
      assert.deepStrictEqual((yield* report.state).nodes, {})
      const wrong = yield* Effect.flip(report.approve("payer@2/other"))
      assert.deepInclude(wrong._tag === "ConversationError" && wrong.reason, {
        callId: "payer@2/other",
        awaiting: ["payer@2/pay-0"]
      })
      const done = yield* report.approve("payer@2/pay-0")
      assert.deepStrictEqual([done.status, done.output], ["Complete", { payer: "paid" }])
    }).pipe(Effect.provide(withRunner(Report.layer, needs)))
  })
})
