import { Effect, type Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import { AgentState, type Session, ToolPolicy } from "../../src/index.ts"

const state = AgentState.make("clerk")

type Given = Result.Result<AgentState.AgentState, AgentState.NotAwaitingResult>

describe("A result that comes later", () => {
  it("lets a handler of any type end without one", () => {
    const Kit = Toolkit.make(Tool.make("count", { success: Schema.Finite, failure: Schema.String }))
    Kit.toLayer({ count: () => ToolPolicy.deferResult })
    Kit.toLayer({ count: () => Effect.andThen(Effect.fail("no"), ToolPolicy.deferResult) })
    // @ts-expect-error the handler may fail with a text only
    Kit.toLayer({ count: () => Effect.andThen(Effect.fail(1), ToolPolicy.deferResult) })
  })

  it("is given to a state first or last, as JSON", () => {
    expectTypeOf(AgentState.giveResult(state, "a", { on: "Friday" })).toEqualTypeOf<Given>()
    expectTypeOf(AgentState.giveResult("a", 1)(state)).toEqualTypeOf<Given>()
    expectTypeOf(AgentState.giveFailure("a", "lost")(state)).toEqualTypeOf<Given>()
    // @ts-expect-error a date is no JSON
    AgentState.giveResult(state, "a", { on: new Date() })
    // @ts-expect-error the model reads words
    AgentState.giveFailure(state, "a", { why: "lost" })
  })

  it("is given in a session", () => {
    const session = {} as Session.Session
    expectTypeOf(session.giveResult("a", 1)).toEqualTypeOf<
      Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingResult | Session.SessionError>
    >()
  })
})
