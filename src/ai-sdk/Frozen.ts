/**
 * Frozen messages: all requests share them, so no provider may change them.
 *
 * @since 0.1.0
 */

/** Freezes a message and its parts. */
export const freeze = <Message extends { readonly content: string | ReadonlyArray<object> }>(
  message: Message
): Message => {
  if (typeof message.content !== "string") { for (const part of Object.freeze(message.content)) Object.freeze(part) }
  return Object.freeze(message)
}
