/**
 * The body of a response as it is sent over the wire, and how its stream ends.
 *
 * @since 0.1.0
 */
import * as Sse from "effect/encoding/Sse"
import type { Delivery } from "../Delivery.ts"
import type { Ids, Protocol, Reading, SseFrame } from "./Protocol.ts"
import * as Refusals from "./Refusals.ts"

/** The frames that are sent, and what comes after them. */
export interface Body {
  readonly frames: ReadonlyArray<string>
  readonly end: "sent" | "cut" | "hanging"
}

/** Writes a frame as the wire has it. An event without a name is a message, which goes without saying. */
const encode = ({ data, event = "message" }: SseFrame): string =>
  Sse.encoder.write({ _tag: "Event", event, id: undefined, data })

/** The frames up to a number of pieces, and none that says that the response finishes. */
const upTo = (frames: ReadonlyArray<SseFrame>, pieces: number): ReadonlyArray<SseFrame> => {
  let end = 0
  for (let index = 0, rest = pieces; index < frames.length && rest > 0; index++) {
    if (frames[index]!.isPiece !== true) continue
    rest--
    end = index + 1
  }
  return frames.slice(0, end)
}

/** Whether a failure is of the connection, and not one that a provider reports. */
export const isCut = ({ failure, http }: Delivery): boolean =>
  http === undefined && failure?.error.reason._tag === "NetworkError"

/** What a response says, without how it fails. */
export const said = ({ failure: _failure, hang: _hang, http: _http, ...delivery }: Delivery): Delivery => delivery

/** The stream of a response. */
export const stream = (protocol: Protocol, reading: Reading, delivery: Delivery, ids: Ids): Body => {
  const frames = reading.frames(said(delivery), ids)
  const { failure, hang } = delivery
  if (hang !== undefined && (failure === undefined || failure.after > hang)) {
    return { frames: upTo(frames, hang).map(encode), end: "hanging" }
  }
  if (failure === undefined) return { frames: frames.map(encode), end: "sent" }
  const sent = upTo(frames, failure.after)
  const error = isCut(delivery)
    ? undefined
    : protocol.streamError(
      delivery.http === undefined
        ? Refusals.ofError(protocol.name, failure.error)
        : Refusals.ofHttp(protocol.name, delivery.http),
      sent.length
    )
  return error === undefined
    ? { frames: sent.map(encode), end: "cut" }
    : { frames: [...sent, error].map(encode), end: "sent" }
}

/** A server has written what it was given once the event loop has turned. Before, it would lose that with the rest. */
const afterFlush = (then: () => void): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(() => {
      then()
      resolve()
    }, 0)
  })

/**
 * What a body is sent by: it tells how it ended. It breaks off once the request is aborted, and ends where it hangs once
 * `closing` is. The request itself is held here, since one that nobody holds doesn't learn that it is aborted.
 */
export const readable = (
  { end, frames }: Body,
  closing: AbortSignal,
  request: Request,
  ended: (outcome: "sent" | "cut" | "aborted" | "hanging") => void
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  const over = new AbortController()
  const once = { once: true, signal: over.signal }
  let next = 0
  return new ReadableStream({
    start: (controller) => {
      const aborted = () => {
        over.abort()
        ended("aborted")
        controller.error(request.signal.reason)
      }
      request.signal.addEventListener("abort", aborted, once)
    },
    pull: (controller) => {
      if (next < frames.length) {
        controller.enqueue(encoder.encode(frames[next++]))
        if (next < frames.length || end !== "sent") return undefined
      }
      ended(end)
      const broken = () => {
        over.abort()
        controller.error(new TypeError("terminated"))
      }
      if (end === "sent") {
        over.abort()
        return controller.close()
      }
      if (closing.aborted) return broken()
      if (end === "cut") return afterFlush(broken)
      closing.addEventListener("abort", broken, once)
      return new Promise(() => {})
    },
    cancel: () => {
      over.abort()
      if (next < frames.length || end === "hanging") ended("aborted")
    }
  }, { highWaterMark: 0 })
}
