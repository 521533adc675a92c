/** The same agents through the clients of each provider, over a socket, and through the mock model: a table of both. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockResponse } from "troupe/testing"
import { plainPrompt, plainState } from "./plain.ts"
import { type Provider, providers } from "./providers.ts"
import { type Scenario, scenarios, ways } from "./scenarios.ts"
import { mock, Served } from "./Served.ts"
import { type WireProvider, wireProviders } from "./wire/providers.ts"
import { serve } from "./wire/Wire.ts"

/** A provider, how it is served, and what is expected of its package. */
interface Case extends Pick<WireProvider, "modelOf"> {
  readonly serve: (handler: MockModel.Handler) => Layer.Layer<Served>
  readonly reasons: boolean
  /** What is sent back of a thought, if it is known. */
  readonly thoughts: ReadonlyArray<unknown> | undefined
  readonly counts: WireProvider["counts"] | undefined
  readonly forgets: boolean
  readonly marksFailures: boolean
  readonly takesSettings: boolean
}

const ofMock = (what: string, { modelOf, protocol, reasons, signs }: Provider): Case => ({
  modelOf,
  serve: mock(protocol),
  reasons,
  thoughts: signs
    ? [{ type: "thinking", thinking: "Paris, then.", signature: "c2lnbmVk" }]
    : protocol === "openai-chat"
    ? ["Paris, then."]
    : undefined,
  counts: undefined,
  forgets: false,
  marksFailures: protocol === "anthropic-messages",
  // Models that think take no others: their packages leave them out, and warn.
  takesSettings: what === "what is compatible with OpenAI"
})

const ofWire = ({ counts, forgets = false, modelOf, thoughts, wire }: WireProvider): Case => ({
  modelOf,
  serve: (handler) => serve(wire, handler),
  reasons: true,
  thoughts,
  counts,
  forgets,
  marksFailures: false,
  takesSettings: true
})

const cases: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(Object.entries(providers).map(([what, provider]) => [what, ofMock(what, provider)])),
  ...Object.fromEntries(Object.entries(wireProviders).map(([what, provider]) => [what, ofWire(provider)]))
}

/** Options of providers, of which each reads its own. */
const optionsOf = (scenario: Scenario | undefined): AiSdkModel.Options => ({
  providerOptions: {
    openai: { store: false },
    ...(scenario?.thinks === true
      ? {
        anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
        amazonBedrock: { reasoningConfig: { type: "enabled", budgetTokens: 1024 } }
      }
      : undefined)
  }
})

/** What a scenario comes to with the mock model: its last state, and the prompts of its requests. */
const expected = (name: string) =>
  Effect.suspend(() => {
    const { run, script } = scenarios[name]!
    return Effect.gen(function*() {
      const state = yield* run(ways["at once"]!)
      return { state, prompts: (yield* MockModel.calls).map(({ request }) => request.prompt) }
    }).pipe(Effect.provide(MockModel.layer(script())))
  })

for (const [what, provider] of Object.entries(cases)) {
  const { counts, marksFailures, modelOf, reasons, serve, takesSettings, thoughts } = provider

  /** The model of the provider that is served. */
  const layerOf = (options?: AiSdkModel.Options) =>
    Layer.unwrap(Effect.map(Served, ({ url }) => AiSdkModel.layer(modelOf({ baseURL: `${url}/v1` }), options)))

  const sent = Effect.flatMap(Served, ({ sent }) => sent)

  describe(`an agent with ${what}, over a socket`, () => {
    for (const [name, scenario] of Object.entries(scenarios)) {
      const { requests, run, script } = scenario
      it.effect(`${name}, as it does with the mock model, at once and streamed`, () =>
        Effect.gen(function*() {
          const { prompts, state: wanted } = yield* expected(name)
          for (const [how, way] of Object.entries(ways)) {
            yield* Effect.gen(function*() {
              const state = yield* run(way)
              assert.deepStrictEqual(plainState(state, provider), plainState(wanted, provider), how)
              const all = yield* sent
              assert.lengthOf(all, requests, how)
              assert.deepStrictEqual(
                all.map(({ prompt }) => plainPrompt(prompt)),
                prompts.map((prompt) => plainPrompt(prompt, provider)),
                how
              )
            }).pipe(Effect.provide(layerOf(optionsOf(scenario))), Effect.provide(serve(script())))
          }
        }))
    }

    const asked = (name: string, way = ways["streamed"]!) =>
      Effect.gen(function*() {
        const state = yield* scenarios[name]!.run(way)
        return { state, sent: (yield* sent).map(({ body }) => body) }
      }).pipe(Effect.provide(layerOf(optionsOf(scenarios[name]))), Effect.provide(serve(scenarios[name]!.script())))

    it.effect("is sent the results of its calls by their ids, the failure and the drawing among them", () =>
      Effect.gen(function*() {
        const { sent, state } = yield* asked("calls tools side by side, one of which fails and one of which draws")
        const ids = state.conversation.turns.flatMap((turn) =>
          turn._tag === "Assistant" ? turn.parts.flatMap((part) => part._tag === "Call" ? [part.id] : []) : []
        )
        const results = sent[1]!.results
        assert.deepStrictEqual(results.map(({ id }) => id), ids)
        assert.deepStrictEqual(JSON.parse(results[0]!.text), { celsius: 22 })
        assert.include(results[1]!.text, "NoStation")
        assert.strictEqual(results[1]!.isError, marksFailures ? true : undefined)
        assert.include(results[2]!.text, "A drawing of the Seine")
        // Where a result is a text, a note stands for the drawing.
        assert.match(results[2]!.text, /iVBORw0KGgo|A file of type image\/png/)
        assert.deepStrictEqual(sent[0]!.tools.map(({ name }) => name), ["get_weather", "draw", "book"])
        assert.strictEqual(sent[0]!.tools[0]!.description, "How warm it is")
        assert.deepInclude(sent[0]!.tools[0]!.parameters, { required: ["city"], type: "object" })
        assert.deepStrictEqual(sent.map(({ system }) => system), ["Be brief.", "Be brief."])
      }))

    if (reasons) {
      it.effect("is sent back what it thought, with its signature unchanged if there is one", () =>
        Effect.gen(function*() {
          for (const way of Object.values(ways)) {
            const { sent, state } = yield* asked("thinks before it calls a tool, and before it answers", way)
            if (thoughts !== undefined) assert.deepStrictEqual(sent[1]!.thoughts, thoughts)
            const { cached, reasoning } = state.run.usage
            assert.deepStrictEqual(
              { cached: [cached.known, cached.unreported], reasoning: [reasoning.known, reasoning.unreported] },
              counts as unknown ?? { cached: [30, 0], reasoning: [reasoning.known, 0] }
            )
            if (counts === undefined) assert.isAtLeast(reasoning.known, 3)
          }
        }))
    }

    it.effect("answers by a schema of JSON, which the provider is sent", () =>
      Effect.gen(function*() {
        const schema = Schema.Struct({ city: Schema.String, celsius: Schema.Finite })
        const { value } = yield* LanguageModel.generateObject({ prompt: "Report.", schema, objectName: "report" }).pipe(
          Effect.provide(layerOf())
        )
        assert.deepStrictEqual(value, { city: "Paris", celsius: 22 })
        const [first] = yield* sent
        assert.deepInclude(first!.body.format, { type: "object", required: ["city", "celsius"] })
      }).pipe(Effect.provide(serve(MockModel.queue(MockResponse.json({ city: "Paris", celsius: 22 }))))))

    it.effect("is sent settings and headers, of its layer and of the agent", () =>
      Effect.gen(function*() {
        const agent = Agent.make("assistant", {
          settings: AiSdkModel.settings({ temperature: 0, headers: { "x-agent": "a" } })
        })
        const model = layerOf({ temperature: 1, topP: 0.5, maxOutputTokens: 77, headers: { "x-layer": "l" } })
        yield* Agent.run(agent, "Hello").pipe(Effect.provide(model))
        const [first] = yield* sent
        const { settings } = first!.body
        assert.strictEqual(settings.maxTokens, 77)
        if (takesSettings) assert.deepStrictEqual([settings.temperature, settings.topP], [0, 0.5])
        assert.deepInclude(first!.headers, { "x-agent": "a", "x-layer": "l" })
      }).pipe(Effect.provide(serve(MockModel.queue("Hello.")))))

    it.effect("lets go of the connection when it is interrupted in mid-stream, or before there is an answer", () =>
      Effect.gen(function*() {
        const { ends, wait } = yield* Served
        const seen = yield* Agent.stream(Agent.make("assistant"), "Count.").pipe(
          Stream.filter((event) => event._tag === "TextDelta"),
          Stream.take(2),
          Stream.map(({ delta }) => delta),
          Stream.runCollect,
          Effect.provide(layerOf())
        )
        assert.deepStrictEqual(seen, ["one", " two"])
        assert.isFalse(yield* Effect.promise(() => ends[0]!))
        const fiber = yield* Agent.run(Agent.make("assistant"), "Count on.").pipe(
          Effect.provide(layerOf()),
          Effect.forkChild({ startImmediately: true })
        )
        yield* wait(2)
        yield* Fiber.interrupt(fiber)
        assert.isFalse(yield* Effect.promise(() => ends[1]!))
      }).pipe(
        Effect.provide(serve(MockModel.queue(MockResponse.hang("one two three four", 2), MockResponse.hang())))
      ))
  })
}
