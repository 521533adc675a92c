/**
 * Making guardrails. A guardrail carries what performs it in a loop.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { messageOf } from "../../domain/Described.ts"
import { Stage } from "../../domain/GuardrailStage.ts"
import { named } from "../../domain/InvalidName.ts"
import { prototypeOf } from "../../domain/Shown.ts"
import {
  type Any,
  type ContextOf,
  type Guardrail,
  type Internals,
  type Judge,
  type Subject,
  TypeId,
  type Values
} from "../definition/guardrail/GuardrailType.ts"
import { attempt, block, brokenBy, type Verdict, verdictOf, warn } from "../definition/guardrail/Verdict.ts"
import { guard } from "../perform/guard/RunGuardrails.ts"
import { oneOf, optionOf } from "./InvalidOption.ts"

const Proto = prototypeOf((self: Any) => ({ _id: "Guardrail", name: self.name }))

/** Makes a guardrail from its internals. */
export const fromInternals = <On extends Subject, Value, E, R>(
  name: string,
  internals: Omit<Internals, "performer">
): Guardrail<On, Value, E, R> => {
  named("guardrail", name)
  return Object.assign(Object.create(Proto), { [TypeId]: { ...internals, performer: guard }, name })
}

/**
 * Options of a guardrail; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<On extends Subject> {
  /**
   * What it judges; `"text"` by default, which fits every stage. It gets the whole text of an input or an answer, and each string in
   * parameters, results, handoffs and answers with a schema. It gets keys of objects too, except keys that a schema declares.
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
