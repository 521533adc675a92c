/**
 * One agent's loop while it runs: its state so far, and how it tells what happens.
 *
 * The loop of an agent that was called stands inside the loop of its caller: what happens in it is told to its own state
 * first and then to every loop around it, so that each state is the fold of the events that it was told.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEvent, RunCompleted, RunFailed, RunInterrupted } from "../../domain/AgentEvent.ts"
import type { Failure, HandoffRequest } from "../../domain/AgentStatus.ts"
import { callsOf } from "../../domain/Conversation.ts"
import { reduceAt } from "../../domain/Reducer.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { untold } from "../../domain/Takeover.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import * as Sent from "../perform/ask/Sent.ts"
import { type Filled, type Happening, type Loop, putInControl, type Settlement } from "./LoopType.ts"
import * as TakenIds from "./TakenIds.ts"

export {
  type Built,
  type Happening,
  type Loop,
  make,
  type Models,
  type OpenCall,
  putInControl,
  putOnRoster,
  type Root,
  type Settlement
} from "./LoopType.ts"

/** Tells that another agent took over, and puts it in control. */
export const handOver = (
  self: Loop,
  target: Definition,
  crossing: Omit<Extract<Happening, { readonly _tag: "HandoffCompleted" }>, "_tag">
): void => {
  self.open.handoff = undefined
  tell(self, { _tag: "HandoffCompleted", ...crossing })
  putInControl(self, target)
  self.step = 0
  self.heard = undefined
  self.sent.note = untold(self.state)
  if (crossing.conversation !== undefined) forgetSent(self)
}

/** Forgets what was made of the turns that were sent: they are others now. */
export const forgetSent = (self: Loop): void => {
  Sent.forget(self.sent)
  takeIdsAnew(self)
}

/** Forgets the ids of turns that didn't cross, as a process that goes on with the state wouldn't know them. */
const takeIdsAnew = (self: Loop): void => {
  let outermost = self
  while (outermost.parent !== undefined) outermost = outermost.parent
  self.root.takenIds.clear()
  for (const id of TakenIds.of(outermost.state)) self.root.takenIds.add(id)
}

/** Tells that the run ends before a handoff that was asked for. */
export const suspendHandoff = (self: Loop): void => {
  const request = self.open.handoff
  if (request === undefined) return
  self.open.handoff = undefined
  tell(self, { _tag: "HandoffSuspended", request })
}

/** Tells that another agent is to take over. */
export const requestHandoff = (self: Loop, request: HandoffRequest): void => {
  self.open.handoff = request
  tell(self, { _tag: "HandoffRequested", request })
}

/** Gives the time in epoch milliseconds. */
export const now = (self: Loop): number => Math.floor(self.root.clock.currentTimeMillisUnsafe())

/** Counts a model that is asked, or was, for the loops around its own. */
export const countAsking = (self: Loop, by: 1 | -1): void => {
  for (let loop = self.parent; loop !== undefined; loop = loop.parent) loop.asking += by
}

/** Gives the state as if the models had answered that are asked at this time: agents that run at once share a limit. */
export const foreseen = ({ asking, state }: Loop): AgentState =>
  asking === 0 ? state : { ...state, run: { ...state.run, steps: state.run.steps + asking } }

/** Takes an event into the state of this loop and of every loop around it, and delivers it. */
export const take = (self: Loop, event: AgentEvent): void => {
  let outermost = self
  for (let loop: Loop | undefined = self; loop !== undefined; loop = loop.parent) {
    loop.state = reduceAt(loop.state, event, loop.calls.length)
    outermost = loop
  }
  self.root.deliver(event, outermost.state)
}

const envelope = (self: Loop): Pick<AgentEvent, Filled> => ({
  run: "",
  path: self.path,
  calls: self.calls,
  step: self.step,
  sequence: self.root.sequence++,
  at: now(self)
})

/** Makes the event of what happened. */
const eventOf = (self: Loop, happening: Happening, at: number, sequence: number): AgentEvent =>
  ({
    _tag: happening._tag,
    run: "",
    path: self.path,
    calls: self.calls,
    step: self.step,
    sequence,
    at,
    // In the first place a spread would take ten times as long, since it is of objects of many shapes.
    ...(happening as Omit<Happening, "_tag">)
  }) as AgentEvent

/** Tells what happened, at a time in epoch milliseconds: the states of this loop and of those around it take it in. */
export const tell = (self: Loop, happening: Happening, at = now(self)): void =>
  take(self, eventOf(self, happening, at, self.root.sequence++))

/** Gives the state as it will be once something has happened. */
export const foresee = (self: Loop, happening: Happening): AgentState =>
  reduceAt(self.state, eventOf(self, happening, now(self), self.root.sequence), self.calls.length)

/** Goes on once everybody has seen what was told until now. */
export const flushed = <A, E, R>({ root }: Loop, next: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  root.isBehind() ? Effect.andThen(root.flush, next) : next

/** Tells that a piece arrived. Pieces change no state, so this does no more than make the event. */
export const tellDelta = (self: Loop, _tag: "TextDelta" | "ReasoningDelta", delta: string, at: number): void =>
  self.root.deliver({
    _tag,
    run: "",
    path: self.path,
    calls: self.calls,
    step: self.step,
    sequence: self.root.sequence++,
    at,
    delta
  })

/** Tells how the run ended. The event holds the state that it leaves behind. */
export const tellEnd = (self: Loop, end: "RunCompleted" | "RunInterrupted" | Failure): void => {
  self.open.run = false
  const before = { ...envelope(self), state: self.state }
  const event: RunCompleted | RunInterrupted | RunFailed = typeof end === "string"
    ? { _tag: end, ...before }
    : { _tag: "RunFailed", error: end, ...before }
  take(self, { ...event, state: reduceAt(self.state, event, self.calls.length) })
}

/** Starts a step, or goes on with the one whose calls are open. */
export const startStep = (self: Loop): void => {
  self.open.step = true
  tell(self, { _tag: "StepStarted" })
}

/** Ends the step that was started. */
export const endStep = (self: Loop): void => {
  if (!self.open.step) return
  self.open.step = false
  tell(self, { _tag: "StepCompleted" })
}

/** Tells how a call ended. */
export const settle = (self: Loop, settlement: Settlement): void => {
  self.open.calls.delete(settlement.callId)
  TakenIds.release(self.root.takenIds, self.state, settlement.callId)
  tell(self, { _tag: "ToolCallSettled", ...settlement })
}

/** Why things that were open have ended: what a call's result and a model call's failure say. */
export interface Closing {
  readonly tag: "Interrupted" | "Defect"
  readonly message: string
}

/** Ends a model call that is open without an answer. What its answer used, if one has arrived, counts all the same. */
export const endAttempt = (self: Loop, { message, tag }: { readonly tag: string; readonly message: string }): void => {
  const { arrived, attempt } = self.open
  if (attempt === undefined) return
  self.open.attempt = undefined
  self.open.arrived = undefined
  tell(self, { _tag: "ModelCallFailed", attempt, tag, message, ...arrived })
}

/**
 * Ends whatever has started and not ended: the model call, then the calls in their order, then the step.
 *
 * Calls that finished but weren't told yet keep their results. The others are `Interrupted`, those that never started
 * too; those that await approval go on waiting, and so does one that asked for a handoff.
 */
export const close = (self: Loop, closing: Closing): void => {
  endAttempt(self, closing)
  const { conversation, status } = self.state
  const asking = status._tag === "HandoffRequested" ? status.request.callId : undefined
  const turn = conversation.turns.findLast((turn) => turn._tag === "Assistant")
  for (const call of turn?._tag === "Assistant" ? callsOf(turn) : []) {
    if (call.state._tag === "Settled" || call.state._tag === "AwaitingApproval") continue
    if (call.id === asking) continue
    const open = self.open.calls.get(call.id)
    if (open === undefined && call.state._tag === "Delegated") continue
    settle(
      self,
      open?.settlement ?? {
        callId: call.id,
        name: call.name,
        outcome: "Interrupted",
        result: closing.message,
        duration: open === undefined ? 0 : Math.max(0, now(self) - open.startedAt)
      }
    )
  }
  endStep(self)
}
