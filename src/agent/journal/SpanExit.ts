/**
 * What a span says about how it ended.
 *
 * 1. An error has its tag, and its text only if content is recorded. Its fields aren't shown, because they may hold anything.
 * 2. A defect keeps the places in the program at which it happened, and its text only if content is recorded.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Tracer from "effect/Tracer"
import { messageOf, tagOf } from "../../domain/Described.ts"

/** An error as a span has it. */
export class SpanError {
  readonly name: string
  readonly message: string
  constructor(name: string, message: string) {
    this.name = name
    this.message = message
  }
}

/** Returns the lines of a stack that name places. */
const placesIn = ({ message, stack = "" }: Error): ReadonlyArray<string> =>
  stack.slice(stack.indexOf(message) + message.length).split("\n").filter((line) => /^\s+at /.test(line))

/** Returns a defect without its text. */
const withoutText = (defect: unknown): Error => {
  const bare = new Error("Defect")
  const places = Predicate.isError(defect) ? placesIn(defect) : []
  if (Predicate.isError(defect)) bare.name = defect.name
  bare.stack = [`${bare.name}: ${bare.message}`, ...places].join("\n")
  return bare
}

/** Returns an exit whose defect, if it is one, has no text unless content is recorded. */
export const shownDefect = <A, E>(exit: Exit.Exit<A, E>, recordsContent: boolean): Exit.Exit<A, E> =>
  !recordsContent && Exit.isFailure(exit) && Cause.hasDies(exit.cause) && Result.isFailure(Cause.findError(exit.cause))
    ? Exit.die(withoutText(Cause.squash(exit.cause)))
    : exit

/** Sets what failed in a span, and returns the exit to end the span with. */
export const shownExit = (
  span: Tracer.Span,
  exit: Exit.Exit<unknown, unknown>,
  recordsContent: boolean
): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const found = Cause.findError(exit.cause)
  const tag = Result.isFailure(found) ? "Defect" : tagOf(found.success) ?? "Failure"
  span.attribute("error.type", tag)
  return Result.isFailure(found)
    ? shownDefect(exit, recordsContent)
    : Exit.fail(new SpanError(tag, recordsContent ? messageOf(found.success) : tag))
}
