/**
 * Handing over: who takes the conversation over, and what of it crosses.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HandoffLimitReached, HandoffTargetNotFound } from "../../domain/AgentError.ts"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { callsOf, lastAssistant, make } from "../../domain/Conversation.ts"
import { messageOf, tagOf } from "../../domain/Described.ts"
import type { Conversation } from "../../domain/StateSchema.ts"
import { acknowledge, acknowledgement } from "../../domain/Takeover.ts"
import * as Underway from "../../domain/Underway.ts"
import * as Handoff from "../../handoff/Handoff.ts"
import type * as HandoffPolicy from "../../handoff/HandoffPolicy.ts"
import * as History from "../../handoff/History.ts"
import * as MaybeEffect from "../../handoff/MaybeEffect.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import * as Loop from "../journal/Loop.ts"
import { Fail } from "../rules/Decision.ts"
import { resume } from "./mode/Entering.ts"
import { leaveTo, noteOfLeaving } from "./mode/Leaving.ts"

export { to } from "../../handoff/Handoff.ts"

/** Finds who takes over, where it is there and the run may change hands once more. */
const findTarget = ({ definition, roster, state }: Loop.Loop, { target }: HandoffRequest): Definition | Fail => {
  const found = roster.agents.get(target)
  if (found === undefined) {
    const available = [...roster.agents.keys()].filter((name) => name !== definition.name)
    return new Fail(new HandoffTargetNotFound({ agent: definition.name, target, available }))
  }
  return (state.run.handoffs ?? 0) < roster.maxHandoffs
    ? found
    : new Fail(new HandoffLimitReached({ limit: roster.maxHandoffs, trail: state.trail }))
}

/** The handoff whose tool was called. There is none for a decision of the policy. */
const findHandoff = ({ definition, state }: Loop.Loop, { callId }: HandoffRequest): Handoff.Any | undefined => {
  const turn = callId === undefined ? undefined : lastAssistant(state.conversation)
  const call = turn === undefined ? undefined : callsOf(turn).find((call) => call.id === callId)
  const entry = call === undefined ? undefined : definition.tools.get(call.name)
  return entry?._tag === "Handoff" ? entry.handoff : undefined
}

/** Applies a policy's transform. One that fails and needn't is told, and changes nothing. */
const transform = (
  loop: Loop.Loop,
  { apply, onFailure }: HandoffPolicy.Transform,
  conversation: Conversation,
  request: HandoffRequest
): Effect.Effect<Conversation, unknown, unknown> => {
  const applied = apply(conversation, { from: loop.definition.name, to: request.target, request })
  return onFailure === "Fail" ? applied : Effect.catch(applied, (error) =>
    Effect.sync(() => {
      Loop.tell(loop, { _tag: "TransformFailed", request, tag: tagOf(error) ?? "Failure", message: messageOf(error) })
      return conversation
    }))
}

/** What of a conversation crosses a handoff: by a value, or by a function that makes it of the conversation. */
export type AnyHistory<E, R> =
  | History.History<E, R>
  | ((conversation: Conversation) => MaybeEffect.MaybeEffect<Conversation, E, R>)

/** Gives what a history makes of a conversation. */
export const crossingOf = <E, R>(
  history: AnyHistory<E, R>,
  whole: Conversation
): Effect.Effect<Conversation, E, R> => {
  if (typeof history === "function") return MaybeEffect.call(() => history(whole))
  return history._tag === "Custom"
    ? Effect.suspend(() => history.change(whole))
    : Effect.sync(() => History.selectNow(history, whole))
}

/** Gives what of the conversation crosses: what the handoff says of it, and what the policy makes of that. */
const cross = Effect.fnUntraced(function*(
  loop: Loop.Loop,
  handoff: Handoff.Any | undefined,
  request: HandoffRequest
) {
  const whole = acknowledge(loop.state.conversation, request)
  const history = handoff === undefined ? History.full : Handoff.internalsOf(handoff).history
  let crossing = yield* crossingOf(history, whole)
  for (const each of loop.roster.transforms) crossing = yield* transform(loop, each, crossing, request)
  return crossing === whole ? undefined : make(crossing.turns)
})

/** Counts the modes from the bottom that go along: those that the target has too. */
const countCarried = ({ state: { modes } }: Loop.Loop, target: Definition): number => {
  const at = modes.findIndex(({ name }) => !target.modes.has(name))
  return at < 0 ? modes.length : at
}

/**
 * Leaves the modes that don't go along. Their clean-ups may talk to the agent, so what was asked for waits: its call is settled
 * first, and it is asked for again.
 */
const leaveModes = Effect.fnUntraced(function*(loop: Loop.Loop, asked: HandoffRequest, height: number) {
  const { callId, ...request } = asked
  Loop.tell(loop, { _tag: "HandoffSuspended", request: asked })
  if (callId !== undefined) {
    const { tool: name = "" } = asked
    Loop.settle(loop, { callId, name, outcome: "HandedOff", result: acknowledgement(asked), duration: 0 })
  }
  if (loop.live.open.length < loop.state.modes.length) yield* resume(loop)
  const left = yield* leaveTo(loop, height, {
    exit: Exit.void,
    isOver: true,
    note: noteOfLeaving
  })
  if (Exit.isFailure(left)) return yield* Effect.failCause(left.cause)
  Loop.tell(loop, { _tag: "HandoffRequested", request })
  return request
})

/** Lets another agent take over, or fails where it isn't there or the run has changed hands too often. */
export const handOver = Effect.fnUntraced(function*(loop: Loop.Loop, asked: HandoffRequest) {
  // One that was asked for in a run that stopped before it is asked for again in this one.
  if (Underway.latest(loop.underway, "HandoffRequested") === undefined) {
    Loop.tell(loop, { _tag: "HandoffRequested", request: asked })
  }
  const target = findTarget(loop, asked)
  if (target instanceof Fail) return yield* Effect.fail(target)
  const handoff = findHandoff(loop, asked)
  const carried = handoff !== undefined && Handoff.internalsOf(handoff).carryModes ? countCarried(loop, target) : 0
  const request = loop.state.modes.length > carried ? yield* leaveModes(loop, asked, carried) : asked
  const conversation = yield* cross(loop, handoff, request)
  const { systemMessage } = loop.state
  // It belongs to the conversation: where no handoff says otherwise, because a policy decides, it stays with it.
  const isTransferred = asked.callId === undefined || handoff?.transferSystemMessage === true
  Loop.tell(loop, {
    _tag: "HandoffCompleted",
    request,
    ...(conversation === undefined ? undefined : { conversation }),
    ...(isTransferred && systemMessage !== undefined ? { systemMessage } : undefined)
  })
  yield* loop.journal.flush
})
