/**
 * The scripted model as an object of the AI SDK's interface: it answers from the script and keeps nothing. The AI SDK asks it, and so does
 * Troupe by `troupe/ai-sdk`.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { answer, type Calls, type Chunks, delta, latency, nextMove } from "./script.ts"

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}
const stop = { finishReason: { unified: "stop", raw: "stop" }, usage } as const
const toolCalls = { finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage } as const

type Answer = Awaited<ReturnType<LanguageModelV4["doGenerate"]>>

const say = (text: string): Answer => ({ content: [{ type: "text", text }], ...stop, warnings: [] })

const call = (toolCallId: string, toolName: string, params: unknown): Answer => ({
  content: [{ type: "tool-call", toolCallId, toolName, input: JSON.stringify(params) }],
  ...toolCalls,
  warnings: []
})

const notInScript = (): never => {
  throw new Error("not in the script")
}

const make = (methods: Partial<Pick<LanguageModelV4, "doGenerate" | "doStream">>): LanguageModelV4 => ({
  specificationVersion: "v4",
  provider: "script",
  modelId: "script",
  supportedUrls: {},
  doGenerate: notInScript,
  doStream: notInScript,
  ...methods
})

const lastResult = (prompt: LanguageModelV4CallOptions["prompt"]): number => {
  const last = prompt[prompt.length - 1]
  if (last?.role !== "tool") return 0
  const part = last.content[last.content.length - 1]
  return part?.type === "tool-result" && "value" in part.output ? Number(part.output.value) : 0
}

/** Answers at once, without a call. */
export const oneTurn = (calls: Calls): LanguageModelV4 =>
  make({
    doGenerate: async () => {
      calls.model++
      return say(answer)
    }
  })

/** Answers after a while, without a call. */
export const slow = (calls: Calls): LanguageModelV4 =>
  make({
    doGenerate: async () => {
      calls.model++
      await new Promise((resolve) => setTimeout(resolve, latency))
      return say(answer)
    }
  })

/** Calls a tool in each of a number of steps, then answers. */
export const toolLoop = (calls: Calls, steps: number): LanguageModelV4 =>
  make({
    doGenerate: async ({ prompt }) => {
      calls.model++
      const move = nextMove(steps, lastResult(prompt))
      return typeof move === "string" ? say(move) : call(move.id, "next", { after: move.after })
    }
  })

/** Hands over from agent to agent, by the tool that each is offered, until one is offered none. */
export const handingOver = (calls: Calls): LanguageModelV4 =>
  make({
    doGenerate: async ({ tools }) => {
      calls.model++
      const tool = tools?.find(({ name }) => name.startsWith("handoff_to_"))
      return tool === undefined ? say(answer) : call(`call_${tool.name}`, tool.name, { reason: "next" })
    }
  })

/** Streams an answer in deltas, pulled one by one or all there from the start. */
export const deltas = (calls: Calls, count: number, chunks: Chunks): LanguageModelV4 => {
  const parts: ReadonlyArray<LanguageModelV4StreamPart> = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...Array.from({ length: count }, () => ({ type: "text-delta", id: "1", delta }) as const),
    { type: "text-end", id: "1" },
    { type: "finish", ...stop }
  ]
  const stream = (): ReadableStream<LanguageModelV4StreamPart> => {
    let next = 0
    return new ReadableStream({
      pull: (controller) => {
        const end = chunks === "all" ? parts.length : next + 1
        while (next < end) controller.enqueue(parts[next++]!)
        if (next === parts.length) controller.close()
      }
    })
  }
  return make({
    doStream: async () => {
      calls.model++
      return { stream: stream() }
    }
  })
}
