/** What agents can do, in a conversation that another runner takes over in the middle of it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, ContextWindow, Mode, StopWhen, SystemPrompt } from "troupe"
import { Conversation } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { makeCluster } from "./runners.ts"

const params = Schema.Struct({ n: Schema.Int })
const Pay = Tool.make("pay", { parameters: params, success: Schema.String, needsApproval: true })
const Kit = Toolkit.make(Pay)
const paying = Kit.toLayer({ pay: ({ n }) => Effect.succeed(`paid ${n}`) })

const pay = (n: number) => MockResponse.toolCall("pay", { n }, { id: `p${n}` })
const ask = (agent: string) => MockResponse.toolCall(agent, { task: "pay" }, { id: `ask-${agent}` })

type Result = { readonly result: unknown }
const resultOr =
  (call: MockResponse.MockResponse) => ({ lastToolResults: [last] }: { lastToolResults: ReadonlyArray<Result> }) =>
    last === undefined ? call : `Then: ${JSON.stringify(last.result)}`

/** Talks to a conversation on one runner, and then on the next one, which has to take it over. */
const twice = Effect.fnUntraced(function*<N extends string, E, R, E2, A, X, X2>(
  desk: Conversation.Conversation<N, E, R>,
  needs: Layer.Layer<R, E2>,
  first: (chat: Conversation.Client<E>) => Effect.Effect<void, X>,
  then: (chat: Conversation.Client<E>) => Effect.Effect<A, X2>
) {
  const cluster = yield* makeCluster
  const one = yield* cluster.start(desk.layer as Layer.Layer<never>, needs)
  yield* first((yield* one.provide(desk.client))("1"))
  yield* one.die
  const two = yield* cluster.start(desk.layer as Layer.Layer<never>, needs)
  return yield* then((yield* two.provide(desk.client))("1"))
})

describe("After another runner took over", () => {
  it.live("an approval reaches an agent that was called by one that was called", () => {
    const clerk = Agent.make("clerk", { description: "Pays", toolkit: Kit })
    const manager = Agent.make("manager", { description: "Manages", agents: [Agent.asTool(clerk)] })
    const boss = Agent.make("boss", { agents: [Agent.asTool(manager)] })
    const script = MockModel.byAgent({
      boss: MockModel.make(resultOr(ask("manager"))),
      manager: MockModel.make(resultOr(ask("clerk"))),
      clerk: MockModel.make(({ lastToolResults: [last] }) =>
        last === undefined ? MockResponse.all(pay(1), pay(2)) : "Both are paid."
      )
    })
    return twice(
      Conversation.make("Desk", boss),
      Layer.merge(paying, MockModel.layer(script)),
      (chat) =>
        Effect.map(chat.say("Pay"), ({ pending, status }) => {
          assert.strictEqual(status, "Waiting")
          assert.deepStrictEqual(pending.map(({ callId, path }) => [callId, path]), [
            ["p1", ["boss", "manager", "clerk"]],
            ["p2", ["boss", "manager", "clerk"]]
          ])
        }),
      Effect.fnUntraced(function*(chat) {
        const one = yield* chat.approve("p1")
        assert.deepStrictEqual([one.status, one.pending.map(({ callId }) => callId)], ["Waiting", ["p2"]])
        const both = yield* chat.deny("p2", "once is enough")
        assert.deepStrictEqual([both.status, both.unknown], ["Complete", []])
        assert.match(both.text, /Both are paid/)
      })
    )
  })

  it.live("a mode is entered again, with its prompt and its values, and left once", () => {
    const entered: Array<string> = []
    const careful = Mode.make("careful", {
      invokable: true,
      description: "Take care",
      toolkit: Kit,
      enter: () =>
        SystemPrompt.append("Check twice.").pipe(
          Effect.andThen(Effect.sync(() => void entered.push("in"))),
          Effect.andThen(Effect.addFinalizer(() => Effect.sync(() => void entered.push("out"))))
        )
    })
    const clerk = Agent.make("clerk", { modes: [careful] })
    const prompts: Array<string> = []
    const script = MockModel.make(({ lastToolResults: [last], system, toolNames }) => {
      prompts.push(system)
      if (last === undefined) return MockResponse.toolCall("enter_careful_mode", {}, { id: "m1" })
      return last.name === "pay" ? "Paid." : toolNames.includes("pay") ? pay(1) : "There is no tool."
    })
    return twice(
      Conversation.make("Desk", clerk),
      Layer.merge(paying, MockModel.layer(script)),
      (chat) => Effect.map(chat.say("Pay"), ({ status }) => assert.strictEqual(status, "Waiting")),
      Effect.fnUntraced(function*(chat) {
        const before = entered.filter((one) => one === "in").length
        const answer = yield* chat.approve("p1")
        assert.deepStrictEqual([answer.status, answer.text], ["Complete", "Paid."])
        assert.strictEqual(entered.filter((one) => one === "in").length, before + 1)
        assert.match(prompts.at(-1) ?? "", /Check twice/)
      })
    )
  })

  it.live("a context window still leaves out what is old", () => {
    const clerk = Agent.make("clerk", { contextWindow: ContextWindow.make({ maxTurns: 3 }) })
    const script = MockModel.make(({ messages }) =>
      `I see ${messages.filter(({ role }) => role !== "system").length} messages.`
    )
    return twice(
      Conversation.make("Desk", clerk),
      MockModel.layer(script),
      (chat) => Effect.forEach(["one", "two", "three"], (text) => chat.say(text), { discard: true }),
      Effect.fnUntraced(function*(chat) {
        assert.strictEqual((yield* chat.say("four")).text, "I see 3 messages.")
        assert.strictEqual((yield* chat.state).conversation.turns.length, 8)
      })
    )
  })

  it.live("a budget still counts what was spent before", () => {
    const clerk = Agent.make("clerk", { toolkit: Kit, stopWhen: StopWhen.tokens(10) })
    const script = MockModel.make(({ lastToolResults: [last] }) =>
      MockResponse.withUsage(last === undefined ? pay(1) : "Paid.", { input: 10, output: 0 })
    )
    return twice(
      Conversation.make("Desk", clerk),
      Layer.merge(paying, MockModel.layer(script)),
      (chat) => Effect.map(chat.say("Pay"), ({ status }) => assert.strictEqual(status, "Waiting")),
      Effect.fnUntraced(function*(chat) {
        const answer = yield* chat.approve("p1")
        assert.deepStrictEqual([answer.status, answer.error?.tag], ["Failed", "BudgetExceeded"])
        assert.strictEqual((yield* chat.state).steps, 1)
      })
    )
  })

  it.live("words that are said while a call waits are heard once it is answered", () => {
    const clerk = Agent.make("clerk", { toolkit: Kit })
    const script = MockModel.make(({ lastToolResults: [last], lastUserText }) =>
      last !== undefined || lastUserText !== "Pay" ? `Heard ${lastUserText}.` : pay(1)
    )
    return twice(
      Conversation.make("Desk", clerk),
      Layer.merge(paying, MockModel.layer(script)),
      Effect.fnUntraced(function*(chat) {
        yield* chat.say("Pay", { key: "m1" })
        assert.strictEqual((yield* chat.say("In euros", { key: "m2" })).status, "Waiting")
      }),
      Effect.fnUntraced(function*(chat) {
        const answer = yield* chat.approve("p1")
        assert.deepStrictEqual([answer.status, answer.text], ["Complete", "Heard In euros."])
        const { conversation: { turns } } = yield* chat.state
        assert.strictEqual(turns.filter(({ _tag }) => _tag === "User").length, 2)
      })
    )
  })
})
