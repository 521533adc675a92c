/** How a node of a plan on a cluster asks its agent again: whether that continues its run or is told its input again. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Schedule, Schema, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, type AgentState, Plan, StopWhen } from "troupe"
import { ClusterPlan } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { makeCluster, withRunner } from "./runners.ts"

const Kit = Toolkit.make(
  Tool.make("note", { success: Schema.String }),
  Tool.make("pay", { success: Schema.String, needsApproval: true })
)

/** The run of this agent ends without an answer as soon as it has called the tool. */
const endedBy = (tool: "note" | "pay") =>
  Agent.make("counter", {
    toolkit: Kit,
    output: Schema.Struct({ sum: Schema.Int }),
    stopWhen: StopWhen.toolCalled(tool)
  })

interface Seen {
  readonly said: number
  readonly paid: boolean
}

const pay = MockResponse.toolCall("pay", {}, { id: "pay-0" })
const note = MockResponse.toolCall("note", {})
const limited = MockResponse.fail(new AiError.RateLimitError({}))
const answered = MockResponse.toolCall("final_answer", { sum: 7 })

/** What the agent needs: its model answers by how often its input was said. */
const needs = (answer: (seen: Seen) => MockResponse.MockResponse | Effect.Effect<MockResponse.MockResponse>) =>
  Layer.merge(
    Kit.toLayer({ note: () => Effect.succeed("noted"), pay: () => Effect.succeed("paid") }),
    MockModel.layer(MockModel.make(({ lastToolResults, prompt }) =>
      answer({
        said: prompt.content.filter(({ role }) => role === "user").length,
        paid: lastToolResults.some(({ name }) => name === "pay")
      })
    ))
  )

const wordsIn = ({ conversation }: AgentState.AgentState): number =>
  conversation.turns.filter(({ _tag }) => _tag === "User").length

const makeReport = (tool: "note" | "pay", retries: number) =>
  ClusterPlan.make("Report", Plan.make({ nodes: [Plan.agent(endedBy(tool), { retry: Schedule.recurs(retries) })] }))

describe("A node of a plan on a cluster whose agent ended without an answer", () => {
  for (const retries of [1, 0]) {
    const way = retries === 0 ? "the plan's resume" : "a retry"
    it.live(`is told its input again by ${way}, also if it had waited`, () => {
      const Report = makeReport("pay", retries)
      return Effect.gen(function*() {
        const report = (yield* Report.client)("1")
        yield* report.say("orders")
        const answer = yield* report.approve("counter/pay-0")
        assert.strictEqual(answer.error?.tag, retries === 0 ? "NoAnswer" : undefined)
        const { output } = retries === 0 ? yield* report.resume() : answer
        assert.deepStrictEqual(output, { counter: { sum: 7 } })
        assert.strictEqual(wordsIn(yield* report.node("counter").state), 2)
      }).pipe(Effect.provide(withRunner(Report.layer, needs(({ said }) => said === 1 ? pay : answered))))
    })
  }

  it.live("is told its input again once, though the process dies while it reads it", () =>
    Effect.gen(function*() {
      const Report = makeReport("pay", 1)
      const cluster = yield* makeCluster
      const began = yield* Deferred.make<void>()
      const stuck = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      const one = yield* cluster.start(Report.layer, needs(({ said }) => said === 1 ? pay : stuck))
      const client = (yield* one.provide(Report.client))("1")
      yield* client.say("orders")
      yield* Effect.forkChild(client.approve("counter/pay-0"))
      yield* Deferred.await(began)
      yield* one.die
      const two = yield* cluster.start(Report.layer, needs(({ said }) => said === 1 ? pay : answered))
      const report = (yield* two.provide(Report.client))("1")
      assert.deepStrictEqual((yield* report.approve("counter/pay-0")).output, { counter: { sum: 7 } })
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 2)
    }))

  it.live("makes no more attempts than its retry says, though the process dies in one of them", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const Report = makeReport("note", 3)
      const began = yield* Deferred.make<void>()
      const stuck = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      const one = yield* cluster.start(Report.layer, needs(({ said }) => said === 3 ? stuck : note))
      const client = (yield* one.provide(Report.client))("1")
      yield* client.post("orders", { key: "m1" })
      yield* Deferred.await(began)
      yield* one.die
      const two = yield* cluster.start(Report.layer, needs(() => note))
      const report = (yield* two.provide(Report.client))("1")
      assert.strictEqual((yield* report.say("orders", { key: "m1" })).error?.tag, "NoAnswer")
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 4)
    }))

  it.live("waits on another runner for what its input led to, once a resume has said it again", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const began = yield* Deferred.make<void>()
      const Report = makeReport("pay", 0)
      const stuck = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
      const one = yield* cluster.start(Report.layer, needs(({ said }) => said === 1 ? pay : stuck))
      const client = (yield* one.provide(Report.client))("1")
      yield* client.say("orders")
      assert.strictEqual((yield* client.approve("counter/pay-0")).error?.tag, "NoAnswer")
      yield* Effect.forkChild(client.resume({ key: "again" }))
      yield* Deferred.await(began)
      yield* one.die
      const two = yield* cluster.start(Report.layer, needs(() => answered))
      const report = (yield* two.provide(Report.client))("1")
      assert.deepStrictEqual((yield* report.resume({ key: "again" })).output, { counter: { sum: 7 } })
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 2)
    }))

  it.live("isn't told its input again by a resume that continued its run to that end", () => {
    const Report = makeReport("note", 0)
    const model = needs(() => asked++ === 0 ? limited : note)
    let asked = 0
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      assert.strictEqual((yield* report.say("orders")).error?.tag, "ModelCallFailed")
      assert.strictEqual((yield* report.resume()).error?.tag, "NoAnswer")
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 1)
      assert.strictEqual((yield* report.resume()).error?.tag, "NoAnswer")
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 2)
    }).pipe(Effect.provide(withRunner(Report.layer, model)))
  })

  for (const way of ["an approval", "a resume"]) {
    it.live(`isn't told its input again if the process dies before ${way} has failed the plan`, () =>
      Effect.gen(function*() {
        const Report = makeReport(way === "a resume" ? "note" : "pay", 0)
        const cluster = yield* makeCluster
        const { append } = cluster.store
        const [failing, dead] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        Object.assign(cluster.store, {
          append: (entry: Parameters<typeof append>[0]) =>
            JSON.stringify(entry).includes("NoAnswer") && !Deferred.isDoneUnsafe(failing)
              ? Effect.as(Effect.andThen(Deferred.succeed(failing, undefined), Deferred.await(dead)), true)
              : append(entry)
        })
        let asked = 0
        const model = needs(() => way === "an approval" ? pay : asked++ === 0 ? limited : note)
        const one = yield* cluster.start(Report.layer, model)
        const client = (yield* one.provide(Report.client))("1")
        yield* client.say("orders")
        const call = { callId: "counter/pay-0", key: "again" }
        const go = ({ approve, resume }: Pick<typeof client, "approve" | "resume">) =>
          way === "a resume" ? resume(call) : approve(call.callId, call)
        yield* Effect.forkChild(go(client))
        yield* Deferred.await(failing)
        yield* one.die
        yield* Deferred.succeed(dead, undefined)
        const two = yield* cluster.start(Report.layer, needs(() => answered))
        const report = (yield* two.provide(Report.client))("1")
        assert.strictEqual((yield* go(report)).error?.tag, "NoAnswer")
        assert.strictEqual(wordsIn(yield* report.node("counter").state), 1)
      }))
  }

  it.live("is told its input again by the retry after a time-out for which that end came too late", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const { append } = cluster.store
      Object.assign(cluster.store, {
        append: (entry: Parameters<typeof append>[0]) =>
          entry.id.startsWith("Report.counter") && entry.answered === "input"
            ? Effect.andThen(Effect.delay(Effect.void, 1500), append(entry))
            : append(entry)
      })
      const node = Plan.agent(endedBy("note"), { timeout: 1000, retry: Schedule.recurs(1) })
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [node] }))
      const one = yield* cluster.start(Report.layer, needs(({ said }) => said === 1 ? note : answered))
      const report = (yield* one.provide(Report.client))("1")
      const answer = yield* report.say("orders")
      assert.deepStrictEqual(answer.output, { counter: { sum: 7 } })
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 2)
    }))

  it.live("is told its input again until it has taken that in", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      let isDown = false
      const Report = ClusterPlan.make("Report", Plan.make({ nodes: [endedBy("note")] }), {
        services: () => Effect.suspend(() => isDown ? Effect.die("down") : Effect.succeed(Context.empty()))
      })
      const model = needs(({ said }) => said === 1 ? note : answered)
      const one = yield* cluster.start(Report.layer, model)
      assert.strictEqual((yield* (yield* one.provide(Report.client))("1").say("orders")).error?.tag, "NoAnswer")
      yield* one.end
      isDown = true
      const two = yield* cluster.start(Report.layer, model)
      const report = (yield* two.provide(Report.client))("1")
      assert.strictEqual((yield* report.resume()).error?.tag, "Defect")
      isDown = false
      assert.deepStrictEqual((yield* report.resume()).output, { counter: { sum: 7 } })
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 2)
    }))

  it.live("takes the answer that it has once that fits, and isn't told its input again", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const model = needs(({ paid }) => paid ? MockResponse.toolCall("final_answer", { day: "2026-01-01" }) : pay)
      const makeDated = (day: Schema.Codec<unknown>) =>
        ClusterPlan.make(
          "Report",
          Plan.make({ nodes: [Agent.make("counter", { toolkit: Kit, output: Schema.Struct({ day }) })] })
        )
      const Dated = makeDated(Schema.DateFromString)
      const one = yield* cluster.start(Dated.layer, model)
      const client = (yield* one.provide(Dated.client))("1")
      yield* client.say("orders")
      assert.strictEqual((yield* client.approve("counter/pay-0")).error?.tag, "OutputNotJson")
      yield* one.end
      const Report = makeDated(Schema.String)
      const two = yield* cluster.start(Report.layer, model)
      const report = (yield* two.provide(Report.client))("1")
      assert.deepStrictEqual((yield* report.resume()).output, { counter: { day: "2026-01-01" } })
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 1)
    }))

  it.live("continues its later run, though the process died while that waited", () =>
    Effect.gen(function*() {
      const cluster = yield* makeCluster
      const slow = (running: Effect.Effect<string>) => Plan.node("slow", () => running, { idempotent: true })
      const makeSlow = (running: Effect.Effect<string>) =>
        ClusterPlan.make(
          "Report",
          Plan.make({ nodes: [Plan.agent(endedBy("note"), { retry: Schedule.recurs(1) }), slow(running)] })
        )
      const model = needs(({ paid, said }) => said === 1 ? note : paid ? answered : pay)
      const Slow = makeSlow(Effect.never)
      const one = yield* cluster.start(Slow.layer, model)
      const client = (yield* one.provide(Slow.client))("1")
      yield* client.post("orders", { key: "m1" })
      yield* client.events().pipe(
        Stream.takeUntil(({ event }) => event._tag === "PlaceStopped"),
        Stream.runDrain
      )
      yield* one.die
      const Report = makeSlow(Effect.succeed("slow"))
      const two = yield* cluster.start(Report.layer, model)
      const report = (yield* two.provide(Report.client))("1")
      const waiting = yield* report.say("orders", { key: "m1" })
      assert.deepStrictEqual(waiting.pending.map(({ callId }) => callId), ["counter/pay-0"])
      const { output } = yield* report.approve("counter/pay-0")
      assert.deepStrictEqual(output, { counter: { sum: 7 }, slow: "slow" })
      assert.strictEqual(wordsIn(yield* report.node("counter").state), 2)
    }))
})
