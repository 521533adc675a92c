import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Prompt, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail, Handoff, Mode, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { model, ran, said, sent, turns } from "./looking.ts"

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ to: Schema.String, cents: Schema.Int, at: Schema.optionalKey(Schema.Date) }),
  success: Schema.String
})
const Sign = Tool.make("sign", {
  parameters: Schema.Struct({ name: Schema.String }),
  success: Schema.String,
  needsApproval: true
})
const Kit = Toolkit.make(Pay, Sign)

/** Handlers that take down what they are given. */
const handlers = (given: Array<unknown>) =>
  Kit.toLayer({
    pay: (params) => Effect.sync(() => `paid ${String(given.push(params))}`),
    sign: (params) => Effect.sync(() => `signed ${String(given.push(params))}`)
  })

const atMost = (cents: number) =>
  Guardrail.make("at most", (params, { call }) => {
    const asked = params as { readonly cents?: number; readonly to?: string }
    return call.name === "pay" && (asked.cents ?? 0) > cents
      ? Guardrail.replace({ ...asked, cents } as Schema.Json, "too much")
      : Guardrail.pass
  }, { on: "toolCall" })

const names = (asked: Array<unknown> = []) =>
  Guardrail.make("names", (text) => {
    asked.push(text)
    return text === "Mallory"
      ? Guardrail.block("nobody pays Mallory")
      : text === "nobody"
      ? Guardrail.retry("Say whom.")
      : text === "Ada"
      ? Guardrail.replace("account 7", "a name")
      : text === "Bob"
      ? Guardrail.warn("a name")
      : Guardrail.pass
  })

const pay = (to: string, cents = 5, id?: string) =>
  MockResponse.toolCall("pay", { to, cents }, id === undefined ? {} : { id })
const done = "Done."

const throughText = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))

describe("What a tool is asked", () => {
  it.effect("is what the state holds and the handler gets once it is replaced, decoded anew", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const dated = Guardrail.make(
        "dated",
        (params) =>
          Guardrail.replace({ ...params as object, at: "2024-02-29T00:00:00.000Z" } as Schema.Json, "no date"),
        {
          on: "toolCall"
        }
      )
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [atMost(100), names(), dated] } })
      const { events, state } = yield* ran(Agent.run(agent, "Pay")).pipe(
        Effect.provide([handlers(given), model(pay("Ada", 500), done)])
      )
      const params = { to: "account 7", cents: 100, at: "2024-02-29T00:00:00.000Z" }
      assert.deepStrictEqual(given, [{ ...params, at: new Date(params.at) }])
      assert.deepStrictEqual(turns(state)[1], `a: pay(${JSON.stringify(params)}) Succeeded "paid 1"`)
      assert.deepStrictEqual(ofTag(events, "ToolCallStarted").map((event) => event.params), [params])
      assert.deepStrictEqual(said(events), [
        "toolCall: at most Replace (too much)",
        "toolCall: names Replace (a name)",
        "toolCall: dated Replace (no date)"
      ])
      assert.notInclude(JSON.stringify(AgentState.toJson(state)), "Ada")
    }))

  it.effect("isn't done once it is blocked or sent back: the call has failed, and the model reads why", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [names(), atMost(100)] } })
      yield* Effect.gen(function*() {
        const { events, state } = yield* ran(Agent.run(agent, "Pay"))
        assert.deepStrictEqual(turns(state), [
          "User: Pay",
          `a: pay({}) Failed "Guardrail \\"names\\" blocked this call: nobody pays Mallory"` +
          ` | pay({}) Failed "Say whom."` +
          ` | pay({"to":"Bob","cents":5}) Succeeded "paid 1"`,
          "a: Done."
        ])
        assert.deepStrictEqual(given, [{ to: "Bob", cents: 5 }])
        assert.deepStrictEqual(ofTag(events, "ToolCallStarted").map(({ callId }) => callId), ["c"])
        assert.deepStrictEqual(
          ofTag(events, "GuardrailSettled").map(({ callId, guardrail, verdict }) => [callId, guardrail, verdict]),
          [
            ["a", "names", "Block"],
            ["b", "names", "Retry"],
            ["c", "names", "Warn"],
            ["c", "at most", "Pass"]
          ]
        )
        assert.strictEqual(
          (yield* sent)[1]?.[2],
          `tool: "Guardrail \\"names\\" blocked this call: nobody pays Mallory" | "Say whom." | "paid 1"`
        )
      }).pipe(Effect.provide([
        handlers(given),
        model(MockResponse.all(pay("Mallory", 500, "a"), pay("nobody", 5, "b"), pay("Bob", 5, "c")), done)
      ]))
    }))

  it.effect("is looked at once it fits, and again refused where its replacement doesn't", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const asked: Array<unknown> = []
      const agent = Agent.make("a", {
        toolkit: Kit,
        guardrails: {
          toolCall: [
            names(asked),
            Guardrail.make("lots", (params) =>
              Guardrail.replace({ ...params as object, cents: "lots" } as Schema.Json, "why"), { on: "toolCall" })
          ]
        }
      })
      const { events, state } = yield* ran(Agent.run(agent, "Pay")).pipe(Effect.provide([
        handlers(given),
        model(
          MockResponse.all(MockResponse.toolCall("pay", { to: 7 }), pay("Bob"), MockResponse.toolCall("no", {})),
          done
        )
      ]))
      assert.deepStrictEqual(asked, ["Bob"])
      assert.deepStrictEqual(given, [])
      // Those on text look at what is kept of a call that does not fit, too.
      assert.deepStrictEqual(said(events).length, 4)
      const [first, second, third] = ofTag(events, "ToolCallSettled").map(({ outcome, result }) =>
        `${outcome} ${result}`
      )
      assert.match(first ?? "", /^Failed The parameters of "pay" are wrong/)
      assert.match(second ?? "", /^Failed The parameters of "pay" are wrong/)
      assert.match(third ?? "", /^Failed There is no tool "no"/)
      assert.include(turns(state)[1], `"cents":"lots"`)
    }))

  it.effect("is looked at even if the answer was cut off: it isn't done, but kept", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [names()] } })
      const { events, state } = yield* ran(
        Agent.run(agent, "Go").pipe(Effect.provide([
          handlers(given),
          model(MockResponse.withFinishReason(MockResponse.all(pay("Ada"), pay("Mallory")), "length"), done)
        ]))
      )
      assert.deepStrictEqual(given, [])
      assert.include(turns(state)[1], `pay({"to":"account 7","cents":5}) Interrupted`)
      assert.include(turns(state)[1], `pay({}) Interrupted`)
      assert.notMatch(JSON.stringify([AgentState.toJson(state), events]), /Ada|"Mallory"/)
    }))

  it.effect("is given to a guardrail with its call, and with each text in it", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const Nested = Tool.make("nested", { parameters: Schema.Struct({ all: Schema.Json }), success: Schema.String })
      const Nest = Toolkit.make(Nested)
      const all = { a: ["one", { b: "two", "three": 3 }], c: null, d: "four" }
      const agent = Agent.make("a", {
        toolkit: Nest,
        guardrails: {
          toolCall: [
            Guardrail.make("call", (params, { agent, call, stage, state }) => {
              seen.push([params, agent, call, stage, state.status._tag])
              return Guardrail.pass
            }, { on: "toolCall" }),
            Guardrail.make("texts", (text, { call }) => {
              seen.push([text, call?.name])
              return Guardrail.replace(`${text}!`, "quiet")
            })
          ]
        }
      })
      const given: Array<unknown> = []
      yield* ran(Agent.run(agent, "Go")).pipe(Effect.provide([
        Nest.toLayer({ nested: (params) => Effect.sync(() => String(given.push(params))) }),
        model(MockResponse.toolCall("nested", { all }, { id: "x" }), done)
      ]))
      const params = { all: { a: ["one", { b: "two", three: 3 }], c: null, d: "four" } }
      assert.deepStrictEqual(seen, [
        [params, "a", { id: "x", name: "nested", params }, "toolCall", "WaitingForTools"],
        ...["a", "one", "b", "two", "three", "c", "d", "four"].map((text) => [text, "nested"])
      ])
      assert.deepStrictEqual(given, [
        { all: { "a!": ["one!", { "b!": "two!", "three!": 3 }], "c!": null, "d!": "four!" } }
      ])
    }))

  it.effect("keeps what has the name of a prototype", () =>
    Effect.gen(function*() {
      const Nested = Tool.make("nested", { parameters: Schema.Json, success: Schema.String })
      const Nest = Toolkit.make(Nested)
      const agent = Agent.make("a", {
        toolkit: Nest,
        guardrails: {
          toolCall: [Guardrail.make("loud", (text) => text === "b" ? Guardrail.replace("b!", "quiet") : Guardrail.pass)]
        }
      })
      const { state } = yield* ran(Agent.run(agent, "Go")).pipe(Effect.provide([
        Nest.toLayer({ nested: () => Effect.succeed("nothing") }),
        model(MockResponse.toolCall("nested", JSON.parse(`{"__proto__":{"a":"b"}}`)), done)
      ]))
      assert.include(turns(state)[1], `nested({"__proto__":{"a":"b!"}})`)
    }))
})

describe("A call that needs approval", () => {
  it.effect("is looked at before it is shown for that, and not again", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const asked: Array<unknown> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [names(asked)] } })
      yield* Effect.gen(function*() {
        const { events, state } = yield* ran(Agent.run(agent, "Sign"))
        const params = { name: "account 7" }
        assert.deepStrictEqual(ofTag(events, "ApprovalRequested").map((event) => event.params), [params])
        assert.deepStrictEqual(AgentState.pendingApprovals(state).map((call) => call.params), [params])
        assert.deepStrictEqual(ofTag(events, "ToolCallSettled").map(({ callId, outcome }) => [callId, outcome]), [[
          "b",
          "Failed"
        ]])
        const approved = yield* Effect.fromResult(AgentState.approve(throughText(state), "a"))
        const last = yield* ran(Agent.resume(agent, approved))
        assert.deepStrictEqual(asked, ["Ada", "Mallory"])
        assert.deepStrictEqual(said(last.events), [])
        assert.deepStrictEqual(given, [params])
        assert.strictEqual(AgentState.text(last.state), "Done.")
      }).pipe(Effect.provide([
        handlers(given),
        model(
          MockResponse.all(
            MockResponse.toolCall("sign", { name: "Ada" }, { id: "a" }),
            MockResponse.toolCall("sign", { name: "Mallory" }, { id: "b" })
          ),
          done
        )
      ]))
    }))
})

describe("A call that a state brings along", () => {
  const user: Conversation.Turn = { _tag: "User", parts: [Conversation.text("Sign")] }
  const turn = (...parts: ReadonlyArray<Conversation.Call>): Conversation.Turn => ({
    _tag: "Assistant",
    agent: "a",
    parts,
    usage: {},
    finishReason: "tool-calls"
  })
  const waiting = (name: string, more?: Partial<Conversation.Call>): Conversation.Call => ({
    ...Conversation.call("c1", "sign", { name }, { _tag: "AwaitingApproval" }),
    ...more
  })
  const made = (...parts: ReadonlyArray<Conversation.Call>) =>
    AgentState.make("a", { conversation: Conversation.make([user, turn(...parts)]) })
  const approved = (state: AgentState.AgentState) => Effect.fromResult(AgentState.approve(state, "c1"))
  const guarded = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [names()] } })
  const refusal = `"Guardrail \\"names\\" blocked this call: nobody pays Mallory"`

  it.effect("is looked at once it is approved, and what is refused leaves nothing behind", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      yield* Effect.gen(function*() {
        const { events, state } = yield* ran(Agent.resume(guarded, yield* approved(made(waiting("Mallory")))))
        assert.deepStrictEqual(given, [])
        assert.deepStrictEqual(turns(state), ["User: Sign", `a: sign({}) Failed ${refusal}`, "a: Done."])
        assert.deepStrictEqual(said(events), ["toolCall: names Block (nobody pays Mallory)"])
        const passed = yield* ran(Agent.resume(guarded, yield* approved(throughText(made(waiting("Bob"))))))
        assert.deepStrictEqual(given, [{ name: "Bob" }])
        assert.deepStrictEqual(said(passed.events), ["toolCall: names Warn (a name)"])
      }).pipe(Effect.provide([handlers(given), model(done, done)]))
    }))

  it.effect("runs as it was approved or not at all: the model calls again", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      yield* Effect.gen(function*() {
        const { events, state } = yield* ran(Agent.resume(guarded, yield* approved(made(waiting("Ada")))))
        assert.deepStrictEqual(given, [])
        assert.match(String(ofTag(events, "ToolCallSettled")[0]?.result), /^This call wasn't run: a guardrail changes/)
        assert.notInclude(JSON.stringify(AgentState.toJson(state)), "Ada")
        assert.deepStrictEqual(AgentState.pendingApprovals(state).map(({ params }) => params), [{ name: "account 7" }])
        const again = yield* Effect.fromResult(AgentState.approve(state, "c2"))
        assert.strictEqual(AgentState.text(yield* Agent.resume(guarded, again)), "Done.")
        assert.deepStrictEqual(given, [{ name: "account 7" }])
      }).pipe(Effect.provide([
        handlers(given),
        model(MockResponse.toolCall("sign", { name: "Ada" }, { id: "c2" }), done)
      ]))
    }))

  it.effect("is looked at by guardrails that its agent got while it waited, and only then", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const asked: Array<unknown> = []
      const other = Guardrail.make("other", () => Guardrail.pass)
      const before = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [other] } })
      const after = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [other, names(asked)] } })
      yield* Effect.gen(function*() {
        const state = yield* approved(throughText(yield* Agent.run(before, "Sign")))
        assert.deepStrictEqual(said((yield* ran(Agent.resume(before, state))).events), [])
        assert.deepStrictEqual(given, [{ name: "Mallory" }])
        const refused = yield* Agent.resume(after, state)
        assert.deepStrictEqual(asked, ["Mallory"])
        assert.strictEqual(given.length, 1)
        assert.include(turns(refused)[1], refusal)
      }).pipe(Effect.provide([
        handlers(given),
        model(MockResponse.toolCall("sign", { name: "Mallory" }, { id: "c1" }), done, done)
      ]))
    }))

  it.effect("is refused in each state behind the verdict, too", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const Anything = Toolkit.make(Tool.make("sign", {
        parameters: Schema.Struct({ name: Schema.optionalKey(Schema.String) }),
        success: Schema.String,
        needsApproval: true
      }))
      const agent = Agent.make("a", { toolkit: Anything, guardrails: { toolCall: [names()] } })
      const calls = [
        yield* approved(made(waiting("Mallory"))),
        yield* approved(made(waiting("Ada"))),
        made(waiting("Mallory", { state: { _tag: "Pending" } }))
      ]
      for (const start of calls) {
        yield* Effect.gen(function*() {
          const { events } = yield* ran(Agent.resume(agent, start))
          const at = events.findIndex(({ _tag }) => _tag === "GuardrailSettled")
          const cut = throughText(events.slice(0, at + 1).reduce(AgentState.reduce, start))
          const last = yield* Agent.resume(agent, cut)
          assert.deepStrictEqual(given, [])
          assert.match(turns(last)[1]!, /sign\(\{\}\) Failed/)
        }).pipe(Effect.provide([
          Anything.toLayer({ sign: (params) => Effect.sync(() => String(given.push(params))) }),
          model(done, done)
        ]))
      }
    }))

  it.effect("is looked at if it was imported, or if the provider runs it", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const { conversation } = Conversation.fromPrompt(
        Prompt.fromMessages([
          Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text: "Sign" })] }),
          Prompt.makeMessage("assistant", {
            content: [
              Prompt.makePart("tool-call", {
                id: "c1",
                name: "sign",
                params: { name: "Mallory" },
                providerExecuted: false
              }),
              Prompt.makePart("tool-approval-request", { approvalId: "ap", toolCallId: "c1" })
            ]
          })
        ]),
        { agent: "a" }
      )
      const imported = AgentState.make("a", { conversation })
      const ofProvider = { providerExecuted: true, approvalId: "ap" } as const
      const starts = [imported, made(waiting("Mallory", ofProvider))]
      for (const state of starts) {
        yield* Effect.gen(function*() {
          const last = yield* Agent.resume(guarded, yield* approved(state))
          assert.deepStrictEqual(given, [])
          assert.include(turns(last)[1], `sign({}) Failed ${refusal}`)
        }).pipe(Effect.provide([handlers(given), model(done)]))
      }
      const pending = made(waiting("Mallory", { ...ofProvider, state: { _tag: "Pending" } }))
      const last = yield* Agent.resume(guarded, pending).pipe(Effect.provide([handlers(given), model(done)]))
      assert.include(turns(last)[1], `sign({}) Failed ${refusal}`)
    }))

  it.effect("is looked at even if it can't run: its parameters don't fit, or there is no such tool", () =>
    Effect.gen(function*() {
      const pending = (name: string, params: Schema.Json) => made(Conversation.call("c1", name, params))
      const shown = made(waiting("Zoe"))
      const wrong = { params: { name: ["Ada"] } }
      const starts = [
        [pending("sign", { name: ["Ada"] }), "sign", { name: ["account 7"] }],
        [pending("sing", { name: "Ada" }), "sing", { name: "account 7" }],
        [pending("sing", { name: "Mallory" }), "sing", {}],
        [yield* Effect.fromResult(AgentState.approve(shown, "c1", wrong)), "sign", { name: ["account 7"] }]
      ] as const
      for (const [state, name, kept] of starts) {
        yield* Effect.gen(function*() {
          const { events, state: last } = yield* ran(Agent.resume(guarded, throughText(state)))
          assert.include(turns(last)[1], `${name}(${JSON.stringify(kept)}) Failed`)
          assert.deepStrictEqual(events.reduce(AgentState.reduce, state), last)
          assert.notMatch(JSON.stringify([AgentState.toJson(last), events, yield* sent]), /Ada|"Mallory"/)
        }).pipe(Effect.provide([handlers([]), model(done)]))
      }
    }))

  it.effect("is looked at in a called agent by that agent's guardrails", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const boss = Agent.make("boss", { agents: [Agent.asTool(guarded)] })
      const outer: Conversation.Turn = {
        _tag: "Assistant",
        agent: "boss",
        parts: [Conversation.call("o", "a", { task: "Sign" }, { _tag: "Delegated", child: made(waiting("Mallory")) })],
        usage: {},
        finishReason: "tool-calls"
      }
      const state = AgentState.make("boss", { conversation: Conversation.make([user, outer]) })
      const last = yield* Agent.resume(boss, yield* approved(state)).pipe(
        Effect.provide([handlers(given), model(done, done)])
      )
      assert.deepStrictEqual(given, [])
      assert.strictEqual(AgentState.text(last), "Done.")
    }))
})

describe("Guardrails on calls", () => {
  it.effect("look at agents that are called and at modes that are entered, not at answers and handoffs", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const looking = Guardrail.make("looking", (params, { call }) => {
        asked.push([call.name, params])
        return call.name === "helper"
          ? Guardrail.replace({ task: "help her" }, "a name")
          : call.name === "enter_closed_mode"
          ? Guardrail.block("it is closed")
          : call.name === "enter_open_mode"
          ? Guardrail.replace({ topic: "gold" }, "why not")
          : Guardrail.pass
      }, { on: "toolCall" })
      const helper = Agent.make("helper")
      const other = Agent.make("other")
      const topics: Array<string> = []
      const mode = <const Name extends string>(name: Name) =>
        Mode.make(name, {
          params: Schema.Struct({ topic: Schema.String }),
          invokable: true,
          enter: ({ topic }) => Effect.sync(() => void topics.push(`${name} ${topic}`))
        })
      const agent = Agent.make("a", {
        agents: [Agent.asTool(helper)],
        handoffs: [Handoff.to(other)],
        modes: [mode("closed"), mode("open")],
        output: Schema.Struct({ name: Schema.String }),
        guardrails: { toolCall: [looking] }
      })
      const first = yield* ran(Agent.run(agent, "Go"))
      assert.deepStrictEqual(asked, [
        ["helper", { task: "help Ada" }],
        ["enter_closed_mode", { topic: "iron" }],
        ["enter_open_mode", { topic: "silver" }]
      ])
      assert.deepStrictEqual(topics, ["open gold"])
      assert.deepStrictEqual(first.state.modes.map(({ name, params }) => [name, params]), [["open", { topic: "gold" }]])
      assert.strictEqual(first.state.status._tag, "Complete")
      assert.include(turns(first.state)[1], `helper({"task":"help her"}) Succeeded "I was told: help her"`)
      assert.include(turns(first.state)[1], `Guardrail \\"looking\\" blocked this call: it is closed`)
      asked.length = 0
      const second = yield* ran(Agent.run(agent, "Go on"))
      assert.strictEqual(second.state.agent, "other")
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      a: MockModel.conditional(
        MockModel.when(({ lastUserText }) => lastUserText === "Go on", MockResponse.toolCall("handoff_to_other", {})),
        MockModel.when(
          ({ lastToolResults, lastUserText }) => lastToolResults.length === 0 && lastUserText === "Go",
          MockResponse.all(
            MockResponse.toolCall("helper", { task: "help Ada" }),
            MockResponse.toolCall("enter_closed_mode", { topic: "iron" }),
            MockResponse.toolCall("enter_open_mode", { topic: "silver" })
          )
        ),
        MockModel.otherwise(MockResponse.toolCall("final_answer", { name: "Ada" }))
      ),
      helper: MockModel.make(({ lastUserText }) => `I was told: ${lastUserText}`),
      other: MockModel.queue("Here I am.")
    })))))

  it.effect("look at each call before any of the turn runs", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const slow = Guardrail.make("slow", (_, { call }) =>
        Effect.gen(function*() {
          yield* Effect.yieldNow
          log.push(`look ${call.id}`)
          return Guardrail.pass
        }), { on: "toolCall" })
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [slow] } })
      yield* ran(Agent.run(agent, "Pay")).pipe(Effect.provide([
        Kit.toLayer({
          pay: ({ to }) => Effect.sync(() => `${log.push(`pay ${to}`)}`),
          sign: () => Effect.succeed("")
        }),
        model(MockResponse.all(pay("x", 1, "a"), pay("y", 1, "b")), done)
      ]))
      assert.deepStrictEqual(log, ["look a", "look b", "pay x", "pay y"])
    }))

  it.effect("look at what a program invokes, which gets the replaced parameters, in the state too", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [names(), atMost(100)] } })
      yield* Effect.gen(function*() {
        const session = yield* Session.make(agent)
        const result = yield* session.invoke(Pay, { to: "Ada", cents: 500 })
        assert.strictEqual(result, "paid 1")
        assert.deepStrictEqual(given, [{ to: "account 7", cents: 100 }])
        const blocked = yield* Effect.flip(session.invoke(Pay, { to: "Mallory", cents: 5 }))
        assert.isTrue(blocked._tag === "SessionError" && blocked.reason._tag === "CallUnanswered")
        assert.include(blocked.message, "nobody pays Mallory")
        const state = yield* session.state
        assert.deepStrictEqual(turns(state), [
          `a: pay({"to":"account 7","cents":100}) Succeeded "paid 1"`,
          `a: pay({}) Failed "Guardrail \\"names\\" blocked this call: nobody pays Mallory"`
        ])
        assert.strictEqual(AgentState.text(yield* session.call("Well?")), "Done.")
      }).pipe(Effect.scoped, Effect.provide([handlers(given), model(done)]))
    }))
})
