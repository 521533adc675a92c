import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Scheduler } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Guardrail } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { Settings } from "../../examples/backend/config.ts"
import * as Agents from "../../examples/backend/service/Agents.ts"
import * as Runs from "../../examples/backend/service/Runs.ts"
import * as Store from "../../examples/backend/store/Store.ts"
import { alone, assistant, boss, gate, gated } from "./assistant.ts"
import { folder, isEnd, type Kept, logging, serve, settings } from "./serving.ts"
import { backings } from "./store/backings.ts"
import { type Failing, failing } from "./stores.ts"

/** Until the cluster has looked for messages without an answer. */
const looked = Effect.sleep("1200 millis")

describe("a run", () => {
  it.live("goes on when its client goes away", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const serving = yield* serve({ agents })
      const { conversations, id, params } = yield* serving.begin()
      const reading = yield* serving.watch(id)
      yield* asked
      yield* Fiber.interrupt(reading)
      assert.isTrue((yield* conversations.read({ params })).isRunning)
      yield* go
      yield* serving.until(id, isEnd)
      assert.strictEqual(AgentState.text((yield* conversations.read({ params })).state), "An answer.")
    }))

  it.live("is alone in its conversation", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const serving = yield* serve({ agents })
      const { conversations, id, params } = yield* serving.begin()
      yield* asked
      const busy = yield* Effect.flip(conversations.say({ params, payload: { text: "Hurry" } }))
      assert.deepInclude(busy, { _tag: "ConversationBusy", conversation: id })
      assert.strictEqual((yield* Effect.flip(conversations.resume({ params })))._tag, "ConversationBusy")
      yield* go
      // Whoever hears of its end can say something at once, before the lease is given back.
      const told = yield* serving.until(id, isEnd)
      yield* conversations.say({ params, payload: { text: "Thanks" } })
      yield* serving.until(id, isEnd, told.at(-1)!.id)
    }))

  it.live("waits for what holds its conversation without a run", () =>
    Effect.gen(function*() {
      const serving = yield* serve({ agents: assistant(MockModel.queue("Hello.", "Hello again.")) })
      const { conversations, id, params } = yield* serving.begin()
      const told = yield* serving.until(id, isEnd)
      yield* Effect.forkChild(conversations.cancel({ params }), { startImmediately: true })
      yield* conversations.say({ params, payload: { text: "Are you there?" } })
      yield* serving.until(id, isEnd, told.at(-1)!.id)
    }))

  it.live("is read as it ended, also when it ends while it is read", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      let onRead: Effect.Effect<void> = Effect.void
      const serving = yield* serve({
        agents,
        wrap: ({ list, logs }) => ({
          logs,
          list: { ...list, read: (tenant, id) => Effect.tap(list.read(tenant, id), () => onRead) }
        })
      })
      const { conversations, id, params } = yield* serving.begin()
      yield* asked
      // Between what the store reads and the answer, the run ends.
      onRead = Effect.suspend(() => {
        onRead = Effect.void
        return Effect.asVoid(Effect.orDie(Effect.andThen(go, serving.until(id, isEnd))))
      })
      const read = yield* conversations.read({ params })
      assert.isFalse(read.isRunning)
      assert.strictEqual(AgentState.text(read.state), "An answer.")
    }))

  it.live("is stopped with the request to its model when somebody cancels it, and goes on when somebody resumes it", () =>
    Effect.gen(function*() {
      const { answer, asked, wasAborted } = gate()
      const serving = yield* serve({ agents: assistant(MockModel.queue(answer, "Here I am.")) })
      const { conversations, id, params } = yield* serving.begin()
      yield* asked
      const cancelled = yield* conversations.cancel({ params })
      assert.isTrue(yield* wasAborted)
      assert.isFalse(cancelled.isRunning)
      assert.strictEqual(cancelled.state.status._tag, "InProgress")
      const told = yield* serving.until(id, isEnd)
      assert.strictEqual(told.at(-1)!.event, "RunInterrupted")
      assert.strictEqual(told.at(-1)!.id, cancelled.cursor)
      // Nobody goes on with what was cancelled.
      yield* looked
      assert.strictEqual((yield* conversations.read({ params })).cursor, cancelled.cursor)
      yield* conversations.resume({ params })
      yield* serving.until(id, isEnd, cancelled.cursor)
      const { state } = yield* conversations.read({ params })
      assert.strictEqual(AgentState.text(state), "Here I am.")
      assert.strictEqual((yield* conversations.cancel({ params })).state.status._tag, "Complete")
      const atEnd = yield* Effect.flip(conversations.resume({ params }))
      assert.deepInclude(atEnd, { _tag: "NothingToResume", conversation: id })
    }))

  it.live("is stopped when its conversation is removed", () =>
    Effect.gen(function*() {
      const { agents, asked, wasAborted } = gated()
      const serving = yield* serve({ agents })
      const { conversations, params } = yield* serving.begin()
      yield* asked
      yield* conversations.remove({ params })
      assert.isTrue(yield* wasAborted)
      assert.deepEqual(yield* conversations.list(), [])
    }))

  for (const [when, isCounted] of [["waits for its place", false], ["is about to begin", true]] as const) {
    it.live(`isn't begun in a conversation that is removed while its message ${when}, of which nothing is kept`, () =>
      Effect.gen(function*() {
        const store = yield* folder()
        const [came, may] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const wait = Effect.andThen(Deferred.succeed(came, undefined), Deferred.await(may))
        const wrap = ({ list, logs }: Kept): Kept => ({
          logs,
          list: {
            ...list,
            reserve: (...args) =>
              isCounted
                ? Effect.tap(list.reserve(...args), () => wait)
                : Effect.andThen(wait, list.reserve(...args))
          }
        })
        const serving = yield* serve({ agents: gated().agents, store, wrap })
        const { conversations, id, params } = yield* serving.open()
        const saying = yield* Effect.forkChild(Effect.flip(conversations.say({ params, payload: { text: "Hello" } })))
        yield* Deferred.await(came)
        yield* conversations.remove({ params })
        yield* Deferred.succeed(may, undefined)
        assert.deepInclude(yield* Fiber.join(saying), { _tag: "ConversationNotFound", conversation: id })
        const kept = yield* Effect.provide(
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT conversation FROM troupe_conversation_log`),
          store.context
        )
        assert.deepEqual(kept, [])
      }))
  }

  it.live("tells of its failure, and can be resumed", () =>
    Effect.gen(function*() {
      const { answer, asked, go } = gate()
      const serving = yield* serve({ agents: assistant(MockModel.queue(MockResponse.httpError(401), answer)) })
      const { conversations, id, params } = yield* serving.begin()
      const told = yield* serving.until(id, isEnd)
      assert.strictEqual(told.at(-1)!.event, "RunFailed")
      const failed = yield* conversations.read({ params })
      assert.deepEqual([failed.isRunning, failed.state.status._tag], [false, "Failed"])
      yield* conversations.resume({ params })
      yield* asked
      const resumed = yield* conversations.read({ params })
      assert.deepEqual([resumed.isRunning, resumed.state.status._tag], [true, "InProgress"])
      yield* go
      yield* serving.until(id, isEnd, told.at(-1)!.id)
      assert.strictEqual(AgentState.text((yield* conversations.read({ params })).state), "An answer.")
    }))

  it.live("that can't even be opened is given up, and not tried again and again", () =>
    Effect.gen(function*() {
      const store = yield* folder()
      const { agents, asked } = gated()
      const first = yield* serve({ agents, store, settings: { grace: Duration.zero } })
      const { params } = yield* first.begin()
      yield* asked
      yield* first.stop
      let opened = 0
      const broken = Agents.layer({
        first: "assistant",
        agent: Agent.make("assistant"),
        tools: Layer.effectDiscard(Effect.suspend(() => Effect.die(new Error(`a bug, met ${++opened} times`))))
      })
      const second = yield* serve({
        agents: broken.pipe(Layer.provide(MockModel.layer(MockModel.queue()))),
        store
      })
      const { conversations } = yield* second.client()
      yield* Effect.repeat(conversations.read({ params }), { until: ({ isRunning }) => !isRunning })
      assert.strictEqual(opened, 1)
    }))

  it.live("tells and shows that a call has its result when that is saved", () =>
    Effect.gen(function*() {
      const saving = yield* Deferred.make<void>()
      const may = yield* Deferred.make<void>()
      // Holds up the entry in which the call is settled.
      const wrap = ({ list, logs }: Kept): Kept => ({
        list,
        logs: {
          ...logs,
          append: (entry) =>
            entry.text.includes(`"_tag":"ToolCallSettled"`)
              ? Deferred.succeed(saving, undefined).pipe(
                Effect.andThen(Deferred.await(may)),
                Effect.andThen(logs.append(entry))
              )
              : logs.append(entry)
        }
      })
      const agents = boss(MockModel.queue(MockResponse.toolCall("helper", { task: "help" }), "Helped.", "All done."))
      const serving = yield* serve({ agents, wrap })
      const { conversations, id, params } = yield* serving.begin()
      yield* Deferred.await(saving)
      const before = yield* conversations.read({ params })
      assert.notInclude(JSON.stringify(AgentState.toJson(before.state)), `"Settled"`)
      const shown = yield* serving.until(id, (told) => told.id === before.cursor)
      assert.notInclude(shown.map(({ event }) => event), "ToolCallSettled")
      yield* Deferred.succeed(may, undefined)
      const rest = yield* serving.until(id, isEnd, before.cursor)
      assert.include(rest.map(({ event }) => event), "ToolCallSettled")
    }))

  it.live("that breaks down isn't gone on with by itself", () =>
    Effect.gen(function*() {
      const agents = assistant(MockModel.queue(() => Effect.die(new Error("a bug")), "Here I am."))
      const serving = yield* serve({ agents })
      const { conversations, id, params } = yield* serving.begin()
      const told = yield* serving.until(id, isEnd)
      yield* looked
      const { cursor, isRunning } = yield* conversations.read({ params })
      assert.deepEqual({ cursor, isRunning }, { cursor: told.at(-1)!.id, isRunning: false })
      yield* conversations.resume({ params })
      yield* serving.until(id, isEnd, cursor)
      assert.strictEqual(AgentState.text((yield* conversations.read({ params })).state), "Here I am.")
    }))

  it.live("is named in the log once if it fails, by an error or by a defect, and not if it is interrupted", () => {
    const { lines, logged } = logging()
    return logged(Effect.gen(function*() {
      const { answer, asked } = gate()
      const model = MockModel.queue(MockResponse.httpError(401), () => Effect.die(new Error("a bug")), answer)
      const serving = yield* serve({ agents: assistant(model) })
      for (const expected of [/^A run failed: .*InvalidKey/, /^A run failed: a bug$/]) {
        const { id } = yield* serving.begin()
        const told = yield* serving.until(id, isEnd)
        assert.strictEqual(told.at(-1)!.event, "RunFailed")
        yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => lines.length > 0, times: 100 })
        assert.lengthOf(lines, 1)
        assert.match(lines.pop()!, expected)
      }
      const { conversations, params } = yield* serving.begin()
      yield* asked
      yield* conversations.cancel({ params })
      assert.deepEqual(lines, [])
    }))
  })

  it.live("goes on once its store does", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const fails: Failing = new Set()
      const serving = yield* serve({ agents, wrap: failing(fails) })
      const { conversations, id, params } = yield* serving.begin()
      yield* asked
      fails.add("append")
      yield* go
      yield* Effect.sleep("50 millis")
      fails.clear()
      yield* serving.until(id, ({ event }) => event === "RunCompleted")
      const { isRunning, state } = yield* conversations.read({ params })
      assert.isFalse(isRunning)
      assert.strictEqual(AgentState.text(state), "An answer.")
      assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
    }))

  it.live("isn't taken in where the store can't keep it", () =>
    Effect.gen(function*() {
      const fails: Failing = new Set()
      const serving = yield* serve({ wrap: failing(fails) })
      const { conversations, id, params } = yield* serving.open()
      fails.add("append")
      const payload = { text: "Hello", key: "once" }
      assert.strictEqual((yield* Effect.flip(conversations.say({ params, payload })))._tag, "Unavailable")
      fails.clear()
      yield* conversations.say({ params, payload })
      yield* serving.until(id, ({ event }) => event === "RunCompleted")
      const { state } = yield* conversations.read({ params })
      assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
      fails.add("read").add("create").add("check")
      for (
        const effect of [
          conversations.open(),
          conversations.read({ params }),
          conversations.say({ params, payload }),
          conversations.cancel({ params })
        ]
      ) assert.strictEqual((yield* Effect.flip(effect))._tag, "Unavailable")
      assert.strictEqual((yield* serving.fetch("/ready")).status, 503)
      assert.strictEqual((yield* serving.fetch("/health")).status, 200)
    }))
})

for (const backing of backings) {
  backing.describe(`a run that began behind the removal of its conversation, ${backing.name}`, () => {
    it.live("is removed by the next instance, if its own one died", () =>
      Effect.gen(function*() {
        const store = yield* (yield* backing.make).open()
        const sql = Context.get(store.context, SqlClient.SqlClient)
        const { agents, asked } = gated()
        const one = yield* serve({ agents, store, settings: { grace: Duration.zero } })
        const { conversations, id } = yield* one.begin()
        const other = yield* one.open()
        yield* conversations.say({ params: other.params, payload: { text: "Hello" } })
        yield* asked
        yield* one.stop
        // As if it had died before it looked again whether the conversation is still there.
        yield* sql`DELETE FROM backend_conversations WHERE id = ${id}`
        const two = yield* serve({ agents: assistant(MockModel.make(() => "Hello.")), store })
        yield* Effect.repeat(
          Effect.delay(sql`SELECT conversation FROM troupe_conversation_log WHERE conversation = ${`Desk/${id}`}`, 50),
          { until: (kept) => kept.length === 0, times: 400 }
        )
        const kept = yield* sql<{ readonly id: string }>`SELECT id FROM troupe_conversations`
        assert.deepEqual(kept.map(({ id }) => id), [`Desk/${other.id}`])
        assert.strictEqual((yield* two.fetch(`/v1/conversations/${other.id}`)).status, 200)
      }), 40_000)
  })
}

describe("the limit of a tenant's runs", () => {
  /** An assistant whose guardrail and whose model each wait until they may go on. */
  const slow = Effect.gen(function*() {
    const { answer, go } = gate()
    const asked = yield* Deferred.make<void>()
    const may = yield* Deferred.make<void>()
    const guardrail = Guardrail.make(
      "slow",
      () => Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(may)), Effect.as(Guardrail.pass))
    )
    const agents = alone(Agent.make("assistant", { guardrails: { input: [guardrail] } }), MockModel.make(answer))
    return { agents, go, asked: Deferred.await(asked), pass: Deferred.succeed(may, undefined) }
  })
  const payload = { text: "Hello" }

  it.live("holds for messages that come at once, also for those that wait for a place", () =>
    Effect.gen(function*() {
      const { agents, asked, go, pass } = yield* slow
      const serving = yield* serve({ agents, settings: { limits: { runs: 8 } } })
      const chats = yield* Effect.forEach(Array.from({ length: 40 }), () => serving.open())
      const begun: Array<string> = []
      const saying = yield* Effect.forkChild(
        Effect.forEach(chats, ({ conversations, id, params }) =>
          Effect.match(conversations.say({ params, payload }), {
            onSuccess: () => void begun.push(id),
            onFailure: (error) => error
          }), { concurrency: "unbounded" })
      )
      yield* asked
      // By now all of them have come.
      yield* Effect.sleep("500 millis")
      yield* pass
      const refused = (yield* Fiber.join(saying)).filter((error) => error !== undefined)
      assert.lengthOf(begun, 8)
      for (const error of refused) assert.deepInclude(error, { _tag: "TooManyRequests", limit: "runs" })
      const running = chats.find(({ id }) => id === begun[0])!
      const other = chats.find(({ id }) => !begun.includes(id))!
      const say = ({ conversations, params }: typeof other) => conversations.say({ params, payload })
      // What is said where a run is under way begins none.
      assert.strictEqual((yield* Effect.flip(say(running)))._tag, "ConversationBusy")
      assert.strictEqual((yield* Effect.flip(say(other)))._tag, "TooManyRequests")
      yield* go
      yield* Effect.forEach(begun, (id) => serving.until(id, isEnd))
      yield* say(other)
      yield* serving.until(other.id, isEnd)
    }))

  it.live("counts what is being taken in when its client has gone away", () =>
    Effect.gen(function*() {
      const { agents, asked, go, pass } = yield* slow
      yield* go
      const serving = yield* serve({ agents, settings: { limits: { runs: 1 } } })
      const [first, second] = [yield* serving.open(), yield* serving.open()]
      const gone = yield* Effect.forkChild(first.conversations.say({ params: first.params, payload }))
      yield* asked
      yield* Fiber.interrupt(gone)
      yield* Effect.sleep("100 millis")
      const say = Effect.timeout(second.conversations.say({ params: second.params, payload }), "3 seconds")
      assert.deepInclude(yield* Effect.flip(say), { _tag: "TooManyRequests", limit: "runs" })
      yield* pass
      yield* serving.until(first.id, isEnd)
      yield* say
      yield* serving.until(second.id, isEnd)
    }))

  it.effect("counts what takes long to begin, until it is known whether it has", () =>
    Effect.gen(function*() {
      const { context } = yield* folder()
      const limited = Layer.succeed(Settings, { ...settings, limits: { ...settings.limits, runs: 1 } })
      yield* Effect.gen(function*() {
        const store = yield* Store.Store
        const runs = yield* Runs.Runs
        yield* Effect.forEach(["1", "2"], (id) => store.create("ada", id))
        const may = yield* Deferred.make<void>()
        const slow = Effect.andThen(Deferred.await(may), Effect.fail("refused"))
        const beginning = yield* Effect.forkChild(Effect.exit(runs.begin("ada", "1", slow)), { startImmediately: true })
        const other = Effect.exit(runs.begin("ada", "2", Effect.succeed({ cursor: 0, isNew: true })))
        for (let at = 0; at < 10; at++) {
          yield* TestClock.adjust("9 seconds")
          const refused = yield* other
          assert.include(JSON.stringify(refused), "\"limit\":\"runs\"")
          // Whoever asked for it may leave.
          if (at === 4) yield* Fiber.interrupt(beginning)
        }
        yield* Deferred.succeed(may, undefined)
        yield* Effect.repeat(Effect.yieldNow, { times: 20 })
        assert.isTrue(Exit.isSuccess(yield* other))
      }).pipe(
        Effect.provide(Runs.layer.pipe(Layer.provideMerge(Store.layer), Layer.provide(limited))),
        Effect.provideContext(context)
      )
    }))

  it.effect("renews a count only while something takes long to begin", () =>
    Effect.gen(function*() {
      const { context } = yield* folder()
      const limited = Layer.succeed(Settings, settings)
      let renewals = 0
      const counted = Layer.effect(
        Store.Store,
        Effect.map(Store.Store, (store) => ({
          ...store,
          reserve: (...args) =>
            Effect.map(store.reserve(...args), (reserved) =>
              reserved?.count === undefined ? reserved : {
                ...reserved,
                count: { ...reserved.count, renew: Effect.sync(() => void renewals++) }
              })
        }))
      )
      yield* Effect.gen(function*() {
        const store = yield* Store.Store
        const runs = yield* Runs.Runs
        yield* store.create("ada", "1")
        yield* runs.begin("ada", "1", Effect.as(Effect.yieldNow, { cursor: 0, isNew: true }))
        assert.strictEqual(renewals, 0)
        yield* Effect.forkChild(runs.begin("ada", "1", Effect.never), { startImmediately: true })
        yield* TestClock.adjust("25 seconds")
        assert.strictEqual(renewals, 2)
      }).pipe(
        Effect.provide(
          Runs.layer.pipe(Layer.provideMerge(counted), Layer.provide(Store.layer), Layer.provide(limited))
        ),
        Effect.provideContext(context)
      )
    }))

  it.live("doesn't count what is refused while the count is renewed, wherever that is broken off", () =>
    Effect.gen(function*() {
      const { context } = yield* folder()
      yield* Effect.gen(function*() {
        const store = yield* Store.Store
        const sql = yield* SqlClient.SqlClient
        yield* store.create("ada", "1")
        for (let turns = 0; turns < 40; turns++) {
          const { count } = (yield* store.reserve("ada", "1", 1))!
          // The renewed time is another one.
          yield* Effect.sleep(2)
          const renewing = yield* Effect.forkChild(
            Effect.provideService(count!.renew, Scheduler.MaxOpsBeforeYield, 3)
          )
          yield* Effect.repeat(Effect.yieldNow, { times: turns })
          yield* Fiber.interrupt(renewing)
          yield* count!.end
          const [row] = yield* sql`SELECT begins_until FROM backend_conversations`
          assert.isNull(row!["begins_until"], `after ${turns} turns`)
        }
      }).pipe(Effect.provide(Store.layer), Effect.provideContext(context))
    }))

  it.live("doesn't count what was refused", () =>
    Effect.gen(function*() {
      const { agents, asked } = gated()
      const serving = yield* serve({ agents, settings: { grace: Duration.zero, limits: { runs: 2 } } })
      const { conversations, params } = yield* serving.begin()
      yield* asked
      const again = { params, payload: { text: "Hurry" } }
      assert.strictEqual((yield* Effect.flip(conversations.say(again)))._tag, "ConversationBusy")
      yield* conversations.cancel({ params })
      yield* serving.begin()
      yield* serving.begin()
    }))
})

describe("a shutdown", () => {
  it.live("lets runs end that can, and ends streams with their last events", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const serving = yield* serve({ agents })
      const { conversations, id, params } = yield* serving.begin()
      yield* asked
      const reading = yield* serving.watch(id)
      const other = (yield* conversations.open()).id
      const stopping = yield* Effect.forkChild(serving.stop)
      const refused = yield* Effect.gen(function*() {
        const response = yield* serving.fetch("/ready")
        return response.status === 503 ? response : yield* Effect.fail("not yet")
      }).pipe(Effect.eventually)
      assert.strictEqual(refused.headers.get("content-type"), "application/problem+json")
      assert.strictEqual(refused.headers.get("retry-after"), "5")
      assert.strictEqual((yield* Effect.flip(conversations.open()))._tag, "Unavailable")
      const saying = conversations.say({ params: { id: other }, payload: { text: "Hello" } })
      assert.strictEqual((yield* Effect.flip(saying))._tag, "Unavailable")
      assert.isTrue((yield* conversations.read({ params })).isRunning)
      yield* go
      yield* Fiber.join(stopping)
      assert.strictEqual((yield* Fiber.join(reading)).at(-1)!.event, "RunCompleted")
    }))

  it.live("breaks off runs that take longer than their time of grace, and the next service goes on with them", () =>
    Effect.gen(function*() {
      const store = yield* folder()
      const { agents, asked } = gated()
      const first = yield* serve({ agents, store, settings: { grace: Duration.millis(1) } })
      const { id, params } = yield* first.begin()
      yield* asked
      const reading = yield* first.watch(id)
      yield* first.stop
      const told = yield* Fiber.join(reading)
      // A handover equals a death: what was interrupted is told by who goes on.
      assert.strictEqual(told.at(-1)!.event, "ModelCallStarted")
      const second = yield* serve({ agents: assistant(MockModel.queue("Sorry for the wait.")), store })
      yield* second.until(id, ({ event }) => event === "RunCompleted", told.at(-1)!.id)
      const { conversations } = yield* second.client()
      const { isRunning, state } = yield* conversations.read({ params })
      assert.isFalse(isRunning)
      assert.strictEqual(AgentState.text(state), "Sorry for the wait.")
      assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
    }))
})
