/**
 * The scripted model and the tool of all subjects that run on Effect, under the real `LanguageModel.make`.
 */
import { type Context, Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, type Prompt, type Response, Tool, Toolkit } from "effect/ai"
import {
  answer,
  type Calls,
  type Chunks,
  delta,
  type Heard,
  type Kind,
  latency,
  nextMove,
  remember,
  type Subject
} from "./script.ts"

type Model = typeof LanguageModel.LanguageModel.Service

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const finish = (reason: "stop" | "tool-calls") => ({ type: "finish", reason, usage }) as const

const say = (text: string): Array<Response.PartEncoded> => [{ type: "text", text }, finish("stop")]

const lastResult = (prompt: Prompt.Prompt): number => {
  const last = prompt.content[prompt.content.length - 1]
  const part = last?.role === "tool" ? last.content[last.content.length - 1] : undefined
  return part?.type === "tool-result" ? part.result as number : 0
}

const make = (params: Partial<Parameters<typeof LanguageModel.make>[0]>): Model =>
  Effect.runSync(LanguageModel.make({
    generateText: () => Effect.die("not in the script"),
    streamText: () => Stream.die("not in the script"),
    ...params
  }))

/** Answers at once, without a call. */
export const oneTurn = (calls: Calls): Model =>
  make({
    generateText: () =>
      Effect.sync(() => {
        calls.model++
        return say(answer)
      })
  })

/** Answers after a while, without a call. */
export const slow = (calls: Calls): Model =>
  make({
    generateText: () =>
      Effect.suspend(() => {
        calls.model++
        return Effect.as(Effect.sleep(latency), say(answer))
      })
  })

const isText = (part: Response.PartEncoded): part is Response.TextPartEncoded => part.type === "text"

/** The parts of a response as they are streamed. */
const streamed = (part: Response.PartEncoded): ReadonlyArray<Response.StreamPartEncoded> =>
  isText(part)
    ? [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: part.text }, {
      type: "text-end",
      id: "1"
    }]
    : [part as Response.StreamPartEncoded]

/** Calls a tool in each of a number of steps, then answers. */
export const toolLoop = (calls: Calls, steps: number): Model => {
  const respond = (prompt: Prompt.Prompt): Array<Response.PartEncoded> => {
    calls.model++
    const move = nextMove(steps, lastResult(prompt))
    return typeof move === "string"
      ? say(move)
      : [{ type: "tool-call", id: move.id, name: "next", params: { after: move.after } }, finish("tool-calls")]
  }
  return make({
    generateText: ({ prompt }) => Effect.sync(() => respond(prompt)),
    streamText: ({ prompt }) => Stream.suspend(() => Stream.fromIterable(respond(prompt).flatMap(streamed)))
  })
}

/** Calls a tool in each of a number of steps, then answers, and adds the last line of the system text that it is sent. */
export const readingBack = (calls: Calls, steps: number): Model =>
  make({
    generateText: ({ prompt }) =>
      Effect.sync(() => {
        calls.model++
        const [first] = prompt.content
        const system = first?.role === "system" ? first.content : ""
        const move = nextMove(steps, lastResult(prompt))
        return typeof move === "string"
          ? say(`${move} ${system.slice(system.lastIndexOf("\n") + 1)}`)
          : [{ type: "tool-call", id: move.id, name: "next", params: { after: move.after } }, finish("tool-calls")]
      })
  })

/** Calls a tool in each of a number of steps, then answers, and adds how many messages it is sent. */
export const countingMessages = (calls: Calls, steps: number): Model =>
  make({
    generateText: ({ prompt }) =>
      Effect.sync(() => {
        calls.model++
        const move = nextMove(steps, lastResult(prompt))
        return typeof move === "string"
          ? say(`${move} ${prompt.content.length}`)
          : [{ type: "tool-call", id: move.id, name: "next", params: { after: move.after } }, finish("tool-calls")]
      })
  })

/** Hands over from agent to agent, by the tool that each is offered, until one is offered none. */
export const handingOver = (calls: Calls): Model =>
  make({
    generateText: ({ tools }) =>
      Effect.sync(() => {
        calls.model++
        const tool = tools.find(({ name }) => name.startsWith("handoff_to_"))
        return tool === undefined
          ? say(answer)
          : [
            { type: "tool-call" as const, id: `call_${tool.name}`, name: tool.name, params: { reason: "next" } },
            finish("tool-calls")
          ]
      })
  })

/** Streams an answer of a number of deltas, which arrive one by one, as those of a provider do, or in one chunk. */
export const deltas = (calls: Calls, count: number, chunks: Chunks): Model => {
  const parts: ReadonlyArray<Response.StreamPartEncoded> = [
    { type: "text-start", id: "1" },
    ...Array.from({ length: count }, () => ({ type: "text-delta", id: "1", delta }) as const),
    { type: "text-end", id: "1" },
    finish("stop")
  ]
  const arriving = async function*() {
    yield* parts
  }
  return make({
    streamText: () =>
      Stream.suspend(() => {
        calls.model++
        return chunks === "all"
          ? Stream.fromIterable(parts, { chunkSize: parts.length })
          : Stream.orDie(Stream.fromAsyncIterable(arriving(), (error) => error))
      })
  })
}

/** Gives the number after another. */
export const Next = Tool.make("next", {
  description: "Gives the number after another one.",
  parameters: Schema.Struct({ after: Schema.Finite }),
  success: Schema.Finite
})
export const Counting = Toolkit.make(Next)

/** What the tool does. */
export const next = (calls: Calls) => ({ after }: { readonly after: number }): number => {
  calls.tool++
  return after + 1
}

export type Services = LanguageModel.LanguageModel | Tool.HandlersFor<typeof Counting.tools>

/** The services that a program with this model and the tool needs, built once. */
export const services = (model: Model, calls: Calls): Context.Context<Services> =>
  Effect.runSync(
    Effect.context<Services>().pipe(
      Effect.provide(Counting.toLayer({ next: (params) => Effect.sync(() => next(calls)(params)) })),
      Effect.provide(Layer.succeed(LanguageModel.LanguageModel, model))
    )
  )

/** The programs of one agent on Effect. */
export interface Programs {
  readonly run: Effect.Effect<string, unknown, Services>
  readonly hear: (heard: Heard) => Effect.Effect<void, unknown, Services>
}

/** The models of a subject. */
export interface Models {
  readonly oneTurn: (calls: Calls) => Model
  readonly slow: (calls: Calls) => Model
  readonly toolLoop: (calls: Calls, steps: number) => Model
  readonly handingOver: (calls: Calls) => Model
  readonly deltas: (calls: Calls, count: number, chunks: Chunks) => Model
}

const own: Models = { oneTurn, slow, toolLoop, handingOver, deltas }

/** Makes a subject of programs, which get what they need from services that are built once. */
export const subject = (
  programs: (calls: Calls) => Readonly<Record<Kind, Programs>>,
  chain: ((hops: number) => Effect.Effect<string, unknown, Services>) | "turns",
  { deltas, handingOver, oneTurn, slow, toolLoop }: Models = own
): Subject => {
  const calls: Calls = { model: 0, tool: 0 }
  const of = programs(calls)
  const runWith = (model: Model) => Effect.runPromiseWith(services(model, calls))
  const speaking = runWith(oneTurn(calls))
  const waiting = runWith(slow(calls))
  const passing = runWith(handingOver(calls))
  const chained = remember((hops: number) =>
    chain === "turns"
      ? Effect.map(Effect.forEach(Array.from({ length: hops }), () => of.tool.run), (said) => said[hops - 1] ?? "")
      : chain(hops)
  )
  const looping = remember((steps: number) => runWith(toolLoop(calls, steps)))
  const streaming = {
    each: remember((count: number) => runWith(deltas(calls, count, "each"))),
    all: remember((count: number) => runWith(deltas(calls, count, "all")))
  }
  return {
    calls,
    oneTurn: (kind) => speaking(of[kind].run),
    toolLoop: (steps) => looping(steps)(of.tool.run),
    deltas: async (count, kind, chunks) => {
      const heard: Heard = { deltas: 0, characters: 0 }
      await streaming[chunks](count)(of[kind].hear(heard))
      return heard
    },
    handsOver: chain !== "turns",
    handoffs: (hops) => (chain === "turns" ? speaking : passing)(chained(hops)),
    concurrent: (runs, kind) =>
      waiting(Effect.forEach(Array.from({ length: runs }), () => of[kind].run, { concurrency: "unbounded" }))
  }
}
