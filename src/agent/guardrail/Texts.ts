/**
 * The texts in a value, for guardrails on text at stages whose values aren't texts: they look at each string in the value.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Judging from "./Judging.ts"
import { pass, replace, type Verdict, warn } from "./Verdict.ts"

/** Changes each text in a value, in order. Keys aren't texts. */
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

const addTexts = (value: unknown, texts: Array<string>): void => {
  if (typeof value === "string") texts.push(value)
  else if (Array.isArray(value)) { for (const each of value) addTexts(each, texts) }
  else if (Predicate.isObject(value)) { for (const each of Object.values(value)) addTexts(each, texts) }
}

/** Lists the texts in a value, in order. */
export const textsIn = (value: unknown): ReadonlyArray<string> => {
  const texts: Array<string> = []
  addTexts(value, texts)
  return texts
}

/** Puts other texts in the places of a value's own, as many as it has. */
export const withTexts = <A>(value: A, texts: ReadonlyArray<string>): A => {
  let at = 0
  // Texts replace texts, so the value keeps its type.
  return mapTexts(value, () => texts[at++]!) as A
}

/** Judges texts one after the other, until one is refused. A replacement is the list of all texts. */
export const judge = (texts: ReadonlyArray<string>, judgeText: (text: string) => Judging.Judged): Judging.Judged => {
  const reasons: Array<string> = []
  let replaced: Array<string> | undefined
  const take = (verdict: Verdict<unknown>, index: number): Verdict<unknown> | undefined => {
    switch (verdict._tag) {
      case "Retry":
      case "Block":
        return verdict
      case "Replace":
        replaced ??= [...texts]
        // What stands in the place of a text is one.
        replaced[index] = verdict.value as string
        reasons.push(verdict.reason)
        return undefined
      case "Warn":
        reasons.push(verdict.reason)
        return undefined
      case "Pass":
        return undefined
    }
  }
  const conclude = (): Verdict<unknown> => {
    if (reasons.length === 0) return pass
    const reason = [...new Set(reasons)].join("; ")
    return replaced === undefined ? warn(reason) : replace(replaced, reason)
  }
  return Judging.inOrder(texts.length, (index) => judgeText(texts[index]!), take, conclude)
}
