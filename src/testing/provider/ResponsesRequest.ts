/**
 * The body of a request for a response.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

type JsonFields = { readonly [key: string]: Schema.Json }

/** A part of an item's content. */
export interface ResponsesPart {
  readonly type: string
  readonly text?: string
  readonly refusal?: string
  readonly image_url?: string | null
  readonly file_data?: string
  readonly file_url?: string
  readonly filename?: string
}

/** Content of an item, text or parts. */
export type ResponsesContent = string | ReadonlyArray<ResponsesPart>

/** An item of the input, whatever its type. Without one it is a message. */
export interface ResponsesItem {
  readonly type?: string
  readonly id?: string
  readonly role?: "user" | "assistant" | "system" | "developer"
  readonly content?: ResponsesContent | null
  readonly call_id?: string
  readonly name?: string
  readonly arguments?: string
  readonly output?: ResponsesContent
  readonly summary?: ReadonlyArray<{ readonly type: string; readonly text: string }>
  readonly encrypted_content?: string | null
}

/** A tool that a request offers. One of another type than `"function"` is the provider's own. */
interface ResponsesTool {
  readonly type: string
  readonly name?: string
  readonly description?: string | null
  readonly parameters?: JsonFields | null
  readonly strict?: boolean | null
}

interface Named {
  readonly type: string
  readonly name: string
}

interface Allowed {
  readonly type: "allowed_tools"
  readonly mode: "auto" | "required"
  readonly tools: ReadonlyArray<Named>
}

/**
 * The body of a request for a response, as far as it matters here. It may hold more.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResponsesRequest {
  readonly model: string
  readonly input: string | ReadonlyArray<ResponsesItem>
  readonly instructions?: string | null
  readonly tools?: ReadonlyArray<ResponsesTool> | null
  readonly tool_choice?: "auto" | "none" | "required" | Named | Allowed | null
  readonly include?: ReadonlyArray<string> | null
  readonly stream?: boolean | null
  readonly [option: string]: unknown
}

/** The items of an input. */
export const itemsOf = ({ input }: ResponsesRequest): ReadonlyArray<ResponsesItem> =>
  typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input

/** The type of an item. */
export const typeOf = ({ type }: ResponsesItem): string => type ?? "message"

/** Whether an item answers a call. */
export const isOutput = (item: ResponsesItem): boolean => typeOf(item).endsWith("_output")
