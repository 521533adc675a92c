/**
 * Texts that match a pattern.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type { Guardrail } from "../../definition/guardrail/GuardrailType.ts"
import { block, pass } from "../../definition/guardrail/Verdict.ts"
import { oneOf, optionOf } from "../InvalidOption.ts"
import { make } from "../MakeGuardrail.ts"

/**
 * Blocks a text in which a pattern isn't found, or with `match: "forbidden"` one in which it is.
 *
 * The pattern may match anywhere: anchor it by `^` and `$` for the whole text. Each text is searched from its beginning, also with flag
 * `g`; with flag `y` the pattern must match there. `reason` says what is wrong in words; by default it quotes the pattern. `name` is
 * `"regex"` by default. A pattern whose repetitions can match the same text in many ways takes very long on some texts. The built-in
 * guardrails have no such pattern, but yours isn't checked.
 *
 * Throws `InvalidOption` if `pattern` isn't a pattern, or `match` is another word, and `InvalidName` if `name` is empty.
 *
 * @category built-in
 * @since 0.1.0
 */
export const regex = (
  pattern: RegExp,
  options?: {
    readonly match?: "required" | "forbidden" | undefined
    readonly reason?: string | undefined
    readonly name?: string | undefined
  }
): Guardrail => {
  optionOf("regex", "pattern", pattern, Predicate.isRegExp, "a pattern")
  const isRequired = oneOf("regex", "match", options?.match ?? "required", ["required", "forbidden"]) === "required"
  const reason = options?.reason ?? (isRequired ? `doesn't match ${pattern}` : `matches ${pattern}`)
  return make(options?.name ?? "regex", (text) => text.search(pattern) >= 0 === isRequired ? pass : block(reason))
}
