/**
 * Anthropic's messages, as `POST /v1/messages` speaks them.
 *
 * If a request turns thinking on, a turn that calls tools begins with a block of thinking, as a model's does. The block is empty unless the
 * script has reasoning there.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import * as Delivery from "../Delivery.ts"
import type * as Asked from "./Asked.ts"
import { fromRequest } from "./MessagesAsked.ts"
import { blocksOf, Events, ofAnthropic, shows } from "./MessagesBlocks.ts"
import { read } from "./MessagesRefusal.ts"
import { finishOf, type Part } from "./Part.ts"
import {
  type Fields,
  type Ids,
  piece,
  type Protocol,
  reading,
  type Refusal,
  type SseFrame,
  type WireEvent,
  type Writing
} from "./Protocol.ts"
import { tokensOf } from "./Tokens.ts"

const stopReasons: Readonly<Record<Response.FinishReason, string>> = {
  "stop": "end_turn",
  "length": "max_tokens",
  "content-filter": "refusal",
  "tool-calls": "tool_use",
  "error": "end_turn",
  "pause": "pause_turn",
  "other": "end_turn",
  "unknown": "end_turn"
}

interface Stop {
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
  readonly stop_details: Fields | null
}

const unstopped: Stop = { stop_reason: null, stop_sequence: null, stop_details: null }

const refused = { type: "refusal", category: null, explanation: null }

const stopOf = (parts: ReadonlyArray<Part>): Stop | undefined => {
  const finish = finishOf(parts)
  if (finish === undefined) return undefined
  const { stopSequence } = ofAnthropic(finish.metadata)
  if (typeof stopSequence === "string") {
    return { ...unstopped, stop_reason: "stop_sequence", stop_sequence: stopSequence }
  }
  return {
    ...unstopped,
    stop_reason: stopReasons[finish.reason],
    stop_details: finish.reason === "content-filter" ? refused : null
  }
}

/** What is counted of a response. Tokens that were read from the cache aren't among those of the input. */
const countsOf = (delivery: Delivery.Delivery, asked: Asked.Messages): Fields => {
  const { cached, input, output, reasoning } = tokensOf(delivery, asked)
  const used = (name: string): number =>
    delivery.parts.filter((part) => part.type === "tool-call" && part.providerExecuted === true && part.name === name)
      .length
  const [searches, fetches] = [used("web_search"), used("web_fetch")]
  return {
    input_tokens: Math.max(0, input - cached),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: searches + fetches === 0
      ? null
      : { web_search_requests: searches, web_fetch_requests: fetches }
  }
}

const message = (
  content: ReadonlyArray<Fields>,
  stop: Stop,
  counts: Fields,
  asked: Asked.Messages,
  id: string
): Fields => ({
  model: asked.model,
  id,
  type: "message",
  role: "assistant",
  content,
  container: null,
  diagnostics: null,
  ...stop,
  usage: {
    ...counts,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    service_tier: "standard",
    inference_geo: "not_available",
    speed: "standard"
  }
})

/** The block of thinking with which a model begins a turn that calls tools, unless the response begins with one. */
const thoughtOf = (
  { parts }: Delivery.Delivery,
  asked: Asked.Messages
): ReadonlyArray<Response.ReasoningPartEncoded> => {
  const { thinking } = asked.body
  const begins = asked.messages.at(-1)?.role === "user"
  return thinking?.type === "enabled" && begins && parts.some(Delivery.isCall) && parts[0]?.type !== "reasoning"
    ? [{ type: "reasoning", text: "" }]
    : []
}

const whole: Writing<Asked.Messages>["whole"] = (delivery, asked, ids) => {
  const parts = Delivery.toParts(delivery)
  const id = ids.next("msg_")
  const content = blocksOf([...thoughtOf(delivery, asked), ...parts], ids)
  return message(content, stopOf(parts) ?? unstopped, countsOf(delivery, asked), asked, id)
}

const frame = (event: WireEvent): SseFrame => ({ event: event.type, data: JSON.stringify(event) })

/** The events of a delivery's chunks. The last event of a chunk ends a piece. */
const blocks = (delivery: Delivery.Delivery, asked: Asked.Messages, ids: Ids): ReadonlyArray<SseFrame> => {
  const chunks = Delivery.toChunks(delivery).map((chunk) => chunk.filter(shows))
  const thoughts = thoughtOf(delivery, asked).flatMap((): ReadonlyArray<Response.StreamPartEncoded> => [
    { type: "reasoning-start", id: "thought" },
    { type: "reasoning-end", id: "thought" }
  ])
  const parts = chunks.flat()
  const events = new Events(parts, ids)
  let position = 0
  return [
    ...thoughts.flatMap((part) => events.of(part, undefined)).map(frame),
    ...chunks.flatMap((chunk) => piece(chunk.flatMap((part) => events.of(part, parts[++position])).map(frame)))
  ]
}

const frames: Writing<Asked.Messages>["frames"] = (delivery, asked, ids) => {
  const counts = countsOf(delivery, asked)
  const started = { ...counts, output_tokens: 1, output_tokens_details: null, server_tool_use: null }
  const stop = stopOf(Delivery.toChunks(delivery).flat())
  return [
    frame({ type: "message_start", message: message([], unstopped, started, asked, ids.next("msg_")) }),
    frame({ type: "ping" }),
    ...blocks(delivery, asked, ids),
    ...(stop === undefined ? [] : [
      frame({ type: "message_delta", delta: { container: null, ...stop }, usage: counts }),
      frame({ type: "message_stop" })
    ])
  ]
}

const omits: Writing<Asked.Messages>["omits"] = ({ type }) => {
  if (type === "tool-approval-request") return "a request for an approval in a message"
  return type === "file" ? "a file in a message" : undefined
}

const error = ({ code, message, type }: Refusal): WireEvent => ({
  type: "error",
  error: { type, message, ...(code === undefined ? undefined : { details: { error_code: code } }) }
})

const errorBody: Protocol["error"] = (refusal, id) => ({ ...error(refusal), request_id: id })

/**
 * The protocol of Anthropic's messages.
 *
 * @category protocols
 * @since 0.1.0
 */
export const protocol: Protocol = {
  name: "anthropic-messages",
  path: "/v1/messages",
  read: reading(read, fromRequest, { whole, frames, omits }),
  error: errorBody,
  streamError: (refusal) => frame(error(refusal)),
  headers: (id) => ({
    "anthropic-organization-id": "org-troupe",
    "anthropic-ratelimit-requests-limit": "1000",
    "anthropic-ratelimit-requests-remaining": "999",
    "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:00Z",
    "request-id": id
  })
}
