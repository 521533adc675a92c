/**
 * A handler of rules: conditions on the request, and what to answer where they hold.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as Wanted from "../../domain/Wanted.ts"
import { type Answer, decline, fromMake, type Handler, type Reply, toHandler } from "../Handler.ts"
import type { MockRequest } from "../MockRequest.ts"
import { shown } from "./Shown.ts"

/** A predicate on a request. It returns a boolean, directly or in an Effect. */
export type Predicate<R = never> = (request: MockRequest) => boolean | Effect.Effect<boolean, AiError.AiError, R>

/**
 * What a request must be like: every field that you set must hold. A text must be equal to a string, or match a regular expression.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pattern {
  readonly agent?: string | RegExp
  readonly system?: string | RegExp
  readonly lastUserText?: string | RegExp
  readonly iteration?: number
  readonly callCount?: number
  readonly streaming?: boolean
}

/**
 * A condition on a request: a predicate, a pattern, or a regular expression that the last user text must match.
 *
 * @category models
 * @since 0.1.0
 */
export type Condition<R = never> = Predicate<R> | Pattern | RegExp

/** A condition on a request, with its name for messages, and the handler that answers if it holds. */
export interface Case<out R = never> {
  readonly condition: string
  readonly pattern: Pattern | undefined
  readonly holds: Predicate<R>
  readonly handler: Handler<R>
}

/**
 * Checks whether a text is equal or matches. A global expression begins at the start of the text, not where it stopped last. Throws a
 * `TypeError` for anything else, such as `undefined`: as an expression, most texts would match it.
 */
export const matches = (text: string, expected: string | RegExp): boolean => {
  if (typeof expected === "string") return text === expected
  if (expected instanceof RegExp) return new RegExp(expected).test(text)
  throw new TypeError(`A text is compared with ${shown(expected)}, which is neither a text nor a regular expression`)
}

/** Checks that a predicate returned a boolean, because a promise would count as true. */
export const truth = (holds: boolean): boolean => {
  if (typeof holds === "boolean") return holds
  throw new TypeError(`A condition returned ${shown(holds)}, which is neither true nor false`)
}

const holdsIn = (request: MockRequest, key: keyof Pattern, expected: unknown): boolean => {
  const actual = request[key]
  return typeof actual === "string" ? matches(actual, expected as string | RegExp) : actual === expected
}

const fieldsOf = (pattern: Pattern): ReadonlyArray<keyof Pattern> =>
  (Object.keys(pattern) as Array<keyof Pattern>).filter((key) => pattern[key] !== undefined)

const nameOf = (pattern: Pattern): string =>
  fieldsOf(pattern).map((key) => `${key} ${pattern[key] instanceof RegExp ? "matches" : "is"} ${shown(pattern[key])}`)
    .join(" and ")

/** Returns the pattern of a condition that isn't a function. */
const patternOf = (condition: RegExp | Pattern): Pattern => {
  if (condition instanceof RegExp) return { lastUserText: condition }
  if (typeof condition === "object" && condition !== null) return condition
  throw Wanted.mustBe("The condition of `MockModel.when`", condition, "a regular expression, a pattern or a function")
}

/** Returns the predicate of a condition. */
export const predicateOf = <R>(condition: Condition<R>): Predicate<R> => {
  if (typeof condition === "function") return condition
  const pattern = patternOf(condition)
  const fields = fieldsOf(pattern)
  return (request) => fields.every((key) => holdsIn(request, key, pattern[key]))
}

/**
 * Makes a case of `conditional` that answers if the condition holds: with a reply, or as another handler does.
 *
 * @category constructors
 * @since 0.1.0
 */
export const when = <R1 = never, R2 = never>(
  condition: Condition<R1>,
  reply: Reply<R2> | Handler<R2>
): Case<R1 | R2> => {
  const handler = toHandler(reply)
  if (typeof condition === "function") {
    const name = condition.name || condition.toString().replace(/\s+/g, " ")
    return { condition: name, pattern: undefined, holds: condition, handler }
  }
  const pattern = patternOf(condition)
  return { condition: nameOf(pattern), pattern, holds: predicateOf(pattern), handler }
}

/**
 * Makes a case of `conditional` that always answers.
 *
 * @category constructors
 * @since 0.1.0
 */
export const otherwise = <R = never>(reply: Reply<R> | Handler<R>): Case<R> => ({
  ...when(() => true, reply),
  condition: "otherwise"
})

type CaseServices<C> = C extends Case<infer R> ? R : never

/** The fields of a request that one condition read. */
type Seen = Map<string, unknown>

/** Returns a view of a request that notes which fields the last condition in `tried` reads. */
const watched = (request: MockRequest, tried: ReadonlyArray<Seen>): MockRequest =>
  new Proxy(request, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof key === "string") tried.at(-1)?.set(key, value)
      return value
    }
  })

const sawWhat = (seen: Seen): string =>
  seen.size === 0 ? "" : `: saw ${Array.from(seen, ([key, value]) => `${key} ${shown(value)}`).join(", ")}`

/** Names the pattern of which the most fields match, if any does. */
const nearestOf = (cases: ReadonlyArray<Case<unknown>>, request: MockRequest): ReadonlyArray<string> => {
  let best: { readonly index: number; readonly held: number; readonly missed: ReadonlyArray<string> } | undefined
  for (const [index, { pattern }] of cases.entries()) {
    if (pattern === undefined) continue
    const fields = fieldsOf(pattern)
    const missed = fields.filter((key) => !holdsIn(request, key, pattern[key]))
    const held = fields.length - missed.length
    if (held > (best?.held ?? 0)) best = { index, held, missed }
  }
  return best === undefined ? [] : [`the nearest is ${best.index + 1}, except for its ${best.missed.join(", ")}`]
}

/**
 * Makes a handler of cases: the first whose condition holds answers, as often as it holds.
 *
 * If no condition holds, it declines. If the case's own handler declines, no later case answers. A condition that returns no boolean dies
 * with a `TypeError`.
 *
 * **Example** (Conditions as expressions, patterns and predicates)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel } from "troupe/testing"
 *
 * const handler = MockModel.conditional(
 *   MockModel.when(/weather/i, "It's sunny!"),
 *   MockModel.when({ lastUserText: /time/i, callCount: 2 }, "It's 3 PM."),
 *   MockModel.when((request) => request.lastToolResults.length > 0, "Thanks."),
 *   MockModel.otherwise("I don't understand.")
 * )
 *
 * const say = (prompt: string) => Effect.map(LanguageModel.generateText({ prompt }), (response) => response.text)
 * const program = Effect.all([say("Weather?"), say("What time is it?"), say("xyzzy")])
 *
 * await Effect.runPromise(
 *   Effect.provide(program, MockModel.layer(handler))
 * ) // => ["It's sunny!", "It's 3 PM.", "I don't understand."]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const conditional = <const Cases extends ReadonlyArray<Case<unknown>>>(
  ...cases: Cases
): Handler<CaseServices<Cases[number]>> => {
  for (const [index, each] of cases.entries()) {
    if (typeof each !== "object" || each === null || !("holds" in each)) {
      const wanted = "made by `MockModel.when` or `MockModel.otherwise`"
      throw Wanted.mustBe(`Case ${index + 1} of \`MockModel.conditional\``, each, wanted)
    }
  }
  const nameAt = (index: number): string => `${index + 1}. ${cases[index]!.condition}`
  const make = Effect.map(
    Effect.forEach(cases, ({ handler }) => handler.make),
    (answers): Answer<unknown> => (request, note) => {
      const tried: Array<Seen> = []
      const view = watched(request, tried)
      const answerFrom = (index: number): ReturnType<Answer<unknown>> => {
        const current = cases[index]
        if (current === undefined) {
          const lines = tried.map((seen, index) => `${nameAt(index)}${sawWhat(seen)}`)
          return decline(
            [`none of ${cases.length} conditions holds`, ...lines, ...nearestOf(cases, request)].join("\n  ")
          )
        }
        const take = (holds: boolean): ReturnType<Answer<unknown>> => {
          if (!truth(holds)) return answerFrom(index + 1)
          note?.(`case ${nameAt(index)}`)
          return answers[index]!(request, note)
        }
        tried.push(new Map())
        const holds = current.holds(view)
        return Effect.isEffect(holds) ? Effect.flatMap(holds, take) : take(holds)
      }
      return answerFrom(0)
    }
  )
  return fromMake(make) as Handler<CaseServices<Cases[number]>>
}
