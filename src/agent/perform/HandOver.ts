/**
 * Handing over: who takes the conversation over, once the modes that don't go along are left.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HandoffLimitReached, HandoffTargetNotFound } from "../../domain/AgentError.ts"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { callsOf, lastAssistant } from "../../domain/Conversation.ts"
import { messageOf, tagOf } from "../../domain/Described.ts"
import { handedOver } from "../../domain/Takeover.ts"
import * as Crossing from "../../handoff/Crossing.ts"
import type * as Handoff from "../../handoff/Handoff.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import { Halt } from "../journal/Halt.ts"
import * as Loop from "../journal/Loop.ts"
import { leaveTo, noteOfLeaving } from "./mode/Leaving.ts"

export { to } from "../../handoff/Handoff.ts"
export { type AnyHistory, crossingOf } from "../../handoff/History.ts"

/** Finds who takes over, where it is there and the run may change hands once more. */
const findTarget = ({ definition, roster, state }: Loop.Loop, { target }: HandoffRequest): Definition | Halt => {
  const found = roster.agents.get(target)
  if (found === undefined) {
    const available = [...roster.agents.keys()].filter((name) => name !== definition.name)
    return new Halt(new HandoffTargetNotFound({ agent: definition.name, target, available }))
  }
  return (state.run.handoffs ?? 0) < roster.maxHandoffs
    ? found
    : new Halt(new HandoffLimitReached({ limit: roster.maxHandoffs, trail: state.trail }))
}

/** The handoff that was asked for. There is none for a decision of the policy. */
const findHandoff = (
  { definition, state }: Loop.Loop,
  { callId, tool }: HandoffRequest
): Handoff.Any | undefined => {
  const turn = lastAssistant(state.conversation)
  const name = tool ?? (turn === undefined ? undefined : callsOf(turn).find(({ id }) => id === callId)?.name)
  const entry = name === undefined ? undefined : definition.tools.get(name)
  return entry?._tag === "Handoff" ? entry.handoff : undefined
}

/**
 * Lets a handoff that was asked for wait while a mode, on its way in or out, talks to the agent: its call is settled first, and it
 * is asked for again.
 */
export const waiting = <A, E, R>(loop: Loop.Loop, self: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const { open, state: { status } } = loop
    if (!open.run || status._tag !== "HandoffRequested") return self()
    const { callId, ...request } = status.request
    Loop.suspendHandoff(loop)
    if (callId !== undefined) {
      Loop.settle(loop, { callId, name: request.tool ?? "", ...handedOver(request), duration: 0 })
    }
    return Effect.ensuring(Effect.suspend(self), Effect.sync(() => Loop.requestHandoff(loop, request)))
  })

/** Lets another agent take over, or fails if it isn't there or the run has changed hands too often. */
export const handOver = Effect.fnUntraced(function*(loop: Loop.Loop, asked: HandoffRequest) {
  if (loop.open.handoff === undefined) Loop.requestHandoff(loop, asked)
  const target = findTarget(loop, asked)
  if (target instanceof Halt) return yield* Effect.fail(target)
  const handoff = findHandoff(loop, asked)
  const height = Crossing.countCarried(loop.state, handoff, target.modes)
  const left = yield* leaveTo(loop, height, { exit: Exit.void, isOver: true, note: noteOfLeaving })
  if (Exit.isFailure(left)) return yield* Effect.failCause(left.cause)
  const conversation = yield* Crossing.cross(
    loop.state,
    handoff,
    asked,
    loop.roster.transforms,
    (error) =>
      Effect.sync(() =>
        Loop.tell(loop, {
          _tag: "TransformFailed",
          request: asked,
          tag: tagOf(error) ?? "Failure",
          message: messageOf(error)
        })
      )
  )
  Loop.handOver(loop, target, Crossing.crossing(loop.state, handoff, asked, conversation))
  yield* loop.root.flush
})
