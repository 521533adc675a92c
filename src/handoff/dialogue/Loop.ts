/**
 * The one loop of a dialogue: it does what the state needs next and takes in what happened, until nothing is needed.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import * as Runnable from "../Runnable.ts"
import { next } from "./DialogueCommand.ts"
import * as DialogueError from "./DialogueError.ts"
import { type DialogueEvent, isDialogueEnd, reduce } from "./DialogueEvent.ts"
import { agentState, type DialogueState } from "./DialogueState.ts"
import type { EndReason } from "./DialogueStatus.ts"
import { type Any, type Definition, definitionOf } from "./DialogueType.ts"
import * as Problem from "./Problem.ts"
import { isCalled } from "./StopTool.ts"
import { lastSpeaker } from "./Transcript.ts"
import * as Turn from "./Turn.ts"

/** A dialogue while it runs: its state so far, the turn that is open, and the state that a failed turn left. */
export interface Performance {
  readonly definition: Definition
  readonly names: ReadonlyArray<string>
  readonly take: Turn.Take
  state: DialogueState
  turn: Turn.TurnPlace | undefined
  left: Turn.Left
  hasEnded: boolean
}

type Events = Stream.Stream<DialogueEvent, DialogueError.Reason, unknown>

/** Takes an event into the state. */
const tell = (self: Performance, event: DialogueEvent): DialogueEvent => {
  self.state = reduce(self.state, event)
  if (event._tag === "TurnStarted") self.turn = { speaker: event.speaker, turn: event.turn }
  else if (event._tag === "TurnCompleted" || event._tag === "TurnSuspended") self.turn = undefined
  if (isDialogueEnd(event)) self.hasEnded = true
  return event
}

const end = (self: Performance, reason: EndReason): DialogueEvent => ({
  _tag: "DialogueEnded",
  state: { ...self.state, status: { _tag: "Ended", reason } }
})

const takeTurn = (self: Performance, speaker: string): Events => {
  const place = Turn.placeOf(self.state, speaker)
  const agent = self.definition.participants.find(({ name }) => name === speaker)
  if (agent === undefined) return Stream.fail(new DialogueError.UnknownSpeaker({ speaker, available: self.names }))
  const taken = self.take(agent, place, () => self.state, (left) => {
    self.left = left
  })
  return Stream.concat(
    Stream.succeed<DialogueEvent>({ _tag: "TurnStarted", ...place }),
    Stream.mapError(taken, (error): DialogueError.Reason => new DialogueError.AgentFailed({ ...place, error }))
  )
}

type Decided = Effect.fn.Return<DialogueEvent, DialogueError.Reason, unknown>

const choose = Effect.fnUntraced(function*(self: Performance): Decided {
  const { definition, names, state } = self
  if (state.turns >= definition.maxTurns) return end(self, { _tag: "MaxTurnsReached", turns: state.turns })
  const speaker = yield* Effect.mapError(
    MaybeEffect.call(
      () => definition.speaker(state.transcript, definition.participants),
      (speaker) => Wanted.name("`speaker` of a dialogue", speaker)
    ),
    (error) => new DialogueError.ChoiceFailed({ error })
  )
  if (!names.includes(speaker)) return yield* new DialogueError.UnknownSpeaker({ speaker, available: names })
  return { _tag: "SpeakerChosen", ...Turn.placeOf(state, speaker) }
})

/** Ends a dialogue after a complete turn if a condition says so, and otherwise chooses who speaks next. */
const decide = Effect.fnUntraced(function*(self: Performance): Decided {
  const { definition: { stopTool: tool, until }, state } = self
  const speaker = lastSpeaker(state.transcript)
  const agent = speaker === undefined ? undefined : agentState(state, speaker)
  if (speaker !== undefined && agent !== undefined && isCalled(agent, tool)) {
    return end(self, { _tag: "StopToolCalled", speaker, tool })
  }
  const holds = yield* Effect.mapError(
    MaybeEffect.call(
      () => until === undefined ? false : until(state.transcript),
      (holds) => Wanted.boolean("`until` of a dialogue", holds)
    ),
    (error) => new DialogueError.UntilFailed({ error })
  )
  return holds ? end(self, { _tag: "UntilHeld" }) : yield* choose(self)
})

/** Does what a dialogue needs next. */
const perform = (self: Performance): Events => {
  const command = next(self.state)
  switch (command._tag) {
    case "ChooseSpeaker":
      return Stream.fromEffect(choose(self))
    case "Decide":
      return Stream.fromEffect(decide(self))
    case "TakeTurn":
      return takeTurn(self, command.speaker)
    case "AwaitApproval":
      return Stream.succeed({ _tag: "DialogueSuspended", state: self.state })
    case "Stop":
      return Stream.succeed(end(self, command.reason))
  }
}

const mismatch = ({ names, state }: Performance): DialogueError.ParticipantMismatch | undefined => {
  const found = state.participants.map(({ name }) => name)
  return found.length === names.length && names.every((name) => found.includes(name))
    ? undefined
    : new DialogueError.ParticipantMismatch({ found, available: names })
}

/** Ends the open turn of a dialogue that broke off, and then the dialogue. */
const breakOff = (
  self: Performance,
  cause: Cause.Cause<DialogueError.Reason>
): Stream.Stream<DialogueEvent, DialogueError.DialogueError> => {
  const reason = Result.getOrUndefined(Cause.findError(cause))
  const isInterrupted = Cause.hasInterruptsOnly(cause)
  const error = reason === undefined ? Problem.fromDefect(Cause.squash(cause)) : Problem.fromFailure(reason)
  const open = self.turn
  const turnEnd: ReadonlyArray<DialogueEvent> = open === undefined
    ? []
    : isInterrupted
    ? [{ _tag: "TurnInterrupted", ...open }]
    : [{ _tag: "TurnFailed", ...open, error, ...self.left }]
  const dialogueEnd = (): DialogueEvent =>
    isInterrupted
      ? { _tag: "DialogueInterrupted", state: self.state }
      : { _tag: "DialogueFailed", error, state: self.state }
  return Stream.fromIterable(turnEnd).pipe(
    Stream.concat(Stream.sync(dialogueEnd)),
    Stream.map((event) => tell(self, event)),
    Stream.concat(
      Stream.failCauseSync(() =>
        Cause.map(cause, (reason) => new DialogueError.DialogueError({ state: self.state, reason }))
      )
    )
  )
}

/** Emits all events of a dialogue from its start, or from where it stopped, to its end. */
export const play = (self: Performance): Stream.Stream<DialogueEvent, DialogueError.DialogueError, unknown> => {
  const commands = Stream.unfold(undefined, () => Effect.sync(() => self.hasEnded ? undefined : [self, undefined]))
  const started = Stream.succeed<DialogueEvent>({ _tag: "DialogueStarted", state: self.state })
  const checked = Stream.suspend((): Events => {
    self.definition.check()
    const reason = mismatch(self)
    return reason === undefined ? Stream.flatMap(commands, perform) : Stream.fail(reason)
  })
  return Stream.concat(started, checked).pipe(
    Stream.map((event) => tell(self, event)),
    Stream.catchCause((cause) => breakOff(self, cause)),
    Stream.updateContext(Runnable.together(self.definition.participants))
  )
}

/** Makes a dialogue that is about to run. */
export const prepare = (dialogue: Any, state: DialogueState, take: Turn.Take): Performance => ({
  definition: definitionOf(dialogue),
  names: dialogue.participants.map(({ name }) => name),
  take,
  state,
  turn: undefined,
  left: { told: false },
  hasEnded: false
})
