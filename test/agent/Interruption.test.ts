import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, ExecutionPlan, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, type AgentEvent, AgentState, Conversation, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { problems } from "../domain/legal.ts"
import { interruptAt } from "../handoff/interrupter.ts"
import { some } from "../matrix.ts"
import { imbalances } from "./balanced.ts"

/** What was opened and closed, by name, while a run went on. */
class Ledger {
  readonly open = new Map<string, number>()
  opened = 0
  add(name: string, by: number): void {
    this.open.set(name, (this.open.get(name) ?? 0) + by)
  }
  use<A, E, R>(name: string, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const add = (by: number) => Effect.sync(() => this.add(name, by))
    return Effect.acquireUseRelease(
      Effect.andThen(Effect.sync(() => this.opened++), add(1)),
      () => Effect.andThen(Effect.yieldNow, self),
      () => Effect.andThen(Effect.yieldNow, add(-1))
    )
  }
  reset(): void {
    this.open.clear()
    this.opened = 0
  }
  get leaks(): ReadonlyArray<string> {
    return [...this.open].flatMap(([name, count]) => count === 0 ? [] : [`${name}: ${count}`])
  }
}

/** An agent of which everything takes time and holds something open, with all that its runs need. */
const makeDesk = (ledger: Ledger) => {
  const Look = Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }), success: Schema.String })
  const Count = Tool.make("count", { success: Schema.Finite, failure: Schema.String })
  const Asked = Tool.make("asked", {
    success: Schema.String,
    needsApproval: () => ledger.use("approval", Effect.succeed(false))
  })
  const Alone = ToolPolicy.set(Tool.make("alone", { success: Schema.Void }), {
    exclusive: true,
    timeout: "1 minute"
  })
  const Desk = Toolkit.make(Look, Count, Asked, Alone)
  const handlers = Desk.toLayer({
    look: ({ at }, { preliminary }) =>
      ledger.use(`look ${at}`, Effect.as(Effect.andThen(preliminary("…"), Effect.yieldNow), `seen ${at}`)),
    count: () => ledger.use("count", Effect.fail("can't count")),
    asked: () => ledger.use("asked", Effect.succeed("yes")),
    alone: () => ledger.use("alone", Effect.yieldNow)
  })
  const helper = Agent.make("helper", { toolkit: Desk })
  const agent = Agent.make("desk", {
    toolkit: Desk,
    agents: [Agent.asTool(helper)],
    instructions: () => ledger.use("instructions", Effect.succeed("Help."))
  })
  const answer = (response: MockResponse.Input) => () => ledger.use("model", Effect.succeed(response))
  const isFirst = ({ lastToolResults }: MockModel.MockRequest) => lastToolResults.length === 0
  const model = MockModel.layer(MockModel.byAgent({
    helper: MockModel.conditional(
      MockModel.when(isFirst, answer(MockResponse.toolCall("look", { at: "the helper's" }))),
      MockModel.otherwise(answer("I helped."))
    ),
    desk: MockModel.conditional(
      MockModel.when(
        isFirst,
        answer(MockResponse.all(
          MockResponse.reasoning("Well, well."),
          MockResponse.text("One moment."),
          MockResponse.toolCall("look", { at: "home" }),
          MockResponse.toolCall("helper", { task: "help" }),
          MockResponse.toolCall("asked", {}),
          MockResponse.toolCall("alone", {}),
          MockResponse.toolCall("count", {})
        ))
      ),
      MockModel.otherwise(answer("All is well."))
    )
  }))
  return { agent, model, environment: Layer.fresh(Layer.merge(handlers, model)) }
}

const overloaded = AiError.make({
  module: "Test",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})

const ledger = new Ledger()
const { agent, environment, model } = makeDesk(ledger)

type Observe = (events: Array<AgentEvent.AgentEvent>) => Agent.Observer

const atOnce: Observe = (events) => (event) => Effect.sync(() => events.push(event))

const slowly: Observe = (events) => (event) =>
  Effect.yieldNow.pipe(Effect.andThen(Effect.sync(() => events.push(event))), Effect.andThen(Effect.yieldNow))

type Program = Effect.Effect<unknown, unknown, Agent.Services<typeof agent>>

/** The same agent with two models of its own, of which the first always fails. */
const planned = Agent.withModel(
  agent,
  ExecutionPlan.make(
    {
      provide: Layer.fresh(Layer.effectContext(
        Effect.acquireRelease(
          Effect.sync(() => ledger.add("first model", 1)),
          () => Effect.sync(() => ledger.add("first model", -1))
        )
          .pipe(
            Effect.andThen(
              Layer.build(MockModel.layer(MockModel.make(() => ledger.use("failure", Effect.fail(overloaded)))))
            )
          )
      ))
    },
    { provide: Layer.fresh(model) }
  )
)

const runIt: Program = Agent.run(agent, "Hello")
const runPlanned: Program = Agent.run(planned, "Hello")
const streamIt: Program = Stream.runDrain(Agent.stream(agent, "Hello"))

/** Runs until an operation, interrupts there, and gives all that can be seen from outside. */
const interruptedAt = Effect.fnUntraced(function*(at: number, program: Program, observe: Observe) {
  ledger.reset()
  const events: Array<AgentEvent.AgentEvent> = []
  // Models and tools are there before, so that only the run's own operations count.
  const { exit, scheduler } = yield* interruptAt(program.pipe(Agent.observe(observe(events))), at).pipe(
    Effect.provide(environment)
  )
  const { ops, points } = scheduler
  for (let n = 0; n < 3; n++) yield* Effect.yieldNow
  return { events, exit, points, isQuiet: scheduler.ops === ops }
})

/** Everything that is wrong with what an interrupted run left behind. */
const complaints = Effect.fnUntraced(
  function*(at: number, program: Program, observe: Observe, resumed: Set<string>) {
    const { events, exit, isQuiet } = yield* interruptedAt(at, program, observe)
    const found: Array<string> = []
    if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) found.push(`ended otherwise: ${String(exit.cause)}`)
    if (!isQuiet) found.push("something still runs")
    found.push(...ledger.leaks.map((leak) => `left open: ${leak}`), ...imbalances(events))
    const end = events[events.length - 1]
    if (end === undefined) return ledger.opened > 0 ? [...found, "ran and told nothing"] : found
    if (!("state" in end)) return [...found, `ends with ${end._tag}`]
    const left = JSON.stringify(end.state)
    const folded = events.reduce(AgentState.reduce, AgentState.make("desk"))
    if (JSON.stringify(folded) !== left) found.push("the last event holds another state")
    if (end._tag === "RunInterrupted" && end.state.status._tag !== "InProgress") {
      const isAnswered = end.state.status._tag === "Complete"
      if (!isAnswered) found.push(`interrupted as ${end.state.status._tag}`)
    }
    // Many operations leave the same state behind.
    if (resumed.has(left)) return found
    resumed.add(left)
    found.push(...problems(end.state.conversation))
    if (Conversation.hasOpenCalls(end.state.conversation)) found.push("left calls open")
    const read = yield* Effect.fromResult(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(end.state)))))
    const last = yield* Agent.resume(agent, read).pipe(Effect.provide(environment))
    if (last.status._tag !== "Complete" || AgentState.text(last) !== "All is well.") found.push("doesn't go on")
    return [...found, ...problems(last.conversation)]
  }
)

/** Interrupts at operations at which that makes a difference: at each of them where the matrix is played whole. */
const everywhere = Effect.fnUntraced(function*(program: Program, observe: Observe) {
  const resumed = new Set<string>()
  const { points } = yield* interruptedAt(0, program, observe)
  for (const at of some(points, 6)) {
    const found = yield* complaints(at, program, observe, resumed)
    assert.strictEqual(found.join("\n"), "", `interrupted at operation ${at}`)
  }
  return { points: points.length, ends: resumed.size }
})

describe("Interruption", () => {
  it.effect("at any operation of a run leaves it ended, legal and ready to go on", () =>
    Effect.gen(function*() {
      const { ends, points } = yield* everywhere(runIt, atOnce)
      assert.isAbove(points, 500)
      assert.isAtLeast(ends, 8)
    }))

  it.effect("at any operation loses no event of an observer that takes time", () =>
    Effect.gen(function*() {
      const { ends, points } = yield* everywhere(runIt, slowly)
      assert.isAbove(points, 500)
      assert.isAtLeast(ends, 8)
    }))

  it.effect("at any operation of a run whose models are its own releases them too", () =>
    Effect.gen(function*() {
      const { ends, points } = yield* everywhere(runPlanned, atOnce)
      assert.isAbove(points, 500)
      assert.isAtLeast(ends, 8)
    }))

  it.effect("at any operation of a stream's reader does too", () =>
    Effect.gen(function*() {
      const { ends, points } = yield* everywhere(streamIt, atOnce)
      assert.isAbove(points, 500)
      assert.isAtLeast(ends, 8)
    }), 120_000)

  it.effect("of a stream whose reader leaves after any number of events is told to observers to the end", () =>
    Effect.gen(function*() {
      const whole = yield* Stream.runCollect(Agent.stream(agent, "Hello")).pipe(Effect.provide(environment))
      for (let read = 1; read <= whole.length; read++) {
        ledger.reset()
        const events: Array<AgentEvent.AgentEvent> = []
        const taken = yield* Agent.stream(agent, "Hello").pipe(
          Stream.take(read),
          Stream.runCollect,
          Agent.observe(atOnce(events)),
          Effect.provide(environment)
        )
        assert.deepStrictEqual(taken.map(({ _tag }) => _tag), events.slice(0, read).map(({ _tag }) => _tag))
        assert.strictEqual(imbalances(events).join("\n"), "", `left after ${read} events`)
        assert.deepStrictEqual(ledger.leaks, [])
      }
    }))

  it.effect("ends a run that waits for a reader who never reads on", () =>
    Effect.gen(function*() {
      const words = Array.from({ length: 2000 }, (_, index) => `${index}`).join(" ")
      const talker = Agent.make("talker")
      const events: Array<AgentEvent.AgentEvent> = []
      const first = yield* Deferred.make<void>()
      const fiber = yield* Agent.stream(talker, "Hello").pipe(
        Stream.runForEach(() => Effect.andThen(Deferred.succeed(first, undefined), Effect.never)),
        Agent.observe(atOnce(events)),
        Effect.provide(MockModel.layer(MockModel.queue(words))),
        Effect.forkChild
      )
      yield* Deferred.await(first)
      for (let n = 0; n < 1000; n++) yield* Effect.yieldNow
      assert.isBelow(events.length, 600)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(imbalances(events).join("\n"), "")
      assert.deepStrictEqual(events.map(({ _tag }) => _tag).filter((tag) => tag !== "TextDelta"), [
        "RunStarted",
        "StepStarted",
        "ModelCallStarted",
        "ModelCallFailed",
        "StepCompleted",
        "RunInterrupted"
      ])
    }))

  it.effect("before a run that goes on has begun leaves the calls that it would run as they were", () =>
    Effect.gen(function*() {
      const Kit = Toolkit.make(Tool.make("open", { success: Schema.String, needsApproval: true }))
      const agent = Agent.make("porter", { toolkit: Kit })
      const environment = Layer.mergeAll(
        Kit.toLayer({ open: () => Effect.succeed("opened") }),
        MockModel.layer(MockModel.queue(MockResponse.toolCall("open", {}, { id: "a" }), "Open."))
      )
      const stopped = yield* Agent.run(agent, "Open it.").pipe(Effect.provide(environment))
      const approved = yield* Effect.fromResult(AgentState.approve(stopped, "a"))
      for (let at = 1; at < 250; at++) {
        const events: Array<AgentEvent.AgentEvent> = []
        yield* interruptAt(
          Agent.resume(agent, approved).pipe(
            Agent.observe((event) => Effect.sync(() => void events.push(event))),
            Effect.provide(environment)
          ),
          at
        )
        assert.include([undefined, "RunStarted"], events[0]?._tag, `interrupted at ${at}`)
        assert.deepStrictEqual(imbalances(events), [], `interrupted at ${at}`)
      }
    }))

  it.effect("settles what ran and what waited as interrupted, and keeps what was done", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const Tools = Toolkit.make(
        Tool.make("quick", { success: Schema.String }),
        Tool.make("stuck", { success: Schema.String }),
        ToolPolicy.set(Tool.make("later", { success: Schema.String }), { exclusive: true })
      )
      const clerk = Agent.make("clerk", { toolkit: Tools })
      const events: Array<AgentEvent.AgentEvent> = []
      let closed = 0
      const fiber = yield* Agent.run(clerk, "Hello").pipe(
        Agent.observe(atOnce(events)),
        Effect.provide(Tools.toLayer({
          quick: () => Effect.succeed("done"),
          stuck: () =>
            Effect.onInterrupt(
              Effect.andThen(Deferred.succeed(started, undefined), Effect.never),
              () => Effect.sync(() => closed++)
            ),
          later: () => Effect.succeed("never")
        })),
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.all(
          MockResponse.toolCall("stuck", {}, { id: "1" }),
          MockResponse.toolCall("quick", {}, { id: "2" }),
          MockResponse.toolCall("later", {}, { id: "3" })
        )))),
        Effect.forkChild
      )
      yield* Deferred.await(started)
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(closed, 1)
      const end = events[events.length - 1]
      assert.isTrue(end?._tag === "RunInterrupted")
      const settled = events.flatMap((event) =>
        event._tag === "ToolCallSettled" ? [[event.callId, event.outcome, event.result]] : []
      )
      const interrupted = "The run was interrupted before this had a result."
      assert.deepStrictEqual(settled, [
        ["1", "Interrupted", interrupted],
        ["2", "Succeeded", "done"],
        ["3", "Interrupted", interrupted]
      ])
    }))
})
