/**
 * Guardrails on text for values that aren't texts: they judge each text in the value, keys of objects included.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as JsonValue from "../../../domain/JsonValue.ts"
import * as Judging from "../../definition/guardrail/Judging.ts"
import { pass, replace, type Verdict, warn } from "../../definition/guardrail/Verdict.ts"
import { type DeclaredKeys, none } from "./DeclaredKeys.ts"
import { short } from "./Work.ts"

/**
 * Returns keys of which some are replaced, without duplicates: a number is appended to a new key that equals another one. Unchanged keys
 * keep their names.
 */
const distinct = (keys: ReadonlyArray<string>, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isKept = (name: string, at: number): boolean => name === keys[at]
  if (names.every(isKept)) return names
  const taken = new Set(names.filter(isKept))
  const counts = new Map<string, number>()
  return names.map((name, at) => {
    if (isKept(name, at)) return name
    let count = counts.get(name) ?? 1
    let free = name
    while (taken.has(free)) free = `${name} (${++count})`
    counts.set(name, count)
    taken.add(free)
    return free
  })
}

/** Returns a value with its texts replaced by `f`, and its keys by `renamed`. A key that `renamed` doesn't have yet is replaced by `f` too. */
const mapTexts = (value: unknown, renamed: Map<string, string>, f: (text: string) => string): unknown => {
  if (typeof value === "string") return f(value)
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, renamed, f))
  if (!Predicate.isObject(value)) return value
  const keys = Object.keys(value)
  const values = keys.map((key) => {
    if (!renamed.has(key)) renamed.set(key, f(key))
    return mapTexts(value[key], renamed, f)
  })
  const names = distinct(keys, keys.map((key) => renamed.get(key)!))
  const mapped: Record<string, unknown> = {}
  for (const [at, each] of values.entries()) JsonValue.put(mapped, names[at]!, each)
  return mapped
}

const addTexts = (value: unknown, known: Set<string>, texts: Array<string>): void => {
  if (typeof value === "string") texts.push(value)
  else if (Array.isArray(value)) { for (const each of value) addTexts(each, known, texts) }
  else if (Predicate.isObject(value)) {
    for (const key of Object.keys(value)) {
      if (!known.has(key)) texts.push(key)
      known.add(key)
      addTexts(value[key], known, texts)
    }
  }
}

/** Lists the texts in a value, in order: strings, and each key that isn't declared, once. */
export const textsIn = (value: unknown, declared: DeclaredKeys = none): ReadonlyArray<string> => {
  const texts: Array<string> = []
  addTexts(value, new Set(declared), texts)
  return texts
}

/** Replaces the texts of a value, one by one. */
export const withTexts = <A>(value: A, texts: ReadonlyArray<string>, declared: DeclaredKeys = none): A => {
  let at = 0
  // Only texts are replaced, so the type stays.
  return mapTexts(value, new Map(Array.from(declared, (key) => [key, key])), () => texts[at++]!) as A
}

/** Texts that are judged one after the other. `textAt` may return none; `put` stores a replacement. */
export interface Looks {
  readonly textAt: (index: number) => string | undefined
  readonly put: (text: string, index: number) => void
  readonly texts: () => ReadonlyArray<string>
}

/** Judges texts one after the other, until one is refused. The replacement of the whole is the list of all texts. */
export const judgeEach = (
  count: number,
  { put, textAt, texts }: Looks,
  judgeText: (text: string) => Judging.Judged
): Judging.Judged => {
  const reasons: Array<string> = []
  let isReplaced = false
  const take = (verdict: Verdict<unknown>, index: number): Verdict<unknown> | undefined => {
    switch (verdict._tag) {
      case "Retry":
      case "Block":
        return verdict
      case "Replace":
        isReplaced = true
        // The replacement of a text is a text.
        put(verdict.value as string, index)
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
    return isReplaced ? replace(texts(), reason) : warn(reason)
  }
  let seen = 0
  const judgeAt = (index: number): Judging.Judged => {
    const text = textAt(index)
    if (text === undefined) return pass
    seen += text.length
    if (index === 0 || seen <= short) return judgeText(text)
    // Many short texts would block the event loop as a long one does, so it yields now and then.
    seen = 0
    return Effect.flatMap(Effect.yieldNow, () => Judging.toEffect(judgeText(text)))
  }
  return Judging.inOrder(count, judgeAt, take, conclude)
}

/** Judges texts separately. */
export const judge = (texts: ReadonlyArray<string>, judgeText: (text: string) => Judging.Judged): Judging.Judged => {
  let replaced: Array<string> | undefined
  return judgeEach(texts.length, {
    textAt: (index) => texts[index],
    put: (text, index) => (replaced ??= [...texts])[index] = text,
    texts: () => replaced ?? texts
  }, judgeText)
}
