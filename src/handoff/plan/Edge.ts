/**
 * The edges of a plan: which part of a node's output goes to another node, and when.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import * as Runnable from "../Runnable.ts"
import type { Any, InputOf, NameOf, OutputOf, Own, Takes } from "./Node.ts"

const TypeId = "~troupe/handoff/Plan/Edge"

/**
 * Whether an edge is taken whenever its source has an output, or only under a condition.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = "Always" | "Conditional"

/**
 * An edge of a plan: `Value` is what arrives by it, `E` what its functions may fail with, and `R` what they need.
 *
 * @category models
 * @since 0.1.0
 */
export interface Edge<
  out From extends string,
  out To extends string,
  out Value,
  out K extends Kind = "Always",
  out E = never,
  out R = never
> {
  readonly [TypeId]: Behaviour<Value, E, R>
  readonly from: From
  readonly to: To
  readonly kind: K
}

/** What an edge does, and in its type what arrives by it, and what its functions may fail with and need. */
interface Behaviour<out Value, out E, out R> {
  readonly definition: Definition
  readonly _Value?: () => Value
  readonly _E?: () => E
  readonly _R?: () => R
}

/** An edge as the run of a plan sees it. */
export interface Definition {
  readonly source: Any
  readonly target: Any
  readonly condition: ((output: unknown) => unknown) | undefined
  readonly change: ((output: unknown) => unknown) | undefined
}

/**
 * Any edge.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyEdge = Edge<string, string, unknown, Kind, unknown, unknown>

/**
 * What an edge's functions may fail with.
 *
 * @category utility types
 * @since 0.1.0
 */
export type EdgeErrorOf<G> = G extends Edge<string, string, unknown, Kind, infer E, unknown> ? E : never

/**
 * What an edge's functions need.
 *
 * @category utility types
 * @since 0.1.0
 */
export type EdgeServicesOf<G> = G extends Edge<string, string, unknown, Kind, unknown, infer R> ? R : never

/** What may arrive from a node: the input of the target, or if that is a record, its value under the node's name. */
type Fitting<Input, Source extends string> =
  | Input
  | (Input extends object ? Source extends keyof Input ? Required<Input>[Source] : never : never)

/** A target that takes a value from a source, alone or beside others. */
type Accepts<Target, Source extends string, Value> = [Value] extends [Fitting<InputOf<Target>, Source>] ? Any
  : Takes<Value>

const make = (
  by: string,
  source: Any,
  target: Any,
  condition: Definition["condition"],
  change: Definition["change"]
): Edge<string, string, never, Kind> => ({
  [TypeId]: { definition: { source, target, condition, change } },
  from: Runnable.given(source, by).name,
  to: Runnable.given(target, by).name,
  kind: condition === undefined ? "Always" : "Conditional"
})

/**
 * Makes an edge: the output of `from`, or what `f` makes of it, goes to `to`.
 *
 * What arrives must be the target's input or, if several edges lead to the target, the value that its input has under the source's name.
 * `f` may return an Effect. If that fails, the node `to` fails with its error, without a retry or a fallback. Throws
 * `Handoff.MissingAgent` if `from` or `to` is `undefined`.
 *
 * **Example** (A record of two sources)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Plan } from "troupe"
 *
 * const words = Plan.node("words", (text: string) => Effect.succeed(text.split(" ")))
 * const size = Plan.node("size", (text: string) => Effect.succeed(text.length))
 * const report = Plan.node("report", (of: { readonly words: number; readonly size: number }) =>
 *   Effect.succeed(`${of.words} words, ${of.size} characters`))
 *
 * const plan = Plan.make({
 *   nodes: [words, size, report],
 *   edges: [Plan.edge(words, report, (words) => words.length), Plan.edge(size, report)]
 * })
 *
 * await Effect.runPromise(Plan.run(plan, "to be or not")) // => { report: "4 words, 12 characters" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const edge: {
  <From extends Any, To extends Any>(
    from: From,
    to: To & Accepts<NoInfer<To>, NameOf<From>, OutputOf<From>>
  ): Edge<NameOf<From>, NameOf<To>, OutputOf<From>>
  <From extends Any, To extends Any, Value extends Fitting<InputOf<To>, NameOf<From>>, E = never, R = never>(
    from: From,
    to: To,
    f: (output: OutputOf<From>) => Value | Effect.Effect<Value, E, R>
  ): Edge<NameOf<From>, NameOf<To>, Value, "Always", Own<E>, Own<R>>
} = (from: Any, to: Any, f?: unknown) =>
  // The overloads say what the untyped definition brings.
  make("Plan.edge", from, to, undefined, f as Definition["change"]) as never

/**
 * Makes an edge that is taken only if `condition` holds for the output of `from`. A type guard narrows it.
 *
 * A node into which no edge is taken is skipped, and so are those behind it that nothing else leads to. If another edge is taken, the
 * node's input lacks the key of this one, so the key must be optional in its type. `condition` and `f` may return Effects. If one of them
 * fails, the node `to` fails with its error, without a retry or a fallback. Throws `Handoff.MissingAgent` if `from` or `to` is `undefined`.
 *
 * **Example** (One of two desks)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Plan } from "troupe"
 *
 * const triage = Plan.node("triage", (text: string) => Effect.succeed({ text, isUrgent: text.endsWith("!") }))
 * const now = Plan.node("now", (text: string) => Effect.succeed(`Calling about: ${text}`))
 * const later = Plan.node("later", (text: string) => Effect.succeed(`Noted: ${text}`))
 *
 * const plan = Plan.make({
 *   nodes: [triage, now, later],
 *   edges: [
 *     Plan.edgeWhen(triage, now, ({ isUrgent }) => isUrgent, ({ text }) => text),
 *     Plan.edgeWhen(triage, later, ({ isUrgent }) => !isUrgent, ({ text }) => text)
 *   ]
 * })
 *
 * await Effect.runPromise(Plan.run(plan, "Fire!")) // => { now: "Calling about: Fire!" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const edgeWhen: {
  <
    From extends Any,
    To extends Any,
    Narrowed extends OutputOf<From>,
    Value extends Fitting<InputOf<To>, NameOf<From>>,
    E = never,
    R = never
  >(
    from: From,
    to: To,
    condition: (output: OutputOf<From>) => output is Narrowed,
    f: (output: Narrowed) => Value | Effect.Effect<Value, E, R>
  ): Edge<NameOf<From>, NameOf<To>, Value, "Conditional", Own<E>, Own<R>>
  <From extends Any, To extends Any, Narrowed extends OutputOf<From> & Fitting<InputOf<To>, NameOf<From>>>(
    from: From,
    to: To,
    condition: (output: OutputOf<From>) => output is Narrowed
  ): Edge<NameOf<From>, NameOf<To>, Narrowed, "Conditional">
  <
    From extends Any,
    To extends Any,
    Value extends Fitting<InputOf<To>, NameOf<From>>,
    ConditionE = never,
    ConditionR = never,
    E = never,
    R = never
  >(
    from: From,
    to: To,
    condition: (output: OutputOf<From>) => boolean | Effect.Effect<boolean, ConditionE, ConditionR>,
    f: (output: OutputOf<From>) => Value | Effect.Effect<Value, E, R>
  ): Edge<NameOf<From>, NameOf<To>, Value, "Conditional", Own<ConditionE> | Own<E>, Own<ConditionR> | Own<R>>
  <From extends Any, To extends Any, E = never, R = never>(
    from: From,
    to: To & Accepts<NoInfer<To>, NameOf<From>, OutputOf<From>>,
    condition: (output: OutputOf<From>) => boolean | Effect.Effect<boolean, E, R>
  ): Edge<NameOf<From>, NameOf<To>, OutputOf<From>, "Conditional", Own<E>, Own<R>>
} = (from: Any, to: Any, condition: unknown, f?: unknown) =>
  // The overloads say what the untyped definition brings.
  make("Plan.edgeWhen", from, to, condition as Definition["condition"], f as Definition["change"]) as never

/** Returns what an edge does. */
export const edgeDefinitionOf = (self: AnyEdge): Definition => self[TypeId].definition

const titleOf = ({ source, target }: Definition): string => `the edge from "${source.name}" to "${target.name}"`

/** Whether an edge is taken by an output of its source. */
export const isTaken = (self: Definition, output: unknown): Effect.Effect<unknown, unknown, unknown> =>
  self.condition === undefined ? Effect.succeed(true) : MaybeEffect.call(
    () => self.condition!(output),
    (holds) => Wanted.boolean(`The condition of ${titleOf(self)}`, holds)
  )

/** What arrives by an edge that is taken. */
export const valueOf = (self: Definition, output: unknown): Effect.Effect<unknown, unknown, unknown> =>
  self.change === undefined
    ? Effect.succeed(output)
    : MaybeEffect.call(
      () => self.change!(output),
      (made) => Wanted.value(`The function of ${titleOf(self)}`, made)
    )
