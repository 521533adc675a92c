/**
 * A line of a log for each request to a handler.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { fromMake, type Handler, type Reply, toHandler } from "../Handler.ts"
import type { Outcome } from "./Combined.ts"
import { shownRequest, shownResponse } from "./Shown.ts"

const shownOutcome = (outcome: Outcome): string => {
  if (Exit.isSuccess(outcome)) {
    return outcome.value._tag === "Declined" ? `no answer: ${outcome.value.reason}` : shownResponse(outcome.value)
  }
  const error = Cause.squash(outcome.cause)
  if (AiError.isAiError(error)) return `fails with ${error.reason._tag}: ${error.message}`
  return `${Cause.hasDies(outcome.cause) ? "dies with" : "fails with"} ${
    error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  }`
}

/**
 * Writes a line for each request: the request, the handler with its rule or state, and the response.
 *
 * The lines go to `sink`, by default to Effect's logger with the level `Info`. If a request has no answer, the line says why; this text may
 * have several lines.
 *
 * **Example** (Lines in a list)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel } from "troupe/testing"
 *
 * const lines: Array<string> = []
 * const handler = MockModel.debug(
 *   MockModel.conditional(MockModel.when(/weather/i, MockModel.queue("Sunny.", "Rain."))),
 *   (line) => void lines.push(line)
 * )
 *
 * await Effect.runPromise(
 *   LanguageModel.generateText({ prompt: "The weather?" }).pipe(Effect.provide(MockModel.layer(handler)))
 * )
 *
 * lines // => ['request 1: user says "The weather?" | case 1. lastUserText matches /weather/i > queue 1 of 2 | "Sunny."']
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const debug = <R = never, R2 = never>(
  self: Reply<R> | Handler<R>,
  sink: (line: string) => Effect.Effect<unknown, never, R2> | void = Effect.logInfo
): Handler<R | R2> =>
  fromMake(Effect.map(toHandler(self).make, (answer) => (request, note) => {
    const notes: Array<string> = []
    const write = (outcome: Outcome): Effect.Effect<unknown, never, R2> => {
      const line = [
        shownRequest(request),
        ...(notes.length === 0 ? [] : [notes.join(" > ")]),
        shownOutcome(outcome)
      ].join(" | ")
      const written = sink(line)
      return Effect.isEffect(written) ? written : Effect.void
    }
    const listened = (what: string): void => {
      notes.push(what)
      note?.(what)
    }
    return Effect.onExit(Effect.suspend(() => answer(request, listened)), write)
  }))
