import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Result, Schema, SchemaGetter } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, AgentPicker, AgentState, Group, Guardrail, Handoff, Mode, Session, Trace } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { callsIn, places } from "../domain/legal.ts"
import { ofTag, watch } from "./watch.ts"
import { makeBacking } from "./written.ts"

const Refund = Tool.make("refund", {
  parameters: Schema.Struct({ euros: Schema.Int, on: Schema.Date }),
  success: Schema.String,
  needsApproval: true
})
const Refunds = Toolkit.make(Refund)
const handlers = Refunds.toLayer({
  refund: ({ euros, on }) => Effect.succeed(`${euros} on ${on.toISOString().slice(0, 10)}`)
})

const asked = { euros: 400, on: "2024-02-29T00:00:00.000Z" }
const given = { euros: 40, on: "2024-03-01T00:00:00.000Z" }
const wrong = { euros: "a lot", on: given.on }

const clerk = Agent.make("clerk", { toolkit: Refunds })
const boss = Agent.make("boss", { agents: [Agent.asTool(clerk, { name: "ask_clerk" })] })

const echo = ({ lastToolResults }: MockModel.MockRequest) =>
  lastToolResults.map(({ result }) => String(result)).join("; ")

const model = MockModel.layer(MockModel.conditional(
  MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, echo),
  MockModel.when(
    ({ tools }) => tools.some(({ name }) => name === "ask_clerk"),
    MockResponse.toolCall("ask_clerk", {
      task: "Refund."
    })
  ),
  MockModel.otherwise(MockResponse.toolCall("refund", asked, { id: "r" }))
))

const callOf = (self: AgentState.AgentState, id: string) =>
  places(self).flatMap((place) => callsIn(place.state.conversation)).find((call) => call.id === id)!

const errorOf = <A, E>(result: Result.Result<A, E>): E => Result.getOrThrow(Result.flip(result))

describe("A call that is approved with other parameters", () => {
  it.effect("gets no Promise and no Effect by a session, as which it would get an empty object", () =>
    Effect.gen(function*() {
      for (const params of [Promise.resolve(given), Effect.sync(() => given)]) {
        const session = yield* Session.make(clerk)
        yield* session.call("I want 400 euros back.")
        const exit = yield* Effect.exit(session.approve("r", { params: params as never }))
        const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.match(
          String(defect),
          /^TypeError: `params` of `approve` must be a value, not an? (Promise|Effect)/
        )
        assert.strictEqual((yield* session.state).status._tag, "WaitingForTools")
      }
    }).pipe(Effect.scoped, Effect.provide(handlers), Effect.provide(model)))

  it.effect("runs with those, and the model, the trace and the state say so", () =>
    Effect.gen(function*() {
      const waiting = yield* Agent.run(clerk, "I want 400 euros back.")
      const approved = yield* Effect.fromResult(AgentState.approve(waiting, "r", { params: given, agent: clerk }))
      const { events, exit } = yield* watch(Agent.resume(clerk, approved))
      const state = yield* exit
      assert.strictEqual(AgentState.text(state), "40 on 2024-03-01")
      assert.deepInclude(callOf(state, "r"), { params: given, asked })
      const [sent] = (yield* MockModel.calls).slice(-1)
      const text = JSON.stringify(sent!.request.prompt.content)
      assert.include(text, JSON.stringify(given))
      assert.notInclude(text, JSON.stringify(asked))
      assert.deepInclude(ofTag(events, "ToolCallStarted")[0], { params: given, asked })
      const shown = `\`${JSON.stringify(given)}\` in the place of \`${JSON.stringify(asked)}\``
      assert.include(Trace.toMarkdown(events), shown)
    }).pipe(Effect.provide([model, handlers])))

  it.effect("is decoded when it runs, where nobody did before: the model reads what is wrong", () =>
    Effect.gen(function*() {
      const waiting = yield* Agent.run(clerk, "Refund.")
      const approved = yield* Effect.fromResult(AgentState.approve(waiting, "r", { params: wrong }))
      const state = yield* Agent.resume(clerk, approved)
      assert.match(AgentState.text(state), /^The parameters of "refund" are wrong: .*euros/s)
    }).pipe(Effect.provide([model, handlers])))

  it.effect("is read by the agent of the call, at any depth", () =>
    Effect.gen(function*() {
      const waiting = yield* Agent.run(boss, "Refund.")
      const error = errorOf(AgentState.approve(waiting, "r", { params: wrong, agent: boss }))
      assert.deepInclude(error, { _tag: "ParamsRejected", callId: "r", tool: "refund" })
      assert.match(error.message, /euros/)
      const approved = yield* Effect.fromResult(AgentState.approve(waiting, "r", { params: given, agent: boss }))
      assert.strictEqual(AgentState.text(yield* Agent.resume(boss, approved)), "40 on 2024-03-01")
      const other = errorOf(AgentState.approve(waiting, "r", { params: given, agent: clerk }))
      assert.match(other.message, /has no tool "refund"/)
    }).pipe(Effect.provide([model, handlers])))

  it.effect("is read by who took over, and by a member of a group", () =>
    Effect.gen(function*() {
      const desk = Agent.make("desk", { handoffs: [Handoff.to(clerk)] })
      const handedOver = yield* Agent.run(desk, "Refund.").pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
        desk: MockModel.queue(MockResponse.toolCall("handoff_to_clerk", {})),
        clerk: MockModel.queue(MockResponse.toolCall("refund", asked, { id: "r" }))
      }))))
      const host = Agent.make("host")
      const group = Group.make({ host, clerk }, { start: AgentPicker.always("clerk") })
      const picked = yield* Agent.run(group, "Refund.").pipe(Effect.provide(model))
      const wrongly = [
        AgentState.approve(handedOver, "r", { params: wrong, agent: desk }),
        AgentState.approve(picked, "r", { params: wrong, agent: group })
      ]
      for (const result of wrongly) assert.match(errorOf(result).message, /euros/)
      assert.isTrue(Result.isSuccess(AgentState.approve(handedOver, "r", { params: given, agent: desk })))
      assert.isTrue(Result.isSuccess(AgentState.approve(picked, "r", { params: given, agent: group })))
    }).pipe(Effect.provide(handlers)))

  it.effect("isn't let through where its schema needs services or time", () =>
    Effect.gen(function*() {
      class Rates extends Context.Service<Rates, { readonly dollar: number }>()("test/Rates") {}
      const Dollars = Schema.Finite.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transformEffect((euros: number) => Effect.map(Rates, ({ dollar }) => euros * dollar)),
        encode: SchemaGetter.transform((dollars: number) => dollars)
      }))
      const Pay = Toolkit.make(
        Tool.make("pay", {
          parameters: Schema.Struct({ amount: Dollars }),
          success: Schema.String,
          needsApproval: true
        })
      )
      const payer = Agent.make("payer", { toolkit: Pay })
      const services = Layer.mergeAll(
        MockModel.layer(MockModel.conditional(
          MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, echo),
          MockModel.otherwise(MockResponse.toolCall("pay", { amount: 7 }, { id: "p" }))
        )),
        Pay.toLayer({ pay: ({ amount }) => Effect.succeed(`paid ${amount}`) })
      )
      yield* Effect.gen(function*() {
        // Who approves has none of the session's services.
        const session = yield* Session.make(payer).pipe(
          Effect.provide(services),
          Effect.provideService(Rates, { dollar: 1.5 })
        )
        const waiting = yield* session.call("Pay.")
        const error = errorOf(AgentState.approve(waiting, "p", { params: { amount: 2 }, agent: payer }))
        assert.match(error.message, /needs services or an effect/)
        yield* session.approve("p", { params: { amount: 2 } })
        assert.strictEqual(AgentState.text(yield* session.resume), "paid 3")
      }).pipe(Effect.scoped)
    }))
})

describe("A session's approval", () => {
  it.effect("reads other parameters first: what doesn't fit changes nothing", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(boss)
      const waiting = yield* session.call("Refund.")
      const error = yield* Effect.flip(session.approve("r", { params: wrong }))
      assert.strictEqual(error._tag, "SessionError")
      if (error._tag === "SessionError") {
        assert.deepInclude(error.reason, { _tag: "ParametersRejected", tool: "refund" })
        assert.match(error.message, /euros/)
      }
      assert.strictEqual(yield* session.state, waiting)
      const unknown = yield* Effect.flip(session.approve("none", { params: wrong }))
      assert.strictEqual(unknown._tag, "NotAwaitingApproval")

      const approved = yield* session.approve("r", { params: given })
      assert.strictEqual(yield* session.approve("r", { params: given }), approved)
      assert.strictEqual((yield* Effect.flip(session.approve("r", { params: wrong })))._tag, "NotAwaitingApproval")
      assert.strictEqual((yield* Effect.flip(session.approve("r")))._tag, "NotAwaitingApproval")
      const state = yield* session.resume
      assert.strictEqual(AgentState.text(state), "40 on 2024-03-01")
    }).pipe(Effect.scoped, Effect.provide([model, handlers])))

  it.effect("is stored with what the model had asked for", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(clerk, { store: Session.store("s") })
        yield* session.call("Refund.")
        yield* session.approve("r", { params: given })
      }))
      const session = yield* Session.make(clerk, { store: Session.store("s") })
      assert.deepInclude(callOf(yield* session.state, "r"), { params: given, asked })
      assert.strictEqual(AgentState.text(yield* session.resume), "40 on 2024-03-01")
    }).pipe(Effect.scoped, Effect.provide([model, handlers, KeyValueStore.layerMemory])))

  it.effect("reads by the tools of a mode, one that is used alone too", () =>
    Effect.gen(function*() {
      const service = Mode.make("service", { toolkit: Refunds, enter: () => Effect.void })
      const desk = Agent.make("desk")
      const approves = Effect.fnUntraced(function*(session: Session.Session<unknown, unknown>) {
        yield* session.call("Refund.")
        const error = yield* Effect.flip(session.approve("r", { params: wrong }))
        assert.match(error.message, /euros/)
        yield* session.approve("r", { params: given })
        assert.strictEqual(AgentState.text(yield* session.resume), "40 on 2024-03-01")
      })
      const session = yield* Session.make(desk, { modes: [service] })
      yield* session.enterMode("service")
      yield* approves(session)

      const another = yield* Session.make(desk)
      yield* Effect.scoped(Effect.andThen(
        Effect.provideService(Mode.enter(service, {}), Mode.Host, another),
        approves(another)
      ))
    }).pipe(Effect.scoped, Effect.provide([model, handlers])))
})

describe("Guardrails on calls", () => {
  const Letters = Toolkit.make(Tool.make("send", {
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String,
    needsApproval: true
  }))
  const seen: Array<string> = []
  const mask = Guardrail.make("mask", (text) => {
    seen.push(text)
    return text.includes("secret")
      ? Guardrail.replace(text.replace("secret", "[masked]"), "a secret")
      : text.includes("never")
      ? Guardrail.block("never say never")
      : Guardrail.pass
  })
  const writer = Agent.make("writer", { toolkit: Letters, guardrails: { toolCall: [mask] } })
  const sending = Layer.mergeAll(
    MockModel.layer(MockModel.conditional(
      MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, echo),
      MockModel.otherwise(MockResponse.toolCall("send", { text: "a secret" }, { id: "s" }))
    )),
    Letters.toLayer({ send: ({ text }) => Effect.succeed(`sent ${text}`) })
  )

  it.effect("look at what a person gives in the model's place, and at nothing twice", () =>
    Effect.gen(function*() {
      seen.length = 0
      const waiting = yield* Agent.run(writer, "Write.")
      assert.deepStrictEqual(callOf(waiting, "s").params, { text: "a [masked]" })
      const run = (text?: string) =>
        Effect.flatMap(
          Effect.fromResult(AgentState.approve(waiting, "s", text === undefined ? undefined : { params: { text } })),
          (approved) => Agent.resume(writer, approved)
        )
      const masked = yield* run("my secret")
      assert.strictEqual(AgentState.text(masked), "sent my [masked]")
      assert.deepInclude(callOf(masked, "s"), { params: { text: "my [masked]" }, asked: { text: "a [masked]" } })
      assert.match(AgentState.text(yield* run("never")), /^Guardrail "mask" blocked this call: never say never/)
      assert.strictEqual(AgentState.text(yield* run()), "sent a [masked]")
      assert.deepStrictEqual(seen, ["a secret", "my secret", "never"])
    }).pipe(Effect.provide(sending)))

  const asTool = Agent.make("boss", { agents: [Agent.asTool(writer)] })
  const places = [["an agent", writer, ["writer"]], ["a called agent", asTool, ["boss", "writer"]]] as const
  for (const [where, agent, path] of places) {
    it.effect(`keep nowhere what they mask or refuse of what a person gives a session, in ${where}`, () => {
      const { store, written } = makeBacking()
      return Effect.gen(function*() {
        const session = yield* Session.make(agent, { store: Session.store("ada") })
        const { events, exit } = yield* watch(Effect.gen(function*() {
          const waiting = yield* session.call("Write.")
          seen.length = 0
          const refused = yield* Effect.flip(session.approve("s", { params: { text: "never" } }))
          assert.isTrue(Session.isSessionError(refused) && refused.reason._tag === "ParametersRejected")
          assert.match(refused.message, /send.*never say never/s)
          const misfit = yield* Effect.flip(session.approve("s", { params: { words: "secret" } }))
          assert.match(misfit.message, /send.*text/s)
          assert.deepStrictEqual(yield* session.state, waiting, "the call still waits")
          assert.deepStrictEqual(seen, ["never"])
          const approved = yield* session.approve("s", { params: { text: "my secret" } })
          assert.strictEqual(yield* session.approve("s", { params: { text: "my secret" } }), approved)
          const other = yield* Effect.flip(session.approve("s", { params: { text: "another secret" } }))
          assert.strictEqual(other._tag, "NotAwaitingApproval")
          seen.length = 0
          const done = yield* session.resume
          assert.deepStrictEqual(seen, [], "what passed isn't judged again")
          return done
        }))
        const done = yield* exit
        const [event] = ofTag(events, "CallApproved")
        assert.deepInclude(event, { params: { text: "my [masked]" }, judged: ["mask"], path: [...path] })
        assert.deepInclude(ofTag(events, "ToolCallStarted").at(-1), { params: { text: "my [masked]" } })
        assert.include(AgentState.text(done), "sent my [masked]")
        const requests = (yield* MockModel.calls).map(({ request: { prompt } }) => prompt)
        assert.notInclude(JSON.stringify([written, events, requests, AgentState.toJson(done)]), "my secret")
        assert.strictEqual(ofTag(events, "GuardrailStarted").length, ofTag(events, "GuardrailSettled").length)
        for (const settled of ofTag(events, "GuardrailSettled")) assert.deepStrictEqual(settled.path, path)
        assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make(agent.name)), done)
      }).pipe(
        Effect.scoped,
        Effect.provide(Letters.toLayer({ send: ({ text }) => Effect.succeed(`sent ${text}`) })),
        Effect.provide(MockModel.layer(MockModel.byAgent({
          writer: MockModel.queue(MockResponse.toolCall("send", { text: "a secret" }, { id: "s" }), echo),
          boss: MockModel.queue(MockResponse.toolCall("writer", { task: "Write." }), echo)
        }))),
        Effect.provideService(KeyValueStore.KeyValueStore, store)
      )
    })
  }

  it.effect("judge what a person gave to a state when the run continues, also in a session", () =>
    Effect.gen(function*() {
      const raw = yield* Effect.flatMap(
        Agent.run(writer, "Write."),
        (waiting) => Effect.fromResult(AgentState.approve(waiting, "s", { params: { text: "my secret" } }))
      )
      const session = yield* Session.make(writer, { state: raw })
      assert.strictEqual(yield* session.approve("s", { params: { text: "my secret" } }), raw)
      const done = yield* session.resume
      assert.strictEqual(AgentState.text(done), "sent my [masked]")
      assert.notInclude(JSON.stringify(AgentState.toJson(done)), "my secret")
    }).pipe(Effect.scoped, Effect.provide(sending)))

  it.effect("refuse a replacement that the tool can't read", () =>
    Effect.gen(function*() {
      const swap = Guardrail.make("swap", () => Guardrail.replace({ words: 1 }, "other words"), { on: "toolCall" })
      const agent = Agent.make("writer", {
        toolkit: Letters,
        guardrails: {
          toolCall: [Guardrail.when((params: Schema.Json) => JSON.stringify(params).includes("swap"), swap)]
        }
      })
      const session = yield* Session.make(agent)
      const waiting = yield* session.call("Write.")
      const error = yield* Effect.flip(session.approve("s", { params: { text: "swap" } }))
      assert.match(error.message, /send.*text/s)
      assert.deepStrictEqual(yield* session.state, waiting)
    }).pipe(Effect.scoped, Effect.provide(sending)))
})
