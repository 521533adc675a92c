/**
 * The body of a request for a message.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

type JsonFields = { readonly [key: string]: Schema.Json }

/** Where an image or a document comes from. */
interface MessagesSource {
  readonly type: string
  readonly media_type?: string
  readonly data?: string
  readonly url?: string
  readonly content?: MessagesContent
}

/** A block of a message's content, whatever its type. */
export interface MessagesBlock {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly signature?: string
  readonly data?: string
  readonly id?: string
  readonly name?: string
  readonly input?: Schema.Json
  readonly tool_use_id?: string
  readonly content?: MessagesContent | JsonFields
  readonly is_error?: boolean
  readonly source?: MessagesSource
  readonly title?: string | null
}

/** Content of a message, text or blocks. */
export type MessagesContent = string | ReadonlyArray<MessagesBlock>

/** A message of a request for a message. */
export interface MessagesMessage {
  readonly role: "user" | "assistant" | "system"
  readonly content: MessagesContent
}

/** A tool that a request offers. One with another type than `"custom"` is the provider's own. */
interface MessagesTool {
  readonly name: string
  readonly type?: string | null
  readonly description?: string
  readonly input_schema?: JsonFields
}

/**
 * The body of a request for a message, as far as it matters here. It may hold more.
 *
 * @category models
 * @since 0.1.0
 */
export interface MessagesRequest {
  readonly model: string
  readonly max_tokens: number
  readonly messages: ReadonlyArray<MessagesMessage>
  readonly system?: MessagesContent
  readonly tools?: ReadonlyArray<MessagesTool>
  readonly tool_choice?: { readonly type: "auto" | "any" | "none" } | { readonly type: "tool"; readonly name: string }
  readonly thinking?: { readonly type: string; readonly budget_tokens?: number }
  readonly stream?: boolean
  readonly [option: string]: unknown
}

/** The blocks of a content. */
export const blocksOf = (content: MessagesContent): ReadonlyArray<MessagesBlock> =>
  typeof content === "string" ? [{ type: "text", text: content }] : content

/** Whether a block is a result of a tool that the client runs. */
export const isResult = ({ type }: MessagesBlock): boolean => type === "tool_result"
