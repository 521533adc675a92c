/** The wire format of Cohere's chat, version 2. */
import { fromRequest } from "../../../src/testing/provider/ChatAsked.ts"
import type { ChatRequest } from "../../../src/testing/provider/ChatRequest.ts"
import { chat, fields } from "../bodies.ts"
import { type Json, type Part, type Problem, sse, type Usage, usageOf, type Wire } from "./Wire.ts"

const tokens = ({ input, output }: Usage): Json => ({
  billed_units: { input_tokens: input, output_tokens: output },
  tokens: { input_tokens: input, output_tokens: output }
})

const call = (id: string, name: string, args: string) => ({ id, type: "function", function: { name, arguments: args } })

const event = (type: string, more: Json = {}) => sse({ type, ...more }, type)

const stream = (): ReturnType<Wire["begin"]> => {
  let index = 0
  let calls = 0
  const content = (content: Json) => ({ index, delta: { message: { content } } })
  const end = () => event("content-end", { index: index++ })
  const next = (part: Part): ReadonlyArray<string> => {
    switch (part.type) {
      case "reasoning-start":
        return [event("content-start", content({ type: "thinking", thinking: "" }))]
      case "reasoning-delta":
        return [event("content-delta", content({ thinking: part.delta }))]
      case "text-start":
        return [event("content-start", content({ type: "text", text: "" }))]
      case "text-delta":
        return [event("content-delta", content({ text: part.delta }))]
      case "text-end":
      case "reasoning-end":
        return [end()]
      case "tool-params-start":
        return [event("tool-call-start", {
          index: calls++,
          delta: { message: { tool_calls: call(part.id, part.name, "") } }
        })]
      case "tool-params-delta":
        return [event("tool-call-delta", {
          index: calls,
          delta: { message: { tool_calls: { function: { arguments: part.delta } } } }
        })]
      case "tool-params-end":
        return [event("tool-call-end", { index: calls })]
      case "finish": {
        const finish_reason = calls > 0 ? "TOOL_CALL" : "COMPLETE"
        return [event("message-end", { id: "m1", delta: { finish_reason, usage: tokens(usageOf(part.usage)) } })]
      }
      default:
        return []
    }
  }
  return { first: [event("message-start", { id: "m1", delta: { message: { role: "assistant" } } })], next }
}

const error = ({ message }: Problem) => ({ id: "m1", message })

export const cohere: Wire = {
  read: (body) => {
    const read = chat(body)
    const sent = fields(body)
    return {
      body: {
        ...read,
        format: fields(fields(sent["response_format"])["json_schema"]),
        settings: { ...read.settings, topP: sent["p"] }
      },
      prompt: fromRequest(body as ChatRequest).prompt
    }
  },
  isStreaming: (_, body) => body["stream"] === true,
  whole: ({ calls, reasoning, text, usage }) => ({
    id: "m1",
    generation_id: "m1",
    message: {
      role: "assistant",
      content: [
        ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning }]),
        ...(text === "" ? [] : [{ type: "text", text }])
      ],
      ...(calls.length === 0
        ? undefined
        : { tool_calls: calls.map(({ id, name, params }) => call(id, name, JSON.stringify(params))) })
    },
    finish_reason: calls.length > 0 ? "TOOL_CALL" : "COMPLETE",
    usage: tokens(usage)
  }),
  contentType: "text/event-stream",
  begin: stream,
  error,
  // A stream that fails ends as another does, with an error in the place of a usage.
  streamError: ({ message }) => event("message-end", { id: "m1", delta: { finish_reason: "ERROR", error: message } })
}
