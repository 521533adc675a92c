import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { Prompt } from "effect/ai"
import { Conversation } from "troupe"
import { below, settled } from "./arbitraries.ts"
import { callsIn, deepFreeze } from "./legal.ts"

const call = (
  id: string,
  state: Omit<Conversation.Settled, "_tag">,
  fields?: Partial<Conversation.Call>
): Conversation.Call => ({
  _tag: "Call",
  id,
  name: `tool of ${id}`,
  params: { of: id },
  state: { _tag: "Settled", ...state },
  ...fields
})

const promptOf = (conversation: Conversation.Conversation) =>
  Result.getOrThrow(Conversation.toPrompt(conversation)).content

/** The messages behind the words of a user. */
const messages = (...turns: ReadonlyArray<Conversation.Turn>) =>
  promptOf(Conversation.make(deepFreeze([Conversation.user("Hello"), ...turns]))).slice(1)

const user = (...texts: ReadonlyArray<string>) =>
  Prompt.userMessage({ content: texts.map((text) => Prompt.textPart({ text })) })

const opening = user("[The conversation begins here.]")

const assistant = (...parts: ReadonlyArray<Conversation.AssistantPart>): Conversation.Turn => ({
  _tag: "Assistant",
  agent: "triage",
  parts,
  usage: {},
  finishReason: "stop"
})

describe("Conversation.toPrompt", () => {
  it("sends an assistant's turn as its message, and the results of our tools behind it", () => {
    assert.deepStrictEqual(
      messages(assistant(
        { _tag: "Reasoning", text: "Hm.", metadata: { anthropic: { signature: "s" } } },
        Conversation.text("I look."),
        { _tag: "Source", id: "s1", title: "Terms" },
        call("ours", { outcome: "Failed", result: "no", metadata: { openai: { item: 2 } } }, {
          metadata: { openai: { item: 1 } }
        }),
        call("web", { outcome: "Succeeded", result: [] }, { providerExecuted: true }),
        call("chart", { outcome: "Succeeded", result: 7, modelOutput: [Prompt.textPart({ text: "A chart." })] }),
        Conversation.file("image/png", "aGk=", { fileName: "a.png" })
      )),
      [
        Prompt.assistantMessage({
          content: [
            Prompt.reasoningPart({ text: "Hm.", options: { anthropic: { signature: "s" } } }),
            Prompt.textPart({ text: "I look." }),
            Prompt.toolCallPart({
              id: "ours",
              name: "tool of ours",
              params: { of: "ours" },
              providerExecuted: false,
              options: { openai: { item: 1 } }
            }),
            Prompt.toolCallPart({ id: "web", name: "tool of web", params: { of: "web" }, providerExecuted: true }),
            Prompt.toolResultPart({
              id: "web",
              name: "tool of web",
              isFailure: false,
              result: [],
              providerExecuted: true
            }),
            Prompt.toolCallPart({
              id: "chart",
              name: "tool of chart",
              params: { of: "chart" },
              providerExecuted: false
            }),
            Prompt.filePart({ mediaType: "image/png", data: "aGk=", fileName: "a.png" })
          ]
        }),
        Prompt.toolMessage({
          content: [
            Prompt.toolResultPart({
              id: "ours",
              name: "tool of ours",
              isFailure: true,
              result: "no",
              providerExecuted: false,
              options: { openai: { item: 2 } }
            }),
            Prompt.toolResultPart({
              id: "chart",
              name: "tool of chart",
              isFailure: false,
              result: 7,
              modelOutput: [Prompt.textPart({ text: "A chart." })],
              providerExecuted: false
            })
          ]
        })
      ]
    )
  })

  it("tells the model which outcomes are failures", () => {
    const outcomes = ["Succeeded", "Failed", "Denied", "Interrupted", "HandedOff"] as const
    const [, tool] = messages(assistant(...outcomes.map((outcome) => call(outcome, { outcome, result: null }))))
    assert.deepStrictEqual(
      tool?.role === "tool" ? tool.content.map((part) => part.type === "tool-result" && [part.id, part.isFailure]) : [],
      [["Succeeded", false], ["Failed", true], ["Denied", true], ["Interrupted", true], ["HandedOff", false]]
    )
  })

  it("sends a summary and feedback as a user's words, and nothing for an empty turn", () => {
    assert.deepStrictEqual(
      messages(
        { _tag: "Summary", text: "Earlier.", of: 3 },
        assistant(),
        { _tag: "User", parts: [] },
        { _tag: "Feedback", text: "Answer in JSON." },
        assistant({ _tag: "Source", id: "s1", title: "Terms" })
      ),
      [user("Earlier."), user("Answer in JSON.")]
    )
  })

  it.prop("has exactly one result behind each call", [settled], ([conversation]) => {
    const parts = promptOf(conversation).flatMap(
      (message): ReadonlyArray<Prompt.Part> => message.role === "system" ? [] : message.content
    )
    const ids = (type: "tool-call" | "tool-result") => parts.flatMap((part) => part.type === type ? [part.id] : [])
    assert.deepStrictEqual(ids("tool-call"), callsIn(conversation).map((call) => call.id))
    assert.deepStrictEqual(ids("tool-result").toSorted(), ids("tool-call").toSorted())
    for (const id of ids("tool-call")) {
      const at = (type: string) => parts.findIndex((part) => part.type === type && "id" in part && part.id === id)
      assert.isBelow(at("tool-call"), at("tool-result"))
    }
  })

  it.prop("is made of the messages of each turn by itself", [settled], ([conversation]) => {
    const messages = conversation.turns.flatMap(Conversation.toMessages)
    assert.deepStrictEqual(promptOf(conversation), messages[0]?.role === "user" ? messages : [opening, ...messages])
  })

  it.prop("begins with a user's message, whatever was kept of a conversation", [settled, below(8)], ([self, n]) => {
    const kept = [
      self,
      Conversation.truncate(self, n),
      Conversation.filter(self, (_, index) => index !== n),
      Conversation.filter(self, ({ _tag }) => _tag === "Assistant"),
      Conversation.fork(self, n)
    ]
    for (const conversation of kept) {
      const messages = promptOf(conversation)
      assert.strictEqual(messages[0]?.role, "user")
      for (const message of messages) {
        for (const part of message.role === "system" ? [] : message.content) {
          if (part.type === "text" && Object.keys(part.options).length === 0) assert.match(part.text, /\S/)
        }
      }
    }
  })

  it("has an opening where nothing was said, and none where a user speaks first", () => {
    assert.deepStrictEqual(promptOf(Conversation.empty), [opening])
    assert.deepStrictEqual(promptOf(Conversation.make([Conversation.user("Hello")])), [user("Hello")])
    assert.deepStrictEqual(promptOf(Conversation.make([{ _tag: "Summary", text: "Earlier.", of: 2 }])), [
      user("Earlier.")
    ])
    const system = Prompt.systemMessage({ content: "Be brief." })
    assert.deepStrictEqual(Conversation.beginWithUser([system]), [system, opening])
    assert.deepStrictEqual(Conversation.beginWithUser([system, user("Hello")]), [system, user("Hello")])
  })

  it("sends no text without words, unless the model's provider attached something to it", () => {
    const signed = { google: { thoughtSignature: "s" } }
    assert.deepStrictEqual(
      messages(
        { _tag: "User", parts: [Conversation.text(""), Conversation.text("Look."), Conversation.text(" \n", signed)] },
        { _tag: "User", parts: [Conversation.text("\t")] },
        assistant(Conversation.text("\n\n"), { _tag: "Reasoning", text: "" }),
        assistant(
          Conversation.text(""),
          Conversation.text("", signed),
          call("a", {
            outcome: "Succeeded",
            result: 7,
            modelOutput: [Prompt.textPart({ text: "" }), Prompt.textPart({ text: "A chart." })]
          }, { providerExecuted: true })
        ),
        { _tag: "Feedback", text: " " },
        { _tag: "Summary", text: "", of: 2 }
      ).map((message) =>
        message.role === "system" ? [] : message.content.map((part) => "text" in part ? part.text : part)
      ),
      [["Look."], [
        "",
        Prompt.toolCallPart({ id: "a", name: "tool of a", params: { of: "a" }, providerExecuted: true }),
        Prompt.toolResultPart({
          id: "a",
          name: "tool of a",
          isFailure: false,
          result: 7,
          modelOutput: [Prompt.textPart({ text: "A chart." })],
          providerExecuted: true
        })
      ]]
    )
  })
})
