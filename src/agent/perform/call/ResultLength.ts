/**
 * How much of a result the model reads, if its tool's policy sets that.
 *
 * @since 0.1.0
 */
import type { Settlement } from "../../../domain/Happening.ts"

type Result = Pick<Settlement, "outcome" | "result" | "modelOutput">

/** Cuts a text, but not within a character, and adds how long it was. */
const cut = (text: string, maxLength: number): string => {
  if (text.length <= maxLength) return text
  const end = /[\ud800-\udbff]/.test(text.charAt(maxLength - 1)) ? maxLength - 1 : maxLength
  return `${text.slice(0, end)}\n[Cut here: ${text.length - end} of ${text.length} characters are left out.]`
}

/** Cuts the texts of a result to so many characters together, and adds a note of how much is left out. */
export const shortened = (self: Result, maxLength: number): Result => {
  const { modelOutput, outcome, result } = self
  if (modelOutput === undefined) {
    const text = typeof result === "string" ? result : JSON.stringify(result)
    return text.length <= maxLength ? self : { outcome, result: cut(text, maxLength) }
  }
  let left = maxLength
  const parts = modelOutput.map((part) => {
    if (part.type === "file") return part
    const text = cut(part.text, left)
    left = Math.max(0, left - part.text.length)
    return { ...part, text }
  })
  return { outcome, result, modelOutput: parts }
}
