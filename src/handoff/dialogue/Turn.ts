/**
 * One turn of a dialogue: an agent is told what it missed, and runs to its own end, tools included.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Conversation from "../../domain/Conversation.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { failedState } from "../FailedState.ts"
import * as Runnable from "../Runnable.ts"
import { answersOf } from "./Answers.ts"
import type { DialogueEvent } from "./DialogueEvent.ts"
import { type DialogueState, participantOf } from "./DialogueState.ts"
import { turnsIn, wordsFor } from "./Transcript.ts"

/** Whose turn it is, and its number. */
export interface TurnPlace {
  readonly speaker: string
  readonly turn: number
}

/** Returns whose turn it is in a state. */
export const placeOf = (state: DialogueState, speaker: string): TurnPlace => ({
  speaker,
  turn: turnsIn(state.transcript)
})

/**
 * Returns what an agent's run starts from: what it missed, if it wasn't told yet, or else the place where it stopped. The others' states
 * don't change during its turn, so a resumed turn makes the same ids.
 */
const fromOf = (state: DialogueState, speaker: string): Runnable.From => {
  const participant = participantOf(state, speaker)
  return {
    state: participant?.state,
    input: state.status._tag === "Chosen"
      ? wordsFor(state.transcript, speaker, participant?.heard ?? 0)
      : undefined,
    beside: state.participants.flatMap(({ name, state }) => name === speaker || state === undefined ? [] : [state])
  }
}

/** Returns the last words of a run: its answer, or, if that is empty, what it said before. */
const lastWords = (state: AgentState): string =>
  answersOf(state).map(Conversation.textOf).findLast((text) => text.trim() !== "") ?? ""

/** Returns what an agent said in a complete run: its answer, as JSON if it isn't a text. */
const spokenBy = (agent: Runnable.Any, state: AgentState): string => {
  const said = Runnable.said(agent, state)
  const text = typeof said === "string" ? said : JSON.stringify(said)
  return text.trim() === "" ? lastWords(state) : text
}

/** Emits how a run that didn't fail ended. */
const ended = (agent: Runnable.Any, place: TurnPlace, state: AgentState): DialogueEvent =>
  state.status._tag === "Complete"
    ? { _tag: "TurnCompleted", ...place, text: spokenBy(agent, state), state }
    : { _tag: "TurnSuspended", ...place, state }

/** What a failed run has left: the state of its agent, and whether the agent had been told what it missed. */
export interface Left {
  readonly told: boolean
  readonly state?: AgentState
}

/** A run that rejects its input leaves the conversation as it was. */
const leftBy = (from: Runnable.From, cause: Cause.Cause<unknown>): Left => {
  const state = Option.getOrUndefined(failedState(cause))
  if (state === undefined) return { told: false }
  const before = from.state?.conversation ?? Conversation.empty
  return { told: state.conversation !== before && state.conversation.turns.length > 0, state }
}

/** How an agent's turn is taken: `read` returns the current state of the dialogue. */
export type Take = (
  agent: Runnable.Any,
  place: TurnPlace,
  read: () => DialogueState,
  onFailure: (left: Left) => void
) => Stream.Stream<DialogueEvent, unknown, unknown>

/** Takes a turn, and emits only how it ended. */
export const whole: Take = (agent, place, read, onFailure) =>
  Stream.suspend(() => {
    const from = fromOf(read(), place.speaker)
    return Stream.fromEffect(
      Runnable.run(agent, from).pipe(
        Effect.onError((cause) => Effect.sync(() => onFailure(leftBy(from, cause)))),
        Effect.map((state) => ended(agent, place, state))
      )
    )
  })

/** Takes a turn, and emits all events of the agent's run. */
export const streamed: Take = (agent, place, read, onFailure) =>
  Stream.suspend(() => {
    const left = (): Left => {
      const state = participantOf(read(), place.speaker)?.state
      return { told: read().status._tag === "Speaking", ...(state === undefined ? undefined : { state }) }
    }
    return Runnable.stream(agent, fromOf(read(), place.speaker)).pipe(
      Stream.map((event): DialogueEvent => ({ _tag: "TurnProgressed", ...place, event })),
      Stream.onError(() => Effect.sync(() => onFailure(left()))),
      Stream.concat(
        Stream.suspend(() => {
          const state = participantOf(read(), place.speaker)?.state
          return state === undefined
            ? Stream.die(new Error(`Agent "${place.speaker}" ended its run without a state`))
            : Stream.succeed(ended(agent, place, state))
        })
      )
    )
  })
