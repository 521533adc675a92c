import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Result, Schema, Stream } from "effect"
import { type AiError, LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Conversation } from "troupe"
import { InstructionChain, MockModel, MockProvider, type MockResponse } from "troupe/testing"
import { ask, say, stream } from "./ask.ts"
import { Steps, Text, toChain, toText } from "./chain/chains.ts"
import { chainOf, marked } from "./chain/request.ts"
import * as OpenAi from "./openAi.ts"

const { embed, handler, make, parse, toolCall, toolCalls } = InstructionChain

const chainIn = (text: string) => {
  const { chain, isSingle, warnings } = Result.getOrThrow(parse(text))
  assert.deepStrictEqual(warnings, [])
  assert.isFalse(isSingle)
  return chain
}

describe("InstructionChain.embed", () => {
  it.effect.prop(
    "puts a chain where parse finds it, whatever is said in it and before it",
    [Steps, Text],
    ([steps, text]) =>
      Effect.sync(() => {
        const chain = toChain(steps)
        const embedded = embed(toText(text), chain)
        assert.isTrue(embedded.startsWith(toText(text)))
        assert.deepStrictEqual(chainIn(embedded), chain)
      })
  )

  it.effect.prop("puts it where parse finds it behind another chain, and before text", [Steps, Steps, Text], (
    [first, second, text]
  ) =>
    Effect.sync(() => {
      const after = toText(text).replaceAll("<|instruction_start|>", "")
      assert.deepStrictEqual(chainIn(embed(embed("a", toChain(first)), toChain(second)) + after), toChain(second))
    }))

  it.effect.prop("nests: a chain in a string of another is found in both", [
    Steps,
    Steps,
    Text,
    Schema.Literals([1, 2, 3])
  ], (
    [steps, rest, text, depth]
  ) =>
    Effect.sync(() => {
      const inner = toChain(steps)
      let outer = inner
      for (let level = 0; level < depth; level++) {
        outer = make(toolCall("agent", { task: embed(toText(text), outer) }), ...toChain(rest).instruction_chain)
      }
      let found = chainIn(embed(toText(text), outer))
      assert.deepStrictEqual(found, outer)
      for (let level = 0; level < depth; level++) {
        const message = found.instruction_chain[0]!.messages![0]!
        if (!("tool_call" in message)) return assert.fail("the first step calls no tool")
        found = chainIn((message.tool_call[0].args as { task: string }).task)
      }
      assert.deepStrictEqual(found, inner)
    }))

  it.effect.prop(
    "is found in JSON text too, however deep",
    [Steps, Text, Schema.Literals([1, 2, 3])],
    ([steps, text, depth]) =>
      Effect.sync(() => {
        const chain = toChain(steps)
        let embedded = embed(toText(text), chain)
        for (let level = 0; level < depth; level++) embedded = JSON.stringify({ task: embedded })
        assert.deepStrictEqual(chainIn(embedded), chain)
      })
  )

  it("can stand behind a pipe, and alone", () => {
    const chain = make("a")
    assert.strictEqual(embed(chain)("Hi"), embed("Hi", chain))
    assert.strictEqual(
      embed("", chain),
      "<|instruction_start|>\n{\"instruction_chain\":[{\"messages\":[{\"text\":\"a\"}]}]}\n<|instruction_end|>"
    )
  })
})

describe("InstructionChain.InstructionChain", () => {
  it.effect.prop("is the chain in JSON, there and back", [Steps], ([steps]) =>
    Effect.gen(function*() {
      const chain = toChain(steps)
      const json = JSON.stringify(yield* Schema.encodeEffect(InstructionChain.InstructionChain)(chain))
      assert.deepStrictEqual(
        yield* Schema.decodeUnknownEffect(Schema.fromJsonString(InstructionChain.InstructionChain))(json),
        chain
      )
    }))
})

describe("InstructionChain.parse", () => {
  const warningsOf = (...steps: ReadonlyArray<unknown>) =>
    Result.getOrThrow(parse(chainOf(...steps))).warnings.map(InstructionChain.formatWarning)

  it("says where there is none, and what is malformed", () => {
    const none = parse("Hello")
    assert.deepStrictEqual(Result.isFailure(none) && [none.failure.reason, none.failure.message], [
      "Absent",
      "no <|instruction_start|>"
    ])
    const broken = parse(marked("{}"))
    assert.strictEqual(Result.isFailure(broken) && broken.failure.reason, "Malformed")
    assert.isTrue(Result.isFailure(parse("Hello<|instruction_end|>")))
  })

  it("says where each step is wrong, and takes the others", () => {
    const steps = [
      { messages: "text" },
      { messages: [{ text: "fine" }, { text: 5 }] },
      { messages: [{ tool_call: [{ args: {} }] }] },
      { messages: [{ nothing: 1 }] },
      { messages: [7], hang: "long" },
      { messages: [{ text_message: { length: -1 } }] },
      { messages: [{ text_with_citations: { text: "a", citations: [{ url: "no url" }] } }] },
      { messages: [], usage: { input: 0.5 }, delay: -1 },
      { reasoning: {} },
      { messages: [{ text: "fine" }] },
      null
    ]
    const { chain, warnings } = Result.getOrThrow(parse(chainOf(...steps)))
    assert.deepStrictEqual(warnings.map(({ path, step }) => [step, path]), [
      [0, "instruction_chain[0].messages"],
      [1, "instruction_chain[1].messages[1].text"],
      [2, "instruction_chain[2].messages[0].tool_call[0].name"],
      [3, "instruction_chain[3].messages[0]"],
      [4, "instruction_chain[4].hang"],
      [4, "instruction_chain[4].messages[0]"],
      [5, "instruction_chain[5].messages[0].text_message.length"],
      [6, "instruction_chain[6].messages[0].text_with_citations.citations[0].url"],
      [7, "instruction_chain[7].delay"],
      [7, "instruction_chain[7].usage.input"],
      [8, "instruction_chain[8].reasoning"]
    ])
    assert.deepStrictEqual(chain.instruction_chain, [...Array(9).fill(null), steps[9], null])
  })

  it("takes no headers that can't be sent, nor those that say how a response is", () => {
    const bad = { "a b": "x", "": "x", a: "x\r\ny: z", b: "☃", "Content-Length": "5", "transfer-encoding": "gzip" }
    for (const [name, value] of Object.entries(bad)) {
      const [warning] = warningsOf({ error: { status: 429, headers: { [name]: value } } })
      assert.match(warning!, /^instruction_chain\[0\]\.error\.headers.*: Expected /, name)
    }
    assert.deepStrictEqual(warningsOf({ error: { status: 429, headers: { "x-a": "é", "retry-after": "3" } } }), [])
  })

  it("takes no chain that is too deep for a stack", () => {
    const deep = (levels: number) =>
      parse(marked(`{"messages":[{"tool_call":[{"name":"f","args":${"[".repeat(levels)}${"]".repeat(levels)}}]}]}`))
    assert.isTrue(Result.isSuccess(deep(900)))
    for (const levels of [1000, 20_000]) {
      const read = deep(levels)
      assert.strictEqual(Result.isFailure(read) && read.failure.message, "nested more than 1000 levels deep")
    }
  })

  it("warns of what nothing reads, and takes the step", () => {
    assert.deepStrictEqual(warningsOf({ messages: [{ text: "a", txet: "b" }], dealy: 5 }), [
      "instruction_chain[0].dealy: Nothing reads this key",
      "instruction_chain[0].messages[0].txet: Nothing reads this key"
    ])
    assert.deepStrictEqual(warningsOf({ messages: [{ text_message: null, text: "a" }], reasoning: { length: 0 } }), [])
  })

  it("reads each kind of message as its own value has it", () => {
    assert.deepStrictEqual(
      warningsOf({
        messages: [
          { text_message: { length: 3 } },
          { tool_call: [{ name: "a" }, { name: "b", args: "raw" }] },
          { system_prompt_echo: false },
          { tools_list: null },
          { tools_echo: {} },
          { tool_schema: { name: "a" } },
          { request_url_echo: 1 },
          { request_headers_echo: [] },
          { request_params_echo: { fields: ["model"] } },
          { server_tool_use: { name: "web_search", id: "1", input: { query: "x" } } },
          { server_tool_result: { name: "web_search", tool_use_id: "1", result: [] } },
          { text_with_citations: { length: 4, citations: [{ type: "url_citation", url: "http://a.b/" }] } }
        ]
      }),
      []
    )
  })
})

const user = (content: string) => ({ role: "user", content }) as const
const spoken = (content: string) => ({ role: "assistant", content }) as const

const messagesLogged = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const logged: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => logged.push(`${logLevel}: ${String(message)}`))
  return Effect.as(Effect.provide(effect, Logger.layer([logger])), logged)
}

describe("InstructionChain.handler", () => {
  const chains = (fallback?: MockResponse.Input) => Effect.provide(MockModel.layer(handler(fallback)))

  it.effect("answers with the step of the turn, any number of times", () =>
    Effect.gen(function*() {
      const text = embed("Go", make("one", "two"))
      assert.strictEqual(yield* say(text), "one")
      assert.strictEqual(yield* say(text), "one")
      const later = [user(text), spoken("one"), user("and?")]
      const said = yield* Effect.all([say(later), say(text), say(later)], { concurrency: "unbounded" })
      assert.deepStrictEqual(said, ["two", "one", "two"])
    }).pipe(chains()))

  it.effect("reads parts of text one by one", () =>
    Effect.gen(function*() {
      const part = (text: string) => Prompt.makePart("text", { text })
      const prompt = [{ role: "user", content: [part(embed("", make("yes"))), part("Hello?")] }] as const
      assert.strictEqual(yield* say(prompt), "yes")
    }).pipe(chains()))

  it.effect("leaves all else to the fallback, and says why where there is none", () =>
    Effect.gen(function*() {
      const exhausted = [user(embed("Go", make("one"))), spoken("one"), user("more")]
      assert.strictEqual(yield* say("Hello").pipe(chains("fallback")), "fallback")
      assert.strictEqual(yield* say(exhausted).pipe(chains("fallback")), "fallback")
      const defect = yield* ask(exhausted).pipe(chains(), Effect.catchDefect((defect) => Effect.succeed(defect)))
      assert.instanceOf(defect, MockModel.UnansweredRequest)
      assert.strictEqual(
        (defect as MockModel.UnansweredRequest).reason,
        "the instruction chain in message 0 is exhausted: 1 turn after it, 1 in it"
      )
    }))

  it.effect("logs what is wrong, once for each request", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* messagesLogged(say(marked("{")).pipe(chains("ok"))), [
        "Warn: the instruction chain in message 0 is malformed: not JSON: "
        + "Expected property name or '}' in JSON at position 1 (line 1 column 2)"
      ])
      assert.deepStrictEqual(yield* messagesLogged(say(embed("", make("fine"))).pipe(chains("ok"))), [])
    }))

  it.effect("fails, waits, breaks off and echoes as the step says", () =>
    Effect.gen(function*() {
      const at = (step: InstructionChain.StepInput) => [
        { role: "system", content: "Be brief." } as const,
        user(embed("Go", make(step)))
      ]
      const error = yield* Effect.flip(ask(at(InstructionChain.error(429, { headers: { "retry-after": "3" } }))))
      assert.strictEqual((error as AiError.AiError).reason._tag, "RateLimitError")
      assert.strictEqual(yield* say(at(InstructionChain.systemPromptEcho)), "Be brief.")
      assert.strictEqual(yield* say(at(InstructionChain.toolsList)), "search, get_weather")
      assert.strictEqual(
        yield* say(at(InstructionChain.paramsEcho())),
        "{\"stream\":false,\"tool_choice\":\"auto\"}"
      )
      const fiber = yield* Effect.forkChild(say(at(InstructionChain.step("late", { delay: "1 hour" }))))
      yield* TestClock.adjust("59 minutes")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(fiber), "late")
      const heard: Array<string> = []
      const cut = yield* stream(at(InstructionChain.step("a b c", { cut: 2 }))).pipe(
        Stream.runForEach((part) => Effect.sync(() => part.type === "text-delta" && heard.push(part.delta))),
        Effect.flip
      )
      assert.deepStrictEqual([heard, (cut as AiError.AiError).reason._tag], [["a", " b"], "NetworkError"])
    }).pipe(chains()))
})

const Work = Tool.make("work", { parameters: Schema.Struct({ what: Schema.String }), success: Schema.String })
const Kit = Toolkit.make(Work)
const workers = Kit.toLayer({ work: ({ what }) => Effect.succeed(`${what}!`) })

const model = MockModel.layer(handler())

/** What an agent said and was told, and those that it called. */
const storyOf = (state: AgentState.AgentState): ReadonlyArray<unknown> =>
  state.conversation.turns.flatMap((turn) =>
    turn._tag === "Assistant"
      ? turn.parts.flatMap((part): ReadonlyArray<unknown> =>
        part._tag === "Text"
          ? [part.text]
          : part._tag === "Call" && part.state._tag === "Settled"
          ? [[part.name, part.state.outcome, part.state.result]]
          : []
      )
      : []
  )

describe("Agents", () => {
  const clerk = Agent.make("clerk", { description: "Does the work", toolkit: Kit })
  const errand = Schema.Struct({ order: Schema.String })
  const boss = Agent.make("boss", {
    agents: [
      Agent.asTool(clerk),
      Agent.asTool(clerk, { name: "clerk_by_order", description: "Takes an order", parameters: errand })
    ]
  })

  const clerks = (what: string) => make(toolCall("work", { what }), `The ${what} is done.`)

  const chain = make(
    InstructionChain.step(["I'll ask.", toolCall("clerk", { task: embed("Sweep", clerks("floor")) })]),
    toolCalls(
      { name: "clerk", args: { task: embed("Wash", clerks("window")) } },
      { name: "clerk_by_order", args: { order: embed("Dust", clerks("shelf")) } }
    ),
    "All is done."
  )

  const story = [
    "I'll ask.",
    ["clerk", "Succeeded", "The floor is done."],
    ["clerk", "Succeeded", "The window is done."],
    ["clerk_by_order", "Succeeded", "The shelf is done."],
    "All is done."
  ]

  it.effect("that call one another run through nested chains, at once and streamed", () =>
    Effect.gen(function*() {
      const text = embed("Clean up", chain)
      const state = yield* Agent.run(boss, text)
      assert.deepStrictEqual(storyOf(state), story)
      const calls = yield* MockModel.calls
      assert.deepStrictEqual(calls.map(({ request }) => request.agent).toSorted(), [
        ...Array(3).fill("boss"),
        ...Array(6).fill("clerk")
      ])
      const events = yield* Stream.runCollect(Agent.stream(boss, text))
      const last = events.at(-1)
      assert.deepStrictEqual(last?._tag === "RunCompleted" && storyOf(last.state), story)
    }).pipe(Effect.provide(Layer.merge(model, workers))))

  it.effect("that call one another run through nested chains over the wire, too, at once and streamed", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ strict: true })
      const client = Layer.merge(OpenAi.layer(provider.fetch), workers)
      const text = embed("Clean up", chain)
      assert.deepStrictEqual(storyOf(yield* Agent.run(boss, text).pipe(Effect.provide(client))), story)
      const events = yield* Stream.runCollect(Agent.stream(boss, text)).pipe(Effect.provide(client))
      const last = events.at(-1)
      assert.deepStrictEqual(last?._tag === "RunCompleted" && storyOf(last.state), story)
      const steps = (yield* provider.entries).map(({ step }) => step?.index)
      assert.deepStrictEqual(steps.toSorted(), [...Array(8).fill(0), ...Array(8).fill(1), ...Array(2).fill(2)])
      yield* provider.assertNoMisses
    }))

  it.effect("go on through the chain where a stored state resumes", () =>
    Effect.gen(function*() {
      let state = AgentState.ask(AgentState.make("boss"), embed("Clean up", chain), 0)
      for (let step = 0; state.status._tag !== "Complete"; step++) {
        assert.isBelow(step, 20)
        const stored = Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))
        state = yield* Agent.step(boss, stored).pipe(Effect.provide(Layer.fresh(Layer.merge(model, workers))))
      }
      assert.deepStrictEqual(storyOf(state), story)
    }))

  it.effect("end with what the fallback says, past the end", () =>
    Effect.gen(function*() {
      const first = yield* Agent.run(clerk, embed("Sweep", make("one", "two")))
      const second = yield* Agent.continueConversation(clerk, first, "and?")
      const third = yield* Agent.continueConversation(clerk, second, "more?")
      assert.deepStrictEqual(
        third.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? [turn] : []),
        ["one", "two", "fallback"].map((text) => Conversation.assistant("clerk", text))
      )
    }).pipe(Effect.provide(Layer.merge(MockModel.layer(handler("fallback")), workers))))

  it.effect("share no state: any number of them run beside each other", () =>
    Effect.gen(function*() {
      const states = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => String(index)),
        (name) => Agent.run(clerk, embed("Go", make(toolCall("work", { what: name }), name))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(states.map(AgentState.text), states.map((_, index) => String(index)))
    }).pipe(Effect.provide(Layer.merge(model, workers))))

  it.effect("are asked by any text that the model gets", () =>
    LanguageModel.generateText({ prompt: embed("Hi", make("Hello")) }).pipe(
      Effect.map(({ text }) => assert.strictEqual(text, "Hello")),
      Effect.provide(model)
    ))
})
