/** Every way in, with values that nobody should give: what comes of it is a state that can be stored. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema, Stream } from "effect"
import { LanguageModel, Prompt, type Response, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail, Handoff, Mode, Session, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { hostile, levelsOf, nested } from "../domain/hostile.ts"
import { times } from "../matrix.ts"

const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))

/** Stores a state and reads it again. */
const stored = (state: AgentState.AgentState) => {
  const text = JSON.stringify(AgentState.toJson(state))
  assert.deepStrictEqual(AgentState.fromJson(text), Result.succeed(state))
}

const callsOf = (state: AgentState.AgentState): ReadonlyArray<Conversation.Call> =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : [])

const settledOf = (state: AgentState.AgentState) =>
  callsOf(state).map(({ state }) => state._tag === "Settled" ? [state.outcome, state.result] : state._tag)

const Any = Tool.make("any", { parameters: Schema.Unknown, success: Schema.Unknown, failure: Schema.Unknown })
const Shown = Object.assign(Tool.make("shown", { success: Schema.Unknown }), {
  toModelOutput: (value: unknown) => [
    Prompt.textPart({ text: "seen", options: { some: value as Schema.Json } })
  ]
})
const Search = Tool.providerDefined({
  id: "test.search",
  customName: "search",
  providerName: "search",
  args: Schema.Struct({}),
  parameters: Schema.Unknown,
  success: Schema.Unknown,
  failure: Schema.Unknown
})({})
const Tools = Toolkit.make(Any, Shown, Search)
const taker = Agent.make("taker", { toolkit: Tools })

const handlers = (make: () => unknown) =>
  Tools.toLayer({
    any: (params, { preliminary }) => params === "fail" ? Effect.fail(make()) : Effect.as(preliminary(make()), make()),
    shown: () => Effect.sync(make)
  })

const odd = { arbitrary: { runs: times(60, 25) } }

describe("A state can be stored, whatever", () => {
  it.effect.prop(
    "a model gives as parameters, as metadata, and a provider as a result",
    [hostile],
    ([make]) =>
      Effect.gen(function*() {
        const metadata = { some: nested(5_000) as Schema.Json }
        const state = yield* Agent.settle(taker, "Go").pipe(Effect.provide([
          handlers(() => "done"),
          model(
            MockResponse.all(
              MockResponse.toolCall("any", make()),
              MockResponse.providerCall("search", make(), make()),
              MockResponse.text("Hm.", { metadata: { some: null } })
            ),
            MockResponse.text("Done.", { metadata })
          )
        ]))
        stored(state)
      }),
    odd
  )

  it.effect.prop(
    "a handler gives, as a result, as a failure, and to a model",
    [hostile],
    ([make]) =>
      Effect.gen(function*() {
        const given = Layer.merge(
          handlers(make),
          model(
            MockResponse.all(
              MockResponse.toolCall("any", {}),
              MockResponse.toolCall("any", "fail"),
              MockResponse.toolCall("shown", {})
            ),
            "Done."
          )
        )
        stored(yield* Effect.provide(Agent.settle(taker, "Go"), given))
        const end = yield* Stream.runLast(Agent.stream(taker, "Go")).pipe(Effect.provide(given))
        assert.isTrue(end._tag === "Some" && end.value._tag === "RunCompleted")
        if (end._tag === "Some" && end.value._tag === "RunCompleted") stored(end.value.state)
      }),
    odd
  )

  it.effect.prop(
    "a program gives, to a tool, to a mode and to its values",
    [hostile],
    ([make]) =>
      Effect.gen(function*() {
        const mode = Mode.make("m", {
          params: Schema.Struct({ of: Schema.Unknown }),
          enter: () => Mode.set("key", make() as Schema.Json)
        })
        const session = yield* Session.make(Agent.make("taker", { toolkit: Tools, modes: [mode] }))
        yield* Effect.exit(session.invoke(Any, make()))
        yield* Effect.exit(session.enterMode("m", { of: make() as Schema.Json }))
        stored(yield* session.state)
      }).pipe(Effect.scoped, Effect.provide([handlers(make), model("Done.")])),
    odd
  )

  it.effect.prop("a model hands over with", [hostile], ([make]) =>
    Effect.gen(function*() {
      const boss = Handoff.to("boss", { parameters: Schema.Unknown, toolName: "escalate" })
      const triage = Agent.make("triage", { handoffs: [boss, Handoff.to(Agent.make("boss"))] })
      const state = yield* Agent.settle(triage, "Go").pipe(
        Effect.provide(model(MockResponse.toolCall("escalate", make()), "Done."))
      )
      stored(state)
    }), odd)

  it.effect.prop("an imported history holds", [hostile], ([make]) =>
    Effect.sync(() => {
      const { conversation } = Conversation.fromPrompt(Prompt.fromMessages([
        Prompt.assistantMessage({
          content: [
            Prompt.textPart({ text: "Hm.", options: { some: make() as Schema.Json } }),
            Prompt.toolCallPart({ id: "a", name: "any", params: make(), providerExecuted: false })
          ]
        }),
        Prompt.toolMessage({
          content: [
            Prompt.toolResultPart({
              id: "a",
              name: "any",
              isFailure: false,
              result: make(),
              modelOutput: [Prompt.textPart({ text: "Hm.", options: { some: make() as Schema.Json } })],
              providerExecuted: false
            })
          ]
        })
      ]))
      stored(AgentState.make("a", { conversation }))
    }), odd)
})

describe("What is nested too deeply", () => {
  const deep = nested(501)
  const most = nested(500) as Schema.Json

  it.effect("is a call that failed, where a model calls with it, a handler gives it, or a provider does", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(taker, "Go").pipe(Effect.provide([
        handlers(() => deep),
        model(
          MockResponse.all(
            MockResponse.toolCall("any", deep),
            MockResponse.toolCall("any", {}),
            MockResponse.providerCall("search", {}, deep)
          ),
          "Done."
        )
      ]))
      assert.deepStrictEqual(settledOf(state), [
        ["Failed", "This call was not run: its parameters are nested more than 500 levels deep."],
        ["Failed", `The result of tool "any" is nested more than 500 levels deep.`],
        ["Failed", "The provider gave a result that is nested more than 500 levels deep."]
      ])
      assert.deepStrictEqual(callsOf(state)[0]?.params, {})
      assert.strictEqual(AgentState.text(state), "Done.")
    }))

  it.effect("is no answer either, whatever its schema, and no answer of a called agent", () =>
    Effect.gen(function*() {
      const text = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
      const guardrails = { output: [Guardrail.length({ max: 10 })] }
      const child = Agent.make("child", { output: Schema.Unknown, guardrails })
      const ending = Agent.make("ending", {
        output: Schema.Struct({ a: Schema.Int }),
        toolkit: Tools,
        stopWhen: StopWhen.toolCalled("any")
      })
      const boss = Agent.make("boss", { agents: [Agent.asTool(child), Agent.asTool(ending)] })
      for (const levels of [501, 100_000]) {
        const state = yield* Agent.run(boss, "Go").pipe(
          Effect.provide(MockModel.layer(MockModel.byAgent({
            boss: MockModel.queue(
              MockResponse.all(
                MockResponse.toolCall("child", { task: "a" }),
                MockResponse.toolCall("ending", { task: "a" })
              ),
              "Done."
            ),
            child: MockModel.queue(text(levels), text(500)),
            ending: MockModel.queue(MockResponse.all(text(levels), MockResponse.toolCall("any", {})))
          }))),
          Effect.provide(handlers(() => 1))
        )
        const [given, ended] = settledOf(state)
        assert.deepStrictEqual([given?.[0], levelsOf(given?.[1])], ["Succeeded", 500])
        assert.deepStrictEqual(ended, ["Succeeded", text(levels)])
        stored(state)
      }
    }))

  it.effect("is no more than 500 levels, which pass", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(taker, "Go").pipe(Effect.provide([
        handlers(() => most),
        model(
          MockResponse.all(MockResponse.toolCall("any", most), MockResponse.providerCall("search", {}, most)),
          "Done."
        )
      ]))
      assert.deepStrictEqual(settledOf(state), [["Succeeded", most], ["Succeeded", most]])
      assert.strictEqual(levelsOf(callsOf(state)[0]?.params), 500)
      stored(state)
    }))
})

/** A model whose provider reports tokens as nobody can have counted them. */
const reporting = (usage: typeof Response.Usage.Encoded) => {
  const finish = { type: "finish", reason: "stop", usage } as const
  return Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () => Effect.succeed([{ type: "text", text: "Yes." }, finish]),
      streamText: () =>
        Stream.fromIterable<Response.StreamPartEncoded>([
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "Yes." },
          { type: "text-end", id: "t" },
          finish
        ])
    })
  )
}

describe("What a provider reports wrongly", () => {
  it.effect("is unknown", () =>
    Effect.gen(function*() {
      for (const tokens of [-1, -(2 ** 40)]) {
        const usage = {
          inputTokens: { uncached: 1, total: 7, cacheRead: tokens, cacheWrite: undefined },
          outputTokens: { total: tokens, text: 1, reasoning: 0 }
        }
        for (const run of [Agent.run(Agent.make("a"), "Go"), Agent.settle(Agent.make("a"), "Go")]) {
          const state = yield* Effect.provide(run, reporting(usage))
          assert.deepStrictEqual(
            state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? [turn.usage] : []),
            [
              { input: 7, reasoning: 0 }
            ]
          )
          assert.deepStrictEqual(state.usage.cached, { known: 0, unreported: 1 })
          stored(state)
        }
        const events = yield* Stream.runCollect(Agent.stream(Agent.make("a"), "Go")).pipe(
          Effect.provide(reporting(usage))
        )
        const end = events.at(-1)
        if (end?._tag === "RunCompleted") stored(end.state)
      }
    }))

  it.effect("never adds up to more than can be counted", () =>
    Effect.gen(function*() {
      const most = Number.MAX_SAFE_INTEGER
      const usage = {
        inputTokens: { uncached: most, total: most, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: most, text: most, reasoning: 0 }
      }
      const state = yield* Agent.runMultiTurn(Agent.make("a"), ["One", "Two"]).pipe(Effect.provide(reporting(usage)))
      assert.deepStrictEqual(state.usage.input, { known: most, unreported: 0 })
      stored(state)
    }))
})
