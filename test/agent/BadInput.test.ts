import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Result, Schema, Stream } from "effect"
import { type Prompt, Tool, Toolkit } from "effect/ai"
import { Agent, AgentError, type AgentEvent, AgentPicker, AgentState, Conversation, Group, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { problems } from "../domain/legal.ts"

const Tools = Toolkit.make(
  Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }), success: Schema.String })
)
const handlers = Tools.toLayer({ look: ({ at }) => Effect.succeed(`seen ${at}`) })
const agent = Agent.make("looker", { toolkit: Tools, maxInputLength: 20 })
const look = (at: string, id?: string) => MockResponse.toolCall("look", { at }, id === undefined ? undefined : { id })

/** Everything in a prompt that a strict provider refuses. */
const refusals = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> => {
  const found: Array<string> = []
  const ids = new Set<string>()
  messages.forEach((message, index) => {
    if (message.role === "system" && index > 0) found.push(`message ${index} is a system message`)
    if (message.role !== "system" && message.content.length === 0) found.push(`message ${index} is empty`)
    if (message.role !== "assistant") return
    const calls = message.content.flatMap((part) => part.type === "tool-call" ? [part.id] : [])
    for (const id of calls) {
      if (id === "") found.push(`message ${index} has a call without an id`)
      if (ids.has(id)) found.push(`message ${index} repeats the id "${id}"`)
      ids.add(id)
    }
    for (const part of message.content) {
      if (part.type === "text" && part.text === "") found.push(`message ${index} has an empty text`)
    }
    const next = messages[index + 1]
    const results = next?.role === "tool"
      ? next.content.flatMap((part) => part.type === "tool-result" ? [part.id] : [])
      : []
    if (calls.join() !== results.join()) {
      found.push(`message ${index} calls ${calls.join()}, answered ${results.join()}`)
    }
  })
  return found
}

/** Runs an agent over two inputs; the second must reach the model by a prompt that a strict provider takes. */
const converse = (...responses: ReadonlyArray<MockResponse.Input>) =>
  Effect.gen(function*() {
    const first = yield* Agent.run(agent, "Hello")
    assert.deepStrictEqual(problems(first.conversation), [])
    const second = yield* Agent.continueConversation(agent, first, "Again")
    const calls = yield* MockModel.calls
    assert.deepStrictEqual(calls.flatMap(({ request }) => refusals(request.messages)), [])
    assert.strictEqual(calls[calls.length - 1]?.request.lastUserText, "Again")
    assert.deepStrictEqual([second.status._tag, AgentState.text(second)], ["Complete", "At last."])
    return { first, second, calls }
  }).pipe(Effect.provide(handlers), Effect.provide(MockModel.layer(MockModel.queue(...responses, "At last."))))

const rejected = (input: Agent.Input, state = AgentState.make("looker")) =>
  Agent.continueConversation(agent, state, input).pipe(
    Effect.flip,
    Effect.tap(() => Effect.map(MockModel.calls, (calls) => assert.strictEqual(calls.length, 0))),
    Effect.provide(handlers),
    Effect.provide(MockModel.layer(MockModel.queue()))
  )

describe("An input", () => {
  it.effect("that says nothing is refused before a model sees it", () =>
    Effect.gen(function*() {
      for (const input of ["", " \n\t ", [], [Conversation.text(""), Conversation.text("  ")]]) {
        const { reason, state } = yield* rejected(input)
        assert.isTrue(reason._tag === "InputRejected" && reason.issue === "Empty")
        assert.isTrue(state.status._tag === "Failed" && state.status.error.tag === "InputRejected")
        assert.strictEqual(Conversation.count(state.conversation), 0)
      }
    }))

  it.effect("over the limit is refused, and one at the limit isn't", () =>
    Effect.gen(function*() {
      const { reason } = yield* rejected("x".repeat(21))
      assert.deepStrictEqual(
        reason,
        new AgentError.InputRejected({ agent: "looker", issue: "TooLong", length: 21, limit: 20 })
      )
      const parts = [Conversation.text("x".repeat(11)), Conversation.text("x".repeat(11))]
      assert.strictEqual((yield* rejected(parts)).reason._tag, "InputRejected")
      const taken = yield* Agent.run(agent, "x".repeat(20)).pipe(
        Effect.provide(handlers),
        Effect.provide(MockModel.layer(MockModel.queue("Fine.")))
      )
      assert.strictEqual(AgentState.text(taken), "Fine.")
    }))

  it.effect("may be a file without a word", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(agent, [Conversation.file("image/png", new Uint8Array([1, 2]))])
      assert.strictEqual(AgentState.text(state), "A picture.")
    }).pipe(Effect.provide(handlers), Effect.provide(MockModel.layer(MockModel.queue("A picture.")))))

  it.effect("that is refused takes nothing from its conversation, which goes on", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(agent, "Hello")
      const error = yield* rejected("", state)
      assert.deepStrictEqual(error.state.conversation, state.conversation)
      assert.deepStrictEqual(AgentState.reopen(error.state).status, state.status)
      const last = yield* Agent.continueConversation(agent, error.state, "Again")
      assert.deepStrictEqual(last.conversation.turns.map(Conversation.textOf), ["Hello", "Hi", "Again", "Well."])
    }).pipe(Effect.provide(handlers), Effect.provide(MockModel.layer(MockModel.queue("Hi", "Well.")))))
})

describe("A model that answers", () => {
  it.effect("with nothing ends the run without a text", () =>
    Effect.gen(function*() {
      for (const nothing of ["", MockResponse.all(), MockResponse.reasoning("")]) {
        const { first } = yield* converse(nothing)
        assert.deepStrictEqual([first.status._tag, AgentState.text(first), first.steps], ["Complete", "", 1])
      }
    }))

  it.effect("with reasoning alone ends the run and keeps what it thought", () =>
    Effect.gen(function*() {
      const { calls, first } = yield* converse(MockResponse.reasoning("Well, well."))
      assert.deepStrictEqual([first.status._tag, AgentState.text(first)], ["Complete", ""])
      assert.deepStrictEqual(first.conversation.turns[1], {
        _tag: "Assistant",
        agent: "looker",
        parts: [{ _tag: "Reasoning", text: "Well, well." }],
        usage: {},
        finishReason: "stop"
      })
      assert.deepStrictEqual(calls[1]?.request.messages.map(({ role }) => role), ["user", "assistant", "user"])
    }))

  it.effect("with a text that was cut short keeps it, and says why it ended", () =>
    Effect.gen(function*() {
      for (const reason of ["length", "content-filter"] as const) {
        const { first } = yield* converse(MockResponse.withFinishReason("It is a", reason))
        const turn = Conversation.lastAssistant(first.conversation)
        assert.deepStrictEqual([first.status._tag, turn?.finishReason, AgentState.text(first)], [
          "Complete",
          reason,
          "It is a"
        ])
      }
    }))

  it.effect("with calls that were cut short is told that they weren't run, and asked again", () =>
    Effect.gen(function*() {
      const { first } = yield* converse(MockResponse.withFinishReason(look("home"), "length"), "So be it.")
      const [turn] = Conversation.byAgent(first.conversation, "looker")
      const [call] = turn === undefined ? [] : Conversation.callsOf(turn)
      assert.isTrue(call?.state._tag === "Settled" && call.state.outcome === "Interrupted")
      assert.strictEqual(AgentState.text(first), "So be it.")
    }))

  it.effect("with a pause is asked to go on", () =>
    Effect.gen(function*() {
      const { first } = yield* converse(MockResponse.withFinishReason("Searching", "pause"), "Found.")
      assert.deepStrictEqual([first.steps, AgentState.text(first)], [2, "Found."])
    }))

  it.effect("with a call id that it used before gets it under another one", () =>
    Effect.gen(function*() {
      const { first } = yield* converse(look("home", "a"), look("away", "a"), "Both.")
      const calls = Conversation.byAgent(first.conversation, "looker").flatMap(Conversation.callsOf)
      assert.deepStrictEqual(
        calls.map(({ id, state }) => [id, state._tag === "Settled" && state.result]),
        [["a", "seen home"], ["a-2", "seen away"]]
      )
    }))

  it.effect("with two calls of one id, or of none, has each answered by its own result", () =>
    Effect.gen(function*() {
      for (const [id, first, second] of [["a", "a", "a-2"], ["", "call", "call-2"]] as const) {
        const { first: state } = yield* converse(MockResponse.all(look("home", id), look("away", id)), "Both.")
        const calls = Conversation.byAgent(state.conversation, "looker").flatMap(Conversation.callsOf)
        assert.deepStrictEqual(
          calls.map(({ id, state }) => [id, state._tag === "Settled" && state.result]),
          [[first, "seen home"], [second, "seen away"]]
        )
      }
    }))

  it.effect("with an id that another call's new one would have had keeps all apart", () =>
    Effect.gen(function*() {
      const responses = [look("1", "a"), look("2", "a-2"), look("3", "a"), look("4", "a-2")]
      const { first } = yield* converse(MockResponse.all(...responses), ...responses, "All.")
      const calls = Conversation.byAgent(first.conversation, "looker").flatMap(Conversation.callsOf)
      assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 8)
      assert.deepStrictEqual(
        calls.map(({ state }) => state._tag === "Settled" && state.result),
        [1, 2, 3, 4, 1, 2, 3, 4].map((at) => `seen ${at}`)
      )
    }))
})

/** Parts that TypeScript refuses, with what is said of each. */
const noParts: ReadonlyArray<readonly [input: unknown, issue: RegExp]> = [
  [
    [{ type: "text", text: "Hi" }],
    /^Part 0 of an input is neither a text nor a file, but an object: `Conversation.text` /
  ],
  [[Conversation.text("Hi"), "there"], /^Part 1 of an input is neither a text nor a file, but a string: /],
  [[undefined], /^Part 0 of an input is neither a text nor a file, but undefined: /],
  [[{ _tag: "Text", text: 5 }], /^Part 0 /],
  [[{ _tag: "Text" }], /^Part 0 /],
  [[{ _tag: "File", mediaType: "image/png" }], /^Part 0 /],
  [[{ _tag: "File", mediaType: "image/png", data: 5 }], /^Part 0 /],
  [[{ _tag: "File", data: "AAAA" }], /^Part 0 /],
  [[Conversation.assistant("a", "Hi")], /^Part 0 /],
  [Promise.resolve("Hi"), /Promise/]
]

describe("An input that is no text and no list of texts and files", () => {
  it.effect.each(noParts)("is named, and not sent: %o", ([input, issue]) =>
    Effect.gen(function*() {
      const untyped = input as Agent.Input
      const session = yield* Session.make(agent)
      for (const run of [Agent.run(agent, untyped), session.call(untyped)]) {
        const defect = Cause.squash(yield* Effect.flip(Effect.sandbox(run)))
        assert.isTrue(defect instanceof TypeError && issue.test(defect.message), String(defect))
      }
      assert.throws(() => AgentState.ask(AgentState.make("looker"), untyped, 0), issue)
      assert.throws(() => Conversation.user(untyped), issue)
      assert.deepStrictEqual(yield* MockModel.calls, [])
    }).pipe(Effect.scoped, Effect.provide([handlers, MockModel.layer(MockModel.queue("Hello."))])))
})

describe("A run that fails as soon as it has started", () => {
  const Doors = Toolkit.make(Tool.make("open", { success: Schema.String, needsApproval: true }))
  const keeper = Agent.make("keeper", { toolkit: Doors, maxInputLength: 10 })
  const layer = Layer.mergeAll(
    Doors.toLayer({ open: () => Effect.succeed("opened") }),
    MockModel.layer(
      MockModel.make(({ lastUserText }) => lastUserText === "Open." ? MockResponse.toolCall("open", {}) : "Hi.")
    )
  )
  const before = (input: string | undefined) =>
    input === undefined ? Effect.succeed(AgentState.make("keeper")) : Agent.run(keeper, input)

  const seen: Array<AgentEvent.AgentEvent> = []

  it.effect("is failed from there on, whatever the status was, so it fails too if it is continued from there", () =>
    Effect.gen(function*() {
      for (const first of [undefined, "Hello", "Open."]) {
        const state = yield* before(first)
        for (const input of [" ", "a long input"]) {
          const events = yield* Agent.stream(keeper, input, { state }).pipe(
            Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
            Effect.exit,
            Effect.map(() => seen.splice(0))
          )
          assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["RunStarted", "RunFailed"])
          const [started, failed] = events.map((_, index) =>
            events.slice(0, index + 1).reduce(AgentState.reduce, state)
          )
          assert.deepStrictEqual(started!.status, failed!.status)
          assert.include(
            started!.status._tag === "Failed" && started!.status.error.message,
            input === " " ? "an empty input" : "an input of 12 characters"
          )
          assert.deepStrictEqual(started!.conversation, state.conversation)
          const again = yield* Agent.settle(keeper, Result.getOrThrow(AgentState.fromJson(AgentState.toJson(started!))))
          assert.deepStrictEqual([again.status, again.conversation], [failed!.status, failed!.conversation])
          // As before, a failed run can be reopened: then the input was never there.
          assert.strictEqual(AgentState.reopen(started!).status._tag, state.status._tag)
        }
      }
    }).pipe(Effect.provide(layer)))

  it.effect("is so if no agent could be picked, and has its input", () =>
    Effect.gen(function*() {
      const desk = Group.make({ a: Agent.make("a"), b: Agent.make("b") }, {
        start: AgentPicker.make(() => Effect.fail("lost"))
      })
      const exit = yield* Agent.stream(desk, "Hello").pipe(
        Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
        Effect.exit
      )
      const started = AgentState.reduce(AgentState.make("a"), seen.splice(0)[0]!)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual([started.status._tag, started.conversation.turns.length], ["Failed", 1])
      assert.deepStrictEqual(yield* Agent.settle(desk, started), started)
      // Whoever reopens it lets the agent in control answer.
      const done = yield* Agent.resume(desk, AgentState.reopen(started))
      assert.deepStrictEqual([done.agent, AgentState.text(done)], ["a", "Hi."])
    }).pipe(Effect.provide(layer)))
})
