/**
 * What a log shows of a text that others wrote: no more than it has room for, and nothing that steers a terminal.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import { pattern } from "../../domain/Lazy.ts"

const unseen = pattern("[^\\P{Cc}\\n\\t]|\\p{Cs}", "gu")

/** Replaces what can't be seen: controls but tabs and newlines by their pictures, halves of characters by `U+FFFD`. */
const visible = (text: string): string =>
  text.replace(/\r\n?/g, "\n").replace(unseen(), (char) => {
    const code = char.charCodeAt(0)
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\uFFFD"
  })

/**
 * Gives at most `maxLength` characters of a text, with what `rest` says of the number left out behind them.
 *
 * A character outside of the basic plane isn't cut in two.
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
 * Gives JSON as text, to be shown on one line or on several.
 *
 * @category conversions
 * @since 0.1.0
 */
export const jsonText = (value: Schema.Json, indent: 0 | 2): string => JSON.stringify(value, null, indent)
