/**
 * The places of a plan on a cluster, and the names that nodes may have there so that no two places are one.
 *
 * A place is a node, or a fallback behind it: `write`, `write/short`. From the second time on that the plan begins, the ids of its calls
 * also say how often it began: `write/short@2`.
 *
 * @since 0.1.0
 */
import type { Definition as Node } from "../../handoff/plan/Node.ts"
import { PlanMismatch } from "../../handoff/plan/PlanError.ts"
import { InvalidPlan, type PlanGraph } from "../../handoff/plan/PlanGraph.ts"
import type { Place } from "./LongRun.ts"
import { placesIn, type State } from "./PlanSteps.ts"

/** Returns where an agent of a plan is asked. Each time the plan begins, it has another conversation, whose calls have other ids. */
export const placeOf = (place: string, run: number): Place => ({
  place,
  name: run === 1 ? place : `${place}@${run}`,
  suffix: `/${run}`
})

/** The fallback of a node, and its place. */
export const fallbackOf = ({ fallback }: Node, place: string) =>
  fallback === undefined ? undefined : { node: fallback, place: `${place}/${fallback.name}` }

/** A node and its fallbacks, by their places. */
const placesOfNode = (node: Node, place: string): ReadonlyArray<readonly [place: string, node: Node]> => {
  const later = fallbackOf(node, place)
  return [[place, node], ...(later === undefined ? [] : placesOfNode(later.node, later.place))]
}

/** The nodes of a plan and their fallbacks, by their places. */
const placesOf = (graph: PlanGraph): ReadonlyArray<readonly [place: string, node: Node]> =>
  Array.from(graph, ([, node]) => placesOfNode(node, node.name)).flat()

/** The agents of a plan, by their places. */
export const agentsOf = (graph: PlanGraph): ReadonlyArray<readonly [place: string, node: Node]> =>
  placesOf(graph).filter(([, { agent }]) => agent !== undefined)

/** Where the agents of a plan are asked when it begins for the time `run`. */
export const conversationsOf = (graph: PlanGraph, run: number): ReadonlyArray<Place> =>
  agentsOf(graph).map(([place]) => placeOf(place, run))

/** Finds a place that a state names and the plan lacks, because it was renamed or removed since. It would be played again by its new name. */
export const findMismatch = (graph: PlanGraph, state: State): PlanMismatch | undefined => {
  const available = new Set(placesOf(graph).map(([place]) => place))
  const node = placesIn(state).find((place) => !available.has(place))
  return node === undefined ? undefined : new PlanMismatch({ node, available: [...available] })
}

const checkName = ({ fallback, name }: Node): void => {
  if (name.includes("/") || /@\d+$/.test(name)) throw new InvalidPlan({ reason: { _tag: "ReservedName", node: name } })
  if (fallback !== undefined) checkName(fallback)
}

/**
 * Throws `InvalidPlan` if a node has a name that could be that of another place: a `/` separates a node from its fallback, and `@` with a
 * number says how often the plan began.
 */
export const checkNames = (graph: PlanGraph): void => {
  for (const [, node] of graph) checkName(node)
}
