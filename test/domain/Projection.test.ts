import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { Prompt } from "effect/ai"
import { Conversation } from "troupe"
import { settled } from "./arbitraries.ts"
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

const messages = (...turns: ReadonlyArray<Conversation.Turn>) =>
  Result.getOrThrow(Conversation.toPrompt(Conversation.make(deepFreeze(turns)))).content

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
    const user = (text: string) => Prompt.userMessage({ content: [Prompt.textPart({ text })] })
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
    const parts = Result.getOrThrow(Conversation.toPrompt(conversation)).content.flatMap(
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
    assert.deepStrictEqual(
      Result.getOrThrow(Conversation.toPrompt(conversation)).content,
      conversation.turns.flatMap(Conversation.toMessages)
    )
  })
})
