import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Result, Schema, Stream } from "effect"
import { AiError, LanguageModel, Prompt, ResponseIdTracker, Tokenizer, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, ContextWindow, Conversation, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { byCharacter, lastSent, makeWatch, sent } from "./windows.ts"

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `re ${lastUserText}`))

const guideOf = <E = never, R = never>(options: ContextWindow.Options<E, R>) =>
  Agent.make("guide", { contextWindow: ContextWindow.make(options) })

const done: Conversation.Settled = { _tag: "Settled", outcome: "Succeeded", result: "done" }

const words = ["a", "b", "c", "d"]

const through = Effect.fnUntraced(function*(read: AgentState.AgentState) {
  return yield* Effect.fromResult(AgentState.fromJson(JSON.stringify(AgentState.toJson(read))))
})

const Look = Toolkit.make(Tool.make("look", { parameters: Schema.Struct({ at: Schema.Int }), success: Schema.String }))
const looking = Look.toLayer({ look: ({ at }) => Effect.succeed(`found ${at}`) })

/** Looks a number of times, then says that it is done. */
const looker = (times: number) =>
  MockModel.layer(
    MockModel.make(({ iteration }) => iteration < times ? MockResponse.toolCall("look", { at: iteration }) : "Done.")
  )

describe("A context window", () => {
  it.effect("sends the turns that have room, and leaves the state whole", () =>
    Effect.gen(function*() {
      const watch = makeWatch()
      const state = yield* Agent.runMultiTurn(guideOf({ maxTurns: 3 }), words).pipe(Agent.observe(watch.observer))
      assert.deepStrictEqual(yield* sent, [
        ["user: a"],
        ["user: a", "assistant: re a", "user: b"],
        ["user: b", "assistant: re b", "user: c"],
        ["user: c", "assistant: re c", "user: d"]
      ])
      assert.lengthOf(state.conversation.turns, 8)
      assert.deepStrictEqual(watch.windows, [
        { turns: 1, left: 0 },
        { turns: 3, left: 0 },
        { turns: 3, left: 2 },
        { turns: 3, left: 4 }
      ])
    }).pipe(Effect.provide(echo)))

  it.effect("sends the same when a run is streamed, taken step by step, or goes on from its JSON", () =>
    Effect.gen(function*() {
      const guide = guideOf({ maxTurns: 3 })
      const before = yield* Agent.runMultiTurn(guide, words.slice(0, 3))
      const asked = AgentState.ask(yield* through(before), "d", 0)
      yield* Agent.continueConversation(guide, before, "d")
      yield* Stream.runDrain(Agent.stream(guide, "d", { state: before }))
      yield* Agent.step(guide, asked)
      yield* Agent.resume(guide, yield* through(asked))
      const requests = (yield* sent).slice(3)
      for (const each of requests) assert.deepStrictEqual(each, ["user: c", "assistant: re c", "user: d"])
      assert.lengthOf(requests, 4)
    }).pipe(Effect.provide(echo)))

  it.effect("keeps what the user asked, and each call with its result, while a model calls tools", () =>
    Effect.gen(function*() {
      const seer = Agent.make("seer", { toolkit: Look, contextWindow: ContextWindow.make({ maxTurns: 3 }) })
      const state = yield* Agent.run(seer, "Look around.")
      const requests = yield* sent
      assert.deepStrictEqual(requests.at(-1), [
        "user: Look around.",
        "assistant: tool-call",
        "tool: \"found 3\"",
        "assistant: tool-call",
        "tool: \"found 4\""
      ])
      assert.lengthOf(state.conversation.turns, 7)
    }).pipe(Effect.provide([looker(5), looking])))

  it.effect("keeps words that nobody has answered", () =>
    Effect.gen(function*() {
      const state = AgentState.make("guide", {
        conversation: Conversation.make([
          Conversation.user("a"),
          Conversation.assistant("guide", "re a"),
          Conversation.user("b"),
          { _tag: "Feedback", text: "note" }
        ])
      })
      yield* Agent.resume(guideOf({ maxTurns: 2 }), state)
      assert.deepStrictEqual(yield* lastSent, ["user: b", "user: note"])
    }).pipe(Effect.provide(echo)))

  it.effect("leaves out a summary that a handoff brought, unless there is nothing else to answer", () =>
    Effect.gen(function*() {
      const summary: Conversation.Summary = { _tag: "Summary", text: "before", of: 9 }
      const ask = (...turns: ReadonlyArray<Conversation.Turn>) =>
        Effect.andThen(
          Agent.resume(
            guideOf({ maxTurns: 1 }),
            AgentState.make("guide", { conversation: Conversation.make(turns) })
          ),
          lastSent
        )
      assert.deepStrictEqual(yield* ask(summary, Conversation.user("a")), ["user: a"])
      assert.deepStrictEqual(yield* ask(summary), ["user: before"])
      assert.deepStrictEqual(yield* ask({ ...summary, text: "long ago" }, summary), ["user: before"])
    }).pipe(Effect.provide(echo)))

  it.effect("keeps all words of a user that one run answers, and what a mode said last", () =>
    Effect.gen(function*() {
      const conversation = Conversation.make([
        Conversation.user("a"),
        Conversation.assistant("guide", "re a"),
        Conversation.user("b"),
        Conversation.assistant("guide", [Conversation.call("1", "x", {}, done)]),
        Conversation.user("c"),
        Conversation.assistant("guide", [Conversation.call("2", "x", {}, done)])
      ])
      const state = AgentState.make("guide", { conversation })
      yield* Agent.resume(guideOf({ maxTurns: 3 }), { ...state, run: { ...state.run, inputs: 2 } })
      assert.deepStrictEqual((yield* lastSent).slice(0, 2), ["user: b", "user: c"])
      yield* Agent.resume(guideOf({ maxTurns: 3 }), state)
      assert.deepStrictEqual((yield* lastSent)[0], "user: c")
      const said: Conversation.Turn = { _tag: "User", parts: [Conversation.text("bye")], mode: "m" }
      const ending = { turns: [...conversation.turns.slice(0, 2), said, conversation.turns[3]!] }
      yield* Agent.resume(guideOf({ maxTurns: 3 }), AgentState.make("guide", { conversation: ending }))
      assert.deepStrictEqual((yield* lastSent).slice(0, 2), ["user: a", "user: bye"])
    }).pipe(Effect.provide(echo)))

  it.effect("keeps pinned turns", () =>
    Effect.gen(function*() {
      const guide = guideOf({ maxTurns: 3 })
      const state = yield* Agent.runMultiTurn(guide, words.slice(0, 3))
      const pinned = AgentState.withConversation(state, Conversation.pin(state.conversation, 0))
      const next = yield* Agent.continueConversation(guide, yield* through(pinned), "d")
      assert.deepStrictEqual(yield* lastSent, ["user: a", "assistant: re c", "user: d"])
      const answer = AgentState.withConversation(next, Conversation.unpin(Conversation.pin(next.conversation, 1), 0))
      yield* Agent.continueConversation(guideOf({ maxTurns: 4 }), answer, "e")
      assert.deepStrictEqual(yield* lastSent, [
        "user: [6 earlier turns left out]",
        "assistant: re a",
        "assistant: re d",
        "user: e"
      ])
    }).pipe(Effect.provide(echo)))

  it.effect("keeps a turn that was pinned while the model was at it", () =>
    Effect.gen(function*() {
      const seer = Agent.make("seer", { toolkit: Look, contextWindow: ContextWindow.make({ maxTurns: 3 }) })
      const conversation = Conversation.make([
        Conversation.user("Look."),
        Conversation.assistant("seer", [Conversation.call("1", "look", { at: 9 }, done)])
      ])
      yield* Agent.resume(seer, AgentState.make("seer", { conversation: Conversation.pin(conversation, 1) }))
      assert.deepStrictEqual(yield* lastSent, [
        "user: Look.",
        "assistant: tool-call",
        "tool: \"done\"",
        "assistant: tool-call",
        "tool: \"found 2\""
      ])
    }).pipe(Effect.provide([looker(3), looking])))

  describe("counting tokens", () => {
    it.effect("counts what is sent, with the system message and the tools that are offered, and keeps the reserve free", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const options = { maxTokens: 100, count: byCharacter } as const
        const plain = Agent.make("guide", { contextWindow: ContextWindow.make(options) })
        const told = Agent.make("guide", { instructions: "Be brief.", contextWindow: ContextWindow.make(options) })
        const equipped = Agent.make("guide", {
          toolkit: Look,
          contextWindow: ContextWindow.make({ ...options, maxTokens: 1000 })
        })
        for (const agent of [plain, told, equipped]) {
          yield* Agent.run(agent, "Hello").pipe(Agent.observe(watch.observer))
        }
        const [first, second, third] = watch.windows.map((window) => window?.tokens ?? 0)
        assert.deepStrictEqual([first, second], [5, 14])
        assert.isAbove(third!, 5 + "look".length + "at".length)
        assert.deepStrictEqual(watch.windows.map((window) => window?.by), ["count", "count", "count"])
        const tools = third! - 5
        const tight = (maxTokens: number, reserve = 0) =>
          Agent.run(
            Agent.make("guide", {
              toolkit: Look,
              contextWindow: ContextWindow.make({ maxTokens, reserve, count: byCharacter })
            }),
            "Hello"
          )
        yield* tight(tools + 5)
        yield* tight(tools + 15, 10)
        const error = yield* Effect.flip(tight(tools + 14, 10))
        assert.strictEqual(error.reason._tag, "ContextWindowExceeded")
      }).pipe(Effect.provide([echo, looking])))

    it.effect("counts what says that the conversation begins with an answer", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const contextWindow = ContextWindow.make({ maxTokens: 100, count: byCharacter })
        const guide = Agent.make("guide", { contextWindow })
        const greeted = Conversation.make([Conversation.assistant("guide", "Welcome!")])
        yield* Agent.continueConversation(guide, AgentState.make("guide", { conversation: greeted }), "Hello").pipe(
          Agent.observe(watch.observer)
        )
        const messages = yield* lastSent
        const texts = messages.map((message) => message.slice(message.indexOf(": ") + 2))
        assert.strictEqual(texts[0], "[The conversation begins here.]")
        assert.strictEqual(watch.windows[0]?.tokens, texts.join("").length)
      }).pipe(Effect.provide(echo)))

    it.effect("counts only tools that are offered", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const contextWindow = ContextWindow.make({ maxTokens: 1000, count: byCharacter })
        const none = Agent.make("guide", { toolkit: Look, toolChoice: { oneOf: [] }, contextWindow })
        yield* Agent.run(none, "Hello").pipe(Agent.observe(watch.observer))
        assert.strictEqual(watch.windows[0]?.tokens, 5)
      }).pipe(Effect.provide([echo, looking])))

    it.effect("estimates without a tokenizer, and says so", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const file = Conversation.file("image/png", "x".repeat(99_999))
        const guide = guideOf({ maxTokens: 2_000 })
        const state = yield* Agent.runMultiTurn(guide, ["x".repeat(40), [file], [Conversation.text("人"), file]])
          .pipe(Agent.observe(watch.observer))
        assert.deepStrictEqual(watch.windows.map((window) => [window?.tokens, window?.by, window?.left]), [
          [10, "estimate", 0],
          [1_021, "estimate", 0],
          [1_001, "estimate", 4]
        ])
        assert.deepStrictEqual(
          state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? [turn.counted] : []),
          [10, 1_021, 1_001]
        )
        const error = yield* Effect.flip(Agent.continueConversation(guide, state, [file, file, file]))
        assert.strictEqual(
          error.message,
          "Agent \"guide\" has to send about 3000 tokens; its context window has room for 2000, which is 1000 less"
        )
      }).pipe(Effect.provide(echo)))

    it.effect("estimates a file in a result as a file, not by its size", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const Draw = Toolkit.make(Tool.make("draw", {
          success: Schema.String,
          toModelOutput: (data) => [
            Prompt.makePart("text", { text: "x".repeat(40) }),
            Prompt.makePart("file", { mediaType: "image/png", data })
          ]
        }))
        const contextWindow = ContextWindow.make({ maxTokens: 9_000 })
        yield* Agent.run(Agent.make("guide", { toolkit: Draw, contextWindow }), "Hi").pipe(
          Agent.observe(watch.observer),
          Effect.provide(Draw.toLayer({ draw: () => Effect.succeed("A".repeat(99_999)) })),
          Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("draw", {}), "Done.")))
        )
        const tokens = watch.windows.map((window) => window?.tokens ?? 0)
        // The call's name and parameters, the text, and the file.
        assert.strictEqual(tokens[1]! - tokens[0]!, Math.ceil(1 + 0.5 + 10 + 1_000))
      }))

    const reporting = (factor: number) =>
      MockModel.layer(MockModel.make(({ messages }) => {
        const parts = messages.flatMap(({ content }): ReadonlyArray<Prompt.Part> =>
          typeof content === "string" ? [] : content
        )
        const bytes = parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0)
        return MockResponse.withUsage("x".repeat(40), { input: Math.round(factor * bytes / 4) })
      }))

    it.effect("corrects the estimate by what the provider reported last, also of another process", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const guide = guideOf({ maxTokens: 100 })
        const input = "x".repeat(40)
        const once = yield* Agent.run(guide, input).pipe(Agent.observe(watch.observer))
        const again = yield* Agent.continueConversation(guide, once, input).pipe(Agent.observe(watch.observer))
        yield* Agent.continueConversation(guide, yield* through(again), input).pipe(Agent.observe(watch.observer))
        assert.deepStrictEqual(watch.windows.map((window) => [window?.turns, window?.tokens]), [
          [1, 10],
          [3, 60],
          [5, 100]
        ])
        yield* Agent.continueConversation(guideOf({ maxTokens: 99 }), again, input).pipe(Agent.observe(watch.observer))
        assert.deepStrictEqual(watch.windows.at(-1), { turns: 3, left: 2, tokens: 60, by: "estimate" })
      }).pipe(Effect.provide(reporting(2))))

    it.effect("doesn't believe a provider that reports next to nothing, and counts as it is told to", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const input = "x".repeat(40)
        yield* Agent.runMultiTurn(guideOf({ maxTokens: 100 }), [input, input]).pipe(Agent.observe(watch.observer))
        yield* Agent.runMultiTurn(guideOf({ maxTokens: 1000, count: byCharacter }), [input, input]).pipe(
          Agent.observe(watch.observer)
        )
        assert.deepStrictEqual(watch.windows.map((window) => window?.tokens), [10, 15, 40, 120])
      }).pipe(Effect.provide(reporting(0.1))))

    it.effect("uses what the agent's own requests were counted for, not another's", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const conversation = Conversation.make([
          Conversation.user("x".repeat(40)),
          { ...Conversation.assistant("other", "x", { usage: { input: 40 } }), counted: 10 }
        ])
        const state = AgentState.make("guide", { conversation })
        yield* Agent.continueConversation(guideOf({ maxTokens: 100 }), state, "x".repeat(36)).pipe(
          Agent.observe(watch.observer)
        )
        assert.strictEqual(watch.windows[0]?.tokens, 20)
      }).pipe(Effect.provide(echo)))

    const tokenizerOf = (asked: Array<number>) =>
      Tokenizer.make({
        tokenize: (prompt) =>
          Effect.sync(() => {
            asked.push(prompt.content.length)
            const text = JSON.stringify(prompt.content.map(({ content }) => content))
            return Array.from({ length: (text.match(/word/g) ?? []).length }, () => 1)
          })
      })

    it.effect("counts by the tokenizer that is provided, each turn once", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const asked: Array<number> = []
        const guide = Agent.make("guide", {
          instructions: "word word",
          contextWindow: ContextWindow.make({ maxTokens: 7 })
        })
        yield* Agent.runMultiTurn(guide, ["word word", "word", "word word"]).pipe(
          Agent.observe(watch.observer),
          Effect.provideService(Tokenizer.Tokenizer, tokenizerOf(asked))
        )
        assert.deepStrictEqual(watch.windows, [
          { turns: 1, left: 0, tokens: 4, by: "tokenizer" },
          { turns: 3, left: 0, tokens: 7, by: "tokenizer" },
          { turns: 3, left: 2, tokens: 6, by: "tokenizer" }
        ])
        assert.lengthOf(asked, 5 + 3)
      }).pipe(Effect.provide(echo)))

    it.effect("lets the tokenizer count what a strategy made", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const guide = guideOf({
          maxTokens: 3,
          strategy: (turns) => [Conversation.user("word word"), ...turns.slice(-1).map(({ turn }) => turn)]
        })
        yield* Agent.runMultiTurn(guide, ["word", "word", "word"]).pipe(
          Agent.observe(watch.observer),
          Effect.provideService(Tokenizer.Tokenizer, tokenizerOf([]))
        )
        assert.deepStrictEqual(watch.windows.at(-1), { turns: 1, left: 4, tokens: 3, by: "tokenizer" })
        assert.deepStrictEqual(yield* lastSent, ["user: word word", "user: word"])
      }).pipe(Effect.provide(echo)))

    it.effect("estimates where the tokenizer fails", () =>
      Effect.gen(function*() {
        const watch = makeWatch()
        const failing = Tokenizer.make({
          tokenize: () =>
            Effect.fail(
              AiError.make({ module: "Test", method: "tokenize", reason: new AiError.UnknownError({}) })
            )
        })
        yield* Agent.run(guideOf({ maxTokens: 100 }), "x".repeat(40)).pipe(
          Agent.observe(watch.observer),
          Effect.provideService(Tokenizer.Tokenizer, failing)
        )
        assert.deepStrictEqual(watch.windows, [{ turns: 1, left: 0, tokens: 10, by: "estimate" }])
      }).pipe(Effect.provide(echo)))

    it.effect("takes the size of the context from the state", () =>
      Effect.gen(function*() {
        const sizes: Record<string, number> = { small: 10, large: 100 }
        const guide = guideOf({ maxTokens: ({ settings }) => sizes[settings?.model ?? "large"]!, count: byCharacter })
        const state = yield* Agent.runMultiTurn(guide, ["one", "two"])
        assert.lengthOf(yield* lastSent, 3)
        yield* Agent.continueConversation(guide, { ...state, settings: { model: "small" } }, "three")
        assert.deepStrictEqual(yield* lastSent, ["user: three"])
      }).pipe(Effect.provide(echo)))
  })

  describe("where what stays is too much", () => {
    it.effect("fails the run with how much, and goes on in a larger one", () =>
      Effect.gen(function*() {
        const small = guideOf({ maxTokens: 10, count: byCharacter })
        const state = yield* Agent.run(small, "one")
        const error = yield* Effect.flip(Agent.continueConversation(small, state, "much too much"))
        const reason = error.reason
        assert.strictEqual(reason._tag, "ContextWindowExceeded")
        if (reason._tag !== "ContextWindowExceeded") return
        const { limit, needed, over, unit, isEstimated } = reason
        assert.deepStrictEqual([unit, limit, needed, over, isEstimated], ["tokens", 10, 13, 3, false])
        assert.strictEqual(
          error.message,
          "Agent \"guide\" has to send 13 tokens; its context window has room for 10, which is 3 less"
        )
        assert.strictEqual(error.state.status._tag, "Failed")
        assert.lengthOf(error.state.conversation.turns, 3)
        const reopened = AgentState.reopen(yield* through(error.state))
        const done = yield* Agent.resume(guideOf({ maxTokens: 100, count: byCharacter }), reopened)
        assert.strictEqual(AgentState.text(done), "re much too much")
        const again = yield* Effect.flip(Agent.resume(small, reopened))
        assert.strictEqual(again.reason._tag, "ContextWindowExceeded")
      }).pipe(Effect.provide(echo)))

    it.effect("says so of turns", () =>
      Effect.gen(function*() {
        const guide = guideOf({ maxTurns: 2 })
        const state = yield* Agent.runMultiTurn(guide, ["one", "two"])
        const pinned = [0, 1, 2].reduce((all, at) => Conversation.pin(all, at), state.conversation)
        const error = yield* Effect.flip(
          Agent.continueConversation(guide, AgentState.withConversation(state, pinned), "three")
        )
        assert.strictEqual(
          error.message,
          "Agent \"guide\" has to send 4 turns; its context window has room for 2, which is 2 less"
        )
      }).pipe(Effect.provide(echo)))
  })

  describe("with a strategy", () => {
    const history = (options: ContextWindow.Options<never, never>) =>
      Effect.gen(function*() {
        yield* Agent.runMultiTurn(guideOf(options), words)
        return yield* lastSent
      })

    it.effect("keeps the last turns without any other limit", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* history({ strategy: ContextWindow.recentTurns(3) }), [
          "user: c",
          "assistant: re c",
          "user: d"
        ])
        assert.deepStrictEqual(yield* history({ strategy: ContextWindow.recentTurns(0) }), ["user: d"])
        assert.deepStrictEqual(yield* history({ strategy: ContextWindow.recentTurns(1), maxTurns: 99 }), ["user: d"])
        assert.deepStrictEqual(
          yield* history({ strategy: ContextWindow.recentTurns(5), maxTokens: 6, count: byCharacter }),
          ["user: c", "assistant: re c", "user: d"]
        )
      }).pipe(Effect.provide(echo)))

    it.effect("keeps the first and the last turns", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* history({ strategy: ContextWindow.middleOut, maxTurns: 5 }), [
          "user: a",
          "assistant: re a",
          "user: c",
          "assistant: re c",
          "user: d"
        ])
      }).pipe(Effect.provide(echo)))

    it.effect("sends a marker for old results, and leaves turns out only where that isn't enough", () =>
      Effect.gen(function*() {
        const long = Look.toLayer({ look: ({ at }) => Effect.succeed(`${at}`.repeat(200)) })
        const run = (maxTokens: number) =>
          Effect.gen(function*() {
            const seer = Agent.make("seer", {
              toolkit: Look,
              toolChoice: { mode: "auto", oneOf: ["look"] },
              contextWindow: ContextWindow.make({
                maxTokens,
                strategy: ContextWindow.dropToolResults,
                count: byCharacter
              })
            })
            const state = yield* Agent.run(seer, "Look.")
            return { state, requests: yield* sent }
          }).pipe(Effect.provide([looker(4), long]))
        const { requests, state } = yield* run(800)
        const marker = "tool: \"[This result was left out to save room.]\""
        assert.deepStrictEqual(requests.at(-1)!.filter((text) => text.startsWith("tool")), [
          marker,
          marker,
          `tool: "${"2".repeat(200)}"`,
          `tool: "${"3".repeat(200)}"`
        ])
        assert.notInclude(JSON.stringify(state), "left out")
        const narrow = yield* run(420)
        const last = narrow.requests.at(-1)!
        assert.strictEqual(last.at(-1), `tool: "${"3".repeat(200)}"`)
        assert.strictEqual(last[0], "user: Look.")
        assert.isBelow(last.length, 9)
      }))

    it.effect("asks each where those before left too much", () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const spy = (name: string, keep: number): ContextWindow.Chooser => (turns, room) => {
          asked.push(`${name}: ${turns.length} of ${room.turns}`)
          return turns.slice(-keep).map(({ turn }) => turn)
        }
        const strategy = ContextWindow.sequence(spy("one", 5), spy("two", 3), spy("three", 1))
        const last = yield* history({ strategy, maxTurns: 4 })
        assert.deepStrictEqual(last, ["user: c", "assistant: re c", "user: d"])
        assert.deepStrictEqual(asked, ["one: 5 of 4", "two: 5 of 4", "one: 7 of 4", "two: 5 of 4"])
      }).pipe(Effect.provide(echo)))

    it.effect("of one's own is asked each time where there is no limit, and may change turns", () =>
      Effect.gen(function*() {
        const strategy: ContextWindow.Chooser = (turns) =>
          turns.map(({ stays, turn }) =>
            turn._tag === "User" && stays === undefined ? Conversation.user("(something)") : turn
          )
        assert.deepStrictEqual(yield* history({ strategy }), [
          "user: (something)",
          "assistant: re a",
          "user: (something)",
          "assistant: re b",
          "user: (something)",
          "assistant: re c",
          "user: d"
        ])
        const nothing = yield* history({ strategy: () => [] })
        assert.deepStrictEqual(nothing, ["user: d"])
        assert.deepStrictEqual((yield* sent)[0], ["user: a"])
      }).pipe(Effect.provide(echo)))

    it.effect("tells a function what stays and why", () =>
      Effect.gen(function*() {
        const seen: Array<ReadonlyArray<string | undefined>> = []
        const strategy: ContextWindow.Chooser = (turns) => {
          seen.push(turns.map(({ stays }) => stays))
          return turns.map(({ turn }) => turn)
        }
        const seer = Agent.make("seer", {
          toolkit: Look,
          stopWhen: StopWhen.maxSteps(9),
          contextWindow: ContextWindow.make({ strategy })
        })
        const conversation = Conversation.pin(
          Conversation.make([Conversation.user("a"), Conversation.assistant("seer", "re a")]),
          1
        )
        yield* Agent.continueConversation(seer, AgentState.make("seer", { conversation }), "Look.")
        assert.deepStrictEqual(seen, [
          [undefined, "Pinned", "Open"],
          [undefined, "Pinned", "Asked", "Open"],
          [undefined, "Pinned", "Asked", undefined, "Open"]
        ])
      }).pipe(Effect.provide([looker(2), looking])))

    it.effect("sends the same beginning for a while where it has a target", () =>
      Effect.gen(function*() {
        const guide = guideOf({ maxTurns: 6, target: 0.3 })
        yield* Agent.runMultiTurn(guide, ["a", "b", "c", "d", "e", "f", "g"])
        assert.deepStrictEqual((yield* sent).map(([first]) => first), [
          "user: a",
          "user: a",
          "user: a",
          "user: c",
          "user: c",
          "user: e",
          "user: e"
        ])
      }).pipe(Effect.provide(echo)))
  })

  it.effect("doesn't let a provider go on from a record that holds what is left out", () =>
    Effect.gen(function*() {
      const went: Array<string | undefined> = []
      const run = (contextWindow: ContextWindow.ContextWindow | undefined, instructions: string | undefined) =>
        Effect.gen(function*() {
          went.length = 0
          const seer = Agent.make("seer", { instructions, contextWindow, toolkit: Look })
          const looks = yield* LanguageModel.make({
            generateText: (options) =>
              Effect.sync(() => {
                went.push(options.previousResponseId)
                return [
                  { type: "response-metadata" as const, id: `r${went.length}` },
                  went.length < 6
                    ? { type: "tool-call" as const, id: `c${went.length}`, name: "look", params: { at: went.length } }
                    : { type: "text" as const, text: "Done." },
                  {
                    type: "finish" as const,
                    reason: "stop" as const,
                    usage: { inputTokens: {}, outputTokens: {} } as never
                  }
                ]
              }),
            streamText: () => Stream.die("not streamed")
          })
          yield* Agent.run(seer, "Look.").pipe(
            Effect.provideService(LanguageModel.LanguageModel, looks),
            Effect.provideServiceEffect(ResponseIdTracker.ResponseIdTracker, ResponseIdTracker.make),
            Effect.provide(looking)
          )
          return [...went]
        })
      for (const instructions of ["Be brief.", undefined]) {
        assert.deepStrictEqual(yield* run(undefined, instructions), [undefined, "r1", "r2", "r3", "r4", "r5"])
        const whole = yield* run(ContextWindow.make({ maxTurns: 99 }), instructions)
        assert.deepStrictEqual(whole, [undefined, "r1", "r2", "r3", "r4", "r5"])
        assert.deepStrictEqual(yield* run(ContextWindow.make({ maxTurns: 3 }), instructions), [
          undefined,
          "r1",
          "r2",
          undefined,
          undefined,
          undefined
        ])
        const steady = yield* run(ContextWindow.make({ maxTurns: 4, target: 0.5 }), instructions)
        assert.deepStrictEqual(steady.slice(0, 5), [undefined, "r1", "r2", "r3", undefined])
      }
    }))

  it("can't be what would never do anything, or nothing would fit into", () => {
    const message = (make: () => unknown): string => {
      const error = Result.getOrThrow(Result.flip(Result.try({ try: make, catch: (error) => error })))
      assert.instanceOf(error, ContextWindow.InvalidWindow)
      return (error as Error).message
    }
    assert.strictEqual(
      message(() => ContextWindow.make({ maxTokens: 0 })),
      "\"maxTokens\" of a context window is 0, not a whole number from 1 on"
    )
    assert.include(message(() => ContextWindow.make({ maxTurns: 1.5 })), "is 1.5, not a whole number")
    assert.include(message(() => ContextWindow.make({ maxTokens: Number.NaN })), "is NaN")
    assert.include(message(() => ContextWindow.make({ maxTurns: 2, reserve: -1 })), "\"reserve\"")
    assert.include(
      message(() => ContextWindow.recentTurns(-1)),
      "is recentTurns(-1), whose count isn't a whole number from 0 on"
    )
    for (const reserve of [100, 101]) {
      assert.strictEqual(
        message(() => ContextWindow.make({ maxTokens: 100, reserve })),
        `"reserve" of a context window is ${reserve}, not less than "maxTokens", 100`
      )
    }
    ContextWindow.make({ maxTokens: 100, reserve: 99 })
    ContextWindow.make({ maxTokens: () => 100, reserve: 100 })
    for (const wrong of [Number.NaN, -1, undefined as never]) {
      assert.strictEqual(
        message(() => ContextWindow.make({ maxTokens: 100, count: () => wrong })),
        `"count" of a context window returned ${wrong} for "text", not a number from 0 on`
      )
    }
    const text = "3" as never
    for (const wrong of [text, Promise.resolve(3) as never]) {
      const said = message(() => ContextWindow.make({ maxTokens: 100, count: () => wrong }))
      assert.match(
        said,
        /^"count" of a context window returned a (string|Promise) for "text", not a number from 0 on$/
      )
    }
    assert.include(message(() => ContextWindow.make({ maxTokens: text })), "is a string, not a whole number")
    assert.include(message(() => ContextWindow.make({ maxTurns: 2, target: text })), "is a string, not above 0")
    const strategies = [{ given: text, is: "a string" }, { given: {}, is: "an object" }, { given: null, is: "null" }]
    for (const { given, is } of strategies) {
      const strategy = given as never
      const said = `"strategy" of a context window is ${is}, neither a strategy nor a function`
      assert.strictEqual(message(() => ContextWindow.make({ maxTurns: 2, strategy })), said)
      assert.strictEqual(message(() => ContextWindow.sequence(ContextWindow.oldestFirst, strategy)), said)
    }
    for (const target of [0, 1.1, Number.NaN]) {
      assert.include(message(() => ContextWindow.make({ maxTurns: 2, target })), "not above 0 and up to 1")
    }
    for (
      const strategy of [
        undefined,
        ContextWindow.oldestFirst,
        ContextWindow.middleOut,
        ContextWindow.dropToolResults,
        ContextWindow.summarize(() => Effect.succeed("so far"))
      ]
    ) {
      assert.include(message(() => ContextWindow.make({ strategy })), "needs \"maxTokens\" or \"maxTurns\"")
    }
    ContextWindow.make({
      strategy: ContextWindow.sequence(ContextWindow.dropToolResults, ContextWindow.recentTurns(2))
    })
  })

  it.effect("dies where a function gives what is no turn, such as all that is known of one, and names it", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<ContextWindow.Chooser> = [
        (turns) => turns as never,
        () => [undefined as never],
        () => [{ _tag: "User" } as never],
        () => [{ _tag: "Assistant", parts: [null] } as never]
      ]
      for (const strategy of wrong) {
        const reader = Agent.make("reader", { contextWindow: ContextWindow.make({ strategy }) })
        const exit = yield* Effect.exit(Agent.run(reader, "Read."))
        const defect = Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? String(Cause.squash(exit.cause)) : ""
        assert.match(
          defect,
          /^TypeError: The strategy of a context window must return a turn, not (undefined|an object)$/
        )
      }
    }).pipe(Effect.provide(MockModel.layer(MockModel.repeat("Read.")))))

  it.effect("dies where a function says a size that is no number", () =>
    Effect.gen(function*() {
      const sizes: Readonly<Record<string, number>> = { small: 100 }
      for (const model of ["small", "other"]) {
        const reader = Agent.make("reader", { contextWindow: ContextWindow.make({ maxTokens: () => sizes[model]! }) })
        const exit = yield* Effect.exit(Agent.run(reader, "Read."))
        assert.strictEqual(Exit.isSuccess(exit), model === "small")
        if (Exit.isSuccess(exit)) continue
        assert.isTrue(Cause.hasDies(exit.cause))
        const defect = Cause.squash(exit.cause)
        assert.instanceOf(defect, ContextWindow.InvalidWindow)
        assert.include(String(defect), `"maxTokens" of a context window returned undefined, not a number`)
      }
    }).pipe(Effect.provide(MockModel.layer(MockModel.repeat("Read.")))))

  it.effect("is each agent's own, that of an agent called as a tool too", () =>
    Effect.gen(function*() {
      const watch = makeWatch()
      const helper = Agent.make("helper", {
        toolkit: Look,
        contextWindow: ContextWindow.make({ maxTurns: 2 })
      })
      const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
      yield* Agent.run(boss, "Help!").pipe(Agent.observe(watch.observer))
      assert.deepStrictEqual(watch.windows, [
        undefined,
        { turns: 1, left: 0 },
        { turns: 2, left: 0 },
        { turns: 2, left: 1 },
        undefined
      ])
    }).pipe(Effect.provide(Layer.merge(
      looking,
      MockModel.layer(MockModel.byAgent({
        boss: MockModel.queue(MockResponse.toolCall("helper", { task: "Look." }), "Thanks."),
        helper: MockModel.queue(
          MockResponse.toolCall("look", { at: 1 }),
          MockResponse.toolCall("look", { at: 2 }),
          "Here."
        )
      }))
    ))))
})

describe("An adaptive size", () => {
  it("is a larger part of a larger context, and a smaller one where input is dear", () => {
    const sizes = [1, 2, 1000, 32_000, 32_001, 100_000, 100_001, 200_000, 200_001, 1_000_000]
    assert.deepStrictEqual(
      sizes.map((size) => ContextWindow.adaptive(size)),
      [1, 1, 600, 19_200, 22_400, 70_000, 75_000, 150_000, 160_000, 800_000]
    )
    const by = (input: number, output: number, costSensitivity?: number) =>
      ContextWindow.adaptive(100_000, { price: { input, output }, costSensitivity })
    assert.deepStrictEqual([by(1, 3), by(1, 3, 1), by(1, 3, 0), by(1, 0), by(0, 1)], [
      68_250,
      66_500,
      70_000,
      70_000,
      70_000
    ])
  })

  it("can't be that of no context, nor by what is no price", () => {
    const { adaptive, InvalidWindow } = ContextWindow
    for (const size of [0, -1, 1.5, Number.NaN, Infinity]) {
      assert.throws(() => adaptive(size), InvalidWindow, "maxTokens")
    }
    for (const price of [-1, Number.NaN]) {
      assert.throws(() => adaptive(1000, { price: { input: price, output: 1 } }), InvalidWindow, "price")
    }
    for (const costSensitivity of [-0.1, 1.1, Number.NaN]) {
      const price = { input: 1, output: 1 }
      assert.throws(() => adaptive(1000, { price, costSensitivity }), InvalidWindow, "costSensitivity")
    }
  })
})
