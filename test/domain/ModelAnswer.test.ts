import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Response } from "effect/ai"
import { AgentState, Conversation, type Usage } from "troupe"
import * as ModelAnswer from "../../src/domain/ModelAnswer.ts"
import { oneOf } from "./arbitraries.ts"
import { hostile } from "./hostile.ts"

const answerOf = (...parts: ReadonlyArray<ModelAnswer.Incoming>): ModelAnswer.Answer => {
  const answer = ModelAnswer.begin()
  for (const part of parts) ModelAnswer.add(answer, part)
  return ModelAnswer.finish(answer)
}

const call = (id: string, name = "search", params: unknown = {}): ModelAnswer.Incoming =>
  Response.makePart("tool-call", { id, name, params, providerExecuted: true })

const result = (id: string, value: unknown, name = "search"): ModelAnswer.Incoming =>
  Response.toolResultPart({
    id,
    name,
    isFailure: false,
    result: value,
    encodedResult: value,
    providerExecuted: true,
    preliminary: false
  })

const resultsOf = ({ parts }: ModelAnswer.Answer): ReadonlyArray<unknown> =>
  parts.map((part) => part._tag === "Call" && part.state._tag === "Settled" && [part.name, part.state.result])

const finish = (usage: { readonly [kind in keyof Usage.RequestUsage]: unknown }): ModelAnswer.Incoming => ({
  ...Response.makePart("finish", {
    reason: "stop",
    usage: Response.Usage.make({
      inputTokens: { uncached: undefined, total: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined }
    }),
    response: undefined
  }),
  usage: {
    inputTokens: { total: usage.input, cacheRead: usage.cached },
    outputTokens: { total: usage.output, reasoning: usage.reasoning }
  } as Response.Usage
})

const tokens = oneOf<unknown>(
  Arbitrary.schema(Schema.Number),
  Arbitrary.schema(Schema.Int),
  Arbitrary.map(hostile, (make) => make())
)

const isCount = (value: unknown): boolean => typeof value === "number" && Number.isSafeInteger(value) && value >= 0

describe("An answer", () => {
  it.prop("takes no number for tokens that nobody can have counted, whatever a provider reports", {
    input: tokens,
    output: tokens,
    reasoning: tokens,
    cached: tokens
  }, (usage) => {
    const { usage: { cached, input, output, reasoning } } = answerOf(finish(usage))
    const isPart = (part: unknown, whole: unknown): boolean => isCount(part) && !(isCount(whole) && part! > whole!)
    assert.strictEqual(input, isCount(usage.input) ? usage.input : undefined)
    assert.strictEqual(output, isCount(usage.output) ? usage.output : undefined)
    assert.strictEqual(cached, isPart(usage.cached, usage.input) ? usage.cached : undefined)
    assert.strictEqual(reasoning, isPart(usage.reasoning, usage.output) ? usage.reasoning : undefined)
  })

  it("keeps a text and a reasoning apart that have one id, and pieces without a start", () => {
    const piece = (type: "text" | "reasoning", delta: string) => Response.makePart(`${type}-delta`, { id: "1", delta })
    const answer = answerOf(
      piece("text", "No "),
      piece("text", "start."),
      Response.makePart("text-end", { id: "1" }),
      Response.makePart("reasoning-start", { id: "1" }),
      piece("reasoning", "Hm, "),
      Response.makePart("text-start", { id: "1" }),
      piece("text", "Warm"),
      piece("reasoning", "rain?"),
      piece("text", "."),
      Response.makePart("reasoning-end", { id: "1" }),
      Response.makePart("text-end", { id: "1" }),
      piece("text", " And late.")
    )
    assert.deepStrictEqual(answer.parts, [
      { _tag: "Text", text: "No start." },
      { _tag: "Reasoning", text: "Hm, rain?" },
      { _tag: "Text", text: "Warm." },
      { _tag: "Text", text: " And late." }
    ])
  })

  it("gives each of a provider's calls that share an id its own result", () => {
    assert.deepStrictEqual(
      resultsOf(answerOf(call("a"), call("a"), result("a", 1), result("a", 2))),
      [["search", 1], ["search", 2]]
    )
    assert.deepStrictEqual(
      resultsOf(answerOf(call("a"), result("a", 1), call("a"), result("a", 2))),
      [["search", 1], ["search", 2]]
    )
    assert.deepStrictEqual(
      resultsOf(answerOf(call("a", "search"), call("a", "fetch"), result("a", 1, "fetch"), result("a", 2))),
      [["search", 2], ["fetch", 1]]
    )
  })

  it("loses no result, of a call that has one or that isn't there", () => {
    const answer = answerOf(call("a"), result("a", 1), result("a", 2), result("b", 3))
    assert.deepStrictEqual(resultsOf(answer), [["search", 1], ["search", 2], ["search", 3]])
  })

  it.prop("shares nothing with its provider, and can be stored", [hostile], ([make]) => {
    const bytes = new Uint8Array([1, 2])
    const metadata = { some: make() as Schema.Json }
    const { parts } = answerOf(
      Response.makePart("file", { mediaType: "image/png", data: bytes, metadata }),
      Response.makePart("text", { text: "Look.", metadata }),
      call("a", "search", make()),
      result("a", make())
    )
    bytes[0] = 9
    assert.deepStrictEqual(parts[0]?._tag === "File" && parts[0].data, new Uint8Array([1, 2]))
    const state = AgentState.make("a", {
      conversation: Conversation.make([{
        _tag: "Assistant",
        agent: "a",
        parts,
        usage: {},
        finishReason: "stop"
      }])
    })
    assert.doesNotThrow(() => JSON.stringify(AgentState.toJson(state)))
  })
})
