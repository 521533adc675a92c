/** Approvals that a provider asks for before it runs a tool of its own, as one of an MCP server. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, AgentState, Conversation, Session } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { type Content, providerOf } from "../model/paths.ts"

const metadata = { providerMetadata: { house: { approvalRequestId: "ap1" } } }
const asking: ReadonlyArray<Content> = [
  { type: "text", text: "Let me see." },
  {
    type: "tool-call",
    toolCallId: "w1",
    toolName: "mcp.search",
    input: "{\"q\":1}",
    providerExecuted: true,
    ...metadata
  },
  { type: "tool-approval-request", approvalId: "ap1", toolCallId: "w1" }
]
const found: ReadonlyArray<Content> = [
  { type: "tool-call", toolCallId: "w2", toolName: "mcp.search", input: "{\"q\":1}", providerExecuted: true },
  { type: "tool-result", toolCallId: "w2", toolName: "mcp.search", result: { found: 1 } },
  { type: "text", text: "Found." }
]

const agent = Agent.make("a")

const modelOf = (specification: "v3" | "v4", isWrapped: boolean, ...answers: ReadonlyArray<ReadonlyArray<Content>>) => {
  const { model, options } = providerOf(answers.length === 0 ? [asking, found] : answers, specification)
  const provide = Effect.provideServiceEffect(
    LanguageModel.LanguageModel,
    Effect.map(AiSdkModel.make(model), (service) => isWrapped ? { ...service } : service)
  )
  return { options, provide }
}

const run = (isStreamed: boolean) =>
  isStreamed
    ? Effect.map(Stream.runLast(Agent.states(agent, "Search")), (last) =>
      last._tag === "Some" ? last.value : assert.fail())
    : Agent.run(agent, "Search")

/** Out of JSON, as from a store. */
const stored = (state: AgentState.AgentState) =>
  Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))

const cases = (["v3", "v4"] as const).flatMap((specification) =>
  [false, true].flatMap((isWrapped) => [false, true].map((isStreamed) => ({ specification, isWrapped, isStreamed })))
)

const answered = [
  ["approved", (state: AgentState.AgentState) => AgentState.approve(state, "w1"), { approved: true }],
  ["denied", (state: AgentState.AgentState) => AgentState.deny(state, "w1", "not now"), {
    approved: false,
    reason: "not now"
  }]
] as const

describe("An approval that a provider asks for", () => {
  for (const { isStreamed, isWrapped, specification } of cases) {
    const how = [specification, isWrapped ? "by effect/ai" : "natively", isStreamed ? "streamed" : "whole"].join(", ")
    for (const [what, answer, expected] of answered) {
      it.effect(`waits in the state, and the provider is told that it was ${what}: ${how}`, () =>
        Effect.gen(function*() {
          const { options, provide } = modelOf(specification, isWrapped)
          yield* Effect.gen(function*() {
            const waiting = stored(yield* run(isStreamed))
            assert.strictEqual(waiting.status._tag, "WaitingForTools")
            assert.deepStrictEqual(AgentState.pendingApprovals(waiting), [
              { path: ["a"], calls: [], callId: "w1", name: "mcp.search", params: { q: 1 } }
            ])
            assert.strictEqual((yield* Agent.resume(agent, waiting)).status._tag, "WaitingForTools")
            assert.lengthOf(options, 1)
            const done = yield* Agent.resume(agent, stored(Result.getOrThrow(answer(waiting))))
            assert.deepStrictEqual([done.status._tag, AgentState.text(done)], ["Complete", "Found."])
            assert.lengthOf(Conversation.openCalls(done.conversation), 0)
          }).pipe(provide)
          const [, call, response, ...rest] = options[1]!.prompt
          assert.deepStrictEqual(rest, [])
          assert.deepStrictEqual<unknown>(call?.content, [
            { type: "text", text: "Let me see." },
            {
              type: "tool-call",
              toolCallId: "w1",
              toolName: "mcp.search",
              input: { q: 1 },
              providerExecuted: true,
              providerOptions: metadata.providerMetadata
            }
          ])
          assert.deepStrictEqual<unknown>(response, {
            role: "tool",
            content: [{ type: "tool-approval-response", approvalId: "ap1", ...expected }]
          })
        }))
    }
  }

  it.effect("takes no other parameters, in a state and in a session", () =>
    Effect.gen(function*() {
      const { options, provide } = modelOf("v4", false)
      yield* Effect.gen(function*() {
        const session = yield* Session.make(agent, { store: Session.store("one") })
        yield* session.call("Search")
        const waiting = yield* session.state
        const other = AgentState.approve(waiting, "w1", { params: { q: 2 } })
        assert.isTrue(Result.isFailure(other) && other.failure._tag === "NotAwaitingApproval")
        if (Result.isFailure(other)) {
          assert.strictEqual(other.failure.found, "RunByProvider")
          assert.include(other.failure.message, "with the parameters that it asked for")
        }
        assert.isTrue(Result.isSuccess(AgentState.approve(waiting, "w1", { params: { q: 1 } })))
        const error = yield* Effect.flip(session.approve("w1", { params: { q: 2 } }))
        assert.strictEqual(error._tag, "NotAwaitingApproval")
        yield* session.approve("w1")
        const done = yield* session.resume
        assert.strictEqual(AgentState.text(done), "Found.")
      }).pipe(Effect.scoped, Effect.provide(KeyValueStore.layerMemory), provide)
      assert.lengthOf(options, 2)
    }))

  it.effect("is asked for no call but the provider's own, and for none that has its result", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<Content> = [
        { type: "tool-approval-request", approvalId: "ap0", toolCallId: "nobody" },
        ...found,
        { type: "tool-approval-request", approvalId: "ap2", toolCallId: "w2" }
      ]
      for (const isStreamed of [false, true]) {
        const { provide } = modelOf("v4", false, wrong)
        const state = yield* run(isStreamed).pipe(provide)
        assert.deepStrictEqual([state.status._tag, AgentState.text(state)], ["Complete", "Found."])
      }
    }))

  it.effect("is asked for, whichever calls and results stand between, at once and streamed", () =>
    Effect.gen(function*() {
      const call = (id: string): Content => ({
        type: "tool-call",
        toolCallId: id,
        toolName: "mcp.search",
        input: "{\"q\":1}",
        providerExecuted: true
      })
      const request = (id: string): Content => ({
        type: "tool-approval-request",
        approvalId: `ap-${id}`,
        toolCallId: id
      })
      const result = (id: string): Content => ({
        type: "tool-result",
        toolCallId: id,
        toolName: "mcp.search",
        result: { found: 1 }
      })
      const answers: ReadonlyArray<readonly [said: ReadonlyArray<Content>, waiting: ReadonlyArray<string>]> = [
        [[call("a"), call("b"), request("a"), request("b")], ["a", "b"]],
        [[call("a"), request("a"), call("b"), request("b")], ["a", "b"]],
        [[call("a"), call("b"), result("a"), request("b")], ["b"]],
        [[call("a"), request("a"), result("a")], []],
        [[call("a"), { ...result("a"), preliminary: true }, result("a")], []]
      ]
      for (const [said, waiting] of answers) {
        const seen = []
        for (const isStreamed of [false, true]) {
          const { provide } = modelOf("v4", false, said)
          const state = yield* run(isStreamed).pipe(provide)
          assert.deepStrictEqual(AgentState.pendingApprovals(state).map(({ callId }) => callId), waiting)
          seen.push(state.conversation.turns.at(-1))
        }
        assert.deepStrictEqual(seen[1], seen[0])
      }
    }))

  const callsIn = (content: unknown) =>
    (content as ReadonlyArray<Content>).flatMap((part) => part.type === "tool-call" ? [part["toolCallId"]] : [])

  it.effect("is asked for although other content came after its call, which is sent back once", () =>
    Effect.gen(function*() {
      const [, call, request] = asking as readonly [Content, Content, Content]
      const other: Content = { ...call, toolCallId: "w0" }
      const late: ReadonlyArray<Content> = [other, call, { type: "text", text: "May I?" }, request, request]
      for (const isStreamed of [false, true]) {
        const { options, provide } = modelOf("v4", false, late, found)
        yield* Effect.gen(function*() {
          const waiting = stored(yield* run(isStreamed))
          assert.deepStrictEqual(AgentState.pendingApprovals(waiting).map(({ callId }) => callId), ["w1"])
          const done = yield* Agent.resume(agent, Result.getOrThrow(AgentState.approve(waiting, "w1")))
          assert.strictEqual(AgentState.text(done), "Found.")
        }).pipe(provide)
        const [, said, answer] = options[1]!.prompt
        const ids = callsIn(said?.content)
        assert.deepStrictEqual(ids, ["w0", "w1"])
        assert.deepStrictEqual<unknown>(answer?.content, [
          { type: "tool-approval-response", approvalId: "ap1", approved: true }
        ])
        const ran = modelOf("v4", false, [...late.slice(0, 4), { ...found[1]!, toolCallId: "w1" }], found)
        const complete = yield* run(isStreamed).pipe(ran.provide)
        assert.strictEqual(complete.status._tag, "Complete")
        yield* Agent.continueConversation(agent, complete, "And now?").pipe(ran.provide)
        assert.deepStrictEqual(callsIn(ran.options[1]!.prompt[1]?.content), ["w0", "w1"])
      }
    }))

  it.effect("leaves out of what is sent back all results of a provider's tool but the last", () =>
    Effect.gen(function*() {
      const [call, result] = found as readonly [Content, Content, Content]
      for (const isStreamed of [false, true]) {
        const { options, provide } = modelOf("v4", false, [call, { ...result, preliminary: true, result: {} }, result])
        yield* Effect.flatMap(run(isStreamed), (state) => Agent.continueConversation(agent, state, "And now?")).pipe(
          provide
        )
        const [, said] = options[1]!.prompt
        assert.deepStrictEqual(said?.content.length, 2)
      }
    }))
})
