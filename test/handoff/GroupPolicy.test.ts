import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Result, Schema } from "effect"
import {
  Agent,
  type AgentEvent,
  AgentState,
  AgentStatus,
  Conversation,
  Group,
  Handoff,
  HandoffPolicy,
  StopWhen
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "../agent/balanced.ts"
import { ofTag } from "../agent/watch.ts"
import {
  checked,
  failing,
  handlers,
  handoffEvents,
  handTo,
  Kit,
  models,
  outcomes,
  read,
  requests,
  throughText,
  work
} from "./scripted.ts"

const a = Agent.make("a", { instructions: "You are a." })
const b = Agent.make("b", { instructions: "You are b." })
const c = Agent.make("c", { instructions: "You are c." })
const members = { a, b, c }

const texts = ({ turns }: Conversation.Conversation): ReadonlyArray<string> =>
  turns.map((turn) => `${turn._tag}: ${Conversation.textOf(turn)}`)

const trailOf = Effect.map((state: AgentState.AgentState) => state.trail.join(""))

/** A model that answers with the name of its agent and how often it has been asked. */
const talkative = MockModel.layer(MockModel.make(({ agent, callCount }) => `${agent} ${callCount}`))

describe("A policy that decides", () => {
  it.effect("takes a sequence through to its end, in each conversation", () =>
    Effect.gen(function*() {
      const group = Group.make(members, { start: "a", policy: HandoffPolicy.sequential(["a", "b", "c"]) })
      const { events, state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual(state.trail, ["a", "b", "c"])
      assert.deepStrictEqual(ofTag(events, "HandoffRequested").map(({ request }) => request), [
        { target: "b", reason: "Step 1 of 3 is done" },
        { target: "c", reason: "Step 2 of 3 is done" }
      ])
      assert.deepStrictEqual(texts(state.conversation), [
        "User: Hi",
        "Assistant: a 1",
        "Feedback: Agent \"a\" handed this conversation over to you.\nReason: Step 1 of 3 is done",
        "Assistant: b 2",
        "Feedback: Agent \"b\" handed this conversation over to you.\nReason: Step 2 of 3 is done",
        "Assistant: c 3"
      ])
      assert.strictEqual(yield* trailOf(Agent.run(group, "Again")), "abc")
      const { state: more } = yield* checked(
        Agent.continueConversation(group, throughText(state), "More", { control: "first" }),
        state
      )
      assert.strictEqual(more.trail.join(""), "abcabc")
    }).pipe(Effect.provide(talkative)))

  it.effect("goes on from whoever begins, and after a condition that finished an agent's part", () =>
    Effect.gen(function*() {
      const worker = Agent.make("a", { toolkit: Kit, stopWhen: StopWhen.toolCalled("work") })
      const policy = HandoffPolicy.sequential(["a", "b", "c"])
      assert.strictEqual(yield* trailOf(Agent.run(Group.make(members, { start: "b", policy }), "Hi")), "bc")
      assert.strictEqual(yield* trailOf(Agent.run(Group.make(members, { start: "c", policy }), "Hi")), "c")
      const { state } = yield* checked(
        Agent.run(Group.make({ ...members, a: worker }, { start: "a", policy }), "Hi"),
        "a"
      )
      assert.strictEqual(state.trail.join(""), "abc")
      assert.deepStrictEqual(texts(state.conversation).slice(0, 3), ["User: Hi", "Assistant: ", "Assistant: b!"])
      assert.include((yield* read(4))[0], "Step 1 of 3 is done")
    }).pipe(Effect.provide([models({ a: [work("w")], b: ["b!", "b!"], c: ["c!", "c!", "c!"] }), handlers])))

  it.effect("decides by the state", () =>
    Effect.gen(function*() {
      const group = Group.make(members, {
        start: "a",
        policy: HandoffPolicy.when((state) => /escalate/.test(AgentState.text(state)), "c", { reason: "escalated" })
      })
      assert.strictEqual(yield* trailOf(Agent.run(group, "Hi")), "a")
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual([state.trail.join(""), state.handoff], ["ac", { from: "a", reason: "escalated" }])
    }).pipe(Effect.provide(models({ a: ["Done.", "I must escalate."], c: ["Let me see: escalate!"] }))))

  it.effect("gives control back to the lead, which answers last", () =>
    Effect.gen(function*() {
      const group = Group.make(members, { start: "a", policy: HandoffPolicy.manager("a", ["b", "c"]) })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual([state.trail.join(""), AgentState.text(state)], ["abaca", "All done."])
      assert.deepStrictEqual((yield* requests).map(({ agent, toolNames }) => [agent, ...toolNames]), [
        ["a", "handoff_to_b", "handoff_to_c"],
        ["b"],
        ["a", "handoff_to_b", "handoff_to_c"],
        ["c"],
        ["a", "handoff_to_b", "handoff_to_c"]
      ])
    }).pipe(Effect.provide(models({ a: [handTo("b"), handTo("c"), "All done."], b: ["b!"], c: ["c!"] }))))

  it.effect("delegates by a rule in place of the lead's model, and begins anew in the next run", () =>
    Effect.gen(function*() {
      const policy = HandoffPolicy.manager("a", ["b", "c"], { delegate: HandoffPolicy.inTurn })
      const group = Group.make(members, { start: "a", policy })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual([state.trail.join(""), AgentState.text(state)], ["abaca", "a 5"])
      assert.deepStrictEqual((yield* requests).flatMap(({ toolNames }) => toolNames), [])
      const next = yield* Agent.continueConversation(group, state, "Again")
      assert.strictEqual(next.trail.join(""), "abacabaca")
      const own = HandoffPolicy.manager("a", ["b", "c"], {
        delegate: ({ run }, team) => (run.handoffs ?? 0) < 3 ? team[1] : undefined
      })
      const { state: last } = yield* checked(Agent.run(Group.make(members, { start: "a", policy: own }), "Hi"), "a")
      assert.strictEqual(last.trail.join(""), "acaca")
      // A team of any size may be asked, however many handoffs that takes.
      const names = Array.from({ length: 7 }, (_, index) => `m${index}`)
      const team = Object.fromEntries(names.map((name) => [name, Agent.make(name)]))
      const large = Group.make({ a, ...team }, {
        start: "a",
        policy: HandoffPolicy.manager("a", names, { delegate: HandoffPolicy.inTurn }) as HandoffPolicy.HandoffPolicy<
          "a"
        >
      })
      assert.strictEqual((yield* Agent.run(large, "Hi")).run.handoffs, 14)
    }).pipe(Effect.provide(talkative)))

  it.effect("hands over to whom a function names, with what it says, and is put together with others", () =>
    Effect.gen(function*() {
      const context = { why: ["rain"] }
      const policy = HandoffPolicy.compose(
        HandoffPolicy.make({
          names: ["b", "c"],
          decide: (state) =>
            state.agent === "a"
              ? { target: AgentState.text(state) === "a 1" ? "c" : "b", reason: "so", context }
              : undefined
        }),
        HandoffPolicy.explicit("b", { from: ["c"] }),
        HandoffPolicy.mapConversation(({ turns }) => ({ turns: turns.slice(0, 1) }))
      )
      const group = Group.make(members, { start: "a", policy })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual([state.trail.join(""), state.handoff], ["ac", { from: "a", reason: "so", context }])
      assert.deepStrictEqual((yield* requests).map(({ toolNames }) => toolNames.join()), ["", "handoff_to_b"])
      assert.deepStrictEqual(texts(state.conversation), ["User: Hi", "Assistant: c 2"])
      // @ts-expect-error a target that isn't among the names
      HandoffPolicy.make({ names: ["b"], decide: () => ({ target: "d" }) })
    }).pipe(Effect.provide(talkative)))

  it.effect("offers a chain its next one, until it is long enough", () =>
    Effect.gen(function*() {
      const group = Group.make(members, { start: "a", policy: HandoffPolicy.chain(["a", "b", "c"], { maxLength: 4 }) })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.strictEqual(state.trail.join(""), "abcab")
      assert.deepStrictEqual((yield* requests).map(({ toolNames }) => toolNames.join()), [
        "handoff_to_b",
        "handoff_to_c",
        "handoff_to_a",
        "handoff_to_b",
        ""
      ])
    }).pipe(Effect.provide(models({ a: [handTo("b"), handTo("b")], b: [handTo("c"), "Done."], c: [handTo("a")] }))))

  it.effect("takes a sequence of any length to its end, unless a limit is given", () =>
    Effect.gen(function*() {
      const names = Array.from({ length: 14 }, (_, index) => `agent ${index}`)
      const agents = Object.fromEntries(names.map((name) => [name, Agent.make(name)]))
      const policy = HandoffPolicy.compose(HandoffPolicy.explicit("agent 0"), HandoffPolicy.sequential(names)).pipe(
        HandoffPolicy.compacting({ over: { turns: 100 }, keep: 1, summarize: () => Effect.succeed("") })
      )
      const state = yield* Agent.run(Group.make(agents, { start: "agent 0", policy }), "Hi")
      assert.deepStrictEqual(state.trail, names)
      const limited = Group.make(agents, { start: "agent 0", policy, maxHandoffs: 3 })
      const { status, trail } = yield* Agent.settle(limited, "Hi")
      assert.strictEqual(status._tag === "Failed" && status.error.tag, "HandoffLimitReached")
      assert.lengthOf(trail, 4)
      const none = Group.make(agents, { start: "agent 0", policy, maxHandoffs: 0 })
      assert.deepStrictEqual((yield* Agent.settle(none, "Hi")).trail, ["agent 0"])
    }).pipe(Effect.provide(talkative)))

  it.effect("hands over between agents whose names have no letter that providers take", () =>
    Effect.gen(function*() {
      const agents = { 店長: Agent.make("店長"), 退款: Agent.make("退款"), 仕入: Agent.make("仕入") }
      const policy = HandoffPolicy.manager("店長", ["退款", "仕入"])
      const tools = HandoffPolicy.offeredTo(policy, "店長").map(({ toolName }) => toolName)
      assert.strictEqual(new Set(tools).size, 2)
      const state = yield* Agent.run(Group.make(agents, { start: "店長", policy }), "返金").pipe(
        Effect.provide(MockModel.layer(MockModel.byAgent({
          店長: MockModel.queue(MockResponse.toolCall(Handoff.toolNameOf("仕入"), {}), "済み"),
          退款: MockModel.queue(),
          仕入: MockModel.queue("はい")
        })))
      )
      assert.deepStrictEqual(state.trail, ["店長", "仕入", "店長"])
    }))

  it.effect("is stopped by the limit, with all that was said", () =>
    Effect.gen(function*() {
      const policy = HandoffPolicy.compose(
        HandoffPolicy.when(({ agent }) => agent === "a", "b"),
        HandoffPolicy.when(() => true, "a")
      )
      const { events, state } = yield* checked(Agent.settle(Group.make(members, { start: "a", policy }), "Hi"), "a")
      assert.strictEqual(state.status._tag === "Failed" && state.status.error.tag, "HandoffLimitReached")
      assert.deepStrictEqual([state.trail.length, state.steps, AgentState.text(state)], [11, 11, "a 11"])
      assert.strictEqual(ofTag(events, "HandoffCompleted").length, 10)
      const reopened = AgentState.reopen(state)
      assert.strictEqual(reopened.status._tag, "Complete")
      const larger = Group.make(members, { start: "a", policy, maxHandoffs: 12 })
      const { state: more } = yield* checked(Agent.settle(larger, throughText(reopened)), reopened)
      assert.strictEqual(more.trail.length, 13)
    }).pipe(Effect.provide(talkative)))

  it.effect("waits for the own handoffs of an agent, and isn't asked while one fails", () =>
    Effect.gen(function*() {
      const own = Agent.make("a", { handoffs: [Handoff.to(c)] })
      const group = Group.make({ ...members, a: own }, { start: "a", policy: HandoffPolicy.sequential(["a", "b"]) })
      assert.strictEqual(yield* trailOf(Agent.run(group, "Hi")), "ac")
      const mute = Group.make({ ...members, a: Agent.make("a", { stopWhen: StopWhen.maxSteps(0) }) }, {
        start: "a",
        policy: HandoffPolicy.sequential(["a", "b"])
      })
      const { reason, state } = yield* failing(Agent.run(mute, "Hi"))
      assert.deepStrictEqual([reason._tag, state.trail], ["StepLimitReached", ["a"]])
      const { state: ended } = yield* checked(Agent.resume(mute, throughText(state)), state)
      assert.deepStrictEqual(ended.trail, ["a"])
    }).pipe(Effect.provide(models({ a: [handTo("c")], c: ["Done."] }))))

  it.effect("isn't asked before an answer fits the agent's output", () =>
    Effect.gen(function*() {
      const typed = Agent.make("a", { output: Schema.Struct({ n: Schema.Finite }) })
      const last = Agent.make("c", { output: Schema.Struct({ s: Schema.String }) })
      const group = Group.make({ a: typed, c: last }, { start: "a", policy: HandoffPolicy.sequential(["a", "c"]) })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(group, state)), { s: "two" })
      assert.deepStrictEqual((yield* requests).map(({ agent }) => agent), ["a", "a", "c", "c"])
    }).pipe(Effect.provide(models({
      a: ["one", MockResponse.toolCall("final_answer", { n: 1 })],
      c: ["two", MockResponse.toolCall("final_answer", { s: "two" })]
    }))))
})

describe("A policy that changes what crosses", () => {
  class Lost extends Schema.TaggedError<Lost>("test/Lost")("Lost", { why: Schema.String }) {
    override get message() {
      return `lost ${this.why}`
    }
  }
  const note = (text: string) =>
    HandoffPolicy.mapConversation((conversation, { from, to }) =>
      Conversation.appendUser(conversation, `${text} ${from}→${to}`)
    )
  const passing = HandoffPolicy.explicit("b")

  it.effect("does so on each handoff, by the policy or an agent's own, one member after the other", () =>
    Effect.gen(function*() {
      const own = Agent.make("b", { handoffs: [Handoff.to(c, { history: Handoff.lastUser })] })
      const group = Group.make({ a, b: own, c }, {
        start: "a",
        policy: HandoffPolicy.compose(note("first"), passing, note("second"))
      })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual(
        yield* read(1),
        [
          "system: ",
          "user: Hi",
          "assistant: tool-call",
          "tool: tool-result",
          "user: first a→b",
          "user: second a→b"
        ].slice(1)
      )
      assert.deepStrictEqual(texts(state.conversation), [
        "User: second a→b",
        "User: first b→c",
        "User: second b→c",
        "Assistant: Done."
      ])
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: [handTo("c")], c: ["Done."] }))))

  it.effect("compacts over a threshold, and keeps the end", () =>
    Effect.gen(function*() {
      const group = Group.make(members, {
        start: "a",
        policy: passing.pipe(
          HandoffPolicy.compacting({
            over: { turns: 4 },
            keep: 2,
            summarize: ({ turns }) => Effect.succeed(`${turns.length} turns`)
          })
        )
      })
      const before = yield* Agent.runMultiTurn(group, ["1?", "2?"])
      const { state } = yield* checked(Agent.continueConversation(group, before, "3?"), before)
      assert.deepStrictEqual(texts(state.conversation), [
        "Summary: 4 turns",
        "User: 3?",
        "Assistant: ",
        "Assistant: Done."
      ])
      assert.deepStrictEqual(outcomes(state.conversation), [["handoff_to_b", "HandedOff"]])
      const { state: short } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.strictEqual(Conversation.count(short.conversation), 3)
    }).pipe(Effect.provide(models({ a: ["1.", "2.", handTo("b"), handTo("b")], b: ["Done.", "Done."] }))))

  it.effect("is told where it fails, and what crosses is as it was", () =>
    Effect.gen(function*() {
      const group = Group.make(members, {
        start: "a",
        policy: HandoffPolicy.compose(
          passing,
          note("before"),
          HandoffPolicy.mapConversation(() => Effect.fail(new Lost({ why: "it" }))),
          note("after")
        )
      })
      const { events, state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual(
        ofTag(events, "TransformFailed").map(({ message, request, tag }) => [tag, message, request]),
        [
          ["Lost", "lost it", { target: "b", callId: "h", tool: "handoff_to_b" }]
        ]
      )
      assert.deepStrictEqual(handoffEvents(events), [
        "RunStarted a",
        "HandoffRequested a",
        "HandoffCompleted a",
        "RunCompleted b"
      ])
      assert.deepStrictEqual(texts(state.conversation).slice(2, 4), ["User: before a→b", "User: after a→b"])
    }).pipe(Effect.provide(models({ a: [handTo("b", {}, "h")], b: ["Done."] }))))

  it.effect("ends the run where it is to, with its own error and a state that goes on", () =>
    Effect.gen(function*() {
      const group = (isLost: boolean) =>
        Group.make(members, {
          start: "a",
          policy: HandoffPolicy.compose(
            passing,
            HandoffPolicy.mapConversation(
              (conversation) => isLost ? Effect.fail(new Lost({ why: "it" })) : Effect.succeed(conversation),
              { onFailure: "fail" }
            )
          )
        })
      const { events, exit, state } = yield* checked(Agent.run(group(true), "Hi"), "a")
      assert.strictEqual(Exit.isFailure(exit) && Result.getOrThrow(Exit.findError(exit))._tag, "Lost")
      assert.deepStrictEqual(handoffEvents(events).slice(-2), ["HandoffSuspended a", "RunFailed a"])
      assert.deepStrictEqual(state.trail, ["a"])
      const last = yield* Agent.resume(group(false), throughText(AgentState.reopen(state)))
      assert.deepStrictEqual(last.trail, ["a", "b"])
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["Done."] }))))

  it.effect("can be interrupted: what the policy wants is in the state, and is resumed", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const group = (change: Effect.Effect<void>) =>
        Group.make(members, {
          start: "a",
          policy: HandoffPolicy.compose(
            HandoffPolicy.sequential(["a", "b"]),
            HandoffPolicy.mapConversation((conversation) => Effect.as(change, conversation))
          )
        })
      const stuck = group(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const events: Array<AgentEvent.AgentEvent> = []
      const fiber = yield* Effect.forkChild(
        Agent.observe(Agent.run(stuck, "Hi"), (event) => Effect.sync(() => void events.push(event)))
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(imbalances(events), [])
      assert.deepStrictEqual(handoffEvents(events).slice(-2), ["HandoffSuspended a", "RunInterrupted a"])
      const state = throughText(events.reduce(AgentState.reduce, AgentState.make("a")))
      assert.deepStrictEqual(
        state.status,
        AgentStatus.handoffRequested({ target: "b", reason: "Step 1 of 2 is done" })
      )
      const { state: last } = yield* checked(Agent.resume(group(Effect.void), state), state)
      assert.deepStrictEqual([last.trail, last.run.handoffs], [["a", "b"], 1])
      const { state: words } = yield* checked(
        Agent.continueConversation(group(Effect.void), state, "Go on!", { control: "first" }),
        state
      )
      assert.deepStrictEqual(texts(words.conversation), [
        "User: Hi",
        "Assistant: a 1",
        "User: Go on!",
        "Assistant: b 3"
      ])
      const foreign = { path: ["c"] as const, calls: [], run: "", step: 0, sequence: 0, at: 0 }
      assert.strictEqual(AgentState.reduce(state, { _tag: "RunStarted", ...foreign, input: [] }).agent, "a")
      const { reason } = yield* failing(Agent.resume(a, state))
      assert.deepInclude(reason, { _tag: "HandoffTargetNotFound", target: "b", available: [] })
    }).pipe(Effect.provide(talkative)))
})
