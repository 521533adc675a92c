import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentPicker, AgentState, Conversation, Group, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { problems } from "../domain/legal.ts"
import { times } from "../matrix.ts"

const names = ["a", "b", "c", "d"] as const
type Name = (typeof names)[number]

const Tools = Toolkit.make(Tool.make("pause"))
const handlers = Tools.toLayer({ pause: () => Effect.asVoid(Effect.repeat(Effect.yieldNow, { times: 3 })) })

/** A way through the group that is the conversation's own: who begins, and who takes over, in order. */
const pathOf = (conversation: number): ReadonlyArray<Name> => {
  const path: Array<Name> = [names[conversation % 4]!]
  for (let rest = conversation; path.length < 2 + conversation % 3; rest = rest * 7 + 3) {
    const others = names.filter((name) => name !== path[path.length - 1])
    path.push(others[rest % 3]!)
  }
  return path
}

const ask = (conversation: number): string => `${conversation}: ${pathOf(conversation).join(" ")}`

const pathIn = (text: string): ReadonlyArray<string> => text.slice(text.indexOf(":") + 2).split(" ")

/** Pauses, then hands over to the next one on the way, or says that this is its end. */
const model = MockModel.layer(MockModel.make((request) =>
  Effect.gen(function*() {
    const state = request.state!
    const path = pathIn(state.initialQuery!)
    yield* Effect.repeat(Effect.yieldNow, { times: Number.parseInt(state.initialQuery!) % 7 })
    const next = path[state.trail.length]
    if (state.run.iteration === 0) return MockResponse.toolCall("pause", {})
    return next === undefined
      ? `${state.initialQuery} ended with ${request.agent}`
      : MockResponse.toolCall(`handoff_to_${next}`, { reason: state.initialQuery, context: { path } })
  })
))

const make = <const Own extends Name>(name: Own) =>
  Agent.make(name, {
    instructions: (state) => `I am ${name}, for ${state.initialQuery}.`,
    toolkit: Tools,
    handoffs: name === "a" ? [Handoff.to("b")] : []
  })

const group = Group.make({ a: make("a"), b: make("b"), c: make("c"), d: make("d") }, {
  start: AgentPicker.make(({ text }) => pathIn(text)[0] as Name),
  policy: HandoffPolicy.explicitAll({
    handoff_to_a: "a",
    handoff_to_b: "b",
    handoff_to_c: "c",
    handoff_to_d: "d"
  })
})

describe("A group", () => {
  it.effect("holds very many conversations at once, each on its own way to its own end", () =>
    Effect.gen(function*() {
      const conversations = Array.from({ length: times(1000, 250) }, (_, index) => index)
      let running = 0
      let most = 0
      const states = yield* Effect.forEach(conversations, (conversation) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            most = Math.max(most, ++running)
          }),
          () => Agent.run(group, ask(conversation)),
          () => Effect.sync(() => running--)
        ), { concurrency: "unbounded" })
      assert.strictEqual(most, conversations.length)
      for (const [conversation, state] of states.entries()) {
        const path = pathOf(conversation)
        const last = path[path.length - 1]!
        assert.deepStrictEqual(state.trail, path)
        assert.strictEqual(state.agent, last)
        assert.strictEqual(AgentState.text(state), `${ask(conversation)} ended with ${last}`)
        assert.strictEqual(state.run.handoffs ?? 0, path.length - 1)
        assert.strictEqual(state.steps, 2 * path.length)
        assert.strictEqual(state.status._tag, "Complete")
        assert.deepStrictEqual(problems(state.conversation), [])
        assert.deepStrictEqual(
          state.conversation.turns.filter((turn) => turn._tag === "User").map(Conversation.textOf),
          [ask(conversation)]
        )
        const others = JSON.stringify(state).match(/\d+: [a-d ]+/g)?.filter((text) => text.trim() !== ask(conversation))
        assert.deepStrictEqual(others?.filter((text) => !text.startsWith(`${ask(conversation)} `)), [])
      }
      const requests = yield* MockModel.calls
      for (const { request } of requests) {
        const [system] = request.messages
        assert.strictEqual(system?.content, `I am ${request.agent}, for ${request.state?.initialQuery}.`)
        assert.strictEqual(request.messages.filter(({ role }) => role === "system").length, 1)
        assert.notInclude(request.toolNames, `handoff_to_${request.agent}`)
        assert.strictEqual(new Set(request.toolNames).size, request.toolNames.length)
        assert.include(request.toolNames, "pause")
      }
    }).pipe(Effect.provide([model, handlers])))
})
