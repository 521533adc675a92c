/**
 * What an agent does next: one decision, made from its state and its surroundings.
 *
 * Running, streaming, stepping, resuming and stories all ask `decide`. It reads no clock and runs no effect; what a program gives an
 * agent (conditions, policies) is asked as it is.
 *
 * @since 0.1.0
 */
import { GuardrailBlocked, type Reason } from "../../domain/AgentError.ts"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { type Await, type Command, type FailRun, next, type Stop, unlessFatal } from "../../domain/Command.ts"
import { callsOf, lastAssistant } from "../../domain/conversation/Turns.ts"
import type { FatalCall } from "../../domain/FatalCall.ts"
import type { Pending } from "../../domain/ModeTransition.ts"
import type { Call } from "../../domain/StateSchema.ts"
import * as Corrections from "./Corrections.ts"
import { emptyInput } from "./InputIssue.ts"
import type { Known } from "./Known.ts"
import * as Limits from "./Limits.ts"
import * as UnreadInputs from "./UnreadInputs.ts"

/** Send an answer back to the model: `text` says what is wrong with it. */
interface SendBack {
  readonly _tag: "SendBack"
  readonly text: string
}
/** Settle these calls without a result: a limit was met that lets the model answer once more, and they would only lead to more requests. */
interface GiveUpCalls {
  readonly _tag: "GiveUpCalls"
  readonly callIds: ReadonlyArray<string>
  readonly result: string
}
/** Let the model give its last answer: `limit` says which limit was met, `text` is what the model is told. */
interface GiveLastAnswer {
  readonly _tag: "GiveLastAnswer"
  readonly limit: string
  readonly text: string
}
/** Request a handoff, as the group's policy decided after an answer. */
export interface RequestHandoff {
  readonly _tag: "RequestHandoff"
  readonly request: HandoffRequest
}
/** Carry out a requested move between modes. */
interface TakeMove {
  readonly _tag: "TakeMove"
  readonly move: Pending
}
/** Stop: a caller of this agent met a limit, and acts on it. This agent can continue later. */
interface Suspend {
  readonly _tag: "Suspend"
}
/** Stop: nothing is needed any more. */
interface Finish {
  readonly _tag: "Finish"
}

/** Fail the run with an error of a tool, which is read from the result of its call. `tag` and `message` say which error it is. */
export interface FailByTool {
  readonly _tag: "FailByTool"
  readonly callId: string
  readonly name: string
  readonly tag: string
  readonly message: string
}

/**
 * Fail the run with a reason.
 *
 * Inside a run it is also the error that effects fail with. It becomes an `AgentError` once the run's last state is known.
 */
export class Fail {
  readonly _tag = "Fail"
  readonly reason: Reason
  constructor(reason: Reason) {
    this.reason = reason
  }
}

/**
 * What an agent does next.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | Exclude<Command, FailRun | Stop>
  | SendBack
  | GiveUpCalls
  | GiveLastAnswer
  | RequestHandoff
  | TakeMove
  | Suspend
  | Finish
  | FailByTool
  | Fail

/** The decision of an agent that does nothing, because it has ended or waits. */
export type Rest = Suspend | Await | Finish

const askModel: Decision = { _tag: "AskModel" }
const suspend: Suspend = { _tag: "Suspend" }
const finish: Finish = { _tag: "Finish" }

/** Checks whether a decision leaves nothing to do for now. */
export const isRest = (self: Decision): self is Rest =>
  self._tag === "Finish" || self._tag === "Await" || self._tag === "Suspend"

/**
 * Returns the decision after a limit was met: the agent's own, or that of an agent around it. `callIds` are the calls that the limit stops.
 * All other open calls stay open: a handoff that was requested, and calls in which somebody must decide.
 */
const onLimit = (
  { state }: Known,
  { isOwn, lands, reason }: Limits.Met,
  callIds: ReadonlyArray<string> = []
): Decision => {
  if (!isOwn) return suspend
  if (!lands || state.run.landing !== undefined) return new Fail(reason)
  return callIds.length > 0
    ? { _tag: "GiveUpCalls", callIds, result: "A limit was met before this had a result." }
    : {
      _tag: "GiveLastAnswer",
      limit: reason.message,
      text: `${reason.message}. Answer now, with what you have: nothing more can be looked up or done.`
    }
}

/** Decides after the model's answer: the agent is finished, unless its answer is wrong or its group's policy decides on another agent. */
const conclude = ({ isChangingModes, roster, state }: Known): Decision => {
  const stays = state.status._tag === "Failed" || isChangingModes || state.run.landing !== undefined
  const request = stays ? undefined : roster.decide(state)
  return request === undefined ? finish : { _tag: "RequestHandoff", request }
}

/**
 * Decides if no call is open. The answer is checked before the limits, so that the last allowed answer counts. So is the input: a run that
 * can't take its input fails for that, whatever limit was met.
 */
const decideWithoutCalls = (known: Known, hasEnded: boolean): Decision => {
  const { definition, isChangingModes, state } = known
  const issue = Corrections.wrongAnswer(definition, state)
  if (issue !== undefined) {
    const spent = Corrections.spent(definition, state, issue)
    return spent === undefined ? { _tag: "SendBack", text: Corrections.feedback(issue) } : new Fail(spent)
  }
  if (hasEnded || Limits.isFinished(known)) return conclude(known)
  if (state.conversation.turns.length === 0) return new Fail(emptyInput(definition))
  const blocked = UnreadInputs.blockedIn(known)
  if (blocked !== undefined) return new Fail(blocked)
  const limit = Limits.met(known)
  if (limit !== undefined) return onLimit(known, limit)
  return state.transition === undefined || isChangingModes ? askModel : { _tag: "TakeMove", move: state.transition }
}

/** Returns the failure of a run that a call has ended. */
const failedByCall = (agent: string, { callId, name, reason }: FatalCall): FailByTool | Fail =>
  "guardrail" in reason
    ? new Fail(new GuardrailBlocked({ agent, stage: "toolResult", ...reason }))
    : { _tag: "FailByTool", callId, name, ...reason }

/** Returns what is known of the agent that answers a call, if it has begun and its definition is known. */
const calledBy = (caller: Known, call: Call): Known | undefined => {
  const entry = caller.definition.tools.get(call.name)
  if (call.state._tag !== "Delegated" || entry?._tag !== "Agent") return undefined
  const { child: state } = call.state
  const roster = entry.roster()
  const definition = roster.agents.get(state.agent)
  const { now } = caller
  return definition && { state, definition, roster, now, asked: 0, isChangingModes: false, caller }
}

/**
 * Returns the limit that was met, if all that these calls would do is stop at it. If any of them would do something else (begin, end, fail,
 * or run a tool), they are run first, because their step was allowed.
 */
const metByCalls = (known: Known, callIds: ReadonlyArray<string>): Limits.Met | undefined => {
  const turn = lastAssistant(known.state.conversation)
  const stop = (call: Call): boolean => {
    const called = calledBy(known, call)
    return called !== undefined && decide(called)._tag === "Suspend"
  }
  return turn !== undefined && callsOf(turn).every((call) => !callIds.includes(call.id) || stop(call))
    ? Limits.met(known)
    : undefined
}

/**
 * Decides what an agent does next.
 *
 * @category getters
 * @since 0.1.0
 */
export const decide = (known: Known): Decision => {
  const { definition, isChangingModes, state } = known
  const command = isChangingModes ? unlessFatal(state) : next(state)
  switch (command._tag) {
    case "Stop":
      return decideWithoutCalls(known, true)
    case "AskModel":
      return decideWithoutCalls(known, false)
    case "RunCalls": {
      const limit = metByCalls(known, command.callIds)
      const { fatal } = state.run
      return limit === undefined
        ? command
        : fatal === undefined || isChangingModes
        ? onLimit(known, limit, command.callIds)
        : failedByCall(definition.name, fatal)
    }
    case "FailRun":
      return failedByCall(definition.name, command.fatal)
    case "HandOver":
    case "Await":
      return command
  }
}
