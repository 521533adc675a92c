import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { MockModel, MockResponse } from "../../src/testing/index.ts"
import { ask, say } from "./ask.ts"
import { defectOf, reasonOf } from "./outcome.ts"

const run = (entries: ReadonlyArray<MockModel.TranscriptEntry>) =>
  Effect.provide(MockModel.layer(MockModel.transcript(entries)))

const toolResult = (name: string, result: unknown) => ({
  role: "tool" as const,
  content: [Prompt.makePart("tool-result", { id: "1", name, isFailure: false, result, providerExecuted: false })]
})

const toolCall = {
  role: "assistant" as const,
  content: [Prompt.makePart("tool-call", { id: "1", name: "get_weather", params: {}, providerExecuted: false })]
}

describe("MockModel.transcript", () => {
  it.effect("says what the assistant says, in order: texts, thoughts, calls, usage, and whole responses", () =>
    Effect.gen(function*() {
      const first = yield* ask()
      assert.strictEqual(first.text, "I'll check the weather")
      assert.strictEqual(first.reasoningText, "Paris it is.")
      assert.deepStrictEqual(first.toolCalls.map(({ id, name, params }) => ({ id, name, params })), [
        { id: "call_1", name: "get_weather", params: { city: "Paris" } },
        { id: "mine", name: "search", params: {} }
      ])
      assert.strictEqual(first.finishReason, "tool-calls")
      assert.strictEqual(first.usage.outputTokens.total, 3)
      const second = yield* ask()
      assert.strictEqual(second.text, "It's 75°F")
      assert.strictEqual(second.finishReason, "length")
    }).pipe(run([
      {
        role: "assistant",
        content: "I'll check the weather",
        reasoning: "Paris it is.",
        toolCalls: [{ name: "get_weather", params: { city: "Paris" } }, { name: "search", id: "mine" }],
        usage: { output: 3 }
      },
      { role: "assistant", content: MockResponse.withFinishReason("It's 75°F", "length") }
    ])))

  it.effect("dies of a request behind its end, and says how long it was", () =>
    Effect.gen(function*() {
      yield* say()
      assert.strictEqual(
        yield* reasonOf(ask()),
        "all 1 responses of the transcript, which has 2 entries, are used up"
      )
    }).pipe(run([{ role: "user", content: "Hello" }, { role: "assistant", content: "Hi" }])))

  it.effect("checks what the user said, and stays where it is where that differs", () =>
    Effect.gen(function*() {
      const isPolite = (text: string) => text.startsWith("Please")
      yield* Effect.gen(function*() {
        assert.strictEqual(
          yield* reasonOf(ask("Hi")),
          "transcript entry 1 wants the user to say \"Hello\", and the user said \"Hi\""
        )
        assert.strictEqual(yield* say("Hello"), "one")
        assert.strictEqual(
          yield* reasonOf(ask("The news?")),
          "transcript entry 3 wants the user to say /weather/i, and the user said \"The news?\""
        )
        assert.strictEqual(yield* say("The Weather?"), "two")
        assert.strictEqual(
          yield* reasonOf(ask("Go on")),
          "transcript entry 5 wants the user to say isPolite, and the user said \"Go on\""
        )
        assert.strictEqual(yield* say("Please go on"), "three")
        yield* MockModel.assertDrained
      }).pipe(run([
        { role: "user", content: "Hello" },
        { role: "assistant", content: "one" },
        { role: "user", content: /weather/i },
        { role: "assistant", content: "two" },
        { role: "user", content: isPolite },
        { role: "assistant", content: "three" }
      ]))
    }))

  it.effect("takes what the user said since the model last spoke, the last entry last", () =>
    Effect.gen(function*() {
      const prompt = [
        { role: "user", content: "Never mind" },
        { role: "user", content: "One" },
        { role: "user", content: "Two" }
      ] as const
      assert.strictEqual(yield* say(prompt), "ok")
      const spoken = [{ role: "user", content: "One" }, { role: "assistant", content: "Hm" }] as const
      assert.strictEqual(
        yield* reasonOf(ask([...spoken, { role: "user", content: "Two" }])),
        "transcript entry 4 wants the user to say \"One\", and the user said nothing"
      )
    }).pipe(run([
      { role: "user", content: "One" },
      { role: "user", content: "Two" },
      { role: "assistant", content: "ok" },
      { role: "user", content: "One" },
      { role: "user", content: "Two" },
      { role: "assistant", content: "never" }
    ])))

  it.effect("checks what tools gave and what the system says", () =>
    Effect.gen(function*() {
      const system = { role: "system", content: "Be brief." } as const
      const user = { role: "user", content: "How warm?" } as const
      assert.strictEqual(yield* say([system, user]), "Checking.")
      assert.strictEqual(
        yield* reasonOf(ask([system, user, toolCall, toolResult("get_weather", { celsius: 21 })])),
        "transcript entry 3 wants get_weather to give {\"celsius\":22}, and get_weather gave {\"celsius\":21}"
      )
      assert.strictEqual(
        yield* reasonOf(ask([system, user, toolCall, toolResult("search", { celsius: 22 })])),
        "transcript entry 3 wants get_weather to give {\"celsius\":22}, and search gave {\"celsius\":22}"
      )
      assert.strictEqual(
        yield* reasonOf(ask([system, user])),
        "transcript entry 3 wants get_weather to give {\"celsius\":22}, and no tool gave a result"
      )
      assert.strictEqual(yield* say([system, user, toolCall, toolResult("get_weather", { celsius: 22 })]), "22 °C.")
    }).pipe(run([
      { role: "system", content: /brief/ },
      { role: "assistant", content: "Checking." },
      { role: "tool", name: "get_weather", content: { celsius: 22 } },
      { role: "assistant", content: "22 °C." }
    ])))

  it.effect("wants a result for each entry of a tool, whatever their order", () =>
    Effect.gen(function*() {
      const prompt = (...results: ReadonlyArray<unknown>) => [
        { role: "user", content: "How warm?" } as const,
        toolCall,
        ...results.map((result) => toolResult("get_weather", result))
      ]
      assert.strictEqual(
        yield* reasonOf(ask(prompt(22, 3))),
        "transcript entry 2 wants get_weather to give 22 for another call, and get_weather gave 22, get_weather gave 3"
      )
      assert.strictEqual(yield* say(prompt(22, 22)), "Both.")
      assert.strictEqual(
        yield* reasonOf(ask(prompt(22))),
        "transcript entry 5 wants get_weather to give 22 for another call, and get_weather gave 22"
      )
      assert.strictEqual(yield* say(prompt(22, 3)), "Any.")
    }).pipe(run([
      { role: "tool", name: "get_weather", content: 22 },
      { role: "tool", name: "get_weather", content: 22 },
      { role: "assistant", content: "Both." },
      { role: "tool", content: () => true },
      { role: "tool", name: "get_weather", content: 22 },
      { role: "assistant", content: "Any." }
    ])))

  it.effect("dies where an entry has no text to compare with", () =>
    Effect.gen(function*() {
      for (const content of [undefined, null, 3]) {
        const transcript = run([{ role: "user", content: content as never }, { role: "assistant", content: "never" }])
        assert.strictEqual(
          String(yield* defectOf(transcript(ask()))),
          `TypeError: A text is compared with ${content}, which is neither a text nor a regular expression`
        )
      }
    }))
})
