/**
 * Names that providers take for tools: 1 to 64 letters, digits, `_` and `-`.
 *
 * @since 0.1.0
 */

const maxLength = 64

/** Checks whether providers take a name for a tool. */
export const isValid = (name: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(name)

/** Gives a few letters and digits that are always the same for a text (FNV-1a). */
const digest = (text: string): string => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

/**
 * Makes such a name of any text, between a beginning and an ending.
 *
 * Letters lose their accents, and spaces and signs become `_`. A text of which more is lost, as of other scripts, or of which not all
 * has room, is told from others by what stands behind it: the same for the same text.
 */
export const from = (beginning: string, text: string, ending = ""): string => {
  const plain = text.normalize("NFKD").replaceAll(/[\u0300-\u036f]/g, "")
  const readable = plain.replaceAll(/[^a-zA-Z0-9_-]/g, "_")
  const whole = beginning + readable + ending
  if (whole.length <= maxLength && /^[\x20-\x7e]*[a-zA-Z0-9][\x20-\x7e]*$/.test(plain)) return whole
  const end = `${digest(text)}${ending}`
  const kept = (beginning + readable.replaceAll(/_+/g, "_").replace(/^_/, "")).slice(0, maxLength - end.length - 1)
  return `${kept.replace(/_+$/, "")}_${end}`
}
