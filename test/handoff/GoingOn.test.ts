import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Agent, AgentPicker, AgentState, Conversation, Group, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { callsIn } from "../domain/legal.ts"
import { checked, failing, handlers, handTo, Kit, models, sign, throughText, work } from "./scripted.ts"

class Down extends Schema.TaggedError<Down>("test/Down")("Down", {}) {}

const outcomes = (state: AgentState.AgentState) =>
  callsIn(state.conversation).map(({ name, state }) => [name, state._tag === "Settled" ? state.outcome : state._tag])

describe("New words after a handoff that failed", () => {
  const cases = {
    "because nobody has the name": [Handoff.to("nobody")],
    "because its history did": [
      Handoff.to(Agent.make("nobody"), { history: () => Effect.fail(new Down()) })
    ],
    "because the run may not change hands": [Handoff.to(Agent.make("nobody"))]
  }
  for (const [why, handoffs] of Object.entries(cases)) {
    it.effect(`reach the model, which reads that it failed ${why}`, () =>
      Effect.gen(function*() {
        const maxHandoffs = why.includes("may not") ? 0 : 10
        const triage = Agent.make("triage", { handoffs, maxHandoffs })
        const { state: failed } = yield* checked(Agent.settle(triage, "Hi"), "triage")
        assert.deepStrictEqual(outcomes(failed), [["handoff_to_nobody", "Pending"]])
        assert.strictEqual((yield* Agent.settle(triage, AgentState.reopen(failed))).status._tag, "Failed")
        const { state } = yield* checked(
          Agent.settle(triage, "Never mind", { state: throughText(failed), control: "first" }),
          failed
        )
        assert.deepStrictEqual([state.agent, AgentState.text(state)], ["triage", "Then I help."])
        assert.deepStrictEqual(outcomes(state), [["handoff_to_nobody", "Failed"]])
        const [call] = callsIn(state.conversation)
        assert.isTrue(
          failed.status._tag === "Failed" && call?.state._tag === "Settled" &&
            call.state.result === `The handoff failed: ${failed.status.error.message}`
        )
        const calls = yield* MockModel.calls
        assert.deepStrictEqual(calls[1]?.request.lastUserText, "Never mind")
      }).pipe(Effect.provide(models({ triage: [handTo("nobody"), "Then I help."] }))))
  }
})

describe("Words that wait behind an approval", () => {
  const names = ["draft", "review", "draft"] as const
  const group = Group.make(
    { draft: Agent.make("draft", { toolkit: Kit }), review: Agent.make("review") },
    { start: "draft", policy: HandoffPolicy.sequential(names) }
  )

  it.effect("don't begin the way through the agents anew", () =>
    Effect.gen(function*() {
      const { state: waiting } = yield* checked(Agent.run(group, "Write"), "draft")
      assert.deepStrictEqual(waiting.trail, names)
      const hurried = yield* Agent.continueConversation(group, waiting, "Hurry")
      assert.strictEqual(hurried.run.handoffs, 2)
      const approved = yield* Effect.fromResult(AgentState.approve(hurried, "sign"))
      const { state } = yield* checked(Agent.resume(group, throughText(approved)), approved)
      assert.deepStrictEqual([state.trail, state.status._tag], [[...names], "Complete"])
      assert.deepStrictEqual(AgentState.text(state), "Final.")
      assert.isUndefined(AgentState.ask(state, "Again", 0).run.handoffs)
    }).pipe(Effect.provide([models({ draft: ["One.", sign, "Final."], review: ["Two."] }), handlers])))

  it.effect("don't take back a handoff that was offered before them", () =>
    Effect.gen(function*() {
      const b = Agent.make("b")
      const offered = (state: AgentState.AgentState) => state.run.iteration > 0
      const a = Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to(b, { when: offered })] })
      const { state: waiting } = yield* checked(Agent.run(a, "Hi"), "a")
      const spoken = yield* Agent.continueConversation(a, { ...waiting, status: { _tag: "WaitingForTools" } }, "Go on")
      const approved = yield* Effect.fromResult(AgentState.approve(spoken, "sign"))
      const last = yield* Agent.resume(a, approved)
      assert.deepStrictEqual([last.agent, AgentState.text(last)], ["b", "Done."])
    }).pipe(
      Effect.provide([
        models({
          a: [work("w"), MockResponse.all(sign, handTo("b"))],
          b: ["Done."]
        }),
        handlers
      ])
    ))
})

describe("An input that can't be taken", () => {
  it.effect("asks no picker, and leaves control where it was", () =>
    Effect.gen(function*() {
      let picked = 0
      const small = <const Name extends string>(name: Name) => Agent.make(name, { maxInputLength: 5 })
      const group = Group.make({ a: small("a"), b: small("b") } as const, {
        start: AgentPicker.make(() => {
          picked++
          return "b" as const
        }),
        name: "team"
      })
      for (const input of ["  ", "too long for it"]) {
        const { reason, state } = yield* failing(Agent.run(group, input))
        assert.strictEqual(reason._tag, "InputRejected")
        assert.deepStrictEqual([state.agent, state.trail, picked], ["a", ["a"], 0])
      }
      const uneven = Group.make({ a: Agent.make("a"), b: small("b") } as const, {
        start: AgentPicker.make(() => {
          picked++
          return "b" as const
        }),
        name: "team"
      })
      const boss = Agent.make("boss", { agents: [Agent.asTool(uneven, { name: "team" })] })
      const { events, state } = yield* checked(Agent.run(boss, "Hi"), "boss")
      assert.strictEqual(picked, 1)
      const failed = events.find((event) => event._tag === "RunFailed")
      assert.deepStrictEqual([failed?.path, failed?._tag === "RunFailed" && failed.state.agent], [["boss", "a"], "a"])
      assert.deepStrictEqual(outcomes(state), [["team", "Failed"]])
    }).pipe(
      Effect.provide(models({ boss: [MockResponse.toolCall("team", { task: "far too long" }), "It didn't work."] }))
    ))
})

describe("A group", () => {
  it.effect("stays as it was made, whatever becomes of what it was made of", () =>
    Effect.gen(function*() {
      const members: { a: Agent.Agent<"a", string, never, never>; b: Agent.Agent<"b", string, never, never> } = {
        a: Agent.make("a") as never,
        b: Agent.make("b") as never
      }
      const team: Array<"b"> = ["b"]
      const group = Group.make(members, { start: "a", policy: HandoffPolicy.manager("a", team) })
      delete (members as { b?: unknown }).b
      team.length = 0
      const state = yield* Agent.run(group, "Hi")
      assert.deepStrictEqual(state.trail, ["a", "b", "a"])
    }).pipe(Effect.provide(models({ a: [handTo("b"), "Done."], b: ["Found."] }))))

  it.effect("keeps the conversation's system message where its policy hands over", () =>
    Effect.gen(function*() {
      const group = Group.make({ a: Agent.make("a"), b: Agent.make("b", { instructions: "You are b." }) }, {
        start: "a",
        policy: HandoffPolicy.sequential(["a", "b"])
      })
      const state = yield* Agent.run(group, "Hi", { systemMessage: "The user is Ada." })
      assert.strictEqual(state.systemMessage, "The user is Ada.")
      const calls = yield* MockModel.calls
      assert.strictEqual(calls[1]?.request.messages[0]?.content, "You are b.\n\nThe user is Ada.")
      assert.deepStrictEqual(state.conversation.turns.map(Conversation.textOf).slice(0, 2), ["Hi", "One."])
    }).pipe(Effect.provide(models({ a: ["One."], b: ["Two."] }))))
})

describe("Names that nobody could use", () => {
  it("are refused: an agent's that is empty, and one of a tool that providers refuse", () => {
    assert.throws(() => Agent.make(""), Agent.InvalidName, "can't be empty")
    for (const toolName of ["has space!", "", "x".repeat(65)]) {
      assert.throws(() => Handoff.to("b", { toolName }), Agent.InvalidName, `"${toolName}"`)
    }
    assert.strictEqual(Handoff.to("b", { toolName: "go-on_2" }).toolName, "go-on_2")
    assert.match(Handoff.to("ä b".repeat(40)).toolName, /^[a-zA-Z0-9_-]{64}$/)
  })
})
