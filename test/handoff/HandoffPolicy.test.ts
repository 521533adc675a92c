import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Data, Effect, Logger, Option, Result, Schema } from "effect"
import { AgentState, Conversation, Handoff, HandoffPolicy } from "troupe"
import { below, conversation, oneOf, state } from "../domain/arbitraries.ts"
import { problems } from "../domain/legal.ts"
import { answered, follow } from "./states.ts"

class Lost extends Data.TaggedError("Lost")<{ readonly what: string }> {}

const agents = ["a", "b", "c", "d"] as const

const agent: Arbitrary.Arbitrary<typeof agents[number]> = Arbitrary.map(below(agents.length), (index) => agents[index]!)
const list = (maxLength: number) => Arbitrary.array(agent, { maxLength })

/** A policy that adds a turn to what crosses, so that the order of transforms can be read. */
const stamp = (text: string) => HandoffPolicy.mapConversation(Conversation.appendUser(text))

const policy: Arbitrary.Arbitrary<HandoffPolicy.HandoffPolicy<string>> = oneOf<HandoffPolicy.HandoffPolicy<string>>(
  Arbitrary.map(agent, (target) => HandoffPolicy.explicit(target)),
  Arbitrary.map(
    Arbitrary.all([agent, list(3)]),
    ([target, from]) => HandoffPolicy.explicit(target, { from, when: (state) => state.steps % 2 === 0 })
  ),
  Arbitrary.map(
    Arbitrary.all([agent, list(2)]),
    ([target, from]) => HandoffPolicy.explicitAll({ [target]: target }, { from })
  ),
  Arbitrary.map(list(5), HandoffPolicy.sequential),
  Arbitrary.map(list(4), (names) => HandoffPolicy.chain(names, { maxLength: 2 })),
  Arbitrary.map(Arbitrary.all([agent, list(3)]), ([lead, team]) => HandoffPolicy.manager(lead, team)),
  Arbitrary.map(agent, (target) => HandoffPolicy.when((state) => state.steps % 3 === 0, target)),
  Arbitrary.map(agent, stamp)
)

/** A state in which one of the policies' agents is in control. */
const controlled: Arbitrary.Arbitrary<AgentState.AgentState> = Arbitrary.map(
  Arbitrary.all({
    conversation,
    run: Arbitrary.array(agent, { minLength: 1, maxLength: 4 }),
    earlier: list(3),
    steps: below(6)
  }),
  ({ conversation, earlier, run, steps }) => ({
    ...answered(run as [string, ...Array<string>], earlier),
    conversation,
    steps
  })
)

const toolsFor = (self: HandoffPolicy.Any, agent: string | AgentState.AgentState) =>
  HandoffPolicy.offeredTo(self, agent).map(({ target, toolName }) => [toolName, target])

const crossing = { from: "a", to: "b", request: { target: "b" } }

const arrives = <E, R>(self: HandoffPolicy.HandoffPolicy<string, E, R>, conversation: Conversation.Conversation) =>
  Effect.map(HandoffPolicy.transform(self, conversation, crossing), ({ turns }) => turns.map(Conversation.textOf))

/** Everything that can be observed of a policy, in a state. */
const observed = Effect.fnUntraced(function*(self: HandoffPolicy.HandoffPolicy<string>, state: AgentState.AgentState) {
  return {
    offers: agents.map((agent) => toolsFor(self, agent)),
    now: agents.map((agent) => toolsFor(self, { ...state, agent })),
    decision: HandoffPolicy.decide(self, state),
    crossed: yield* arrives(self, state.conversation)
  }
})

const namesOf = (self: HandoffPolicy.Any) => HandoffPolicy.internalsOf(self).names

describe("HandoffPolicy", () => {
  it.prop("never hands an agent to itself, nor offers it to", { policy, state: controlled }, ({ policy, state }) => {
    const decision = HandoffPolicy.internalsOf(policy).decide(state)
    assert.notStrictEqual(decision?.target, state.agent)
    for (const name of agents) {
      assert.notInclude(HandoffPolicy.offeredTo(policy, name).map(({ target }) => target), name)
    }
  })

  it.prop("decides the same of the same state, whatever it decided between", {
    policy,
    states: Arbitrary.array(controlled, { minLength: 1, maxLength: 4 })
  }, ({ policy, states }) => {
    const { decide } = HandoffPolicy.internalsOf(policy)
    assert.deepStrictEqual([...states, ...states].map(decide), [...states.map(decide), ...states.map(decide)])
  })

  it.prop("decides in any state whatever, and names whom it decides for", { policy, state }, ({ policy, state }) => {
    const { decide, names } = HandoffPolicy.internalsOf(policy)
    const target = decide(state)?.target
    assert.isTrue(target === undefined || names.includes(target))
  })

  it("is recognized, and shown without its functions", () => {
    const policy = HandoffPolicy.explicit("billing", { from: ["triage"] })
    assert.isTrue(HandoffPolicy.isHandoffPolicy(policy))
    assert.isFalse(HandoffPolicy.isHandoffPolicy(Handoff.to("billing")))
    assert.strictEqual(
      JSON.stringify(policy),
      `{"_id":"HandoffPolicy","names":["billing","triage"],"tools":["handoff_to_billing"]}`
    )
  })

  describe("explicit", () => {
    it("offers a handoff to all agents but the target", () => {
      const policy = HandoffPolicy.explicit("billing")
      assert.deepStrictEqual(toolsFor(policy, "triage"), [["handoff_to_billing", "billing"]])
      assert.deepStrictEqual(toolsFor(policy, "billing"), [])
    })

    it("offers it to the agents it is given alone, the target left out", () => {
      const policy = HandoffPolicy.explicit("billing", { from: ["triage", "billing"] })
      assert.deepStrictEqual(["triage", "tech", "billing"].map((name) => toolsFor(policy, name).length), [1, 0, 0])
      assert.deepStrictEqual(namesOf(policy), ["billing", "triage"])
    })

    it("takes the options of a handoff", () => {
      const policy = HandoffPolicy.explicit("billing", {
        toolName: "escalate",
        preserveContext: false,
        reason: "Money",
        when: (state) => state.steps === 0
      })
      const [handoff] = HandoffPolicy.offeredTo(policy, "triage")
      assert.strictEqual(handoff?.toolName, "escalate")
      assert.isFalse(handoff?.preserveContext)
      assert.include(Handoff.internalsOf(handoff!).tool.description, "Money.")
      assert.lengthOf(HandoffPolicy.offeredTo(policy, AgentState.make("triage")), 1)
      assert.lengthOf(HandoffPolicy.offeredTo(policy, { ...AgentState.make("triage"), steps: 1 }), 0)
    })

    it("never decides by itself", () => {
      assert.isUndefined(HandoffPolicy.internalsOf(HandoffPolicy.explicit("billing")).decide(answered(["triage"])))
    })
  })

  describe("requestOf", () => {
    const policy = HandoffPolicy.explicit("billing", { from: ["triage"] })
    const call = (name: string, params: Schema.Json) => ({ id: "call-1", name, params })

    it("makes a request of a call of its own", () => {
      const params = { reason: "an invoice", context: { number: 7 } }
      assert.deepStrictEqual(
        HandoffPolicy.requestOf(policy, "triage", call("handoff_to_billing", params)),
        Option.some(Result.succeed({ target: "billing", callId: "call-1", tool: "handoff_to_billing", ...params }))
      )
    })

    it("leaves other calls, and calls of agents that aren't offered it, to others", () => {
      assert.isTrue(Option.isNone(HandoffPolicy.requestOf(policy, "triage", call("search", {}))))
      assert.isTrue(Option.isNone(HandoffPolicy.requestOf(policy, "tech", call("handoff_to_billing", {}))))
    })

    it("says what is wrong with parameters", () => {
      const request = HandoffPolicy.requestOf(policy, "triage", call("handoff_to_billing", { context: "none" }))
      assert.isTrue(Option.isSome(request) && Result.isFailure(request.value))
    })
  })

  describe("explicitAll", () => {
    it("offers a tool for each key, in the record's order", () => {
      const policy = HandoffPolicy.explicitAll({ to_tech: "tech", ask_billing: "billing", also_tech: "tech" })
      assert.deepStrictEqual(toolsFor(policy, "triage"), [
        ["to_tech", "tech"],
        ["ask_billing", "billing"],
        ["also_tech", "tech"]
      ])
      assert.deepStrictEqual(toolsFor(policy, "tech"), [["ask_billing", "billing"]])
      assert.deepStrictEqual(namesOf(policy), ["tech", "billing"])
    })

    it("offers them to the agents it is given alone", () => {
      const policy = HandoffPolicy.explicitAll({ to_tech: "tech" }, { from: ["triage"] })
      assert.lengthOf(toolsFor(policy, "triage"), 1)
      assert.lengthOf(toolsFor(policy, "billing"), 0)
    })
  })

  describe("sequential", () => {
    it("needs a handoff fewer than it has different steps, and none without any", () => {
      const counts = [[], ["a"], ["a", "a"], ["a", "b", "b", "a"]].map((names) =>
        HandoffPolicy.internalsOf(HandoffPolicy.sequential(names)).handoffs
      )
      assert.deepStrictEqual(counts, [0, 0, 0, 2])
    })

    const names = Arbitrary.map(Arbitrary.array(Arbitrary.schema(Schema.NonEmptyString), { maxLength: 6 }), (names) => [
      ...new Set(["first", ...names])
    ])

    it.prop("goes on from where a run begins to the end of the list", {
      names,
      start: below(6),
      earlier: Arbitrary.array(oneOf(agent, Arbitrary.schema(Schema.NonEmptyString)), { maxLength: 5 })
    }, ({ earlier, names, start }) => {
      const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.sequential(names))
      const at = start % names.length
      assert.deepStrictEqual(follow(decide, names[at]!, earlier), names.slice(at))
    })

    it.prop("begins anew in each conversation and in each run of one", [names], ([names]) => {
      const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.sequential(names))
      assert.deepStrictEqual(follow(decide, names[0]!), names)
      assert.deepStrictEqual(follow(decide, names[0]!), names)
      assert.deepStrictEqual(follow(decide, names[0]!, names), names)
    })

    it.prop(
      "follows names that stand in the list more than once",
      { names: list(7), earlier: list(4) },
      ({ earlier, names }) => {
        const steps = names.filter((name, index) => name !== names[index - 1])
        if (steps[0] === undefined) return
        const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.sequential(names))
        assert.deepStrictEqual(follow(decide, steps[0], earlier), steps)
      }
    )

    it("ends at an agent that isn't in the list", () => {
      const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.sequential(["a", "b", "c"]))
      assert.isUndefined(decide(answered(["a", "billing"])))
      assert.strictEqual(decide(answered(["a", "billing", "b"]))?.target, "c")
    })

    it("goes on from an agent that control was given back to", () => {
      const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.sequential(["a", "b", "c"]))
      assert.strictEqual(decide(answered(["a", "b", "a"]))?.target, "b")
    })

    it("takes the agent in control from the state where the trail doesn't have it", () => {
      const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.sequential(["a", "b", "c"]))
      assert.strictEqual(decide({ ...answered(["b"]), trail: [] })?.target, "c")
      assert.strictEqual(decide({ ...answered(["a", "b"]), trail: ["a"] })?.target, "c")
    })

    it("does nothing without names, or with one", () => {
      for (const names of [[], ["a"], ["a", "a"]]) {
        assert.isUndefined(HandoffPolicy.internalsOf(HandoffPolicy.sequential(names)).decide(answered(["a"])))
      }
    })

    it("says which step is done", () => {
      const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.sequential(["a", "b", "c"]))
      assert.deepStrictEqual(decide(answered(["a", "b"])), { target: "c", reason: "Step 2 of 3 is done" })
    })
  })

  describe("when", () => {
    const isLong = (state: AgentState.AgentState) => Conversation.count(state.conversation) > 1

    it("decides where the predicate holds of the state, and says why", () => {
      const { decide } = HandoffPolicy.internalsOf(HandoffPolicy.when(isLong, "senior", { reason: "It is long" }))
      assert.deepStrictEqual(decide(answered(["junior"])), { target: "senior", reason: "It is long" })
      assert.isUndefined(decide(AgentState.make("junior")))
    })

    it("leaves the target its own answer, and what another policy decides of it", () => {
      const always = HandoffPolicy.when(() => true, "senior")
      const state = answered(["junior", "senior"])
      assert.isUndefined(HandoffPolicy.internalsOf(always).decide(state))
      const both = HandoffPolicy.compose(always, HandoffPolicy.when(() => true, "boss"))
      assert.deepStrictEqual(HandoffPolicy.internalsOf(both).decide(state), { target: "boss" })
    })
  })

  describe("chain", () => {
    it("offers each agent the next one, and the last the first", () => {
      const policy = HandoffPolicy.chain(["a", "b", "c"])
      assert.deepStrictEqual(["a", "b", "c", "d"].map((name) => toolsFor(policy, name)), [
        [["handoff_to_b", "b"]],
        [["handoff_to_c", "c"]],
        [["handoff_to_a", "a"]],
        []
      ])
    })

    it("withholds its offers once the run has changed hands as often as it may", () => {
      const offered = (policy: HandoffPolicy.Any, handoffs: number, earlier: ReadonlyArray<string> = []) => {
        const run = Array.from({ length: handoffs + 1 }, (_, index) => index % 2 === 0 ? "a" : "b")
        return toolsFor(policy, answered(run as [string, ...Array<string>], earlier)).length
      }
      const byDefault = HandoffPolicy.chain(["a", "b"])
      assert.deepStrictEqual([0, 4, 5, 6].map((handoffs) => offered(byDefault, handoffs)), [1, 1, 0, 0])
      const once = HandoffPolicy.chain(["a", "b"], { maxLength: 1 })
      assert.deepStrictEqual([0, 1].map((handoffs) => offered(once, handoffs)), [1, 0])
      assert.strictEqual(offered(once, 0, ["a", "b", "a", "b"]), 1)
    })

    it("offers nothing to one agent alone", () => {
      assert.deepStrictEqual(toolsFor(HandoffPolicy.chain(["a"]), "a"), [])
      assert.deepStrictEqual(toolsFor(HandoffPolicy.chain([]), "a"), [])
    })
  })

  describe("manager", () => {
    const policy = HandoffPolicy.manager("lead", ["writer", "critic"])
    const { decide } = HandoffPolicy.internalsOf(policy)

    it("offers the team to the lead, and nothing to the team", () => {
      assert.deepStrictEqual(toolsFor(policy, "lead"), [
        ["handoff_to_writer", "writer"],
        ["handoff_to_critic", "critic"]
      ])
      assert.deepStrictEqual(toolsFor(policy, "writer"), [])
    })

    it("gives control back to the lead when one of the team has answered", () => {
      const back = { target: "lead", reason: `"writer" has answered` }
      assert.deepStrictEqual(decide(answered(["lead", "writer"])), back)
      assert.deepStrictEqual(decide(answered(["lead", "critic", "lead", "writer"])), back)
    })

    it("ends with the lead's answer, and leaves others alone", () => {
      assert.isUndefined(decide(answered(["lead", "writer", "lead"])))
      assert.isUndefined(decide(answered(["lead", "stranger"])))
    })

    it("doesn't count the lead in its team", () => {
      const policy = HandoffPolicy.manager("lead", ["lead", "writer"])
      assert.deepStrictEqual(HandoffPolicy.internalsOf(policy).offers.map(({ handoff }) => handoff.target), ["writer"])
      assert.deepStrictEqual(namesOf(policy), ["lead", "writer"])
      assert.isUndefined(HandoffPolicy.internalsOf(policy).decide(answered(["lead"])))
    })

    it("leads those who lead others", () => {
      const both = HandoffPolicy.compose(HandoffPolicy.manager("ceo", ["cto"]), HandoffPolicy.manager("cto", ["dev"]))
      assert.deepStrictEqual(follow(HandoffPolicy.internalsOf(both).decide, "dev"), ["dev", "cto", "ceo"])
    })
  })

  describe("compose", () => {
    it.effect.prop("changes nothing of one policy, and adds nothing with an empty one", {
      policy,
      state: controlled
    }, ({ policy, state }) =>
      Effect.gen(function*() {
        const alone = yield* observed(policy, state)
        const empty = HandoffPolicy.compose()
        for (
          const same of [
            HandoffPolicy.compose(policy),
            HandoffPolicy.compose(empty, policy),
            HandoffPolicy.compose(policy, empty)
          ]
        ) {
          assert.deepStrictEqual(yield* observed(same, state), alone)
          assert.deepStrictEqual(namesOf(same), namesOf(policy))
        }
      }))

    it.effect.prop("doesn't care how members are grouped", {
      policies: Arbitrary.all([policy, policy, policy]),
      state: controlled
    }, ({ policies: [first, second, third], state }) =>
      Effect.gen(function*() {
        const flat = yield* observed(HandoffPolicy.compose(first, second, third), state)
        const left = HandoffPolicy.compose(HandoffPolicy.compose(first, second), third)
        const right = HandoffPolicy.compose(first, HandoffPolicy.compose(second, third))
        assert.deepStrictEqual(yield* observed(left, state), flat)
        assert.deepStrictEqual(yield* observed(right, state), flat)
      }))

    it.prop(
      "lets the first decision win",
      { first: policy, second: policy, state: controlled },
      ({ first, second, state }) => {
        const decide = (self: HandoffPolicy.Any) => HandoffPolicy.internalsOf(self).decide(state)
        assert.deepStrictEqual(decide(HandoffPolicy.compose(first, second)), decide(first) ?? decide(second))
      }
    )

    it.prop(
      "offers what any member offers, once",
      { first: policy, second: policy, state: controlled },
      ({ first, second, state }) => {
        const tools = (self: HandoffPolicy.Any, to: string | AgentState.AgentState) =>
          HandoffPolicy.offeredTo(self, to).map(({ toolName }) => toolName)
        const both = HandoffPolicy.compose(first, second)
        for (const name of agents) {
          for (const to of [name, { ...state, agent: name }]) {
            const offered = tools(both, to)
            assert.sameMembers(offered, [...new Set([...tools(first, to), ...tools(second, to)])])
            assert.lengthOf(new Set(offered), offered.length)
          }
        }
      }
    )

    it("keeps what the first says of a handoff that both offer", () => {
      const policy = HandoffPolicy.compose(
        HandoffPolicy.explicit("billing", { description: "First", from: ["triage"] }),
        HandoffPolicy.explicit("billing", { description: "Second", from: ["tech"] })
      )
      for (const name of ["triage", "tech"]) {
        const [handoff, ...others] = HandoffPolicy.offeredTo(policy, name)
        assert.lengthOf(others, 0)
        assert.include(Handoff.internalsOf(handoff!).tool.description, "First")
      }
    })

    it("offers a handoff to whom a condition of another member doesn't concern", () => {
      const policy = HandoffPolicy.compose(
        HandoffPolicy.chain(["a", "b"], { maxLength: 0 }),
        HandoffPolicy.explicit("b", { from: ["c"] })
      )
      assert.lengthOf(HandoffPolicy.offeredTo(policy, AgentState.make("a")), 0)
      assert.lengthOf(HandoffPolicy.offeredTo(policy, AgentState.make("c")), 1)
    })

    const conflict = (...policies: ReadonlyArray<HandoffPolicy.Any>): unknown => {
      try {
        HandoffPolicy.compose(...policies)
        return undefined
      } catch (error) {
        return error
      }
    }
    const go = (target: string, from?: ReadonlyArray<string>) =>
      HandoffPolicy.explicit(target, { toolName: "go", from })

    it("refuses one tool to different targets, and names both", () => {
      const error = conflict(HandoffPolicy.sequential(["a", "b"]), go("billing"), go("tech"))
      assert.instanceOf(error, HandoffPolicy.ConflictingOffers)
      assert.deepStrictEqual(error.targets, ["billing", "tech"])
      assert.strictEqual(
        error.message,
        `Tool "go" can't hand over to both "billing" and "tech": give one of the offers another "toolName"`
      )
    })

    it("refuses it wherever one agent would be offered both", () => {
      assert.isDefined(conflict(go("a", ["c"]), go("b", ["c", "d"])))
      assert.isDefined(conflict(go("a", ["c"]), go("b")))
      assert.isDefined(conflict(go("a"), go("b", ["c"])))
      assert.isDefined(conflict(go("a", ["x"]), go("b", ["y"]), go("a", ["y"])))
    })

    it("takes one tool to different targets from different agents", () => {
      const policy = HandoffPolicy.compose(go("b", ["a"]), go("c", ["b"]))
      assert.deepStrictEqual(["a", "b"].map((name) => toolsFor(policy, name)), [[["go", "b"]], [["go", "c"]]])
      assert.isUndefined(conflict(go("a"), go("b", ["a"])))
      assert.isUndefined(conflict(go("b", ["a"]), go("a")))
      assert.isUndefined(conflict(go("a", ["a", "c"]), go("b", ["a"])))
    })

    it("refuses names that become the same tool", () => {
      assert.isDefined(conflict(HandoffPolicy.explicit("the desk"), HandoffPolicy.explicit("the_desk")))
      assert.throws(() => HandoffPolicy.manager("lead", ["the desk", "the_desk"]), HandoffPolicy.ConflictingOffers)
    })
  })

  describe("mapConversation", () => {
    const hello = Conversation.make([Conversation.user("Hello")])

    it.effect("sees who hands over to whom, and why", () =>
      Effect.gen(function*() {
        const policy = HandoffPolicy.mapConversation((conversation, { from, request, to }) =>
          Effect.succeed(Conversation.appendUser(conversation, `${from} to ${to}: ${request.reason}`))
        )
        const { turns } = yield* HandoffPolicy.transform(policy, hello, {
          from: "triage",
          to: "billing",
          request: { target: "billing", reason: "money" }
        })
        assert.deepStrictEqual(turns.map(Conversation.textOf), ["Hello", "triage to billing: money"])
      }))

    it.effect("runs in the order of the policies", () =>
      Effect.gen(function*() {
        const policy = HandoffPolicy.compose(
          stamp("one"),
          HandoffPolicy.explicit("b"),
          HandoffPolicy.compose(stamp("two"), stamp("three"))
        )
        assert.deepStrictEqual(yield* arrives(policy, hello), ["Hello", "one", "two", "three"])
      }))

    it.effect("leaves the conversation as the others made it when it fails", () =>
      Effect.gen(function*() {
        const failing = HandoffPolicy.mapConversation(() => Effect.fail(new Lost({ what: "it" })))
        const policy = HandoffPolicy.compose(stamp("one"), failing, stamp("two"))
        assert.deepStrictEqual(yield* arrives(policy, hello), ["Hello", "one", "two"])
        assert.deepStrictEqual(HandoffPolicy.internalsOf(failing).transforms.map(({ onFailure }) => onFailure), [
          "Keep"
        ])
      }))

    it.effect("is logged when it fails, without the words of its error", () =>
      Effect.gen(function*() {
        const lines: Array<unknown> = []
        const logger = Logger.make<unknown, void>(({ cause, message }) => void lines.push(message, cause.reasons))
        const failing = HandoffPolicy.mapConversation(() => Effect.fail(new Lost({ what: "Hello" })))
        yield* Effect.provide(arrives(failing, hello), Logger.layer([logger]))
        assert.deepStrictEqual(lines, [["A transform is left out of the handoff from \"a\" to \"b\": Lost"], []])
      }))

    it.effect("fails where it is to, with what it failed with", () =>
      Effect.gen(function*() {
        const failing = HandoffPolicy.mapConversation(() => Effect.fail(new Lost({ what: "it" })), {
          onFailure: "fail"
        })
        const error = yield* Effect.flip(arrives(HandoffPolicy.compose(failing, stamp("two")), hello))
        assert.strictEqual(error.what, "it")
        assert.deepStrictEqual(HandoffPolicy.internalsOf(failing).transforms.map(({ onFailure }) => onFailure), [
          "Fail"
        ])
      }))

    it.effect("doesn't take a defect for a failure", () =>
      Effect.gen(function*() {
        const policy = HandoffPolicy.mapConversation(() => {
          throw new Error("a bug")
        })
        assert.strictEqual(String(yield* Effect.catchDefect(arrives(policy, hello), Effect.succeed)), "Error: a bug")
      }))

    it.effect.prop("arrives legal, whatever it makes", [conversation], ([conversation]) =>
      Effect.gen(function*() {
        const twice = HandoffPolicy.mapConversation(({ turns }) => ({ turns: [...turns, ...turns] }))
        assert.deepStrictEqual(problems(yield* HandoffPolicy.transform(twice, conversation, crossing)), [])
        assert.strictEqual(
          yield* HandoffPolicy.transform(HandoffPolicy.explicit("b"), conversation, crossing),
          conversation
        )
      }))
  })
})
