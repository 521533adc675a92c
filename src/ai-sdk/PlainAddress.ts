/**
 * Addresses as errors name them.
 *
 * @since 0.1.0
 */

/** Returns an address without the parts that may hold a key: its user name and password, its query and what follows `#`. */
export const plain = (address: URL | string): string =>
  String(address).replace(/[?#].*$/s, "").replace(/^([^/]*\/\/)[^/]*@/, "$1")

/** Returns a text whose addresses lack the parts that may hold a key. */
export const withPlain = (text: string): string => text.replace(/[a-z][a-z\d+.-]*:\/\/\S+/gi, plain)
