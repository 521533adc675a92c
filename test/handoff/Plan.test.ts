import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Option, Schedule, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Handoff, Plan } from "troupe"

const { edge, edgeWhen, make, node, run } = Plan

/** A node of a list of any length. */
type Step = Plan.Node<string, unknown, unknown>

/** A node that gives its input on after a time. */
const after = <const Name extends string>(name: Name, duration: Duration.Input) =>
  node(name, (input: unknown) => Effect.as(Effect.sleep(duration), input))

/** Runs something while the clock goes on, and says when it ended. */
const timed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(Effect.exit(self))
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

const now = Effect.clockWith((clock) => clock.currentTimeMillis)

const reasonOf = (make: () => unknown): Plan.Issue => {
  try {
    make()
  } catch (error) {
    if (error instanceof Plan.InvalidPlan) return error.reason
    throw error
  }
  return assert.fail("the plan was made")
}

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E =>
  Exit.isFailure(exit) ? Option.getOrThrow(Cause.findErrorOption(exit.cause)) : assert.fail("it succeeded")

describe("Plan.make", () => {
  const a = node("a", (n: number) => Effect.succeed(n))
  const b = node("b", (n: number) => Effect.succeed(n))
  const c = node("c", (n: number) => Effect.succeed(n))

  it("finds a cycle, of one node too", () => {
    const cycle = reasonOf(() => make({ nodes: [a, b, c], edges: [edge(a, b), edge(b, c), edge(c, b)] as never }))
    assert.deepStrictEqual(cycle, { _tag: "Cycle", path: ["b", "c", "b"] })
    const self = reasonOf(() => make({ nodes: [a], edges: [edge(a, a)] }))
    assert.deepStrictEqual(self, { _tag: "Cycle", path: ["a", "a"] })
  })

  it("finds a node of an edge that isn't listed, at either end", () => {
    const target = reasonOf(() => make({ nodes: [a], edges: [edge(a, b)] as never }))
    assert.deepStrictEqual(target, { _tag: "UnknownNode", from: "a", to: "b", node: "b" })
    const source = reasonOf(() => make({ nodes: [b], edges: [edge(a, b)] as never }))
    assert.deepStrictEqual(source, { _tag: "UnknownNode", from: "a", to: "b", node: "a" })
  })

  it("finds a node that only has the name of one that is listed", () => {
    const other = node("b", (n: number) => Effect.succeed(-n))
    const issue = reasonOf(() => make({ nodes: [a, b], edges: [edge(a, other)] }))
    assert.deepStrictEqual(issue, { _tag: "UnknownNode", from: "a", to: "b", node: "b" })
  })

  it("names the function that was given no node", () => {
    const none: typeof b = undefined as never
    for (
      const [by, attempt] of [
        ["Plan.edge", () => edge(none, b)],
        ["Plan.edge", () => edge(a, none)],
        ["Plan.edgeWhen", () => edgeWhen(none, b, () => true)],
        ["Plan.edgeWhen", () => edgeWhen(a, none, () => true)]
      ] as const
    ) assert.throws(attempt, Handoff.MissingAgent, `\`${by}\` was given no agent`)
  })

  it("finds two edges from one source into a node", () => {
    const issue = reasonOf(() => make({ nodes: [a, b], edges: [edge(a, b), edge(a, b, (n) => n + 1)] }))
    assert.deepStrictEqual(issue, { _tag: "DuplicateEdge", from: "a", to: "b" })
  })

  it("finds two nodes of a name", () => {
    const issue = reasonOf(() => make({ nodes: [a, node("a", Effect.void)] }))
    assert.deepStrictEqual(issue, { _tag: "DuplicateNode", node: "a" })
  })

  it("wants a concurrency that lets something run", () => {
    for (const concurrency of [0, -1, 1.5, NaN]) {
      const issue = reasonOf(() => make({ nodes: [a], concurrency }))
      assert.deepStrictEqual(issue, { _tag: "InvalidConcurrency", concurrency })
    }
    make({ nodes: [a], concurrency: "unbounded" })
  })

  it("says what is wrong", () => {
    const message = (reason: Plan.Issue) => new Plan.InvalidPlan({ reason }).message
    assert.deepStrictEqual(
      [
        message({ _tag: "Cycle", path: ["a", "b", "a"] }),
        message({ _tag: "UnknownNode", from: "a", to: "b", node: "b" }),
        message({ _tag: "DuplicateEdge", from: "a", to: "b" }),
        message({ _tag: "DuplicateNode", node: "a" }),
        message({ _tag: "InvalidConcurrency", concurrency: 0 })
      ],
      [
        "The plan is invalid: there is a cycle: a → b → a",
        "The plan is invalid: the edge from \"a\" to \"b\" has a node \"b\" that isn't in the plan",
        "The plan is invalid: two edges lead from \"a\" to \"b\"",
        "The plan is invalid: two nodes have the name \"a\"",
        "The plan is invalid: its concurrency is 0, not a whole number from 1 on"
      ]
    )
  })

  it("checks dense plans in no time", () => {
    const nodes = Array.from({ length: 60 }, (_, index): Step => node(`${index}`, () => Effect.void))
    const edges = nodes.flatMap((from, index) => nodes.slice(index + 1).map((to) => edge(from, to)))
    make({ nodes, edges })
    edges.push(edge(nodes[59]!, nodes[0]!))
    assert.strictEqual(reasonOf(() => make({ nodes, edges }))._tag, "Cycle")
  })
})

describe("What arrives", () => {
  const start = node("start", (n: number) => Effect.succeed(n))
  const end = node("end", (value: unknown) => Effect.succeed(value))

  it.effect("at an entry is the plan's input", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* run(make({ nodes: [start, end] }), 7), { start: 7, end: 7 })
    }))

  it.effect("by one edge is the value itself", () =>
    Effect.gen(function*() {
      const plan = make({ nodes: [start, end], edges: [edge(start, end)] })
      assert.deepStrictEqual(yield* run(plan, 7), { end: 7 })
    }))

  it.effect("by several edges is a record of their sources, whichever is first", () =>
    Effect.gen(function*() {
      const slow = after("slow", "2 seconds")
      const fast = after("fast", "1 second")
      const plan = make({ nodes: [slow, fast, end], edges: [edge(slow, end), edge(fast, end)] })
      assert.deepStrictEqual(yield* timed(run(plan, 7)), Exit.succeed({ end: { slow: 7, fast: 7 } }))
    }))

  it.effect("is what the edge's function makes of the output, by an effect or not", () =>
    Effect.gen(function*() {
      const other = node("other", (value: unknown) => Effect.succeed(value))
      const plan = make({
        nodes: [start, end, other],
        edges: [edge(start, end, (n) => `${n}!`), edge(start, other, (n) => Effect.as(Effect.yieldNow, n + 1))]
      })
      assert.deepStrictEqual(yield* run(plan, 7), { end: "7!", other: 8 })
    }))

  it.effect("lacks the key of an edge that isn't taken", () =>
    Effect.gen(function*() {
      const other = node("other", (n: number) => Effect.succeed(n))
      const seen = node("seen", (of: { readonly start: number; readonly other?: number }) => Effect.succeed(of))
      const plan = make({
        nodes: [start, other, seen],
        edges: [edge(start, seen), edge(start, other), edgeWhen(other, seen, (n) => Effect.succeed(n > 5))]
      })
      assert.deepStrictEqual(yield* run(plan, 5), { seen: { start: 5 } })
      assert.deepStrictEqual(yield* run(plan, 6), { seen: { start: 6, other: 6 } })
    }))

  it.effect("has keys of any name, and goes back by them", () =>
    Effect.gen(function*() {
      const names = ["__proto__", "constructor", "toString", ""]
      const nodes = names.map((name): Step => node(name, (n: unknown) => Effect.succeed(n)))
      const all = [...nodes, end]
      const { end: seen }: { readonly end?: unknown } = yield* run(
        make({ nodes: all, edges: nodes.map((from) => edge(from, end)) }),
        7
      )
      assert.deepStrictEqual(Object.entries(seen as object), names.map((name): [string, unknown] => [name, 7]))
      const exits: object = yield* run(make({ nodes }), 7)
      assert.deepStrictEqual(Object.entries(exits), names.map((name): [string, unknown] => [name, 7]))
    }))
})

describe("A condition", () => {
  const start = node("start", (n: number) => Effect.succeed(n))
  const middle = node("middle", (n: number) => Effect.succeed(n))
  const end = node("end", (n: number) => Effect.succeed(n))

  it.effect("that doesn't hold skips the node, and those behind it that nothing else leads to", () =>
    Effect.gen(function*() {
      const plan = make({
        nodes: [start, middle, end],
        edges: [edgeWhen(start, middle, (n) => n > 5), edge(middle, end)]
      })
      assert.deepStrictEqual(yield* run(plan, 6), { end: 6 })
      assert.deepStrictEqual(yield* run(plan, 5), {})
      assert.deepStrictEqual(
        Array.from(
          yield* Stream.runCollect(Plan.stream(plan, 5)),
          (event) => "node" in event ? [event._tag, event.node] : [event._tag]
        ),
        [
          ["PlanStarted"],
          ["NodeStarted", "start"],
          ["NodeCompleted", "start"],
          ["NodeSkipped", "middle"],
          ["NodeSkipped", "end"],
          ["PlanCompleted"]
        ]
      )
    }))

  it.effect("is asked once, before the function, and not of a source that was skipped", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const ask = (name: string, answer: boolean) => () => {
        asked.push(name)
        return answer
      }
      const change = (n: number) => {
        asked.push("changed")
        return n
      }
      const plan = make({
        nodes: [start, middle, end],
        edges: [edgeWhen(start, middle, ask("start", false)), edgeWhen(middle, end, ask("middle", true), change)]
      })
      assert.deepStrictEqual(yield* run(plan, 1), {})
      assert.deepStrictEqual(asked, ["start"])
    }))

  it.effect("that fails or throws does so for the node that it leads to", () =>
    Effect.gen(function*() {
      const failing = make({ nodes: [start, end], edges: [edgeWhen(start, end, () => Effect.fail("no" as const))] })
      const error = failureOf(yield* Effect.exit(run(failing, 1)))
      assert.strictEqual(error.node, "end")
      assert.strictEqual(error.reason, "no")
      assert.deepStrictEqual(error.results.nodes, { start: { _tag: "Completed", output: 1 } })
      const throwing = make({
        nodes: [start, end],
        edges: [edge(start, end, (): number => {
          throw new Error("oh")
        })]
      })
      const exit = yield* Effect.exit(run(throwing, 1))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause) && !Cause.hasFails(exit.cause))
    }))
})

describe("Nodes", () => {
  it.effect("start as soon as their own inputs are there, not level by level", () =>
    Effect.gen(function*() {
      const slow = after("slow", "10 seconds")
      const fast = after("fast", "1 second")
      const next = node("next", Effect.andThen(Effect.sleep("1 second"), now))
      const plan = make({ nodes: [slow, fast, next], edges: [edge(fast, next)] })
      const begun = yield* now
      assert.deepStrictEqual(
        Exit.map(yield* timed(run(plan, 0)), ({ next }) => next - begun),
        Exit.succeed(2000)
      )
    }))

  it.effect("run so many at once as may, and the next starts when one ends", () =>
    Effect.gen(function*() {
      let running = 0
      let most = 0
      const begun = yield* now
      const starts: Array<readonly [string, number]> = []
      const task = (name: string, seconds: number): Step =>
        node(
          name,
          Effect.gen(function*() {
            starts.push([name, (yield* now) - begun])
            most = Math.max(most, ++running)
            yield* Effect.sleep(Duration.seconds(seconds))
            running--
          })
        )
      const nodes = [task("a", 10), task("b", 1), task("c", 1), task("d", 1)]
      yield* timed(run(make({ nodes, concurrency: 2 }), undefined))
      assert.strictEqual(most, 2)
      assert.deepStrictEqual(starts, [["a", 0], ["b", 0], ["c", 1000], ["d", 2000]])
    }))

  it.effect("run ten at once by default, or all", () =>
    Effect.gen(function*() {
      let running = 0
      const nodes = Array.from({ length: 25 }, (_, n): Step =>
        node(`${n}`, Effect.suspend(() => (running++, Effect.never))))
      const count = Effect.fnUntraced(function*(concurrency?: "unbounded") {
        running = 0
        const fiber = yield* Effect.forkChild(run(make({ nodes, concurrency }), undefined))
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(fiber)
        return running
      })
      assert.deepStrictEqual([yield* count(), yield* count("unbounded")], [10, 25])
    }))

  it.effect("keep what they acquire in the scope of whoever runs the plan", () =>
    Effect.gen(function*() {
      const plan = make({
        nodes: [node(
          "open",
          Effect.acquireRelease(Effect.succeed({ isOpen: true }), (file) => Effect.sync(() => (file.isOpen = false)))
        )]
      })
      const scope = yield* Scope.make()
      const { open } = yield* Scope.provide(run(plan, undefined), scope)
      const [event] = yield* Plan.stream(plan, undefined).pipe(
        Stream.filter(Plan.PlanEvent.$is("NodeCompleted")),
        Stream.runCollect,
        Scope.provide(scope)
      )
      assert.deepStrictEqual([open, event?.output], [{ isOpen: true }, { isOpen: true }])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual([open, event?.output], [{ isOpen: false }, { isOpen: false }])
    }))
})

describe("A policy", () => {
  it.effect("tries again by its schedule, and fails with the last error", () =>
    Effect.gen(function*() {
      let tries = 0
      const begun = yield* now
      const flaky = node("flaky", Effect.suspend(() => Effect.fail(++tries)), {
        retry: Schedule.max([Schedule.spaced("1 second"), Schedule.recurs(2)])
      })
      const ended = run(make({ nodes: [flaky] }), undefined).pipe(
        Effect.mapError(({ reason }) => reason),
        Effect.catch((reason) => Effect.map(now, (at) => [reason, at - begun]))
      )
      assert.deepStrictEqual(yield* timed(ended), Exit.succeed([3, 2000]))
      const second = node("second", Effect.suspend(() => ++tries === 5 ? Effect.succeed("here") : Effect.fail(tries)), {
        retry: Schedule.recurs(2)
      })
      assert.deepStrictEqual(yield* run(make({ nodes: [second] }), undefined), { second: "here" })
    }))

  it.effect("asks the node's function anew for each attempt", () =>
    Effect.gen(function*() {
      let asked = 0
      const third = node("third", () => ++asked === 3 ? Effect.succeed("here") : Effect.fail("gone"), {
        retry: Schedule.recurs(2)
      })
      assert.deepStrictEqual(yield* run(make({ nodes: [third] }), undefined), { third: "here" })
    }))

  it.effect("gives each attempt its time, and tries again after a time-out", () =>
    Effect.gen(function*() {
      const begun = yield* now
      const ends: Array<number> = []
      const slow = node(
        "slow",
        Effect.onInterrupt(Effect.never, () => Effect.map(now, (at) => ends.push(at - begun))),
        { timeout: "3 seconds", retry: Schedule.recurs(2) }
      )
      const error = failureOf(yield* timed(run(make({ nodes: [slow] }), undefined)))
      assert.isTrue(Cause.isTimeoutError(error.reason))
      assert.deepStrictEqual(ends, [3000, 6000, 9000])
    }))

  it.effect("falls back last, with the same input", () =>
    Effect.gen(function*() {
      const tried: Array<string> = []
      const backup = node("backup", (n: number) => Effect.sync(() => (tried.push(`backup ${n}`), -n)))
      const main = node("main", (n: number) => Effect.suspend(() => (tried.push(`main ${n}`), Effect.fail("down"))), {
        retry: Schedule.recurs(1),
        fallback: backup
      })
      assert.deepStrictEqual(yield* run(make({ nodes: [main] }), 7), { main: -7 })
      assert.deepStrictEqual(tried, ["main 7", "main 7", "backup 7"])
    }))

  it.effect("fails with the error of the node, and says what each fallback failed with", () =>
    Effect.gen(function*() {
      const last = node("last", (_input: number) => Effect.fail(new Error("gone")))
      const other = node("other", (_input: number) => Effect.fail({ _tag: "Closed" as const }), { fallback: last })
      const main = node("main", (_input: number) => Effect.fail("down" as const), { fallback: other })
      const error = failureOf(yield* Effect.exit(run(make({ nodes: [main] }), 7)))
      assert.strictEqual(error.node, "main")
      assert.strictEqual(error.reason, "down")
      assert.deepStrictEqual(error.fallbacks.map(({ node }) => node), ["other", "last"])
      assert.deepStrictEqual(error.fallbacks[0]?.reason, { _tag: "Closed" })
      assert.strictEqual(
        error.message,
        "Node \"main\" failed: down; its fallback \"other\" failed: Closed; its fallback \"last\" failed: gone"
      )
    }))

  it.effect("neither retries a defect nor falls back from it, nor from an interruption", () =>
    Effect.gen(function*() {
      let tries = 0
      const policy = { retry: Schedule.recurs(3), fallback: node("backup", Effect.succeed("backup")) }
      const defect = new Error("broken")
      const ended = (effect: Effect.Effect<never, string>) =>
        Effect.exit(run(make({ nodes: [node("main", Effect.andThen(Effect.sync(() => tries++), effect), policy)] }), 0))
      assert.deepStrictEqual(yield* ended(Effect.die(defect)), Exit.die(defect))
      assert.strictEqual(tries, 1)
      const interrupted = yield* ended(Effect.interrupt)
      assert.isTrue(Exit.isFailure(interrupted) && Cause.hasInterruptsOnly(interrupted.cause))
      assert.strictEqual(tries, 2)
      const both = yield* ended(Effect.failCause(Cause.combine(Cause.fail("no"), Cause.die(defect))))
      assert.isTrue(Exit.isFailure(both) && Cause.hasDies(both.cause))
    }))
})

describe("A failure", () => {
  const quick = node("quick", (n: number) => Effect.succeed(n + 1))
  const failing = node("failing", (n: number) => Effect.fail(`${n} is too much`))

  it.effect("interrupts what runs, waits for it, and starts nothing else", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const say = (text: string) => Effect.sync(() => log.push(text))
      const slow = node(
        "slow",
        Effect.never.pipe(Effect.onInterrupt(() => Effect.andThen(Effect.sleep("1 second"), say("slow is cleaned up"))))
      )
      const late = node("late", (_input: string) => say("late ran"))
      const fails = node("fails", Effect.andThen(Effect.sleep("1 second"), Effect.fail("no")))
      const queued = node("queued", say("queued ran"))
      const plan = make({ nodes: [slow, fails, queued, late], edges: [edge(fails, late)], concurrency: 2 })
      const exit = yield* timed(Effect.tapError(run(plan, undefined), () => say("the plan failed")))
      assert.strictEqual(failureOf(exit).node, "fails")
      assert.isFalse(Exit.hasInterrupts(exit))
      assert.deepStrictEqual(log, ["slow is cleaned up", "the plan failed"])
    }))

  it.effect("carries the results of every node that ended, skipped ones too", () =>
    Effect.gen(function*() {
      const never = node("never", (n: number) => Effect.succeed(n))
      const plan = make({
        nodes: [quick, never, failing],
        edges: [edgeWhen(quick, never, () => false), edge(quick, failing)]
      })
      const error = failureOf(yield* Effect.exit(run(plan, 1)))
      assert.strictEqual(error.message, "Node \"failing\" failed: 2 is too much")
      assert.deepStrictEqual(error.results, {
        input: 1,
        nodes: { quick: { _tag: "Completed", output: 2 }, never: { _tag: "Skipped" } }
      })
    }))

  it.effect("carries the results of nodes that end at the same time", () =>
    Effect.gen(function*() {
      const signal = yield* Deferred.make<string>()
      const ends = node("ends", Deferred.await(signal))
      const fails = node("fails", Effect.andThen(Deferred.succeed(signal, "ended"), Effect.fail("no")))
      const error = failureOf(yield* Effect.exit(run(make({ nodes: [ends, fails] }), undefined)))
      assert.deepStrictEqual(error.results.nodes, { ends: { _tag: "Completed", output: "ended" } })
    }))

  it.effect("of a second node isn't lost", () =>
    Effect.gen(function*() {
      const second = node("second", Effect.onInterrupt(Effect.never, () => Effect.die("broken pipe")))
      const fails = node("fails", Effect.andThen(Effect.sleep("1 second"), Effect.fail("no")))
      const exit = yield* timed(run(make({ nodes: [second, fails] }), undefined))
      assert.strictEqual(failureOf(exit).node, "fails")
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))

  it.effect("that is a defect stays one", () =>
    Effect.gen(function*() {
      const defect = new Error("broken")
      const plan = make({ nodes: [node("dies", Effect.die(defect)), after("slow", "1 second")] })
      assert.deepStrictEqual(yield* Effect.exit(run(plan, 0)), Exit.die(defect))
    }))

  it.effect("that is an interruption stays one", () =>
    Effect.gen(function*() {
      const plan = make({ nodes: [node("stops", Effect.interrupt), after("slow", "1 second")] })
      const exit = yield* Effect.exit(run(plan, 0))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }))
})

describe("An interruption", () => {
  it.effect("interrupts the nodes and waits for them", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const hold = (name: string): Step =>
        node(
          name,
          Effect.onInterrupt(Effect.never, () => Effect.andThen(Effect.yieldNow, Effect.sync(() => log.push(name))))
        )
      const plan = make({ nodes: [hold("a"), hold("b")] })
      const fiber = yield* Effect.forkChild(run(plan, undefined))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(log.sort(), ["a", "b"])
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    }))
})

describe("Plan.resume", () => {
  const trials = () => {
    const ran: Array<string> = []
    let isBroken = true
    const ok = <const Name extends string>(name: Name) =>
      node(name, (n: number) => Effect.sync(() => (ran.push(name), n + 1)))
    const send = node(
      "send",
      (n: number) =>
        Effect.suspend(() => (ran.push("send"), isBroken ? Effect.fail("offline") : Effect.succeed(`sent ${n}`)))
    )
    const [load, never, behind] = [ok("load"), ok("never"), ok("behind")]
    const plan = make({
      nodes: [load, never, behind, send],
      edges: [edge(load, send), edgeWhen(load, never, () => isBroken && false), edge(never, behind)]
    })
    return { plan, ran, load, repair: () => (isBroken = false) }
  }

  it.effect("goes on from the results of a failure, in JSON too, and runs nothing twice", () =>
    Effect.gen(function*() {
      const { plan, ran, repair } = trials()
      const error = failureOf(yield* Effect.exit(run(plan, 1)))
      const Json = Schema.fromJsonString(Schema.toCodecJson(Plan.Results))
      const read = yield* Schema.decodeEffect(Json)(yield* Schema.encodeEffect(Json)(error.results))
      assert.deepStrictEqual(read, error.results)
      const again = failureOf(yield* Effect.exit(Plan.resume(plan, read)))
      assert.strictEqual(again._tag, "PlanError")
      repair()
      assert.deepStrictEqual(yield* Plan.resume(plan, read), { send: "sent 2" })
      assert.deepStrictEqual(ran, ["load", "send", "send", "send"])
    }))

  it.effect("gives the input to entries that hadn't ended", () =>
    Effect.gen(function*() {
      const { plan, repair } = trials()
      repair()
      assert.deepStrictEqual(yield* Plan.resume(plan, { input: 1, nodes: {} }), { send: "sent 2" })
    }))

  it.effect("runs nothing where all has ended", () =>
    Effect.gen(function*() {
      const { plan, ran } = trials()
      const nodes = {
        load: { _tag: "Completed", output: 2 },
        never: { _tag: "Skipped" },
        behind: { _tag: "Skipped" },
        send: { _tag: "Completed", output: "sent before" }
      } as const
      assert.deepStrictEqual(yield* Plan.resume(plan, { input: 1, nodes }), { send: "sent before" })
      assert.deepStrictEqual(ran, [])
    }))

  it.effect("takes an output that came about elsewhere", () =>
    Effect.gen(function*() {
      const { load, plan, ran, repair } = trials()
      repair()
      const results = Plan.complete({ input: 1, nodes: {} }, load, 41)
      assert.deepStrictEqual(yield* Plan.resume(plan, results), { send: "sent 41" })
      assert.deepStrictEqual(ran, ["send"])
    }))

  it("completes results beside what they have, and changes none", () => {
    const { load } = trials()
    const before = { input: 1, nodes: { send: { _tag: "Skipped" }, load: { _tag: "Skipped" } } } as const
    assert.deepStrictEqual(Plan.complete(before, load, 2), {
      input: 1,
      nodes: { send: { _tag: "Skipped" }, load: { _tag: "Completed", output: 2 } }
    })
    assert.deepStrictEqual(before.nodes.load, { _tag: "Skipped" })
  })

  it.effect("fails for results of a node that the plan doesn't have", () =>
    Effect.gen(function*() {
      const { plan, ran } = trials()
      const results: Plan.Results = { input: 1, nodes: { ["toString" as string]: { _tag: "Skipped" } } }
      for (const end of [Plan.resume(plan, results), Stream.runDrain(Plan.resumeStream(plan, results))]) {
        const error = failureOf<unknown, unknown>(yield* Effect.exit(end))
        assert.isTrue(error instanceof Plan.PlanMismatch)
        assert.strictEqual(
          (error as Plan.PlanMismatch).message,
          "\"toString\" is none of these nodes: \"load\", \"never\", \"behind\", \"send\""
        )
      }
      assert.deepStrictEqual(ran, [])
    }))
})

describe("Plan.stream", () => {
  const start = node("start", (n: number) => Effect.succeed(n))
  const end = node("end", (n: number) => n > 5 ? Effect.fail("too much") : Effect.succeed(`${n}`))
  const plan = make({ nodes: [start, end], edges: [edge(start, end)] })

  const collect = <E, R>(stream: Stream.Stream<Plan.PlanEvent, E, R>) =>
    Effect.gen(function*() {
      const events: Array<Plan.PlanEvent> = []
      const exit = yield* Effect.exit(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
      return { events, exit }
    })

  it.effect("tells all that happens, and then ends", () =>
    Effect.gen(function*() {
      const { events, exit } = yield* collect(Plan.stream(plan, 1))
      const nodes = { start: { _tag: "Completed", output: 1 }, end: { _tag: "Completed", output: "1" } } as const
      assert.deepStrictEqual(events, [
        { _tag: "PlanStarted", results: { input: 1, nodes: {} } },
        { _tag: "NodeStarted", node: "start" },
        { _tag: "NodeCompleted", node: "start", output: 1 },
        { _tag: "NodeStarted", node: "end" },
        { _tag: "NodeCompleted", node: "end", output: "1" },
        { _tag: "PlanCompleted", output: { end: "1" }, results: { input: 1, nodes } }
      ])
      assert.deepStrictEqual(exit, Exit.void)
    }))

  it.effect("tells a failure with its results, and fails with it", () =>
    Effect.gen(function*() {
      const { events, exit } = yield* collect(Plan.stream(plan, 7))
      const results = { input: 7, nodes: { start: { _tag: "Completed", output: 7 } } } as const
      const error = failureOf(exit)
      assert.deepStrictEqual(error.results, results)
      assert.deepStrictEqual(events.slice(-2), [
        { _tag: "NodeFailed", node: "end", cause: Cause.fail("too much") },
        { _tag: "PlanFailed", cause: Cause.fail(error), results }
      ])
    }))

  it.effect("tells of defects and interruptions what they are", () =>
    Effect.gen(function*() {
      const slow = after("slow", "1 hour")
      const ended = (effect: Effect.Effect<never>) =>
        Effect.map(
          collect(Plan.stream(make({ nodes: [slow, node("ends", effect)] }), 0)),
          ({ events, exit }) => [
            events.slice(3).map((event) => "node" in event ? `${event.node}: ${event._tag}` : event._tag),
            Exit.isFailure(exit) && [Cause.hasDies(exit.cause), Cause.hasInterruptsOnly(exit.cause)]
          ]
        )
      assert.deepStrictEqual(yield* ended(Effect.die("broken")), [
        ["ends: NodeFailed", "slow: NodeInterrupted", "PlanFailed"],
        [true, false]
      ])
      assert.deepStrictEqual(yield* ended(Effect.interrupt), [
        ["ends: NodeInterrupted", "slow: NodeInterrupted", "PlanInterrupted"],
        [false, true]
      ])
    }))

  it.effect("starts with what had ended before", () =>
    Effect.gen(function*() {
      const results = Plan.complete({ input: 1, nodes: {} }, start, 5)
      const { events } = yield* collect(Plan.resumeStream(plan, results))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
        "PlanStarted",
        "NodeStarted",
        "NodeCompleted",
        "PlanCompleted"
      ])
      assert.deepStrictEqual(events[0], { _tag: "PlanStarted", results })
    }))

  it.effect("is interrupted by a reader that leaves, who waits for the nodes", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<string>()
      const slow = node(
        "slow",
        Effect.onInterrupt(Effect.never, () => Effect.andThen(Effect.yieldNow, Deferred.succeed(interrupted, "yes")))
      )
      yield* Stream.runDrain(Stream.take(Plan.stream(make({ nodes: [slow] }), undefined), 2))
      assert.isTrue(yield* Deferred.isDone(interrupted))
    }))
})

describe("Plan.toMermaid", () => {
  it("draws agents, effects and conditions, whatever the names", () => {
    const names = ["end", "a \"quoted\" name", "<b> & [x]", "two\nlines"]
    const agents = names.map((name) => Agent.make(name))
    const last = node("last", (_input: unknown) => Effect.void)
    const nodes = [...agents, last]
    const plan = make({
      nodes,
      edges: agents.map((agent, index) => index === 0 ? edgeWhen(agent, last, () => true) : edge(agent, last))
    })
    assert.deepStrictEqual(Plan.toMermaid(plan).split("\n"), [
      "flowchart TD",
      "  0(\"end\")",
      "  1(\"a #quot;quoted#quot; name\")",
      "  2(\"#lt;b#gt; #amp; #91;x#93;\")",
      "  3(\"two<br/>lines\")",
      "  4[\"last\"]",
      "  0 -->|\"when\"| 4",
      "  1 --> 4",
      "  2 --> 4",
      "  3 --> 4"
    ])
  })
})

describe("A plan", () => {
  it("is a value that prints its nodes", () => {
    const plan = make({ nodes: [after("a", 1), after("b", 1)] })
    assert.isTrue(Plan.isPlan(plan))
    assert.isFalse(Plan.isPlan({}))
    assert.strictEqual(JSON.stringify(plan), "{\"_id\":\"Plan\",\"nodes\":[\"a\",\"b\"]}")
    assert.strictEqual(JSON.stringify(after("a", 1)), "{\"_id\":\"Node\",\"name\":\"a\"}")
  })

  it("of nothing can't be", () => {
    assert.throws(() => make({ nodes: [] }), Plan.InvalidPlan, "The plan is invalid: it has no nodes")
  })

  it.effect("can be run in a pipe, any number of times at once", () =>
    Effect.gen(function*() {
      const plan = make({ nodes: [node("double", (n: number) => Effect.as(Effect.yieldNow, n * 2))] })
      const ran = yield* Effect.all([1, 2, 3].map((n) => plan.pipe(run(n))), { concurrency: "unbounded" })
      assert.deepStrictEqual(ran, [{ double: 2 }, { double: 4 }, { double: 6 }])
    }))

  it.effect("of very many nodes runs", () =>
    Effect.gen(function*() {
      const nodes = Array.from({ length: 2000 }, (_, index): Step =>
        node(`${index}`, (n: unknown) => Effect.succeed(n as number + 1)))
      const plan = make({
        nodes,
        edges: nodes.slice(1).map((to, index) =>
          edge(nodes[index]!, to)
        )
      })
      assert.deepStrictEqual(yield* run(plan, 0), { 1999: 2000 })
    }))
})
