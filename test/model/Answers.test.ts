/** What comes of an answer is the same by a model's native way as by `effect/ai`, be the answer sound or hostile. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schedule, Schema, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockResponse } from "troupe/testing"
import { below } from "../domain/arbitraries.ts"
import { times } from "../matrix.ts"
import { byBoth, type Content, endOf, eventsOf, providerOf, shown, timed } from "./paths.ts"

const Tools = Toolkit.make(
  Tool.make("add", { parameters: Schema.Struct({ a: Schema.Finite }), success: Schema.Finite })
)
const handlers = Tools.toLayer({ add: ({ a }) => Effect.succeed(a) })
const agent = Agent.make("a", { toolkit: Tools })

/** What may stand in the place of anything. */
const oddities: ReadonlyArray<() => unknown> = [
  () => undefined,
  () => null,
  () => Number.NaN,
  () => -1,
  () => 1.5,
  () => "12",
  () => "",
  () => true,
  () => [],
  () => ({}),
  () => ({ total: Number.NaN }),
  () => 12n,
  () => new Date(0),
  () => new Uint8Array([1]),
  () => new URL("https://house/a"),
  () => ({ house: { deep: Array.from({ length: 20 }).reduce((inner) => [inner], 1 as unknown) } }),
  () => ({ house: { when: new Date(0), not: undefined } }),
  () => ({ house: "text" }),
  () => ({ house: Object.assign([1], { 2: 3 }) }),
  () => JSON.parse("{\"__proto__\":{\"admin\":true}}"),
  () => Object.create({ inherited: true }),
  () => Symbol.for("symbol"),
  () => () => "called"
]

const usage = { inputTokens: { total: 10, cacheRead: 3 }, outputTokens: { total: 5, reasoning: 1 } }

/** Parts of whole answers as a provider under `effect/ai` gives them. */
const wholeParts: ReadonlyArray<Content> = [
  { type: "text", text: "Hm." },
  { type: "text", text: "Hm.", metadata: { house: { id: "a" } } },
  { type: "reasoning", text: "Well.", metadata: { house: { signature: "abc" } } },
  { type: "tool-call", id: "c1", name: "add", params: { a: 1 } },
  { type: "tool-call", id: "c2", name: "gone", params: {} },
  { type: "tool-call", id: "w1", name: "add", params: { a: 1 }, providerExecuted: true },
  { type: "tool-call", id: "w2", name: "add", params: { a: "one" }, providerExecuted: true },
  { type: "tool-result", id: "w1", name: "add", result: 1, isFailure: false, providerExecuted: true },
  { type: "file", mediaType: "image/png", data: "AQID" },
  { type: "source", sourceType: "url", id: "s", url: "https://house/a", title: "A" },
  { type: "source", sourceType: "document", id: "d", mediaType: "application/pdf", title: "D" },
  { type: "response-metadata", id: "r", modelId: "one", timestamp: "2026-01-01T00:00:00.000Z" },
  { type: "tool-approval-request", approvalId: "ap", toolCallId: "c1" },
  { type: "error", error: "broken" },
  { type: "finish", reason: "stop", usage, response: { status: 200, headers: {} } },
  { type: "finish", reason: "tool-calls", usage }
]

const streamParts: ReadonlyArray<Content> = [
  ...wholeParts.filter(({ type }) => type !== "text" && type !== "reasoning"),
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "Hm." },
  { type: "text-end", id: "t", metadata: { house: { id: "a" } } },
  { type: "reasoning-start", id: "r", metadata: { house: { id: "a" } } },
  { type: "reasoning-delta", id: "r", delta: "Well." },
  { type: "reasoning-end", id: "r", metadata: { house: { signature: "abc" } } },
  { type: "tool-params-start", id: "c1", name: "add" },
  { type: "tool-params-delta", id: "c1", delta: "{}" },
  { type: "tool-params-end", id: "c1" }
]

/** Where in a part something is put that doesn't belong there. */
const change = Arbitrary.all({ is: below(2), key: below(8), odd: below(oddities.length + 1) })

const changed = (part: Content, { is, key, odd }: { is: number; key: number; odd: number }): Content => {
  if (is > 0) return part
  const keys = [
    ...Object.keys(part).filter((key) => key !== "type"),
    "metadata",
    "providerMetadata",
    "providerExecuted"
  ]
  const name = keys[key % keys.length]!
  if (odd === oddities.length) return Object.fromEntries(Object.entries(part).filter(([key]) => key !== name)) as never
  if (name === "usage" && key > 3) return { ...part, usage: { ...usage, inputTokens: { total: oddities[odd]!() } } }
  return { ...part, [name]: oddities[odd]!() }
}

const partOf = (parts: ReadonlyArray<Content>) =>
  Arbitrary.map(Arbitrary.all({ at: below(parts.length), change }), ({ at, change }) => changed(parts[at]!, change))

const ends = { type: "finish", reason: "stop", usage } as const

const answer = Arbitrary.all({
  whole: Arbitrary.array(partOf(wholeParts), { maxLength: 4 }),
  stream: Arbitrary.array(partOf(streamParts), { maxLength: 6 }),
  finishes: below(3),
  after: below(4)
})

/** What comes of a run by both ways of running an agent. */
const told = Effect.gen(function*() {
  const whole = yield* Effect.exit(Agent.run(agent, "Hi"))
  const streamed = yield* eventsOf(Agent.stream(agent, "Hi"))
  return shown([endOf(whole), streamed])
})

/** Parts as packages of the AI SDK give them. */
const sdkParts: ReadonlyArray<Content> = [
  { type: "text", text: "Hm.", providerMetadata: { house: { id: "a" } } },
  { type: "reasoning", text: "Well.", providerMetadata: { house: { signature: "abc" } } },
  { type: "tool-call", toolCallId: "c1", toolName: "add", input: "{\"a\":1}" },
  { type: "tool-call", toolCallId: "c2", toolName: "gone", input: "{broken" },
  { type: "tool-call", toolCallId: "w1", toolName: "add", input: "{\"a\":1}", providerExecuted: true },
  { type: "tool-result", toolCallId: "w1", toolName: "add", result: 1 },
  { type: "tool-call", toolCallId: "w2", toolName: "web", input: "{}", providerExecuted: true },
  { type: "tool-result", toolCallId: "w2", toolName: "web", result: { found: 1 } },
  { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://house/a.png") } },
  { type: "file", mediaType: "image/png", data: "AQID" },
  { type: "source", sourceType: "url", id: "s", url: "https://house/a" },
  { type: "custom", kind: "house.note", providerMetadata: { house: { id: "n" } } },
  { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AQID" } }
]

/** How an answer of a package ends: with these fields, or by what its stream does. */
const endings: ReadonlyArray<Readonly<Record<string, unknown>>> = [
  {},
  {},
  { finishReason: { unified: "odd", raw: undefined } },
  { finishReason: { unified: "content-filter", raw: "filtered" } },
  { finishReason: undefined },
  { usage: { inputTokens: { total: Number.NaN }, outputTokens: { total: -1 } } },
  { usage: undefined },
  { providerMetadata: { house: { when: new Date(0) } } },
  { does: "breaks" },
  { does: "throws" },
  { does: "hangs" },
  { does: "errs" },
  { does: "goes on" }
]

/** A package's model that says something and ends so. */
const endingIn = (
  content: ReadonlyArray<Content>,
  { does, ...fields }: Readonly<Record<string, unknown>>,
  specification: "v3" | "v4"
) => {
  const { model } = providerOf(Array.from({ length: 20 }, () => content), specification)
  const doGenerate = async (given: never) => {
    if (does === "throws") throw new Error("no")
    if (does === "hangs") return new Promise(() => {})
    return { ...await model.doGenerate(given), ...fields }
  }
  const doStream = async (given: never) => {
    const { stream } = await model.doStream(given) as { stream: ReadableStream<{ type: string }> }
    if (does === "throws") throw new Error("no")
    return {
      stream: stream.pipeThrough(
        new TransformStream<{ type: string }, unknown>({
          transform: (part, to) => {
            if (part.type !== "finish") return to.enqueue(part)
            if (does === "breaks") return to.error(new TypeError("terminated"))
            if (does === "hangs") return new Promise(() => {})
            if (does === "errs") to.enqueue({ type: "error", error: new Error("late") })
            to.enqueue({ ...part, ...fields })
            if (does === "goes on") to.enqueue({ type: "error", error: new Error("late") })
          }
        })
      )
    }
  }
  return { ...model, doGenerate, doStream } as unknown as LanguageModelV4
}

const law = { arbitrary: { runs: times(150, 25) } } as const
const often = { arbitrary: { runs: times(500, 60) } } as const

describe("What comes of an answer", () => {
  it.effect.prop(
    "is the same for whatever a provider under `effect/ai` gives",
    [answer],
    ([{ finishes, stream, whole }]) =>
      Effect.gen(function*() {
        const close = finishes === 0 ? [] : [ends]
        const said = MockResponse.raw({ parts: [...whole, ...close] as never, stream: [...stream, ...close] as never })
        const make = () => {
          let count = 0
          return { asked: [], layer: MockModel.layer(MockModel.make(() => count++ % 2 === 0 ? said : "Done.")) }
        }
        const { foreign, native } = yield* byBoth(told, make)
        assert.strictEqual(native[1], foreign[1])
      }).pipe(Effect.provide(handlers)),
    often
  )

  it.effect("is the same for every oddity in every place", () =>
    Effect.gen(function*() {
      const parts = new Set([...wholeParts, ...streamParts])
      for (const part of parts) {
        for (const name of Object.keys({ ...part, ...(part.type === "text" ? { metadata: {} } : undefined) })) {
          if (name === "type") continue
          for (const odd of oddities) {
            const said = { ...part, [name]: odd() }
            const isWhole = wholeParts.includes(part)
            const raw = MockResponse.raw({ [isWhole ? "parts" : "stream"]: [said, ends] } as never)
            const run = Effect.exit(isWhole ? Agent.run(agent, "Hi") : Stream.runDrain(Agent.stream(agent, "Hi")))
            const make = () => ({ asked: [], layer: MockModel.layer(MockModel.queue(raw, "Done.", "Done.")) })
            const { foreign, native } = yield* byBoth(Effect.map(run, (exit) => shown(endOf(exit))), make)
            assert.strictEqual(native[1], foreign[1], `${part.type}, ${name}`)
          }
        }
      }
    }).pipe(Effect.provide(handlers)))

  it.effect.prop(
    "is the same for whatever a package of the AI SDK gives, and however it ends",
    [Arbitrary.array(partOf(sdkParts), { maxLength: 4 }), below(endings.length), below(2)],
    ([content, ending, v3]) =>
      Effect.gen(function*() {
        const make = () => {
          const model = endingIn(content, endings[ending]!, v3 === 1 ? "v3" : "v4")
          return {
            asked: [],
            layer: AiSdkModel.layer(model, { timeouts: { between: "1 second", total: "5 seconds" } })
          }
        }
        const { foreign, native } = yield* byBoth(timed(told), make)
        assert.deepStrictEqual(native[1], foreign[1])
      }).pipe(Effect.provide(handlers)),
    law
  )

  it.effect("is the same where a stream breaks, throws, hangs and is interrupted, and goes on behind its end", () =>
    Effect.gen(function*() {
      const error = new AiError.InternalProviderError({ description: "no" })
      const said = MockResponse.all(
        MockResponse.reasoning("Well."),
        "One two three.",
        MockResponse.toolCall("add", { a: 1 })
      )
      const scripts: ReadonlyArray<ReadonlyArray<MockResponse.Input>> = [
        [MockResponse.breakAfter(said, 2, error), "Done."],
        [MockResponse.fail(error), said, "Done."],
        [MockResponse.cut(said, 3), "Done."],
        [MockResponse.hang(said, 2)],
        [MockResponse.hang(said)],
        [MockResponse.raw({ stream: [{ type: "error", error: "late" }] }), "Done."],
        [
          MockResponse.raw({
            parts: [ends, { type: "text", text: "Behind." }] as never,
            stream: [{ type: "text-start", id: "a" }, { type: "text-delta", id: "a", delta: "Hm" }, ends, {
              type: "error",
              error: "late"
            }]
          }),
          "Done."
        ],
        [MockResponse.withFinishReason(said, "length"), "Done."]
      ]
      const retrying = Agent.make("a", { toolkit: Tools, retry: Schedule.recurs(1) })
      const seen = Effect.gen(function*() {
        const ends: Array<unknown> = []
        for (const each of [agent, retrying]) {
          const events: Array<unknown> = []
          const streamed = Stream.runForEach(Agent.stream(each, "Hi"), (event) => Effect.sync(() => events.push(event)))
          const exit = yield* Effect.exit(Effect.timeout(streamed, "2 seconds"))
          const whole = yield* Effect.exit(Effect.timeout(Agent.run(each, "Hi"), "2 seconds"))
          ends.push(events, endOf(exit), endOf(whole))
        }
        return shown(ends)
      })
      for (const script of scripts) {
        const make = () => {
          let count = 0
          return { asked: [], layer: MockModel.layer(MockModel.make(() => script[count++] ?? "Done.")) }
        }
        const { foreign, native } = yield* byBoth(timed(seen), make)
        assert.include(native[1], "RunStarted")
        assert.strictEqual(native[1], foreign[1])
      }
    }).pipe(Effect.provide(handlers)))
})
