/**
 * Says what many live sessions cost in one process: a process of its own, with `--expose-gc`.
 *
 *     node --expose-gc bench/sessions.ts [sessions] [turns] [native]
 *
 * Each session takes its turns among all others, and stays open. A turn is a call of a tool and an answer. The model is in this process,
 * by `LanguageModel.make`, or with `native` an object of the AI SDK's interface.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Duration, Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { AiSdkModel } from "../src/ai-sdk/index.ts"
import { Agent, AgentState, Session } from "../src/index.ts"

const isNative = process.argv.includes("native")
const [count = 10_000, turns = 10] = process.argv.slice(2).filter((each) => each !== "native").map(Number)

const LookUp = Tool.make("look_up", {
  description: "Looks something up",
  parameters: Schema.Struct({ what: Schema.String }),
  success: Schema.String
})
const Lookups = Toolkit.make(LookUp)
const agent = Agent.make("clerk", { instructions: "You help customers of a shop.", toolkit: Lookups })

/** What the model says to a number of messages: a call, or an answer with the call's result. */
const order = (messages: number): string => `order ${messages}`
const found = (result: unknown): string => `Here is what I found: ${String(result)}`

/** A model that keeps nothing of what it is asked. */
const made = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: ({ prompt: { content } }) => {
      const last = content[content.length - 1]!
      const result = last.role === "tool" ? last.content.find((part) => part.type === "tool-result") : undefined
      const usage = { inputTokens: { total: content.length * 20 }, outputTokens: { total: 20 } }
      return Effect.succeed(
        result === undefined
          ? [
            {
              type: "tool-call",
              id: `call_${content.length}`,
              name: "look_up",
              params: { what: order(content.length) }
            },
            { type: "finish", reason: "tool-calls", usage }
          ]
          : [
            { type: "text", text: found(result.result) },
            { type: "finish", reason: "stop", usage }
          ]
      )
    },
    streamText: () => Stream.empty
  })
)

/** The same as an object of the AI SDK's interface. */
const ofAiSdk: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "script",
  modelId: "script",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => {
    const last = prompt[prompt.length - 1]!
    const result = last.role === "tool" ? last.content.find((part) => part.type === "tool-result") : undefined
    const usage = {
      inputTokens: { total: prompt.length * 20, noCache: prompt.length * 20, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 20, text: 20, reasoning: 0 }
    }
    return result === undefined
      ? {
        content: [{
          type: "tool-call",
          toolCallId: `call_${prompt.length}`,
          toolName: "look_up",
          input: JSON.stringify({ what: order(prompt.length) })
        }],
        finishReason: { unified: "tool-calls", raw: "tool_calls" },
        usage,
        warnings: []
      }
      : {
        content: [{ type: "text", text: found("value" in result.output ? result.output.value : "") }],
        finishReason: { unified: "stop", raw: "stop" },
        usage,
        warnings: []
      }
  },
  doStream: () => Promise.reject(new Error("nobody streams here"))
}

const model = isNative ? AiSdkModel.layer(ofAiSdk) : made
const handlers = Lookups.toLayer({
  look_up: ({ what }) => Effect.succeed(`${what} is on its way, and arrives on Monday.`)
})

const mebi = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)
const kibi = (bytes: number): string => (bytes / 2 ** 10).toFixed(1)

const heapUsed = Effect.promise(async () => {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    globalThis.gc!()
  }
  return process.memoryUsage().heapUsed
})

const program = Effect.gen(function*() {
  const before = yield* heapUsed
  const sessions = yield* Effect.forEach(Array.from({ length: count }), () => Session.make(agent))
  const opened = yield* heapUsed
  console.log(`${count} sessions opened: ${kibi((opened - before) / count)} KiB each`)
  for (let turn = 1; turn <= turns; turn++) {
    const [time] = yield* Effect.timed(
      Effect.forEach(sessions, (session) => session.call("Where is my order?"), { concurrency: 1_000, discard: true })
    )
    if (turn === 1 || turn === turns) {
      const used = yield* heapUsed
      console.log(
        `turn ${turn}: ${(Duration.toMillis(time) * 1000 / count).toFixed(0)} µs each; ` +
          `at rest ${kibi((used - before) / count)} KiB a session, resident ${mebi(process.memoryUsage.rss())} MiB`
      )
    }
  }
  const states = yield* Effect.forEach(sessions, (session) => session.state)
  const open = states.filter((state) => state.conversation.turns.length !== turns * 3)
  if (open.length > 0) throw new Error(`${open.length} sessions lack turns: ${AgentState.text(open[0]!)}`)
  console.log(`peak ${mebi(process.resourceUsage().maxRSS * 1024)} MiB`)
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide([model, handlers])))
