/**
 * Texts that look like chance.
 *
 * @since 0.1.0
 */

/** Gives Shannon's entropy of a text's characters, in bits per character. */
export const entropy = (text: string): number => {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= count / text.length * Math.log2(count / text.length)
  return bits
}

const small = 1
const capital = 2
const kindOf = (code: number): number =>
  code > 96 && code < 123 ? small : code > 64 && code < 91 ? capital : code > 47 && code < 58 ? 3 : 0

/**
 * Gives how often a letter or digit is followed by one of another kind: a small letter, a capital, a digit. A small letter behind a
 * capital doesn't count, as words begin so. It is low in names made of words, and in paths.
 */
export const mixture = (text: string): number => {
  let changes = 0
  for (let i = 1; i < text.length; i++) {
    const from = kindOf(text.charCodeAt(i - 1))
    const to = kindOf(text.charCodeAt(i))
    if (from !== 0 && to !== 0 && from !== to && !(from === capital && to === small)) changes++
  }
  return changes / (text.length - 1)
}
