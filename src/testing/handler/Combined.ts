/**
 * Handlers made of others: one for each agent, the first that has an answer, and one with functions of yours before and after it.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import {
  type Answer,
  type AnyHandler,
  CurrentBuilding,
  decline,
  type Declined,
  fromMake,
  type Handler,
  handlerOf,
  type HandlerServices,
  type Reply,
  toHandler
} from "../Handler.ts"
import type { MockRequest } from "../MockRequest.ts"
import type { MockResponse } from "../MockResponse.ts"
import { nearest } from "./Nearest.ts"

type Handlers = Readonly<Record<string, AnyHandler>>

/** Names that a group doesn't have can't be written. */
type Known<Agents, H> = { readonly [Name in Exclude<keyof H, keyof Agents>]: never }

const noHandler = (agent: string, names: ReadonlyArray<string>): string => {
  const known = `there are handlers for ${names.map((name) => `"${name}"`).join(", ") || "no agent"} only`
  const near = nearest(agent, names)
  return near === undefined ? known : `${known}; the nearest is "${near}"`
}

/**
 * Makes a handler from a handler for each agent, by the agent's name. Each keeps its own state.
 *
 * A request of any other agent is declined. A request outside of a run has the agent `""`. If a group is the first parameter, a name that
 * the group doesn't have is a type error.
 *
 * @category combinators
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
  for (const name of names) handlerOf(`The handler of agent "${name}"`, handlers[name]!)
  const makeFor = (name: string) =>
    Effect.map(
      Effect.flatMap(CurrentBuilding, (building) =>
        Effect.provideService(handlers[name]!.make, CurrentBuilding, building && { ...building, agent: name })),
      (answer) =>
        [name, answer] as const
    )
  const make = Effect.map(
    Effect.forEach(names, makeFor),
    (entries): Answer<unknown> => {
      const answers = new Map(entries)
      return (request, note) => {
        const answer = answers.get(request.agent)
        if (answer === undefined) return decline(noHandler(request.agent, names))
        note?.(`agent "${request.agent}"`)
        return answer(request, note)
      }
    }
  )
  return fromMake(make) as Handler<never>
}

/**
 * Makes a handler of several: the first that doesn't decline answers. If all decline, it declines, with all their reasons.
 *
 * A handler that fails has answered, with its failure.
 *
 * @category combinators
 * @since 0.1.0
 */
export const firstOf = <const H extends ReadonlyArray<AnyHandler>>(
  ...handlers: H
): Handler<HandlerServices<H[number]>> => {
  const all: ReadonlyArray<AnyHandler> = handlers.map((handler, index) =>
    handlerOf(`Handler ${index + 1} of \`MockModel.firstOf\``, handler)
  )
  return fromMake(Effect.map(
    Effect.forEach(all as ReadonlyArray<Handler<unknown>>, (handler) => handler.make),
    (answers): Answer<unknown> => (request, note) => {
      const reasons: Array<string> = []
      const answerFrom = (index: number): ReturnType<Answer<unknown>> => {
        const answer = answers[index]
        if (answer === undefined) {
          return decline([`none of ${answers.length} handlers has an answer`, ...reasons].join("\n"))
        }
        const notes: Array<string> = []
        return Effect.flatMap(answer(request, note && ((what) => notes.push(what))), (response) => {
          if (response._tag === "Declined") {
            reasons.push(`  ${index + 1}. ${response.reason.replaceAll("\n", "\n  ")}`)
            return answerFrom(index + 1)
          }
          note?.(`handler ${index + 1} of ${answers.length}`)
          for (const what of notes) note?.(what)
          return Effect.succeed(response)
        })
      }
      return answerFrom(0)
    }
  )) as Handler<HandlerServices<H[number]>>
}

/** The outcome of a request: a response, the reason why there is none, or the cause of a failure, a defect or an interruption. */
export type Outcome = Exit.Exit<MockResponse | Declined, AiError.AiError>

/**
 * Functions that `tap` calls: `before` each request to a handler, and `after` it with its outcome. `tap` runs the Effects that they return.
 *
 * @category models
 * @since 0.1.0
 */
export interface TapOptions<R> {
  readonly before?: (request: MockRequest) => Effect.Effect<unknown, never, R> | void
  readonly after?: (request: MockRequest, outcome: Outcome) => Effect.Effect<unknown, never, R> | void
}

const run = <R>(told: Effect.Effect<unknown, never, R> | void): Effect.Effect<unknown, never, R> =>
  Effect.isEffect(told) ? told : Effect.void

/**
 * Calls your functions before and after each request to a handler, and changes nothing.
 *
 * @category combinators
 * @since 0.1.0
 */
export const tap = <R = never, R2 = never>(self: Reply<R> | Handler<R>, options: TapOptions<R2>): Handler<R | R2> =>
  fromMake(
    Effect.map(
      toHandler(self).make,
      (answer) => (request, note) =>
        Effect.suspend(() => run(options.before?.(request))).pipe(
          Effect.andThen(Effect.suspend(() => answer(request, note))),
          Effect.onExit((outcome) => run(options.after?.(request, outcome)))
        )
    )
  )
