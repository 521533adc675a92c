/**
 * Guardrails on text, where the value isn't one: they look at each text in it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { pass, replace, type Verdict, warn } from "./Verdict.ts"

/** Judges one text. */
type JudgeText = (text: string) => Verdict<unknown> | Effect.Effect<Verdict<unknown>, never, unknown>

/** Gives a value with other texts in it, in the order in which `f` is given those that it has. Keys aren't texts. */
const mapTexts = (value: unknown, f: (text: string) => string): unknown => {
  if (typeof value === "string") return f(value)
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, f))
  if (!Predicate.isObject(value)) return value
  const mapped: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) {
    // A key may be `__proto__`.
    Object.defineProperty(mapped, key, {
      value: mapTexts(each, f),
      enumerable: true,
      configurable: true,
      writable: true
    })
  }
  return mapped
}

/** Gives the texts in a value, in their order. */
const textsIn = (value: unknown): ReadonlyArray<string> => {
  const texts: Array<string> = []
  mapTexts(value, (text) => {
    texts.push(text)
    return text
  })
  return texts
}

/** What was said of the texts so far. */
interface Said {
  readonly texts: Array<string>
  readonly reasons: Array<string>
  isReplaced: boolean
}

/** Takes in what was said of a text. Gives a refusal, which ends it. */
const take = (said: Said, text: string, verdict: Verdict<unknown>): Verdict<unknown> | undefined => {
  switch (verdict._tag) {
    case "Retry":
    case "Block":
      return verdict
    case "Replace":
      said.isReplaced = true
      said.reasons.push(verdict.reason)
      said.texts.push(String(verdict.value))
      return undefined
    case "Warn":
      said.reasons.push(verdict.reason)
      said.texts.push(text)
      return undefined
    case "Pass":
      said.texts.push(text)
      return undefined
  }
}

const conclude = (value: unknown, { isReplaced, reasons, texts }: Said): Verdict<unknown> => {
  const reason = [...new Set(reasons)].join("; ")
  if (!isReplaced) return reasons.length > 0 ? warn(reason) : pass
  let at = 0
  return replace(mapTexts(value, () => texts[at++]!), reason)
}

/** Judges a value by each text in it, one after the other, until one is refused. */
export const judgeTexts = (
  value: unknown,
  judge: JudgeText
): Verdict<unknown> | Effect.Effect<Verdict<unknown>, never, unknown> => {
  const said: Said = { texts: [], reasons: [], isReplaced: false }
  const texts = textsIn(value)
  const from = (index: number): Verdict<unknown> | Effect.Effect<Verdict<unknown>, never, unknown> => {
    for (let at = index; at < texts.length; at++) {
      const text = texts[at]!
      const judged = judge(text)
      if (Effect.isEffect(judged)) {
        return Effect.flatMap(judged, (verdict) => {
          const rest = take(said, text, verdict) ?? from(at + 1)
          return Effect.isEffect(rest) ? rest : Effect.succeed(rest)
        })
      }
      const refusal = take(said, text, judged)
      if (refusal !== undefined) return refusal
    }
    return conclude(value, said)
  }
  return from(0)
}
