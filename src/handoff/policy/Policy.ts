/**
 * What a handoff policy is: offers of handoffs, a decision after a turn, and transforms of the conversation that crosses.
 *
 * @since 0.1.0
 */
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as RequestCopy from "../../domain/RequestCopy.ts"
import { prototypeOf } from "../../domain/Shown.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { type Offer, united } from "./Offer.ts"
import { type Transform, TypeId } from "./Transform.ts"

export type { Crossing, Transform } from "./Transform.ts"

/**
 * How agents collaborate: `Names` are the agents that the policy names, `E` is what a run may fail with because of it, and `R` what a run
 * needs for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface HandoffPolicy<out Names extends string, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: Internals<Names, E, R>
}

/** The internals of a policy, for interpreters. */
export interface Internals<out Names extends string = string, out E = unknown, out R = unknown> {
  readonly offers: ReadonlyArray<Offer>
  readonly decide: (state: AgentState) => Decision | undefined
  readonly transforms: ReadonlyArray<Transform>
  readonly names: ReadonlyArray<string>
  /** How many handoffs the policy's own sequence needs; 0 if it has none. */
  readonly handoffs: number
  readonly _Names?: () => Names
  readonly _E?: () => E
  readonly _R?: () => R
}

/** Any policy. */
export type Any = HandoffPolicy<string, unknown, unknown>

/** The agents that a policy names. */
export type Names<Policy> = Policy extends HandoffPolicy<infer Names, unknown, unknown> ? Names : never
/** What a run may fail with because of a policy. */
export type Error<Policy> = Policy extends HandoffPolicy<string, infer E, unknown> ? E : never
/** What a run needs for a policy. */
export type Services<Policy> = Policy extends HandoffPolicy<string, unknown, infer R> ? R : never

/**
 * A policy's decision that another agent take over, though no model asked.
 *
 * @category models
 * @since 0.1.0
 */
export interface Decision<out Target extends string = string> {
  /** The name of the agent that takes over. */
  readonly target: Target
  /** The reason, for the target's model and the state's `handoff`; none by default. */
  readonly reason?: string
  /** What the target should know, for its model and the state's `handoff`: JSON, which is copied; nothing by default. */
  readonly context?: Schema.Json
}

const Proto = prototypeOf(({ [TypeId]: { names, offers } }: Any) => ({
  _id: "HandoffPolicy",
  names,
  tools: offers.map((offer) => offer.handoff.toolName)
}))

const never = (): undefined => undefined

/** Makes a policy from its parts; each part is optional. */
export const make = <Names extends string, E = never, R = never>(
  { decide = never, handoffs = 0, names, offers = [], transforms = [] }: {
    readonly handoffs?: number
    readonly names: ReadonlyArray<string>
    readonly offers?: ReadonlyArray<Offer>
    readonly decide?: Internals["decide"]
    readonly transforms?: ReadonlyArray<Transform>
  }
): HandoffPolicy<Names, E, R> => {
  const internals: Internals<Names, E, R> = {
    names: [...new Set(names)],
    offers: united(offers),
    decide: (state) => {
      const decision = decide(state)
      if (decision === undefined) return undefined
      if (!Predicate.hasProperty(decision, "target") || !Predicate.isString(decision.target)) {
        throw Wanted.mustReturn("`decide` of `HandoffPolicy.make`", "decision", decision)
      }
      const { context, reason, target } = decision
      return target === state.agent ? undefined : RequestCopy.from("a policy's decision", { target, reason, context })
    },
    transforms,
    handoffs
  }
  return Object.assign(Object.create(Proto), { [TypeId]: internals })
}

/**
 * Checks whether something is a handoff policy.
 *
 * @category guards
 * @since 0.1.0
 */
export const isHandoffPolicy = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/** Returns the internals of a policy, for interpreters. */
export const internalsOf = (self: Any): Internals => self[TypeId]
