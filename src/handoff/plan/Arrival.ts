/**
 * What arrives at a node: the plan's input, the value of its one edge, or a record of several.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Graph from "effect/Graph"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import { isTaken, valueOf } from "./Edge.ts"
import { edgesInto, type PlanGraph } from "./PlanGraph.ts"
import type { Position } from "./Progress.ts"

/** What arrives at a node whose sources have ended, if any edge to it is taken. */
export const of = Effect.fnUntraced(function*(graph: PlanGraph, { input, progress }: Position, node: Graph.NodeIndex) {
  const edges = edgesInto(graph, node)
  if (edges.length === 0) return Option.some(input)
  const taken: Array<readonly [source: string, value: unknown]> = []
  for (const { data, source } of edges) {
    const ended = HashMap.getUnsafe(progress, source)
    if (ended._tag === "Skipped" || !(yield* isTaken(data, ended.output))) continue
    taken.push([data.source.name, yield* valueOf(data, ended.output)])
  }
  return !Arr.isReadonlyArrayNonEmpty(taken)
    ? Option.none()
    : Option.some(edges.length === 1 ? taken[0][1] : Object.fromEntries(taken))
})
