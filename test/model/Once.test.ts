/** Nothing is converted twice: the form of a settled turn is made once, for all requests of all runs that hold it. */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, AgentState, ContextWindow, Conversation, Guardrail, Session } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import * as NativeModel from "../../src/model/NativeModel.ts"
import { Projection } from "../../src/model/Projection.ts"
import { type Content, Patch, providerOf } from "./paths.ts"

const Tools = Toolkit.make(
  Tool.make("add", { parameters: Schema.Struct({ a: Schema.Finite }), success: Schema.Finite })
)
const handlers = Tools.toLayer({ add: ({ a }) => Effect.succeed(a + 1) })
const agent = Agent.make("a", { instructions: "Be brief.", toolkit: Tools })

const call = (n: number): ReadonlyArray<Content> => [
  { type: "text", text: `Step ${n}.` },
  { type: "tool-call", toolCallId: `c${n}`, toolName: "add", input: `{"a":${n}}` }
]

/** The messages of each request behind the system message. */
const historiesOf = (options: ReadonlyArray<LanguageModelV4CallOptions>) =>
  options.map(({ prompt }) => prompt.filter(({ role }) => role !== "system"))

const byPlace = (messages: ReturnType<typeof historiesOf>[number]) =>
  messages.map((message, at) => [`${at}: ${JSON.stringify(message)}`, message] as const)

/** A message is known by its place and what it says: of each there is one form. */
const assertShared = (options: ReadonlyArray<LanguageModelV4CallOptions>): void => {
  const forms = new Map<string, unknown>()
  let again = 0
  for (const [key, message] of historiesOf(options).flatMap(byPlace)) {
    const known = forms.get(key)
    if (known === undefined) forms.set(key, message)
    else {
      assert.strictEqual<unknown>(message, known, key)
      again++
    }
  }
  assert.isAbove(again, 0)
}

const unseen = <A, E, R>(self: Effect.Effect<A, E, R>) => self
const observed = Agent.observe(() => Effect.void)
const judged = Agent.make("a", {
  instructions: "Be brief.",
  toolkit: Tools,
  guardrails: { input: [Guardrail.make("calm", () => Guardrail.pass)] }
})

/** What delays a session's events, or tells them anew: its store, observers, and guardrails that judge words first. */
const stored = [
  ["alone", agent, unseen],
  ["with an observer", agent, observed],
  ["behind a guardrail", judged, unseen],
  ["behind a guardrail, with an observer", judged, observed]
] as const

/** What has a request made of messages instead of a whole conversation. A window first leaves out none. */
const picking = [
  ["in a window that leaves turns out", ContextWindow.make({ maxTurns: 5 }), false],
  ["by a service around it", undefined, true],
  ["by a service around it, in such a window", ContextWindow.make({ maxTurns: 5 }), true]
] as const

for (const specification of ["v3", "v4"] as const) {
  const provider = (steps: number) => {
    const { model, options } = providerOf(Array.from({ length: steps }, (_, n) => call(n)), specification)
    return { options, layer: Layer.merge(AiSdkModel.layer(model), handlers) }
  }

  describe(`A provider of specification ${specification.slice(1)}`, () => {
    it.effect("gets one form of a message in all requests of a run", () =>
      Effect.gen(function*() {
        const { layer, options } = provider(6)
        yield* Effect.provide(Agent.run(agent, "Count"), layer)
        assert.lengthOf(options, 7)
        assertShared(options)
        for (const [index, history] of historiesOf(options).entries()) assert.lengthOf(history, 1 + 2 * index)
      }))

    it.effect("gets the same form in runs that go on from a state, in forks, and in a session", () =>
      Effect.gen(function*() {
        const { layer, options } = provider(2)
        yield* Effect.gen(function*() {
          const state = yield* Agent.run(agent, "Count")
          yield* Agent.continueConversation(agent, state, "One")
          yield* Agent.continueConversation(agent, state, "Another one")
          const cut = AgentState.withConversation(state, Conversation.fork(state.conversation, 1))
          yield* Agent.continueConversation(agent, cut, "Two")
          const session = yield* Session.make(agent, { state })
          yield* session.call("Three")
          yield* session.call("Four")
        }).pipe(Effect.provide(layer), Effect.scoped)
        assert.lengthOf(options, 8)
        assertShared(options)
      }))

    for (const [how, contextWindow, isWrapped] of picking) {
      it.effect(`gets the same form in runs that go on from a state, ${how}`, () =>
        Effect.gen(function*() {
          const { model, options } = providerOf(Array.from({ length: 6 }, (_, n) => call(n)), specification)
          const service = yield* AiSdkModel.make(model)
          const own = Agent.make("a", { toolkit: Tools, contextWindow })
          yield* Effect.gen(function*() {
            const state = yield* Agent.run(own, "Count")
            yield* Agent.continueConversation(own, state, "One")
            yield* Agent.continueConversation(own, state, "Another one")
            yield* Agent.continueConversation(own, state, "A third one")
          }).pipe(
            Effect.provideService(LanguageModel.LanguageModel, isWrapped ? { ...service } : service),
            Effect.provide(handlers)
          )
          assert.lengthOf(options, 10)
          const forms = new Map<string, Set<unknown>>()
          for (const message of historiesOf(options).flat()) {
            const text = JSON.stringify(message)
            forms.set(text, (forms.get(text) ?? new Set()).add(message))
          }
          for (const [text, same] of forms) assert.strictEqual(same.size, 1, text)
        }))
    }

    it.effect("gets the same form of a conversation that an assistant began", () =>
      Effect.gen(function*() {
        const { layer, options } = provider(2)
        const begun = AgentState.make("a", {
          conversation: { turns: [Conversation.assistant("a", [Conversation.text("How may I help?")])] }
        })
        yield* Effect.gen(function*() {
          const state = yield* Agent.continueConversation(agent, begun, "Count")
          yield* Agent.continueConversation(agent, state, "One")
          yield* Agent.continueConversation(agent, state, "Another one")
        }).pipe(Effect.provide(layer))
        assert.lengthOf(options, 5)
        assertShared(options)
        for (const [first, second] of historiesOf(options)) {
          assert.deepStrictEqual([first?.role, second?.role], ["user", "assistant"])
        }
      }))

    it.effect("gets one form of a message whose file was downloaded", () =>
      Effect.gen(function*() {
        const { model, options } = providerOf(Array.from({ length: 3 }, (_, n) => call(n)), specification)
        const asked: Array<string> = []
        const fetch: typeof globalThis.fetch = (address) => {
          asked.push(String(address))
          return Promise.resolve(new Response("bytes", { headers: { "content-type": "image/png" } }))
        }
        const image = Conversation.file("image/png", new URL("https://example.com/a.png"))
        yield* Effect.gen(function*() {
          const state = yield* Agent.run(agent, [Conversation.text("What is this?"), image])
          yield* Agent.continueConversation(agent, state, "And now?")
        }).pipe(Effect.provide([AiSdkModel.layer({ ...model, supportedUrls: {} }, { download: { fetch } }), handlers]))
        assert.lengthOf(options, 5)
        assertShared(options)
        assert.deepStrictEqual(asked, ["https://example.com/a.png"])
        const sent = new Set(historiesOf(options).map(([first]) => first))
        assert.strictEqual(sent.size, 1)
        assert.include(JSON.stringify([...sent]), "Ynl0ZXM=")
      }))

    it.effect("gets one form too where the parameters of a call aren't JSON, and where an answer says nothing", () =>
      Effect.gen(function*() {
        const { model, options } = providerOf([
          call(0),
          [{ type: "tool-call", toolCallId: "c1", toolName: "add", input: "{broken" }],
          call(2),
          [{ type: "text", text: "", citations: [{ at: 1 }] }],
          call(3)
        ], specification)
        yield* Effect.gen(function*() {
          const state = yield* Agent.run(agent, "Count")
          yield* Agent.continueConversation(agent, state, "Count on")
          yield* Agent.continueConversation(agent, state, "Another one")
        }).pipe(Effect.provide([AiSdkModel.layer(model), handlers]))
        assert.lengthOf(options, 7)
        assertShared(options)
        assert.isTrue(options.every(({ prompt }) => prompt.every(({ content }) => content.length > 0)))
      }))

    it.effect("gets a call whose parameters are a text as the tools that are offered with it take it", () =>
      Effect.gen(function*() {
        const Patching = Toolkit.make(Patch)
        const patching = Agent.make("a", { toolkit: Patching })
        const written = [{ type: "tool-call", toolCallId: "c0", toolName: "patch", input: "\"as text\"" }]
        const { model, options } = providerOf([written], specification)
        yield* Effect.gen(function*() {
          const state = yield* Agent.run(patching, "Go")
          yield* Agent.continueConversation(agent, state, "And without it?")
          yield* Agent.continueConversation(patching, state, "And with it?")
        }).pipe(
          Effect.provide([AiSdkModel.layer(model), handlers, Patching.toLayer({ patch: () => Effect.succeed("done") })])
        )
        const inputs = options.map(({ prompt }) =>
          prompt.flatMap(({ content }) =>
            typeof content === "string" ? [] : content.flatMap((part) => part.type === "tool-call" ? [part.input] : [])
          )
        )
        assert.deepStrictEqual(inputs, [[], ["as text"], [{}], ["as text"]])
        const calls = historiesOf(options).map((history) => history[1])
        assert.isDefined(calls[1])
        assert.strictEqual<unknown>(calls[3], calls[1])
      }))

    for (const [how, own, observing] of stored) {
      it.effect(`gets the same form in a session that is stored, ${how}`, () =>
        Effect.gen(function*() {
          const { layer, options } = provider(2)
          const talk = Effect.gen(function*() {
            const session = yield* Session.make(own, { store: Session.store("ada") })
            yield* session.call("Count")
            yield* Stream.runDrain(session.stream("Count on"))
            yield* session.call("Three")
          })
          yield* observing(talk).pipe(Effect.scoped, Effect.provide([layer, KeyValueStore.layerMemory]))
          assert.lengthOf(options, 5)
          assertShared(options)
        }))
    }

    it.effect("gets the same form in a run that was stopped and resumed", () =>
      Effect.gen(function*() {
        const { layer, options } = provider(3)
        yield* Effect.gen(function*() {
          let state = yield* Agent.step(agent, AgentState.ask(AgentState.make("a"), "Count", 0))
          for (let n = 0; n < 5; n++) state = yield* Agent.step(agent, state)
          yield* Agent.resume(agent, state)
        }).pipe(Effect.provide(layer))
        assertShared(options)
      }))

    it.effect("is asked for a conversation without its prompt, which would be made when it is read", () =>
      Effect.gen(function*() {
        const { model, options } = providerOf([], specification)
        const native = NativeModel.of(yield* AiSdkModel.make(model), Context.empty())
        let reads = 0
        const request: NativeModel.Request = {
          get prompt() {
            reads++
            return Prompt.empty
          },
          projection: new Projection([...Prompt.make("Count").content]),
          system: undefined,
          tools: [],
          toolChoice: "none",
          responseFormat: { type: "text" },
          span: undefined,
          previousResponseId: undefined,
          incrementalPrompt: undefined,
          toolCallValidation: "deferred"
        }
        yield* native!.generateText(request)
        yield* native!.streamText(request, () => undefined)
        assert.deepStrictEqual([options.length, reads], [2, 0])
        assert.deepStrictEqual(historiesOf(options).map(([first]) => first?.role), ["user", "user"])
      }))

    it.effect("can't change a form that others share", () =>
      Effect.gen(function*() {
        const { layer, options } = provider(1)
        yield* Effect.provide(Agent.run(agent, "Count"), layer)
        for (const message of historiesOf(options).flat()) {
          assert.isTrue(Object.isFrozen(message) && Object.isFrozen(message.content))
          for (const part of message.content) assert.isTrue(Object.isFrozen(part))
        }
      }))

    it.effect("can't change a state, a tool or a setting by what it is given of them, however deep", () =>
      Effect.gen(function*() {
        const attached = (id: string) => ({ providerMetadata: { house: { id: { of: [id] } } } })
        const { model, options } = providerOf([
          [
            { type: "text", text: "Hm.", ...attached("text") },
            { type: "custom", kind: "house.note", ...attached("note") },
            {
              type: "tool-call",
              toolCallId: "c0",
              toolName: "place",
              input: "{\"at\":{\"city\":\"Paris\"}}",
              ...attached("c0")
            }
          ],
          [{ type: "text", text: "Done." }]
        ], specification)
        const Place = Tool.make("place", {
          parameters: Schema.Struct({ at: Schema.Struct({ city: Schema.String }) }),
          success: Schema.Struct({ found: Schema.Struct({ at: Schema.Finite }) })
        })
        const placing = Agent.make("a", { toolkit: Toolkit.make(Place) })
        const providerOptions = { house: { deep: { on: true } } }
        const state = yield* Agent.run(placing, "Go").pipe(Effect.provide([
          AiSdkModel.layer(model, { providerOptions }),
          Toolkit.make(Place).toLayer({ place: () => Effect.succeed({ found: { at: 1 } }) })
        ]))
        const before = [JSON.stringify(AgentState.toJson(state)), JSON.stringify(providerOptions)]
        const spoilt: Array<string> = []
        const spoil = (value: unknown, path: string): void => {
          if (typeof value !== "object" || value === null || value instanceof URL) return
          for (const [key, part] of Object.entries(value)) spoil(part, `${path}.${key}`)
          if (Reflect.set(value, "spoilt", true)) spoilt.push(path)
        }
        for (const { prompt, providerOptions, tools } of options) {
          spoil(prompt.filter(({ role }) => role !== "system").slice(), "prompt")
          spoil(tools?.slice(), "tools")
          spoil(providerOptions, "options")
        }
        // The lists of a request and its options are its own.
        assert.deepStrictEqual(
          [...new Set(spoilt)].filter((path) => !/^(prompt|tools|options(\.house(\.deep)?)?)$/.test(path)),
          []
        )
        assert.deepStrictEqual([JSON.stringify(AgentState.toJson(state)), JSON.stringify(providerOptions)], before)
      }))
  })
}

describe("A run of a session", () => {
  it.effect("reads nothing of the turns before it, but for the last answer", () =>
    Effect.gen(function*() {
      const reads: Array<number> = []
      const turns = Array.from({ length: 20 }, (_, n): Conversation.Turn => {
        const { parts, ...turn } = n % 2 === 0
          ? Conversation.user(`Question ${n}`)
          : Conversation.assistant("a", [
            Conversation.text(`Answer ${n}`),
            Conversation.call(`old${n}`, "add", { a: n }, { _tag: "Settled", outcome: "Succeeded", result: n })
          ])
        return {
          ...turn,
          get parts() {
            reads.push(n)
            return parts
          }
        } as Conversation.Turn
      })
      const done: ReadonlyArray<Content> = [{ type: "text", text: "Done." }]
      const { model } = providerOf([call(0), done, call(1), call(2), done], "v4")
      const layer = Layer.merge(AiSdkModel.layer(model), handlers)
      const session = yield* Session.make(agent, { state: AgentState.make("a", { conversation: { turns } }) }).pipe(
        Effect.provide(layer)
      )
      yield* session.call("Count")
      assert.isAbove(reads.length, 20)
      reads.length = 0
      yield* session.call("Count on")
      assert.deepStrictEqual(reads.filter((n) => n < 19), [])
    }))
})
