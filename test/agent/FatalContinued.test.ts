import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Option, Predicate, Result, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import {
  Agent,
  AgentError,
  type AgentEvent,
  AgentState,
  Conversation,
  Group,
  Guardrail,
  Handoff,
  Mode,
  Session,
  ToolPolicy
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import * as Kept from "../../src/cluster/Kept.ts"
import * as Recovery from "../../src/cluster/Recovery.ts"
import { observed, pure } from "../../src/testing/laws/EventLaws.ts"

class Refused extends Schema.TaggedError<Refused>()("Refused", { why: Schema.String }) {}

const Pay = Tool.make("pay", { parameters: Schema.Struct({ why: Schema.String }), failure: Refused })
const Say = Tool.make("say", { parameters: Schema.Struct({ why: Schema.String }), failure: Schema.String })
const Look = Tool.make("look", { success: Schema.String })
const Open = Tool.make("open", { success: Schema.String, needsApproval: true })
const Short = ToolPolicy.set(
  Tool.make("short", { parameters: Schema.Struct({ why: Schema.String }), failure: Schema.String }),
  { maxLength: 5 }
)
const Odd = Tool.make("odd", { failure: Schema.Int })
const Alone = ToolPolicy.set(Tool.make("alone", { success: Schema.String }), { exclusive: true })
const Kit = Toolkit.make(Pay, Say, Look, Open, Short, Odd, Alone)
const fatal = ["pay", "say", "short", "odd"] as const

const handlersWith = (look: Effect.Effect<string>) =>
  Kit.toLayer({
    pay: ({ why }) => Effect.fail(new Refused({ why })),
    say: ({ why }) => Effect.fail(why),
    look: () => look,
    open: () => Effect.succeed("open"),
    short: ({ why }) => Effect.fail(why),
    odd: () => Effect.fail(0.5),
    alone: () => Effect.succeed("alone")
  })
const handlers = handlersWith(Effect.succeed("a tree"))

const call = (name: string, params: unknown = {}) => MockResponse.toolCall(name, params, { id: name })
const pay = (why = "no money", id = "pay") => MockResponse.toolCall("pay", { why }, { id })

/** Models that answer by how often they have answered, so that any process goes on alike. */
const models = (answers: Record<string, ReadonlyArray<MockResponse.MockResponse | string>>) =>
  MockModel.layer(MockModel.make((request) => {
    const turns = request.state?.conversation.turns ?? []
    const count = turns.filter((turn) => turn._tag === "Assistant" && turn.agent === request.agent).length
    return answers[request.agent ?? ""]?.[count] ?? "All is well."
  }))

const json = (state: AgentState.AgentState) =>
  Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))

/** A state as it was, without the times of its run. */
const timeless = (state: AgentState.AgentState): unknown =>
  JSON.parse(
    JSON.stringify(AgentState.toJson(state)),
    (key, value) => key === "startedAt" || key === "elapsed" || key === "enteredAt" ? 0 : value
  )

/** What an error says beside the state in it. */
const reasonOf = (error: unknown) => error instanceof AgentError.AgentError ? error.reason : error

type Runnable = Agent.Runnable<string, unknown, unknown, unknown>

/** Runs an agent, and continues from each of its states: in one go, by a stream, and step by step. All end alike. */
const everywhere = Effect.fnUntraced(function*(
  agent: Runnable,
  layer: Layer.Layer<never, unknown>,
  from: string | AgentState.AgentState = "Hello",
  sameError = true
) {
  const within = <A, E>(self: Effect.Effect<A, E, unknown>) => Effect.provide(self, layer) as Effect.Effect<A, E>
  const events: Array<AgentEvent.AgentEvent> = []
  const exit = yield* within(Effect.exit(Stream.runForEach(
    Agent.stream(agent, from),
    (event) => Effect.sync(() => void events.push(event))
  )))
  const run = observed(from, events, exit)
  for (const [law, check] of Object.entries(pure)) assert.strictEqual(check(run), undefined, law)
  const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  for (const [at, state] of run.states.entries()) {
    if (state === run.states[at - 1]) continue
    const where = `continued after event ${at}, ${events[at]!._tag}`
    const again = json(state)
    assert.deepStrictEqual(again, state, where)
    const told = yield* within(Effect.exit(Agent.resume(agent, again)))
    const plain = Exit.isSuccess(told) ? told.value : Option.getOrThrow(Agent.failedState(told.cause))
    assert.deepStrictEqual(timeless(plain), timeless(run.last), where)
    if (sameError && state.status._tag !== "Failed" && error !== undefined) {
      assert.deepStrictEqual(
        reasonOf(Exit.isFailure(told) ? Cause.squash(told.cause) : undefined),
        reasonOf(error),
        where
      )
    }
    const stream: Array<AgentEvent.AgentEvent> = []
    yield* within(Effect.exit(Stream.runForEach(
      Agent.stream(agent, again),
      (event) => Effect.sync(() => void stream.push(event))
    )))
    assert.deepStrictEqual(timeless(stream.reduce(AgentState.reduce, again)), timeless(run.last), where)
    let stepped = again
    while (true) {
      const step = yield* within(Effect.exit(Agent.step(agent, stepped)))
      const next = Exit.isSuccess(step) ? step.value : Option.getOrThrow(Agent.failedState(step.cause))
      if (next === stepped) break
      stepped = next
    }
    assert.deepStrictEqual(timeless(stepped), timeless(run.last), `${where}, by steps`)
  }
  return { ...run, error }
})

const statusOf = ({ status }: AgentState.AgentState) =>
  status._tag === "Failed" ? `${status.error.tag}: ${status.error.message}` : status._tag

const resultsOf = (state: AgentState.AgentState) =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : []).map((call) =>
    call.state._tag === "Settled"
      ? `${call.name} ${call.state.outcome}: ${JSON.stringify(call.state.result)}`
      : `${call.name} ${call.state._tag}`
  )

const leaf = Agent.make("leaf", { toolkit: Kit, fatal })

describe("A run that a fatal tool ends fails the same from each of its states", () => {
  it.effect("at the top, with the tool's own error", () =>
    Effect.gen(function*() {
      const { error, last } = yield* everywhere(leaf, Layer.mergeAll(handlers, models({ leaf: [pay()] })))
      assert.deepStrictEqual(error, new Refused({ why: "no money" }))
      assert.strictEqual(statusOf(last), "Refused: Refused")
      assert.isUndefined(last.run.fatal)
      const plain = yield* everywhere(leaf, Layer.mergeAll(handlers, models({ leaf: [call("say", { why: "down" })] })))
      assert.strictEqual(plain.error as unknown, "down")
    }))

  it.effect("in a called agent, and two deep: the caller reads the error", () =>
    Effect.gen(function*() {
      const middle = Agent.make("middle", { agents: [Agent.asTool(leaf)] })
      const root = Agent.make("root", { agents: [Agent.asTool(leaf), Agent.asTool(middle)] })
      const layer = Layer.mergeAll(
        handlers,
        models({
          root: [MockResponse.all(call("leaf", { task: "x" }), call("middle", { task: "y" })), "Done."],
          middle: [call("leaf", { task: "z" })],
          leaf: [call("say", { why: "down" })]
        })
      )
      const { last } = yield* everywhere(root, layer)
      assert.deepStrictEqual(resultsOf(last), [
        `leaf Failed: "Agent \\"leaf\\" failed: down"`,
        `middle Succeeded: "All is well."`
      ])
    }))

  it.effect("in a group, after a handoff, and beside a handoff that was asked for", () =>
    Effect.gen(function*() {
      const front = Agent.make("front", { handoffs: [Handoff.to(leaf)] })
      const group = Group.make({ front, leaf }, { start: "front" })
      const transfer = MockResponse.toolCall("handoff_to_leaf", {})
      const after = yield* everywhere(group, Layer.mergeAll(handlers, models({ front: [transfer], leaf: [pay()] })))
      assert.strictEqual(statusOf(after.last), "Refused: Refused")
      assert.strictEqual(after.last.agent, "leaf")
      const clerk = Agent.make("clerk", { toolkit: Kit, fatal, handoffs: [Handoff.to(leaf)] })
      const beside = yield* everywhere(
        clerk,
        Layer.mergeAll(handlers, models({ clerk: [MockResponse.all(transfer, pay())] }))
      )
      assert.strictEqual(statusOf(beside.last), "Refused: Refused")
      assert.strictEqual(beside.last.agent, "clerk")
    }))

  for (const isolation of ["none", "thread", "fork"] as const) {
    it.effect(`in a mode of isolation ${isolation}, and in a called agent in such a mode`, () =>
      Effect.gen(function*() {
        const research = Mode.make("research", { isolation, invokable: true, enter: () => Effect.void })
        const scholar = Agent.make("scholar", { toolkit: Kit, fatal, modes: [research] })
        const root = Agent.make("root", { agents: [Agent.asTool(scholar)] })
        const layer = Layer.mergeAll(
          handlers,
          models({ scholar: [call("enter_research_mode"), pay()], root: [call("scholar", { task: "x" }), "Done."] })
        )
        const { last } = yield* everywhere(scholar, layer)
        assert.strictEqual(statusOf(last), "Refused: Refused")
        const called = yield* everywhere(root, layer)
        assert.deepStrictEqual(resultsOf(called.last), [`scholar Failed: "Agent \\"scholar\\" failed: Refused"`])
      }))
  }

  it.effect("beside calls that succeed, wait for approval, run alone, or are fatal too: the first in their order counts", () =>
    Effect.gen(function*() {
      const calls = [
        [call("look"), pay(), call("alone"), MockResponse.toolCall("look", {}, { id: "after" })],
        [pay(), call("open")],
        [call("open"), pay()],
        [pay("first", "one"), call("alone"), pay("second", "two")]
      ]
      for (const asked of calls) {
        const { error, last } = yield* everywhere(
          leaf,
          Layer.mergeAll(handlers, models({ leaf: [MockResponse.all(...asked)] }))
        )
        assert.strictEqual(statusOf(last), "Refused: Refused")
        assert.deepStrictEqual(error, new Refused({ why: asked.length === 3 ? "first" : "no money" }))
        const root = Agent.make("root", { agents: [Agent.asTool(leaf)] })
        const called = yield* everywhere(
          root,
          Layer.mergeAll(
            handlers,
            models({ leaf: [MockResponse.all(...asked)], root: [call("leaf", { task: "x" }), "Done."] })
          )
        )
        assert.deepStrictEqual(resultsOf(called.last), [`leaf Failed: "Agent \\"leaf\\" failed: Refused"`])
      }
    }))

  it.effect("if guardrails mask its error, block it, or leave what isn't the tool's error any more", () =>
    Effect.gen(function*() {
      const names = Guardrail.make("names", (result: unknown) => {
        const why = Predicate.hasProperty(result, "why") ? result.why : ""
        return why === "Ada" ?
          Guardrail.replace({ _tag: "Refused", why: "her" }, "a name")
          : why === "Eve" ?
          Guardrail.block("nobody")
          : why === "Bob" ?
          Guardrail.replace({ hidden: true }, "a name")
          : Guardrail.pass
      }, { on: "toolResult" })
      const guarded = Agent.make("guarded", { toolkit: Kit, fatal, guardrails: { toolResult: [names] } })
      const root = Agent.make("root", { agents: [Agent.asTool(guarded)] })
      for (
        const [why, tag] of [["Ada", "Refused"], ["Eve", "GuardrailBlocked"], ["Bob", "GuardrailBlocked"]] as const
      ) {
        const layer = Layer.mergeAll(
          handlers,
          models({ guarded: [pay(why)], root: [call("guarded", { task: "x" }), "Done."] })
        )
        const { error, events, last } = yield* everywhere(guarded, layer)
        assert.isTrue(statusOf(last).startsWith(`${tag}: `), statusOf(last))
        if (why === "Ada") assert.deepStrictEqual(error, new Refused({ why: "her" }))
        const settled = events.find(({ _tag }) => _tag === "ToolCallSettled")
        assert.notInclude(JSON.stringify(settled), why)
        const called = yield* everywhere(root, layer)
        assert.isTrue(statusOf(called.last) === "Complete" && resultsOf(called.last)[0]!.startsWith("guarded Failed:"))
      }
    }))

  it.effect("with `ToolFailed` if its result says less than its error did", () =>
    Effect.gen(function*() {
      for (const [asked, tag, message] of [["short", "Failure", "a long text"], ["odd", "Failure", "0.5"]] as const) {
        const layer = Layer.mergeAll(
          handlers,
          models({ leaf: [call(asked, asked === "odd" ? {} : { why: "a long text" })] })
        )
        const { events, last } = yield* everywhere(leaf, layer, "Hello", false)
        assert.strictEqual(statusOf(last), `${tag}: ${message}`)
        const at = events.findIndex(({ _tag }) => _tag === "ToolCallSettled")
        const middle = events.slice(0, at + 1).reduce(AgentState.reduce, AgentState.make("leaf"))
        const error = yield* Effect.flip(Agent.resume(leaf, middle)).pipe(Effect.provide(layer))
        const reason = new AgentError.ToolFailed({ agent: "leaf", tool: asked, callId: asked, error: { tag, message } })
        assert.deepStrictEqual(reasonOf(error), reason)
        assert.deepStrictEqual(error instanceof AgentError.AgentError && timeless(error.state), timeless(last))
      }
    }))
})

describe("A run that a fatal tool ends", () => {
  const layer = Layer.mergeAll(handlers, models({ leaf: [MockResponse.all(pay(), call("open"))] }))
  const middle = Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    yield* Effect.exit(
      Agent.run(leaf, "Hello").pipe(Agent.observe((event) => Effect.sync(() => void events.push(event))))
    )
    const at = events.findIndex(({ _tag }) => _tag === "ToolCallSettled")
    const state = events.slice(0, at + 1).reduce(AgentState.reduce, AgentState.make("leaf"))
    const last = events.reduce(AgentState.reduce, AgentState.make("leaf"))
    return { state, last }
  }).pipe(Effect.provide(layer))

  it.effect("goes on once it is reopened, and the model reads the error", () =>
    Effect.gen(function*() {
      const paying = Layer.mergeAll(handlers, models({ leaf: [pay()] }))
      const failed = yield* Effect.provide(Agent.settle(leaf, "Hello"), paying)
      const again = yield* Effect.provide(Agent.resume(leaf, AgentState.reopen(json(failed))), paying)
      assert.strictEqual(statusOf(again), "Complete")
      assert.deepStrictEqual(resultsOf(again), [`pay Failed: {"_tag":"Refused","why":"no money"}`])
      const spoken = yield* Effect.provide(Agent.continueConversation(leaf, failed, "And now?"), paying)
      assert.strictEqual(statusOf(spoken), "Complete")
    }))

  it.effect("needs nothing but to fail, even while another call awaits approval", () =>
    Effect.gen(function*() {
      const { last, state } = yield* middle
      assert.deepStrictEqual(state.run.fatal, {
        callId: "pay",
        name: "pay",
        reason: { tag: "Refused", message: "Refused" }
      })
      assert.deepStrictEqual(AgentState.next(state), { _tag: "FailRun", fatal: state.run.fatal! })
      assert.strictEqual(AgentState.next(last)._tag, "Stop")
      assert.deepStrictEqual(resultsOf(last)[1], "open AwaitingApproval")
    }))

  it.effect("fails in a session that is opened where its process died, and `resume` reopens it then", () =>
    Effect.gen(function*() {
      const paying = Layer.mergeAll(handlers, models({ leaf: [pay()] }))
      const memory = yield* KeyValueStore.KeyValueStore
      let isDead = false
      // Nothing is written any more once the failure of the call is.
      const dying = KeyValueStore.KeyValueStore.of({
        ...memory,
        set: (key, value) =>
          isDead ? Effect.void : Effect.tap(memory.set(key, value), () =>
            Effect.sync(() => {
              isDead = String(value).includes("\"fatal\"")
            }))
      })
      const open = Session.make(leaf, { store: Session.store("1") })
      yield* Effect.scoped(Effect.flatMap(open, (session) => Effect.exit(session.call("Hello")))).pipe(
        Effect.provideService(KeyValueStore.KeyValueStore, dying),
        Effect.provide(paying)
      )
      assert.isTrue(isDead)
      yield* Effect.gen(function*() {
        const session = yield* open
        const state = yield* session.state
        assert.deepStrictEqual([state.status._tag, state.run.fatal?.callId], ["InProgress", "pay"])
        assert.deepStrictEqual(yield* Effect.flip(session.resume), new Refused({ why: "no money" }))
        assert.strictEqual((yield* session.state).status._tag, "Failed")
        assert.strictEqual(statusOf(yield* session.resume), "Complete")
      }).pipe(Effect.scoped, Effect.provide(paying))
    }).pipe(Effect.provide(KeyValueStore.layerMemory)))

  it.effect("fails on the runner that takes its conversation over", () =>
    Effect.gen(function*() {
      const paying = Layer.mergeAll(handlers, models({ root: [call("leaf", { task: "x" }), "Done."], leaf: [pay()] }))
      const root = Agent.make("root", { agents: [Agent.asTool(leaf)] })
      const events: Array<AgentEvent.AgentEvent> = []
      const observing = Agent.observe((event) => Effect.sync(() => void events.push(event)))
      yield* Effect.provide(Agent.run(root, "Hello").pipe(observing), paying)
      const at = events.findIndex(({ _tag }) => _tag === "ToolCallSettled")
      const entry = Result.getOrThrow(Kept.entryFromText(Kept.entryToText({ events: events.slice(0, at + 1) })))
      const kept = Kept.take(Kept.begin(AgentState.make("root")), entry)
      const taken = Recovery.missing(kept).reduce(AgentState.reduce, kept.state)
      const last = yield* Effect.provide(Agent.settle(root, taken), paying)
      assert.deepStrictEqual(resultsOf(last), [`leaf Failed: "Agent \\"leaf\\" failed: Refused"`])
    }))

  it.effect("isn't what a program's own call is: the run goes on after it", () =>
    Effect.scoped(Effect.gen(function*() {
      const session = yield* Session.make(leaf)
      assert.deepStrictEqual(yield* Effect.flip(session.invoke(Pay, { why: "x" })), new Refused({ why: "x" }))
      assert.isUndefined((yield* session.state).run.fatal)
      assert.strictEqual(statusOf(yield* session.resume), "Complete")
    })).pipe(Effect.provide(Layer.mergeAll(handlers, models({})))))

  it.effect("isn't ended by what a mode says while it is entered or left, if the mode goes on", () =>
    Effect.gen(function*() {
      const careful = Mode.make("careful", {
        isolation: "none",
        invokable: true,
        enter: () =>
          Effect.gen(function*() {
            yield* Effect.ignore(Mode.call("Try it."))
          }) as never
      })
      const agent = Agent.make("agent", { toolkit: Kit, fatal, modes: [careful] })
      const said: Array<string> = []
      const layer = Layer.mergeAll(
        handlers,
        models({ agent: [call("enter_careful_mode"), pay()] })
      )
      const state = yield* Agent.settle(agent, "Hello").pipe(
        Agent.observe((event) => Effect.sync(() => void said.push(event._tag))),
        Effect.provide(layer)
      )
      assert.strictEqual(statusOf(state), "Complete", said.join(" "))
      assert.isUndefined(state.run.fatal)
    }))

  it.effect("lets a mode speak with the agent on its way out, and fails all the same, wherever it goes on", () =>
    Effect.gen(function*() {
      const tidy = Mode.make("tidy", {
        isolation: "none",
        invokable: true,
        enter: () => Effect.addFinalizer(() => Effect.ignore(Mode.call("Tidy up.")))
      })
      const agent = Agent.make("agent", { toolkit: Kit, fatal, modes: [tidy] })
      const root = Agent.make("root", { agents: [Agent.asTool(agent)] })
      const layer = Layer.mergeAll(
        handlers,
        models({ agent: [call("enter_tidy_mode"), pay()], root: [call("agent", { task: "x" }), "Done."] })
      )
      const events: Array<AgentEvent.AgentEvent> = []
      const last = yield* Agent.settle(root, "Hello").pipe(
        Agent.observe((event) => Effect.sync(() => void events.push(event))),
        Effect.provide(layer)
      )
      const failed = [`agent Failed: "Agent \\"agent\\" failed: Refused"`]
      assert.deepStrictEqual(resultsOf(last), failed)
      assert.isTrue(events.some((event) => event._tag === "InputGiven"))
      let state = AgentState.make("root")
      for (const event of events) {
        state = AgentState.reduce(state, event)
        const again = yield* Effect.provide(Agent.settle(root, json(state)), layer)
        assert.deepStrictEqual(resultsOf(again), failed, event._tag)
      }
    }))

  it.effect("interrupted before the other calls ended, fails once it is resumed", () =>
    Effect.gen(function*() {
      const events: Array<AgentEvent.AgentEvent> = []
      const stuck = handlersWith(Effect.never)
      for (const calls of [[pay(), call("look")], [call("look"), pay()]]) {
        events.length = 0
        const layer = models({ leaf: [MockResponse.all(...calls)] })
        const fiber = yield* Effect.forkChild(
          Agent.run(leaf, "Hello").pipe(
            Agent.observe((event) => Effect.sync(() => void events.push(event))),
            Effect.provide([stuck, layer])
          )
        )
        for (let i = 0; i < 50; i++) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        const end = events.at(-1)
        assert.isTrue(end?._tag === "RunInterrupted")
        const state = json(end !== undefined && "state" in end ? end.state : AgentState.make("leaf"))
        assert.strictEqual(state.run.fatal?.callId, "pay")
        const error = yield* Effect.flip(Agent.resume(leaf, state)).pipe(Effect.provide([handlers, layer]))
        assert.deepStrictEqual(error, new Refused({ why: "no money" }))
      }
    }))
})
