import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Result, Schema, SchemaGetter } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentError, AgentState, Conversation, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))
const final = (params: unknown) => MockResponse.toolCall("final_answer", params)

const Weather = Schema.Struct({ city: Schema.String, celsius: Schema.Finite })
const Look = Tool.make("look", { success: Schema.String })
const Tools = Toolkit.make(Look)
const looked = { times: 0 }
const handlers = Tools.toLayer({ look: () => Effect.sync(() => (looked.times++, "22")) })

const reporter = Agent.make("reporter", { output: Weather, toolkit: Tools })

/** What an agent answers, and what it was told meanwhile. */
const answerOf = <Output, E, R>(
  agent: Agent.Agent<string, Output, E, R>,
  ...responses: ReadonlyArray<MockResponse.Input>
) =>
  Agent.run(agent, "How warm is it?").pipe(
    Effect.flatMap((state) => Effect.fromResult(AgentState.output(agent, state))),
    Effect.provide(model(...responses))
  )

const feedback = (state: AgentState.AgentState) =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Feedback" ? [turn.text] : [])

describe("An agent with an output schema", () => {
  it.effect("gives the value of its final answer, after the tools that it needs", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(reporter, "How warm is it?").pipe(
        Effect.provide(model(MockResponse.toolCall("look", {}), final({ city: "Paris", celsius: 22 })))
      )
      assert.strictEqual(state.status._tag, "Complete")
      assert.deepStrictEqual(AgentState.output(reporter, state), Result.succeed({ city: "Paris", celsius: 22 }))
      assert.strictEqual(state.steps, 2)
    }).pipe(Effect.provide(handlers)))

  it.effect("corrects a wrong answer, or fails with it, in the step in which it came, if steps are taken by hand", () =>
    Effect.gen(function*() {
      const asked = AgentState.ask(AgentState.make("reporter"), "How warm is it?", 0)
      const once = Agent.make("reporter", { output: Weather, outputRetries: 1 })
      const corrected = yield* Agent.step(once, asked)
      assert.deepStrictEqual([corrected.status._tag, corrected.steps, feedback(corrected).length], ["InProgress", 1, 1])
      const failed = yield* Effect.flip(Agent.step(once, corrected))
      assert.strictEqual(failed.reason._tag, "OutputInvalid")
      assert.deepStrictEqual([failed.state.status._tag, failed.state.steps], ["Failed", 2])
      const strict = Agent.make("reporter", { output: Weather, outputRetries: 0 })
      const atOnce = yield* Effect.flip(Agent.step(strict, asked))
      assert.strictEqual(atOnce.reason._tag, "OutputInvalid")
      assert.strictEqual(AgentState.text(atOnce.state), "mild")
    }).pipe(Effect.provide(model("warm", "hot", "mild"))))

  it.effect("offers the schema as the parameters of a tool", () =>
    Effect.gen(function*() {
      yield* Agent.run(reporter, "How warm is it?")
      const [call] = yield* MockModel.calls
      assert.deepStrictEqual(call?.request.toolNames, ["look", "final_answer"])
      const tool = call?.request.tools.find(({ name }) => name === "final_answer")
      const json = tool === undefined ? undefined : Tool.getJsonSchema(tool)
      assert.deepInclude(json, { type: "object", required: ["city", "celsius"] })
    }).pipe(Effect.provide(model(final({ city: "Paris", celsius: 22 }))), Effect.provide(handlers)))

  it.effect("takes a text at its word where it is JSON that fits", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* answerOf(reporter, "{\"city\":\"Paris\",\"celsius\":22}"), {
        city: "Paris",
        celsius: 22
      })
    }).pipe(Effect.provide(handlers)))

  it.effect("answers with what isn't an object too", () =>
    Effect.gen(function*() {
      const list = Agent.make("list", { output: Schema.Array(Schema.String) })
      assert.deepStrictEqual(yield* answerOf(list, final({ value: ["a", "b"] })), ["a", "b"])
      assert.deepStrictEqual(yield* answerOf(list, "[\"a\"]"), ["a"])
      const count = Agent.make("count", { output: Schema.Finite })
      assert.strictEqual(yield* answerOf(count, final({ value: 0 })), 0)
      assert.strictEqual(yield* answerOf(count, "42"), 42)
      const word = Agent.make("word", { output: Schema.String })
      assert.strictEqual(yield* answerOf(word, final({ value: "" })), "")
      assert.strictEqual(yield* answerOf(word, "\"yes\""), "yes")
      const either = Agent.make("either", {
        output: Schema.Union([Schema.Struct({ found: Schema.String }), Schema.Literal("nothing")])
      })
      assert.deepStrictEqual(yield* answerOf(either, final({ value: { found: "it" } })), { found: "it" })
      assert.strictEqual(yield* answerOf(either, final({ value: "nothing" })), "nothing")
      const nothing = Agent.make("nothing", { output: Schema.Null })
      assert.strictEqual(yield* answerOf(nothing, final({ value: null })), null)
    }))

  it.effect("takes an object as it is where its schema is suspended, also one that isn't there yet", () =>
    Effect.gen(function*() {
      interface Tree {
        readonly name: string
        readonly branches: ReadonlyArray<Tree>
      }
      const Branch = Schema.suspend((): Schema.Codec<Tree> => Tree)
      const early = Agent.make("early", { output: Branch })
      const Tree = Schema.Struct({ name: Schema.String, branches: Schema.Array(Branch) })
      const oak = { name: "oak", branches: [{ name: "twig", branches: [] }] }
      for (
        const agent of [
          early,
          Agent.make("a", { output: Branch }),
          Agent.make("b", { output: Schema.suspend(() => Branch) })
        ]
      ) {
        assert.deepStrictEqual(yield* answerOf(agent, final(oak)), oak)
        assert.deepStrictEqual(yield* answerOf(agent, JSON.stringify(oak)), oak)
      }
      const list = Agent.make("list", { output: Schema.suspend(() => Schema.Array(Schema.String)) })
      assert.deepStrictEqual(yield* answerOf(list, final({ value: ["a"] })), ["a"])
    }))

  it.effect("decodes dates and bytes, which the state keeps as JSON", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", { output: Schema.Struct({ at: Schema.Date, data: Schema.Uint8Array }) })
      const state = yield* Agent.run(agent, "When?").pipe(
        Effect.provide(model(final({ at: "2026-01-02T03:04:05.000Z", data: "AQID" })))
      )
      const read = yield* Effect.fromResult(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))
      assert.deepStrictEqual(
        AgentState.output(agent, read),
        Result.succeed({ at: new Date("2026-01-02T03:04:05.000Z"), data: new Uint8Array([1, 2, 3]) })
      )
    }))

  it.effect("runs the calls beside a final answer, and ends with it", () =>
    Effect.gen(function*() {
      looked.times = 0
      const state = yield* Agent.run(reporter, "How warm is it?").pipe(
        Effect.provide(model(MockResponse.all(
          "It is",
          MockResponse.toolCall("look", {}),
          final({ city: "Paris", celsius: 22 })
        )))
      )
      assert.deepStrictEqual([state.status._tag, state.steps, looked.times], ["Complete", 1, 1])
      assert.isTrue(Result.isSuccess(AgentState.output(reporter, state)))
    }).pipe(Effect.provide(handlers)))

  it.effect("sends a wrong answer back with what is wrong, given by tool or as text", () =>
    Effect.gen(function*() {
      const wrong = [final({ city: "Paris", celsius: "warm" }), "It is warm.", "{\"city\":\"Paris\"}", ""]
      for (const answer of wrong) {
        const state = yield* Agent.run(reporter, "How warm is it?").pipe(
          Effect.provide(model(answer, final({ city: "Paris", celsius: 22 })))
        )
        assert.strictEqual(state.status._tag, "Complete")
        assert.deepStrictEqual(AgentState.output(reporter, state), Result.succeed({ city: "Paris", celsius: 22 }))
        const [said, ...rest] = feedback(state)
        assert.include(said, "final_answer")
        assert.deepStrictEqual(rest, [])
      }
      const state = yield* Agent.run(reporter, "How warm is it?").pipe(
        Effect.provide(model("{\"city\":\"Paris\",\"celsius\":\"warm\"}", final({ city: "Paris", celsius: 22 })))
      )
      assert.include(feedback(state)[0], "celsius")
    }).pipe(Effect.provide(handlers)))

  it.effect("fails typed once all corrections are used up", () =>
    Effect.gen(function*() {
      const failure = (outputRetries: number | undefined, ...responses: ReadonlyArray<MockResponse.Input>) =>
        Agent.run(
          Agent.make("reporter", { output: Weather, ...(outputRetries === undefined ? undefined : { outputRetries }) }),
          "How warm is it?"
        ).pipe(Effect.flip, Effect.provide(model(...responses)))
      for (const [retries, times] of [[undefined, 1], [0, 0], [3, 3]] as const) {
        const { reason, state } = yield* failure(retries, ...Array.from({ length: times + 1 }, () => "Warm."))
        assert.isTrue(reason._tag === "OutputInvalid" && reason.corrections === times && reason.issue.length > 0)
        assert.isTrue(state.status._tag === "Failed" && state.status.error.tag === "OutputInvalid")
        assert.strictEqual(state.steps, times + 1)
        assert.strictEqual(AgentState.text(state), "Warm.")
      }
    }))

  it.effect("counts corrections anew in each run", () =>
    Effect.gen(function*() {
      const state = yield* Agent.runMultiTurn(reporter, ["One?", "Two?"])
      assert.strictEqual(state.run.corrections, 1)
      assert.strictEqual(feedback(state).length, 2)
    }).pipe(
      Effect.provide(model("1", final({ city: "Paris", celsius: 1 }), "2", final({ city: "Paris", celsius: 2 }))),
      Effect.provide(handlers)
    ))

  it.effect("has no output while it has no answer", () =>
    Effect.gen(function*() {
      const noOutput = (state: AgentState.AgentState) => {
        const result = AgentState.output(reporter, state)
        return Result.isFailure(result) ? [result.failure._tag, result.failure.status] : []
      }
      const begun = AgentState.ask(AgentState.make("reporter"), "How warm is it?", 0)
      assert.deepStrictEqual(noOutput(begun), ["NoOutput", "InProgress"])
      const failed = yield* Agent.settle(reporter, "How warm is it?").pipe(Effect.provide(model("1", "2")))
      assert.deepStrictEqual(noOutput(failed), ["NoOutput", "Failed"])
      const finished = yield* Agent.run(
        Agent.make("reporter", { output: Weather, toolkit: Tools, stopWhen: StopWhen.toolCalled("look") }),
        "How warm is it?"
      ).pipe(Effect.provide(model(MockResponse.toolCall("look", {}))))
      assert.deepStrictEqual(noOutput(finished), ["NoOutput", "Complete"])
    }).pipe(Effect.provide(handlers)))

  it.effect("takes the answer that fits of several, and sends none back", () =>
    Effect.gen(function*() {
      const answers = MockResponse.all(final({ city: 1 }), final({ city: "Paris", celsius: 22 }))
      const state = yield* Agent.run(reporter, "How warm is it?").pipe(Effect.provide(model(answers)))
      assert.deepStrictEqual(AgentState.output(reporter, state), Result.succeed({ city: "Paris", celsius: 22 }))
      assert.deepStrictEqual(feedback(state), [])
    }).pipe(Effect.provide(handlers)))

  it.effect("fails where its answer was cut short, as often as it may answer wrongly", () =>
    Effect.gen(function*() {
      const cut = MockResponse.withFinishReason(final({ city: "Paris", celsius: 22 }), "length")
      const state = yield* Agent.run(reporter, "How warm is it?").pipe(
        Effect.provide(model(cut, final({ city: "Oslo", celsius: 2 })))
      )
      assert.deepStrictEqual(AgentState.output(reporter, state), Result.succeed({ city: "Oslo", celsius: 2 }))
      const [first] = Conversation.byAgent(state.conversation, "reporter")
      const [call] = first === undefined ? [] : Conversation.callsOf(first)
      assert.isTrue(call?.state._tag === "Settled" && call.state.outcome === "Interrupted")
    }).pipe(Effect.provide(handlers)))

  const needs = (decode: SchemaGetter.Getter<number, string>) =>
    Schema.String.pipe(Schema.decodeTo(Schema.Finite, { decode, encode: SchemaGetter.transform(String) }))

  it.effect.each<readonly [string, SchemaGetter.Getter<number, string>]>([
    ["time", SchemaGetter.transformEffect((text: string) => Effect.as(Effect.sleep(1), Number(text)))],
    [
      "a function that throws",
      SchemaGetter.transform((): number => {
        throw new Error("broken")
      })
    ]
  ])("names the schema if that needs %s", ([, decode]) =>
    Effect.gen(function*() {
      for (const answer of ["\"22\"", final({ value: "22" })]) {
        const exit = yield* Effect.exit(answerOf(Agent.make("thermometer", { output: needs(decode) }), answer))
        assert.isTrue(Exit.isFailure(exit))
        const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.instanceOf(defect, TypeError)
        assert.strictEqual(
          defect.message,
          "The schema `output` of agent \"thermometer\" must convert values at once, and not throw"
        )
        assert.isDefined(defect.cause)
      }
    }))

  it("can't have a tool of that name", () => {
    const toolkit = Toolkit.make(Tool.make("final_answer"))
    assert.throws(() => Agent.make("reporter", { output: Weather, toolkit }), /two tools of the name "final_answer"/)
    assert.isFalse(AgentError.isAgentError(new Agent.DuplicateTool({ agent: "a", tool: "b" })))
  })
})

describe("An agent without an output schema", () => {
  it.effect("gives its text", () =>
    Effect.gen(function*() {
      const agent = Agent.make("talker")
      assert.strictEqual(yield* answerOf(agent, "22 °C"), "22 °C")
      const state = yield* Agent.settle(agent, "").pipe(Effect.provide(model()))
      assert.isTrue(Result.isFailure(AgentState.output(agent, state)))
    }))
})
