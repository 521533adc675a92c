import { assert, describe, it } from "@effect/vitest"
import { Context, Data, Effect, Exit, Fiber, Layer, Option, Schema, Stream } from "effect"
import { AiError, Tokenizer, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, ContextWindow, Conversation, Guardrail, StopWhen, Usage } from "troupe"
import { Cassette, MockModel, MockResponse } from "troupe/testing"
import { newPath, withFiles } from "../testing/tape.ts"
import { imbalances } from "./balanced.ts"
import { ran, said } from "./guardrail/looking.ts"
import { recorded, tree } from "./spans.ts"
import { ofTag } from "./watch.ts"
import { lastSent, makeWatch, sent } from "./windows.ts"

class Lost extends Data.TaggedError("Lost")<{}> {}

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `re ${lastUserText}`))

const texts = ({ turns }: Conversation.Conversation) => turns.map(Conversation.textOf)

/** Summarizes as the texts in a row, and keeps what it was given. */
const makeSummarizer = () => {
  const given: Array<ReadonlyArray<string>> = []
  const summarize = (conversation: Conversation.Conversation) =>
    Effect.sync(() => {
      given.push(texts(conversation))
      return `summary ${given.length}`
    })
  return { given, summarize }
}

const guideOf = <E, R>(strategy: ContextWindow.Strategy<E, R>, maxTurns = 6) =>
  Agent.make("guide", { contextWindow: ContextWindow.make({ maxTurns, strategy }) })

const through = (state: AgentState.AgentState) =>
  Effect.fromResult(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

const inputs = ["a", "b", "c", "d", "e", "f"]

describe("Summarizing", () => {
  it.effect("puts a summary in the place of the oldest turns, and keeps both", () =>
    Effect.gen(function*() {
      const { given, summarize } = makeSummarizer()
      const watch = makeWatch()
      const state = yield* Agent.runMultiTurn(guideOf(ContextWindow.summarize(summarize)), inputs.slice(0, 4)).pipe(
        Agent.observe(watch.observer)
      )
      assert.deepStrictEqual(given, [["a", "re a", "b", "re b", "c"]])
      assert.deepStrictEqual(yield* lastSent, [
        "user: [Summary of 5 turns before this]\nsummary 1",
        "assistant: re c",
        "user: d"
      ])
      assert.deepStrictEqual(state.conversation.summaries, [{ text: "summary 1", upTo: 5, except: [] }])
      assert.deepStrictEqual(texts(state.conversation), ["a", "re a", "b", "re b", "c", "re c", "d", "re d"])
      assert.deepStrictEqual(watch.summaries, [
        { _tag: "ConversationSummarized", text: "summary 1", upTo: 5, except: [], duration: 0 }
      ])
      assert.deepStrictEqual(watch.windows.at(-1), { turns: 2, left: 5 })
    }).pipe(Effect.provide(echo)))

  it.effect("makes it once, sends it again later, also in another process, and extends it by itself and what goes", () =>
    Effect.gen(function*() {
      const { given, summarize } = makeSummarizer()
      const guide = guideOf(ContextWindow.summarize(summarize))
      const once = yield* Agent.runMultiTurn(guide, inputs.slice(0, 4))
      const again = yield* Agent.continueConversation(guide, yield* through(once), "e")
      assert.lengthOf(given, 1)
      assert.deepStrictEqual((yield* lastSent)[0], "user: [Summary of 5 turns before this]\nsummary 1")
      const extended = yield* Agent.continueConversation(guide, yield* through(again), "f")
      assert.deepStrictEqual(given.slice(1), [["summary 1", "re c", "d", "re d", "e"]])
      assert.deepStrictEqual(extended.conversation.summaries, [
        { text: "summary 1", upTo: 5, except: [] },
        { text: "summary 2", upTo: 9, except: [] }
      ])
      assert.deepStrictEqual(yield* lastSent, [
        "user: [Summary of 9 turns before this]\nsummary 2",
        "assistant: re e",
        "user: f"
      ])
    }).pipe(Effect.provide(echo)))

  it.effect("leaves pinned turns and what the user asked out of it, and takes them in once they may go", () =>
    Effect.gen(function*() {
      const { given, summarize } = makeSummarizer()
      const guide = guideOf(ContextWindow.summarize(summarize))
      const before = yield* Agent.runMultiTurn(guide, inputs.slice(0, 3))
      const pinned = AgentState.withConversation(before, Conversation.pin(before.conversation, 1))
      const state = yield* Agent.continueConversation(guide, pinned, "d")
      assert.deepStrictEqual(given, [["a", "b", "re b", "c", "re c"]])
      assert.deepStrictEqual(state.conversation.summaries, [{ text: "summary 1", upTo: 6, except: [1] }])
      assert.deepStrictEqual(yield* lastSent, [
        "user: [Summary of 5 turns before this]\nsummary 1",
        "assistant: re a",
        "user: d"
      ])
      const unpinned = AgentState.withConversation(state, Conversation.unpin(state.conversation, 1))
      const kept = yield* Agent.continueConversation(guide, unpinned, "e")
      assert.include(yield* lastSent, "assistant: re a")
      const { conversation } = yield* Agent.continueConversation(guide, kept, "f")
      assert.deepStrictEqual(given.slice(1), [["summary 1", "re a", "d", "re d", "e"]])
      assert.deepStrictEqual(conversation.summaries?.at(-1), { text: "summary 2", upTo: 9, except: [] })
      const late = AgentState.withConversation(state, Conversation.pin(state.conversation, 2))
      yield* Agent.continueConversation(guide, late, "e")
      assert.include(yield* lastSent, "user: b")
    }).pipe(Effect.provide(echo)))

  it.effect("never summarizes what a model is still at", () =>
    Effect.gen(function*() {
      const Look = Toolkit.make(Tool.make("look", { success: Schema.String }))
      const { given, summarize } = makeSummarizer()
      const seer = Agent.make("seer", {
        toolkit: Look,
        contextWindow: ContextWindow.make({ maxTurns: 4, strategy: ContextWindow.summarize(summarize) })
      })
      const state = yield* Agent.run(seer, "Look!").pipe(
        Effect.provide(Look.toLayer({ look: () => Effect.succeed("a tree") })),
        Effect.provide(
          MockModel.layer(
            MockModel.make(({ iteration }) => iteration < 6 ? MockResponse.toolCall("look", {}) : "Trees.")
          )
        )
      )
      assert.deepStrictEqual(given.map(({ length }) => length), [3, 3])
      assert.deepStrictEqual(state.conversation.summaries?.map(({ except }) => except), [[0], [0]])
    }))

  it.effect("goes on summarizing where a summary is longer than it was to be, and fails where nothing is left to go", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const guide = (length: number) =>
        Agent.make("guide", {
          contextWindow: ContextWindow.make({
            maxTokens: 100,
            count: (text) => text.length,
            strategy: ContextWindow.summarize(({ turns }) =>
              Effect.sync(() => {
                asked.push(turns.length)
                return "x".repeat(length)
              })
            )
          })
        })
      const input = "y".repeat(20)
      const before = yield* Agent.runMultiTurn(guide(1), [input, input])
      yield* Agent.continueConversation(guide(20), before, input)
      assert.deepStrictEqual(asked.splice(0), [3])
      yield* Agent.continueConversation(guide(40), before, input)
      assert.deepStrictEqual(asked.splice(0), [3, 2])
      const error = yield* Effect.flip(Agent.continueConversation(guide(60), before, input))
      assert.deepStrictEqual(asked.splice(0), [3, 2])
      assert.strictEqual(error._tag, "AgentError")
      if (error._tag !== "AgentError") return
      assert.strictEqual(error.reason._tag, "ContextWindowExceeded")
      yield* Effect.flip(Agent.resume(guide(60), AgentState.reopen(error.state)))
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(echo)))

  it.effect("is counted by the provider's tokenizer, too", () =>
    Effect.gen(function*() {
      const watch = makeWatch()
      const guide = Agent.make("guide", {
        contextWindow: ContextWindow.make({
          maxTokens: 8,
          strategy: ContextWindow.summarize(() => Effect.succeed("word word word"))
        })
      })
      const words = Tokenizer.make({
        tokenize: ({ content }) =>
          Effect.sync(() => Array.from(JSON.stringify(content).matchAll(/word/g), (_, at) => at))
      })
      yield* Agent.runMultiTurn(guide, ["word word", "word word", "word word"]).pipe(
        Agent.observe(watch.observer),
        Effect.provideService(Tokenizer.Tokenizer, words)
      )
      assert.deepStrictEqual(watch.windows.at(-1), { turns: 2, left: 3, tokens: 7, by: "tokenizer" })
    }).pipe(Effect.provide(echo)))

  it.effect("takes in all that may go where one more is needed", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const guide = Agent.make("guide", {
        contextWindow: ContextWindow.make({
          maxTokens: 200,
          target: 0.8,
          count: (text) => text.length,
          strategy: ContextWindow.summarize(({ turns }) =>
            Effect.sync(() => {
              asked.push(turns.length)
              return "x".repeat(20)
            })
          )
        })
      })
      yield* Agent.runMultiTurn(guide, Array.from({ length: 6 }, () => "y".repeat(20)))
      assert.deepStrictEqual(asked, [4, 7])
      assert.lengthOf(yield* lastSent, 2)
    }).pipe(Effect.provide(echo)))

  it.effect("follows strategies that come before it, and summarizes turns as they were", () =>
    Effect.gen(function*() {
      const Look = Toolkit.make(Tool.make("look", { success: Schema.String }))
      const results: Array<unknown> = []
      const summarize = ({ turns }: Conversation.Conversation) =>
        Effect.sync(() => {
          for (const turn of turns) {
            if (turn._tag !== "Assistant") continue
            for (const { state } of Conversation.callsOf(turn)) if (state._tag === "Settled") results.push(state.result)
          }
          return "so far"
        })
      const seer = (maxTokens: number) =>
        Agent.make("seer", {
          toolkit: Look,
          toolChoice: { oneOf: [] },
          contextWindow: ContextWindow.make({
            maxTokens,
            count: (text) => text.length,
            strategy: ContextWindow.sequence(ContextWindow.dropToolResults, ContextWindow.summarize(summarize))
          })
        })
      const found = "z".repeat(100)
      const conversation = Conversation.make([
        Conversation.user("1"),
        Conversation.assistant("seer", [
          Conversation.call("c", "look", {}, { _tag: "Settled", outcome: "Succeeded", result: found })
        ]),
        Conversation.assistant("seer", "2"),
        Conversation.user("3")
      ])
      const state = AgentState.make("seer", { conversation })
      const dropped = yield* Agent.resume(seer(100), state)
      assert.deepStrictEqual([results, dropped.conversation.summaries], [[], undefined])
      yield* Agent.resume(seer(45), state)
      assert.deepStrictEqual(results, [found])
      assert.deepStrictEqual(yield* lastSent, [
        "user: [Summary of 2 turns before this]\nso far",
        "assistant: 2",
        "user: 3"
      ])
    }).pipe(Effect.provide([echo, Layer.empty as Layer.Layer<Tool.Handler<"look">>])))

  describe("that fails", () => {
    it.effect("fails the run with its own error, and loses nothing", () =>
      Effect.gen(function*() {
        const broken = guideOf(ContextWindow.summarize(() => Effect.fail(new Lost())), 2)
        const before = yield* Agent.run(broken, "a")
        const exit = yield* Effect.exit(Agent.continueConversation(broken, before, "b"))
        assert.isTrue(Exit.isFailure(exit))
        const failed = Exit.isFailure(exit) ? Option.getOrThrow(Agent.failedState(exit.cause)) : before
        assert.strictEqual(failed.status._tag === "Failed" && failed.status.error.tag, "Lost")
        assert.deepStrictEqual(texts(failed.conversation), ["a", "re a", "b"])
        const settled = yield* Agent.settle(broken, "b", { state: before })
        assert.deepStrictEqual(settled.conversation, failed.conversation)
        const whole = guideOf(ContextWindow.summarize(() => Effect.succeed("a was said")), 2)
        const done = yield* Agent.resume(whole, AgentState.reopen(yield* through(failed)))
        assert.strictEqual(AgentState.text(done), "re b")
        assert.lengthOf(done.conversation.turns, 4)
      }).pipe(Effect.provide(echo)))

    it.effect("by having no words, too", () =>
      Effect.gen(function*() {
        const guide = guideOf(ContextWindow.summarize(() => Effect.succeed(" \n")), 2)
        const before = yield* Agent.run(guide, "a")
        const error = yield* Effect.flip(Agent.continueConversation(guide, before, "b"))
        assert.instanceOf(error, ContextWindow.EmptySummary)
        assert.strictEqual(error.message, "The summary of 2 turns for agent \"guide\" is empty")
      }).pipe(Effect.provide(echo)))

    it.effect("by an interruption leaves a state that goes on", () =>
      Effect.gen(function*() {
        const stuck = guideOf(ContextWindow.summarize(() => Effect.never), 2)
        const before = yield* Agent.run(stuck, "a")
        let left = before
        const keep: Agent.Observer = (event) =>
          Effect.sync(() => {
            if (event._tag === "RunInterrupted") left = event.state
          })
        const fiber = yield* Agent.continueConversation(stuck, before, "b").pipe(
          Agent.observe(keep),
          Effect.forkChild({ startImmediately: true })
        )
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual([left.status._tag, texts(left.conversation)], ["InProgress", ["a", "re a", "b"]])
        const whole = guideOf(ContextWindow.summarize(() => Effect.succeed("a was said")), 2)
        assert.strictEqual(AgentState.text(yield* Agent.resume(whole, left)), "re b")
      }).pipe(Effect.provide(echo)))
  })

  describe("by a model", () => {
    const summarizing = MockModel.make((request) =>
      request.system.includes("Summarize")
        ? MockResponse.withUsage("They said a.", { input: 100, output: 10 })
        : MockResponse.withUsage(`re ${request.lastUserText}`, { input: 10, output: 1 })
    )

    it.effect("shows it a record of the turns, and counts what it used", () =>
      Effect.gen(function*() {
        const guide = Agent.make("guide", {
          contextWindow: ContextWindow.make({ maxTurns: 5, strategy: ContextWindow.summarize() })
        })
        const conversation = Conversation.make([
          { _tag: "Summary", text: "Before.", of: 2 },
          Conversation.user([Conversation.text("Look"), Conversation.file("image/png", "aGk=", { fileName: "a.png" })]),
          Conversation.assistant("guide", [
            { _tag: "Reasoning", text: "Hm." },
            Conversation.text("I look."),
            Conversation.call("c", "look", { at: 1 }, { _tag: "Settled", outcome: "Failed", result: "dark" })
          ]),
          { _tag: "Feedback", text: "Go on." },
          Conversation.assistant("", "Done.")
        ])
        const watch = makeWatch()
        const state = yield* Agent.continueConversation(guide, AgentState.make("guide", { conversation }), "b").pipe(
          Agent.observe(watch.observer)
        )
        const [asked] = yield* MockModel.calls
        assert.deepStrictEqual(asked!.request.lastUserText.split("\n").map((line) => JSON.parse(line)), [
          { summary: "Before." },
          { user: ["Look", { file: "a.png" }] },
          { guide: ["I look.", { called: "look", with: { at: 1 }, outcome: "Failed", result: "dark" }] },
          { note: "Go on." },
          { assistant: ["Done."] }
        ])
        assert.deepStrictEqual(asked!.request.toolNames, [])
        assert.deepStrictEqual((yield* lastSent)[0], "user: [Summary of 5 turns before this]\nThey said a.")
        assert.deepStrictEqual(watch.summaries.map(({ usage }) => usage), [{ input: 100, output: 10 }])
        assert.deepStrictEqual([state.steps, state.run.steps], [1, 1])
        assert.strictEqual(Usage.knownTotal(state.usage), 121)
        assert.deepStrictEqual(state.run.usage, state.usage)
      }).pipe(Effect.provide(MockModel.layer(summarizing))))

    it.effect("takes a model of its own, which the run needs nothing for, and instructions", () =>
      Effect.gen(function*() {
        const small = MockModel.layer(MockModel.make(({ system }) => `small: ${system}`))
        const guide = guideOf(ContextWindow.summarize(small, { instructions: "In one word." }), 2)
        yield* Agent.runMultiTurn(guide, ["a", "b"])
        assert.deepStrictEqual((yield* lastSent)[0], "user: [Summary of 2 turns before this]\nsmall: In one word.")
        assert.lengthOf(yield* sent, 2)
        const own = guideOf(ContextWindow.summarize({ instructions: "Summarize in one word." }), 2)
        yield* Agent.runMultiTurn(own, ["a", "b"])
        assert.strictEqual((yield* MockModel.calls).at(-2)?.request.system, "Summarize in one word.")
      }).pipe(Effect.provide(echo)))

    const within = (tokens: number, options?: StopWhen.LimitOptions) =>
      Agent.make("guide", {
        contextWindow: ContextWindow.make({ maxTurns: 3, strategy: ContextWindow.summarize() }),
        stopWhen: StopWhen.tokens(tokens, options)
      })

    it.effect("counts against the run's budget, and the model isn't asked once the summary has used that up", () =>
      Effect.gen(function*() {
        const before = yield* Agent.runMultiTurn(within(100), ["a", "b"])
        const state = yield* Agent.settle(within(100), "c", { state: before })
        assert.strictEqual(state.status._tag === "Failed" ? state.status.error.tag : "", "BudgetExceeded")
        assert.lengthOf(state.conversation.summaries ?? [], 1)
        assert.strictEqual(Usage.knownTotal(state.run.usage), 110)
        assert.strictEqual((yield* MockModel.calls).at(-1)?.request.system.includes("Summarize"), true)
        const after = yield* Agent.resume(within(120), AgentState.reopen(state))
        assert.strictEqual(Usage.knownTotal(after.run.usage), 121)
        assert.strictEqual(AgentState.text(after), "re c")
      }).pipe(Effect.provide(MockModel.layer(summarizing))))

    it.effect("lets the model answer once more if it has used up a limit that allows that, also streamed and resumed", () =>
      Effect.gen(function*() {
        const guide = within(100, { onExhausted: "finish" })
        const before = yield* Agent.runMultiTurn(guide, ["a", "b"])
        const events = yield* Agent.stream(guide, "c", { state: before }).pipe(Stream.runCollect)
        assert.deepStrictEqual(imbalances(events), [])
        let folded = before
        const states = events.map((event) => folded = AgentState.reduce(folded, event))
        const last = states.at(-1)!
        assert.strictEqual(last.status._tag, "Complete")
        assert.strictEqual(Usage.knownTotal(last.run.usage), 121)
        assert.include(events.map(({ _tag }) => _tag), "LimitReached")
        for (const state of states) {
          const again = yield* Agent.settle(guide, yield* through(state))
          assert.deepStrictEqual(texts(again.conversation), texts(last.conversation))
        }
      }).pipe(Effect.provide(MockModel.layer(summarizing))))

    it.effect("is checked against the limits of callers, for which the agent that makes it doesn't count as asked", () =>
      Effect.gen(function*() {
        const Look = Toolkit.make(Tool.make("look", { success: Schema.String }))
        const child = Agent.make("child", {
          toolkit: Look,
          contextWindow: ContextWindow.make({ maxTurns: 3, strategy: ContextWindow.summarize() })
        })
        const model = MockModel.make(({ agent, iteration, system }) =>
          system.includes("Summarize")
            ? "So far."
            : iteration === 4 || (agent !== "child" && iteration === 1)
            ? "Done."
            : agent === "child"
            ? MockResponse.toolCall("look", {})
            : MockResponse.toolCall(agent === "top" ? "mid" : "child", { task: "Look!" })
        )
        const limited = (steps: number) => {
          const mid = Agent.make("mid", { agents: [Agent.asTool(child)] })
          return Agent.make("top", { agents: [Agent.asTool(mid)], stopWhen: StopWhen.maxSteps(steps) })
        }
        for (const steps of [3, 4, 5, 6, 7, 8, 9]) {
          const { events, state } = yield* ran(Agent.run(limited(steps), "Go")).pipe(
            Effect.provide([MockModel.layer(model), Look.toLayer({ look: () => Effect.succeed("a tree") })])
          )
          const begun = ofTag(events, "StepStarted").length
          assert.deepStrictEqual([begun, ofTag(events, "ModelResponded").length, state.run.steps], [
            steps,
            steps,
            steps
          ])
          assert.strictEqual(state.status._tag, steps === 9 ? "Complete" : "Failed")
          assert.strictEqual(ofTag(events, "ConversationSummarized").length > 0, steps > 5)
        }
      }))

    describe("with a guardrail beside the request that it takes the place of", () => {
      const verdicts = {
        Pass: Guardrail.pass,
        Replace: Guardrail.replace("c of her", "a name"),
        Block: Guardrail.block("a name")
      }
      for (const seconds of [1, 10]) {
        for (const onExhausted of ["fail", "finish"] as const) {
          for (const verdict of ["Pass", "Replace", "Block"] as const) {
            const name = `${verdict}, ${seconds < 5 ? "before" : "after"} the summary, and the run would ${onExhausted}`
            it.effect(`lets it judge once before the run goes on: ${name}`, () =>
              Effect.gen(function*() {
                const judge = Guardrail.make(
                  "judge",
                  (text) =>
                    Effect.delay(
                      Effect.sync(() => text.includes("Ada") ? verdicts[verdict] : Guardrail.pass),
                      seconds * 1000
                    ),
                  { mode: "parallel" }
                )
                const before = yield* Agent.runMultiTurn(within(100), ["a", "b"])
                const guide = Agent.make("guide", {
                  contextWindow: ContextWindow.make({ maxTurns: 3, strategy: ContextWindow.summarize() }),
                  guardrails: { input: [judge] },
                  stopWhen: StopWhen.tokens(100, { onExhausted })
                })
                const fiber = yield* Effect.forkChild(ran(Agent.continueConversation(guide, before, "c of Ada")))
                yield* TestClock.adjust("1 minute")
                const { error, events, state } = yield* Fiber.join(fiber)
                assert.lengthOf(said(events), 1)
                assert.include(said(events)[0], verdict)
                assert.strictEqual(JSON.stringify(events).includes("Ada"), verdict === "Pass")
                assert.strictEqual(
                  error?.reason._tag,
                  verdict === "Block" ? "GuardrailBlocked" : onExhausted === "fail" ? "BudgetExceeded" : undefined
                )
                const isAnswered = verdict !== "Block" && onExhausted === "finish"
                assert.lengthOf(ofTag(events, "ModelCallStarted"), isAnswered ? 1 : 0)
                assert.lengthOf(ofTag(events, "LimitReached"), isAnswered ? 1 : 0)
                const last = (yield* lastSent).join("\n")
                if (isAnswered) assert.include(last, verdict === "Pass" ? "c of Ada" : "c of her")
                if (verdict !== "Block") assert.lengthOf(state.conversation.summaries ?? [], 1)
              }).pipe(Effect.provide(MockModel.layer(MockModel.make(({ lastUserText, system }) =>
                system.includes("Summarize")
                  ? MockResponse.delay(MockResponse.withUsage("They said a.", { input: 100, output: 10 }), "5 seconds")
                  : MockResponse.withUsage(`re ${lastUserText}`, { input: 10, output: 1 })
              )))))
          }
        }
      }
    })

    it.effect("fails the run with what the model failed with", () =>
      Effect.gen(function*() {
        const failing = MockModel.layer(MockModel.queue(MockResponse.fail(new AiError.RateLimitError({}))))
        const guide = guideOf(ContextWindow.summarize(failing), 2)
        const before = yield* Agent.run(guide, "a")
        const error = yield* Effect.flip(Agent.continueConversation(guide, before, "b"))
        assert.strictEqual(error._tag === "AiError" ? error.reason._tag : error._tag, "RateLimitError")
      }).pipe(Effect.provide(echo)))

    it.effect("stands in a span of its own", () =>
      Effect.gen(function*() {
        const guide = guideOf(ContextWindow.summarize(), 2)
        const before = yield* Agent.run(guide, "a")
        const { spans } = yield* recorded(Agent.continueConversation(guide, before, "b"))
        assert.deepStrictEqual(tree(spans).map(([name, parent]) => `${name} in ${parent}`), [
          "invoke_agent guide in undefined",
          "summarize_conversation guide in invoke_agent guide",
          "LanguageModel.generateText in summarize_conversation guide",
          "chat in invoke_agent guide"
        ])
        assert.strictEqual(spans[1]?.attributes.get("troupe.summary.turns"), 2)
      }).pipe(Effect.provide(MockModel.layer(summarizing))))

    it.effect("plays again from a tape", () =>
      withFiles(Effect.gen(function*() {
        const path = yield* newPath
        const guide = guideOf(ContextWindow.summarize(), 3)
        const run = Agent.runMultiTurn(guide, ["a", "b", "c", "d"])
        const first = yield* run.pipe(
          Effect.provide(Cassette.layer(path, { mode: "record" })),
          Effect.provide(MockModel.layer(summarizing))
        )
        const again = yield* run.pipe(
          Effect.tap(Cassette.assertDrained),
          Effect.provide(Cassette.layer(path, { mode: "replay" }))
        )
        assert.isAbove(first.conversation.summaries?.length ?? 0, 1)
        assert.deepStrictEqual(again.conversation, first.conversation)
      })))
  })

  it.effect("needs what its effect needs", () =>
    Effect.gen(function*() {
      class Notes extends Context.Service<Notes, string>()("test/Notes") {}
      const guide = guideOf(ContextWindow.summarize(() => Notes), 2)
      const state = yield* Agent.runMultiTurn(guide, ["a", "b"]).pipe(Effect.provideService(Notes, "as noted"))
      assert.strictEqual(state.conversation.summaries?.[0]?.text, "as noted")
    }).pipe(Effect.provide(echo)))
})
