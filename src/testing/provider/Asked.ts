/**
 * What a request asks for, read from its body, whatever the protocol.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import type * as Schema from "effect/Schema"
import type { ChatRequest } from "./ChatRequest.ts"
import type { Format } from "./Format.ts"
import type { MessagesRequest } from "./MessagesRequest.ts"
import type { ResponsesRequest } from "./ResponsesRequest.ts"

/** The role and the texts of a message, whatever the protocol. Results of tools have the role `tool`. */
export interface WireMessage {
  readonly role: "system" | "user" | "assistant" | "tool"
  /** Each part of text apart, in order. */
  readonly texts: ReadonlyArray<string>
}

/** What a request of one protocol asks for. */
export interface AskedBy<Name extends string, Body> {
  readonly protocol: Name
  /** The body as it arrived. */
  readonly body: Body
  readonly model: string
  readonly isStreaming: boolean
  readonly system: string
  /** The messages, oldest first. In the responses API, function calls are messages of the assistant, and their outputs those of a tool. */
  readonly messages: ReadonlyArray<WireMessage>
  /** The conversation as a prompt of `effect/ai`. */
  readonly prompt: Prompt.Prompt
  /** The tools that are offered, with the JSON schema of their parameters. */
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  /** The form of the answer: text, or JSON by a schema. */
  readonly responseFormat: Format
}

/** The bodies of requests, by protocol. */
export interface Bodies {
  readonly "openai-chat": ChatRequest
  readonly "openai-responses": ResponsesRequest
  readonly "anthropic-messages": MessagesRequest
}

/** What a request of a protocol asks for. */
type Of<Name extends keyof Bodies> = AskedBy<Name, Bodies[Name]>

/**
 * What a request asks for, read from its body.
 *
 * @category models
 * @since 0.1.0
 */
export type Asked = { [Name in keyof Bodies]: Of<Name> }[keyof Bodies]

/** What a request for a chat completion asks for. */
export type Chat = Of<"openai-chat">

/** What a request for a response asks for. */
export type Responses = Of<"openai-responses">

/** What a request for a message asks for. */
export type Messages = Of<"anthropic-messages">

/** What is made of a request once, when it is first read. */
interface Made {
  readonly prompt: () => ReadonlyArray<Prompt.MessageEncoded>
  readonly tools: () => ReadonlyArray<Tool.Any>
  readonly responseFormat: () => Format
}

/** Makes what a request asks for. Its prompt, its tools and its format are made when they are first read. */
export const make = <Name extends string, Body>(
  read: Omit<AskedBy<Name, Body>, keyof Made | "system"> & { readonly instructions?: string },
  made: Made
): AskedBy<Name, Body> => {
  const { instructions = "", ...asked } = read
  const system = asked.messages.flatMap(({ role, texts }) => role === "system" ? [texts.join("\n")] : [])
  let prompt: Prompt.Prompt | undefined
  let tools: ReadonlyArray<Tool.Any> | undefined
  let responseFormat: Format | undefined
  return {
    ...asked,
    system: (instructions === "" ? system : [instructions, ...system]).join("\n\n"),
    get prompt() {
      return prompt ??= Prompt.make(made.prompt())
    },
    get tools() {
      return tools ??= made.tools()
    },
    get responseFormat() {
      return responseFormat ??= made.responseFormat()
    }
  }
}

const anyParameters: Schema.JsonObject = { type: "object", properties: {} }

/** A tool that the client runs. */
export const tool = (
  name: string,
  description: string | null | undefined,
  parameters: Schema.JsonObject | null | undefined
): Tool.Any =>
  Tool.dynamic(name, {
    parameters: parameters ?? anyParameters,
    ...(typeof description === "string" ? { description } : undefined)
  })

/** A tool that the provider runs. */
export const ownTool = (provider: string, type: string, name: string): Tool.Any =>
  Tool.providerDefined({ id: `${provider}.${type}`, customName: name, providerName: name })()

/** The result of a tool. If its text is JSON, it is parsed, since clients send results as JSON. */
export const resultOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const dataUrl = /^data:([^;,]+)[^,]*,(.*)$/s

/** A file at a URL. The URL may hold the file's data itself. */
export const fileOf = (url: string, mediaType: string, fileName?: string | null): Prompt.FilePartEncoded => {
  const [, type, data] = dataUrl.exec(url) ?? []
  const named = typeof fileName === "string" ? { fileName } : undefined
  return type === undefined || data === undefined
    ? { type: "file", mediaType, data: URL.canParse(url) ? new URL(url) : url, ...named }
    : { type: "file", mediaType: type, data, ...named }
}

/** A file that the provider keeps, given by its id. The id is its data, and is also in its options under the provider's name. */
export const fileById = (
  provider: "openai" | "anthropic",
  fileId: string,
  mediaType: string,
  fileName?: string | null
): Prompt.FilePartEncoded => ({
  type: "file",
  mediaType,
  data: fileId,
  ...(typeof fileName === "string" ? { fileName } : undefined),
  options: { [provider]: { fileId } }
})
