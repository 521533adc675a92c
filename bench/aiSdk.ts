/**
 * The Vercel AI SDK, with a model of our own that answers from the script and keeps nothing.
 *
 * It is a dependency of this folder alone and may not be installed, so its types aren't known here; those below say what
 * is used of it.
 */
import {
  answer,
  type Calls,
  type Chunks,
  delta,
  type Heard,
  type Kind,
  latency,
  nextMove,
  question,
  remember,
  type Subject,
  system
} from "./script.ts"

interface Options {
  readonly model: unknown
  readonly instructions?: string
  readonly prompt: string
  readonly tools?: unknown
  readonly stopWhen?: unknown
  readonly telemetry: { readonly isEnabled: false }
}

interface AiSdk {
  readonly generateText: (options: Options) => Promise<{ readonly text: string }>
  readonly streamText: (options: Options) => { readonly textStream: AsyncIterable<string> }
  readonly tool: (options: unknown) => unknown
  readonly isStepCount: (steps: number) => unknown
}

interface Zod {
  readonly object: (fields: Record<string, unknown>) => unknown
  readonly number: () => unknown
}

interface Message {
  readonly role: string
  readonly content: string | ReadonlyArray<{ readonly output?: { readonly value: unknown } }>
}

interface CallOptions {
  readonly prompt: ReadonlyArray<Message>
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}
const stop = { finishReason: { unified: "stop", raw: "stop" }, usage }
const toolCalls = { finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage }

const lastResult = (prompt: ReadonlyArray<Message>): number => {
  const last = prompt[prompt.length - 1]
  if (last?.role !== "tool" || typeof last.content === "string") return 0
  return Number(last.content[last.content.length - 1]?.output?.value)
}

const say = (text: string) => ({ content: [{ type: "text", text }], ...stop, warnings: [] })

const model = (methods: {
  readonly doGenerate?: (options: CallOptions) => Promise<unknown>
  readonly doStream?: () => Promise<unknown>
}) => ({ specificationVersion: "v4", provider: "script", modelId: "script", supportedUrls: {}, ...methods })

/** A stream of an answer in deltas, pulled one by one or all there from the start. */
const deltaStream = (count: number, chunks: Chunks): ReadableStream<unknown> => {
  const parts: ReadonlyArray<unknown> = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...Array.from({ length: count }, () => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    { type: "finish", ...stop }
  ]
  let next = 0
  return new ReadableStream({
    pull: (controller) => {
      const end = chunks === "all" ? parts.length : next + 1
      while (next < end) controller.enqueue(parts[next++])
      if (next === parts.length) controller.close()
    }
  })
}

/** Makes the subject, or says by `undefined` that the SDK isn't installed. */
export const load = async (): Promise<Subject | undefined> => {
  const [sdk, zod] = ["ai", "zod"]
  let ai: AiSdk, z: Zod
  try {
    ai = await import(sdk!)
    z = (await import(zod!)).z
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") return undefined
    throw error
  }
  const calls: Calls = { model: 0, tool: 0 }
  const tools = {
    next: ai.tool({
      description: "Gives the number after another one.",
      inputSchema: z.object({ after: z.number() }),
      execute: async ({ after }: { readonly after: number }) => {
        calls.tool++
        return after + 1
      }
    })
  }
  const common = {
    instructions: system,
    prompt: question,
    telemetry: { isEnabled: false }
  } as const
  const kinds: Readonly<Record<Kind, Partial<Options>>> = {
    tool: { tools, stopWhen: ai.isStepCount(10_000) },
    "no tools": {}
  }
  const speaking = model({
    doGenerate: async () => {
      calls.model++
      return say(answer)
    }
  })
  const waiting = model({
    doGenerate: async () => {
      calls.model++
      await new Promise((resolve) => setTimeout(resolve, latency))
      return say(answer)
    }
  })
  const looping = remember((steps: number) =>
    model({
      doGenerate: async ({ prompt }) => {
        calls.model++
        const move = nextMove(steps, lastResult(prompt))
        if (typeof move === "string") return say(move)
        const input = JSON.stringify({ after: move.after })
        const call = { type: "tool-call", toolCallId: move.id, toolName: "next", input }
        return { content: [call], ...toolCalls, warnings: [] }
      }
    })
  )
  const textOf = async (options: Partial<Options> & { readonly model: unknown }): Promise<string> =>
    (await ai.generateText({ ...common, ...options })).text
  return {
    calls,
    oneTurn: (kind) => textOf({ ...kinds[kind], model: speaking }),
    toolLoop: (steps) => textOf({ ...kinds.tool, model: looping(steps) }),
    deltas: async (count, kind, chunks) => {
      const heard: Heard = { deltas: 0, characters: 0 }
      const doStream = async () => {
        calls.model++
        return { stream: deltaStream(count, chunks) }
      }
      const { textStream } = ai.streamText({ ...common, ...kinds[kind], model: model({ doStream }) })
      for await (const text of textStream) {
        heard.deltas++
        heard.characters += text.length
      }
      return heard
    },
    handsOver: false,
    handoffs: async (hops) => {
      let said = ""
      for (let hop = 0; hop < hops; hop++) said = await textOf({ ...kinds.tool, model: speaking })
      return said
    },
    concurrent: (runs, kind) =>
      Promise.all(Array.from({ length: runs }, () => textOf({ ...kinds[kind], model: waiting })))
  }
}
