import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, Conversation, Group, Handoff, HandoffPolicy, Mode, StopWhen, SystemPrompt } from "troupe"
import { Laws } from "troupe/testing"

const Tools = Toolkit.make(
  Tool.make("look", { parameters: Schema.Struct({ at: Schema.String, since: Schema.Date }), success: Schema.String }),
  Tool.make("open", { success: Schema.String, needsApproval: true }),
  Tool.make("fail", { failure: Schema.String })
)
const layer = Tools.toLayer({
  look: ({ at }) => Effect.as(Effect.yieldNow, `${at}: a tree`),
  open: () => Effect.succeed("opened"),
  fail: () => Effect.fail("no")
})

/** What is said of a law that doesn't hold. */
const broken = <E>(law: Effect.Effect<void, Laws.LawBroken | E>) =>
  Effect.map(Effect.flip(law), (error) => {
    assert.instanceOf(error, Laws.LawBroken)
    return error as Laws.LawBroken
  })

describe("Laws", () => {
  it.effect("hold of an agent without anything", () => Laws.agent(Agent.make("assistant")))

  it.effect("hold of an agent with tools, an agent that it calls, an output and handoffs", () => {
    const helper = Agent.make("helper", { toolkit: Tools, stopWhen: StopWhen.maxSteps(2) })
    const expert = Agent.make("expert", { toolkit: Tools })
    const desk = Agent.make("desk", {
      toolkit: Tools,
      agents: [Agent.asTool(helper)],
      handoffs: [Handoff.to(expert)],
      output: Schema.Struct({ answer: Schema.String })
    })
    return Laws.agent(desk, { layer, runs: 40, seed: 7 })
  }, 60_000)

  it.effect("hold of a group", () => {
    const a = Agent.make("a", { toolkit: Tools, handoffs: [Handoff.to("b")] })
    const b = Agent.make("b", { toolkit: Tools })
    return Laws.group(Group.make({ a, b }, { start: "a", policy: HandoffPolicy.sequential(["a", "b"]) }), { layer })
  }, 60_000)

  it.effect("hold of a mode, which is entered and left for it", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const research = Mode.make("research", {
        params: Schema.Struct({ topic: Schema.String }),
        toolkit: Tools,
        enter: ({ topic }) =>
          Effect.andThen(Effect.sync(() => done.push("in")), SystemPrompt.append(`Research ${topic}.`)),
        exit: () => Effect.asVoid(Effect.sync(() => done.push("out")))
      })
      yield* Laws.mode(research, { layer, runs: 40, seed: 2 })
      assert.includeMembers(done, ["in", "out"])
    }), 60_000)

  it.effect("hold of histories, and of a store", () =>
    Effect.gen(function*() {
      yield* Laws.history((conversation) => Effect.succeed(conversation))
      yield* Laws.history(({ turns }) => Effect.succeed({ turns: turns.slice(0, 1) }))
      yield* Laws.history(() => Effect.fail("can't"))
      yield* Laws.store(KeyValueStore.layerMemory)
    }), 60_000)
})

/** Sample agents, each with a defect of one kind. */
let sold = 0
const Sell = Toolkit.make(Tool.make("sell", { success: Schema.Finite }))
const counting = Sell.toLayer({ sell: () => Effect.sync(() => ++sold) })

class Stock extends Context.Service<Stock, { readonly next: Effect.Effect<number> }>()("test/Stock") {}
const stock = Layer.sync(Stock, () => {
  let count = 0
  return { next: Effect.sync(() => ++count) }
})

describe("A law that is broken", () => {
  const clerk = Agent.make("clerk", { toolkit: Sell })

  it.effect(
    "is found in a tool that counts for itself, and shrunk to a handful of events",
    () =>
      Effect.gen(function*() {
        const error = yield* broken(Laws.agent(clerk, { layer: counting, runs: 100, seed: 1 }))
        assert.strictEqual(error.law, "a run is the same streamed")
        assert.deepStrictEqual(error.script, ["clerk calls sell {}", "clerk says \"Done.\""])
        assert.deepStrictEqual(error.events, [
          "RunStarted",
          "StepStarted",
          "ModelCallStarted",
          "ModelResponded",
          "ToolCallStarted of \"clerk0.0\"",
          "ToolCallSettled of \"clerk0.0\"",
          "StepCompleted",
          "StepStarted",
          "ModelCallStarted",
          "ModelResponded",
          "StepCompleted",
          "RunCompleted"
        ])
        assert.include(error.message, "Agent \"clerk\" breaks a law: a run is the same streamed")
        assert.include(error.message, "result is ")
        const again = yield* broken(Laws.agent(clerk, { layer: counting, replay: error.replay }))
        assert.deepStrictEqual(again.script, error.script)
      }),
    60_000
  )

  it.effect(
    "is found in a count that a run that goes on in another process doesn't know",
    () =>
      Effect.gen(function*() {
        const layer = Sell.toLayer(Effect.gen(function*() {
          const { next } = yield* Stock
          return { sell: () => next }
        })).pipe(Layer.provide(stock))
        const error = yield* broken(Laws.agent(clerk, { layer, runs: 80, seed: 1 }))
        assert.strictEqual(error.law, "a run goes on from each of its states as if it had never stopped")
        assert.include(error.issue, "resumed after event ")
        assert.strictEqual(error.script.filter((line) => line.includes("sell")).join("").split("calls sell").length, 3)
      }),
    60_000
  )

  it.effect(
    "is found in a history that loses the results of calls, or the user, or gives something else each time",
    () =>
      Effect.gen(function*() {
        const users = yield* broken(
          Laws.history(({ turns }) => Effect.succeed({ turns: turns.filter((turn) => turn._tag !== "User") }))
        )
        assert.strictEqual(users.law, "what crosses is a prompt")
        const truncated = yield* broken(
          Laws.history((conversation) => Effect.succeed(Conversation.truncate(conversation, 2)))
        )
        assert.match(truncated.issue, /^AssistantBeforeUser/)
        const opened = yield* broken(Laws.history(({ turns }) =>
          Effect.succeed({
            turns: [...turns, ...turns]
          }), { runs: 80 }))
        assert.strictEqual(opened.law, "what crosses is legal")
        let calls = 0
        const fickle = yield* broken(
          Laws.history(() => Effect.sync(() => Conversation.make([Conversation.user(`${++calls}`)])))
        )
        assert.strictEqual(fickle.law, "the same crosses each time")
        const mutating = yield* broken(Laws.history((conversation) =>
          Effect.sync(() => {
            ;(conversation.turns as Array<unknown>).pop()
            return conversation
          })
        ))
        assert.strictEqual(mutating.law, "a history changes nothing that it is given, and throws nothing")
      }),
    60_000
  )

  it.effect("is found in a store that forgets", () =>
    Effect.gen(function*() {
      const forgetful = Layer.effect(
        KeyValueStore.KeyValueStore,
        Effect.map(KeyValueStore.KeyValueStore, (store) => ({ ...store, get: () => Effect.succeed(undefined) }))
      ).pipe(Layer.provide(KeyValueStore.layerMemory))
      const error = yield* broken(Laws.store(forgetful))
      assert.isTrue(["what is saved is restored", "a store works"].includes(error.law), error.message)
    }))
})
