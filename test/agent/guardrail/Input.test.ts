import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail, Mode, ModeTransition, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { made, model, ran, said, sent, turns, without } from "./looking.ts"

const marker = "(This was blocked and isn't shown.)"

const throughText = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))

describe("What a user says", () => {
  it.effect("is what the model sees and the state holds once it is replaced", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [made("Ada", "somebody"), made("Bob", "somebody")] } })
      const { events, state } = yield* ran(Agent.run(agent, "Ada knows Bob."))
      assert.deepStrictEqual(turns(state), ["User: somebody knows somebody.", "a: Fine."])
      assert.strictEqual(state.initialQuery, "somebody knows somebody.")
      assert.deepStrictEqual(yield* sent, [["user: somebody knows somebody."]])
      assert.deepStrictEqual(said(events), [
        `input: no Ada Replace (it says "Ada")`,
        `input: no Bob Replace (it says "Bob")`
      ])
      assert.deepStrictEqual(
        ofTag(events, "GuardrailSettled").map(({ replaced }) => replaced),
        [undefined, { turn: 0, input: [Conversation.text("somebody knows somebody.")] }]
      )
      assert.deepStrictEqual(throughText(state), state)
    }).pipe(Effect.provide(model("Fine."))))

  it.effect("goes to the model as it is with a warning", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [Guardrail.make("short", () => Guardrail.warn("short"))] } })
      const { events, state } = yield* ran(Agent.run(agent, "Hi"))
      assert.deepStrictEqual(turns(state), ["User: Hi", "a: Fine."])
      assert.deepStrictEqual(said(events), ["input: short Warn (short)"])
    }).pipe(Effect.provide(model("Fine."))))

  it.effect("is sent to nobody and kept nowhere once it is blocked, and the run fails", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", {
        guardrails: { input: [without("secret", asked), without("never asked", asked)] }
      })
      const { error, events, state } = yield* ran(Agent.run(agent, "My secret is 42."))
      assert.deepStrictEqual(asked, ["My secret is 42."])
      assert.isTrue(error?.reason._tag === "GuardrailBlocked")
      if (error?.reason._tag !== "GuardrailBlocked") return
      const { agent: name, guardrail, reason, stage } = error.reason
      assert.deepStrictEqual([name, guardrail, stage, reason], ["a", "without secret", "input", `it says "secret"`])
      assert.strictEqual(error.message, `Guardrail "without secret" of agent "a" blocked the input: it says "secret"`)
      assert.deepStrictEqual(error.state, state)
      assert.deepStrictEqual(state.status, {
        _tag: "Failed",
        error: { tag: "GuardrailBlocked", message: error.message, agent: "a", step: 0 }
      })
      assert.deepStrictEqual(turns(state), [`User: ${marker}`])
      assert.strictEqual(state.initialQuery, marker)
      assert.notInclude(JSON.stringify(AgentState.toJson(state)), "is 42")
      assert.deepStrictEqual(throughText(state), state)
      assert.deepStrictEqual(yield* sent, [])
      assert.deepStrictEqual(said(events), [`input: without secret Block (it says "secret")`])
      const caught = yield* Agent.run(agent, "My secret is 42.").pipe(
        Effect.catchReason("AgentError", "GuardrailBlocked", ({ guardrail }) => Effect.succeed(guardrail))
      )
      assert.strictEqual(caught, "without secret")
    }).pipe(Effect.provide(model())))

  it.effect("can't be said again by a model: to send it back is to block it", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        guardrails: { input: [Guardrail.make("polite", () => Guardrail.retry("Say please."))] }
      })
      const { error, events, state } = yield* ran(Agent.run(agent, "Go!"))
      assert.isTrue(error?.reason._tag === "GuardrailBlocked" && error.reason.reason === "Say please.")
      assert.deepStrictEqual(said(events), ["input: polite Block (Say please.)"])
      assert.deepStrictEqual(turns(state), [`User: ${marker}`])
    }).pipe(Effect.provide(model())))

  it.effect("is looked at with line breaks and without by a guardrail on text, as parts by one on inputs; all stay in place", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const file = Conversation.file("image/png", "aGk=")
      const onText = Guardrail.make("text", (text) => {
        asked.push(text)
        return Guardrail.replace("Look: a cat.", "longer")
      })
      const onParts = Guardrail.make("parts", (parts, { agent, stage, state }) => {
        asked.push(parts.map(({ _tag }) => _tag), agent, stage, state.conversation.turns.length)
        return Guardrail.replace([...parts, Conversation.text("Well?")], "no question")
      }, { on: "input" })
      const agent = Agent.make("a", { guardrails: { input: [onText, onParts] } })
      const { state } = yield* ran(Agent.run(agent, [file, Conversation.text("Look: "), Conversation.text("a dog.")]))
      assert.deepStrictEqual(asked, ["Look: \na dog.", "Look: a cat.", ["File", "Text", "Text"], "a", "input", 1])
      const [turn] = state.conversation.turns
      assert.deepStrictEqual(turn?._tag === "User" ? turn.parts : [], [
        file,
        Conversation.text("Look: "),
        Conversation.text("a cat."),
        Conversation.text("Well?")
      ])
      const textFirst = yield* Agent.run(Agent.make("a", { guardrails: { input: [onText] } }), [
        Conversation.text("Look: "),
        file,
        Conversation.text("a dog.")
      ])
      assert.deepStrictEqual(textFirst.conversation.turns[0], {
        _tag: "User",
        parts: [Conversation.text("Look: "), file, Conversation.text("a cat.")]
      })
    }).pipe(Effect.provide(model("Fine.", "Fine."))))

  it.effect("without any text is an empty one to a guardrail on text, which can give it some", () =>
    Effect.gen(function*() {
      const file = Conversation.file("image/png", "aGk=")
      const agent = Agent.make("a", {
        guardrails: {
          input: [Guardrail.make("text", (text) => Guardrail.replace(`What is this?${text}`, "no question"))]
        }
      })
      const { state } = yield* ran(Agent.run(agent, [file]))
      const [turn] = state.conversation.turns
      assert.deepStrictEqual(turn?._tag === "User" ? turn.parts : [], [file, Conversation.text("What is this?")])
    }).pipe(Effect.provide(model("Fine."))))

  it.effect("is replaced in the query that began the conversation only where it began it", () =>
    Effect.gen(function*() {
      const lenient = Agent.make("a")
      const strict = Agent.make("a", { guardrails: { input: [made("Hi", "Hello")] } })
      const first = yield* Agent.run(lenient, "Hi")
      const second = yield* Agent.continueConversation(strict, first, "Hi")
      assert.deepStrictEqual(turns(second), ["User: Hi", "a: Fine.", "User: Hello", "a: Fine."])
      assert.strictEqual(second.initialQuery, "Hi")
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() => "Fine.")))))
})

const Ask = Tool.make("ask", { success: Schema.String, needsApproval: true })
const Look = Tool.make("look", { success: Schema.String })
const Kit = Toolkit.make(Ask, Look)
const handlers = Kit.toLayer({ ask: () => Effect.succeed("yes"), look: () => Effect.succeed("seen") })

describe("Guardrails on inputs", () => {
  it.effect("are asked once in a run, before the first request, and not about what the tools say", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { input: [without("seen", asked)] } })
      const state = yield* Agent.run(agent, "Look")
      assert.strictEqual(AgentState.text(state), "I have.")
      yield* Agent.continueConversation(agent, state, "And now?")
      assert.deepStrictEqual(asked, ["Look", "And now?"])
    }).pipe(Effect.provide([handlers, model(MockResponse.toolCall("look", {}), "I have.", "Still.")])))

  it.effect("are asked about each of the words that wait behind an approval as they are said, and again before they are read", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", {
        toolkit: Kit,
        guardrails: { input: [without("bad", asked), made("Bob", "him")] }
      })
      const first = yield* Agent.run(agent, "Ask Bob")
      const second = yield* Agent.continueConversation(agent, first, "It is Bob")
      const third = yield* Agent.continueConversation(agent, second, "Really Bob")
      assert.deepStrictEqual(asked, ["Ask Bob", "It is Bob", "Really Bob"])
      assert.notInclude(JSON.stringify(AgentState.toJson(third)), "Bob")
      const [pending] = AgentState.pendingApprovals(third)
      const approved = yield* Effect.fromResult(AgentState.approve(third, pending!.callId))
      const last = yield* Agent.resume(agent, throughText(approved))
      assert.deepStrictEqual(asked, ["Ask Bob", "It is Bob", "Really Bob", "It is him", "Really him"])
      assert.deepStrictEqual(turns(last), [
        "User: Ask him",
        `a: ask({}) Succeeded "yes"`,
        "User: It is him",
        "User: Really him",
        "a: Fine."
      ])
    }).pipe(Effect.provide([handlers, model(MockResponse.toolCall("ask", {}), "Fine.")])))

  it.effect("are asked again when a run goes on that stopped before its model had answered, and not after that", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { input: [without("bad", asked)] } })
      const { state } = yield* ran(Agent.run(agent, "Look"))
      assert.strictEqual(state.status._tag, "Failed")
      assert.deepStrictEqual(asked, ["Look"])
      const again = yield* ran(Agent.resume(agent, AgentState.reopen(throughText(state))))
      assert.strictEqual(again.state.status._tag, "Failed")
      assert.deepStrictEqual(asked, ["Look", "Look"])
      const last = yield* Agent.resume(agent, AgentState.reopen(throughText(again.state)))
      assert.strictEqual(AgentState.text(last), "Fine.")
      assert.deepStrictEqual(asked, ["Look", "Look"])
    }).pipe(Effect.provide([
      handlers,
      model(
        MockResponse.fail(new AiError.InternalProviderError({ description: "overloaded" })),
        MockResponse.toolCall("look", {}),
        MockResponse.fail(new AiError.InternalProviderError({ description: "overloaded" })),
        "Fine."
      )
    ])))

  it.effect("are asked about all that no model has answered, where a run before failed", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", { guardrails: { input: [without("bad", asked)] } })
      const lenient = Agent.make("a")
      const { state } = yield* ran(Agent.run(lenient, "One"))
      yield* Agent.continueConversation(agent, state, "Two")
      assert.deepStrictEqual(asked, ["One", "Two"])
    }).pipe(
      Effect.provide(
        model(MockResponse.fail(new AiError.InternalProviderError({ description: "overloaded" })), "Fine.")
      )
    ))

  it.effect("are asked at a step by hand, too", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", {
        toolkit: Kit,
        guardrails: { input: [made("Ada", "her"), without("bad", asked)] }
      })
      const first = yield* Agent.step(agent, AgentState.ask(AgentState.make("a"), "Ada?", 0))
      const second = yield* Agent.step(agent, first)
      assert.deepStrictEqual(asked, ["her?"])
      assert.deepStrictEqual(turns(second), ["User: her?", `a: look({}) Succeeded "seen"`, "a: Fine."])
      const error = yield* Effect.flip(Agent.step(agent, AgentState.ask(AgentState.make("a"), "bad", 0)))
      assert.isTrue(error._tag === "AgentError" && error.reason._tag === "GuardrailBlocked")
      assert.deepStrictEqual(turns(error.state), [`User: ${marker}`])
      assert.strictEqual(error.state.status._tag, "Failed")
    }).pipe(Effect.provide([handlers, model(MockResponse.toolCall("look", {}), "Fine.")])))

  it.effect("look at what a mode says as at what a user says", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const greeting = Mode.make("greeting", {
        enter: Effect.fn(function*() {
          yield* Mode.call("Say hello.")
        })
      })
      const agent = Agent.make("a", { modes: [greeting], guardrails: { input: [without("bad", asked)] } })
      const program = Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("greeting")
        assert.deepStrictEqual(asked, ["Say hello."])
        yield* session.exitMode()
        yield* session.schedule(ModeTransition.push("greeting"))
        return yield* session.call("Good day")
      })
      const state = yield* Effect.scoped(program)
      assert.deepStrictEqual(asked, ["Say hello.", "Say hello.", "Good day"])
      assert.include(turns(state), "User: Good day")
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(() => "Hello.")))))
})

describe("What was blocked", () => {
  it.effect("is left behind by the next words: nobody looks at its mark", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const question = Guardrail.make("question", (text) => {
        asked.push(text)
        return text.endsWith("?") ? Guardrail.pass : Guardrail.block("it is no question")
      })
      const agent = Agent.make("a", { guardrails: { input: [question] } })
      const { state } = yield* ran(Agent.run(agent, "Tell me."))
      const last = yield* Agent.continueConversation(agent, throughText(state), "What is it?")
      assert.deepStrictEqual(asked, ["Tell me.", "What is it?"])
      assert.deepStrictEqual(turns(last), [`User: ${marker}`, "User: What is it?", "a: Fine."])
      assert.deepStrictEqual(yield* sent, [[`user: ${marker}`, "user: What is it?"]])
    }).pipe(Effect.provide(model("Fine."))))

  it.effect("is blocked again where a run goes on with it, and nobody is asked", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", { guardrails: { input: [without("bad", asked)] } })
      const { error, state } = yield* ran(Agent.run(agent, "bad"))
      const again = yield* ran(Agent.resume(agent, AgentState.reopen(throughText(state))))
      assert.deepStrictEqual(again.error?.reason, error?.reason)
      assert.deepStrictEqual(again.state, state)
      assert.deepStrictEqual(asked, ["bad"])
      assert.deepStrictEqual(said(again.events), [])
    }).pipe(Effect.provide(model())))

  it.effect("ends the run that gave it at once, though a call waits, and the next words leave it behind", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { input: [without("bad", asked)] } })
      const first = yield* Agent.run(agent, "Ask")
      const { error, state: second } = yield* ran(Agent.continueConversation(agent, first, "bad"))
      assert.strictEqual(error?.reason._tag, "GuardrailBlocked")
      const again = yield* ran(Agent.resume(agent, AgentState.reopen(second)))
      assert.strictEqual(again.state.status._tag, "WaitingForTools")
      const third = yield* Agent.continueConversation(agent, second, "good")
      assert.deepStrictEqual(asked, ["Ask", "bad", "good"])
      const denied = yield* Effect.fromResult(
        AgentState.deny(third, AgentState.pendingApprovals(third)[0]!.callId, "no")
      )
      const last = yield* Agent.resume(agent, denied)
      assert.strictEqual(AgentState.text(last), "Fine.")
    }).pipe(Effect.provide([handlers, model(MockResponse.toolCall("ask", {}), "Fine.")])))

  for (const way of ["a state", "a session"]) {
    it.effect(`is left behind by the next words of ${way} that was reopened while a call waits, and by no others`, () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: Kit, guardrails: { input: [without("bad")] } })
        const first = yield* Agent.run(agent, "Ask")
        const { state: second } = yield* ran(Agent.continueConversation(agent, first, "bad"))
        const deny = (state: AgentState.AgentState) =>
          Effect.fromResult(AgentState.deny(state, AgentState.pendingApprovals(state)[0]!.callId, "no"))
        const reopened = throughText(AgentState.reopen(second))
        const again = yield* ran(Agent.resume(agent, yield* deny(reopened)))
        assert.strictEqual(again.error?.reason._tag, "GuardrailBlocked")
        const session = yield* Session.make(agent, { state: second })
        if (way === "a session") yield* session.resume
        const third = way === "a session"
          ? yield* session.call("good")
          : yield* Agent.continueConversation(agent, reopened, "good")
        const fourth = yield* Agent.continueConversation(agent, third, "better")
        assert.strictEqual(fourth.run.inputs, 2)
        assert.strictEqual(AgentState.text(yield* Agent.resume(agent, yield* deny(fourth))), "Fine.")
        const bad = yield* Effect.flip(Agent.continueConversation(agent, fourth, "bad"))
        const failed = yield* Effect.flip(Agent.resume(agent, yield* deny(AgentState.reopen(bad.state))))
        assert.strictEqual(failed.reason._tag, "GuardrailBlocked")
      }).pipe(Effect.scoped, Effect.provide([handlers, model(MockResponse.toolCall("ask", {}), "Fine.")])))
  }
})

describe("Agents that are called", () => {
  it.effect("have guardrails of their own, and none of their callers'", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const helper = Agent.make("helper", { guardrails: { input: [without("evil", asked)] } })
      const agent = Agent.make("a", {
        agents: [Agent.asTool(helper)],
        guardrails: { input: [without("help", asked)] }
      })
      const { events, state } = yield* ran(Agent.run(agent, "Go"))
      assert.deepStrictEqual(asked, ["Go", "help me", "do evil"])
      assert.deepStrictEqual(turns(state), [
        "User: Go",
        `a: helper({"task":"help me"}) Succeeded "I helped." | helper({"task":"do evil"}) Failed ` +
        `"Agent \\"helper\\" failed: Guardrail \\"without evil\\" of agent \\"helper\\" blocked the input: it says \\"evil\\""`,
        "a: Fine."
      ])
      assert.deepStrictEqual(
        ofTag(events, "GuardrailSettled").map(({ calls, path, verdict }) => [path.join("/"), calls.length, verdict]),
        [["a", 0, "Pass"], ["a/helper", 1, "Pass"], ["a/helper", 1, "Block"]]
      )
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      a: MockModel.queue(
        MockResponse.all(
          MockResponse.toolCall("helper", { task: "help me" }),
          MockResponse.toolCall("helper", { task: "do evil" })
        ),
        "Fine."
      ),
      helper: MockModel.queue("I helped.")
    })))))
})

describe("Modes", () => {
  for (const mode of ["blocking", "parallel"] as const) {
    it.effect(`that keep what they say to themselves give back the user's words, which nobody looks at twice (${mode})`, () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const noting = Guardrail.make("noting", (text) => {
          asked.push(text)
          return Guardrail.pass
        }, { mode })
        const aside = Mode.make("aside", { isolation: "fork", invokable: true, enter: () => Effect.void })
        const agent = Agent.make("a", {
          modes: [aside],
          guardrails: { input: [made("Ada", "her"), noting] }
        })
        const state = yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* Session.make(agent)
          yield* session.enterMode("aside")
          return yield* session.call("Ada?")
        }))
        assert.deepStrictEqual(asked, ["her?"])
        assert.deepStrictEqual(turns(state), ["User: her?", "a: Fine."])
        assert.deepStrictEqual(
          (yield* sent).map((messages) => messages.filter((message) => !message.startsWith("system"))),
          [
            ["user: her?"],
            ["user: her?"]
          ]
        )
      }).pipe(Effect.provide(model(MockResponse.toolCall("exit_current_mode", {}), "Fine."))))
  }

  it("that show other turns bring back nothing that a guardrail replaced meanwhile", () => {
    const before = AgentState.ask(AgentState.make("a"), "Ada?", 0)
    const frame = {
      name: "cut",
      isolation: "thread",
      params: {},
      values: {},
      enteredAt: 0,
      turns: 1,
      view: { hidden: before.conversation.turns, shown: 1 },
      before: {}
    } as const
    const after = AgentState.reduce({ ...before, modes: [frame] }, {
      _tag: "GuardrailSettled",
      run: "",
      path: ["a"],
      calls: [],
      step: 0,
      sequence: 1,
      at: 0,
      guardrail: "no Ada",
      stage: "input",
      started: 0,
      verdict: "Replace",
      replaced: { turn: 0, input: [Conversation.text("her?")] },
      duration: 0
    })
    assert.deepStrictEqual(after.modes[0]?.view?.hidden.map(Conversation.textOf), ["her?"])
    assert.deepStrictEqual(turns(after), ["User: her?"])
  })
})
