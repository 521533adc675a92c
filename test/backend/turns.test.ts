import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer } from "effect"
import { Agent, AgentState, Guardrail } from "troupe"
import { MockModel } from "troupe/testing"
import { make as fiberTurns, type Turns as FiberTurns } from "../../examples/backend/scheduler.ts"
import { turning } from "../../examples/backend/service/Runs.ts"
import * as Turns from "../../examples/backend/service/Turns.ts"
import { alone } from "./assistant.ts"
import { isEnd, serve } from "./serving.ts"

describe("Turns", () => {
  it.live("are had by few at a time, and by one alone while something is taken in", () =>
    Effect.gen(function*() {
      const turns = Turns.make(0)
      const begun: Array<Turns.Turn> = []
      const take = Effect.map(turns.take, (turn) => void begun.push(turn))
      yield* Effect.forEach(Array.from({ length: 6 }), () => Effect.forkChild(take, { startImmediately: true }))
      assert.lengthOf(begun, 4)
      const place = yield* turns.enter("ada")
      for (const turn of begun.slice(0, 3)) turn.end()
      yield* Effect.yieldNow
      assert.lengthOf(begun, 4)
      begun[3]!.end()
      yield* Effect.yieldNow
      assert.lengthOf(begun, 5)
      place.end()
      yield* Effect.yieldNow
      assert.lengthOf(begun, 6)
    }))

  it.live("end by themselves, so that a step that waits keeps nobody from the thread", () =>
    Effect.gen(function*() {
      const turns = Turns.make(0)
      for (let taken = 0; taken < 12; taken++) yield* turns.take
    }))

  it.effect("are left by who doesn't wait any more", () =>
    Effect.gen(function*() {
      const turns = Turns.make(0)
      const ends = yield* Effect.all(Array.from({ length: 4 }, () => turns.take))
      const gone = yield* Effect.forkChild(turns.take, { startImmediately: true })
      const next = yield* Effect.forkChild(turns.take, { startImmediately: true })
      yield* Fiber.interrupt(gone)
      ends[0]!.end()
      yield* Fiber.join(next)
    }))

  it.effect("are waited for no longer by a run that is interrupted, which tells its end", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      const asked = yield* Deferred.make<void>()
      const take = Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
      const run = yield* Agent.run(Agent.make("assistant"), "Hello").pipe(
        Agent.observe(turning({ ...Turns.make(0), take })),
        Agent.observe(({ _tag }) => Effect.sync(() => void told.push(_tag))),
        Effect.provide(MockModel.layer(MockModel.queue("Hello to you."))),
        Effect.forkChild
      )
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(run)
      assert.deepEqual(told, ["RunStarted", "StepStarted", "StepCompleted", "RunInterrupted"])
    }))
})

describe("Places", () => {
  /** Who got a place, in order. The first six are had by somebody else. */
  const crowd = (patience: number) =>
    Effect.gen(function*() {
      const turns = Turns.make(patience)
      const places = yield* Effect.all(Array.from({ length: 6 }, () => turns.enter("ada")))
      const entered: Array<string> = []
      const ask = (tenant: string, name = tenant) =>
        Effect.forkChild(
          Effect.map(turns.enter(tenant), ({ end }) => {
            entered.push(name)
            end()
          }),
          { startImmediately: true }
        )
      return { ask, entered, leave: () => places[0]!.end() }
    })

  it.effect("are given to tenants in turn, and in the order in which a tenant asked", () =>
    Effect.gen(function*() {
      const { ask, entered, leave } = yield* crowd(10_000)
      const asking = [yield* ask("ada", "ada 1"), yield* ask("ada", "ada 2"), yield* ask("ada", "ada 3")]
      asking.push(yield* ask("bob", "bob 1"), yield* ask("eve", "eve 1"), yield* ask("bob", "bob 2"))
      assert.deepEqual(entered, [])
      leave()
      yield* Effect.forEach(asking, Fiber.join)
      assert.deepEqual(entered, ["ada 1", "bob 1", "eve 1", "ada 2", "bob 2", "ada 3"])
    }))

  it.live("go before the turns of runs, as long as somebody waits and runs don't have to wait for long", () =>
    Effect.gen(function*() {
      const turns = Turns.make(10_000)
      yield* turns.take
      const begun = performance.now()
      const places = yield* Effect.all(Array.from({ length: 6 }, () => turns.enter("ada")))
      const taking: Array<string> = []
      const entering = yield* Effect.forkChild(
        Effect.map(turns.enter("ada"), ({ end }) => {
          taking.push("request")
          end()
        }),
        { startImmediately: true }
      )
      const run = yield* Effect.forkChild(Effect.map(turns.take, () => taking.push("run")), { startImmediately: true })
      // The first turn is over, and nobody gets the next one.
      yield* Effect.sleep("30 millis")
      if (performance.now() - begun < 90) assert.deepEqual(taking, [])
      places[0]!.end()
      yield* Fiber.join(entering)
      yield* Fiber.join(run)
      assert.deepEqual(taking, ["request", "run"])
      for (let left = 0; left < 10; left++) yield* Effect.forkChild(turns.enter("ada"), { startImmediately: true })
      yield* turns.take
    }))

  it.effect("aren't kept by who doesn't wait any more", () =>
    Effect.gen(function*() {
      const { ask, entered, leave } = yield* crowd(10_000)
      const gone = yield* ask("ada")
      const next = yield* ask("bob")
      yield* Fiber.interrupt(gone)
      leave()
      yield* Fiber.join(next)
      assert.deepEqual(entered, ["bob"])
    }))

  it.effect("are refused to the tenant who would wait for too long, with a time to come again, and not to others", () =>
    Effect.gen(function*() {
      const { ask } = yield* crowd(1000)
      const asking = yield* Effect.forEach(Array.from({ length: 100 }), () => ask("ada"))
      const refused = asking.flatMap((fiber) => fiber.pollUnsafe() ?? [])
      assert.lengthOf(refused, 50)
      for (const exit of refused) assert.deepEqual(exit, Exit.fail({ retryAfter: 2 }))
      assert.isUndefined((yield* ask("bob")).pollUnsafe())
    }))

  it.live("end by themselves, so that guardrails which wait for a model keep nobody from being taken in", () =>
    Effect.gen(function*() {
      const turns = Turns.make(10_000)
      for (let entered = 0; entered < 12; entered++) yield* turns.enter("ada")
    }))
})

describe("A message", () => {
  /** An agent whose guardrail waits until it may go on, once so many have asked it. */
  const slow = (count: number) => {
    let left = count
    const asked = Deferred.makeUnsafe<void>()
    const may = Deferred.makeUnsafe<void>()
    const guardrail = Guardrail.make(
      "slow",
      () =>
        Effect.suspend(() => --left === 0 ? Deferred.succeed(asked, undefined) : Effect.void).pipe(
          Effect.andThen(Deferred.await(may)),
          Effect.as(Guardrail.pass)
        )
    )
    const agents = alone(
      Agent.make("assistant", { guardrails: { input: [guardrail] } }),
      MockModel.make(() => "Hello to you.")
    )
    return { agents, asked: Deferred.await(asked), go: Deferred.succeed(may, undefined) }
  }

  it.live("that would have to wait is refused with 429 where nobody may wait, and taken in when there is room", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = slow(1)
      const { fetch, open, until } = yield* serve({ agents, settings: { limits: { waiting: Duration.zero } } })
      const payload = { text: "Hello", key: "once" }
      const conversations = yield* Effect.forEach(Array.from({ length: 12 }), () => open())
      const say = (id: string) =>
        fetch(`/v1/conversations/${id}/messages`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(payload)
        })
      const saying = yield* Effect.forEach(conversations, ({ id }) => Effect.forkChild(say(id)))
      yield* asked
      const refused = yield* Effect.raceAllFirst(saying.map(Fiber.join))
      assert.strictEqual(refused.status, 429)
      assert.match(refused.headers.get("retry-after")!, /^[1-9]\d*$/)
      assert.include(yield* Effect.promise(() => refused.text()), "\"limit\":\"waiting\"")
      yield* go
      yield* Effect.forEach(saying, Fiber.join)
      for (const { conversations: client, id, params } of conversations) {
        yield* client.say({ params, payload }).pipe(
          Effect.retry({ while: ({ _tag }) => _tag === "TooManyRequests" || _tag === "ConversationBusy" })
        )
        yield* until(id, isEnd)
        const { state } = yield* client.read({ params })
        assert.strictEqual(AgentState.text(state), "Hello to you.")
      }
    }))

  it.live("is taken in beside many whose guardrails wait for a model", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = slow(12)
      const { begin, until } = yield* serve({ agents })
      const saying = yield* Effect.forEach(Array.from({ length: 12 }), () => Effect.forkChild(begin()))
      yield* asked
      yield* go
      for (const fiber of saying) yield* until((yield* Fiber.join(fiber)).id, isEnd)
    }))
})

/** Counts the rounds of Node's loop that an effect takes, and does something in each. */
const roundsOf = <A, E>(self: Effect.Effect<A, E>, each: () => void = () => {}) =>
  Effect.suspend(() => {
    let rounds = 0
    let isOver = false
    const count = (): void => {
      rounds++
      each()
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    return Effect.map(Effect.ensuring(self, Effect.sync(() => void (isOver = true))), () => rounds)
  })

/** Keeps the thread, in milliseconds. */
const work = (millis: number) =>
  Effect.sync(() => {
    const end = performance.now() + millis
    while (performance.now() < end);
  })

/** Runs fibers that keep the thread, in the service's turns. */
const runAll = (count: number, millis: number, { layer }: FiberTurns) =>
  Effect.gen(function*() {
    const context = yield* Layer.build(layer)
    const fibers = Array.from({ length: count }, () =>
      Effect.runForkWith(context)(Effect.andThen(Effect.yieldNow, work(millis))))
    yield* Effect.forEach(fibers, Fiber.join, { discard: true })
  }).pipe(Effect.scoped)

describe("The scheduler", () => {
  it.live("looks at the sockets between fibers that take long", () =>
    Effect.gen(function*() {
      // Longer than fibers may run before the sockets are looked at.
      assert.isAtLeast(yield* roundsOf(runAll(20, 5, fiberTurns())), 19)
    }))

  it.live("looks at them sooner while connections come", () =>
    Effect.gen(function*() {
      const turns = fiberTurns()
      assert.isAtLeast(yield* roundsOf(runAll(40, 0.4, turns), turns.connected), 39)
    }))

  it.live("lets a fiber run for a moment, and not to its end, before another one does", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(fiberTurns().layer)
      const order: Array<string> = []
      const steps = Array.from({ length: 2000 })
      const fibers = ["first", "second"].map((name) =>
        Effect.runForkWith(context)(
          Effect.forEach(steps, () => Effect.sync(() => void order.push(name)), { discard: true })
        )
      )
      yield* Effect.forEach(fibers, Fiber.join, { discard: true })
      assert.isBelow(order.indexOf("second"), 257)
    }).pipe(Effect.scoped))
})
