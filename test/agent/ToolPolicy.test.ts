import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "./balanced.ts"
import { makeGauge, ofTag, told, watch } from "./watch.ts"

class Busy extends Schema.TaggedError<Busy>("test/Busy")("Busy", { attempt: Schema.Int }) {}

const Work = Tool.make("work", { success: Schema.Int, failure: Busy })

/** What one attempt of the tool does: it fails, never ends, dies, or succeeds. */
type Attempt = "busy" | "stuck" | "bomb" | "done"

/** Runs an agent whose tool does this, attempt by attempt, and then succeeds. */
const play = Effect.fnUntraced(
  function*(tool: typeof Work, attempts: ReadonlyArray<Attempt>, options: { isOwn: boolean; isFatal?: boolean }) {
    const times: Array<number> = []
    const gauge = makeGauge()
    const Kit = Toolkit.make(tool)
    const layer = Kit.toLayer({
      work: Effect.fnUntraced(function*() {
        const index = times.push(yield* Clock.currentTimeMillis) - 1
        const does: { readonly [A in Attempt]: Effect.Effect<number, Busy> } = {
          busy: Effect.fail(new Busy({ attempt: index })),
          stuck: Effect.never,
          bomb: Effect.die("boom"),
          done: Effect.succeed(index)
        }
        return yield* gauge.run(String(index), does[attempts[index] ?? "done"])
      })
    })
    const toolkit = options.isOwn ? Effect.runSync(Kit.pipe(Effect.provide(layer))) : Kit
    const agent = Agent.make("a", { toolkit, fatal: options.isFatal === true ? ["work"] : [] })
    return yield* Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(watch(Agent.run(agent, "Go")))
      for (let time = 0; time < 60; time += 0.5) yield* TestClock.adjust("0.5 seconds")
      const { events, exit } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(imbalances(events), [])
      return { exit, events, times, log: gauge.log.join(" "), told: (yield* told)[0]?.result }
    }).pipe(Effect.provide([MockModel.layer(MockModel.queue(MockResponse.toolCall("work", {}), "Done.")), layer]))
  }
)

for (const [kind, isOwn] of [["the environment", false], ["its toolkit", true]] as const) {
  describe(`ToolPolicy, with a handler of ${kind}`, () => {
    it.effect("times an attempt out, and runs the finalizers of its handler first", () =>
      Effect.gen(function*() {
        const ran = yield* play(ToolPolicy.set(Work, { timeout: "2 seconds" }), ["stuck"], { isOwn })
        assert.deepStrictEqual([ran.told, ran.log], ["The tool \"work\" timed out.", "+0 -0"])
        assert.deepStrictEqual(ofTag(ran.events, "ToolCallSettled").map((event) => [event.outcome, event.duration]), [[
          "Failed",
          2000
        ]])
      }))

    it.effect("tries again when its schedule says, and tells the last failure only", () =>
      Effect.gen(function*() {
        const retrying = ToolPolicy.set(Work, {
          retry: Schedule.upTo(Schedule.exponential("1 second"), { times: 2 })
        })
        const ran = yield* play(retrying, ["busy", "busy"], { isOwn })
        assert.deepStrictEqual([ran.told, ran.times], [2, [0, 1000, 3000]])
        assert.deepStrictEqual(ofTag(ran.events, "ToolCallSettled").map((event) => event.duration), [3000])
        const failed = yield* play(retrying, ["busy", "busy", "busy"], { isOwn })
        assert.deepStrictEqual([failed.told, failed.times.length], [{ _tag: "Busy", attempt: 2 }, 3])
        assert.strictEqual(Exit.isSuccess(failed.exit) ? AgentState.text(failed.exit.value) : "", "Done.")
        assert.strictEqual(ofTag(ran.events, "ToolCallStarted").length, 1)
      }))

    it.effect("never tries again by itself", () =>
      Effect.gen(function*() {
        const ran = yield* play(Work, ["busy"], { isOwn })
        assert.deepStrictEqual([ran.told, ran.times], [{ _tag: "Busy", attempt: 0 }, [0]])
      }))

    it.effect("repeats an attempt that timed out only where the tool is idempotent", () =>
      Effect.gen(function*() {
        const policy = { timeout: "1 second", retry: Schedule.recurs(2) } as const
        const attempts = ["stuck", "busy"] as const
        const annotated = Work.annotate(Tool.Idempotent, true)
        for (
          const [tool, isRepeated] of [
            [ToolPolicy.set(Work, policy), false],
            [ToolPolicy.set(Work, { ...policy, idempotent: false }), false],
            [ToolPolicy.set(Work, { ...policy, idempotent: true }), true],
            [ToolPolicy.set(annotated, policy), true],
            [ToolPolicy.set(Work, policy).annotate(Tool.Idempotent, true), true],
            [ToolPolicy.set(annotated, { ...policy, idempotent: false }), false]
          ] as const
        ) {
          const ran = yield* play(tool, attempts, { isOwn })
          assert.deepStrictEqual(
            [ran.told, ran.log],
            isRepeated ? [2, "+0 -0 +1 -1 +2 -2"] : ["The tool \"work\" timed out.", "+0 -0"]
          )
        }
      }))

    it.effect("gives each attempt the whole of its time", () =>
      Effect.gen(function*() {
        const ran = yield* play(
          ToolPolicy.set(Work, { timeout: "10 seconds", retry: Schedule.spaced("1 second"), idempotent: true }),
          ["stuck", "stuck", "stuck"],
          { isOwn }
        )
        assert.deepStrictEqual([ran.told, ran.times], [3, [0, 11_000, 22_000, 33_000]])
      }))

    it.effect("lets the schedule see the failure", () =>
      Effect.gen(function*() {
        const seen: Array<unknown> = []
        const picky = Schedule.while(Schedule.recurs(10), ({ input }) => {
          seen.push(input)
          return input instanceof Busy || Cause.isTimeoutError(input)
            ? Effect.succeed(!(input instanceof Busy) || input.attempt < 2)
            : Effect.succeed(false)
        })
        const tool = ToolPolicy.set(Work, { timeout: "1 second", retry: picky, idempotent: true })
        const ran = yield* play(tool, ["busy", "stuck", "busy"], { isOwn })
        assert.deepStrictEqual(ran.told, { _tag: "Busy", attempt: 2 })
        assert.strictEqual(seen.length, 3)
        assert.deepStrictEqual(seen[0], new Busy({ attempt: 0 }))
        assert.isTrue(Cause.isTimeoutError(seen[1]))
      }))

    it.effect("tries a fatal tool as often, before its error ends the run", () =>
      Effect.gen(function*() {
        const tool = ToolPolicy.set(Work, { retry: Schedule.recurs(1) })
        const ran = yield* play(tool, ["busy", "busy"], { isOwn, isFatal: true })
        assert.deepStrictEqual(Exit.isFailure(ran.exit) && Cause.squash(ran.exit.cause), new Busy({ attempt: 1 }))
        const saved = yield* play(tool, ["busy"], { isOwn, isFatal: true })
        assert.deepStrictEqual(saved.told, 1)
      }))

    it.effect("leaves a defect one", () =>
      Effect.gen(function*() {
        const ran = yield* play(ToolPolicy.set(Work, { retry: Schedule.recurs(5) }), ["bomb"], { isOwn })
        assert.strictEqual(Exit.isFailure(ran.exit) ? Cause.squash(ran.exit.cause) : "", "boom")
        assert.strictEqual(ran.times.length, 1)
      }))
  })
}

describe("ToolPolicy", () => {
  it("belongs to the tool, and says what the tool's own annotation says", () => {
    assert.deepStrictEqual(ToolPolicy.get(Work), { idempotent: false })
    assert.deepStrictEqual(ToolPolicy.get(Work.annotate(Tool.Idempotent, true)), { idempotent: true })
    assert.deepStrictEqual(ToolPolicy.get(ToolPolicy.set(Work, { exclusive: true, idempotent: true })), {
      exclusive: true,
      idempotent: true
    })
    assert.deepStrictEqual(ToolPolicy.get(Work), { idempotent: false })
  })

  it.effect("can be set on the tools of a toolkit that has its handlers", () =>
    Effect.gen(function*() {
      const Kit = Toolkit.make(Work)
      const made = yield* Kit.pipe(Effect.provide(Kit.toLayer({ work: () => Effect.never })))
      const toolkit = { ...made, tools: { work: ToolPolicy.set(made.tools.work, { timeout: "1 second" }) } }
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Agent.run(Agent.make("a", { toolkit }), "Go"))
        yield* TestClock.adjust("1 second")
        assert.strictEqual(AgentState.text(yield* Fiber.join(fiber)), "Done.")
        assert.strictEqual((yield* told)[0]?.result, "The tool \"work\" timed out.")
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("work", {}), "Done."))))
    }))
})

describe("ToolPolicy.setAll", () => {
  it.effect("counts for handlers of the environment and for those that a toolkit has, after what a tool sets itself", () =>
    Effect.gen(function*() {
      const Look = Tool.make("look", { success: Schema.String })
      const Slow = ToolPolicy.set(Tool.make("slow", { success: Schema.String }), {
        timeout: "9 seconds",
        exclusive: true
      })
      const Kit = Toolkit.make(Look, Slow)
      const layer = Kit.toLayer({
        look: () => Effect.never,
        slow: () => Effect.delay(Effect.succeed("slow"), "5 seconds")
      })
      const own = yield* Effect.provide(Kit, layer)
      const policy = { timeout: "2 seconds" } as const
      for (const toolkit of [ToolPolicy.setAll(Kit, policy), ToolPolicy.setAll(policy)(own)]) {
        assert.deepInclude(ToolPolicy.get(toolkit.tools.slow), { timeout: "9 seconds", exclusive: true })
        yield* Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(Agent.run(Agent.make("a", { toolkit }), "Go"))
          for (let time = 0; time < 10; time++) yield* TestClock.adjust("1 second")
          yield* Fiber.join(fiber)
          assert.deepStrictEqual((yield* told).map(({ result }) => result), ["The tool \"look\" timed out.", "slow"])
        }).pipe(Effect.provide([
          layer,
          MockModel.layer(MockModel.queue(
            MockResponse.all(MockResponse.toolCall("look", {}), MockResponse.toolCall("slow", {})),
            "Done."
          ))
        ]))
      }
    }))
})

describe("A maxLength", () => {
  it.effect("cuts what the model reads of results and failures, as text or as JSON, and says how much is left out", () =>
    Effect.gen(function*() {
      const names = ["short", "long", "pair", "json", "fails"] as const
      const tool = <const Name extends string>(name: Name) =>
        Tool.make(name, { success: Schema.Unknown, failure: Schema.String })
      const Kit = ToolPolicy.setAll(
        Toolkit.make(tool("short"), tool("long"), tool("pair"), tool("json"), tool("fails")),
        { maxLength: 10 }
      )
      yield* Effect.gen(function*() {
        yield* Agent.run(Agent.make("a", { toolkit: Kit }), "Go")
        const note = (left: number, all: number) => `\n[Cut here: ${left} of ${all} characters are left out.]`
        assert.deepStrictEqual((yield* told).map(({ isFailure, result }) => [isFailure, result]), [
          [false, "0123456789"],
          [false, `${"a".repeat(10)}${note(90, 100)}`],
          // Half a character is none.
          [false, `123456789${note(2, 11)}`],
          [false, `{"a":[1,2,${note(5, 15)}`],
          [true, `${"b".repeat(10)}${note(1, 11)}`]
        ])
      }).pipe(Effect.provide([
        Kit.toLayer({
          short: () => Effect.succeed("0123456789"),
          long: () => Effect.succeed("a".repeat(100)),
          pair: () => Effect.succeed("123456789\u{1F600}"),
          json: () => Effect.succeed({ a: [1, 2, 3, 4] }),
          fails: () => Effect.fail("b".repeat(11))
        }),
        MockModel.layer(MockModel.queue(
          MockResponse.all(...names.map((name) => MockResponse.toolCall(name, {}))),
          "Done."
        ))
      ]))
    }))

  it("can't be negative or a fraction", () => {
    for (const maxLength of [-1, 0.5, NaN]) {
      assert.throws(() => ToolPolicy.set(Work, { maxLength }), `"maxLength" is ${maxLength}, not a whole number`)
    }
  })
})
