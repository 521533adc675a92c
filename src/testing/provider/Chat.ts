/**
 * OpenAI's chat completions, as `POST /v1/chat/completions` speaks them.
 *
 * Reasoning is sent as `reasoning_content`, as providers do that follow OpenAI's protocol and show reasoning. If a request asks for several
 * choices, they all say the same.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import * as Delivery from "../Delivery.ts"
import type * as Asked from "./Asked.ts"
import { fromRequest } from "./ChatAsked.ts"
import { read } from "./ChatRefusal.ts"
import { error, headers } from "./OpenAiRefusal.ts"
import { finishOf, type Part } from "./Part.ts"
import { type Fields, type Ids, piece, type Protocol, reading, type SseFrame, type Writing } from "./Protocol.ts"
import { tokensOf } from "./Tokens.ts"

const finishReasons: Readonly<Record<Response.FinishReason, string>> = {
  "stop": "stop",
  "length": "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
  "error": "stop",
  "pause": "stop",
  "other": "stop",
  "unknown": "stop"
}

/** The usage of a response. The tokens of each choice count, unless the script sets the output tokens itself. */
const usageOf = (delivery: Delivery.Delivery, asked: Asked.Chat): Fields => {
  const { cached, input, ...each } = tokensOf(delivery, asked)
  const times = delivery.usage?.output === undefined ? choicesOf(asked) : 1
  const [output, reasoning] = [each.output * times, each.reasoning * times]
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0
    }
  }
}

const choicesOf = ({ body }: Asked.Chat): number => body.n ?? 1

const reasonOf = (parts: ReadonlyArray<Part>): string | null => {
  const finish = finishOf(parts)
  return finish === undefined ? null : finishReasons[finish.reason]
}

/** A citation of a URL, at the end of what is said so far. */
const citation = (part: Part, position: number): ReadonlyArray<Fields> =>
  part.type === "source" && part.sourceType === "url"
    ? [{
      type: "url_citation",
      url_citation: { start_index: position, end_index: position, url: part.url, title: part.title }
    }]
    : []

const common = (asked: Asked.Chat, ids: Ids, object: string): Fields => ({
  id: ids.next("chatcmpl-"),
  object,
  created: ids.created,
  model: asked.model,
  service_tier: "default",
  system_fingerprint: "fp_troupe"
})

const whole: Writing<Asked.Chat>["whole"] = (delivery, asked, ids) => {
  const parts = Delivery.toParts(delivery)
  let content = ""
  let reasoning = ""
  const annotations: Array<Fields> = []
  for (const part of parts) {
    if (part.type === "text") content += part.text
    if (part.type === "reasoning") reasoning += part.text
    annotations.push(...citation(part, content.length))
  }
  const calls = parts.filter(Delivery.isCall).map(({ id, name, params }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(params ?? {}) }
  }))
  const message = {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    ...(reasoning === "" ? undefined : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? undefined : { tool_calls: calls }),
    refusal: null,
    annotations
  }
  return {
    ...common(asked, ids, "chat.completion"),
    choices: Array.from(
      { length: choicesOf(asked) },
      (_, index) => ({ index, message, logprobs: null, finish_reason: reasonOf(parts) })
    ),
    usage: usageOf(delivery, asked)
  }
}

/** The deltas of a stream's parts. It counts calls for their indices, and characters for the positions of citations. */
const deltas = () => {
  const calls = new Map<string, number>()
  let position = 0
  return (part: Response.StreamPartEncoded): ReadonlyArray<Fields> => {
    switch (part.type) {
      case "text-delta":
        position += part.delta.length
        return [{ content: part.delta }]
      case "reasoning-delta":
        return [{ reasoning_content: part.delta }]
      case "tool-params-start": {
        if (part.providerExecuted === true) return []
        const index = calls.size
        calls.set(part.id, index)
        const called = { name: part.name, arguments: "" }
        return [{ tool_calls: [{ index, id: part.id, type: "function", function: called }] }]
      }
      case "tool-params-delta": {
        const index = calls.get(part.id)
        return index === undefined ? [] : [{ tool_calls: [{ index, function: { arguments: part.delta } }] }]
      }
      case "tool-call": {
        if (calls.has(part.id) || !Delivery.isCall(part)) return []
        const index = calls.size
        calls.set(part.id, index)
        const called = { name: part.name, arguments: JSON.stringify(part.params ?? {}) }
        return [{ tool_calls: [{ index, id: part.id, type: "function", function: called }] }]
      }
      case "source": {
        const annotations = citation(part, position)
        return annotations.length === 0 ? [] : [{ annotations }]
      }
      default:
        return []
    }
  }
}

const frames: Writing<Asked.Chat>["frames"] = (delivery, asked, ids) => {
  const envelope = common(asked, ids, "chat.completion.chunk")
  const includesUsage = asked.body.stream_options?.include_usage === true
  const noUsage = includesUsage ? { usage: null } : undefined
  /** A delta of each of the choices, which all say the same. */
  const framesOf = (delta: Fields, finish_reason: string | null = null): ReadonlyArray<SseFrame> =>
    Array.from({ length: choicesOf(asked) }, (_, index) => {
      const choices = [{ index, delta, logprobs: null, finish_reason }]
      return { data: JSON.stringify({ ...envelope, choices, ...noUsage }) }
    })
  const chunks = Delivery.toChunks(delivery)
  const toDeltas = deltas()
  const speaks = delivery.parts.some((part) => part.type === "text") || !delivery.parts.some(Delivery.isCall)
  const sent = [
    ...framesOf({ role: "assistant", content: speaks ? "" : null, refusal: null }),
    ...chunks.flatMap((chunk) => piece(chunk.flatMap(toDeltas).flatMap((delta) => framesOf(delta))))
  ]
  const reason = reasonOf(chunks.flat())
  if (reason !== null) sent.push(...framesOf({}, reason))
  if (includesUsage) {
    sent.push({ data: JSON.stringify({ ...envelope, choices: [], usage: usageOf(delivery, asked) }) })
  }
  sent.push({ data: "[DONE]" })
  return sent
}

const omits: Writing<Asked.Chat>["omits"] = (part) => {
  if (part.type === "file") return "a file in a chat completion"
  if (part.type === "tool-approval-request") return "a request for an approval in a chat completion"
  return "providerExecuted" in part && part.providerExecuted === true
    ? `what the provider itself does with "${part.name}" in a chat completion`
    : undefined
}

/**
 * The protocol of OpenAI's chat completions.
 *
 * @category protocols
 * @since 0.1.0
 */
export const protocol: Protocol = {
  name: "openai-chat",
  path: "/v1/chat/completions",
  read: reading(read, fromRequest, { whole, frames, omits }),
  error,
  streamError: (refusal) => ({ data: JSON.stringify(error(refusal)) }),
  headers: (id) => ({
    ...headers(id),
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-reset-requests": "120ms"
  })
}
