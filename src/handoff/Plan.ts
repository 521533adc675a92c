/**
 * A plan: agents and effects as the nodes of a graph, where each starts as soon as its own inputs are there.
 *
 * A plan is a value. Its edges compile where what they bring fits what their targets take; `make` checks the rest. What a
 * run may fail with and needs is collected from all nodes, edges and fallbacks.
 *
 * 1. A node without edges into it takes the plan's input.
 * 2. One edge into a node brings the value itself, several bring a record keyed by the names of their sources.
 * 3. A key of that record is optional where its edge is conditional, or where its source may be skipped.
 * 4. A node is skipped when no edge into it was taken.
 * 5. A plan gives a record with the output of each node that no edge leaves.
 *
 * Use a plan where the way is known beforehand: steps that run side by side, join, and have types. Where a model decides
 * who goes on, use a handoff.
 *
 * **Example** (Two readers and a writer)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Plan } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const facts = Agent.make("facts", { instructions: "List the facts." })
 * const tone = Agent.make("tone", { instructions: "Name the tone." })
 * const writer = Plan.agent(Agent.make("writer", { instructions: "Write a summary." }), {
 *   input: (of: { readonly facts: string; readonly tone: string }) => `Facts: ${of.facts} Tone: ${of.tone}`
 * })
 *
 * const plan = Plan.make({
 *   nodes: [facts, tone, writer],
 *   edges: [Plan.edge(facts, writer), Plan.edge(tone, writer)]
 * })
 *
 * const program = Plan.run(plan, "It rained all day.").pipe(
 *   Effect.provide(MockModel.layer(MockModel.byAgent({
 *     facts: MockModel.queue("Rain."),
 *     tone: MockModel.queue("Sad."),
 *     writer: MockModel.make((request) => `A summary of: ${request.lastUserText}`)
 *   })))
 * )
 *
 * await Effect.runPromise(program) // => { writer: "A summary of: Facts: Rain. Tone: Sad." }
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as HashMap from "effect/HashMap"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Stream from "effect/Stream"
import { isLimit } from "./InvalidLimit.ts"
import type { AnyEdge, Edge, EdgeErrorOf, EdgeServicesOf, Kind } from "./plan/Edge.ts"
import * as EventStream from "./plan/EventStream.ts"
import * as Mermaid from "./plan/Mermaid.ts"
import type { Any, ErrorOf, NameOf, ServicesOf } from "./plan/Node.ts"
import { type PlanError, PlanMismatch } from "./plan/PlanError.ts"
import type { PlanEvent } from "./plan/PlanEvent.ts"
import * as PlanGraph from "./plan/PlanGraph.ts"
import type { Position, Progress } from "./plan/Progress.ts"
import type { Results } from "./plan/Results.ts"
import * as Run from "./plan/Run.ts"
import type { Fits, PlanInput, PlanOutput } from "./plan/Shape.ts"

export { agent, type AgentOptions } from "./plan/AgentNode.ts"
export { NoAnswer } from "./plan/Asking.ts"
export {
  type AnyEdge,
  type Edge,
  edge,
  type EdgeErrorOf,
  type EdgeServicesOf,
  edgeWhen,
  type Kind
} from "./plan/Edge.ts"
export {
  type Any,
  type ErrorOf,
  type InputOf,
  type NameOf,
  type Node,
  node,
  type OutputOf,
  type Policy,
  type ServicesOf
} from "./plan/Node.ts"
export { PlanError, PlanMismatch } from "./plan/PlanError.ts"
export * from "./plan/PlanEvent.ts"
export { InvalidPlan, Issue } from "./plan/PlanGraph.ts"
export { complete, type Completed, Ended, Results, type Skipped } from "./plan/Results.ts"

const TypeId = "~troupe/handoff/Plan"

/**
 * A plan: `Input` is what its entries take, `Output` a record of what its last nodes give, `E` what nodes and edges may fail
 * with, which a run has as the `reason` of `PlanError`, and `R` what a run needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan<in Input, out Output, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: Behaviour<Input, Output, E, R>
}

/** What a plan is, and in its type what it takes, gives, may fail with and needs. */
interface Behaviour<in Input, out Output, out E, out R> {
  readonly definition: Run.Definition
  readonly _Input?: (input: Input) => void
  readonly _Output?: () => Output
  readonly _E?: () => E
  readonly _R?: () => R
}

type AnyPlan = Plan<never, unknown, unknown, unknown>

/**
 * What a run fails with, of what nodes and edges may fail with.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Failure<E> = [E] extends [never] ? never : PlanError<E>

/**
 * Checks whether something is a plan.
 *
 * @category guards
 * @since 0.1.0
 */
export const isPlan = (u: unknown): u is AnyPlan => Predicate.hasProperty(u, TypeId)

const Proto = {
  pipe() {
    return pipeArguments(this, arguments)
  },
  toJSON(this: AnyPlan) {
    return { _id: "Plan", nodes: [...PlanGraph.indexOf(this[TypeId].definition.graph).keys()] }
  }
}

const defaultConcurrency = 10

const limitOf = (concurrency: number | "unbounded"): number => {
  const limit = concurrency === "unbounded" ? Infinity : concurrency
  if (isLimit(limit)) return limit
  throw new PlanGraph.InvalidPlan({ reason: { _tag: "InvalidConcurrency", concurrency: limit } })
}

/**
 * Makes a plan of nodes and edges.
 *
 * `concurrency` is how many nodes run at once, 10 by default. Throws `InvalidPlan` for two nodes of a name, an edge with a
 * node that isn't listed, two edges from one node to another, and a cycle.
 *
 * **Example** (A cycle)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Plan } from "troupe"
 *
 * const chicken = Plan.node("chicken", (_: string) => Effect.succeed("chicken"))
 * const egg = Plan.node("egg", (_: string) => Effect.succeed("egg"))
 *
 * const reason = () => {
 *   try {
 *     return Plan.make({ nodes: [chicken, egg], edges: [Plan.edge(chicken, egg), Plan.edge(egg, chicken)] })
 *   } catch (error) {
 *     return error instanceof Plan.InvalidPlan && error.message
 *   }
 * }
 *
 * reason() // => "The plan can't be: there is a cycle: chicken → egg → chicken"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Nodes extends ReadonlyArray<Any>, const Edges extends ReadonlyArray<AnyEdge> = []>(options: {
  readonly nodes: Nodes & { readonly [K in keyof Nodes]: Fits<Nodes[K], Nodes[number], Edges[number]> }
  readonly edges?:
    & Edges
    & ReadonlyArray<Edge<NameOf<Nodes[number]>, NameOf<Nodes[number]>, unknown, Kind, unknown, unknown>>
  readonly concurrency?: number | "unbounded" | undefined
}): Plan<
  PlanInput<Nodes[number], Edges[number]>,
  PlanOutput<Nodes[number], Edges[number]>,
  ErrorOf<Nodes[number]> | EdgeErrorOf<Edges[number]>,
  ServicesOf<Nodes[number]> | EdgeServicesOf<Edges[number]>
> => {
  const definition: Run.Definition = {
    graph: PlanGraph.make(options.nodes, options.edges ?? []),
    concurrency: limitOf(options.concurrency ?? defaultConcurrency)
  }
  return Object.assign(Object.create(Proto), { [TypeId]: { definition } })
}

const quietly = (): void => {}

const fromInput = (input: unknown): Position => ({ input, progress: HashMap.empty() })

/**
 * Runs a plan on an input, and gives the output of each node that no edge leaves and that wasn't skipped.
 *
 * The first failure of a node interrupts the others and fails with `PlanError`, which has the results of every node that
 * ended. A defect and an interruption stay what they are.
 *
 * @category running
 * @since 0.1.0
 */
export const run: {
  <Input>(
    input: Input
  ): <Output, E, R>(self: Plan<Input, Output, E, R>) => Effect.Effect<Output, Failure<E>, R>
  <Input, Output, E, R>(
    self: Plan<Input, Output, E, R>,
    input: NoInfer<Input>
  ): Effect.Effect<Output, Failure<E>, R>
} = dual(
  2,
  (self: AnyPlan, input: unknown) =>
    Run.run(self[TypeId].definition, fromInput(input), quietly) as Effect.Effect<never, never>
)

/** Gives what a run goes on from, unless results name a node that the plan doesn't have. */
const fromResults = (self: AnyPlan, { input, nodes }: Results): Effect.Effect<Position, PlanMismatch> =>
  Effect.suspend(() => {
    const indices = PlanGraph.indexOf(self[TypeId].definition.graph)
    const unknown = Object.keys(nodes).find((name) => !indices.has(name))
    if (unknown !== undefined) {
      return Effect.fail(new PlanMismatch({ node: unknown, available: [...indices.keys()] }))
    }
    const progress: Progress = HashMap.fromIterable(
      Object.entries(nodes).map(([name, ended]) => [indices.get(name)!, ended])
    )
    return Effect.succeed({ input, progress })
  })

/**
 * Goes on with a plan from results: those of a `PlanError`, of an event, or of JSON. What ended isn't run again.
 *
 * Conditions and functions of edges to nodes that haven't ended are evaluated again. Fails with `PlanMismatch` when the
 * results name a node that the plan doesn't have.
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
  (results: Results): <Input, Output, E, R>(
    self: Plan<Input, Output, E, R>
  ) => Effect.Effect<Output, Failure<E> | PlanMismatch, R>
  <Input, Output, E, R>(
    self: Plan<Input, Output, E, R>,
    results: Results
  ): Effect.Effect<Output, Failure<E> | PlanMismatch, R>
} = dual(
  2,
  (self: AnyPlan, results: Results) =>
    Effect.flatMap(
      fromResults(self, results),
      (from) => Run.run(self[TypeId].definition, from, quietly) as Effect.Effect<never, never>
    )
)

const streamFrom = (self: AnyPlan, from: Effect.Effect<Position, PlanMismatch>): Stream.Stream<PlanEvent, never> =>
  EventStream.make((emit) => Effect.flatMap(from, (from) => Run.run(self[TypeId].definition, from, emit))) as never

/**
 * Runs a plan on an input and streams what happens. The last event has the results; the stream then ends as the run did.
 *
 * A reader that leaves interrupts the run. What the agents of a plan do is seen by `Agent.observe`.
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
  <Input>(
    input: Input
  ): <Output, E, R>(self: Plan<Input, Output, E, R>) => Stream.Stream<PlanEvent, Failure<E>, R>
  <Input, Output, E, R>(
    self: Plan<Input, Output, E, R>,
    input: NoInfer<Input>
  ): Stream.Stream<PlanEvent, Failure<E>, R>
} = dual(2, (self: AnyPlan, input: unknown) => streamFrom(self, Effect.succeed(fromInput(input))))

/**
 * Goes on with a plan from results, as `resume` does, and streams what happens.
 *
 * @category running
 * @since 0.1.0
 */
export const resumeStream: {
  (results: Results): <Input, Output, E, R>(
    self: Plan<Input, Output, E, R>
  ) => Stream.Stream<PlanEvent, Failure<E> | PlanMismatch, R>
  <Input, Output, E, R>(
    self: Plan<Input, Output, E, R>,
    results: Results
  ): Stream.Stream<PlanEvent, Failure<E> | PlanMismatch, R>
} = dual(2, (self: AnyPlan, results: Results) => streamFrom(self, fromResults(self, results)))

/**
 * Draws a plan as a flowchart of Mermaid: agents rounded, effects in boxes, conditional edges marked.
 *
 * **Example** (A plan drawn)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Plan } from "troupe"
 *
 * const outline = Agent.make("outline")
 * const publish = Plan.node("publish", (text: string) => Effect.succeed(text.length))
 * const plan = Plan.make({ nodes: [outline, publish], edges: [Plan.edgeWhen(outline, publish, (text) => text !== "")] })
 *
 * Plan.toMermaid(plan).split("\n")
 * // => ["flowchart TD", '  0("outline")', '  1["publish"]', '  0 -->|"when"| 1']
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const toMermaid = <Input, Output, E, R>(self: Plan<Input, Output, E, R>): string =>
  Mermaid.draw(self[TypeId].definition.graph)
