/**
 * Ids and times that depend on a request's body alone, so that the same request gets the same response to the letter.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import type { Ids } from "./Protocol.ts"

/** A hash of 53 bits, which isn't meant for security. */
export const hash = (text: string, seed = 0): number => {
  let high = 0xdeadbeef ^ seed
  let low = 0x41c6ce57 ^ seed
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (2097151 & low) + (high >>> 0)
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const length = 24

const letters = (seed: string): string => {
  let text = ""
  for (let round = 0; text.length < length; round++) {
    for (let rest = hash(seed, round), digit = 0; digit < 8; digit++, rest = Math.floor(rest / alphabet.length)) {
      text += alphabet[rest % alphabet.length]
    }
  }
  return text
}

const isObject = (json: Schema.Json): json is Schema.JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** What a request asks for, streamed or not. */
const essence = (body: Schema.Json): string => {
  if (!isObject(body)) return JSON.stringify(body)
  const { stream: _stream, stream_options: _options, ...rest } = body
  return JSON.stringify(rest)
}

const epoch = 1_767_225_600

const year = 31_536_000

/** The ids of the response to a request. Streamed and not, they are the same. */
export const make = (body: Schema.Json): Ids => {
  const text = essence(body)
  const seed = `${hash(text)}.${hash(text, 1)}`
  const counts = new Map<string, number>()
  return {
    next: (prefix) => {
      const count = counts.get(prefix) ?? 0
      counts.set(prefix, count + 1)
      return prefix + letters(`${seed}.${prefix}.${count}`)
    },
    created: epoch + hash(text, 2) % year
  }
}
