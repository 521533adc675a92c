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

/** Writes a frame as the wire has it. The default name of an event is `message`, which the encoder leaves out. */
const encode = ({ data, event = "message" }: SseFrame): string =>
  Sse.encoder.write({ _tag: "Event", event, id: undefined, data })

/** The frames up to a number of pieces, without those that finish the response. */
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

/** Waits for a turn of the event loop. By then the server has written what it was given, which an earlier break would lose. */
const afterFlush = (then: () => void): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(() => {
      then()
      resolve()
    }, 0)
  })

/**
 * Makes the stream that sends a body, and calls `ended` with how it ended. The stream fails when the request is aborted. If it hangs, it
 * fails when `closing` is aborted. It holds the request, because a request that is garbage collected doesn't notice that it is aborted.
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
