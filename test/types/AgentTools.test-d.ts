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

test("a toolkit of tools that nobody knows needs what nobody knows, and not just anything", () => {
  const kit = Toolkit.make() as Toolkit.Toolkit<Record<string, Tool.Any>>
  const agent = Agent.make("any", { toolkit: kit })
  expectTypeOf<Agent.Services<typeof agent>>().toBeUnknown()
  expectTypeOf<Agent.Services<typeof agent>>().not.toBeAny()
})

test("an agent as a tool takes a task where nothing else is said, and may ask for approval by what it is given", () => {
  const plain = Agent.make("plain")
  Agent.asTool(plain, { toInput: ({ task }) => task.toUpperCase(), needsApproval: ({ task }) => task.length > 3 })
  Agent.asTool(plain, {
    parameters: Schema.Struct({ cents: Schema.Int }),
    needsApproval: ({ cents }) => Effect.succeed(cents > 100)
  })
})

test("an agent with an output schema may be made to answer at once", () => {
  Agent.make("answers", { output: Schema.Struct({ ok: Schema.Boolean }), toolChoice: { tool: "final_answer" } })
  // @ts-expect-error: an agent that answers in text has no such tool
  Agent.make("talks", { toolChoice: { tool: "final_answer" } })
})
