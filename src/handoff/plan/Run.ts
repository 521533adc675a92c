/**
 * The run of a plan: nodes start as soon as their inputs have arrived, up to the plan's concurrency at once.
 *
 * 1. `Progress`, which is pure, decides what can run; this module runs it.
 * 2. The first node that fails ends the run: the others are interrupted and waited for.
 * 3. Whatever ends the run, the results have every node that ended with a result. A node that can't be interrupted runs to its end after
 *    another failed, and has no result, because its fiber ends as interrupted.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Graph from "effect/Graph"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Arrival from "./Arrival.ts"
import * as Attempt from "./Attempt.ts"
import { PlanError } from "./PlanError.ts"
import type { PlanEvent } from "./PlanEvent.ts"
import { nodeOf, type PlanGraph } from "./PlanGraph.ts"
import * as Progress from "./Progress.ts"
import { completed, type Ended, type Results, skipped } from "./Results.ts"

/** What is run: the graph, and how many nodes run at once. */
export interface Definition {
  readonly graph: PlanGraph
  readonly concurrency: number
}

const endOf = (node: string, exit: Exit.Exit<Ended, Attempt.Failures>): PlanEvent =>
  Exit.match(exit, {
    onSuccess: (ended) =>
      ended._tag === "Skipped" ? { _tag: "NodeSkipped", node } : { _tag: "NodeCompleted", node, output: ended.output },
    onFailure: (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? { _tag: "NodeInterrupted", node }
        : { _tag: "NodeFailed", node, cause: Cause.map(cause, ([{ reason }]) => reason) }
  })

/** Runs a node, or finds that it is skipped. Calls `start` once the node's input has arrived, or an edge to it failed. */
const perform = (
  graph: PlanGraph,
  from: Progress.Position,
  index: Graph.NodeIndex,
  start: (node: string) => void
): Effect.Effect<Ended, Attempt.Failures, unknown> => {
  const node = nodeOf(graph, index)
  return Arrival.of(graph, from, index).pipe(
    Effect.mapError((reason) => Attempt.failuresOf(node, reason)),
    Effect.exit,
    Effect.flatMap((arrived): Effect.Effect<Ended, Attempt.Failures, unknown> => {
      if (Exit.isSuccess(arrived) && Option.isNone(arrived.value)) return Effect.succeed(skipped)
      start(node.name)
      return Exit.isFailure(arrived)
        ? Effect.failCause(arrived.cause)
        : Effect.map(Attempt.run(node, Option.getOrUndefined(arrived.value)), completed)
    })
  )
}

/** Runs a plan and returns its output. Each event is emitted as it happens. */
export const run = Effect.fnUntraced(function*(
  { concurrency, graph }: Definition,
  { input, progress: before }: Progress.Position,
  emit: (event: PlanEvent) => void
): Effect.fn.Return<Readonly<Record<string, unknown>>, PlanError, unknown> {
  const wake = yield* Queue.sliding<void>(1)
  const awaited = new Map(Progress.awaited(graph, before))
  const waiting = Array.from(awaited).flatMap(([index, count]) => count === 0 ? [index] : [])
  const started = new Set<string>()
  const failed: Array<{ readonly node: string; readonly cause: Cause.Cause<Attempt.Failures> }> = []
  let progress = before
  let begun = 0
  let ended = 0

  const results = (): Results => Progress.toResults(graph, { input, progress })
  const start = (node: string): void => {
    started.add(node)
    emit({ _tag: "NodeStarted", node })
  }
  // A node's event and its result are recorded together: after an interruption in between they would differ.
  const end = (index: Graph.NodeIndex, exit: Exit.Exit<Ended, Attempt.Failures>): void => {
    const node = nodeOf(graph, index).name
    ended++
    if (Exit.isSuccess(exit) || started.has(node)) emit(endOf(node, exit))
    if (Exit.isSuccess(exit)) {
      progress = HashMap.set(progress, index, exit.value)
      for (const next of Graph.successors(graph, index)) {
        const count = (awaited.get(next) ?? 0) - 1
        awaited.set(next, count)
        if (count === 0) waiting.push(next)
      }
    } else failed.push({ node, cause: exit.cause })
    Queue.offerUnsafe(wake, undefined)
  }
  const runNodes = Effect.fnUntraced(function*(scope: Scope.Scope) {
    // This scope is the run's own. What a node acquires stays in the scope of the plan's caller.
    const fibers = yield* Scope.provide(FiberSet.make(), scope)
    while (failed.length === 0 && (begun < waiting.length || ended < begun)) {
      if (begun === waiting.length || begun - ended >= concurrency) yield* Queue.take(wake)
      else {
        const index = waiting[begun++]!
        let isOver = false
        const fiber = yield* perform(graph, { input, progress }, index, start).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              isOver = true
              end(index, exit)
            })
          ),
          Effect.exit,
          FiberSet.run(fibers)
        )
        // A function that returns no Effect kills its fiber at once, without finalizers, so this observer ends the node.
        fiber.addObserver((exit) => {
          if (!isOver && Exit.isFailure(exit)) end(index, Exit.failCause(exit.cause))
        })
      }
    }
  })
  /** Why the run failed: the first failed node, and others that failed by themselves and not by the interruption. */
  const causeOf = (results: Results): Cause.Cause<PlanError> =>
    failed
      .filter(({ cause }, at) => at === 0 || !Cause.hasInterruptsOnly(cause))
      .map(({ cause, node }) =>
        Cause.map(cause, ([{ reason }, ...fallbacks]) => new PlanError({ node, reason, fallbacks, results }))
      )
      .reduce(Cause.combine<PlanError, PlanError>, Cause.empty)

  let isToEnd = false
  return yield* Effect.suspend(() => {
    isToEnd = true
    emit({ _tag: "PlanStarted", results: results() })
    return Effect.scopedWith(runNodes)
  }).pipe(
    Effect.flatMap(() =>
      failed.length > 0 ? Effect.failCause(causeOf(results())) : Effect.succeed(Progress.outputOf(graph, progress))
    ),
    Effect.onExit((exit) => Effect.sync(() => isToEnd && emit(planEndOf(exit, results()))))
  )
})

const planEndOf = (exit: Exit.Exit<Readonly<Record<string, unknown>>, PlanError>, results: Results): PlanEvent =>
  Exit.match(exit, {
    onSuccess: (output) => ({ _tag: "PlanCompleted", output, results }),
    onFailure: (cause) =>
      Cause.hasInterruptsOnly(cause) ? { _tag: "PlanInterrupted", results } : { _tag: "PlanFailed", cause, results }
  })
