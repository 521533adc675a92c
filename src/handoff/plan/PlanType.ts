/**
 * The type of a plan: its graph, and what it takes, returns, may fail with and needs.
 *
 * @since 0.1.0
 */
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import { prototypeOf } from "../../domain/Shown.ts"
import type { Behaviour } from "./Node.ts"
import * as PlanGraph from "./PlanGraph.ts"
import type * as Run from "./Run.ts"

const TypeId = "~troupe/handoff/Plan"

/**
 * A plan: `Input` is what its first nodes take, `Output` a record of what its last nodes return, `E` what nodes and edges may fail with,
 * which is the `reason` of a run's `PlanError`, and `R` what a run needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan<in Input, out Output, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: Behaviour<Definition, Input, Output, E, R>
}

/** The definition of a plan; `check` throws if its agents can't run together. */
export interface Definition extends Run.Definition {
  readonly check: () => void
}

/** Any plan. */
export type AnyPlan = Plan<never, unknown, unknown, unknown>

/**
 * Checks whether something is a plan.
 *
 * @category guards
 * @since 0.1.0
 */
export const isPlan = (u: unknown): u is AnyPlan => Predicate.hasProperty(u, TypeId)

const Proto = prototypeOf((self: AnyPlan) => ({
  _id: "Plan",
  nodes: [...PlanGraph.indexOf(definitionOf(self).graph).keys()]
}))

/** Makes a plan from its definition. */
export const fromDefinition = <Input, Output, E, R>(definition: Definition): Plan<Input, Output, E, R> =>
  Object.assign(Object.create(Proto), { [TypeId]: { definition } })

/** Returns the definition of a plan. */
export const definitionOf = (self: AnyPlan): Definition => self[TypeId].definition
