import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import * as Agents from "../../examples/backend/service/Agents.ts"
import { assistant, gate } from "./assistant.ts"
import { colleagueOf, isEnd, serve } from "./serving.ts"
import { folder, postgres } from "./store/backings.ts"

const refund = "The floor lamp of order 1047 is cracked"

for (const backing of [folder, postgres]) {
  backing.describe(`what awaits approval ${backing.name}`, () => {
    const start = Effect.gen(function*() {
      const store = yield* Effect.flatMap(backing.make, ({ open }) => open())
      const service = yield* serve({ store })
      const colleague = yield* service.client(colleagueOf("ada"))
      /** The lists that a colleague is streamed. */
      const lists = yield* Queue.unbounded<ReadonlyArray<{ readonly conversation: string; readonly callId: string }>>()
      yield* Effect.forkScoped(Stream.runForEach(service.waiting(), (list) => Queue.offer(lists, list)))
      /** Waits for a list of these conversations. */
      const isStreamed = (...ids: ReadonlyArray<string>) =>
        Effect.repeat(Queue.take(lists), {
          until: (list) => list.map(({ conversation }) => conversation).join() === ids.join()
        }).pipe(Effect.timeout("10 seconds"))
      return { ...service, colleague, isStreamed: isStreamed }
    })

    it.live("is listed across conversations, the longest waiting first, appears when it waits and goes when it is decided", () =>
      Effect.gen(function*() {
        const { begin, colleague, isStreamed, until, waiting } = yield* start
        yield* isStreamed()
        const first = yield* begin(refund)
        yield* isStreamed(first.id)
        const second = yield* begin(refund)
        yield* isStreamed(first.id, second.id)
        // Neither a conversation that doesn't wait nor another tenant's is there.
        yield* until((yield* begin("Where is order 1042?")).id, isEnd)
        const listed = yield* colleague.approvals.waiting()
        assert.deepEqual(listed.map(({ conversation }) => conversation), [first.id, second.id])
        assert.deepInclude(listed[0], { title: refund, name: "open_claim", path: ["refunds"] })
        const [others] = yield* Stream.runCollect(Stream.take(waiting("bob"), 1))
        assert.deepEqual(others, [])

        const decide = (id: string, callId: string, decision: "approve" | "deny") =>
          colleague.conversations.resolve({ params: { id, callId }, payload: { decision } })
        yield* decide(first.id, listed[0]!.callId, "approve")
        yield* isStreamed(second.id)
        const again = yield* Effect.flip(decide(first.id, listed[0]!.callId, "deny"))
        assert.include(["ApprovalNotFound", "ConversationBusy"], again._tag)
        // What is removed awaits nothing any more.
        yield* second.conversations.remove({ params: second.params })
        yield* isStreamed()
        const gone = yield* Effect.flip(decide(second.id, listed[1]!.callId, "approve"))
        assert.strictEqual(gone._tag, "ConversationNotFound")
        assert.deepEqual(yield* colleague.approvals.waiting(), [])
      }))

    it.live("still waits when the customer goes on talking, and when the service starts again", () =>
      Effect.gen(function*() {
        const store = yield* Effect.flatMap(backing.make, ({ open }) => open())
        const service = yield* serve({ store })
        const { conversations, id, params } = yield* service.begin(refund)
        const told = yield* service.until(id, isEnd)
        yield* conversations.say({ params, payload: { text: "Are you still there?" } })
        yield* service.until(id, isEnd, told.at(-1)!.id)
        yield* service.stop
        const { approvals } = yield* (yield* serve({ store })).client(colleagueOf("ada"))
        assert.deepEqual((yield* approvals.waiting()).map(({ conversation }) => conversation), [id])
      }))
  })
}

it.live("What was decided isn't listed while the run that follows is under way", () =>
  Effect.gen(function*() {
    const Payments = Toolkit.make(Tool.make("pay", { needsApproval: true }))
    const clerk = Agent.make("clerk", { toolkit: Payments })
    const { answer, asked } = gate()
    const { begin, client, until } = yield* serve({
      settings: { grace: Duration.zero },
      agents: Agents.layer({
        first: "clerk",
        agent: clerk,
        tools: Payments.toLayer({ pay: () => Effect.void })
      }).pipe(Layer.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("pay", {}), answer))))
    })
    const { id } = yield* begin()
    yield* until(id, isEnd)
    const { approvals, conversations } = yield* client(colleagueOf("ada"))
    const { callId } = (yield* approvals.waiting())[0]!
    yield* conversations.resolve({ params: { id, callId }, payload: { decision: "approve" } })
    yield* asked
    assert.deepEqual(yield* approvals.waiting(), [])
  }))

it.live("A decision is told in the events of its conversation, to whoever follows it, also where another call still waits", () =>
  Effect.gen(function*() {
    const Payments = Toolkit.make(Tool.make("pay", { needsApproval: true }))
    const call = (id: string) => MockResponse.toolCall("pay", {}, { id })
    const { begin, client, fetch, until } = yield* serve({
      agents: Agents.layer({
        first: "clerk",
        agent: Agent.make("clerk", { toolkit: Payments }),
        tools: Payments.toLayer({ pay: () => Effect.void })
      }).pipe(Layer.provide(MockModel.layer(MockModel.queue(MockResponse.all(call("a"), call("b")), "Done."))))
    })
    const { id } = yield* begin()
    yield* until(id, isEnd)
    const { conversations } = yield* client(colleagueOf("ada"))
    const decide = (callId: string, payload: { readonly decision: "approve" | "deny" }) =>
      conversations.resolve({ params: { id, callId }, payload })
    const first = yield* decide("a", { decision: "deny" })
    // Nothing runs yet, and it is told all the same.
    const [denied] = yield* until(id, () => true, first.cursor)
    assert.deepInclude(JSON.parse(denied!.data), { _tag: "CallDenied", callId: "a", name: "pay" })
    const second = yield* decide("b", { decision: "approve" })
    const told = yield* until(id, isEnd, second.cursor)
    assert.deepEqual(told.slice(0, 2).map(({ event }) => event), ["CallApproved", "RunStarted"])
    const trace = yield* fetch(`/v1/conversations/${id}/trace`)
    assert.match(yield* Effect.promise(() => trace.text()), /denied/i)
  }))

it.live("A stream of what awaits approval says that it lives, ends with the service, and counts as one of the colleagues'", () =>
  Effect.gen(function*() {
    const service = yield* serve({
      agents: assistant(MockModel.make("Hello.")),
      settings: { heartbeat: Duration.millis(10), limits: { streams: 1 } }
    })
    const response = yield* service.fetch("/v1/approvals/events", {}, colleagueOf("ada"))
    assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
    const crowded = yield* service.fetch("/v1/approvals/events", {}, colleagueOf("ada"))
    assert.strictEqual(crowded.status, 429)
    const { id } = yield* service.open()
    assert.strictEqual((yield* service.fetch(`/v1/conversations/${id}/events`)).status, 200)
    const text = yield* Effect.forkChild(Effect.promise(() => response.text()))
    yield* Effect.sleep("700 millis")
    yield* service.stop
    assert.match(yield* Fiber.join(text), /^:\n\nid: 1\nevent: approvals\ndata: \[\]\n\n(:\n\n)+$/)
  }))
