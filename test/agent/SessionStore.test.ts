import { NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, FileSystem, Layer, Option, Result, Scope, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { Agent, type AgentEvent, AgentState, Conversation, Mode, ModeTransition, Session, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const assistant = Agent.make("assistant")
const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))

const texts = (state: AgentState.AgentState) => state.conversation.turns.map(Conversation.textOf)

const reasonOf = <A>(exit: Exit.Exit<A, unknown>): Session.Reason | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return Session.isSessionError(error) ? error.reason : undefined
}

const open = Session.make(assistant, { store: Session.store("ada") })

const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

const Dice = Toolkit.make(
  Tool.make("roll"),
  Tool.make("guarded", { needsApproval: true })
)
const player = Agent.make("player", { toolkit: Dice })
const dice = Dice.toLayer({ roll: () => Effect.void, guarded: () => Effect.void })

/** A model that rolls as often as it is told to, and then says so. */
const rolls = (times: number) =>
  MockModel.layer(MockModel.make(({ callCount }) => callCount > times ? "Done." : MockResponse.toolCall("roll", {})))

/** A save is done when the head of a first log is written, or an entry. */
const isSave = (key: string) => !key.includes("#") || /#\d+$/.test(key)

/** A store in memory that keeps what was in it after each save, and fails or waits where it is told to. */
const makeWatched = (values = new Map<string, string>()) => {
  const written: Array<ReadonlyMap<string, string>> = []
  const on: {
    read: Effect.Effect<void, KeyValueStore.KeyValueStoreError>
    write: Effect.Effect<void, KeyValueStore.KeyValueStoreError>
  } = { read: Effect.void, write: Effect.void }
  const store = KeyValueStore.makeStringOnly({
    get: (key) => Effect.map(Effect.suspend(() => on.read), () => values.get(key)),
    set: (key, value) =>
      Effect.map(Effect.suspend(() => isSave(key) ? on.write : Effect.void), () => {
        values.set(key, value)
        if (isSave(key)) written.push(new Map(values))
      }),
    remove: (key) => Effect.sync(() => void values.delete(key)),
    clear: Effect.sync(() => values.clear()),
    size: Effect.sync(() => values.size),
    keys: Effect.sync(() => [...values.keys()])
  })
  return { values, written, on, store, layer: Layer.succeed(KeyValueStore.KeyValueStore, store) }
}

/** The state in what was in a store. */
const stateIn = (values: ReadonlyMap<string, string>, id: string) =>
  Effect.provide(Session.load(id), makeWatched(new Map(values)).layer)

const full = new KeyValueStore.KeyValueStoreError({ message: "disk full", method: "set" })

const backings = {
  "in memory": Layer.fresh(KeyValueStore.layerMemory),
  "in a folder": Layer.unwrap(Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    return Session.layerStoreFileSystem(yield* files.makeTempDirectoryScoped())
  })).pipe(Layer.provide([NodeFileSystem.layer, NodePath.layer]), Layer.fresh)
} as const

describe.each(Object.entries(backings))("A session that is stored %s", (_, backing) => {
  it.effect("is restored by its id", () =>
    Effect.gen(function*() {
      const last = yield* Effect.scoped(Effect.flatMap(open, (session) => session.call("One")))
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* open
        assert.deepStrictEqual(yield* session.state, last)
        assert.deepStrictEqual(texts(yield* session.call("Two")), ["One", "Re: One", "Two", "Re: Two"])
      }))
      const other = yield* Session.make(assistant, { store: Session.store("bob"), state: last })
      assert.strictEqual(yield* other.state, last)
      const again = yield* Session.make(assistant, { store: Session.store("ada"), state: last })
      assert.strictEqual((yield* again.state).conversation.turns.length, 4)
    }).pipe(Effect.scoped, Effect.provide(backing), Effect.provide(echo)))

  it.effect("is read by its id without being opened", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* Session.load("ada"))
      const session = yield* open
      const last = yield* session.call("One")
      assert.deepStrictEqual(yield* Session.load("ada"), last)
      assert.isUndefined(yield* Session.load("bob"))
      assert.deepStrictEqual(texts(yield* session.call("Two")), ["One", "Re: One", "Two", "Re: Two"])
    }).pipe(Effect.scoped, Effect.provide(backing), Effect.provide(echo)))

  it.effect("can't overwrite what another one wrote", () =>
    Effect.gen(function*() {
      const first = yield* open
      const second = yield* open
      const last = yield* first.call("One")
      const before = yield* second.state
      const reason = reasonOf(yield* Effect.exit(second.call("Two")))
      assert.deepStrictEqual(
        reason,
        new Session.StoreConflict({ id: "ada", expected: 0, found: 1 })
      )
      assert.strictEqual(yield* second.state, before)
      assert.deepStrictEqual(yield* Session.load("ada"), last)
      assert.deepStrictEqual((yield* MockModel.calls).map(({ request }) => request.lastUserText), ["One"])
      assert.strictEqual(reasonOf(yield* Effect.exit(Stream.runDrain(second.stream("Two"))))?._tag, "StoreConflict")
      assert.deepStrictEqual(texts(yield* first.call("Three")), ["One", "Re: One", "Three", "Re: Three"])
    }).pipe(Effect.scoped, Effect.provide(backing), Effect.provide(echo)))

  it.effect("is removed", () =>
    Effect.gen(function*() {
      const session = yield* open
      yield* session.call("One")
      yield* Session.remove("ada")
      assert.isUndefined(yield* Session.load("ada"))
      assert.deepStrictEqual(yield* (yield* KeyValueStore.KeyValueStore).keys, [])
      const reason = reasonOf(yield* Effect.exit(session.call("Two")))
      assert.isTrue(reason?._tag === "StoreConflict" && reason.found === undefined)
      assert.match(reason?.message ?? "", /^Expected revision \d+ of "ada" in the store, found nothing$/)
      assert.deepStrictEqual((yield* (yield* open).state).conversation.turns, [])
    }).pipe(Effect.scoped, Effect.provide(backing), Effect.provide(echo)))

  it.effect("says which document can't be read, and leaves it", () =>
    Effect.gen(function*() {
      const store = yield* KeyValueStore.KeyValueStore
      const session = yield* open
      for (
        const text of [
          "",
          "{",
          "null",
          "{\"version\":1}",
          "{\"version\":9,\"revision\":1,\"writer\":\"\",\"state\":{}}"
        ]
      ) {
        yield* store.set("ada", text)
        for (
          const use of [open, session.call("One"), Session.load("ada")] as ReadonlyArray<
            Effect.Effect<unknown, unknown, Scope.Scope | KeyValueStore.KeyValueStore>
          >
        ) {
          const reason = reasonOf(yield* Effect.exit(use))
          assert.isTrue(reason?._tag === "StoredStateUnreadable" && reason.id === "ada", text)
        }
        assert.strictEqual(yield* store.get("ada"), text)
      }
      assert.match(
        reasonOf(yield* Effect.exit(open))?.message ?? "",
        /"ada" can't be read: A session of version 9 can't be read; known versions: 1, 2$/
      )
      yield* store.set("ada", "{\"version\":1,\"revision\":1,\"writer\":\"\",\"state\":{\"version\":7}}")
      assert.match(
        reasonOf(yield* Effect.exit(open))?.message ?? "",
        /"ada" can't be read: A state of version 7 can't be read/
      )
    }).pipe(Effect.scoped, Effect.provide(backing), Effect.provide(echo)))
})

describe("A stored session", () => {
  it.effect("keeps pins, in a conversation that is over and in one that awaits approval", () => {
    const { layer, written } = makeWatched()
    return Effect.gen(function*() {
      const sessionOf = Session.make(player, { store: Session.store("ada") })
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* sessionOf
        yield* session.call("Roll")
        yield* session.pin(0)
        yield* session.pin(1)
        const saves = written.length
        yield* session.unpin(0)
        assert.strictEqual(written.length, saves + 1)
        yield* session.unpin(0)
        assert.strictEqual(written.length, saves + 1)
        const state = yield* session.state
        assert.deepStrictEqual(yield* Session.load("ada"), state)
        assert.deepStrictEqual(state.conversation.turns.map(({ pinned }) => pinned), [undefined, true])
        assert.strictEqual(AgentState.pendingApprovals(state).length, 1)
      }))
      const again = yield* sessionOf
      yield* again.approve(AgentState.pendingApprovals(yield* again.state)[0]!.callId)
      const done = yield* again.resume
      assert.deepStrictEqual(done.conversation.turns.map(({ pinned }) => pinned), [undefined, true, undefined])
      const pinned = yield* again.pin(2)
      assert.deepStrictEqual(yield* Session.load("ada"), pinned)
      assert.strictEqual(pinned.conversation.turns[2]?.pinned, true)
    }).pipe(
      Effect.scoped,
      Effect.provide([layer, dice]),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("guarded", {}), "Done.")))
    )
  })

  it.effect("is saved when a run begins, for each call and its result, after each step, and at its end, but not in between", () => {
    const { layer, written } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* Session.make(player, { store: Session.store("p") })
      const events: Array<AgentEvent.AgentEvent> = []
      const counts: Array<readonly [string, number]> = []
      yield* session.call("Roll").pipe(Agent.observe((event) =>
        Effect.sync(() => {
          events.push(event)
          counts.push([event._tag, written.length])
        })
      ))
      const at = (tag: string) => counts.filter(([name]) => name === tag).map(([, count]) => count)
      assert.deepStrictEqual(at("ModelCallStarted"), [1, 3, 5])
      assert.deepStrictEqual(at("ToolCallStarted"), [2, 4])
      assert.strictEqual(written.length, 7)
      const milestones = new Set(["RunStarted", "ToolCallSettled", "StepCompleted", "RunCompleted"])
      let kept: AgentState.AgentState | undefined
      let state = AgentState.make("player")
      const expected = events.flatMap((event) => {
        state = AgentState.reduce(state, event)
        const asksForCalls = event._tag === "ModelResponded" && state.status._tag === "WaitingForTools"
        if (state === kept || !(milestones.has(event._tag) || asksForCalls)) return []
        kept = state
        return [state]
      })
      assert.deepStrictEqual(yield* Effect.forEach(written, (values) => stateIn(values, "p")), expected)
      yield* session.invoke(Dice.tools.roll, {})
      assert.deepStrictEqual(yield* Session.load("p"), yield* session.state)
      assert.strictEqual(written.length, 9)
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(dice), Effect.provide(rolls(2)))
  })

  it.effect("is saved before the handler of an invoked call runs, which resume runs again if its process died", () =>
    Effect.gen(function*() {
      for (const tool of [Dice.tools.roll, Dice.tools.guarded]) {
        const { layer, on, values } = makeWatched()
        const found: Array<AgentState.AgentState["status"]["_tag"] | undefined> = []
        const look = Effect.flatMap(
          Session.load("p"),
          (state) => Effect.sync(() => void found.push(state?.status._tag))
        ).pipe(Effect.orDie, Effect.provide(layer))
        const invoke = (handler: Effect.Effect<void>, stored: typeof layer) =>
          Effect.flatMap(Session.make(player, { store: Session.store("p") }), (session) => session.invoke(tool, {}))
            .pipe(
              Effect.scoped,
              Effect.provide(Dice.toLayer({ roll: () => handler, guarded: () => handler })),
              Effect.provide(rolls(0)),
              Effect.provide(stored),
              Effect.exit
            )
        on.write = Effect.fail(new KeyValueStore.KeyValueStoreError({ message: "full", method: "set" }))
        assert.strictEqual(reasonOf(yield* invoke(look, layer))?._tag, "StoreUnavailable")
        assert.deepStrictEqual(found, [], "what can't be saved doesn't run")
        on.write = Effect.void
        // What is in the store while the handler runs is what a process finds if this one dies then.
        let atDeath = values
        yield* invoke(Effect.andThen(look, Effect.sync(() => void (atDeath = new Map(values)))), layer)
        assert.deepStrictEqual(found, ["WaitingForTools"])
        let ran = 0
        const again = Effect.sync(() => void ran++)
        const state = yield* Effect.flatMap(
          Session.make(player, { store: Session.store("p") }),
          (session) => session.resume
        ).pipe(
          Effect.scoped,
          Effect.provide(Dice.toLayer({ roll: () => again, guarded: () => again })),
          Effect.provide(rolls(0)),
          Effect.provide(makeWatched(atDeath).layer)
        )
        assert.deepStrictEqual([ran, state.status._tag, AgentState.text(state)], [1, "Complete", "Done."])
      }
    }))

  describe.each(["call", "stream"] as const)("shows what is saved, by %s", (how) => {
    const Errands = Toolkit.make(Tool.make("one"), Tool.make("two"))
    const runner = Agent.make("runner", { toolkit: Errands })
    const boss = Agent.make("boss", { agents: [Agent.asTool(runner)] })
    const provided = Effect.provide([
      Errands.toLayer({ one: () => Effect.void, two: () => Effect.yieldNow }),
      MockModel.layer(MockModel.byAgent({
        runner: MockModel.make(({ lastToolResults }) =>
          lastToolResults.length > 0
            ? "Done."
            : MockResponse.all(MockResponse.toolCall("one", {}), MockResponse.toolCall("two", {}))
        ),
        boss: MockModel.make(({ lastToolResults }) =>
          lastToolResults.length > 0 ? "Done." : MockResponse.toolCall("runner", { task: "Run" })
        )
      }))
    ])
    const isSavePoint = (event: AgentEvent.AgentEvent) =>
      ["ToolCallSettled", "StepCompleted", "RunCompleted"].includes(event._tag) ||
      (event._tag === "RunStarted" && event.calls.length === 0) ||
      (event._tag === "ModelResponded" && event.parts.some(({ _tag }) => _tag === "Call"))
    /** Runs in a session, and gives what an observer and a reader saw, and what an observer of each event finds in the store. */
    const look = Effect.fnUntraced(function*(
      values: ReadonlyMap<string, string>,
      onSeen: Effect.Effect<void> = Effect.void
    ) {
      const session = yield* Session.make(boss, { store: Session.store("p") })
      const seen: Array<AgentEvent.AgentEvent> = []
      const read: Array<AgentEvent.AgentEvent> = []
      const found: Array<AgentState.AgentState | undefined> = []
      const exit = yield* (how === "call"
        ? Effect.asVoid(session.call("Go"))
        : Stream.runForEach(session.stream("Go"), (event) => Effect.sync(() => read.push(event)))).pipe(
          Agent.observe((event) =>
            Effect.gen(function*() {
              seen.push(event)
              yield* onSeen
              found.push(yield* Effect.orDie(stateIn(values, "p")))
            })
          ),
          Effect.exit
        )
      return { exit, found, read, seen, state: yield* session.state }
    })

    it.effect("only after it was saved, in the order in which it happened", () => {
      const { layer, values } = makeWatched()
      return Effect.gen(function*() {
        const { exit, found, read, seen, state: last } = yield* look(values, Effect.yieldNow)
        assert.deepStrictEqual(exit, Exit.void)
        let state = AgentState.make("boss")
        for (const [at, event] of seen.entries()) {
          state = AgentState.reduce(state, event)
          if (isSavePoint(event)) assert.deepStrictEqual(found[at], state, event._tag)
        }
        assert.deepStrictEqual(state, last)
        assert.deepStrictEqual(seen.map(({ sequence }) => sequence), [...seen.keys()])
        if (how === "stream") assert.deepStrictEqual(read, seen)
      }).pipe(Effect.scoped, Effect.provide(layer), provided)
    })

    it.effect("and not what couldn't be saved, except that the run was interrupted", () =>
      Effect.gen(function*() {
        let failures = 0
        for (let failing = 1;; failing++) {
          const { layer, on, values } = makeWatched()
          let writes = 0
          on.write = Effect.suspend(() => ++writes >= failing ? Effect.fail(full) : Effect.void)
          // The last save fails when the run has ended.
          const isRunning = failing > 1 && failing < 9
          const { exit, found, read, seen, state } = yield* look(values).pipe(Effect.scoped, Effect.provide(layer))
          if (Exit.isSuccess(exit)) break
          failures++
          assert.strictEqual(reasonOf(exit)?._tag, "StoreUnavailable")
          let told = AgentState.make("boss")
          let kept: AgentState.AgentState | undefined
          for (const [at, event] of seen.entries()) {
            const isLast = at === seen.length - 1
            if (event._tag === "RunInterrupted") {
              assert.isTrue(isLast && at > 0 && event.calls.length === 0)
              assert.deepStrictEqual(event.state, state)
            } else {
              told = AgentState.reduce(told, event)
              if (isSavePoint(event)) {
                assert.deepStrictEqual(found[at], told, event._tag)
                kept = told
              }
            }
          }
          assert.strictEqual(seen.some(({ _tag }) => _tag === "RunInterrupted"), isRunning)
          assert.deepStrictEqual(yield* stateIn(values, "p"), kept)
          if (how === "stream") assert.deepStrictEqual(read, seen)
        }
        assert.strictEqual(failures, 9)
      }).pipe(provided))
  })

  it.effect("shows a decision or a given result only after it was saved", () => {
    const { layer, on } = makeWatched()
    const Later = Toolkit.make(Tool.make("guarded", { needsApproval: true }), Tool.make("later"))
    const clerk = Agent.make("clerk", { toolkit: Later })
    return Effect.gen(function*() {
      const session = yield* Session.make(clerk, { store: Session.store("p") })
      yield* session.call("Go")
      const seen: Array<string> = []
      const observed = Agent.observe((event) =>
        Effect.gen(function*() {
          const stored = yield* Effect.orDie(Session.load("p"))
          seen.push(
            `${event._tag}: ${AgentState.pendingApprovals(stored!).length} ${AgentState.pendingResults(stored!).length}`
          )
        })
      )
      on.write = Effect.fail(full)
      for (
        const answered of [
          session.approve("a"),
          session.deny("a", "No."),
          session.giveResult("b", null)
        ] as ReadonlyArray<
          Effect.Effect<unknown, unknown>
        >
      ) assert.strictEqual(reasonOf(yield* Effect.exit(observed(answered)))?._tag, "StoreUnavailable")
      assert.deepStrictEqual(seen, [])
      on.write = Effect.void
      yield* observed(session.approve("a"))
      yield* observed(session.giveResult("b", null))
      assert.deepStrictEqual(seen, ["CallApproved: 0 1", "ResultGiven: 0 0"])
    }).pipe(
      Effect.scoped,
      Effect.provide([layer, Later.toLayer({ guarded: () => Effect.void, later: () => ToolPolicy.deferResult })]),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.all(
        MockResponse.toolCall("guarded", {}, { id: "a" }),
        MockResponse.toolCall("later", {}, { id: "b" })
      ))))
    )
  })

  it.effect("runs no call again whose result was told, wherever its process dies", () => {
    const { layer, written } = makeWatched()
    const Errands = Toolkit.make(Tool.make("one"), Tool.make("two"), Tool.make("three"))
    const runner = Agent.make("runner", { toolkit: Errands, toolConcurrency: 1 })
    /** How often each handler ran until it was done, and what was stored by then. */
    const ran: Array<readonly [name: string, documents: number]> = []
    const errand = (name: string) => () => Effect.sync(() => void ran.push([name, written.length]))
    return Effect.gen(function*() {
      const session = yield* Session.make(runner, { store: Session.store("p") })
      yield* session.call("Run")
      assert.deepStrictEqual(ran.splice(0), [["one", 2], ["two", 3], ["three", 4]])
      const again: Array<ReadonlyArray<string>> = []
      for (const values of written.slice(0, 6)) {
        const other = makeWatched(new Map(values))
        yield* Session.make(runner, { store: Session.store("p") }).pipe(
          Effect.flatMap((session) => session.resume),
          Effect.scoped,
          Effect.provide(other.layer)
        )
        again.push(ran.splice(0).map(([name]) => name))
      }
      assert.deepStrictEqual(again, [
        ["one", "two", "three"],
        ["one", "two", "three"],
        ["two", "three"],
        ["three"],
        [],
        []
      ])
    }).pipe(
      Effect.scoped,
      Effect.provide(layer),
      Effect.provide(Errands.toLayer({ one: errand("one"), two: errand("two"), three: errand("three") })),
      Effect.provide(
        MockModel.layer(MockModel.make(({ lastToolResults }) =>
          lastToolResults.length > 0 ? "Done." : MockResponse.all(
            MockResponse.toolCall("one", {}),
            MockResponse.toolCall("two", {}),
            MockResponse.toolCall("three", {})
          )
        ))
      )
    )
  })

  it.effect("goes on in another process from whatever was saved", () => {
    const { layer, written } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* Session.make(player, { store: Session.store("p") })
      const last = yield* session.call("Roll")
      for (const values of written) {
        const other = makeWatched(new Map(values))
        const resumed = yield* Session.make(player, { store: Session.store("p") }).pipe(
          Effect.flatMap((session) => session.resume),
          Effect.scoped,
          Effect.provide(other.layer)
        )
        assert.deepStrictEqual(texts(resumed), texts(last))
        assert.deepStrictEqual(yield* stateIn(other.values, "p"), resumed)
      }
    }).pipe(
      Effect.scoped,
      Effect.provide(layer),
      Effect.provide(dice),
      Effect.provide(
        MockModel.layer(
          MockModel.make(({ state }) => (state?.steps ?? 0) < 2 ? MockResponse.toolCall("roll", {}) : "Done.")
        )
      )
    )
  })

  it.effect("saves what an interruption, a failure and its closing leave", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const session = yield* Scope.provide(open, scope)
      const fiber = yield* Effect.forkChild(session.call("wait"))
      yield* settleDown
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* Session.load("ada"), yield* session.state)
      assert.strictEqual((yield* session.state).status._tag, "InProgress")
      yield* Effect.flip(session.call("fail"))
      assert.deepStrictEqual(yield* Session.load("ada"), yield* session.state)
      assert.strictEqual((yield* session.state).status._tag, "Failed")
      const last = yield* Effect.forkChild(session.call("wait"))
      yield* settleDown
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(reasonOf(yield* Fiber.await(last))?._tag, "SessionClosed")
      const left = yield* session.state
      assert.deepStrictEqual(texts(left), ["wait", "fail", "wait"])
      assert.deepStrictEqual(yield* Session.load("ada"), left)
      assert.strictEqual(left.status._tag, "InProgress")
    }).pipe(
      Effect.scoped,
      Effect.provide(KeyValueStore.layerMemory),
      Effect.provide(MockModel.layer(MockModel.conditional(
        MockModel.when(({ lastUserText }) => lastUserText === "wait", () => Effect.never),
        MockModel.otherwise(MockResponse.fail(AiError.make({
          module: "Test",
          method: "ask",
          reason: new AiError.InternalProviderError({ description: "overloaded" })
        })))
      )))
    ))

  it.effect("saves answers to approvals, and changes nothing that it can't save", () => {
    const { layer, on, written } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* Session.make(player, { store: Session.store("p") })
      const waiting = yield* session.call("Open")
      on.write = Effect.fail(full)
      const reason = reasonOf(yield* Effect.exit(session.approve("a")))
      assert.strictEqual(reason?.message, "The store can't write \"p\": disk full")
      assert.strictEqual(yield* session.state, waiting)
      on.write = Effect.void
      const approved = yield* session.approve("a")
      assert.deepStrictEqual(yield* Session.load("p"), approved)
      const { length } = written
      assert.strictEqual(yield* session.approve("a"), approved)
      assert.strictEqual(written.length, length)
      assert.strictEqual((yield* session.resume).status._tag, "Complete")
    }).pipe(
      Effect.scoped,
      Effect.provide(layer),
      Effect.provide(dice),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("guarded", {}, { id: "a" }), "Done.")))
    )
  })

  it.effect("emits by changes the states that it has itself, before and without their save", () => {
    const { layer, on } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* open
      const seen: Array<AgentState.AgentState> = []
      yield* Effect.forkChild(Stream.runForEach(session.changes, (state) => Effect.sync(() => seen.push(state))))
      yield* settleDown
      on.write = Effect.fail(full)
      assert.strictEqual(reasonOf(yield* Effect.exit(session.call("One")))?._tag, "StoreUnavailable")
      yield* settleDown
      assert.isAbove(seen.length, 1)
      assert.strictEqual(seen.at(-1), yield* session.state)
      on.write = Effect.void
      assert.isUndefined(yield* Session.load("ada"))
      const last = yield* session.resume
      assert.deepStrictEqual(yield* Session.load("ada"), last)
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })

  it.effect("takes back a decision that was written though it was reported as failed", () => {
    const { store } = makeWatched()
    const unsaid = Layer.succeed(
      KeyValueStore.KeyValueStore,
      {
        ...store,
        set: (key, value) => Effect.andThen(store.set(key, value), Effect.suspend(() => after))
      } satisfies KeyValueStore.KeyValueStore
    )
    let after: Effect.Effect<void, KeyValueStore.KeyValueStoreError> = Effect.void
    return Effect.gen(function*() {
      const session = yield* Session.make(player, { store: Session.store("p") })
      const waiting = yield* session.call("Open")
      after = Effect.fail(full)
      assert.strictEqual(reasonOf(yield* Effect.exit(session.approve("a")))?._tag, "StoreUnavailable")
      assert.strictEqual(yield* session.state, waiting)
      after = Effect.void
      const other = yield* Session.make(player, { store: Session.store("p") })
      assert.deepStrictEqual(AgentState.pendingApprovals(yield* other.state), [], "the store has the approval")
      const denied = yield* session.deny("a", "No.")
      assert.deepStrictEqual(yield* Session.load("p"), denied)
      assert.strictEqual(reasonOf(yield* Effect.exit(other.resume))?._tag, "StoreConflict")
      assert.strictEqual((yield* session.resume).status._tag, "Complete")
    }).pipe(
      Effect.scoped,
      Effect.provide(unsaid),
      Effect.provide(Dice.toLayer({ roll: () => Effect.void, guarded: () => Effect.die("approved") })),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("guarded", {}, { id: "a" }), "Done.")))
    )
  })

  it.effect.each(["call", "stream"] as const)("stops a %s whose step can't be saved, before the next", (how) => {
    const { layer, on } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* Session.make(player, { store: Session.store("p") })
      let writes = 0
      on.write = Effect.suspend(() => ++writes === 2 ? Effect.fail(full) : Effect.void)
      const reason = reasonOf(
        yield* Effect.exit(how === "call" ? session.call("Roll") : Stream.runDrain(session.stream("Roll")))
      )
      assert.deepStrictEqual(
        reason,
        new Session.StoreUnavailable({ id: "p", operation: "write", issue: "disk full", error: full })
      )
      assert.strictEqual((yield* MockModel.calls).length, 1)
      assert.strictEqual(writes, 2)
      const state = yield* session.state
      assert.strictEqual(state.steps, 1)
      assert.strictEqual(state.status._tag, "WaitingForTools")
      const done = yield* session.resume
      assert.strictEqual(AgentState.text(done), "Done.")
      assert.deepStrictEqual(yield* Session.load("p"), done)
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(dice), Effect.provide(rolls(3)))
  })

  it.effect.each([2, 3, 4, 5])("runs each call once if save %s fails once, and it is resumed", (failing) => {
    const { layer, on } = makeWatched()
    const Errands = Toolkit.make(Tool.make("one"), Tool.make("two"), Tool.make("three"))
    const runner = Agent.make("runner", { toolkit: Errands, toolConcurrency: 1 })
    const helper = Agent.make("boss", { agents: [Agent.asTool(runner)] })
    const errands = ["one", "two", "three"].map((name) => MockResponse.toolCall(name as "one", {}))
    return Effect.gen(function*() {
      for (const agent of [runner, helper]) {
        const ran: Array<string> = []
        const errand = (name: string) => () => Effect.sync(() => void ran.push(name))
        yield* Effect.gen(function*() {
          const session = yield* Session.make(agent, { store: Session.store(agent.name) })
          let writes = 0
          on.write = Effect.suspend(() => ++writes === failing ? Effect.fail(full) : Effect.void)
          assert.strictEqual(reasonOf(yield* Effect.exit(session.call("Run")))?._tag, "StoreUnavailable")
          const done = yield* session.resume
          assert.strictEqual(AgentState.text(done), "Done.")
          assert.deepStrictEqual(ran, ["one", "two", "three"])
          assert.deepStrictEqual(yield* Session.load(agent.name), done)
        }).pipe(
          Effect.scoped,
          Effect.provide(Errands.toLayer({ one: errand("one"), two: errand("two"), three: errand("three") })),
          Effect.provide(MockModel.layer(MockModel.byAgent({
            runner: MockModel.make(({ lastToolResults }) =>
              lastToolResults.length > 0 ? "Done." : MockResponse.all(...errands)
            ),
            boss: MockModel.make(({ lastToolResults }) =>
              lastToolResults.length > 0 ? "Done." : MockResponse.toolCall("runner", { task: "Run" })
            )
          })))
        )
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([1, 2, 3])(
    "saves with the next operation what save %s couldn't, though nothing is left to do",
    (failing) => {
      const { layer, on } = makeWatched()
      const follow = {
        resume: (session) => session.resume,
        stream: (session) => Stream.runDrain(session.stream()),
        pin: (session) => session.pin(9)
      } satisfies Record<string, (session: Session.Session) => Effect.Effect<unknown, unknown>>
      return Effect.gen(function*() {
        for (const [id, goOn] of Object.entries(follow)) {
          const session = yield* Session.make(assistant, { store: Session.store(id) })
          let writes = 0
          on.write = Effect.suspend(() => ++writes === failing ? Effect.fail(full) : Effect.void)
          assert.strictEqual(reasonOf(yield* Effect.exit(session.call("One")))?._tag, "StoreUnavailable")
          yield* goOn(session)
          assert.deepStrictEqual(yield* Session.load(id), yield* session.state, id)
        }
      }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
    }
  )

  it.effect("goes on after it was given what no store can hold", () => {
    const { layer } = makeWatched()
    return Effect.gen(function*() {
      const other = yield* Effect.flip(Agent.run(assistant, ""))
      const focus = Mode.make("focus", { enter: () => Effect.void })
      const session = yield* Session.make(assistant, { store: Session.store("ada"), modes: [focus] })
      yield* session.call("One")
      yield* session.schedule(ModeTransition.push("focus"))
      for (
        const wrong of [
          () => session.pin("0" as never),
          () => session.pin("length" as never),
          () => session.unpin({} as never),
          () => session.call(other.state as never),
          () => session.call(undefined as never),
          () => Stream.runDrain(session.stream(other.state as never)),
          () => session.schedule({} as never)
        ]
      ) {
        const before = yield* session.state
        const exit = yield* Effect.exit(Effect.suspend<unknown, unknown, never>(wrong))
        assert.instanceOf(Exit.isFailure(exit) && Result.getOrUndefined(Cause.findDefect(exit.cause)), TypeError)
        assert.strictEqual(yield* session.state, before)
      }
      // Untyped callers may leave out the parameters like this.
      yield* session.schedule({ ...ModeTransition.push("focus"), params: undefined } as never)
      const last = yield* session.call("Two")
      assert.deepStrictEqual(last.modes.map(({ name }) => name), ["focus"])
      assert.deepStrictEqual(yield* Session.load("ada"), last)
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })

  it.effect("begins each of several calls side by side once, whichever save fails once, and it is resumed", () => {
    const { layer, on } = makeWatched()
    const Errands = Toolkit.make(Tool.make("one"), Tool.make("two"), Tool.make("three"))
    const runner = Agent.make("runner", { toolkit: Errands, toolConcurrency: 3 })
    const boss = Agent.make("boss", { agents: [Agent.asTool(runner)], toolConcurrency: 3 })
    const errands = ["one", "two", "three"].map((name) => MockResponse.toolCall(name as "one", {}))
    const tasks = ["One", "Two"].map((task) => MockResponse.toolCall("runner", { task }))
    const models = MockModel.layer(MockModel.byAgent({
      runner: MockModel.make(({ lastToolResults }) =>
        lastToolResults.length > 0 ? "Done." : MockResponse.all(...errands)
      ),
      boss: MockModel.make(({ lastToolResults }) => lastToolResults.length > 0 ? "Done." : MockResponse.all(...tasks))
    }))
    const outcomesIn = (state: AgentState.AgentState): ReadonlyArray<string> =>
      state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : [])
        .flatMap((call) => call.state._tag === "Settled" ? [`${call.name}: ${call.state.outcome}`] : [call.name])
    const live = Effect.fnUntraced(function*(
      agent: typeof runner | typeof boss,
      failing: number,
      slowness: ReadonlyArray<number>
    ) {
      const begun: Array<string> = []
      const ended: Array<string> = []
      const errand = (name: string, at: number) => () =>
        Effect.gen(function*() {
          begun.push(name)
          for (let turn = 0; turn < slowness[at]!; turn++) yield* Effect.yieldNow
          ended.push(name)
        })
      return yield* Effect.gen(function*() {
        const session = yield* Session.make(agent, { store: Session.store(`${agent.name}-${failing}-${slowness}`) })
        let writes = 0
        on.write = Effect.suspend(() => ++writes === failing ? Effect.fail(full) : Effect.void)
        const exit = yield* Effect.exit(session.call("Run"))
        if (Exit.isSuccess(exit)) return undefined
        assert.strictEqual(reasonOf(exit)?._tag, "StoreUnavailable")
        const done = yield* session.resume
        return { begun, ended, outcomes: outcomesIn(done), text: AgentState.text(done) }
      }).pipe(
        Effect.scoped,
        Effect.provide(Errands.toLayer({ one: errand("one", 0), two: errand("two", 1), three: errand("three", 2) })),
        Effect.provide(Layer.fresh(models))
      )
    })
    return Effect.gen(function*() {
      for (const [agent, times] of [[runner, 1], [boss, 2]] as const) {
        for (const slowness of [[0, 0, 0], [3, 0, 0], [0, 5, 40], [40, 5, 0]]) {
          let failed = 0
          for (let failing = 2;; failing++) {
            const came = yield* live(agent, failing, slowness)
            if (came === undefined) break
            failed++
            const { begun, ended, outcomes, text } = came
            assert.strictEqual(text, "Done.")
            for (const name of ["one", "two", "three"]) {
              const where = `${agent.name}, save ${failing}, ${slowness}: ${name}`
              assert.strictEqual(begun.filter((each) => each === name).length, times, where)
            }
            // Only a handler that was cut short has no end.
            const cut = begun.length - ended.length
            if (agent === runner) {
              assert.strictEqual(outcomes.filter((each) => each.endsWith("Interrupted")).length, cut)
              assert.strictEqual(outcomes.filter((each) => each.endsWith("Succeeded")).length, 3 - cut)
            } else assert.deepStrictEqual(outcomes, ["runner: Succeeded", "runner: Succeeded"])
          }
          assert.isAtLeast(failed, 4)
        }
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("says that a store can't be read", () => {
    const { layer, on } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* open
      on.read = Effect.fail(full)
      for (
        const use of [open, session.call("One")] as ReadonlyArray<
          Effect.Effect<unknown, unknown, Scope.Scope | KeyValueStore.KeyValueStore>
        >
      ) {
        assert.strictEqual(
          reasonOf(yield* Effect.exit(use))?.message,
          "The store can't read \"ada\": disk full"
        )
      }
      assert.deepStrictEqual((yield* session.state).conversation.turns, [])
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })

  it.effect("that races another in the same process loses or wins, and overwrites nothing", () => {
    const { layer, on, written } = makeWatched()
    on.read = Effect.yieldNow
    on.write = Effect.yieldNow
    return Effect.gen(function*() {
      const sessions = yield* Effect.forEach([1, 2, 3, 4], () => open)
      const exits = yield* Effect.forEach(sessions, (session, n) => Effect.exit(session.call(`${n}`)), {
        concurrency: "unbounded"
      })
      const won = exits.flatMap((exit) => Exit.isSuccess(exit) ? [exit.value] : [])
      assert.strictEqual(won.length, 1)
      assert.deepStrictEqual(yield* Session.load("ada"), won[0])
      assert.strictEqual(exits.filter((exit) => reasonOf(exit)?._tag === "StoreConflict").length, 3)
      assert.strictEqual(written.length, 3)
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })

  it.effect("notices before it asks a model that another process has saved", () => {
    const { layer, values, written } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* open
      yield* session.call("One")
      const elsewhere = makeWatched(new Map(values))
      yield* Effect.flatMap(open, (session) => session.call("Three")).pipe(
        Effect.scoped,
        Effect.provide(elsewhere.layer)
      )
      for (const [key, value] of elsewhere.values) values.set(key, value)
      assert.deepStrictEqual(
        reasonOf(yield* Effect.exit(session.call("Two"))),
        new Session.StoreConflict({ id: "ada", expected: written.length, found: written.length + 1 })
      )
      assert.deepStrictEqual(texts((yield* Session.load("ada"))!), ["One", "Re: One", "Three", "Re: Three"])
      assert.deepStrictEqual((yield* MockModel.calls).map(({ request }) => request.lastUserText), ["One", "Three"])
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })

  it.effect("notices that what it had saved was put back to what it had been", () => {
    const { layer, values, written } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* open
      yield* session.call("One")
      values.clear()
      for (const [key, value] of written[0]!) values.set(key, value)
      assert.deepStrictEqual(
        reasonOf(yield* Effect.exit(session.call("Two"))),
        new Session.StoreConflict({ id: "ada", expected: written.length, found: 1 })
      )
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })

  it.effect("that loses in the middle of a run stops there, and overwrites nothing", () => {
    const { layer, values } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* Session.make(player, { store: Session.store("p") })
      const theirs = JSON.stringify({
        version: 1,
        revision: 9,
        writer: "x",
        state: AgentState.toJson(AgentState.make("player"))
      })
      const exit = yield* session.call("Roll").pipe(
        Agent.observe((event) =>
          Effect.sync(() => event._tag === "ToolCallStarted" ? values.set("p", theirs) : undefined)
        ),
        Effect.exit
      )
      assert.deepStrictEqual(reasonOf(exit), new Session.StoreConflict({ id: "p", expected: 2, found: 9 }))
      assert.strictEqual(values.get("p"), theirs)
      assert.strictEqual((yield* MockModel.calls).length, 1)
      assert.strictEqual((yield* session.state).steps, 1)
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(dice), Effect.provide(rolls(3)))
  })

  it.effect("isn't confused about its revision by an interruption in the middle of a save", () => {
    const { layer, on } = makeWatched()
    return Effect.gen(function*() {
      const session = yield* open
      const gate = Deferred.makeUnsafe<void>()
      on.write = Deferred.await(gate)
      const fiber = yield* Effect.forkChild(session.call("One"))
      yield* settleDown
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* settleDown
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(interrupting)
      on.write = Effect.void
      assert.deepStrictEqual(yield* Session.load("ada"), yield* session.state)
      assert.deepStrictEqual(texts(yield* session.call("Two")), ["One", "Two", "Re: Two"])
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })
})
