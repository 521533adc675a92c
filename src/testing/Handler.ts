/**
 * What a mock model answers, as a description: the state of a handler begins with each layer that is built of it.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { MockRequest } from "./MockRequest.ts"
import * as MockResponse from "./MockResponse.ts"

const TypeId = "~troupe/testing/Handler"

/** A handler has nothing to answer to a request, for this reason. */
export interface Declined {
  readonly _tag: "Declined"
  readonly reason: string
}

/** Answers a request, or declines to. */
export type Answer<R = never> = (
  request: MockRequest
) => Effect.Effect<MockResponse.MockResponse | Declined, AiError.AiError, R>

/**
 * What a mock model answers. `make` runs once for each layer, and holds what the answers have in common.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handler<out R = never> {
  readonly [TypeId]: typeof TypeId
  readonly make: Effect.Effect<Answer<R>>
}

/**
 * A response, or a function of the request that gives one, with an Effect or without.
 *
 * @category models
 * @since 0.1.0
 */
export type Reply<R = never> = MockResponse.Input | ReplyFunction<R>

/** A function of the request that gives a response, with an Effect or without. */
export type ReplyFunction<R = never> = (
  request: MockRequest
) => MockResponse.Input | Effect.Effect<MockResponse.Input, AiError.AiError, R>

/**
 * Error for a request to which no response was foreseen. A mock model dies of it.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnansweredRequest
  extends Schema.TaggedError<UnansweredRequest>("troupe/testing/Handler/UnansweredRequest")("UnansweredRequest", {
    callCount: Schema.Int,
    agent: Schema.String,
    lastUserText: Schema.String,
    reason: Schema.String
  })
{
  override get message(): string {
    const who = this.agent === "" ? "" : ` of agent "${this.agent}"`
    return `No answer to call ${this.callCount}${who}, whose last user text is "${this.lastUserText}": ${this.reason}`
  }
}

const fromMake = <R>(make: Effect.Effect<Answer<R>>): Handler<R> => ({ [TypeId]: TypeId, make })

const decline = (reason: string): Effect.Effect<Declined> => Effect.succeed({ _tag: "Declined", reason })

const toAnswer = <R = never>(reply: Reply<R>): Answer<R> => {
  if (typeof reply !== "function") {
    const answer = Effect.succeed(MockResponse.fromInput(reply))
    return () => answer
  }
  return (request) => {
    const answer = reply(request)
    return Effect.isEffect(answer)
      ? Effect.map(answer, MockResponse.fromInput)
      : Effect.succeed(MockResponse.fromInput(answer))
  }
}

/**
 * Makes a handler of a function of the request. What it throws is a defect, and what it fails with is the model's error.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R = never>(reply: ReplyFunction<R>): Handler<R> => fromMake(Effect.succeed(toAnswer(reply)))

/**
 * Makes a handler that gives one response after the other, whichever agent asks.
 *
 * @category constructors
 * @since 0.1.0
 */
export const queue = (...responses: ReadonlyArray<MockResponse.Input>): Handler => {
  const answers = responses.map((response) => toAnswer(response))
  const exhausted = `all ${responses.length} queued responses are used up`
  return fromMake(Effect.sync(() => {
    let next = 0
    return (request) => answers[next++]?.(request) ?? decline(exhausted)
  }))
}

/** A condition on a request, named after its function or else by its source. */
export interface Case<out R = never> {
  readonly condition: string
  readonly holds: (request: MockRequest) => boolean | Effect.Effect<boolean, AiError.AiError, R>
  readonly answer: Answer<R>
}

/**
 * Makes a case of `conditional` that answers where the predicate holds.
 *
 * @category constructors
 * @since 0.1.0
 */
export const when = <R1 = never, R2 = never>(
  predicate: (request: MockRequest) => boolean | Effect.Effect<boolean, AiError.AiError, R1>,
  reply: Reply<R2>
): Case<R1 | R2> => ({
  condition: predicate.name || predicate.toString().replace(/\s+/g, " "),
  holds: predicate,
  answer: toAnswer(reply)
})

/**
 * Makes a case of `conditional` that always answers.
 *
 * @category constructors
 * @since 0.1.0
 */
export const otherwise = <R = never>(reply: Reply<R>): Case<R> => when(() => true, reply)

type CaseServices<C> = C extends Case<infer R> ? R : never

/**
 * Makes a handler of cases: the first whose condition holds answers, as often as it holds.
 *
 * @category constructors
 * @since 0.1.0
 */
export const conditional = <Cases extends ReadonlyArray<Case<unknown>>>(
  ...cases: Cases
): Handler<CaseServices<Cases[number]>> => {
  const unmatched = `none of ${cases.length} conditions holds${
    cases.map(({ condition }, index) => `\n  ${index + 1}. ${condition}`).join("")
  }`
  const answerFrom = (index: number, request: MockRequest): ReturnType<Answer<unknown>> => {
    const next = cases[index]
    if (next === undefined) return decline(unmatched)
    const take = (holds: boolean) => holds ? next.answer(request) : answerFrom(index + 1, request)
    const holds = next.holds(request)
    return typeof holds === "boolean" ? take(holds) : Effect.flatMap(holds, take)
  }
  return fromMake(Effect.succeed((request) => answerFrom(0, request))) as Handler<CaseServices<Cases[number]>>
}

type HandlerServices<H> = H extends Handler<infer R> ? R : never

/** Any handler. It doesn't say what it needs, so that inference takes that from the handler. */
interface AnyHandler {
  readonly [TypeId]: typeof TypeId
  readonly make: Effect.Effect<unknown>
}

type Handlers = Readonly<Record<string, AnyHandler>>

/** Names that a group doesn't have can't be written. */
type Known<Agents, H> = { readonly [Name in Exclude<keyof H, keyof Agents>]: never }

/**
 * Makes a handler of one for each agent, by name. Each keeps its own state.
 *
 * With a group in front, names that it doesn't have don't compile.
 *
 * @category constructors
 * @since 0.1.0
 */
export const byAgent: {
  <const H extends Handlers>(handlers: H): Handler<HandlerServices<H[keyof H]>>
  <Agents extends object, const H extends Handlers>(
    group: { readonly agents: Agents },
    handlers: H & Known<Agents, H>
  ): Handler<HandlerServices<H[keyof H]>>
} = (...args: readonly [Handlers] | readonly [object, Handlers]): Handler<never> => {
  const handlers = (args.length === 1 ? args[0] : args[1]) as Readonly<Record<string, Handler<unknown>>>
  const names = Object.keys(handlers)
  const known = names.map((name) => `"${name}"`).join(", ")
  const make = Effect.map(
    Effect.forEach(names, (name) => Effect.map(handlers[name]!.make, (answer) => [name, answer] as const)),
    (entries): Answer<unknown> => {
      const answers = new Map(entries)
      return (request) =>
        answers.get(request.agent)?.(request) ?? decline(`there are handlers for ${known || "no agent"} only`)
    }
  )
  return fromMake(make) as Handler<never>
}
