/** The tables of `docs/telemetry.md` say what is exported: nothing less, and nothing more. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { readFileSync } from "node:fs"
import { Agent, ContextWindow, Guardrail, Handoff, Mode, Session } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { saying } from "../ai-sdk/stub.ts"
import { exported } from "./sdk.ts"

const page = readFileSync(new URL("../../docs/telemetry.md", import.meta.url), "utf8")

/** The rows of the table below a heading, by their first cell, with what of the second stands in backticks. */
const tableOf = (heading: string): Record<string, ReadonlyArray<string>> => {
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? ""
  const named = (cell = "") => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name]) => name!)
  return Object.fromEntries(
    section.split("\n").flatMap((line) => {
      if (!line.startsWith("| `")) return []
      const [, names, where] = line.split(" | ").length > 1 ? ["", ...line.slice(2).split(" | ")] : []
      return named(names).map((name) => [name, named(where).toSorted()])
    })
  )
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

const sorted = (all: Readonly<Record<string, ReadonlyArray<string>>>) => Object.entries(all).toSorted()

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
      for (const kinds of Object.values(found)) kinds.sort()
      assert.deepStrictEqual(sorted(tableOf("Attributes")), sorted(found))
    }))

  it.effect("lists the metrics with their attributes, and no others", () =>
    Effect.gen(function*() {
      const { exit, metrics } = yield* exported(everything)
      assert.deepStrictEqual(exit, Exit.void)
      const found = Object.fromEntries(metrics.map(({ dataPoints, descriptor }) => [
        descriptor.name,
        [...new Set(dataPoints.flatMap(({ attributes }) => Object.keys(attributes)))].filter((key) => key !== "unit")
          .toSorted()
      ]))
      assert.deepStrictEqual(sorted(tableOf("Metrics")), sorted(found))
    }))
})
