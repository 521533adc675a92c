/**
 * What of a plan can run, as a function of its graph and of what has ended.
 *
 * 1. A node is ready once each node with an edge into it has ended.
 * 2. A ready node that only skipped ones lead to is skipped.
 *
 * @since 0.1.0
 */
import * as Graph from "effect/Graph"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import { nodeOf, type PlanGraph } from "./PlanGraph.ts"
import { type Ended, type Results, skipped } from "./Results.ts"

/** How nodes ended, of those that did. */
export type Progress = HashMap.HashMap<Graph.NodeIndex, Ended>

/** What a plan was given, and how far it is. */
export interface Position {
  readonly input: unknown
  readonly progress: Progress
}

/** How far a plan is, which nodes were skipped to get there, and which became ready. */
export interface Step {
  readonly progress: Progress
  readonly skipped: ReadonlyArray<Graph.NodeIndex>
  readonly ready: ReadonlyArray<Graph.NodeIndex>
}

const isReady = (graph: PlanGraph, progress: Progress, node: Graph.NodeIndex): boolean =>
  !HashMap.has(progress, node) && Graph.predecessors(graph, node).every((source) => HashMap.has(progress, source))

const isCutOff = (graph: PlanGraph, progress: Progress, node: Graph.NodeIndex): boolean => {
  const sources = Graph.predecessors(graph, node)
  return sources.length > 0 && sources.every((source) => HashMap.getUnsafe(progress, source)._tag === "Skipped")
}

/** Looks which nodes became ready, and skips those that only skipped ones lead to, and on from these. */
const advance = (graph: PlanGraph, from: Progress, candidates: Iterable<Graph.NodeIndex>): Step => {
  let progress = from
  const ready = new Set<Graph.NodeIndex>()
  const cutOff: Array<Graph.NodeIndex> = []
  const open = new Set(candidates)
  // A set is walked in the order of insertion, with what is added on the way.
  for (const node of open) {
    open.delete(node)
    if (!isReady(graph, progress, node)) continue
    if (!isCutOff(graph, progress, node)) ready.add(node)
    else {
      progress = HashMap.set(progress, node, skipped)
      cutOff.push(node)
      for (const follower of Graph.successors(graph, node)) open.add(follower)
    }
  }
  return { progress, skipped: cutOff, ready: [...ready] }
}

/** Begins a plan with the nodes that ended before. */
export const begin = (graph: PlanGraph, progress: Progress): Step =>
  advance(graph, progress, Graph.indices(Graph.nodes(graph)))

/** Takes in how a node ended. */
export const settle = (graph: PlanGraph, progress: Progress, node: Graph.NodeIndex, ended: Ended): Step =>
  advance(graph, HashMap.set(progress, node, ended), Graph.successors(graph, node))

/** Gives progress as data. */
export const toResults = (graph: PlanGraph, { input, progress }: Position): Results => ({
  input,
  nodes: Object.fromEntries(
    Array.from(graph).flatMap(([index, { name }]) =>
      Option.match(HashMap.get(progress, index), { onNone: () => [], onSome: (ended) => [[name, ended]] })
    )
  )
})

/** Gives the output of each node that no edge leaves and that wasn't skipped. */
export const outputOf = (graph: PlanGraph, progress: Progress): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Array.from(Graph.indices(Graph.externals(graph, { direction: "outgoing" }))).flatMap((index) => {
      const ended = HashMap.getUnsafe(progress, index)
      return ended._tag === "Completed" ? [[nodeOf(graph, index).name, ended.output]] : []
    })
  )
