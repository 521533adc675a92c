/**
 * Statuses that a mock provider sends in turn, counted for each body of a request apart.
 *
 * @since 0.1.0
 */
import { type HttpFailure, lowerCase } from "../HttpFailure.ts"
import { hash } from "./Ids.ts"

/**
 * An HTTP response instead of an answer: its status, or its status with headers and a body. Without a body, the provider's own error body
 * is sent. A status below 300 lets the request be answered normally.
 *
 * @category models
 * @since 0.1.0
 */
export type Status = number | HttpFailure

/** What is sent in the place of an answer, and which of the statuses it is. */
export interface Attempt extends HttpFailure {
  readonly number: number
  readonly of: number
}

const waits = new Set([429, 503, 529])

/** How many bodies are counted. The one that was sent least recently is forgotten first. */
const counted = 10_000

/** Counts the requests with a body, and returns the status or error to send instead of an answer, if there is one. */
export const counter = (statuses: ReadonlyArray<Status>, retryAfter: number) => {
  const counts = new Map<number, number>()
  return (body: string): Attempt | undefined => {
    if (statuses.length === 0) return undefined
    const key = hash(body)
    const index = counts.get(key) ?? 0
    counts.delete(key)
    counts.set(key, index + 1)
    for (const oldest of counts.keys()) {
      if (counts.size <= counted) break
      counts.delete(oldest)
    }
    const next = statuses[index]
    if (next === undefined) return undefined
    const sent = typeof next === "number" ? { status: next } : next
    if (sent.status < 300) return undefined
    const headers = waits.has(sent.status) ? { "retry-after": String(retryAfter) } : {}
    return { number: index + 1, of: statuses.length, ...sent, headers: { ...headers, ...lowerCase(sent.headers) } }
  }
}
