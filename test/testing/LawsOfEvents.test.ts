import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, type AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
import { Laws, MockModel, MockResponse } from "troupe/testing"
import { type Observed, observed, pure } from "../../src/testing/laws/EventLaws.ts"

const Look = Toolkit.make(Tool.make("look", { success: Schema.String }))
const run = Agent.stream(Agent.make("a", { toolkit: Look }), "Go").pipe(
  Stream.runCollect,
  Effect.map((events) => observed("Go", events, Exit.void)),
  Effect.provide(Look.toLayer({ look: () => Effect.succeed("a tree") })),
  Effect.provide(MockModel.layer(MockModel.queue(
    MockResponse.withUsage(MockResponse.toolCall("look", {}), { input: 3 }),
    "A tree."
  )))
)

const tagsOf = (events: ReadonlyArray<AgentEvent.AgentEvent>, tag: string) =>
  events.findIndex(({ _tag }) => _tag === tag)

/** A run without one of its events, or with another in its place. */
const changed = (
  { events }: Observed,
  tag: AgentEvent.AgentEvent["_tag"],
  change: Partial<Record<string, unknown>> | undefined
) => {
  const at = tagsOf(events, tag)
  return change === undefined
    ? events.toSpliced(at, 1).map((event, sequence) => ({ ...event, sequence }))
    : events.map((event, index) => index === at ? { ...event, ...change } as AgentEvent.AgentEvent : event)
}

describe("The events of a run", () => {
  it.effect("are balanced, or said not to be", () =>
    Effect.gen(function*() {
      const whole = yield* run
      assert.deepStrictEqual(Laws.imbalances(whole.events), [])
      const found = (...[tag, change]: [AgentEvent.AgentEvent["_tag"], Partial<Record<string, unknown>> | undefined]) =>
        Laws.imbalances(changed(whole, tag, change)).join("; ")
      for (const tag of ["StepCompleted", "RunCompleted", "ModelResponded", "ToolCallSettled"] as const) {
        assert.match(found(tag, undefined), / open/, tag)
      }
      assert.match(found("StepStarted", undefined), /StepCompleted of "", ends what isn't open/)
      assert.match(found("RunStarted", undefined), /is outside of a run/)
      assert.match(found("ModelResponded", { sequence: 99 }), /has the number 99/)
      assert.match(found("ModelResponded", { at: -1 }), /is older than the one before/)
      assert.match(found("ModelResponded", { path: ["b"] }), /has another path than its run/)
      assert.match(found("ModelResponded", { calls: ["x"] }), /has a path of another length than its calls/)
      assert.match(found("ModelResponded", { _tag: "StepStarted" }), /starts what is open/)
    }))

  it("make no move that isn't listed, in a called agent neither", () => {
    const waiting = (child: AgentState.AgentState): AgentState.AgentState => ({
      ...AgentState.make("a"),
      status: AgentStatus.waitingForTools,
      conversation: {
        turns: [Conversation.assistant("a", [Conversation.call("c", "b", {}, { _tag: "Delegated", child })])]
      }
    })
    const child = AgentState.make("b")
    const failed = { ...child, status: AgentStatus.failed({ tag: "Defect", message: "", agent: "b", step: 0 }) }
    const requested = { ...child, status: AgentStatus.handoffRequested({ target: "c" }) }
    assert.deepStrictEqual(Laws.illegalMoves([child, failed, child].map(waiting)), [])
    assert.deepStrictEqual(Laws.illegalMoves([child, failed, requested].map(waiting)), [
      "state 2, \"c\" goes from Failed to HandoffRequested"
    ])
  })

  it.effect("keep each law that they decide, or are said to break it", () =>
    Effect.gen(function*() {
      const whole = yield* run
      const breaks = (broken: Observed) => Object.keys(pure).filter((law) => pure[law]!(broken) !== undefined)
      assert.deepStrictEqual(breaks(whole), [])
      const { events, last } = whole
      const unstarted = observed("Go", changed(whole, "StepStarted", undefined), Exit.void)
      assert.deepStrictEqual(breaks(unstarted), ["events are balanced"])
      const twice = events.findIndex(({ _tag }) => _tag === "ToolCallSettled")
      const doubled = observed("Go", events.toSpliced(twice, 0, events[twice]!), Exit.void)
      assert.strictEqual(
        pure["every event fits"]!(doubled),
        "ToolCallSettled changes nothing: it doesn't fit the state"
      )
      const requested = { ...last, status: AgentStatus.handoffRequested({ target: "b" }) }
      assert.strictEqual(
        pure["every move is listed"]!({ ...whole, states: [requested, last] }),
        "state 2 goes from HandoffRequested to Complete"
      )
      const call = Conversation.call("", "look", {})
      const illegal = { ...last, conversation: { turns: [Conversation.assistant("a", [call])] } }
      assert.strictEqual(
        pure["every state is legal"]!({ ...whole, states: [illegal] }),
        "turn 0 has a call without an id"
      )
      const date = new Date(0)
      const dated = { ...last, initialQuery: { toJSON: () => date.toISOString() } } as never
      assert.isDefined(pure["every state survives JSON"]!({ ...whole, states: [dated] }))
      const end = changed(whole, "RunCompleted", { state: AgentState.make("a") })
      assert.deepStrictEqual(breaks({ ...whole, events: end }), ["the last event holds the fold of all"])
      const lost = changed(whole, "ModelResponded", { finishReason: new Date(0) })
      assert.include(breaks({ ...whole, events: lost }), "events that were stored give the same state")
      const spent = { ...last, usage: { ...last.usage, requests: 9 } }
      assert.match(pure["usage adds up"]!({ ...whole, last: spent }) ?? "", /^usage\.requests is 9/)
      const steps = { ...last, steps: last.steps + 1 }
      const counted = events.map((event) => event._tag === "RunCompleted" ? { ...event, state: steps } : event)
      assert.deepStrictEqual(breaks({ ...whole, last: steps, events: counted }), [
        "events that were stored give the same state",
        "usage adds up"
      ])
    }))
})

describe("A conversation", () => {
  it("is legal, or said not to be", () => {
    const call = (id: string, state?: Conversation.CallState) => Conversation.call(id, "look", {}, state)
    const done = { _tag: "Settled", outcome: "Succeeded", result: null } as const
    const problems = (...turns: ReadonlyArray<ReadonlyArray<Conversation.Call>>) =>
      Laws.problems({ turns: turns.map((calls) => Conversation.assistant("a", calls)) })
    assert.deepStrictEqual(problems([call("a", done)], [call("b")]), [])
    assert.deepStrictEqual(problems([call("", done)]), ["turn 0 has a call without an id"])
    assert.deepStrictEqual(problems([call("a", done), call("a", done)]), ["turn 0 repeats the id \"a\""])
    assert.deepStrictEqual(problems([call("a")], [call("b")]), ["turn 0 leaves \"a\" open"])
    const child = { ...AgentState.make("b"), conversation: { turns: [Conversation.assistant("b", [call("")])] } }
    assert.deepStrictEqual(problems([call("a", { _tag: "Delegated", child })]), ["turn 0 has a call without an id"])
  })
})
