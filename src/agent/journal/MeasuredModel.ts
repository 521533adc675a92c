/**
 * Models that count their own requests. Tool handlers and guardrails that ask a model within a run are given one.
 *
 * A loop counts its own requests and asks the uncounted model behind a counting one, so that each request counts once, also in a run within
 * a tool. If somebody has made another model of a counting one, a loop that asks the new model marks the request as its own
 * (`RequestOfLoop`), so that the counting model doesn't count it again.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { fromParts, type Incoming } from "../../domain/ModelAnswer.ts"
import { behind, counts, ModelRequest, RequestOfLoop } from "./ModelRequest.ts"

type Model = LanguageModel.LanguageModel

/** A model without types for requests and answers, which are passed on unchanged. */
export interface Untyped {
  readonly generateText: (options: unknown) => Effect.Effect<{ readonly content: ReadonlyArray<unknown> }, unknown>
  readonly generateObject: Untyped["generateText"]
  readonly streamText: (options: unknown) => Stream.Stream<unknown, unknown>
}

const measured = new WeakMap<Model, Model>()

/** Notes that a model counts the requests of another one. */
export const pair = (model: Model, measuring: Model): Model => {
  measured.set(model, measuring)
  const { generateText, streamText } = Object.assign(measuring, { [counts]: true })
  behind.set(measuring, { model, generateText, streamText })
  return measuring
}

const kindOf = (exit: Exit.Exit<unknown, unknown>): string | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  if (Cause.hasInterruptsOnly(exit.cause)) return "Interrupted"
  const error = Cause.squash(exit.cause)
  return AiError.isAiError(error) ? error.reason._tag : "_OTHER"
}

/** Counts a request that is under way in a fiber, once it has ended. */
const counting = <A, E, R>(
  model: Model,
  ask: (
    end: (exit: Exit.Exit<unknown, unknown>, parts: ReadonlyArray<unknown>) => Effect.Effect<void>
  ) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) =>
    Effect.withFiber((fiber) => {
      const ofLoop = fiber.getRef(RequestOfLoop)
      if (ofLoop?.isMade === false) {
        ofLoop.isMade = true
        return ask(() => Effect.void)
      }
      const request = new ModelRequest(fiber, clock, clock.currentTimeMillisUnsafe(), undefined, undefined, model)
      return ask((exit, parts) =>
        Effect.sync(() => request.end(fromParts(parts as ReadonlyArray<Incoming>), kindOf(exit)))
      )
    })
  )

const make = (model: Model): Model => {
  // Requests and answers are passed on unchanged, so their types don't matter here.
  const asked = model as unknown as Untyped
  const whole = (ask: () => ReturnType<Untyped["generateText"]>) =>
    counting(
      model,
      (end) => Effect.onExit(Effect.suspend(ask), (exit) => end(exit, Exit.isSuccess(exit) ? exit.value.content : []))
    )
  const measuring: Untyped = {
    generateText: (options) => whole(() => asked.generateText(options)),
    generateObject: (options) => whole(() => asked.generateObject(options)),
    streamText: (options) =>
      Stream.unwrap(counting(model, (end) => {
        const told: Array<unknown> = []
        const pieces = Stream.map(asked.streamText(options), (part) => {
          const { type } = part as Response.StreamPart<{}>
          if (type === "response-metadata" || type === "finish") told.push(part)
          return part
        })
        return Effect.succeed(Stream.onExit(pieces, (exit) => end(exit, told)))
      }))
  }
  return { ...model, ...(measuring as object) }
}

/** Returns a model that answers as another does, and counts its requests. */
export const of = (model: Model): Model => behind.has(model) ? model : measured.get(model) ?? pair(model, make(model))

/** Returns a context whose model counts its requests, if it has one. */
export const within = <R>(context: Context.Context<R>): Context.Context<R> => {
  const model = Context.getOrUndefined(context as Context.Context<never>, LanguageModel.LanguageModel)
  if (model === undefined) return context
  const measuring = of(model)
  return measuring === model ? context : Context.add(context, LanguageModel.LanguageModel, measuring)
}
