/**
 * What stands in an answer beside the value that its schema reads: guardrails judge the value, so nothing else is kept, sent or shown.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, type Response, Tool, Toolkit } from "effect/ai"
import { Agent, type AgentEvent, AgentState, Guardrail, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { model, sent, streamed, turns } from "./looking.ts"

const secret = "swordfish"
const masking = Guardrail.make(
  "masking",
  (text) => text.includes(secret) ? Guardrail.replace(text.replaceAll(secret, "fish"), "a word") : Guardrail.pass
)
const blocking = Guardrail.make(
  "blocking",
  (text) => text.includes(secret) ? Guardrail.block("a word") : Guardrail.pass
)
const Answer = Schema.Struct({ name: Schema.String })
const agentOf = (guardrail: typeof masking, releaseEarly = false) =>
  Agent.make("a", { output: Answer, guardrails: { output: [guardrail], releaseEarly } })
const answer = (params: unknown, id?: string) =>
  MockResponse.toolCall("final_answer", params, id === undefined ? {} : { id })
const notAccepted = `Failed "This answer wasn't accepted."`

/** What a stream showed of parameters, by their call. */
const params = (events: ReadonlyArray<AgentEvent.AgentEvent>): Record<string, string> => {
  const all: Record<string, string> = {}
  for (const { callId, delta } of ofTag(events, "ToolParamsDelta")) all[callId] = (all[callId] ?? "") + delta
  return all
}

/** A model whose only answer has a key twice in the pieces of its call; the call itself has it once. */
const twice = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: () => Effect.die("not asked"),
    streamText: () =>
      Stream.fromIterable<Response.StreamPartEncoded>([
        { type: "tool-params-start", id: "x", name: "final_answer" },
        { type: "tool-params-delta", id: "x", delta: `{"name":"${secret}",` },
        { type: "tool-params-delta", id: "x", delta: `"name":"Bob"}` },
        { type: "tool-params-end", id: "x" },
        { type: "tool-call", id: "x", name: "final_answer", params: { name: "Bob" } },
        {
          type: "finish",
          reason: "tool-calls",
          usage: {
            inputTokens: { total: 1, uncached: undefined, cacheRead: undefined, cacheWrite: undefined },
            outputTokens: { total: 1, text: undefined, reasoning: undefined }
          },
          response: undefined
        }
      ])
  })
)

/** Streams an agent's run to its end, and gives all that it left in texts. */
const everything = (agent: ReturnType<typeof agentOf>, ...responses: ReadonlyArray<MockResponse.Input>) =>
  Effect.gen(function*() {
    const { events, state } = yield* streamed(Agent.stream(agent, "Who?"))
    const requests = (yield* MockModel.calls).map(({ request }) => request.messages)
    const output = AgentState.output(agent)(state)
    return { events, state, output, all: JSON.stringify([events, state, requests]) }
  }).pipe(Effect.provide(model(...responses.map((response) => MockResponse.chunked(response, 3)))))

describe("Of several answers in one", () => {
  it.effect("the first that fits is judged, and no other is kept or shown", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [ReadonlyArray<unknown>, ReadonlyArray<string>, string]> = [
        [
          ["Bob", secret],
          [`final_answer({"name":"Bob"}) Succeeded "Accepted."`, `final_answer({}) ${notAccepted}`],
          "Bob"
        ],
        [
          [secret, "Bob"],
          [`final_answer({"name":"fish"}) Succeeded "Accepted."`, `final_answer({}) ${notAccepted}`],
          "fish"
        ],
        [
          [1, secret],
          [`final_answer({}) ${notAccepted}`, `final_answer({"name":"fish"}) Succeeded "Accepted."`],
          "fish"
        ],
        [[{ [secret]: 1 }, "Bob"], [
          `final_answer({}) ${notAccepted}`,
          `final_answer({"name":"Bob"}) Succeeded "Accepted."`
        ], "Bob"]
      ]
      for (const [names, calls, name] of cases) {
        const given = MockResponse.all(...names.map((name, at) => answer({ name }, `call ${at}`)))
        const { all, events, output, state } = yield* everything(agentOf(masking), given)
        assert.deepStrictEqual(turns(state).slice(1), [`a: ${calls.join(" | ")}`])
        assert.deepStrictEqual(yield* Effect.fromResult(output), { name })
        assert.deepStrictEqual(Object.values(params(events)), [JSON.stringify({ name })])
        assert.notInclude(all, secret)
      }
    }))

  it.effect("what was shown early of the others is taken back", () =>
    Effect.gen(function*() {
      const given = MockResponse.all(answer({ name: "Bob" }), answer({ name: secret }))
      const { events, state } = yield* everything(agentOf(masking, true), given)
      assert.deepStrictEqual(ofTag(events, "TextWithdrawn").length, 1)
      assert.notInclude(JSON.stringify(state), secret)
    }))

  it.effect("all go back where none fits, without what guardrails refuse of any", () =>
    Effect.gen(function*() {
      const given = MockResponse.all(answer({ name: 1 }), answer({ name: { [secret]: 2 } }))
      const masked = yield* everything(agentOf(masking), given, answer({ name: "Bob" }))
      assert.match(
        turns(masked.state)[1] ?? "",
        /^a: final_answer\(\{"name":1\}\) .* \| final_answer\(\{"name":\{"fish":2\}\}\) /
      )
      assert.notInclude(masked.all, secret)
      const blocked = yield* everything(agentOf(blocking), given, answer({ name: "Bob" }))
      assert.deepStrictEqual(turns(blocked.state).slice(1, 2), [
        `a: final_answer({}) ${notAccepted} | final_answer({}) ${notAccepted}`
      ])
      assert.deepStrictEqual(yield* Effect.fromResult(blocked.output), { name: "Bob" })
      assert.notInclude(blocked.all, secret)
    }))

  it.effect("none is kept where the first that fits is refused", () =>
    Effect.gen(function*() {
      const again = Guardrail.make("again", (text) => text === "Ada" ? Guardrail.retry("Another.") : Guardrail.pass)
      const given = MockResponse.all(answer({ name: "Ada" }), answer({ name: secret }))
      const { all, state } = yield* everything(agentOf(again), given, answer({ name: "Bob" }))
      assert.deepStrictEqual(turns(state).slice(1, 2), [
        `a: final_answer({}) ${notAccepted} | final_answer({}) ${notAccepted}`
      ])
      assert.notInclude(all, secret)
    }))
})

describe("What a schema doesn't read", () => {
  it.effect("is left out of an answer by a call, whatever it is shown as", () =>
    Effect.gen(function*() {
      for (const early of [false, true]) {
        const { all, events, state } = yield* everything(
          agentOf(masking, early),
          answer({ name: "Bob", more: secret, [secret]: 1 })
        )
        assert.deepStrictEqual(turns(state).slice(1), [`a: final_answer({"name":"Bob"}) Succeeded "Accepted."`])
        assert.deepStrictEqual(ofTag(events, "TextWithdrawn").length, early ? 1 : 0)
        if (!early) assert.notInclude(all, secret)
      }
    }))

  it.effect("is left out of an answer in text: keys that aren't declared, and keys that come twice", () =>
    Effect.gen(function*() {
      for (
        const text of [
          `{"name":"Bob","more":"${secret}"}`,
          `{ "${secret}": null, "name": "Bob" }`,
          `{"name":"${secret}","name":"Bob"}`
        ]
      ) {
        const { all, events, state } = yield* everything(agentOf(masking), text)
        assert.deepStrictEqual(turns(state).slice(1), [`a: {"name":"Bob"}`])
        assert.deepStrictEqual(ofTag(events, "TextDelta").map(({ delta }) => delta).join(""), `{"name":"Bob"}`)
        assert.notInclude(all, secret)
      }
    }))

  it.effect("is left out of an answer in text beside calls", () =>
    Effect.gen(function*() {
      const Look = Tool.make("look", { success: Schema.String })
      const Kit = Toolkit.make(Look)
      const agent = Agent.make("a", {
        toolkit: Kit,
        output: Answer,
        stopWhen: StopWhen.maxSteps(2),
        guardrails: { output: [masking] }
      })
      const { events, state } = yield* streamed(Agent.stream(agent, "Who?"))
      assert.deepStrictEqual(turns(state).slice(1, 2), [`a: {"name":"Bob"} | look({}) Succeeded "seen"`])
      assert.notInclude(JSON.stringify([events, state, yield* sent]), secret)
    }).pipe(Effect.provide([
      Toolkit.make(Tool.make("look", { success: Schema.String })).toLayer({ look: () => Effect.succeed("seen") }),
      model(
        MockResponse.all(`{"name":"Bob","more":"${secret}"}`, MockResponse.toolCall("look", {})),
        answer({ name: "Bob" })
      )
    ])))

  it.effect("is left out of the pieces of a call: a key may come twice in them", () =>
    Effect.gen(function*() {
      const { events, state } = yield* streamed(Agent.stream(agentOf(masking), "Who?"))
      assert.deepStrictEqual(params(events), { x: `{"name":"Bob"}` })
      assert.notInclude(JSON.stringify([events, state]), secret)
    }).pipe(Effect.provide(twice)))

  it.effect("is nothing where the answer is as its schema writes it: white space doesn't count", () =>
    Effect.gen(function*() {
      const text = `{ "name": "A \\"quoted  word\\"." }\n`
      const early = yield* everything(agentOf(masking, true), text)
      assert.deepStrictEqual(ofTag(early.events, "TextWithdrawn"), [])
      assert.deepStrictEqual(turns(early.state).slice(1), [`a: ${text}`])
      const called = yield* everything(agentOf(masking, true), answer({ name: "Bob" }))
      assert.deepStrictEqual(ofTag(called.events, "TextWithdrawn"), [])
    }))
})

describe("An answer that fits only by what guardrails replaced", () => {
  const Short = Schema.Struct({ name: Schema.String.check(Schema.isMaxLength(4)) })
  const agentOf = (releaseEarly: boolean) =>
    Agent.make("a", { output: Short, guardrails: { output: [masking], releaseEarly } })

  it.effect("is one, whether by a call or as text", () =>
    Effect.gen(function*() {
      const inText = [`{"name":"${secret}"}`, `{"name":"${secret}","more":"${secret}"}`]
      for (const given of [answer({ name: secret }), answer({ name: secret, more: secret }), ...inText]) {
        const { all, output, state } = yield* everything(agentOf(false), given)
        assert.deepStrictEqual(yield* Effect.fromResult(output), { name: "fish" })
        assert.strictEqual(state.run.corrections, 0)
        assert.notInclude(all, secret)
        assert.notInclude(JSON.stringify(state), "more")
      }
    }))
  it.effect("takes back once what was shown early of it", () =>
    Effect.gen(function*() {
      for (const given of [answer({ name: secret }), `{"name":"${secret}"}`]) {
        const { events } = yield* everything(agentOf(true), given)
        assert.deepStrictEqual(ofTag(events, "TextWithdrawn").length, 1)
        const shown = events.slice(events.findIndex(({ _tag }) => _tag === "TextWithdrawn"))
        assert.include(JSON.stringify(shown), "fish")
        assert.notInclude(JSON.stringify(shown), secret)
      }
    }))
})
