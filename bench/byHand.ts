/**
 * The loop of Effect's own documentation: `effect/ai` runs the calls, and the history is concatenated.
 */
import { Effect, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import * as model from "./effectModel.ts"
import { type Heard, question, system } from "./script.ts"

const start = Prompt.make([
  { role: "system", content: system },
  { role: "user", content: [{ type: "text", text: question }] }
])

/** The loop, which shows each history to `see`. */
const loop = (see: (history: Prompt.Prompt) => void) =>
  Effect.gen(function*() {
    const toolkit = yield* model.Counting
    let history = start
    while (true) {
      const response = yield* LanguageModel.generateText({ prompt: history, toolkit })
      history = Prompt.concat(history, Prompt.fromResponseParts(response.content))
      see(history)
      if (response.toolCalls.length === 0) return response.text
    }
  })

/** The same loop over streams. */
const streamedLoop = (heard: Heard) =>
  Effect.gen(function*() {
    const toolkit = yield* model.Counting
    let history = start
    while (true) {
      const parts: Array<Response.StreamPart<typeof model.Counting.tools, "opaque">> = []
      yield* Stream.runForEach(LanguageModel.streamText({ prompt: history, toolkit }), (part) =>
        Effect.sync(() => {
          parts.push(part)
          if (part.type !== "text-delta") return
          heard.deltas++
          heard.characters += part.delta.length
        }))
      history = Prompt.concat(history, Prompt.fromResponseParts(parts))
      if (!parts.some((part) => part.type === "tool-call")) return
    }
  })

/** Without tools there is nothing to loop for. */
const plain: model.Programs = {
  run: Effect.map(LanguageModel.generateText({ prompt: start }), (response) => response.text),
  hear: (heard) =>
    Stream.runForEach(LanguageModel.streamText({ prompt: start }), (part) =>
      Effect.sync(() => {
        if (part.type !== "text-delta") return
        heard.deltas++
        heard.characters += part.delta.length
      }))
}

export const byHand = model.subject(
  () => ({ tool: { run: loop(() => {}), hear: streamedLoop }, "no tools": plain }),
  "turns"
)

/** Runs the loop, and keeps each history or the last one. */
export const keep = (which: "each" | "last") =>
  Effect.suspend(() => {
    const histories: Array<Prompt.Prompt> = []
    const run = loop((history) => {
      if (which === "last") histories.length = 0
      histories.push(history)
    })
    return Effect.as(run, histories)
  })
