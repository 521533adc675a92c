/**
 * What happened in a dialogue, one value for each thing, and how it changes the dialogue's state.
 *
 * 1. The state of a dialogue is the fold of its events: `DialogueStarted` holds the one that it starts from.
 * 2. Every start has exactly one end: `dialogueStarts` says which ends which. A reader that is interrupted, or leaves, gets no events
 *    after that.
 * 3. What an agent says enters the transcript with its `TurnCompleted`, as a whole, and not before.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import * as AgentEvent from "../../domain/AgentEvent.ts"
import * as AgentState from "../../domain/AgentState.ts"
import { Count } from "../../domain/Count.ts"
import { AgentState as AgentStateSchema } from "../../domain/StateSchema.ts"
import { DialogueState, participantOf, withParticipant } from "./DialogueState.ts"
import { deciding } from "./DialogueStatus.ts"
import { Problem } from "./Problem.ts"

const turn = {
  speaker: Schema.NonEmptyString,
  turn: Count
}

/** Defines a case by its fields. A union of such structs is cheaper to import than one with matching functions. */
const cases = {
  DialogueStarted: Schema.TaggedStruct("DialogueStarted", { state: DialogueState }),
  SpeakerChosen: Schema.TaggedStruct("SpeakerChosen", turn),
  TurnStarted: Schema.TaggedStruct("TurnStarted", turn),
  TurnProgressed: Schema.TaggedStruct("TurnProgressed", { ...turn, event: AgentEvent.AgentEvent }),
  TurnCompleted: Schema.TaggedStruct("TurnCompleted", { ...turn, text: Schema.String, state: AgentStateSchema }),
  TurnSuspended: Schema.TaggedStruct("TurnSuspended", { ...turn, state: AgentStateSchema }),
  TurnFailed: Schema.TaggedStruct("TurnFailed", {
    ...turn,
    error: Problem,
    told: Schema.Boolean,
    state: Schema.optionalKey(AgentStateSchema)
  }),
  TurnInterrupted: Schema.TaggedStruct("TurnInterrupted", turn),
  DialogueEnded: Schema.TaggedStruct("DialogueEnded", { state: DialogueState }),
  DialogueSuspended: Schema.TaggedStruct("DialogueSuspended", { state: DialogueState }),
  DialogueFailed: Schema.TaggedStruct("DialogueFailed", { error: Problem, state: DialogueState }),
  DialogueInterrupted: Schema.TaggedStruct("DialogueInterrupted", { state: DialogueState })
}

/**
 * Schema for what happened in a dialogue.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DialogueEvent = Schema.Union(Object.values(cases))

type Case<Tag extends keyof typeof cases> = Schema.Schema.Type<(typeof cases)[Tag]>

/** A dialogue began, or continued where it had stopped, from `state`. */
export interface DialogueStarted extends Case<"DialogueStarted"> {}
/** The next speaker was chosen. */
export interface SpeakerChosen extends Case<"SpeakerChosen"> {}
/** An agent's turn began or continued. */
export interface TurnStarted extends Case<"TurnStarted"> {}
/** Something happened in the run of the agent whose turn it is. */
export interface TurnProgressed extends Case<"TurnProgressed"> {}
/** An agent's run ended, and what it said is `text`; `state` is the agent's own. */
export interface TurnCompleted extends Case<"TurnCompleted"> {}
/** An agent's run stopped for an approval or a result; the turn isn't over. */
export interface TurnSuspended extends Case<"TurnSuspended"> {}
/** An agent's run failed; `told` says whether the agent had been told what it missed. The turn isn't over. */
export interface TurnFailed extends Case<"TurnFailed"> {}
/** An agent's run was interrupted. The turn isn't over. */
export interface TurnInterrupted extends Case<"TurnInterrupted"> {}
/** The dialogue ended; `state` says why. */
export interface DialogueEnded extends Case<"DialogueEnded"> {}
/** The dialogue stopped because the agent whose turn it is awaits an approval or a result. */
export interface DialogueSuspended extends Case<"DialogueSuspended"> {}
/** The dialogue failed; `state` can be resumed. `error` has the tag of the `DialogueError`'s reason, or `Defect`, and the message. */
export interface DialogueFailed extends Case<"DialogueFailed"> {}
/** The dialogue was interrupted; `state` can be resumed. */
export interface DialogueInterrupted extends Case<"DialogueInterrupted"> {}

/**
 * What happened in a dialogue.
 *
 * @category models
 * @since 0.1.0
 */
export type DialogueEvent = DialogueStarted | SpeakerChosen | TurnStarted | TurnProgressed | TurnEnd | DialogueEnd

type TurnEnd = TurnCompleted | TurnSuspended | TurnFailed | TurnInterrupted
type DialogueEnd = DialogueEnded | DialogueSuspended | DialogueFailed | DialogueInterrupted

/**
 * For each event that starts something, the tags of the events that end it.
 *
 * @category constants
 * @since 0.1.0
 */
export const dialogueStarts: {
  readonly [Tag in "DialogueStarted" | "TurnStarted"]: ReadonlyArray<DialogueEvent["_tag"]>
} = {
  DialogueStarted: ["DialogueEnded", "DialogueSuspended", "DialogueFailed", "DialogueInterrupted"],
  TurnStarted: ["TurnCompleted", "TurnSuspended", "TurnFailed", "TurnInterrupted"]
}

/**
 * Checks whether an event ends the dialogue, or this run of it. Its `state` is the last one.
 *
 * @category guards
 * @since 0.1.0
 */
export const isDialogueEnd = (self: DialogueEvent): self is DialogueEnd =>
  dialogueStarts.DialogueStarted.includes(self._tag)

/** An agent has been told what it missed, and has this state now. */
const tell = (self: DialogueState, speaker: string, state: AgentState.AgentState): DialogueState =>
  self.status._tag === "Chosen"
    ? {
      ...withParticipant(self, speaker, { heard: self.transcript.length, state }),
      status: { _tag: "Speaking", speaker }
    }
    : withParticipant(self, speaker, { state })

/** An agent that failed is asked again as if it hadn't failed. */
const goOnWith = (self: DialogueState, speaker: string): DialogueState => {
  const state = participantOf(self, speaker)?.state
  return state?.status._tag === "Failed"
    ? withParticipant(self, speaker, { state: AgentState.reopen(state) })
    : self
}

const progress = (self: DialogueState, { event, speaker }: TurnProgressed): DialogueState => {
  const before = participantOf(self, speaker)?.state
  const after = AgentState.reduce(before ?? AgentState.make(event.path[0]), event)
  if (event._tag === "RunStarted" && event.calls.length === 0 && event.input !== undefined) {
    return tell(self, speaker, after)
  }
  return after === before ? self : withParticipant(self, speaker, { state: after })
}

const complete = (self: DialogueState, { speaker, state, text, turn }: TurnCompleted): DialogueState => {
  const told = tell(self, speaker, state)
  return {
    ...told,
    transcript: [...told.transcript, { _tag: "Agent", speaker, turn, text }],
    turns: told.turns + 1,
    status: deciding
  }
}

/**
 * Returns the state of a dialogue after an event. To fold the events of a new dialogue, begin with the state that `Dialogue.begin` returns.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reduce: {
  (event: DialogueEvent): (self: DialogueState) => DialogueState
  (self: DialogueState, event: DialogueEvent): DialogueState
} = dual(2, (self: DialogueState, event: DialogueEvent): DialogueState => {
  switch (event._tag) {
    case "DialogueStarted":
    case "DialogueEnded":
    case "DialogueSuspended":
    case "DialogueFailed":
    case "DialogueInterrupted":
      return event.state
    case "SpeakerChosen":
      return { ...self, status: { _tag: "Chosen", speaker: event.speaker } }
    case "TurnStarted":
      return goOnWith(self, event.speaker)
    case "TurnProgressed":
      return progress(self, event)
    case "TurnCompleted":
      return complete(self, event)
    case "TurnSuspended":
      return tell(self, event.speaker, event.state)
    case "TurnFailed":
      if (event.state === undefined) return self
      return event.told
        ? tell(self, event.speaker, event.state)
        : withParticipant(self, event.speaker, { state: event.state })
    case "TurnInterrupted":
      return self
  }
})
