/**
 * What a guardrail is, and what its type collects.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Pipeable } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { messageOf } from "../../domain/Described.ts"
import { Stage } from "../../domain/GuardrailStage.ts"
import { InvalidName } from "../../domain/InvalidName.ts"
import type { UserPart } from "../../domain/Part.ts"
import { prototypeOf } from "../../domain/Shown.ts"
import type { AgentState, Outcome } from "../../domain/StateSchema.ts"
import { oneOf, optionOf } from "./InvalidOption.ts"
import { attempt, block, brokenBy, type Verdict, verdictOf, warn } from "./Verdict.ts"

/** Marks a guardrail. */
const TypeId = "~troupe/agent/Guardrail"

/**
 * The subject of a guardrail: `"text"`, which every stage has, or the value of one stage.
 *
 * @category models
 * @since 0.1.0
 */
export type Subject = "text" | Stage

/** The call that a guardrail judges: its id, its tool's name, its parameters as JSON, and its `outcome` once it has a result. */
export interface CheckedCall {
  readonly id: string
  readonly name: string
  readonly params: Schema.Json
  readonly outcome?: Outcome
}

/**
 * Where a guardrail is asked: at which stage of which agent, in which state. There is a `call` at `toolCall` and `toolResult`, and at
 * `handoff` if a model asked for the handoff.
 *
 * @category models
 * @since 0.1.0
 */
export interface Context {
  readonly stage: Stage
  readonly agent: string
  readonly state: AgentState
  readonly call?: CheckedCall
}

/** Where a guardrail on calls or results is asked. */
export interface CallContext extends Context {
  readonly call: CheckedCall
}

/** The value of each subject. */
export interface Values {
  readonly text: string
  readonly input: ReadonlyArray<UserPart>
  readonly output: unknown
  readonly toolCall: Schema.Json
  readonly toolResult: Schema.Json
  readonly handoff: Pick<HandoffRequest, "target" | "reason" | "context">
}

/** Where a guardrail of a subject is asked. */
export type ContextOf<On extends Subject> = On extends "toolCall" | "toolResult" ? CallContext : Context

/** Judges a value, at once or with an effect. */
type Judge<E = never> = (value: never, context: never) => Verdict<unknown> | Effect.Effect<Verdict<unknown>, E, unknown>

/** The internals of a guardrail, for interpreters. `judge` turns failures of the check into verdicts. */
export interface Internals {
  readonly on: Subject
  readonly isParallel: boolean
  readonly judge: Judge
}

/**
 * A guardrail: it judges a value, and says whether the value may pass.
 *
 * `Value` is what it judges, `E` what its check may fail with, and `R` what the check needs. A run doesn't fail with `E`: if the check
 * fails, `onError` says whether the value is blocked or passes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Guardrail<out On extends Subject = "text", in Value = Values[On], out E = never, out R = never>
  extends Pipeable
{
  readonly [TypeId]: Internals & {
    readonly _On?: () => On
    readonly _Value?: (value: Value) => void
    readonly _E?: () => E
    readonly _R?: () => R
  }
  readonly name: string
}

/** Any guardrail for a stage with such values, without type parameters for failures and needs, so that they are inferred. */
export interface AnyAt<S extends Stage, Value> extends Pipeable {
  readonly [TypeId]:
    & Internals
    & (
      | { readonly _On?: () => "text"; readonly _Value?: (value: string) => void }
      | { readonly _On?: () => S; readonly _Value?: (value: Value) => void }
    )
  readonly name: string
}

/** Any guardrail. */
export interface Any extends Pipeable {
  readonly [TypeId]: Internals
  readonly name: string
}

/** What the checks of guardrails need. */
export type Services<G> = G extends Guardrail<infer _On, never, infer _E, infer R> ? R : never
/** What the check of a guardrail may fail with. */
export type Error<G> = G extends Guardrail<infer _On, never, infer E, infer _R> ? E : never

/** Returns the internals of a guardrail, for interpreters. */
export const internalsOf = (self: Any): Internals => self[TypeId]

const Proto = prototypeOf((self: Any) => ({ _id: "Guardrail", name: self.name }))

/** Makes a guardrail from its internals. */
export const fromInternals = <On extends Subject, Value, E, R>(
  name: string,
  internals: Internals
): Guardrail<On, Value, E, R> => {
  if (name === "") throw new InvalidName({ what: "guardrail", name })
  return Object.assign(Object.create(Proto), { [TypeId]: internals, name })
}

/**
 * Checks whether something is a guardrail.
 *
 * @category guards
 * @since 0.1.0
 */
export const isGuardrail = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/**
 * Options of a guardrail; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<On extends Subject> {
  /**
   * What it judges; `"text"` by default, which fits every stage. It gets the whole text of an input or an answer, and each string in
   * parameters, results, handoffs and answers with a schema, including keys of objects that no schema declares.
   */
  readonly on?: On | undefined
  /**
   * Whether the model is asked while the guardrail judges an input. By default, `"blocking"`, it isn't. With `"parallel"` it is, but its
   * answer isn't shown and no tool runs before the input has passed. Other stages ignore this option, and so does an agent that is called
   * as a tool. `all`, `any` and `sequence` are parallel only if all of their guardrails are.
   */
  readonly mode?: "blocking" | "parallel" | undefined
  /**
   * What happens if the check itself fails or times out: `"block"` by default, or `"pass"` with a warning. After a block, `any`
   * asks its next guardrail.
   */
  readonly onError?: "block" | "pass" | undefined
  /** How long the Effect of a check may take; there is no limit by default. */
  readonly timeout?: Duration.Input | undefined
}

/** A check. The type of the replacement is inferred from the type of the value, and not the other way round. */
type Check<On extends Subject, Value, E, R> = (
  value: Value,
  context: ContextOf<On>
) => Verdict<NoInfer<Value>> | Effect.Effect<Verdict<NoInfer<Value>>, E, R>

/**
 * Makes a guardrail from a check: a function that returns a verdict, directly or in an Effect.
 *
 * A check that throws, or returns something else than a verdict, ends the run with the defect `NoVerdict`. If its Effect fails, `onError`
 * applies.
 *
 * Throws `InvalidName` if the name is empty. Throws `InvalidOption` if the check isn't a function, `on`, `mode` or `onError` has another
 * value than those listed, or `timeout` isn't above 0.
 *
 * **Example** (A guardrail of one's own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentState, Guardrail } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const noNames = Guardrail.make("no-names", (text) =>
 *   text.includes("Ada") ? Guardrail.replace(text.replaceAll("Ada", "the customer"), "a name") : Guardrail.pass)
 *
 * const assistant = Agent.make("assistant", { guardrails: { input: [noNames], output: [noNames] } })
 *
 * const program = Agent.run(assistant, "Write to Ada.").pipe(
 *   Effect.map(AgentState.text),
 *   Effect.provide(MockModel.layer(MockModel.queue("Dear Ada, welcome.")))
 * )
 *
 * await Effect.runPromise(program) // => "Dear the customer, welcome."
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: {
  <E = never, R = never>(
    name: string,
    check: Check<"text", string, E, R>,
    options?: Options<"text">
  ): Guardrail<"text", string, E, R>
  <Value, E = never, R = never>(
    name: string,
    check: Check<"output", Value, E, R>,
    options: Options<"output"> & { readonly on: "output" }
  ): Guardrail<"output", Value, E, R>
  <const On extends Exclude<Stage, "output">, E = never, R = never>(
    name: string,
    check: Check<On, Values[On], E, R>,
    options: Options<On> & { readonly on: On }
  ): Guardrail<On, Values[On], E, R>
} = (
  name: string,
  check: Judge<unknown>,
  options?: Options<Subject>
): Guardrail<never, unknown> => {
  const on = oneOf(name, "on", options?.on ?? "text", subjects)
  optionOf<unknown>(name, "check", check, Predicate.isFunction, "a function")
  oneOf(name, "onError", options?.onError ?? "block", ["block", "pass"])
  return fromInternals(name, {
    on,
    isParallel: oneOf(name, "mode", options?.mode ?? "blocking", ["blocking", "parallel"]) === "parallel",
    judge: judgeOf(name, check, on === "text", options)
  })
}

const subjects: ReadonlyArray<Subject> = ["text", ...Stage.literals]

/** Returns how long a check may take. Throws `InvalidOption` for 0, since no check that waits could finish. */
const timeoutOf = (guardrail: string, timeout: Duration.Input | undefined): Duration.Duration | undefined => {
  if (timeout === undefined) return undefined
  const isLong = (given: Duration.Input): boolean => Option.exists(Duration.fromInput(given), Duration.isPositive)
  return Duration.fromInputUnsafe(optionOf(guardrail, "timeout", timeout, isLong, "a duration above 0"))
}

const judgeOf = (
  name: string,
  check: Judge<unknown>,
  isOfText: boolean,
  options: Options<Subject> | undefined
): Judge => {
  const failed = (why: string): Verdict<never> =>
    options?.onError === "pass"
      ? warn(`the guardrail ${why}`)
      : { ...block(`the guardrail ${why}`), isFailure: true }
  const duration = timeoutOf(name, options?.timeout)
  return (value, context) => {
    const checked = attempt(name, () => check(value, context))
    if (!Effect.isEffect(checked)) return verdictOf(name, checked, isOfText)
    const judged = checked.pipe(
      Effect.map((given) => verdictOf(name, given, isOfText)),
      Effect.catch((error) => Effect.succeed(failed(`failed: ${messageOf(error)}`))),
      Effect.catchDefect((defect) => Effect.die(brokenBy(name, defect)))
    )
    return duration === undefined ? judged : Effect.timeoutOrElse(judged, {
      duration,
      orElse: () => Effect.succeed(failed(`took longer than ${Duration.format(duration)}`))
    })
  }
}
