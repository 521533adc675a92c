/**
 * What a conversation is called: the first words in it that guardrails let pass, in one line.
 */
const maxLength = 80

/** Makes a title of what was said. */
export const lineOf = (said: ReadonlyArray<{ readonly text?: string }>): string => {
  const line = said.map(({ text = "" }) => text).join("").replace(/\s+/g, " ").trim()
  return line.length <= maxLength ? line : `${Array.from(line).slice(0, maxLength - 1).join("")}…`
}
