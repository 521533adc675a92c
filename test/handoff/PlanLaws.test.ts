import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, HashMap, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Plan } from "troupe"
import * as PlanGraph from "../../src/handoff/plan/PlanGraph.ts"
import * as Run from "../../src/handoff/plan/Run.ts"
import { times } from "../matrix.ts"
import { interruptAt } from "./interrupter.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Whether there is an edge from a node to a later one, and whether it is taken. */
const Link = Schema.Literals(["None", "None", "Always", "Taken", "Untaken"])

/** A plan of up to seven nodes: how long each takes, in which order they are listed, and what links them. */
const Drawing = Schema.Struct({
  durations: Schema.Array(between(0, 4)).check(Schema.isMinLength(1), Schema.isMaxLength(7)),
  links: Schema.Array(Link).check(Schema.isMinLength(21), Schema.isMaxLength(21)),
  isReversed: Schema.Boolean,
  concurrency: between(1, 4),
  broken: between(0, 13)
})
type Drawing = typeof Drawing.Type

interface Link {
  readonly from: number
  readonly to: number
  readonly kind: typeof Link.Type
}

const linksOf = ({ durations, links }: Drawing): ReadonlyArray<Link> => {
  const all: Array<Link> = []
  let next = 0
  for (let to = 0; to < durations.length; to++) {
    for (let from = 0; from < to; from++) all.push({ from, to, kind: links[next++]! })
  }
  return all.filter(({ kind }) => kind !== "None")
}

/** What a node makes of its input: something that tells how it came about. */
const work = (node: number, input: unknown): unknown => ({ node, input })

/** What each node gives, by plain recursion: `undefined` where it is skipped. */
const evaluate = (drawing: Drawing, input: unknown): ReadonlyArray<{ readonly output: unknown } | undefined> => {
  const links = linksOf(drawing)
  const ended: Array<{ readonly output: unknown } | undefined> = []
  for (let node = 0; node < drawing.durations.length; node++) {
    const into = links.filter(({ to }) => to === node)
    const taken = into.filter(({ from, kind }) => kind !== "Untaken" && ended[from] !== undefined)
    const values = taken.map(({ from }) => [`${from}`, ended[from]!.output] as const)
    ended.push(
      into.length === 0
        ? { output: work(node, input) }
        : taken.length === 0
        ? undefined
        : { output: work(node, into.length === 1 ? values[0]![1] : Object.fromEntries(values)) }
    )
  }
  return ended
}

const outputsOf = (drawing: Drawing, input: unknown) => {
  const links = linksOf(drawing)
  return Object.fromEntries(
    evaluate(drawing, input).flatMap((ended, node) =>
      ended === undefined || links.some(({ from }) => from === node) ? [] : [[`${node}`, ended.output]]
    )
  )
}

/** A plan as drawn, and what its runs saw. */
const build = (drawing: Drawing) => {
  const ran: Array<number> = []
  const broken = { node: drawing.broken as number | undefined }
  let running = 0
  const seen = { most: 0 }
  const nodes = drawing.durations.map((duration, index) =>
    Plan.node(`${index}`, (input: unknown) =>
      Effect.gen(function*() {
        ran.push(index)
        seen.most = Math.max(seen.most, ++running)
        yield* duration === 0 ? Effect.yieldNow : Effect.sleep(duration * 1000)
        if (broken.node === index) return yield* Effect.fail("broken")
        return work(index, input)
      }).pipe(Effect.ensuring(Effect.sync(() => running--))))
  )
  const edges = linksOf(drawing).map(({ from, kind, to }) =>
    kind === "Always"
      ? Plan.edge(nodes[from]!, nodes[to]!)
      : Plan.edgeWhen(nodes[from]!, nodes[to]!, () =>
        from % 2 === 0 ? kind === "Taken" : Effect.succeed(kind === "Taken"))
  )
  const listed = drawing.isReversed ? [...nodes].reverse() : nodes
  const plan = Plan.make({ nodes: listed, edges, concurrency: drawing.concurrency })
  return { plan, nodes: listed, edges, ran, seen, broken }
}

const timed = <A, E>(self: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(Effect.exit(self))
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  })

/** Everything that is wrong with the starts and ends of a run that is over. */
const imbalances = (events: ReadonlyArray<Plan.PlanEvent>): ReadonlyArray<string> => {
  const found: Array<string> = []
  const open = new Set<string>()
  const ended = new Set<string>()
  for (const [at, event] of events.entries()) {
    const isEdge = at === 0 || at === events.length - 1
    const isPlans = event._tag.startsWith("Plan")
    if (isPlans !== isEdge || (event._tag === "PlanStarted") !== (at === 0)) found.push(`${event._tag} at ${at}`)
    if (!("node" in event)) continue
    if (ended.has(event.node)) found.push(`${event._tag} of ${event.node}, which ended`)
    if (event._tag === "NodeStarted") open.add(event.node)
    else {
      const wasOpen = open.delete(event.node)
      if (wasOpen === (event._tag === "NodeSkipped")) found.push(`${event._tag} of ${event.node}, open: ${wasOpen}`)
      ended.add(event.node)
    }
  }
  return [...found, ...Array.from(open, (node) => `${node} has no end`)]
}

const law = { arbitrary: { runs: times(60, 25) } } as const

describe("A plan of any shape", () => {
  it.effect.prop(
    "gives what plain recursion gives, runs each node once, and never more at once than may",
    [Drawing],
    ([drawing]) =>
      Effect.gen(function*() {
        const { broken, plan, ran, seen } = build(drawing)
        broken.node = undefined
        assert.deepStrictEqual(yield* timed(Plan.run(plan, "in")), Exit.succeed(outputsOf(drawing, "in")))
        const expected = evaluate(drawing, "in").flatMap((ended, node) => ended === undefined ? [] : [node])
        assert.deepStrictEqual([...ran].sort((a, b) => a - b), expected)
        assert.isAtMost(seen.most, drawing.concurrency)
      }),
    law
  )

  it.effect.prop(
    "tells each start with its one end, whatever happens, and the results of what ended",
    [Drawing],
    ([drawing]) =>
      Effect.gen(function*() {
        const { broken, plan } = build(drawing)
        const events: Array<Plan.PlanEvent> = []
        const exit = yield* timed(
          Stream.runForEach(Plan.stream(plan, "in"), (event) => Effect.sync(() => events.push(event)))
        )
        assert.deepStrictEqual(imbalances(events), [])
        const fails = evaluate(drawing, "in")[broken.node!] !== undefined
        const last = events[events.length - 1]
        assert.strictEqual(last?._tag, fails ? "PlanFailed" : "PlanCompleted")
        assert.strictEqual(Exit.isFailure(exit), fails)
        const told = Object.fromEntries(events.flatMap((event) =>
          event._tag === "NodeCompleted"
            ? [[event.node, { _tag: "Completed", output: event.output }]]
            : event._tag === "NodeSkipped"
            ? [[event.node, { _tag: "Skipped" }]]
            : []
        ))
        assert.deepStrictEqual(last !== undefined && "results" in last && last.results.nodes, told as never)
      }),
    law
  )

  it.effect.prop(
    "goes on from a failure to the same end, and runs again only what hadn't ended",
    [Drawing],
    ([drawing]) =>
      Effect.gen(function*() {
        const { broken, plan, ran } = build(drawing)
        const exit = yield* timed(Effect.flip(Plan.run(plan, "in")))
        if (Exit.isFailure(exit)) return
        const ended = Object.keys(exit.value.results.nodes)
        assert.isFalse(ended.includes(`${broken.node}`))
        broken.node = undefined
        ran.splice(0)
        assert.deepStrictEqual(
          yield* timed(Plan.resume(plan, exit.value.results)),
          Exit.succeed(outputsOf(drawing, "in"))
        )
        const expected = evaluate(drawing, "in").flatMap((output, node) =>
          output === undefined || ended.includes(`${node}`) ? [] : [node]
        )
        assert.deepStrictEqual([...ran].sort((a, b) => a - b), expected)
      }),
    law
  )
})

describe("A plan that is interrupted", () => {
  const open = { count: 0 }
  const hold = <A, E>(self: Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => open.count++),
      () => Effect.andThen(Effect.yieldNow, self),
      () => Effect.andThen(Effect.yieldNow, Effect.sync(() => open.count--))
    )
  const a = Plan.node("a", (n: number) => hold(Effect.succeed(n)))
  const b = Plan.node("b", (n: number) => hold(Effect.fail(n)), { fallback: Plan.node("c", hold(Effect.succeed(3))) })
  const d = Plan.node("d", (n: number) => hold(Effect.succeed(n)))
  const e = Plan.node("e", (of: { readonly a: number; readonly d?: number }) => hold(Effect.succeed(of.a)))
  const edges = [
    Plan.edge(a, b, (n) => hold(Effect.succeed(n))),
    Plan.edgeWhen(a, d, () => hold(Effect.succeed(false))),
    Plan.edge(a, e),
    Plan.edge(d, e)
  ] as const
  const plan = Plan.make({ nodes: [a, b, d, e], edges, concurrency: 2 })
  const graph = PlanGraph.make([a, b, d, e], edges)

  it.effect("at any operation leaves nothing open, tells each start with its one end, and has results to go on from", () =>
    Effect.gen(function*() {
      const ends = new Set<string>()
      for (let at = 1;; at++) {
        const events: Array<Plan.PlanEvent> = []
        const running = Run.run({ graph, concurrency: 2 }, { input: 1, progress: HashMap.empty() }, (event) => {
          events.push(event)
        }) as Effect.Effect<unknown, unknown>
        const { exit, scheduler } = yield* interruptAt(running, at)
        assert.strictEqual(open.count, 0, `left open at ${at}`)
        assert.deepStrictEqual(imbalances(events), [], `at ${at}`)
        const last = events[events.length - 1]
        ends.add(last?._tag ?? "none")
        if (last !== undefined && "results" in last) {
          const told = events.flatMap((event) =>
            event._tag === "NodeCompleted" || event._tag === "NodeSkipped" ? [event.node] : []
          )
          assert.deepStrictEqual(Object.keys(last.results.nodes).sort(), told.sort(), `at ${at}`)
          assert.deepStrictEqual(yield* Plan.resume(plan, last.results), { b: 3, e: 1 })
        }
        if (scheduler.ops < at) {
          assert.deepStrictEqual(exit, Exit.succeed({ b: 3, e: 1 }))
          assert.isAbove(at, 50)
          break
        }
      }
      assert.isTrue(ends.has("PlanInterrupted"))
      assert.isFalse(ends.has("PlanFailed"))
    }))
})
