import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { type LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentPicker, AgentState, Conversation, Group, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../agent/watch.ts"
import { checked, handTo, models, outcomes, read, requests, throughText } from "./scripted.ts"

describe("A conversation that changes hands", () => {
  it.effect("triages refunds", () =>
    Effect.gen(function*() {
      const Refunds = Toolkit.make(
        Tool.make("refund", { parameters: Schema.Struct({ order: Schema.FiniteFromString }), success: Schema.String })
      )
      const support = Agent.make("support", { description: "Answers general questions" })
      const sales = Agent.make("sales", { description: "Knows every product" })
      const refund = Agent.make("refund", { instructions: "Settle refunds.", toolkit: Refunds })
      const triage = Agent.make("triage", {
        instructions: "Hand off to the appropriate specialist.",
        handoffs: [
          Handoff.to(support, { reason: "General customer support questions" }),
          Handoff.to(sales, { reason: "Sales and product inquiries" }),
          Handoff.to(refund, { reason: "Refund and return requests" })
        ]
      })
      yield* Effect.gen(function*() {
        const { state } = yield* checked(Agent.run(triage, "I want a refund for my order #12345"), "triage")
        assert.deepStrictEqual([state.agent, AgentState.text(state)], ["refund", "Order 12345 is refunded."])
        assert.deepStrictEqual(state.logs, ["Agent \"triage\" handed over to \"refund\": Refund for order 12345"])
        assert.deepStrictEqual(outcomes(state.conversation), [["handoff_to_refund", "HandedOff"], [
          "refund",
          "Succeeded"
        ]])
        assert.deepStrictEqual((yield* requests).map(({ agent, toolNames }) => [agent, ...toolNames]), [
          ["triage", "handoff_to_support", "handoff_to_sales", "handoff_to_refund"],
          ["refund", "refund"],
          ["refund", "refund"]
        ])
      }).pipe(Effect.provide([
        models({
          triage: [handTo("refund", { reason: "Refund for order 12345" })],
          refund: [MockResponse.toolCall("refund", { order: "12345" }), "Order 12345 is refunded."]
        }),
        Refunds.toLayer({ refund: ({ order }) => Effect.succeed(`refunded ${order}`) })
      ]))
    }))

  it.effect("asks a math specialist", () =>
    Effect.gen(function*() {
      const math = Agent.make("math", { description: "Does sums", instructions: "You are a mathematician." })
      const general = Agent.make("general", {
        handoffs: [Handoff.to(math, { reason: "Mathematical questions requiring calculus or advanced math" })]
      })
      const { state } = yield* checked(
        Agent.run(general, "What is the integral of 2x + 5 from 0 to 10?", {
          systemMessage: "Hand mathematical questions off."
        }),
        AgentState.make("general", { systemMessage: "Hand mathematical questions off." })
      )
      assert.deepStrictEqual([state.agent, AgentState.text(state)], ["math", "150"])
      assert.deepStrictEqual((yield* requests).map(({ system }) => system), [
        "Hand mathematical questions off.",
        "You are a mathematician."
      ])
    }).pipe(Effect.provide(models({ general: [handTo("math", { reason: "an integral" })], math: ["150"] }))))

  it.effect("preserves its context over turns", () =>
    Effect.gen(function*() {
      const specialist = Agent.make("specialist")
      const general = Agent.make("general", {
        handoffs: [Handoff.to(specialist, { reason: "Quantum physics expertise", preserveContext: true })]
      })
      const first = yield* Agent.run(general, "I'm working on a quantum computing project")
      const { state } = yield* checked(
        Agent.continueConversation(general, throughText(first), "Can you explain quantum entanglement?"),
        first
      )
      assert.strictEqual(state.initialQuery, "I'm working on a quantum computing project")
      assert.deepStrictEqual(yield* read(2), [
        "user: I'm working on a quantum computing project",
        "assistant: How exciting!",
        "user: Can you explain quantum entanglement?",
        "assistant: tool-call",
        "tool: tool-result"
      ])
    }).pipe(Effect.provide(models({
      general: ["How exciting!", handTo("specialist")],
      specialist: ["Two particles, one state."]
    }))))

  it.effect("holds each agent to its own checks of length and of answers, and nobody else to them", () =>
    Effect.gen(function*() {
      const Answer = Schema.Struct({ explanation: Schema.String })
      const technical = Agent.make("technical", { maxInputLength: 10, output: Answer })
      const general = Agent.make("general", { maxInputLength: 10_000, handoffs: [Handoff.to(technical)] })
      const question = "Explain how neural networks work."
      const { state } = yield* checked(Agent.run(general, question), "general")
      assert.deepStrictEqual(state.trail, ["general", "technical"])
      assert.deepStrictEqual(AgentState.output(general, state), Result.succeed({ explanation: "Layers." }))
      assert.strictEqual(state.run.corrections, 1)
      const rejected = yield* Agent.settle(general, question, { state })
      assert.isTrue(rejected.status._tag === "Failed" && rejected.status.error.tag === "InputRejected")
      const strict = Agent.make("strict", { output: Answer, handoffs: [Handoff.to(Agent.make("general"))] })
      const { state: plain } = yield* checked(Agent.run(strict, question), "strict")
      assert.deepStrictEqual([plain.agent, AgentState.output(strict, plain)], [
        "general",
        Result.succeed("In plain words.")
      ])
    }).pipe(Effect.provide(models({
      general: [handTo("technical"), "In plain words."],
      technical: ["Layers.", "{\"explanation\":\"Layers.\"}"],
      strict: [handTo("general")]
    }))))

  it.effect("goes from researcher to writer to reviewer", () =>
    Effect.gen(function*() {
      const researcher = Agent.make("researcher")
      const writer = Agent.make("writer")
      const reviewer = Agent.make("reviewer")
      const newsroom = Group.make({ researcher, writer, reviewer }, {
        start: "researcher",
        policy: HandoffPolicy.sequential(["researcher", "writer", "reviewer"])
      })
      const { state } = yield* checked(Agent.run(newsroom, "Write an article about AI"), "researcher")
      assert.deepStrictEqual(state.trail, ["researcher", "writer", "reviewer"])
      assert.deepStrictEqual(
        state.conversation.turns.flatMap((turn) => turn._tag === "Feedback" ? [] : [Conversation.textOf(turn)]),
        ["Write an article about AI", "Research complete", "Article written", "Review complete"]
      )
    }).pipe(Effect.provide(models({
      researcher: ["Research complete"],
      writer: ["Article written"],
      reviewer: ["Review complete"]
    }))))

  const triage = Agent.make("triage", { instructions: "Triage." })
  const billing = Agent.make("billing", { instructions: "Bill." })
  const tech = Agent.make("tech", { instructions: "Repair." })
  const desk = { triage, billing, tech }

  it.effect("begins with the one that the words are for", () =>
    Effect.gen(function*() {
      const group = Group.make(desk, {
        start: AgentPicker.match([[/billing/i, "billing"], [/technical/i, "tech"]], "triage"),
        policy: HandoffPolicy.explicit("tech")
      })
      const answers: Array<string> = []
      for (const input of ["I have a billing question", "I have a technical issue", "Hello"]) {
        answers.push(AgentState.text(yield* Agent.run(group, input)))
      }
      assert.deepStrictEqual(answers, ["Billing help", "Technical help", "General help"])
    }).pipe(Effect.provide(models({ triage: ["General help"], billing: ["Billing help"], tech: ["Technical help"] }))))

  it.effect("mixes handoffs by a model with a sequence", () =>
    Effect.gen(function*() {
      const policy = HandoffPolicy.compose(
        HandoffPolicy.explicit("billing", { from: ["triage"] }),
        HandoffPolicy.sequential(["triage", "tech"])
      )
      const group = Group.make(desk, { start: "triage", policy })
      const trails: Array<ReadonlyArray<string>> = []
      for (const input of ["Help me", "Help me with money"]) trails.push((yield* Agent.run(group, input)).trail)
      assert.deepStrictEqual(trails, [["triage", "tech"], ["triage", "billing"]])
      assert.deepStrictEqual((yield* requests).map(({ toolNames }) => toolNames), [
        ["handoff_to_billing"],
        [],
        ["handoff_to_billing"],
        []
      ])
    }).pipe(
      Effect.provide(models({ triage: ["Triage response", handTo("billing")], tech: ["Fixed."], billing: ["Paid."] }))
    ))

  it.effect("gives each agent its own instructions as the only system message", () =>
    Effect.gen(function*() {
      const group = Group.make(desk, {
        start: "triage",
        policy: HandoffPolicy.explicitAll({ to_billing: "billing", to_tech: "tech", to_triage: "triage" })
      })
      yield* checked(Agent.run(group, "Hi"), "triage")
      const systems = (yield* requests).map(({ messages }) =>
        messages.flatMap((message) => message.role === "system" ? [message.content] : [])
      )
      assert.deepStrictEqual(systems, [["Triage."], ["Bill."], ["Repair."], ["Triage."]])
    }).pipe(Effect.provide(models({
      triage: [MockResponse.toolCall("to_billing", { reason: "money" }), "Bye."],
      billing: [MockResponse.toolCall("to_tech", {})],
      tech: [MockResponse.toolCall("to_triage", {})]
    }))))

  it.effect("is stopped by the limit where its policy would never end", () =>
    Effect.gen(function*() {
      const endless = HandoffPolicy.compose(
        HandoffPolicy.when(({ agent }) => agent !== "tech", "tech", { reason: "Infinite handoff test" }),
        HandoffPolicy.when(() => true, "billing")
      )
      const { state } = yield* checked(
        Agent.settle(Group.make(desk, { start: "billing", policy: endless }), "Hi"),
        "triage"
      )
      assert.strictEqual(state.status._tag === "Failed" && state.status.error.tag, "HandoffLimitReached")
      assert.strictEqual(state.steps, 11)
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(({ agent }) => `Response of ${agent}`)))))

  it.effect("hands over by a tool that only the group's policy offers, and the source says nothing after it", () =>
    Effect.gen(function*() {
      const group = Group.make(desk, { start: "triage", policy: HandoffPolicy.explicit("tech") })
      const { events, state } = yield* checked(Agent.run(group, "start"), "triage")
      assert.deepStrictEqual([state.agent, AgentState.text(state)], ["tech", "done"])
      assert.deepStrictEqual(ofTag(events, "HandoffCompleted").map(({ request }) => request.reason), ["escalate"])
      assert.deepStrictEqual((yield* requests).map(({ agent }) => agent), ["triage", "tech"])
    }).pipe(Effect.provide(models({ triage: [handTo("tech", { reason: "escalate" })], tech: ["done"] }))))
})

describe("A conversation of many agents", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"] as const
  const everybody = Object.fromEntries(names.map((name) => [name, Agent.make(name, { instructions: name })])) as {
    readonly [Name in typeof names[number]]: Agent.Agent<Name, string, never, LanguageModel.LanguageModel>
  }
  const talkative = MockModel.layer(MockModel.make(({ agent, callCount }) => `${agent} says ${callCount}`))

  it.effect("has each turn once, and each request one message more than the one before, and a note", () =>
    Effect.gen(function*() {
      const group = Group.make(everybody, { start: "a", policy: HandoffPolicy.sequential(names) })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual(state.trail, names)
      const said = state.conversation.turns.flatMap((turn) =>
        turn._tag === "Assistant" ? [Conversation.textOf(turn)] : []
      )
      assert.deepStrictEqual(said, names.map((name, index) => `${name} says ${index + 1}`))
      assert.strictEqual(Conversation.count(state.conversation), 1 + 11 + 10)
      assert.deepStrictEqual(
        (yield* requests).map(({ messages }) => messages.map(({ role }) => role).join()),
        names.map((_, index) => ["system", "user", ...Array(index).fill("assistant,user")].join())
      )
      assert.deepStrictEqual((yield* requests).map(({ system }) => system), [...names])
    }).pipe(Effect.provide(talkative)))

  it.effect("doesn't hand over again by a call of an earlier run", () =>
    Effect.gen(function*() {
      const { a, b } = everybody
      const group = Group.make({ a, b }, { start: "a", policy: HandoffPolicy.explicitAll({ go: "b", back: "a" }) })
      const first = yield* Agent.run(group, "1")
      const { events, state } = yield* checked(
        Agent.continueConversation(group, throughText(first), "2", { control: "first" }),
        first
      )
      assert.deepStrictEqual([first.trail.join(""), state.trail.join("")], ["ab", "aba"])
      assert.deepStrictEqual(ofTag(events, "HandoffRequested"), [])
    }).pipe(Effect.provide(models({ a: [MockResponse.toolCall("go", {}), "2!"], b: ["1!"] }))))

  it.effect("hands over where its agents' conversations are cut on the way", () =>
    Effect.gen(function*() {
      const c = Agent.make("c")
      const b = Agent.make("b", { handoffs: [Handoff.to(c, { history: Handoff.none })] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b, { history: Handoff.lastUser })] })
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual([state.trail.join(""), Conversation.count(state.conversation)], ["abc", 2])
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: [handTo("c")], c: ["Done."] }))))
})
