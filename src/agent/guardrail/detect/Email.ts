/**
 * E-mail addresses in a text.
 *
 * Linear: a search on one side of an `@` ends at the next `@`.
 *
 * @since 0.1.0
 */
import { pattern } from "../../../domain/Lazy.ts"
import { endAt, type Find, isAlphanumeric } from "./Boundary.ts"
import { byCodePoint } from "./CodePoint.ts"

const word = pattern("[\\p{L}\\p{M}\\p{N}]")
const isWord = /* #__PURE__ */ byCodePoint((character) => word().test(character))
const domain = pattern("(?:[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}-]*\\.)+[\\p{L}\\p{N}]*", "uy")
const top = pattern("xn--[a-z\\d-]+|[\\p{L}\\p{M}]{2,}(?![\\p{L}\\p{N}])", "iuy")

/** A package at a version (`effect@4.1.0-beta.next`), or an image of more pixels (`icon@2x.png`). */
const notDomain = /\d+\.\d+\.|\dx\./y

const signs = "._%+'-"

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

/** Returns where the name before an `@` begins, at `from` or later. */
const startOf = (text: string, at: number, from: number): number => {
  let start = at
  while (start > from) {
    const unit = text.charCodeAt(start - 1)
    const isPair = isLow(unit) && isHigh(text.charCodeAt(start - 2))
    const isName = unit < 0x80
      ? isAlphanumeric(unit) || signs.includes(text[start - 1]!)
      : isWord(text.codePointAt(isPair ? start - 2 : start - 1)!)
    if (!isName) break
    start -= isPair ? 2 : 1
  }
  while (start < at && text[start] !== "_" && signs.includes(text[start]!)) start++
  return start
}

/** Returns where the longest domain with a last label of letters ends. */
const endOf = (text: string, from: number): number | undefined => {
  const longest = endAt(domain(), text, from)
  if (longest === undefined || endAt(notDomain, text, from) !== undefined) return undefined
  for (let dot = text.lastIndexOf(".", longest - 1); dot >= from; dot = text.lastIndexOf(".", dot - 1)) {
    const end = endAt(top(), text, dot + 1)
    if (end !== undefined) return end
  }
  return undefined
}

/**
 * Finds e-mail addresses: letters, digits and `._%+'-` before the `@`, and behind it a domain of at least two labels, the last
 * one of letters. Quoted names and addresses of hosts aren't found.
 */
export const findEmails: Find = (text, piece) => {
  const seen = text.slice(piece.from, piece.to)
  for (let next = seen.indexOf("@"); next >= 0; next = seen.indexOf("@", next + 1)) {
    const at = piece.from + next
    if (at < piece.last) continue
    const start = startOf(text, at, piece.last)
    const end = start < at ? endOf(text, at + 1) : undefined
    if (end === undefined) continue
    piece.found.push([start, end])
    piece.last = end
  }
}
