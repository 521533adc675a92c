import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Agent, AgentState, Guardrail, Handoff } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { blocks, passes, verdictOf } from "./verdicts.ts"

describe("A length", () => {
  it("is counted in code points, both limits included", () => {
    passes(Guardrail.length({ min: 2, max: 3 }), "ab", "abc", "😀😀", "😀😀😀", "日本")
    blocks(Guardrail.length({ min: 2, max: 3 }), {
      "": "has 0 characters, fewer than 2",
      "😀": "has 1 characters, fewer than 2",
      abcd: "has more than 3 characters",
      "😀😀😀😀": "has more than 3 characters",
      abcdefg: "has more than 3 characters"
    })
  })

  it("counts an emoji of several code points as several", () => {
    passes(Guardrail.length({ max: 1 }), "😀")
    for (const emoji of ["❤️", "🇩🇪", "👍🏽"]) {
      blocks(Guardrail.length({ max: 1 }), { [emoji]: "has more than 1 characters" })
      passes(Guardrail.length({ min: 2, max: 2 }), emoji)
    }
  })

  it("may have one limit", () => {
    passes(Guardrail.length({ min: 1 }), "a".repeat(100_000))
    passes(Guardrail.length({ max: 0 }), "")
    blocks(Guardrail.length({ max: 0 }), { a: "has more than 0 characters" })
  })

  it("has limits that can be", () => {
    for (const options of [{}, { min: -1 }, { max: 1.5 }, { min: Number.NaN }, { max: Infinity }, { min: 2, max: 1 }]) {
      assert.throws(() => Guardrail.length(options), Guardrail.InvalidOption)
    }
    assert.throws(
      () => Guardrail.length({ min: 2, max: 1 }),
      "\"max\" of the guardrail \"length\" is 1, not at least \"min\", 2"
    )
  })
})

describe("A pattern", () => {
  it("must be found, anywhere unless it is anchored", () => {
    passes(Guardrail.regex(/\d{3}/), "a123b", "1234")
    passes(Guardrail.regex(/^\d{3}$/), "123")
    blocks(Guardrail.regex(/^\d{3}$/), { 1234: String.raw`doesn't match /^\d{3}$/` })
  })

  it("may be forbidden, with a reason and a name of its own", () => {
    const self = Guardrail.regex(/internal/i, { match: "forbidden", reason: "is for us alone", name: "internal" })
    assert.strictEqual(self.name, "internal")
    passes(self, "external")
    blocks(self, { "INTERNAL note": "is for us alone" })
    blocks(Guardrail.regex(/x/, { match: "forbidden" }), { x: "matches /x/" })
  })

  it("is asked anew for each text, whatever its flags", () => {
    const pattern = /a/g
    pattern.lastIndex = 1
    passes(Guardrail.regex(pattern), "a", "a", "ba", "a")
    assert.strictEqual(pattern.lastIndex, 1)
    blocks(Guardrail.regex(/a/y), { ba: "doesn't match /a/y" })
  })
})

describe("JSON", () => {
  it("is any value as RFC 8259 has it", () => {
    passes(Guardrail.json(), "{}", " [1, 2]\n", "null", "\"a\"", "-1.5e3", "true", `{"a":{"b":[]}}`)
    for (
      const text of ["", "{a: 1}", "[1,]", "'a'", "NaN", "undefined", "{} {}", "```json\n{}\n```", "01", "{\"a\":1"]
    ) {
      assert.deepStrictEqual([text, verdictOf(Guardrail.json(), text)], [text, { _tag: "Block", reason: "isn't JSON" }])
    }
  })

  it("may have to fit a schema, whole and in its types", () => {
    const self = Guardrail.json(Schema.Struct({ name: Schema.String, age: Schema.FiniteFromString }))
    passes(self, `{ "name": "Ada", "age": "36", "more": 1 }`)
    blocks(self, {
      "{": "isn't JSON",
      "[]": "doesn't fit the schema: Expected object",
      [`{ "name": "Ada" }`]: "doesn't fit the schema: Missing key\n  at [\"age\"]",
      [`{ "name": 1, "age": "36" }`]: "doesn't fit the schema: Expected string\n  at [\"name\"]"
    })
  })
})

/** The guardrails of the seeds' specialists: a length, JSON, a tone, and one of the users' own. */
describe("The guardrails of a specialist", () => {
  const technicalTerms = Guardrail.make(
    "technicalTerms",
    (text) =>
      /\b(?:network|model|training|gradient)s?\b/i.test(text)
        ? Guardrail.pass
        : Guardrail.block("has no technical term in it")
  )

  const specialist = Agent.make("specialist", {
    guardrails: {
      input: [Guardrail.length({ min: 1, max: 5000 }), technicalTerms],
      output: [Guardrail.json(), Guardrail.tone({ allow: ["professional"] })]
    }
  })

  const ask = (input: string, answer: string) =>
    Agent.run(specialist, input).pipe(
      Effect.map(AgentState.text),
      Effect.catchReason("AgentError", "GuardrailBlocked", ({ guardrail, reason, stage }) =>
        Effect.succeed(`${stage} ${guardrail}: ${reason}`)),
      Effect.provide(MockModel.layer(MockModel.queue(answer)))
    )

  it.effect("pass what fits them, and name themselves where it doesn't", () =>
    Effect.gen(function*() {
      const question = "Explain how neural networks work"
      assert.strictEqual(yield* ask(question, `{ "text": "Please see below." }`), `{ "text": "Please see below." }`)
      assert.strictEqual(yield* ask("Explain tea", "{}"), "input technicalTerms: has no technical term in it")
      assert.strictEqual(yield* ask("model".repeat(1001), "{}"), "input length: has more than 5000 characters")
      assert.strictEqual(yield* ask(question, "They learn."), "output json: isn't JSON")
      assert.strictEqual(yield* ask(question, "\"Hey, cool!\""), "output tone: sounds casual, excited")
    }))

  it.effect("hold from the handoff on, and those of the agent before it don't", () =>
    Effect.gen(function*() {
      const general = Agent.make("general", {
        handoffs: [Handoff.to(specialist)],
        guardrails: { input: [Guardrail.length({ min: 1, max: 10_000 })], output: [Guardrail.length({ max: 2 })] }
      })
      const ask = (input: string) =>
        Agent.run(general, input).pipe(
          Effect.map((state) => `${state.agent}: ${AgentState.text(state)}`),
          Effect.catchReason(
            "AgentError",
            "GuardrailBlocked",
            ({ agent, guardrail, stage }) => Effect.succeed(`${agent} ${stage} ${guardrail}`)
          ),
          Effect.provide(MockModel.layer(MockModel.queue(
            MockResponse.toolCall("handoff_to_specialist", {}),
            `{ "text": "Layers." }`
          )))
        )
      assert.strictEqual(yield* ask("Explain how neural networks work"), `specialist: { "text": "Layers." }`)
      assert.strictEqual(yield* ask("Explain tea"), "specialist input technicalTerms")
      assert.strictEqual(yield* ask("model".repeat(1001)), "specialist input length")
      assert.strictEqual(yield* ask("model".repeat(2001)), "general input length")
    }))
})
