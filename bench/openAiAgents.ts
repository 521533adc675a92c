/**
 * OpenAI Agents, with a model of its own interface that answers from the script and keeps nothing.
 *
 * It is a dependency of this folder alone and may not be installed, so its types aren't known here; those below say what
 * is used of it.
 */
import { loadModules } from "./optional.ts"
import {
  agentName,
  answer,
  type Calls,
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

interface Item {
  readonly type: string
  readonly output?: { readonly text: string }
}

interface Asked {
  readonly input: string | ReadonlyArray<Item>
  readonly handoffs: ReadonlyArray<{ readonly toolName: string }>
}

interface Model {
  readonly getResponse: (asked: Asked) => Promise<unknown>
  readonly getStreamedResponse: () => AsyncIterable<unknown>
}

interface Streamed {
  readonly toTextStream: () => AsyncIterable<string>
  readonly completed: Promise<unknown>
}

interface Runner {
  run(agent: unknown, input: string, options: { readonly maxTurns: number }): Promise<{ readonly finalOutput: string }>
  run(agent: unknown, input: string, options: { readonly maxTurns: number; readonly stream: true }): Promise<Streamed>
}

interface OpenAiAgents {
  readonly Agent: new(options: Record<string, unknown>) => object
  readonly Runner: new(options: { readonly tracingDisabled: true }) => Runner
  readonly Usage: new(options: Record<string, number>) => unknown
  readonly handoff: (agent: unknown) => unknown
  readonly setTracingDisabled: (isDisabled: boolean) => void
  readonly tool: (options: Record<string, unknown>) => unknown
}

interface Zod {
  readonly z: {
    readonly object: (fields: Record<string, unknown>) => unknown
    readonly number: () => unknown
  }
}

const message = (text: string) => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }]
})

const call = (callId: string, name: string, params: unknown) => ({
  type: "function_call",
  callId,
  name,
  arguments: JSON.stringify(params),
  status: "completed"
})

const counts = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 }

const lastResult = (input: Asked["input"]): number => {
  const last = typeof input === "string" ? undefined : input[input.length - 1]
  return last?.type === "function_call_result" ? Number(last.output?.text) : 0
}

const notInScript = (): never => {
  throw new Error("not in the script")
}

/** Makes the subject, or says by `undefined` that OpenAI Agents isn't installed. */
export const load = async (): Promise<Subject | undefined> => {
  const modules = await loadModules<[OpenAiAgents, Zod]>("@openai/agents-core", "zod")
  if (modules === undefined) return undefined
  const [sdk, { z }] = modules
  sdk.setTracingDisabled(true)
  const runner = new sdk.Runner({ tracingDisabled: true })
  const calls: Calls = { model: 0, tool: 0 }
  const tools = [sdk.tool({
    name: "next",
    description: "Gives the number after another one.",
    parameters: z.object({ after: z.number() }),
    execute: async ({ after }: { readonly after: number }) => {
      calls.tool++
      return after + 1
    }
  })]
  const kinds: Readonly<Record<Kind, object>> = { tool: { tools }, "no tools": {} }
  const responding = (respond: (asked: Asked) => unknown, wait?: () => Promise<void>): Model => ({
    getResponse: async (asked) => {
      calls.model++
      if (wait !== undefined) await wait()
      return { usage: new sdk.Usage(counts), output: [respond(asked)] }
    },
    getStreamedResponse: notInScript
  })
  const agent = (model: Model, more: object, name = "agent") =>
    new sdk.Agent({ name, instructions: system, model, ...more })
  const both = (model: Model): Readonly<Record<Kind, object>> => ({
    tool: agent(model, kinds.tool),
    "no tools": agent(model, kinds["no tools"])
  })
  const speaking = both(responding(() => message(answer)))
  const waiting = both(
    responding(() => message(answer), () => new Promise((resolve) => setTimeout(resolve, latency)))
  )
  const looping = remember((steps: number) =>
    agent(
      responding(({ input }) => {
        const move = nextMove(steps, lastResult(input))
        return typeof move === "string" ? message(move) : call(move.id, "next", { after: move.after })
      }),
      kinds.tool
    )
  )
  const passing = responding(({ handoffs: [next] }) =>
    next === undefined ? message(answer) : call(`call_${next.toolName}`, next.toolName, {})
  )
  const chained = remember((hops: number) => {
    let next = agent(passing, kinds.tool, agentName(hops))
    for (let index = hops - 1; index >= 0; index--) {
      next = agent(passing, { ...kinds.tool, handoffs: [sdk.handoff(next)] }, agentName(index))
    }
    return next
  })
  const streaming = remember((kind: Kind) =>
    remember((count: number) =>
      agent({
        getResponse: notInScript,
        getStreamedResponse: async function*() {
          calls.model++
          yield { type: "response_started" }
          for (let at = 0; at < count; at++) yield { type: "output_text_delta", delta }
          const response = { id: "response", output: [message(delta.repeat(count))], usage: counts }
          yield { type: "response_done", response }
        }
      }, kinds[kind])
    )
  )
  const textOf = async (agent: object, requests: number): Promise<string> =>
    (await runner.run(agent, question, { maxTurns: requests })).finalOutput
  return {
    calls,
    oneTurn: (kind) => textOf(speaking[kind], 1),
    toolLoop: (steps) => textOf(looping(steps), steps + 1),
    deltas: async (count, kind) => {
      const heard: Heard = { deltas: 0, characters: 0 }
      const streamed = await runner.run(streaming(kind)(count), question, { maxTurns: 1, stream: true })
      for await (const text of streamed.toTextStream()) {
        heard.deltas++
        heard.characters += text.length
      }
      await streamed.completed
      return heard
    },
    handsOver: true,
    handoffs: (hops) => textOf(chained(hops), hops + 1),
    concurrent: (runs, kind) => Promise.all(Array.from({ length: runs }, () => textOf(waiting[kind], 1)))
  }
}
