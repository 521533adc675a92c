/** What a guardrail gives in the place of something is copied: nobody changes a state by it later. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail, Handoff } from "troupe"
import { MockResponse } from "troupe/testing"
import { model, ran } from "./looking.ts"

/** Changes everything in a value, at every depth. */
const spoil = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  if (value instanceof Uint8Array) return void value.fill(255)
  for (const item of Object.values(value)) spoil(item)
  if (Array.isArray(value)) value.push("spoiled")
  else Object.assign(value, { spoiled: true })
}

const Look = Tool.make("look", { parameters: Schema.Struct({ at: Schema.Json }), success: Schema.Json })
const Kit = Toolkit.make(Look)
const handlers = Kit.toLayer({ look: () => Effect.succeed({ found: ["Ada"] }) })
const look = MockResponse.toolCall("look", { at: "x" })
const b = Agent.make("b")
const Any = Schema.Struct({ of: Schema.Json })

/** Gives a value once in the place of what it is asked about, and keeps it. */
const giving = (make: () => object) => {
  const given = make()
  const verdict = (() => Guardrail.replace(given, "why")) as never
  return { given, verdict }
}

type Stage = "input" | "output" | "toolCall" | "toolResult" | "handoff"

const stages: Readonly<Record<string, readonly [Stage, () => object, ReadonlyArray<MockResponse.Input>, boolean]>> = {
  "parameters": ["toolCall", () => ({ at: { deep: ["kept"] } }), [look, "Done."], false],
  "a result": ["toolResult", () => ({ deep: ["kept"] }), [look, "Done."], false],
  "a handoff": [
    "handoff",
    () => ({ target: "b", reason: "why", context: { deep: ["kept"] } }),
    [MockResponse.toolCall("handoff_to_b", { reason: "x" }), "Done."],
    false
  ],
  "an input": [
    "input",
    () => [
      Conversation.text("kept", { openai: { deep: ["kept"] } }),
      Conversation.file("image/png", new Uint8Array([1, 2]), { metadata: { openai: { deep: ["kept"] } } })
    ],
    ["Done."],
    false
  ],
  "an answer as text": ["output", () => ({ of: { deep: ["kept"] } }), ["{\"of\":1}"], true],
  "an answer by a call": [
    "output",
    () => ({ of: { deep: ["kept"] } }),
    [MockResponse.toolCall("final_answer", { of: 1 })],
    true
  ]
}

describe("What a guardrail gave can be changed later, and the state stays", () => {
  for (const [name, [on, make, responses, isTyped]] of Object.entries(stages)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { given, verdict } = giving(make)
        const guardrails = { [on]: [Guardrail.make("giving", verdict, { on } as never)] }
        const agent = Agent.make("a", {
          toolkit: Kit,
          handoffs: [Handoff.to(b)],
          guardrails: guardrails as never,
          ...(isTyped ? { output: Any } : undefined)
        })
        const { events, state } = yield* ran(Agent.run(agent, "Go") as Effect.Effect<AgentState.AgentState, unknown>)
        const kept = () => JSON.stringify([AgentState.toJson(state), events])
        const before = kept()
        assert.include(before, "kept")
        assert.strictEqual(state.status._tag, "Complete")
        spoil(given)
        assert.strictEqual(kept(), before)
      }).pipe(Effect.provide([handlers, model(...responses)])))
  }
})
