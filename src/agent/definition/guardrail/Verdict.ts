/**
 * The verdicts of guardrails, as data.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { messageOf } from "../../../domain/Described.ts"
import { ErrorClass } from "../../../domain/ErrorClass.ts"

/** The value may pass as it is. */
export interface Pass {
  readonly _tag: "Pass"
}
/** Another `value` may pass instead; `reason` says what was wrong. */
export interface Replace<out A> {
  readonly _tag: "Replace"
  readonly value: A
  readonly reason: string
}
/** The value may pass as it is, though something is wrong with it. */
export interface Warn {
  readonly _tag: "Warn"
  readonly reason: string
}
/** The value may not pass; the model reads why and may try again. At the stage `input` it is a block. */
export interface Retry {
  readonly _tag: "Retry"
  readonly feedback: string
}
/**
 * The value may not pass. `guardrail` names the one of several composed guardrails that blocked it. With `isFailure` the check itself
 * failed (`docs/decisions/0008`).
 */
export interface Block {
  readonly _tag: "Block"
  readonly reason: string
  readonly guardrail?: string
  readonly isFailure?: true
}

/**
 * A guardrail's verdict on a value.
 *
 * @category models
 * @since 0.1.0
 */
export type Verdict<A> = Pass | Replace<A> | Warn | Retry | Block

/**
 * Lets the value pass.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const pass: Pass = Object.freeze({ _tag: "Pass" })

/**
 * Lets another value pass instead.
 *
 * The model reads the new input or result, the state holds the new answer, and the handler gets the new parameters. A value that doesn't
 * fit its place is a block: an answer that `output` doesn't accept, parameters that aren't JSON, a handoff to another target. A call that a
 * person approved as it was shown never runs with other parameters: it is a failed call, and the model may call again.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const replace = <A>(value: A, reason: string): Replace<A> => ({ _tag: "Replace", value, reason })

/**
 * Lets the value pass; the event `GuardrailSettled` says what is wrong with it.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const warn = (reason: string): Warn => ({ _tag: "Warn", reason })

/**
 * Tells the model what is wrong, and lets it try again.
 *
 * An answer goes back as often as the agent's `outputRetries` says, and is blocked after that. A call, a result or a model's handoff is a
 * failed call with the feedback as its result; but if the result is the error of a tool in `fatal`, the run fails with `GuardrailBlocked`.
 * What a user said can't be tried again, so it is blocked; so are text beside calls and a handoff that a policy decided.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const retry = (feedback: string): Retry => ({ _tag: "Retry", feedback })

/**
 * Blocks the value.
 *
 * A blocked input or answer fails the run with `GuardrailBlocked`, and so does a blocked handoff that a policy decided. A blocked call,
 * result or handoff of the model is a failed call, which the model reads. But if the result is the error of a tool in `fatal`, the run
 * fails with `GuardrailBlocked`. Blocked text beside calls is left out.
 *
 * @category verdicts
 * @since 0.1.0
 */
export const block = (reason: string): Block => ({ _tag: "Block", reason })

/**
 * Error for a check that returns something else than a verdict, or throws. It is a defect of the run, so nothing passes.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoVerdict extends ErrorClass<NoVerdict>("troupe/agent/Guardrail")("NoVerdict", {
  guardrail: Schema.String,
  what: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}, ({ guardrail, what }) => `Guardrail "${guardrail}" returned no verdict: ${what}`) {}

const tags: ReadonlySet<string> = new Set(["Pass", "Replace", "Warn", "Retry", "Block"])

/** Describes a value without quoting it, because it may contain the judged text. */
const kindOf = (u: unknown): string => {
  if (Predicate.isPromiseLike(u)) return "a Promise, and `Effect.promise` makes an effect of one"
  if (Predicate.hasProperty(u, "~effect/Effect")) return "an Effect, and `Effect.flatMap` runs one"
  if (Predicate.isNullish(u) || Predicate.isBoolean(u)) return String(u)
  if (Array.isArray(u)) return "a list"
  if (!Predicate.isObject(u)) return `a ${typeof u}`
  if (!Predicate.hasProperty(u, "_tag") || !Predicate.isString(u._tag)) return "an object"
  return tags.has(u._tag) ? `a "${u._tag}" that doesn't fit` : `a "${u._tag.slice(0, 40)}"`
}

/** Checks whether something is a verdict. The replacement of a text must be a text. */
const isVerdict = (u: unknown, isOfText: boolean): u is Verdict<unknown> => {
  if (u === pass) return true
  if (!Predicate.isObject(u)) return false
  switch (u["_tag"]) {
    case "Pass":
      return true
    case "Replace":
      return Predicate.isString(u["reason"]) && (isOfText ? Predicate.isString(u["value"]) : "value" in u)
    case "Warn":
    case "Block":
      return Predicate.isString(u["reason"])
    case "Retry":
      return Predicate.isString(u["feedback"])
    default:
      return false
  }
}

/** Makes the defect of a guardrail, or of a function of it, that returned something else than it must. */
export const noVerdict = (guardrail: string, by: string, given: unknown): NoVerdict =>
  new NoVerdict({ guardrail, what: `${by} returned ${kindOf(given)}` })

/** Returns a guardrail's result if it is a verdict. Throws `NoVerdict` if not. */
export const verdictOf = (guardrail: string, given: unknown, isOfText: boolean): Verdict<unknown> => {
  if (isVerdict(given, isOfText)) return given
  throw noVerdict(guardrail, "it", given)
}

/** Makes the defect of a guardrail that threw. */
export const brokenBy = (guardrail: string, cause: unknown): NoVerdict =>
  cause instanceof NoVerdict ? cause : new NoVerdict({ guardrail, what: `it threw: ${messageOf(cause)}`, cause })

/** Calls a function of a guardrail. What it throws is a defect of the guardrail. */
export const attempt = <A>(guardrail: string, f: () => A): A => {
  try {
    return f()
  } catch (cause) {
    throw brokenBy(guardrail, cause)
  }
}
