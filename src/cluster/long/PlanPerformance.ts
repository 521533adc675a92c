/**
 * How the nodes of a plan on a cluster run: each keeps its end, and its start unless it is an `idempotent` effect.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Graph from "effect/Graph"
import * as HashMap from "effect/HashMap"
import type * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as JsonValue from "../../domain/JsonValue.ts"
import { NoAnswer } from "../../handoff/plan/Asking.ts"
import * as Attempt from "../../handoff/plan/Attempt.ts"
import type { Definition as Node } from "../../handoff/plan/Node.ts"
import { indexOf, type PlanGraph } from "../../handoff/plan/PlanGraph.ts"
import type { Definition } from "../../handoff/plan/PlanType.ts"
import * as Progress from "../../handoff/plan/Progress.ts"
import { completed, type Ended } from "../../handoff/plan/Results.ts"
import type { Answer } from "../Answer.ts"
import * as Asking from "./Asking.ts"
import { callsIn, type Play, waitingIn } from "./LongRun.ts"
import * as Places from "./Places.ts"
import { EffectUnknown, failureOf, outputToJson } from "./PlanFailure.ts"
import { fallbackOf, placeOf } from "./PlanPlaces.ts"
import type { State, Step } from "./PlanSteps.ts"
import { AgentStopped, remote } from "./Remote.ts"

/** Copies what is kept: a node that changes its input doesn't change the state. */
const copyOf = (kept: unknown): unknown => kept === undefined ? undefined : JsonValue.fromUnknown(kept)

/** Returns the progress that a state says. */
export const positionOf = (graph: PlanGraph, { input, nodes }: State): Progress.Position => {
  const indices = indexOf(graph)
  const ended = HashMap.toEntries(nodes).map(([name, ended]) =>
    [indices.get(name)!, ended._tag === "Completed" ? completed(copyOf(ended.output)) : ended] as const
  )
  return { input: copyOf(input), progress: HashMap.fromIterable(ended) }
}

/** What a node awaits: approvals and results. */
export type Waits = Pick<Answer, "pending" | "awaited">

/** A plan while it is played. */
export class Performance {
  readonly #definition: Definition
  readonly #play: Play<State, Step>
  readonly #alone = Semaphore.makeUnsafe(1)
  readonly #indices: ReadonlyMap<string, Graph.NodeIndex>
  /** For each node that hasn't ended, how many nodes before it haven't. */
  readonly #awaited: Map<Graph.NodeIndex, number>
  /** How many nodes haven't ended, and have all that they need. */
  #ready: number
  /** What awaits approval or a result, by the node that it holds up. */
  readonly #waiting = new Map<string, Waits>()
  readonly #allWait: Deferred.Deferred<ReadonlyArray<Waits>>
  /** Nodes that were skipped, which is kept with what comes next. */
  readonly #skipped: Array<Step> = []

  constructor(definition: Definition, play: Play<State, Step>, allWait: Deferred.Deferred<ReadonlyArray<Waits>>) {
    const { graph } = definition
    this.#definition = definition
    this.#play = play
    this.#allWait = allWait
    this.#indices = indexOf(graph)
    this.#awaited = new Map(Progress.awaited(graph, positionOf(graph, play.state).progress))
    this.#ready = Array.from(this.#awaited.values()).filter((count) => count === 0).length
  }

  /** Keeps steps behind those that were told before. */
  keep(steps: ReadonlyArray<Step>, unknown?: Answer["unknown"]) {
    const keeping = Effect.suspend(() => {
      const all = [...this.#skipped.splice(0), ...steps]
      return all.length === 0 && unknown === undefined ? Effect.void : this.#play.keep(all, unknown)
    })
    return Effect.uninterruptible(this.#alone.withPermit(keeping))
  }

  skip(node: string): void {
    const ended: Ended = { _tag: "Skipped" }
    this.#skipped.push({ _tag: "NodeEnded", node, ended })
    this.#end(node)
  }

  /** Wraps a node so that its end is stored, and its start unless it is an `idempotent` effect. */
  durable(node: Node, name: string, place: string): Node {
    const run = node.agent === undefined ? this.#effect(node, name, place) : this.#agent(node, name, place)
    const later = fallbackOf(node, place)
    if (later === undefined) return { ...node, run }
    const fallback = this.durable(later.node, name, later.place)
    // A fallback that has begun goes on: what it stands in for has failed, and begins again only if somebody resumes the plan.
    const failure = Places.get(this.#play.state.givenUp, place)
    if (failure !== undefined) return givenUp(node, fallback, () => Effect.fail(new AgentStopped({ failure })))
    // An earlier version didn't store what it had failed with.
    if (this.#hasBegun(later.node, later.place)) return { ...fallback, name: node.name }
    return givenUp(node, fallback, (input) =>
      Attempt.run({ ...node, run, fallback: undefined }, input).pipe(
        Effect.mapError(([{ reason }]) => reason),
        Effect.tapError((reason) => this.keep([{ _tag: "PlaceGivenUp", place, error: failureOf(place, reason) }]))
      ))
  }

  /** Checks whether a node or a fallback of it has begun since the plan was resumed. */
  #hasBegun(node: Node, place: string): boolean {
    const open = Places.get(this.#play.state.open, place)
    if (open !== undefined && open.isResumed !== true) return true
    const later = fallbackOf(node, place)
    return later !== undefined && this.#hasBegun(later.node, later.place)
  }

  #end(node: string): void {
    this.#ready--
    for (const next of Graph.successors(this.#definition.graph, this.#indices.get(node)!)) {
      const count = (this.#awaited.get(next) ?? 0) - 1
      this.#awaited.set(next, count)
      if (count === 0) this.#ready++
    }
    this.#look()
  }

  /** Looks whether all that could run waits. */
  #look(): void {
    const { size } = this.#waiting
    const isHeldUp = size >= this.#ready || size >= this.#definition.concurrency
    if (size > 0 && isHeldUp) Deferred.doneUnsafe(this.#allWait, Effect.succeed([...this.#waiting.values()]))
  }

  /** Waits for an approval or a result. If a time-out ends that, the node runs on. */
  #wait(name: string, waits: Waits): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.#waiting.set(name, waits)
      this.#look()
      return Effect.onInterrupt(Effect.never, () => Effect.sync(() => this.#waiting.delete(name)))
    })
  }

  /** Keeps a node's output, and returns a copy, which nodes behind it may change. */
  #complete(name: string, output: Schema.Json | undefined) {
    return Effect.map(this.keep([{ _tag: "NodeEnded", node: name, ended: completed(output) }]), () => {
      this.#end(name)
      return copyOf(output)
    })
  }

  #effect(node: Node, name: string, place: string): Node["run"] {
    const { message, state } = this.#play
    return (input) => {
      const open = Places.get(state.open, place)
      if (open !== undefined && open.isResumed !== true) return Effect.die(new EffectUnknown({ node: place }))
      const started: Step = { _tag: "PlaceStarted", place, message, isAgent: false }
      const marked = node.isIdempotent ? Effect.void : this.keep([started])
      const running = Effect.flatMap(
        Attempt.call(node, input),
        (output) => Effect.fromResult(outputToJson(name, output))
      )
      return Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.andThen(marked, Effect.exit(restore(running))), (exit) => {
          if (Exit.isSuccess(exit)) return this.#complete(name, exit.value)
          // It is unknown whether an interrupted effect took effect, so it stays open.
          const failed = node.isIdempotent || Cause.hasInterrupts(exit.cause)
            ? Effect.void
            : this.keep([{ _tag: "PlaceFailed", place }])
          return Effect.andThen(failed, Effect.failCause(exit.cause))
        })
      )
    }
  }

  #agent(node: Node, name: string, place: string): Node["run"] {
    const { child, isClosed, message, state } = this.#play
    const open = Places.get(state.open, place)
    const of = placeOf(place, state.run)
    const conversation = child(of)
    const isDecided = open?.decided?.message === message
    let isStarted = open !== undefined && open.isResumed !== true
    // An answer that didn't fit may fit by now, and is looked at before the input is said again.
    let mayFitNow = open?.unanswered !== undefined
    let isTold = !mayFitNow && open?.isTold === true
    let before = open?.unanswered ?? 0
    let attempt = 0
    /** Which state the node read last: one from before all attempts, that of a later attempt, or the end of this attempt. */
    let read: "Before" | "Later" | { readonly events: number } | undefined
    const stopped = (reply: Asking.Reply) => {
      isTold = reply.isTold
      return this.keep([{ _tag: "PlaceStopped", place, isTold }], callsIn(of, reply.answer.unknown))
    }
    const ended = (events: number, isRead: boolean) => {
      isTold = false
      before = events
      mayFitNow = !isRead
      return this.keep([{ _tag: "PlaceUnanswered", place, events }])
    }
    const agent = remote(node.agent!, ({ input }) =>
      Effect.gen({ self: this }, function*() {
        read = undefined
        if (mayFitNow) {
          mayFitNow = false
          read = "Before"
          return yield* Asking.persist(conversation.state)
        }
        const isFirst = attempt++ === 0
        if (isFirst && isDecided && open.decided.error !== undefined) {
          return yield* Effect.fail(new AgentStopped({ failure: open.decided.error }))
        }
        const by = open?.message ?? message
        const reply = yield* Asking.ask(
          conversation,
          { place: "input", words: input ?? [], message, by, attempt: attempt - 1, isTold, before },
          isClosed,
          (reply) =>
            Effect.ignore(reply.answer.status === "Complete" ? ended(reply.answer.cursor, false) : stopped(reply))
        )
        const { answer } = reply
        if (answer.status === "Complete") {
          const unknown = callsIn(of, answer.unknown)
          if (unknown.length > 0) yield* this.keep([], unknown)
          const state = yield* Asking.persist(conversation.state)
          read = state.status._tag === "Complete" ? { events: answer.cursor } : "Later"
          return state
        }
        yield* stopped(reply)
        if (answer.status === "Waiting") return yield* this.#wait(name, waitingIn(of, answer))
        return yield* Effect.fail(new AgentStopped({ failure: AgentStopped.failureOf(place, answer) }))
      }))
    const start = Effect.suspend(() => {
      if (isStarted) return Effect.void
      isStarted = true
      return this.keep([{ _tag: "PlaceStarted", place, message, isAgent: true }])
    })
    const once = (input: unknown): Effect.Effect<Schema.Json | undefined, unknown, unknown> =>
      node.run(input, agent).pipe(
        Effect.flatMap((output) => Effect.fromResult(outputToJson(name, output))),
        Effect.catch((error) => {
          if (read === undefined) return Effect.fail(error)
          // No attempt has been made yet.
          if (read === "Before") return once(input)
          if (read === "Later") return Effect.fail(asEnded(error))
          return Effect.andThen(ended(read.events, true), Effect.fail(error))
        })
      )
    return (input) => Effect.andThen(start, once(input)).pipe(Effect.flatMap((output) => this.#complete(name, output)))
  }
}

/**
 * Returns what an attempt failed with whose agent has been asked again since: its run had ended, so the next attempt follows, and the node's
 * `retry` counts this one.
 */
const asEnded = (error: unknown): unknown => {
  if (!(error instanceof NoAnswer)) return error
  const { reason, state } = error
  return new NoAnswer({ reason, state: { ...state, status: { _tag: "Complete" } } })
}

/** Returns a node whose attempts are all in `run`, before its fallback. */
const givenUp = (node: Node, fallback: Node, run: Node["run"]): Node => ({
  ...node,
  run,
  retry: undefined,
  timeout: undefined,
  fallback
})
