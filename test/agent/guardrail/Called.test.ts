/**
 * What is said to a called agent, and to nobody in a group: guardrails look at it before anything of it is told.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, type AgentEvent, AgentPicker, AgentState, Conversation, Group, Guardrail } from "troupe"
import { Laws, MockModel, MockResponse } from "troupe/testing"

const marker = "swordfish"

/** A helper that is asked more than the call says. */
const calling = <Name extends string, Output, E, R>(helper: Agent.Runnable<Name, Output, E, R>) =>
  Agent.asTool(helper, { toInput: () => marker })

const masking = (mode: "blocking" | "parallel" = "blocking") =>
  Guardrail.make("masking", (text) => Guardrail.replace(text.replaceAll(marker, "***"), "a marker"), { mode })

const seen = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    const exit = yield* Effect.exit(Agent.observe(program, (event) => Effect.sync(() => void events.push(event))))
    return { events, exit }
  })

const call = MockResponse.toolCall("helper", { task: "Help." })

describe("What is said to a called agent", () => {
  for (const mode of ["blocking", "parallel"] as const) {
    it.effect(`is told as its ${mode} guardrails let it pass, and they are told behind it`, () =>
      Effect.gen(function*() {
        const helper = Agent.make("helper", { guardrails: { input: [masking(mode)] } })
        const agent = Agent.make("agent", { agents: [calling(helper)] })
        const { events, exit } = yield* seen(Agent.run(agent, "Go."))
        assert.isTrue(Exit.isSuccess(exit))
        const own = events.filter(({ calls }) => calls.length > 0)
        assert.deepStrictEqual(own.slice(0, 4).map(({ _tag }) => _tag), [
          "RunStarted",
          "GuardrailStarted",
          "GuardrailSettled",
          "StepStarted"
        ])
        const [start, , settled] = own
        assert.deepStrictEqual(start?._tag === "RunStarted" && start.input, [Conversation.text("***")])
        assert.deepStrictEqual(settled?._tag === "GuardrailSettled" && settled.replaced, {
          turn: 0,
          input: [Conversation.text("***")]
        })
        assert.deepStrictEqual(Laws.imbalances(events), [])
        assert.isTrue(Exit.isSuccess(exit))
        const folded = events.reduce(AgentState.reduce, AgentState.make("agent"))
        assert.deepStrictEqual(AgentState.toJson(folded), AgentState.toJson(yield* exit))
        assert.notInclude(JSON.stringify(events), marker)
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue(call, "Fine.", "Fine.")))))
  }

  it.effect("is told to nobody if the run is interrupted before the verdict, and the call has no agent then", () =>
    Effect.gen(function*() {
      const never = Guardrail.make("never", () => Effect.never)
      const helper = Agent.make("helper", { guardrails: { input: [masking(), never] } })
      const agent = Agent.make("agent", { agents: [calling(helper)] })
      const events: Array<AgentEvent.AgentEvent> = []
      const fiber = yield* Effect.forkChild(
        Agent.observe(Agent.run(agent, "Go."), (event) => Effect.sync(() => void events.push(event)))
      )
      for (let n = 0; n < 30; n++) yield* Effect.yieldNow
      assert.strictEqual(events.at(-1)?._tag, "ToolCallStarted")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(events.filter(({ calls }) => calls.length > 0), [])
      assert.deepStrictEqual(Laws.imbalances(events), [])
      const end = events.at(-1)
      assert.isTrue(end?._tag === "RunInterrupted" && end.state.status._tag === "InProgress")
      assert.notInclude(JSON.stringify(events), marker)
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(call, "Fine.", "Fine.")))))

  it.effect("is told to nobody if a guardrail breaks down", () =>
    Effect.gen(function*() {
      const broken = Guardrail.make("broken", () => false as never)
      const helper = Agent.make("helper", { guardrails: { input: [broken] } })
      const agent = Agent.make("agent", { agents: [calling(helper)] })
      const { events, exit } = yield* seen(Agent.run(agent, "Go."))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual(Laws.imbalances(events), [])
      assert.notInclude(JSON.stringify(events), marker)
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(call, "Fine.", "Fine.")))))

  it.effect("is looked at once, and what was blocked fails the call before its model is asked", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const strict = Guardrail.make("strict", (text) => {
        asked.push(text)
        return Guardrail.block("no")
      })
      const helper = Agent.make("helper", { guardrails: { input: [strict] } })
      const agent = Agent.make("agent", { agents: [calling(helper)] })
      const { events, exit } = yield* seen(Agent.run(agent, "Go."))
      assert.deepStrictEqual(asked, [marker])
      const settled = events.find((event) => event._tag === "ToolCallSettled")
      assert.deepStrictEqual(
        settled?.result,
        `Agent "helper" failed: Guardrail "strict" of agent "helper" blocked the input: no`
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(Laws.imbalances(events), [])
      assert.notInclude(JSON.stringify(events), marker)
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(call, "Fine.")))))

  it.effect("and to another one beside it is told in the order of their verdicts", () =>
    Effect.gen(function*() {
      const slow = Guardrail.make(
        "slow",
        (text) => Effect.as(Effect.yieldNow, Guardrail.replace(text.replaceAll(marker, "***"), "a marker"))
      )
      const Wait = Tool.make("wait", { success: Schema.String })
      const helper = Agent.make("helper", { guardrails: { input: [slow] } })
      const other = Agent.make("other", { guardrails: { input: [masking()] } })
      const agent = Agent.make("agent", {
        toolkit: Toolkit.make(Wait),
        agents: [calling(helper), Agent.asTool(other, { toInput: () => marker })]
      })
      const { events, exit } = yield* seen(
        Agent.run(agent, "Go.").pipe(
          Effect.provide(Toolkit.make(Wait).toLayer({ wait: () => Effect.as(Effect.yieldNow, "waited") }))
        )
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(Laws.imbalances(events), [])
      assert.notInclude(JSON.stringify(events), marker)
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      agent: MockModel.queue(
        MockResponse.all(call, MockResponse.toolCall("other", { task: "x" }), MockResponse.toolCall("wait", {})),
        "Fine."
      ),
      helper: MockModel.queue("Fine."),
      other: MockModel.queue("Fine.")
    })))))
})

describe("An input for which nobody could be picked", () => {
  const strict = Guardrail.make("strict", (text) => text.includes(marker) ? Guardrail.block("no") : Guardrail.pass)
  class Unsure extends Schema.TaggedError<Unsure>("test/Unsure")("Unsure", {}) {}

  const group = (by: typeof strict) =>
    Group.make({ first: Agent.make("first"), second: Agent.make("second", { guardrails: { input: [by] } }) }, {
      start: AgentPicker.make((): Effect.Effect<"first", Unsure> => Effect.fail(new Unsure()))
    })

  it.effect("is kept as all agents of the group let it pass, and the one in control goes on with that", () =>
    Effect.gen(function*() {
      const desk = group(masking())
      const state = yield* Agent.settle(desk, `Say ${marker}.`)
      assert.notInclude(JSON.stringify(state), marker)
      const last = yield* Agent.resume(desk, AgentState.reopen(state))
      assert.strictEqual(AgentState.text(last), "Fine.")
      assert.include(JSON.stringify(last), "Say ***.")
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Fine.")))))

  it.effect("is gone if another agent's guardrail blocks it, which a run that goes on says", () =>
    Effect.gen(function*() {
      const desk = group(strict)
      const state = yield* Agent.settle(desk, `Say ${marker}.`)
      assert.notInclude(JSON.stringify(state), marker)
      assert.deepStrictEqual(state.conversation.turns[0]?._tag === "User" && state.conversation.turns[0].blocked, {
        agent: "second",
        guardrail: "strict",
        reason: "no"
      })
      const error = yield* Effect.flip(Agent.resume(desk, AgentState.reopen(state)))
      assert.strictEqual(
        error._tag === "AgentError" && error.reason.message,
        "Guardrail \"strict\" of agent \"second\" blocked the input: no"
      )
      const last = yield* Agent.continueConversation(desk, state, "Say hello.")
      assert.strictEqual(AgentState.text(last), "Fine.")
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Fine.")))))
})
