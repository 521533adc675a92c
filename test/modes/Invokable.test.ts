import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, type Conversation, Handoff, Mode, ModeTransition, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { allCalls, ofTag, watch } from "../agent/watch.ts"
import { problems } from "../domain/legal.ts"
import { ends, reasonOf, said, sent, stackOf } from "./sent.ts"

const nothing = () => Effect.void

const Search = Tool.make("search", { parameters: Schema.Struct({ query: Schema.String }), success: Schema.String })
const Write = Tool.make("write", { success: Schema.String })
const Cite = Tool.make("cite", { parameters: Schema.Struct({ of: Schema.String }), success: Schema.String })
const Own = Toolkit.make(Search, Write)
const Citing = Toolkit.make(Cite)
const handlers = Layer.mergeAll(
  Own.toLayer({ search: ({ query }) => Effect.succeed(`found ${query}`), write: () => Effect.succeed("written") }),
  Citing.toLayer({ cite: ({ of }) => Effect.succeed(`cited ${of}`) })
)

const call = (name: string, params: object = {}) => MockResponse.toolCall(name, params)

const answering = (...responses: ReadonlyArray<MockResponse.Input>) =>
  Effect.provide(MockModel.layer(MockModel.queue(...responses, "Done.")))

const echo = Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`)))

/** What the calls of a state came to, by the names of their tools. */
const settled = (state: AgentState.AgentState) =>
  allCalls(state).map(({ name, state }) =>
    state._tag === "Settled" ? [name, state.outcome, state.result] : [name, state._tag]
  )

describe("An invokable mode", () => {
  const research = Mode.make("research", {
    invokable: true,
    description: "Deep research with citations.",
    params: Schema.Struct({ topic: Schema.String, since: Schema.optionalKey(Schema.Date) }),
    enter: nothing
  })

  it.effect("gives the model a tool that is named, described and has parameters as the mode does", () =>
    Effect.gen(function*() {
      yield* Agent.run(Agent.make("a", { modes: [research, Mode.make("plain", { enter: nothing })] }), "Hello")
      const [request] = (yield* MockModel.calls).map(({ request }) => request)
      assert.deepStrictEqual((yield* sent)[0]?.tools, ["enter_research_mode"])
      const tool = request?.tools.find(({ name }) => name === "enter_research_mode")
      assert.strictEqual(tool?.description, "Enters the mode \"research\". Deep research with citations.")
      const { properties, required } = Tool.getJsonSchema(tool!) as {
        readonly properties: object
        readonly required: ReadonlyArray<string>
      }
      assert.deepStrictEqual(Object.keys(properties), ["topic", "since"])
      assert.deepStrictEqual(required, ["topic"])
    }).pipe(answering()))

  it.effect("has another tool name where one is given, and needs no description", () =>
    Effect.gen(function*() {
      const modes = [Mode.make("deep dive", { invokable: true, toolName: "dive", enter: nothing })]
      yield* Agent.run(Agent.make("a", { modes }), "Hello")
      assert.deepStrictEqual((yield* sent)[0]?.tools, ["dive"])
      const [request] = (yield* MockModel.calls).map(({ request }) => request)
      assert.strictEqual(
        request?.tools.find(({ name }) => name === "dive")?.description,
        "Enters the mode \"deep dive\"."
      )
    }).pipe(answering()))

  it("can't have the name of another tool", () => {
    const taken = Mode.make("taken", { invokable: true, toolName: "search", enter: nothing })
    assert.throws(() => Agent.make("a", { toolkit: Own, modes: [taken] }), /search/)
    const own = Toolkit.make(Tool.make("exit_current_mode"))
    assert.throws(() => Agent.make("a", { toolkit: own, modes: [research] }), /exit_current_mode/)
  })

  it.effect("is entered with what the model says, above the others", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      const mode = Mode.make("research", {
        invokable: true,
        params: Schema.Struct({ topic: Schema.String, since: Schema.Date }),
        enter: (params) => Effect.sync(() => void given.push(params))
      })
      const around = Mode.make("around", { enter: nothing })
      const session = yield* Session.make(Agent.make("a", { modes: [around, mode] }))
      yield* session.enterMode("around")
      const state = yield* session.call("Go")
      assert.deepStrictEqual(stackOf(state), ["around", "research"])
      assert.deepStrictEqual(given, [{ topic: "gold", since: new Date("2026-01-02T00:00:00.000Z") }])
      assert.deepStrictEqual(state.modes[1]?.params, { topic: "gold", since: "2026-01-02T00:00:00.000Z" })
      assert.deepStrictEqual(settled(state), [["enter_research_mode", "Succeeded", "Entering mode \"research\"."]])
      assert.deepStrictEqual((yield* sent).map(({ system }) => system), [
        "You are in mode \"around\".",
        "You are in mode \"research\", inside \"around\"."
      ])
    }).pipe(
      Effect.scoped,
      answering(call("enter_research_mode", { topic: "gold", since: "2026-01-02T00:00:00.000Z" }))
    ))

  it.effect("takes the place of the one on top, where its invocation is to switch", () =>
    Effect.gen(function*() {
      const first = Mode.make("first", { invokable: true, enter: nothing })
      const second = Mode.make("second", { invokable: true, invocation: "switch", enter: nothing })
      const state = yield* Agent.run(Agent.make("a", { modes: [first, second] }), "Go")
      assert.deepStrictEqual(stackOf(state), ["second"])
      assert.deepStrictEqual((yield* sent).map(({ system }) => system), [
        "",
        "You are in mode \"first\".",
        "You are in mode \"second\"."
      ])
    }).pipe(answering(call("enter_first_mode"), call("enter_second_mode"))))

  it.effect("isn't entered with wrong parameters, and the model reads why", () =>
    Effect.gen(function*() {
      const { events, exit } = yield* watch(Agent.run(Agent.make("a", { modes: [research] }), "Go"))
      const state = yield* exit
      assert.deepStrictEqual(stackOf(state), [])
      const [, outcome, result] = settled(state)[0]!
      assert.strictEqual(outcome, "Failed")
      assert.match(String(result), /parameters of "enter_research_mode" are wrong/)
      assert.deepStrictEqual(ofTag(events, "ModeTransitionRequested"), [])
    }).pipe(answering(call("enter_research_mode", { topic: 1 }))))

  it.effect("is the last one that an answer of the model asks for", () =>
    Effect.gen(function*() {
      const modes = [
        Mode.make("one", { invokable: true, enter: () => Effect.die("it was entered") }),
        Mode.make("two", { invokable: true, enter: nothing })
      ]
      const state = yield* Agent.run(Agent.make("a", { modes }), "Go")
      assert.deepStrictEqual(stackOf(state), ["two"])
      assert.deepStrictEqual(settled(state), [
        [
          "enter_one_mode",
          "Failed",
          "Mode \"one\" isn't entered by this call: the last move that is asked for counts."
        ],
        ["enter_two_mode", "Succeeded", "Entering mode \"two\"."]
      ])
    }).pipe(answering(MockResponse.all(call("enter_one_mode"), call("enter_two_mode")))))

  it.effect("isn't entered by an answer that then leaves the mode around, nor left by one that then enters another", () =>
    Effect.gen(function*() {
      const modes = ["one", "two"].map((name) => Mode.make(name, { invokable: true, enter: nothing }))
      const session = yield* Session.make(Agent.make("a", { modes }))
      yield* session.enterMode("one")
      const entered = yield* session.call("Go")
      assert.deepStrictEqual(stackOf(entered), ["one", "two"])
      assert.deepStrictEqual(settled(entered).map(([, ...rest]) => rest), [
        ["Failed", "Mode \"one\" isn't left by this call: the last move that is asked for counts."],
        ["Succeeded", "Entering mode \"two\"."]
      ])
      yield* session.exitMode()
      const left = yield* session.call("Go")
      assert.deepStrictEqual(stackOf(left), [])
      assert.deepStrictEqual(settled(left).slice(2).map(([, ...rest]) => rest), [
        ["Failed", "Mode \"two\" isn't entered by this call: the last move that is asked for counts."],
        ["Succeeded", "Leaving mode \"one\"."]
      ])
    }).pipe(
      Effect.scoped,
      answering(
        MockResponse.all(call("exit_current_mode"), call("enter_two_mode")),
        "In.",
        MockResponse.all(call("enter_two_mode"), call("exit_current_mode"))
      )
    ))

  it.effect("isn't said to be entered where a tool may ask for another move, or another agent takes over", () =>
    Effect.gen(function*() {
      const Move = Toolkit.make(Tool.make("move", { success: Schema.String }))
      const modes = ["one", "two"].map((name) => Mode.make(name, { invokable: true, enter: nothing }))
      const desk = Agent.make("desk")
      const agent = Agent.make("a", { toolkit: Move, modes, handoffs: [Handoff.to(desk)] })
      yield* Effect.gen(function*() {
        const moved = yield* Agent.run(agent, "Go")
        assert.deepStrictEqual(stackOf(moved), ["two"])
        assert.deepStrictEqual(settled(moved)[0]?.slice(1), [
          "Succeeded",
          "Entering mode \"one\", unless another call of this step asks for another move."
        ])
        const taken = yield* Agent.run(agent, "Go")
        assert.deepStrictEqual([taken.agent, stackOf(taken)], ["desk", []])
        assert.deepStrictEqual(settled(taken)[0]?.slice(1), [
          "Failed",
          "Mode \"one\" isn't entered by this call: agent \"desk\" takes over."
        ])
      }).pipe(Effect.provide(Move.toLayer({
        move: () => Mode.schedule(ModeTransition.push("two")).pipe(Effect.as("moved"), Effect.orDie)
      })))
    }).pipe(answering(
      MockResponse.all(call("enter_one_mode"), call("move")),
      "In.",
      MockResponse.all(call("enter_one_mode"), call("handoff_to_desk")),
      "Hello."
    )))

  it.effect("is said to be entered, or not, where only calls before it may ask for another move", () =>
    Effect.gen(function*() {
      const Tools = Toolkit.make(
        Tool.make("look", { success: Schema.String }),
        Tool.make("move", { success: Schema.String })
      )
      const modes = ["one", "two"].map((name) => Mode.make(name, { invokable: true, enter: nothing }))
      const agent = Agent.make("a", { toolkit: Tools, modes })
      const handlers = Tools.toLayer({
        look: () => Effect.as(Effect.yieldNow, "seen"),
        move: () => Mode.schedule(ModeTransition.push("two")).pipe(Effect.as("moved"), Effect.orDie)
      })
      const states = yield* Agent.states(agent, "Go").pipe(Stream.runCollect, Effect.provide(handlers))
      const last = states[states.length - 1]!
      const entered = settled(last)[1]?.slice(1)
      assert.deepStrictEqual(entered, ["Succeeded", "Entering mode \"one\"."])
      // A run that continues where the call before it is settled says the same.
      const halfway = states.find((state) =>
        settled(state)[0]?.[1] === "Succeeded" && settled(state)[1]?.[1] === "Pending"
      )!
      const resumed = yield* Agent.resume(agent, halfway).pipe(Effect.provide(handlers))
      assert.deepStrictEqual(settled(resumed)[1]?.slice(1), entered)
      const other = yield* Agent.run(agent, "Go").pipe(Effect.provide(handlers))
      assert.deepStrictEqual(stackOf(other), ["two"])
      assert.deepStrictEqual(settled(other)[1]?.slice(1), [
        "Failed",
        "Mode \"one\" isn't entered by this call: the last move that is asked for counts."
      ])
    }).pipe(answering(
      MockResponse.all(call("look"), call("enter_one_mode")),
      "In.",
      "In.",
      MockResponse.all(call("move"), call("enter_one_mode")),
      "In."
    )))

  it.effect("can be left by the model, and only such a mode can, while it is on top", () =>
    Effect.gen(function*() {
      const mode = Mode.make("mode", { invokable: true, enter: nothing })
      const plain = Mode.make("plain", { enter: nothing })
      const session = yield* Session.make(Agent.make("a", { modes: [mode, plain] }))
      const state = yield* session.call("Go")
      assert.deepStrictEqual(stackOf(state), [])
      assert.deepStrictEqual((yield* sent).map(({ tools }) => tools), [
        ["enter_mode_mode"],
        ["exit_current_mode"],
        ["enter_mode_mode"]
      ])
      assert.deepStrictEqual(settled(state)[1], ["exit_current_mode", "Succeeded", "Leaving mode \"mode\"."])
      yield* session.enterMode("mode")
      yield* session.enterMode("plain")
      const refused = yield* session.call("Out")
      assert.deepStrictEqual(stackOf(refused), ["mode", "plain"])
      assert.deepStrictEqual((yield* sent)[3]?.tools, ["enter_mode_mode"])
      assert.deepStrictEqual(settled(refused)[2], [
        "exit_current_mode",
        "Failed",
        "\"exit_current_mode\" isn't offered now."
      ])
    }).pipe(
      Effect.scoped,
      answering(call("enter_mode_mode"), call("exit_current_mode"), "Left.", call("exit_current_mode"))
    ))

  it.effect("isn't offered while it is on top, and is below others", () =>
    Effect.gen(function*() {
      const modes = [
        Mode.make("one", { invokable: true, enter: nothing }),
        Mode.make("two", { invokable: true, enter: nothing })
      ]
      const session = yield* Session.make(Agent.make("a", { modes }))
      yield* session.enterMode("one")
      const state = yield* session.call("Go")
      assert.deepStrictEqual(stackOf(state), ["one"])
      assert.deepStrictEqual(settled(state)[0], [
        "enter_one_mode",
        "Failed",
        "\"enter_one_mode\" isn't offered now."
      ])
      yield* session.enterMode("two")
      yield* session.call("Go")
      assert.deepStrictEqual((yield* sent).map(({ tools }) => [...tools].sort()), [
        ["enter_two_mode", "exit_current_mode"],
        ["enter_two_mode", "exit_current_mode"],
        ["enter_one_mode", "exit_current_mode"]
      ])
    }).pipe(Effect.scoped, answering(call("enter_one_mode"), "No.")))

  it.effect("isn't offered where it couldn't be entered", () =>
    Effect.gen(function*() {
      const modes = [
        Mode.make("around", { isolation: "config", enter: nothing }),
        Mode.make("top", { isolation: "fork", enter: nothing }),
        Mode.make("pushed", { invokable: true, isolation: "thread", enter: nothing }),
        Mode.make("switched", { invokable: true, isolation: "thread", invocation: "switch", enter: nothing }),
        Mode.make("loose", { invokable: true, invocation: "switch", enter: nothing })
      ]
      const session = yield* Session.make(Agent.make("a", { modes }))
      yield* session.enterMode("around")
      yield* session.enterMode("top")
      const state = yield* session.call("Go")
      assert.deepStrictEqual((yield* sent)[0]?.tools, ["enter_switched_mode"])
      assert.deepStrictEqual(settled(state).map(([, outcome]) => outcome), ["Failed", "Failed"])
      assert.deepStrictEqual(stackOf(state), ["around", "top"])
    }).pipe(Effect.scoped, answering(MockResponse.all(call("enter_pushed_mode"), call("enter_loose_mode")))))
})

describe("A mode", () => {
  it.effect("is told to the model: its name, what it is for, and what it is inside of", () =>
    Effect.gen(function*() {
      const outer = Mode.make("outer", { description: "Out here.", enter: nothing })
      const inner = Mode.make("inner", { description: "In here.", enter: nothing })
      const session = yield* Session.make(Agent.make("a", { instructions: "Be brief.", modes: [outer, inner] }))
      yield* session.call("One")
      yield* session.enterMode("outer")
      yield* session.call("Two")
      yield* session.enterMode("inner")
      yield* session.call("Three")
      yield* session.exitMode()
      yield* session.exitMode()
      yield* session.call("Four")
      assert.deepStrictEqual((yield* sent).map(({ system }) => system), [
        "Be brief.",
        "Be brief.\n\nYou are in mode \"outer\". Out here.",
        "Be brief.\n\nYou are in mode \"inner\", inside \"outer\". In here.",
        "Be brief."
      ])
    }).pipe(Effect.scoped, echo))

  const citing = Mode.make("citing", { toolkit: Citing, enter: nothing })

  it.effect("offers its own tools only while it is entered, at any height", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(
        Agent.make("a", { toolkit: Own, modes: [citing, Mode.make("inner", { enter: nothing })] })
      )
      yield* session.call("One")
      yield* session.enterMode("citing")
      yield* session.call("Two")
      yield* session.enterMode("inner")
      yield* session.call("Three")
      yield* session.exitMode()
      yield* session.exitMode()
      yield* session.call("Four")
      assert.deepStrictEqual((yield* sent).map(({ tools }) => tools), [
        ["search", "write"],
        ["search", "write", "cite"],
        ["search", "write", "cite"],
        ["search", "write"]
      ])
    }).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  it.effect("runs its own tools, and refuses them to a model that calls them from elsewhere", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [citing] }))
      assert.deepStrictEqual(settled(yield* session.call("One")), [
        ["cite", "Failed", "\"cite\" isn't offered now."]
      ])
      yield* session.enterMode("citing")
      const state = yield* session.call("Two")
      assert.deepStrictEqual(settled(state)[1], ["cite", "Succeeded", "cited b"])
    }).pipe(
      Effect.scoped,
      answering(call("cite", { of: "a" }), "No.", call("cite", { of: "b" })),
      Effect.provide(handlers)
    ))

  it.effect("brings what the handlers of its tools need into the run", () =>
    Effect.gen(function*() {
      class Library extends Context.Service<Library, { readonly name: string }>()("test/Library") {}
      const cites = Citing.toLayer(
        Effect.map(Library, ({ name }) => ({ cite: ({ of }) => Effect.succeed(`${of} in ${name}`) }))
      )
      const library = Layer.succeed(Library, { name: "Alexandria" })
      const session = yield* Effect.provide(
        Session.make(Agent.make("a", { modes: [citing] })),
        Layer.provide(cites, library)
      )
      yield* session.enterMode("citing")
      assert.deepStrictEqual(settled(yield* session.call("Cite")), [["cite", "Succeeded", "a in Alexandria"]])
    }).pipe(Effect.scoped, answering(call("cite", { of: "a" }))))

  const narrow = Mode.make("narrow", { tools: ["search"], toolkit: Citing, enter: nothing })

  it.effect("narrows what the agent offers, not its own tools", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { toolkit: Own, modes: [narrow] }))
      yield* session.enterMode("narrow")
      yield* session.call("One")
      yield* session.exitMode()
      yield* session.call("Two")
      assert.deepStrictEqual((yield* sent).map(({ tools }) => tools), [["search", "cite"], ["search", "write"]])
    }).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  it.effect("refuses a tool that it hides, also where the model calls it all the same", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { toolkit: Own, modes: [narrow] }))
      yield* session.enterMode("narrow")
      const { events, exit } = yield* watch(session.call("Go"))
      assert.deepStrictEqual(settled(yield* exit), [
        ["write", "Failed", "\"write\" isn't offered now."],
        ["search", "Succeeded", "found gold"]
      ])
      assert.deepStrictEqual(ofTag(events, "ToolCallStarted").map(({ name }) => name), ["search"])
    }).pipe(
      Effect.scoped,
      answering(MockResponse.all(call("write"), call("search", { query: "gold" }))),
      Effect.provide(handlers)
    ))

  it.effect("inside another narrows further, and hides that one's tools", () =>
    Effect.gen(function*() {
      const outer = Mode.make("outer", { tools: ["search", "write"], toolkit: Citing, enter: nothing })
      const inner = Mode.make("inner", { tools: ["write"], enter: nothing })
      const none = Mode.make("none", { tools: [], enter: nothing })
      const session = yield* Session.make(Agent.make("a", { toolkit: Own, modes: [outer, inner, none] }))
      yield* session.enterMode("outer")
      yield* session.call("One")
      yield* session.enterMode("inner")
      yield* session.call("Two")
      yield* session.enterMode("none")
      yield* session.call("Three")
      assert.deepStrictEqual((yield* sent).map(({ tools }) => tools), [["search", "write", "cite"], ["write"], []])
    }).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  it.effect("leaves a way out and an answer, however narrow it is", () =>
    Effect.gen(function*() {
      const none = Mode.make("none", { invokable: true, tools: [], enter: nothing })
      const agent = Agent.make("a", {
        toolkit: Own,
        modes: [none, Mode.make("other", { invokable: true, enter: nothing })],
        output: Schema.Struct({ answer: Schema.Int })
      })
      const session = yield* Session.make(agent)
      yield* session.enterMode("none")
      const state = yield* session.call("What is it?")
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(session, state)), { answer: 42 })
      assert.deepStrictEqual((yield* sent)[0]?.tools, ["final_answer", "exit_current_mode"])
      assert.deepStrictEqual(stackOf(state), ["none"])
    }).pipe(Effect.scoped, answering(call("final_answer", { answer: 42 })), Effect.provide(handlers)))

  const named = (name: string) =>
    Layer.provide(
      Layer.effect(LanguageModel.LanguageModel, LanguageModel.LanguageModel),
      MockModel.layer(MockModel.make(() => `By ${name}.`))
    )

  it.effect("asks its own model, the innermost first, for as long as it is entered", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        modes: [
          Mode.make("strong", { model: named("strong"), enter: nothing }),
          Mode.make("cheap", { model: named("cheap"), enter: nothing }),
          Mode.make("plain", { enter: nothing })
        ]
      })
      const session = yield* Session.make(agent)
      const ask = Effect.map(session.call("Who?"), AgentState.text)
      const answers: Array<string> = [yield* ask]
      for (const name of ["strong", "plain", "cheap"]) {
        yield* session.enterMode(name)
        answers.push(yield* ask)
      }
      for (let left = 0; left < 3; left++) {
        yield* session.exitMode()
        answers.push(yield* ask)
      }
      assert.deepStrictEqual(answers, [
        "Re: Who?",
        "By strong.",
        "By strong.",
        "By cheap.",
        "By strong.",
        "By strong.",
        "Re: Who?"
      ])
    }).pipe(Effect.scoped, echo))

  it.effect("asks its own model from the next request of a run on, and in its set-up", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const strong = Mode.make("strong", {
        invokable: true,
        model: named("strong"),
        enter: () => Effect.map(Mode.call("Ready?"), (state) => void heard.push(AgentState.text(state)))
      })
      const state = yield* Agent.run(Agent.make("a", { modes: [strong] }), "Go")
      assert.deepStrictEqual(heard, ["By strong."])
      assert.strictEqual(AgentState.text(state), "By strong.")
      assert.strictEqual((yield* sent).length, 1)
    }).pipe(answering(call("enter_strong_mode"))))
})

describe("Invoking a tool", () => {
  const citing = Mode.make("citing", { toolkit: Citing, tools: ["search"], enter: nothing })

  it.effect("in a mode runs the mode's tools too, typed, and records a legal turn", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { toolkit: Own, modes: [citing] }))
      yield* session.enterMode("citing")
      const cited: string = yield* session.invoke(Cite, { of: "a" })
      assert.strictEqual(cited, "cited a")
      assert.strictEqual(yield* session.invoke(Search, { query: "b" }), "found b")
      const state = yield* session.state
      assert.deepStrictEqual(said(state), ["Assistant: <cite>", "Assistant: <search>"])
      assert.deepStrictEqual(settled(state), [["cite", "Succeeded", "cited a"], ["search", "Succeeded", "found b"]])
      assert.deepStrictEqual(problems(state.conversation), [])
      assert.strictEqual(state.steps, 0)
      const turn = state.conversation.turns[0] as Conversation.Assistant
      assert.deepStrictEqual(turn.parts[0]?.metadata, { troupe: { invoked: true } })
      assert.deepStrictEqual(Result.getOrThrow(AgentState.fromJson(AgentState.toJson(state))), state)
      yield* session.call("And?")
      assert.deepStrictEqual((yield* sent)[0]?.messages, [
        "user: [The conversation begins here.]",
        "assistant: tool-call",
        "tool: \"cited a\"",
        "assistant: tool-call",
        "tool: \"found b\"",
        "user: And?"
      ])
    }).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  it.effect("that no mode brings here, or that a mode hides, fails before anything is recorded", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { toolkit: Own, modes: [citing] }))
      const outside = yield* Effect.flip(session.invoke(Cite, { of: "a" }))
      assert.strictEqual(reasonOf(outside)._tag, "ToolNotFound")
      yield* session.enterMode("citing")
      const hidden = yield* Effect.flip(session.invoke(Write, {}))
      assert.strictEqual(reasonOf(hidden)._tag, "ToolNotFound")
      assert.deepStrictEqual(said(yield* session.state), [])
    }).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  it.effect("is dropped with the rest of a fork", () =>
    Effect.gen(function*() {
      const fork = Mode.make("fork", { isolation: "fork", enter: nothing })
      const session = yield* Session.make(Agent.make("a", { toolkit: Own, modes: [fork] }))
      yield* session.invoke(Search, { query: "a" })
      yield* session.enterMode("fork")
      yield* session.invoke(Search, { query: "b" })
      assert.deepStrictEqual(settled(yield* session.exitMode()), [["search", "Succeeded", "found a"]])
    }).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  /** An agent whose mode invokes tools of its session on its way in and out. */
  const making = (isolation: "none" | "fork") =>
    Effect.gen(function*() {
      let session: Session.Session<string, unknown> | undefined
      const found: Array<string> = []
      const invoke = (query: string) =>
        Effect.suspend(() => session!.invoke(Search, { query })).pipe(
          Effect.orDie,
          Effect.map((result) => void found.push(result))
        )
      const mode = Mode.make("mode", {
        isolation,
        invokable: true,
        enter: () => invoke("in"),
        exit: () => invoke("out")
      })
      const made = yield* Session.make(Agent.make("a", { toolkit: Own, modes: [mode] }))
      session = made
      return { session: made, found }
    })

  it.effect("is possible in set-up and clean-up, where the mode is entered and left by hand", () =>
    ends(Effect.gen(function*() {
      const { found, session } = yield* making("none")
      yield* session.enterMode("mode")
      const state = yield* session.exitMode()
      assert.deepStrictEqual(found, ["found in", "found out"])
      assert.deepStrictEqual(settled(state), [
        ["search", "Succeeded", "found in"],
        ["search", "Succeeded", "found out"]
      ])
    })).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  it.effect("is possible in set-up and clean-up, where the session moves", () =>
    ends(Effect.gen(function*() {
      const { found, session } = yield* making("none")
      yield* session.schedule(ModeTransition.push("mode"))
      yield* session.call("One")
      yield* session.schedule(ModeTransition.exit)
      const state = yield* session.call("Two")
      assert.deepStrictEqual(found, ["found in", "found out"])
      assert.deepStrictEqual(problems(state.conversation), [])
      assert.deepStrictEqual(said(state), [
        "Assistant: <search>",
        "User: One",
        "Assistant: Re: One",
        "Assistant: <search>",
        "User: Two",
        "Assistant: Re: Two"
      ])
    })).pipe(Effect.scoped, echo, Effect.provide(handlers)))

  it.effect("is possible in set-up and clean-up, where the model moves", () =>
    ends(Effect.gen(function*() {
      const { found, session } = yield* making("none")
      const state = yield* session.call("One")
      assert.deepStrictEqual(found, ["found in", "found out"])
      assert.deepStrictEqual(said(state), [
        "User: One",
        "Assistant: <enter_mode_mode>",
        "Assistant: <search>",
        "Assistant: <exit_current_mode>",
        "Assistant: <search>",
        "Assistant: Done."
      ])
      assert.deepStrictEqual(problems(state.conversation), [])
      assert.deepStrictEqual(state.steps, 3)
    })).pipe(Effect.scoped, answering(call("enter_mode_mode"), call("exit_current_mode")), Effect.provide(handlers)))

  it.effect("in a fork that a run leaves is dropped, and the question stays", () =>
    ends(Effect.gen(function*() {
      const { session } = yield* making("fork")
      const state = yield* session.call("One")
      assert.deepStrictEqual(said(state), ["User: One", "Assistant: <enter_mode_mode>", "Assistant: Done."])
    })).pipe(Effect.scoped, answering(call("enter_mode_mode"), call("exit_current_mode")), Effect.provide(handlers)))
})
