/**
 * Addresses of hosts in a text.
 *
 * Linear: an address has a greatest length, and each place where one could begin is looked at once.
 *
 * @since 0.1.0
 */
import { endAt, finder, isBounded } from "./Boundary.ts"

const v4Starts = /(?<![A-Za-z\d])\d(?=\d{0,2}\.\d{1,3}\.)/g
const v6Starts = /(?<![\w:.])(?:[23f](?=[\da-f]{3}:)|0(?=0?64:ff9b:)|6(?=4:ff9b:))/gi

/** Four numbers below 256 without leading zeros. */
const v4 = /(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?!\d)/y

/**
 * A group of a global, unique local, link-local or multicast address (RFC 4291, RFC 4193) or of one that translates an IPv4 address (RFC
 * 6052, RFC 8215), and what may follow.
 */
const v6 = /(?:[23][\da-f]{3}|f[cd][\da-f]{2}|fe[89ab][\da-f]|ff[\da-f]{2}|0{0,2}64(?=:ff9b:)):[\da-f:.]{1,41}/iy

/** Words that mark the four numbers after them as a version. */
const version = /(?:^|[^a-z])(?:v|ver|version|release|build|revision)[.:= ]{0,2}$/i

/** Addresses that belong to no single host: unspecified, loopback, broadcast. */
const nobody = /(?:0|127)\.|255\.255\.255\.255/y

/** Finds IPv4 addresses, but neither versions nor addresses that every host has. */
export const findV4 = finder(() => v4Starts, (text, start, last) => {
  const end = endAt(v4, text, start)
  return end !== undefined && isBounded(text, start, end, last) && endAt(nobody, text, start) === undefined &&
      !version.test(text.slice(Math.max(0, start - 12), start))
    ? end
    : undefined
})

const group = /^[\da-f]{1,4}$/i

/** Checks groups of hexadecimal digits; an IPv4 address may replace the last two. */
const isV6 = (address: string): boolean => {
  const [before = "", after, ...rest] = address.split("::")
  if (rest.length > 0) return false
  const groupsOf = (half: string | undefined): ReadonlyArray<string> => half ? half.split(":") : []
  const groups = [...groupsOf(before), ...groupsOf(after)]
  const last = groups.at(-1)
  const ends = last !== undefined && endAt(v4, last, 0) === last.length
  if (!(ends ? groups.slice(0, -1) : groups).every((one) => group.test(one))) return false
  const count = groups.length + (ends ? 1 : 0)
  return after === undefined ? count === 8 : count < 8
}

/** Finds IPv6 addresses that begin with a group in use (RFC 4291), so that times, slices and paths aren't found. */
export const findV6 = finder(() => v6Starts, (text, start, last) => {
  const longest = endAt(v6, text, start)
  if (longest === undefined) return undefined
  const end = /(?:[^:]:|\.)$/.test(text.slice(start, longest)) ? longest - 1 : longest
  return isBounded(text, start, end, last) && isV6(text.slice(start, end)) ? end : undefined
})
