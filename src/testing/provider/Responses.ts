/**
 * OpenAI's responses, as `POST /v1/responses` speaks them.
 *
 * Nothing is stored. A conversation comes whole with each request: `previous_response_id` is never found, and an
 * `item_reference` stands for an item of the kind that its id says.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import type * as Schema from "effect/Schema"
import * as Delivery from "../Delivery.ts"
import type * as Asked from "./Asked.ts"
import { error, headers } from "./OpenAiRefusal.ts"
import { finishOf, type Part } from "./Part.ts"
import {
  type Fields,
  type Ids,
  piece,
  type Protocol,
  reading,
  type SseFrame,
  type WireEvent,
  type Writing
} from "./Protocol.ts"
import { fromRequest } from "./ResponsesAsked.ts"
import { Events } from "./ResponsesEvents.ts"
import { Items, itemsOf, shows } from "./ResponsesItems.ts"
import { read } from "./ResponsesRefusal.ts"
import type { ResponsesRequest } from "./ResponsesRequest.ts"
import { tokensOf } from "./Tokens.ts"

const incomplete: Partial<Record<Response.FinishReason, string>> = {
  "length": "max_output_tokens",
  "content-filter": "content_filter"
}

const usageOf = (delivery: Delivery.Delivery, asked: Asked.Responses): Fields => {
  const { cached, input, output, reasoning } = tokensOf(delivery, asked)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output
  }
}

/** What a response says of its request. */
const echoOf = (body: ResponsesRequest): Fields => ({
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  max_tool_calls: body.max_tool_calls ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: null,
  prompt_cache_key: body.prompt_cache_key ?? null,
  reasoning: { effort: null, summary: null, ...body.reasoning },
  safety_identifier: body.safety_identifier ?? null,
  store: body.store ?? true,
  temperature: body.temperature ?? 1,
  text: { format: { type: "text" }, verbosity: "medium", ...body.text },
  tool_choice: body.tool_choice ?? "auto",
  tools: body.tools ?? [],
  top_logprobs: body.top_logprobs ?? 0,
  top_p: body.top_p ?? 1,
  truncation: body.truncation ?? "disabled",
  user: body.user ?? null
})

/** The response as it is at first. */
const begun = (asked: Asked.Responses, id: string, created: number): Fields => ({
  id,
  object: "response",
  created_at: created,
  status: "in_progress",
  background: false,
  completed_at: null,
  error: null,
  incomplete_details: null,
  model: asked.model,
  output: [],
  service_tier: "auto",
  usage: null,
  ...echoOf(asked.body)
})

/** The response with what it says, and how it finished if it did. */
const ended = (
  response: Fields,
  output: ReadonlyArray<Fields>,
  parts: ReadonlyArray<Part>,
  usage: Fields
): Fields => {
  const finish = finishOf(parts)
  if (finish === undefined) return { ...response, output }
  const reason = incomplete[finish.reason]
  return {
    ...response,
    status: reason === undefined ? "completed" : "incomplete",
    completed_at: reason === undefined ? response.created_at! : null,
    incomplete_details: reason === undefined ? null : { reason },
    output,
    service_tier: "default",
    usage
  }
}

const itemsFor = (parts: ReadonlyArray<Part>, asked: Asked.Responses, ids: Ids): Items =>
  new Items(
    parts,
    ids,
    asked.body.include?.includes("reasoning.encrypted_content") === true
  )

const whole: Writing<Asked.Responses>["whole"] = (delivery, asked, ids) => {
  const parts = Delivery.toParts(delivery)
  const response = begun(asked, ids.next("resp_"), ids.created)
  return ended(response, itemsOf(parts, itemsFor(parts, asked, ids)), parts, usageOf(delivery, asked))
}

const frames: Writing<Asked.Responses>["frames"] = (delivery, asked, ids) => {
  let number = 0
  const frame = ({ type, ...event }: WireEvent): SseFrame => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: number++, ...event })
  })
  const chunks = Delivery.toChunks(delivery)
  const all = chunks.flat()
  const response = begun(asked, ids.next("resp_"), ids.created)
  const events = new Events(all, itemsFor(all, asked, ids))
  const shown = all.filter(shows)
  let position = 0
  const sent = [
    frame({ type: "response.created", response }),
    frame({ type: "response.in_progress", response }),
    ...chunks.flatMap((chunk) =>
      piece(chunk.filter(shows).flatMap((part) => events.of(part, shown[++position])).map(frame))
    )
  ]
  const last = ended(response, events.done, all, usageOf(delivery, asked))
  return last.status === "in_progress"
    ? sent
    : [...sent, frame({ type: `response.${last.status as string}`, response: last })]
}

const omits: Writing<Asked.Responses>["omits"] = (part) =>
  part.type === "file" && !part.mediaType.startsWith("image/")
    ? `a file of the type ${part.mediaType} in a response`
    : undefined

/**
 * The protocol of OpenAI's responses.
 *
 * @category protocols
 * @since 0.1.0
 */
export const protocol: Protocol = {
  name: "openai-responses",
  path: "/v1/responses",
  read: reading(read, fromRequest, { whole, frames, omits }),
  error,
  // OpenAI's reference has the fields in the event, and some clients expect them inside of `error`, so they are in both.
  streamError: ({ code, message, param, type }, index) => {
    const said = { code: code ?? type, message, param: param ?? null }
    const event: Schema.Json = { type: "error", sequence_number: index, ...said, error: { type, ...said } }
    return { event: "error", data: JSON.stringify(event) }
  },
  headers
}
