/**
 * Guardrails made from other guardrails.
 *
 * In a sequence each looks at what the one before passed on. `all` asks them about the same value; if several replace it, these are asked
 * again, one after the other. `any` asks each about the original. One refusal stays as it is; several become one that names the
 * combination.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Struct from "effect/Struct"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import {
  type Any,
  type ContextOf,
  type Guardrail,
  internalsOf,
  type Subject
} from "../definition/guardrail/GuardrailType.ts"
import * as Judging from "../definition/guardrail/Judging.ts"
import {
  attempt,
  type Block,
  block,
  noVerdict,
  pass,
  replace,
  type Retry,
  retry,
  type Verdict,
  verdictOf,
  warn
} from "../definition/guardrail/Verdict.ts"
import { fromInternals } from "./MakeGuardrail.ts"

/**
 * Error for `any` without guardrails: nothing could pass.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoGuardrails extends ErrorClass<NoGuardrails>("troupe/agent")(
  "NoGuardrails",
  {},
  () => "`Guardrail.any` needs at least one guardrail"
) {}

/** Asks a guardrail, and adds its name to a refusal. */
const ask = (self: Any, value: unknown, context: unknown): Judging.Judged =>
  Judging.map(
    // A stage gives its guardrails values and contexts of their subject; the type `Any` doesn't say which subject that is.
    internalsOf(self).judge(value as never, context as never),
    (verdict) =>
      verdict._tag === "Block" && verdict.guardrail === undefined ? { ...verdict, guardrail: self.name } : verdict
  )

const isRefusal = (verdict: Verdict<unknown>): verdict is Block | Retry =>
  verdict._tag === "Block" || verdict._tag === "Retry"

/** Joins refusals: a single one stays as it is, and the result is a block if one of them is. */
const refuse = (refusals: ReadonlyArray<Block | Retry>): Block | Retry | undefined => {
  if (refusals.length < 2) return refusals[0]
  const said = refusals.map((refusal) =>
    refusal._tag === "Retry"
      ? refusal.feedback
      : refusal.guardrail === undefined
      ? refusal.reason
      : `${refusal.guardrail}: ${refusal.reason}`
  ).join("; ")
  if (!refusals.some(({ _tag }) => _tag === "Block")) return retry(said)
  const isFailure = refusals.some((refusal) => refusal._tag === "Block" && refusal.isFailure === true)
  return isFailure ? { ...block(said), isFailure } : block(said)
}

/** Asks guardrails one after the other, each with what the one before it passed on, and stops at the first refusal. */
const askInOrder = (
  guardrails: ReadonlyArray<Any>,
  value: unknown,
  context: unknown,
  notes: ReadonlyArray<string> = []
): Judging.Judged => {
  const reasons = [...notes]
  let at = value
  let isReplaced = false
  const take = (verdict: Verdict<unknown>): Verdict<unknown> | undefined => {
    if (isRefusal(verdict)) return verdict
    if (verdict._tag === "Pass") return undefined
    reasons.push(verdict.reason)
    if (verdict._tag === "Replace") {
      at = verdict.value
      isReplaced = true
    }
    return undefined
  }
  const conclude = (): Verdict<unknown> => {
    const reason = reasons.join("; ")
    return isReplaced ? replace(at, reason) : reasons.length > 0 ? warn(reason) : pass
  }
  return Judging.inOrder(guardrails.length, (index) => ask(guardrails[index]!, at, context), take, conclude)
}

/** Joins the verdicts of guardrails on the same value. If several replace it, they are asked again, one after the other. */
const together = (
  guardrails: ReadonlyArray<Any>,
  verdicts: ReadonlyArray<Verdict<unknown>>,
  value: unknown,
  context: unknown
): Judging.Judged => {
  const refusal = refuse(verdicts.filter(isRefusal))
  if (refusal !== undefined) return refusal
  const warnings = verdicts.flatMap((verdict) => verdict._tag === "Warn" ? [verdict.reason] : [])
  const [first, ...others] = verdicts.filter((verdict) => verdict._tag === "Replace")
  if (first !== undefined && others.length === 0) return replace(first.value, [...warnings, first.reason].join("; "))
  const replacing = guardrails.filter((_, index) => verdicts[index]!._tag === "Replace")
  return askInOrder(replacing, value, context, warnings)
}

/** Asks all guardrails at once about the same value. */
const askAll = (guardrails: ReadonlyArray<Any>, value: unknown, context: unknown): Judging.Judged => {
  const judged = guardrails.map((guardrail) => ask(guardrail, value, context))
  const verdicts = judged.filter((each): each is Verdict<unknown> => !Effect.isEffect(each))
  return verdicts.length === judged.length
    ? together(guardrails, verdicts, value, context)
    : Effect.flatMap(
      Effect.forEach(judged, Judging.toEffect, { concurrency: "unbounded" }),
      (verdicts) => Judging.toEffect(together(guardrails, verdicts, value, context))
    )
}

/** A guardrail with the subject, the failures and the needs of its members. */
type Composed<Members extends ReadonlyArray<Any>> = [Members[number]] extends [never] ? Guardrail
  : [Members[number]] extends [Guardrail<infer On, infer Value, infer E, infer R>] ? Guardrail<On, Value, E, R>
  : Guardrail

const compose = <Members extends ReadonlyArray<Any>>(
  combinator: "all" | "any" | "sequence",
  members: Members,
  judge: (value: unknown, context: unknown) => Judging.Judged
): Composed<Members> =>
  fromInternals<Subject, unknown, unknown, unknown>(
    `${combinator}(${members.map(({ name }) => name).join(", ")})`,
    {
      on: members[0] === undefined ? "text" : internalsOf(members[0]).on,
      isParallel: members.length > 0 && members.every((member) => internalsOf(member).isParallel),
      judge
    }
  ) as Composed<Members>

/**
 * Asks all guardrails at once about the same value, which passes if all let it pass.
 *
 * One refusal stays as it is; several become one: a block if one of them is a block. If several guardrails replace the value, these are
 * asked again, one after the other, each about what the one before it passed on. No guardrails at all let everything pass.
 *
 * @category combinators
 * @since 0.1.0
 */
export const all = <Members extends ReadonlyArray<Any>>(...members: Members): Composed<Members> =>
  compose("all", members, (value, context) => askAll(members, value, context))

/**
 * Asks guardrails one after the other, each about what the one before it passed on, and stops at the first that refuses. No guardrails at
 * all let everything pass.
 *
 * @category combinators
 * @since 0.1.0
 */
export const sequence = <Members extends ReadonlyArray<Any>>(...members: Members): Composed<Members> =>
  compose("sequence", members, (value, context) => askInOrder(members, value, context))

/**
 * Asks guardrails one after the other, each about the same value, until one lets it pass. The value is refused if all of them refuse it. A
 * guardrail whose check failed counts as one that refuses, unless its `onError` is `"pass"`.
 *
 * Throws `NoGuardrails` if there are none.
 *
 * @category combinators
 * @since 0.1.0
 */
export const any = <Members extends readonly [Any, ...ReadonlyArray<Any>]>(...members: Members): Composed<Members> => {
  if (members.length === 0) throw new NoGuardrails()
  return compose("any", members, (value, context) => askUntilPassed(members, value, context))
}

const askUntilPassed = (guardrails: ReadonlyArray<Any>, value: unknown, context: unknown): Judging.Judged => {
  const refusals: Array<Block | Retry> = []
  const take = (verdict: Verdict<unknown>): Verdict<unknown> | undefined => {
    if (!isRefusal(verdict)) return verdict
    refusals.push(verdict)
    return undefined
  }
  const judge = (index: number): Judging.Judged => ask(guardrails[index]!, value, context)
  return Judging.inOrder(guardrails.length, judge, take, () => refuse(refusals) ?? pass)
}

/** Changes the verdicts of a guardrail. */
const mapVerdict = <On extends Subject, Value, E, R>(
  self: Guardrail<On, Value, E, R>,
  name: string,
  f: (verdict: Verdict<unknown>) => Verdict<unknown>
): Guardrail<On, Value, E, R> =>
  fromInternals(name, {
    ...internalsOf(self),
    judge: (value, context) => Judging.map(ask(self, value, context), f)
  })

/**
 * Blocks values that another guardrail lets pass, and lets pass values that it refuses. The `reason` of a block is `"…" let it pass` by
 * default, with the guardrail's name.
 *
 * A check that failed hasn't refused the value, so it is a block here too (`docs/decisions/0008`).
 *
 * @category combinators
 * @since 0.1.0
 */
export const not = <On extends Subject, Value, E, R>(
  self: Guardrail<On, Value, E, R>,
  reason = `"${self.name}" let it pass`
): Guardrail<On, Value, E, R> =>
  mapVerdict(self, `not(${self.name})`, (verdict) => {
    if (!isRefusal(verdict)) return block(reason)
    return verdict._tag === "Block" && verdict.isFailure === true ? verdict : pass
  })

/**
 * Asks a guardrail only about values that satisfy a predicate; all others pass. A predicate that throws, or returns no boolean, ends the
 * run with the defect `NoVerdict`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const when = <On extends Subject, Value, E, R>(
  predicate: (value: Value, context: ContextOf<On>) => boolean,
  self: Guardrail<On, Value, E, R>
): Guardrail<On, Value, E, R> => {
  const { judge } = internalsOf(self)
  return fromInternals(self.name, {
    ...internalsOf(self),
    judge: (value, context) => {
      const holds = attempt(self.name, () => predicate(value, context))
      if (!Predicate.isBoolean(holds)) throw noVerdict(self.name, "its predicate", holds)
      return holds ? judge(value, context) : pass
    }
  })
}

/**
 * Changes the blocks of a guardrail, failed checks included, to the verdict that `f` returns: a block with another reason, a retry, a
 * warning, a replacement, or a pass. Other verdicts stay. A function that throws, or returns no verdict, ends the run with the defect
 * `NoVerdict`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const mapBlock: {
  <Value = never>(
    f: (block: Block) => Verdict<Value>
  ): <G extends Guardrail<Subject, Value, unknown, unknown>>(self: G) => G
  <On extends Subject, Value, E, R>(
    self: Guardrail<On, Value, E, R>,
    f: (block: Block) => Verdict<NoInfer<Value>>
  ): Guardrail<On, Value, E, R>
} = dual(
  2,
  <On extends Subject, Value, E, R>(self: Guardrail<On, Value, E, R>, f: (block: Block) => Verdict<Value>) =>
    mapVerdict(self, self.name, (verdict) =>
      verdict._tag === "Block"
        ? keep(verdict, verdictOf(self.name, attempt(self.name, () => f(verdict)), internalsOf(self).on === "text"))
        : verdict)
)

/** If the verdict is still a block, it keeps the guardrail's name and whether the check failed. */
const keep = (before: Block, verdict: Verdict<unknown>): Verdict<unknown> =>
  verdict._tag === "Block" ? { ...verdict, ...Struct.pick(before, ["guardrail", "isFailure"]) } : verdict
