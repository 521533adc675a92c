/**
 * How a plan is played on a cluster: an agent's node is a conversation of its own, and the start and the end of an effect are kept.
 *
 * 1. The start of an effect is kept before it runs, unless it is `idempotent`. An effect that has a kept start and no end isn't started
 *    again until somebody resumes the plan. Until then the plan fails, and names the effect.
 * 2. A node whose agent awaits an approval or a result holds up only what needs it. When all that could run waits, the plan waits.
 * 3. The outputs of nodes are passed on as JSON, whether a process died in between or not.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Graph from "effect/Graph"
import * as HashMap from "effect/HashMap"
import * as Record from "effect/Record"
import type * as Schema from "effect/Schema"
import type { Failure } from "../../domain/AgentStatus.ts"
import { PlanError } from "../../handoff/plan/PlanError.ts"
import { indexOf } from "../../handoff/plan/PlanGraph.ts"
import type { Definition } from "../../handoff/plan/PlanType.ts"
import * as Run from "../../handoff/plan/Run.ts"
import { allWaiting, type LongRun, type Outcome, type Play } from "./LongRun.ts"
import * as Places from "./Places.ts"
import { EffectUnknown, failureOf } from "./PlanFailure.ts"
import { Performance, positionOf, type Waits } from "./PlanPerformance.ts"
import { conversationsOf, findMismatch, placeOf } from "./PlanPlaces.ts"
import { kind, type State, type Step } from "./PlanSteps.ts"

/** Says that a plan is complete. A node that returned nothing is left out, as it is in the text. */
const complete = (output: Readonly<Record<string, unknown>>): Outcome => {
  // Each output was made JSON before it was kept, but a plan's run doesn't know that.
  const json = Record.filter(output, (value) => value !== undefined) as { readonly [node: string]: Schema.Json }
  return { status: "Complete", text: JSON.stringify(json), pending: [], output: json }
}

/** Adds to a node's failure what its fallbacks failed with, as the error of a plan in one process says it. */
const withFallbacks = ({ fallbacks }: PlanError, failure: Failure): Failure => ({
  ...failure,
  message: [
    failure.message,
    ...fallbacks.map(({ node, reason }) => `its fallback "${node}" failed: ${failureOf(node, reason).message}`)
  ].join("; ")
})

const failed = (cause: Cause.Cause<unknown>): Outcome => {
  const error = Cause.squash(cause)
  const isKnown = error instanceof PlanError
  const place = isKnown ? error.node : error instanceof EffectUnknown ? error.node : ""
  const reason = isKnown ? error.reason : error
  const failure = isKnown ? withFallbacks(error, failureOf(place, reason)) : failureOf(place, reason)
  const isDefect = Cause.hasDies(cause) && !(error instanceof EffectUnknown)
  return { status: "Failed", text: "", pending: [], error: isDefect ? { ...failure, tag: "Defect" } : failure }
}

const play = (definition: Definition) => (given: Play<State, Step>): Effect.Effect<Outcome, unknown> =>
  Effect.gen(function*() {
    const { state } = given
    if (state.run === 0) return { status: "Stopped" as const, text: "", pending: [] }
    definition.check()
    const mismatch = findMismatch(definition.graph, state)
    if (mismatch !== undefined) return failed(Cause.fail(mismatch))
    const allWait = yield* Deferred.make<ReadonlyArray<Waits>>()
    const performance = new Performance(definition, given, allWait)
    const graph = Graph.mutate(definition.graph, (mutable) => {
      Graph.mapNodes(mutable, (node) => performance.durable(node, node.name, node.name))
    })
    const running = Run.run({ graph, concurrency: definition.concurrency }, positionOf(graph, state), (event) => {
      if (event._tag === "NodeSkipped") performance.skip(event.node)
    })
    const waiting = Effect.map(Deferred.await(allWait), (all): Outcome => ({
      status: "Waiting",
      text: "",
      ...allWaiting(all)
    }))
    const exit = yield* Effect.exit(Effect.raceFirst(Effect.map(running, complete), waiting))
    // If the log was lost or the message was cancelled, the plan hasn't ended.
    if (given.isClosed() || Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return yield* exit
    yield* performance.keep([])
    return Exit.isFailure(exit) ? failed(exit.cause) : exit.value
  }) as Effect.Effect<Outcome, unknown>

/** Makes a long run of a plan. */
export const make = (definition: Definition): LongRun<State, Step> => {
  const order = indexOf(definition.graph)
  return {
    kind,
    said: (input) => ({ _tag: "PlanBegun", input }),
    resumed: { _tag: "PlanResumed" },
    decided: ({ error, message, place }) => ({
      _tag: "PlaceDecided",
      place,
      message,
      ...(error === undefined ? undefined : { error })
    }),
    play: play(definition),
    isMismatched: (state) => findMismatch(definition.graph, state) !== undefined,
    waiting: (state) =>
      // Longer places come first, because a call's place is found by how the call's id begins: `write/short` before `write`.
      Places.entries(state.open, order).flatMap(([place, { isAgent }]) => isAgent ? [placeOf(place, state.run)] : [])
        .toSorted((one, other) => other.place.length - one.place.length),
    conversations: ({ run }) =>
      Array.from({ length: run }, (_, before) => conversationsOf(definition.graph, before + 1)).flat(),
    unknown: ({ open }) =>
      Places.entries(open, order).flatMap(([place, { isAgent, isResumed }]) =>
        isAgent || isResumed === true ? [] : [{ callId: place, name: place, path: [place] }]
      ),
    show: ({ input, nodes }) =>
      Effect.succeed(
        {
          ...(input === undefined ? undefined : { input }),
          nodes: Object.fromEntries(Places.inOrder(HashMap.toEntries(nodes), order))
        } as Schema.Json
      )
  }
}
