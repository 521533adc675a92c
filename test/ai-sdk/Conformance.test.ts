/** The same agents through the clients of each provider, over a socket, and through the mock model: a table of both. */
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { createServer } from "node:http"
import { Agent } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { served } from "../testing/provider/serve.ts"
import { bodies } from "./bodies.ts"
import { plainPrompt, plainState } from "./plain.ts"
import { layerOf, providers } from "./providers.ts"
import { type Scenario, scenarios, ways } from "./scenarios.ts"

/** Options of providers, of which each reads its own. */
const optionsOf = (scenario: Scenario | undefined): AiSdkModel.Options => ({
  providerOptions: {
    openai: { store: false },
    ...(scenario?.thinks === true ? { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } : undefined)
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

/** A mock provider that is served, and for each response a promise of whether it was sent to its end. */
const watched = (handler: MockModel.Handler) => {
  const ends: Array<Promise<boolean>> = []
  const server = () =>
    createServer().on("request", (_, response) => {
      ends.push(new Promise((resolve) => response.on("close", () => resolve(response.writableFinished))))
    })
  const layer = MockProvider.layerServer({ handler }).pipe(
    Layer.provideMerge(NodeHttpServer.layer(server, { host: "127.0.0.1", port: 0 }))
  )
  return { ends, layer }
}

for (const [what, provider] of Object.entries(providers)) {
  const { protocol, reasons, signs } = provider
  const read = bodies[protocol]

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
              const entries = yield* MockProvider.entries
              assert.deepStrictEqual(entries.map(({ protocol }) => protocol), Array(requests).fill(protocol), how)
              assert.deepStrictEqual(
                entries.map(({ asked }) => asked && plainPrompt(asked.prompt)),
                prompts.map(plainPrompt),
                how
              )
            }).pipe(
              Effect.provide(layerOf(provider, optionsOf(scenario))),
              Effect.provide(served({ handler: script(), strict: true }))
            )
          }
        }))
    }

    const asked = (name: string, way = ways["streamed"]!) =>
      Effect.gen(function*() {
        const state = yield* scenarios[name]!.run(way)
        const sent = (yield* MockProvider.entries).map(({ asked }) => read(asked?.body))
        return { state, sent }
      }).pipe(
        Effect.provide(layerOf(provider, optionsOf(scenarios[name]))),
        Effect.provide(served({ handler: scenarios[name]!.script(), strict: true }))
      )

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
        assert.strictEqual(results[1]!.isError, protocol === "anthropic-messages" ? true : undefined)
        assert.include(results[2]!.text, "A drawing of the Seine")
        // Where a result is a text, a note stands for the drawing.
        assert.match(results[2]!.text, /iVBORw0KGgo|A file of type image\/png/)
        assert.deepStrictEqual(sent[0]!.tools.map(({ name }) => name), ["get_weather", "draw", "book"])
        assert.strictEqual(sent[0]!.tools[0]!.description, "How warm it is")
        assert.deepInclude(sent[0]!.tools[0]!.parameters, { required: ["city"], type: "object" })
        assert.deepStrictEqual(sent.map(({ system }) => system), ["Be brief.", "Be brief."])
      }))

    if (reasons) {
      it.effect(`is sent back what it thought${signs ? ", with its signature unchanged" : ""}`, () =>
        Effect.gen(function*() {
          for (const way of Object.values(ways)) {
            const { sent, state } = yield* asked("thinks before it calls a tool, and before it answers", way)
            const thought = signs
              ? [{ type: "thinking", thinking: "Paris, then.", signature: "c2lnbmVk" }]
              : protocol === "openai-chat"
              ? ["Paris, then."]
              : []
            if (protocol !== "openai-responses") assert.deepStrictEqual(sent[1]!.thoughts, thought)
            const usage = state.run.usage
            assert.deepStrictEqual(
              [usage.cached, usage.reasoning].map((count) => [count.known, count.unreported]),
              [[30, 0], [usage.reasoning.known, 0]]
            )
            assert.isAtLeast(usage.reasoning.known, 3)
          }
        }))
    }

    it.effect("answers by a schema of JSON, which the provider is sent", () =>
      Effect.gen(function*() {
        const schema = Schema.Struct({ city: Schema.String, celsius: Schema.Finite })
        const { value } = yield* LanguageModel.generateObject({ prompt: "Report.", schema, objectName: "report" }).pipe(
          Effect.provide(layerOf(provider))
        )
        assert.deepStrictEqual(value, { city: "Paris", celsius: 22 })
        const [sent] = (yield* MockProvider.entries).map(({ asked }) => read(asked?.body))
        assert.deepInclude(sent!.format, { type: "object", required: ["city", "celsius"] })
      }).pipe(Effect.provide(served({
        handler: MockModel.queue(MockResponse.json({ city: "Paris", celsius: 22 })),
        strict: true
      }))))

    it.effect("is sent settings and headers, of its layer and of the agent", () =>
      Effect.gen(function*() {
        const agent = Agent.make("assistant", {
          settings: AiSdkModel.settings({ temperature: 0, headers: { "x-agent": "a" } })
        })
        const model = layerOf(provider, { temperature: 1, topP: 0.5, maxOutputTokens: 77, headers: { "x-layer": "l" } })
        yield* Agent.run(agent, "Hello").pipe(Effect.provide(model))
        const [entry] = yield* MockProvider.entries
        const { settings } = read(entry!.asked?.body)
        assert.strictEqual(settings.maxTokens, 77)
        // Models that think take no others: their packages leave them out, and warn.
        if (what === "what is compatible with OpenAI") {
          assert.deepStrictEqual([settings.temperature, settings.topP], [0, 0.5])
        }
        assert.deepInclude(entry!.headers, { "x-agent": "a", "x-layer": "l" })
      }).pipe(Effect.provide(served({ handler: MockModel.queue("Hello."), strict: true }))))

    it.effect("lets go of the connection when it is interrupted in mid-stream, or before there is an answer", () =>
      Effect.gen(function*() {
        const { ends, layer } = watched(
          MockModel.queue(MockResponse.hang("one two three four", 2), MockResponse.hang())
        )
        yield* Effect.gen(function*() {
          const seen = yield* Agent.stream(Agent.make("assistant"), "Count.").pipe(
            Stream.filter((event) => event._tag === "TextDelta"),
            Stream.take(2),
            Stream.map(({ delta }) => delta),
            Stream.runCollect,
            Effect.provide(layerOf(provider))
          )
          assert.deepStrictEqual(seen, ["one", " two"])
          assert.isFalse(yield* Effect.promise(() => ends[0]!))
          const fiber = yield* Agent.run(Agent.make("assistant"), "Count on.").pipe(
            Effect.provide(layerOf(provider)),
            Effect.forkChild({ startImmediately: true })
          )
          yield* MockProvider.wait(2)
          yield* Fiber.interrupt(fiber)
          assert.isFalse(yield* Effect.promise(() => ends[1]!))
        }).pipe(Effect.provide(layer))
      }))
  })
}
