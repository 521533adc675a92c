/**
 * What holds of any window over any conversation: what is sent is a prompt that providers take and has room, or the run fails typed,
 * and the state has lost nothing.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Result, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { Agent, type AgentEvent, AgentState, ContextWindow, Conversation } from "troupe"
import { ConversationArbitrary, ConversationRules, Laws, MockModel } from "troupe/testing"
import { below } from "../domain/arbitraries.ts"
import { deepFreeze, problems } from "../domain/legal.ts"
import { times } from "../matrix.ts"
import { byCharacter } from "./windows.ts"

const wild: ContextWindow.Chooser = (turns, { count }) =>
  turns.flatMap(({ index, stays, turn }) => {
    if (index % 3 === 0) return []
    if (index % 3 === 1) return stays === undefined && count(turn) >= 0 ? [Conversation.user("(…)"), turn] : [turn]
    return [turn, turn, Conversation.assistant("a", [Conversation.call("call-1", "go", {})])]
  }).toReversed()

const summarize = ({ turns }: Conversation.Conversation) => Effect.succeed(`${turns.length} turns`)

const strategies = {
  oldestFirst: ContextWindow.oldestFirst,
  middleOut: ContextWindow.middleOut,
  recentTurns: ContextWindow.recentTurns(2),
  dropToolResults: ContextWindow.dropToolResults,
  summarize: ContextWindow.summarize(summarize),
  sequence: ContextWindow.sequence(ContextWindow.dropToolResults, ContextWindow.summarize(summarize)),
  nothing: () => [],
  wild
} as const

const Window = Schema.Struct({
  strategy: Schema.Literals(Object.keys(strategies) as Array<keyof typeof strategies>),
  maxTokens: Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 2500 })),
  maxTurns: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 8 })),
  limits: Schema.Literals(["tokens", "turns", "both"]),
  target: Schema.Literals([1, 0.5, 0.2])
})
type Window = typeof Window.Type

const windowOf = ({ limits, maxTokens, maxTurns, strategy, target }: Window) =>
  ContextWindow.make({
    ...(limits === "turns" ? undefined : { maxTokens }),
    ...(limits === "tokens" ? undefined : { maxTurns }),
    count: byCharacter,
    target,
    strategy: strategies[strategy]
  })

/** Counts a prompt's characters by hand, as what counts in a window does: text, calls, results, 1,000 for a file. */
const charactersIn = (messages: ReadonlyArray<Prompt.Message>): number => {
  const all = messages.flatMap(({ content }): ReadonlyArray<Prompt.Part> => typeof content === "string" ? [] : content)
  return all.reduce((sum, part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return sum + part.text.length
      case "file":
        return sum + 1_000
      case "tool-call":
        return sum + part.name.length + JSON.stringify(part.params).length
      case "tool-result":
        return part.modelOutput === undefined
          ? sum + JSON.stringify(part.result).length
          : part.modelOutput.reduce((all, each) => all + (each.type === "file" ? 1_000 : each.text.length), sum)
      default:
        return sum
    }
  }, 0)
}

/** Runs an agent with a window on a state, and gives what was sent, what was told, and what came of it. */
const observe = Effect.fnUntraced(function*(window: Window, state: AgentState.AgentState) {
  const agent = Agent.make("triage", { contextWindow: windowOf(window) })
  const events: Array<AgentEvent.AgentEvent> = []
  const result = yield* Agent.resume(agent, state).pipe(
    Agent.observe((event) => Effect.sync(() => void events.push(event))),
    Effect.result
  )
  const calls = yield* MockModel.calls
  return { result, events, requests: calls.map(({ request }) => request.messages) }
})

const history = ConversationArbitrary.conversation({ minTurns: 3, maxTurns: 10, open: false })

const pins = Arbitrary.array(below(9), { maxLength: 2 })

/** A state whose model speaks next: a user has spoken last, and some turns are pinned. */
const asked = (conversation: Conversation.Conversation, pinned: ReadonlyArray<number>): AgentState.AgentState => {
  const bare = conversation.turns.reduce((all, _, at) => Conversation.unpin(all, at), conversation)
  const marked = pinned.reduce((all, at) => Conversation.pin(all, at), Conversation.appendUser(bare, "And now?"))
  return deepFreeze(AgentState.make("triage", { conversation: marked }))
}

const echo = Layer.suspend(() => MockModel.layer(MockModel.repeat("So.")))

describe("Any context window", () => {
  it.effect.prop(
    "sends what providers take and has room, or fails typed, and the state loses nothing",
    [Window, history, pins],
    ([window, conversation, pinned]) =>
      Effect.gen(function*() {
        const before = asked(conversation, pinned)
        const { events, requests, result } = yield* observe(window, before)
        const last = Result.isSuccess(result)
          ? result.success
          : result.failure._tag === "AgentError"
          ? result.failure.state
          : assert.fail(result.failure.message)
        assert.deepStrictEqual(
          last.conversation.turns.slice(0, before.conversation.turns.length),
          before.conversation.turns
        )
        assert.deepStrictEqual(problems(last.conversation), [])
        assert.deepStrictEqual(Laws.imbalances(events), [])
        // As texts: JSON has no -0.
        const stored = JSON.stringify(AgentState.toJson(last))
        assert.strictEqual(
          JSON.stringify(AgentState.toJson(Result.getOrThrow(AgentState.fromJson(stored)))),
          stored
        )
        const [sent] = requests
        if (Result.isFailure(result)) {
          assert.strictEqual(
            result.failure._tag === "AgentError" && result.failure.reason._tag,
            "ContextWindowExceeded"
          )
          assert.isUndefined(sent)
          return
        }
        assert.isDefined(sent)
        assert.strictEqual(ConversationRules.format(ConversationRules.check(sent!)), "")
        if (window.limits !== "turns") assert.isAtMost(charactersIn(sent!), window.maxTokens)
        const started = events.find((event) => event._tag === "ModelCallStarted")
        const told = started?._tag === "ModelCallStarted" ? started.window : undefined
        assert.strictEqual(told!.turns + told!.left, before.conversation.turns.length)
        if (window.limits !== "tokens") assert.isAtMost(told!.turns, window.maxTurns)
        const text = JSON.stringify(sent)
        assert.include(text, "And now?")
        for (const at of pinned) {
          const turn = before.conversation.turns[at]
          if (turn === undefined) continue
          const calls = turn._tag === "Assistant" ? Conversation.callsOf(turn) : []
          for (const { id } of calls) assert.include(text, JSON.stringify(id))
        }
      }).pipe(Effect.provide(Layer.fresh(echo))),
    { arbitrary: { runs: times(80, 30) } }
  )

  it.effect.prop(
    "summarizes twice as it does once where nothing was added",
    [Window, history, pins],
    ([window, conversation, pinned]) =>
      Effect.gen(function*() {
        const before = asked(conversation, pinned)
        const once = yield* observe({ ...window, strategy: "summarize" }, before)
        const summarized = once.events.reduce(
          (state, event) => event._tag === "ConversationSummarized" ? AgentState.reduce(state, event) : state,
          before
        )
        const twice = yield* observe({ ...window, strategy: "summarize" }, summarized)
        assert.notInclude(twice.events.map(({ _tag }) => _tag), "ConversationSummarized")
        assert.deepStrictEqual(twice.requests.slice(once.requests.length), once.requests)
        assert.deepStrictEqual(Result.isSuccess(twice.result), Result.isSuccess(once.result))
      }).pipe(Effect.provide(Layer.fresh(echo))),
    { arbitrary: { runs: times(40, 16) } }
  )
})

describe("An agent with a context window", () => {
  const laws = (strategy: keyof typeof strategies) =>
    Laws.agent(
      Agent.make("triage", {
        contextWindow: ContextWindow.make({ maxTurns: 4, strategy: strategies[strategy] })
      }),
      { runs: 6 }
    )

  it.effect("keeps the laws of runs", () => laws("oldestFirst"))

  it.effect("keeps them while it summarizes", () => laws("summarize"))
})
