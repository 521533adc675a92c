/** What arrives at a provider is the same by a model's native way as by `effect/ai` around it, byte for byte, and so is what comes of it. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, ContextWindow, Conversation, Handoff, Mode, Session } from "troupe"
import { ConversationArbitrary, MockResponse } from "troupe/testing"
import { lastOf } from "../agent/laws.ts"
import { below } from "../domain/arbitraries.ts"
import { times } from "../matrix.ts"
import { aiSdk, byBoth, type Content, endOf, eventsOf, mock, Patch, shown } from "./paths.ts"

const Tools = Toolkit.make(
  Tool.make("add", {
    parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
    success: Schema.Finite
  }),
  Tool.make("break", { failure: Schema.String }),
  Tool.make("guarded", { success: Schema.String, needsApproval: true }).annotate(Tool.Strict, true)
)
const handlers = Tools.toLayer({
  add: ({ a, b }) => Effect.succeed(a + b),
  break: () => Effect.fail("it was old"),
  guarded: () => Effect.succeed("opened")
})

/** A tool that a provider defines, whose parameters are a text, beside the others. */
const WithPatch = Toolkit.merge(
  Tools,
  Toolkit.make(Patch)
)
const patching = WithPatch.toLayer({
  add: ({ a, b }) => Effect.succeed(a + b),
  break: () => Effect.fail("it was old"),
  guarded: () => Effect.succeed("opened"),
  patch: (text) => Effect.succeed(`patched ${text.length}`)
})

const quiet = Mode.make("quiet", {
  isolation: "thread",
  invokable: true,
  enter: () => Effect.asVoid(Mode.set("volume", 0))
})

const window = (options: Parameters<typeof ContextWindow.make>[0]) => ({ contextWindow: ContextWindow.make(options) })

const windows = [
  {},
  window({ maxTurns: 3 }),
  window({ maxTurns: 2, strategy: ContextWindow.summarize(() => Effect.succeed("Much was said.")) as never })
]

const agentOf = (window: (typeof windows)[number], toolkit: typeof Tools = Tools) => {
  const clerk = Agent.make("clerk", { instructions: "You know more.", toolkit: Tools })
  const helper = Agent.make("helper", { description: "Helps" })
  return Agent.make("triage", {
    instructions: ({ steps }: AgentState.AgentState) => `Step ${steps % 3}.`,
    toolkit,
    agents: [Agent.asTool(helper)],
    handoffs: [Handoff.to(clerk)],
    modes: [quiet],
    ...window
  })
}

const words = Arbitrary.map(below(4), (index) => ["Hm.", "It is 22 °C. 🌡️", "", " "][index]!)

const metadata = Arbitrary.map(below(4), (index): Readonly<Record<string, unknown>> =>
  [
    {},
    {},
    { providerMetadata: { house: { signature: "abc", nested: { list: [1, null, "x"] } } } },
    { providerMetadata: { house: { itemId: "item" }, other: { x: true } } }
  ][index]!)

const calls: ReadonlyArray<readonly [string, string]> = [
  ["add", "{\"a\":1,\"b\":2}"],
  ["add", "{\"a\":\"one\"}"],
  ["add", "{broken"],
  ["break", "{}"],
  ["guarded", "{}"],
  ["nothing", "{}"],
  ["patch", "{\"as\":\"an object\"}"],
  ["helper", "{\"task\":\"help\"}"],
  ["enter_quiet_mode", "{}"],
  ["exit_current_mode", "{}"],
  [Handoff.toolNameOf("clerk"), "{\"reason\":\"dark\"}"]
]

/** What a model may say: at most one call, so that ids of one answer differ. */
const said = Arbitrary.map(
  Arbitrary.all({ kind: below(9), text: words, metadata, call: below(calls.length), id: below(1000) }),
  ({ call, id, kind, metadata, text }): ReadonlyArray<Content> => {
    const [toolName, input] = calls[call]!
    switch (kind) {
      case 0:
        return [{ type: "reasoning", text, ...metadata }]
      case 1:
        return [{ type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" }, ...metadata }]
      case 2:
        return [{ type: "source", sourceType: "url", id: `s${id}`, url: "https://house/a", title: "A", ...metadata }]
      case 3:
        return [
          {
            type: "tool-call",
            toolCallId: `w${id}`,
            toolName: "web",
            input: "{\"q\":1}",
            providerExecuted: true,
            ...metadata
          },
          {
            type: "tool-result",
            toolCallId: `w${id}`,
            toolName: "web",
            result: { found: [1] },
            isError: id % 2 === 0,
            ...metadata
          }
        ]
      case 4:
      case 5:
      case 6:
        return [{ type: "tool-call", toolCallId: `c${id}`, toolName, input, ...metadata }]
      default:
        return [{ type: "text", text, ...metadata }]
    }
  }
)

const answers = Arbitrary.array(
  Arbitrary.map(Arbitrary.array(said, { maxLength: 4 }), (all) => all.flat()),
  { minLength: 1, maxLength: 8 }
)

/** A call whose parameters are a text. */
const patch: ReadonlyArray<Content> = [
  { type: "tool-call", toolCallId: "p", toolName: "patch", input: "\"as text\"" }
]

/** The same as a mock model says it. */
const mocked = (answer: ReadonlyArray<Content>): MockResponse.MockResponse =>
  MockResponse.withUsage(
    MockResponse.all(...answer.map(({ input, providerMetadata, text, toolCallId, toolName, type, ...rest }) => {
      const options = { ...(providerMetadata === undefined ? undefined : { metadata: providerMetadata as never }) }
      switch (type) {
        case "reasoning":
          return MockResponse.reasoning(String(text), options)
        case "file":
          return MockResponse.file("image/png", new Uint8Array([1, 2, 3]), options)
        case "source":
          return MockResponse.source({ id: "s", url: "https://house/a", title: "A" } as never)
        case "tool-call":
          if (rest["providerExecuted"] === true) return MockResponse.providerCall("web", { q: 1 }, { found: [1] })
          return MockResponse.toolCall(String(toolName), input === "{broken" ? input : JSON.parse(String(input)), {
            id: String(toolCallId),
            ...options
          })
        default:
          return type === "text" ? MockResponse.text(String(text), options) : MockResponse.text("")
      }
    })),
    { input: 10, output: 4 }
  )

const conversation = ConversationArbitrary.conversation({
  open: false,
  agents: ["triage", "clerk"],
  tools: ["add", "break", "web", "gone"]
})

/** Settles what waits for somebody: every other call is approved. */
const decided = (state: AgentState.AgentState): AgentState.AgentState =>
  AgentState.pendingApprovals(state).reduce(
    (state, { callId }, index) =>
      Result.getOrThrow(
        index % 2 === 0 ? AgentState.approve(state, callId) : AgentState.deny(state, callId, "not now")
      ),
    state
  )

/** Runs that go on from each other: whole or streamed, resumed from JSON, forked, cut, and in a session. */
const life = Effect.fnUntraced(function*(
  from: Conversation.Conversation,
  { patches, streamed, window }: { readonly patches?: number; readonly streamed: number; readonly window: number }
) {
  // Its type is that of the agent without the tool: which tools are offered makes no difference to this function.
  const agent = agentOf(windows[window]!, patches === 1 ? WithPatch as never : Tools)
  const isStreamed = streamed === 1
  const told: Array<unknown> = []
  const goOn = Effect.fnUntraced(function*(state: AgentState.AgentState, input: string) {
    let last = state
    if (isStreamed) {
      const { end, events } = yield* eventsOf(
        Agent.stream(agent, input, { state }).pipe(Stream.tap((event) =>
          Effect.sync(() => {
            if (event._tag === "RunCompleted" || event._tag === "RunFailed") last = event.state
          })
        ))
      )
      told.push(events, end)
    } else {
      const exit = yield* Effect.exit(Agent.continueConversation(agent, state, input))
      told.push(endOf(exit))
      last = lastOf(exit) ?? state
    }
    for (let n = 0; n < 3 && AgentState.pendingApprovals(last).length > 0; n++) {
      const read = yield* Effect.orDie(
        Effect.fromResult(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(last)))))
      )
      const exit = yield* Effect.exit(Agent.resume(agent, decided(read)))
      told.push(endOf(exit))
      last = lastOf(exit) ?? last
    }
    return last
  })
  const first = yield* goOn(AgentState.make("triage", { conversation: from }), "One")
  yield* goOn(first, "Two")
  yield* goOn(first, "Another two")
  const cut = AgentState.withConversation(first, Conversation.truncate(first.conversation, 2))
  yield* goOn(cut, "Three")
  const session = yield* Session.make(agent, { state: cut })
  for (const input of ["Four", "Five"]) {
    told.push(isStreamed ? yield* eventsOf(session.stream(input)) : endOf(yield* Effect.exit(session.call(input))))
  }
  told.push(yield* session.state)
  return shown(told)
})

/** How often models were asked in all: a law about nothing would hold. Random runs ask some 650 times, or 270 in the short pass. */
let requests = 0

afterAll(() => assert.isAbove(requests, times(400, 150)))

const law = { arbitrary: { runs: times(60, 25) } } as const
const choice = Arbitrary.all({
  window: below(windows.length),
  streamed: below(2),
  v3: below(2),
  patches: below(2),
  downloads: below(2)
})

/** A conversation that ends with files by address. */
const withAddress = (from: Conversation.Conversation): Conversation.Conversation => ({
  turns: [
    ...from.turns,
    Conversation.user([
      Conversation.text("What is this?"),
      Conversation.file("image/*", new URL("https://house/a")),
      Conversation.file("image/png", new URL("https://house/b"))
    ]),
    Conversation.assistant("triage", [Conversation.text("A cat.")])
  ]
})

describe("By the native way and by `effect/ai`", () => {
  it.effect.prop(
    "a provider of the AI SDK is asked the same, and the same comes of it",
    [conversation, answers, choice],
    ([from, answers, { downloads, v3, ...choice }]) =>
      Effect.gen(function*() {
        const { foreign, native } = yield* byBoth(
          Effect.scoped(Effect.orDie(life(withAddress(from), choice))),
          aiSdk(choice.patches === 1 ? [patch, ...answers] : answers, v3 === 1 ? "v3" : "v4", downloads === 1)
        )
        const isPatched = native[0].some((asked) => asked.includes(`"input":"as text"`))
        assert.isTrue(choice.patches === 0 ? !isPatched : isPatched || choice.window > 0)
        const isDownloaded = native[0].some((asked) => asked.includes(btoa("at https://house/a")))
        assert.isTrue(downloads === 0 ? !isDownloaded : isDownloaded || choice.window > 0)
        requests += native[0].length
        assert.deepStrictEqual(native[0], foreign[0])
        assert.strictEqual(native[1], foreign[1])
      }).pipe(Effect.provide([handlers, patching])),
    law
  )

  it.effect.prop(
    "a mock model is asked the same, and the same comes of it",
    [conversation, answers, choice],
    ([from, answers, choice]) =>
      Effect.gen(function*() {
        const { foreign, native } = yield* byBoth(
          Effect.scoped(Effect.orDie(life(from, choice))),
          mock(answers.map(mocked))
        )
        requests += native[0].length
        assert.deepStrictEqual(native[0], foreign[0])
        assert.strictEqual(native[1], foreign[1])
      }).pipe(Effect.provide([handlers, patching])),
    law
  )

  it.effect("a system text without words isn't sent", () =>
    Effect.gen(function*() {
      const blank = AgentState.make("a", { systemMessage: " \n" })
      const all = Effect.forEach(
        [" ", "\n\t\n", "", () => "  ", () => Effect.succeed("\u00a0")],
        (instructions) => Agent.continueConversation(Agent.make("a", { instructions }), blank, "Hello")
      )
      for (const path of [aiSdk([]), mock([])]) {
        const { foreign, native } = yield* byBoth(Effect.orDie(all), path)
        assert.deepStrictEqual(native[0], foreign[0])
        assert.lengthOf(native[0], 5)
        for (const asked of native[0]) assert.strictEqual(asked, native[0][2])
        assert.notInclude(native[0][0], `"role":"system"`)
      }
    }))
})
