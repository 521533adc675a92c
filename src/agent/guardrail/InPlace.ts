/**
 * Several texts that are looked at together, and put back each in its own place.
 *
 * 1. Guardrails look at them one below the other, as something may begin or end where a text does, and without gaps, as something may
 *    stand across two. A text that goes on where something was found at the end of the one before it is looked at together with that
 *    anew, since it may be the rest of it, unless it begins with a word.
 * 2. What a guardrail leaves as it is stays in its own text, as far as that can be told. What stood across two goes to the first.
 * 3. Nothing of what a guardrail gave is lost, whatever that is.
 *
 * @since 0.1.0
 */
import { pattern } from "../../domain/Lazy.ts"
import type * as Judging from "./Judging.ts"
import * as Texts from "./Texts.ts"

type Strings = ReadonlyArray<string>

/** Counts the characters that are the same in two texts from some on, in a direction. */
const same = (a: string, b: string, atA: number, atB: number, step: 1 | -1, most: number): number => {
  let count = 0
  while (count < most && a[atA + step * count] === b[atB + step * count]) count++
  return count
}

/** Finds the first characters of a text, so many in a row, that another has, too, near its beginning. */
const firstShared = (before: string, after: string, size: number): readonly [number, number] | undefined => {
  const places = new Map<string, number>()
  for (let at = Math.min(after.length - size, 512); at >= 0; at--) places.set(after.slice(at, at + size), at)
  for (let at = 0; at <= Math.min(before.length - size, 4096); at++) {
    const place = places.get(before.slice(at, at + size))
    if (place !== undefined) return [at, place]
  }
  return undefined
}

/** Gives the places that cuts of a text have where something of it was replaced. Cuts in what was replaced go to its end. */
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
      // What was replaced may be more than one thing, with little between them.
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

/** Cuts a text where another was cut of which something was replaced. */
const cutAlike = (pieces: Strings, text: string): Strings => {
  let end = 0
  const cuts = pieces.slice(0, -1).map((piece) => end += piece.length)
  const places = [...placesOf(pieces.join(""), text, cuts), text.length]
  return places.map((place, at) => text.slice(at === 0 ? 0 : places[at - 1], place))
}

/** Puts texts into lines, a new one at each place where something holds. Those of one line stand in it without a gap. */
const inLines = (texts: Strings, isBroken: (at: number) => boolean): ReadonlyArray<Strings> => {
  const lines: Array<Array<string>> = []
  for (const [at, text] of texts.entries()) {
    if (at === 0 || isBroken(at)) lines.push([text])
    else lines[lines.length - 1]!.push(text)
  }
  return lines
}

const join = (lines: ReadonlyArray<Strings>): string => lines.map((line) => line.join("")).join("\n")

/** Gives texts out of what became of them in lines: line by line, if these are as many as they were. */
const apart = (lines: ReadonlyArray<Strings>, text: string): Strings => {
  const broken = text.split("\n")
  const counts = lines.map((line) => line.join("").split("\n").length)
  if (counts.reduce((sum, count) => sum + count) !== broken.length) return cutAlike(lines.flat(), text)
  let from = 0
  return lines.flatMap((line, at) => cutAlike(line, broken.slice(from, from += counts[at]!).join("\n")))
}

/** A word, or a letter of a script that puts no spaces between them: hardly the rest of a number, a key or an address. */
const word = pattern(
  "^(?:\\p{Lo}|(?:\\p{Lu}+|\\p{L}[\\p{Ll}\\p{M}'’-]*)(?=$|\\s|[.,;:!?)](?:$|\\s)))"
)

const isSpaced = (left = "", right = ""): boolean => /\s/.test(left.slice(-1) + right.slice(0, 1))

/** Checks whether what a text ends or begins with isn't there any more, in what became of it. */
const isEndGone = (text: string, now: string): boolean => !now.endsWith(text.slice(-4))
const isBeginGone = (text: string, now: string): boolean => !now.startsWith(text.slice(0, 4))

const always = (): boolean => true

/** Judges texts together, and gives those that pass each in its own place. */
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
