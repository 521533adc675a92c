/**
 * The body of a request for a chat completion.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

interface ContentPart {
  readonly type: string
  readonly text?: string
  readonly refusal?: string
  readonly image_url?: { readonly url: string }
  readonly input_audio?: { readonly data: string; readonly format: string }
  readonly file?: { readonly filename?: string; readonly file_data?: string; readonly file_id?: string }
}

/** Content of a message, text or parts. */
export type ChatContent = string | ReadonlyArray<ContentPart> | null

/** A call in a message of the assistant. */
export interface ChatToolCall {
  readonly id: string
  readonly type: "function"
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A message of a request for a chat completion. */
export interface ChatMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool" | "function"
  readonly content?: ChatContent
  readonly name?: string
  readonly reasoning_content?: string | null
  readonly refusal?: string | null
  readonly tool_calls?: ReadonlyArray<ChatToolCall>
  readonly tool_call_id?: string
}

/** A tool that a request for a chat completion offers. */
export interface ChatTool {
  readonly type: "function"
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: { readonly [key: string]: Schema.Json }
    readonly strict?: boolean | null
  }
}

/** Names a tool. */
export interface NamedChoice {
  readonly type: "function"
  readonly function: { readonly name: string }
}

interface AllowedChoice {
  readonly type: "allowed_tools"
  readonly allowed_tools: { readonly mode: "auto" | "required"; readonly tools: ReadonlyArray<NamedChoice> }
}

/**
 * The body of a request for a chat completion, as far as it matters here. It may hold more.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChatRequest {
  readonly model: string
  readonly messages: ReadonlyArray<ChatMessage>
  readonly tools?: ReadonlyArray<ChatTool>
  readonly tool_choice?: "auto" | "none" | "required" | NamedChoice | AllowedChoice
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly [option: string]: unknown
}
