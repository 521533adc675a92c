/**
 * A plan as a diagram.
 *
 * @since 0.1.0
 */
import * as Graph from "effect/Graph"
import type { PlanGraph } from "./PlanGraph.ts"

/** Draws a plan as a flowchart of Mermaid: agents rounded, effects in boxes, conditional edges marked. */
export const draw = (graph: PlanGraph): string =>
  Graph.toMermaid(graph, {
    nodeLabel: ({ name }) => name,
    nodeShape: ({ agent }) => agent === undefined ? "rectangle" : "rounded",
    edgeLabel: ({ condition }) => condition === undefined ? "" : "when"
  })
