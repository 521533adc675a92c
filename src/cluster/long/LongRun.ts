/**
 * What a long run on a cluster is: its steps, how it is played, and the conversations of its agents.
 *
 * The id of a call has the place of its agent in front: agents don't know of each other's ids.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Input } from "../../agent/definition/Input.ts"
import type { Failure } from "../../domain/AgentStatus.ts"
import type { Stored } from "../../domain/EventJson.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Answer } from "../Answer.ts"
import type { Client, ClusterError } from "../Client.ts"
import type { ConversationError } from "../ConversationError.ts"
import type { UnknownCall } from "../UnknownCall.ts"
import type * as StepLog from "./StepLog.ts"
import type * as Steps from "./Steps.ts"

/** The conversation of one of its agents, as a long run talks to it. */
export type Child = Client<Input, Answer, AgentState, Stored>

/**
 * The conversation that an agent of a long run has: the place of the agent, what the ids of its calls begin with, and what stands behind
 * the long run's own id.
 */
export interface Place {
  readonly place: string
  readonly name: string
  readonly suffix: string
}

/** How a long run stands when a message is answered. */
export type Outcome = Omit<Answer, "unknown" | "cursor">

/** What a long run is played with. */
export interface Play<State, Step> {
  readonly state: State
  /** The message that is being answered. */
  readonly message: string
  readonly keep: StepLog.StepLog<State, Step>["keep"]
  readonly isClosed: () => boolean
  readonly child: (of: Place) => Child
}

/** What an approval, a denial or a given result led to. */
interface Decision {
  readonly place: string
  readonly message: string
  readonly error: Failure | undefined
}

/** What makes a long run: its steps, and how it is played until it ends, fails, or all that could run waits for an approval or a result. */
export interface LongRun<State, Step> {
  readonly kind: Steps.Kind<State, Step>
  readonly said: (input: Schema.Json) => Step
  readonly resumed: Step
  readonly decided: (decision: Decision) => Step
  readonly play: (play: Play<State, Step>) => Effect.Effect<Outcome, unknown>
  /** Checks whether a state names something that a new version lacks. `play` then fails, says what, and does nothing. */
  readonly isMismatched: (state: State) => boolean
  /** The conversations in which calls may await an approval or a result. */
  readonly waiting: (state: State) => ReadonlyArray<Place>
  /** All conversations of the long run's agents. */
  readonly conversations: (state: State) => ReadonlyArray<Place>
  /** What was started, isn't a call of an agent, and of which nobody knows whether it took effect. */
  readonly unknown: (state: State) => ReadonlyArray<UnknownCall>
  /** What is shown of a state. */
  readonly show: (
    state: State,
    child: (of: Place) => Child
  ) => Effect.Effect<Schema.Json, ConversationError | ClusterError>
}

/** Names a call of an agent by its place. */
export const callIn = ({ name }: Place, callId: string): string => `${name}/${callId}`

/** Names the calls of an agent by its place. */
export const callsIn = <Call extends UnknownCall>(of: Place, calls: ReadonlyArray<Call>): ReadonlyArray<Call> =>
  calls.map((call) => ({ ...call, callId: callIn(of, call.callId), path: [of.place, ...call.path] }))

/** Names what an agent's conversation waits for by its place. */
export const waitingIn = (of: Place, { awaited, pending }: Pick<Answer, "pending" | "awaited">) => ({
  pending: callsIn(of, pending),
  ...(awaited === undefined ? undefined : { awaited: callsIn(of, awaited) })
})

/** Gathers what several conversations wait for. */
export const allWaiting = (all: ReadonlyArray<Pick<Answer, "pending" | "awaited">>) => {
  const awaited = all.flatMap(({ awaited = [] }) => awaited)
  return { pending: all.flatMap(({ pending }) => pending), ...(awaited.length === 0 ? undefined : { awaited }) }
}
