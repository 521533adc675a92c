/**
 * How a mock response is sent: its parts at once, or the same in a stream, chunk by chunk.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as JsonValue from "../domain/JsonValue.ts"
import type { RequestUsage } from "../domain/Usage.ts"
import type { MockResponse, ResponsePart } from "./MockResponse.ts"

/** A response as it is sent: its calls have ids. */
export interface Delivery extends MockResponse {
  readonly parts: ReadonlyArray<Delivered>
}

type Delivered =
  | Exclude<ResponsePart, { readonly type: "tool-call" | "tool-result" | "tool-approval-request" }>
  | Response.ToolCallPartEncoded
  | Response.ToolResultPartEncoded
  | Response.ToolApprovalRequestPartEncoded

/** Parts that are sent together. */
export type Chunk = NonEmptyReadonlyArray<Response.StreamPartEncoded>

const isDelivered = (part: ResponsePart): part is Delivered => {
  switch (part.type) {
    case "tool-call":
      return part.id !== undefined && part.gives === undefined
    case "tool-result":
      return part.id !== undefined
    case "tool-approval-request":
      return part.toolCallId !== undefined && part.approvalId !== undefined
    default:
      return true
  }
}

/**
 * Gives an id to each call that has none. A result, or a request for an approval, that has none gets the id of the call before it. The
 * scripted results of calls are removed, because they aren't sent.
 */
export const address = (self: MockResponse, nextId: () => string): Delivery => {
  // Every part has been checked.
  if (self.parts.every(isDelivered)) return self as Delivery
  let last = ""
  return {
    ...self,
    parts: self.parts.map((part): Delivered => {
      if (part.type === "tool-result") return { ...part, id: part.id ?? last }
      if (part.type === "tool-approval-request") {
        const { approvalId, toolCallId = last } = part
        return { ...part, toolCallId, approvalId: approvalId ?? `mcpr_${toolCallId}` }
      }
      if (part.type !== "tool-call") return part
      last = part.id ?? nextId()
      const { gives: _, ...sent } = part
      return { ...sent, id: last }
    })
  }
}

const noUsage = { inputTokens: {}, outputTokens: {} }

const encodeUsage = (usage: RequestUsage): Response.FinishPartEncoded["usage"] => ({
  inputTokens: { total: usage.input, cacheRead: usage.cached },
  outputTokens: { total: usage.output, reasoning: usage.reasoning }
})

type AnyPart = ResponsePart | Response.PartEncoded | Response.StreamPartEncoded

/** Whether a part is a call that the client runs. */
export const isCall = <P extends AnyPart>(part: P): part is Extract<P, { readonly type: "tool-call" }> =>
  part.type === "tool-call" && part.providerExecuted !== true

const isRaw = (part: ResponsePart): boolean => part.type === "raw"

/** The finish of a response: none if it has raw parts, which must contain their own. */
const finish = (self: Delivery): ReadonlyArray<Response.FinishPartEncoded> =>
  self.parts.some(isRaw) ? [] : [{
    type: "finish",
    reason: self.finishReason ?? (self.parts.some(isCall) ? "tool-calls" : "stop"),
    usage: self.usage === undefined ? noUsage : encodeUsage(self.usage),
    ...(self.metadata === undefined ? undefined : { metadata: self.metadata })
  }]

/** What a response says of itself: its model, if that has a name. */
const about = ({ model }: Delivery): ReadonlyArray<Response.ResponseMetadataPartEncoded> =>
  model === undefined ? [] : [{ type: "response-metadata", modelId: model }]

/** All parts of a response, as they are sent at once. */
export const toParts = (self: Delivery): Array<Response.PartEncoded> => [
  ...about(self),
  ...self.parts.flatMap((part) => part.type === "raw" ? part.parts : [part]),
  ...finish(self)
]

/** Cuts a text by lengths in characters, the last of which repeats. */
const cut = (text: string, lengths: NonEmptyReadonlyArray<number>): ReadonlyArray<string> => {
  const characters = Array.from(text)
  const pieces: Array<string> = []
  for (let at = 0, index = 0; at < characters.length; index++) {
    const length = Math.floor(lengths[Math.min(index, lengths.length - 1)]!)
    const end = at + (length >= 1 ? length : index < lengths.length - 1 ? 0 : 1)
    pieces.push(characters.slice(at, end).join(""))
    at = end
  }
  return pieces
}

const words = (text: string): ReadonlyArray<string> => text.match(/\s*\S+|\s+$/g) ?? []

const paramsLengths: NonEmptyReadonlyArray<number> = [16]

/** A block that is streamed: `start` goes with the first of its deltas, `end` with the last. */
const block = (
  start: Response.StreamPartEncoded,
  deltas: ReadonlyArray<Response.StreamPartEncoded>,
  end: Chunk
): ReadonlyArray<Chunk> => {
  if (deltas.length < 2) return [[start, ...deltas, ...end]]
  const chunks: Array<Chunk> = deltas.map((delta) => [delta])
  chunks[0] = [start, deltas[0]!]
  chunks[deltas.length - 1] = [deltas[deltas.length - 1]!, ...end]
  return chunks
}

/** Returns the JSON that agents make of a value. `undefined` stays as it is. */
const jsonOf = (value: unknown): unknown => value === undefined ? undefined : JsonValue.fromUnknown(value)

/** Returns a response as it can be sent over a wire: parameters and results that aren't JSON become the JSON that shows them. */
export const toJson = (self: Delivery): Delivery => ({
  ...self,
  parts: self.parts.map((part) =>
    part.type === "tool-call"
      ? { ...part, params: jsonOf(part.params) }
      : part.type === "tool-result"
      ? { ...part, result: jsonOf(part.result) }
      : part
  )
})

const callChunks = (part: Response.ToolCallPartEncoded, lengths: NonEmptyReadonlyArray<number>) => {
  const { id, name } = part
  return block(
    { type: "tool-params-start", id, name, providerExecuted: part.providerExecuted === true },
    cut(JSON.stringify(jsonOf(part.params)) ?? "", lengths).map((delta) => ({ type: "tool-params-delta", id, delta })),
    [{ type: "tool-params-end", id }, part]
  )
}

const chunksOf = (part: Delivered, index: number, lengths: MockResponse["chunks"]): ReadonlyArray<Chunk> => {
  switch (part.type) {
    case "text":
    case "reasoning": {
      const { type } = part
      const id = `${type}_${index}`
      const pieces = lengths === undefined ? words(part.text) : cut(part.text, lengths)
      return block({ type: `${type}-start`, id }, pieces.map((delta) => ({ type: `${type}-delta`, id, delta })), [
        { type: `${type}-end`, id, ...(part.metadata === undefined ? undefined : { metadata: part.metadata }) }
      ])
    }
    case "tool-call":
      return callChunks(part, lengths ?? paramsLengths)
    case "raw":
      return part.stream.map((part): Chunk => [part])
    default:
      return [[part]]
  }
}

/** The chunks of a streamed response: those before it breaks or hangs, or else all of them and the finish. */
export const toChunks = (self: Delivery): ReadonlyArray<Chunk> => {
  const chunks = self.parts.flatMap((part, index) => chunksOf(part, index, self.chunks))
  const sent = self.failure === undefined
    ? chunks.concat([...about(self), ...finish(self)].map((part): Chunk => [part]))
    : chunks.slice(0, self.failure.after)
  return self.hang === undefined ? sent : sent.slice(0, self.hang)
}

/** Whether a stream ends, even if by a failure. It doesn't if the response hangs before that. */
export const ends = (self: Delivery): boolean =>
  self.hang === undefined || (self.failure !== undefined && self.failure.after <= self.hang)
