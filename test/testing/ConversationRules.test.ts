import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { Agent } from "troupe"
import { ConversationArbitrary, ConversationRules, MockModel, MockProvider } from "troupe/testing"
import { agentOf, environment, Script } from "../agent/scripts.ts"
import { environment as sceneEnvironment, runnableOf, Scene } from "../handoff/rosters.ts"
import { post } from "./provider/serve.ts"

const text = (text: string) => Prompt.textPart({ text })
const thought = (text: string, options = {}) => Prompt.reasoningPart({ text, options })
const call = (id: string, options: { readonly name?: string; readonly byProvider?: boolean } = {}) =>
  Prompt.toolCallPart({ id, name: options.name ?? "look", params: {}, providerExecuted: options.byProvider ?? false })
const result = (id: string, options: { readonly name?: string; readonly byProvider?: boolean } = {}) =>
  Prompt.toolResultPart({
    id,
    name: options.name ?? "look",
    isFailure: false,
    result: "a tree",
    providerExecuted: options.byProvider ?? false
  })
const system = Prompt.systemMessage({ content: "Be brief." })
const user = Prompt.userMessage({ content: [text("Hi.")] })
const assistant = (...content: ReadonlyArray<Prompt.AssistantMessagePart>) =>
  Prompt.assistantMessage({ content: content.length === 0 ? [text("Hello.")] : content })
const tool = (...content: ReadonlyArray<Prompt.ToolMessagePart>) => Prompt.toolMessage({ content })
const developer: ConversationRules.Message = { role: "developer", content: "Be kind." }
const request = (approvalId: string, toolCallId: string) => Prompt.toolApprovalRequestPart({ approvalId, toolCallId })
const response = (approvalId: string) => Prompt.toolApprovalResponsePart({ approvalId, approved: true })

type Messages = ReadonlyArray<ConversationRules.Message>

const signed = { anthropic: { signature: "s" } }

/** Each violation as `kind@index`, with its ids. */
const broken = (messages: Messages, policy?: Partial<ConversationRules.Policy>) =>
  ConversationRules.check(messages, policy).map(({ ids, index, kind }) => [`${kind}@${index}`, ...ids].join(" "))

/** Messages, what breaks in them, and the policy under which it does or doesn't. */
const cases: ReadonlyArray<readonly [string, Messages, ReadonlyArray<string>, Partial<ConversationRules.Policy>?]> = [
  ["nothing at all", [], []],
  ["a question", [system, user], []],
  ["several systems at the beginning", [system, system, user], []],
  ["an assistant that speaks first", [assistant(), user], ["AssistantBeforeUser@0"]],
  [
    "an assistant before any user, behind a tool message",
    [system, tool(), assistant(), user],
    ["AssistantBeforeUser@2"]
  ],
  ["an assistant that may speak first", [assistant(), user], [], { requireUserFirst: false }],
  ["a system in the middle", [user, system, assistant(), system], ["SystemNotFirst@1", "SystemNotFirst@3"]],
  ["a system that may stand in the middle", [user, system], [], { allowSystemAnywhere: true }],
  ["users in a row", [user, user, user], []],
  ["three users in a row, once", [user, user, user], ["RepeatedRole@0"], { allowRepeatedRoles: false }],
  [
    "two runs of one role",
    [user, user, assistant(), assistant(), user],
    ["RepeatedRole@0", "RepeatedRole@2"],
    { allowRepeatedRoles: false }
  ],
  [
    "parallel results in messages of their own",
    [user, assistant(call("a"), call("b")), tool(result("a")), tool(result("b"))],
    [],
    ConversationRules.strictPolicy
  ],
  ["no user", [system], ["NoUserMessage@0"], { requireUserPresent: true }],
  ["no message where a user must be", [], ["NoUserMessage@0"], { requireUserPresent: true }],
  [
    "a developer, and a function",
    [developer, user, { role: "function", content: 1 }],
    ["UnsupportedMessageType@0", "UnsupportedMessageType@2"]
  ],
  [
    "messages that say nothing, and some that do beside it",
    [
      user,
      assistant(text("")),
      Prompt.userMessage({ content: [text(" "), text("Hi.")] }),
      assistant(thought(" ")),
      Prompt.userMessage({ content: [] }),
      Prompt.assistantMessage({ content: [] }),
      assistant(Prompt.textPart({ text: "", options: signed }))
    ],
    ["EmptyMessage@1", "EmptyMessage@3", "EmptyMessage@4", "EmptyMessage@5"]
  ],
  [
    "messages that may say nothing",
    [user, assistant(text("")), Prompt.userMessage({ content: [] })],
    [],
    { allowEmptyMessages: true }
  ],
  ["a developer that may be there", [developer, user], [], { allowDeveloperAndFunction: true }],
  [
    "a call that an assistant leaves open",
    [user, assistant(call("b"), call("a")), tool(result("z")), assistant()],
    ["MissingToolResponses@1 b a", "UnknownToolResponse@2 z"]
  ],
  ["a call that is open at the end", [user, assistant(call("a"))], ["MissingToolResponses@1 a"]],
  ["a call that may stay open", [user, assistant(call("a"))], [], { allowDanglingToolCalls: true }],
  ["a call that waits for an approval", [user, assistant(call("a"), request("x", "a"))], []],
  [
    "an approved call that an assistant leaves open",
    [user, assistant(call("a"), request("x", "a")), tool(response("x")), assistant()],
    ["MissingToolResponses@1 a"]
  ],
  [
    "one of two results, in order",
    [user, assistant(call("a"), call("b")), tool(result("b")), assistant()],
    ["MissingToolResponses@1 a"]
  ],
  [
    "results that are out of order",
    [user, assistant(call("a"), call("b"), call("c")), tool(result("b"), result("a"), result("c"))],
    ["ToolResponsesOutOfOrder@1 b a c"]
  ],
  [
    "results in any order",
    [user, assistant(call("a"), call("b")), tool(result("b")), tool(result("a"))],
    [],
    { enforceToolResponseOrder: false }
  ],
  ["a result before any call", [user, tool(result("a")), assistant()], ["ToolBeforeAssistant@1 a"]],
  [
    "a result before any call, where unknown ones may be",
    [user, assistant(), tool(result("a"))],
    ["ToolBeforeAssistant@2 a"],
    { allowUnknownToolResponse: true }
  ],
  [
    "an unknown result",
    [user, assistant(call("a")), tool(result("a"), result("b"))],
    ["UnknownToolResponse@2 b"]
  ],
  [
    "an unknown result that may be there",
    [user, assistant(call("a")), tool(result("a"), result("b"))],
    [],
    { allowUnknownToolResponse: true }
  ],
  [
    "a result that comes when the next call waits",
    [user, assistant(call("a")), assistant(call("b")), tool(result("a"), result("b"))],
    ["MissingToolResponses@1 a", "UnknownToolResponse@3 a"]
  ],
  [
    "a second and a third result",
    [user, assistant(call("a")), tool(result("a")), user, tool(result("a")), assistant(), tool(result("a"))],
    ["DuplicateToolResponse@4 a", "DuplicateToolResponse@6 a"]
  ],
  [
    "a second result that may be there",
    [user, assistant(call("a")), tool(result("a"), result("a"))],
    [],
    { allowDuplicateToolResponse: true }
  ],
  [
    "an id that stands three times in a message",
    [user, assistant(call("a"), call("a"), call("a")), tool(result("a"), result("a"), result("a"))],
    ["DuplicateToolCallIds@1 a"],
    ConversationRules.strictPolicy
  ],
  [
    "an id of an earlier turn",
    [user, assistant(call("a")), tool(result("a")), assistant(call("a")), tool(result("a"))],
    ["DuplicateToolCallIds@3 a"]
  ],
  ["calls without ids", [user, assistant(call(""), call("a"), call("")), tool(result("a"))], ["EmptyToolCallId@1  "]],
  ["a result without an id", [user, assistant(call("a")), tool(result("a"), result(""))], ["EmptyToolResponseId@2 "]],
  ["a user between a call and its result", [user, assistant(call("a")), user, tool(result("a"))], []],
  [
    "users between a call and its result, once",
    [user, assistant(call("a"), call("b")), tool(result("a")), user, user, tool(result("b"))],
    ["ToolResponsesNotContiguous@3 b"],
    { enforceContiguousToolResponses: true }
  ],
  [
    "an assistant between a call and its result",
    [user, assistant(call("a")), assistant()],
    ["MissingToolResponses@1 a", "ToolResponsesNotContiguous@2 a"],
    { enforceContiguousToolResponses: true }
  ],
  [
    "a user behind results",
    [user, assistant(call("a")), tool(result("a")), user],
    [],
    { enforceContiguousToolResponses: true }
  ],
  [
    "what a provider ran, at once and later",
    [
      user,
      assistant(call("a", { byProvider: true }), result("a", { byProvider: true }), call("b", { byProvider: true })),
      assistant(result("b", { byProvider: true }), call("c")),
      tool(result("c"))
    ],
    []
  ],
  [
    "a second result of what a provider ran",
    [user, assistant(call("a", { byProvider: true }), result("a", { byProvider: true })), tool(result("a"))],
    ["DuplicateToolResponse@2 a"]
  ],
  [
    "signed reasoning apart from its call",
    [user, assistant(thought("Hm.", signed)), assistant(call("a")), tool(result("a"))],
    ["ReasoningSeparated@1 a"]
  ],
  [
    "reasoning that nobody signed, and reasoning in front of its call",
    [user, assistant(thought("Hm.")), assistant(thought("Well.", signed), call("a")), tool(result("a"))],
    []
  ],
  ["an approval of a call that isn't there", [user, assistant(request("x", "a"))], ["UnknownApproval@1 x"]],
  [
    "answers to the provider, one for each of its calls without a result",
    [
      user,
      assistant(call("a", { byProvider: true }), call("b", { byProvider: true }), result("b", { byProvider: true })),
      tool(response("x")),
      assistant(),
      tool(response("y"))
    ],
    ["UnknownApproval@4 y"]
  ],
  ["an answer to no approval", [user, assistant(), tool(response("x"))], ["UnknownApproval@2 x"]],
  [
    "an approval with its answer",
    [user, assistant(call("a"), request("x", "a")), tool(response("x"), result("a"))],
    []
  ],
  [
    "a handoff without a user",
    [assistant(call("a", { name: "handoff_to_b" })), tool(result("a", { name: "handoff_to_b" }))],
    ["HandoffWithoutUser@1 a"],
    { requireUserFirst: false }
  ],
  [
    "a handoff that was refused, without a user",
    [
      assistant(call("a", { name: "handoff_to_b" })),
      tool({ ...result("a", { name: "handoff_to_b" }), isFailure: true })
    ],
    [],
    { requireUserFirst: false }
  ],
  [
    "a handoff by a tool of another name",
    [assistant(call("a", { name: "escalate" })), tool(result("a", { name: "escalate" }))],
    ["HandoffWithoutUser@1 a"],
    { requireUserFirst: false, isHandoff: (name) => name === "escalate" }
  ],
  ["what a target receives", [system], ["HandoffWithoutUser@0"], { isHandedOver: true }],
  ["what a target receives, with a user", [system, user], [], { isHandedOver: true }]
]

describe("ConversationRules", () => {
  for (const [name, messages, expected, policy] of cases) {
    it(`finds ${expected.length === 0 ? "nothing" : "all"} in ${name}`, () => {
      assert.deepStrictEqual(broken(messages, policy), expected)
    })
  }

  it("knows each kind by a case", () => {
    const found = new Set(cases.flatMap(([, , expected]) => expected.map((each) => each.split("@")[0])))
    assert.deepStrictEqual([...found].toSorted(), [...ConversationRules.kinds].toSorted())
  })

  it("takes a prompt as its messages, and says what is wrong with it", () => {
    const violations = ConversationRules.check(Prompt.fromMessages([user, assistant(call("a"))]))
    assert.strictEqual(
      ConversationRules.format(violations),
      "MissingToolResponses: Message 1 has calls without results: \"a\""
    )
  })

  it("finds the cases that others' validators stumbled over", () => {
    const empty = assistant(text(""))
    assert.deepStrictEqual(broken([system, user, empty]), ["EmptyMessage@2"])
    assert.deepStrictEqual(broken([empty]), ["AssistantBeforeUser@0", "EmptyMessage@0"])
    assert.deepStrictEqual(broken([tool(result("id"))]), ["ToolBeforeAssistant@0 id"])
    assert.deepStrictEqual(broken([system, user, assistant(call("c1")), tool(result("c1"))]), [])
    assert.deepStrictEqual(broken([system, user, assistant(), tool(result("x"))]), ["ToolBeforeAssistant@3 x"])
    assert.deepStrictEqual(broken([user, assistant(), user, assistant(), assistant(), user]), [])
    assert.deepStrictEqual(
      broken([user, assistant(), user, assistant(), assistant(), user], ConversationRules.strictPolicy),
      ["RepeatedRole@3"]
    )
  })
})

const sentIn = Effect.map(MockModel.calls, (calls) => {
  assert.isAbove(calls.length, 0)
  return calls.map(({ request }) => ConversationRules.format(ConversationRules.check(request.prompt))).join("")
})

/** Histories of one's own may break anything. */
const isOwn = (scene: Scene): boolean =>
  Object.values(scene.members).some(({ offers }) => offers.some(({ history }) => history === "reversed"))

describe("The default policy", () => {
  it.effect.prop("accepts every prompt that a run sends", [Script], ([script]) =>
    Effect.gen(function*() {
      yield* Effect.exit(Agent.run(agentOf(script), "What is it?"))
      assert.strictEqual(yield* sentIn, "")
    }).pipe(Effect.provide(environment(script))), { arbitrary: { runs: 120 } })

  it.effect.prop("accepts every prompt of a run that changes hands", [Scene], ([scene]) =>
    Effect.gen(function*() {
      yield* Effect.exit(Agent.run(runnableOf(scene), "What is it?"))
      if (!isOwn(scene) && (scene.kind === "agent" || scene.start !== "broken")) assert.strictEqual(yield* sentIn, "")
    }).pipe(Effect.provide(sceneEnvironment(scene))), { arbitrary: { runs: 120 } })
})

type AnyPart = Prompt.UserMessagePart | Prompt.AssistantMessagePart | Prompt.ToolMessagePart

/** A part as Anthropic has it, as far as it takes one that others signed or ran. */
const blockOf = (part: AnyPart): ReadonlyArray<object> => {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }]
    case "file":
      return [{ type: "document", source: { type: "text", media_type: "text/plain", data: "…" } }]
    case "tool-call":
      return [{ type: part.providerExecuted ? "server_tool_use" : "tool_use", id: part.id, name: part.name, input: {} }]
    case "tool-result":
      return part.providerExecuted
        ? [{ type: "web_search_tool_result", tool_use_id: part.id, content: [] }]
        : [{ type: "tool_result", tool_use_id: part.id, content: JSON.stringify(part.result) ?? "" }]
    default:
      return []
  }
}

/** A message as OpenAI has it. What the provider ran itself has no place in a chat. */
const chatOf = (message: Prompt.Message): ReadonlyArray<object> => {
  if (message.role === "system") return [message]
  const parts: ReadonlyArray<AnyPart> = message.content
  const blocks = parts.flatMap((part) => "providerExecuted" in part && part.providerExecuted ? [] : [part])
  const texts = blocks.flatMap((part) => part.type === "text" ? [{ type: "text", text: part.text }] : [])
  if (message.role === "user") return [{ role: "user", content: texts.length === 0 ? "…" : texts }]
  if (message.role === "tool") {
    return blocks.flatMap((part) =>
      part.type === "tool-result" ? [{ role: "tool", tool_call_id: part.id, content: JSON.stringify(part.result) }] : []
    )
  }
  const calls = blocks.flatMap((part) =>
    part.type === "tool-call" ? [{ type: "function", id: part.id, function: { name: "f", arguments: "{}" } }] : []
  )
  return [{
    role: "assistant",
    content: texts.length === 0 && calls.length > 0 ? null : texts.length === 0 ? "…" : texts,
    ...(calls.length === 0 ? undefined : { tool_calls: calls })
  }]
}

describe("What keeps the rules", () => {
  const Prompts = ConversationArbitrary.prompt()

  it.effect.prop("is taken by the mock of each provider", [Prompts], ([prompt]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(broken(prompt.content), [])
      const { fetch } = MockProvider.make()
      const said = prompt.content.filter(({ role }) => role !== "system")
      const messages = said.map((message) => ({
        role: message.role === "assistant" ? "assistant" : "user",
        content: typeof message.content === "string" ? message.content : message.content.flatMap<object>(blockOf)
      }))
      const bodies = {
        messages: { max_tokens: 9, messages: [...messages, { role: "user", content: "And?" }] },
        "chat/completions": { messages: prompt.content.flatMap(chatOf) }
      }
      for (const [path, body] of Object.entries(bodies)) {
        const response = yield* Effect.promise(() => post(fetch, path, { model: "any", ...body }))
        assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.text()))
      }
    }), { arbitrary: { runs: 300 } })
})
