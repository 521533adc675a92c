/**
 * How a state begins, and how a run does.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import { isTerminal } from "./AgentStatus.ts"
import { appendUnchecked, empty, hasOpenCalls, textOf } from "./conversation/Turns.ts"
import { statusIn, statusOf } from "./ImpliedStatus.ts"
import { timeOf } from "./InvalidLimit.ts"
import { agentNamed } from "./InvalidName.ts"
import { freeze } from "./JsonValue.ts"
import { fromInput } from "./PartCopy.ts"
import * as RunRecord from "./RunRecord.ts"
import type { AgentState, Blocked, Conversation, User } from "./StateSchema.ts"
import * as Usage from "./Usage.ts"
import * as Wanted from "./Wanted.ts"

/**
 * Makes the state of an agent before its first run, possibly with a conversation from elsewhere.
 *
 * Without `conversation` it has no turns; otherwise its status follows from them. `systemMessage` is text for the system prompt of this
 * conversation, after the agent's instructions; there is none by default. Throws `InvalidName` if the agent's name is empty.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  agent: string,
  options?: { readonly systemMessage?: string | undefined; readonly conversation?: Conversation | undefined }
): AgentState => ({
  version: 1,
  agent: agentNamed(agent),
  conversation: options?.conversation ?? empty,
  status: statusOf(options?.conversation ?? empty),
  ...(options?.systemMessage === undefined
    ? undefined
    : { systemMessage: Wanted.textGiven("`systemMessage`", options.systemMessage) }),
  steps: 0,
  usage: Usage.empty,
  run: RunRecord.begin(0),
  trail: [agent],
  modes: [],
  prompt: [],
  logs: []
})

/** Makes the state of an agent before any run. All conversations of the agent may begin with it, so it is frozen. */
export const initial = (agent: string): AgentState => freeze(make(agent))

/** Puts an agent in control of a new run. While calls or a handoff are open, the agent that they belong to stays in control. */
export const control = (self: AgentState, agent: string): AgentState => {
  if (agent === self.agent || self.status._tag === "HandoffRequested" || hasOpenCalls(self.conversation)) return self
  const { handoff: _, ...rest } = self
  return { ...rest, agent, trail: self.conversation.turns.length === 0 ? [agent] : [...self.trail, agent] }
}

/**
 * Lets a run that has ended continue: the status is derived anew from the conversation. Any other state is returned unchanged.
 *
 * A run that met a limit continues under a larger one as if the first had not been there; a run whose model failed asks the model again.
 * If the conversation ends with an answer, the status is `Complete`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reopen = (self: AgentState): AgentState => {
  if (!isTerminal(self.status)) return self
  // A run that is reopened may have a larger limit, so its next answer isn't its last.
  const { landing: _, ...run } = RunRecord.withoutFatal(self.run)
  return { ...self, status: statusOf(self.conversation), run }
}

/** Checks whether a guardrail blocked what a user said last. */
export const isBlocked = ({ conversation: { turns } }: AgentState): boolean => {
  const last = turns.findLast((turn) => turn._tag === "User" && turn.mode === undefined)
  return last?._tag === "User" && last.blocked !== undefined
}

/** Begins a run with what is said: by a user, or by a mode in the user's place. */
export const start = (
  self: AgentState,
  input: User["parts"],
  at: number,
  mode?: string,
  blocked?: Blocked
): AgentState => {
  const turn: User = {
    _tag: "User",
    parts: input,
    ...(mode === undefined ? undefined : { mode }),
    ...(blocked === undefined ? undefined : { blocked })
  }
  const conversation = appendUnchecked(self.conversation, turn)
  // If the words wait behind open calls, the count of handoffs doesn't restart.
  const isWaiting = self.status._tag === "WaitingForTools" || self.status._tag === "HandoffRequested"
  const handoffs = isWaiting ? self.run.handoffs : undefined
  // What a mode says isn't a user's input.
  const given = mode === undefined ? 1 : 0
  // A blocked input ended the run that it belonged to, even if that was reopened: the next words of a user begin another.
  const addsTo = isWaiting && !(given === 1 && isBlocked(self))
  const inputs = addsTo ? (self.run.inputs ?? 1) + given : given
  const query = self.initialQuery ?? (mode === undefined ? textOf(turn) : undefined)
  return {
    ...self,
    conversation,
    status: statusIn(self, conversation),
    ...(query === undefined ? undefined : { initialQuery: query }),
    run: {
      ...RunRecord.begin(at),
      ...(handoffs === undefined ? undefined : { handoffs }),
      ...(inputs === 1 ? undefined : { inputs })
    }
  }
}

/**
 * Begins a run by hand: the state with what a user says, at a time in epoch milliseconds, for `Agent.step` or `Agent.resume`. Throws
 * `InvalidLimit` if the time isn't finite.
 *
 * @category combinators
 * @since 0.1.0
 */
export const ask: {
  (input: string | User["parts"], at: number): (self: AgentState) => AgentState
  (self: AgentState, input: string | User["parts"], at: number): AgentState
} = dual(
  3,
  (self: AgentState, input: string | User["parts"], at: number): AgentState =>
    start(self, fromInput(input), timeOf("at", at))
)
