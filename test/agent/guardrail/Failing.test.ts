import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Guardrail, Handoff } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag } from "../watch.ts"
import { model, ran, said, turns } from "./looking.ts"

class Down extends Schema.TaggedError<Down>("test/Down")("Down", { what: Schema.String }) {
  override get message(): string {
    return `${this.what} is down`
  }
}

const Look = Tool.make("look", {
  parameters: Schema.Struct({ at: Schema.String, by: Schema.optionalKey(Schema.String) }),
  success: Schema.String
})
const Kit = Toolkit.make(Look)
const handlers = Kit.toLayer({ look: ({ at }) => Effect.succeed(`${at} seen`) })

const down = (options?: Guardrail.Options<"text">) =>
  Guardrail.make("down", () => Effect.fail(new Down({ what: "the judge" })), options)

describe("A check that fails", () => {
  it.effect("blocks", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [down()] } })
      const { error, events, state } = yield* ran(Agent.run(agent, "Hi"))
      assert.isTrue(error?.reason._tag === "GuardrailBlocked")
      assert.deepStrictEqual(said(events), ["input: down Block (the guardrail failed: the judge is down)"])
      assert.include(error?.message, "the guardrail failed: the judge is down")
      assert.deepStrictEqual(turns(state), ["User: (This was blocked and isn't shown.)"])
    }).pipe(Effect.provide(model())))

  it.effect("passes with a warning where that is wanted", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        guardrails: { input: [down({ onError: "pass" })], output: [down({ onError: "block" })] }
      })
      const { error, events } = yield* ran(Agent.run(agent, "Hi"))
      assert.deepStrictEqual(said(events), [
        "input: down Warn (the guardrail failed: the judge is down)",
        "output: down Block (the guardrail failed: the judge is down)"
      ])
      assert.isTrue(error?.reason._tag === "GuardrailBlocked" && error.reason.stage === "output")
    }).pipe(Effect.provide(model("Hello."))))

  it.effect("is told to the model where it stands on calls and results", () =>
    Effect.gen(function*() {
      const onCalls = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [down()] } })
      const call = yield* ran(Agent.run(onCalls, "Go"))
      assert.deepStrictEqual(
        turns(call.state)[1],
        `a: look({}) Failed ` +
          `"Guardrail \\"down\\" blocked this call: the guardrail failed: the judge is down"`
      )
      const onResults = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [down()] } })
      const result = yield* ran(Agent.run(onResults, "Go"))
      assert.deepStrictEqual(
        turns(result.state)[1],
        `a: look({"at":"me"}) Failed ` +
          `"Guardrail \\"down\\" blocked the result of \\"look\\": the guardrail failed: the judge is down"`
      )
      assert.notInclude(JSON.stringify(AgentState.toJson(result.state)), "seen")
    }).pipe(Effect.provide([
      handlers,
      MockModel.layer(MockModel.make(({ lastToolResults }) =>
        lastToolResults.length > 0 ? "Done." : MockResponse.toolCall("look", { at: "me" })
      ))
    ])))
})

describe("A check that takes too long", () => {
  const hanging = (options: Guardrail.Options<"text">, interrupted: Array<string> = []) =>
    Guardrail.make(
      "hanging",
      () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted.push("interrupted"))),
      { timeout: "3 seconds", ...options }
    )

  it.effect("is interrupted and blocks", () =>
    Effect.gen(function*() {
      const interrupted: Array<string> = []
      const agent = Agent.make("a", { guardrails: { output: [hanging({}, interrupted)] } })
      const fiber = yield* Effect.forkChild(ran(Agent.run(agent, "Hi")))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(interrupted, [])
      yield* TestClock.adjust("1 second")
      const { error, events } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(interrupted, ["interrupted"])
      assert.strictEqual(error?.reason._tag, "GuardrailBlocked")
      assert.deepStrictEqual(said(events), ["output: hanging Block (the guardrail took longer than 3s)"])
      assert.deepStrictEqual(ofTag(events, "GuardrailSettled").map(({ duration }) => duration), [3000])
    }).pipe(Effect.provide(model("Hello."))))

  it.effect("passes with a warning where that is wanted, beside the model too", () =>
    Effect.gen(function*() {
      const interrupted: Array<string> = []
      const agent = Agent.make("a", {
        guardrails: { input: [hanging({ onError: "pass", mode: "parallel" }, interrupted)] }
      })
      const fiber = yield* Effect.forkChild(ran(Agent.run(agent, "Hi")))
      yield* TestClock.adjust("3 seconds")
      const { events, state } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(interrupted, ["interrupted"])
      assert.strictEqual(AgentState.text(state), "Hello.")
      assert.deepStrictEqual(said(events), ["input: hanging Warn (the guardrail took longer than 3s)"])
    }).pipe(Effect.provide(model("Hello."))))

  it.effect("has its time for each text", () =>
    Effect.gen(function*() {
      const slow = Guardrail.make("slow", () => Effect.delay(Effect.succeed(Guardrail.pass), "2 seconds"), {
        timeout: "3 seconds"
      })
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolResult: [slow], toolCall: [slow] } })
      const fiber = yield* Effect.forkChild(ran(Agent.run(agent, "Go")))
      yield* TestClock.adjust("1 minute")
      const { events } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(said(events), ["toolCall: slow Pass", "toolResult: slow Pass"])
      assert.deepStrictEqual(ofTag(events, "GuardrailSettled").map(({ duration }) => duration), [4000, 2000])
    }).pipe(Effect.provide([handlers, model(MockResponse.toolCall("look", { at: "me", by: "day" }), "Done.")])))
})

/** Runs something that is to break down at a guardrail, which is told to have been interrupted. */
const breaks = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(ran(self), ({ events, exit, state }) => {
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    assert.isTrue(state.status._tag === "Failed" && state.status.error.tag === "Defect")
    return said(events)
  })

describe("A check that breaks down", () => {
  const breakdowns = {
    throws: Guardrail.make("broken", () => {
      throw new Error("broken")
    }),
    dies: Guardrail.make("broken", () => Effect.die(new Error("broken"))),
    "throws in its effect": Guardrail.make("broken", () =>
      Effect.sync((): Guardrail.Verdict<string> => {
        throw new Error("broken")
      })),
    "throws in its predicate": Guardrail.when(() => {
      throw new Error("broken")
    }, Guardrail.make("broken", () => Guardrail.pass)),
    "gives no verdict": Guardrail.make("broken", () => undefined as never),
    "gives no verdict in the end": Guardrail.make("broken", () => Effect.succeed(undefined as never))
  }

  for (const [how, broken] of Object.entries(breakdowns)) {
    it.effect(`is a defect of the run, where it ${how}, at every stage`, () =>
      Effect.gen(function*() {
        const other = Agent.make("other")
        const stages = ["input", "output", "toolCall", "toolResult", "handoff"] as const
        for (const stage of stages) {
          const agent = Agent.make("a", {
            toolkit: Kit,
            handoffs: [Handoff.to(other)],
            guardrails: { [stage]: [broken] }
          })
          const calls = stage === "handoff"
            ? MockResponse.toolCall("handoff_to_other", { reason: "because" })
            : stage === "output"
            ? "Hello."
            : MockResponse.toolCall("look", { at: "me" })
          const events = yield* breaks(Agent.run(agent, "Hi")).pipe(Effect.provide([handlers, model(calls)]))
          assert.deepStrictEqual(events, [`${stage}: broken Interrupted`])
        }
      }))
  }
})
