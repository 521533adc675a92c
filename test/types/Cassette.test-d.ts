import type { FileSystem, Layer, PlatformError, Stream } from "effect"
import { Effect, Schema } from "effect"
import { type LanguageModel, Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import type { AgentEvent } from "../../src/index.ts"
import { Cassette } from "../../src/testing/index.ts"

type Provided = LanguageModel.LanguageModel | Cassette.Cassette
type Wrong = PlatformError.PlatformError | Cassette.InvalidTape
type Model = LanguageModel.LanguageModel

const Weather = Toolkit.make(
  Tool.make("get_weather", { parameters: Schema.Struct({ city: Schema.String }), success: Schema.Finite })
)
const handlers = Weather.toLayer({ get_weather: () => Effect.succeed(22) })

describe("Cassette", () => {
  it("needs a model where it may record, and none to replay", () => {
    expectTypeOf(Cassette.layer("a", { mode: "replay" })).toEqualTypeOf<
      Layer.Layer<Provided, Wrong, FileSystem.FileSystem>
    >()
    expectTypeOf(Cassette.layer("a", { mode: "record" })).toEqualTypeOf<
      Layer.Layer<Provided, Wrong, FileSystem.FileSystem | Model>
    >()
    expectTypeOf(Cassette.layer("a")).toEqualTypeOf<Layer.Layer<Provided, Wrong, FileSystem.FileSystem | Model>>()
    expectTypeOf(Cassette.layer("a", { mode: "replay" as Cassette.Mode })).toEqualTypeOf<
      Layer.Layer<Provided, Wrong, FileSystem.FileSystem | Model>
    >()
  })

  it("needs no files for events", () => {
    expectTypeOf(Cassette.fromEvents([])).toEqualTypeOf<Layer.Layer<Provided>>()
    const stream = null! as Stream.Stream<AgentEvent.AgentEvent, "gone", FileSystem.FileSystem>
    expectTypeOf(Cassette.fromEvents(stream)).toEqualTypeOf<Layer.Layer<Provided, "gone", FileSystem.FileSystem>>()
  })

  it("stands in for the handlers of a toolkit", () => {
    expectTypeOf(Cassette.toolkit(Weather)).toEqualTypeOf<
      Layer.Layer<Tool.Handler<"get_weather">, never, Cassette.Cassette>
    >()
    expectTypeOf(Cassette.toolkit(Weather, handlers)).toEqualTypeOf<
      Layer.Layer<Tool.Handler<"get_weather">, never, Cassette.Cassette>
    >()
  })

  it("fails with what is wrong with a tape where one asks for it", () => {
    expectTypeOf(Effect.fail("no" as const).pipe(Cassette.orFail)).toEqualTypeOf<
      Effect.Effect<
        never,
        | "no"
        | Cassette.CassetteConflict
        | Cassette.CassetteDrift
        | Cassette.CassetteExhausted
        | Cassette.CassetteLeftOver
      >
    >()
  })
})
