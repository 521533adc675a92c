import { Context, Effect, type Layer, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import { Agent, type AgentError, type AgentState, ContextWindow, type Conversation, Handoff } from "../../src/index.ts"

type Model = LanguageModel.LanguageModel

class Notes extends Context.Service<Notes, string>()("test/Notes") {}
class Http extends Context.Service<Http, string>()("test/Http") {}
class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}

const noted = ContextWindow.summarize((conversation) => {
  expectTypeOf(conversation).toEqualTypeOf<Conversation.Conversation>()
  return conversation.turns.length > 1 ? Effect.map(Notes, String) : Effect.fail(new Lost())
})

describe("ContextWindow.make", () => {
  it("needs nothing and fails with nothing by what only chooses", () => {
    expectTypeOf(ContextWindow.make({ maxTurns: 9 })).toEqualTypeOf<ContextWindow.ContextWindow>()
    expectTypeOf(ContextWindow.make({ maxTokens: 9, strategy: ContextWindow.middleOut })).toEqualTypeOf<
      ContextWindow.ContextWindow
    >()
    const own = ContextWindow.make({
      maxTokens: ({ settings }) => settings?.model === "small" ? 1 : 2,
      strategy: (turns, room) => {
        expectTypeOf(turns).toEqualTypeOf<ReadonlyArray<ContextWindow.WindowTurn>>()
        expectTypeOf(room).toEqualTypeOf<ContextWindow.Room>()
        return turns.map(({ turn }) => turn)
      }
    })
    expectTypeOf(own).toEqualTypeOf<ContextWindow.ContextWindow>()
    // @ts-expect-error a strategy gives turns
    ContextWindow.make({ strategy: () => ["Hello"] })
    // @ts-expect-error a strategy does nothing that takes an effect
    ContextWindow.make({ strategy: () => Effect.succeed([]) })
  })

  it("collects what summaries fail with and need", () => {
    expectTypeOf(ContextWindow.make({ maxTurns: 9, strategy: noted })).toEqualTypeOf<
      ContextWindow.ContextWindow<Lost | ContextWindow.EmptySummary, Notes>
    >()
    const both = ContextWindow.sequence(ContextWindow.dropToolResults, (turns) => turns.map(({ turn }) => turn), noted)
    expectTypeOf(both).toEqualTypeOf<ContextWindow.Strategy<Lost | ContextWindow.EmptySummary, Notes>>()
    // @ts-expect-error a summary is a text
    ContextWindow.summarize(() => Effect.succeed(1))
    // @ts-expect-error no strategy at all
    ContextWindow.sequence()
  })

  it("collects what a model that summarizes fails with and needs", () => {
    type Failure = AiError.AiError | ContextWindow.EmptySummary
    expectTypeOf(ContextWindow.summarize()).toEqualTypeOf<ContextWindow.Strategy<Failure, Model>>()
    expectTypeOf(ContextWindow.summarize({ instructions: "Briefly." })).toEqualTypeOf<
      ContextWindow.Strategy<Failure, Model>
    >()
    const layer = {} as Layer.Layer<Model, "no key", Http>
    expectTypeOf(ContextWindow.summarize(layer)).toEqualTypeOf<ContextWindow.Strategy<Failure | "no key", Http>>()
  })
})

describe("An agent with a context window", () => {
  const contextWindow = ContextWindow.make({ maxTurns: 9, strategy: noted })
  const agent = Agent.make("agent", { contextWindow })

  it("fails with what its summaries fail with, and needs what they need", () => {
    expectTypeOf(agent).toEqualTypeOf<
      Agent.Agent<"agent", string, Lost | ContextWindow.EmptySummary, Model | Notes>
    >()
    expectTypeOf(Agent.run(agent, "Hi")).toEqualTypeOf<
      Effect.Effect<
        AgentState.AgentState,
        AgentError.AgentError | Lost | ContextWindow.EmptySummary,
        Model | Notes
      >
    >()
    expectTypeOf(Agent.make("plain", { contextWindow: ContextWindow.make({ maxTurns: 9 }) })).toEqualTypeOf<
      Agent.Agent<"plain", string, never, Model>
    >()
    const own = Agent.make("own", {
      contextWindow: ContextWindow.make({ maxTurns: 9, strategy: ContextWindow.summarize() })
    })
    expectTypeOf<Agent.Services<typeof own>>().toEqualTypeOf<Model>()
    expectTypeOf<Agent.Services<ReturnType<typeof withOwn>>>().toEqualTypeOf<never>()
    const withOwn = () => Agent.withModel(own, {} as Layer.Layer<Model>)
    // @ts-expect-error a window is made
    Agent.make("wrong", { contextWindow: { maxTurns: 9 } })
  })

  it("brings both to whoever hands over to it, and only its needs to whoever calls it", () => {
    const handing = Agent.make("handing", { handoffs: [Handoff.to(agent)] })
    expectTypeOf<Agent.RunError<typeof handing>>().toEqualTypeOf<Lost | ContextWindow.EmptySummary>()
    expectTypeOf<Agent.Services<typeof handing>>().toEqualTypeOf<Model | Notes>()
    const calling = Agent.make("calling", { agents: [Agent.asTool(agent)] })
    expectTypeOf<Agent.RunError<typeof calling>>().toEqualTypeOf<never>()
    expectTypeOf<Agent.Services<typeof calling>>().toEqualTypeOf<Model | Notes>()
  })

  it("says by its reason what is too much", () => {
    const caught = Agent.run(agent, "Hi").pipe(
      Effect.catchReason("AgentError", "ContextWindowExceeded", (reason) => Effect.succeed(reason.over))
    )
    expectTypeOf<Effect.Success<typeof caught>>().toEqualTypeOf<AgentState.AgentState | number>()
  })
})
