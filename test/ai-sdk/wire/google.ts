/** The wire format of Gemini: `generateContent`, and the same streamed. */
import { Prompt } from "effect/ai"
import { type Body, type Fields, fields, list, text } from "../bodies.ts"
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

/** What a function gave: its content, or what it failed with. */
const resultOf = (response: Fields) => "error" in response ? response["error"] : response["content"]

const partsOf = (content: Fields): ReadonlyArray<Fields> => list(content["parts"])

const messages = (content: Fields): ReadonlyArray<Prompt.MessageEncoded> => {
  const parts = partsOf(content)
  const responses = parts.filter((part) => "functionResponse" in part).map((part) => fields(part["functionResponse"]))
  const texts = parts.filter((part) => typeof part["text"] === "string" && part["thought"] !== true)
    .map((part) => ({ type: "text" as const, text: text(part["text"]) }))
  if (content["role"] !== "model") {
    return [
      ...(responses.length === 0 ? [] : [{
        role: "tool" as const,
        content: responses.map((response) => ({
          type: "tool-result" as const,
          id: text(response["id"]),
          name: text(response["name"]),
          isFailure: false,
          result: resultOf(fields(response["response"]))
        }))
      }]),
      ...(texts.length === 0 ? [] : [{ role: "user" as const, content: texts }])
    ]
  }
  const calls = parts.filter((part) => "functionCall" in part).map((part) => fields(part["functionCall"]))
  return [{
    role: "assistant",
    content: [
      ...texts.filter(({ text }) => text !== ""),
      ...calls.map((call) => ({
        type: "tool-call" as const,
        id: text(call["id"]),
        name: text(call["name"]),
        params: call["args"],
        providerExecuted: false
      }))
    ]
  }]
}

const bodyOf = (body: unknown): Body => {
  const sent = fields(body)
  const contents = list(sent["contents"])
  const config = fields(sent["generationConfig"])
  const all = contents.flatMap(partsOf)
  return {
    system: partsOf(fields(sent["systemInstruction"])).map((part) => text(part["text"])).join(""),
    results: all.filter((part) => "functionResponse" in part).map((part) => {
      const { id, parts = [], response } = fields(part["functionResponse"])
      const said = text(resultOf(fields(response)))
      return { id: text(id), text: list(parts).length === 0 ? said : said + text(parts) }
    }),
    thoughts: all.flatMap((part) => [
      ...(part["thought"] === true ? [part["text"]] : []),
      ...(part["thoughtSignature"] === undefined ? [] : [part["thoughtSignature"]])
    ]),
    tools: list(sent["tools"]).flatMap((tool) => list(tool["functionDeclarations"])).map((tool) => ({
      name: tool["name"],
      description: tool["description"],
      parameters: fields(tool["parametersJsonSchema"])
    })),
    choice: fields(sent["toolConfig"])["functionCallingConfig"],
    format: fields(config["responseJsonSchema"]),
    settings: { maxTokens: config["maxOutputTokens"], temperature: config["temperature"], topP: config["topP"] },
    said: contents[0]?.["parts"]
  }
}

const tokens = ({ cached, input, output, reasoning }: Usage) => ({
  promptTokenCount: input,
  candidatesTokenCount: output - reasoning,
  thoughtsTokenCount: reasoning,
  totalTokenCount: input + output,
  ...(cached === 0 ? undefined : { cachedContentTokenCount: cached })
})

const response = (parts: ReadonlyArray<Json>, usage?: Usage): Json => ({
  candidates: [{
    content: { role: "model", parts },
    index: 0,
    ...(usage === undefined ? undefined : { finishReason: "STOP" })
  }],
  ...(usage === undefined ? undefined : { usageMetadata: tokens(usage) }),
  modelVersion: "served-1",
  responseId: "r1"
})

/** A thought is signed on what follows it: a call, or the end of a text. */
const signed = (signature: string | undefined) => signature === undefined ? undefined : { thoughtSignature: signature }

const callPart = (id: string, name: string, args: unknown, signature: string | undefined) => ({
  functionCall: { id, name, args },
  ...signed(signature)
})

const whole = ({ calls, reasoning, signature, text, usage }: Said): Json =>
  response([
    ...(reasoning === "" ? [] : [{ text: reasoning, thought: true }]),
    ...(text === "" ? [] : [{ text, ...(calls.length === 0 ? signed(signature) : undefined) }]),
    ...calls.map(({ id, name, params }, index) => callPart(id, name, params, index === 0 ? signature : undefined))
  ], usage)

const stream = (): ReturnType<Wire["begin"]> => {
  let signature: string | undefined
  const next = (part: Part): ReadonlyArray<string> => {
    switch (part.type) {
      case "reasoning-delta":
        return [sse(response([{ text: part.delta, thought: true }]))]
      case "reasoning-end":
        signature = signatureOf(part.metadata)
        return []
      case "text-delta":
        return [sse(response([{ text: part.delta }]))]
      case "tool-call": {
        const called = callPart(part.id, part.name, part.params, signature)
        signature = undefined
        return [sse(response([called]))]
      }
      case "finish":
        return [sse(response([{ text: "", ...signed(signature) }], usageOf(part.usage)))]
      default:
        return []
    }
  }
  return { first: [], next }
}

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE"
}

const error = ({ message, status: code }: Problem) => ({ error: { code, message, status: statuses[code] } })

export const google: Wire = {
  read: (body) => {
    const sent = fields(body)
    const system = bodyOf(body).system
    return {
      body: bodyOf(body),
      prompt: Prompt.make([
        ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
        ...list(sent["contents"]).flatMap(messages)
      ])
    }
  },
  isStreaming: (path) => path.includes(":streamGenerateContent"),
  whole,
  contentType: "text/event-stream",
  begin: stream,
  error,
  streamError: (problem) => sse(error(problem))
}
