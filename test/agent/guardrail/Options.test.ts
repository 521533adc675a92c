/**
 * Options that make no sense: they are refused where a guardrail is made, and never make one that lets everything pass.
 */
import { assert, describe, it } from "@effect/vitest"
import { Guardrail } from "troupe"

/** Options as untyped code gives them, with what is said of them. */
const refused: ReadonlyArray<readonly [make: () => unknown, message: string]> = [
  [
    () => Guardrail.pii({ action: "maskk" as "mask" }),
    `"action" of the guardrail "pii" is "maskk", not one of "block", "mask", "warn"`
  ],
  [
    () => Guardrail.secrets({ action: null as never }),
    `"action" of the guardrail "secrets" is null, not one of "block", "mask", "warn"`
  ],
  [
    () => Guardrail.profanity({ words: ["darn"], action: "" as "mask" }),
    `"action" of the guardrail "profanity" is "", not one of "block", "mask", "warn"`
  ],
  [
    () => Guardrail.pii({ kinds: ["card", "emial" as "email"] }),
    `"kinds" of the guardrail "pii" is "emial", not one of "email", "iban", "ip", "card", "ssn", "phone"`
  ],
  [() => Guardrail.pii({ kinds: "card" as never }), `"kinds" of the guardrail "pii" is "card", not a list`],
  [() => Guardrail.pii({ kinds: [] }), `"kinds" of the guardrail "pii" is empty, not a list with at least one member`],
  [() => Guardrail.pii({ kinds: [undefined] as never }), `"kinds" of the guardrail "pii" is undefined, not one of`],
  [
    () => Guardrail.secrets({ kinds: ["githup" as "github"] }),
    `"kinds" of the guardrail "secrets" is "githup", not one of`
  ],
  [
    () => Guardrail.secrets({ kinds: [] }),
    `"kinds" of the guardrail "secrets" is empty, not a list with at least one member`
  ],
  [
    () => Guardrail.promptInjection({ threshold: "hgih" as "high" }),
    `"threshold" of the guardrail "promptInjection" is "hgih", not one of "low", "medium", "high"`
  ],
  [
    () => Guardrail.promptInjection({ categories: ["overide" as "override"] }),
    `"categories" of the guardrail "promptInjection" is "overide", not one of "override", "role"`
  ],
  [() => Guardrail.profanity({ words: [] }), `"words" of the guardrail "profanity" is empty`],
  [() => Guardrail.profanity({ words: "darn" }), `"words" of the guardrail "profanity" is "darn", not a list`],
  ...["", " ", "\n", "*", "**", "\u200b", "\u0301"].map((word) =>
    [
      () => Guardrail.profanity({ words: ["darn", word] }),
      `"words" of the guardrail "profanity" is ${
        JSON.stringify(word)
      }, not words that each have a letter, a digit or a sign`
    ] as const
  ),
  [() => Guardrail.profanity({ words: [undefined as never] }), `"words" of the guardrail "profanity" is undefined`],
  [
    () => Guardrail.topic({ deny: { health: [""] } }),
    `"deny.health" of the guardrail "topic" is "", not words that each have`
  ],
  [
    () => Guardrail.topic({ allow: { health: "pills" as never } }),
    `"allow.health" of the guardrail "topic" is "pills", not a list`
  ],
  [() => Guardrail.topic({}), `"deny" of the guardrail "topic" is undefined, not a record of topics`],
  [
    () => Guardrail.tone({ allow: ["profesional" as "professional"] }),
    `"allow" of the guardrail "tone" is "profesional", not one of`
  ],
  [() => Guardrail.tone({ allow: "formal" as never }), `"allow" of the guardrail "tone" is "formal", not a list`],
  [() => Guardrail.length({ max: Number.NaN }), `"max" of the guardrail "length" is NaN, not a whole number from 0 on`],
  [
    () => Guardrail.length({ max: "10" as never }),
    `"max" of the guardrail "length" is "10", not a whole number from 0 on`
  ],
  [() => Guardrail.length({ min: -1 }), `"min" of the guardrail "length" is -1, not a whole number from 0 on`],
  [() => Guardrail.maxToolCalls(Number.NaN), `"limit" of the guardrail "maxToolCalls" is NaN, not a whole number`],
  [() => Guardrail.maxToolCalls(1.5), `"limit" of the guardrail "maxToolCalls" is 1.5, not a whole number`],
  [() => Guardrail.noRepeat(0), `"times" of the guardrail "noRepeat" is 0, not a whole number from 1 on`],
  [() => Guardrail.toolAllowList("search"), `"names" of the guardrail "toolAllowList" is "search", not a list`],
  [() => Guardrail.regex("a" as never), `"pattern" of the guardrail "regex" is "a", not a pattern`],
  [
    () => Guardrail.regex(/a/, { match: "forbiden" as "forbidden" }),
    `"match" of the guardrail "regex" is "forbiden", not one of "required", "forbidden"`
  ],
  [
    () => Guardrail.judge("It is kind.", { threshold: Number.NaN }),
    `"threshold" of the guardrail "judge" is NaN, not a number from 0 to 1`
  ],
  [() => Guardrail.judge(" "), `"criteria" of the guardrail "judge" is " ", not a text`],
  [() => Guardrail.safety({ threshold: 80 }), `"threshold" of the guardrail "safety" is 80, not a number from 0 to 1`],
  [
    () => Guardrail.safety({ by: "decision" as "decisionModel" }),
    `"by" of the guardrail "safety" is "decision", not one of "languageModel", "decisionModel"`
  ],
  [
    () => Guardrail.make("mine", () => Guardrail.pass, { on: "inputs" as "text" }),
    `"on" of the guardrail "mine" is "inputs", not one of "text", "input", "output", "toolCall", "toolResult", "handoff"`
  ],
  [
    () => Guardrail.make("mine", () => Guardrail.pass, { mode: "paralel" as "parallel" }),
    `"mode" of the guardrail "mine" is "paralel", not one of "blocking", "parallel"`
  ],
  [
    () => Guardrail.make("mine", () => Guardrail.pass, { onError: "allow" as "pass" }),
    `"onError" of the guardrail "mine" is "allow", not one of "block", "pass"`
  ],
  ...[Number.NaN, -1, 0, "soon", "0 seconds"].map((timeout) =>
    [
      () => Guardrail.make("mine", () => Guardrail.pass, { timeout: timeout as number }),
      `"timeout" of the guardrail "mine" is ${JSON.stringify(timeout)?.replace("null", "NaN")}, not a duration above 0`
    ] as const
  ),
  [() => Guardrail.make("mine", undefined as never), `"check" of the guardrail "mine" is undefined, not a function`]
]

describe("An option that makes no sense", () => {
  for (const [make, message] of refused) {
    it(`is refused where the guardrail is made: ${message}`, () => {
      try {
        make()
      } catch (error) {
        assert.instanceOf(error, Guardrail.InvalidOption)
        assert.isTrue((error as Error).message.startsWith(message), (error as Error).message)
        return
      }
      assert.fail("It was made.")
    })
  }

  it("is told from one that does", () => {
    Guardrail.pii({ kinds: new Set(["card"] as const) as never, action: "warn" })
    Guardrail.profanity({ words: new Set(["darn", "d*", "🖕", "at&t"]) })
    Guardrail.tone({ allow: [] })
    Guardrail.toolAllowList([])
    Guardrail.judge("It is kind.", { threshold: 0, by: "decisionModel" })
    Guardrail.make("mine", () => Guardrail.pass, {
      timeout: "1 second",
      mode: undefined,
      onError: undefined,
      on: undefined
    })
  })
})
