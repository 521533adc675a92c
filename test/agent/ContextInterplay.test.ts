import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  Agent,
  type AgentEvent,
  AgentState,
  ContextWindow,
  Conversation,
  Group,
  Guardrail,
  Handoff,
  HandoffPolicy,
  Mode,
  Session,
  SystemPrompt
} from "troupe"
import { Cassette, ConversationRules, MockModel, MockResponse } from "troupe/testing"
import { lastSent, lastSystem, makeWatch, sent } from "./windows.ts"

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `re ${lastUserText}`))

const texts = ({ turns }: Conversation.Conversation) => turns.map(Conversation.textOf)

const summarizing = (maxTurns: number) =>
  ContextWindow.make({
    maxTurns,
    strategy: ContextWindow.summarize(({ turns }) => Effect.succeed(turns.map(Conversation.textOf).join(", ")))
  })

const through = (state: AgentState.AgentState) =>
  Effect.fromResult(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

describe("A context window", () => {
  describe("and handoffs", () => {
    const handing = MockModel.byAgent({
      triage: MockModel.queue(
        "re a",
        "re b",
        MockResponse.toolCall("handoff_to_refunds", { reason: "a broken lamp", context: { order: 7 } }, { id: "h" }),
        "again"
      ),
      refunds: MockModel.make(({ lastUserText }) => `refunds: ${lastUserText}`)
    })

    it.effect("is the target's own, or none", () =>
      Effect.gen(function*() {
        const run = (contextWindow: ContextWindow.ContextWindow | undefined) =>
          Effect.gen(function*() {
            const refunds = Agent.make("refunds", { contextWindow })
            const triage = Agent.make("triage", {
              handoffs: [Handoff.to(refunds)],
              contextWindow: ContextWindow.make({ maxTurns: 2 })
            })
            yield* Agent.runMultiTurn(triage, ["a", "b", "c"])
            return yield* sent
          }).pipe(Effect.provide(MockModel.layer(handing)))
        const open = yield* run(undefined)
        assert.deepStrictEqual(open[2], ["user: c"])
        assert.lengthOf(open[3]!, 7)
        const narrow = yield* run(ContextWindow.make({ maxTurns: 4 }))
        assert.lengthOf(narrow[3]!, 5)
      }))

    it.effect("counts for the target as the target's does, or not at all", () =>
      Effect.gen(function*() {
        const run = (contextWindow: ContextWindow.ContextWindow | undefined) =>
          Effect.gen(function*() {
            const watch = makeWatch()
            const refunds = Agent.make("refunds", { contextWindow })
            const triage = Agent.make("triage", {
              handoffs: [Handoff.to(refunds)],
              contextWindow: ContextWindow.make({ maxTokens: 10_000, count: () => 1 })
            })
            const state = yield* Agent.runMultiTurn(triage, ["a", "b", "c"]).pipe(Agent.observe(watch.observer))
            const last = state.conversation.turns.at(-1)
            return [watch.windows.at(-1)?.tokens, last?._tag === "Assistant" ? last.counted : undefined]
          }).pipe(Effect.provide(MockModel.layer(handing)))
        assert.deepStrictEqual(yield* run(undefined), [undefined, undefined])
        const other = yield* run(ContextWindow.make({ maxTokens: 10_000, count: () => 100 }))
        assert.isAbove(other[0]!, 700)
        assert.strictEqual(other[0], other[1])
      }))

    it.effect("lets the target read what it was handed once the call that did is left out", () =>
      Effect.gen(function*() {
        const refunds = Agent.make("refunds", {
          instructions: "Refund.",
          contextWindow: ContextWindow.make({ maxTurns: 2 })
        })
        const triage = Agent.make("triage", { handoffs: [Handoff.to(refunds)] })
        const state = yield* Agent.runMultiTurn(triage, ["a", "b", "c"])
        assert.strictEqual(yield* lastSystem, "Refund.")
        assert.include(JSON.stringify(yield* lastSent), "a broken lamp")
        yield* Agent.continueConversation(triage, yield* through(state), "d")
        assert.notInclude(JSON.stringify(yield* lastSent), "a broken lamp")
        assert.strictEqual(
          yield* lastSystem,
          "Refund.\n\nAgent \"triage\" handed this conversation over to you.\nReason: a broken lamp\nContext: {\"order\":7}"
        )
      }).pipe(Effect.provide(MockModel.layer(handing))))

    it.effect("is told in the rendered system prompt as in the request's", () =>
      Effect.gen(function*() {
        const words = "Agent \"triage\" handed this conversation over to you."
        const told = (contextWindow: ContextWindow.ContextWindow<ContextWindow.EmptySummary> | undefined) =>
          Effect.gen(function*() {
            const refunds = Agent.make("refunds", { instructions: "Refund.", contextWindow })
            const session = yield* Session.make(Agent.make("triage", { handoffs: [Handoff.to(refunds)] }))
            for (const text of ["a", "b", "c"]) yield* session.call(text)
            const found: Array<boolean> = []
            for (const text of ["d", "e", "f"]) {
              const rendered = yield* Effect.provideService(SystemPrompt.render(), Mode.Host, session)
              yield* session.call(text)
              assert.strictEqual(rendered, yield* lastSystem)
              found.push(rendered.includes(words))
            }
            return found
          }).pipe(Effect.scoped, Effect.provide(MockModel.layer(handing)))
        const never = [false, false, false]
        const later = [false, true, true]
        assert.deepStrictEqual(yield* told(undefined), never)
        assert.deepStrictEqual(yield* told(ContextWindow.make({ maxTurns: 100 })), never)
        assert.deepStrictEqual(yield* told(ContextWindow.make({ maxTurns: 4 })), later)
        assert.deepStrictEqual(yield* told(ContextWindow.make({ maxTokens: 900, count: () => 100 })), later)
        assert.deepStrictEqual(yield* told(summarizing(4)), [true, true, true])
      }))

    it.effect("counts what was handed over", () =>
      Effect.gen(function*() {
        const refunds = (maxTokens: number) =>
          Agent.make("refunds", {
            contextWindow: ContextWindow.make({ maxTokens, count: (text) => text.length })
          })
        const state = yield* Agent.runMultiTurn(
          Agent.make("triage", { handoffs: [Handoff.to(refunds(10_000))] }),
          ["a", "b", "c"]
        )
        const error = yield* Effect.flip(Agent.continueConversation(refunds(90), state, "d"))
        assert.strictEqual(error.reason._tag, "ContextWindowExceeded")
      }).pipe(Effect.provide(MockModel.layer(handing))))

    it.effect("has its summaries cross with the whole conversation, and with nothing less", () =>
      Effect.gen(function*() {
        const run = (options: { readonly preserveContext: boolean }) =>
          Effect.gen(function*() {
            const refunds = Agent.make("refunds", { contextWindow: summarizing(4) })
            const triage = Agent.make("triage", {
              handoffs: [Handoff.to(refunds, options)],
              contextWindow: summarizing(4)
            })
            const watch = makeWatch()
            const state = yield* Agent.runMultiTurn(triage, ["a", "b", "c"]).pipe(Agent.observe(watch.observer))
            return { state, watch, last: yield* lastSent }
          }).pipe(Effect.provide(MockModel.layer(handing)))
        const whole = yield* run({ preserveContext: true })
        assert.deepStrictEqual(whole.watch.summaries.map(({ text }) => text), ["a, re a, b, re b"])
        assert.strictEqual(whole.last[0], "user: [Summary of 4 turns before this]\na, re a, b, re b")
        assert.lengthOf(whole.state.conversation.summaries ?? [], 1)
        const cut = yield* run({ preserveContext: false })
        assert.deepStrictEqual(cut.last, ["user: c"])
        assert.strictEqual(cut.state.conversation.summaries, undefined)
      }))

    it.effect("leaves summaries alone where the target has none, and they are there when control comes back", () =>
      Effect.gen(function*() {
        const refunds = Agent.make("refunds")
        const triage = Agent.make("triage", { contextWindow: summarizing(3) })
        const desk = Group.make({ triage, refunds }, {
          start: "triage",
          policy: HandoffPolicy.explicit("refunds")
        })
        const state = yield* Agent.runMultiTurn(desk, ["a", "b", "c"])
        assert.strictEqual(state.agent, "refunds")
        assert.include(yield* lastSent, "user: a")
        assert.isAbove(state.conversation.summaries?.length ?? 0, 0)
        yield* Agent.continueConversation(desk, state, "d", { control: "first" })
        assert.include((yield* lastSent)[0], "Summary of")
      }).pipe(Effect.provide(MockModel.layer(handing))))
  })

  describe("and modes", () => {
    it.effect("gets the view that a mode has cut, and its summaries come back when that is left", () =>
      Effect.gen(function*() {
        const fresh = Mode.make("fresh", {
          isolation: "thread",
          enter: () => Mode.updateView((conversation) => Conversation.truncate(conversation, 2))
        })
        const guide = Agent.make("guide", { contextWindow: summarizing(4) })
        const session = yield* Session.make(guide, { modes: [fresh] })
        for (const input of ["a", "b", "c"]) yield* session.call(input)
        const before = yield* session.state
        assert.deepStrictEqual(before.conversation.summaries?.map(({ upTo }) => upTo), [4])
        yield* session.enterMode("fresh")
        yield* session.call("d")
        assert.deepStrictEqual(yield* lastSent, ["user: c", "assistant: re c", "user: d"])
        yield* session.call("e")
        assert.strictEqual((yield* lastSent)[0], "user: [Summary of 4 turns before this]\nc, re c, d, re d")
        const after = yield* session.exitMode("fresh")
        assert.deepStrictEqual(after.conversation.summaries, before.conversation.summaries)
        assert.deepStrictEqual(texts(after.conversation).slice(0, 6), texts(before.conversation))
        yield* session.call("f")
        assert.include((yield* lastSent)[0], "user: [Summary of")
      }).pipe(Effect.scoped, Effect.provide(echo)))

    it.effect("gets another view in the middle of a run", () =>
      Effect.gen(function*() {
        const fresh = Mode.make("fresh", {
          isolation: "thread",
          invokable: true,
          enter: () => Mode.updateView((conversation) => Conversation.truncate(conversation, 2))
        })
        const guide = Agent.make("guide", {
          modes: [fresh],
          contextWindow: ContextWindow.make({ maxTokens: 1_000, count: (text) => text.length })
        })
        const watch = makeWatch()
        yield* Agent.runMultiTurn(guide, ["a", "b", "c"]).pipe(Agent.observe(watch.observer))
        assert.deepStrictEqual(watch.windows.map((window) => window?.turns), [1, 3, 5, 2])
        assert.deepStrictEqual(yield* lastSent, [
          "user: c",
          "assistant: tool-call",
          (yield* lastSent)[2]!
        ])
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
        "re a",
        "re b",
        MockResponse.toolCall("enter_fresh_mode", {}, { id: "f" }),
        "Fresh."
      )))))

    it.effect("forgets a summary of turns that a fork leaves behind, and keeps the one before", () =>
      Effect.gen(function*() {
        const aside = Mode.make("aside", { isolation: "fork", enter: () => Effect.void })
        const guide = Agent.make("guide", { contextWindow: summarizing(4) })
        const session = yield* Session.make(guide, { modes: [aside] })
        for (const input of ["a", "b", "c"]) yield* session.call(input)
        yield* session.enterMode("aside")
        for (const input of ["d", "e"]) yield* session.call(input)
        const inside = yield* session.state
        assert.isAbove(inside.conversation.summaries?.length ?? 0, 1)
        const after = yield* session.exitMode("aside")
        assert.deepStrictEqual(after.conversation.summaries?.map(({ upTo }) => upTo), [4])
        yield* session.call("f")
        assert.notInclude(JSON.stringify(yield* lastSent), "re d")
      }).pipe(Effect.scoped, Effect.provide(echo)))
  })

  it.effect("and a log of its events play again without the model", () =>
    Effect.gen(function*() {
      const play = (contextWindow: ContextWindow.ContextWindow<ContextWindow.EmptySummary>) =>
        Effect.gen(function*() {
          const events: Array<AgentEvent.AgentEvent> = []
          const run = Agent.runMultiTurn(Agent.make("guide", { contextWindow }), ["a", "b", "c", "d"])
          const first = yield* run.pipe(
            Agent.observe((event) => Effect.sync(() => events.push(event))),
            Effect.provide(echo)
          )
          const again = yield* run.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(Cassette.fromEvents(events)))
          assert.isTrue(events.some((event) => event._tag === "ModelCallStarted" && event.window!.left > 0))
          assert.deepStrictEqual(again.conversation, first.conversation)
        })
      yield* play(ContextWindow.make({ maxTurns: 3 }))
      yield* play(summarizing(3))
    }))

  it.effect("and a run that stops in the middle of its calls go on together", () =>
    Effect.gen(function*() {
      const Desk = Toolkit.make(
        Tool.make("look", { success: Schema.String }),
        Tool.make("open", { success: Schema.String, needsApproval: true })
      )
      const porter = Agent.make("porter", { toolkit: Desk, contextWindow: summarizing(4) })
      const handlers = Desk.toLayer({ look: () => Effect.succeed("a door"), open: () => Effect.succeed("opened") })
      const model = MockModel.layer(MockModel.queue(
        "re a",
        "re b",
        MockResponse.all(
          MockResponse.toolCall("look", {}, { id: "l" }),
          MockResponse.toolCall("open", {}, { id: "o" })
        ),
        "Done."
      ))
      yield* Effect.gen(function*() {
        const waiting = yield* Agent.runMultiTurn(porter, ["a", "b", "c"])
        assert.strictEqual(waiting.status._tag, "WaitingForTools")
        assert.lengthOf(waiting.conversation.summaries ?? [], 1)
        const said = AgentState.ask(yield* through(waiting), "Quickly!", 0)
        const approved = yield* Effect.fromResult(AgentState.approve(said, "o"))
        const done = yield* Agent.resume(porter, approved)
        assert.strictEqual(done.status._tag, "Complete")
        const calls = yield* MockModel.calls
        const { prompt } = calls.at(-1)!.request
        assert.deepStrictEqual(ConversationRules.check(prompt), [])
        assert.deepStrictEqual((yield* lastSent).slice(1), [
          "user: c",
          "assistant: tool-call tool-call",
          "tool: \"a door\" \"opened\"",
          "user: Quickly!"
        ])
      }).pipe(Effect.provide(Layer.merge(model, handlers)))
    }))

  it.effect("and guardrails on input see to it that nothing is sent that was replaced", () =>
    Effect.gen(function*() {
      const mask = Guardrail.make("mask", (text: string) =>
        text.includes("secret") ? Guardrail.replace(text.replaceAll("secret", "***"), "a secret") : Guardrail.pass, {
        on: "text",
        mode: "parallel"
      })
      const guide = Agent.make("guide", { guardrails: { input: [mask] }, contextWindow: summarizing(3) })
      const state = yield* Agent.runMultiTurn(guide, ["a secret", "b secret", "c secret"])
      assert.notInclude(JSON.stringify(state), "secret")
      assert.notInclude(JSON.stringify(yield* lastSent), "secret")
      assert.include((yield* lastSent)[0], "a ***, re a ***")
    }).pipe(Effect.provide(echo)))
})
