import { Effect, Schema } from "effect"
import { type LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent } from "troupe"
import { expectTypeOf, test } from "vitest"

const Kit = Toolkit.make(
  Tool.make("pay", { parameters: Schema.Struct({ cents: Schema.Int }), failure: Schema.Literal("broke") }),
  Tool.make("look")
)

test("an agent needs what the agents need that it calls, also where they are made in its options", () => {
  const agent = Agent.make("top", {
    agents: [
      Agent.asTool(Agent.make("plain")),
      Agent.asTool(Agent.make("payer", { toolkit: Kit, output: Schema.Struct({ at: Schema.Date }) }), {
        name: "bursar",
        parameters: Schema.Struct({ at: Schema.Date }),
        toInput: ({ at }) => at.toISOString()
      })
    ],
    toolChoice: { tool: "bursar" }
  })
  expectTypeOf<Agent.Services<typeof agent>>().toEqualTypeOf<
    LanguageModel.LanguageModel | Tool.Handler<"pay"> | Tool.Handler<"look">
  >()
  expectTypeOf<Agent.RunError<typeof agent>>().toEqualTypeOf<never>()
  // @ts-expect-error: no tool has this name
  Agent.make("top", { agents: [Agent.asTool(Agent.make("plain"))], toolChoice: { tool: "other" } })
})

test("an agent may have a toolkit of any tools with their handlers, and needs no handlers then", () => {
  const program = Effect.gen(function*() {
    const toolkit = yield* Kit
    const agent = Agent.make("payer", { toolkit, fatal: ["pay"] })
    expectTypeOf<Agent.Services<typeof agent>>().toEqualTypeOf<LanguageModel.LanguageModel>()
    expectTypeOf<Agent.RunError<typeof agent>>().toEqualTypeOf<"broke">()
    // @ts-expect-error: no tool has this name
    Agent.make("payer", { toolkit, fatal: ["other"] })
  })
  expectTypeOf(program).toEqualTypeOf<Effect.Effect<void, never, Tool.Handler<"pay"> | Tool.Handler<"look">>>()
})
