/**
 * The type of an agent: its name, and what a run of it returns, fails with and needs.
 *
 * @since 0.1.0
 */
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Runnable from "../../handoff/Runnable.ts"
import * as Definition from "./AgentDefinition.ts"

/**
 * An agent: `Output` is what its answers decode to, `E` what a run of it may fail with besides `AgentError`, and `R` what a run of it
 * needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Agent<out Name extends string, out Output = string, out E = never, out R = never>
  extends Runnable.Member<Name, Output, E, R>, Definition.Defined, Pipeable
{}

/** Any agent. */
export type Any = Agent<string, unknown, unknown, unknown>

/** What a run of an agent may fail with besides `AgentError`. */
export type RunError<A extends Any> = A extends Agent<infer _Name, infer _Output, infer E, infer _R> ? E : never

/** What a run of an agent needs. */
export type Services<A extends Any> = A extends Agent<infer _Name, infer _Output, infer _E, infer R> ? R : never

/**
 * Checks whether something is an agent.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAgent = (u: unknown): u is Any => Predicate.hasProperty(u, Definition.TypeId)
