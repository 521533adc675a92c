/**
 * Keys of JSON objects: what a model or a tool wrote there is text like any other, what a schema declares is not.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail, Handoff } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { textsIn, withTexts } from "../../../src/agent/perform/guard/Texts.ts"
import { model, ran, without } from "./looking.ts"

const mask = Guardrail.pii({ action: "mask" })
const Mails = Schema.Record(Schema.String, Schema.Number)

const Count = Tool.make("count", {
  parameters: Schema.Struct({ mails: Mails, by: Schema.optionalKey(Schema.String) }),
  success: Schema.Struct({ counted: Mails }),
  failure: Schema.Struct({ unknown: Mails }),
  failureMode: "return"
})
const Kit = Toolkit.make(Count)

const counting = (seen: Array<unknown> = []) =>
  Kit.toLayer({
    count: ({ mails }) => {
      seen.push(mails)
      return "none" in mails ? Effect.fail({ unknown: { "ada@example.com": 0 } }) : Effect.succeed({ counted: mails })
    }
  })

const call = (params: Schema.Json) =>
  MockModel.layer(MockModel.queue(MockResponse.toolCall("count", params as never), "Done."))

const callIn = (state: AgentState.AgentState) => {
  const turn = state.conversation.turns[1]
  const [one] = turn?._tag === "Assistant" ? Conversation.callsOf(turn) : []
  return [one?.params, one?.state._tag === "Settled" ? one.state.result : undefined]
}

describe("A key", () => {
  it.effect("is masked in what a tool is asked and gives back, and in all that is kept", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [mask], toolResult: [mask] } })
      const state = yield* Agent.run(agent, "Go").pipe(
        Effect.provide([counting(seen), call({ mails: { "ada@example.com": 1, lamps: 2 } })])
      )
      assert.deepStrictEqual(seen, [{ "[redacted email]": 1, lamps: 2 }])
      assert.deepStrictEqual(callIn(state), [
        { mails: { "[redacted email]": 1, lamps: 2 } },
        { counted: { "[redacted email]": 1, lamps: 2 } }
      ])
      assert.notInclude(JSON.stringify(AgentState.toJson(state)), "ada@")
    }))

  it.effect("is masked in a result where only that is looked at, also in one that says what was wrong", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [mask] } })
      const found = yield* Agent.run(agent, "Go").pipe(
        Effect.provide([counting(), call({ mails: { "ada@example.com": 1 } })])
      )
      assert.deepStrictEqual(callIn(found)[1], { counted: { "[redacted email]": 1 } })
      const failed = yield* Agent.run(agent, "Go").pipe(Effect.provide([counting(), call({ mails: { none: 1 } })]))
      assert.deepStrictEqual(callIn(failed)[1], { unknown: { "[redacted email]": 0 } })
    }))

  it.effect("blocks a call and a result", () =>
    Effect.gen(function*() {
      for (const stage of ["toolCall", "toolResult"] as const) {
        const agent = Agent.make("a", { toolkit: Kit, guardrails: { [stage]: [Guardrail.pii()] } })
        const state = yield* Agent.run(agent, "Go").pipe(
          Effect.provide([counting(), call({ mails: { "ada@example.com": 1 } })])
        )
        assert.match(String(callIn(state)[1]), /^Guardrail "pii" blocked .*: has email in it$/)
      }
    }))

  it.effect("is looked at in answers that are values, and in what is handed over", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Schema.Struct({ mails: Mails }), guardrails: { output: [mask] } })
      const state = yield* Agent.run(agent, "Go").pipe(
        Effect.provide(model(MockResponse.toolCall("final_answer", { mails: { "ada@example.com": 1 } })))
      )
      assert.deepStrictEqual(Result.getOrThrow(AgentState.output(agent, state)), { mails: { "[redacted email]": 1 } })

      const target = Agent.make("target")
      const source = Agent.make("source", {
        handoffs: [Handoff.to(target, { parameters: Schema.Struct({ mails: Mails }) })],
        guardrails: { handoff: [mask] }
      })
      const { events } = yield* ran(Agent.run(source, "Go")).pipe(
        Effect.provide(model(MockResponse.toolCall("handoff_to_target", { mails: { "ada@example.com": 1 } }), "Hi."))
      )
      const requested = events.find(({ _tag }) => _tag === "HandoffRequested")
      assert.include(JSON.stringify(requested), "[redacted email]")
      assert.notInclude(JSON.stringify(requested), "ada@")
    }))

  it.effect("that a schema declares is the program's own: nobody looks at it", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const agent = Agent.make("a", {
        toolkit: Kit,
        guardrails: { toolCall: [without("mails", asked)], toolResult: [without("counted", asked)] }
      })
      yield* Agent.run(agent, "Go").pipe(
        Effect.provide([counting(), call({ mails: { lamps: 1, shades: 2 }, by: "day" })])
      )
      assert.deepStrictEqual(asked, ["lamps", "shades", "day", "lamps", "shades"])
    }))

  it.effect("that the JSON schema of a tool declares isn't looked at either, others are", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const Search = Tool.dynamic("search", {
        parameters: {
          type: "object",
          properties: { query: { type: "object", properties: { text: { type: "string" } } } }
        },
        success: Schema.Unknown
      })
      const Tools = Toolkit.make(Search)
      const agent = Agent.make("a", { toolkit: Tools, guardrails: { toolCall: [without("secret", asked)] } })
      yield* Agent.run(agent, "Go").pipe(
        Effect.provide([
          Tools.toLayer({ search: () => Effect.succeed({ rows: [] }) }),
          model(MockResponse.toolCall("search", { query: { text: "lamps", more: "yes" } } as never), "Done.")
        ])
      )
      assert.deepStrictEqual(asked, ["lamps", "more", "yes"])
    }))
})

const Json = Schema.Union([
  Schema.Record(Schema.Literals(["a", "b", "__proto__", "x@y.co", "z@y.co", "[redacted email]"]), Schema.Unknown),
  Schema.String
])

const maskAll = (value: unknown): unknown =>
  withTexts(value, textsIn(value).map((text) => text.replace(/\w+@\w+\.co/g, "[redacted email]")))

describe("Texts in a value", () => {
  const value = JSON.parse(
    `{ "b": ["x", { "a": "y", "b": 1 }], "a": { "__proto__": "z", "a": null }, "__proto__": { "2": true, "1": "" } }`
  ) as unknown

  it("are its strings and its keys, each key once", () => {
    assert.deepStrictEqual(textsIn(value).toSorted(), ["", "1", "2", "__proto__", "a", "b", "x", "y", "z"])
    assert.deepStrictEqual(textsIn(value, new Set(["a", "b", "1"])).toSorted(), ["", "2", "__proto__", "x", "y", "z"])
  })

  it("are put back where they were", () => {
    assert.strictEqual(JSON.stringify(withTexts(value, textsIn(value))), JSON.stringify(value))
    const upper = withTexts(value, textsIn(value).map((text) => text.toUpperCase()))
    assert.strictEqual(
      JSON.stringify(upper),
      `{"B":["X",{"A":"Y","B":1}],"A":{"__PROTO__":"Z","A":null},"__PROTO__":{"1":"","2":true}}`
    )
    assert.strictEqual(Object.getPrototypeOf(upper), Object.prototype)
  })

  it("that become the same key are told apart by a number, and no other is lost", () => {
    assert.deepStrictEqual(
      maskAll({ "a@b.co": 1, "[redacted email]": 2, "c@d.co": 3, "[redacted email] (2)": 4, lamps: 5 }),
      {
        "[redacted email]": 2,
        "[redacted email] (3)": 1,
        "[redacted email] (4)": 3,
        "[redacted email] (2)": 4,
        lamps: 5
      }
    )
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`a${at}@b.co`, at]))
    assert.deepStrictEqual(Object.values(maskAll(many) as object), Object.values(many))
  })

  it.prop("keep every value that stood under a key", [Schema.Array(Json).check(Schema.isMaxLength(3))], ([values]) => {
    const count = (json: unknown): number =>
      typeof json === "object" && json !== null
        ? Object.keys(json).reduce((sum, key) => sum + 1 + count((json as Record<string, unknown>)[key]), 0)
        : 0
    const given = JSON.parse(JSON.stringify(values)) as unknown
    const masked = maskAll(given)
    assert.strictEqual(count(masked), count(given))
    assert.notMatch(JSON.stringify(masked), /[a-z]@y\.co/)
  })
})
