import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, References, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, Guardrail } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { attributesOf, recorded, tree } from "../spans.ts"
import { model } from "./looking.ts"

const Kit = Toolkit.make(
  Tool.make("say", { parameters: Schema.Struct({ text: Schema.String }), success: Schema.String })
)
const handlers = Kit.toLayer({ say: ({ text }) => Effect.succeed(text) })
const say = (text: string) => MockResponse.toolCall("say", { text })

/** Says at once what it says, or a second later. */
const saying = (name: string, verdict: Guardrail.Verdict<string>, takes = 0) =>
  Guardrail.make(name, () => takes === 0 ? verdict : Effect.delay(Effect.succeed(verdict), takes))

describe("The spans of guardrails", () => {
  it.effect("stand below the run's, one for each look, with who looked where and the verdict", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        toolkit: Kit,
        guardrails: {
          input: [saying("first", Guardrail.pass), saying("second", Guardrail.warn("odd"), 1000)],
          toolCall: [saying("call", Guardrail.block("no"))],
          output: [saying("last", Guardrail.replace("Well.", "better"))]
        }
      })
      const fiber = yield* Effect.forkChild(recorded(Agent.run(agent, "Go")))
      yield* TestClock.adjust("1 second")
      const { spans } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(tree(spans), [
        ["invoke_agent a", undefined],
        ["guardrail first", "invoke_agent a"],
        ["guardrail second", "invoke_agent a"],
        ["chat", "invoke_agent a"],
        ["guardrail call", "invoke_agent a"],
        ["chat", "invoke_agent a"],
        ["guardrail last", "invoke_agent a"]
      ])
      const guardrails = spans.filter(({ name }) => name.startsWith("guardrail"))
      assert.deepStrictEqual(
        guardrails.map(attributesOf),
        [
          ["first", "input", "Pass"],
          ["second", "input", "Warn"],
          ["call", "toolCall", "Block"],
          ["last", "output", "Replace"]
        ].map(([name, stage, verdict]) => ({
          "gen_ai.agent.name": "a",
          "troupe.guardrail.name": name,
          "troupe.guardrail.stage": stage,
          "troupe.guardrail.verdict": verdict
        }))
      )
      for (const { status } of spans) assert.isTrue(status._tag === "Ended" && Exit.isSuccess(status.exit))
      const [, second] = guardrails
      assert.strictEqual(
        second?.status._tag === "Ended" ? second.status.endTime - second.status.startTime : undefined,
        1_000_000_000n
      )
    }).pipe(Effect.provide([handlers, model(say("hi"), "Done.")])))

  it.effect("have what a check asks a model below them", () =>
    Effect.gen(function*() {
      const judging = Guardrail.make("judge", (text) =>
        Effect.map(LanguageModel.generateText({ prompt: text }), (response) =>
          response.text === "fine" ? Guardrail.pass : Guardrail.block("not fine")))
      const agent = Agent.make("a", { guardrails: { input: [judging] } })
      const { spans } = yield* recorded(Agent.run(agent, "Go"))
      assert.deepStrictEqual(tree(spans), [
        ["invoke_agent a", undefined],
        ["guardrail judge", "invoke_agent a"],
        ["LanguageModel.generateText", "guardrail judge"],
        ["chat", "invoke_agent a"]
      ])
    }).pipe(Effect.provide(model("fine", "Done."))))

  it.effect("end with an interruption, and with what a check broke down by", () =>
    Effect.gen(function*() {
      const slow = Agent.make("a", { guardrails: { input: [saying("slow", Guardrail.pass, 5000)] } })
      const fiber = yield* Effect.forkChild(recorded(Effect.timeoutOption(Agent.run(slow, "Go"), "1 second")))
      yield* TestClock.adjust("1 second")
      const { spans } = yield* Fiber.join(fiber)
      const broken = Agent.make("a", {
        guardrails: {
          input: [Guardrail.make("broken", () => {
            throw new Error("broken")
          })]
        }
      })
      const { spans: others } = yield* recorded(Agent.run(broken, "Go"))
      for (const span of [spans[1], others[1]]) {
        assert.strictEqual(span?.attributes.get("troupe.guardrail.verdict"), "Interrupted")
        assert.isTrue(span?.status._tag === "Ended" && Exit.isFailure(span.status.exit))
      }
    }).pipe(Effect.provide(model("Done."))))

  it.effect("carry what the program annotates its spans with, and aren't made where none are", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [saying("quick", Guardrail.pass)] } })
      const { spans } = yield* recorded(Effect.annotateSpans(Agent.run(agent, "Go"), "tenant", "acme"))
      assert.strictEqual(spans[1]?.attributes.get("tenant"), "acme")
      const off = yield* recorded(
        Effect.provideService(Agent.run(agent, "Go"), References.TracerEnabled, false)
      )
      assert.deepStrictEqual(off.spans, [])
    }).pipe(Effect.provide(MockModel.layer(MockModel.repeat("Done.")))))
})
