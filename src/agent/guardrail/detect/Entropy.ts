/**
 * Measures of how random a text looks.
 *
 * @since 0.1.0
 */

/** Returns Shannon's entropy of the characters of an ASCII text, in bits per character. */
export const entropy = (text: string): number => {
  const counts = new Uint32Array(128)
  for (let at = 0; at < text.length; at++) counts[text.charCodeAt(at)]!++
  let bits = 0
  for (const count of counts) if (count > 0) bits -= count / text.length * Math.log2(count / text.length)
  return bits
}

const small = 1
const capital = 2
const kindOf = (code: number): number =>
  code > 96 && code < 123 ? small : code > 64 && code < 91 ? capital : code > 47 && code < 58 ? 3 : 0

/**
 * Returns how often a letter or digit is followed by one of another kind: a small letter, a capital, a digit. A small letter after a
 * capital doesn't count, because words begin so. The result is low for names made of words, and for paths.
 */
export const mixture = (text: string): number => {
  let changes = 0
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const to = kindOf(text.charCodeAt(at))
    if (from !== 0 && to !== 0 && from !== to && !(from === capital && to === small)) changes++
    from = to
  }
  return changes / (text.length - 1)
}
