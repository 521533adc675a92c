import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Context, Data, Effect, Layer, Schema } from "effect"
import { AiError, DecisionModel } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, AgentPicker, AgentState, AgentStatus, Conversation, Group, HandoffPolicy, Mode, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { deciding } from "../agent/deciding.ts"

class Lost extends Data.TaggedError("Lost")<{}> {}
class Rota extends Context.Service<Rota, "day" | "night">()("test/Rota") {}

const agents = [
  { name: "billing", description: "Invoices and refunds" },
  { name: "tech", description: undefined },
  { name: "triage", description: "Everything else" },
  { name: "stranger", description: "Nobody asked" }
]

const ask = (text: string, options?: Partial<AgentPicker.PickRequest>): AgentPicker.PickRequest => ({
  conversation: Conversation.make([Conversation.user(text)]),
  text,
  lastStatus: undefined,
  lastAgent: undefined,
  agents,
  ...options
})

const later = (text: string): AgentPicker.PickRequest =>
  ask(text, {
    conversation: Conversation.make([
      Conversation.user("Hello"),
      Conversation.assistant("triage", [Conversation.call("call-1", "search", {})]),
      Conversation.assistant("triage", [Conversation.text("Hi!"), Conversation.call("call-2", "search", {})]),
      Conversation.user(text)
    ]),
    lastStatus: AgentStatus.failed({ tag: "StepLimitReached", message: "", agent: "triage", step: 1 }),
    lastAgent: "triage"
  })

describe("AgentPicker", () => {
  it("is recognized, and shown without its functions", () => {
    const picker = AgentPicker.match([[/bill/, "billing"]], "triage")
    assert.isTrue(AgentPicker.isAgentPicker(picker))
    assert.isFalse(AgentPicker.isAgentPicker(HandoffPolicy.explicit("billing")))
    assert.strictEqual(JSON.stringify(picker), `{"_id":"AgentPicker","names":["billing","triage"]}`)
  })

  it.effect("picks the agent of a name, whatever is asked", () =>
    Effect.gen(function*() {
      const picker = AgentPicker.always("triage")
      assert.strictEqual(yield* AgentPicker.pick(picker, ask("anything")), "triage")
      assert.strictEqual(yield* picker.pipe(AgentPicker.pick(later("else"))), "triage")
      assert.deepStrictEqual(AgentPicker.namesOf(picker), ["triage"])
    }))

  describe("make", () => {
    it.effect("picks what a function gives, or an effect with its failures and services", () =>
      Effect.gen(function*() {
        const plain = AgentPicker.make(({ lastAgent }) => lastAgent === undefined ? "triage" : "tech")
        assert.strictEqual(yield* AgentPicker.pick(plain, ask("Hello")), "triage")
        assert.strictEqual(yield* AgentPicker.pick(plain, later("Hello")), "tech")
        const onDuty = AgentPicker.make(({ text }) => text === "" ? Effect.fail(new Lost()) : Rota)
        const pick = (text: string) => Effect.provideService(AgentPicker.pick(onDuty, ask(text)), Rota, "night")
        assert.strictEqual(yield* pick("Hello"), "night")
        assert.instanceOf(yield* Effect.flip(pick("")), Lost)
      }))

    it("isn't known to give any name", () => {
      assert.deepStrictEqual(AgentPicker.namesOf(AgentPicker.make(() => "triage")), [])
    })
  })

  describe("match", () => {
    const picker = AgentPicker.match([
      [/invoice/i, "billing"],
      [(request) => request.lastStatus?._tag === "Failed", "tech"],
      [/invoice|crash/, "stranger"]
    ], "triage")

    it.effect("picks the agent of the first case that holds, or the fallback", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* AgentPicker.pick(picker, ask("My INVOICE is wrong")), "billing")
        assert.strictEqual(yield* AgentPicker.pick(picker, later("My invoice is wrong")), "billing")
        assert.strictEqual(yield* AgentPicker.pick(picker, later("It happened again")), "tech")
        assert.strictEqual(yield* AgentPicker.pick(picker, ask("a crash")), "stranger")
        assert.strictEqual(yield* AgentPicker.pick(picker, ask("Hello")), "triage")
      }))

    it("is known to give the names of its cases and the fallback", () => {
      assert.deepStrictEqual(AgentPicker.namesOf(picker), ["billing", "tech", "stranger", "triage"])
      const often = AgentPicker.match([[/a/, "tech"], [/b/, "triage"], [/c/, "tech"]], "triage")
      assert.deepStrictEqual(AgentPicker.namesOf(often), ["tech", "triage"])
    })

    it.effect("finds the same with a global pattern however often it is asked", () =>
      Effect.gen(function*() {
        const pattern = /crash/g
        const picker = AgentPicker.match([[pattern, "tech"]], "triage")
        const picked = yield* Effect.all(Array.from({ length: 3 }, () => AgentPicker.pick(picker, ask("a crash"))))
        assert.deepStrictEqual(picked, ["tech", "tech", "tech"])
        assert.strictEqual(pattern.lastIndex, 0)
      }))
  })

  describe("model", () => {
    const picker = AgentPicker.model(["billing", "tech"], { fallback: "triage", instructions: "Be quick." })

    const pick = (answer: MockResponse.Input, request = later("It crashes")) =>
      Effect.gen(function*() {
        const picked = yield* AgentPicker.pick(picker, request)
        return { picked, calls: yield* MockModel.calls }
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue(answer))))

    it.effect("picks what the model answers, the fallback too", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* pick(`{"agent":"tech"}`)).picked, "tech")
        assert.strictEqual((yield* pick(`{"agent":"triage"}`)).picked, "triage")
        assert.deepStrictEqual(AgentPicker.namesOf(picker), ["billing", "tech", "triage"])
      }))

    it.effect("shows the model its choices with their descriptions, the messages, and how the last run ended", () =>
      Effect.gen(function*() {
        const [call] = (yield* pick(`{"agent":"tech"}`)).calls
        const { lastUserText, responseFormat, system } = call!.request
        assert.strictEqual(
          system,
          [
            "Choose the agent that is to answer the user's last words. Be quick.",
            "",
            "Agents:",
            "- billing: Invoices and refunds",
            "- tech",
            "- triage: Everything else"
          ].join("\n")
        )
        assert.deepStrictEqual(JSON.parse(lastUserText), {
          conversation: [
            { from: "user", text: "Hello" },
            { from: "triage", text: "Hi!" },
            { from: "user", text: "It crashes" }
          ],
          lastAgent: "triage",
          lastStatus: "Failed"
        })
        assert.strictEqual(responseFormat.type, "json")
      }))

    it.effect("shows the last turns of a long conversation", () =>
      Effect.gen(function*() {
        const conversation = Conversation.make(Array.from({ length: 30 }, (_, index) => Conversation.user(`${index}`)))
        const [call] = (yield* pick(`{"agent":"tech"}`, ask("29", { conversation }))).calls
        const question = JSON.parse(call!.request.lastUserText) as { conversation: ReadonlyArray<{ text: string }> }
        assert.deepStrictEqual(
          question.conversation.map(({ text }) => text),
          Array.from({ length: 10 }, (_, index) => `${index + 20}`)
        )
        assert.deepStrictEqual(Object.keys(question), ["conversation"])
      }))

    it.effect.prop("falls back on an answer that is none of its choices, or none at all", {
      answer: Arbitrary.schema(Schema.String)
    }, ({ answer }) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* pick(answer)).picked, "triage")
        assert.strictEqual((yield* pick(JSON.stringify({ agent: `${answer}!` }))).picked, "triage")
      }), { arbitrary: { runs: 30 } })

    it.effect("falls back on an agent of the group that it isn't to choose", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* pick(`{"agent":"stranger"}`)).picked, "triage")
        assert.strictEqual((yield* pick("")).picked, "triage")
      }))

    it.effect("fails as the model does", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(pick(MockResponse.fail(new AiError.RateLimitError({}))))
        assert.strictEqual(error.reason._tag, "RateLimitError")
      }))

    it.effect("asks nothing where there is no choice", () =>
      Effect.gen(function*() {
        const alone = AgentPicker.model(["triage"], { fallback: "triage" })
        const picked = yield* AgentPicker.pick(alone, ask("Hello"))
        assert.deepStrictEqual([picked, (yield* MockModel.calls).length], ["triage", 0])
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue()))))
  })

  describe("decisionModel", () => {
    const picker = AgentPicker.decisionModel(["billing", "tech"], { fallback: "triage" })

    const classified = (label: string): DecisionModel.ProviderAnswer => ({
      _tag: "Classify",
      label,
      probabilities: { billing: 0.25, tech: 0.5, triage: 0.25 }
    })

    const pick = (
      answer: Effect.Effect<DecisionModel.ProviderAnswer, AiError.AiError>,
      asked: Array<DecisionModel.ProviderOptions> = []
    ) =>
      AgentPicker.pick(picker, later("It crashes")).pipe(
        Effect.provide(deciding(Effect.map(answer, (agent) => ({ agent })), asked))
      )

    it.effect("picks what the model decides, the fallback too", () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* pick(Effect.succeed(classified("tech"))), "tech")
        assert.strictEqual(yield* pick(Effect.succeed(classified("triage"))), "triage")
        assert.deepStrictEqual(AgentPicker.namesOf(picker), ["billing", "tech", "triage"])
      }))

    it.effect("shows the model its choices with their descriptions, the messages, and how the last run ended", () =>
      Effect.gen(function*() {
        const asked: Array<DecisionModel.ProviderOptions> = []
        yield* pick(Effect.succeed(classified("tech")), asked)
        assert.deepStrictEqual(asked, [{
          state: {
            conversation: [
              { from: "user", text: "Hello" },
              { from: "triage", text: "Hi!" },
              { from: "user", text: "It crashes" }
            ],
            lastAgent: "triage",
            lastStatus: "Failed"
          },
          decisions: {
            agent: {
              _tag: "Classify",
              instructions: "Choose the agent that is to answer the user's last words.",
              criteria: { billing: "Invoices and refunds", tech: null, triage: "Everything else" }
            }
          }
        }])
      }))

    it.effect("falls back on a refusal, and on an answer that isn't valid", () =>
      Effect.gen(function*() {
        const answers: ReadonlyArray<DecisionModel.ProviderAnswer> = [
          { _tag: "Refusal" },
          { _tag: "Probability", probability: 1 },
          classified("stranger"),
          { _tag: "Classify", label: "tech" }
        ]
        for (const answer of answers) assert.strictEqual(yield* pick(Effect.succeed(answer)), "triage")
      }))

    it.effect("fails as the model does", () =>
      Effect.gen(function*() {
        const reason = new AiError.RateLimitError({})
        const error = yield* Effect.flip(pick(Effect.fail(AiError.make({ module: "Test", method: "decide", reason }))))
        assert.strictEqual(error.reason._tag, "RateLimitError")
      }))

    it.effect("asks nothing where there is no choice", () =>
      Effect.gen(function*() {
        const alone = AgentPicker.decisionModel([], { fallback: "triage" })
        const die = Layer.effect(DecisionModel.DecisionModel, DecisionModel.make({ decide: () => Effect.die("asked") }))
        assert.strictEqual(yield* Effect.provide(AgentPicker.pick(alone, ask("Hello")), die), "triage")
      }))
  })
})

describe("A group with a picker", () => {
  const says = (name: string) => MockModel.make(() => `I am ${name}.`)
  const model = MockModel.layer(
    MockModel.byAgent({ triage: says("triage"), billing: says("billing"), tech: says("tech") })
  )
  const form = Mode.make("form", { enter: () => Effect.void })
  const group = Group.make({
    triage: Agent.make("triage"),
    billing: Agent.make("billing"),
    tech: Agent.make("tech", { modes: [form] })
  }, { start: AgentPicker.match([[/invoice/i, "billing"]], "tech") })
  const withStore = Effect.provide(Layer.fresh(Layer.merge(model, KeyValueStore.layerMemory)))
  const texts = (states: ReadonlyArray<AgentState.AgentState>) => states.map((state) => AgentState.text(state))

  it.effect("picks who answers the first input of a session, and not who answers the next", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(group)
      const states = [yield* session.call("My invoice"), yield* session.call("It crashes")]
      assert.deepStrictEqual(texts(states), ["I am billing.", "I am billing."])
      assert.deepStrictEqual(states[1]?.trail, ["billing"])
      assert.strictEqual(AgentState.text(yield* session.call("It crashes", { control: "first" })), "I am tech.")
    }).pipe(Effect.scoped, Effect.provide(model)))

  it.effect("picks in a session that is opened again before anybody said anything", () =>
    Effect.gen(function*() {
      const tech = Group.make({
        triage: Agent.make("triage", { modes: [form] }),
        tech: Agent.make("tech", { modes: [form] })
      }, {
        start: AgentPicker.always("tech")
      })
      const open = Session.make(tech, { store: Session.store("s1") })
      const before = yield* Effect.scoped(Effect.flatMap(open, (session) => session.enterMode("form")))
      assert.deepStrictEqual([before.agent, before.conversation.turns], ["triage", []])
      const after = yield* Effect.scoped(Effect.flatMap(open, (session) => session.call("It crashes")))
      assert.deepStrictEqual([after.agent, AgentState.text(after), after.modes.map(({ name }) => name)], [
        "tech",
        "I am tech.",
        ["form"]
      ])
    }).pipe(withStore))

  it.effect("picks for a state without turns, unless the agent in control is asked for", () =>
    Effect.gen(function*() {
      const state = AgentState.make("triage")
      const states = [
        yield* Agent.settle(group, "My invoice", { state }),
        yield* Agent.continueConversation(group, state, "My invoice"),
        yield* Agent.continueConversation(group, state, "My invoice", { control: "current" })
      ]
      assert.deepStrictEqual(texts(states), ["I am billing.", "I am billing.", "I am triage."])
      // Without a picker, the state says who begins.
      const fixed = Group.make({ triage: Agent.make("triage"), tech: Agent.make("tech") }, { start: "triage" })
      assert.deepStrictEqual(
        texts([yield* Agent.continueConversation(fixed, AgentState.make("tech"), "My invoice")]),
        ["I am tech."]
      )
    }).pipe(Effect.provide(model)))

  it.effect("picks again if the first input was refused", () =>
    Effect.gen(function*() {
      const short = Group.make({ triage: Agent.make("triage"), tech: Agent.make("tech", { maxInputLength: 10 }) }, {
        start: AgentPicker.make(({ text }) => text.length > 10 ? "tech" : "triage"),
        name: "short"
      })
      const session = yield* Session.make(short)
      yield* Effect.flip(session.call("far too long for tech"))
      assert.deepStrictEqual((yield* session.state).conversation.turns, [])
      assert.strictEqual(AgentState.text(yield* session.call("Hi")), "I am triage.")
    }).pipe(Effect.scoped, Effect.provide(model)))

  it.effect("lets the agent in control continue after a choice that couldn't be made, or picks again if it is asked to", () =>
    Effect.gen(function*() {
      let isDown = true
      const moody = Group.make({ triage: Agent.make("triage"), tech: Agent.make("tech") }, {
        start: AgentPicker.make(() => isDown ? Effect.fail(new Lost()) : Effect.succeed("tech" as const)),
        name: "moody"
      })
      const session = yield* Session.make(moody)
      assert.instanceOf(yield* Effect.flip(session.call("Hi")), Lost)
      isDown = false
      assert.strictEqual(AgentState.text(yield* session.call("Hello?")), "I am triage.")
      assert.strictEqual(AgentState.text(yield* session.call("Hello?", { control: "first" })), "I am tech.")
    }).pipe(Effect.scoped, Effect.provide(model)))
})
