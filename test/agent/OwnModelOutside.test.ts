/** An agent's own model is the one that is asked outside of its steps too: by guardrails, modes and instructions. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Guardrail, Mode, Session, SystemPrompt, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

/** Who was asked what, in order. */
const make = () => {
  const asked: Array<string> = []
  const model = (name: string, answer: (text: string) => MockResponse.Input) =>
    MockModel.layer(MockModel.make(({ lastToolResults, lastUserText }) => {
      asked.push(`${name}: ${lastToolResults.length > 0 ? "results" : lastUserText}`)
      return answer(lastToolResults.length > 0 ? "results" : lastUserText)
    }))
  return { asked, model }
}

const Sign = Toolkit.make(
  Tool.make("sign", {
    parameters: Schema.Struct({ name: Schema.String }),
    success: Schema.String,
    needsApproval: true
  }),
  Tool.make("later", { success: Schema.String })
)
const handlers = Sign.toLayer({
  sign: ({ name }) => Effect.succeed(`signed ${name}`),
  later: () => ToolPolicy.deferResult
})

const aside = (text: string) => Effect.asVoid(Effect.orDie(LanguageModel.generateText({ prompt: text })))

const judge = <const On extends Guardrail.Subject>(on: On) =>
  Guardrail.make(`judge of ${on}`, () => Effect.as(aside(`judge ${on}`), Guardrail.pass), { on } as never) as never

const answer = (text: string): MockResponse.Input =>
  text === "sign"
    ? MockResponse.toolCall("sign", { name: "Ada" })
    : text === "later"
    ? MockResponse.toolCall("later", {})
    : "Done."

describe("An agent's own model", () => {
  const desk = (
    own: Layer.Layer<LanguageModel.LanguageModel>,
    mode = Mode.make("m", { enter: () => aside("set-up") })
  ) =>
    Agent.withModel(
      Agent.make("desk", {
        toolkit: Sign,
        modes: [mode],
        instructions: () =>
          Effect.as(Effect.orDie(LanguageModel.generateText({ prompt: "instructions" })), "Be brief."),
        guardrails: { input: [judge("input")], toolCall: [judge("toolCall")], toolResult: [judge("toolResult")] }
      }),
      own
    )

  const grounds = ["without a model around", "with another model around"]
  it.effect.each(grounds)("is asked by all that runs outside of its steps, %s", (ground) =>
    Effect.gen(function*() {
      const { asked, model } = make()
      const program = Effect.gen(function*() {
        const agent = desk(model("own", answer))
        const session = yield* Session.make(agent)
        yield* session.call("sign")
        // Calls are open, so the guardrails on the input are asked at once.
        yield* Agent.continueConversation(agent, yield* session.state, "More.")
        const [waiting] = AgentState.pendingApprovals(yield* session.state)
        asked.length = 0
        yield* session.approve(waiting!.callId, { params: { name: "Bob" } })
        assert.deepStrictEqual(asked.splice(0), ["own: judge toolCall"])
        yield* session.resume
        yield* session.call("later")
        const [awaited] = AgentState.pendingResults(yield* session.state)
        asked.length = 0
        yield* session.giveResult(awaited!.callId, "It came.")
        assert.deepStrictEqual(asked.splice(0), ["own: judge toolResult"])
        yield* session.resume
        asked.length = 0
        yield* session.enterMode("m")
        assert.deepStrictEqual(asked.splice(0), ["own: set-up"])
        yield* Effect.provideService(SystemPrompt.render(), Mode.Host, session)
        assert.deepStrictEqual(asked.splice(0), ["own: instructions"])
        yield* session.invoke(Sign.tools.sign, { name: "Cid" })
        assert.deepStrictEqual(asked.splice(0), ["own: judge toolCall", "own: judge toolResult"])
      }).pipe(Effect.scoped, Effect.provide(handlers))
      yield* (ground === "without a model around"
        ? program as Effect.Effect<void>
        : Effect.provide(program, model("other", () => "No.")) as Effect.Effect<void>)
      assert.deepStrictEqual(asked.filter((each) => each.startsWith("other")), [])
    }))

  it.effect("is asked by the judges of a called agent's input", () =>
    Effect.gen(function*() {
      const { asked, model } = make()
      const helper = Agent.withModel(
        Agent.make("helper", { guardrails: { input: [judge("input")] } }),
        model("helper", () => "Helped.")
      )
      const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
      const caller = model("boss", (text) =>
        text === "results" ? "Done." : MockResponse.toolCall("helper", { task: "Help." }))
      const state = yield* Agent.run(boss, "Go").pipe(Effect.provide(caller))
      assert.strictEqual(AgentState.text(state), "Done.")
      assert.deepStrictEqual(asked, ["boss: Go", "helper: judge input", "helper: Help.", "boss: results"])
    }))

  it.effect("is asked by the judges of what a person gives to a called agent's call, and is the next caller's if it has none", () =>
    Effect.gen(function*() {
      const { asked, model } = make()
      const released: Array<string> = []
      const releasing = Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => released.push("middle"))))
      const places: Array<string> = []
      const looking = <const On extends Guardrail.Subject>(on: On) =>
        Guardrail.make(`judge of ${on}`, () =>
          Effect.gen(function*() {
            yield* aside(`judge ${on}`)
            places.push((yield* Agent.CurrentAgent)?.path.join(" > ") ?? "nowhere")
            yield* Effect.orDie(SystemPrompt.append(`Judged ${on}.`))
            return Guardrail.pass
          }), { on } as never) as never
      const inner = Agent.make("inner", {
        toolkit: Sign,
        guardrails: { toolCall: [looking("toolCall")], toolResult: [looking("toolResult")] }
      })
      const calling = (name: string) => MockResponse.toolCall(name, { task: "sign" })
      const middle = Agent.withModel(
        Agent.make("middle", { agents: [Agent.asTool(inner)] }),
        Layer.mergeAll(
          MockModel.layer(MockModel.make(({ agent, lastUserText }) => {
            asked.push(`middle: ${lastUserText}`)
            return lastUserText !== "sign"
              ? "Fine."
              : agent === "middle"
              ? calling("inner")
              : MockResponse.all(
                MockResponse.toolCall("sign", { name: "Ada" }),
                MockResponse.toolCall("later", {})
              )
          })),
          releasing
        )
      )
      const outer = Agent.make("outer", { agents: [Agent.asTool(middle)] })
      yield* Effect.gen(function*() {
        const session = yield* Session.make(outer)
        yield* session.call("Go")
        const [waiting] = AgentState.pendingApprovals(yield* session.state)
        const [awaited] = AgentState.pendingResults(yield* session.state)
        for (const list of [asked, places, released]) list.length = 0
        yield* session.approve(waiting!.callId, { params: { name: "Bob" } })
        assert.deepStrictEqual(asked.splice(0), ["middle: judge toolCall"])
        assert.deepStrictEqual(released.splice(0), ["middle"])
        const given = yield* session.giveResult(awaited!.callId, "It came.")
        assert.deepStrictEqual(asked.splice(0), ["middle: judge toolResult"])
        assert.deepStrictEqual(released.splice(0), ["middle"])
        assert.deepStrictEqual(places, ["outer > middle > inner", "outer > middle > inner"])
        assert.deepStrictEqual(given.prompt, [])
        assert.deepStrictEqual(
          AgentState.at(given, waiting!.calls)?.prompt.slice(-2).map(({ text }) => text),
          ["Judged toolCall.", "Judged toolResult."]
        )
      }).pipe(
        Effect.scoped,
        Effect.provide(handlers),
        Effect.provide(model("outer", (text) => text === "Go" ? calling("middle") : "Fine."))
      )
    }))

  it.effect("is built once for all that asks it in an operation, and released at its end", () =>
    Effect.gen(function*() {
      const { model } = make()
      const events: Array<string> = []
      const own = Layer.mergeAll(
        model("own", answer),
        Layer.effectDiscard(
          Effect.acquireRelease(
            Effect.sync(() => events.push("built")),
            () => Effect.sync(() => events.push("released"))
          )
        )
      )
      const talkative = Mode.make("m", { enter: () => Effect.andThen(aside("one"), aside("two")) })
      const session = yield* Session.make(desk(own, talkative))
      yield* session.enterMode("m")
      assert.deepStrictEqual(events, ["built", "released"])
      yield* session.configure({ toolChoice: "auto" })
      assert.lengthOf(events, 2)
    }).pipe(Effect.scoped, Effect.provide(handlers)) as Effect.Effect<void>)
})
