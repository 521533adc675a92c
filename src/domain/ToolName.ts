/**
 * Names that providers accept for tools: 1 to 64 letters, digits, `_` and `-`.
 *
 * @since 0.1.0
 */

const maxLength = 64

/** Checks whether providers accept a name for a tool. */
export const isValid = (name: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(name)

/** Returns a short hash of a text (FNV-1a), in letters and digits. */
const digest = (text: string): string => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

/**
 * Makes a valid name from any text, between a prefix and a suffix.
 *
 * Letters lose their accents, and spaces and signs become `_`. If more is lost, as in other scripts, or the text is too long, a hash of the
 * text is appended, so that such texts have different names.
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
