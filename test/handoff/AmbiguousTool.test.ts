import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  Agent,
  type AgentState,
  Conversation,
  Dialogue,
  Group,
  Handoff,
  HandoffPolicy,
  Mode,
  Plan,
  Session,
  ToolPolicy
} from "troupe"
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

const flights = Agent.make("flights", { toolkit: Flights })
const hotels = Agent.make("hotels", { toolkit: Hotels })

const thrownBy = (make: () => unknown): unknown => {
  try {
    make()
  } catch (error) {
    return error instanceof Agent.AmbiguousTool ? [error.tool, ...error.agents] : error
  }
  return undefined
}

const ambiguous = (...agents: ReadonlyArray<string>) => ["search", ...agents]

const dyingOf = <A, E>(exit: Exit.Exit<A, E>): unknown =>
  Exit.isFailure(exit) ?
    thrownBy(() => {
      throw Cause.squash(exit.cause)
    }) :
    undefined

const resultsOf = (state: AgentState.AgentState) =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : [])
    .map((call) => call.state._tag === "Settled" ? call.state.result : call.state._tag)

describe("Different tools of one name", () => {
  it("are refused where an agent hands over to the other", () => {
    assert.deepStrictEqual(
      thrownBy(() => Agent.make("desk", { toolkit: Flights, handoffs: [Handoff.to(hotels)] })),
      ambiguous("desk", "hotels")
    )
    const between = Agent.make("between", { handoffs: [Handoff.to(hotels)] })
    assert.deepStrictEqual(
      thrownBy(() => Agent.make("desk", { toolkit: Flights, handoffs: [Handoff.to(between)] })),
      ambiguous("desk", "hotels")
    )
  })

  it("are refused where an agent calls the other as a tool, at any depth", () => {
    const between = Agent.make("between", { agents: [Agent.asTool(hotels)] })
    for (const called of [hotels, between, Group.make({ between }, { start: "between" })]) {
      assert.deepStrictEqual(
        thrownBy(() => Agent.make("desk", { toolkit: Flights, agents: [Agent.asTool(called)] })),
        ambiguous("desk", "hotels")
      )
    }
    assert.deepStrictEqual(
      thrownBy(() => Agent.make("desk", { agents: [Agent.asTool(flights), Agent.asTool(hotels)] })),
      ambiguous("flights", "hotels")
    )
  })

  it("are refused in groups, plans with their fallbacks, and dialogues", () => {
    assert.deepStrictEqual(
      thrownBy(() => Group.make({ flights, hotels }, { start: "flights" })),
      ambiguous("flights", "hotels")
    )
    assert.deepStrictEqual(
      thrownBy(() =>
        Group.make({ flights, hotels }, { start: "flights", policy: HandoffPolicy.sequential(["flights", "hotels"]) })
      ),
      ambiguous("flights", "hotels")
    )
    assert.deepStrictEqual(thrownBy(() => Plan.make({ nodes: [flights, hotels] })), ambiguous("flights", "hotels"))
    assert.deepStrictEqual(
      thrownBy(() => Plan.make({ nodes: [Plan.agent(flights, { fallback: hotels })] })),
      ambiguous("flights", "hotels")
    )
    assert.deepStrictEqual(thrownBy(() => Dialogue.make(flights, hotels)), ambiguous("flights", "hotels"))
  })

  it("are refused if modes bring them", () => {
    const booking = Mode.make("booking", { toolkit: Hotels, enter: () => Effect.void })
    const guide = Agent.make("guide", { modes: [booking] })
    assert.deepStrictEqual(
      thrownBy(() => Agent.make("desk", { toolkit: Flights, handoffs: [Handoff.to(guide)] })),
      ambiguous("desk", "guide")
    )
  })

  it.effect("are refused if modes of a session, or one that is used alone, bring them beside an agent that is called", () => {
    const searching = Mode.make("searching", { toolkit: Hotels, enter: () => Effect.void })
    const desk = Agent.make("desk", {
      agents: [Agent.asTool(Agent.make("clerk", { agents: [Agent.asTool(flights)] }))]
    })
    return Effect.gen(function*() {
      const made = yield* Effect.exit(Session.make(desk, { modes: [searching] }))
      assert.deepStrictEqual(dyingOf(made), ambiguous("desk", "flights"))
      const session = yield* Session.make(desk)
      const refused = yield* Effect.flip(
        Effect.provideService(Mode.within(session.call("Go"), searching), Mode.Host, session)
      )
      assert.strictEqual(Mode.isModeError(refused) ? refused.reason._tag : "", "NameTaken")
      assert.include(String(refused), "\"desk\" and \"flights\"")
      assert.deepStrictEqual(yield* Effect.provideService(Mode.stack, Mode.Host, session), [])
    }).pipe(Effect.provide([FlightsLive, HotelsLive, MockModel.layer(MockModel.queue())]))
  })

  it.effect("are refused if a mode that a called agent uses alone brings them beside its caller", () => {
    const searching = Mode.make("searching", { toolkit: Hotels, enter: () => Effect.void })
    const refusals: Array<string> = []
    const booking = Mode.make("booking", {
      invokable: true,
      enter: () =>
        Effect.flip(Mode.enter(searching)).pipe(
          Effect.map((error) => refusals.push(`${error}`)),
          Effect.orDie
        )
    })
    const clerk = Agent.make("clerk", { modes: [booking] })
    const between = Agent.make("between", { agents: [Agent.asTool(clerk)] })
    const desk = Agent.make("desk", { toolkit: Flights, agents: [Agent.asTool(between)] })
    return Effect.gen(function*() {
      const state = yield* Agent.run(desk, "Go")
      assert.strictEqual(state.status._tag, "Complete")
      assert.strictEqual(refusals.length, 1)
      assert.include(refusals[0], "Agents \"desk\" and \"clerk\"")
    }).pipe(Effect.provide([
      FlightsLive,
      HotelsLive,
      MockModel.layer(MockModel.byAgent({
        desk: MockModel.queue(toolCall("between", { task: "Go" }), "Done."),
        between: MockModel.queue(toolCall("clerk", { task: "Go" }), "Done."),
        clerk: MockModel.queue(toolCall("enter_booking_mode", {}), "Done.")
      }))
    ]))
  })

  it("are refused if nothing but their makers tells them apart", () => {
    const list = () => Toolkit.make(Tool.make("search", { success: Schema.String }))
    const other = Agent.make("other", { toolkit: list() })
    assert.deepStrictEqual(
      thrownBy(() => Agent.make("desk", { toolkit: list(), handoffs: [Handoff.to(other)] })),
      ambiguous("desk", "other")
    )
  })

  it.effect("are a defect of the run if they were looked up later", () =>
    Effect.gen(function*() {
      const desk = Agent.make("desk", { toolkit: Flights, handoffs: [Handoff.suspend("hotels", () => hotels)] })
      const guide = Agent.make("guide", { handoffs: [Handoff.suspend("hotels", () => hotels)] })
      const alone = yield* Effect.exit(Agent.run(desk, "Go"))
      const plan = yield* Effect.exit(Plan.run(Plan.make({ nodes: [flights, guide] }), "Go"))
      const dialogue = yield* Effect.exit(Dialogue.run(Dialogue.make(flights, guide), "Go"))
      assert.deepStrictEqual(dyingOf(alone), ambiguous("desk", "hotels"))
      assert.deepStrictEqual(dyingOf(plan), ambiguous("flights", "hotels"))
      assert.deepStrictEqual(dyingOf(dialogue), ambiguous("flights", "hotels"))
    }).pipe(Effect.provide([FlightsLive, MockModel.layer(MockModel.queue())])))

  it("name both agents and what to do", () => {
    const error = new Agent.AmbiguousTool({ tool: "search", agents: ["flights", "hotels"] })
    assert.include(error.message, "\"flights\" and \"hotels\"")
    assert.include(error.message, "\"search\"")
  })

  it.effect("each get their own handler if their toolkits have handlers", () =>
    Effect.gen(function*() {
      const ownHotels = yield* Effect.provide(Hotels, HotelsLive)
      const there = Agent.make("hotels", { toolkit: ownHotels })
      const desk = Agent.make("flights", { toolkit: Flights, handoffs: [Handoff.to(there)] })
      const state = yield* Agent.run(desk, "Go")
      assert.deepStrictEqual(resultsOf(state).filter((result) => String(result).includes(" in ")), ["hotel in Rome"])
      assert.deepStrictEqual(resultsOf(state).filter((result) => String(result).includes(" from ")), [
        "flight from Oslo"
      ])
    }).pipe(Effect.provide([
      FlightsLive,
      MockModel.layer(MockModel.byAgent({
        flights: MockModel.queue(toolCall("search", { from: "Oslo" }), toolCall("handoff_to_hotels", {})),
        hotels: MockModel.queue(toolCall("search", { city: "Rome" }), "Done.")
      }))
    ])))
})

describe("One tool of several agents", () => {
  it("may be theirs, with a policy of its own or an approval", () => {
    const patient = ToolPolicy.set(FlightSearch, { timeout: "1 minute" })
    const careful = FlightSearch.setNeedsApproval(true)
    const others = [FlightSearch, patient, careful, patient.annotate(Tool.Readonly, true)].map((tool, index) =>
      Agent.make(`other${index}`, { toolkit: Toolkit.make(tool) })
    )
    assert.isUndefined(
      thrownBy(() => Agent.make("desk", { toolkit: Flights, handoffs: others.map((other) => Handoff.to(other)) }))
    )
  })

  it("may be a provider's, which no handler answers", () => {
    const search = (limit: number) =>
      Toolkit.make(
        Tool.providerDefined({
          id: "acme.search",
          customName: "Search",
          providerName: "search",
          args: Schema.Struct({ limit: Schema.Int }),
          success: Schema.String
        })({ limit })
      )
    const other = Agent.make("other", { toolkit: search(1) })
    assert.isUndefined(thrownBy(() => Agent.make("desk", { toolkit: search(2), handoffs: [Handoff.to(other)] })))
  })
})
