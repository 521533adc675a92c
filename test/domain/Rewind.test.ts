import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Prompt, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Handoff, Mode, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { times } from "../matrix.ts"
import { below, state } from "./arbitraries.ts"
import { deepFreeze, problems } from "./legal.ts"

const texts = ({ conversation }: AgentState.AgentState) => conversation.turns.map(Conversation.textOf)

const echo = MockModel.layer(
  MockModel.make(({ lastUserText }) => MockResponse.withUsage(`Re: ${lastUserText}`, { input: 10, output: 1 }))
)

const clerk = Agent.make("clerk")

describe("AgentState.forkAt", () => {
  it.effect("goes back to an earlier turn, and on from there", () =>
    Effect.gen(function*() {
      const whole = yield* Agent.runMultiTurn(clerk, ["one", "two", "three"])
      const back = AgentState.forkAt(deepFreeze(whole), 2)
      assert.deepStrictEqual(texts(back), ["one", "Re: one"])
      assert.strictEqual(back.status._tag, "Complete")
      assert.strictEqual(back.usage, whole.usage)
      assert.deepStrictEqual([back.run.steps, back.run.iteration, back.run.usage.input.known], [1, 1, 10])
      const asked = AgentState.forkAt(whole, 3).run
      assert.deepStrictEqual([asked.steps, asked.iteration, asked.usage.input.known], [0, 0, 0])
      const other = yield* Agent.continueConversation(clerk, back, "zwei")
      assert.deepStrictEqual(texts(other), ["one", "Re: one", "zwei", "Re: zwei"])
      assert.strictEqual(other.initialQuery, "one")
      assert.strictEqual(other.steps, 4)
    }).pipe(Effect.provide(echo)))

  it.effect("leaves control where it was in a history that somebody else's assistant speaks in", () =>
    Effect.gen(function*() {
      const { conversation } = Conversation.fromPrompt(Prompt.make([
        { role: "user", content: "one" },
        { role: "assistant", content: "1." },
        { role: "user", content: "two" },
        { role: "assistant", content: "2." }
      ]))
      const whole = yield* Agent.continueConversation(clerk, AgentState.make("clerk", { conversation }), "three")
      for (const at of [0, 1, 2, 3, 4, 5]) {
        const back = AgentState.forkAt(whole, at)
        assert.deepStrictEqual([back.agent, back.trail], ["clerk", ["clerk"]])
        assert.strictEqual(AgentState.editAt(whole, at, "zwei").agent, "clerk")
      }
      const edited = yield* Agent.resume(clerk, AgentState.editAt(whole, 2, "zwei"))
      assert.deepStrictEqual(texts(edited), ["one", "1.", "zwei", "Re: zwei"])
    }).pipe(Effect.provide(echo)))

  it.effect("reopens what had ended, and forgets the first words where they are gone", () =>
    Effect.gen(function*() {
      const whole = yield* Agent.run(clerk, "one")
      const asked = AgentState.forkAt(whole, 1)
      assert.strictEqual(asked.status._tag, "InProgress")
      assert.deepStrictEqual(texts(yield* Agent.resume(clerk, asked)), texts(whole))
      const nothing = AgentState.forkAt(0)(whole)
      assert.strictEqual(nothing.initialQuery, undefined)
      assert.deepStrictEqual(nothing.trail, ["clerk"])
      const failed: AgentState.AgentState = {
        ...whole,
        status: { _tag: "Failed", error: { tag: "Defect", message: "", agent: "clerk", step: 0 } }
      }
      assert.deepStrictEqual(AgentState.forkAt(failed, 9), whole)
    }).pipe(Effect.provide(echo)))

  it.effect("leaves calls waiting that waited at that turn", () =>
    Effect.gen(function*() {
      const Guarded = Toolkit.make(Tool.make("open", { success: Schema.String, needsApproval: true }))
      const porter = Agent.make("porter", { toolkit: Guarded })
      const model = MockModel.layer(MockModel.queue(MockResponse.toolCall("open", {}, { id: "c" })))
      const handlers = Guarded.toLayer({ open: () => Effect.succeed("opened") })
      const waiting = yield* Agent.run(porter, "Open.").pipe(Effect.provide([model, handlers]))
      const said = AgentState.ask(waiting, "Quickly!", 0)
      assert.lengthOf(said.conversation.turns, 3)
      const back = AgentState.forkAt(said, 2)
      assert.strictEqual(back.status._tag, "WaitingForTools")
      assert.deepStrictEqual(AgentState.pendingApprovals(back).map(({ callId }) => callId), ["c"])
    }))

  it.effect("gives control back to who had it", () =>
    Effect.gen(function*() {
      const refunds = Agent.make("refunds")
      const triage = Agent.make("triage", { handoffs: [Handoff.to(refunds)] })
      const model = MockModel.layer(MockModel.byAgent({
        triage: MockModel.queue("Hello.", MockResponse.toolCall("handoff_to_refunds", {}), "And again."),
        refunds: MockModel.queue("Done.", "Done again.")
      }))
      yield* Effect.gen(function*() {
        const whole = yield* Agent.runMultiTurn(triage, ["Hi", "Money back"])
        assert.deepStrictEqual([whole.agent, whole.trail], ["refunds", ["triage", "refunds"]])
        const before = AgentState.forkAt(whole, 3)
        assert.deepStrictEqual([before.agent, before.trail, before.handoff], ["triage", ["triage"], undefined])
        const after = AgentState.forkAt(whole, 4)
        assert.deepStrictEqual([after.agent, after.trail], ["refunds", ["triage", "refunds"]])
        assert.deepStrictEqual(after.handoff, whole.handoff)
        const again = yield* Agent.resume(triage, AgentState.forkAt(whole, 3))
        assert.deepStrictEqual([again.agent, AgentState.text(again)], ["triage", "And again."])
      }).pipe(Effect.provide(model))
    }))

  it.effect("keeps how the agent got control, also where the call that gave it didn't cross", () =>
    Effect.gen(function*() {
      const refunds = Agent.make("refunds")
      const triage = Agent.make("triage", { handoffs: [Handoff.to(refunds, { preserveContext: false })] })
      const model = MockModel.layer(MockModel.byAgent({
        triage: MockModel.queue(MockResponse.toolCall("handoff_to_refunds", { reason: "a lamp" })),
        refunds: MockModel.queue("Done.", "Done again.")
      }))
      const whole = yield* Agent.runMultiTurn(triage, ["Money back", "And more"]).pipe(Effect.provide(model))
      const back = AgentState.forkAt(whole, 2)
      assert.deepStrictEqual([back.agent, back.trail, back.handoff?.reason], ["refunds", whole.trail, "a lamp"])
    }))

  it.effect("undoes modes that were entered later, and keeps those that were entered", () =>
    Effect.gen(function*() {
      const aloud = Mode.make("aloud", { enter: () => SystemPrompt.append("Speak up.") })
      const secret = Mode.make("secret", { isolation: "thread", enter: () => SystemPrompt.append("Whisper.") })
      const session = yield* Session.make(clerk, { modes: [aloud, secret] })
      yield* session.call("one")
      yield* session.enterMode("aloud")
      yield* session.call("two")
      yield* session.enterMode("secret")
      const whole = yield* session.call("three")
      const names = (count: number) => {
        const back = AgentState.forkAt(whole, count)
        return [back.modes.map(({ name }) => name), back.prompt.map(({ text }) => text)]
      }
      assert.deepStrictEqual(names(5), [["aloud", "secret"], ["Speak up.", "Whisper."]])
      assert.deepStrictEqual(names(3), [["aloud"], ["Speak up."]])
      assert.deepStrictEqual(names(1), [[], []])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.prop("leaves any state legal, with the first turns, and readable", [state, below(8)], ([self, count]) => {
    const back = deepFreeze(AgentState.forkAt(deepFreeze(self), count))
    assert.deepStrictEqual(problems(back.conversation), [])
    if (self.modes.length === 0) {
      assert.deepStrictEqual(back.conversation.turns, self.conversation.turns.slice(0, count))
    }
    assert.notInclude(["Failed", "HandoffRequested"], back.status._tag)
    assert.strictEqual(back.transition === undefined || count >= self.conversation.turns.length, true)
    const read = AgentState.fromJson(structuredClone(AgentState.toJson(back)))
    assert.deepStrictEqual(Result.getOrThrow(read), back)
  }, { arbitrary: { runs: times(60, 25) } })
})

describe("AgentState.editAt", () => {
  it.effect("lets the model answer other words in the place of a turn", () =>
    Effect.gen(function*() {
      const whole = yield* Agent.runMultiTurn(clerk, ["one", "two"])
      const edited = AgentState.editAt(whole, 2, "zwei")
      assert.strictEqual(edited.status._tag, "InProgress")
      assert.deepStrictEqual(texts(yield* Agent.resume(clerk, edited)), ["one", "Re: one", "zwei", "Re: zwei"])
      const first = AgentState.editAt(0, [Conversation.text("eins")])(whole)
      assert.strictEqual(first.initialQuery, "eins")
      assert.deepStrictEqual(texts(yield* Agent.resume(clerk, first)), ["eins", "Re: eins"])
    }).pipe(Effect.provide(echo)))

  it.prop("leaves any state with the words at its end", [state, below(8)], ([self, index]) => {
    const edited = AgentState.editAt(deepFreeze(self), index, "else")
    assert.deepStrictEqual(problems(edited.conversation), [])
    assert.deepStrictEqual(edited.conversation.turns.at(-1), Conversation.user("else"))
    assert.include(["InProgress", "WaitingForTools"], edited.status._tag)
  }, { arbitrary: { runs: times(40, 16) } })
})
