/** What stands in the bodies that arrive, by protocol: read from JSON as it was sent, and from nothing else. */
import type { Protocol } from "./providers.ts"

type Json = string | number | boolean | null | undefined | ReadonlyArray<Json> | { readonly [key: string]: Json }
export type Fields = { readonly [key: string]: Json }

export const fields = (value: unknown): Fields => typeof value === "object" && value !== null ? value as Fields : {}
export const list = (value: unknown): ReadonlyArray<Fields> => Array.isArray(value) ? value.map(fields) : []
export const text = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? ""

/** The words of a content, which is text or parts. */
const words = (content: Json): string =>
  typeof content === "string" ? content : list(content).map((part) => text(part["text"])).join("")

/** A body as any protocol has it. */
export interface Body {
  readonly system: string
  readonly results: ReadonlyArray<{ readonly id: string; readonly text: string; readonly isError?: Json }>
  readonly thoughts: ReadonlyArray<Json>
  readonly tools: ReadonlyArray<{ readonly name: Json; readonly description: Json; readonly parameters: Fields }>
  readonly choice: Json
  /** The schema of an answer. */
  readonly format: Fields
  readonly settings: { readonly maxTokens: Json; readonly temperature: Json; readonly topP: Json }
  /** The parts of the user's first message. */
  readonly said: Json
}

export const chat = (body: unknown): Body => {
  const sent = fields(body)
  const messages = list(sent["messages"])
  const of = (role: string) => messages.filter((message) => message["role"] === role)
  return {
    system: words([...of("developer"), ...of("system")][0]?.["content"]),
    results: of("tool").map((message) => ({ id: text(message["tool_call_id"]), text: text(message["content"]) })),
    thoughts: of("assistant").flatMap((message) =>
      message["reasoning_content"] ?? message["reasoning_details"] ?? message["reasoning"] ??
        list(message["content"]).filter(({ type }) => type === "thinking")
    ),
    tools: list(sent["tools"]).map((tool) => {
      const { description, name, parameters } = fields(tool["function"])
      return { name, description, parameters: fields(parameters) }
    }),
    choice: sent["tool_choice"],
    format: fields(fields(fields(sent["response_format"])["json_schema"])["schema"]),
    settings: {
      maxTokens: sent["max_completion_tokens"] ?? sent["max_tokens"],
      temperature: sent["temperature"],
      topP: sent["top_p"]
    },
    said: of("user")[0]?.["content"]
  }
}

const responses = (body: unknown): Body => {
  const sent = fields(body)
  const items = list(sent["input"])
  const ofRole = (role: string) => items.filter((item) => item["role"] === role)
  return {
    system: text([...ofRole("developer"), ...ofRole("system")][0]?.["content"]),
    results: items.filter(({ type }) => type === "function_call_output").map((item) => ({
      id: text(item["call_id"]),
      text: text(item["output"])
    })),
    thoughts: items.filter(({ type }) => type === "reasoning"),
    tools: list(sent["tools"]).map((tool) => ({
      name: tool["name"] ?? tool["type"],
      description: tool["description"],
      parameters: fields(tool["parameters"])
    })),
    choice: sent["tool_choice"],
    format: fields(fields(fields(sent["text"])["format"])["schema"]),
    settings: { maxTokens: sent["max_output_tokens"], temperature: sent["temperature"], topP: sent["top_p"] },
    said: ofRole("user")[0]?.["content"]
  }
}

const messages = (body: unknown): Body => {
  const sent = fields(body)
  const all = list(sent["messages"])
  const blocks = (role: string) =>
    all.filter((message) => message["role"] === role).flatMap((message) => list(message["content"]))
  return {
    system: list(sent["system"]).map((block) => text(block["text"])).join(""),
    results: blocks("user").filter(({ type }) => type === "tool_result").map((block) => ({
      id: text(block["tool_use_id"]),
      text: text(block["content"]),
      isError: block["is_error"]
    })),
    thoughts: blocks("assistant").filter(({ type }) => type === "thinking"),
    tools: list(sent["tools"]).map((tool) => ({
      name: tool["name"],
      description: tool["description"],
      parameters: fields(tool["input_schema"])
    })),
    choice: sent["tool_choice"],
    format: fields(fields(fields(sent["output_config"])["format"] ?? sent["output_format"])["schema"]),
    settings: { maxTokens: sent["max_tokens"], temperature: sent["temperature"], topP: sent["top_p"] },
    said: all[0]?.["content"]
  }
}

export const bodies: Readonly<Record<Protocol, (body: unknown) => Body>> = {
  "openai-chat": chat,
  "openai-responses": responses,
  "anthropic-messages": messages
}
