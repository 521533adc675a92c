/**
 * Which nodes of a plan can run, as a function of its graph and of what has ended.
 *
 * A node is ready once each node with an edge to it has ended or was skipped. Its edges decide whether it is then run or skipped.
 *
 * @since 0.1.0
 */
import * as Graph from "effect/Graph"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import { nodeOf, type PlanGraph } from "./PlanGraph.ts"
import type { Ended, Results } from "./Results.ts"

/** Which nodes have ended, and how. */
export type Progress = HashMap.HashMap<Graph.NodeIndex, Ended>

/** The input of a plan, and how far its run has come. */
export interface Position {
  readonly input: unknown
  readonly progress: Progress
}

/** Counts, for each node that hasn't ended, the nodes with an edge to it that haven't ended either. */
export const awaited = (graph: PlanGraph, progress: Progress): ReadonlyMap<Graph.NodeIndex, number> =>
  new Map(
    Array.from(Graph.indices(Graph.nodes(graph))).flatMap((node) =>
      HashMap.has(progress, node)
        ? []
        : [[node, Graph.predecessors(graph, node).filter((source) => !HashMap.has(progress, source)).length]]
    )
  )

/** Returns progress as data. */
export const toResults = (graph: PlanGraph, { input, progress }: Position): Results => ({
  ...(input === undefined ? undefined : { input }),
  nodes: Object.fromEntries(
    Array.from(graph).flatMap(([index, { name }]) =>
      Option.match(HashMap.get(progress, index), { onNone: () => [], onSome: (ended) => [[name, ended]] })
    )
  )
})

/** Returns the output of each node that no edge leaves and that wasn't skipped. */
export const outputOf = (graph: PlanGraph, progress: Progress): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Array.from(Graph.indices(Graph.externals(graph, { direction: "outgoing" }))).flatMap((index) => {
      const ended = HashMap.getUnsafe(progress, index)
      return ended._tag === "Completed" ? [[nodeOf(graph, index).name, ended.output]] : []
    })
  )
