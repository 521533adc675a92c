import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Handoff } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const { toolCall } = MockResponse

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ payee: Schema.String }),
  success: Schema.String,
  needsApproval: true
})
const Till = Toolkit.make(Pay)

const till = (paid: Array<string>) =>
  Till.toLayer({
    pay: ({ payee }) =>
      Effect.sync(() => {
        paid.push(payee)
        return `Paid ${payee}.`
      })
  })

/** A gateway that counts its calls anew in each conversation. */
const pay = (payee: string) => toolCall("pay", { payee }, { id: "p" })

const waiting = (state: AgentState.AgentState) => AgentState.pendingApprovals(state).map(({ callId }) => callId)

const throughText = (state: AgentState.AgentState) =>
  Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

const approve = (state: AgentState.AgentState, id: string) => Result.getOrThrow(AgentState.approve(state, id))

const foundBy = (state: AgentState.AgentState, id: string) => {
  const answered = AgentState.approve(state, id)
  return Result.isFailure(answered) ? answered.failure.found : "Approved"
}

describe("An id of a call", () => {
  it.effect("isn't given again once the agent that had it has answered", () => {
    const paid: Array<string> = []
    const clerk = Agent.make("clerk", { toolkit: Till })
    const boss = Agent.make("boss", { agents: [Agent.asTool(clerk)] })
    return Effect.gen(function*() {
      const first = yield* Agent.run(boss, "Pay Ada, then Bob.")
      assert.deepStrictEqual(waiting(first), ["p"])
      const second = throughText(yield* Agent.resume(boss, throughText(approve(first, "p"))))
      assert.deepStrictEqual([paid, waiting(second)], [["Ada"], ["p-2"]])
      assert.strictEqual(foundBy(second, "p"), "Settled")
      assert.strictEqual(foundBy(second, "q"), "Unknown")
      const third = yield* Agent.resume(boss, second)
      assert.deepStrictEqual([paid, waiting(third)], [["Ada"], ["p-2"]])
      const done = yield* Agent.resume(boss, approve(third, "p-2"))
      assert.deepStrictEqual([paid, done.status._tag], [["Ada", "Bob"], "Complete"])
      assert.deepStrictEqual(done.retired, ["p", "p-2"])
    }).pipe(Effect.provide([
      till(paid),
      MockModel.layer(MockModel.byAgent({
        boss: MockModel.queue(
          toolCall("clerk", { task: "Pay Ada." }, { id: "a" }),
          toolCall("clerk", { task: "Pay Bob." }, { id: "b" }),
          "Done."
        ),
        clerk: MockModel.queue(pay("Ada"), "Paid.", pay("Bob"), "Paid.")
      }))
    ]))
  })

  it.effect("isn't given again after a handoff that leaves it behind", () => {
    const paid: Array<string> = []
    const clerk = Agent.make("clerk", { toolkit: Till })
    const desk = Agent.make("desk", {
      toolkit: Till,
      handoffs: [Handoff.to(clerk, { history: Handoff.lastTurns(1) })]
    })
    return Effect.gen(function*() {
      const first = yield* Agent.run(desk, "Pay Ada.")
      const second = yield* Agent.resume(desk, approve(first, "p"))
      const third = yield* Agent.continueConversation(desk, second, "Now Bob.")
      assert.deepStrictEqual([third.agent, paid, waiting(third)], ["clerk", ["Ada"], ["p-2"]])
      assert.strictEqual(foundBy(third, "p"), "Settled")
    }).pipe(Effect.provide([
      till(paid),
      MockModel.layer(MockModel.byAgent({
        desk: MockModel.queue(pay("Ada"), "Paid.", toolCall("handoff_to_clerk", {}, { id: "h" })),
        clerk: MockModel.queue(pay("Bob"), "Paid.")
      }))
    ]))
  })

  it.effect("isn't given again after the user said something else in its place", () => {
    const paid: Array<string> = []
    const desk = Agent.make("desk", { toolkit: Till })
    return Effect.gen(function*() {
      const first = yield* Agent.run(desk, "Pay Ada.")
      const edited = yield* Agent.resume(desk, AgentState.editAt(first, 0, "Pay Bob."))
      assert.deepStrictEqual(waiting(edited), ["p-2"])
      assert.strictEqual(foundBy(edited, "p"), "Settled")
    }).pipe(Effect.provide([till(paid), MockModel.layer(MockModel.queue(pay("Ada"), pay("Bob")))]))
  })

  it.effect("isn't given again however many calls are gone since, and a state doesn't grow with those", () => {
    const desk = Agent.make("desk", { toolkit: Till })
    return Effect.gen(function*() {
      const old = Array.from({ length: 994 }, (_, at) => `old-${at}`)
      let state: AgentState.AgentState = { ...(yield* Agent.run(desk, "Pay.")), retired: [...old, "p-4"] }
      const seen: Array<string> = []
      for (let at = 0; at < 12; at++) {
        seen.push(...waiting(state))
        state = yield* Agent.resume(desk, throughText(AgentState.editAt(state, 0, "Pay.")))
        assert.isAtMost((state.retired ?? []).length, 1000)
      }
      assert.deepStrictEqual(seen.slice(0, 8), ["p", "p-2", "p-3", "p-5", "p-6", "p-7", "p-n1", "p-n2"])
      assert.strictEqual(new Set([...seen, ...waiting(state)]).size, 13)
      for (const id of [...seen, ...old, "p-4"]) assert.include(["Settled", "Unknown"], foundBy(state, id))
      assert.deepStrictEqual(throughText(state), state)
    }).pipe(Effect.provide([till([]), MockModel.layer(MockModel.make(() => pay("Ada")))]))
  })

  it.effect("is the same in a run whose called agents make it forget some and in one that goes on there", () => {
    const Look = Tool.make("look", { success: Schema.String })
    const clerk = Agent.make("clerk", { toolkit: Toolkit.make(Look) })
    const boss = Agent.make("boss", { agents: [Agent.asTool(clerk)] })
    const made: AgentState.AgentState = {
      ...AgentState.make("boss"),
      retired: [...Array.from({ length: 999 }, (_, at) => `old-${at}`), "p"]
    }
    return Effect.gen(function*() {
      const states = yield* Stream.runCollect(Agent.states(boss, "Look twice.", { state: made }))
      const whole = states.at(-1)!
      const looks = states.flatMap((state) => state.conversation.turns).flatMap((turn) =>
        turn._tag !== "Assistant" ?
          [] :
          turn.parts.flatMap((part) =>
            part._tag === "Call" && part.state._tag === "Delegated"
              ? Conversation.openCalls(part.state.child.conversation).map(({ id }) => id)
              : []
          )
      )
      assert.deepStrictEqual([...new Set(looks)], ["p-2", "p-n1"])
      assert.isDefined(whole.forgotten)
      assert.deepStrictEqual(throughText(whole), whole)
    }).pipe(Effect.provide([
      Toolkit.make(Look).toLayer({ look: () => Effect.succeed("seen") }),
      MockModel.layer(MockModel.byAgent({
        boss: MockModel.queue(
          toolCall("clerk", { task: "Look." }, { id: "a" }),
          toolCall("clerk", { task: "Look." }, { id: "b" }),
          "Done."
        ),
        clerk: MockModel.queue(toolCall("look", {}, { id: "p" }), "Seen.", toolCall("look", {}, { id: "p" }), "Seen.")
      }))
    ]))
  })
})
