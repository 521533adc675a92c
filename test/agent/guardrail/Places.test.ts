/**
 * Guardrails where agents are put together: in sessions, groups, modes, plans and dialogues.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Dialogue, Group, Guardrail, Handoff, Mode, Plan, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { problems } from "../../domain/legal.ts"
import { model, turns } from "./looking.ts"

const noBad = Guardrail.make("no bad", (text) => text.includes("bad") ? Guardrail.block("it is bad") : Guardrail.pass)
const noAda = Guardrail.make(
  "no Ada",
  (text) => text.includes("Ada") ? Guardrail.replace(text.replaceAll("Ada", "her"), "a name") : Guardrail.pass
)

const Sign = Tool.make("sign", {
  parameters: Schema.Struct({ name: Schema.String }),
  success: Schema.String,
  needsApproval: true
})
const Kit = Toolkit.make(Sign)
const handlers = Kit.toLayer({ sign: ({ name }) => Effect.succeed(`signed by ${name}`) })

const reasonOf = (error: unknown): string | undefined =>
  error instanceof Error && "reason" in error && typeof error.reason === "object" && error.reason !== null &&
    "_tag" in error.reason
    ? String(error.reason._tag)
    : undefined

describe("A session", () => {
  it.effect("goes on after what was blocked, said by the user or by the model", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { guardrails: { input: [noBad], output: [noBad] } })
      const session = yield* Session.make(agent)
      const first = yield* Effect.flip(session.call("bad words"))
      assert.strictEqual(reasonOf(first), "GuardrailBlocked")
      assert.deepStrictEqual(problems((yield* session.state).conversation), [])
      const second = yield* Effect.flip(session.call("good words"))
      assert.strictEqual(reasonOf(second), "GuardrailBlocked")
      const state = yield* session.call("better words")
      assert.deepStrictEqual(turns(state), [
        "User: (This was blocked and isn't shown.)",
        "User: good words",
        "User: better words",
        "a: Fine."
      ])
      const stored = Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))
      assert.deepStrictEqual(stored, state)
    }).pipe(Effect.scoped, Effect.provide(model("This is bad.", "Fine."))))

  it.effect("shows for approval what a guardrail put in its place, and runs that", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { toolkit: Kit, guardrails: { toolCall: [noAda], toolResult: [noBad] } })
      const session = yield* Session.make(agent)
      const waiting = yield* session.call("Sign")
      const [pending] = AgentState.pendingApprovals(waiting)
      assert.deepStrictEqual(pending?.params, { name: "her" })
      yield* session.approve(pending!.callId)
      const state = yield* session.resume
      assert.strictEqual(turns(state)[1], `a: sign({"name":"her"}) Succeeded "signed by her"`)
    }).pipe(
      Effect.scoped,
      Effect.provide([handlers, model(MockResponse.toolCall("sign", { name: "Ada" }), "Done.")])
    ))
})

describe("A group", () => {
  it.effect("has the guardrails of each member for that one alone, whoever begins", () =>
    Effect.gen(function*() {
      const strict = Agent.make("strict", { guardrails: { input: [noBad], output: [noAda] } })
      const lenient = Agent.make("lenient", { handoffs: [Handoff.to(strict)] })
      const group = Group.make({ lenient, strict }, { start: "lenient" })
      const stay = yield* Agent.run(group, "bad words")
      assert.deepStrictEqual([stay.agent, AgentState.text(stay)], ["lenient", "Ada says so."])
      const blocked = yield* Effect.flip(Agent.run(group, "bad words, hand over"))
      assert.isTrue(blocked.reason._tag === "GuardrailBlocked" && blocked.reason.agent === "strict")
      const passed = yield* Agent.run(group, "hand over")
      assert.deepStrictEqual([passed.agent, AgentState.text(passed)], ["strict", "her says so."])
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      lenient: MockModel.make(({ lastUserText }) =>
        lastUserText.includes("hand over") ? MockResponse.toolCall("handoff_to_strict", {}) : "Ada says so."
      ),
      strict: MockModel.make(() => "Ada says so.")
    })))))
})

describe("A mode", () => {
  it.effect("that asks something can go on where the answer is blocked", () =>
    Effect.gen(function*() {
      const log: Array<unknown> = []
      const asking = Mode.make("asking", {
        invokable: true,
        enter: () =>
          Mode.call("What is it?").pipe(
            Effect.matchEffect({
              onFailure: (error) => Effect.sync(() => void log.push(reasonOf(error))),
              onSuccess: (state) => Effect.sync(() => void log.push(AgentState.text(state)))
            })
          )
      })
      const agent = Agent.make("a", { modes: [asking], guardrails: { output: [noBad] } })
      const state = yield* Agent.run(agent, "Go")
      assert.deepStrictEqual(log, ["GuardrailBlocked"])
      assert.strictEqual(state.status._tag, "Complete")
      assert.strictEqual(AgentState.text(state), "Fine.")
    }).pipe(
      Effect.provide(model(MockResponse.toolCall("enter_asking_mode", {}), "This is bad.", "Fine."))
    ))

  it.effect("can't go on past what the user said, where that is blocked", () =>
    Effect.gen(function*() {
      const log: Array<unknown> = []
      const asking = Mode.make("asking", {
        enter: () =>
          Effect.catch(Mode.call("What is it?"), (error) => Effect.sync(() => void log.push(reasonOf(error))))
      })
      const agent = Agent.make("a", { modes: [asking], guardrails: { input: [noBad] } })
      const moving = { ...AgentState.make("a"), transition: { enter: { name: "asking" } } }
      const error = yield* Effect.flip(Agent.resume(agent, AgentState.ask(moving, "bad words", 0)))
      assert.strictEqual(reasonOf(error), "GuardrailBlocked")
      assert.deepStrictEqual(log, ["GuardrailBlocked"])
    }).pipe(Effect.scoped, Effect.provide(model())))
})

describe("A plan", () => {
  it.effect("runs its agents under their own guardrails, and fails as one of them does", () =>
    Effect.gen(function*() {
      const writer = Agent.make("writer", { guardrails: { output: [noAda] } })
      const critic = Agent.make("critic", { guardrails: { input: [noBad] } })
      const plan = Plan.make({ nodes: [writer, critic], edges: [Plan.edge(writer, critic)] })
      assert.deepStrictEqual(yield* Plan.run(plan, "good"), { critic: "critic on: good, by her" })
      const error = yield* Effect.flip(Plan.run(plan, "bad"))
      assert.deepStrictEqual([error.node, reasonOf(error.reason)], ["critic", "GuardrailBlocked"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      writer: MockModel.make(({ lastUserText }) => `${lastUserText}, by Ada`),
      critic: MockModel.make(({ lastUserText }) => `critic on: ${lastUserText}`)
    })))))
})

describe("A dialogue", () => {
  it.effect("tells the others what has passed", () =>
    Effect.gen(function*() {
      const one = Agent.make("one", { guardrails: { output: [noAda] } })
      const two = Agent.make("two", { guardrails: { input: [noBad] } })
      const state = yield* Dialogue.run(Dialogue.make(one, two, { maxTurns: 2 }), "Who?")
      assert.deepStrictEqual(state.transcript.map(Dialogue.textOf), ["Who?", "It is her.", "Is it?"])
      const exit = yield* Effect.exit(Dialogue.run(Dialogue.make(two, one, { maxTurns: 2 }), "bad"))
      assert.strictEqual(exit._tag, "Failure")
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      one: MockModel.make(() => "It is Ada."),
      two: MockModel.make(() => "Is it?")
    })))))
})
