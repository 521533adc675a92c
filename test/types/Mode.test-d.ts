import { Context, type Duration, Effect, ExecutionPlan, Layer, Schema, type Scope } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import {
  Agent,
  type AgentError,
  type AgentState,
  Mode,
  ModeTransition,
  Session,
  SystemPrompt
} from "../../src/index.ts"
import { MockModel } from "../../src/testing/index.ts"

type Model = LanguageModel.LanguageModel
type State = AgentState.AgentState

class Database extends Context.Service<Database, string>()("test/Database") {}
class Archive extends Context.Service<Archive, string>()("test/Archive") {}
class Ledger extends Context.Service<Ledger, string>()("test/Ledger") {}
class Key extends Context.Service<Key, string>()("test/Key") {}
class EnterError extends Schema.TaggedError<EnterError>()("EnterError", {}) {}
class ExitError extends Schema.TaggedError<ExitError>()("ExitError", {}) {}
class RecoverError extends Schema.TaggedError<RecoverError>()("RecoverError", {}) {}
class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {}) {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

const Refunds = Toolkit.make(Tool.make("refund", { failure: Refused, dependencies: [Database] }))

const model = Layer.effect(
  LanguageModel.LanguageModel,
  Effect.andThen(Key, Effect.flatMap(Effect.fail(new ModelError()), () => LanguageModel.LanguageModel))
).pipe(Layer.provide(Layer.succeed(LanguageModel.LanguageModel, {} as never)))

const plain = Mode.make("plain", { enter: () => Effect.void })
const whole = Mode.make("whole", {
  params: Schema.Struct({ at: Schema.Date, note: Schema.optionalKey(Schema.String) }),
  enter: ({ at, note }, { isResumed }) => {
    expectTypeOf(at).toEqualTypeOf<Date>()
    expectTypeOf(note).toEqualTypeOf<string | undefined>()
    expectTypeOf(isResumed).toEqualTypeOf<boolean>()
    return Effect.gen(function*() {
      yield* Effect.addFinalizer(() => Effect.void)
      yield* Effect.scoped(Mode.enter(plain))
      yield* Database
      return yield* new EnterError()
    })
  },
  exit: () => Effect.andThen(Archive, Effect.fail(new ExitError())),
  recover: (cause) => {
    expectTypeOf(cause).not.toBeAny()
    return Effect.gen(function*() {
      yield* Ledger
      if (Math.random() > 2) return yield* new RecoverError()
      return 7
    })
  },
  toolkit: Refunds,
  model
})
const optional = Mode.make("optional", {
  params: Schema.Struct({ note: Schema.optionalKey(Schema.String) }),
  enter: () => Effect.void
})

type WholeE = EnterError | ExitError | RecoverError | ModelError | Mode.ModeError
type WholeR = Database | Archive | Ledger | Key | Tool.Handler<"refund">
type WholeParams = { readonly at: Date; readonly note?: string }

describe("Mode.make", () => {
  it("collects what set-up, clean-up, recovery, tools and model fail with and need, but for scope and conversation", () => {
    expectTypeOf(plain).toEqualTypeOf<Mode.Mode<"plain">>()
    expectTypeOf(whole).toEqualTypeOf<Mode.Mode<"whole", WholeParams, WholeE, WholeR, number>>()
    expectTypeOf<Mode.Error<typeof whole>>().toEqualTypeOf<WholeE>()
    expectTypeOf<Mode.Services<typeof whole>>().toEqualTypeOf<WholeR>()
    expectTypeOf<Mode.Error<typeof plain>>().toEqualTypeOf<never>()
    expectTypeOf<Mode.Services<typeof plain | typeof whole>>().toEqualTypeOf<WholeR>()
  })

  it("takes handlers that a toolkit brings, and a plan of models", () => {
    const handled = {} as Toolkit.WithHandler<typeof Refunds.tools>
    expectTypeOf(Mode.make("handled", { enter: () => Effect.void, toolkit: handled })).toEqualTypeOf<
      Mode.Mode<"handled", {}, never, Database>
    >()
    const plan = ExecutionPlan.make({ provide: model })
    expectTypeOf(Mode.make("planned", { enter: () => Effect.void, model: plan })).toEqualTypeOf<
      Mode.Mode<"planned", {}, ModelError, Key>
    >()
  })

  it("lets a clean-up ask for a move, and for nothing else", () => {
    Mode.make("asking", { enter: () => Effect.void, exit: () => Effect.succeed(ModeTransition.push("plain")) })
    Mode.make("asking", { enter: () => Effect.void, exit: () => Effect.succeed(ModeTransition.stay) })
    // @ts-expect-error a name is no move
    Mode.make("asking", { enter: () => Effect.void, exit: () => Effect.succeed("plain") })
  })

  it("needs a set-up, parameters with names, and an isolation that there is", () => {
    // @ts-expect-error no set-up
    Mode.make("wrong", {})
    // @ts-expect-error a text has no fields
    Mode.make("wrong", { enter: () => Effect.void, params: Schema.String })
    // @ts-expect-error no such isolation
    Mode.make("wrong", { enter: () => Effect.void, isolation: "total" })
  })
})

describe("Mode.singleShot", () => {
  it("fails with and needs what its effect does, but for scope and conversation", () => {
    const effect = Effect.gen(function*() {
      yield* SystemPrompt.append("Be brief.", { persist: true })
      yield* Effect.scope
      yield* Database
      return yield* new EnterError()
    })
    expectTypeOf(Mode.singleShot("once", effect)).toEqualTypeOf<
      Mode.Mode<"once", {}, EnterError | Mode.ModeError, Database>
    >()
  })
})

describe("Mode.enter", () => {
  it("needs a conversation and a scope beside what the mode needs", () => {
    expectTypeOf(Mode.enter(plain)).toEqualTypeOf<Effect.Effect<void, Mode.ModeError, Mode.Host | Scope.Scope>>()
    expectTypeOf(Mode.enter(whole, { at: new Date(0) })).toEqualTypeOf<
      Effect.Effect<void, WholeE, WholeR | Mode.Host | Scope.Scope>
    >()
  })

  it("wants parameters where some are required, and those of the mode", () => {
    Mode.enter(optional)
    Mode.enter(optional, { note: "x" })
    Mode.enter(plain, {})
    // @ts-expect-error some are required
    Mode.enter(whole)
    // @ts-expect-error one is missing
    Mode.enter(whole, {})
    // @ts-expect-error a date is a date here, not what a model writes
    Mode.enter(whole, { at: "1970-01-01" })
    // @ts-expect-error there is no such parameter
    Mode.enter(whole, { at: new Date(0), on: 1 })
    // @ts-expect-error there is no such parameter
    Mode.enter(optional, { text: "x" })
    // @ts-expect-error there are no parameters
    Mode.enter(plain, { note: "x" })
    // @ts-expect-error parameters have names
    Mode.enter(plain, "x")
    // @ts-expect-error a name is no mode
    Mode.enter("plain")
  })
})

describe("Mode.within", () => {
  const body = Effect.andThen(Archive, Effect.fail(new Refused())).pipe(Effect.as("done"))

  it("gives what the effect gives, or what the mode recovers to", () => {
    expectTypeOf(Mode.within(body, plain)).toEqualTypeOf<
      Effect.Effect<string, Refused | Mode.ModeError, Archive | Mode.Host>
    >()
    expectTypeOf(Mode.within(body, whole, { at: new Date(0) })).toEqualTypeOf<
      Effect.Effect<string | number, Refused | WholeE, WholeR | Mode.Host>
    >()
  })

  it("gives the same behind the effect", () => {
    expectTypeOf(body.pipe(Mode.within(plain))).toEqualTypeOf<
      Effect.Effect<string, Refused | Mode.ModeError, Archive | Mode.Host>
    >()
    expectTypeOf(body.pipe(Mode.within(whole, { at: new Date(0) }))).toEqualTypeOf<
      Effect.Effect<string | number, Refused | WholeE, WholeR | Mode.Host>
    >()
    expectTypeOf(body.pipe(Mode.within(plain), Mode.within(optional, { note: "x" }))).toEqualTypeOf<
      Effect.Effect<string, Refused | Mode.ModeError, Archive | Mode.Host>
    >()
    body.pipe(Mode.within(optional))
    body.pipe(Mode.within(plain, {}))
    // @ts-expect-error some are required
    body.pipe(Mode.within(whole))
    // @ts-expect-error one has another type
    body.pipe(Mode.within(whole, { at: 0 }))
    // @ts-expect-error there is no such parameter
    body.pipe(Mode.within(optional, { text: "x" }))
    // @ts-expect-error there are no parameters
    body.pipe(Mode.within(plain, { note: "x" }))
    // @ts-expect-error a name is no mode
    body.pipe(Mode.within("plain"))
  })

  it("keeps a scope that the effect itself needs", () => {
    expectTypeOf(Mode.within(Effect.scope, plain)).toEqualTypeOf<
      Effect.Effect<Scope.Scope, Mode.ModeError, Scope.Scope | Mode.Host>
    >()
  })

  it("wants the parameters of the mode", () => {
    Mode.within(body, optional)
    // @ts-expect-error some are required
    Mode.within(body, whole)
    // @ts-expect-error one has another type
    Mode.within(body, whole, { at: 0 })
    // @ts-expect-error there are no parameters
    Mode.within(body, plain, { note: "x" })
  })

  it("runs in a session, which is a conversation", () => {
    const inSession = Mode.within(Effect.flatMap(Session.Session, (session) => session.call("Hi")), plain)
    expectTypeOf(Effect.provide(inSession, Session.layer(Agent.make("a")))).toEqualTypeOf<
      Effect.Effect<State, AgentError.AgentError | Mode.ModeError | Session.SessionError | Session.OwnError, Model>
    >()
    const made = Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a"))
      return yield* Effect.provideService(Mode.within(session.call("Hi"), plain), Mode.Host, session)
    })
    expectTypeOf(made).toEqualTypeOf<
      Effect.Effect<State, AgentError.AgentError | Mode.ModeError | Session.SessionError, Model | Scope.Scope>
    >()
  })
})

describe("what is done in a mode", () => {
  it("fails with a ModeError, and needs nothing by its type", () => {
    expectTypeOf(Mode.name).toEqualTypeOf<Effect.Effect<string | undefined, Mode.ModeError>>()
    expectTypeOf(Mode.stack).toEqualTypeOf<Effect.Effect<ReadonlyArray<string>, Mode.ModeError>>()
    expectTypeOf(Mode.duration).toEqualTypeOf<Effect.Effect<Duration.Duration, Mode.ModeError>>()
    expectTypeOf(Mode.get("a")).toEqualTypeOf<Effect.Effect<Schema.Json | undefined, Mode.ModeError>>()
    expectTypeOf(Mode.set("a", 1)).toEqualTypeOf<Effect.Effect<void, Mode.ModeError>>()
    expectTypeOf(Mode.schedule(ModeTransition.exit)).toEqualTypeOf<Effect.Effect<void, Mode.ModeError>>()
    expectTypeOf(Mode.call("Hi")).toEqualTypeOf<Effect.Effect<State, Mode.CallError>>()
    expectTypeOf(SystemPrompt.render()).toEqualTypeOf<Effect.Effect<string, Mode.CallError>>()
    expectTypeOf(SystemPrompt.get("a")).toEqualTypeOf<Effect.Effect<string | undefined, Mode.ModeError>>()
    // @ts-expect-error a date is no JSON
    Mode.set("a", new Date(0))
    // @ts-expect-error a move is none by its name
    Mode.schedule("plain")
  })

  it("has reasons that can be caught one by one", () => {
    expectTypeOf(
      Mode.get("a").pipe(Effect.catchReason("ModeError", "NoMode", (reason) => Effect.succeed(reason.operation)))
    ).toEqualTypeOf<Effect.Effect<Schema.Json | undefined, Mode.ModeError>>()
  })
})

describe("an agent with modes", () => {
  const agent = Agent.make("agent", { modes: [plain, whole] })

  it("fails with and needs what they do", () => {
    expectTypeOf(agent).toEqualTypeOf<Agent.Agent<"agent", string, WholeE, Model | WholeR>>()
    expectTypeOf(Agent.run(agent, "Hi")).toEqualTypeOf<
      Effect.Effect<State, AgentError.AgentError | WholeE, Model | WholeR>
    >()
    expectTypeOf(Agent.make("quiet", { modes: [plain, optional] })).toEqualTypeOf<
      Agent.Agent<"quiet", string, never, Model>
    >()
    const some: ReadonlyArray<typeof whole> = [whole]
    expectTypeOf(Agent.make("some", { modes: some })).toEqualTypeOf<
      Agent.Agent<"some", string, WholeE, Model | WholeR>
    >()
  })

  it("takes modes alone", () => {
    // @ts-expect-error a name is no mode
    Agent.make("agent", { modes: ["plain"] })
    // @ts-expect-error an agent is no mode
    Agent.make("other", { modes: [agent] })
  })

  it("gives its session what they fail with and need", () => {
    expectTypeOf(Session.make(agent)).toEqualTypeOf<
      Effect.Effect<Session.Session<string, WholeE>, never, Model | WholeR | Scope.Scope>
    >()
  })
})

describe("a session with modes", () => {
  it("fails with and needs what they do", () => {
    const agent = Agent.make("agent")
    expectTypeOf(Session.make(agent, { modes: [plain, whole] })).toEqualTypeOf<
      Effect.Effect<Session.Session<string, WholeE>, never, Model | WholeR | Scope.Scope>
    >()
    expectTypeOf(Session.layer(agent, { modes: [plain, whole] })).toEqualTypeOf<
      Layer.Layer<Session.Session | Mode.Host, never, Model | WholeR>
    >()
    expectTypeOf(Session.make(agent, { modes: [plain] })).toEqualTypeOf<
      Effect.Effect<Session.Session<string, never>, never, Model | Scope.Scope>
    >()
    // @ts-expect-error an agent is no mode
    Session.make(agent, { modes: [agent] })
  })

  it("enters modes by name, and says how that fails", () => {
    const session = {} as Session.Session<string, Refused>
    const done = expectTypeOf<Effect.Effect<State, Refused | Mode.ModeError | Session.SessionError>>()
    done.toEqualTypeOf(session.enterMode("plain", { note: "x" }))
    done.toEqualTypeOf(session.exitMode())
    expectTypeOf(session.schedule(ModeTransition.switch("plain"))).toEqualTypeOf<
      Effect.Effect<State, Mode.ModeError | Session.SessionError>
    >()
    expectTypeOf(session.configure({ tools: [] })).toEqualTypeOf<
      Effect.Effect<State, Mode.ModeError | Session.SessionError>
    >()
    // @ts-expect-error a date is no JSON
    session.enterMode("plain", { at: new Date(0) })
    session.configure({ model: undefined, toolChoice: undefined })
    // @ts-expect-error a model is set by its name
    session.configure({ model })
  })
})

describe("Agent.withModels", () => {
  it("adds what its models fail with and need, and keeps the model around", () => {
    const plan = ExecutionPlan.make({ provide: model })
    const agent = Agent.make("agent", { modes: [plain] })
    expectTypeOf(Agent.withModels(agent, { fast: model })).toEqualTypeOf<
      Agent.Agent<"agent", string, ModelError, Model | Key>
    >()
    expectTypeOf(
      agent.pipe(Agent.withModels({ fast: plan, slow: Layer.succeed(LanguageModel.LanguageModel, {} as never) }))
    )
      .toEqualTypeOf<Agent.Agent<"agent", string, ModelError, Model | Key>>()
    // @ts-expect-error this gives no model
    Agent.withModels(agent, { fast: Layer.succeed(Database, "x") })
    // @ts-expect-error a name is no model
    Agent.withModels(agent, { fast: "fast" })
  })
})

describe("a model that needs nothing", () => {
  it("brings nothing into a type, also where it is made in place", () => {
    const mock = MockModel.layer(MockModel.make(() => "x"))
    expectTypeOf(mock).toEqualTypeOf<Layer.Layer<Model | MockModel.MockModel>>()
    expectTypeOf(Mode.make("own", { enter: () => Effect.void, model: MockModel.layer(MockModel.make(() => "x")) }))
      .toEqualTypeOf<Mode.Mode<"own">>()
    expectTypeOf(
      Agent.make("agent").pipe(Agent.withModels({ fast: MockModel.layer(MockModel.make(() => "x")) }))
    ).toEqualTypeOf<Agent.Agent<"agent", string, never, Model>>()
    expectTypeOf(
      Agent.withModels(Agent.make("agent"), { fast: MockModel.layer(MockModel.make(() => "x")) })
    ).toEqualTypeOf<Agent.Agent<"agent", string, never, Model>>()
  })
})

describe("no type", () => {
  it("is any", () => {
    const agent = Agent.make("agent", { modes: [whole] })
    expectTypeOf<Mode.Error<typeof whole>>().not.toBeAny()
    expectTypeOf<Mode.Services<typeof whole>>().not.toBeAny()
    expectTypeOf<Agent.RunError<typeof agent>>().not.toBeAny()
    expectTypeOf<Agent.Services<typeof agent>>().not.toBeAny()
    expectTypeOf<Effect.Success<ReturnType<typeof Mode.call>>>().not.toBeAny()
    expectTypeOf<Mode.Reason>().not.toBeAny()
  })
})
