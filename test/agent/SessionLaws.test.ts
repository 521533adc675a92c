import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Option, Result, Schema, Scope, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, type AgentEvent, AgentState, Conversation, Session } from "troupe"
import { Laws, MockModel, MockResponse } from "troupe/testing"
import { problems } from "../domain/legal.ts"
import { times } from "../matrix.ts"

const small = (limit: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: limit }))

/** Something that is asked of a session: after how many turns of the runtime, and how many later it is interrupted. */
const Asked = Schema.Struct({
  what: Schema.Literals([
    "call",
    "call",
    "call",
    "stream",
    "leave",
    "resume",
    "approve",
    "approve",
    "deny",
    "invoke",
    "fork",
    "close"
  ]),
  says: Schema.Literals(["text", "look", "guard", "both", "help", "fail", "crash"]),
  after: small(12),
  isInterrupted: Schema.Literals([false, false, true]),
  interruptedAfter: small(25)
})
type Asked = typeof Asked.Type

const Script = Schema.Array(Asked).check(Schema.isMinLength(1), Schema.isMaxLength(12))

const Look = Tool.make("look", { success: Schema.String })
const Guarded = Tool.make("guarded", { success: Schema.String, needsApproval: true })
const Crash = Tool.make("crash")
const Tools = Toolkit.make(Look, Guarded, Crash)
const handlers = Tools.toLayer({
  look: () => Effect.as(Effect.repeat(Effect.yieldNow, { times: 3 }), "a tree"),
  guarded: () => Effect.as(Effect.yieldNow, "opened"),
  crash: () => Effect.die("boom")
})
const helper = Agent.make("helper", { toolkit: Tools })
const agent = Agent.make("desk", { toolkit: Tools, agents: [Agent.asTool(helper)] })

const overloaded = AiError.make({
  module: "Test",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})

const answers = {
  text: MockResponse.text("Well."),
  look: MockResponse.toolCall("look", {}),
  guard: MockResponse.toolCall("guarded", {}),
  both: MockResponse.all(MockResponse.toolCall("guarded", {}), MockResponse.toolCall("look", {})),
  help: MockResponse.toolCall("helper", { task: "guard" }),
  fail: MockResponse.fail(overloaded),
  crash: MockResponse.toolCall("crash", {})
} as const

const model = MockModel.layer(MockModel.make(({ lastToolResults, lastUserText }) =>
  Effect.as(
    Effect.yieldNow,
    lastToolResults.length > 0 || !(lastUserText in answers)
      ? MockResponse.text("Done.")
      : answers[lastUserText as keyof typeof answers]
  )
))

/** What happened to a session, in its order: what its runs told, and what was changed by hand. */
type Happened = AgentEvent.AgentEvent | { readonly _tag: "Approve" | "Deny"; readonly callId: string }

/** The plain fold of what happened, without a session. */
const fold = (before: AgentState.AgentState, happened: Happened): AgentState.AgentState => {
  switch (happened._tag) {
    case "Approve":
      return Result.getOrThrow(AgentState.approve(before, happened.callId))
    case "Deny":
      return Result.getOrThrow(AgentState.deny(before, happened.callId, "no"))
    case "RunStarted":
      return AgentState.reduce(
        happened.calls.length === 0 && happened.input === undefined ? AgentState.reopen(before) : before,
        happened
      )
    case "ToolCallStarted": {
      if (happened.calls.length > 0 || Conversation.callIds(before.conversation).includes(happened.callId)) {
        return AgentState.reduce(before, happened)
      }
      const call = Conversation.call(happened.callId, happened.name, happened.params, { _tag: "Approved" })
      return AgentState.withConversation(
        before,
        Conversation.append(
          before.conversation,
          Conversation.assistant("desk", [{ ...call, metadata: { troupe: { invoked: true } } }])
        )
      )
    }
    default:
      return AgentState.reduce(before, happened)
  }
}

/** Does what was asked, and everything at once that comes with it. */
const play = Effect.fnUntraced(function*(script: ReadonlyArray<Asked>) {
  const happened: Array<Happened> = []
  const observe = Agent.observe((event) => Effect.sync(() => void happened.push(event)))
  const scope = yield* Scope.make()
  const session = yield* Session.make(agent, { store: Session.store("s") }).pipe(Scope.provide(scope))
  const changes = yield* Effect.forkDetach(Stream.runCollect(session.changes), { startImmediately: true })
  const forks: Array<AgentState.AgentState> = []

  const answer = (what: "Approve" | "Deny") =>
    Effect.gen(function*() {
      const [first] = AgentState.pendingApprovals(yield* session.state)
      if (first === undefined) return
      const { callId } = first
      const before = yield* session.state
      const after = yield* what === "Approve" ? session.approve(callId) : session.deny(callId, "no")
      if (after !== before) happened.push({ _tag: what, callId })
    })
  const operations: Record<Asked["what"], (says: Asked["says"]) => Effect.Effect<unknown, unknown>> = {
    call: (says) => session.call(says),
    stream: (says) => Stream.runDrain(session.stream(says)),
    leave: (says) => Stream.runDrain(Stream.take(session.stream(says), 5)),
    resume: () => session.resume,
    approve: () => answer("Approve"),
    deny: () => answer("Deny"),
    invoke: (says) => session.invoke(says === "crash" ? Crash : says === "guard" ? Guarded : Look, {}),
    fork: () =>
      Effect.scoped(Effect.gen(function*() {
        const fork = yield* session.fork
        forks.push(yield* fork.state)
        yield* Effect.ignoreCause(fork.call("text"))
        assert.deepStrictEqual(problems((yield* fork.state).conversation), [])
      })),
    close: () => Scope.close(scope, Exit.void)
  }

  const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
  for (const { after, interruptedAfter, isInterrupted, says, what } of script) {
    yield* Effect.repeat(Effect.yieldNow, { times: after })
    const operation = operations[what](says)
    const fiber = yield* Effect.forkDetach(what === "fork" ? operation : observe(operation), { startImmediately: true })
    fibers.push(fiber)
    // Answers stay as they are asked: one that is interrupted once it is done couldn't say so.
    if (isInterrupted && what !== "approve" && what !== "deny" && what !== "close") {
      fibers.push(
        yield* Effect.forkDetach(
          Effect.andThen(Effect.repeat(Effect.yieldNow, { times: interruptedAfter }), Fiber.interrupt(fiber))
        )
      )
    }
  }
  const exits = yield* Effect.forEach(fibers, Fiber.await)
  yield* Scope.close(scope, Exit.void)
  return { session, happened, exits, forks, changes: yield* Fiber.join(changes) }
})

describe("A session under anything that is asked of it", () => {
  it.effect.prop("is the plain fold of what happened, saved and shown", [Script], ([script]) =>
    Effect.gen(function*() {
      const { changes, exits, forks, happened, session } = yield* play(script)
      const states = [AgentState.make("desk")]
      for (const event of happened) {
        const before = states[states.length - 1]!
        const after = fold(before, event)
        if (after !== before) states.push(after)
      }
      const state = yield* session.state
      assert.deepStrictEqual(state, states[states.length - 1])
      assert.deepStrictEqual(changes, states)
      assert.deepStrictEqual(Laws.illegalMoves(changes), [])
      assert.deepStrictEqual(problems(state.conversation), [])
      for (const fork of forks) assert.isTrue(states.some((state) => JSON.stringify(state) === JSON.stringify(fork)))

      if (states.length > 1) assert.deepStrictEqual(yield* Session.load("s"), state)
      const expected = new Set(["AgentError", "NotAwaitingApproval", "SessionClosed", "CallsOpen"])
      for (const exit of exits) {
        if (Exit.isSuccess(exit) || Exit.hasInterrupts(exit) || Cause.hasDies(exit.cause)) continue
        const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
        const tag = Session.isSessionError(error) ? error.reason._tag : (error as { readonly _tag: string })._tag
        assert.isTrue(expected.has(tag), tag)
      }
    }).pipe(
      Effect.provide(Layer.fresh(KeyValueStore.layerMemory)),
      Effect.provide(handlers),
      Effect.provide(Layer.fresh(model))
    ), { arbitrary: { runs: times(100, 35) } })
})
