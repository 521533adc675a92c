/**
 * What a state needs next, as a pure function of the state.
 *
 * Commands are imperative and name calls and agents by id; the interpreter performs them.
 *
 * @since 0.1.0
 */
import type { HandoffRequest } from "./AgentStatus.ts"
import { openCalls } from "./conversation/Turns.ts"
import type { FatalCall } from "./FatalCall.ts"
import type { AgentState, Call } from "./StateSchema.ts"

/** Ask the model for its next answer. */
export interface AskModel {
  readonly _tag: "AskModel"
}
/** Run these open calls, and settle those that were given a result. Calls that await approval or a result aren't among them. */
export interface RunCalls {
  readonly _tag: "RunCalls"
  readonly callIds: ReadonlyArray<string>
}
/** Let another agent take over: no other call of the turn is open. */
export interface HandOver {
  readonly _tag: "HandOver"
  readonly request: HandoffRequest
}
/** Do nothing until somebody approves or denies a call, or gives its result. */
export interface Await {
  readonly _tag: "Await"
}
/** Fail the run: the call of a fatal tool failed, and no other call of its turn can run. */
export interface FailRun {
  readonly _tag: "FailRun"
  readonly fatal: FatalCall
}
/** Do nothing: the run has ended. */
export interface Stop {
  readonly _tag: "Stop"
}

/**
 * What a state needs next.
 *
 * @category models
 * @since 0.1.0
 */
export type Command = AskModel | RunCalls | HandOver | Await | FailRun | Stop

const askModel: AskModel = Object.freeze({ _tag: "AskModel" })
const awaitOthers: Await = Object.freeze({ _tag: "Await" })
const stop: Stop = Object.freeze({ _tag: "Stop" })

/** Checks whether a call can be run now. It can't if the agent that answers it awaits an approval or a result. */
const isRunnable = ({ state }: Call): boolean =>
  state._tag === "Delegated"
    ? next(state.child)._tag !== "Await"
    : state._tag === "Pending" || state._tag === "Approved" || state._tag === "Answered"

/** Runs the open calls that can run, and waits if there are none. */
const run = (calls: ReadonlyArray<Call>): Command => {
  const callIds = calls.filter(isRunnable).map(({ id }) => id)
  return callIds.length === 0 ? awaitOthers : { _tag: "RunCalls", callIds }
}

/**
 * Returns what a state needs next, as a pure function: it knows neither limits nor the time.
 *
 * @category getters
 * @since 0.1.0
 */
export const next = (self: AgentState): Command => {
  const command = unlessFatal(self)
  const { run: { fatal }, status } = self
  return fatal === undefined || command._tag === "RunCalls" || status._tag === "Failed"
    ? command
    : { _tag: "FailRun", fatal }
}

/** Returns what a state needs next, even if a fatal call ends its run: a mode's set-up or clean-up may still talk to the agent. */
export const unlessFatal = (self: AgentState): Command => {
  switch (self.status._tag) {
    case "InProgress":
      return askModel
    case "WaitingForTools":
      return run(openCalls(self.conversation))
    case "HandoffRequested": {
      const { request } = self.status
      const others = openCalls(self.conversation).filter((call) => call.id !== request.callId)
      return others.length === 0 ? { _tag: "HandOver", request } : run(others)
    }
    case "Complete":
    case "Failed":
      return stop
  }
}
