/**
 * Running a node by its policy: a time-out for each attempt, attempts by a schedule, and then a fallback.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { NoAnswer } from "./Asking.ts"
import type { Definition } from "./Node.ts"

/** What a node failed with, followed by what each of its fallbacks failed with. */
export type Failures = Arr.NonEmptyReadonlyArray<{ readonly node: string; readonly reason: unknown }>

/** Returns what a node failed with before any fallback was tried. */
export const failuresOf = (node: Definition, reason: unknown): Failures => [{ node: node.name, reason }]

/** Calls a node's function once, and checks what it returns. */
export const call = (node: Definition, input: unknown): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => {
    const by = `Node "${node.name}"`
    const running = node.run(input)
    return Effect.isEffect(running)
      ? Effect.map(running, (output) => Wanted.value(by, output))
      : Effect.die(Wanted.mustReturn(by, "Effect", running))
  })

/**
 * Checks whether an agent stopped for calls that wait. Another attempt would run its calls again, and a fallback would leave behind what
 * waits, so neither follows.
 */
const isWaiting = (reason: unknown): reason is NoAnswer =>
  reason instanceof NoAnswer && !AgentStatus.isTerminal(reason.state.status)

/** Runs a node on an input. */
export const run = (node: Definition, input: unknown): Effect.Effect<unknown, Failures, unknown> => {
  const { fallback, retry, timeout } = node
  const once = call(node, input)
  const attempt = timeout === undefined ? once : Effect.timeout(once, timeout)
  const tried = attempt.pipe(
    Effect.map(Result.succeed),
    Effect.catchIf(isWaiting, (reason) => Effect.succeed(Result.fail(failuresOf(node, reason))))
  )
  const attempts = (retry === undefined ? tried : Effect.retry(tried, retry)).pipe(
    Effect.mapError((reason) => failuresOf(node, reason))
  )
  const ended = fallback === undefined ? attempts : Effect.catch(attempts, (first) =>
    run(fallback, input).pipe(
      Effect.mapBoth({ onFailure: (later) => Arr.appendAll(first, later), onSuccess: Result.succeed })
    ))
  return Effect.flatMap(ended, Effect.fromResult)
}
