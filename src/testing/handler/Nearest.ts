/**
 * The name that was probably meant.
 *
 * @since 0.1.0
 */

/** How many characters must be put in, left out or replaced to make one name of the other. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a.charAt(i - 1) === b.charAt(j - 1) ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}

/** Returns the nearest of the names, if one is near enough that it may have been meant. */
export const nearest = (name: string, names: ReadonlyArray<string>): string | undefined => {
  const lower = name.toLowerCase()
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const candidate of names) {
    const found = distance(lower, candidate.toLowerCase())
    if (found <= Math.max(lower.length, candidate.length) / 2 && found < (best?.distance ?? Infinity)) {
      best = { name: candidate, distance: found }
    }
  }
  return best?.name
}
