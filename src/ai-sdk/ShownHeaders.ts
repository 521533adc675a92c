/**
 * The headers of a response that are kept: all but its cookies.
 *
 * @since 0.1.0
 */
type Headers = Readonly<Record<string, string>>

/** Returns headers without cookies. */
export const shown = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "set-cookie"))
