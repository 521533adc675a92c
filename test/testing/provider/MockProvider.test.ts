import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { InstructionChain, MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { anthropicOf, openaiOf } from "./serve.ts"

const path = "http://mock/v1/chat/completions"

const bodyOf = (content: string, options: object = {}) =>
  JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content }], ...options })

const post = (content: string, options?: object) =>
  Effect.flatMap(
    MockProvider.MockProvider,
    ({ fetch }) => Effect.promise(() => fetch(path, { method: "POST", body: bodyOf(content, options) }))
  )

const bodyText = (response: Response) => Effect.promise(() => response.text())

const say = (content: string, options?: object) => Effect.flatMap(post(content, options), bodyText)

const defectOf = (exit: Exit.Exit<unknown, unknown>) => {
  assert.isTrue(Exit.isFailure(exit))
  return Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : ""
}

describe("MockProvider.make", () => {
  it.effect("gives the same answer to the same request, to the letter, streamed or not", () =>
    Effect.promise(async () => {
      const ask = async (body: string) => {
        const handler = MockModel.make(() => MockResponse.toolCall("a", {}))
        return (await MockProvider.make({ handler }).fetch(path, { method: "POST", body })).text()
      }
      assert.strictEqual(await ask(bodyOf("one")), await ask(bodyOf("one")))
      assert.strictEqual(await ask(bodyOf("one", { stream: true })), await ask(bodyOf("one", { stream: true })))
      assert.notStrictEqual(await ask(bodyOf("one")), await ask(bodyOf("two")))
      const ids = (text: string) => new Set(text.match(/(chatcmpl-|call_)\w{24}/g))
      assert.strictEqual(ids(await ask(bodyOf("one"))).size, 2)
      assert.deepStrictEqual(ids(await ask(bodyOf("one"))), ids(await ask(bodyOf("one", { stream: true }))))
    }))

  it.effect("shows a handler the model and the settings of a request", () =>
    Effect.promise(async () => {
      const seen: Array<unknown> = []
      const handler = MockModel.make(({ model, settings }) => {
        seen.push({ model, ...settings })
        return "Hi"
      })
      const { fetch } = MockProvider.make({ handler })
      const ask = (path: string, body: object) =>
        fetch(`http://mock${path}`, {
          method: "POST",
          headers: { "anthropic-version": "2023-06-01" },
          body: JSON.stringify(body)
        })
      const messages = [{ role: "user", content: "Hello" }]
      const tools = [{ type: "function", function: { name: "a" } }]
      await ask("/v1/chat/completions", { model: "gpt-5", messages, tools, temperature: 0, stop: ["x"], stream: false })
      await ask("/v1/messages", { model: "claude", messages, system: "Be kind.", max_tokens: 9, top_p: 0.5 })
      await ask("/v1/responses", { model: "o9", input: "Hello", instructions: "Be kind.", max_output_tokens: 99 })
      assert.deepStrictEqual(seen, [
        { model: "gpt-5", temperature: 0, stop: ["x"] },
        { model: "claude", max_tokens: 9, top_p: 0.5 },
        { model: "o9", max_output_tokens: 99 }
      ])
    }))

  it.effect("begins anew with each provider that is made of a handler", () =>
    Effect.promise(async () => {
      const handler = MockModel.queue("one")
      const ask = async () =>
        (await MockProvider.make({ handler }).fetch(path, { method: "POST", body: bodyOf("") })).text()
      assert.include(await ask(), `"one"`)
      assert.include(await ask(), `"one"`)
    }))

  it.effect("stops a request whose signal is aborted, and rejects with its reason", () =>
    Effect.promise(async () => {
      const provider = MockProvider.make({ handler: MockModel.queue(MockResponse.hang()) })
      const controller = new AbortController()
      const response = provider.fetch(path, { method: "POST", body: bodyOf(""), signal: controller.signal })
      await Effect.runPromise(provider.wait(1))
      controller.abort(new Error("enough"))
      const error = await response.then(() => undefined, (error: unknown) => error)
      assert.strictEqual(String(error), "Error: enough")
      assert.deepStrictEqual(Effect.runSync(provider.entries).map(({ outcome }) => outcome), ["aborted"])
    }))

  it.effect("refuses what it doesn't serve, and says what is missing in the path", () =>
    Effect.promise(async () => {
      const provider = MockProvider.make()
      const near = await provider.fetch("http://mock/chat/completions", { method: "POST", body: bodyOf("") })
      assert.strictEqual(near.status, 404)
      assert.strictEqual((await near.json()).error.message, "Invalid URL (POST /chat/completions)")
      const [miss] = Effect.runSync(provider.misses)
      assert.strictEqual(
        miss?.reason,
        "nothing is served at /chat/completions, and the base URL of an OpenAI client ends in /v1"
      )
      assert.strictEqual((await provider.fetch(path)).status, 405)
      assert.strictEqual((await provider.fetch(path, { method: "POST", body: "{" })).status, 400)
    }))
})

describe("MockProvider.layer", () => {
  class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}

  it.effect("answers with what the handler needs, and waits by the clock of the test", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(say("Hello"))
      const [entry] = yield* MockProvider.wait(1)
      assert.deepStrictEqual([entry?.outcome, entry?.arrivedAt], ["pending", 0])
      yield* TestClock.adjust("3 seconds")
      assert.include(yield* Fiber.join(fiber), "Good day")
      const [answered] = yield* MockProvider.entries
      assert.deepStrictEqual([answered?.outcome, answered?.answeredAt, answered?.endedAt], ["sent", 3000, 3000])
    }).pipe(
      Effect.provide(MockProvider.layer({
        handler: MockModel.make(() => Effect.map(Greeting, (text) => MockResponse.delay(text, "3 seconds")))
      })),
      Effect.provideService(Greeting, "Good day")
    ))

  it.effect("keeps a journal of who answered what", () =>
    Effect.gen(function*() {
      yield* say("one")
      yield* say("two", { stream: true })
      yield* say("three")
      yield* say("four", { messages: [] })
      const entries = yield* MockProvider.entries
      assert.deepStrictEqual(
        entries.map(({ by, miss, number, outcome, protocol, status }) => [number, protocol, by, status, outcome, miss]),
        [
          [2, "openai-chat", "handler: queue 2 of 2", 200, "sent", undefined],
          [3, "openai-chat", "fallback", 200, "sent", "all 2 queued responses are used up"],
          [4, "openai-chat", "refusal", 400, "sent", undefined]
        ]
      )
      assert.deepStrictEqual(entries[0]?.response?.parts, [{ type: "text", text: "second" }])
      assert.strictEqual(entries[0]?.asked?.isStreaming, true)
      const requests = yield* MockProvider.requests("openai-chat")
      assert.deepStrictEqual(requests.map(({ messages }) => messages[0]?.content), ["two", "three"])
    }).pipe(Effect.provide(MockProvider.layer({ handler: MockModel.queue("first", "second"), journal: 3 }))))

  it.effect("warns of what a protocol has no place for, and leaves it out", () => {
    const search = { providerExecuted: true as const }
    const parts = [
      { type: "tool-call", id: "s", name: "web_search", params: {}, ...search },
      { type: "tool-result", id: "s", name: "web_search", result: [], isFailure: false, ...search },
      { type: "text", text: "Look:" },
      { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "file", mediaType: "text/plain", data: "AAAA" },
      { type: "tool-approval-request", approvalId: "ap", toolCallId: "s" }
    ] as const
    return Effect.gen(function*() {
      const { fetch } = yield* MockProvider.MockProvider
      const headers = { "anthropic-version": "2023-06-01" }
      const bodies = {
        "chat/completions": { messages: [{ role: "user", content: "Hello" }] },
        responses: { input: "Hello" },
        messages: { messages: [{ role: "user", content: "Hello" }], max_tokens: 9 }
      }
      for (const [path, body] of Object.entries(bodies)) {
        const request = { method: "POST", headers, body: JSON.stringify({ model: "any", ...body }) }
        const response = yield* Effect.promise(() => fetch(`http://mock/v1/${path}`, request))
        assert.strictEqual(response.status, 200)
      }
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ warnings }) => warnings), [
        [
          `part 1 isn't sent: there is no place for what the provider itself does with "web_search" in a chat completion`,
          `part 2 isn't sent: there is no place for what the provider itself does with "web_search" in a chat completion`,
          "part 4 isn't sent: there is no place for a file in a chat completion",
          "part 5 isn't sent: there is no place for a file in a chat completion",
          "part 6 isn't sent: there is no place for a request for an approval in a chat completion"
        ],
        ["part 5 isn't sent: there is no place for a file of the type text/plain in a response"],
        [
          "part 4 isn't sent: there is no place for a file in a message",
          "part 5 isn't sent: there is no place for a file in a message",
          "part 6 isn't sent: there is no place for a request for an approval in a message"
        ]
      ])
    }).pipe(Effect.provide(MockProvider.layer({ handler: MockModel.make({ _tag: "MockResponse", parts }) })))
  })

  it.effect("streams calls that a script has made of raw parts, whole and without a beginning", () => {
    const call = { type: "tool-call", id: "call_a", name: "add", params: { n: 1 } } as const
    const usage = { inputTokens: { total: 3 }, outputTokens: { total: 4 } }
    const finish = { type: "finish", reason: "tool-calls", usage } as const
    const raw = MockResponse.raw({ parts: [call, finish], stream: [call, finish] })
    return Effect.gen(function*() {
      const { fetch } = yield* MockProvider.MockProvider
      const messages = [{ role: "user", content: "Hello" }]
      const openai = openaiOf(fetch)
      const asked = { model: "any", messages, stream: true } as never
      const calls = yield* Effect.promise(async () => [
        (await openai.chat.completions.stream(asked).finalChatCompletion()).choices[0]?.message.tool_calls?.[0],
        (await openai.responses.stream({ model: "any", input: "Hello" }).finalResponse()).output[0],
        (await anthropicOf(fetch).messages.stream({ ...Object(asked), max_tokens: 9 }).finalMessage()).content[0]
      ])
      assert.deepInclude(calls[0], { id: "call_a", type: "function" })
      assert.deepInclude(calls[0] && "function" in calls[0] && calls[0].function, { name: "add", arguments: `{"n":1}` })
      assert.deepInclude(calls[1], { type: "function_call", call_id: "call_a", name: "add", arguments: `{"n":1}` })
      assert.deepInclude(calls[2], { type: "tool_use", id: "call_a", name: "add", input: { n: 1 } })
    }).pipe(Effect.provide(MockProvider.layer({ handler: MockModel.make(() => raw) })))
  })

  it.effect("answers with a chain that is given where a conversation carries none", () =>
    Effect.gen(function*() {
      const said = (...content: ReadonlyArray<string>) =>
        Effect.map(
          say("", {
            messages: content.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }))
          }),
          (text) => JSON.parse(text).choices[0].message.content
        )
      assert.strictEqual(yield* said("Hello"), "one")
      assert.strictEqual(yield* said("Hello", "one", "Go on"), "two")
      assert.strictEqual(yield* said(InstructionChain.embed("Hello", InstructionChain.make("mine"))), "mine")
      assert.strictEqual(yield* said("Hello", "one", "Go on", "two", "And on"), "handled")
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ by }) => by), [
        "step 1 of 2 of the given instruction chain",
        "step 2 of 2 of the given instruction chain",
        "step 1 of 1 of the instruction chain in message 0",
        "handler: queue 1 of 1"
      ])
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ step }) => step), [
        { index: 0, length: 2 },
        { index: 1, length: 2 },
        { index: 0, length: 1, message: 0 },
        undefined
      ])
      assert.deepStrictEqual((yield* MockProvider.misses).map(({ reason }) => reason), [
        "the given instruction chain is exhausted: 2 turns after it, 2 in it"
      ])
      assert.include(
        defectOf(yield* Effect.exit(MockProvider.assertNoMisses)),
        "The mock provider missed a request\n  request 4: the given instruction chain is exhausted"
      )
    }).pipe(Effect.provide(MockProvider.layer({
      chain: InstructionChain.make("one", "two"),
      handler: MockModel.queue("handled")
    }))))

  it.effect("counts statuses for each body apart, and answers where a sequence says 200 or is over", () =>
    Effect.gen(function*() {
      const statuses = (content: string) => Effect.replicateEffect(Effect.map(post(content), ({ status }) => status), 5)
      const [one, two] = yield* Effect.all([statuses("one"), statuses("two")], { concurrency: "unbounded" })
      assert.deepStrictEqual(one, [429, 200, 503, 200, 200])
      assert.deepStrictEqual(two, [429, 200, 503, 200, 200])
      const limited = yield* post("three")
      assert.strictEqual(limited.headers.get("retry-after"), "2")
      assert.strictEqual((yield* Effect.promise(() => limited.json())).error.code, "rate_limit_exceeded")
    }).pipe(Effect.provide(MockProvider.layer({ status: [429, 200, 503], retryAfter: "2 seconds" }))))

  it.effect("sends the own headers of a status or an error once, however their names are written", () =>
    Effect.gen(function*() {
      const failure = {
        headers: { "Retry-After": "5", "Content-Type": "text/html", "X-Request-Id": "r" },
        body: "busy"
      }
      const layer = MockProvider.layer({
        handler: MockModel.make(MockResponse.httpError(429, failure)),
        status: [{ status: 429, ...failure }],
        retryAfter: "7 seconds"
      })
      const sent = yield* Effect.replicateEffect(post("one"), 2).pipe(Effect.provide(layer))
      for (const { headers } of sent) {
        assert.deepStrictEqual(
          ["retry-after", "content-type", "x-request-id"].map((name) => headers.get(name)),
          ["5", "text/html", "r"]
        )
      }
    }))

  it.effect("hangs until it is closed, in a stream or before any response", () =>
    Effect.gen(function*() {
      const { close } = yield* MockProvider.MockProvider
      const response = yield* post("Hello", { stream: true })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      const read = Effect.promise(() => reader.read())
      let heard = ""
      while (!heard.includes("one")) heard += (yield* read).value
      const streamed = yield* Effect.forkChild(Effect.exit(Effect.asVoid(read)), { startImmediately: true })
      const whole = yield* Effect.forkChild(Effect.exit(Effect.asVoid(post("Hello"))), { startImmediately: true })
      yield* MockProvider.wait(2)
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 0)))
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ outcome }) => outcome), ["hanging", "hanging"])
      yield* close
      for (const fiber of [streamed, whole]) assert.include(defectOf(yield* Fiber.join(fiber)), "terminated")
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ outcome }) => outcome), ["hanging", "aborted"])
    }).pipe(Effect.provide(MockProvider.layer({ handler: MockModel.make(() => MockResponse.hang("one two", 1)) }))))

  const fails = (options: MockProvider.Options, ...asked: ReadonlyArray<readonly [string, object?]>) =>
    Effect.forEach(asked, ([content, options]) => say(content, options)).pipe(
      Effect.provide(MockProvider.layer(options)),
      Effect.exit
    )

  it.effect("fails the test of a strict one with the requests that it had no answer to", () =>
    Effect.gen(function*() {
      const handler = MockModel.queue("one")
      const asked = [["a"], ["b"], ["c", { messages: "none" }]] as const
      assert.strictEqual(
        defectOf(yield* fails({ handler, strict: true }, ...asked)),
        "troupe/testing/MockProvider/MissedRequests: The mock provider missed requests\n" +
          "  request 2: all 1 queued responses are used up\n" +
          "  request 3: Invalid type for 'messages': expected an array of objects, but got a string instead."
      )
      assert.isTrue(Exit.isSuccess(yield* fails({ handler }, ...asked)))
      assert.isTrue(Exit.isSuccess(yield* fails({ handler, strict: true }, ["a"])))
    }))

  it.effect("remembers as many misses as its journal does, and counts those before", () =>
    Effect.gen(function*() {
      const asked = ["a", "b", "c", "d"].map((content) => [content] as const)
      const options = { handler: MockModel.queue("one"), strict: true, journal: 2 }
      assert.strictEqual(
        defectOf(yield* fails(options, ...asked)),
        "troupe/testing/MockProvider/MissedRequests: The mock provider missed requests\n" +
          "  1 before these\n" +
          "  request 3: all 1 queued responses are used up\n" +
          "  request 4: all 1 queued responses are used up"
      )
    }))

  it.effect("doesn't lose a handler that died among what nothing was foreseen for", () =>
    Effect.gen(function*() {
      const died = MockModel.make(() => {
        throw new Error("the script is wrong")
      })
      const handler = MockModel.firstOf(MockModel.conditional(MockModel.when(/a/, died)))
      const asked = ["a", "b", "c", "d"].map((content) => [content] as const)
      const text = defectOf(yield* fails({ handler, journal: 2 }, ...asked))
      assert.include(text, "request 1: its handler died of")
      assert.notInclude(text, "request 2")
    }))

  it.effect("answers a request that a strict one has no answer to with an error that no client tries again", () =>
    Effect.gen(function*() {
      const response = yield* post("Hello")
      assert.deepStrictEqual([response.status, response.headers.get("x-should-retry")], [400, "false"])
      assert.include(yield* bodyText(response), "none of 1 conditions holds")
      assert.strictEqual((yield* MockProvider.misses).length, 1)
      assert.include(defectOf(yield* Effect.exit(MockProvider.assertNoMisses)), "none of 1 conditions holds")
    }).pipe(
      Effect.provide(
        MockProvider.layer({ handler: MockModel.conditional(MockModel.when(() => false, "never")), strict: true })
      ),
      Effect.exit,
      Effect.map((exit) => assert.include(defectOf(exit), "MissedRequests"))
    ))

  it.effect("surfaces what a handler throws, strict or not", () =>
    Effect.gen(function*() {
      const handler = MockModel.make(() => {
        throw new Error("the script is wrong")
      })
      assert.include(defectOf(yield* fails({ handler }, ["a"])), "the script is wrong")
    }))
})

describe("an HttpClient", () => {
  const send = HttpClientRequest.post("https://api.openai.com/v1/chat/completions").pipe(
    HttpClientRequest.bodyText(bodyOf("Hello"), "application/json"),
    HttpClient.execute,
    Effect.flatMap((response) => response.text)
  )

  it.effect("is answered by the provider, whatever its host", () =>
    Effect.gen(function*() {
      assert.include(yield* send, "Good day")
      assert.strictEqual((yield* MockProvider.entries).length, 1)
    }).pipe(Effect.provide(MockProvider.layerHttpClient({ handler: MockModel.queue("Good day") }))))

  it.effect("made of fetch is answered by the provider that is the fetch", () =>
    Effect.gen(function*() {
      assert.include(yield* send, "Good day")
    }).pipe(Effect.provide(
      FetchHttpClient.layer.pipe(
        Layer.provideMerge(MockProvider.layerFetch({ handler: MockModel.queue("Good day") }))
      )
    )))
})
