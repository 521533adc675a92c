/**
 * How a log shows a text that users, models or tools wrote: no longer than there is room for, and without control codes for terminals.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import { pattern } from "../../domain/Lazy.ts"

const unseen = pattern("[^\\P{Cc}\\n\\t]|\\p{Cs}", "gu")

/** Replaces invisible characters: controls except tabs and newlines by their pictures, halves of surrogate pairs by `U+FFFD`. */
const visible = (text: string): string =>
  text.replace(/\r\n?/g, "\n").replace(unseen(), (char) => {
    const code = char.charCodeAt(0)
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\uFFFD"
  })

/**
 * Returns at most `maxLength` characters of a text, followed by what `rest` returns for the number of characters left out.
 *
 * A surrogate pair isn't cut in two.
 *
 * @category conversions
 * @since 0.1.0
 */
export const ofText = (text: string, maxLength: number, rest: (characters: number) => string): string => {
  if (!(text.length > maxLength)) return visible(text)
  let end = Math.max(0, Math.trunc(maxLength))
  if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end--
  return `${visible(text.slice(0, end))}${rest(text.length - end)}`
}

/**
 * Returns JSON as text, on one line or on several.
 *
 * @category conversions
 * @since 0.1.0
 */
export const jsonText = (value: Schema.Json, indent: 0 | 2): string => JSON.stringify(value, null, indent)
