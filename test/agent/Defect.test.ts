import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, type AgentEvent, AgentState, Conversation, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { problems } from "../domain/legal.ts"
import { imbalances } from "./balanced.ts"

class Refused extends Schema.TaggedError<Refused>("test/Refused")("Refused", { amount: Schema.Finite }) {}

const bug = new Error("It can't be")

const Tools = Toolkit.make(
  Tool.make("look", { success: Schema.String }),
  Tool.make("crash", { success: Schema.String }),
  Tool.make("stuck", { success: Schema.String }),
  Tool.make("refund", { success: Schema.String, failure: Refused }),
  ToolPolicy.set(Tool.make("alone", { success: Schema.String }), { exclusive: true })
)
const handlers = Tools.toLayer({
  look: () => Effect.succeed("seen"),
  crash: () => Effect.die(bug),
  stuck: () => Effect.never,
  refund: () => Effect.fail(new Refused({ amount: 12 })),
  alone: () => Effect.succeed("done")
})

const call = (name: string) => MockResponse.toolCall(name, {}, { id: name })

/** The events of a run, how it ended, and the state in its last event. */
const events = Effect.fnUntraced(function*<E, R>(stream: Stream.Stream<AgentEvent.AgentEvent, E, R>) {
  const events: Array<AgentEvent.AgentEvent> = []
  const exit = yield* Effect.exit(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
  assert.strictEqual(imbalances(events).join("\n"), "")
  const end = events[events.length - 1]
  assert.isTrue(end?._tag === "RunFailed")
  const state = end?._tag === "RunFailed" ? end.state : AgentState.make("")
  assert.deepStrictEqual(problems(state.conversation), [])
  const folded = events.reduce(AgentState.reduce, AgentState.make("clerk"))
  assert.deepStrictEqual(folded, state)
  return { events, exit, state }
})

const defectOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? Cause.squash(exit.cause) : undefined

const outcomes = (state: AgentState.AgentState) =>
  Conversation.byAgent(state.conversation, "clerk").flatMap(Conversation.callsOf).map(({ name, state }) => [
    name,
    state._tag === "Settled" ? state.outcome : state._tag
  ])

describe("A defect", () => {
  it.effect("of a handler stays one, settles the other calls of its turn, and leaves a state that goes on", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", { toolkit: Tools })
      const { exit, state } = yield* events(Agent.stream(agent, "Hello")).pipe(
        Effect.provide(handlers),
        Effect.provide(MockModel.layer(MockModel.queue(
          MockResponse.all("One moment.", call("look"), call("crash"), call("stuck"), call("alone"))
        )))
      )
      assert.strictEqual(defectOf(exit), bug)
      assert.isTrue(state.status._tag === "Failed" && state.status.error.tag === "Defect")
      assert.isTrue(state.status._tag === "Failed" && state.status.error.message === "It can't be")
      assert.deepStrictEqual(outcomes(state), [
        ["look", "Succeeded"],
        ["crash", "Failed"],
        ["stuck", "Interrupted"],
        ["alone", "Interrupted"]
      ])
      assert.isFalse(
        JSON.stringify(AgentState.toJson({ ...state, status: { _tag: "InProgress" } })).includes("can't be")
      )
      const last = yield* Agent.resume(agent, AgentState.reopen(state)).pipe(
        Effect.provide(handlers),
        Effect.provide(MockModel.layer(MockModel.queue("I'm sorry.")))
      )
      assert.strictEqual(AgentState.text(last), "I'm sorry.")
    }))

  it.effect("of instructions, of the model, and of an approval stays one", () =>
    Effect.gen(function*() {
      const thrower = (): never => {
        throw bug
      }
      const Guarded = Toolkit.make(Tool.make("guarded", { success: Schema.String, needsApproval: thrower }))
      const queue = MockModel.queue(MockResponse.all(call("guarded"), call("guarded")))
      const programs = [
        [Agent.make("clerk", { instructions: thrower }), queue],
        [Agent.make("clerk", { instructions: () => Effect.die(bug) }), queue],
        [Agent.make("clerk"), MockModel.make(thrower)],
        [Agent.make("clerk"), MockModel.make(() => Effect.die(bug))]
      ] as const
      for (const [agent, handler] of programs) {
        const { exit, state } = yield* events(Agent.stream(agent, "Hello")).pipe(
          Effect.provide(MockModel.layer(handler))
        )
        assert.strictEqual(defectOf(exit), bug)
        assert.strictEqual(Conversation.count(state.conversation), 1)
        const exitOfRun = yield* Effect.exit(Agent.run(agent, "Hello")).pipe(Effect.provide(MockModel.layer(handler)))
        assert.strictEqual(defectOf(exitOfRun), bug)
        const settled = yield* Effect.exit(Agent.settle(agent, "Hello")).pipe(Effect.provide(MockModel.layer(handler)))
        assert.strictEqual(defectOf(settled), bug)
      }
      const { exit, state } = yield* events(Agent.stream(Agent.make("clerk", { toolkit: Guarded }), "Hello")).pipe(
        Effect.provide(Guarded.toLayer({ guarded: () => Effect.succeed("opened") })),
        Effect.provide(MockModel.layer(queue))
      )
      assert.strictEqual(defectOf(exit), bug)
      assert.deepStrictEqual(outcomes(state), [["guarded", "Interrupted"], ["guarded", "Interrupted"]])
    }))

  it.effect("of a model that streams leaves no half turn", () =>
    Effect.gen(function*() {
      const { exit, state } = yield* events(Agent.stream(Agent.make("clerk"), "Hello")).pipe(
        Effect.provide(MockModel.layer(MockModel.queue()))
      )
      assert.instanceOf(defectOf(exit), MockModel.UnansweredRequest)
      assert.strictEqual(Conversation.count(state.conversation), 1)
    }))
})

describe("A fatal tool", () => {
  it.effect("ends the run with its own error once all calls of its turn are settled", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", { toolkit: Tools, fatal: ["refund"] })
      const model = MockModel.layer(MockModel.queue(
        call("look"),
        MockResponse.all(call("refund"), call("look"), call("alone"))
      ))
      const { exit, state } = yield* events(Agent.stream(agent, "Hello")).pipe(
        Effect.provide(handlers),
        Effect.provide(model)
      )
      assert.deepStrictEqual(Exit.findErrorOption(exit), Option.some(new Refused({ amount: 12 })))
      assert.deepStrictEqual(
        state.status._tag === "Failed" && [state.status.error.tag, state.status.error.agent, state.status.error.step],
        ["Refused", "clerk", 1]
      )
      assert.deepStrictEqual(outcomes(state), [
        ["look", "Succeeded"],
        ["refund", "Failed"],
        ["look", "Succeeded"],
        ["alone", "Succeeded"]
      ])
      const caught = yield* Agent.run(agent, "Hello").pipe(
        Effect.catchTag("Refused", ({ amount }) => Effect.succeed(amount)),
        Effect.provide(handlers),
        Effect.provide(model)
      )
      assert.strictEqual(caught, 12)
      const settled = yield* Agent.settle(agent, "Hello").pipe(Effect.provide(handlers), Effect.provide(model))
      assert.deepStrictEqual(settled, state)
    }))

  it.effect("isn't fatal where the agent doesn't say so: the model reads its failure", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", { toolkit: Tools })
      const state = yield* Agent.run(agent, "Hello")
      assert.deepStrictEqual([outcomes(state), AgentState.text(state)], [[["refund", "Failed"]], "No refund."])
    }).pipe(Effect.provide(handlers), Effect.provide(MockModel.layer(MockModel.queue(call("refund"), "No refund.")))))
})
