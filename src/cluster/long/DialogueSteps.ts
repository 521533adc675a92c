/**
 * What happens in a dialogue on a cluster, as steps, and the state that they lead to.
 *
 * The state has no states of agents: those are kept in the agents' conversations.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Failure } from "../../domain/AgentStatus.ts"
import { EndReason } from "../../handoff/dialogue/DialogueStatus.ts"
import type { Kind } from "./Steps.ts"

const turn = { speaker: Schema.String, turn: Schema.Int }

/**
 * Schema for what happens in a dialogue on a cluster.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Step = Schema.TaggedUnion({
  /** The user says something to all. */
  UserSpoke: { input: Schema.Json },
  /** The dialogue was resumed. */
  DialogueResumed: {},
  /** An agent was chosen to speak next. */
  SpeakerChosen: turn,
  /** An agent's turn begins, in answering a message. */
  TurnStarted: { ...turn, message: Schema.String },
  /**
   * A call of the agent whose turn it is was approved or denied, or got its result, in answering a message. With `error` the agent's run
   * then failed.
   */
  TurnDecided: { message: Schema.String, error: Schema.optionalKey(Failure) },
  /**
   * The agent has stopped: it awaits an approval or a result, failed or was cancelled. `isTold` says whether it has taken in what it
   * missed, and `events` how many events its conversation has.
   */
  TurnStopped: { ...turn, isTold: Schema.Boolean, events: Schema.Int },
  /** The agent has spoken: `text` is what the others hear, and `events` is how many events its conversation has. */
  TurnCompleted: { ...turn, text: Schema.String, events: Schema.Int },
  /** The dialogue has ended. */
  DialogueEnded: { reason: EndReason }
})

/** What happens in a dialogue on a cluster. */
export type Step = typeof Step.Type

const Entry = Schema.Union([
  Schema.TaggedStruct("User", { input: Schema.Json }),
  Schema.TaggedStruct("Agent", { ...turn, text: Schema.String })
])

/** The turn that is under way: in which message it began, and whether its agent has taken in what it missed. */
const Turn = Schema.Struct({
  speaker: Schema.String,
  message: Schema.optionalKey(Schema.String),
  isTold: Schema.Boolean,
  decided: Schema.optionalKey(Schema.Struct({ message: Schema.String, error: Schema.optionalKey(Failure) }))
})

/**
 * Schema for how far a dialogue on a cluster is: what was said, how much of that each agent has heard, and how many events each agent's
 * conversation has. `next` is what is to be done.
 *
 * @category schemas
 * @since 0.1.0
 */
export const State = Schema.Struct({
  transcript: Schema.Array(Entry),
  turns: Schema.Int,
  heard: Schema.Record(Schema.String, Schema.Int),
  events: Schema.Record(Schema.String, Schema.Int),
  next: Schema.Union([
    Schema.TaggedStruct("Choose", {}),
    Schema.TaggedStruct("Decide", {}),
    Schema.TaggedStruct("TakeTurn", { turn: Turn }),
    Schema.TaggedStruct("Stop", { reason: EndReason })
  ])
})

/** How far a dialogue on a cluster is. */
export interface State extends Schema.Schema.Type<typeof State> {}

type Turn = typeof Turn.Type

const choose: State["next"] = { _tag: "Choose" }

const heardNow = (self: State, speaker: string): State => ({
  ...self,
  heard: { ...self.heard, [speaker]: self.transcript.length }
})

/** Changes the turn that is under way. */
const inTurn = (self: State, change: (turn: Turn) => Turn): State =>
  self.next._tag === "TakeTurn" ? { ...self, next: { _tag: "TakeTurn", turn: change(self.next.turn) } } : self

const isTold = ({ next }: State): boolean => next._tag === "TakeTurn" && next.turn.isTold

const take = (self: State, step: Step): State => {
  switch (step._tag) {
    case "UserSpoke": {
      const transcript = [...self.transcript, { _tag: "User" as const, input: step.input }]
      return { ...self, transcript, turns: 0, next: self.next._tag === "TakeTurn" ? self.next : choose }
    }
    case "DialogueResumed":
      return self
    case "SpeakerChosen":
      return { ...self, next: { _tag: "TakeTurn", turn: { speaker: step.speaker, isTold: false } } }
    case "TurnStarted":
      return inTurn(self, (turn) => ({ ...turn, message: turn.message ?? step.message }))
    case "TurnDecided": {
      const { error, message } = step
      return inTurn(self, (turn) => ({
        ...turn,
        decided: { message, ...(error === undefined ? undefined : { error }) }
      }))
    }
    case "TurnStopped": {
      const { events, isTold: isToldNow, speaker } = step
      const told = isToldNow && !isTold(self) ? heardNow(self, speaker) : self
      const counted = { ...told, events: { ...told.events, [speaker]: events } }
      return inTurn(counted, (turn) => ({ ...turn, isTold: isToldNow }))
    }
    case "TurnCompleted": {
      const { events, speaker, text, turn } = step
      const told = isTold(self) ? self : heardNow(self, speaker)
      return {
        ...told,
        events: { ...told.events, [speaker]: events },
        transcript: [...told.transcript, { _tag: "Agent", speaker, turn, text }],
        turns: told.turns + 1,
        next: { _tag: "Decide" }
      }
    }
    case "DialogueEnded":
      return { ...self, next: { _tag: "Stop", reason: step.reason } }
  }
}

/** Dialogues on a cluster, as a kind of long run. */
export const kind: Kind<State, Step> = {
  begin: { transcript: [], turns: 0, heard: {}, events: {}, next: choose },
  take,
  state: State,
  step: Step
}
