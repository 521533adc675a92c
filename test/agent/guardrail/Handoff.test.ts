import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Group, Guardrail, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { made, ran, said, sent, turns, without } from "./looking.ts"

const handTo = (target: string, params: object = { reason: "because" }, id?: string) =>
  MockResponse.toolCall(`handoff_to_${target}`, params, id === undefined ? {} : { id })

const models = (script: Readonly<Record<string, ReadonlyArray<MockResponse.Input>>>) =>
  MockModel.layer(MockModel.byAgent(
    Object.fromEntries(Object.entries(script).map(([name, said]) => [name, MockModel.queue(...said)]))
  ))

const throughText = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))

const b = Agent.make("b")
const c = Agent.make("c")

describe("A handoff that a model asks for", () => {
  it.effect("says what a guardrail put in its place: reason and context, to the target and in the state", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const looking = Guardrail.make("looking", (handoff, { agent, call, stage }) => {
        seen.push([handoff, agent, call, stage])
        return Guardrail.replace({ ...handoff, context: { note: "for Ada" } }, "no context")
      }, { on: "handoff" })
      const a = Agent.make("a", {
        handoffs: [Handoff.to(b)],
        guardrails: { handoff: [looking, made("Ada", "her")] }
      })
      const { events, state } = yield* ran(Agent.run(a, "Go"))
      assert.deepStrictEqual(seen, [[
        { target: "b", reason: "Ada asks" },
        "a",
        { id: "h", name: "handoff_to_b", params: { reason: "Ada asks" } },
        "handoff"
      ]])
      const request = {
        target: "b",
        callId: "h",
        tool: "handoff_to_b",
        reason: "her asks",
        context: { note: "for her" }
      }
      assert.deepStrictEqual(ofTag(events, "HandoffRequested").map(({ request }) => ({ ...request })), [request])
      assert.strictEqual(state.agent, "b")
      assert.deepStrictEqual([state.handoff?.reason, state.handoff?.context], ["her asks", { note: "for her" }])
      assert.include(
        (yield* sent)[1]?.[2],
        `{"handoff":"b","ack":true,"reason":"her asks","context":{"note":"for her"}}`
      )
      assert.deepStrictEqual(said(events), [
        "handoff: looking Replace (no context)",
        `handoff: no Ada Replace (it says "Ada")`
      ])
      assert.deepStrictEqual(ofTag(events, "GuardrailSettled").map(({ callId }) => callId), ["h", "h"])
    }).pipe(Effect.provide(models({ a: [handTo("b", { reason: "Ada asks" }, "h")], b: ["Here I am."] }))))

  it.effect("is a failed call where it is blocked or sent back: the model reads why, and the run goes on", () =>
    Effect.gen(function*() {
      const polite = Guardrail.make(
        "polite",
        ({ reason }) => reason === "now" ? Guardrail.retry("Say please.") : Guardrail.pass,
        { on: "handoff" }
      )
      const a = Agent.make("a", {
        handoffs: [Handoff.to(b)],
        guardrails: { handoff: [without("bad"), polite] }
      })
      const { events, state } = yield* ran(Agent.run(a, "Go"))
      assert.deepStrictEqual(turns(state), [
        "User: Go",
        `a: handoff_to_b({}) Failed "Guardrail \\"without bad\\" blocked this handoff: it says \\"bad\\""`,
        `a: handoff_to_b({}) Failed "Say please."`,
        "a: Then not."
      ])
      assert.strictEqual(state.agent, "a")
      assert.deepStrictEqual(ofTag(events, "HandoffRequested"), [])
      assert.strictEqual(state.status._tag, "Complete")
    }).pipe(
      Effect.provide(models({ a: [handTo("b", { reason: "bad" }), handTo("b", { reason: "now" }), "Then not."] }))
    ))

  it.effect("is kept without what nobody looked at, as its schema doesn't declare that", () =>
    Effect.gen(function*() {
      const typed = Handoff.to(b, { toolName: "typed", parameters: Schema.Struct({ order: Schema.Int }) })
      const a = Agent.make("a", { handoffs: [Handoff.to(b), typed], guardrails: { handoff: [without("bad")] } })
      for (const params of [{ reason: "why" }, { order: 7 }]) {
        const { events, state } = yield* ran(Agent.run(a, "Go"))
        assert.strictEqual(state.agent, "b")
        assert.notInclude(JSON.stringify([events, AgentState.toJson(state), yield* sent]), "Ada")
        assert.deepStrictEqual(
          state.conversation.turns.flatMap((turn) =>
            turn._tag === "Assistant" ? Conversation.callsOf(turn).map(({ params }) => params) : []
          ),
          [params]
        )
      }
    }).pipe(Effect.provide(models({
      a: [handTo("b", { reason: "why", customer: "Ada" }), MockResponse.toolCall("typed", { order: 7, Ada: 1 })],
      b: ["Here I am.", "Here I am."]
    }))))

  it.effect("is kept in the same way if the state had it before", () =>
    Effect.gen(function*() {
      const names = Guardrail.make("names", (text) =>
        text.includes("Ada") ? Guardrail.replace(text.replaceAll("Ada", "her"), "a name") : Guardrail.pass)
      const a = Agent.make("a", { handoffs: [Handoff.to(b)], guardrails: { handoff: [names] } })
      const before = (params: Schema.Json) =>
        AgentState.make("a", {
          conversation: Conversation.make([
            { _tag: "User", parts: [Conversation.text("Go")] },
            {
              _tag: "Assistant",
              agent: "a",
              parts: [Conversation.call("h", "handoff_to_b", params)],
              usage: {},
              finishReason: "tool-calls"
            }
          ])
        })
      const given = [
        [{ reason: "Ada asks" }, { reason: "her asks" }],
        [{ reason: "why", customer: "Ada" }, { reason: "why" }],
        [{ reason: 3, customer: "Ada" }, { reason: 3, customer: "her" }]
      ] as const
      for (const [params, kept] of given) {
        const { events, state } = yield* ran(Agent.resume(a, before(params)))
        assert.notInclude(JSON.stringify([events, AgentState.toJson(state), yield* sent]), "Ada")
        const [first] = state.conversation.turns.flatMap((turn) =>
          turn._tag === "Assistant" ? Conversation.callsOf(turn) : []
        )
        assert.deepStrictEqual(first?.params, kept)
      }
    }).pipe(Effect.provide(models({ a: ["Then not."], b: ["Here I am.", "Here I am."] }))))

  it.effect("goes to nobody else", () =>
    Effect.gen(function*() {
      const elsewhere = Guardrail.make(
        "elsewhere",
        (handoff) => Guardrail.replace({ ...handoff, target: "c" }, "why"),
        {
          on: "handoff"
        }
      )
      const a = Agent.make("a", { handoffs: [Handoff.to(b), Handoff.to(c)], guardrails: { handoff: [elsewhere] } })
      const { events, state } = yield* ran(Agent.run(a, "Go"))
      assert.deepStrictEqual(said(events), [
        "handoff: elsewhere Block (its replacement doesn't fit: it changes the target)"
      ])
      assert.strictEqual(state.agent, "a")
    }).pipe(Effect.provide(models({ a: [handTo("b"), "Then not."] }))))

  it.effect("is looked at each time: one that is blocked leaves room for the next", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const a = Agent.make("a", {
        handoffs: [Handoff.to(b), Handoff.to(c)],
        guardrails: { handoff: [without("bad", asked)] }
      })
      const { state } = yield* ran(Agent.run(a, "Go"))
      assert.deepStrictEqual(asked, ["bad", "good", "late"])
      assert.strictEqual(state.agent, "c")
      assert.deepStrictEqual(state.trail, ["a", "c"])
    }).pipe(Effect.provide(models({
      a: [MockResponse.all(
        handTo("b", { reason: 7 }),
        handTo("b", { reason: "bad" }),
        handTo("c", { reason: "good" }),
        handTo("b", { reason: "late" })
      )],
      c: ["Here I am."]
    }))))
})

describe("A handoff that a policy decides", () => {
  const group = (guardrail: Guardrail.Guardrail | Guardrail.Guardrail<"handoff">) =>
    Group.make({ a: Agent.make("a", { guardrails: { handoff: [guardrail] } }), b }, {
      start: "a",
      policy: HandoffPolicy.sequential(["a", "b"])
    })

  it.effect("fails the run where it is blocked: there is nobody to tell", () =>
    Effect.gen(function*() {
      const { error, events, state } = yield* ran(Agent.run(group(without("Step")), "Go"))
      assert.isTrue(error?.reason._tag === "GuardrailBlocked")
      if (error?.reason._tag !== "GuardrailBlocked") return
      const { agent, guardrail, reason, stage } = error.reason
      assert.deepStrictEqual([agent, guardrail, stage, reason], ["a", "without Step", "handoff", `it says "Step"`])
      assert.deepStrictEqual(turns(state), ["User: Go", "a: Done."])
      assert.strictEqual(state.agent, "a")
      assert.deepStrictEqual(ofTag(events, "HandoffRequested"), [])
      assert.deepStrictEqual(ofTag(events, "GuardrailSettled").map(({ callId }) => callId), [undefined])
      const stepped = yield* Effect.exit(
        Agent.step(group(without("Step")), AgentState.ask(AgentState.make("a"), "Go", 0))
      )
      assert.strictEqual(stepped._tag, "Failure")
    }).pipe(Effect.provide(models({ a: ["Done.", "Done."] }))))

  it.effect("says what a guardrail put in its place", () =>
    Effect.gen(function*() {
      const { state } = yield* ran(Agent.run(group(made("Step 1", "All")), "Go"))
      assert.strictEqual(state.agent, "b")
      assert.deepStrictEqual(turns(state).slice(2), [
        "Feedback: Agent \"a\" handed this conversation over to you.\nReason: All of 2 is done",
        "b: Me, too."
      ])
    }).pipe(Effect.provide(models({ a: ["Done."], b: ["Me, too."] }))))
})

describe("The target of a handoff", () => {
  it.effect("has its own guardrails, and none of those of the agent before it", () =>
    Effect.gen(function*() {
      const asked: Record<string, Array<unknown>> = { aIn: [], aOut: [], aCall: [], bIn: [], bOut: [] }
      const Look = Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }), success: Schema.String })
      const Kit = Toolkit.make(Look)
      const strict = Agent.make("b", {
        toolkit: Kit,
        guardrails: {
          input: [without("bad", asked["bIn"])],
          output: [made("Ada", "her"), without("bad", asked["bOut"])]
        }
      })
      const lenient = Agent.make("a", {
        toolkit: Kit,
        handoffs: [Handoff.to(strict)],
        guardrails: {
          input: [without("nothing", asked["aIn"])],
          output: [without("her", asked["aOut"])],
          toolCall: [without("me", asked["aCall"])]
        }
      })
      const { events, state } = yield* ran(Agent.run(lenient, "Go")).pipe(Effect.provide([
        Kit.toLayer({ look: ({ at }) => Effect.succeed(`${at} seen`) }),
        models({ a: [handTo("b")], b: [MockResponse.toolCall("look", { at: "me" }), "It is Ada."] })
      ]))
      assert.deepStrictEqual(asked, { aIn: ["Go"], aOut: [], aCall: [], bIn: ["Go"], bOut: ["It is her."] })
      assert.strictEqual(AgentState.text(state), "It is her.")
      assert.deepStrictEqual(
        ofTag(events, "GuardrailSettled").map(({ guardrail, path, stage }) =>
          `${path.join("/")} ${stage} ${guardrail}`
        ),
        ["a input without nothing", "b input without bad", "b output no Ada", "b output without bad"]
      )
    }))

  it.effect("reads what its guardrails put in the place of the user's words, also where those were sent before", () =>
    Effect.gen(function*() {
      const strict = Agent.make("b", { guardrails: { input: [made("Ada", "her")] } })
      const a = Agent.make("a", { handoffs: [Handoff.to(strict)] })
      const { state } = yield* ran(Agent.run(a, "Ask Ada"))
      assert.deepStrictEqual(turns(state)[0], "User: Ask her")
      assert.strictEqual(state.initialQuery, "Ask her")
      assert.deepStrictEqual((yield* sent).map(([first]) => first), ["user: Ask Ada", "user: Ask her"])
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["Here I am."] }))))

  it.effect("fails the run where its guardrails block those words", () =>
    Effect.gen(function*() {
      const strict = Agent.make("b", { guardrails: { input: [without("bad")] } })
      const a = Agent.make("a", { handoffs: [Handoff.to(strict)] })
      const { error, state } = yield* ran(Agent.run(a, "bad words"))
      assert.isTrue(error?.reason._tag === "GuardrailBlocked" && error.reason.agent === "b")
      assert.strictEqual(state.agent, "b")
      assert.deepStrictEqual(turns(state)[0], "User: (This was blocked and isn't shown.)")
      const again = yield* ran(Agent.resume(a, AgentState.reopen(throughText(state))))
      assert.deepStrictEqual(again.error?.reason, error?.reason)
      assert.deepStrictEqual(again.state, state)
    }).pipe(Effect.provide(models({ a: [handTo("b")] }))))

  it.effect("looks at what its run answers, and not at earlier runs of others", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const strict = Agent.make("b", { guardrails: { input: [without("bad", asked)] } })
      const a = Agent.make("a", { handoffs: [Handoff.to(strict)] })
      const first = yield* Agent.run(a, "bad weather")
      const second = yield* Agent.continueConversation(a, first, "Networks?")
      assert.deepStrictEqual(asked, ["Networks?"])
      assert.strictEqual(second.agent, "b")
      yield* Agent.continueConversation(a, second, "And training?")
      assert.deepStrictEqual(asked, ["Networks?", "And training?"])
      const back = yield* Agent.continueConversation(a, second, "Weather?", { control: "first" })
      assert.strictEqual(back.agent, "a")
      assert.deepStrictEqual(asked, ["Networks?", "And training?"])
    }).pipe(
      Effect.provide(models({ a: ["It rains.", handTo("b"), "It rains."], b: ["They learn.", "It takes long."] }))
    ))

  it.effect("looks at all words that had waited behind an approval, once each", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const Sign = Tool.make("sign", { success: Schema.String, needsApproval: true })
      const Kit = Toolkit.make(Sign)
      const strict = Agent.make("b", { guardrails: { input: [without("bad", asked)] } })
      const own: Array<unknown> = []
      const a = Agent.make("a", {
        toolkit: Kit,
        handoffs: [Handoff.to(strict)],
        guardrails: { input: [without("bad", own)] }
      })
      yield* Effect.gen(function*() {
        const first = yield* Agent.run(a, "One")
        const second = yield* Agent.continueConversation(a, first, "Two")
        const approved = yield* Effect.fromResult(
          AgentState.approve(second, AgentState.pendingApprovals(second)[0]!.callId)
        )
        const last = yield* Agent.resume(a, throughText(approved))
        assert.strictEqual(last.agent, "b")
        // The second was looked at when it was said, and again by the process that went on.
        assert.deepStrictEqual(own, ["One", "Two", "Two"])
        assert.deepStrictEqual(asked, ["One", "Two"])
      }).pipe(Effect.provide([
        Kit.toLayer({ sign: () => Effect.succeed("signed") }),
        models({ a: [MockResponse.toolCall("sign", {}), handTo("b")], b: ["Here I am."] })
      ]))
    }))

  it.effect("looks at nothing where it is handed none of the user's words", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const strict = Agent.make("b", { guardrails: { input: [without("bad", asked)] } })
      const a = Agent.make("a", { handoffs: [Handoff.to(strict, { history: Handoff.none })] })
      const { state } = yield* ran(Agent.run(a, "bad words"))
      assert.deepStrictEqual(asked, [])
      assert.strictEqual(AgentState.text(state), "Here I am.")
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["Here I am."] }))))

  it.effect("that hands back is no reason to ask the first again, and one in between is asked itself", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const noting = (name: string) =>
        Guardrail.make(name, (text) => {
          asked.push(`${name}: ${text}`)
          return Guardrail.pass
        })
      const members = {
        a: Agent.make("a", { guardrails: { input: [noting("a")] } }),
        b: Agent.make("b", { guardrails: { input: [noting("b")] } })
      }
      const group = Group.make(members, { start: "a", policy: HandoffPolicy.sequential(["a", "b", "a"]) })
      const { state } = yield* ran(Agent.run(group, "Go"))
      assert.deepStrictEqual(state.trail, ["a", "b", "a"])
      assert.deepStrictEqual(asked, ["a: Go", "b: Go"])
    }).pipe(Effect.provide(models({ a: ["One.", "Three."], b: ["Two."] }))))
})

/** As the seed on handoffs has it: a lenient general agent, a strict technical one, and nothing inherited. */
describe("A lenient agent that hands over to a strict one", () => {
  const terms = Guardrail.make(
    "terms",
    (text) => /network|model|training/i.test(text) ? Guardrail.pass : Guardrail.block("has no technical term in it")
  )

  const technical = Agent.make("technical", {
    description: "Technical AI/ML questions",
    guardrails: {
      input: [Guardrail.length({ min: 1, max: 40 }), terms],
      output: [Guardrail.json(), Guardrail.tone({ allow: ["professional"] })]
    }
  })
  const general = Agent.make("general", {
    handoffs: [Handoff.to(technical, { reason: "Technical AI/ML questions" })],
    guardrails: { input: [Guardrail.length({ min: 1, max: 10_000 })] }
  })

  const ask = (input: string, answer: string) =>
    Agent.run(general, input).pipe(
      Effect.map((state) => `${state.agent}: ${AgentState.text(state)}`),
      Effect.catchReason("AgentError", "GuardrailBlocked", ({ agent, guardrail, stage }) =>
        Effect.succeed(`${agent} ${stage} ${guardrail}`)),
      Effect.provide(
        models({ general: [/weather/.test(input) ? "It's great, hey!" : handTo("technical")], technical: [answer] })
      )
    )

  it.effect("validates what it answers itself by its own guardrails, and leaves the rest to the other", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ask("How is the weather?", ""), "general: It's great, hey!")
      assert.strictEqual(
        yield* ask("How do neural networks work?", `{"answer":"Please see below."}`),
        `technical: {"answer":"Please see below."}`
      )
      assert.strictEqual(yield* ask("How does tea work?", "{}"), "technical input terms")
      assert.strictEqual(yield* ask("networks ".repeat(5), "{}"), "technical input length")
      assert.strictEqual(yield* ask("How do networks work?", "They learn."), "technical output json")
      assert.strictEqual(yield* ask("How do networks work?", `"Hey, cool!"`), "technical output tone")
      assert.strictEqual(yield* ask("networks ".repeat(1200), ""), "general input length")
    }))
})
