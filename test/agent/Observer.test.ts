import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, type AgentEvent, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "./balanced.ts"

const Tools = Toolkit.make(
  ToolPolicy.set(
    Tool.make("wait", { parameters: Schema.Struct({ turns: Schema.Int }), success: Schema.String }),
    { timeout: "1 second" }
  )
)
const handlers = Tools.toLayer({
  wait: ({ turns }, { preliminary }) =>
    Effect.as(Effect.repeat(Effect.andThen(preliminary("…"), Effect.yieldNow), { times: turns }), "waited")
})
const helper = Agent.make("helper", { toolkit: Tools })
const agent = Agent.make("desk", { toolkit: Tools, agents: [Agent.asTool(helper)], toolConcurrency: "unbounded" })

const wait = (turns: number) => MockResponse.toolCall("wait", { turns })
const turnsOf = (n: number) => (n * 7) % 5

const model = MockModel.layer(MockModel.conditional(
  MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, "Done."),
  MockModel.when(({ agent }) => agent === "helper", MockResponse.all(wait(3), wait(0), wait(1))),
  MockModel.otherwise(MockResponse.all(
    ...Array.from({ length: 20 }, (_, n) => wait(turnsOf(n))),
    MockResponse.toolCall("helper", { task: "help" }),
    MockResponse.toolCall("helper", { task: "help more" })
  ))
))

const provided = <A, E, R>(self: Effect.Effect<A, E, R>) => self.pipe(Effect.provide(handlers), Effect.provide(model))

const keep = (events: Array<AgentEvent.AgentEvent>): Agent.Observer => (event) => Effect.sync(() => events.push(event))

describe("Agent.observe", () => {
  it.effect("shows each event to every observer, the outer one first", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const observer = (name: string): Agent.Observer => (event) =>
        Effect.sync(() => seen.push(`${event.sequence} ${name}`))
      yield* provided(
        Agent.run(agent, "Hello").pipe(Agent.observe(observer("inner")), Agent.observe(observer("outer")))
      )
      const count = seen.length / 2
      assert.deepStrictEqual(seen, Array.from({ length: count }, (_, n) => [`${n} outer`, `${n} inner`]).flat())
    }))

  it.effect("keeps the order of events, however many calls tell theirs at a time", () =>
    Effect.gen(function*() {
      const slow = (events: Array<AgentEvent.AgentEvent>): Agent.Observer => (event) =>
        Effect.andThen(
          Effect.repeat(Effect.yieldNow, { times: event.sequence % 3 }),
          Effect.sync(() => events.push(event))
        )
      const atOnce: Array<AgentEvent.AgentEvent> = []
      const slowly: Array<AgentEvent.AgentEvent> = []
      const outer: Array<AgentEvent.AgentEvent> = []
      yield* provided(Agent.run(agent, "Hello").pipe(Agent.observe(keep(atOnce))))
      yield* provided(Agent.run(agent, "Hello").pipe(Agent.observe(slow(slowly)), Agent.observe(keep(outer))))
      for (const events of [atOnce, slowly, outer]) {
        assert.strictEqual(imbalances(events).join("\n"), "")
        assert.isAbove(events.length, 100)
      }
      assert.deepStrictEqual(slowly, outer)
      const settled = slowly.flatMap((event) =>
        event._tag === "ToolCallSettled" && event.calls.length === 0 ? [event.callId] : []
      )
      const started = slowly.flatMap((event) =>
        event._tag === "ModelResponded" && event.calls.length === 0
          ? event.parts.flatMap((part) => part._tag === "Call" ? [part.id] : [])
          : []
      )
      assert.deepStrictEqual(settled, started)
    }))

  it.effect("shows what a stream shows, beside it", () =>
    Effect.gen(function*() {
      const events: Array<AgentEvent.AgentEvent> = []
      const streamed = yield* provided(
        Stream.runCollect(Agent.stream(agent, "Hello")).pipe(Agent.observe(keep(events)))
      )
      assert.deepStrictEqual(streamed, events)
      assert.isTrue(events.some(({ _tag }) => _tag === "TextDelta"))
    }))

  it.effect("makes a run wait for an observer that takes time", () =>
    Effect.gen(function*() {
      const at: Array<number> = []
      const observer: Agent.Observer = () =>
        Effect.andThen(
          Effect.sleep("1 second"),
          Effect.map(Clock.currentTimeMillis, (now) => {
            at.push(now)
          })
        )
      const talker = Agent.make("talker")
      const fiber = yield* Agent.run(talker, "Hello").pipe(
        Agent.observe(observer),
        Effect.provide(MockModel.layer(MockModel.queue("Hi"))),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 minute")
      const state = yield* Fiber.join(fiber)
      assert.deepStrictEqual(at, [1000, 2000, 3000, 4000, 5000, 6000])
      assert.strictEqual(state.status._tag, "Complete")
    }))

  it.effect("sees the runs inside alone", () =>
    Effect.gen(function*() {
      const events: Array<AgentEvent.AgentEvent> = []
      const talker = Agent.make("talker")
      yield* Effect.gen(function*() {
        yield* Agent.run(talker, "One")
        yield* Agent.observe(Agent.runMultiTurn(talker, ["Two", "Three"]), keep(events))
        yield* Agent.run(talker, "Four")
      }).pipe(Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => lastUserText))))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "RunStarted" ? [event.input] : []),
        [[{ _tag: "Text", text: "Two" }], [{ _tag: "Text", text: "Three" }]]
      )
    }))

  it.effect("is told the progress of a call that times out, without a gap", () =>
    Effect.gen(function*() {
      const Slow = Toolkit.make(
        ToolPolicy.set(Tool.make("slow", { success: Schema.String }), { timeout: "1 second" })
      )
      const events: Array<AgentEvent.AgentEvent> = []
      const fiber = yield* Agent.run(Agent.make("clerk", { toolkit: Slow }), "Hello").pipe(
        Agent.observe((event) => Effect.andThen(Effect.sleep("300 millis"), Effect.sync(() => events.push(event)))),
        Effect.provide(Slow.toLayer({
          slow: (_, { preliminary }) => Effect.forever(preliminary("…"))
        })),
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("slow", {}), "Too slow."))),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 minute")
      const state = yield* Fiber.join(fiber)
      assert.strictEqual(state.status._tag, "Complete")
      assert.strictEqual(imbalances(events).join("\n"), "")
      const progress = events.filter(({ _tag }) => _tag === "ToolCallProgressed")
      assert.isAbove(progress.length, 1)
    }))
})
