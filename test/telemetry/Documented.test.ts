/** The tables of `docs/telemetry.md` say what is exported: nothing less, and nothing more. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, ContextWindow, Guardrail, Handoff, Mode, Session } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { saying } from "../ai-sdk/stub.ts"
import { assertNames, codes, inCode, read, rows } from "../docs/tables.ts"
import { exported } from "./sdk.ts"

const page = "docs/telemetry.md"

/** Asserts that a table has these names in its first column, with their attributes or spans in the second. */
const assertTable = (header: string, second: string, found: Readonly<Record<string, ReadonlyArray<string>>>): void => {
  const table = rows(page, header, second)
  assertNames([inCode(table, 0, (code) => code)], Object.keys(found))
  for (const { 0: first, 1: cell, where } of table) {
    for (const name of codes(first)) assert.sameMembers([...codes(cell)], [...found[name]!], `${where} ${name}`)
  }
}

const Tools = Toolkit.make(
  Tool.make("look", { description: "Looks around", success: Schema.String }),
  Tool.make("break", { failure: Schema.String })
)
const handlers = Tools.toLayer({ look: () => Effect.succeed("a lamp"), break: () => Effect.fail("no") })
const settings = {
  temperature: 0,
  topP: 1,
  topK: 1,
  maxOutputTokens: 9,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 1,
  stopSequences: ["."]
}

/** A run in which everything happens that a span tells. */
const everything = Effect.gen(function*() {
  const provider = (...replies: ReadonlyArray<MockResponse.MockResponse | string>) =>
    createOpenAI({
      apiKey: "none",
      fetch: MockProvider.make({ handler: MockModel.queue(...replies) }).fetch
    }).chat("gpt-5")
  const used = (answer: MockResponse.MockResponse | string) =>
    MockResponse.withUsage(answer, { input: 10, output: 4, cached: 3, reasoning: 1 })
  const quiet = Mode.make("quiet", { enter: () => Effect.void, invokable: true })
  const clerk = Agent.make("clerk", { description: "Knows more", modes: [quiet] })
  const desk = Agent.make("desk", {
    description: "Helps",
    instructions: "Be brief.",
    toolkit: Tools,
    handoffs: [Handoff.to(clerk)],
    guardrails: { input: [Guardrail.make("look", () => Guardrail.pass)] },
    contextWindow: ContextWindow.make({
      maxTurns: 3,
      strategy: ContextWindow.summarize(() => Effect.succeed("Much was said."))
    })
  })
  const session = yield* Session.make(desk, { store: Session.store("one") }).pipe(
    Effect.provide(handlers),
    Effect.provide(AiSdkModel.layer(
      provider(
        used(MockResponse.all(MockResponse.toolCall("look", {}), MockResponse.toolCall("break", {}))),
        used("A lamp."),
        used("Still a lamp."),
        used(MockResponse.toolCall(Handoff.toolNameOf("clerk"), { reason: "It is dark" })),
        used(MockResponse.toolCall("enter_quiet_mode", {})),
        used(MockResponse.toolCall("exit_current_mode", {})),
        used("Yes."),
        MockResponse.fail(new AiError.InvalidRequestError({ description: "no" }))
      ),
      settings
    )),
    Effect.provide(KeyValueStore.layerMemory)
  )
  yield* session.call("What is here?")
  yield* session.call("And now?")
  yield* session.call("Is it on?")
  yield* Effect.exit(session.call("Are you sure?"))
  const die = () => Effect.die(new Error("no"))
  const broken = Agent.make("desk", {
    modes: [
      Mode.make("quiet", { enter: die, invokable: true }),
      Mode.make("loud", { enter: () => Effect.void, exit: die, invokable: true })
    ],
    guardrails: { output: [Guardrail.make("look", (text) => text === "Yes." ? die() : Guardrail.pass)] },
    contextWindow: ContextWindow.make({ maxTurns: 2, strategy: ContextWindow.summarize(die) })
  })
  const models = [
    MockModel.queue(MockResponse.toolCall("enter_quiet_mode", {})),
    MockModel.queue(MockResponse.toolCall("enter_loud_mode", {}), MockResponse.toolCall("exit_current_mode", {})),
    MockModel.queue("Yes."),
    MockModel.queue("One", "Two", "Three")
  ]
  for (const model of models) {
    const run = Agent.runMultiTurn(broken, ["One", "Two", "Three"])
    yield* Effect.exit(Effect.provide(run, MockModel.layer(model)))
  }
  // It says more of what it used.
  const { model } = saying([[{ type: "text", text: "Hi" }]])
  yield* Effect.provide(Agent.run(Agent.make("other"), "Hi"), AiSdkModel.layer(model))
})

describe("The page on telemetry", () => {
  it.effect("lists the attributes of all spans, and no others", () =>
    Effect.gen(function*() {
      const { exit, spans } = yield* exported(Effect.provideService(everything, Agent.RecordContent, true))
      assert.deepStrictEqual(exit, Exit.void)
      const found: Record<string, Array<string>> = {}
      for (const { attributes, name } of spans) {
        const kind = name.split(/[ .]/)[0]!
        for (const key of Object.keys(attributes)) {
          const kinds = found[key] ??= []
          if (!kinds.includes(kind)) kinds.push(kind)
        }
      }
      assertTable("attribute", "spans", found)
      // Requests that aren't an agent's have the spans of Effect.
      assertNames(
        [inCode(rows(page, "span", "what it covers"), 0, (code) => code.split(/[ .]/)[0])],
        [...new Set(Object.values(found).flat()), "LanguageModel"]
      )
    }))

  it.effect("lists the metrics with their attributes, and no others", () =>
    Effect.gen(function*() {
      const { exit, metrics } = yield* exported(everything)
      assert.deepStrictEqual(exit, Exit.void)
      const found = Object.fromEntries(metrics.map(({ dataPoints, descriptor }) => [
        descriptor.name,
        [...new Set(dataPoints.flatMap(({ attributes }) => Object.keys(attributes)))].filter((key) => key !== "unit")
      ]))
      assertTable("metric", "attributes", found)
      // The backend makes the other metrics of its page.
      const made = Array.from(
        read("examples/backend/metrics.ts").matchAll(/\b(histogram|counter|tokens)\(\s*"([\w.]+)"/g),
        ([, by, name]) => by === "tokens" ? `gen_ai.client.inference.usage.${name}` : name!
      )
      assert.isAbove(made.length, 5)
      const operations = inCode(rows("docs/backend-operations.md", "metric", "measures"), 0, (code) => code)
      assertNames([operations], [...Object.keys(found), ...made])
    }))
})
