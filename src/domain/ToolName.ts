/**
 * Names that providers take for tools: 1 to 64 letters, digits, `_` and `-`.
 *
 * @since 0.1.0
 */

const maxLength = 64

/** Checks whether providers take a name for a tool. */
export const isValid = (name: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(name)

/** Makes such a name of a text, with an ending that isn't cut. */
export const from = (text: string, ending = ""): string =>
  text.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, maxLength - ending.length) + ending
