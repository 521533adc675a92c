/**
 * The Vercel AI SDK.
 *
 * It and its schema library are dependencies of this folder, or else those of the project are used. Both are loaded by name,
 * so their types aren't known here; those below say what is used of them.
 */
import { loadModules } from "./optional.ts"
import { type Calls, type Heard, type Kind, question, remember, type Subject, system } from "./script.ts"
import * as sdkModel from "./sdkModel.ts"

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
  readonly z: {
    readonly object: (fields: Record<string, unknown>) => unknown
    readonly number: () => unknown
  }
}

/** Makes the subject, or says by `undefined` that the SDK isn't installed. */
export const load = async (): Promise<Subject | undefined> => {
  const modules = await loadModules<[AiSdk, Zod]>("ai", "zod")
  if (modules === undefined) return undefined
  const [ai, { z }] = modules
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
  const speaking = sdkModel.oneTurn(calls)
  const waiting = sdkModel.slow(calls)
  const looping = remember((steps: number) => sdkModel.toolLoop(calls, steps))
  const streaming = {
    each: remember((count: number) => sdkModel.deltas(calls, count, "each")),
    all: remember((count: number) => sdkModel.deltas(calls, count, "all"))
  }
  const textOf = async (options: Partial<Options> & { readonly model: unknown }): Promise<string> =>
    (await ai.generateText({ ...common, ...options })).text
  return {
    calls,
    oneTurn: (kind) => textOf({ ...kinds[kind], model: speaking }),
    toolLoop: (steps) => textOf({ ...kinds.tool, model: looping(steps) }),
    deltas: async (count, kind, chunks) => {
      const heard: Heard = { deltas: 0, characters: 0 }
      const { textStream } = ai.streamText({ ...common, ...kinds[kind], model: streaming[chunks](count) })
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
