/** Two tools of one name, in every place that brings tools, by every way to join agents. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Dialogue, Group, Handoff, Mode, Plan, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const { toolCall } = MockResponse

const FlightSearch = Tool.make("search", {
  description: "Finds flights",
  parameters: Schema.Struct({ from: Schema.String }),
  success: Schema.String
})
const HotelSearch = Tool.make("search", {
  description: "Finds hotels",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.String
})
const Flights = Toolkit.make(FlightSearch)
const Hotels = Toolkit.make(HotelSearch)
const FlightsLive = Flights.toLayer({ search: ({ from }) => Effect.succeed(`flight from ${from}`) })
const HotelsLive = Hotels.toLayer({ search: ({ city }) => Effect.succeed(`hotel in ${city}`) })

type Kit = typeof Flights | typeof Hotels

const searching = (toolkit: Kit) => Mode.make("searching", { toolkit, enter: () => Effect.void })

/** What brings an agent its tools. */
interface Brings {
  readonly toolkit?: Kit
  readonly modes?: ReadonlyArray<ReturnType<typeof searching>>
}

const places = {
  "an agent": (toolkit: Kit): Brings => ({ toolkit }),
  "a mode": (toolkit: Kit): Brings => ({ modes: [searching(toolkit)] })
}

const second = (brings: Brings) => Agent.make("b", brings)

/** Joins an agent `a` with an agent `b`. */
const joinings: Readonly<Record<string, (a: Brings, b: Brings) => unknown>> = {
  "a handoff": (a, b) => Agent.make("a", { ...a, handoffs: [Handoff.to(second(b))] }),
  "two handoffs": (a, b) =>
    Agent.make("a", { ...a, handoffs: [Handoff.to(Agent.make("between", { handoffs: [Handoff.to(second(b))] }))] }),
  "a tool": (a, b) => Agent.make("a", { ...a, agents: [Agent.asTool(second(b))] }),
  "a tool of a tool": (a, b) =>
    Agent.make("a", { ...a, agents: [Agent.asTool(Agent.make("between", { agents: [Agent.asTool(second(b))] }))] }),
  "one that calls both": (a, b) =>
    Agent.make("desk", { agents: [Agent.asTool(Agent.make("a", a)), Agent.asTool(second(b))] }),
  "a group": (a, b) => Group.make({ a: Agent.make("a", a), b: second(b) }, { start: "a" }),
  "a plan": (a, b) => Plan.make({ nodes: [Agent.make("a", a), second(b)] }),
  "a fallback": (a, b) => Plan.make({ nodes: [Plan.agent(Agent.make("a", a), { fallback: second(b) })] }),
  "a dialogue": (a, b) => Dialogue.make(Agent.make("a", a), second(b))
}

const errorOf = (make: () => unknown): unknown => {
  try {
    make()
  } catch (error) {
    return error
  }
  return undefined
}

const rows = Object.entries(joinings).flatMap(([joining, join]) =>
  Object.entries(places).flatMap(([first, a]) =>
    Object.entries(places).map(([second, b]) =>
      [`in ${first} and in ${second}, joined by ${joining}`, join, a, b] as const
    )
  )
)

const dead = <A, E>(exit: Exit.Exit<A, E>): unknown => Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit.value

const named = (error: unknown) => error instanceof Agent.AmbiguousTool ? [error.tool, ...error.agents] : error

describe("Two tools of one name", () => {
  it.each(rows)("are refused, and both agents are named: %s", (_, join, a, b) => {
    assert.deepStrictEqual(named(errorOf(() => join(a(Flights), b(Hotels)))), ["search", "a", "b"])
  })

  it.each(rows)("may be one tool: %s", (_, join, a, b) => {
    assert.isUndefined(errorOf(() => join(a(Flights), b(Flights))))
  })

  for (const [place, b] of Object.entries(places)) {
    it.effect(`are refused where a session's modes bring them beside those in ${place}`, () =>
      Effect.gen(function*() {
        const other = second(b(Flights))
        const mine = { modes: [Mode.make("mine", { toolkit: Hotels, enter: () => Effect.void })] }
        const called = Agent.make("a", { agents: [Agent.asTool(other)] })
        const handing = Agent.make("a", { handoffs: [Handoff.to(other)] })
        const group = Group.make({ a: Agent.make("a"), b: other }, { start: "a" })
        const below = yield* Effect.exit(Session.make(called, mine))
        const beside = yield* Effect.exit(Session.make(handing, mine))
        const members = yield* Effect.exit(Session.make(group, mine))
        assert.deepStrictEqual(named(dead(below)), ["search", "a", "b"])
        for (const error of [dead(beside), dead(members)]) {
          assert.instanceOf(error, Agent.DuplicateTool)
          assert.deepStrictEqual([error.agent, error.tool], ["b", "search"])
        }
      }).pipe(Effect.provide([FlightsLive, HotelsLive, MockModel.layer(MockModel.queue())])))
  }
})

const alone = Mode.make("alone", { toolkit: Hotels, enter: () => Effect.void })

/** Agent `b` enters a mode that enters another one alone, and then calls that one's tool. */
const guide = <E, R>(enter: Effect.Effect<void, E, R>) => {
  const refusals: Array<string> = []
  const entering = Effect.catch(enter, (error) => Effect.sync(() => void refusals.push(String(error))))
  const agent = Agent.make("b", { modes: [Mode.make("outer", { invokable: true, enter: () => entering })] })
  return { agent, refusals }
}

type Guide = ReturnType<typeof guide>["agent"]

/** What runs an agent `a` and lets `b` talk, in one environment with both handlers. */
const runs = {
  "a plan": (a: Brings, b: Guide) => Plan.run(Plan.make({ nodes: [Agent.make("a", a), b] }), "Go"),
  "a fallback": (a: Brings, b: Guide) =>
    Plan.run(Plan.make({ nodes: [Plan.agent(b, { fallback: Agent.make("a", a) })] }), "Go"),
  "a dialogue": (a: Brings, b: Guide) => Dialogue.run(Dialogue.make(b, Agent.make("a", a), { maxTurns: 2 }), "Go"),
  "a tool": (a: Brings, b: Guide) => Agent.run(Agent.make("a", { ...a, agents: [Agent.asTool(b)] }), "Go"),
  "a tool beside": (a: Brings, b: Guide) =>
    Agent.run(Agent.make("desk", { agents: [Agent.asTool(Agent.make("a", a)), Agent.asTool(b)] }), "Go"),
  "a handoff": (a: Brings, b: Guide) =>
    Agent.run(Agent.make("first", { handoffs: [Handoff.to(b), Handoff.to(Agent.make("a", a))] }), "Go"),
  "a group": (a: Brings, b: Guide) => Agent.run(Group.make({ a: Agent.make("a", a), b }, { start: "b" }), "Go")
}

const model = () =>
  MockModel.layer(MockModel.byAgent({
    a: MockModel.conditional(
      MockModel.when(
        (request) => request.callCount === 1 && request.tools.some(({ name }) => name === "b"),
        toolCall("b", { task: "Go" })
      ),
      MockModel.otherwise("Done.")
    ),
    desk: MockModel.queue(toolCall("b", { task: "Go" }), "Done."),
    first: MockModel.queue(toolCall("handoff_to_b", {})),
    b: MockModel.queue(toolCall("enter_outer_mode", {}), toolCall("search", { city: "Rome" }), "Done.")
  }))

/** Runs something with these services, and returns the results of `search`. */
const searches = (self: Effect.Effect<unknown, unknown, unknown>, services: Layer.Layer<never>) => {
  const results: Array<unknown> = []
  const seeing = Agent.observe(self, (event) =>
    Effect.sync(() => {
      if (event._tag === "ToolCallSettled" && event.name === "search") results.push(event.result)
    }))
  // Agents that any toolkit is given to don't say what they need: handlers of `search` and a model.
  return Effect.as(Effect.provide(seeing, services), results) as Effect.Effect<never, unknown> as Effect.Effect<
    Array<unknown>,
    unknown
  >
}

describe("A mode that is used alone", () => {
  for (const [joining, run] of Object.entries(runs)) {
    for (const [place, brings] of Object.entries(places)) {
      it.effect(`isn't entered if it brings a tool of a name that is in ${place}, joined by ${joining}`, () =>
        Effect.gen(function*() {
          const { agent, refusals } = guide(Mode.enter(alone))
          const results = yield* searches(run(brings(Flights), agent), Layer.mergeAll(FlightsLive, HotelsLive, model()))
          assert.lengthOf(refusals, 1)
          assert.match(refusals[0]!, /"alone".*"a".*"search"/s)
          assert.lengthOf(results, 1)
          assert.include(String(results[0]), "There is no tool \"search\"")
        }))
    }
  }

  it.effect("is entered beside other agents if its handlers are its own, or its program's own", () =>
    Effect.gen(function*() {
      const own = yield* Effect.provide(Hotels, HotelsLive)
      const bringing = Mode.make("bringing", { toolkit: own, enter: () => Effect.void })
      const plan = (b: Guide) => Plan.run(Plan.make({ nodes: [Agent.make("a", { toolkit: Flights }), b] }), "Go")
      for (const enter of [Mode.enter(bringing), Effect.provide(Mode.enter(alone), HotelsLive)]) {
        const { agent, refusals } = guide(enter)
        const answers = MockModel.layer(MockModel.byAgent({
          a: MockModel.queue(toolCall("search", { from: "Oslo" }), "Done."),
          b: MockModel.queue(toolCall("enter_outer_mode", {}), toolCall("search", { city: "Rome" }), "Done.")
        }))
        const results = yield* searches(plan(agent), Layer.mergeAll(FlightsLive, answers))
        assert.deepStrictEqual(refusals, [])
        assert.sameMembers(results, ["flight from Oslo", "hotel in Rome"])
      }
    }))
})
