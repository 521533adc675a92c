import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Scheduler } from "effect"
import { Agent, AgentState, Guardrail } from "troupe"
import { MockModel } from "troupe/testing"
import { layer } from "../../examples/backend/scheduler.ts"
import * as Turns from "../../examples/backend/service/Turns.ts"
import { alone } from "./assistant.ts"
import { isEnd, serve } from "./serving.ts"

describe("Turns", () => {
  it.live("are had by few at a time, and by one alone while something is taken in", () =>
    Effect.gen(function*() {
      const turns = Turns.make(1)
      const begun: Array<Turns.Turn> = []
      const take = Effect.map(turns.take, (turn) => void begun.push(turn))
      yield* Effect.forEach(Array.from({ length: 6 }), () => Effect.forkChild(take, { startImmediately: true }))
      assert.lengthOf(begun, 4)
      const leave = turns.enter()
      assert.isFunction(leave)
      for (const turn of begun.slice(0, 3)) turn.end()
      yield* Effect.yieldNow
      assert.lengthOf(begun, 4)
      begun[3]!.end()
      yield* Effect.yieldNow
      assert.lengthOf(begun, 5)
      if (typeof leave === "function") leave()
      yield* Effect.yieldNow
      assert.lengthOf(begun, 6)
    }))

  it.live("end by themselves, so that a step that waits keeps nobody from the thread", () =>
    Effect.gen(function*() {
      const turns = Turns.make(1)
      for (let taken = 0; taken < 12; taken++) yield* turns.take
    }))

  it.effect("are left by who doesn't wait any more", () =>
    Effect.gen(function*() {
      const turns = Turns.make(1)
      const ends = yield* Effect.all(Array.from({ length: 4 }, () => turns.take))
      const gone = yield* Effect.forkChild(turns.take, { startImmediately: true })
      const next = yield* Effect.forkChild(turns.take, { startImmediately: true })
      yield* Fiber.interrupt(gone)
      ends[0]!.end()
      yield* Fiber.join(next)
    }))

  it("send those whom they refuse back at different times", () => {
    const turns = Turns.make(2)
    const given = Array.from({ length: 200 }, () => turns.enter())
    assert.lengthOf(given.filter((one) => typeof one === "function"), 2)
    const seconds = given.filter((one) => typeof one === "number")
    assert.strictEqual(seconds[0], 1)
    assert.deepEqual(seconds, seconds.toSorted((one, other) => one - other))
    for (const second of new Set(seconds)) assert.isAtMost(seconds.filter((one) => one === second).length, 31)
  })
})

describe("A message", () => {
  it.live("beside as many as are taken in at a time is refused with 429, and taken in when there is room", () =>
    Effect.gen(function*() {
      const asked = Deferred.makeUnsafe<void>()
      const may = Deferred.makeUnsafe<void>()
      const slow = Guardrail.make(
        "slow",
        () => Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(may)), Effect.as(Guardrail.pass))
      )
      const { fetch, open, until } = yield* serve({
        agents: alone(
          Agent.make("assistant", { guardrails: { input: [slow] } }),
          MockModel.make(() => "Hello to you.")
        ),
        settings: { limits: { waiting: 1 } }
      })
      const [one, other] = [yield* open(), yield* open()]
      const payload = { text: "Hello", key: "once" }
      const first = yield* Effect.forkChild(one.conversations.say({ params: one.params, payload }))
      yield* Deferred.await(asked)
      const response = yield* fetch(`/v1/conversations/${other.id}/messages`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(payload)
      })
      assert.strictEqual(response.status, 429)
      assert.match(response.headers.get("retry-after")!, /^[1-9]\d*$/)
      assert.include(yield* Effect.promise(() => response.text()), "\"limit\":\"waiting\"")
      yield* Deferred.succeed(may, undefined)
      yield* Fiber.join(first)
      yield* other.conversations.say({ params: other.params, payload })
      yield* until(other.id, isEnd)
      const { state } = yield* other.conversations.read({ params: other.params })
      assert.strictEqual(AgentState.text(state), "Hello to you.")
    }))
})

describe("The scheduler", () => {
  it.live("looks at the sockets between fibers that take long", () =>
    Effect.gen(function*() {
      const scheduler = Context.get(yield* Layer.build(layer), Scheduler.Scheduler)
      let rounds = 0
      let isOver = false
      const count = (): void => {
        rounds++
        if (!isOver) setImmediate(count)
      }
      // Longer than fibers may run before the sockets are looked at.
      const work = Effect.sync(() => {
        const end = performance.now() + 5
        while (performance.now() < end);
      })
      const fibers = Array.from({ length: 20 }, () =>
        Effect.runFork(
          Effect.andThen(Effect.yieldNow, work).pipe(Effect.provideService(Scheduler.Scheduler, scheduler))
        ))
      setImmediate(count)
      yield* Effect.forEach(fibers, Fiber.join, { discard: true })
      isOver = true
      assert.isAtLeast(rounds, 19)
    }))
})
