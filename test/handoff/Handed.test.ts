import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Agent, AgentState, Conversation, Handoff, Mode } from "troupe"
import { MockResponse } from "troupe/testing"
import { handTo, replayable, requests, throughText } from "./scripted.ts"

describe("What an agent was handed", () => {
  it.effect("is told beside its instructions once a mode hides the call that says it, in a run that was never stopped too", () =>
    Effect.gen(function*() {
      const quiet = Mode.make("quiet", {
        isolation: "thread",
        invokable: true,
        enter: () => Mode.updateView(() => Conversation.make([Conversation.user("Be brief.")]))
      })
      const b = Agent.make("b", { instructions: "You are b.", modes: [quiet] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] })
      const states = yield* Stream.runCollect(Agent.states(a, "Hi"))
      const whole = (yield* requests).at(-1)?.system
      const stopped = states.findLast((state) => state.modes.length > 0 && AgentState.next(state)._tag === "AskModel")!
      yield* Agent.resume(a, throughText(stopped))
      const resumed = (yield* requests).at(-1)?.system
      const note = "Agent \"a\" handed this conversation over to you.\nReason: sums"
      const told = ["You are b.", note, "You are in mode \"quiet\"."].join("\n\n")
      assert.deepStrictEqual([resumed, whole], [told, told])
    }).pipe(Effect.provide(replayable({
      a: [handTo("b", { reason: "sums" })],
      b: [MockResponse.toolCall("enter_quiet_mode", {})]
    }))))
})
