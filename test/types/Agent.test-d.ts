import { Context, Effect, type ExecutionPlan, type Layer, type Result, Schedule, Schema, type Stream } from "effect"
import { type AiError, type LanguageModel, Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import { Agent, type AgentError, type AgentEvent, AgentState, StopWhen } from "../../src/index.ts"

type Model = LanguageModel.LanguageModel
type State = AgentState.AgentState
type Failure = AgentError.AgentError

class Database extends Context.Service<Database, string>()("test/Database") {}
class Language extends Context.Service<Language, string>()("test/Language") {}
class Http extends Context.Service<Http, string>()("test/Http") {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}

const Refund = Tool.make("refund", { failure: Refused, dependencies: [Database] })
const Look = Tool.make("look", { success: Schema.String, failure: Lost })
const Tools = Toolkit.make(Refund, Look)

type Handlers = Tool.Handler<"refund"> | Tool.Handler<"look">

const plain = Agent.make("plain")
const equipped = Agent.make("equipped", { toolkit: Tools })
const fatal = Agent.make("fatal", { toolkit: Tools, fatal: ["refund"] })

describe("Agent.make", () => {
  it("needs a model and gives text", () => {
    expectTypeOf(plain).toEqualTypeOf<Agent.Agent<"plain", string, never, Model>>()
    expectTypeOf(Agent.make("empty", {})).toEqualTypeOf<Agent.Agent<"empty", string, never, Model>>()
  })

  it("collects the handlers of its tools and what these need", () => {
    expectTypeOf<Agent.Services<typeof equipped>>().toEqualTypeOf<Model | Handlers | Database>()
    expectTypeOf<Agent.RunError<typeof equipped>>().toEqualTypeOf<never>()
  })

  it("collects the errors of its fatal tools alone", () => {
    expectTypeOf<Agent.RunError<typeof fatal>>().toEqualTypeOf<Refused>()
    const both = Agent.make("both", { toolkit: Tools, fatal: ["refund", "look"] })
    expectTypeOf<Agent.RunError<typeof both>>().toEqualTypeOf<Refused | Lost>()
    // @ts-expect-error no tool has this name
    Agent.make("wrong", { toolkit: Tools, fatal: ["refunds"] })
    // @ts-expect-error there is no tool at all
    Agent.make("wrong", { fatal: ["refund"] })
  })

  it("collects what its instructions fail with and need", () => {
    const told = Agent.make("told", {
      instructions: (state) => {
        expectTypeOf(state).toEqualTypeOf<State>()
        return state.steps > 0 ? Effect.as(Language, "Hi") : Effect.fail("silence" as const)
      }
    })
    expectTypeOf(told).toEqualTypeOf<Agent.Agent<"told", string, "silence", Model | Language>>()
    const simple = Agent.make("simple", { instructions: (state) => `${state.steps}` })
    expectTypeOf(simple).toEqualTypeOf<Agent.Agent<"simple", string, never, Model>>()
    // @ts-expect-error instructions are text
    Agent.make("wrong", { instructions: () => Effect.succeed(1) })
  })

  it("collects what its schedule fails with and needs", () => {
    const schedule = {} as Schedule.Schedule<number, AiError.AiError, "late", Http>
    expectTypeOf(Agent.make("retried", { retry: schedule })).toEqualTypeOf<
      Agent.Agent<"retried", string, "late", Model | Http>
    >()
    expectTypeOf(Agent.make("retried", { retry: Schedule.recurs(2) })).toEqualTypeOf<
      Agent.Agent<"retried", string, never, Model>
    >()
    // @ts-expect-error a schedule is asked about failures of the model
    Agent.make("wrong", { retry: {} as Schedule.Schedule<number, "mine"> })
  })

  it("collects what the agents that it calls need, and none of their errors", () => {
    const parent = Agent.make("parent", { agents: [Agent.asTool(fatal), Agent.asTool(plain, { name: "other" })] })
    expectTypeOf(parent).toEqualTypeOf<Agent.Agent<"parent", string, never, Model | Handlers | Database>>()
    const own = Agent.withModel(plain, {} as Layer.Layer<Model>)
    expectTypeOf<Agent.Services<typeof own>>().toEqualTypeOf<never>()
    const alone = Agent.withModel(Agent.make("alone", { agents: [Agent.asTool(own)] }), {} as Layer.Layer<Model>)
    expectTypeOf<Agent.Services<typeof alone>>().toEqualTypeOf<never>()
  })

  it("decodes its output", () => {
    const dated = Agent.make("dated", { output: Schema.Struct({ at: Schema.Date, tags: Schema.Array(Schema.String) }) })
    const state = {} as State
    interface Dated {
      readonly at: Date
      readonly tags: ReadonlyArray<string>
    }
    expectTypeOf(AgentState.output(dated, state)).branded.toEqualTypeOf<Result.Result<Dated, AgentState.NoOutput>>()
    expectTypeOf(AgentState.output(plain, state)).toEqualTypeOf<Result.Result<string, AgentState.NoOutput>>()
    // @ts-expect-error a schema that needs services can't be an output
    Agent.make("wrong", { output: {} as Schema.Codec<string, string, Database, Database> })
  })

  it("knows the names that a tool choice may have", () => {
    Agent.make("chooser", { toolkit: Tools, agents: [Agent.asTool(plain)], toolChoice: { tool: "plain" } })
    Agent.make("chooser", { toolkit: Tools, toolChoice: { tool: "look" } })
    // @ts-expect-error no tool has this name
    Agent.make("wrong", { toolkit: Tools, toolChoice: { tool: "looks" } })
  })

  it("takes conditions, not numbers", () => {
    Agent.make("limited", { stopWhen: StopWhen.any(StopWhen.maxSteps(1), StopWhen.noToolCalls) })
    // @ts-expect-error a condition
    Agent.make("wrong", { stopWhen: 20 })
  })
})

describe("Agent.withModel", () => {
  it("takes the model out of the requirements, and brings the layer's own", () => {
    const layer = {} as Layer.Layer<Model, "no key", Http>
    expectTypeOf(Agent.withModel(fatal, layer)).toEqualTypeOf<
      Agent.Agent<"fatal", string, Refused | "no key", Handlers | Database | Http>
    >()
    expectTypeOf(fatal.pipe(Agent.withModel(layer))).toEqualTypeOf<
      Agent.Agent<"fatal", string, Refused | "no key", Handlers | Database | Http>
    >()
  })

  it("does the same with a plan", () => {
    type Config = { provides: Model; input: AiError.AiError; error: "no key"; requirements: Http }
    const plan = {} as ExecutionPlan.ExecutionPlan<Config>
    expectTypeOf(Agent.withModel(plain, plan)).toEqualTypeOf<Agent.Agent<"plain", string, "no key", Http>>()
    expectTypeOf(plain.pipe(Agent.withModel(plan))).toEqualTypeOf<Agent.Agent<"plain", string, "no key", Http>>()
  })
})

describe("A run", () => {
  const state = {} as State

  it("has the errors and requirements of its agent, however it is started", () => {
    type Run = Effect.Effect<State, Failure | Refused, Model | Handlers | Database>
    expectTypeOf(Agent.run(fatal, "Hi")).toEqualTypeOf<Run>()
    expectTypeOf(fatal.pipe(Agent.run("Hi"))).toEqualTypeOf<Run>()
    expectTypeOf(Agent.step(fatal, state)).toEqualTypeOf<Run>()
    expectTypeOf(fatal.pipe(Agent.step(state))).toEqualTypeOf<Run>()
    expectTypeOf(Agent.resume(fatal, state)).toEqualTypeOf<Run>()
    expectTypeOf(fatal.pipe(Agent.resume(state))).toEqualTypeOf<Run>()
    expectTypeOf(Agent.continueConversation(fatal, state, "Hi")).toEqualTypeOf<Run>()
    expectTypeOf(fatal.pipe(Agent.continueConversation(state, "Hi"))).toEqualTypeOf<Run>()
    expectTypeOf(Agent.runMultiTurn(fatal, ["Hi"])).toEqualTypeOf<Run>()
    expectTypeOf(fatal.pipe(Agent.runMultiTurn(["Hi"]))).toEqualTypeOf<Run>()
  })

  it("that is settled fails with nothing", () => {
    expectTypeOf(Agent.settle(fatal, "Hi")).toEqualTypeOf<Effect.Effect<State, never, Model | Handlers | Database>>()
    expectTypeOf(fatal.pipe(Agent.settle(state))).toEqualTypeOf<
      Effect.Effect<State, never, Model | Handlers | Database>
    >()
  })

  it("streams events or states", () => {
    type Events = Stream.Stream<AgentEvent.AgentEvent, Failure | Refused, Model | Handlers | Database>
    expectTypeOf(Agent.stream(fatal, "Hi")).toEqualTypeOf<Events>()
    expectTypeOf(fatal.pipe(Agent.stream("Hi", { state }))).toEqualTypeOf<Events>()
    type States = Stream.Stream<State, Failure | Refused, Model | Handlers | Database>
    expectTypeOf(Agent.states(fatal, state)).toEqualTypeOf<States>()
    expectTypeOf(fatal.pipe(Agent.states(state))).toEqualTypeOf<States>()
  })

  it("leaks no any", () => {
    const run = Agent.run(equipped, "Hi")
    expectTypeOf<Effect.Error<typeof run>>().not.toBeAny()
    expectTypeOf<Effect.Services<typeof run>>().not.toBeAny()
    expectTypeOf<Effect.Success<typeof run>>().not.toBeAny()
    expectTypeOf<Agent.RunError<typeof plain>>().toBeNever()
  })

  it("doesn't run without a model", () => {
    // @ts-expect-error no model
    const promise: Promise<State> = Effect.runPromise(Agent.run(plain, "Hi"))
    return promise
  })

  it("doesn't run without its handlers", () => {
    const program = Effect.provide(Agent.run(equipped, "Hi"), {} as Layer.Layer<Model | Database>)
    // @ts-expect-error no handlers
    const promise: Promise<State> = Effect.runPromise(program)
    return promise
  })

  it("takes an input", () => {
    // @ts-expect-error an input is text or parts
    Agent.run(plain, 1)
    // @ts-expect-error a state is continued, not run
    Agent.run(plain, state)
  })

  it("picks reasons of its failure by name", () => {
    const caught = Agent.run(plain, "Hi").pipe(
      Effect.catchReason("AgentError", "StepLimitReached", (reason) => Effect.succeed(reason.limit))
    )
    expectTypeOf<Effect.Success<typeof caught>>().toEqualTypeOf<State | number>()
  })
})
