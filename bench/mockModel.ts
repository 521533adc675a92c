/**
 * What a mock model costs: requests of a test to a `MockModel`, beside the same to a provider that is written for it with
 * `LanguageModel.make`. Each run has a layer of its own, as each test has.
 */
import { Effect, Layer, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { MockModel } from "../src/testing/index.ts"
import { answer, question } from "./script.ts"

/** Asks a model so often, and gives what it said. */
export type Asking = (count: number) => Promise<ReadonlyArray<string>>

const asking = <E>(layer: Layer.Layer<LanguageModel.LanguageModel, E>): Asking => (count) => {
  const ask = Effect.map(LanguageModel.generateText({ prompt: question }), ({ text }) => text)
  return Effect.runPromise(
    Effect.provide(Effect.forEach(Array.from({ length: count }), () => ask), Layer.fresh(layer))
  )
}

export const mocked = asking(MockModel.layer(MockModel.make(answer)))

export const written = asking(Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: () =>
      Effect.succeed([
        { type: "text", text: answer },
        { type: "finish", reason: "stop", usage: { inputTokens: {}, outputTokens: {} } }
      ]),
    streamText: () => Stream.die("not in the script")
  })
))
