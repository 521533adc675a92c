/**
 * Every way to run an agent asks its guardrails, and tells the same of it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Guardrail, Handoff, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ran, streamed } from "./looking.ts"

const asked: Array<string> = []
const judge = Guardrail.make("judge", (text, { stage }) => {
  asked.push(`${stage} ${text}`)
  return text.includes("bad") ? Guardrail.block("it is bad") : Guardrail.replace(text.toUpperCase(), "small")
})
const agent = Agent.make("a", { guardrails: { input: [judge], output: [judge] } })
const from = AgentState.ask(AgentState.make("a"), "good", 0)
const echo = MockModel.layer(
  MockModel.make(({ lastUserText }) => lastUserText === "EVIL" ? "bad" : `re: ${lastUserText}`)
)

const inSession = (words: string) =>
  Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.call(words)))

type Way = (words: string) => Effect.Effect<AgentState.AgentState, unknown, Agent.Services<typeof agent>>

const ways: Readonly<Record<string, Way>> = {
  run: (words) => Agent.run(agent, words),
  settle: (words) => Agent.settle(agent, words),
  resume: (words) => Agent.resume(agent, AgentState.ask(AgentState.make("a"), words, 0)),
  step: (words) => Agent.step(agent, AgentState.ask(AgentState.make("a"), words, 0)),
  continueConversation: (words) => Agent.continueConversation(agent, AgentState.make("a"), words),
  runMultiTurn: (words) => Agent.runMultiTurn(agent, [words]),
  states: (words) => Effect.map(Stream.runCollect(Agent.states(agent, words)), (states) => states[states.length - 1]!),
  stream: (words) => Effect.map(streamed(Agent.stream(agent, words)), ({ state }) => state),
  "a session": inSession
}

describe("The guardrails of an agent", () => {
  for (const [name, way] of Object.entries(ways)) {
    it.effect(`are asked by ${name}`, () =>
      Effect.gen(function*() {
        asked.length = 0
        const state = yield* way("good")
        assert.deepStrictEqual(asked, ["input good", "output re: GOOD"])
        assert.strictEqual(AgentState.text(state), "RE: GOOD")
        for (const words of ["bad", "evil"]) {
          asked.length = 0
          const last = yield* Effect.exit(way(words))
          assert.deepStrictEqual(asked, words === "bad" ? ["input bad"] : ["input evil", "output bad"])
          if (last._tag === "Success") assert.strictEqual(last.value.status._tag, "Failed")
        }
      }).pipe(Effect.provide(echo)))
  }

  it.effect("are asked in each turn of several", () =>
    Effect.gen(function*() {
      asked.length = 0
      const state = yield* Agent.runMultiTurn(agent, ["one", "two"])
      assert.deepStrictEqual(asked, ["input one", "output re: ONE", "input two", "output re: TWO"])
      assert.strictEqual(state.conversation.turns.length, 4)
    }).pipe(Effect.provide(echo)))

  it.effect("aren't asked of a state that has ended", () =>
    Effect.gen(function*() {
      const state = yield* Agent.resume(agent, from)
      asked.length = 0
      assert.strictEqual(yield* Agent.step(agent, state), state)
      yield* Agent.resume(agent, state)
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(echo)))
})

describe("What a run tells", () => {
  const Look = Tool.make("look", { success: Schema.String })
  const Kit = Toolkit.make(Look)
  const passing = Guardrail.make("passing", () => Guardrail.pass)
  const other = Agent.make("other", { guardrails: { input: [passing], output: [passing] } })
  const first = Agent.make("first", {
    toolkit: Kit,
    handoffs: [Handoff.to(other)],
    guardrails: { input: [passing], toolCall: [passing], toolResult: [passing], handoff: [passing] }
  })

  it.effect("begins before the first guardrail and ends after the last, those of who took over too", () =>
    Effect.gen(function*() {
      const { events } = yield* ran(Agent.run(first, "Go"))
      const order = events.map((event) =>
        `${event.path.join("/")} ${event._tag === "GuardrailSettled" ? event.stage : event._tag}`
      ).filter((line) => !/Started$|Completed$/.test(line) || /Run|Step/.test(line))
      assert.deepStrictEqual(order, [
        "first RunStarted",
        "first StepStarted",
        "first input",
        "first toolCall",
        "first ModelResponded",
        "first toolResult",
        "first ToolCallSettled",
        "first StepCompleted",
        "first StepStarted",
        "first handoff",
        "first ModelResponded",
        "first HandoffRequested",
        "first StepCompleted",
        "other StepStarted",
        "other input",
        "other output",
        "other ModelResponded",
        "other StepCompleted",
        "other RunCompleted"
      ])
    }).pipe(Effect.provide([
      Kit.toLayer({ look: () => Effect.succeed("seen") }),
      MockModel.layer(MockModel.byAgent({
        first: MockModel.queue(MockResponse.toolCall("look", {}), MockResponse.toolCall("handoff_to_other", {})),
        other: MockModel.queue("Here I am.")
      }))
    ])))

  it.effect("ends as a failed run where an input is blocked", () =>
    Effect.gen(function*() {
      const { events } = yield* ran(Agent.run(agent, "bad"))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "RunStarted",
        "StepStarted",
        "GuardrailStarted",
        "GuardrailSettled",
        "StepCompleted",
        "RunFailed"
      ])
    }).pipe(Effect.provide(echo)))
})
