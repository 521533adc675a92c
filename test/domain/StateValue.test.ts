/** A state is a value: nobody who gave something to it, or took something from it, can change it. */
import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import { Prompt } from "effect/ai"
import { AgentState, Conversation, ModeTransition } from "troupe"
import { times } from "../matrix.ts"
import { settled, state } from "./arbitraries.ts"

type Mutable = Array<unknown> | Record<string, unknown> | Uint8Array | URL

/** Changes everything that can be changed in a value, at every depth. */
const spoil = (value: unknown, seen = new Set<unknown>()): void => {
  if (typeof value !== "object" || value === null || seen.has(value)) return
  seen.add(value)
  const spoiled = value as Mutable
  if (spoiled instanceof Uint8Array) spoiled.fill(255)
  else if (spoiled instanceof URL) spoiled.hash = "spoiled"
  else if (Array.isArray(spoiled)) {
    for (const item of spoiled) spoil(item, seen)
    spoiled.push("spoiled")
  } else {
    for (const item of Object.values(spoiled)) spoil(item, seen)
    spoiled["spoiled"] = true
  }
}

const input = () => [
  Conversation.text("Look.", { anthropic: { cacheControl: { type: "ephemeral" } } }),
  Conversation.file("image/png", new Uint8Array([137, 80]), { metadata: { openai: { detail: ["low"] } } }),
  Conversation.file("image/png", Buffer.from([137, 80])),
  Conversation.file("image/png", new URL("https://example.com/a"))
]

/** A state in which a call waits for its result from outside, and another one for approval. */
const waiting = (): AgentState.AgentState => {
  const call = (id: string, _tag: "AwaitingApproval" | "AwaitingResult") =>
    ({ ...Conversation.call(id, "go", {}), state: { _tag } }) as const
  const assistant = Conversation.assistant("a", [
    call("result", "AwaitingResult"),
    call("approval", "AwaitingApproval")
  ])
  return AgentState.withConversation(asked(), { turns: [...asked().conversation.turns, assistant] })
}

const asked = () => AgentState.ask(AgentState.make("a"), "Hello", 0)

const given: Readonly<Record<string, readonly [given: () => unknown, use: (given: never) => unknown]>> = {
  "AgentState.ask": [input, (parts: ReadonlyArray<Conversation.UserPart>) => AgentState.ask(asked(), parts, 0)],
  "AgentState.editAt": [input, (parts: ReadonlyArray<Conversation.UserPart>) => AgentState.editAt(asked(), 0, parts)],
  "Conversation.user": [input, Conversation.user],
  "Conversation.appendUser": [
    input,
    (parts: ReadonlyArray<Conversation.UserPart>) => Conversation.appendUser(asked().conversation, parts)
  ],
  "Conversation.edit": [
    input,
    (parts: ReadonlyArray<Conversation.UserPart>) => Conversation.edit(asked().conversation, 0, parts)
  ],
  "Conversation.assistant": [
    input,
    (parts: ReadonlyArray<Conversation.AssistantPart>) => Conversation.assistant("a", parts)
  ],
  "Conversation.call": [
    () => ({ deep: [{ list: [1] }] }),
    (params: Schema.Json) => Conversation.call("c", "go", params)
  ],
  "AgentState.giveResult": [
    () => ({ deep: [{ list: [1] }] }),
    (result: Schema.Json) => Result.getOrThrow(AgentState.giveResult(waiting(), "result", result))
  ],
  "AgentState.approve": [
    () => ({ deep: [{ list: [1] }] }),
    (params: Schema.Json) => Result.getOrThrow(AgentState.approve(waiting(), "approval", { params }))
  ],
  "Conversation.fromPrompt": [
    () => [
      {
        role: "user",
        content: [{ type: "file", mediaType: "image/png", data: new Uint8Array([1]), options: { a: { b: [1] } } }]
      },
      { role: "assistant", content: [{ type: "tool-call", id: "c", name: "go", params: { deep: [1] } }] },
      { role: "tool", content: [{ type: "tool-result", id: "c", name: "go", isFailure: false, result: { deep: [1] } }] }
    ],
    (messages: Prompt.RawInput) => Conversation.fromPrompt(Prompt.make(messages))
  ],
  "ModeTransition.push": [() => ({ deep: [1] }), (params: Schema.Json) => ModeTransition.push("m", params)]
}

describe("What somebody else holds can't change", () => {
  for (const [name, [make, use]] of Object.entries(given)) {
    it(`what ${name} made of it`, () => {
      const mine = make()
      const made = use(mine as never)
      const before = use(make() as never)
      assert.deepStrictEqual(made, before)
      spoil(mine)
      assert.deepStrictEqual(made, before)
    })
  }

  it.prop("a conversation that a prompt was made of", [settled], ([given]) => {
    const text = JSON.stringify(given)
    const prompt = Result.getOrThrow(Conversation.toPrompt(given))
    assert.strictEqual(JSON.stringify(Result.getOrThrow(Conversation.toPrompt(given))), JSON.stringify(prompt))
    spoil(prompt.content)
    assert.strictEqual(JSON.stringify(given), text)
  }, { arbitrary: { runs: times(50, 20) } })

  it.prop("a state that was read from a document, or written to one", [state], ([given]) => {
    const text = JSON.stringify(AgentState.toJson(given))
    const document = AgentState.toJson(given)
    spoil(document)
    assert.strictEqual(JSON.stringify(AgentState.toJson(given)), text)
    const source: unknown = JSON.parse(text)
    const read = Result.getOrThrow(AgentState.fromJson(source))
    spoil(source)
    assert.deepStrictEqual(read, Result.getOrThrow(AgentState.fromJson(text)))
  }, { arbitrary: { runs: times(50, 20) } })
})
