/** The two paths to a provider: a model's native way, and `effect/ai` around the same provider. */
import type { LanguageModelV3, LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider"
import { Cause, Effect, Exit, Fiber, Layer, Random, Schema, Stream } from "effect"
import { LanguageModel, Tool } from "effect/ai"
import { TestClock } from "effect/testing"
import type { AgentEvent } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, type MockResponse } from "troupe/testing"
import { finish } from "../ai-sdk/stub.ts"

/** Something as text, byte for byte: also what JSON doesn't show. */
export const shown = (value: unknown): string =>
  JSON.stringify(value, function(this: Record<string, unknown>, key, json: unknown) {
    const given = this[key]
    if (given instanceof URL) return { URL: given.href }
    if (given instanceof Uint8Array) return { bytes: [...given] }
    if (given === undefined) return { undefined: true }
    return typeof json === "number" && !Number.isFinite(json) ? { number: String(json) } : json
  }) ?? "undefined"

/** A tool that a provider defines, whose parameters are a text. */
export const Patch = Tool.providerDefined({
  id: "house.patch",
  customName: "patch",
  providerName: "patch",
  args: Schema.Struct({}),
  parameters: Schema.String,
  success: Schema.String,
  requiresHandler: true
})({})

/** What a stub says: parts of a whole answer, which it also streams. */
export type Content = Readonly<Record<string, unknown>> & { readonly type: string }

const streamedPart = (part: Content, index: number): ReadonlyArray<unknown> => {
  const id = `p${index}`
  const { providerMetadata, text, type } = part
  if (type === "text" || type === "reasoning") {
    const metadata = providerMetadata === undefined ? undefined : { providerMetadata }
    const pieces = typeof text === "string" && text.length > 2 ? [text.slice(0, 2), text.slice(2)] : [text]
    return [
      { type: `${type}-start`, id },
      ...pieces.map((delta) => ({ type: `${type}-delta`, id, delta })),
      { type: `${type}-end`, id, ...metadata }
    ]
  }
  if (type === "tool-call" && typeof part["input"] === "string") {
    const { input, providerExecuted, toolCallId, toolName } = part
    const theirs = providerExecuted === true ? { providerExecuted } : undefined
    return [
      { type: "tool-input-start", id: toolCallId, toolName, ...theirs },
      { type: "tool-input-delta", id: toolCallId, delta: input },
      { type: "tool-input-end", id: toolCallId },
      part
    ]
  }
  return [part]
}

/** A provider that gives each of these answers in turn, then a short one, and keeps what it was asked. */
export const providerOf = (answers: ReadonlyArray<ReadonlyArray<Content>>, specification: "v3" | "v4") => {
  const asked: Array<string> = []
  const options: Array<LanguageModelV4CallOptions> = []
  const next = (given: LanguageModelV4CallOptions): ReadonlyArray<Content> => {
    const { abortSignal: _, ...rest } = given
    options.push(rest)
    asked.push(shown(rest))
    return answers[asked.length - 1] ?? [{ type: "text", text: "Done." }]
  }
  const endOf = (content: ReadonlyArray<Content>) => ({
    ...finish,
    ...(content.some(({ providerExecuted, type }) => type === "tool-call" && providerExecuted !== true)
      ? { finishReason: { unified: "tool-calls", raw: "tool_calls" } }
      : undefined)
  })
  const model = {
    provider: "house.chat",
    modelId: "one",
    // It fetches all addresses itself.
    supportedUrls: { "*/*": [/./] },
    specificationVersion: specification,
    doGenerate: async (given: LanguageModelV4CallOptions) => {
      const content = next(given)
      return { ...endOf(content), warnings: [], content: [...content] }
    },
    doStream: async (given: LanguageModelV4CallOptions) => {
      const content = next(given)
      const parts = [
        { type: "stream-start", warnings: [] },
        ...content.flatMap(streamedPart),
        { type: "finish", ...endOf(content) }
      ]
      return { stream: new ReadableStream({ start: (to) => (parts.forEach((part) => to.enqueue(part)), to.close()) }) }
    }
  }
  return { asked, options, model: model as unknown as LanguageModelV3 | LanguageModelV4 }
}

/** The same service, whose native way nobody knows. */
const around = (layer: Layer.Layer<LanguageModel.LanguageModel>): Layer.Layer<LanguageModel.LanguageModel> =>
  Layer.effect(
    LanguageModel.LanguageModel,
    Effect.map(Effect.provide(LanguageModel.LanguageModel, layer), (service) => ({ ...service }))
  )

type Program<A, R> = Effect.Effect<A, never, R>

/** Runs a program by both paths to such a provider, and gives for each what was asked and what came of it. */
export const byBoth = <A, R>(
  program: Program<A, R>,
  make: () => { readonly asked: ReadonlyArray<string>; readonly layer: Layer.Layer<LanguageModel.LanguageModel> }
): Effect.Effect<
  { readonly native: readonly [ReadonlyArray<string>, A]; readonly foreign: readonly [ReadonlyArray<string>, A] },
  never,
  Exclude<R, LanguageModel.LanguageModel>
> => {
  const seeded = program.pipe(Random.withSeed("both"))
  return Effect.gen(function*() {
    const native = make()
    const first = yield* Effect.provide(seeded, native.layer)
    const foreign = make()
    const second = yield* Effect.provide(seeded, around(foreign.layer))
    return { native: [native.asked, first], foreign: [foreign.asked, second] } as const
  })
}

/** A server whose files say where they are. */
const fetch = ((url: URL) =>
  Promise.resolve(
    new Response(`at ${url.href}`, { headers: { "content-type": "image/png" } })
  )) as typeof globalThis.fetch

/** A provider of the AI SDK. With `downloads` it fetches no address itself. */
export const aiSdk = (
  answers: ReadonlyArray<ReadonlyArray<Content>>,
  specification: "v3" | "v4" = "v4",
  downloads = false
) =>
() => {
  const { asked, model } = providerOf(answers, specification)
  return {
    asked,
    layer: downloads
      ? AiSdkModel.layer({ ...model, supportedUrls: {} }, { download: { fetch } })
      : AiSdkModel.layer(model)
  }
}

/** A mock model that gives each of these answers in turn, then a short one. */
export const mock = (answers: ReadonlyArray<MockResponse.Input>) => () => {
  const asked: Array<string> = []
  const layer = MockModel.layer(MockModel.make(({ messages, streaming, system, toolChoice, toolNames }) => {
    asked.push(shown({ messages, streaming, system, toolChoice, toolNames }))
    return answers[asked.length - 1] ?? "Done."
  }))
  return { asked, layer }
}

const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Runs a program by a clock of its own, which goes on until everything has ended that time ends. */
export const timed = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self)
    for (let second = 0; second < 100 && fiber.pollUnsafe() === undefined; second++) {
      for (let n = 0; n < 5; n++) yield* turn
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  }).pipe(Effect.provide(TestClock.layer()))

/** How something ended, as data: errors without their stacks. */
export const endOf = <A, E>(exit: Exit.Exit<A, E>): unknown =>
  Exit.isSuccess(exit) ? exit.value : Cause.prettyErrors(exit.cause).map(({ message, name }) => [name, message])

/** All events of a stream, and how it ended. */
export const eventsOf = <E, R>(stream: Stream.Stream<AgentEvent.AgentEvent, E, R>) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    const exit = yield* Effect.exit(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
    return { events: shown(events), end: endOf(exit) }
  })
