/**
 * Chains on the wire: who answers, what is noted, and what a strict provider refuses.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { InstructionChain, MockModel, MockProvider } from "troupe/testing"
import { chainOf, marked, say } from "./request.ts"

const { embed, make, reasoning, step, toolCalls } = InstructionChain

type Message = { readonly [key: string]: Schema.Json }

type Called = { readonly id: string; readonly function: { readonly name: string } }

const user = (content: Schema.Json): Message => ({ role: "user", content })
const assistant = (content: string): Message => ({ role: "assistant", content })

const send = (provider: MockProvider.Provider, messages: ReadonlyArray<Message>, more: Message = {}) =>
  Effect.promise(async () => {
    const response = await provider.fetch("http://localhost:4010/v1/chat/completions?trace=1", {
      method: "POST",
      headers: { "x-test": "yes" },
      body: JSON.stringify({ model: "gpt-5", messages, ...more })
    })
    const body = await response.json()
    return { response, body, text: body.choices?.[0]?.message.content }
  })

const lastEntry = (provider: MockProvider.Provider) => Effect.map(provider.entries, (entries) => entries.at(-1)!)

describe("A mock provider", () => {
  it.effect("answers with the step of the turn, before its handler", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ handler: MockModel.queue("from the handler", "again") })
      const start = [user(embed("Go", make(toolCalls({ name: "a" }, { name: "b" }), "two")))]
      const first = yield* send(provider, start)
      const calls: ReadonlyArray<Called> = first.body.choices[0].message.tool_calls
      assert.deepStrictEqual(calls.map((call) => call.function.name), ["a", "b"])
      const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "ok" }))
      const asked = [...start, { role: "assistant", content: null, tool_calls: calls }, ...results]
      assert.strictEqual((yield* send(provider, asked)).text, "two")
      assert.strictEqual((yield* lastEntry(provider)).by, "step 2 of 2 of the instruction chain in message 0")
      assert.deepStrictEqual((yield* send(provider, start)).body, first.body)
      assert.deepStrictEqual(yield* provider.misses, [])
      assert.strictEqual((yield* send(provider, [user("Hello")])).text, "from the handler")
      assert.strictEqual((yield* send(provider, [...asked, assistant("two"), user("more")])).text, "again")
      const reason = "the instruction chain in message 0 is exhausted: 2 turns after it, 2 in it"
      assert.deepStrictEqual((yield* provider.misses).map((miss) => miss.reason), [reason])
    }))

  it.effect("reads strings and parts alike, each part by itself", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      const chain = embed("", make("yes"))
      const part = (text: string) => ({ type: "text", text })
      assert.strictEqual((yield* send(provider, [user(chain)])).text, "yes")
      assert.strictEqual((yield* send(provider, [user([part(chain), part("Well?")])])).text, "yes")
      const halves = [part(chain.slice(0, 40)), part(chain.slice(40))]
      assert.notStrictEqual((yield* send(provider, [user(halves)])).text, "yes")
    }))

  it.effect("says back what the user said where nothing answers, without the chain in it", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      const part = (text: string) => ({ type: "text", text })
      const said = (content: Schema.Json) => Effect.map(send(provider, [user(content)]), ({ text }) => text)
      const chain = embed("", make())
      assert.strictEqual(yield* said("  Hello\n"), "  Hello\n")
      assert.strictEqual(yield* said([part("Hello"), part("there")]), "Hello")
      assert.strictEqual(yield* said(embed("Hello", make())), "Hello")
      assert.strictEqual(yield* said(`${chain} and so ${marked(`[${chain}]`)}`), "and so")
      assert.strictEqual(yield* said([part(chain), part("Hello")]), "Hello")
      assert.strictEqual(yield* said(`Hello <|instruction_end|>`), "Hello <|instruction_end|>")
      assert.strictEqual(yield* said(`Hello ${marked("{")}`), "Hello")
      assert.strictEqual(yield* said("Hello <|instruction_start|>{"), "Hello")
      assert.strictEqual(yield* said([{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]), "")
    }))

  it.effect("echoes the request as it arrived", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      const echo = (step: InstructionChain.StepInput) =>
        Effect.map(
          send(provider, [{ role: "system", content: "Be brief." }, user(embed("", make(step)))], {
            temperature: 0.5,
            tools: [{ type: "function", function: { name: "get_weather", parameters: { type: "object" } } }]
          }),
          ({ text }) => text
        )
      assert.strictEqual(yield* echo(InstructionChain.systemPromptEcho), "Be brief.")
      assert.strictEqual(yield* echo(InstructionChain.toolsList), "get_weather")
      assert.strictEqual(yield* echo(InstructionChain.toolsEcho), "get_weather: _No description provided._")
      assert.match(yield* echo(InstructionChain.toolSchema("get_weather")), /"type": "object"/)
      assert.strictEqual(
        yield* echo(InstructionChain.urlEcho),
        "http://localhost:4010/v1/chat/completions?trace=1"
      )
      assert.include((yield* echo(InstructionChain.headersEcho)).split("\n"), "x-test: yes")
      assert.strictEqual(
        yield* echo(InstructionChain.paramsEcho("model", "temperature")),
        "{\"model\":\"gpt-5\",\"temperature\":0.5}"
      )
    }))

  it.effect("sends the status, headers and body of a step that is an error", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      const options = { headers: { "retry-after": "7" }, body: { error: { message: "slow" } } }
      const { body, response } = yield* send(provider, [user(embed("", make(InstructionChain.error(429, options))))])
      assert.deepStrictEqual([response.status, response.headers.get("retry-after"), body], [429, "7", options.body])
    }))

  const flawed: ReadonlyArray<readonly [string, ReadonlyArray<Message>, RegExp]> = [
    [
      "malformed",
      [user(chainOf(say("old"))), user(marked("{"))],
      /^the instruction chain in message 1 is malformed: not JSON/
    ],
    [
      "of which the step is malformed",
      [user(chainOf(7, say("two")))],
      /^step 1 .* is invalid: instruction_chain\[0\]/
    ],
    [
      "of which the step says more words than a process can hold",
      [user(chainOf({ messages: [{ text: "A" }, { text_message: { length: 1e9 } }] }))],
      /^step 1 .* is invalid: .*: a step may ask for at most 100000 words by `length`, not 1000000000$/
    ],
    [
      "exhausted",
      [user(chainOf(say("A"))), assistant("A"), user("more")],
      /^the instruction chain in message 0 is exhausted/
    ]
  ]

  for (const [what, messages, reason] of flawed) {
    it.effect(`notes a chain that is ${what}, and has the handler answer`, () =>
      Effect.gen(function*() {
        const provider = MockProvider.make({ handler: MockModel.queue("fallback") })
        assert.strictEqual((yield* send(provider, messages)).text, "fallback")
        assert.match((yield* lastEntry(provider)).miss!, reason)
      }))

    it.effect(`refuses a chain that is ${what} where it is strict, and asks no handler`, () =>
      Effect.gen(function*() {
        const provider = MockProvider.make({ handler: MockModel.queue("fallback"), strict: true })
        const { body, response } = yield* send(provider, messages)
        assert.strictEqual(response.status, 400)
        assert.match(body.error.message, new RegExp(reason.source.slice(1)))
        assert.match((yield* provider.misses)[0]!.reason, reason)
        const defect = yield* Effect.catchDefect(provider.assertNoMisses, (defect) => Effect.succeed(defect))
        assert.instanceOf(defect, MockProvider.MissedRequests)
        assert.strictEqual((yield* send(provider, [user("Hello")])).text, "fallback")
      }))
  }

  it.effect("logs what is wrong in a chain, once for each request", () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void logged.push(`${logLevel}: ${String(message)}`))
    return Effect.gen(function*() {
      const provider = yield* MockProvider.MockProvider
      assert.strictEqual((yield* send(provider, [user(chainOf(say("A"), 7))])).text, "A")
      assert.strictEqual((yield* send(provider, [user(`Hello ${marked("[]")}`)])).text, "Hello")
      assert.strictEqual((yield* send(provider, [user("Hello")])).text, "Hello")
      assert.deepStrictEqual(logged, [
        "Warn: message 0: instruction_chain[1]: Expected an object",
        "Warn: the instruction chain in message 0 is malformed: not an object"
      ])
    }).pipe(Effect.provide(MockProvider.layer().pipe(Layer.provideMerge(Logger.layer([logger])))))
  })

  it.effect("keeps what is wrong in a chain beside a step that it takes", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ strict: true })
      assert.strictEqual((yield* send(provider, [user(chainOf(say("A"), 7))])).text, "A")
      assert.deepStrictEqual((yield* lastEntry(provider)).warnings, [
        "message 0: instruction_chain[1]: Expected an object"
      ])
      const none = yield* send(provider, [user("Hello")])
      assert.strictEqual(none.response.status, 400)
      assert.match(
        none.body.error.message,
        /there is no handler, and no message of the user carries an instruction chain/
      )
      const used = { messages: [{ server_tool_use: { name: "web_search", id: "s" } }] }
      yield* send(provider, [user(chainOf(used, 7))])
      assert.deepStrictEqual((yield* lastEntry(provider)).warnings, [
        "message 0: instruction_chain[1]: Expected an object",
        `part 1 isn't sent: there is no place for what the provider itself does with "web_search" in a chat completion`
      ])
    }))
})

/** A conversation in no protocol: calls come with their results. */
const Spoken = Schema.Array(Schema.Union([
  Schema.Struct({ type: Schema.Literal("user"), carries: Schema.Boolean, isPart: Schema.Boolean }),
  Schema.Struct({ type: Schema.Literal("says") }),
  Schema.Struct({ type: Schema.Literal("calls"), count: Schema.Literals([1, 2]), says: Schema.Boolean })
])).check(Schema.isMaxLength(8))

type Spoken = typeof Spoken.Type

/** Steps that say which they are, of a chain that says where it stands. */
const stepsAt = (place: number) => make(...[0, 1, 2, 3].map((step) => `chain ${place}, step ${step}`))

const userText = (place: number, carries: boolean): string => carries ? embed("Go", stepsAt(place)) : "and then?"

const idsAt = (place: number, count: number) => Array.from({ length: count }, (_, index) => `call_${place}_${index}`)

const called = { name: "look", arguments: "{}" }

const chatOf = (spoken: Spoken): ReadonlyArray<Message> =>
  spoken.flatMap((turn, place): ReadonlyArray<Message> => {
    if (turn.type === "says") return [assistant("Well.")]
    if (turn.type === "user") {
      const text = userText(place, turn.carries)
      return [user(turn.isPart ? [{ type: "text", text }] : text)]
    }
    const ids = idsAt(place, turn.count)
    return [
      {
        role: "assistant",
        content: turn.says ? "Wait." : null,
        tool_calls: ids.map((id) => ({ id, type: "function", function: called }))
      },
      ...ids.map((id) => ({ role: "tool", tool_call_id: id, content: "ok" }))
    ]
  })

const itemsOf = (spoken: Spoken): ReadonlyArray<Message> =>
  spoken.flatMap((turn, place): ReadonlyArray<Message> => {
    if (turn.type === "says") return [{ role: "assistant", content: [{ type: "output_text", text: "Well." }] }]
    if (turn.type === "user") {
      const text = userText(place, turn.carries)
      return [user(turn.isPart ? [{ type: "input_text", text }] : text)]
    }
    const ids = idsAt(place, turn.count)
    return [
      ...(turn.says ? [assistant("Wait.")] : []),
      ...ids.map((call_id) => ({ type: "function_call", call_id, ...called })),
      ...ids.map((call_id) => ({ type: "function_call_output", call_id, output: "ok" }))
    ]
  })

/** What the user says behind results is in one message with them where it is a part. */
const messagesOf = (spoken: Spoken): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  spoken.forEach((turn, place) => {
    if (turn.type === "says") messages.push(assistant("Well."))
    if (turn.type === "user") {
      const text = userText(place, turn.carries)
      const before = turn.isPart && messages.at(-1)?.role === "user" ? messages.pop()?.content : []
      const parts = typeof before === "string" ? [{ type: "text", text: before }] : before as ReadonlyArray<Message>
      messages.push(user(turn.isPart ? [...parts, { type: "text", text }] : text))
    }
    if (turn.type === "calls") {
      const ids = idsAt(place, turn.count)
      const uses = ids.map((id) => ({ type: "tool_use", id, name: "look", input: {} }))
      messages.push(
        { role: "assistant", content: [...(turn.says ? [{ type: "text", text: "Wait." }] : []), ...uses] },
        user(ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "ok" })))
      )
    }
  })
  return messages
}

const post = (provider: MockProvider.Provider, path: string, body: Message) =>
  Effect.promise(async () => {
    const headers = { "anthropic-version": "2023-06-01" }
    const request = { method: "POST", headers, body: JSON.stringify(body) }
    return (await provider.fetch(`http://localhost:4010/v1/${path}`, request)).json()
  })

/** The step that answers, by the rule in words: turns since the last chain, assistants in a row being one. */
const expectedOf = (spoken: Spoken): string => {
  const place = spoken.findLastIndex((turn) => turn.type === "user" && turn.carries)
  const after = spoken.slice(place + 1)
  const turns = after.filter((turn, index) => turn.type !== "user" && after[index - 1]?.type !== "says").length
  return turns < 4 ? `chain ${place}, step ${turns}` : "fallback"
}

describe("All protocols", () => {
  it.effect.prop("count the turns of a chain alike", [Spoken], ([rest]) =>
    Effect.gen(function*() {
      const spoken: Spoken = [{ type: "user", carries: true, isPart: false }, ...rest]
      const provider = MockProvider.make({ handler: MockModel.make(() => "fallback") })
      const model = "any"
      const chat = yield* post(provider, "chat/completions", { model, messages: chatOf(spoken) })
      const response = yield* post(provider, "responses", { model, input: itemsOf(spoken) })
      const message = yield* post(provider, "messages", { model, max_tokens: 9, messages: messagesOf(spoken) })
      const expected = expectedOf(spoken)
      assert.strictEqual(chat.choices?.[0].message.content, expected, JSON.stringify(chat))
      assert.strictEqual(response.output?.[0].content[0].text, expected, JSON.stringify(response))
      assert.strictEqual(message.content?.[0].text, expected, JSON.stringify(message))
    }))

  const asking = (path: string, text: string): Message =>
    path === "responses"
      ? { model: "any", input: text }
      : { model: "any", messages: [user(text)], ...(path === "messages" ? { max_tokens: 9 } : undefined) }

  it.effect("sign reasoning as a step does, where they have a place for that", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      const text = embed("Go", make(step([reasoning("Hm.", { signature: "c2ln" })])))
      const { content } = yield* post(provider, "messages", asking("messages", text))
      assert.deepStrictEqual(content, [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }])
      const { output } = yield* post(provider, "responses", asking("responses", text))
      assert.strictEqual(output[0].encrypted_content, "c2ln")
      const { choices } = yield* post(provider, "chat/completions", asking("chat/completions", text))
      assert.strictEqual(choices[0].message.reasoning_content, "Hm.")
    }))

  const middle: Readonly<Record<string, string>> = {
    "chat/completions": `data: {"error":{"message":"slow down","type":"odd","param":null,"code":"overloaded"}}`,
    responses:
      `event: error\ndata: {"type":"error","sequence_number":5,"code":"overloaded","message":"slow down","param":null,"error":{"type":"odd","code":"overloaded","message":"slow down","param":null}}`,
    messages:
      `event: error\ndata: {"type":"error","error":{"type":"odd","message":"slow down","details":{"error_code":"overloaded"}}}`
  }
  for (const [path, last] of Object.entries(middle)) {
    it.effect(`break off with the error of a step in the middle of a stream: ${path}`, () =>
      Effect.promise(async () => {
        const provider = MockProvider.make()
        const body = { error: { message: "slow down", type: "odd", code: "overloaded" } }
        const error = { status: 529, body, headers: { "retry-after": "9" }, after: 1 }
        const text = embed("Go", make(step("one two", { error, chunks: 3 })))
        const send = (stream: boolean) =>
          provider.fetch(`http://mock/v1/${path}`, {
            method: "POST",
            headers: { "anthropic-version": "2023-06-01" },
            body: JSON.stringify({ ...asking(path, text), stream })
          })
        const streamed = await send(true)
        assert.strictEqual(streamed.status, 200)
        const frames = (await streamed.text()).trimEnd().split("\n\n")
        assert.match(frames.at(-2)!, /"one"/)
        assert.strictEqual(frames.at(-1), last)
        const whole = await send(false)
        assert.deepStrictEqual([whole.status, whole.headers.get("retry-after"), await whole.json()], [529, "9", body])
      }))
  }

  it.effect("run agents inside tools by the chains in their parameters", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ strict: true })
      const inner = embed("Find the year.", make(toolCalls({ name: "look" }), "1969"))
      const outer = embed("When?", make(toolCalls({ name: "ask", args: { task: inner } }), "In 1969."))
      const model = "any"
      const sent = yield* post(provider, "messages", { model, max_tokens: 9, messages: [user(outer)] })
      assert.strictEqual(sent.content[0].input.task, inner)
      const within = yield* post(provider, "responses", { model, input: sent.content[0].input.task })
      assert.strictEqual(within.output[0].name, "look")
      const found = yield* post(provider, "responses", {
        model,
        input: [user(inner), ...within.output, {
          type: "function_call_output",
          call_id: within.output[0].call_id,
          output: "1969"
        }]
      })
      assert.strictEqual(found.output[0].content[0].text, "1969")
      const answered = yield* post(provider, "messages", {
        model,
        max_tokens: 9,
        messages: [
          user(outer),
          { role: "assistant", content: sent.content },
          user([{ type: "tool_result", tool_use_id: sent.content[0].id, content: "1969" }])
        ]
      })
      assert.strictEqual(answered.content[0].text, "In 1969.")
    }))
})
