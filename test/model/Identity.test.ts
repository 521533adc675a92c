/** Whoever wraps, replaces or watches a model is asked, and never passed by. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Telemetry, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { Cassette, MockModel, MockResponse } from "troupe/testing"
import { recorded } from "../agent/spans.ts"
import { content, newPath, withFiles } from "../testing/tape.ts"
import { type Content, providerOf } from "./paths.ts"

type Service = LanguageModel.LanguageModel

const agent = Agent.make("a")

/** The services that have a native way. */
const services: Readonly<Record<string, (first?: ReadonlyArray<Content>) => Effect.Effect<Service>>> = {
  "AiSdkModel": (first) => AiSdkModel.make(providerOf(first === undefined ? [] : [first], "v4").model),
  "MockModel": (first) => {
    let asked = 0
    const model = MockModel.make(() =>
      asked++ === 0 && first !== undefined ? MockResponse.toolCall("ask", {}) : "Done."
    )
    return Effect.provide(LanguageModel.LanguageModel, MockModel.layer(model))
  }
}

const Tools = Toolkit.make(Tool.make("ask", { success: Schema.String, dependencies: [LanguageModel.LanguageModel] }))
const asking = Agent.make("a", { toolkit: Tools })

const ways = {
  whole: Effect.map(Agent.run(agent, "Hi"), AgentState.text),
  streamed: Effect.map(
    Stream.runLast(Agent.states(agent, "Hi")),
    (last) => last._tag === "Some" ? AgentState.text(last.value) : ""
  )
}

/** Runs both ways with a service, and gives the names of the requests' spans. */
const asked = Effect.fnUntraced(function*(service: Service, more: Context.Context<never> = Context.empty()) {
  const names: Array<string> = []
  for (const run of Object.values(ways)) {
    const { exit, spans } = yield* recorded(Effect.provideContext(
      Effect.provideService(run, LanguageModel.LanguageModel, service),
      more
    ))
    assert.deepStrictEqual(exit._tag === "Success" ? exit.value : exit.cause, "Done.")
    names.push(...spans.map(({ name }) => name).filter((name) => !name.startsWith("invoke_agent")))
  }
  return names.map((name) => name.split(" ")[0])
})

const native = ["chat", "chat"]
const foreign = ["LanguageModel.generateText", "LanguageModel.streamText"]

/** Counts how often the methods of a service are called, by a service of one's own. */
const counting = (service: Service) => {
  const count = { whole: 0, streamed: 0 }
  const methods = {
    generateText: ((options: never) => {
      count.whole++
      return service.generateText(options)
    }) as never as Service["generateText"],
    streamText: ((options: never) => {
      count.streamed++
      return service.streamText(options)
    }) as never as Service["streamText"]
  }
  return { count, methods }
}

const wraps: Readonly<
  Record<string, (service: Service, methods: Pick<Service, "generateText" | "streamText">) => Service>
> = {
  "a spread of it": (service, methods) => ({ ...service, ...methods }),
  "an object that inherits from it": (service, methods) =>
    Object.create(service, {
      generateText: { value: methods.generateText },
      streamText: { value: methods.streamText }
    }) as Service,
  "a proxy": (service, methods) =>
    new Proxy(service, {
      get: (target, key) => Reflect.get(key in methods ? methods : target, key) as unknown
    }),
  "methods that were replaced in place": (service, methods) => Object.assign(service, methods)
}

for (const [name, make] of Object.entries(services)) {
  describe(name, () => {
    it.effect("has a native way", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* asked(yield* make()), native)
      }))

    for (const [what, wrap] of Object.entries(wraps)) {
      it.effect(`is asked through ${what}`, () =>
        Effect.gen(function*() {
          const service = yield* make()
          const { count, methods } = counting({ ...service })
          assert.deepStrictEqual(yield* asked(wrap(service, methods)), foreign)
          assert.deepStrictEqual(count, { whole: 1, streamed: 1 })
        }))

      it.effect(`is asked through ${what} that only changes what isn't asked now`, () =>
        Effect.gen(function*() {
          for (const only of ["generateText", "streamText"] as const) {
            const service = yield* make()
            const { count, methods } = counting({ ...service })
            yield* asked(wrap(service, { ...pick(service), [only]: methods[only] }))
            assert.deepStrictEqual(
              count,
              only === "generateText" ? { whole: 1, streamed: 0 } : { whole: 0, streamed: 1 }
            )
          }
        }))
    }

    it.effect("is asked through a spy, and by its native way again once that is taken off", () =>
      Effect.gen(function*() {
        const service = yield* make()
        const spies = [vi.spyOn(service, "generateText"), vi.spyOn(service, "streamText")]
        assert.deepStrictEqual(yield* asked(service), foreign)
        for (const spy of spies) {
          assert.strictEqual(spy.mock.calls.length, 1)
          spy.mockRestore()
        }
        assert.deepStrictEqual(yield* asked(service), native)
      }))

    it.effect("is asked through a spy behind the model of a cassette that records", () =>
      Effect.gen(function*() {
        const service = yield* make()
        const path = yield* newPath
        const recording = Cassette.layer(path, { mode: "record" }).pipe(
          Layer.provide(Layer.succeed(LanguageModel.LanguageModel, service))
        )
        yield* Effect.gen(function*() {
          const recorder = yield* LanguageModel.LanguageModel
          yield* asked(recorder)
          const spies = [vi.spyOn(service, "generateText"), vi.spyOn(service, "streamText")]
          yield* asked(recorder)
          for (const spy of spies) assert.strictEqual(spy.mock.calls.length, 1)
        }).pipe(Effect.provide(recording))
        assert.lengthOf((yield* content(path)).match(/Done\./g) ?? [], 4)
      }).pipe(withFiles))

    it.effect("is asked through a layer around it", () =>
      Effect.gen(function*() {
        const service = yield* make()
        let count = 0
        const limited = Layer.effect(
          LanguageModel.LanguageModel,
          Effect.map(LanguageModel.LanguageModel, (model) => ({
            ...model,
            generateText: ((options: never) =>
              Effect.andThen(Effect.sync(() => count++), model.generateText(options))) as never as Service[
                "generateText"
              ]
          }))
        ).pipe(Layer.provide(Layer.succeed(LanguageModel.LanguageModel, service)))
        const text = yield* Effect.provide(ways.whole, limited)
        assert.deepStrictEqual([text, count], ["Done.", 1])
      }))

    for (const [what, wrap] of Object.entries(wraps)) {
      it.effect(`is asked by a tool's run through ${what}, made of the model that the tool was given`, () =>
        Effect.gen(function*() {
          const service = yield* make([{ type: "tool-call", toolCallId: "c1", toolName: "ask", input: "{}" }])
          const counts: Array<{ readonly whole: number; readonly streamed: number }> = []
          const handlers = Tools.toLayer({
            ask: () =>
              Effect.gen(function*() {
                const given = yield* LanguageModel.LanguageModel
                const { count, methods } = counting({ ...given })
                const before = pick(given)
                yield* Effect.provideService(Effect.all(ways), LanguageModel.LanguageModel, wrap(given, methods))
                Object.assign(given, before)
                counts.push(count)
                return "asked"
              }).pipe(Effect.orDie)
          })
          yield* Agent.run(asking, "Hi").pipe(
            Effect.provideService(LanguageModel.LanguageModel, service),
            Effect.provide(handlers)
          )
          assert.deepStrictEqual(counts, [{ whole: 1, streamed: 1 }])
        }))
    }

    it.effect("shows a transformer of spans what was answered, wherever that was provided", () =>
      Effect.gen(function*() {
        let seen = 0
        const transformer = Context.make(Telemetry.CurrentSpanTransformer, () => {
          seen++
        })
        assert.deepStrictEqual(yield* asked(yield* make(), transformer), foreign)
        const where = seen
        assert.isAbove(where, 0)
        assert.deepStrictEqual(yield* asked(yield* Effect.provideContext(make(), transformer)), foreign)
      }))
  })
}

const pick = ({ generateText, streamText }: Service) => ({ generateText, streamText })

describe("A service of another copy of the package", () => {
  it.effect("is asked by `effect/ai`, which knows both", () =>
    Effect.gen(function*() {
      vi.resetModules()
      const copy = yield* Effect.promise(() => import("troupe/ai-sdk"))
      assert.notStrictEqual<unknown>(copy.AiSdkModel.make, AiSdkModel.make)
      assert.deepStrictEqual(yield* asked(yield* copy.AiSdkModel.make(providerOf([], "v4").model)), foreign)
    }))
})
