/**
 * How long a text may be.
 *
 * @since 0.1.0
 */
import type { Guardrail } from "../../definition/guardrail/GuardrailType.ts"
import { block, pass } from "../../definition/guardrail/Verdict.ts"
import { countOf, InvalidOption } from "../InvalidOption.ts"
import { make } from "../MakeGuardrail.ts"

/** Counts code points. Returns `Infinity` without counting if the text is so long that it has more than `most`. */
const lengthOf = (text: string, most: number): number => {
  if (text.length > most * 2) return Infinity
  let count = 0
  for (const _ of text) count++
  return count
}

/**
 * Blocks a text that is too short or too long.
 *
 * `min` and `max` count code points, both inclusive: "😀" is one, though a string stores it as two. What looks like one character may be
 * several: "🇩🇪" and "👍🏽" are two, and so is "é" if it is an "e" with an accent behind it. Throws `InvalidOption` if neither is given, a
 * limit isn't a whole number of at least 0, or `max` is below `min`.
 *
 * **Example** (What counts as one)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Guardrail } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const one = Agent.make("one", { guardrails: { input: [Guardrail.length({ max: 1 })] } })
 * const isOne = (text: string) =>
 *   Agent.run(one, text).pipe(
 *     Effect.as(true),
 *     Effect.catchReason("AgentError", "GuardrailBlocked", () => Effect.succeed(false)),
 *     Effect.provide(MockModel.layer(MockModel.queue("Hello.")))
 *   )
 *
 * await Effect.runPromise(Effect.forEach(["😀", "🇩🇪", "👍🏽", "e\u0301"], isOne)) // => [true, false, false, false]
 * ```
 *
 * @category built-in
 * @since 0.1.0
 */
export const length = (
  options: { readonly min?: number | undefined; readonly max?: number | undefined }
): Guardrail => {
  const min = countOf("length", "min", options.min ?? 0, 0)
  const max = options.max === undefined ? Infinity : countOf("length", "max", options.max, 0)
  if (options.min === undefined && options.max === undefined) {
    throw new InvalidOption({
      guardrail: "length",
      option: "max",
      value: undefined,
      expected: `a whole number, and "min" isn't given either`
    })
  }
  if (max < min) {
    throw new InvalidOption({ guardrail: "length", option: "max", value: max, expected: `at least "min", ${min}` })
  }
  return make("length", (text) => {
    if (text.length >= min * 2 && text.length <= max) return pass
    const count = lengthOf(text, max)
    return count < min
      ? block(`has ${count} characters, fewer than ${min}`)
      : count > max
      ? block(`has more than ${max} characters`)
      : pass
  })
}
