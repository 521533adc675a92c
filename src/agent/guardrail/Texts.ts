/**
 * Guardrails on text, where the value isn't one: they look at each text in it.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Judging from "./Judging.ts"
import { pass, replace, type Verdict, warn } from "./Verdict.ts"

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

const addTexts = (value: unknown, texts: Array<string>): void => {
  if (typeof value === "string") texts.push(value)
  else if (Array.isArray(value)) { for (const each of value) addTexts(each, texts) }
  else if (Predicate.isObject(value)) { for (const each of Object.values(value)) addTexts(each, texts) }
}

/** Gives the texts in a value, in their order. */
export const textsIn = (value: unknown): ReadonlyArray<string> => {
  const texts: Array<string> = []
  addTexts(value, texts)
  return texts
}

/** Gives a value with other texts, as many as it has, in the places of its own. */
export const withTexts = <A>(value: A, texts: ReadonlyArray<string>): A => {
  let at = 0
  // What stands in the place of a text is one.
  return mapTexts(value, () => texts[at++]!) as A
}

/** Judges texts one after the other, until one is refused. A replacement is that of all of them. */
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
        replaced[index] = String(verdict.value)
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
