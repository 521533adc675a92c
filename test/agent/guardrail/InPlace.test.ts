/**
 * Inputs of several texts and files: what is found in them or across them is replaced where it stands.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Agent, AgentState, Conversation, Guardrail } from "troupe"
import { MockModel } from "troupe/testing"
import { judge } from "../../../src/agent/perform/guard/InPlace.ts"
import { assertLinear } from "../../growth.ts"
import { model, ran, said } from "./looking.ts"
import { chance, masked, passes, verdictOf } from "./verdicts.ts"

const { file, text } = Conversation
const dog = file("image/png", "ZG9n")
const cat = file("image/png", "Y2F0")
const pii = Guardrail.pii({ action: "mask" })
const secrets = Guardrail.secrets({ action: "mask" })
const key = `sk-ant-api03-${chance(80)}`

/** The parts that are left of an input, files as they are and texts as strings. */
const partsBehind = (guardrails: ReadonlyArray<Guardrail.Guardrail>, parts: ReadonlyArray<Conversation.UserPart>) =>
  Agent.run(Agent.make("a", { guardrails: { input: guardrails } }), parts).pipe(
    Effect.map(({ conversation: { turns: [turn] } }) =>
      turn?._tag === "User" ? turn.parts.map((part) => part._tag === "Text" ? part.text : part) : []
    ),
    Effect.provide(MockModel.layer(MockModel.make(() => "Fine.")))
  )

describe("An input of several parts", () => {
  it.effect("keeps its order: each text is masked in its own place", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* partsBehind([pii, secrets], [text("Mail ada@example.com."), dog, text("Or bob@example.com: 1"), cat]),
        ["Mail [redacted email].", dog, "Or [redacted email]: 1", cat]
      )
      assert.deepStrictEqual(
        yield* partsBehind([pii], [dog, text("a@b.co\nb\n"), text("Mail\nc"), cat, text("a@b.co"), text(" ")]),
        [dog, "[redacted email]\nb\n", "Mail\nc", cat, "[redacted email]", " "]
      )
    }))

  it.effect("hides nothing by standing next to something: each text begins and ends for itself", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* partsBehind([pii], [text("Order A"), dog, text("4111111111111111"), text("2, mail a@b.co"), text("m")]),
        ["Order A", dog, "[redacted card]", "2, mail [redacted email]", "m"]
      )
      const { error } = yield* ran(
        Agent.run(Agent.make("a", { guardrails: { input: [Guardrail.pii()] } }), [
          text("Order A"),
          dog,
          text("4111111111111111")
        ])
      ).pipe(Effect.provide(model()))
      assert.strictEqual(error?.reason._tag, "GuardrailBlocked")
    }))

  it.effect("hides nothing across texts: that goes to the first of them, and what is left stays in its own", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* partsBehind([secrets], [
          text(`My key is ${key.slice(0, 30)}`),
          dog,
          text(`${key.slice(30)}. What is it?`),
          cat
        ]),
        ["My key is [redacted anthropic secret]", dog, "[redacted token secret]. What is it?", cat]
      )
      assert.deepStrictEqual(
        yield* partsBehind([secrets], [
          text(`My key is ${key.slice(0, 70)}`),
          dog,
          text(`${key.slice(70)}. What is it?`)
        ]),
        ["My key is [redacted anthropic secret]", dog, ". What is it?"]
      )
      assert.deepStrictEqual(
        yield* partsBehind([secrets], [text(key.slice(0, 30)), dog, text(key.slice(30, 68)), cat, text(key.slice(68))]),
        ["[redacted anthropic secret]", dog, "[redacted token secret]", cat]
      )
      assert.deepStrictEqual(
        yield* partsBehind([pii], [
          text("Mail ada@exam"),
          dog,
          text("ple.com and bob@ex"),
          cat,
          text("ample.com, please, or c@d.co.")
        ]),
        ["Mail [redacted email]", dog, " and [redacted email]", cat, ", please, or [redacted email]."]
      )
    }))

  it.effect("loses a text only where that was emptied, and is an empty text where all of it was", () =>
    Effect.gen(function*() {
      const empty = Guardrail.make(
        "empty",
        (text) => text.includes("x") ? Guardrail.replace(text.replaceAll("x", ""), "an x") : Guardrail.pass
      )
      assert.deepStrictEqual(yield* partsBehind([empty], [text(""), text("x"), dog, text("ax")]), ["", dog, "a"])
      assert.deepStrictEqual(yield* partsBehind([empty], [text("x"), text("xx")]), [""])
      assert.deepStrictEqual(yield* partsBehind([empty], [dog, text("x")]), [dog])
    }))

  it.effect("keeps what else is said of a text", () =>
    Effect.gen(function*() {
      const metadata = { anthropic: { cacheControl: "ephemeral" } }
      const state = yield* Agent.run(Agent.make("a", { guardrails: { input: [pii] } }), [
        text("Hi", metadata),
        text("I am a@b.co", metadata)
      ]).pipe(Effect.provide(MockModel.layer(MockModel.queue("Fine."))))
      assert.deepStrictEqual(state.conversation.turns[0], {
        _tag: "User",
        parts: [text("Hi", metadata), text("I am [redacted email]", metadata)]
      })
      assert.strictEqual(AgentState.text(state), "Fine.")
    }))

  it.effect("isn't replaced by what is no input", () =>
    Effect.gen(function*() {
      for (const value of [undefined, "Hi", [{ _tag: "Text" }], [{ _tag: "Image" }], {}]) {
        const odd = Guardrail.make("odd", () => Guardrail.replace(value as never, "odd"), { on: "input" })
        const { events } = yield* ran(Agent.run(Agent.make("a", { guardrails: { input: [odd] } }), "Hi")).pipe(
          Effect.provide(model())
        )
        assert.deepStrictEqual(said(events), [
          "input: odd Block (its replacement doesn't fit: it isn't a list of texts and files)"
        ])
      }
    }))
})

const pieces = [
  "ada@example.com",
  "4111 1111 1111 1111",
  "8.8.8.8",
  " and ",
  "x",
  "\n",
  ". ",
  "Mail ",
  "1",
  "@",
  "Ä",
  "😀"
]
const Texts = Schema.Array(
  Schema.Array(Schema.Literals(pieces)).check(Schema.isMinLength(1), Schema.isMaxLength(6))
).check(Schema.isMaxLength(5))

/** What is left of texts that a guardrail which masks looks at. */
const behind = (self: Guardrail.Guardrail, texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const judged = judge(texts, (text) => verdictOf(self, text))
  // Long texts are judged in several turns of the event loop.
  const verdict = Effect.isEffect(judged) ? Effect.runSync(judged as Effect.Effect<Guardrail.Verdict<unknown>>) : judged
  return verdict._tag === "Replace" ? verdict.value as ReadonlyArray<string> : texts
}

describe("Texts that are looked at together", () => {
  it.prop("hold nothing any more that was found, in one of them or across", [Texts], ([given]) => {
    const texts = given.map((text) => text.join(""))
    const left = behind(pii, texts)
    passes(pii, left.join(""))
    if (texts.length > 1) passes(pii, ...left)
    assert.strictEqual(left.length, texts.length)
  }, { arbitrary: { runs: 300 } })

  it.prop("are masked each as it would be alone, where they don't touch", [Texts], ([given]) => {
    const texts = given.map((text) => `<p>${text.join("")}</p>`)
    if (texts.length > 0) assert.deepStrictEqual(behind(pii, texts), texts.map((text) => masked(pii, text)))
  }, { arbitrary: { runs: 300 } })

  it("take time as they are long, however many they are", () => {
    const of = (length: number) =>
      Array.from({ length }, (_, at) => `${at % 2 === 0 ? "" : ".com, "}mail ${at}@exam${at % 3 === 0 ? "ple" : ""}`)
    assert.deepStrictEqual(behind(pii, of(4000)).slice(0, 2), ["mail [redacted email]", ", mail 1@exam"])
    assertLinear(of, 250, (texts) => behind(pii, texts))
  })
})
