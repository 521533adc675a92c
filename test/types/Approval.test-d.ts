import type { Effect, Result } from "effect"
import { describe, expectTypeOf, it } from "vitest"
import { Agent, AgentState, type Group, type Session } from "../../src/index.ts"

type Approved<E = never> = Result.Result<AgentState.AgentState, AgentState.NotAwaitingApproval | E>

const agent = Agent.make("clerk")
const state = AgentState.make("clerk")
const params = { euros: 40 }

describe("AgentState.approve", () => {
  it("takes the state first or last, with options or without", () => {
    expectTypeOf(AgentState.approve(state, "a")).toEqualTypeOf<Approved>()
    expectTypeOf(AgentState.approve("a")(state)).toEqualTypeOf<Approved>()
    expectTypeOf(AgentState.approve(state, "a", { params })).toEqualTypeOf<Approved>()
    expectTypeOf(AgentState.approve("a", { params })(state)).toEqualTypeOf<Approved>()
  })

  it("may fail with ParamsRejected where an agent reads the parameters", () => {
    expectTypeOf(AgentState.approve(state, "a", { params, agent })).toEqualTypeOf<Approved<AgentState.ParamsRejected>>()
    expectTypeOf(AgentState.approve("a", { params, agent })(state)).toEqualTypeOf<Approved<AgentState.ParamsRejected>>()
    const group = {} as Group.Group<{ readonly clerk: typeof agent }, string, never, never>
    AgentState.approve(state, "a", { params, agent: group })
  })

  it("takes JSON, and an agent only with parameters to read", () => {
    // @ts-expect-error a date is no JSON
    AgentState.approve(state, "a", { params: { on: new Date() } })
    // @ts-expect-error there is nothing to read
    AgentState.approve(state, "a", { agent })
    // @ts-expect-error a name reads nothing
    AgentState.approve(state, "a", { params, agent: "clerk" })
  })
})

describe("Session.approve", () => {
  it("takes JSON parameters, and no agent", () => {
    const session = {} as Session.Session
    expectTypeOf(session.approve("a", { params })).toEqualTypeOf<
      Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingApproval | Session.SessionError>
    >()
    // @ts-expect-error a session has its own agent
    session.approve("a", { params, agent })
    // @ts-expect-error a date is no JSON
    session.approve("a", { params: { on: new Date() } })
  })
})
