/** What begins a prompt, sent through Anthropic's client to a mock that refuses what Anthropic refuses. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import { Prompt, ResponseIdTracker, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, ContextWindow, Conversation, Group, Handoff, HandoffPolicy, Mode, Session } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { ConversationRules, MockModel, MockProvider, MockResponse } from "troupe/testing"

const opening = "[The conversation begins here.]"

const Look = Tool.make("look", { success: Schema.String })
const Tools = Toolkit.make(Look)
const handlers = Tools.toLayer({ look: () => Effect.succeed("seen") })

/** Runs a program with Anthropic's client, and gives the roles and first texts of what each request sent. */
const sent = <E, R>(program: Effect.Effect<unknown, E, R>, answers: ReadonlyArray<MockResponse.Input> = []) =>
  Effect.gen(function*() {
    const mock = MockProvider.make({
      handler: answers.length === 0 ? MockModel.repeat("Yes.") : MockModel.queue(...answers),
      strict: true
    })
    const model = createAnthropic({ apiKey: "none", fetch: mock.fetch })("claude-sonnet-5")
    yield* Effect.provide(program, Layer.merge(AiSdkModel.layer(model), handlers))
    const bodies = yield* mock.requests("anthropic-messages")
    return bodies.map((body) =>
      body.messages.map(({ content, role }) => {
        const first = typeof content === "string" ? content : content[0]
        return `${role}: ${typeof first === "string" ? first : first?.type === "text" ? first.text : first?.type}`
      })
    )
  })

const clerk = Agent.make("clerk", { toolkit: Tools })

const greeting = Conversation.fromPrompt(Prompt.make([
  { role: "assistant", content: "Welcome! How can I help?" },
  { role: "user", content: "My invoice is wrong." },
  { role: "assistant", content: "Which one?" }
])).conversation

const greeted = AgentState.make("clerk", { conversation: greeting })

describe("What begins a prompt", () => {
  it.effect("is an opening where a bot greets first, and the conversation keeps what was said", () =>
    Effect.gen(function*() {
      const asked = yield* sent(
        Effect.gen(function*() {
          const state = yield* Agent.continueConversation(clerk, greeted, "The last.")
          assert.deepStrictEqual(state.conversation.turns.slice(0, 3), greeting.turns)
          yield* Agent.continueConversation(clerk, state, "Thanks.")
        })
      )
      const first = [`user: ${opening}`, "assistant: Welcome! How can I help?", "user: My invoice is wrong."]
      assert.deepStrictEqual(asked, [
        [...first, "assistant: Which one?", "user: The last."],
        [...first, "assistant: Which one?", "user: The last.", "assistant: Yes.", "user: Thanks."]
      ])
    }))

  it.effect("is an opening where a tool was invoked before anything was said", () =>
    Effect.gen(function*() {
      const asked = yield* sent(Effect.gen(function*() {
        const session = yield* Session.make(clerk)
        yield* session.invoke(Look, {})
        yield* session.resume
        yield* session.call("And?")
      }))
      const invoked = [`user: ${opening}`, "assistant: tool_use", "user: tool_result"]
      assert.deepStrictEqual(asked.map((messages) => messages.slice(0, 3)), asked.map(() => invoked))
    }))

  it.effect("is what a mode says that shows nothing else, entered by a tool that takes nothing", () =>
    Effect.gen(function*() {
      const blank = Mode.make("blank", {
        isolation: "thread",
        invokable: true,
        enter: () => Mode.updateView(() => Conversation.empty)
      })
      const asked = yield* sent(Agent.run(Agent.make("clerk", { modes: [blank] }), "Hello"), [
        MockResponse.toolCall("enter_blank_mode", {}),
        "Yes."
      ])
      assert.deepStrictEqual(asked, [["user: Hello"], [`user: You are now in mode "blank".`]])
    }))

  it.effect("is an opening where a mode's view has cut the question", () =>
    Effect.gen(function*() {
      const short = Mode.make("short", {
        isolation: "thread",
        enter: () => Mode.updateView((conversation) => Conversation.filter(conversation, ({ _tag }) => _tag !== "User"))
      })
      const cut = Mode.make("cut", {
        isolation: "thread",
        enter: () => Mode.updateView((conversation) => Conversation.truncate(conversation, 1))
      })
      const asked = yield* sent(Effect.gen(function*() {
        for (const mode of [short, cut]) {
          const session = yield* Session.make(Agent.make("clerk", { modes: [mode] }))
          yield* session.call("Hello")
          yield* session.enterMode(mode.name)
          yield* session.call("And?")
        }
      }))
      const inMode = [`user: ${opening}`, "assistant: Yes.", "user: And?"]
      assert.deepStrictEqual(asked, [["user: Hello"], inMode, ["user: Hello"], inMode])
    }))

  it.effect("is an opening where a handoff's transform has lost the user", () =>
    Effect.gen(function*() {
      const lost = Group.make({ triage: Agent.make("triage"), clerk }, {
        start: "triage",
        policy: HandoffPolicy.compose(
          HandoffPolicy.explicit("clerk"),
          HandoffPolicy.mapConversation((conversation) =>
            Conversation.filter(conversation, ({ _tag }) => _tag === "Assistant")
          )
        )
      })
      const asked = yield* sent(Agent.run(lost, "Hello"), [MockResponse.toolCall("handoff_to_clerk", {}), "Yes."])
      assert.deepStrictEqual(asked, [
        ["user: Hello"],
        [`user: ${opening}`, "assistant: tool_use", "user: tool_result"]
      ])
    }))

  it.effect("is an opening before what a context window sends, with a system message and without", () =>
    Effect.gen(function*() {
      const contextWindow = ContextWindow.make({
        strategy: (turns) => turns.slice(0, 1).map(({ turn }) => turn)
      })
      const asked = yield* sent(Effect.gen(function*() {
        yield* Agent.continueConversation(Agent.make("clerk", { contextWindow }), greeted, "The last.")
        const told = Agent.make("clerk", { contextWindow, instructions: "Be brief." })
        yield* Agent.continueConversation(told, greeted, "The last.")
      }))
      const within = [`user: ${opening}`, "assistant: Welcome! How can I help?", "user: The last."]
      assert.deepStrictEqual(asked, [within, within])
    }))

  it.effect("is what the user says where a user does", () =>
    Effect.gen(function*() {
      const asked = yield* sent(Agent.runMultiTurn(clerk, ["Hello", "Again"]))
      assert.deepStrictEqual(asked, [["user: Hello"], ["user: Hello", "assistant: Yes.", "user: Again"]])
    }))

  it.effect("is no text without words, which isn't sent anywhere", () =>
    Effect.gen(function*() {
      const conversation = Conversation.make([
        Conversation.user([Conversation.text(" ")]),
        Conversation.assistant("clerk", [
          Conversation.text("\n\n"),
          Conversation.text("Hello!"),
          Conversation.text("")
        ]),
        Conversation.assistant("clerk", " "),
        { _tag: "Summary", text: "", of: 1 },
        { _tag: "Feedback", text: "\n" }
      ])
      const asked = yield* sent(
        Agent.continueConversation(clerk, AgentState.make("clerk", { conversation }), [
          Conversation.text(""),
          Conversation.text("Hello", { anthropic: { cacheControl: { type: "ephemeral" } } }),
          Conversation.text(" ", { anthropic: { cacheControl: { type: "ephemeral" } } })
        ])
      )
      assert.deepStrictEqual(asked, [[`user: ${opening}`, "assistant: Hello!", "user: Hello"]])
    }))

  it.effect("is the same message in each request of a run, and never that of another conversation", () =>
    Effect.gen(function*() {
      const look = MockResponse.toolCall("look", {})
      const run = Effect.gen(function*() {
        yield* Agent.continueConversation(clerk, greeted, "The last.")
        return (yield* MockModel.calls).map(({ request }) => request.messages)
      }).pipe(Effect.provide(Layer.merge(MockModel.layer(MockModel.queue(look, look, "Yes.")), handlers)))
      const one = yield* run
      const other = yield* run
      assert.strictEqual(one.length, 3)
      for (const messages of one) assert.strictEqual(messages[0], one[0]![0])
      assert.strictEqual(one[0]![0]!.role, "user")
      assert.deepStrictEqual(one[0]![0], other[0]![0])
      assert.notStrictEqual(one[0]![0], other[0]![0])
      // A record of what a provider was sent knows messages by their identity.
      const tracker = yield* ResponseIdTracker.make
      tracker.markParts(one[0]!, "resp_1")
      assert.isTrue(tracker.prepareUnsafe(Prompt.fromMessages(one[1]!))._tag === "Some")
      tracker.markParts(one[0]!, "resp_1")
      assert.isTrue(tracker.prepareUnsafe(Prompt.fromMessages(other[0]!))._tag === "None")
    }))

  it.effect("is told by Conversation.toPrompt as by a request", () =>
    Effect.gen(function*() {
      yield* Agent.continueConversation(clerk, greeted, "The last.")
      const [call] = yield* MockModel.calls
      const prompt = Result.getOrThrow(Conversation.toPrompt(Conversation.appendUser(greeting, "The last.")))
      assert.deepStrictEqual(call?.request.messages, prompt.content)
      assert.deepStrictEqual(ConversationRules.check(prompt, { requireUserPresent: true }), [])
    }).pipe(Effect.provide(Layer.merge(MockModel.layer(MockModel.repeat("Yes.")), handlers))))
})

describe("A handoff", () => {
  it.effect("to an agent that reads nothing but what a model answered begins with an opening", () =>
    Effect.gen(function*() {
      const history = (conversation: Conversation.Conversation) =>
        Effect.succeed({ turns: Conversation.lastTurns(conversation, 1) })
      const triage = Agent.make("triage", { handoffs: [Handoff.to(clerk, { history })] })
      const asked = yield* sent(Agent.run(triage, "Hello"), [MockResponse.toolCall("handoff_to_clerk", {}), "Yes."])
      assert.deepStrictEqual(asked[1], [`user: ${opening}`, "assistant: tool_use", "user: tool_result"])
    }))
})
