import { NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, FileSystem, Layer, Option, Random, Scope } from "effect"
import type { LanguageModel } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import type { SqlClient } from "effect/sql"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Agent, AgentState, Conversation, Session } from "troupe"
import { MockModel } from "troupe/testing"
import * as Sqlite from "../../examples/backend/store/Sqlite.ts"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const assistant = Agent.make("assistant")
const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))
/** A model that lets others go on meanwhile. */
const slow = MockModel.layer(
  MockModel.make(({ lastUserText }) => Effect.as(Effect.sleep("1 millis"), `Re: ${lastUserText}`))
)
const open = Session.make(assistant, { store: Session.store("a") })

const reasonOf = <A>(exit: Exit.Exit<A, unknown>): Session.Reason | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return Session.isSessionError(error) ? error.reason : undefined
}

const failure = new KeyValueStore.KeyValueStoreError({ message: "gone", method: "set" })

/**
 * A store in memory that tells of each write, and after so many does nothing any more. The write after `unsaid` others is done, but
 * reported as failed.
 */
const makeStore = (values: Map<string, string>, writes = Number.POSITIVE_INFINITY, unsaid?: number) => {
  const written: Array<readonly [key: string, size: number]> = []
  let read = 0
  const write = (key: string, size: number, f: () => void) =>
    Effect.suspend(() => {
      if (written.length >= writes) return Effect.fail(failure)
      written.push([key, size])
      f()
      return written.length - 1 === unsaid ? Effect.fail(failure) : Effect.void
    })
  const store = KeyValueStore.makeStringOnly({
    get: (key) =>
      Effect.suspend(() => {
        const value = values.get(key)
        read += value?.length ?? 0
        return written.length >= writes ? Effect.fail(failure) : Effect.succeed(value)
      }),
    set: (key, value) => write(key, value.length, () => void values.set(key, value)),
    remove: (key) => write(key, 0, () => void values.delete(key)),
    clear: Effect.die("not used"),
    size: Effect.sync(() => values.size),
    keys: Effect.sync(() => [...values.keys()])
  })
  return { written, read: () => read, layer: Layer.succeed(KeyValueStore.KeyValueStore, store) }
}

/** A store over values, with operations of its own. */
const keeping = (
  values: Map<string, string>,
  own: Partial<Parameters<typeof KeyValueStore.makeStringOnly>[0]>
): KeyValueStore.KeyValueStore =>
  KeyValueStore.makeStringOnly({
    get: (key) => Effect.sync(() => values.get(key)),
    set: (key, value) => Effect.sync(() => void values.set(key, value)),
    remove: (key) => Effect.sync(() => void values.delete(key)),
    clear: Effect.die("not used"),
    size: Effect.sync(() => values.size),
    keys: Effect.sync(() => [...values.keys()]),
    ...own
  })

const isEntry = ([key]: readonly [key: string, size: number]) => /#\d+$/.test(key)
const sum = (written: ReadonlyArray<readonly [key: string, size: number]>) =>
  written.reduce((sum, [, size]) => sum + size, 0)

describe("A session that is stored for long", () => {
  it.effect("writes at turn 1,000 what it writes at turn 10, reads no more, and is read in few pieces", () => {
    const values = new Map<string, string>()
    const { layer, read, written } = makeStore(values)
    return Effect.gen(function*() {
      const turns: Array<{ readonly entries: number; readonly read: number }> = []
      const session = yield* open
      for (let turn = 1; turn <= 1000; turn++) {
        const [before, at] = [read(), written.length]
        yield* session.call(`Words of turn ${String(turn).padStart(4, "0")}`)
        turns.push({ entries: sum(written.slice(at).filter(isEntry)), read: read() - before })
      }
      const [tenth, last] = [turns[9]!, turns[999]!]
      assert.isBelow(last.entries / tenth.entries, 1.05)
      assert.isBelow(last.read / tenth.read, 1.05)
      // Logs begin anew and chunks are made, for some times what the entries have.
      const total = (from: number, to: number) => {
        const entries = written.filter(isEntry)
        const [first, end] = [written.indexOf(entries[from * 3]!), written.indexOf(entries[to * 3]!)]
        return sum(written.slice(first, end)) / (to - from)
      }
      assert.isBelow(total(100, 990) / total(10, 100), 1.4)
      assert.isBelow(sum(written), 4 * sum(written.filter(isEntry)))
      const reading = makeStore(values)
      assert.deepStrictEqual(yield* Effect.provide(Session.load("a"), reading.layer), yield* session.state)
      yield* Session.remove("a")
      assert.deepStrictEqual([...values.keys()], [])
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(echo))
  })

  it.effect("is whole after whatever write was the last, and goes on from there", () =>
    Effect.gen(function*() {
      const fresh = AgentState.make("assistant")
      const words = (n: number) => `${n} `.padEnd(n === 0 ? 0 : 20_000, "x")
      /** Talks until the store is gone. Gives what was said and answered. */
      const talk = Effect.gen(function*() {
        const session = yield* open
        const states = [yield* session.state]
        yield* Effect.ignore(Effect.forEach(Array.from({ length: 12 }), (_, n) =>
          Effect.map(session.call(words(n)), (state) =>
            void states.push(state))))
        return { acknowledged: states.at(-1)!, seen: yield* session.state }
      }).pipe(
        Effect.scoped,
        Effect.orElseSucceed(() => ({ acknowledged: fresh, seen: fresh })),
        Effect.provide(echo)
      )
      const all = makeStore(new Map())
      yield* Effect.provide(talk, all.layer)
      assert.isAbove(
        all.written.filter(([key]) =>
          key === "a"
        ).length,
        2,
        "several logs"
      )
      for (let writes = 0; writes <= all.written.length; writes++) {
        const values = new Map<string, string>()
        const { acknowledged, seen } = yield* Effect.provide(talk, makeStore(values, writes).layer)
        const after = makeStore(values)
        yield* Effect.gen(function*() {
          const found = yield* Session.load("a")
          const turns = found?.conversation.turns ?? []
          assert.isAtLeast(turns.length, acknowledged.conversation.turns.length, `${writes}`)
          assert.deepStrictEqual(turns, seen.conversation.turns.slice(0, turns.length))
          yield* Effect.scoped(Effect.flatMap(open, (session) => session.call("Again")))
          const state = yield* Effect.scoped(Effect.flatMap(open, (session) => session.call("More")))
          assert.strictEqual(AgentState.text(state), "Re: More")
          assert.strictEqual(state.conversation.turns.length, turns.length + 4)
          assert.deepStrictEqual(yield* Session.load("a"), state)
          yield* Session.remove("a")
          // Nothing names the base of a first log if its head was never written.
          assert.lengthOf([...values.keys()], writes === 1 ? 1 : 0, `${writes}`)
        }).pipe(Effect.provide(after.layer), Effect.provide(echo))
      }
    }))

  it.effect("knows what it wrote itself, whichever write was done but reported as failed", () =>
    Effect.gen(function*() {
      const words = (n: number) => `${n} `.padEnd(n === 0 ? 0 : 20_000, "x")
      const talk = Effect.gen(function*() {
        const session = yield* open
        const reasons: Array<string | undefined> = []
        for (let n = 0; n < 8; n++) {
          const exit = yield* Effect.exit(session.call(words(n)))
          if (Exit.isSuccess(exit)) continue
          reasons.push(reasonOf(exit)?._tag)
          yield* session.resume
        }
        const state = yield* session.state
        assert.deepStrictEqual(yield* Session.load("a"), state)
        return { reasons, texts: state.conversation.turns.map(Conversation.textOf) }
      }).pipe(Effect.scoped, Effect.provide(echo))
      const all = makeStore(new Map())
      const { texts } = yield* Effect.provide(talk, all.layer)
      assert.isAbove(all.written.filter(([key]) => key === "a").length, 2, "several logs")
      const failed: Array<number> = []
      for (let at = 0; at < all.written.length; at++) {
        const values = new Map<string, string>()
        const { layer, written } = makeStore(values, undefined, at)
        const told = yield* Effect.provide(talk, layer)
        const [key] = written[at]!
        if (told.reasons.length > 0) failed.push(at)
        assert.deepStrictEqual(told.reasons.filter((reason) => reason !== "StoreUnavailable"), [], `${at} ${key}`)
        assert.deepStrictEqual(
          told.texts.filter((text) => text.startsWith("Re: ")),
          texts.filter((text) => text.startsWith("Re: ")),
          `${at} ${key}`
        )
        yield* Effect.provide(Session.remove("a"), layer)
        // Nothing names the base of a first log if its head was never written.
        assert.lengthOf([...values.keys()], at === 0 ? 1 : 0, `${at} ${key}`)
      }
      assert.isAbove(failed.length, 10)
    }))

  it.effect("leaves its own write where another session may have read it, though it can't read the head then", () =>
    Effect.gen(function*() {
      const values = new Map<string, string>()
      const others = makeStore(values).layer
      const scope = yield* Effect.scope
      const other = yield* open.pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.provide([others, echo]),
        Effect.cached
      )
      let known = Number.POSITIVE_INFINITY
      const own = keeping(values, {
        get: (key) =>
          Effect.suspend(() =>
            key === "a" && values.size > known
              ? Effect.andThen(Effect.ignore(other), Effect.fail(failure))
              : Effect.succeed(values.get(key))
          )
      })
      const session = yield* Effect.provideService(open, KeyValueStore.KeyValueStore, own)
      yield* session.call("One")
      known = values.size
      assert.strictEqual(reasonOf(yield* Effect.exit(session.call("Two")))?._tag, "StoreUnavailable")
      known = Number.POSITIVE_INFINITY
      const state = yield* Effect.flatMap(other, (session) => session.call("Three"))
      assert.deepStrictEqual(yield* Effect.provide(Session.load("a"), others), state)
      assert.strictEqual(reasonOf(yield* Effect.exit(session.call("Four")))?._tag, "StoreConflict")
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("keeps few of the saves that failed, however long its store can't be written to", () =>
    Effect.gen(function*() {
      const values = new Map<string, string>()
      let isReadOnly = false
      let refused = 0
      const store = keeping(values, {
        set: (key, value) =>
          Effect.suspend(() => {
            if (!isReadOnly) return Effect.sync(() => void values.set(key, value))
            refused += value.length
            return Effect.fail(failure)
          })
      })
      const heap = () => {
        collect()
        return process.memoryUsage().heapUsed
      }
      yield* Effect.gen(function*() {
        const session = yield* open
        yield* session.call("One")
        isReadOnly = true
        const before = heap()
        for (let n = 0; n < 100; n++) {
          const exit = yield* Effect.exit(session.call(`${n} `.padEnd(10_000, "x")))
          assert.strictEqual(reasonOf(exit)?._tag, "StoreUnavailable")
        }
        assert.isAbove(refused, 50_000_000)
        assert.isBelow(heap() - before, 25_000_000)
        isReadOnly = false
        const state = yield* session.call("Two")
        assert.deepStrictEqual(yield* Session.load("a"), state)
      }).pipe(Effect.provideService(KeyValueStore.KeyValueStore, store))
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("keeps nothing of earlier logs, also if some of it couldn't be removed at first", () =>
    Effect.gen(function*() {
      const values = new Map<string, string>()
      const refused = new Set<string>()
      const { layer, written } = makeStore(values)
      const logsOf = (keys: Iterable<string>) => new Set([...keys].flatMap((key) => key.split("#")[1] ?? []))
      /** A store whose removals fail at first. */
      const failing = Layer.effect(
        KeyValueStore.KeyValueStore,
        Effect.map(KeyValueStore.KeyValueStore, (store) => ({
          ...store,
          remove: (key: string) => Effect.andThen(Effect.sync(() => refused.add(key)), Effect.fail(failure))
        }))
      ).pipe(Layer.provide(layer))
      const talk = (calls: number) =>
        Effect.flatMap(
          open,
          (session) =>
            Effect.forEach(Array.from({ length: calls }), (_, n) => session.call(`${n} `.padEnd(20_000, "x")))
        ).pipe(
          Effect.scoped,
          Effect.provide(echo)
        )
      yield* Effect.provide(talk(30), failing)
      const left = new Map(values)
      assert.isAbove(logsOf(left.keys()).size, 2)
      assert.isAbove(refused.size, 0)
      yield* Effect.provide(Session.remove("a"), makeStore(left).layer)
      assert.deepStrictEqual([...left.keys()], [])
      yield* Effect.provide(talk(130), layer)
      assert.isAbove(written.filter(([key]) => key === "a").length, 2)
      assert.strictEqual(logsOf(values.keys()).size, 1)
    }))

  it.effect("is removed whole, whichever value can't be read, except for its head", () =>
    Effect.gen(function*() {
      const talk = Effect.scoped(
        Effect.flatMap(open, (session) =>
          Effect.forEach(Array.from({ length: 45 }), (_, n) => session.call(`Words ${n}`)))
      )
      const all = new Map<string, string>()
      yield* talk.pipe(Effect.provide(makeStore(all).layer), Effect.provide(echo))
      const keys = [...all.keys()].filter((key) =>
        key !== "a"
      )
      assert.isTrue(keys.length > 30)
      for (const broken of keys) {
        for (const value of ["{}", "no JSON"]) {
          const values = new Map(all).set(broken, value)
          yield* Effect.provide(Session.remove("a"), makeStore(values).layer)
          assert.deepStrictEqual([...values.keys()], [], `${broken} is ${value}`)
        }
      }
    }))

  it.effect("is removed whole by a second removal, whichever write of the first one was the last", () =>
    Effect.gen(function*() {
      const talk = Effect.scoped(
        Effect.flatMap(
          open,
          (session) => Effect.forEach(Array.from({ length: 9 }), (_, n) => session.call(`${n} `.padEnd(15_000, "x")))
        )
      )
      const all = new Map<string, string>()
      yield* talk.pipe(Effect.provide(makeStore(all).layer), Effect.provide(echo))
      assert.isAbove(all.size, 10)
      let failures = 0
      for (let writes = 0;; writes++) {
        const values = new Map(all)
        let count = 0
        const failing = <A, B extends ReadonlyArray<unknown>>(
          self: (...args: B) => Effect.Effect<A, KeyValueStore.KeyValueStoreError>
        ) =>
        (...args: B) => Effect.suspend(() => count++ < writes ? self(...args) : Effect.fail(failure))
        const layer = Layer.effect(
          KeyValueStore.KeyValueStore,
          Effect.map(KeyValueStore.KeyValueStore, (store) => ({
            ...store,
            remove: failing(store.remove),
            modify: failing(store.modify)
          }))
        ).pipe(Layer.provide(makeStore(values).layer))
        const exit = yield* Effect.exit(Effect.provide(Session.remove("a"), layer))
        if (Exit.isSuccess(exit)) {
          assert.strictEqual(values.size, 0)
          break
        }
        failures++
        assert.strictEqual(reasonOf(exit)?._tag, "StoreUnavailable")
        yield* Effect.gen(function*() {
          // Before the first write nothing is removed.
          const read = yield* Effect.exit(Session.load("a"))
          assert.strictEqual(reasonOf(read)?._tag, writes === 0 ? undefined : "StoredStateUnreadable")
          yield* Session.remove("a")
          assert.deepStrictEqual([...values.keys()], [], `${writes}`)
          yield* Effect.scoped(Effect.flatMap(open, (session) => session.call("Again")))
        }).pipe(Effect.provide(makeStore(values).layer), Effect.provide(echo))
      }
      assert.isAbove(failures, 10)
    }))

  it.effect("reads the documents that were written before there were logs", () => {
    const values = new Map<string, string>()
    return Effect.gen(function*() {
      const before = AgentState.ask(AgentState.make("assistant"), "One", 0)
      const document = JSON.stringify({ version: 1, revision: 7, writer: "w", state: AgentState.toJson(before) })
      values.set("a", document)
      assert.deepStrictEqual(yield* Session.load("a"), before)
      const other = yield* open
      const after = yield* Effect.scoped(Effect.flatMap(open, (session) => session.resume))
      assert.deepStrictEqual(yield* Session.load("a"), after)
      assert.deepStrictEqual(
        reasonOf(yield* Effect.exit(other.call("Two"))),
        new Session.StoreConflict({ id: "a", expected: 7, found: 8 })
      )
    }).pipe(Effect.scoped, Effect.provide(makeStore(values).layer), Effect.provide(echo))
  })

  it.effect("takes an id for itself, whatever other ids look like", () =>
    Effect.gen(function*() {
      const session = (id: string) => Session.make(assistant, { store: Session.store(id) })
      const ids = ["a", "a#", "a#1", "b/a"]
      yield* Effect.forEach(ids, (id) => Effect.flatMap(session(id), (session) => session.call(id)))
      yield* Session.remove("a")
      assert.isUndefined(yield* Session.load("a"))
      for (const id of ids.slice(1)) assert.strictEqual(AgentState.text((yield* Session.load(id))!), `Re: ${id}`)
    }).pipe(Effect.scoped, Effect.provide(makeStore(new Map()).layer), Effect.provide(echo)))

  it.effect("begins new logs by names of their own, though its random numbers repeat", () =>
    Effect.gen(function*() {
      const session = yield* open
      for (let turn = 1; turn < 9; turn++) {
        const last = yield* Random.withSeed(session.call("x".repeat(20_000 * turn)), "again")
        assert.deepStrictEqual(yield* Session.load("a"), last)
      }
    }).pipe(Effect.scoped, Effect.provide(makeStore(new Map()).layer), Effect.provide(echo)))

  it.effect("says that events which lead to an illegal state can't be read", () => {
    const values = new Map<string, string>()
    return Effect.gen(function*() {
      yield* Effect.scoped(Effect.flatMap(open, (session) => session.call("One")))
      const [key, text] = [...values].find(([, text]) => text.includes("ModelResponded"))!
      const call = { _tag: "Call", id: "c", name: "pay", params: {}, state: { _tag: "Pending" } }
      const { events, ...rest } = JSON.parse(text)
      const edited = events.map((event: { readonly _tag: string }) =>
        event._tag === "ModelResponded" ? { ...event, parts: [call, call] } : event
      )
      values.set(key, JSON.stringify({ ...rest, events: edited }))
      for (const use of [Session.load("a"), Effect.scoped(open)]) {
        const reason = reasonOf(
          yield* Effect.exit<unknown, unknown, KeyValueStore.KeyValueStore | LanguageModel.LanguageModel>(use)
        )
        assert.isTrue(
          reason?._tag === "StoredStateUnreadable" && reason.issue.includes("Expected a unique id"),
          String(reason)
        )
      }
    }).pipe(Effect.provide(makeStore(values).layer), Effect.provide(echo))
  })

  it.effect("says that logs which lead back to each other can't be read", () => {
    const values = new Map<string, string>()
    return Effect.gen(function*() {
      yield* Effect.scoped(Effect.flatMap(open, (session) => session.call("One")))
      const { log } = JSON.parse(values.get("a")!)
      const last = [...values.keys()].findLast((key) => /#\d+$/.test(key))!
      const base = { ...JSON.parse(values.get(`a#${log}`)!), revision: 90 }
      values.set(last, JSON.stringify({ writer: "w", next: "other" }))
      values.set("a#other", JSON.stringify(base))
      values.set("a#other#91", JSON.stringify({ writer: "w", next: log }))
      const reason = reasonOf(yield* Effect.exit(Session.load("a")))
      assert.isTrue(reason?._tag === "StoredStateUnreadable" && reason.issue.includes("leads back to"))
      yield* Session.remove("a")
      assert.deepStrictEqual([...values.keys()], [])
    }).pipe(Effect.provide(makeStore(values).layer), Effect.provide(echo))
  })
})

const temporary = Effect.flatMap(FileSystem.FileSystem, (files) => files.makeTempDirectoryScoped()).pipe(
  Effect.provide(NodeFileSystem.layer)
)

/** Stores over one backing, as several processes have them: none knows of the other. */
const shared = {
  "in an SQL table": Effect.gen(function*() {
    const sql: Layer.Layer<SqlClient.SqlClient, unknown> = Sqlite.layer(yield* temporary)
    const context = yield* Layer.build(sql)
    return Session.layerStoreSql({ table: "sessions" }).pipe(Layer.provide(Layer.succeedContext(context)), Layer.fresh)
  }),
  "in a folder": Effect.map(temporary, (folder) =>
    Session.layerStoreFileSystem(folder).pipe(
      Layer.provide([NodeFileSystem.layer, NodePath.layer]),
      Layer.fresh
    ))
}

describe.each(Object.entries(shared))("Sessions of two processes %s", (_, backing) => {
  it.live("lose nothing that was reported as done", () =>
    Effect.gen(function*() {
      const layer = yield* backing
      const done: Array<string> = []
      let conflicts = 0
      const process = (name: string) =>
        Effect.forEach(Array.from({ length: 12 }), (_, n) =>
          Effect.gen(function*() {
            const words = `${name}${n} `.padEnd(3000, "x")
            const exit = yield* Effect.exit(Effect.scoped(Effect.flatMap(open, (session) => session.call(words))))
            if (Exit.isSuccess(exit)) done.push(words)
            else {
              assert.strictEqual(reasonOf(exit)?._tag, "StoreConflict", Cause.pretty(exit.cause))
              conflicts++
            }
          })).pipe(Effect.provide(layer), Effect.provide(slow))
      yield* Effect.forEach(["x", "y", "z"], process, { concurrency: "unbounded" })
      const state = yield* Effect.provide(Session.load("a"), layer)
      const said = new Set(
        state?.conversation.turns.flatMap((turn) =>
          turn._tag === "User" ? turn.parts.map((part) => part._tag === "Text" ? part.text : "") : []
        )
      )
      assert.deepStrictEqual(done.filter((words) => !said.has(words)), [])
      assert.isAbove(done.length, 0)
      assert.isAbove(conflicts, 0)
    }).pipe(Effect.scoped))

  it.live("are read whole while they run", () =>
    Effect.gen(function*() {
      const layer = yield* backing
      let isOver = false
      let loaded = 0
      const reading = Effect.whileLoop({
        while: () => !isOver,
        body: () =>
          Effect.map(Effect.delay(Session.load("a"), "1 millis"), (state) => {
            loaded += state === undefined ? 0 : 1
          }),
        step: () => {}
      }).pipe(Effect.provide(layer))
      const running = Effect.gen(function*() {
        const session = yield* open
        yield* Effect.forEach(Array.from({ length: 40 }), (_, n) => session.call(`${n} `.padEnd(2000, "x")))
      }).pipe(
        Effect.scoped,
        Effect.provide(layer),
        Effect.provide(slow),
        Effect.ensuring(Effect.sync(() => {
          isOver = true
        }))
      )
      yield* Effect.all([running, reading], { concurrency: "unbounded" })
      assert.isAbove(loaded, 5)
    }).pipe(Effect.scoped))
})

describe("A store in an SQL table", () => {
  it.effect("lets no other connection write between what it reads and what it sets", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const context = yield* Layer.build(
        Session.layerStoreSql({ table: "sessions" }).pipe(Layer.provide(Sqlite.layer(folder)))
      )
      const store = Context.get(context, KeyValueStore.KeyValueStore)
      yield* store.set("n", "1")
      const other = new DatabaseSync(join(folder, "conversations.db"), { timeout: 0 })
      const refusals: Array<string> = []
      yield* store.modify("n", (found) => {
        try {
          other.exec("UPDATE sessions SET value = '100' WHERE id = 'n'")
        } catch (error) {
          refusals.push(String(error))
        }
        return `${Number(found) + 1}`
      })
      other.close()
      assert.lengthOf(refusals, 1)
      assert.include(refusals[0], "locked")
      assert.strictEqual(yield* store.get("n"), "2")
    }).pipe(Effect.scoped))
})
