/**
 * The whole of a dialogue as an immutable value: what was said, the dialogue's status, and the state of each agent.
 *
 * 1. A dialogue's state is data: it names agents, never holds one, and survives JSON in every status.
 * 2. `heard` says how many entries of the transcript an agent was told; it grows only as the agent is told.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import { Count } from "../../domain/Count.ts"
import * as StateSchema from "../../domain/StateSchema.ts"
import * as Status from "./DialogueStatus.ts"
import { Entry, type Input, userEntry } from "./Transcript.ts"

/**
 * Schema for an agent's part in a dialogue: its own state, once it was asked, and how much of the transcript it heard.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Participant = Schema.Struct({
  name: Schema.NonEmptyString,
  heard: Count,
  state: Schema.optionalKey(StateSchema.AgentState)
})

/** An agent's part in a dialogue. */
export interface Participant extends Schema.Schema.Type<typeof Participant> {}

/**
 * The whole of a dialogue as an immutable value.
 *
 * `turns` counts the turns since the user last spoke, or since the dialogue was reopened.
 *
 * @category models
 * @since 0.1.0
 */
export interface DialogueState extends Schema.Schema.Type<typeof Unchecked> {}

const Unchecked = Schema.Struct({
  version: Schema.Literal(1),
  participants: Schema.Array(Participant),
  transcript: Schema.Array(Entry),
  turns: Count,
  status: Status.DialogueStatus
})

/** Returns how a state contradicts itself, if it does. */
const contradiction = ({ participants, status, transcript }: DialogueState): Schema.FilterIssue | undefined => {
  const names = new Map(participants.map((participant) => [participant.name, participant]))
  if (names.size < participants.length) return { path: ["participants"], issue: "Expected different names" }
  const deaf = participants.findIndex(({ heard }) => heard > transcript.length)
  if (deaf >= 0) {
    return { path: ["participants", deaf, "heard"], issue: "Expected at most the number of entries in the transcript" }
  }
  let turn = 0
  for (const [index, entry] of transcript.entries()) {
    if (entry._tag === "User") continue
    const path = ["transcript", index]
    if (!names.has(entry.speaker)) return { path: [...path, "speaker"], issue: "Expected a participant" }
    if (entry.turn !== turn) return { path: [...path, "turn"], issue: `Expected turn ${turn}` }
    turn++
  }
  if (status._tag === "Chosen" && !names.has(status.speaker)) {
    return { path: ["status", "speaker"], issue: "Expected a participant" }
  }
  if (status._tag === "Speaking" && names.get(status.speaker)?.state === undefined) {
    return { path: ["status", "speaker"], issue: "Expected a participant with a state" }
  }
  return status._tag === "Deciding" && turn === 0
    ? { path: ["status"], issue: "Expected a complete turn before deciding" }
    : undefined
}

/**
 * Schema for the whole of a dialogue.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DialogueState = Unchecked.check(
  Schema.makeFilter((state) => contradiction(state), { expected: "a dialogue that doesn't contradict itself" })
)

/** Makes the state of a dialogue in which the user has said the first words and nobody else has spoken. */
export const make = (names: ReadonlyArray<string>, opening: Input): DialogueState => ({
  version: 1,
  participants: names.map((name) => ({ name, heard: 0 })),
  transcript: [userEntry(opening)],
  turns: 0,
  status: Status.choosing
})

/** Returns an agent's part. */
export const participantOf = (self: DialogueState, name: string): Participant | undefined =>
  self.participants.find((participant) => participant.name === name)

/** Changes an agent's part. */
export const withParticipant = (
  self: DialogueState,
  name: string,
  changes: Partial<Omit<Participant, "name">>
): DialogueState => ({
  ...self,
  participants: self.participants.map((participant) =>
    participant.name === name ? { ...participant, ...changes } : participant
  )
})

/**
 * Returns the state of an agent in a dialogue, or `undefined` if it wasn't asked yet.
 *
 * @category getters
 * @since 0.1.0
 */
export const agentState: {
  (name: string): (self: DialogueState) => StateSchema.AgentState | undefined
  (self: DialogueState, name: string): StateSchema.AgentState | undefined
} = dual(2, (self: DialogueState, name: string) => participantOf(self, name)?.state)

/**
 * Replaces the state of an agent in a dialogue, for example by one in which a call is approved.
 *
 * Does nothing if the name isn't a participant's.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withAgentState: {
  (name: string, state: StateSchema.AgentState): (self: DialogueState) => DialogueState
  (self: DialogueState, name: string, state: StateSchema.AgentState): DialogueState
} = dual(
  3,
  (self: DialogueState, name: string, state: StateSchema.AgentState) => withParticipant(self, name, { state })
)

/**
 * Lets a dialogue that ended continue, for as many turns as a new one.
 *
 * The reason for its end isn't checked again until the next turn is complete. In a dialogue that hasn't ended, only the count of turns
 * begins again.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reopen = (self: DialogueState): DialogueState => ({
  ...self,
  turns: 0,
  status: self.status._tag === "Ended" ? Status.choosing : self.status
})

/**
 * Lets the user say something to everybody, and reopens the dialogue.
 *
 * An agent whose turn is under way completes it first, and reads the words in its next one.
 *
 * @category combinators
 * @since 0.1.0
 */
export const say: {
  (input: Input): (self: DialogueState) => DialogueState
  (self: DialogueState, input: Input): DialogueState
} = dual(2, (self: DialogueState, input: Input): DialogueState => {
  const transcript = [...self.transcript, userEntry(input)]
  return self.status._tag === "Deciding"
    ? { ...self, transcript, turns: 0, status: Status.choosing }
    : reopen({ ...self, transcript })
})
