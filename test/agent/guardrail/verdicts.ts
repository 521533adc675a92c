import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Guardrail } from "troupe"
import { internalsOf } from "../../../src/agent/definition/guardrail/GuardrailType.ts"

/** What a guardrail says of a text, asked by itself. */
export const verdictOf = (self: Guardrail.Guardrail, text: string): Guardrail.Verdict<unknown> => {
  const verdict = internalsOf(self).judge(text as never, undefined as never)
  return Effect.isEffect(verdict) ? Effect.runSync(verdict as Effect.Effect<Guardrail.Verdict<unknown>>) : verdict
}

/** What a text is behind a guardrail that masks. */
export const masked = (self: Guardrail.Guardrail, text: string): string => {
  const verdict = verdictOf(self, text)
  return verdict._tag === "Replace" ? String(verdict.value) : text
}

export const passes = (self: Guardrail.Guardrail, ...texts: ReadonlyArray<string>): void => {
  for (const text of texts) assert.deepStrictEqual([text, verdictOf(self, text)], [text, { _tag: "Pass" }])
}

/** Texts that are blocked, each with the reason. */
export const blocks = (self: Guardrail.Guardrail, texts: Readonly<Record<string, string>>): void => {
  for (const [text, reason] of Object.entries(texts)) {
    assert.deepStrictEqual([text, verdictOf(self, text)], [text, { _tag: "Block", reason }])
  }
}

/** Letters and digits by chance, the same in each run. */
export const chance = (
  length: number,
  letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
  seed = 7
): string => {
  let state = seed + length
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return letters[Math.floor(state / 2 ** 32 * letters.length)]
  }).join("")
}
