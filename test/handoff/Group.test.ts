import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Result, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Agent, AgentPicker, AgentState, AgentStatus, Conversation, Group, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import {
  checked,
  failing,
  handlers,
  handoffEvents,
  handTo,
  Kit,
  models,
  replayable,
  requests,
  sign,
  throughText,
  work
} from "./scripted.ts"

const a = Agent.make("a", { description: "Begins", instructions: "You are a." })
const b = Agent.make("b", { instructions: "You are b." })
const c = Agent.make("c", { instructions: "You are c." })
const members = { a, b, c }

describe("Group", () => {
  it("is known, and shown by its name and its members", () => {
    const group = Group.make(members, { start: "a", name: "desk", description: "Helps" })
    assert.isTrue(Group.isGroup(group))
    assert.isFalse(Group.isGroup(a))
    assert.isFalse(Agent.isAgent(group))
    assert.strictEqual(JSON.stringify(group), `{"_id":"Group","name":"desk","agents":["a","b","c"]}`)
    assert.deepStrictEqual([group.name, group.description, group.agents], ["desk", "Helps", members])
    assert.strictEqual(Group.make(members, { start: "a" }).name, "group")
  })

  it("refuses names that it doesn't have, when it is made, and says those that it has", () => {
    const ghost = "ghost" as "a"
    const make = (options: Parameters<typeof Group.make<typeof members>>[1]) => () => Group.make(members, options)
    assert.throws(
      make({ start: ghost }),
      Group.UnknownMember,
      "Group \"group\" has no agent \"ghost\"; it has: \"a\", \"b\", \"c\""
    )
    assert.throws(make({ start: AgentPicker.match([[/x/, ghost]], "a") }), Group.UnknownMember)
    assert.throws(make({ start: AgentPicker.match([], ghost) }), Group.UnknownMember)
    for (
      const policy of [
        HandoffPolicy.explicit(ghost),
        HandoffPolicy.explicit("a", { from: [ghost] }),
        HandoffPolicy.sequential(["a", ghost]),
        HandoffPolicy.manager("a", [ghost]),
        HandoffPolicy.compose(HandoffPolicy.chain(["a", "b"]), HandoffPolicy.when(() => true, ghost))
      ]
    ) assert.throws(make({ start: "a", policy }), Group.UnknownMember, "has no agent \"ghost\"")
    assert.throws(
      () => Group.make({ desk: a } as never, { start: "desk" as never }),
      Group.MisnamedMember,
      "Group \"group\" has the agent \"a\" under the key \"desk\"; the key must be its name"
    )
    assert.throws(
      () => Group.make({}, { start: AgentPicker.make(() => "a" as never) }),
      Group.UnknownMember,
      "it has: none"
    )
  })

  it("refuses a number of handoffs that can't be counted to", () => {
    for (const maxHandoffs of [-1, 1.5, Number.NaN, -Infinity]) {
      const message = `"maxHandoffs" is ${maxHandoffs}, not a whole number from 0 on or Infinity`
      assert.throws(() => Group.make(members, { start: "a", maxHandoffs }), Group.InvalidLimit, message)
      assert.throws(() => Agent.make("a", { maxHandoffs }), Agent.InvalidLimit, message)
      assert.throws(() => HandoffPolicy.chain(["a"], { maxLength: maxHandoffs }), HandoffPolicy.InvalidLimit)
    }
    assert.isTrue(Group.isGroup(Group.make(members, { start: "a", maxHandoffs: 0 })))
    assert.isTrue(Group.isGroup(Group.make(members, { start: "a", maxHandoffs: Infinity })))
  })

  it("refuses a policy whose tool an agent has for something else, and takes one that it has for the same", () => {
    const make = (member: typeof a, policy: HandoffPolicy.HandoffPolicy<"a" | "b">) => () =>
      Group.make({ a: member, b, c }, { start: "a", policy })
    const own = Agent.make("a", { handoffs: [Handoff.to(b, { toolName: "go" })] })
    const worker = Agent.make("a", { toolkit: Kit }) as typeof a
    assert.throws(make(worker, HandoffPolicy.explicit("b", { toolName: "work" })), Agent.DuplicateTool)
    assert.throws(
      () => Group.make({ a: own, b, c }, { start: "a", policy: HandoffPolicy.explicit("c", { toolName: "go" }) }),
      Agent.DuplicateHandoff,
      "to \"b\" and to \"c\""
    )
    assert.doesNotThrow(make(own, HandoffPolicy.explicit("b", { toolName: "go" })))
  })

  const script = { a: [handTo("b", { reason: "sums" }, "h")], b: ["From b."], c: ["From c."] }
  const desk = Group.make(members, {
    start: "a",
    policy: HandoffPolicy.compose(HandoffPolicy.explicit("b"), HandoffPolicy.sequential(["b", "c"]))
  })

  it.effect("is run, streamed, resumed and stepped like an agent, with the same end", () =>
    Effect.gen(function*() {
      const { state } = yield* checked(Agent.run(desk, "Hi"), "a").pipe(Effect.provide(replayable(script)))
      assert.deepStrictEqual([state.trail, AgentState.text(state)], [["a", "b", "c"], "From c."])
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(yield* Agent.settle(desk, "Hi"), state)
        const states = yield* Stream.runCollect(Agent.states(desk, "Hi"))
        for (const each of states) {
          const resumed = throughText(each)
          assert.deepStrictEqual((yield* checked(Agent.resume(desk, resumed), resumed)).state, state)
        }
        const events = yield* Stream.runCollect(Agent.stream(desk, "Hi"))
        assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make("a")), state)
        let stepped = AgentState.ask(AgentState.make("a"), "Hi", 0)
        const seen: Array<string> = []
        for (let step = 0; step < 6; step++) {
          stepped = yield* Agent.step(desk, throughText(stepped))
          seen.push(`${stepped.agent} ${stepped.status._tag}`)
        }
        assert.deepStrictEqual(stepped, state)
        assert.deepStrictEqual(seen, [
          "a HandoffRequested",
          "b InProgress",
          "b HandoffRequested",
          "c InProgress",
          "c Complete",
          "c Complete"
        ])
      }).pipe(Effect.provide(replayable(script)))
    }))

  it.effect("goes on with the one in control, over several turns, or begins again", () =>
    Effect.gen(function*() {
      const group = Group.make(members, { start: "a", policy: HandoffPolicy.explicit("b") })
      const first = yield* Agent.runMultiTurn(group, ["1", "2"])
      assert.deepStrictEqual([first.agent, first.trail], ["b", ["a", "b"]])
      const { state } = yield* checked(
        Agent.continueConversation(group, throughText(first), "3", { control: "first" }),
        first
      )
      assert.deepStrictEqual([state.agent, state.trail], ["a", ["a", "b", "a"]])
    }).pipe(Effect.provide(models({ a: [handTo("b"), "3!"], b: ["1!", "2!"] }))))

  it.effect("serves conversations at once, none of which sees another", () =>
    Effect.gen(function*() {
      const pipeline = Group.make(members, {
        start: AgentPicker.match([[/late/, "b"]], "a"),
        policy: HandoffPolicy.sequential(["a", "b", "c"])
      })
      const inputs = ["one", "late two", "three", "late four"]
      const run = (input: string) => Agent.run(pipeline, input)
      const together = yield* Effect.forkChild(Effect.forEach(inputs, run, { concurrency: "unbounded" }))
      yield* TestClock.adjust("1 minute")
      const states = yield* Fiber.join(together)
      const longest = 10 + 10 // the two agents of "late four", one after the other
      for (const [index, state] of states.entries()) {
        const names = inputs[index]!.startsWith("late") ? ["b", "c"] : ["a", "b", "c"]
        assert.deepStrictEqual(state.trail, names)
        assert.deepStrictEqual(
          state.conversation.turns.filter(({ _tag }) => _tag === "Assistant").map(Conversation.textOf),
          names.map((name) => `${name} of ${inputs[index]}`)
        )
        assert.isAtMost(state.run.elapsed, longest * 1000)
      }
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(({ agent, state }) =>
      MockResponse.delay(`${agent} of ${state?.initialQuery}`, `${1 + (state?.initialQuery?.length ?? 0)} seconds`)
    )))))
})

describe("Who begins in a group", () => {
  class Undecided extends Schema.TaggedError<Undecided>("test/Undecided")("Undecided", {}) {}

  it.effect("is picked once for a conversation, by the words of the user and who is there", () =>
    Effect.gen(function*() {
      const seen: Array<AgentPicker.PickRequest> = []
      const group = Group.make(members, {
        start: AgentPicker.make((request) => {
          seen.push(request)
          return request.text.includes("b") ? "b" as const : "c" as const
        })
      })
      const first = yield* Agent.run(group, "to b")
      assert.deepStrictEqual([first.agent, first.trail], ["b", ["b"]])
      const agents = [
        { name: "a", description: "Begins" },
        { name: "b", description: undefined },
        { name: "c", description: undefined }
      ]
      assert.deepStrictEqual(seen, [{
        conversation: Conversation.make([Conversation.user("to b")]),
        text: "to b",
        lastStatus: undefined,
        lastAgent: undefined,
        agents
      }])
      const second = yield* Agent.continueConversation(group, first, "elsewhere")
      assert.deepStrictEqual([second.agent, seen.length], ["b", 1])
      const { events, state: third } = yield* checked(
        Agent.continueConversation(group, throughText(second), "elsewhere", { control: "first" }),
        second
      )
      assert.deepStrictEqual([third.agent, third.trail, seen.length], ["c", ["b", "c"], 2])
      assert.deepInclude(seen[1], { text: "elsewhere", lastStatus: AgentStatus.complete, lastAgent: "b", agents })
      assert.strictEqual(Conversation.count(seen[1]!.conversation), 5)
      assert.deepStrictEqual(handoffEvents(events), ["RunStarted c", "RunCompleted c"])
    }).pipe(Effect.provide(models({ b: ["1", "2"], c: ["3"] }))))

  it.effect("isn't picked while calls are open or a handoff is asked for", () =>
    Effect.gen(function*() {
      let picked = 0
      const a = Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to("b")] })
      const group = Group.make({ a, b }, {
        start: AgentPicker.make(() => ++picked === 1 ? "a" as const : "b" as const)
      })
      const open = yield* Agent.run(group, "Hi")
      assert.strictEqual(open.status._tag, "WaitingForTools")
      const { state } = yield* checked(Agent.continueConversation(group, open, "Well?", { control: "first" }), open)
      assert.deepStrictEqual([state.agent, picked], ["a", 1])
    }).pipe(Effect.provide([models({ a: [sign] }), handlers])))

  it.effect("is told as the run's own failure where it can't be picked, and nobody has begun", () =>
    Effect.gen(function*() {
      const group = Group.make(members, { start: AgentPicker.make(() => Effect.fail(new Undecided())) })
      const { events, exit, state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.strictEqual(Exit.isFailure(exit) && Result.getOrThrow(Exit.findError(exit))._tag, "Undecided")
      assert.deepStrictEqual(handoffEvents(events), ["RunStarted a", "RunFailed a"])
      assert.deepStrictEqual(state.conversation.turns, [Conversation.user("Hi")])
      assert.deepStrictEqual(yield* requests, [])
    }).pipe(Effect.provide(models({}))))

  it.effect("must be there", () =>
    Effect.gen(function*() {
      const group = Group.make(members, { start: AgentPicker.make(() => "ghost" as "a") })
      const { reason } = yield* failing(Agent.run(group, "Hi"))
      assert.deepInclude(reason, { _tag: "HandoffTargetNotFound", target: "ghost" })
      assert.strictEqual(
        reason.message,
        "The picker of group \"group\" chose \"ghost\", which isn't there; available: \"a\", \"b\", \"c\""
      )
    }).pipe(Effect.provide(models({}))))
})

describe("Tools of a group's agents", () => {
  it.effect("are their own, their own handoffs, and those of the policy, each once", () =>
    Effect.gen(function*() {
      const b = Agent.make("b", { toolkit: Kit, handoffs: [Handoff.to(c, { reason: "Own" })] })
      const a = Agent.make("a", { toolkit: Kit })
      const group = Group.make({ a, b, c }, {
        start: "a",
        policy: HandoffPolicy.compose(
          HandoffPolicy.explicit("c", { reason: "Policy" }),
          HandoffPolicy.explicitAll({ back: "a", on: "b" })
        )
      })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual(state.trail, ["a", "b", "a", "c"])
      const offered = (yield* requests).map(({ agent, toolNames }) => [agent, ...toolNames.toSorted()])
      assert.deepStrictEqual(offered, [
        ["a", "handoff_to_c", "on", "sign", "work"],
        ["a", "handoff_to_c", "on", "sign", "work"],
        ["b", "back", "handoff_to_c", "sign", "work"],
        ["a", "handoff_to_c", "on", "sign", "work"],
        ["c", "back", "on"]
      ])
      const described = (yield* requests)[2]!.tools.find(({ name }) => name === "handoff_to_c")?.description
      assert.strictEqual(described, "Hands the conversation over to agent \"c\". Own.")
    }).pipe(Effect.provide([
      models({
        a: [work("w"), MockResponse.toolCall("on", {}), handTo("c")],
        b: [MockResponse.toolCall("back", {})],
        c: ["Done."]
      }),
      handlers
    ])))

  it.effect("don't reach those that only an own handoff leads to", () =>
    Effect.gen(function*() {
      const outside = Agent.make("outside", { handoffs: [Handoff.to("b")] })
      const a = Agent.make("a", { handoffs: [Handoff.to(outside)] })
      const group = Group.make({ a, b }, { start: "a", policy: HandoffPolicy.explicit("a") })
      const { state } = yield* checked(Agent.run(group, "Hi"), "a")
      assert.deepStrictEqual(state.trail, ["a", "outside", "b"])
      assert.deepStrictEqual((yield* requests).map(({ toolNames }) => toolNames), [
        ["handoff_to_outside"],
        ["handoff_to_b"],
        ["handoff_to_a"]
      ])
    }).pipe(Effect.provide(models({ a: [handTo("outside")], outside: [handTo("b")], b: ["Done."] }))))
})
