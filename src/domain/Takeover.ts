/**
 * How control passes from one agent to another: the new state, and what the models read about it.
 *
 * 1. The call that asked is settled as `HandedOff`, with an acknowledgement that names the new agent.
 * 2. Query, usage, trail and logs are kept, and so are modes that weren't left before. Limits count from here, and conversation
 *    settings are the new agent's own.
 * 3. If the conversation leaves nothing to answer, a turn is added that says who handed over.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as AgentStatus from "./AgentStatus.ts"
import { appendUnchecked, callsOf, settleOpenCalls, updateCall } from "./conversation/Turns.ts"
import * as RunRecord from "./RunRecord.ts"
import type { AgentState, Conversation, ModeFrame, Received, Turn } from "./StateSchema.ts"
import * as TakenIds from "./TakenIds.ts"

/** What crosses when another agent takes over. Without `conversation` the whole conversation crosses. */
export interface Crossing {
  readonly request: AgentStatus.HandoffRequest
  readonly conversation?: Conversation
  readonly systemMessage?: string
}

/** What a model reads as the result of its call that asked for the handoff. */
export const acknowledgement = ({ context, reason, target }: AgentStatus.HandoffRequest): Schema.Json => ({
  handoff: target,
  ack: true,
  ...(reason === undefined ? undefined : { reason }),
  ...(context === undefined ? undefined : { context })
})

/** How the call that asked for the handoff is settled. */
export const handedOver = (request: AgentStatus.HandoffRequest) =>
  ({ outcome: "HandedOff", result: acknowledgement(request) }) as const

/** Settles the call that asked. Other open calls, if any, are settled as `Interrupted`. */
export const acknowledge = (self: Conversation, request: AgentStatus.HandoffRequest): Conversation =>
  settleOpenCalls(
    request.callId === undefined
      ? self
      : updateCall(self, request.callId, { _tag: "Settled", ...handedOver(request) })
  )

/** Makes the turn that says who handed over, why and with what, for a model that can't read it from a call. */
const noteOf = ({ context, from, reason }: Received): string =>
  [
    `Agent "${from}" handed this conversation over to you.`,
    ...(reason === undefined || reason === "" ? [] : [`Reason: ${reason}`]),
    ...(context === undefined ? [] : [`Context: ${JSON.stringify(context)}`])
  ].join("\n")

/** Returns what the agent in control was handed, if that was more than the conversation. */
export const handedNote = ({ handoff }: AgentState): string | undefined =>
  handoff === undefined || (handoff.reason === undefined && handoff.context === undefined) ? undefined : noteOf(handoff)

/** Checks whether a model reads in a turn what was handed over: in the call that asked for the handoff, or in a turn that says so. */
export const isToldIn = (turn: Turn, handoff: Received | undefined): boolean =>
  handoff !== undefined && (
    turn._tag === "Assistant"
      ? handoff.callId !== undefined &&
        turn.parts.some((part) => part._tag === "Call" && part.id === handoff.callId)
      : turn._tag === "Feedback" && turn.text === noteOf(handoff)
  )

/** Checks whether the model that asks next finds something to answer. */
const isAnswerable = ({ turns }: Conversation): boolean => {
  const last = turns.at(-1)
  return last !== undefined &&
    (last._tag !== "Assistant" ||
      callsOf(last).some((call) => call.providerExecuted !== true || call.approvalId !== undefined))
}

/** Returns a mode that crosses: leaving it won't restore the source's conversation settings or turns that didn't cross. */
const carry = ({ before, view, ...frame }: ModeFrame, crossing: Conversation | undefined): ModeFrame => ({
  ...frame,
  turns: crossing === undefined ? frame.turns : Math.min(frame.turns, crossing.turns.length),
  ...(crossing === undefined && view !== undefined ? { view } : undefined),
  before: Struct.pick(before, ["initialQuery", "modeHistory"])
})

/** Returns a state without what belongs to its agent alone. */
const withoutOwn = (
  { settings: _settings, systemMessage: _systemMessage, transition: _transition, ...source }: AgentState
): AgentState => source

/** Returns the state of the agent that takes over, at a time in epoch milliseconds. */
export const takeOver = (
  self: AgentState,
  { conversation, request, systemMessage }: Crossing,
  at: number
): AgentState => {
  const source = self.settings === undefined && self.systemMessage === undefined && self.transition === undefined
    ? self
    : withoutOwn(self)
  const { target, ...asked } = request
  const handoff: Received = { from: self.agent, ...asked }
  const crossed = conversation === undefined ? acknowledge(self.conversation, request) : settleOpenCalls(conversation)
  const reason = asked.reason === undefined || asked.reason === "" ? "" : `: ${asked.reason}`
  const after: AgentState = {
    ...source,
    agent: target,
    conversation: isAnswerable(crossed)
      ? crossed
      : appendUnchecked(crossed, { _tag: "Feedback", text: noteOf(handoff) }),
    status: AgentStatus.inProgress,
    ...(systemMessage === undefined ? undefined : { systemMessage }),
    run: RunRecord.changeHands(self.run, self.agent, at),
    trail: [...self.trail, target],
    handoff,
    modes: self.modes.map((frame) => carry(frame, conversation)),
    prompt: self.prompt.filter(({ mode }) => mode !== undefined),
    logs: [...self.logs, `Agent "${self.agent}" handed over to "${target}"${reason}`]
  }
  // If the whole conversation crosses, no call is removed.
  return conversation === undefined ? after : TakenIds.keep(self, after)
}
