/**
 * Running plans: on an input or from results, to their end or as a stream.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as HashMap from "effect/HashMap"
import type * as Stream from "effect/Stream"
import * as Runnable from "../Runnable.ts"
import * as EventStream from "./EventStream.ts"
import { type PlanError, PlanMismatch } from "./PlanError.ts"
import type { PlanEvent } from "./PlanEvent.ts"
import * as PlanGraph from "./PlanGraph.ts"
import { type AnyPlan, definitionOf, type Plan } from "./PlanType.ts"
import type { Position, Progress } from "./Progress.ts"
import type { Results } from "./Results.ts"
import * as Run from "./Run.ts"

/**
 * The error of a run, from what nodes and edges may fail with: a `PlanError`, or nothing if none of them can fail.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Failure<E> = [E] extends [never] ? never : PlanError<E>

type Resumed<Output, E, R> = Effect.Effect<Output, Failure<E> | PlanMismatch, R>
type ResumedStream<E, R> = Stream.Stream<PlanEvent, Failure<E> | PlanMismatch, R>

const quietly = (): void => {}

/** Runs a plan. If its agents can't run together, that is a defect. */
const start = (self: AnyPlan, from: Position, emit: (event: PlanEvent) => void): ReturnType<typeof Run.run> =>
  Effect.suspend(() => {
    const definition = definitionOf(self)
    definition.check()
    const together = Runnable.together(PlanGraph.agentsOf(definition.graph))
    return Effect.updateContext(Run.run(definition, from, emit), together)
  })

const fromInput = (input: unknown): Position => ({ input, progress: HashMap.empty() })

/**
 * Runs a plan on an input, and returns the output of each node that no edge leaves and that wasn't skipped.
 *
 * When a node fails, the others are interrupted, and the run fails with `PlanError`, which has the results of every node that ended.
 * Defects and interruptions are passed on unchanged.
 *
 * @category running
 * @since 0.1.0
 */
export const run: {
  <Input>(input: Input): <Output, E, R>(self: Plan<Input, Output, E, R>) => Effect.Effect<Output, Failure<E>, R>
  <Input, Output, E, R>(self: Plan<Input, Output, E, R>, input: NoInfer<Input>): Effect.Effect<Output, Failure<E>, R>
} = dual(
  2,
  // The overloads say what the untyped run returns and fails with.
  (self: AnyPlan, input: unknown) => start(self, fromInput(input), quietly) as never
)

/** Returns the progress that a run continues from. Fails if the results name a node that the plan doesn't have. */
const fromResults = (self: AnyPlan, { input, nodes }: Results): Effect.Effect<Position, PlanMismatch> =>
  Effect.suspend(() => {
    const indices = PlanGraph.indexOf(definitionOf(self).graph)
    const node = Object.keys(nodes).find((name) => !indices.has(name))
    if (node !== undefined) return Effect.fail(new PlanMismatch({ node, available: [...indices.keys()] }))
    const progress: Progress = HashMap.fromIterable(
      Object.entries(nodes).map(([name, ended]) => [indices.get(name)!, ended])
    )
    return Effect.succeed({ input, progress })
  })

/**
 * Continues a plan where it stopped, from results: those of a `PlanError`, of an event, or of JSON. Nodes that ended aren't run again.
 * The results have no failure that could be reopened, so the node that failed is run again.
 *
 * Conditions and functions of edges to nodes that haven't ended are evaluated again. Fails with `PlanMismatch` if the results name a node
 * that the plan doesn't have.
 *
 * **Example** (The network is back)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Plan } from "troupe"
 *
 * let fetched = 0
 * let isBack = false
 * const fetch = Plan.node("fetch", (url: string) => Effect.sync(() => `${url} ${++fetched}`))
 * const send = Plan.node("send", (page: string) => isBack ? Effect.succeed(`sent ${page}`) : Effect.fail("offline"))
 * const plan = Plan.make({ nodes: [fetch, send], edges: [Plan.edge(fetch, send)] })
 *
 * const program = Plan.run(plan, "/home").pipe(
 *   Effect.catchTag("PlanError", (error) => {
 *     isBack = true
 *     return Plan.resume(plan, error.results)
 *   })
 * )
 *
 * await Effect.runPromise(program) // => { send: "sent /home 1" }
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const resume: {
  (
    results: Results
  ): <Input, Output, E, R>(self: Plan<Input, Output, E, R>) => Resumed<Output, E, R>
  <Input, Output, E, R>(self: Plan<Input, Output, E, R>, results: Results): Resumed<Output, E, R>
} = dual(
  2,
  (self: AnyPlan, results: Results) =>
    // The overloads say what the untyped run returns and fails with.
    Effect.flatMap(fromResults(self, results), (from) => start(self, from, quietly)) as never
)

const streamFrom = (self: AnyPlan, from: Effect.Effect<Position, PlanMismatch>): Stream.Stream<PlanEvent, never> =>
  // The callers' overloads say what the untyped stream fails with and needs.
  EventStream.make((emit) => Effect.flatMap(from, (from) => start(self, from, emit))) as never

/**
 * Runs a plan on an input and streams its events. The last event has the results; the stream then ends as the run did.
 *
 * If the run fails, the stream fails with `PlanError` after `PlanFailed`. A reader that leaves interrupts the run. Use `Agent.observe` for
 * the events of a plan's agents.
 *
 * **Example** (Progress)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Plan } from "troupe"
 *
 * const double = Plan.node("double", (n: number) => Effect.succeed(n * 2))
 * const print = Plan.node("print", (n: number) => Effect.succeed(`${n}`))
 * const plan = Plan.make({ nodes: [double, print], edges: [Plan.edgeWhen(double, print, (n) => n > 10)] })
 *
 * const tags = (n: number) => Effect.runPromise(Stream.runCollect(Stream.map(Plan.stream(plan, n), ({ _tag }) => _tag)))
 *
 * await tags(1) // => ["PlanStarted", "NodeStarted", "NodeCompleted", "NodeSkipped", "PlanCompleted"]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const stream: {
  <Input>(input: Input): <Output, E, R>(self: Plan<Input, Output, E, R>) => Stream.Stream<PlanEvent, Failure<E>, R>
  <Input, Output, E, R>(self: Plan<Input, Output, E, R>, input: NoInfer<Input>): Stream.Stream<PlanEvent, Failure<E>, R>
} = dual(2, (self: AnyPlan, input: unknown) => streamFrom(self, Effect.succeed(fromInput(input))))

/**
 * Continues a plan from results, as `resume` does, and streams its events. Fails with `PlanMismatch`, before any event, if the results
 * name a node that the plan doesn't have.
 *
 * @category running
 * @since 0.1.0
 */
export const resumeStream: {
  (results: Results): <Input, Output, E, R>(self: Plan<Input, Output, E, R>) => ResumedStream<E, R>
  <Input, Output, E, R>(
    self: Plan<Input, Output, E, R>,
    results: Results
  ): ResumedStream<E, R>
} = dual(2, (self: AnyPlan, results: Results) => streamFrom(self, fromResults(self, results)))
