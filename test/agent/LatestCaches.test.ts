/** Runs whose models take no time are all in one job of the event loop: what they leave behind is bounded, and gone with the job. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Agent, AgentState, Conversation, Session } from "troupe"
import { MockModel } from "troupe/testing"
import { ByFirstTurn } from "../../src/agent/perform/ask/KnownCaches.ts"
import * as LatestCaches from "../../src/agent/perform/ask/LatestCaches.ts"

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

const heap = (): number => {
  collect()
  return process.memoryUsage().heapUsed / 2 ** 20
}

const agent = Agent.make("teller")

/** A state with ten turns, of 20 kB each. */
const large = (n: number): AgentState.AgentState =>
  AgentState.make("teller", {
    conversation: Conversation.make(
      Array.from({ length: 10 }, (_, at) => {
        const text = `${n} ${at} ${Buffer.alloc(20_000, 97 + at).toString("latin1")}`
        return at % 2 === 0 ? Conversation.user(text) : Conversation.assistant("teller", text)
      })
    )
  })

const answering = Effect.provide(MockModel.layer(MockModel.make("Yes.")))

const ways = {
  "a state": (n: number) => Agent.continueConversation(agent, large(n), "Go on."),
  "a session": (n: number) =>
    Effect.scoped(Effect.flatMap(Session.make(agent, { state: large(n) }), (session) => session.call("Go on.")))
}

const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0))

describe("Large conversations that run in one job", () => {
  for (const [way, run] of Object.entries(ways)) {
    it(`leave few caches behind, and none after it: ${way}`, async () => {
      await Effect.runPromise(answering(run(0)))
      await nextTurn()
      const before = heap()
      for (let n = 1; n <= 300; n++) await Effect.runPromise(answering(run(n)))
      assert.isBelow(heap() - before, 20, "MiB, where all 300 conversations have 60")
      await nextTurn()
      await nextTurn()
      assert.isBelow(heap() - before, 4)
    })
  }

  it("go on as they were, however many others ran since", async () => {
    const first = await Effect.runPromise(answering(ways["a state"](0)))
    for (let n = 1; n <= 2 * LatestCaches.most; n++) await Effect.runPromise(answering(ways["a state"](n)))
    // A state that isn't running keeps no large cache alive.
    assert.deepStrictEqual(ByFirstTurn.of(first.conversation.turns[0]!), [])
    const sent = await Effect.runPromise(answering(Effect.gen(function*() {
      yield* Agent.continueConversation(agent, first, "And now?")
      return (yield* MockModel.calls).map(({ request }) => request.prompt.content)
    })))
    const whole = Conversation.toPrompt(Conversation.appendUser(first.conversation, "And now?"))
    assert.deepStrictEqual(sent, [Result.getOrThrow(whole).content])
  })
})
