import { Effect, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"

/** A tool that the provider runs, and one that it doesn't. */
export const Tools = Toolkit.make(
  Tool.make("search", { parameters: Schema.Struct({ query: Schema.String }), success: Schema.String }),
  Tool.make("get_weather", { parameters: Schema.Struct({ city: Schema.String }), success: Schema.Finite })
)

const options = {
  toolkit: Tools,
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
} as const

/** Asks for a response at once. */
export const ask = (prompt: LanguageModel.GenerateTextOptions<{}>["prompt"] = "Hello") =>
  LanguageModel.generateText({ prompt, ...options })

/** Asks for a response in a stream. */
export const stream = (prompt: LanguageModel.GenerateTextOptions<{}>["prompt"] = "Hello") =>
  LanguageModel.streamText({ prompt, ...options })

/** Asks for text, and gives it. */
export const say = (prompt?: LanguageModel.GenerateTextOptions<{}>["prompt"]) =>
  Effect.map(ask(prompt), (response) => response.text)

/** The parts of a response that is asked for in a stream. */
export const streamParts = Effect.suspend(() => Stream.runCollect(stream()))
