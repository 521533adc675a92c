/** Results that come later: who waits for them, how they are given, and what becomes of them. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Result, Schema } from "effect"
import { Prompt, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, AgentState, Conversation, Guardrail, Handoff, Session, StopWhen, ToolPolicy, Trace } from "troupe"
import { MockModel, MockResponse, Story } from "troupe/testing"
import { deepFreeze, problems } from "../domain/legal.ts"
import { imbalances } from "./balanced.ts"
import { callOf, ofTag, told, watch } from "./watch.ts"
import { makeBacking } from "./written.ts"

const { all, toolCall } = MockResponse

const Ship = Tool.make("ship", {
  parameters: Schema.Struct({ order: Schema.Int }),
  success: Schema.Struct({ at: Schema.Date })
})
const Look = Tool.make("look", { success: Schema.String })
const Pay = Tool.make("pay", { success: Schema.String, needsApproval: true })
const Kit = Toolkit.make(Ship, Look, Pay)

/** The orders that were shipped, and handlers that ship them. */
const makeShop = () => {
  const started: Array<number> = []
  const handlers = Kit.toLayer({
    ship: ({ order }) => Effect.andThen(Effect.sync(() => void started.push(order)), ToolPolicy.deferResult),
    look: () => Effect.succeed("a tree"),
    pay: () => ToolPolicy.deferResult
  })
  return { started, handlers }
}

const clerk = Agent.make("clerk", { toolkit: Kit })

const at = { at: "2024-02-29T00:00:00.000Z" }

const throughText = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

const give = (state: AgentState.AgentState, callId: string, result: Schema.Json): AgentState.AgentState =>
  Result.getOrThrow(AgentState.giveResult(deepFreeze(state), callId, result))

const awaited = (state: AgentState.AgentState): ReadonlyArray<string> =>
  AgentState.pendingResults(state).map(({ callId }) => callId)

const stateOf = (state: AgentState.AgentState, id: string) => callOf(state, id)?.state

const scripted = (...script: ReadonlyArray<MockResponse.Input>) =>
  Layer.fresh(MockModel.layer(MockModel.queue(...script)))

/** Runs something with a shop and a script. */
const inShop = <A, E, R>(
  script: ReadonlyArray<MockResponse.Input>,
  use: (started: ReadonlyArray<number>) => Effect.Effect<A, E, R>
) => {
  const { handlers, started } = makeShop()
  return use(started).pipe(Effect.provide(handlers), Effect.provide(scripted(...script)))
}

describe("A handler that defers its result", () => {
  it.effect("leaves its call open, and the run succeeds with a state that names it", () =>
    inShop(
      [all(toolCall("ship", { order: 7 }, { id: "s" }), toolCall("look", {}, { id: "l" })), "On its way."],
      () =>
        Effect.gen(function*() {
          const { events, exit } = yield* watch(Agent.run(clerk, "Ship 7."))
          const state = Exit.getSuccess(exit)._tag === "Some" ? yield* exit : assert.fail("the run failed")
          assert.strictEqual(state.status._tag, "WaitingForTools")
          assert.deepStrictEqual(AgentState.pendingResults(state), [
            { path: ["clerk"], calls: [], callId: "s", name: "ship", params: { order: 7 } }
          ])
          assert.deepStrictEqual(AgentState.pendingApprovals(state), [])
          assert.strictEqual(stateOf(state, "l")?._tag, "Settled")
          assert.deepStrictEqual(imbalances(events), [])
          assert.deepStrictEqual(problems(state.conversation), [])
          assert.deepStrictEqual(
            events.filter((event) => "callId" in event && event.callId === "s").map(({ _tag }) => _tag),
            ["ToolCallStarted", "ResultAwaited"]
          )
          assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make("clerk")), state)
          assert.deepStrictEqual(AgentState.next(state), { _tag: "Await" })
          assert.deepStrictEqual(throughText(state), state)
        })
    ))

  it.effect("isn't started again: the result is read, told to the model, and the run goes on", () =>
    inShop([toolCall("ship", { order: 7 }, { id: "s" }), "It is there."], (started) =>
      Effect.gen(function*() {
        const waiting = yield* Agent.run(clerk, "Ship 7.")
        // Nothing to do yet.
        assert.deepStrictEqual((yield* Agent.resume(clerk, waiting)).conversation, waiting.conversation)
        const given = throughText(give(waiting, "s", at))
        assert.deepStrictEqual(stateOf(given, "s"), { _tag: "Answered", outcome: "Succeeded", result: at })
        assert.deepStrictEqual(AgentState.next(given), { _tag: "RunCalls", callIds: ["s"] })
        const { events, exit } = yield* watch(Agent.resume(clerk, given))
        const done = yield* exit
        assert.strictEqual(done.status._tag, "Complete")
        assert.deepStrictEqual(yield* told, [{ id: "s", isFailure: false, result: at }])
        assert.deepStrictEqual(started, [7])
        assert.deepStrictEqual(imbalances(events), [])
        assert.deepStrictEqual(ofTag(events, "ToolCallStarted"), [])
        assert.deepStrictEqual(events.reduce(AgentState.reduce, given), done)
        assert.deepStrictEqual(done.run.succeeded, ["ship"])
      })))

  it.effect("that needs approval is approved first, and awaits its result then", () =>
    inShop([toolCall("pay", {}, { id: "p" }), "Paid."], () =>
      Effect.gen(function*() {
        const first = yield* Agent.run(clerk, "Pay.")
        assert.deepStrictEqual([AgentState.pendingApprovals(first).length, awaited(first)], [1, []])
        const refused = Result.getOrThrow(Result.flip(AgentState.giveResult(first, "p", "ok")))
        assert.deepStrictEqual([refused.found, refused.awaiting], ["AwaitingApproval", []])
        const second = yield* Agent.resume(clerk, Result.getOrThrow(AgentState.approve(first, "p")))
        assert.deepStrictEqual([AgentState.pendingApprovals(second), awaited(second)], [[], ["p"]])
        const denied = Result.getOrThrow(Result.flip(AgentState.deny(second, "p", "no")))
        assert.strictEqual(denied.found, "AwaitingResult")
        assert.strictEqual(AgentState.text(yield* Agent.resume(clerk, give(second, "p", "ok"))), "Paid.")
      })))

  it.effect("may belong to a toolkit that has its own handlers, be retried and have a time-out", () =>
    Effect.gen(function*() {
      const { handlers } = makeShop()
      const toolkit = yield* Effect.provide(Kit, handlers)
      const own = Agent.make("own", {
        toolkit: ToolPolicy.setAll(toolkit, { timeout: "1 minute", idempotent: true })
      })
      const script = scripted(toolCall("ship", { order: 1 }, { id: "s" }), "There.")
      const done = Effect.flatMap(
        Agent.run(own, "Ship 1."),
        (waiting) => Agent.resume(own, give(waiting, "s", at))
      )
      assert.strictEqual(AgentState.text(yield* Effect.provide(done, script)), "There.")
    }))

  it.effect("is a handler: anywhere else it is a defect that says so, in a called agent too", () =>
    Effect.gen(function*() {
      const odd = Agent.make("odd", { instructions: () => ToolPolicy.deferResult })
      const boss = Agent.make("boss", { agents: [Agent.asTool(odd)] })
      const exit = yield* Agent.run(boss, "Go.").pipe(
        Effect.provide(scripted(toolCall("odd", { task: "Go." }), "Done.")),
        Effect.exit
      )
      assert.isTrue(Exit.hasDies(exit))
      assert.include(String(Exit.isFailure(exit) && Cause.squash(exit.cause)), "outside of a tool's handler")
    }))

  it.effect("with a defect beside is a broken handler", () =>
    Effect.gen(function*() {
      const handlers = Toolkit.make(Look).toLayer({
        look: () => Effect.ensuring(ToolPolicy.deferResult, Effect.die("boom"))
      })
      const exit = yield* Agent.run(Agent.make("a", { toolkit: Toolkit.make(Look) }), "Look.").pipe(
        Effect.provide(handlers),
        Effect.provide(scripted(toolCall("look", {}))),
        Effect.exit
      )
      assert.isTrue(Exit.hasDies(exit))
    }))
})

describe("A result that is given", () => {
  const waiting = Effect.suspend(() =>
    inShop(
      [all(toolCall("ship", { order: 1 }, { id: "a" }), toolCall("ship", { order: 2 }, { id: "b" }))],
      () => Agent.run(clerk, "Ship 1 and 2.")
    )
  )

  it.effect("is no Promise that nobody awaited, nor an Effect that nobody ran", () =>
    Effect.gen(function*() {
      const state = yield* waiting
      for (const unrun of [Promise.resolve(at), Effect.sync(() => at)]) {
        assert.throws(
          () => AgentState.giveResult(state, "a", unrun as never),
          /`result` of `giveResult` must be a value, not an? (Promise|Effect)/
        )
      }
      yield* inShop([], () =>
        Effect.gen(function*() {
          const session = yield* Session.make(clerk, { state })
          const exit = yield* Effect.exit(
            Effect.suspend(() => session.giveResult("a", Promise.resolve(at) as never))
          )
          assert.isTrue(Exit.hasDies(exit))
          assert.lengthOf(AgentState.pendingResults(yield* session.state), 2)
        }).pipe(Effect.scoped))
    }))

  it.effect("counts once, and another one for its call is refused", () =>
    Effect.gen(function*() {
      const given = give(yield* waiting, "a", at)
      assert.strictEqual(give(given, "a", { ...at }), given)
      const other = Result.getOrThrow(Result.flip(AgentState.giveResult(given, "a", {})))
      assert.deepStrictEqual([other.found, other.awaiting], ["Answered", ["b"]])
      const failure = Result.getOrThrow(Result.flip(AgentState.giveFailure(given, "a", "lost")))
      assert.strictEqual(failure.found, "Answered")
      const unknown = Result.getOrThrow(Result.flip(AgentState.giveResult(given, "c", at)))
      assert.strictEqual(unknown.message, `No call has the id "c"; awaiting results: "b"`)
      const done = yield* inShop(["Done."], () => Agent.resume(clerk, give(given, "b", at)))
      assert.strictEqual(give(done, "a", at), done)
      const late = Result.getOrThrow(Result.flip(AgentState.giveFailure(done, "a", "lost")))
      assert.strictEqual(late.found, "Settled")
    }))

  it.effect("comes in any order: the run stops again until the last is there", () =>
    inShop(["Both are there."], (started) =>
      Effect.gen(function*() {
        const first = yield* Agent.resume(clerk, give(yield* waiting, "b", at))
        assert.deepStrictEqual([first.status._tag, awaited(first)], ["WaitingForTools", ["a"]])
        assert.strictEqual(stateOf(first, "b")?._tag, "Settled")
        assert.strictEqual((yield* MockModel.calls).length, 0)
        const done = yield* Agent.resume(clerk, give(first, "a", at))
        assert.deepStrictEqual([AgentState.text(done), started], ["Both are there.", []])
      })))

  it.effect("that doesn't fit its schema is a failed call, and so is a failure that is given, even of a fatal tool", () =>
    Effect.gen(function*() {
      const fatal = Agent.make("clerk", { toolkit: Kit, fatal: ["ship"] })
      const given = Result.getOrThrow(AgentState.giveFailure(give(yield* waiting, "a", "soon"), "b", "It sank."))
      const results = yield* inShop(["I am sorry."], () => Effect.andThen(Agent.resume(fatal, given), told))
      assert.deepStrictEqual(results, [
        { id: "a", isFailure: true, result: `The result of tool "ship" doesn't fit its schema.` },
        { id: "b", isFailure: true, result: "It sank." }
      ])
    }))

  it.effect("is cut by its tool's policy, said by its `toModelOutput`, and judged by guardrails", () =>
    Effect.gen(function*() {
      const Long = ToolPolicy.set(Tool.make("long", { success: Schema.String }), { maxLength: 5 })
      const toolkit = Toolkit.make(Long)
      const judged: Array<unknown> = []
      const agent = Agent.make("a", {
        toolkit,
        guardrails: {
          toolResult: [Guardrail.make("sees", (value) =>
            Effect.sync(() => {
              judged.push(value)
              return Guardrail.replace("seen", "why")
            }), { on: "toolResult" })]
        }
      })
      const run = Effect.gen(function*() {
        const state = yield* Agent.run(agent, "Go.")
        assert.deepStrictEqual(judged, [])
        yield* Agent.resume(agent, give(state, "l", "0123456789"))
        return yield* told
      })
      const results = yield* run.pipe(
        Effect.provide(toolkit.toLayer({ long: () => ToolPolicy.deferResult })),
        Effect.provide(scripted(toolCall("long", {}, { id: "l" }), "Done."))
      )
      assert.deepStrictEqual(judged, ["01234\n[Cut here: 5 of 10 characters are left out.]"])
      assert.deepStrictEqual(results, [{ id: "l", isFailure: false, result: "seen" }])
    }))
})

describe("A run with calls that await results", () => {
  it.effect("keeps waiting when it is interrupted, and in an agent that was called, while what runs is cut short", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const handlers = Kit.toLayer({
        ship: () => ToolPolicy.deferResult,
        look: () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never),
        pay: () => ToolPolicy.deferResult
      })
      const boss = Agent.make("boss", { agents: [Agent.asTool(clerk)] })
      const model = MockModel.make(({ agent, lastToolResults }) =>
        lastToolResults.length > 0
          ? `${agent} is done.`
          : agent === "boss"
          ? toolCall("clerk", { task: "Ship 3." }, { id: "c" })
          : all(toolCall("ship", { order: 3 }, { id: "s" }), toolCall("look", {}, { id: "l" }))
      )
      const program = Effect.gen(function*() {
        const { events } = yield* watch(Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(Agent.run(boss, "Ship 3."))
          yield* Deferred.await(began)
          yield* Fiber.interrupt(fiber)
        }))
        const left = throughText(events.reduce(AgentState.reduce, AgentState.make("boss")))
        assert.deepStrictEqual(imbalances(events), [])
        assert.deepStrictEqual(awaited(left), ["s"])
        const look = stateOf(left, "l")
        assert.isTrue(look?._tag === "Settled" && look.outcome === "Interrupted")
        assert.strictEqual(AgentState.text(yield* Agent.resume(boss, give(left, "s", at))), "boss is done.")
      })
      yield* program.pipe(Effect.provide(handlers), Effect.provide(Layer.fresh(MockModel.layer(model))))
    }))

  it("isn't given up with the calls that a limit forbids", () => {
    const boss = Agent.make("boss", {
      toolkit: Kit,
      agents: [Agent.asTool(clerk)],
      stopWhen: StopWhen.maxSteps(1, { onExhausted: "finish" })
    })
    const asked = [Conversation.call("s", "ship", { order: 1 }), Conversation.call("c", "clerk", { task: "Look." })]
    const left = Story.tellOrThrow(
      boss,
      Story.userSays("Ship 1, and look."),
      Story.modelAnswers(asked),
      Story.resultComesLater("s"),
      Story.inCall("c", Story.userSays("Look.")),
      Story.expectDecision({ _tag: "GiveUpCalls", callIds: ["c"] }),
      Story.expectDecision("Await")
    )
    assert.deepStrictEqual(awaited(left), ["s"])
  })

  it.effect("keeps them through limits that give other calls up", () =>
    inShop([toolCall("ship", { order: 1 }, { id: "s" }), "The limit is met."], () =>
      Effect.gen(function*() {
        const limited = Agent.make("clerk", { toolkit: Kit, stopWhen: StopWhen.maxSteps(1, { onExhausted: "finish" }) })
        const state = yield* Agent.run(limited, "Ship 1.")
        assert.deepStrictEqual(awaited(state), ["s"])
        assert.strictEqual(AgentState.text(yield* Agent.resume(limited, give(state, "s", at))), "The limit is met.")
      })))

  it.effect("lets a handoff wait, and hands over when the last result is there", () =>
    Effect.gen(function*() {
      const billing = Agent.make("billing")
      const triage = Agent.make("triage", { toolkit: Kit, handoffs: [Handoff.to(billing)] })
      const { handlers } = makeShop()
      const run = Effect.gen(function*() {
        const state = yield* Agent.run(triage, "Ship 1, then billing.")
        assert.strictEqual(state.status._tag, "HandoffRequested")
        const done = yield* Agent.resume(triage, give(throughText(state), "s", at))
        assert.deepStrictEqual([done.agent, AgentState.text(done)], ["billing", "Billed."])
      })
      yield* run.pipe(
        Effect.provide(handlers),
        Effect.provide(
          scripted(all(toolCall("ship", { order: 1 }, { id: "s" }), toolCall("handoff_to_billing", {})), "Billed.")
        )
      )
    }))

  it.effect("keeps what a user says behind them, as behind approvals", () =>
    inShop([toolCall("ship", { order: 1 }, { id: "s" }), "Both answered."], (started) =>
      Effect.gen(function*() {
        const state = yield* Agent.run(clerk, "Ship 1.")
        const more = yield* Agent.resume(clerk, AgentState.ask(state, "Are you there?", 0))
        assert.deepStrictEqual([more.status._tag, awaited(more)], ["WaitingForTools", ["s"]])
        const done = yield* Agent.resume(clerk, give(more, "s", at))
        assert.deepStrictEqual([AgentState.text(done), started], ["Both answered.", [1]])
        assert.deepStrictEqual(problems(done.conversation), [])
      })))

  it.effect("is found at any depth, and goes on there", () =>
    Effect.gen(function*() {
      const boss = Agent.make("boss", { agents: [Agent.asTool(clerk)] })
      const { handlers, started } = makeShop()
      const model = Layer.fresh(MockModel.layer(MockModel.make(({ agent, lastToolResults }) =>
        lastToolResults.length > 0
          ? `${agent} is done.`
          : agent === "boss"
          ? toolCall("clerk", { task: "Ship 3." }, { id: "c" })
          : toolCall("ship", { order: 3 }, { id: "s" })
      )))
      const run = Effect.gen(function*() {
        const state = throughText(yield* Agent.run(boss, "Ship 3."))
        const [pending] = AgentState.pendingResults(state)
        assert.deepStrictEqual([pending?.path, pending?.calls], [["boss", "clerk"], ["c"]])
        const done = yield* Agent.resume(boss, give(state, pending?.callId ?? "", at))
        assert.deepStrictEqual([AgentState.text(done), started], ["boss is done.", [3]])
      })
      yield* run.pipe(Effect.provide(handlers), Effect.provide(model))
    }))

  it.effect("loses neither the wait nor a result that was given, at whichever operation it is interrupted", () =>
    Effect.gen(function*() {
      const script = [all(toolCall("ship", { order: 1 }, { id: "s" }), toolCall("look", {}, { id: "l" })), "There."]
      const waiting = yield* inShop(script, () => Agent.run(clerk, "Ship 1."))
      const given = give(waiting, "s", at)
      const slow = Agent.make("clerk", {
        toolkit: Kit,
        guardrails: {
          toolResult: [
            Guardrail.make("slow", () => Effect.as(Effect.repeat(Effect.yieldNow, { times: 3 }), Guardrail.pass))
          ]
        }
      })
      for (let times = 0; times < 12; times++) {
        const left = yield* inShop(["There."], () =>
          Effect.gen(function*() {
            const { events } = yield* watch(Effect.gen(function*() {
              const fiber = yield* Effect.forkChild(Agent.resume(slow, given), { startImmediately: true })
              yield* Effect.repeat(Effect.yieldNow, { times })
              yield* Fiber.interrupt(fiber)
            }))
            return events.reduce(AgentState.reduce, given)
          }))
        const call = stateOf(left, "s")
        assert.isTrue(
          call?._tag === "Answered" || (call?._tag === "Settled" && call.outcome === "Succeeded"),
          JSON.stringify(call)
        )
        const done = yield* inShop(["There."], () => Agent.resume(slow, left))
        assert.strictEqual(AgentState.text(done), "There.")
      }
    }))
})

describe("A session", () => {
  it.effect("takes a result, checks it at once, and goes on when it is resumed", () =>
    inShop([toolCall("ship", { order: 1 }, { id: "s" }), "There."], () =>
      Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(clerk)
        const before = yield* session.call("Ship 1.")
        const misfit = yield* Effect.flip(session.giveResult("s", { at: "soon" }))
        assert.isTrue(Session.isSessionError(misfit) && misfit.reason._tag === "ResultRejected")
        assert.include(misfit.message, `call "s"`)
        assert.strictEqual(yield* session.state, before)
        const unknown = yield* Effect.flip(session.giveFailure("x", "lost"))
        assert.strictEqual(unknown._tag, "NotAwaitingResult")
        const { events, exit } = yield* watch(session.giveResult("s", at))
        const given = yield* exit
        assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["ResultGiven"])
        assert.deepStrictEqual(given, give(before, "s", at))
        assert.strictEqual(yield* session.giveResult("s", at), given)
        assert.strictEqual(AgentState.text(yield* session.resume), "There.")
      }))))

  it.effect("takes the result of a tool that isn't offered any more", () =>
    inShop([toolCall("ship", { order: 1 }, { id: "s" }), "There."], () =>
      Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(clerk)
        yield* session.call("Ship 1.")
        yield* session.configure({ tools: ["look"] })
        yield* session.giveResult("s", at)
        yield* session.resume
        assert.deepStrictEqual(yield* told, [{ id: "s", isFailure: false, result: at }])
      }))))

  it.effect("says of a tool that it invokes and that defers that its result is pending", () =>
    inShop(["There."], () =>
      Effect.scoped(Effect.gen(function*() {
        const state = AgentState.ask(AgentState.make("clerk"), "Ship 4.", 0)
        const session = yield* Session.make(clerk, { state })
        const error = yield* Effect.flip(session.invoke(Ship, { order: 4 }))
        assert.isTrue(Session.isSessionError(error) && error.reason._tag === "ResultPending")
        const [pending] = AgentState.pendingResults(yield* session.state)
        yield* session.giveResult(pending?.callId ?? "", at)
        assert.strictEqual(AgentState.text(yield* session.resume), "There.")
      }))))
})

describe("A session that is stored", () => {
  const Slow = ToolPolicy.set(Tool.make("slow", { success: Schema.String }), { exclusive: true })
  const toolkit = Toolkit.make(Ship, Slow)
  const agent = Agent.make("clerk", { toolkit })
  const model = () => scripted(all(toolCall("ship", { order: 1 }, { id: "s" }), toolCall("slow", {})), "There.")

  it.effect("has a wait before the run goes on, so that no handler is started again", () =>
    Effect.gen(function*() {
      let seen: Conversation.CallState | undefined
      const backing = yield* Layer.build(KeyValueStore.layerMemory)
      const handlers = toolkit.toLayer({
        ship: () => ToolPolicy.deferResult,
        slow: () =>
          Effect.gen(function*() {
            const state = yield* Effect.orDie(Session.load("ada"))
            seen = state === undefined ? undefined : stateOf(state, "s")
            return "done"
          }).pipe(Effect.provideContext(backing))
      })
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent, { store: Session.store("ada") })
        yield* session.call("Ship 1.")
      })).pipe(Effect.provideContext(backing), Effect.provide(handlers), Effect.provide(model()))
      assert.deepStrictEqual(seen, { _tag: "AwaitingResult" })
    }).pipe(Effect.scoped))

  it.effect("takes no result that it can't save", () =>
    Effect.gen(function*() {
      let isFull = false
      const backing = yield* KeyValueStore.KeyValueStore
      const full = new KeyValueStore.KeyValueStoreError({ message: "disk full", method: "set" })
      const store = KeyValueStore.make({
        ...backing,
        set: (key, value) => isFull ? Effect.fail(full) : backing.set(key, value)
      })
      const handlers = toolkit.toLayer({ ship: () => ToolPolicy.deferResult, slow: () => Effect.succeed("done") })
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent, { store: Session.store("ada") })
        const before = yield* session.call("Ship 1.")
        isFull = true
        const error = yield* Effect.flip(session.giveResult("s", at))
        assert.isTrue(Session.isSessionError(error) && error.reason._tag === "StoreUnavailable")
        assert.deepStrictEqual(yield* session.state, before)
        isFull = false
        yield* session.giveResult("s", at)
        assert.deepStrictEqual(awaited((yield* Session.load("ada")) ?? before), [])
      })).pipe(
        Effect.provideService(KeyValueStore.KeyValueStore, store),
        Effect.provide(handlers),
        Effect.provide(model())
      )
    }).pipe(Effect.provide(Layer.fresh(KeyValueStore.layerMemory))))
})

describe("Guardrails on results", () => {
  const marker = "swordfish"
  const Note = Tool.make("note", {
    success: Schema.Struct({ note: Schema.String, at: Schema.Date }),
    toModelOutput: ({ note }) => [Prompt.makePart("text", { text: `The note says: ${note}` })]
  })
  const toolkit = Toolkit.make(Note)
  const handlers = toolkit.toLayer({ note: () => ToolPolicy.deferResult })
  const given = { note: `pay ${marker}`, at: "2024-02-29T00:00:00.000Z" }
  let judgements = 0
  const verdicts = {
    masks: (text: string) => Guardrail.replace(text.replaceAll(marker, "***"), "a word"),
    refuses: () => Guardrail.block("a word")
  }
  type Way = keyof typeof verdicts
  const ways: ReadonlyArray<Way> = ["masks", "refuses"]
  const judging = (way: Way) =>
    Guardrail.make("word", (text) => {
      judgements++
      return Effect.as(Effect.yieldNow, text.includes(marker) ? verdicts[way](text) : Guardrail.pass)
    })

  for (const way of ways) {
    const own = Agent.make("clerk", { toolkit, guardrails: { toolResult: [judging(way)] } })
    const boss = Agent.make("boss", { agents: [Agent.asTool(own)] })
    for (
      const [where, agent, path] of [["an agent", own, ["clerk"]], ["a called agent", boss, ["boss", "clerk"]]] as const
    ) {
      const isCalled = path.length > 1
      it.effect(`keep nowhere what one ${way} of a result that a session is given, in ${where}`, () => {
        const { store, written } = makeBacking()
        return Effect.gen(function*() {
          const session = yield* Session.make(agent, { store: Session.store("ada") })
          const { events, exit } = yield* watch(Effect.gen(function*() {
            const waiting = yield* session.call("Note it.")
            assert.deepStrictEqual(AgentState.pendingResults(waiting)[0]?.calls, isCalled ? ["c"] : [])
            const misfit = yield* Effect.flip(session.giveResult("n", { note: "none" }))
            assert.isTrue(Session.isSessionError(misfit) && misfit.reason._tag === "ResultRejected")
            judgements = 0
            const answered = yield* session.giveResult("n", given)
            assert.isAbove(judgements, 0)
            assert.strictEqual(yield* session.giveResult("n", given), answered)
            const other = yield* Effect.flip(session.giveResult("n", { ...given, note: "none" }))
            assert.strictEqual(other._tag, "NotAwaitingResult")
            judgements = 0
            const done = yield* session.resume
            assert.strictEqual(AgentState.text(done), "Noted.")
            assert.strictEqual(judgements, 0, "what passed isn't judged again")
            return done
          }))
          const done = yield* exit
          const requests = (yield* MockModel.calls).map((
            { request: { lastToolResults, prompt } }
          ) => [lastToolResults, prompt])
          const everything = JSON.stringify([written, events, requests, AgentState.toJson(done)])
          assert.notInclude(everything, marker)
          assert.include(JSON.stringify(requests), way === "masks" ? "The note says: pay ***" : "a word")
          assert.strictEqual(ofTag(events, "GuardrailStarted").length, ofTag(events, "GuardrailSettled").length)
          const [event] = ofTag(events, "ResultGiven")
          assert.deepStrictEqual([event?.outcome, event?.path], [way === "masks" ? "Succeeded" : "Failed", path])
          for (const settled of ofTag(events, "GuardrailSettled")) assert.deepStrictEqual(settled.path, path)
          assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make(agent.name)), done)
        }).pipe(
          Effect.scoped,
          Effect.provide(handlers),
          Effect.provide(scripted(
            ...(isCalled ? [toolCall("clerk", { task: "Note it." }, { id: "c" })] : []),
            toolCall("note", {}, { id: "n" }),
            "Noted.",
            ...(isCalled ? ["Noted."] : [])
          )),
          Effect.provideService(KeyValueStore.KeyValueStore, store)
        )
      })
    }
  }

  const oneNote = scripted(toolCall("note", {}, { id: "n" }), "Noted.")

  it.effect("judge a result that a state was given when the run continues, also in a session", () =>
    Effect.gen(function*() {
      const agent = Agent.make("clerk", { toolkit, guardrails: { toolResult: [judging("masks")] } })
      const raw = give(yield* Agent.run(agent, "Note it."), "n", given)
      const session = yield* Session.make(agent, { state: raw })
      assert.strictEqual(yield* session.giveResult("n", given), raw)
      const done = yield* session.resume
      assert.notInclude(JSON.stringify(AgentState.toJson(done)), marker)
      assert.strictEqual(stateOf(done, "n")?._tag, "Settled")
    }).pipe(Effect.scoped, Effect.provide([handlers, oneNote])))

  it.effect("judge again what others judged, in the form that passed, and don't judge what they judged themselves", () =>
    Effect.gen(function*() {
      const spelled = Guardrail.make("spelled", (text) => {
        seen.push(text)
        return Effect.succeed(
          text.includes("***") ? Guardrail.replace(text.replaceAll("***", "a word"), "stars") : Guardrail.pass
        )
      })
      const seen: Array<string> = []
      const before = Agent.make("clerk", { toolkit, guardrails: { toolResult: [judging("masks")] } })
      const other = Agent.make("clerk", { toolkit, guardrails: { toolResult: [spelled] } })
      const session = yield* Session.make(before)
      yield* session.call("Note it.")
      const masked = throughText(yield* session.giveResult("n", given))
      const said = "The note says: pay ***"
      judgements = 0
      const same = yield* Agent.resume(before, masked)
      assert.deepStrictEqual([judgements, JSON.stringify(same).includes(said)], [0, true])
      const after = yield* Effect.provide(Agent.resume(other, masked), scripted("Noted."))
      assert.isAbove(seen.length, 0)
      assert.notInclude(JSON.stringify(seen), marker)
      assert.include(JSON.stringify(AgentState.toJson(after)), "pay a word")
      // Nobody can claim that a result was judged by guardrails that the agent doesn't have.
      const raw = give(
        yield* Effect.provide(Agent.run(before, "Note it."), scripted(toolCall("note", {}, { id: "n" }))),
        "n",
        given
      )
      const claimed = JSON.stringify(AgentState.toJson(raw)).replace(
        "\"_tag\":\"Answered\"",
        "\"_tag\":\"Answered\",\"judged\":[]"
      )
      const honest = yield* Effect.provide(
        Agent.resume(before, Result.getOrThrow(AgentState.fromJson(claimed))),
        scripted("Noted.")
      )
      assert.notInclude(JSON.stringify(AgentState.toJson(honest)), marker)
    }).pipe(Effect.scoped, Effect.provide([handlers, oneNote])))

  it.effect("leave the call waiting if giving is interrupted while they judge", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      let isSlow = true
      const slow = Guardrail.make("slow", () =>
        isSlow ? Effect.andThen(Deferred.succeed(began, undefined), Effect.never) : Effect.succeed(Guardrail.pass))
      const agent = Agent.make("clerk", { toolkit, guardrails: { toolResult: [slow] } })
      const session = yield* Session.make(agent)
      yield* session.call("Note it.")
      const { events } = yield* watch(Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(session.giveResult("n", given))
        yield* Deferred.await(began)
        yield* Fiber.interrupt(fiber)
      }))
      assert.deepStrictEqual(
        events.map(({ _tag }) =>
          _tag
        ),
        ["GuardrailStarted", "GuardrailSettled"]
      )
      assert.deepStrictEqual(awaited(yield* session.state), ["n"])
      isSlow = false
      yield* session.giveResult("n", given)
      assert.strictEqual(AgentState.text(yield* session.resume), "Noted.")
    }).pipe(Effect.scoped, Effect.provide([handlers, oneNote])))
})

describe("A trace", () => {
  it.effect("shows the wait and what was given", () =>
    inShop([toolCall("ship", { order: 1 }, { id: "s" }), "There."], () =>
      Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(clerk)
        const { events } = yield* watch(Effect.gen(function*() {
          yield* session.call("Ship 1.")
          yield* session.giveResult("s", at)
          yield* session.resume
        }))
        const markdown = Trace.toMarkdown(events)
        assert.include(markdown, "## Awaiting results: `clerk`")
        assert.include(markdown, "`clerk` awaits the result of `ship` (`s`)")
        assert.include(markdown, "was given its result")
        const diagram = Trace.toMermaid(events)
        assert.include(diagram, "the result comes later")
        assert.include(diagram, "awaits the result of ship")
        assert.include(diagram, "gives the result of ship")
        assert.notInclude(diagram, "-xTool")
      }))))
})

describe("A story", () => {
  it("tells of results that come later", () => {
    const done = Story.tellOrThrow(
      clerk,
      Story.userSays("Ship 1."),
      Story.modelAnswers([Conversation.call("s", "ship", { order: 1 })]),
      Story.expectCommand({ _tag: "RunCalls", callIds: ["s"] }),
      Story.resultComesLater("s"),
      Story.expectDecision("Await"),
      Story.giveResult("s", at),
      Story.expectCommand({ _tag: "RunCalls", callIds: ["s"] }),
      Story.toolAnswers("s", at),
      Story.modelAnswers("There."),
      Story.expectDecision("Finish")
    )
    assert.strictEqual(done.status._tag, "Complete")
    const lost = Story.tellOrThrow(
      AgentState.make("clerk"),
      Story.userSays("Ship 1."),
      Story.modelAnswers([Conversation.call("s", "ship", { order: 1 }), Conversation.call("p", "pay", {})]),
      Story.resultComesLater("s"),
      Story.resultComesLater("p"),
      Story.giveFailure("s", "It sank."),
      Story.toolAnswers("s", "It sank.", { outcome: "Failed" })
    )
    assert.deepStrictEqual([awaited(lost), stateOf(lost, "s")], [
      ["p"],
      { _tag: "Settled", outcome: "Failed", result: "It sank." }
    ])
    const failed = Story.tell(AgentState.make("clerk"), Story.giveFailure("s", "lost"))
    assert.include(Result.getOrThrow(Result.flip(failed)).message, "No call has the id")
  })
})
