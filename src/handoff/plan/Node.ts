/**
 * The nodes of a plan: effects and agents with an input, an output and a policy.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Schedule from "effect/Schedule"
import type { AgentError } from "../../domain/AgentError.ts"
import { durationOf } from "../../domain/InvalidLimit.ts"
import { prototypeOf } from "../../domain/Shown.ts"
import * as Runnable from "../Runnable.ts"
import { ask, type NoAnswer } from "./Asking.ts"

const TypeId = "~troupe/handoff/Plan/Node"

/**
 * A node of a plan: `Input` is what it takes, `Output` what it returns, `E` what it may fail with, and `R` what it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Node<out Name extends string, in Input, out Output, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: Behaviour<Definition, Input, Output, E, R>
  readonly name: Name
}

/** The definition of a node or a plan, and in its type what it takes, returns, may fail with and needs. */
export interface Behaviour<out Of, in Input, out Output, out E, out R> {
  readonly definition: Of
  readonly _Input?: (input: Input) => void
  readonly _Output?: () => Output
  readonly _E?: () => E
  readonly _R?: () => R
}

/** A node as the run of a plan sees it. If it has an agent, `run` may be given another one to ask in its place. */
export interface Definition {
  readonly name: string
  readonly agent: Runnable.Any | undefined
  readonly run: (input: unknown, agent?: Runnable.Any) => Effect.Effect<unknown, unknown, unknown>
  readonly isIdempotent: boolean
  readonly retry: Schedule.Schedule<unknown, unknown, unknown, unknown> | undefined
  readonly timeout: Duration.Input | undefined
  readonly fallback: Definition | undefined
}

/**
 * What can be in a plan: a node, or an agent or a group, which takes text.
 *
 * @category models
 * @since 0.1.0
 */
export type Any = Taking<never> | Runnable.AnyRunnable

/** A node that takes an input. */
type Taking<Input> = Node<string, Input, unknown, unknown, unknown>

/** A node that takes an input, or an agent if the input is text. */
export type Takes<Input> = Taking<Input> | ([Input] extends [string] ? Runnable.AnyRunnable : never)

/**
 * The name of a node.
 *
 * @category utility types
 * @since 0.1.0
 */
export type NameOf<N> = N extends { readonly name: infer Name extends string } ? Name : never

/**
 * What a node takes.
 *
 * @category utility types
 * @since 0.1.0
 */
export type InputOf<N> = N extends Node<string, infer Input, unknown, unknown, unknown> ? Input
  : N extends Runnable.Any ? string
  : never

/**
 * What a node returns.
 *
 * @category utility types
 * @since 0.1.0
 */
export type OutputOf<N> = N extends Node<string, never, infer Output, unknown, unknown> ? Output
  : N extends Runnable.Runnable<string, infer Output, unknown, unknown> ? Output
  : never

/**
 * What a node may fail with.
 *
 * @category utility types
 * @since 0.1.0
 */
export type ErrorOf<N> = N extends Node<string, never, unknown, infer E, unknown> ? E
  : N extends Runnable.Runnable<string, unknown, infer E, unknown> ? AgentError | NoAnswer | E
  : never

/**
 * What a node needs.
 *
 * @category utility types
 * @since 0.1.0
 */
export type ServicesOf<N> = N extends Node<string, never, unknown, unknown, infer R> ? R
  : N extends Runnable.Runnable<string, unknown, unknown, infer R> ? R
  : never

/**
 * How a node is run: when to retry, how long an attempt may take, and which node takes the input if all attempts fail.
 *
 * @category options
 * @since 0.1.0
 */
export interface Policy<in E, out RetryE, out RetryR, out Timeout, out Fallback> {
  /** When to try again after a failure or a time-out, but not if an agent waits for approvals or results; never by default. */
  readonly retry?: Schedule.Schedule<unknown, E | Cause.TimeoutError, RetryE, RetryR> | undefined
  /** How long one attempt may take, above 0; no limit by default. After that it fails with `TimeoutError` of Effect. */
  readonly timeout?: Timeout
  /** A node that takes the same input if all attempts have failed, but not if an agent waits; none by default. It has its own policy. */
  readonly fallback?: Fallback
  /**
   * Whether a cluster starts an effect again by itself if its end is unknown, as when its process died; `false` by default. In one process
   * this changes nothing.
   */
  readonly idempotent?: boolean | undefined
}

/**
 * A type that is inferred from a function's arguments alone, and not from the list of nodes around it. Unlike `NoInfer`, it is displayed as
 * the type itself.
 */
export type Own<T> = [T][T extends unknown ? 0 : never]

/**
 * What a node and its policy may fail with. If it has a fallback that can't fail, that is nothing, or `NoAnswer` of an agent that waits: no
 * fallback follows it.
 */
export type Failing<E, Timeout, Fallback> = [Fallback] extends [never] ? Attempt<E, Timeout>
  : [ErrorOf<Fallback>] extends [never] ? Extract<E, NoAnswer>
  : Attempt<E, Timeout> | ErrorOf<Fallback>

type Attempt<E, Timeout> = E | ([Timeout] extends [never] ? never : Cause.TimeoutError)

const Proto = prototypeOf((self: Any) => ({ _id: "Node", name: self.name }))

/** Any policy, or none. */
export type AnyPolicy = Policy<never, unknown, unknown, Duration.Input | undefined, Any | undefined> | undefined

/** Makes a node from its definition. */
export const make = (
  name: string,
  agent: Definition["agent"],
  run: Definition["run"],
  policy: AnyPolicy
): Node<string, never, never> => {
  const definition: Definition = {
    name,
    agent,
    run,
    retry: policy?.retry as Definition["retry"],
    isIdempotent: policy?.idempotent === true,
    timeout: policy?.timeout === undefined ? undefined : durationOf("timeout", policy.timeout, "above 0"),
    fallback: policy?.fallback === undefined ? undefined : definitionOf(policy.fallback)
  }
  return Object.assign(Object.create(Proto), { [TypeId]: { definition }, name })
}

/**
 * Makes a node of an effect, or of a function from the node's input to one.
 *
 * Each attempt has the policy's `timeout`, `retry` says when there is another attempt, and `fallback` comes last: its output counts as this
 * node's, and it needn't be among the plan's `nodes`. A defect or an interruption is not retried, and no fallback follows it. Throws
 * `InvalidLimit` for a `timeout` that isn't a duration above 0.
 *
 * **Example** (A price, from the cache when the shop is down)
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Plan } from "troupe"
 *
 * const cached = Plan.node("cached", (isbn: string) => Effect.succeed(isbn.length))
 * const price = Plan.node("price", (_isbn: string) => Effect.fail("the shop is down"), {
 *   retry: Schedule.recurs(2),
 *   timeout: "5 seconds",
 *   fallback: cached
 * })
 *
 * const plan = Plan.make({ nodes: [price] })
 * await Effect.runPromise(Plan.run(plan, "0140449132")) // => { price: 10 }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const node = <
  const Name extends string,
  Output,
  E,
  R,
  Input = unknown,
  RetryE = never,
  RetryR = never,
  Timeout extends Duration.Input | undefined = never,
  Fallback extends Takes<Input> = never
>(
  name: Name,
  run: Effect.Effect<Output, E, R> | ((input: Input) => Effect.Effect<Output, E, R>),
  policy?: Policy<NoInfer<E>, RetryE, RetryR, Timeout, Fallback>
): Node<
  Name,
  Own<Input>,
  Output | OutputOf<Fallback>,
  Failing<E | Own<RetryE>, Timeout, Fallback>,
  R | Own<RetryR> | ServicesOf<Fallback>
> =>
  // The types above say what the untyped definition takes, returns and fails with.
  make(name, undefined, Effect.isEffect(run) ? () => run : run as Definition["run"], policy) as never

const isNode = (u: Any): u is Node<string, never, unknown, unknown, unknown> => Predicate.hasProperty(u, TypeId)

/** Returns the definition of a node. The definition of an agent asks the agent with the input. */
export const definitionOf = (self: Any): Definition =>
  isNode(self) ? self[TypeId].definition : definitionOfAgent(Runnable.typed(self))

const definitionOfAgent = (self: Runnable.Any): Definition => definitionOf(make(self.name, self, ask(self), undefined))
