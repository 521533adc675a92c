/**
 * A plan as a graph, which is checked when it is made.
 *
 * 1. There is at least one node, and no two share a name.
 * 2. Each edge connects nodes of the plan.
 * 3. No two edges lead from one node to the same other one.
 * 4. There is no cycle.
 *
 * @since 0.1.0
 */
import * as Graph from "effect/Graph"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import * as Runnable from "../Runnable.ts"
import { type AnyEdge, type Definition as EdgeDefinition, edgeDefinitionOf } from "./Edge.ts"
import { type Any, type Definition as NodeDefinition, definitionOf } from "./Node.ts"

/** A plan as a graph. */
export type PlanGraph = Graph.DirectedGraph<NodeDefinition, EdgeDefinition>

/**
 * Schema for why a plan is invalid.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Issue = Schema.TaggedUnion({
  NoNodes: {},
  DuplicateNode: { node: Schema.String },
  UnknownNode: { from: Schema.String, to: Schema.String, node: Schema.String },
  DuplicateEdge: { from: Schema.String, to: Schema.String },
  Cycle: { path: Schema.Array(Schema.String) },
  InvalidConcurrency: { concurrency: Schema.Number },
  ReservedName: { node: Schema.String }
})

/**
 * Why a plan is invalid: no nodes, two nodes with the same name, an edge with a node that isn't the plan's, two edges from one node to
 * another, a cycle (its path ends where it begins), or an invalid concurrency. On a cluster, the name of a node also can't have a `/` or
 * end in `@` and a number.
 *
 * @category models
 * @since 0.1.0
 */
export type Issue = typeof Issue.Type

const messageOf: (issue: Issue) => string = Issue.match({
  NoNodes: () => "it has no nodes",
  DuplicateNode: ({ node }) => `two nodes have the name "${node}"`,
  UnknownNode: ({ from, node, to }) => `the edge from "${from}" to "${to}" has a node "${node}" that isn't in the plan`,
  DuplicateEdge: ({ from, to }) => `two edges lead from "${from}" to "${to}"`,
  Cycle: ({ path }) => `there is a cycle: ${path.join(" → ")}`,
  InvalidConcurrency: ({ concurrency }) => `its concurrency is ${concurrency}, not a whole number from 1 on`,
  ReservedName: ({ node }) =>
    `on a cluster, the name of a node can't have a "/" or end in "@" and a number, as "${node}" does`
})

/**
 * Error for an invalid plan. `Plan.make` throws it, and `ClusterPlan.make`.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidPlan extends ErrorClass<InvalidPlan>("troupe/handoff/Plan")("InvalidPlan", {
  reason: Issue
}, ({ reason }) => `The plan is invalid: ${messageOf(reason)}`) {}

const fail = (reason: Issue): never => {
  throw new InvalidPlan({ reason })
}

/** Makes the graph of nodes and edges. Throws `InvalidPlan`. */
export const make = (nodes: ReadonlyArray<Any>, edges: ReadonlyArray<AnyEdge>): PlanGraph => {
  if (nodes.length === 0) fail({ _tag: "NoNodes" })
  const graph = Graph.directed<NodeDefinition, EdgeDefinition>((mutable) => {
    const names = new Set<string>()
    const indices = new Map<Any, Graph.NodeIndex>()
    for (const node of nodes) {
      Runnable.given(node, "Plan.make")
      if (names.has(node.name)) fail({ _tag: "DuplicateNode", node: node.name })
      names.add(node.name)
      indices.set(node, Graph.addNode(mutable, definitionOf(node)))
    }
    for (const edge of edges) {
      const { from, to } = edge
      const definition = edgeDefinitionOf(edge)
      const [source, target] = [definition.source, definition.target].map((node) =>
        indices.get(node) ?? fail({ _tag: "UnknownNode", from, to, node: node.name })
      ) as [Graph.NodeIndex, Graph.NodeIndex]
      if (Graph.hasEdge(mutable, source, target)) fail({ _tag: "DuplicateEdge", from, to })
      Graph.addEdge(mutable, source, target, definition)
    }
  })
  const cycle = Graph.findCycle(graph)
  if (Option.isSome(cycle)) fail({ _tag: "Cycle", path: cycle.value.path.map((index) => nodeOf(graph, index).name) })
  return graph
}

/** Returns a node that is known to exist. */
export const nodeOf = (self: PlanGraph, index: Graph.NodeIndex): NodeDefinition =>
  Option.getOrThrow(Graph.getNode(self, index))

/** Returns the edges into a node, in the order of the plan. */
export const edgesInto = (self: PlanGraph, index: Graph.NodeIndex): ReadonlyArray<Graph.Edge<EdgeDefinition>> =>
  Graph.incomingEdges(self, index).map((edge) => Option.getOrThrow(Graph.getEdge(self, edge)))

/** Returns the agents of a plan, those of fallbacks included. */
export const agentsOf = (self: PlanGraph): ReadonlyArray<Runnable.Any> =>
  Array.from(self, ([, node]) => agentsOfNode(node)).flat()

const agentsOfNode = ({ agent, fallback }: NodeDefinition): ReadonlyArray<Runnable.Any> => [
  ...(agent === undefined ? [] : [agent]),
  ...(fallback === undefined ? [] : agentsOfNode(fallback))
]

/** Returns the index of each node by its name, in the order of the plan. */
export const indexOf = (self: PlanGraph): ReadonlyMap<string, Graph.NodeIndex> =>
  new Map(Array.from(self, ([index, { name }]) => [name, index]))
