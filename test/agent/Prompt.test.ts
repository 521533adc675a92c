import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { type Prompt, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { agentOf, environment, Script } from "./scripts.ts"

const Tools = Toolkit.make(Tool.make("look", { success: Schema.String }))
const handlers = Tools.toLayer({ look: () => Effect.succeed("seen") })
const look = MockResponse.toolCall("look", {})

const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))

class Language extends Context.Service<Language, string>()("test/Language") {}

/** The system message of each request. */
const systems = Effect.map(MockModel.calls, (calls) => calls.map(({ request }) => request.system))

const segment = (place: "prepend" | "append", text: string) => ({ place, text })
const section = (name: string, text: string) => ({ place: "section", name, text }) as const

describe("The system message", () => {
  it.effect("is composed of what stands before, the instructions, the state's own, sections, and what comes last", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", { instructions: "Be brief." })
      const made = AgentState.make("clerk", { systemMessage: "The customer is Ada." })
      const state = {
        ...made,
        prompt: [
          segment("append", "Cite."),
          section("one", "One."),
          segment("prepend", "You are a clerk."),
          section("two", "Two."),
          segment("append", "Stop.")
        ]
      }
      yield* Agent.continueConversation(agent, state, "Hello")
      assert.deepStrictEqual(yield* systems, [
        "You are a clerk.\n\nBe brief.\n\nThe customer is Ada.\n\nOne.\n\nTwo.\n\nCite.\n\nStop."
      ])
    }).pipe(Effect.provide(model("Hi"))))

  it.effect("is left out where there is nothing to say", () =>
    Effect.gen(function*() {
      yield* Agent.run(Agent.make("clerk"), "Hello")
      yield* Agent.run(Agent.make("clerk", { instructions: "" }), "Hello", { systemMessage: "" })
      const calls = yield* MockModel.calls
      assert.deepStrictEqual(calls.map(({ request }) => request.messages.map(({ role }) => role)), [["user"], ["user"]])
    }).pipe(Effect.provide(model("Hi", "Hi"))))

  it.effect("follows the state from step to step, stands first and once, and never gets into the conversation", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", {
        instructions: (state) => `Step ${state.steps}, ${Conversation.count(state.conversation)} turns.`,
        toolkit: Tools
      })
      const first = yield* Agent.run(agent, "Hello", { systemMessage: "Be kind." })
      const state = yield* Agent.continueConversation(agent, first, "Again")
      assert.deepStrictEqual(yield* systems, [
        "Step 0, 1 turns.\n\nBe kind.",
        "Step 1, 2 turns.\n\nBe kind.",
        "Step 2, 4 turns.\n\nBe kind."
      ])
      for (const { request } of yield* MockModel.calls) {
        assert.deepStrictEqual(
          request.messages.flatMap((message, index) => message.role === "system" ? [index] : []),
          [0]
        )
      }
      assert.isFalse(JSON.stringify(state.conversation).includes("Be kind."))
      assert.isFalse(JSON.stringify(AgentState.toJson(state)).includes("turns."))
    }).pipe(Effect.provide(handlers), Effect.provide(model(look, "Hi", "Again."))))

  it.effect("may need services, which it has at each step", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", {
        instructions: (state) =>
          Effect.map(Language, (language) => `Speak ${language} in step ${state.run.iteration}.`),
        toolkit: Tools
      })
      yield* Agent.run(agent, "Hello").pipe(Effect.provideService(Language, "French"))
      assert.deepStrictEqual(yield* systems, ["Speak French in step 0.", "Speak French in step 1."])
    }).pipe(Effect.provide(handlers), Effect.provide(model(look, "Salut"))))

  it.effect("fails the run with the instructions' own error", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", {
        instructions: (state) => state.steps === 0 ? Effect.succeed("Look.") : Effect.fail("no words" as const),
        toolkit: Tools
      })
      assert.strictEqual(yield* Effect.flip(Agent.run(agent, "Hello")), "no words")
      const state = yield* Agent.settle(agent, "Hello")
      assert.deepStrictEqual(
        state.status._tag === "Failed" && [state.status.error.message, state.status.error.step],
        ["no words", 1]
      )
      assert.deepStrictEqual([state.steps, Conversation.count(state.conversation)], [1, 2])
    }).pipe(Effect.provide(handlers), Effect.provide(model(look, look))))
})

const unsystematic = (messages: ReadonlyArray<Prompt.Message>) => messages.filter(({ role }) => role !== "system")

describe("The prompt", () => {
  it.effect.prop(
    "of each step begins with the messages of the step before, the same ones",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
        if (script.agent.break === "crash") return
        const first = yield* Agent.settle(agentOf(script), "Hello")
        if (!Conversation.hasOpenCalls(first.conversation)) {
          yield* Effect.exit(Agent.continueConversation(agentOf(script), first, "Again"))
        }
        let before: ReadonlyArray<Prompt.Message> = []
        let run = 0
        for (const { request } of yield* MockModel.calls) {
          if (request.agent !== "main") continue
          const messages = unsystematic(request.messages)
          assert.isAtLeast(messages.length, before.length)
          assert.deepStrictEqual(messages.slice(0, before.length), before)
          if (request.iteration > 0 && run > 0) {
            before.forEach((message, index) => assert.strictEqual(messages[index], message))
          }
          before = messages
          run = request.iteration === 0 ? 1 : run
        }
      }).pipe(Effect.provide(environment(script)))
  )

  it.effect.prop(
    "of a state that went on from JSON is that of the run that never stopped",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
        if (script.agent.break === "crash") return
        const state = yield* Agent.settle(agentOf(script), "Hello")
        if (Conversation.hasOpenCalls(state.conversation)) return
        const read = yield* Effect.fromResult(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))
        const asked = (from: AgentState.AgentState) =>
          Effect.gen(function*() {
            yield* Effect.exit(Agent.continueConversation(agentOf(script), from, "Again"))
            return (yield* MockModel.calls)[0]?.request.messages
          }).pipe(Effect.provide(environment(script)))
        assert.deepStrictEqual(yield* asked(read), yield* asked(state))
      }).pipe(Effect.provide(environment(script)))
  )
})
