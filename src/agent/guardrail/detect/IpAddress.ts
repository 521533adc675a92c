/**
 * Addresses of hosts in a text.
 *
 * Linear: an address has a greatest length, and each place where one could begin is looked at once.
 *
 * @since 0.1.0
 */
import { isBounded } from "./Boundary.ts"

const v4 = /(?<![A-Za-z0-9])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g

/** A group of a global, unique local, link-local or multicast address (RFC 4291, RFC 4193), and what may follow. */
const v6 = /(?<![\w:.])(?:[23][\da-f]{3}|f[cd][\da-f]{2}|fe[89ab][\da-f]|ff[\da-f]{2}):[\da-f:.]{1,41}/gi

/** Words before four numbers that are a version. */
const version = /(?:^|[^a-z])(?:v|ver|version|release|build|revision)[.:= ]{0,2}$/i

/** Addresses of nobody: unspecified, loopback, broadcast. */
const isNobody = (octets: ReadonlyArray<string>): boolean =>
  octets[0] === "0" || octets[0] === "127" || octets.every((octet) => octet === "255")

const isOctet = (octet: string): boolean => octet === String(Number(octet)) && Number(octet) < 256

const isV4 = (address: string): boolean => {
  const octets = address.split(".")
  return octets.length === 4 && octets.every(isOctet)
}

/** Finds IPv4 addresses: four numbers below 256 without leading zeros. */
export function* findV4(text: string): Generator<readonly [start: number, end: number]> {
  for (const { 0: address, index: start } of text.matchAll(v4)) {
    const end = start + address.length
    const isAddress = isV4(address) && !isNobody(address.split(".")) && isBounded(text, start, end) &&
      !version.test(text.slice(Math.max(0, start - 12), start))
    if (isAddress) yield [start, end]
  }
}

const group = /^[\da-f]{1,4}$/i

/** Checks groups of hexadecimal digits; an IPv4 address may stand in the place of the last two. */
const isV6 = (address: string): boolean => {
  const [before = "", after, ...rest] = address.split("::")
  if (rest.length > 0) return false
  const groupsOf = (half: string | undefined): ReadonlyArray<string> => half ? half.split(":") : []
  const groups = [...groupsOf(before), ...groupsOf(after)]
  const last = groups.at(-1)
  const ends = last !== undefined && isV4(last)
  if (!(ends ? groups.slice(0, -1) : groups).every((one) => group.test(one))) return false
  const count = groups.length + (ends ? 1 : 0)
  return after === undefined ? count === 8 : count < 8
}

/** Finds IPv6 addresses that begin with a group in use (RFC 4291), so that times, slices and paths aren't. */
export function* findV6(text: string): Generator<readonly [start: number, end: number]> {
  for (const { 0: found, index: start } of text.matchAll(v6)) {
    const address = found.endsWith("::") ? found : found.replace(/[:.]$/, "")
    const end = start + address.length
    if (isV6(address) && isBounded(text, start, end)) yield [start, end]
  }
}
