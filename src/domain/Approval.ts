/**
 * Calls that wait for somebody's yes or no, at any depth, found and answered by call id.
 *
 * 1. `approve` and `deny` take any subset in any order; the same answer twice, or two denials, change nothing.
 * 2. An answer to a call only ever goes forward: an approved call isn't denied later, nor the other way round.
 * 3. A call in an agent that was called by an agent is found like any other, by its own id.
 * 4. A run that has ended stays ended: `AgentState.reopen` lets it continue with the answers.
 * 5. An answer is an event, `CallApproved` or `CallDenied`, and changes a state as any event does.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { CallApproved, CallDenied } from "./AgentEvent.ts"
import { ReadParams, type ReadsParams } from "./CallParams.ts"
import { listOf } from "./Described.ts"
import { ErrorClass } from "./ErrorClass.ts"
import * as JsonValue from "./JsonValue.ts"
import { reduce } from "./Reducer.ts"
import type { AgentState, Call } from "./StateSchema.ts"
import * as TakenIds from "./TakenIds.ts"
import { find, locate, type Located, type Untimed, type WaitingCall, waitingIn } from "./WaitingCall.ts"
import * as Wanted from "./Wanted.ts"

/**
 * A call that waits for approval: the agents that lead to it, the calls that lead to it, and what would run.
 *
 * @category models
 * @since 0.1.0
 */
export interface PendingApproval extends WaitingCall {}

/**
 * Error for an approval or a denial of a call that doesn't wait for one.
 *
 * `found` is the state of the call. `Unknown` means that no agent in the state has a call of this id; `RunByProvider`, that the provider
 * runs the call, and only with the parameters that it asked for. `awaiting` has the ids of the calls that wait, but with `RunByProvider`
 * only the id of this call.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAwaitingApproval
  extends ErrorClass<NotAwaitingApproval>("troupe/domain/Approval")("NotAwaitingApproval", {
    callId: Schema.String,
    found: Schema.Literals([
      "Unknown",
      "Pending",
      "Approved",
      "AwaitingResult",
      "Answered",
      "Delegated",
      "Settled",
      "RunByProvider"
    ]),
    awaiting: Schema.Array(Schema.String)
  }, ({ awaiting, callId, found }) => {
    if (found === "RunByProvider") {
      return `The provider runs call "${callId}" with the parameters that it asked for: approve it without others, or deny it`
    }
    const what = found === "Unknown"
      ? `No call has the id "${callId}"`
      : `Call "${callId}" doesn't await approval, it is ${found}`
    return `${what}; awaiting approval: ${listOf(awaiting)}`
  })
{}

/**
 * Error for an approval with parameters that don't fit the tool of the call, or that can't be checked. `issue` says why.
 *
 * @category errors
 * @since 0.1.0
 */
export class ParamsRejected extends ErrorClass<ParamsRejected>("troupe/domain/Approval")(
  "ParamsRejected",
  { callId: Schema.String, tool: Schema.String, issue: Schema.String },
  ({ callId, issue, tool }) => `Call "${callId}" can't be approved with these parameters of tool "${tool}": ${issue}`
) {}

/**
 * Returns the calls that wait for approval, in this agent and in those that it called, in the order of its calls.
 *
 * @category getters
 * @since 0.1.0
 */
export const pendingApprovals = (self: AgentState): ReadonlyArray<PendingApproval> =>
  waitingIn(self, "AwaitingApproval")

const isAnswerable = (call: Call): boolean =>
  call.state._tag === "AwaitingApproval" || call.state._tag === "Approved" ||
  (call.state._tag === "Settled" && call.state.outcome === "Denied")

type Answer<Event> = Result.Result<Untimed<Event> | undefined, NotAwaitingApproval>

/** Makes the answer to a call that awaits one. Returns `undefined` if the call was already answered in the same way. */
const answer = <Event>(
  self: AgentState,
  callId: string,
  isSame: (call: Call) => boolean,
  make: (call: Call, where: Pick<CallApproved, "path" | "calls" | "callId" | "name">) => Untimed<Event>
): Answer<Event> => {
  const located = locate(self, callId, isAnswerable)
  if (located?.call.state._tag === "AwaitingApproval") {
    const { call, calls, path } = located
    return Result.succeed(make(call, { path, calls, callId, name: call.name }))
  }
  const found = located?.call ?? find(self, callId)
  if (found !== undefined && isSame(found)) return Result.succeed(undefined)
  return Result.fail(
    new NotAwaitingApproval({
      callId,
      found: found === undefined || found.state._tag === "AwaitingApproval"
        ? TakenIds.of(self).names.has(callId) ? "Settled" : "Unknown"
        : found.state._tag,
      awaiting: pendingApprovals(self).map((approval) => approval.callId)
    })
  )
}

const writtenOf = ({ asked, params }: Call): Schema.Json => asked === undefined ? params : asked

/** Copies other parameters that a program gives an approval. A Promise or an Effect is refused: the tool would get an empty object. */
export const paramsGiven = (params: Schema.Json): Schema.Json =>
  JsonValue.frozen(Wanted.valueGiven("`params` of `approve`", params))

/**
 * Finds the call of an id if a session reads and judges new parameters for it as soon as they are given. The call awaits approval, or was
 * approved with new parameters that were judged.
 */
export const locateApprovable = (self: AgentState, callId: string): Located | undefined =>
  locate(
    self,
    callId,
    ({ asked, state }) =>
      state._tag === "AwaitingApproval" ||
      (state._tag === "Approved" && state.judged !== undefined && asked !== undefined)
  )

/**
 * Returns the event of an approval, unless the call was approved before. The event has `params` only if they differ from the model's.
 * `judged` names the guardrails that let them pass.
 */
export const approval = (
  self: AgentState,
  callId: string,
  params: Schema.Json | undefined,
  judged?: ReadonlyArray<string>
): Answer<CallApproved> => {
  const call = params === undefined ? undefined : locate(self, callId, isAnswerable)?.call
  const isUnfit = call?.state._tag === "AwaitingApproval" && call.approvalId !== undefined &&
    !Equal.equals(call.params, params)
  return isUnfit
    ? Result.fail(new NotAwaitingApproval({ callId, found: "RunByProvider", awaiting: [callId] }))
    : approvalOf(self, callId, params, judged)
}

const approvalOf = (
  self: AgentState,
  callId: string,
  params: Schema.Json | undefined,
  judged: ReadonlyArray<string> | undefined
): Answer<CallApproved> =>
  answer<CallApproved>(
    self,
    callId,
    (call) =>
      call.state._tag === "Approved" && Equal.equals(call.params, params === undefined ? writtenOf(call) : params),
    (call, where) => ({
      _tag: "CallApproved",
      ...where,
      ...(params === undefined || Equal.equals(params, call.params)
        ? undefined
        : judged === undefined
        ? { params }
        : { params, judged })
    })
  )

/** Returns the event of a denial, unless the call was denied before. */
export const denial = (self: AgentState, callId: string, reason: string): Answer<CallDenied> =>
  answer<CallDenied>(
    self,
    callId,
    ({ state }) => state._tag === "Settled" && state.outcome === "Denied",
    (_, where) => ({
      _tag: "CallDenied",
      ...where,
      reason: Wanted.textGiven("The reason of a denial", reason)
    })
  )

const take = (self: AgentState, answer: Untimed<CallApproved> | Untimed<CallDenied> | undefined): AgentState =>
  answer === undefined ? self : reduce(self, { ...answer, run: "", step: 0, sequence: 0, at: 0 })

/**
 * How a call is approved: `params` replace those that the model wrote.
 *
 * @category models
 * @since 0.1.0
 */
export interface ApproveOptions {
  /** What the call runs with, as JSON; by default the parameters that the model wrote. */
  readonly params?: Schema.Json | undefined
  readonly agent?: undefined
}

/**
 * How a call is approved with `params` that are decoded at once. `agent` is the agent or group that the state is run with; the tool may be
 * one of an agent that it called.
 *
 * @category models
 * @since 0.1.0
 */
export interface CheckedApproveOptions {
  readonly params: Schema.Json
  readonly agent: ReadsParams
}

type Approved<E = never> = Result.Result<AgentState, NotAwaitingApproval | E>

/**
 * Lets a call run when its run continues. Approving it again with the same parameters changes nothing. This changes the state alone and
 * emits no event; `approve` of a session does.
 *
 * If `params` are given, the call runs with them, and the model reads them; the call keeps what the model had written as `asked`. `params`
 * are JSON, and are decoded when the call runs. If `agent` is given too, they are decoded now: `approve` fails with `ParamsRejected` if
 * they don't fit, if the tool's schema can't decode them at once, or if the agent of the call has no such tool.
 *
 * Fails with `NotAwaitingApproval` if no call has the id, if the call doesn't wait for approval (as after an approval with other
 * parameters), or if the provider runs it and `params` differ from what it asked for.
 *
 * **Example** (Less than was asked for)
 *
 * ```ts
 * import { Result } from "effect"
 * import { AgentState, Conversation } from "troupe"
 * import { Story } from "troupe/testing"
 *
 * const waiting = Story.tellOrThrow(
 *   AgentState.make("clerk"),
 *   Story.userSays("I want 400 euros back."),
 *   Story.modelAnswers([Conversation.call("c1", "refund", { euros: 400 })]),
 *   Story.approvalIsRequested("c1")
 * )
 *
 * const approved = AgentState.approve(waiting, "c1", { params: { euros: 40 } })
 *
 * Result.map(approved, ({ conversation }) => Conversation.openCalls(conversation).map(({ asked, params }) => ({ asked, params })))
 * // => Result.succeed([{ asked: { euros: 400 }, params: { euros: 40 } }])
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const approve: {
  (callId: string, options?: ApproveOptions): (self: AgentState) => Approved
  (callId: string, options: CheckedApproveOptions): (self: AgentState) => Approved<ParamsRejected>
  (self: AgentState, callId: string, options?: ApproveOptions): Approved
  (self: AgentState, callId: string, options: CheckedApproveOptions): Approved<ParamsRejected>
} = dual(
  (args) => typeof args[0] !== "string",
  (
    self: AgentState,
    callId: string,
    { agent, params }: ApproveOptions | CheckedApproveOptions = {}
  ): Approved<ParamsRejected> =>
    Result.flatMap(
      approval(self, callId, params === undefined ? undefined : paramsGiven(params)),
      (answer): Approved<ParamsRejected> => {
        if (agent === undefined || answer?.params === undefined) return Result.succeed(take(self, answer))
        return Result.mapBoth(agent[ReadParams](self, answer, answer.params), {
          onSuccess: () => take(self, answer),
          onFailure: (issue) => new ParamsRejected({ callId, tool: answer.name, issue })
        })
      }
    )
)

/**
 * Keeps a call from running; the model reads the reason. Denying it again changes nothing: the first reason stays. This changes the state
 * alone and emits no event; `deny` of a session does.
 *
 * Fails with `NotAwaitingApproval` when no call has the id, or the one that has it doesn't wait for approval.
 *
 * @category combinators
 * @since 0.1.0
 */
export const deny: {
  (callId: string, reason: string): (self: AgentState) => Approved
  (self: AgentState, callId: string, reason: string): Approved
} = dual(
  3,
  (self: AgentState, callId: string, reason: string): Approved =>
    Result.map(denial(self, callId, reason), (answer) => take(self, answer))
)
