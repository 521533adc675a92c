import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Schema, SchemaGetter, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Group, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { told } from "../agent/watch.ts"
import {
  checked,
  failing,
  handlers,
  handTo,
  Kit,
  models,
  outcomes,
  read,
  replayable,
  requests,
  sign,
  throughText,
  work
} from "./scripted.ts"

const { all, toolCall } = MockResponse

describe("Handoff", () => {
  it.effect("lets the target answer", () =>
    Effect.gen(function*() {
      const refunds = Agent.make("refunds", { description: "Refunds and returns", instructions: "Settle refunds." })
      const triage = Agent.make("triage", {
        instructions: "Send the customer to the right desk.",
        handoffs: [Handoff.to(refunds, { reason: "Refund and return requests" })]
      })
      const { state } = yield* checked(Agent.run(triage, "I want my money back."), "triage")
      assert.deepStrictEqual([state.agent, AgentState.text(state), state.trail], [
        "refunds",
        "Your refund is on its way.",
        ["triage", "refunds"]
      ])
    }).pipe(Effect.provide(models({
      triage: [handTo("refunds", { reason: "wants a refund" })],
      refunds: ["Your refund is on its way."]
    }))))

  it("hands everything over but the system message, unless it is told otherwise", () => {
    const b = Agent.make("b")
    const { preserveContext, target, toolName, transferSystemMessage } = Handoff.to(b)
    assert.deepStrictEqual([target, toolName, preserveContext, transferSystemMessage], [
      "b",
      "handoff_to_b",
      true,
      false
    ])
    assert.isTrue(Handoff.isHandoff(Handoff.to("b")))
    assert.isFalse(Handoff.isHandoff(b))
    assert.strictEqual(JSON.stringify(Handoff.to(b)), `{"_id":"Handoff","target":"b","toolName":"handoff_to_b"}`)
  })

  describe("as a tool", () => {
    it.effect("says what the target is for, where it is given by name, looked up later, or offered by a policy", () =>
      Effect.gen(function*() {
        const members = {
          a: Agent.make("a", {
            handoffs: [
              Handoff.to("b"),
              Handoff.to("b", { toolName: "own", description: "Decides." }),
              Handoff.to("b", { toolName: "none", description: "", reason: "If asked" }),
              Handoff.suspend("c", () => c)
            ]
          }),
          b: Agent.make("b", { description: "Settles refunds" }),
          d: Agent.make("d", { description: "Answers" })
        }
        const c = Agent.make("c", { description: "Sells" })
        const policy = HandoffPolicy.compose(
          HandoffPolicy.explicitAll({ ask_d: "d", ask_b: "b" }),
          HandoffPolicy.chain(["a", "d"])
        )
        yield* Agent.run(Group.make(members, { start: "a", policy }), "Hi")
        const [first] = yield* requests
        const to = (name: string) => `Hands the conversation over to agent "${name}".`
        assert.deepStrictEqual(Object.fromEntries(first!.tools.map(({ description, name }) => [name, description])), {
          handoff_to_b: `${to("b")} Settles refunds.`,
          own: `${to("b")} Decides.`,
          none: `${to("b")} If asked.`,
          handoff_to_c: `${to("c")} Sells.`,
          ask_d: `${to("d")} Answers.`,
          ask_b: `${to("b")} Settles refunds.`,
          handoff_to_d: `${to("d")} Answers.`
        })
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Hello.")))))

    it.effect("says its target, when to call it, and what the target is for", () =>
      Effect.gen(function*() {
        const refunds = Agent.make("refunds", { description: "Settles refunds" })
        const a = Agent.make("a", {
          handoffs: [
            Handoff.to(refunds, { reason: "Refund and return requests" }),
            Handoff.to(refunds, { toolName: "escalate", description: "Somebody who decides." }),
            Handoff.to(Agent.make("sales"))
          ]
        })
        yield* Agent.run(a, "Hi")
        const [first] = yield* requests
        assert.deepStrictEqual(first?.tools.map(({ description, name }) => [name, description]), [
          [
            "handoff_to_refunds",
            "Hands the conversation over to agent \"refunds\". Refund and return requests. Settles refunds."
          ],
          ["escalate", "Hands the conversation over to agent \"refunds\". Somebody who decides."],
          ["handoff_to_sales", "Hands the conversation over to agent \"sales\"."]
        ])
        const schema: { properties?: Readonly<Record<string, unknown>>; required?: ReadonlyArray<string> } = Tool
          .getJsonSchema(first!.tools[0]!)
        const properties = schema.properties ?? {}
        assert.deepStrictEqual(Object.keys(properties), ["reason", "context"])
        assert.deepInclude(properties.reason, { type: "string" })
        assert.deepInclude(properties.context, { type: "object" })
        assert.deepStrictEqual(schema.required ?? [], [])
      }).pipe(Effect.provide(models({ a: ["Hello."] }))))

    it("has a name that providers take, which depends on the target's name alone", () => {
      assert.strictEqual(Handoff.to("the Desk (EU), 2").toolName, "handoff_to_the_Desk__EU___2")
      assert.strictEqual(Handoff.to(Agent.make("the desk")).toolName, Handoff.toolNameOf("the desk"))
      assert.match(Handoff.toolNameOf("Ünï çode 😀".repeat(20)), /^[a-zA-Z0-9_-]{64}$/)
    })

    it.effect("works for a target whose name has spaces", () =>
      Effect.gen(function*() {
        const desk = Agent.make("the desk")
        const a = Agent.make("a", { handoffs: [Handoff.to(desk)] })
        const { state } = yield* checked(Agent.run(a, "Hi"), "a")
        assert.deepStrictEqual(state.trail, ["a", "the desk"])
      }).pipe(Effect.provide(models({ a: [handTo("the_desk")], "the desk": ["Hello."] }))))

    it("is refused beside another of its name, and the error names both", () => {
      const a = (...handoffs: ReadonlyArray<Handoff.Any>) => () => Agent.make("a", { handoffs })
      assert.throws(
        a(Handoff.to("the desk"), Handoff.to("the_desk")),
        Agent.DuplicateHandoff,
        "Agent \"a\" has two handoffs by the tool \"handoff_to_the_desk\": to \"the desk\" and to \"the_desk\""
      )
      assert.throws(
        a(Handoff.to("b", { toolName: "go" }), Handoff.to("c", { toolName: "go" })),
        Agent.DuplicateHandoff,
        "to \"b\" and to \"c\""
      )
      assert.throws(a(Handoff.to("b"), Handoff.to("b")), Agent.DuplicateHandoff)
      assert.throws(
        () => Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to("b", { toolName: "work" })] }),
        Agent.DuplicateTool
      )
    })
  })

  describe("that says what the model gives", () => {
    it.effect("takes nothing at all, and what models write for nothing", () =>
      Effect.gen(function*() {
        const b = Agent.make("b")
        const handoff = Handoff.to(b)
        const a = Agent.make("a", { handoffs: [handoff] })
        for (let run = 0; run < 4; run++) {
          const { state } = yield* checked(Agent.run(a, "Hi"), "a")
          assert.strictEqual(state.agent, "b")
          assert.deepStrictEqual(state.handoff, {
            from: "a",
            callId: state.handoff?.callId ?? "",
            tool: "handoff_to_b"
          })
          assert.deepStrictEqual(Handoff.received(handoff, state), Option.some({}))
        }
      }).pipe(Effect.provide(models({
        a: [handTo("b", {}), handTo("b", null), handTo("b", { reason: null, context: null }), handTo("b", { more: 1 })],
        b: ["1", "2", "3", "4"]
      }))))

    it.effect("names a schema whose function throws", () =>
      Effect.gen(function*() {
        const parameters = Schema.Struct({
          order: Schema.String.pipe(Schema.decodeTo(Schema.Finite, {
            decode: SchemaGetter.transform((): number => {
              throw new Error("broken")
            }),
            encode: SchemaGetter.transform(String)
          }))
        })
        const a = Agent.make("a", { handoffs: [Handoff.to(Agent.make("b"), { parameters })] })
        const exit = yield* Effect.exit(Agent.run(a, "Hi"))
        assert.match(
          Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "",
          /^TypeError: The schema `parameters` of handoff "handoff_to_b" must convert values at once/
        )
      }).pipe(Effect.provide(models({ a: [handTo("b", { order: "41" })] }))))

    const Order = Schema.Struct({ order: Schema.FiniteFromString, since: Schema.Date })
    const handoff = Handoff.to("desk", { parameters: Order })

    it.effect("gives it to the target decoded", () =>
      Effect.gen(function*() {
        const desk = Agent.make("desk", {
          instructions: (state) =>
            Option.match(Handoff.received(handoff, state), {
              onNone: () => "Nobody said anything.",
              onSome: ({ order, since }) => `Order ${order + 1}, ${since.getUTCFullYear()}`
            })
        })
        const a = Agent.make("a", { handoffs: [Handoff.to(desk, { toolName: "unused" }), handoff] })
        const { state } = yield* checked(Agent.run(a, "Hi"), "a")
        assert.deepStrictEqual(state.handoff, {
          from: "a",
          callId: "h",
          tool: "handoff_to_desk",
          context: { order: "41", since: "2024-02-29T00:00:00.000Z" }
        })
        assert.strictEqual((yield* read(1))[0], "system: Order 42, 2024")
        assert.deepStrictEqual(Handoff.received(handoff, { ...state, agent: "a" }), Option.none())
        assert.deepStrictEqual(Handoff.received(Handoff.to(desk, { toolName: "unused" }), state), Option.none())
        const again = yield* Agent.run(desk, "Hi")
        assert.deepStrictEqual(Handoff.received(handoff, again), Option.none())
        assert.strictEqual((yield* read(2))[0], "system: Nobody said anything.")
      }).pipe(Effect.provide(models({
        a: [handTo("desk", { order: "41", since: "2024-02-29T00:00:00Z" }, "h")],
        desk: ["Hello.", "Hello."]
      }))))

    it.effect("is what it declares and nothing else, at every depth", () =>
      Effect.gen(function*() {
        const nested = Handoff.to("desk", { parameters: Schema.Struct({ of: Order, all: Schema.Array(Order) }) })
        const desk = Agent.make("desk", { instructions: "You are the desk." })
        const a = Agent.make("a", {
          handoffs: [
            Handoff.to(desk, { toolName: "unused" }),
            nested,
            Handoff.to("desk", {
              toolName: "alone",
              parameters: Order,
              history: Handoff.none
            })
          ]
        })
        const { state: first } = yield* checked(Agent.run(a, "Hi"), "a")
        assert.deepStrictEqual(first.handoff?.context, { of: declared, all: [declared] })
        assert.deepStrictEqual(
          Option.map(Handoff.received(nested, first), ({ of }) => of.order),
          Option.some(41)
        )
        // What the target reads of it beside its instructions, if the call doesn't cross.
        const { state: second } = yield* checked(Agent.run(a, "Hi"), "a")
        assert.deepStrictEqual(second.handoff?.context, declared)
        assert.include(JSON.stringify(yield* read(3)), "41")
        assert.notInclude(JSON.stringify(yield* read(3)), "mallory")
      }).pipe(Effect.provide(models({
        a: [handTo("desk", { of: more, all: [more], customer: "mallory" }, "h"), toolCall("alone", more)],
        desk: ["Hello.", "Hello."]
      }))))

    const declared = { order: "41", since: "2024-02-29T00:00:00.000Z" }
    const more = { ...declared, customer: "mallory", isAdmin: true }

    it.effect("fails the call where it is wrong, and the run goes on", () =>
      Effect.gen(function*() {
        const b = Agent.make("b")
        const a = Agent.make("a", {
          handoffs: [Handoff.to(b), Handoff.to(b, { toolName: "typed", parameters: Order })]
        })
        const { events, state } = yield* checked(Agent.run(a, "Hi"), "a")
        assert.deepStrictEqual([state.agent, AgentState.text(state)], ["a", "Never mind."])
        assert.deepStrictEqual(outcomes(state.conversation), [
          ["handoff_to_b", "Failed"],
          ["handoff_to_b", "Failed"],
          ["typed", "Failed"]
        ])
        for (const { isFailure, result } of yield* told) {
          assert.isTrue(isFailure)
          assert.match(String(result), /^The parameters of "(handoff_to_b|typed)" are wrong: /)
        }
        assert.isFalse(events.some(({ _tag }) => _tag === "HandoffRequested"))
      }).pipe(Effect.provide(models({
        a: [
          all(
            handTo("b", { reason: 1 }),
            handTo("b", "{\"reason\":\"as text\"}"),
            toolCall("typed", { order: "x", since: "y" })
          ),
          "Never mind."
        ]
      }))))
  })

  describe("with a condition", () => {
    const knows = (state: AgentState.AgentState) =>
      outcomes(state.conversation).some(([name, outcome]) => name === "work" && outcome === "Succeeded")

    it.effect("is offered step by step, as the state is", () =>
      Effect.gen(function*() {
        const b = Agent.make("b")
        const a = Agent.make("a", {
          toolkit: Kit,
          handoffs: [
            Handoff.to(b, { when: knows }),
            Handoff.to(b, { toolName: "early", when: (state) => !knows(state) })
          ]
        })
        const { state } = yield* checked(Agent.run(a, "Hi"), "a")
        assert.strictEqual(state.agent, "b")
        assert.deepStrictEqual((yield* requests).slice(0, 3).map(({ toolNames }) => toolNames), [
          ["work", "sign", "early"],
          ["work", "sign", "early"],
          ["work", "sign", "handoff_to_b"]
        ])
        assert.deepStrictEqual(outcomes(state.conversation), [
          ["handoff_to_b", "Failed"],
          ["work", "Succeeded"],
          ["handoff_to_b", "HandedOff"]
        ])
        assert.include(JSON.stringify(state), "\\\"handoff_to_b\\\" isn't offered now.")
      }).pipe(Effect.provide([models({ a: [handTo("b"), work("w"), handTo("b")], b: ["Hello."] }), handlers])))

    it.effect("is taken by what held when the model was asked, not by its answer", () =>
      Effect.gen(function*() {
        const b = Agent.make("b")
        const a = Agent.make("a", {
          maxHandoffs: 0,
          handoffs: [Handoff.to(b, {
            when: ({ conversation, run, steps }) =>
              run.iteration === 0 && steps === 0 && Conversation.count(conversation) === 1
          })]
        })
        const larger = Agent.make("a", {
          handoffs: [Handoff.to(b, { when: ({ steps }) => steps === 0 })]
        })
        const { state } = yield* checked(Agent.settle(a, "Hi"), "a")
        assert.strictEqual(state.status._tag === "Failed" && state.status.error.tag, "HandoffLimitReached")
        const reopened = throughText(AgentState.reopen(state))
        const { state: last } = yield* checked(Agent.resume(larger, reopened), reopened)
        assert.deepStrictEqual(last.trail, ["a", "b"])
      }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["Hello."] }))))

    it.effect("is left out of a choice that forces it", () =>
      Effect.gen(function*() {
        const never = Handoff.to("b", { when: () => false })
        for (
          const toolChoice of [{ tool: "handoff_to_b" }, { mode: "required", oneOf: ["handoff_to_b"] }] as const
        ) yield* Agent.run(Agent.make("a", { toolkit: Kit, toolChoice, handoffs: [never] }), "Hi")
        const choice = { mode: "auto", oneOf: ["work", "sign"] } as const
        assert.deepStrictEqual((yield* requests).map(({ toolChoice }) => toolChoice), [choice, choice])
      }).pipe(Effect.provide([models({ a: ["Hello.", "Hello."] }), handlers])))
  })
})

describe("A state that asks for a handoff", () => {
  const b = Agent.make("b", { toolkit: Kit, instructions: "You are b." })
  const a = Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to(b)] })
  const script = {
    a: [all(work("w"), handTo("b", { reason: "why", context: { order: 1 } }, "h"))],
    b: [work("x"), "Done."]
  }
  const environment = [replayable(script), handlers] as const

  it.effect("names its target, why, with what, and the call", () =>
    Effect.gen(function*() {
      const states = yield* Stream.runCollect(Agent.states(a, "Hi"))
      const asking = states.find(({ status }) => status._tag === "HandoffRequested")!
      assert.deepStrictEqual(asking.status, {
        _tag: "HandoffRequested",
        request: { target: "b", callId: "h", tool: "handoff_to_b", reason: "why", context: { order: 1 } }
      })
      assert.deepStrictEqual(throughText(asking), asking)
      assert.strictEqual(asking.agent, "a")
    }).pipe(Effect.provide([...environment])))

  it.effect("goes on in another process, from any point of the run, as if it had never stopped", () =>
    Effect.gen(function*() {
      const states = yield* Stream.runCollect(Agent.states(a, "Hi")).pipe(Effect.provide([...environment]))
      const last = states[states.length - 1]!
      assert.deepStrictEqual([last.agent, AgentState.text(last)], ["b", "Done."])
      const asking = new Set<string>()
      for (const state of states) {
        const { state: resumed } = yield* checked(Agent.resume(a, throughText(state)), throughText(state)).pipe(
          Effect.provide([...environment])
        )
        assert.deepStrictEqual(resumed, last)
        asking.add(`${state.agent} ${AgentState.next(state)._tag}`)
      }
      for (const expected of ["a RunCalls", "a HandOver", "b AskModel", "b RunCalls", "b Stop"]) {
        assert.include([...asking], expected)
      }
    }))

  it.effect("goes on step by step, by hand", () =>
    Effect.gen(function*() {
      const whole = yield* Agent.run(a, "Hi").pipe(Effect.provide([...environment]))
      let state = AgentState.ask(AgentState.make("a"), "Hi", 0)
      const seen: Array<string> = []
      while (state.status._tag !== "Complete") {
        state = yield* Agent.step(a, throughText(state))
        seen.push(`${state.agent} ${state.status._tag}`)
      }
      assert.deepStrictEqual(seen, ["a HandoffRequested", "b InProgress", "b InProgress", "b Complete"])
      assert.deepStrictEqual(state, whole)
    }).pipe(Effect.provide([...environment])))

  it.effect("takes the words that a user adds along", () =>
    Effect.gen(function*() {
      const signing = Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to(b, { preserveContext: false })] })
      const { state: first } = yield* checked(Agent.run(signing, "Hi"), "a")
      assert.strictEqual(first.status._tag, "HandoffRequested")
      const { state: second } = yield* checked(
        Agent.continueConversation(signing, throughText(first), "And hurry!", { control: "first" }),
        first
      )
      assert.deepStrictEqual([second.status, second.agent], [first.status, "a"])
      const approved = yield* Effect.fromResult(AgentState.approve(second, "sign"))
      const { state: last } = yield* checked(Agent.resume(signing, throughText(approved)), approved)
      assert.strictEqual(last.agent, "b")
      assert.deepStrictEqual(yield* read(1), ["system: You are b.", "user: And hurry!"])
    }).pipe(Effect.provide([models({ a: [all(sign, handTo("b"))], b: ["Done."] }), handlers])))
})

describe("A turn with a handoff", () => {
  const b = Agent.make("b")
  const c = Agent.make("c")
  const a = Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to(b), Handoff.to(c)] })

  it.effect("settles its other calls first, the first handoff wins, and later ones fail and say why", () =>
    Effect.gen(function*() {
      const { events, state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.strictEqual(state.agent, "c")
      assert.deepStrictEqual(outcomes(state.conversation), [
        ["handoff_to_b", "Failed"],
        ["work", "Succeeded"],
        ["handoff_to_c", "HandedOff"],
        ["handoff_to_b", "Failed"],
        ["nothing", "Failed"],
        ["handoff_to_c", "Failed"],
        ["work", "Succeeded"]
      ])
      const settled = events.flatMap((event) => event._tag === "ToolCallSettled" ? [event.callId] : [])
      const completed = events.findIndex(({ _tag }) => _tag === "HandoffCompleted")
      assert.isTrue(completed > events.findLastIndex(({ _tag }) => _tag === "ToolCallSettled"))
      assert.deepStrictEqual(settled, ["wrong", "w1", "late", "none", "again", "w2"])
      const results = (yield* told).map(({ id, result }) => [id, result] as const)
      const only = "Only one agent can take over, and \"c\" was requested first."
      assert.deepStrictEqual(results.filter(([id]) => ["first", "late", "again"].includes(id)), [
        ["first", { handoff: "c", ack: true, reason: "sales" }],
        ["late", only],
        ["again", only]
      ])
    }).pipe(Effect.provide([
      models({
        a: [all(
          handTo("b", { reason: 7 }, "wrong"),
          work("w1"),
          handTo("c", { reason: "sales" }, "first"),
          handTo("b", {}, "late"),
          toolCall("nothing", {}, { id: "none" }),
          handTo("c", {}, "again"),
          work("w2")
        )],
        c: ["Hello."]
      }),
      handlers
    ])))

  it.effect("is the source's last: its model says nothing more", () =>
    Effect.gen(function*() {
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual((yield* requests).map(({ agent }) => agent), ["a", "b"])
      assert.deepStrictEqual(state.conversation.turns.map(Conversation.textOf), ["Hi", "One moment.", "Hello."])
    }).pipe(Effect.provide([models({ a: [all("One moment.", handTo("b"))], b: ["Hello."] }), handlers])))

  for (const answer of ["approve", "deny"] as const) {
    it.effect(`waits for approvals: ${answer}, resume, and it hands over`, () =>
      Effect.gen(function*() {
        const { events, state } = yield* checked(Agent.run(a, "Hi"), "a")
        assert.deepStrictEqual(AgentState.pendingApprovals(state).map(({ callId }) => callId), ["sign"])
        assert.deepStrictEqual(AgentState.next(state), { _tag: "Await" })
        assert.deepStrictEqual(events.slice(-3).map(({ _tag }) => _tag), [
          "StepCompleted",
          "HandoffSuspended",
          "RunCompleted"
        ])
        assert.deepStrictEqual(yield* Agent.step(a, state), state)
        const { state: still } = yield* checked(Agent.resume(a, throughText(state)), state)
        assert.deepStrictEqual(still.status, state.status)
        const answered = yield* Effect.fromResult(
          answer === "approve" ? AgentState.approve(state, "sign") : AgentState.deny(state, "sign", "no")
        )
        const { state: last } = yield* checked(Agent.resume(a, throughText(answered)), answered)
        assert.strictEqual(last.agent, "b")
        assert.deepStrictEqual(outcomes(last.conversation), [
          ["handoff_to_b", "HandedOff"],
          ["sign", answer === "approve" ? "Succeeded" : "Denied"],
          ["work", "Succeeded"]
        ])
      }).pipe(
        Effect.provide([models({ a: [all(handTo("b"), sign, work("w"))], b: ["Hello."] }), handlers])
      ))
  }

  it.effect("ends with the error of a fatal tool, and hands over once the state is reopened", () =>
    Effect.gen(function*() {
      class Broken extends Schema.TaggedError<Broken>("test/Broken")("Broken", {}) {}
      const Fatal = Toolkit.make(Tool.make("break", { failure: Broken }))
      const agent = Agent.make("a", { toolkit: Fatal, fatal: ["break"], handoffs: [Handoff.to(b)] })
      yield* Effect.gen(function*() {
        const { events, state } = yield* checked(Agent.settle(agent, "Hi"), "a")
        assert.strictEqual(state.status._tag === "Failed" && state.status.error.tag, "Broken")
        assert.strictEqual(state.agent, "a")
        assert.deepStrictEqual(events.slice(-2).map(({ _tag }) => _tag), ["HandoffSuspended", "RunFailed"])
        const reopened = throughText(AgentState.reopen(state))
        const { state: last } = yield* checked(Agent.resume(agent, reopened), reopened)
        assert.deepStrictEqual(last.trail, ["a", "b"])
      }).pipe(Effect.provide([
        models({ a: [all(handTo("b"), toolCall("break", {}))], b: ["Hello."] }),
        Fatal.toLayer({ break: () => Effect.fail(new Broken()) })
      ]))
    }))

  it.effect("that was cut short doesn't hand over", () =>
    Effect.gen(function*() {
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual([state.agent, outcomes(state.conversation)], ["a", [["handoff_to_b", "Interrupted"]]])
    }).pipe(Effect.provide([
      models({ a: [MockResponse.withFinishReason(handTo("b", { reason: "bec" }), "length"), "Hello."] }),
      handlers
    ])))

  it.effect("fails where nobody has the name, and says the names that are there", () =>
    Effect.gen(function*() {
      const lost = Agent.make("a", { handoffs: [Handoff.to("ghost"), Handoff.to(b), Handoff.to(c)] })
      const { reason, state } = yield* failing(Agent.run(lost, "Hi"))
      assert.deepInclude(reason, { _tag: "HandoffTargetNotFound", target: "ghost", available: ["b", "c"] })
      assert.strictEqual(reason.message, "Agent \"a\" can't hand over to \"ghost\"; available: \"b\", \"c\"")
      assert.deepStrictEqual(state.trail, ["a"])
      const found = Agent.make("a", { handoffs: [Handoff.to(Agent.make("ghost"))] })
      const last = yield* Agent.resume(found, throughText(AgentState.reopen(state)))
      assert.deepStrictEqual([last.agent, AgentState.text(last)], ["ghost", "Boo."])
    }).pipe(Effect.provide(models({ a: [handTo("ghost")], ghost: ["Boo."] }))))
})
