/** The wire formats of Mistral, Groq and OpenRouter: chat completions as OpenAI's, and what each has of its own. */
import { fromRequest } from "../../../src/testing/provider/ChatAsked.ts"
import type { ChatRequest } from "../../../src/testing/provider/ChatRequest.ts"
import { chat as bodyOf } from "../bodies.ts"
import {
  type Json,
  type Part,
  type Problem,
  type Said,
  signatureOf,
  sse,
  type Usage,
  usageOf,
  type Wire
} from "./Wire.ts"

/** What a provider has of its own. */
interface Own {
  /** A thought, or a piece of one, and what signs it. */
  readonly reasoning: (text: string, signature: string | undefined) => Json
  /** A thought and a text, whole. */
  readonly message: (said: Said) => Json
  readonly usage: (usage: Usage) => Json
  readonly finishing: (usage: Json) => Json
  readonly error: (problem: Problem) => Json
  readonly streamError: Wire["streamError"]
}

const call = (id: string, name: string, args: string) => ({ id, type: "function", function: { name, arguments: args } })

const stream = (own: Own): ReturnType<Wire["begin"]> => {
  const envelope = { id: "gen-1", object: "chat.completion.chunk", created: 1_700_000_000, model: "served-1" }
  const calls = new Map<string, number>()
  const chunk = (delta: Json, finish_reason: string | null = null, more?: Json) =>
    sse({ ...envelope, choices: [{ index: 0, delta, finish_reason }], ...more })
  const next = (part: Part): ReadonlyArray<string> => {
    switch (part.type) {
      case "text-delta":
        return [chunk({ content: part.delta })]
      case "reasoning-delta":
        return [chunk(own.reasoning(part.delta, undefined))]
      case "reasoning-end": {
        const signature = signatureOf(part.metadata)
        return signature === undefined ? [] : [chunk(own.reasoning("", signature))]
      }
      case "tool-params-start":
        calls.set(part.id, calls.size)
        return [chunk({ tool_calls: [{ index: calls.get(part.id), ...call(part.id, part.name, "") }] })]
      case "tool-params-delta":
        return [chunk({ tool_calls: [{ index: calls.get(part.id), function: { arguments: part.delta } }] })]
      case "finish": {
        const usage = own.usage(usageOf(part.usage))
        return [chunk({}, calls.size > 0 ? "tool_calls" : "stop", own.finishing(usage)), "data: [DONE]\n\n"]
      }
      default:
        return []
    }
  }
  return { first: [chunk({ role: "assistant", content: "" })], next }
}

const of = (own: Own): Wire => ({
  read: (body) => ({ body: bodyOf(body), prompt: fromRequest(body as ChatRequest).prompt }),
  isStreaming: (_, body) => body["stream"] === true,
  whole: (said) => {
    const tool_calls = said.calls.map(({ id, name, params }) => call(id, name, JSON.stringify(params)))
    const message = {
      role: "assistant",
      ...own.message(said),
      ...(tool_calls.length === 0 ? undefined : { tool_calls })
    }
    return {
      id: "gen-1",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "served-1",
      choices: [{ index: 0, message, finish_reason: tool_calls.length > 0 ? "tool_calls" : "stop" }],
      usage: own.usage(said.usage)
    }
  },
  contentType: "text/event-stream",
  begin: () => stream(own),
  error: own.error,
  streamError: own.streamError
})

const tokens = ({ input, output }: Usage) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output
})

const details = ({ cached, reasoning }: Usage) => ({
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning }
})

const thinking = (text: string) => ({ type: "thinking", thinking: text === "" ? [] : [{ type: "text", text }] })

const mistralError = ({ message, status }: Problem) => ({
  object: "error",
  message,
  type: status === 429 ? "rate_limited" : status === 401 ? "unauthorized" : "internal_server_error",
  param: null,
  code: String(status)
})

/** Mistral thinks in parts of a content, and counts no thoughts. */
export const mistral = of({
  reasoning: (text) => ({ content: [thinking(text)] }),
  message: ({ reasoning, text }) => ({
    content: reasoning === "" ? text : [thinking(reasoning), ...(text === "" ? [] : [{ type: "text", text }])]
  }),
  usage: (usage) => ({ ...tokens(usage), num_cached_tokens: usage.cached }),
  finishing: (usage) => ({ usage }),
  error: mistralError,
  streamError: (problem) => sse(mistralError(problem))
})

const groqError = ({ message, status }: Problem) => ({
  error: {
    message,
    type: status === 429 ? "rate_limit_error" : status === 401 ? "invalid_request_error" : "internal_server_error"
  }
})

/** Groq tells its usage in a field of its own at the end of a stream. */
export const groq = of({
  reasoning: (reasoning) => ({ reasoning }),
  message: ({ reasoning, text }) => ({ content: text, ...(reasoning === "" ? undefined : { reasoning }) }),
  usage: (usage) => ({ ...tokens(usage), ...details(usage), total_time: 0.1 }),
  finishing: (usage) => ({ x_groq: { id: "req_1", usage } }),
  error: groqError,
  streamError: (problem) => sse(groqError(problem), "error")
})

const openRouterError = ({ message, status: code }: Problem) => ({ error: { code, message, metadata: {} } })

const detail = (text: string, signature: string | undefined) => ({
  type: "reasoning.text",
  text,
  format: "anthropic-claude-v1",
  index: 0,
  ...(signature === undefined ? undefined : { signature })
})

/** OpenRouter tells a thought twice: as a text, and in details that a signature goes with. */
export const openRouter = of({
  reasoning: (text, signature) => ({ reasoning: text, reasoning_details: [detail(text, signature)] }),
  message: ({ reasoning, signature, text }) => ({
    content: text,
    refusal: null,
    ...(reasoning === "" ? { reasoning: null } : { reasoning, reasoning_details: [detail(reasoning, signature)] })
  }),
  usage: (usage) => ({ ...tokens(usage), ...details(usage), cost: 0.0001 }),
  finishing: (usage) => ({ usage }),
  error: openRouterError,
  streamError: (problem) =>
    sse({
      id: "gen-1",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "served-1",
      provider: "Upstream",
      ...openRouterError(problem),
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }]
    })
})
