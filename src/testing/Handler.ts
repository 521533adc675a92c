/**
 * What a mock model answers, as a value without state: each layer that is built from a handler begins with a new state.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Wanted from "../domain/Wanted.ts"
import type { MockRequest } from "./MockRequest.ts"
import * as MockResponse from "./MockResponse.ts"

const TypeId = "~troupe/testing/Handler"

/** Says that a handler has no answer to a request, and why. If no other handler answers, the mock model dies with `UnansweredRequest`. */
export interface Declined {
  readonly _tag: "Declined"
  readonly reason: string
}

/** Notes which handler, rule or state answers, from the outermost to the innermost. */
type Note = (what: string) => void

/**
 * Answers a request, or declines it. What its Effect fails with is the model's error. `note` is called with the name of the handler or rule
 * that answers, for `debug`.
 */
export type Answer<R = never> = (
  request: MockRequest,
  note?: Note
) => Effect.Effect<MockResponse.MockResponse | Declined, AiError.AiError, R>

/**
 * The script of a mock model, as a value without state. `make` runs once for each layer that is built, and begins the state that the
 * answers of this layer share.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handler<out R = never> {
  readonly [TypeId]: typeof TypeId
  readonly make: Effect.Effect<Answer<R>>
}

/** Any handler, without type parameters, so that needs are inferred from the handler itself. */
export interface AnyHandler {
  readonly [TypeId]: typeof TypeId
  readonly make: Effect.Effect<unknown>
}

/** What a handler needs. */
export type HandlerServices<H> = H extends Handler<infer R> ? R : never

/**
 * A response, or a function of the request that returns one, directly or in an Effect. A string means `MockResponse.text`.
 *
 * @category models
 * @since 0.1.0
 */
export type Reply<R = never> = MockResponse.Input | ReplyFunction<R>

/**
 * A function of the request that returns a response, directly or in an Effect. What it throws is a defect; what its Effect fails with is
 * the model's error.
 */
export type ReplyFunction<R = never> = (
  request: MockRequest
) => MockResponse.Input | Effect.Effect<MockResponse.Input, AiError.AiError, R>

/**
 * Error for a request without a scripted response. A mock model dies with it. `reason` says why the script has none; `agent` is `""`
 * outside of a run.
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
    return `No answer to request ${this.callCount}${who}, whose last user text is "${this.lastUserText}": ${this.reason}`
  }
}

/** What a handler reports about its state: what it has left to say, and the states that it went through. */
export interface Told {
  readonly left?: () => string | undefined
  readonly history?: () => ReadonlyArray<string>
}

/** What the handlers of one layer report about their states, each with the agent that it answers for. */
export interface Building {
  readonly agent: string
  readonly told: Array<Told & { readonly agent: string; readonly handler: AnyHandler }>
}

/** Where handlers report their states as they are made. Nobody listens unless it is provided. */
export const CurrentBuilding = Context.Reference<Building | undefined>("troupe/testing/Handler/CurrentBuilding", {
  defaultValue: () => undefined
})

/** Makes a handler from the Effect that makes its answer function. */
export const fromMake = <R>(make: Effect.Effect<Answer<R>>): Handler<R> => ({ [TypeId]: TypeId, make })

/** Makes a handler of a function that begins a new state, and reports it. */
export const stateful = <R>(begin: () => readonly [Answer<R>, Told]): Handler<R> => {
  const handler: Handler<R> = fromMake(Effect.withFiber((fiber) => {
    const building = fiber.getRef(CurrentBuilding)
    const [answer, told] = begin()
    building?.told.push({ ...told, agent: building.agent, handler })
    return Effect.succeed(answer)
  }))
  return handler
}

/** Checks whether something is a handler. */
export const isHandler = (u: unknown): u is AnyHandler => Predicate.hasProperty(u, TypeId)

/** Returns a handler that a program gave, or throws. */
export const handlerOf = <H extends AnyHandler>(what: string, given: H): H => {
  if (isHandler(given)) return given
  throw Wanted.mustBe(what, given, "a handler: `MockModel.make` makes one of a reply")
}

/** Declines a request, for a reason. */
export const decline = (reason: string): Effect.Effect<Declined> => Effect.succeed({ _tag: "Declined", reason })

/** Checks the result of a function of the request, since an untyped function may return anything. */
const checked = (input: MockResponse.Input): MockResponse.MockResponse => {
  if (typeof input === "string" || Predicate.hasProperty(input, "parts")) return MockResponse.fromInput(input)
  throw new TypeError(`A handler answered with ${format(input)}, which is neither a text nor a response`)
}

/** Checks what an Effect returns, and that it fails only with `AiError`. */
const checkedOf = <R>(effect: Effect.Effect<MockResponse.Input, AiError.AiError, R>) =>
  Effect.catch(Effect.map(effect, checked), (error) =>
    AiError.isAiError(error)
      ? Effect.fail(error)
      : Effect.die(new TypeError(`A handler failed with ${format(error)}, which isn't an AiError`)))

/** Makes an answer of a reply. */
export const toAnswer = <R = never>(reply: Reply<R> | ReturnType<ReplyFunction<R>>): Answer<R> => {
  if (typeof reply === "function") {
    const name = `function ${reply.name || "without a name"}`
    return (request, note) => {
      note?.(name)
      const answer = reply(request)
      return Effect.isEffect(answer) ? checkedOf(answer) : Effect.succeed(checked(answer))
    }
  }
  const answer = Effect.isEffect(reply) ? checkedOf(reply) : Effect.succeed(checked(reply))
  return () => answer
}

/** Makes a handler from a reply. A handler is returned as it is. */
export const toHandler = <R = never>(self: Reply<R> | Handler<R>): Handler<R> =>
  isHandler(self) ? self : fromMake(Effect.succeed(toAnswer(self)))
