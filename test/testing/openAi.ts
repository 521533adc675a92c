import { Effect, Layer, Stream } from "effect"
import { AiError, LanguageModel, type Prompt, type Response, Tool } from "effect/ai"
import OpenAI, { APIError } from "openai"
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
  ChatCompletionTool
} from "openai/resources/chat/completions"
import type { CompletionUsage } from "openai/resources/completions"

/** What OpenAI's types leave out, and other providers send. */
interface Thought {
  readonly reasoning_content?: string
}

const finishReasons: Readonly<Record<string, Response.FinishReason>> = {
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
  tool_calls: "tool-calls"
}

const textOf = (parts: ReadonlyArray<{ readonly type: string }>, type: "text" | "reasoning"): string =>
  parts.flatMap((part) => part.type === type ? [(part as Prompt.TextPart).text] : []).join("")

const messagesOf = (message: Prompt.Message): ReadonlyArray<ChatCompletionMessageParam> => {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }]
    case "user":
      return [{ role: "user", content: textOf(message.content, "text") }]
    case "assistant": {
      const calls = message.content.flatMap((part) =>
        part.type === "tool-call"
          ? [{
            id: part.id,
            type: "function" as const,
            function: { name: part.name, arguments: JSON.stringify(part.params) }
          }]
          : []
      )
      const thought: Thought = { reasoning_content: textOf(message.content, "reasoning") }
      return [{
        role: "assistant",
        content: textOf(message.content, "text"),
        ...(calls.length === 0 ? undefined : { tool_calls: calls }),
        ...thought
      }]
    }
    case "tool":
      return message.content.flatMap((part) =>
        part.type === "tool-result"
          ? [{ role: "tool" as const, tool_call_id: part.id, content: JSON.stringify(part.result) }]
          : []
      )
  }
}

const toolOf = (tool: Tool.Any): ChatCompletionTool => ({
  type: "function",
  function: { name: tool.name, parameters: { ...Tool.getJsonSchema(tool) } }
})

const requestOf = ({ prompt, tools }: LanguageModel.ProviderOptions): ChatCompletionCreateParamsNonStreaming => ({
  model: "gpt-5",
  messages: prompt.content.flatMap(messagesOf),
  ...(tools.length === 0 ? undefined : { tools: tools.map(toolOf) })
})

const finishOf = (reason: string | undefined, usage: CompletionUsage | undefined): Response.FinishPartEncoded => ({
  type: "finish",
  reason: finishReasons[reason ?? ""] ?? "unknown",
  usage: {
    inputTokens: { total: usage?.prompt_tokens, cacheRead: usage?.prompt_tokens_details?.cached_tokens },
    outputTokens: { total: usage?.completion_tokens, reasoning: usage?.completion_tokens_details?.reasoning_tokens }
  }
})

const callOf = (id: string, name: string, params: string): Response.ToolCallPartEncoded => ({
  type: "tool-call",
  id,
  name,
  params: JSON.parse(params)
})

const said = (type: "text" | "reasoning", text: string | null | undefined) => text ? [{ type, text }] : []

const ask = async (client: OpenAI, options: LanguageModel.ProviderOptions): Promise<Array<Response.PartEncoded>> => {
  const { choices: [choice], usage } = await client.chat.completions.create(requestOf(options))
  const message = choice!.message
  return [
    ...said("reasoning", (message as Thought).reasoning_content),
    ...said("text", message.content),
    ...(message.tool_calls ?? []).flatMap((call) =>
      call.type === "function" ? [callOf(call.id, call.function.name, call.function.arguments)] : []
    ),
    finishOf(choice!.finish_reason, usage)
  ]
}

/** Each text from its first piece to the next thing, and the calls at the end. */
async function* stream(
  client: OpenAI,
  options: LanguageModel.ProviderOptions
): AsyncGenerator<Response.StreamPartEncoded> {
  const chunks = await client.chat.completions.create({
    ...requestOf(options),
    stream: true,
    stream_options: { include_usage: true }
  })
  const calls: Array<{ readonly id: string; readonly name: string; params: string }> = []
  let open: "text" | "reasoning" | undefined
  let reason: string | undefined
  let usage: CompletionUsage | undefined
  for await (const { choices: [choice], usage: tokens } of chunks) {
    usage = tokens ?? usage
    reason = choice?.finish_reason ?? reason
    const delta = choice?.delta
    const heard = { reasoning: (delta as Thought | undefined)?.reasoning_content, text: delta?.content }
    for (const type of ["reasoning", "text"] as const) {
      const piece = heard[type]
      if (!piece) continue
      if (open !== type) {
        if (open !== undefined) yield { type: `${open}-end`, id: open }
        yield { type: `${type}-start`, id: type }
        open = type
      }
      yield { type: `${type}-delta`, id: type, delta: piece }
    }
    for (const { function: called, id, index } of delta?.tool_calls ?? []) {
      const call = calls[index] ??= { id: id!, name: called!.name!, params: "" }
      call.params += called?.arguments ?? ""
    }
  }
  if (open !== undefined) yield { type: `${open}-end`, id: open }
  for (const { id, name, params } of calls) yield callOf(id, name, params)
  yield finishOf(reason, usage)
}

/** What the client's error is: a status of HTTP, or else a connection that was lost. */
const reasonOf = (error: unknown): AiError.AiErrorReason =>
  error instanceof APIError && typeof error.status === "number"
    ? error.status === 429
      ? new AiError.RateLimitError({})
      : AiError.reasonFromHttpStatus({ status: error.status, description: error.message })
    : new AiError.NetworkError({
      reason: "TransportError",
      method: "POST",
      url: "https://api.openai.com",
      description: String(error)
    })

const failed = (error: unknown): AiError.AiError =>
  AiError.make({ module: "OpenAi", method: "ask", reason: reasonOf(error) })

/** A language model that asks OpenAI's official client, which sends its requests by `fetch`. */
export const layer = (fetch: (input: string | URL | Request, init?: RequestInit) => Promise<globalThis.Response>) => {
  const client = new OpenAI({ apiKey: "none", fetch, maxRetries: 0 })
  return Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: (options) => Effect.tryPromise({ try: () => ask(client, options), catch: failed }),
      streamText: (options) => Stream.fromAsyncIterable(stream(client, options), failed)
    })
  )
}
