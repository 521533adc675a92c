/**
 * The loop of Effect's own documentation: `effect/ai` runs the calls, and the history is concatenated.
 */
import { Effect, Stream } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import * as model from "./effectModel.ts"
import { question, system } from "./script.ts"

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

export const byHand = model.subject(() => ({
  say: Effect.map(LanguageModel.generateText({ prompt: start }), (response) => response.text),
  count: loop(() => {}),
  hear: (heard) =>
    Stream.runForEach(LanguageModel.streamText({ prompt: start }), (part) =>
      Effect.sync(() => {
        if (part.type !== "text-delta") return
        heard.deltas++
        heard.characters += part.delta.length
      }))
}))

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
