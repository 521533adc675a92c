import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import * as Agents from "../../examples/backend/service/Agents.ts"
import { colleagueOf, isEnd, serve } from "./serving.ts"
import { folder, postgres } from "./store/backings.ts"

/** A refund that a colleague has to approve. */
const refund = "The floor lamp of order 1047 is cracked"

for (const backing of [folder, postgres]) {
  backing.describe(`a conversation ${backing.name}`, () => {
    const start = (agents?: Layer.Layer<Agents.Agents>) =>
      Effect.gen(function*() {
        const store = yield* Effect.flatMap(backing.make, ({ open }) => open())
        return yield* serve({ store, ...(agents === undefined ? undefined : { agents }) })
      })

    it.live("is opened, talked to, watched, read, traced, listed and removed", () =>
      Effect.gen(function*() {
        const { client, fetch, until } = yield* start()
        const { conversations } = yield* client()
        const opened = yield* conversations.open()
        const params = { id: opened.id }
        assert.deepInclude(opened, { title: "", cursor: 0, isRunning: false })
        const { cursor } = yield* conversations.say({ params, payload: { text: "Where is\n order 1042?" } })
        assert.strictEqual(cursor, 0)
        const told = yield* until(opened.id, isEnd)
        assert.deepEqual(told.map(({ id }) => id), told.map((_, index) => index + 1))
        assert.strictEqual(told[0]!.event, "RunStarted")
        assert.strictEqual(told.at(-1)!.event, "RunCompleted")
        const read = yield* conversations.read({ params })
        assert.deepInclude(read, {
          title: "Where is order 1042?",
          cursor: told.length,
          isRunning: false,
          approvals: []
        })
        assert.include(AgentState.text(read.state), "1042")
        assert.deepEqual((yield* conversations.list()).map(({ id }) => id), [opened.id])
        const trace = yield* conversations.trace({ params })
        assert.include(trace, "Where is")
        assert.include(trace, AgentState.text(read.state))
        yield* conversations.remove({ params })
        assert.deepEqual(yield* conversations.list(), [])
        assert.strictEqual((yield* Effect.flip(conversations.read({ params })))._tag, "ConversationNotFound")
        assert.strictEqual((yield* fetch(`/v1/conversations/${opened.id}/events`)).status, 404)
      }))

    it.live("streams typed events", () =>
      Effect.gen(function*() {
        const { conversations, params } = yield* (yield* start()).begin()
        const stream = yield* conversations.events({ params, query: {}, headers: {} })
        const told = yield* stream.pipe(Stream.takeUntil(({ event }) => event === "RunCompleted"), Stream.runCollect)
        assert.deepEqual(told.map(({ data }) => data._tag as string), told.map(({ event }) => event))
      }))

    it.live("takes a message in once, whoever repeats it", () =>
      Effect.gen(function*() {
        const { open, until } = yield* start()
        const { conversations, id, params } = yield* open()
        const payload = { text: "Where is order 1042?", key: "first" }
        yield* conversations.say({ params, payload })
        yield* conversations.say({ params, payload })
        const told = yield* until(id, isEnd)
        yield* conversations.say({ params, payload })
        const { state } = yield* conversations.read({ params })
        assert.strictEqual(state.conversation.turns.filter(({ _tag }) => _tag === "User").length, 1)
        yield* conversations.say({ params, payload: { ...payload, key: "second" } })
        yield* until(id, isEnd, told.at(-1)!.id)
      }))

    it.live("awaits an approval, and goes on when it is given or denied", () =>
      Effect.forEach(["approve", "deny"] as const, (decision) =>
        Effect.gen(function*() {
          const { begin, client, until } = yield* start()
          const colleague = (yield* client(colleagueOf("ada"))).conversations
          const { conversations, id, params } = yield* begin(refund)
          const told = yield* until(id, isEnd)
          const [approval, ...others] = yield* conversations.approvals({ params })
          assert.deepEqual(others, [])
          assert.deepInclude(approval, { name: "open_claim", path: ["refunds"] })
          const waiting = yield* conversations.read({ params })
          assert.deepInclude(waiting, { isRunning: false, approvals: [approval!] })
          const { callId } = approval!
          const unknown = yield* Effect.flip(
            colleague.resolve({ params: { ...params, callId: "nobody's" }, payload: { decision } })
          )
          assert.deepInclude(unknown, { _tag: "ApprovalNotFound", call: "nobody's" })
          yield* colleague.resolve({ params: { ...params, callId }, payload: { decision } })
          yield* until(id, isEnd, told.at(-1)!.id)
          const { approvals, state } = yield* conversations.read({ params })
          assert.deepEqual(approvals, [])
          assert.strictEqual(state.status._tag, "Complete")
          const again = yield* Effect.flip(
            colleague.resolve({ params: { ...params, callId }, payload: { decision } })
          )
          assert.strictEqual(again._tag, "ApprovalNotFound")
        }), { discard: true }))

    it.live("shows approvals of agents that are called as tools, and goes on when the last one is resolved", () =>
      Effect.gen(function*() {
        const Files = Toolkit.make(
          Tool.make("delete_file", { parameters: Schema.Struct({ name: Schema.String }), needsApproval: true })
        )
        const janitor = Agent.make("janitor", { toolkit: Files })
        const boss = Agent.make("boss", { agents: [Agent.asTool(janitor)] })
        const model = MockModel.byAgent({
          boss: MockModel.queue(MockResponse.toolCall("janitor", { task: "Clean up" }), "Clean."),
          janitor: MockModel.queue(
            MockResponse.all(
              MockResponse.toolCall("delete_file", { name: "a" }),
              MockResponse.toolCall("delete_file", { name: "b" })
            ),
            "Done."
          )
        })
        const agents = Agents.layer({
          first: "boss",
          agent: boss,
          tools: Files.toLayer({ delete_file: () => Effect.void })
        }).pipe(Layer.provide(MockModel.layer(model)))
        const { begin, client, until } = yield* start(agents)
        const colleague = (yield* client(colleagueOf("ada"))).conversations
        const { conversations, id, params } = yield* begin("Clean up")
        const told = yield* until(id, isEnd)
        const [a, b] = yield* conversations.approvals({ params })
        assert.deepEqual([a!.path, b!.path], [["boss", "janitor"], ["boss", "janitor"]])
        yield* colleague.resolve({ params: { ...params, callId: a!.callId }, payload: { decision: "approve" } })
        assert.deepInclude(yield* conversations.read({ params }), { isRunning: false, approvals: [b!] })
        yield* colleague.resolve({
          params: { ...params, callId: b!.callId },
          payload: { decision: "deny", reason: "I need it." }
        })
        yield* until(id, isEnd, told.at(-1)!.id)
        const { cursor, state } = yield* conversations.read({ params })
        assert.strictEqual(AgentState.text(state), "Clean.")
        // The first decision changed the state, and began nothing.
        const all = yield* until(id, (event) => event.id === cursor)
        assert.strictEqual(all.filter(isEnd).length, 2)
      }))
  })
}
