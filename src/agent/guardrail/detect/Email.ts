/**
 * E-mail addresses in a text.
 *
 * Linear: what is looked at on one side of an `@` ends at the next.
 *
 * @since 0.1.0
 */
import { pattern } from "../../../domain/Lazy.ts"
import { matchAt } from "./Boundary.ts"

const local = pattern("[\\p{L}\\p{M}\\p{N}._%+'-]")
const domain = pattern("(?:[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}-]*\\.)+[\\p{L}\\p{N}]*", "uy")
const top = pattern("xn--[a-z\\d-]+|[\\p{L}\\p{M}]{2,}(?![\\p{L}\\p{N}])", "iuy")

/** A package at a version (`effect@4.1.0-beta.next`), or an image of more pixels (`icon@2x.png`). */
const notDomain = /^(?:\d+\.\d+\.|\dx\.)/

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

/** Where the character before an offset begins. */
const before = (text: string, at: number): number =>
  at > 1 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2)) ? at - 2 : at - 1

const startOf = (text: string, at: number, from: number): number => {
  let start = at
  while (start > from) {
    const previous = before(text, start)
    if (!local().test(text.slice(previous, start))) break
    start = previous
  }
  while (start < at && ".%+'-".includes(text[start]!)) start++
  return start
}

/** Where the longest domain ends whose last label is one of letters. */
const endOf = (text: string, from: number): number | undefined => {
  const labels = matchAt(domain(), text, from)
  if (labels === undefined || notDomain.test(labels)) return undefined
  for (let dot = labels.lastIndexOf("."); dot >= 0; dot = dot === 0 ? -1 : labels.lastIndexOf(".", dot - 1)) {
    const last = matchAt(top(), text, from + dot + 1)
    if (last !== undefined) return from + dot + 1 + last.length
  }
  return undefined
}

/**
 * Finds e-mail addresses: letters, digits and `._%+'-` before the `@`, and behind it a domain of at least two labels, the last
 * one of letters. Quoted names and addresses of hosts aren't found.
 */
export function* findEmails(text: string): Generator<readonly [start: number, end: number]> {
  let from = 0
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const start = startOf(text, at, from)
    const end = start < at ? endOf(text, at + 1) : undefined
    if (end === undefined) continue
    yield [start, end]
    from = end
  }
}
