import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentError, AgentState, Conversation, Session, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { agentOf, environment, Script } from "./scripts.ts"

const Tools = Toolkit.make(
  Tool.make("look", { success: Schema.String }),
  Tool.make("done", { success: Schema.String }),
  Tool.make("guarded", { success: Schema.String, needsApproval: true })
)
const handlers = Tools.toLayer({
  look: () => Effect.succeed("seen"),
  done: () => Effect.succeed("ok"),
  guarded: () => Effect.succeed("opened")
})

const look = MockResponse.toolCall("look", {})
const done = MockResponse.toolCall("done", {})

const agentWith = (stopWhen?: StopWhen.StopWhen) =>
  Agent.make("looker", { toolkit: Tools, ...(stopWhen === undefined ? undefined : { stopWhen }) })

/** Answers as the list says, and then for ever as its last. */
const model = (...responses: readonly [MockResponse.Input, ...Array<MockResponse.Input>]) =>
  MockModel.layer(MockModel.make(({ callCount }) => responses[Math.min(callCount, responses.length) - 1]!))

const reasonOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(self), (error) => {
    assert.isTrue(AgentError.isAgentError(error))
    return AgentError.isAgentError(error) ? error : undefined!
  })

const stepsOf = (
  stopWhen: StopWhen.StopWhen,
  ...responses: readonly [MockResponse.Input, ...Array<MockResponse.Input>]
) =>
  Agent.settle(agentWith(stopWhen), "Hello").pipe(
    Effect.map((state) => [
      state.status._tag === "Failed" ? state.status.error.tag : state.status._tag,
      state.run.iteration
    ]),
    Effect.provide(handlers),
    Effect.provide(model(...responses))
  )

describe("StopWhen", () => {
  it("refuses a limit that nothing could keep to", () => {
    const limits: ReadonlyArray<readonly [option: string, make: (limit: number) => StopWhen.StopWhen, whole: boolean]> =
      [
        ["maxSteps", StopWhen.maxSteps, true],
        ["tokens", StopWhen.tokens, true],
        ["toolCalls", StopWhen.toolCalls, true],
        ["toolCalls", (calls) => StopWhen.toolCalls("look", calls), true],
        ["cost", (limit) => StopWhen.cost({ limit, prices: {} }), false]
      ]
    for (const [option, make, isWhole] of limits) {
      for (const limit of [-1, Number.NaN, -Infinity, ...(isWhole ? [1.5] : [])]) {
        assert.throws(() => make(limit), StopWhen.InvalidLimit, `"${option}" is ${limit}, not a`)
      }
      for (const limit of [0, 1, Infinity, ...(isWhole ? [] : [0.5])]) make(limit)
    }
    assert.throws(() => StopWhen.toolCalls("look" as never), StopWhen.InvalidLimit, `"toolCalls" is NaN`)
    for (const kind of ["input", "output", "cached", "reasoning"]) {
      for (const wrong of [-1, Number.NaN, Infinity, "1"]) {
        const price = { input: 1, output: 1, [kind]: wrong }
        for (const given of [{ prices: { small: price } }, { prices: {}, otherwise: price }]) {
          assert.throws(() => StopWhen.cost({ limit: 1, ...given } as never), StopWhen.InvalidLimit, `${kind}" is `)
        }
      }
    }
    assert.throws(
      () => StopWhen.cost({ limit: 1, prices: { small: { input: 1 } as never } }),
      StopWhen.InvalidLimit,
      `"prices.small.output" is undefined, not a finite number from 0 on`
    )
    StopWhen.cost({ limit: 1, prices: { small: { input: 0, output: 0.5, cached: undefined } } })
  })

  it.effect("stops a run after 20 steps where nothing else is said, with the calls of the last one run", () =>
    Effect.gen(function*() {
      const { reason, state } = yield* reasonOf(Agent.run(agentWith(), "Hello"))
      assert.deepStrictEqual(reason, new AgentError.StepLimitReached({ agent: "looker", limit: 20, steps: 20 }))
      assert.strictEqual(Conversation.byAgent(state.conversation, "looker").length, 20)
      assert.isFalse(Conversation.hasOpenCalls(state.conversation))
      assert.isTrue(state.status._tag === "Failed" && state.status.error.tag === "StepLimitReached")
    }).pipe(Effect.provide(handlers), Effect.provide(model(look))))

  it.effect("doesn't fail a run whose last allowed step answers", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* stepsOf(StopWhen.maxSteps(2), look, "Seen."), ["Complete", 2])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.maxSteps(1), look, "Seen."), ["StepLimitReached", 1])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.maxSteps(0), "Seen."), ["StepLimitReached", 0])
    }))

  it.effect("counts the tokens that are known, of input and output", () =>
    Effect.gen(function*() {
      const spent = MockResponse.withUsage(look, { input: 30, output: 10, cached: 25, reasoning: 5 })
      const responses = [spent, look, spent, "Seen."] as const
      assert.deepStrictEqual(yield* stepsOf(StopWhen.tokens(40), ...responses), ["BudgetExceeded", 1])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.tokens(41), ...responses), ["BudgetExceeded", 3])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.tokens(81), ...responses), ["Complete", 4])
      const { reason } = yield* reasonOf(Agent.run(agentWith(StopWhen.tokens(40)), "Hello")).pipe(
        Effect.provide(handlers),
        Effect.provide(model(...responses))
      )
      assert.deepStrictEqual(
        reason,
        new AgentError.BudgetExceeded({ agent: "looker", budget: "tokens", limit: 40, used: 40 })
      )
    }))

  it.effect("falls back on 20 steps where no limit is given, or one that can't be measured", () =>
    Effect.gen(function*() {
      const { duration, maxSteps, satisfies, toolCalled, toolCalls, tokens } = StopWhen
      const never = satisfies(() => false)
      const unbounded = [
        tokens(10),
        tokens(Infinity),
        toolCalled("done"),
        never,
        StopWhen.noToolCalls,
        toolCalls("done", 1),
        StopWhen.any(never, tokens(10)),
        StopWhen.any(),
        StopWhen.all(),
        StopWhen.all(maxSteps(2), toolCalled("done")),
        StopWhen.all(maxSteps(2), tokens(10)),
        // Nothing that these models do costs anything.
        StopWhen.cost({ limit: 1, prices: {}, otherwise: { input: 0, output: 0 } }),
        StopWhen.cost({ limit: 1, prices: { paid: { input: 1, output: 1 } }, otherwise: { input: 0, output: 0 } }),
        StopWhen.any(never, StopWhen.cost({ limit: 0.5, prices: {}, otherwise: { input: 0, output: 0, cached: 0 } }))
      ]
      for (const condition of unbounded) {
        assert.deepStrictEqual(yield* stepsOf(condition, look), ["StepLimitReached", 20], condition._tag)
      }
      // A limit that always counts replaces the default, also one that sets none.
      const later: ReadonlyArray<StopWhen.StopWhen> = [
        maxSteps(25),
        maxSteps(Infinity),
        toolCalls(25),
        duration("1 hour"),
        StopWhen.cost({ limit: 1, prices: {}, otherwise: { input: 0, output: 1 } }),
        StopWhen.cost({ limit: 1, prices: {}, otherwise: { input: 0, output: 0, cached: 1 } }),
        StopWhen.all(maxSteps(22), toolCalls(25))
      ]
      const looks = Array.from({ length: 21 }, () => MockResponse.withUsage(look, { input: 0, output: 0 }))
      for (const condition of [...later, ...later.map((each) => StopWhen.any(tokens(10), each))]) {
        assert.deepStrictEqual(
          yield* stepsOf(condition, looks[0]!, ...looks, "Seen."),
          ["Complete", 23],
          condition._tag
        )
      }
    }))

  it.effect("counts the answers whose tokens nobody reported where tokens are all that limits a run", () =>
    Effect.gen(function*() {
      const spent = MockResponse.withUsage(look, { input: 1, output: 1 })
      const some = Array.from({ length: 30 }, () => spent)
      const [first, ...rest] = some
      assert.deepStrictEqual(yield* stepsOf(StopWhen.tokens(1000), first!, ...rest, look), ["StepLimitReached", 50])
      const half = MockResponse.withUsage(look, { input: 1 })
      assert.deepStrictEqual(yield* stepsOf(StopWhen.tokens(40), half), ["BudgetExceeded", 40])
    }))

  it.effect("finishes once a tool was called and its call is settled, or a predicate holds", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* stepsOf(StopWhen.toolCalled("done"), look, done, "More."), ["Complete", 2])
      const steps = (n: number) => StopWhen.satisfies((state) => state.steps >= n)
      assert.deepStrictEqual(yield* stepsOf(steps(3), look), ["Complete", 3])
      assert.deepStrictEqual(yield* stepsOf(steps(0), look), ["Complete", 1])
      const state = yield* Agent.run(agentWith(StopWhen.toolCalled("done")), "Hello").pipe(
        Effect.provide(handlers),
        Effect.provide(model(done))
      )
      assert.isFalse(Conversation.hasOpenCalls(state.conversation))
    }))

  it.effect("stops by any condition, the first one saying how, and by all only together", () =>
    Effect.gen(function*() {
      const one = StopWhen.maxSteps(2)
      const called = StopWhen.toolCalled("done")
      assert.deepStrictEqual(yield* stepsOf(StopWhen.any(one, called), look), ["StepLimitReached", 2])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.any(one, called), done), ["Complete", 1])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.any(one, called), look, done), ["StepLimitReached", 2])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.any(called, one), look, done), ["Complete", 2])
      const both = StopWhen.all(StopWhen.maxSteps(3), called)
      const swapped = StopWhen.all(called, StopWhen.maxSteps(3))
      assert.deepStrictEqual(yield* stepsOf(both, done, look, look, look, done), ["StepLimitReached", 5])
      assert.deepStrictEqual(yield* stepsOf(swapped, done, look, look, look, done), ["StepLimitReached", 5])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.all(called, StopWhen.satisfies(() => true)), look, done), [
        "Complete",
        2
      ])
      const onceSilent = StopWhen.all(StopWhen.maxSteps(1), StopWhen.noToolCalls)
      assert.deepStrictEqual(yield* stepsOf(onceSilent, look, look, look, "Seen."), ["Complete", 4])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.all(), look, look, "Seen."), ["Complete", 3])
      assert.deepStrictEqual(yield* stepsOf(StopWhen.any(), look, look, "Seen."), ["Complete", 3])
    }))

  it.effect.each<[where: string, either: (limit: StopWhen.StopWhen, finish: StopWhen.StopWhen) => StopWhen.StopWhen]>([
    ["before", (limit, finish) => StopWhen.any(limit, finish)],
    ["behind", (limit, finish) => StopWhen.any(finish, limit)],
    [
      "behind, within `all`,",
      (limit, finish) => StopWhen.all(StopWhen.any(finish, limit), finish)
    ]
  ])(
    "keeps to a limit %s a condition that finishes, where that doesn't end the run",
    ([, either]) =>
      Effect.gen(function*() {
        // The answer must be corrected.
        const answering = Agent.make("counter", {
          output: Schema.Struct({ count: Schema.Int }),
          outputRetries: 4,
          stopWhen: either(StopWhen.maxSteps(2), StopWhen.satisfies(() => true))
        })
        const corrected = yield* Agent.settle(answering, "How many?").pipe(Effect.provide(model("Many.")))
        assert.strictEqual(corrected.run.steps, 2)
        assert.strictEqual(corrected.status._tag === "Failed" && corrected.status.error.tag, "StepLimitReached")

        // The agent that works is one that was called.
        const child = Agent.make("child", { toolkit: Tools })
        const caller = Agent.make("caller", {
          agents: [Agent.asTool(child)],
          stopWhen: either(StopWhen.maxSteps(3), StopWhen.toolCalled("child"))
        })
        const { reason } = yield* reasonOf(
          Agent.run(caller, "Look").pipe(
            Effect.provide(handlers),
            Effect.provide(model(MockResponse.toolCall("child", { task: "Look" }), look))
          )
        )
        assert.deepInclude(reason, { _tag: "StepLimitReached", agent: "caller", limit: 3, steps: 3 })
      })
  )

  it.effect("looks only at the turns of this run to finish it", () =>
    Effect.gen(function*() {
      const conditions = [
        StopWhen.toolCalled("done"),
        StopWhen.noToolCalls,
        StopWhen.satisfies((state) => Conversation.callsOf(Conversation.lastAssistant(state.conversation)!).length > 0)
      ]
      for (const condition of conditions) {
        const agent = agentWith(condition)
        const first = yield* Agent.run(agent, "Hello").pipe(Effect.provide(model(done, "Done.")))
        const second = yield* Agent.continueConversation(agent, first, "Again").pipe(Effect.provide(model("Again.")))
        assert.strictEqual(AgentState.text(second), "Again.")
        assert.strictEqual(StopWhen.evaluate(condition, AgentState.ask(first, "Again", 0), 0), undefined)
        assert.strictEqual(StopWhen.evaluate(condition, AgentState.ask(second, "Again", 0), 0), undefined)
      }
    }).pipe(Effect.provide(handlers)))

  it.effect("counts anew in each run of a conversation", () =>
    Effect.gen(function*() {
      const agent = agentWith(StopWhen.any(StopWhen.maxSteps(2), StopWhen.tokens(15)))
      const seen = MockResponse.withUsage("Seen.", { input: 10, output: 2 })
      const state = yield* Agent.runMultiTurn(agent, ["One", "Two", "Three"]).pipe(
        Effect.provide(handlers),
        Effect.provide(model(look, seen, look, seen, look, seen))
      )
      assert.deepStrictEqual([state.status._tag, state.steps, state.run.steps], ["Complete", 6, 2])
      assert.deepStrictEqual([state.usage.input.known, state.run.usage.input.known], [30, 10])
    }))

  it.effect("counts the time in which a run ran, not that in which it was stopped", () =>
    Effect.gen(function*() {
      const slow = (response: MockResponse.Input) => MockResponse.delay(response, "600 millis")
      const agent = agentWith(StopWhen.duration("1 second"))
      const timed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(self)
          yield* TestClock.adjust("5 seconds")
          return yield* Fiber.join(fiber)
        })
      const asked = yield* timed(Agent.run(agent, "Hello")).pipe(
        Effect.provide(model(slow(MockResponse.toolCall("guarded", {}))))
      )
      assert.deepStrictEqual([asked.status._tag, asked.run.elapsed], ["WaitingForTools", 600])
      yield* TestClock.adjust("1 hour")
      const callId = AgentState.pendingApprovals(asked)[0]!.callId
      const approved = yield* Effect.fromResult(AgentState.approve(asked, callId))
      const { reason, state } = yield* timed(reasonOf(Agent.resume(agent, approved))).pipe(
        Effect.provide(model(slow(look)))
      )
      assert.deepStrictEqual(
        reason,
        new AgentError.BudgetExceeded({ agent: "looker", budget: "duration", limit: 1000, used: 1200 })
      )
      assert.deepStrictEqual([state.run.elapsed, state.run.iteration], [1200, 2])
      yield* TestClock.adjust("1 hour")
      const longer = agentWith(StopWhen.duration("2 seconds"))
      const last = yield* timed(Agent.resume(longer, AgentState.reopen(state))).pipe(
        Effect.provide(model(slow("Seen.")))
      )
      assert.deepStrictEqual([last.status._tag, last.run.elapsed], ["Complete", 1800])
      const again = yield* timed(Agent.continueConversation(longer, last, "Again")).pipe(
        Effect.provide(model(slow("Yes.")))
      )
      assert.strictEqual(again.run.elapsed, 600)
    }).pipe(Effect.provide(handlers)))

  it.effect.prop(
    "lets a run that met a limit go on with a larger one as if there had been none",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
        // Who may answer once more does so where the limits are met, and a limit that comes first changes where that is.
        if (script.agent.break === "crash" || ["land", "calls"].includes(script.agent.stop)) return
        const wide = { ...script, agent: { ...script.agent, steps: 30 } }
        const settle = (agent: ReturnType<typeof agentOf>, from: string | AgentState.AgentState) =>
          Agent.settle(agent, from).pipe(Effect.provide(environment(script)))
        const limited = yield* settle(agentOf(script), "Hello")
        if (limited.status._tag !== "Failed" || limited.status.error.tag !== "StepLimitReached") return
        const json = AgentState.toJson(AgentState.reopen(limited))
        const reopened = yield* Effect.fromResult(AgentState.fromJson(json))
        assert.deepStrictEqual(yield* settle(agentOf(wide), reopened), yield* settle(agentOf(wide), "Hello"))
      }),
    { arbitrary: { runs: 400 } }
  )

  const reporter = Agent.make("looker", { output: Schema.Struct({ seen: Schema.Int }) })
  it.effect.each(
    [
      ["a condition", Session.make(agentWith(StopWhen.toolCalled("done"))), done],
      ["a final answer", Session.make(reporter), MockResponse.toolCall("final_answer", { seen: 1 })]
    ] as const
  )("leaves a session nothing to resume once %s ended the run", ([, made, answer]) =>
    Effect.gen(function*() {
      const session: Session.Session<unknown, unknown> = yield* made
      const ended = yield* session.call("Hello")
      assert.deepStrictEqual([ended.status._tag, ended.conversation.turns.at(-1)?._tag], ["Complete", "Assistant"])
      assert.deepStrictEqual(yield* Stream.runCollect(session.stream()), [])
      assert.strictEqual(yield* session.resume, ended)
      assert.strictEqual((yield* MockModel.calls).length, 1)
    }).pipe(Effect.scoped, Effect.provide(handlers), Effect.provide(model(answer))))
})
