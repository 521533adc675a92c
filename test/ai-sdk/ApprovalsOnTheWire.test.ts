/** Approvals that OpenAI asks for before it calls a tool of an MCP server: by its packages, in its wire format, over a socket. */
import { createOpenAI } from "@ai-sdk/openai"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { createOpenAI as createOpenAI3 } from "ai-sdk-openai-3"
import { Effect, Layer, Option, Result, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { fields, list } from "./bodies.ts"

const Dice = Tool.providerDefined({
  id: "openai.mcp",
  customName: "dice",
  providerName: "mcp",
  args: Schema.Struct({ serverLabel: Schema.String, serverUrl: Schema.String, requireApproval: Schema.String }),
  parameters: Schema.Unknown,
  success: Schema.Unknown,
  failure: Schema.Unknown
})({ serverLabel: "dice", serverUrl: "https://dice.test/mcp", requireApproval: "always" })

const agent = Agent.make("player", { toolkit: Toolkit.make(Dice) })

/** The server asks before it rolls. What it is answered decides what it does next. */
const table = MockModel.make(({ callCount, messages }) => {
  if (callCount === 1) {
    return MockResponse.all(
      "Let me roll.",
      MockResponse.approvalRequest("roll", { dice: "2d4" }, { approvalId: "mcpr_1" })
    )
  }
  if (callCount > 2) return "Bye."
  const last = messages.at(-1)
  const approved = last?.role === "tool" &&
    last.content.some((part) => part.type === "tool-approval-response" && part.approvalId === "mcpr_1" && part.approved)
  return approved
    ? MockResponse.all(
      MockResponse.providerCall("roll", { dice: "2d4" }, "6", {
        metadata: { openai: { approvalRequestId: "mcpr_1" } }
      }),
      "You have 6."
    )
    : "No dice, then."
})

const server = MockProvider.layerServer({ handler: table, strict: true }).pipe(
  Layer.provideMerge(NodeHttpServer.layerTest)
)

const packages = {
  "its package": createOpenAI,
  "its package by specification 3": createOpenAI3
} as const

const modelOf = (make: typeof createOpenAI | typeof createOpenAI3, store: boolean) =>
  Layer.unwrap(
    Effect.map(MockProvider.url, (url) =>
      AiSdkModel.layer(make({ apiKey: "none", baseURL: `${url}/v1` }).responses("gpt-5"), {
        providerOptions: { openai: { store } }
      }))
  )

/** Out of JSON, as from a store. */
const stored = (state: AgentState.AgentState) =>
  Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))

const lastOf = <E, R>(states: Stream.Stream<AgentState.AgentState, E, R>) =>
  Effect.map(Stream.runLast(states), Option.getOrThrow)

const ways = {
  "at once": (from: string | AgentState.AgentState) =>
    typeof from === "string" ? Agent.run(agent, from) : Agent.resume(agent, from),
  streamed: (from: string | AgentState.AgentState) => lastOf(Agent.states(agent, from))
} as const

const answers = [
  ["approved", (state: AgentState.AgentState, id: string) => AgentState.approve(state, id), "You have 6."],
  ["denied", (state: AgentState.AgentState, id: string) => AgentState.deny(state, id, "not now"), "No dice, then."]
] as const

describe("An approval that OpenAI asks for", () => {
  for (const [by, make] of Object.entries(packages)) {
    for (const [way, run] of Object.entries(ways)) {
      for (const store of [true, false]) {
        for (const [what, answer, text] of answers) {
          it.effect(`is ${what}: by ${by}, ${way}, ${store ? "" : "not "}stored there`, () =>
            Effect.gen(function*() {
              yield* Effect.gen(function*() {
                const waiting = stored(yield* run("Roll two dice."))
                const [pending, ...others] = AgentState.pendingApprovals(waiting)
                assert.deepStrictEqual(others, [])
                assert.deepInclude(pending, { path: ["player"], name: "mcp.roll", params: { dice: "2d4" } })
                const done = yield* run(stored(Result.getOrThrow(answer(waiting, pending!.callId))))
                assert.deepStrictEqual([done.status._tag, AgentState.text(done)], ["Complete", text])
                assert.lengthOf(Conversation.openCalls(done.conversation), 0)
                const later = yield* Agent.continueConversation(agent, stored(done), "Bye")
                assert.strictEqual(AgentState.text(later), "Bye.")
              }).pipe(Effect.provide(modelOf(make, store)))
              const requests = yield* MockProvider.requests("openai-responses")
              const [first, second, third] = requests.map(({ input, tools }) => ({
                items: list(input),
                tools: list(tools)
              }))
              assert.deepInclude(first!.tools[0], { type: "mcp", server_label: "dice", require_approval: "always" })
              for (const { items } of [second!, third!]) {
                const said = items.filter(({ type }) => type === "mcp_approval_response")
                assert.deepStrictEqual(said, [
                  { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: what === "approved" }
                ])
                // What the provider keeps is referred to.
                const referred = items.filter(({ type }) => type === "item_reference").map(({ id }) => id)
                assert.strictEqual(referred.includes("mcpr_1"), store)
              }
              assert.deepStrictEqual(fields(first!.items.at(-1))["role"], "user")
              yield* MockProvider.assertNoMisses
            }).pipe(Effect.provide(Layer.fresh(server))))
        }
      }
    }
  }
})
