/**
 * A plan: agents and effects as the nodes of a graph. Each starts as soon as its own inputs are there.
 *
 * A plan is a value. An edge compiles if its value fits the input of its target; `make` checks the rest. What a run may fail with and needs
 * is collected from all nodes, edges and fallbacks.
 *
 * 1. A node without edges into it takes the plan's input.
 * 2. One edge into a node brings the value itself, several bring a record keyed by the names of their sources.
 * 3. A key of that record is optional if its edge is conditional, or if its source may be skipped.
 * 4. A node is skipped when no edge into it was taken.
 * 5. A plan returns a record with the output of each node that no edge leaves and that wasn't skipped.
 *
 * Use a plan if the steps are known beforehand: steps that run in parallel, join, and have types. If a model decides who continues, use a
 * handoff.
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
import { isCount } from "../domain/InvalidLimit.ts"
import type { AnyEdge, Edge, EdgeErrorOf, EdgeServicesOf, Kind } from "./plan/Edge.ts"
import * as Mermaid from "./plan/Mermaid.ts"
import type { Any, ErrorOf, NameOf, ServicesOf } from "./plan/Node.ts"
import * as PlanGraph from "./plan/PlanGraph.ts"
import { definitionOf, fromDefinition, type Plan } from "./plan/PlanType.ts"
import type { Fits, PlanInput, PlanOutput } from "./plan/Shape.ts"
import { checkTogether } from "./Runnable.ts"

export { InvalidLimit } from "../domain/InvalidLimit.ts"
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
export { isPlan, type Plan } from "./plan/PlanType.ts"
export { complete, type Completed, Ended, Results, type Skipped } from "./plan/Results.ts"
export * from "./plan/RunPlan.ts"

const defaultConcurrency = 10

const limitOf = (concurrency: number | "unbounded"): number => {
  const limit = concurrency === "unbounded" ? Infinity : concurrency
  if (isCount(limit, 1)) return limit
  throw new PlanGraph.InvalidPlan({ reason: { _tag: "InvalidConcurrency", concurrency: limit } })
}

/**
 * Makes a plan of nodes and edges.
 *
 * Throws `InvalidPlan` if there are no nodes, two nodes with the same name, an edge with a node that isn't listed, two edges from one node
 * to another, a cycle, or a `concurrency` below 1 or with a fraction. Throws `Handoff.MissingAgent` if a node is `undefined`, and
 * `Agent.AmbiguousTool` for agents with different tools of one name.
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
 * reason() // => "The plan is invalid: there is a cycle: chicken → egg → chicken"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Nodes extends ReadonlyArray<Any>, const Edges extends ReadonlyArray<AnyEdge> = []>(options: {
  /** Nodes, agents and groups; at least one. */
  readonly nodes: Nodes & { readonly [K in keyof Nodes]: Fits<Nodes[K], Nodes[number], Edges[number]> }
  /** Edges between the nodes, made by `edge` and `edgeWhen`; none by default. */
  readonly edges?:
    & Edges
    & ReadonlyArray<Edge<NameOf<Nodes[number]>, NameOf<Nodes[number]>, unknown, Kind, unknown, unknown>>
  /** How many nodes run at once: 1 or more, 10 by default; `Infinity` and `"unbounded"` set no limit. */
  readonly concurrency?: number | "unbounded" | undefined
}): Plan<
  PlanInput<Nodes[number], Edges[number]>,
  PlanOutput<Nodes[number], Edges[number]>,
  ErrorOf<Nodes[number]> | EdgeErrorOf<Edges[number]>,
  ServicesOf<Nodes[number]> | EdgeServicesOf<Edges[number]>
> => {
  const graph = PlanGraph.make(options.nodes, options.edges ?? [])
  return fromDefinition({
    graph,
    check: checkTogether(PlanGraph.agentsOf(graph)),
    concurrency: limitOf(options.concurrency ?? defaultConcurrency)
  })
}

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
  Mermaid.draw(definitionOf(self).graph)
