import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema, Stream } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, AgentState, Conversation, Group, Handoff, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { checked, failing, handTo, models, requests, throughText } from "./scripted.ts"

const { withUsage } = MockResponse

type Plain<Name extends string = string> = Agent.Agent<Name, string, never, LanguageModel.LanguageModel>

/** Agents that hand over to each other in a circle, each looked up when it is needed. */
const circle = (options: { readonly maxHandoffs?: number } = {}): Plain => {
  const a: Plain<"a"> = Agent.make("a", { ...options, handoffs: [Handoff.suspend("b", () => b)] })
  const b: Plain<"b"> = Agent.make("b", { handoffs: [Handoff.suspend("a", () => a)] })
  return a
}

/** A model that always hands over to the other of the two. */
const restless = MockModel.layer(MockModel.make(({ agent }) => handTo(agent === "a" ? "b" : "a")))

describe("A chain of handoffs", () => {
  it.effect("goes on to others and back, by targets and by names that the run reaches", () =>
    Effect.gen(function*() {
      const c = Agent.make("c", { handoffs: [Handoff.to("a")] })
      const b = Agent.make("b", { handoffs: [Handoff.to(c)] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] })
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual(state.trail, ["a", "b", "c", "a"])
      assert.deepStrictEqual([state.agent, AgentState.text(state), state.run.handoffs], ["a", "Back.", 3])
      assert.deepStrictEqual(state.logs, [
        "Agent \"a\" handed over to \"b\"",
        "Agent \"b\" handed over to \"c\": deeper",
        "Agent \"c\" handed over to \"a\""
      ])
      assert.strictEqual(state.initialQuery, "Hi")
      assert.strictEqual(state.steps, 4)
      assert.deepStrictEqual(
        state.conversation.turns.map((turn) => turn._tag === "Assistant" ? turn.agent : turn._tag),
        ["User", "a", "b", "c", "a"]
      )
    }).pipe(Effect.provide(models({
      a: [handTo("b"), "Back."],
      b: [handTo("c", { reason: "deeper" })],
      c: [handTo("a")]
    }))))

  it.effect("may be a circle of definitions that are looked up later", () =>
    Effect.gen(function*() {
      const { state } = yield* checked(Agent.run(circle(), "Hi"), "a")
      assert.deepStrictEqual(state.trail, ["a", "b", "a"])
    }).pipe(Effect.provide(models({ a: [handTo("b"), "Done."], b: [handTo("a")] }))))

  it.effect("may be a circle of names within a group", () =>
    Effect.gen(function*() {
      const a = Agent.make("a", { handoffs: [Handoff.to("b")] })
      const b = Agent.make("b", { handoffs: [Handoff.to("a")] })
      const { state } = yield* checked(Agent.run(Group.make({ a, b }, { start: "a" }), "Hi"), "a")
      assert.deepStrictEqual(state.trail, ["a", "b", "a"])
    }).pipe(Effect.provide(models({ a: [handTo("b"), "Done."], b: [handTo("a")] }))))
})

describe("The limit of handoffs", () => {
  it.effect("lets ten happen and fails the eleventh, with the state and the trail", () =>
    Effect.gen(function*() {
      const { events, state } = yield* checked(Agent.settle(circle(), "Hi"), "a")
      assert.strictEqual(events.filter(({ _tag }) => _tag === "HandoffCompleted").length, 10)
      assert.strictEqual((yield* requests).length, 11)
      assert.strictEqual(state.status._tag === "Failed" && state.status.error.tag, "HandoffLimitReached")
      assert.deepStrictEqual([state.trail.length, state.agent, Conversation.count(state.conversation)], [11, "a", 12])
      const { reason } = yield* failing(Agent.run(circle(), "Hi"))
      assert.deepInclude(reason, { _tag: "HandoffLimitReached", limit: 10, trail: state.trail })
      assert.strictEqual(
        reason.message,
        "The run reached its limit of 10 handoffs: a → b → a → b → a → b → a → b → a → b → a"
      )
    }).pipe(Effect.provide(restless)))

  it.effect("is the one of the agent that begins, or of the group", () =>
    Effect.gen(function*() {
      const trailOf = (run: Effect.Effect<AgentState.AgentState, never, LanguageModel.LanguageModel>) =>
        Effect.map(run, ({ trail }) => trail.join(""))
      const a = Agent.make("a", { maxHandoffs: 1, handoffs: [Handoff.to("b")] })
      const b = Agent.make("b", { maxHandoffs: 7, handoffs: [Handoff.to("a")] })
      assert.strictEqual(yield* trailOf(Agent.settle(circle({ maxHandoffs: 3 }), "Hi")), "abab")
      assert.strictEqual(yield* trailOf(Agent.settle(circle({ maxHandoffs: 0 }), "Hi")), "a")
      assert.strictEqual(
        yield* trailOf(Agent.settle(Group.make({ a, b }, { start: "a", maxHandoffs: 2 }), "Hi")),
        "aba"
      )
      assert.strictEqual((yield* Agent.settle(Group.make({ a, b }, { start: "b" }), "Hi")).trail.length, 11)
    }).pipe(Effect.provide(restless)))

  it.effect("goes on after it was met, with a larger one", () =>
    Effect.gen(function*() {
      const { state } = yield* checked(Agent.settle(circle({ maxHandoffs: 2 }), "Hi"), "a")
      const reopened = throughText(AgentState.reopen(state))
      assert.strictEqual(reopened.status._tag, "WaitingForTools")
      const { state: more } = yield* checked(Agent.settle(circle({ maxHandoffs: 4 }), reopened), reopened)
      assert.strictEqual(more.trail.join(""), "ababa")
      assert.strictEqual(more.run.handoffs, 4)
    }).pipe(Effect.provide(restless)))

  it.effect("counts anew when the user speaks", () =>
    Effect.gen(function*() {
      const a = circle({ maxHandoffs: 1 })
      const first = yield* Agent.settle(a, "Hi")
      assert.strictEqual(first.status._tag, "Failed")
      const { state } = yield* checked(Agent.settle(a, "More", { state: throughText(first) }), first)
      assert.deepStrictEqual([first.trail.join(""), state.trail.join("")], ["ab", "aba"])
    }).pipe(Effect.provide(restless)))
})

describe("Two agents of one name", () => {
  it("are refused when the one is made that reaches both", () => {
    const reaches = (...targets: ReadonlyArray<Plain>) => () =>
      Agent.make("a", { handoffs: targets.map((target, index) => Handoff.to(target, { toolName: `go${index}` })) })
    const deep = Agent.make("b", { handoffs: [Handoff.to(Agent.make("c"))] })
    assert.throws(reaches(Agent.make("b"), Agent.make("b")), Agent.DuplicateAgent)
    assert.throws(
      reaches(deep, Agent.make("c")),
      Agent.DuplicateAgent,
      "Two different agents of the name \"c\" can be reached from \"a\": rename one of them"
    )
    assert.throws(reaches(Agent.make("a")), Agent.DuplicateAgent)
    const c = Agent.make("c")
    assert.throws(
      () => Group.make({ deep: Agent.make("deep", { handoffs: [Handoff.to(c)] }), c: Agent.make("c") }, { start: "c" }),
      Agent.DuplicateAgent
    )
  })

  it("are one where they are the same", () => {
    const c = Agent.make("c")
    const b = Agent.make("b", { handoffs: [Handoff.to(c)] })
    assert.strictEqual(Agent.make("a", { handoffs: [Handoff.to(b), Handoff.to(c)] }).name, "a")
    assert.strictEqual(Group.make({ b, c }, { start: "b" }).name, "group")
  })

  it.effect("are refused when they are first needed, where one is looked up later", () =>
    Effect.gen(function*() {
      const a = Agent.make("a", {
        handoffs: [Handoff.suspend("b", () => Agent.make("b")), Handoff.to(Agent.make("b"), { toolName: "go" })]
      })
      for (
        const run of [
          Agent.run(a, "Hi"),
          Stream.runDrain(Agent.stream(a, "Hi")),
          Stream.runDrain(Agent.states(a, "Hi"))
        ]
      ) {
        const exit = yield* Effect.exit(run)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.instanceOf(Exit.isFailure(exit) && Cause.squash(exit.cause), Agent.DuplicateAgent)
      }
    }).pipe(Effect.provide(models({}))))

  it("must be known to a group, by whose handoff they are named", () => {
    const a = Agent.make("a", { handoffs: [Handoff.to("ghost")] })
    assert.throws(() => Group.make({ a }, { start: "a" }), Group.UnknownMember, "has no agent \"ghost\"")
    const later = Agent.make("a", { handoffs: [Handoff.to("ghost"), Handoff.suspend("b", () => Agent.make("b"))] })
    assert.strictEqual(Group.make({ a: later }, { start: "a" }).name, "group")
  })
})

describe("The agent in control", () => {
  const b = Agent.make("b")
  const a = Agent.make("a", { handoffs: [Handoff.to(b)] })

  it.effect("goes on with the conversation, or the first begins again where that is asked for", () =>
    Effect.gen(function*() {
      const { state: first } = yield* checked(Agent.run(a, "1"), "a")
      assert.deepStrictEqual([first.agent, first.trail], ["b", ["a", "b"]])
      const { state: second } = yield* checked(Agent.continueConversation(a, throughText(first), "2"), first)
      assert.deepStrictEqual([second.agent, second.trail], ["b", ["a", "b"]])
      const { events, state: third } = yield* checked(
        Agent.continueConversation(a, throughText(second), "3", { control: "first" }),
        second
      )
      assert.deepStrictEqual([third.agent, third.trail], ["a", ["a", "b", "a"]])
      assert.notProperty(third, "handoff")
      assert.deepStrictEqual(events[0]?.path, ["a"])
      assert.deepStrictEqual((yield* requests).map(({ agent }) => agent), ["a", "b", "b", "a"])
    }).pipe(Effect.provide(models({ a: [handTo("b"), "3!"], b: ["1!", "2!"] }))))

  it.effect("stays in control over several turns, streamed ones too", () =>
    Effect.gen(function*() {
      const state = yield* Agent.runMultiTurn(a, ["1", "2", "3"])
      assert.deepStrictEqual([state.agent, AgentState.text(state), state.trail], ["b", "3!", ["a", "b"]])
      assert.deepStrictEqual(state.initialQuery, "1")
      const next = yield* Agent.settle(a, "4", { state })
      assert.strictEqual(AgentState.text(next), "4!")
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["1!", "2!", "3!", "4!"] }))))

  it.effect("may be run alone, with a state that it got by a handoff", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(a, "1")
      assert.strictEqual(AgentState.text(yield* Agent.continueConversation(b, state, "2")), "2!")
      const { reason } = yield* failing(Agent.resume(Agent.make("c"), state))
      assert.deepInclude(reason, { _tag: "AgentMismatch", missing: "agent", wanted: "b" })
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["1!", "2!"] }))))
})

describe("What belongs to each agent", () => {
  it.effect("is its limit: it counts from where the agent took over", () =>
    Effect.gen(function*() {
      const b = Agent.make("b", { stopWhen: StopWhen.any(StopWhen.maxSteps(1), StopWhen.tokens(11)) })
      const a = Agent.make("a", {
        stopWhen: StopWhen.any(StopWhen.maxSteps(2), StopWhen.tokens(30)),
        handoffs: [Handoff.to(b), Handoff.to("ghost")]
      })
      const tokens = { input: 10, output: 0 }
      const answers = { a: [withUsage(handTo("b", { reason: 1 }), tokens), withUsage(handTo("b"), tokens)] }
      const { state } = yield* checked(Agent.run(a, "Hi"), "a").pipe(
        Effect.provide(models({ ...answers, b: [withUsage("Done.", tokens)] }))
      )
      assert.deepStrictEqual([state.status._tag, state.run.steps, state.run.iteration], ["Complete", 3, 1])
      assert.deepInclude(state.run.before, { steps: 2, elapsed: 0 })
      assert.strictEqual(state.run.before?.usage.input.known, 20)
      assert.deepStrictEqual(state.run.sharing, [{ agent: "a" }])
      const { reason } = yield* failing(Agent.run(a, "Hi")).pipe(
        Effect.provide(models({ ...answers, b: [withUsage(handTo("nobody"), tokens)] }))
      )
      assert.deepInclude(reason, { _tag: "StepLimitReached", agent: "b", limit: 1, steps: 1 })
    }))

  it.effect("is its count of steps: one that may take none fails before its first", () =>
    Effect.gen(function*() {
      const b = Agent.make("b", { stopWhen: StopWhen.maxSteps(0) })
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] })
      const { state } = yield* checked(Agent.settle(a, "Hi"), "a")
      assert.deepInclude(state.status._tag === "Failed" && state.status.error, {
        tag: "StepLimitReached",
        agent: "b",
        step: 0
      })
      assert.strictEqual(state.steps, 2)
    }).pipe(Effect.provide(models({ a: [handTo("b", { reason: 1 }), handTo("b")] }))))

  it.effect("is its output schema", () =>
    Effect.gen(function*() {
      const b = Agent.make("b", { output: Schema.Struct({ n: Schema.Finite }) })
      const a = Agent.make("a", { output: Schema.Struct({ s: Schema.String }), handoffs: [Handoff.to(b)] })
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(a, state)), { n: 42 })
      assert.deepStrictEqual(state.conversation.turns.map(({ _tag }) => _tag), [
        "User",
        "Assistant",
        "Assistant",
        "Feedback",
        "Assistant"
      ])
      const own = yield* Agent.run(a, "Hi")
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(a, own)), { s: "own" })
      assert.deepStrictEqual((yield* requests).map(({ toolNames }) => toolNames), [
        ["final_answer", "handoff_to_b"],
        ["final_answer"],
        ["final_answer"],
        ["final_answer", "handoff_to_b"]
      ])
    }).pipe(Effect.provide(models({
      a: [handTo("b"), `{"s":"own"}`],
      b: ["I don't know.", `{"n":42}`]
    }))))
})
