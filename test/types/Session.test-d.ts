import { Context, Effect, Layer, Schema, type Scope, type Stream } from "effect"
import { type LanguageModel, Tool, Toolkit } from "effect/ai"
import type { KeyValueStore } from "effect/persistence"
import { describe, expectTypeOf, it } from "vitest"
import { Agent, type AgentError, type AgentEvent, AgentState, Group, type Mode, Session } from "../../src/index.ts"

type Model = LanguageModel.LanguageModel
type State = AgentState.AgentState
type Failure = AgentError.AgentError

class Database extends Context.Service<Database, string>()("test/Database") {}
class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}

const Refund = Tool.make("refund", {
  parameters: Schema.Struct({ at: Schema.Date, order: Schema.FiniteFromString }),
  success: Schema.Finite,
  failure: Refused,
  dependencies: [Database]
})
const Look = Tool.make("look", { success: Schema.String })
const Tools = Toolkit.make(Refund, Look)

const plain = Agent.make("plain")
const fatal = Agent.make("fatal", { toolkit: Tools, fatal: ["refund"], output: Schema.Struct({ n: Schema.Finite }) })
const told = Agent.make("told", { instructions: () => Effect.fail(new Lost()) })
const desk = Group.make({ plain, told }, { start: "plain" })

type Handlers = Tool.Handler<"refund"> | Tool.Handler<"look">

describe("Session.make", () => {
  it("needs what a run needs, and a scope, and can't fail", () => {
    expectTypeOf(Session.make(plain)).toEqualTypeOf<
      Effect.Effect<Session.Session<string, never>, never, Model | Scope.Scope>
    >()
    expectTypeOf(Session.make(fatal)).toEqualTypeOf<
      Effect.Effect<Session.Session<{ readonly n: number }, Refused>, never, Model | Handlers | Database | Scope.Scope>
    >()
  })

  it("needs a KeyValueStore, and may fail, with a store alone", () => {
    expectTypeOf(Session.make(plain, { store: Session.store("id") })).toEqualTypeOf<
      Effect.Effect<
        Session.Session<string, never>,
        Session.SessionError,
        Model | KeyValueStore.KeyValueStore | Scope.Scope
      >
    >()
    expectTypeOf(Session.make(plain, { state: AgentState.make("plain") })).toEqualTypeOf<
      Effect.Effect<Session.Session<string, never>, never, Model | Scope.Scope>
    >()
  })

  it("takes groups, and nothing that can't hold a conversation", () => {
    expectTypeOf(Session.make(desk)).toEqualTypeOf<
      Effect.Effect<Session.Session<string, Lost>, never, Model | Scope.Scope>
    >()
    // @ts-expect-error a toolkit holds no conversation
    Session.make(Tools)
  })
})

describe("Session.Session", () => {
  const session = {} as Session.Session<{ readonly n: number }, Refused>

  it("needs nothing, and fails as its agent does", () => {
    expectTypeOf(session.call("Hi")).toEqualTypeOf<Effect.Effect<State, Failure | Refused | Session.SessionError>>()
    expectTypeOf(session.resume).toEqualTypeOf<Effect.Effect<State, Failure | Refused | Session.SessionError>>()
    expectTypeOf(session.stream("Hi")).toEqualTypeOf<
      Stream.Stream<AgentEvent.AgentEvent, Failure | Refused | Session.SessionError>
    >()
    expectTypeOf(session.state).toEqualTypeOf<Effect.Effect<State>>()
    expectTypeOf(session.changes).toEqualTypeOf<Stream.Stream<State>>()
    expectTypeOf(session.fork).toEqualTypeOf<
      Effect.Effect<Session.Session<{ readonly n: number }, Refused>, Session.SessionError, Scope.Scope>
    >()
    expectTypeOf(session.approve("id")).toEqualTypeOf<
      Effect.Effect<State, AgentState.NotAwaitingApproval | Session.SessionError>
    >()
  })

  it("gives the answer as the agent's output", () => {
    const state = AgentState.make("fatal")
    expectTypeOf(AgentState.output(session, state)).toEqualTypeOf(AgentState.output(fatal, state))
  })

  it("invokes by the types of the tool", () => {
    expectTypeOf(session.invoke(Refund, { at: new Date(0), order: 7 })).toEqualTypeOf<
      Effect.Effect<number, Refused | Session.SessionError>
    >()
    expectTypeOf(session.invoke(Look, {})).toEqualTypeOf<Effect.Effect<string, Session.SessionError>>()
    // @ts-expect-error a number is a number here, not what a model writes
    session.invoke(Refund, { at: new Date(0), order: "7" })
    // @ts-expect-error a parameter is missing
    session.invoke(Refund, { at: new Date(0) })
    // @ts-expect-error a name is no tool
    session.invoke("look", {})
  })

  it("takes an input, and says who goes on", () => {
    session.call("Hi", { control: "first" })
    // @ts-expect-error nobody is second
    session.call("Hi", { control: "second" })
    // @ts-expect-error a call says something
    session.call()
    expectTypeOf(session.stream()).toEqualTypeOf<ReturnType<typeof session.stream>>()
  })

  it("is no session of an agent that fails otherwise", () => {
    expectTypeOf<Session.Of<typeof fatal>>().toEqualTypeOf<Session.Session<{ readonly n: number }, Refused>>()
    expectTypeOf<Session.Of<typeof desk>>().toEqualTypeOf<Session.Session<string, Lost>>()
    // @ts-expect-error this one may fail with Refused
    const wrong: Session.Session<unknown, Lost> = session
    expectTypeOf(wrong).not.toBeAny()
    const wider: Session.Session<unknown, Refused | Lost> = session
    expectTypeOf(wider).not.toBeAny()
  })
})

describe("Session.layer", () => {
  it("needs what a run needs", () => {
    expectTypeOf(Session.layer(fatal)).toEqualTypeOf<
      Layer.Layer<Session.Session | Mode.Host, never, Model | Handlers | Database>
    >()
    expectTypeOf(Session.layer(plain, { store: Session.store("id") })).toEqualTypeOf<
      Layer.Layer<Session.Session | Mode.Host, Session.SessionError, Model | KeyValueStore.KeyValueStore>
    >()
  })

  it("gives one service, whose errors say whose they are", () => {
    const program = Effect.gen(function*() {
      const session = yield* Session.Session
      return yield* session.call("Hi")
    })
    expectTypeOf(program).toEqualTypeOf<
      Effect.Effect<State, Failure | Session.SessionError | Session.OwnError, Session.Session>
    >()
    expectTypeOf(Effect.provide(program, Session.layer(plain))).toEqualTypeOf<
      Effect.Effect<State, Failure | Session.SessionError | Session.OwnError, Model>
    >()
    expectTypeOf(
      program.pipe(Effect.catchReason("SessionError", "StoreConflict", (reason) => Effect.succeed(reason.expected)))
    ).toEqualTypeOf<
      Effect.Effect<State | number, Failure | Session.SessionError | Session.OwnError, Session.Session>
    >()
  })

  it("serves a service of one's own", () => {
    class Desk extends Context.Service<Desk, Session.Of<typeof fatal>>()("test/Desk") {}
    expectTypeOf(Layer.effect(Desk, Session.make(fatal))).toEqualTypeOf<
      Layer.Layer<Desk, never, Model | Handlers | Database>
    >()
  })
})
