/**
 * Several texts that are judged together and put back each in its own place.
 *
 * 1. Guardrails judge them twice: one below the other, because a finding may begin or end with a text, and joined without gaps, because a
 *    finding may span two texts. If something was found at the end of a text, the next text may be the rest of it. So the two are judged
 *    again together, unless the next text begins with a word. If joined texts were replaced, all are judged once more one below the other.
 * 2. Unchanged text stays in its own place, as far as that can be determined. The replacement of a span across two texts goes to the first.
 * 3. No part of a guardrail's replacement is lost.
 *
 * @since 0.1.0
 */
import { pattern } from "../../../domain/Lazy.ts"
import type * as Judging from "../../definition/guardrail/Judging.ts"
import * as Texts from "./Texts.ts"

type Strings = ReadonlyArray<string>

/** Counts the equal characters of two texts from given places on, in one direction. */
const same = (a: string, b: string, atA: number, atB: number, step: 1 | -1, most: number): number => {
  let count = 0
  while (count < most && a[atA + step * count] === b[atB + step * count]) count++
  return count
}

/** Finds the first run of so many characters that another text also has near its beginning. */
const firstShared = (before: string, after: string, size: number): readonly [number, number] | undefined => {
  const places = new Map<string, number>()
  for (let at = Math.min(after.length - size, 512); at >= 0; at--) places.set(after.slice(at, at + size), at)
  for (let at = 0; at <= Math.min(before.length - size, 4096); at++) {
    const place = places.get(before.slice(at, at + size))
    if (place !== undefined) return [at, place]
  }
  return undefined
}

/** Returns the new places of cuts in a text after parts of it were replaced. A cut in a replaced part moves to its end. */
const placesOf = (
  before: string,
  after: string,
  cuts: ReadonlyArray<number>,
  size = 16
): ReadonlyArray<number> => {
  const places: Array<number> = []
  let [at, place] = [0, 0]
  while (places.length < cuts.length) {
    const run = same(before, after, at, place, 1, before.length - at)
    for (let cut = cuts[places.length]!; cut <= at + run; cut = cuts[places.length]!) places.push(cut - at + place)
    at += run
    place += run
    const [was, is] = [before.slice(at), after.slice(place)]
    const [length, to] = firstShared(was, is, size) ?? [was.length, is.length]
    const inner: Array<number> = []
    for (let cut = cuts[places.length]!; cut <= at + length; cut = cuts[places.length + inner.length]!) {
      inner.push(cut - at)
    }
    if (size > 4 && inner.length > 0) {
      // Several parts may have been replaced, with little text between them.
      for (const each of placesOf(was.slice(0, length), is.slice(0, to), inner, size / 2)) places.push(each + place)
    } else {
      const kept = same(was, is, length - 1, to - 1, -1, Math.min(length, to))
      for (const cut of inner) places.push(place + to - Math.min(kept, length - cut))
    }
    at += length
    place += to
  }
  return places
}

/** Cuts a text with replacements at the cuts of the original. */
const cutAlike = (pieces: Strings, text: string): Strings => {
  let end = 0
  const cuts = pieces.slice(0, -1).map((piece) => end += piece.length)
  const places = [...placesOf(pieces.join(""), text, cuts), text.length]
  return places.map((place, at) => text.slice(at === 0 ? 0 : places[at - 1], place))
}

/** Groups texts into lines, with a new line wherever a predicate holds. The texts of one line are joined without a gap. */
const inLines = (texts: Strings, isBroken: (at: number) => boolean): ReadonlyArray<Strings> => {
  const lines: Array<Array<string>> = []
  for (const [at, text] of texts.entries()) {
    if (at === 0 || isBroken(at)) lines.push([text])
    else lines[lines.length - 1]!.push(text)
  }
  return lines
}

const join = (lines: ReadonlyArray<Strings>): string => lines.map((line) => line.join("")).join("\n")

/** Splits the judged lines into texts again: line by line, if the number of lines is unchanged. */
const apart = (lines: ReadonlyArray<Strings>, text: string): Strings => {
  const broken = text.split("\n")
  const counts = lines.map((line) => line.join("").split("\n").length)
  if (counts.reduce((sum, count) => sum + count) !== broken.length) return cutAlike(lines.flat(), text)
  let from = 0
  return lines.flatMap((line, at) => cutAlike(line, broken.slice(from, from += counts[at]!).join("\n")))
}

/** A word, or a letter of a script without spaces: hardly the rest of a number, a key or an address. */
const word = pattern(
  "^(?:\\p{Lo}|(?:\\p{Lu}+|\\p{L}[\\p{Ll}\\p{M}'’-]*)(?=$|\\s|[.,;:!?)](?:$|\\s)))"
)

const isSpaced = (left = "", right = ""): boolean => /\s/.test(left.slice(-1) + right.slice(0, 1))

/** Checks whether the end or the beginning of a text is missing in its replacement. */
const isEndGone = (text: string, now: string): boolean => !now.endsWith(text.slice(-4))
const isBeginGone = (text: string, now: string): boolean => !now.startsWith(text.slice(0, 4))

const always = (): boolean => true

/** Judges texts together, and returns the passed texts each in its own place. */
export const judge = (texts: Strings, judgeText: (text: string) => Judging.Judged): Judging.Judged => {
  if (texts.length < 2) return Texts.judge(texts.length === 0 ? [""] : texts, judgeText)
  let now = texts
  let lines: ReadonlyArray<Strings> = []
  const isRest = (was: Strings, at: number): boolean =>
    at > 0 && at < texts.length && !isSpaced(texts[at - 1], texts[at]) && isEndGone(texts[at - 1]!, was[at - 1]!) &&
    !isBeginGone(texts[at]!, was[at]!) && !word().test(texts[at]!)
  let isChanged = false
  const looks: ReadonlyArray<() => ReadonlyArray<Strings>> = [
    () => inLines(now, always),
    () => {
      const was = now
      isChanged = false
      if (!texts.some((_, at) => isRest(was, at))) return []
      return inLines(
        texts.map((text, at) => isRest(was, at) || isRest(was, at + 1) ? text : was[at]!),
        (at) => !isRest(was, at)
      )
    },
    () => [now],
    () => isChanged ? inLines(now, always) : []
  ]
  return Texts.judgeEach(looks.length, {
    textAt: (look) => {
      lines = looks[look]!()
      return lines.length === 0 ? undefined : join(lines)
    },
    put: (text) => {
      if (text === join(lines)) return
      now = apart(lines, text)
      isChanged = true
    },
    texts: () => now
  }, judgeText)
}
