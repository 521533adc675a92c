/** What stands in a text. */
import { assert } from "@effect/vitest"

/** Asserts that these stand in a text, in this order. */
export const assertInOrder = (text: string, ...pieces: ReadonlyArray<string>): void => {
  let at = 0
  for (const piece of pieces) {
    const found = text.indexOf(piece, at)
    assert.isAtLeast(found, 0, `"${piece}" isn't behind "${text.slice(0, at)}" in "${text}"`)
    at = found + piece.length
  }
}
