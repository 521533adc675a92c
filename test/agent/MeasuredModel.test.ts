import { assert, describe, it } from "@effect/vitest"
import { Effect, ExecutionPlan, Metric, Schedule, Schema, Stream } from "effect"
import { AiError, LanguageModel, Model, Tool, Toolkit } from "effect/ai"
import {
  Agent,
  AgentPicker,
  ContextWindow,
  Dialogue,
  Group,
  Guardrail,
  Handoff,
  HandoffPolicy,
  Plan,
  Session
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

/** Runs something with a registry of its own, and gives the counts of requests by model and error, and the tokens that went in. */
const counted = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    yield* Effect.exit(self)
    const counts: Record<string, number> = {}
    for (const metric of yield* Metric.snapshot) {
      if (metric.type !== "Histogram") continue
      const { attributes = {}, id, state } = metric
      const kind = id === "gen_ai.client.token.usage" ? attributes["gen_ai.token.type"] : attributes["error.type"]
      const name = [attributes["gen_ai.request.model"] ?? "a model", kind].filter((word) => word !== undefined).join(
        " "
      )
      counts[name] = (counts[name] ?? 0) + (kind === "input" || kind === "output" ? state.sum : state.count)
    }
    return counts
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))

const used = (answer: MockResponse.Input) => MockResponse.withUsage(answer, { input: 10, output: 1 })

const named = (...answers: ReadonlyArray<MockResponse.Input>) =>
  Model.make("openai", "gpt", MockModel.layer(MockModel.queue(...answers)))

const Tools = Toolkit.make(Tool.make("ask", { success: Schema.String, dependencies: [LanguageModel.LanguageModel] }))

const asking = Agent.make("desk", { toolkit: Tools })

const call = MockResponse.toolCall("ask", {})

/** An agent's run whose tool does something with the model. */
const within = (handler: Effect.Effect<string, never, LanguageModel.LanguageModel>) =>
  Agent.run(asking, "Hello").pipe(Effect.provide(Tools.toLayer({ ask: () => handler })))

describe("A request within a run", () => {
  it.effect("of a tool counts once, as a text, an object and a stream", () =>
    Effect.gen(function*() {
      const whole = Effect.map(Effect.orDie(LanguageModel.generateText({ prompt: "One" })), ({ text }) => text)
      const piece = Effect.as(Effect.orDie(Stream.runDrain(LanguageModel.streamText({ prompt: "Two" }))), "two")
      const object = Effect.as(
        Effect.orDie(LanguageModel.generateObject({ prompt: "Three", schema: Schema.Struct({ a: Schema.Number }) })),
        "three"
      )
      for (const [handler, answer] of [[whole, "one"], [piece, "two"], [object, `{"a":1}`]] as const) {
        const counts = yield* counted(within(handler)).pipe(
          Effect.provide(named(used(call), used(answer), used("end")))
        )
        assert.deepStrictEqual(counts, { gpt: 3, "gpt input": 30, "gpt output": 3 })
      }
    }))

  it.effect("of a tool counts once where the handler got its model when it was made", () =>
    Effect.gen(function*() {
      const run = Agent.run(asking, "Hello").pipe(
        Effect.provide(Tools.toLayer(Effect.map(LanguageModel.LanguageModel, () => ({
          ask: () => Effect.map(Effect.orDie(LanguageModel.generateText({ prompt: "One" })), ({ text }) => text)
        }))))
      )
      assert.deepStrictEqual(yield* counted(run).pipe(Effect.provide(named(call, "one", "end"))), { gpt: 3 })
    }))

  it.effect("of another run counts once: in a tool, of a called agent, in a session", () =>
    Effect.gen(function*() {
      const inner = Effect.as(Effect.orDie(Agent.run(Agent.make("inner"), "Hello")), "done")
      assert.deepStrictEqual(yield* counted(within(inner)).pipe(Effect.provide(named(call, "one", "end"))), { gpt: 3 })
      const talk = Effect.scoped(Effect.flatMap(Session.make(Agent.make("inner")), (session) => session.call("Hello")))
      const held = within(Effect.as(Effect.orDie(talk), "done"))
      assert.deepStrictEqual(yield* counted(held).pipe(Effect.provide(named(call, "one", "end"))), { gpt: 3 })
      const boss = Agent.make("boss", { agents: [Agent.asTool(Agent.make("helper"))] })
      const called = Agent.run(boss, "Hello").pipe(
        Effect.provide(named(MockResponse.toolCall("helper", { task: "Help" }), "help", "end"))
      )
      assert.deepStrictEqual(yield* counted(called), { gpt: 3 })
    }))

  it.effect("of another run counts once where a handler changed its model, and each request that the change adds", () =>
    Effect.gen(function*() {
      type Change = (model: LanguageModel.LanguageModel) => LanguageModel.LanguageModel
      const repeating = (times: number): Change => (model) => ({
        ...model,
        generateText: ((options: never) => Effect.repeat(model.generateText(options), { times: times - 1 })) as never,
        streamText: ((options: never) =>
          Stream.takeRight(Stream.repeat(model.streamText(options), Schedule.recurs(times - 1)), 3)) as never
      })
      const changes: ReadonlyArray<readonly [change: Change, requests: number]> = [
        [(model) => ({ ...model }), 3],
        [(model) =>
          Object.create(model) as LanguageModel.LanguageModel, 3],
        [repeating(1), 3],
        [repeating(2), 4]
      ]
      const inner = Agent.make("inner")
      const armed = Agent.make("armed", { instructions: () => "Be brief." })
      for (const [change, requests] of changes) {
        for (const agent of [inner, armed]) {
          for (const ask of [Agent.run(agent, "Hello"), Stream.runDrain(Agent.stream(agent, "Hello"))]) {
            const handler = Effect.as(Effect.orDie(ask), "done").pipe(
              Effect.provideServiceEffect(LanguageModel.LanguageModel, Effect.map(LanguageModel.LanguageModel, change))
            )
            const counts = yield* counted(within(handler)).pipe(
              Effect.provide(named(call, ...Array.from({ length: requests - 2 }, () => "one"), "end"))
            )
            assert.deepStrictEqual(counts, { gpt: requests })
          }
        }
      }
    }))

  it.effect("of a judge counts once, and of a summary", () =>
    Effect.gen(function*() {
      const judged = Agent.make("judged", { guardrails: { output: [Guardrail.judge("It is kind.")] } })
      const verdict = `{ "reason": "It is.", "score": 1 }`
      assert.deepStrictEqual(
        yield* counted(Agent.run(judged, "Hello")).pipe(Effect.provide(named("Hi", verdict))),
        { gpt: 2 }
      )
      const window = ContextWindow.make({ maxTurns: 2, strategy: ContextWindow.summarize() })
      const talk = Effect.gen(function*() {
        const session = yield* Session.make(Agent.make("desk", { contextWindow: window }))
        for (const text of ["One", "Two"]) yield* session.call(text)
      })
      assert.deepStrictEqual(
        yield* counted(Effect.scoped(talk)).pipe(Effect.provide(named("Hi", "A summary.", "Hi"))),
        { gpt: 3 }
      )
    }))

  it.effect("counts with what it failed with", () =>
    Effect.gen(function*() {
      const handler = Effect.as(Effect.ignore(LanguageModel.generateText({ prompt: "One" })), "failed")
      const failing = MockResponse.fail(new AiError.RateLimitError({}))
      assert.deepStrictEqual(
        yield* counted(within(handler)).pipe(Effect.provide(named(call, failing, "end"))),
        { gpt: 2, "gpt RateLimitError": 1 }
      )
    }))

  it.effect("goes by the names of an agent's own model, and of the one that a plan falls back to", () =>
    Effect.gen(function*() {
      const handler = Tools.toLayer({
        ask: () => Effect.map(Effect.orDie(LanguageModel.generateText({ prompt: "One" })), ({ text }) => text)
      })
      const own = (answers: ReadonlyArray<MockResponse.Input>) =>
        Model.make("anthropic", "claude", MockModel.layer(MockModel.queue(...answers)))
      const run = (agent: typeof asking) => counted(Agent.run(agent, "Hello").pipe(Effect.provide(handler)))
      const around = Effect.provide(named("nobody asks this one"))
      assert.deepStrictEqual(
        yield* around(run(Agent.withModel(asking, own([call, "one", "end"])) as typeof asking)),
        { claude: 3 }
      )
      const down = Model.make(
        "openai",
        "down",
        MockModel.layer(MockModel.make(() => MockResponse.fail(new AiError.RateLimitError({}))))
      )
      const plan = ExecutionPlan.make({ provide: down }, { provide: own([call, "one", "end"]) })
      assert.deepStrictEqual(
        yield* around(run(Agent.withModel(asking, plan) as typeof asking)),
        { "down RateLimitError": 3, claude: 3 }
      )
    }))

  it.effect("of a group's picker counts once, also in a group that answers a call", () =>
    Effect.gen(function*() {
      const Members = { ada: Agent.make("ada"), bob: Agent.make("bob") }
      const start = AgentPicker.model(["ada", "bob"], { fallback: "ada" })
      const pair = Group.make(Members, { start })
      const picked = `{"agent":"bob"}`
      assert.deepStrictEqual(
        yield* counted(Agent.run(pair, "Hello")).pipe(Effect.provide(named(used(picked), used("Hi")))),
        { gpt: 2, "gpt input": 20, "gpt output": 2 }
      )
      const boss = Agent.make("boss", { agents: [Agent.asTool(pair, { name: "pair" })] })
      const called = named(MockResponse.toolCall("pair", { task: "Help" }), picked, "Hi", "end")
      assert.deepStrictEqual(yield* counted(Agent.run(boss, "Hello")).pipe(Effect.provide(called)), { gpt: 4 })
    }))

  it.effect("of a picker that fails counts with what it failed with", () =>
    Effect.gen(function*() {
      const pair = Group.make({ ada: Agent.make("ada"), bob: Agent.make("bob") }, {
        start: AgentPicker.model(["ada", "bob"], { fallback: "ada" })
      })
      const failing = named(MockResponse.fail(new AiError.RateLimitError({})))
      assert.deepStrictEqual(
        yield* counted(Agent.run(pair, "Hello")).pipe(Effect.provide(failing)),
        { "gpt RateLimitError": 1 }
      )
    }))

  it.effect("of a handoff's summary counts once, and of a policy's", () =>
    Effect.gen(function*() {
      const expert = Agent.make("expert")
      const front = Agent.make("front", {
        handoffs: [Handoff.to(expert, { history: Handoff.summary(Handoff.summarizeByModel()) })]
      })
      const over = named(MockResponse.toolCall("handoff_to_expert", {}), "A lamp is broken.", "Try another bulb.")
      assert.deepStrictEqual(yield* counted(Agent.run(front, "Help")).pipe(Effect.provide(over)), { gpt: 3 })
      const desk = Group.make({ ada: Agent.make("ada"), bob: Agent.make("bob") }, {
        start: AgentPicker.always("ada"),
        policy: HandoffPolicy.sequential(["ada", "bob"]).pipe(
          HandoffPolicy.compacting({ over: { turns: 1 }, keep: 0, summarize: Handoff.summarizeByModel() })
        )
      })
      assert.deepStrictEqual(
        yield* counted(Agent.run(desk, "Help")).pipe(Effect.provide(named("One.", "A summary.", "Two."))),
        { gpt: 3 }
      )
    }))

  it.effect("of a dialogue counts once: who speaks next, and whether it is over", () =>
    Effect.gen(function*() {
      const isOver = Effect.map(Effect.orDie(LanguageModel.generateText({ prompt: "Over?" })), ({ text }) =>
        text === "yes")
      const talk = Dialogue.make(Agent.make("ada"), Agent.make("bob"), {
        speaker: Dialogue.byModel(),
        until: () =>
          isOver,
        maxTurns: 3
      })
      const answers = ["bob", used("Hi."), "yes"]
      assert.deepStrictEqual(
        yield* counted(Dialogue.run(talk, "Hello")).pipe(Effect.provide(named(...answers))),
        { gpt: 3, "gpt input": 10, "gpt output": 1 }
      )
      assert.deepStrictEqual(
        yield* counted(Stream.runDrain(Dialogue.stream(talk, "Hello"))).pipe(Effect.provide(named(...answers))),
        { gpt: 3, "gpt input": 10, "gpt output": 1 }
      )
    }))

  it.effect("of a plan's own node counts once, beside its agents", () =>
    Effect.gen(function*() {
      const title = Plan.node("title", (text: string) =>
        Effect.map(LanguageModel.generateText({ prompt: text }), ({ text }) => text))
      const writer = Agent.make("writer")
      const plan = Plan.make({ nodes: [writer, title], edges: [Plan.edge(writer, title)] })
      for (const run of [Plan.run(plan, "Write"), Stream.runDrain(Plan.stream(plan, "Write"))]) {
        assert.deepStrictEqual(
          yield* counted(run).pipe(Effect.provide(named(used("A story."), used("Title")))),
          { gpt: 2, "gpt input": 20, "gpt output": 2 }
        )
      }
    }))

  it.effect("of a model that a handler provides to itself isn't counted, and that of an agent that it runs is", () =>
    Effect.gen(function*() {
      const own = Model.make("anthropic", "claude", MockModel.layer(MockModel.queue("one")))
      const asked = Effect.map(Effect.orDie(LanguageModel.generateText({ prompt: "One" })), ({ text }) => text)
      assert.deepStrictEqual(
        yield* counted(within(Effect.provide(asked, own))).pipe(Effect.provide(named(call, "end"))),
        { gpt: 2 }
      )
      const run = Effect.as(Effect.orDie(Agent.run(Agent.make("inner"), "Hello")), "done")
      assert.deepStrictEqual(
        yield* counted(within(Effect.provide(run, own))).pipe(Effect.provide(named(call, "end"))),
        { gpt: 2, claude: 1 }
      )
    }))
})
