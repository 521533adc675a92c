/**
 * What a mock provider needs of a protocol: to read a request, and to write a response as the provider does.
 *
 * A protocol knows nothing of scripts, of waiting or of breaking off: it is given a response and writes all of it.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Delivery } from "../Delivery.ts"

/** A message of a request, whatever the protocol: an assistant's holds its calls, a tool's the results. */
export interface WireMessage {
  readonly role: "system" | "user" | "assistant" | "tool"
  /** Each part of text apart, in order. */
  readonly texts: ReadonlyArray<string>
}

/**
 * What a request asks for, read from its body.
 *
 * @category models
 * @since 0.1.0
 */
export interface Asked {
  readonly protocol: Protocol["name"]
  /** As it arrived. */
  readonly body: Schema.Json
  readonly model: string
  readonly isStreaming: boolean
  /** Whether a stream ends with its usage. */
  readonly includesUsage: boolean
  readonly system: string
  /** In the responses API, function calls are messages of the assistant, and their outputs those of a tool. */
  readonly messages: ReadonlyArray<WireMessage>
  /** The same as `effect/ai` has it. */
  readonly prompt: Prompt.Prompt
  /** With the JSON schema of their parameters. */
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice: LanguageModel.ToolChoice<string>
}

/**
 * Why a provider refuses a request, in its own words.
 *
 * @category models
 * @since 0.1.0
 */
export interface Refusal {
  readonly status: number
  /** The provider's type of error, as `"invalid_request_error"`. */
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly param?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** An event of a stream, as the wire has it. */
export interface SseFrame {
  readonly event?: string
  readonly data: string
  /** It ends a chunk of `Delivery.toChunks`. A stream breaks off or hangs after a number of these. */
  readonly isPiece?: true
}

/** Ids and times of one response, deterministic: a function of the request's body and of the place in the response. */
export interface Ids {
  readonly next: (prefix: string) => string
  /** In seconds, as the providers have it. */
  readonly created: number
}

/**
 * How a provider reads a request and writes its response.
 *
 * @category models
 * @since 0.1.0
 */
export interface Protocol {
  readonly name: "openai-chat" | "openai-responses" | "anthropic-messages"
  readonly path: string
  /** Reads a body, or refuses it where the provider would. */
  readonly read: (body: unknown) => Result.Result<Asked, Refusal>
  /** The body of a response that isn't streamed. */
  readonly whole: (delivery: Delivery, asked: Asked, ids: Ids) => Schema.Json
  /** The stream of a response that doesn't fail, to its end. */
  readonly frames: (delivery: Delivery, asked: Asked, ids: Ids) => ReadonlyArray<SseFrame>
  /** The body of an error, in a response with this id. */
  readonly error: (refusal: Refusal, id: string) => Schema.Json
  /** An error in the middle of a stream, behind so many frames, where the protocol has one. */
  readonly streamError: (refusal: Refusal, index: number) => SseFrame | undefined
  /** The headers of any response, as its id and the version. */
  readonly headers: (id: string) => Readonly<Record<string, string>>
}
