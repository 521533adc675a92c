/**
 * Handing over: the modes that don't cross are left, and then the other agent takes over.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { messageOf, tagOf } from "../../domain/Described.ts"
import type { Conversation } from "../../domain/StateSchema.ts"
import { handedOver } from "../../domain/Takeover.ts"
import * as Underway from "../../domain/Underway.ts"
import * as Crossing from "../../handoff/Crossing.ts"
import * as Loop from "../journal/Loop.ts"
import { Fail } from "../rules/Decision.ts"
import { findHandoff, findTarget } from "../rules/HandoffTarget.ts"
import { leaveTo, noteOfLeaving, takeBack } from "./mode/LeaveMode.ts"

export { to } from "../../handoff/Handoff.ts"
export { type AnyHistory, crossingOf } from "../../handoff/History.ts"

/**
 * Lets a requested handoff wait while a mode's set-up or clean-up talks to the agent: its call is settled first, and the handoff is
 * requested again afterwards.
 */
export const waiting = <A, E, R>(loop: Loop.Loop, self: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const { state: { status }, underway } = loop
    const isInRun = Underway.latest(underway, "RunStarted") !== undefined
    if (!isInRun || status._tag !== "HandoffRequested") return self()
    const { callId, ...request } = status.request
    if (Underway.latest(underway, "HandoffRequested") !== undefined) {
      Loop.emit(loop, { _tag: "HandoffSuspended", request: status.request })
    }
    if (callId !== undefined) {
      Loop.settle(loop, { callId, name: request.tool ?? "", ...handedOver(request), duration: 0 })
    }
    return Effect.ensuring(
      Effect.suspend(self),
      Effect.sync(() => Loop.emit(loop, { _tag: "HandoffRequested", request }))
    )
  })

/** Hands the conversation over. A move belongs to the agent that hands over, so the handoff takes it back, by an event. */
const complete = (
  loop: Loop.Loop,
  handoff: Crossing.Offer,
  asked: HandoffRequest,
  crosses: Conversation | undefined
): undefined => {
  if (loop.state.transition !== undefined) takeBack(loop)
  Loop.emit(loop, { _tag: "HandoffCompleted", ...Crossing.crossing(loop.state, handoff, asked, crosses) })
}

/** Makes the conversation that crosses, and hands it over. Returns an effect if that takes one. */
const cross = (
  loop: Loop.Loop,
  handoff: Crossing.Offer,
  asked: HandoffRequest
): Effect.Effect<void, unknown, unknown> | undefined => {
  const crossing = Crossing.cross(
    loop.state,
    handoff,
    asked,
    loop.roster.transforms,
    (error) =>
      Effect.sync(() =>
        Loop.emit(loop, {
          _tag: "TransformFailed",
          request: asked,
          tag: tagOf(error) ?? "Failure",
          message: messageOf(error)
        })
      )
  )
  return crossing === undefined
    ? complete(loop, handoff, asked, undefined)
    : Effect.map(crossing, (conversation) => complete(loop, handoff, asked, conversation))
}

/**
 * Lets another agent take over. Returns an effect if that takes one, or if it fails, because the other agent isn't there or the run has
 * changed hands too often.
 */
export const handOver = (
  loop: Loop.Loop,
  asked: HandoffRequest
): Effect.Effect<void, unknown, unknown> | undefined => {
  const { definition, roster, state } = loop
  // A handoff from a run that stopped before it was carried out is requested again in this run.
  if (Underway.latest(loop.underway, "HandoffRequested") === undefined) {
    Loop.emit(loop, { _tag: "HandoffRequested", request: asked })
  }
  const target = findTarget(roster, state, asked)
  if ("_tag" in target) return Effect.fail(new Fail(target))
  const handoff = findHandoff(definition, state, asked)
  const height = Crossing.countCarried(loop.state, handoff, target.modes)
  if (height >= loop.live.open.length) return cross(loop, handoff, asked)
  return Effect.flatMap(
    leaveTo(loop, height, { exit: Exit.void, isOver: true, isRuns: true, note: noteOfLeaving }),
    (left) => Exit.isFailure(left) ? Effect.failCause(left.cause) : cross(loop, handoff, asked) ?? Effect.void
  )
}
