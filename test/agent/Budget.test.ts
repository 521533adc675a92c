import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentError, AgentState, Conversation, Group, Handoff, HandoffPolicy, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { checked, failing, handTo, models, throughText } from "../handoff/scripted.ts"

const Kit = Toolkit.make(
  Tool.make("look", { success: Schema.String }),
  Tool.make("dig", { success: Schema.String }),
  Tool.make("sign", { success: Schema.String, needsApproval: true })
)
const handlers = Kit.toLayer({
  look: () => Effect.succeed("seen"),
  dig: () => Effect.succeed("found"),
  sign: () => Effect.succeed("signed")
})
const look = MockResponse.toolCall("look", {})
const dig = MockResponse.toolCall("dig", {})
const both = MockResponse.all(look, dig)

const million = 1_000_000
/** An answer of a model that used so many million tokens of input, and says its name. */
const by = (
  model: string,
  response: MockResponse.Input,
  usage: MockResponse.MockResponse["usage"] = { input: million, output: 0 }
) => MockResponse.withUsage(model === "" ? response : MockResponse.withModel(response, model), usage)

const prices = { small: { input: 1, output: 4 }, large: { input: 10, output: 40, cached: 1, reasoning: 80 } }

const digger = (stopWhen: StopWhen.StopWhen) => Agent.make("digger", { toolkit: Kit, stopWhen })

const fail = (stopWhen: StopWhen.StopWhen, ...answers: ReadonlyArray<MockResponse.Input>) =>
  failing(Agent.run(digger(stopWhen), "Dig.")).pipe(
    Effect.map(({ reason }) => reason),
    Effect.provide(models({ digger: answers })),
    Effect.provide(handlers)
  )

const pass = (stopWhen: StopWhen.StopWhen, ...answers: ReadonlyArray<MockResponse.Input>) =>
  Agent.run(digger(stopWhen), "Dig.").pipe(Effect.provide(models({ digger: answers })), Effect.provide(handlers))

describe("StopWhen.cost", () => {
  it.effect("adds up what each model's tokens cost, and ends the run before it asks again", () =>
    Effect.gen(function*() {
      const cost = (limit: number) => StopWhen.cost({ limit, prices })
      const said = [by("small", look), by("large", look), "Done."]
      assert.deepStrictEqual(
        yield* fail(cost(11), ...said),
        new AgentError.BudgetExceeded({ agent: "digger", budget: "cost", limit: 11, used: 11 })
      )
      assert.deepInclude(yield* fail(cost(1), ...said), { used: 1 })
      // The last answer may cost what it likes: nothing is asked after it.
      const state = yield* pass(cost(11.5), by("small", look), by("large", look), by("small", "Done."))
      assert.strictEqual(state.status._tag, "Complete")
      assert.deepStrictEqual(Object.keys(state.run.models ?? {}), ["small", "large"])
      assert.strictEqual(state.run.models?.["small"]?.requests, 2)
    }))

  it.effect("has what each model used beside it, in the run and in the whole conversation", () =>
    Effect.gen(function*() {
      const agent = digger(StopWhen.cost({ limit: 100, prices }))
      const first = yield* pass(StopWhen.maxSteps(9), by("small", look), by("large", "One."))
      const state = throughText(
        yield* Agent.continueConversation(agent, first, "Again.").pipe(
          Effect.provide(models({ digger: [by("small", "Two.")] })),
          Effect.provide(handlers)
        )
      )
      const requests = (used: AgentState.AgentState["models"]) =>
        Object.entries(used ?? {}).map(([name, { input, requests }]) => [name, requests, input.known])
      assert.deepStrictEqual(requests(state.run.models), [["small", 1, million]])
      assert.deepStrictEqual(requests(state.models), [["small", 2, 2 * million], ["large", 1, million]])
    }))

  it.effect("takes cached input and reasoning at their own prices, or at those of other tokens", () =>
    Effect.gen(function*() {
      const usage = { input: 2 * million, cached: million, output: 2 * million, reasoning: million }
      const used = (model: string) =>
        Effect.map(
          fail(StopWhen.cost({ limit: 1, prices }), by(model, look, usage)),
          (reason) => reason._tag === "BudgetExceeded" ? reason.used : undefined
        )
      assert.strictEqual(yield* used("large"), 10 + 1 + 40 + 80)
      assert.strictEqual(yield* used("small"), 2 + 8)
    }))

  it.effect("takes what has no price for unknown, never for nothing", () =>
    Effect.gen(function*() {
      const cost = StopWhen.cost({ limit: 100, prices })
      const unknown = yield* fail(cost, by("small", look), by("other", look))
      assert.deepStrictEqual(
        unknown,
        new AgentError.BudgetExceeded({ agent: "digger", budget: "cost", limit: 100, used: 1, unpriced: 1 })
      )
      assert.include(unknown.message, "at least 1 of 100: the price of 1 request isn't known")
      // Nor does a model that doesn't say its name have a price, or one that doesn't report its tokens.
      assert.deepInclude(yield* fail(cost, by("", look)), { used: 0, unpriced: 1 })
      assert.deepInclude(yield* fail(cost, by("small", look, { input: 5 })), { unpriced: 1 })
      assert.deepInclude(yield* fail(cost, MockResponse.withModel(look, "small")), { used: 0, unpriced: 1 })
      // A tool named like what every object has isn't a price.
      assert.deepInclude(yield* fail(cost, by("constructor", look)), { unpriced: 1 })
    }))

  it.effect("takes all other models at the price of the others", () =>
    Effect.gen(function*() {
      const cost = StopWhen.cost({ limit: 6, prices, otherwise: { input: 3, output: 3 } })
      assert.deepInclude(yield* fail(cost, by("small", look), by("other", look), by("", look)), { used: 7 })
    }))
})

describe("StopWhen.toolCalls", () => {
  it.effect("counts the calls that have their results: all, or those of one tool", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* fail(StopWhen.toolCalls(3), look, both, "Done."),
        new AgentError.BudgetExceeded({ agent: "digger", budget: "toolCalls", limit: 3, used: 3 })
      )
      assert.deepStrictEqual(
        yield* fail(StopWhen.toolCalls("dig", 2), both, look, dig, "Done."),
        new AgentError.BudgetExceeded({ agent: "digger", budget: "toolCalls", limit: 2, used: 2, tool: "dig" })
      )
      const state = yield* pass(StopWhen.toolCalls("dig", 2), both, look, "Done.")
      assert.deepStrictEqual([state.status._tag, state.run.calls], ["Complete", { look: 2, dig: 1 }])
    }))

  it.effect("begins anew with each input", () =>
    Effect.gen(function*() {
      const agent = digger(StopWhen.toolCalls(2))
      const state = yield* Agent.runMultiTurn(agent, ["Dig.", "Again."])
      assert.deepStrictEqual([state.status._tag, state.run.calls], ["Complete", { look: 1 }])
    }).pipe(Effect.provide(models({ digger: [look, "One.", look, "Two."] })), Effect.provide(handlers)))
})

describe("A budget", () => {
  const helper = Agent.make("helper", { toolkit: Kit })
  const withHelper = (stopWhen: StopWhen.StopWhen) =>
    Agent.make("digger", { toolkit: Kit, agents: [Agent.asTool(helper)], stopWhen })
  const ask = MockResponse.toolCall("helper", { task: "Dig." })

  it.effect("is shared with the agents that are called", () =>
    Effect.gen(function*() {
      const script = { digger: [by("small", ask), "Done."], helper: [by("large", dig), by("large", both), "Dug."] }
      const run = (stopWhen: StopWhen.StopWhen) =>
        Effect.map(
          failing(Agent.run(withHelper(stopWhen), "Dig.")).pipe(Effect.provide(models(script))),
          ({ reason, state }) => ({ reason, state })
        )
      const byCost = yield* run(StopWhen.cost({ limit: 20, prices }))
      assert.deepInclude(byCost.reason, { _tag: "BudgetExceeded", agent: "digger", budget: "cost", used: 21 })
      const byCalls = yield* run(StopWhen.toolCalls("dig", 2))
      assert.deepInclude(byCalls.reason, { budget: "toolCalls", used: 2 })
      assert.deepStrictEqual(byCalls.state.run.calls, { dig: 2, look: 1 })
      // What the helper has done stays in the call that it answers.
      assert.strictEqual(Conversation.openCalls(byCalls.state.conversation)[0]?.state._tag, "Delegated")
    }).pipe(Effect.provide(handlers)))

  it.effect("goes on to hold for the agents that are handed over to; steps don't", () =>
    Effect.gen(function*() {
      const tokens = { input: 10, output: 0 }
      const last = Agent.make("last", { toolkit: Kit })
      const second = Agent.make("second", { toolkit: Kit, handoffs: [Handoff.to(last)], stopWhen: StopWhen.tokens(20) })
      const first = (stopWhen: StopWhen.StopWhen) => Agent.make("first", { handoffs: [Handoff.to(second)], stopWhen })
      const spent = (response: MockResponse.Input) => MockResponse.withUsage(response, tokens)
      const script = {
        first: [spent(handTo("second"))],
        second: [spent(handTo("last"))],
        last: [spent(look), spent(dig), spent("Done.")]
      }
      const run = (stopWhen: StopWhen.StopWhen) =>
        Agent.run(first(stopWhen), "Go.").pipe(Effect.provide(models(script)))
      // The second agent's budget counts from its takeover: 10 of its own, and 10 of each answer of the last one.
      const later = yield* failing(run(StopWhen.tokens(100)))
      assert.deepStrictEqual(
        later.reason,
        new AgentError.BudgetExceeded({ agent: "second", budget: "tokens", limit: 20, used: 20 })
      )
      assert.strictEqual(later.state.run.steps, 3)
      const { reason: earlier, state } = yield* failing(run(StopWhen.any(StopWhen.maxSteps(1), StopWhen.tokens(20))))
      assert.deepInclude(earlier, { agent: "first", limit: 20, used: 20 })
      assert.deepStrictEqual([state.agent, state.trail], ["last", ["first", "second", "last"]])
      // A limit of steps ends with its agent, and so does a budget that is only part of a condition.
      const free = Agent.make("first", {
        handoffs: [Handoff.to(last)],
        stopWhen: StopWhen.any(StopWhen.maxSteps(1), StopWhen.all(StopWhen.tokens(1), StopWhen.maxSteps(1)))
      })
      const done = yield* Agent.run(free, "Go.").pipe(
        Effect.provide(models({ ...script, first: [spent(handTo("last"))] }))
      )
      assert.strictEqual(done.status._tag, "Complete")
    }).pipe(Effect.provide(handlers)))
})

describe("A budget that agents share who are asked at once", () => {
  const size = 40
  const helper = Agent.make("helper", { toolkit: Kit })
  /** The most that runs used whose limit is in the middle of so many answers at once. */
  const used = (toolConcurrency: number, limit: number) => {
    const stopWhen = StopWhen.tokens(limit)
    const boss = Agent.make("boss", { agents: [Agent.asTool(helper)], toolConcurrency, stopWhen })
    const tasks = Array.from({ length: 8 }, (_, index) => MockResponse.toolCall("helper", { task: `${index}` }))
    return Agent.settle(boss, "Dig.").pipe(
      Effect.map(({ run }) => run.usage.input.known),
      Effect.provide(
        MockModel.layer(MockModel.make(({ agent }) =>
          agent === "boss"
            ? MockResponse.withUsage(MockResponse.all(...tasks), { input: 0, output: 0 })
            : Effect.as(Effect.yieldNow, MockResponse.withUsage(dig, { input: size, output: 0 }))
        ))
      ),
      Effect.provide(handlers)
    )
  }

  it.effect("is overshot by what the answers use that are under way, and by no more", () =>
    Effect.gen(function*() {
      for (const concurrency of [1, 2, 5]) {
        for (const limit of [1, size, size + 1, 10 * size, 10 * size + 1]) {
          const most = yield* used(concurrency, limit)
          assert.isAtLeast(most, limit)
          // The answer that meets the limit, and those that were asked for before it had arrived.
          assert.isBelow(most, limit + concurrency * size)
        }
        // As many as that it may be.
        assert.strictEqual(yield* used(concurrency, 1), concurrency * size)
      }
    }))
})

describe("Costs and calls", () => {
  it.effect("count for an agent from where it took over", () =>
    Effect.gen(function*() {
      const first = (stopWhen: StopWhen.StopWhen) =>
        Agent.make("first", { toolkit: Kit, handoffs: [Handoff.to(Agent.make("second", { toolkit: Kit, stopWhen }))] })
      const script = { first: [by("large", look), by("", handTo("second"))], second: [by("small", dig), "Done."] }
      const run = (stopWhen: StopWhen.StopWhen) =>
        failing(Agent.run(first(stopWhen), "Go.")).pipe(
          Effect.map(({ reason }) => reason),
          Effect.provide(models(script))
        )
      assert.deepInclude(yield* run(StopWhen.cost({ limit: 1, prices })), { agent: "second", used: 1 })
      assert.notProperty(yield* run(StopWhen.cost({ limit: 1, prices })), "unpriced")
      assert.deepInclude(yield* run(StopWhen.toolCalls(1)), { agent: "second", used: 1 })
    }).pipe(Effect.provide(handlers)))
})

describe("A limit with onExhausted: \"finish\"", () => {
  const soft = { onExhausted: "finish" } as const
  const requests = Effect.map(MockModel.calls, (calls) =>
    calls.map(({ request }) => ({
      text: request.lastUserText,
      choice: request.toolChoice
    })))

  for (
    const [name, stopWhen] of [
      ["maxSteps", StopWhen.maxSteps(1, soft)],
      ["tokens", StopWhen.tokens(1, soft)],
      ["cost", StopWhen.cost({ limit: 1, prices, ...soft })],
      ["toolCalls", StopWhen.toolCalls(1, soft)],
      ["toolCalls of a tool", StopWhen.toolCalls("look", 1, soft)],
      ["any", StopWhen.any(StopWhen.maxSteps(9), StopWhen.toolCalls(1, soft))]
    ] as const
  ) {
    it.effect(`${name}: the model is told, gets no tools and answers once`, () =>
      Effect.gen(function*() {
        const { events, state } = yield* checked(Agent.run(digger(stopWhen), "Dig."), "digger")
        assert.deepStrictEqual([state.status._tag, AgentState.text(state)], ["Complete", "All I know."])
        const [first, second, ...more] = yield* requests
        assert.deepStrictEqual([more, first!.choice], [[], "auto"])
        assert.include(second!.text ?? "", "Answer now")
        assert.deepStrictEqual(second!.choice, { mode: "auto", oneOf: [] })
        assert.strictEqual(events.filter(({ _tag }) => _tag === "LimitReached").length, 1)
      }).pipe(
        Effect.provide(models({ digger: [by("small", look), "All I know.", "Never asked."] })),
        Effect.provide(handlers)
      ))
  }

  it.effect("a duration: by the clock", () =>
    Effect.gen(function*() {
      const slow = Agent.make("digger", { toolkit: Kit, stopWhen: StopWhen.duration("1 minute", soft) })
      const state = yield* Agent.run(slow, "Dig.")
      assert.deepStrictEqual([state.status._tag, AgentState.text(state)], ["Complete", "All I know."])
    }).pipe(
      Effect.provide(models({ digger: [look, "All I know."] })),
      Effect.provide(Kit.toLayer({
        look: () => Effect.as(TestClock.adjust("1 minute"), "seen"),
        dig: () => Effect.succeed("found"),
        sign: () => Effect.succeed("signed")
      }))
    ))

  it.effect("fails where the model asks for more all the same", () =>
    Effect.gen(function*() {
      const { reason, state } = yield* failing(Agent.run(digger(StopWhen.toolCalls(1, soft)), "Dig."))
      assert.deepInclude(reason, { _tag: "BudgetExceeded", budget: "toolCalls", limit: 1, used: 2 })
      const calls = state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? turn.parts : [])
      assert.deepInclude(calls[1], { _tag: "Call", name: "dig" })
      assert.deepInclude(calls[1]?._tag === "Call" ? calls[1].state : {}, {
        outcome: "Failed",
        result: "\"dig\" isn't offered now."
      })
      // A larger limit goes on from there, as if nothing had been exhausted.
      assert.strictEqual(AgentState.reopen(state).run.landing, undefined)
      const larger = yield* Agent.resume(digger(StopWhen.toolCalls(5, soft)), AgentState.reopen(state))
      assert.deepStrictEqual([larger.status._tag, AgentState.text(larger)], ["Complete", "Dug."])
    }).pipe(Effect.provide(models({ digger: [look, dig, dig, "Dug."] })), Effect.provide(handlers)))

  it.effect("leaves an agent with an output schema its final answer", () =>
    Effect.gen(function*() {
      const agent = Agent.make("digger", {
        toolkit: Kit,
        output: Schema.Struct({ depth: Schema.Finite }),
        stopWhen: StopWhen.toolCalls(1, soft)
      })
      const state = yield* Agent.run(agent, "Dig.")
      assert.deepStrictEqual(Result.getOrThrow(AgentState.output(agent, state)), { depth: 3 })
      assert.deepStrictEqual((yield* requests)[1]!.choice, { mode: "auto", oneOf: ["final_answer"] })
    }).pipe(
      Effect.provide(models({ digger: [look, MockResponse.toolCall("final_answer", { depth: 3 })] })),
      Effect.provide(handlers)
    ))

  it.effect("lets nobody take over any more", () =>
    Effect.gen(function*() {
      const members = { digger: digger(StopWhen.toolCalls(1, soft)), next: Agent.make("next") }
      const group = Group.make(members, { start: "digger", policy: HandoffPolicy.sequential(["digger", "next"]) })
      const state = yield* Agent.run(group, "Dig.")
      assert.deepStrictEqual([state.agent, AgentState.text(state)], ["digger", "All I know."])
    }).pipe(Effect.provide(models({ digger: [look, "All I know."], next: ["No."] })), Effect.provide(handlers)))

  it.effect("holds for whom its agent handed over to", () =>
    Effect.gen(function*() {
      const next = Agent.make("next", { toolkit: Kit })
      const first = Agent.make("first", { handoffs: [Handoff.to(next)], stopWhen: StopWhen.toolCalls(2, soft) })
      const { state } = yield* checked(Agent.run(first, "Dig."), "first")
      assert.deepStrictEqual([state.agent, state.status._tag, AgentState.text(state)], [
        "next",
        "Complete",
        "All I know."
      ])
    }).pipe(
      Effect.provide(models({ first: [handTo("next")], next: [look, "All I know.", "Never."] })),
      Effect.provide(handlers)
    ))

  it.effect("gives up the calls whose agents would only ask further, and keeps what awaits approval", () =>
    Effect.gen(function*() {
      const helper = Agent.make("helper", { toolkit: Kit })
      const agent = Agent.make("digger", {
        toolkit: Kit,
        agents: [Agent.asTool(helper)],
        stopWhen: StopWhen.toolCalls("dig", 1, soft)
      })
      const { state } = yield* checked(Agent.run(agent, "Dig."), "digger")
      assert.strictEqual(state.status._tag, "WaitingForTools")
      const [signing] = AgentState.pendingApprovals(state)
      const [called] = Conversation.callsOf(Conversation.lastAssistant(state.conversation)!)
      assert.deepInclude(called!.state, { _tag: "Settled", outcome: "Interrupted" })
      const approved = Result.getOrThrow(AgentState.approve(throughText(state), signing!.callId))
      const done = yield* Agent.resume(agent, approved)
      assert.deepStrictEqual([done.status._tag, AgentState.text(done)], ["Complete", "All I know."])
    }).pipe(
      Effect.provide(models({
        digger: [
          MockResponse.all(MockResponse.toolCall("helper", { task: "Dig." }), MockResponse.toolCall("sign", {})),
          "All I know."
        ],
        helper: [dig, "Never."]
      })),
      Effect.provide(handlers)
    ))

  it.effect("goes on from the state in which the model had just been told", () =>
    Effect.gen(function*() {
      const agent = digger(StopWhen.toolCalls(1, soft))
      const { events } = yield* checked(Agent.run(agent, "Dig."), "digger")
      const told = events.findIndex(({ _tag }) => _tag === "LimitReached")
      const state = events.slice(0, told + 1).reduce(AgentState.reduce, AgentState.make("digger"))
      const done = yield* Agent.resume(agent, throughText(state)).pipe(
        Effect.provide(models({ digger: ["All I know.", "Never."] }))
      )
      assert.deepStrictEqual([done.status._tag, AgentState.text(done)], ["Complete", "All I know."])
    }).pipe(Effect.provide(models({ digger: [look, "All I know."] })), Effect.provide(handlers)))
})
