import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Result, Schedule, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentError, AgentState, Group, HandoffPolicy, Plan, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const { toolCall } = MockResponse

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E =>
  Exit.isFailure(exit) ? Option.getOrThrow(Cause.findErrorOption(exit.cause)) : assert.fail("it succeeded")

/** A model that tells who was asked what. */
const Echo = MockModel.layer(MockModel.make(({ agent, lastUserText }) => `${agent}(${lastUserText})`))

describe("An agent in a plan", () => {
  it.effect("takes text and gives its text as it is", () =>
    Effect.gen(function*() {
      const [first, left, right] = [Agent.make("first"), Agent.make("left"), Agent.make("right")]
      const plan = Plan.make({
        nodes: [first, left, right],
        edges: [Plan.edge(first, left), Plan.edge(first, right, (text) => `${text}!`)]
      })
      assert.deepStrictEqual(yield* Plan.run(plan, "Hi"), { left: "left(first(Hi))", right: "right(first(Hi)!)" })
    }).pipe(Effect.provide(Echo)))

  it.effect("gives the decoded value of its output schema", () =>
    Effect.gen(function*() {
      const dated = Agent.make("dated", { output: Schema.Struct({ at: Schema.Date }) })
      const year = Plan.node("year", ({ at }: { readonly at: Date }) => Effect.succeed(at.getUTCFullYear()))
      const plan = Plan.make({ nodes: [dated, year], edges: [Plan.edge(dated, year)] })
      assert.deepStrictEqual(yield* Plan.run(plan, "When?"), { year: 2024 })
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("{\"at\":\"2024-02-29T00:00:00.000Z\"}")))))

  it.effect("takes what its function makes text or parts of, under a name of its own", () =>
    Effect.gen(function*() {
      const echo = Agent.make("echo")
      const one = Plan.agent(echo, { name: "one", input: (n: number) => `${n}` })
      const two = Plan.agent(echo, {
        name: "two",
        input: (n: number) => [{ _tag: "Text", text: `${n}` }, { _tag: "Text", text: "!" }]
      })
      const plan = Plan.make({ nodes: [one, two] })
      assert.deepStrictEqual(yield* Plan.run(plan, 7), { one: "echo(7)", two: "echo(7!)" })
    }).pipe(Effect.provide(Echo)))

  it.effect("may be a group, under a name", () =>
    Effect.gen(function*() {
      const desk = Group.make({ triage: Agent.make("triage"), billing: Agent.make("billing") }, {
        start: "triage",
        policy: HandoffPolicy.explicit("billing")
      })
      const clerk = Plan.agent(desk, { name: "desk" })
      const size = Plan.node("size", (text: string) => Effect.succeed(text.length))
      const plan = Plan.make({ nodes: [clerk, size], edges: [Plan.edge(clerk, size)] })
      assert.deepStrictEqual(yield* Plan.run(plan, "I paid twice"), { size: 4 })
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      triage: MockModel.queue(toolCall("handoff_to_billing", {})),
      billing: MockModel.queue("Yes.")
    })))))

  it.effect("fails with its error, which has its state", () =>
    Effect.gen(function*() {
      const endless = Agent.make("endless", { stopWhen: StopWhen.maxSteps(0) })
      const plan = Plan.make({ nodes: [endless] })
      const error = failureOf(yield* Effect.exit(Plan.run(plan, "Go")))
      assert.strictEqual(error.node, "endless")
      assert.isTrue(AgentError.isAgentError(error.reason))
      const state = AgentError.isAgentError(error.reason) ? error.reason.state : assert.fail()
      assert.strictEqual(state.status._tag, "Failed")
      assert.strictEqual(state.initialQuery, "Go")
      assert.strictEqual(error.message, "Node \"endless\" failed: Agent \"endless\" reached its limit of 0 steps")
    }).pipe(Effect.provide(Echo)))

  it.effect("is tried again and fallen back from by a policy", () =>
    Effect.gen(function*() {
      const endless = Agent.make("endless", { stopWhen: StopWhen.maxSteps(0) })
      const sure = Agent.make("sure")
      const seen: Array<string> = []
      const retry = Schedule.recurs(1).pipe(
        Schedule.tap(({ input }) => Effect.sync(() => seen.push((input as AgentError.AgentError).reason._tag)))
      )
      const plan = Plan.make({ nodes: [Plan.agent(endless, { retry, fallback: sure })] })
      assert.deepStrictEqual(yield* Plan.run(plan, "Go"), { endless: "sure(Go)" })
      assert.deepStrictEqual(seen, ["StepLimitReached"])
    }).pipe(Effect.provide(Echo)))

  it.effect("that waits for approval stops the plan, which goes on with the answer", () =>
    Effect.gen(function*() {
      const Desk = Toolkit.make(Tool.make("pay", { success: Schema.String, needsApproval: true }))
      const clerk = Agent.make("clerk", { toolkit: Desk })
      const file = Plan.node("file", (text: string) => Effect.succeed(`filed: ${text}`))
      const plan = Plan.make({ nodes: [clerk, file], edges: [Plan.edge(clerk, file)] })
      const program = Effect.gen(function*() {
        const error = failureOf(yield* Effect.exit(Plan.run(plan, "Pay it")))
        const { reason } = error
        if (!(reason instanceof Plan.NoAnswer)) return assert.fail("it waited for nothing")
        assert.match(error.message, /^Node "clerk" failed: .*clerk.*WaitingForTools/)
        const [pending] = AgentState.pendingApprovals(reason.state)
        const approved = Result.getOrThrow(AgentState.approve(reason.state, pending!.callId))
        const answer = yield* Effect.fromResult(AgentState.output(clerk, yield* Agent.resume(clerk, approved)))
        return yield* Plan.resume(plan, Plan.complete(error.results, clerk, answer))
      })
      const ended = program.pipe(
        Effect.provide(Desk.toLayer({ pay: () => Effect.succeed("paid") })),
        Effect.provide(MockModel.layer(MockModel.queue(toolCall("pay", {}), "It is paid.")))
      )
      assert.deepStrictEqual(yield* ended, { file: "filed: It is paid." })
    }))

  it.effect("that waits for approval is neither tried again nor fallen back from", () => {
    let charged = 0
    let ran = 0
    const Desk = Toolkit.make(
      Tool.make("charge", { success: Schema.String }),
      Tool.make("pay", { success: Schema.String, needsApproval: true })
    )
    const clerk = Agent.make("clerk", { toolkit: Desk })
    const instead = Plan.node("instead", () => Effect.sync(() => `instead ${++ran}`))
    const waits = Plan.agent(clerk, { retry: Schedule.recurs(3), fallback: instead })
    const failing = Plan.node("failing", (text: string) => Effect.fail(text), { fallback: Plan.agent(clerk) })
    return Effect.gen(function*() {
      const first = failureOf(yield* Effect.exit(Plan.run(Plan.make({ nodes: [waits] }), "Pay it")))
      const second = failureOf(yield* Effect.exit(Plan.run(Plan.make({ nodes: [failing] }), "Pay it")))
      for (const reason of [first.reason, second.fallbacks[0]?.reason]) {
        if (!(reason instanceof Plan.NoAnswer)) return assert.fail("it waited for nothing")
        assert.lengthOf(AgentState.pendingApprovals(reason.state), 1)
      }
      assert.deepStrictEqual([charged, ran], [2, 0])
    }).pipe(
      Effect.provide(Desk.toLayer({
        charge: () => Effect.sync(() => `charged ${++charged}`),
        pay: () => Effect.succeed("paid")
      })),
      Effect.provide(MockModel.layer(
        MockModel.make(() => MockResponse.all(toolCall("charge", {}), toolCall("pay", {})))
      ))
    )
  })

  it.effect("that ended without its output is tried again and fallen back from", () =>
    Effect.gen(function*() {
      const Look = Toolkit.make(Tool.make("look", { success: Schema.String }))
      const seeing = Agent.make("seeing", {
        toolkit: Look,
        output: Schema.Struct({ points: Schema.Finite }),
        stopWhen: StopWhen.toolCalled("look")
      })
      const instead = Plan.node("instead", Effect.succeed({ points: 0 }))
      const plan = Plan.make({ nodes: [Plan.agent(seeing, { retry: Schedule.recurs(2), fallback: instead })] })
      assert.deepStrictEqual(
        yield* Effect.provide(Plan.run(plan, "Look"), Look.toLayer({ look: () => Effect.succeed("seen") })),
        { seeing: { points: 0 } }
      )
      assert.lengthOf(yield* MockModel.calls, 3)
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() => toolCall("look", {}))))))

  it.effect("is interrupted when another node fails", () =>
    Effect.gen(function*() {
      let wasInterrupted = false
      const slow = Agent.make("slow")
      const fails = Plan.node("fails", Effect.andThen(Effect.yieldNow, Effect.fail("no")))
      const plan = Plan.make({ nodes: [slow, fails] })
      const model = MockModel.layer(
        MockModel.make(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => (wasInterrupted = true))))
      )
      const error = failureOf(yield* Effect.exit(Effect.provide(Plan.run(plan, "Go"), model)))
      assert.strictEqual(error.node, "fails")
      assert.isTrue(wasInterrupted)
    }))
})
