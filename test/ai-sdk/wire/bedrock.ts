/** The wire format of Bedrock's Converse, and ConverseStream in Amazon's event stream. */
import { Prompt } from "effect/ai"
import { type Body, type Fields, fields, list, text } from "../bodies.ts"
import { message } from "./eventStream.ts"
import { type Json, type Part, type Problem, signatureOf, type Usage, usageOf, type Wire } from "./Wire.ts"

const blocksOf = (sent: Fields): ReadonlyArray<Fields> => list(sent["content"])

const has = (kind: string) => (block: Fields) => kind in block

const textParts = (blocks: ReadonlyArray<Fields>) =>
  blocks.filter(has("text")).map((block) => ({ type: "text" as const, text: text(block["text"]) }))

const messages = (sent: Fields): ReadonlyArray<Prompt.MessageEncoded> => {
  const blocks = blocksOf(sent)
  const texts = textParts(blocks)
  if (sent["role"] === "assistant") {
    return [{
      role: "assistant",
      content: [
        ...texts,
        ...blocks.filter(has("toolUse")).map((block) => fields(block["toolUse"])).map((call) => ({
          type: "tool-call" as const,
          id: text(call["toolUseId"]),
          name: text(call["name"]),
          params: call["input"],
          providerExecuted: false
        }))
      ]
    }]
  }
  const results = blocks.filter(has("toolResult")).map((block) => fields(block["toolResult"]))
  return [
    ...(results.length === 0 ? [] : [{
      role: "tool" as const,
      content: results.map((result) => ({
        type: "tool-result" as const,
        id: text(result["toolUseId"]),
        name: "",
        isFailure: false,
        result: textParts(list(result["content"])).map(({ text }) => text).join("\n")
      }))
    }]),
    ...(texts.length === 0 ? [] : [{ role: "user" as const, content: texts }])
  ]
}

/** A result has the id of its call and no name. */
const named = (all: ReadonlyArray<Prompt.MessageEncoded>): ReadonlyArray<Prompt.MessageEncoded> => {
  const names = new Map(all.flatMap((message) =>
    message.role === "assistant" && typeof message.content !== "string"
      ? message.content.flatMap((part) => part.type === "tool-call" ? [[part.id, part.name] as const] : [])
      : []
  ))
  return all.map((message) =>
    message.role === "tool"
      ? {
        ...message,
        content: message.content.map((part) =>
          part.type === "tool-result" ? { ...part, name: names.get(part.id) ?? "" } : part
        )
      }
      : message
  )
}

const bodyOf = (body: unknown): Body => {
  const sent = fields(body)
  const all = list(sent["messages"])
  const config = fields(sent["inferenceConfig"])
  const tools = fields(sent["toolConfig"])
  return {
    system: list(sent["system"]).map((block) => text(block["text"])).join(""),
    results: all.flatMap(blocksOf).filter(has("toolResult")).map((block) => {
      const { content = [], toolUseId } = fields(block["toolResult"])
      const said = textParts(list(content)).map(({ text }) => text).join("\n")
      const files = list(content).filter(has("image"))
      return { id: text(toolUseId), text: files.length === 0 ? said : said + text(files) }
    }),
    thoughts: all.flatMap(blocksOf).filter(has("reasoningContent")).map((block) =>
      fields(block["reasoningContent"])["reasoningText"]
    ),
    tools: list(tools["tools"]).map((tool) => fields(tool["toolSpec"])).map((tool) => ({
      name: tool["name"],
      description: tool["description"],
      parameters: fields(fields(tool["inputSchema"])["json"])
    })),
    choice: tools["toolChoice"],
    format: fields(
      fields(fields(fields(sent["additionalModelRequestFields"])["output_config"])["format"])["schema"]
    ),
    settings: { maxTokens: config["maxTokens"], temperature: config["temperature"], topP: config["topP"] },
    said: all[0]?.["content"]
  }
}

const tokens = ({ cached, input, output }: Usage) => ({
  inputTokens: input - cached,
  outputTokens: output,
  totalTokens: input + output,
  cacheReadInputTokens: cached,
  cacheWriteInputTokens: 0
})

const event = (type: string, payload: Json) =>
  message({ ":event-type": type, ":content-type": "application/json", ":message-type": "event" }, payload)

const stream = (): ReturnType<Wire["begin"]> => {
  let contentBlockIndex = 0
  let calls = 0
  const delta = (delta: Json) => event("contentBlockDelta", { contentBlockIndex, delta, p: "abcd" })
  const stop = () => event("contentBlockStop", { contentBlockIndex: contentBlockIndex++, p: "abc" })
  const next = (part: Part): ReadonlyArray<Uint8Array> => {
    switch (part.type) {
      case "text-delta":
        return [delta({ text: part.delta })]
      case "reasoning-delta":
        return [delta({ reasoningContent: { text: part.delta } })]
      case "reasoning-end": {
        const signature = signatureOf(part.metadata)
        return [...(signature === undefined ? [] : [delta({ reasoningContent: { signature } })]), stop()]
      }
      case "text-end":
      case "tool-params-end":
        return [stop()]
      case "tool-params-start":
        calls++
        return [
          event("contentBlockStart", {
            contentBlockIndex,
            start: { toolUse: { toolUseId: part.id, name: part.name } }
          })
        ]
      case "tool-params-delta":
        return [delta({ toolUse: { input: part.delta } })]
      case "finish":
        return [
          event("messageStop", { stopReason: calls > 0 ? "tool_use" : "end_turn" }),
          event("metadata", { metrics: { latencyMs: 1 }, usage: tokens(usageOf(part.usage)) })
        ]
      default:
        return []
    }
  }
  return { first: [event("messageStart", { role: "assistant", p: "ab" })], next }
}

const exception = ({ status }: Problem) => status === 429 ? "throttlingException" : "modelStreamErrorException"

export const bedrock: Wire = {
  read: (body) => {
    const sent = fields(body)
    const read = bodyOf(body)
    return {
      body: read,
      prompt: Prompt.make([
        ...(read.system === "" ? [] : [{ role: "system" as const, content: read.system }]),
        ...named(list(sent["messages"]).flatMap(messages))
      ])
    }
  },
  isStreaming: (path) => path.endsWith("/converse-stream"),
  whole: ({ calls, reasoning, signature, text, usage }) => ({
    metrics: { latencyMs: 1 },
    output: {
      message: {
        role: "assistant",
        content: [
          ...(reasoning === "" ? [] : [{ reasoningContent: { reasoningText: { text: reasoning, signature } } }]),
          ...(text === "" ? [] : [{ text }]),
          ...calls.map(({ id, name, params }) => ({ toolUse: { toolUseId: id, name, input: params } }))
        ]
      }
    },
    stopReason: calls.length > 0 ? "tool_use" : "end_turn",
    usage: tokens(usage)
  }),
  contentType: "application/vnd.amazon.eventstream",
  begin: stream,
  error: ({ message }) => ({ message }),
  streamError: (problem) =>
    message({
      ":exception-type": exception(problem),
      ":content-type": "application/json",
      ":message-type": "exception"
    }, { message: problem.message, ...(problem.status === 429 ? undefined : { originalStatusCode: problem.status }) })
}
