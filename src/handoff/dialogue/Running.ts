/**
 * Running dialogues: to their end, or as a stream.
 *
 * There is one loop: what the state needs next is done, what happened is taken in, until nothing is needed any more.
 * Running is the stream of that loop with nobody looking on.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { AgentError } from "../../domain/AgentError.ts"
import {
  AgentFailed,
  ChoiceFailed,
  DialogueError,
  messageOf,
  ParticipantMismatch,
  type Reason,
  UnknownSpeaker,
  UntilFailed
} from "./DialogueError.ts"
import { type DialogueEvent, isDialogueEnd, reduce } from "./DialogueEvent.ts"
import * as State from "./DialogueState.ts"
import type { EndReason } from "./DialogueStatus.ts"
import { type Any, type Definition, definitionOf, type Dialogue, isDialogue } from "./DialogueType.ts"
import { isCalled } from "./StopTool.ts"
import { type Input, lastSpeaker } from "./Transcript.ts"
import * as Turn from "./Turn.ts"

/** A dialogue while it runs: its state so far, the turn that is open, and what a turn that failed has left. */
interface Performance {
  readonly definition: Definition
  readonly names: ReadonlyArray<string>
  readonly take: Turn.Take
  state: State.DialogueState
  turn: Turn.Place | undefined
  left: Turn.Left
  hasEnded: boolean
}

type Events = Stream.Stream<DialogueEvent, Reason, unknown>

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
  if (agent === undefined) return Stream.fail(new UnknownSpeaker({ speaker, available: self.names }))
  return Stream.succeed<DialogueEvent>({ _tag: "TurnStarted", ...place }).pipe(
    Stream.concat(Stream.mapError(
      self.take(agent, place, () => self.state, (left) => {
        self.left = left
      }),
      (error): Reason => new AgentFailed({ ...place, error })
    )),
    // A turn that isn't complete stops the dialogue, whatever its agent waits for.
    Stream.concat(Stream.suspend(() => self.state.status._tag === "Speaking" ? suspended(self) : Stream.empty))
  )
}

const suspended = (self: Performance): Events => Stream.succeed({ _tag: "DialogueSuspended", state: self.state })

const choose = (self: Performance): Effect.Effect<DialogueEvent, Reason, unknown> =>
  Effect.suspend((): Effect.Effect<DialogueEvent, Reason, unknown> => {
    const { definition, names, state } = self
    if (!(state.turns < definition.maxTurns)) {
      return Effect.succeed(end(self, { _tag: "MaxTurnsReached", turns: state.turns }))
    }
    const chosen = definition.speaker(state.transcript, definition.participants)
    const speaker = Effect.isEffect(chosen)
      ? Effect.mapError(chosen, (error): Reason => new ChoiceFailed({ error }))
      : Effect.succeed(chosen)
    return Effect.flatMap(speaker, (speaker): Effect.Effect<DialogueEvent, Reason> =>
      names.includes(speaker)
        ? Effect.succeed({ _tag: "SpeakerChosen", ...Turn.placeOf(state, speaker) })
        : Effect.fail(new UnknownSpeaker({ speaker, available: names })))
  })

/** Gives why a dialogue ends with the turn that is complete, if it does. */
const findEnd = ({ definition, state }: Performance): Effect.Effect<EndReason | undefined, Reason, unknown> =>
  Effect.suspend(() => {
    const speaker = lastSpeaker(state.transcript)
    const agent = speaker === undefined ? undefined : State.agentState(state, speaker)
    if (speaker !== undefined && agent !== undefined && isCalled(agent, definition.stopTool)) {
      return Effect.succeed<EndReason>({ _tag: "StopToolCalled", speaker, tool: definition.stopTool })
    }
    const holds = definition.until?.(state.transcript) ?? false
    return Effect.map(
      Effect.isEffect(holds)
        ? Effect.mapError(holds, (error): Reason => new UntilFailed({ error }))
        : Effect.succeed(holds),
      (holds): EndReason | undefined => holds ? { _tag: "UntilHeld" } : undefined
    )
  })

/** Does what a dialogue needs next. */
const perform = (self: Performance): Events => {
  const command = State.next(self.state)
  switch (command._tag) {
    case "ChooseSpeaker":
      return Stream.fromEffect(choose(self))
    case "Decide":
      return Stream.fromEffect(
        Effect.flatMap(
          findEnd(self),
          (reason) => reason === undefined ? choose(self) : Effect.succeed(end(self, reason))
        )
      )
    case "TakeTurn":
      return takeTurn(self, command.speaker)
    case "AwaitApproval":
      return suspended(self)
    case "Stop":
      return Stream.succeed(end(self, command.reason))
  }
}

const mismatch = ({ names, state }: Performance): ParticipantMismatch | undefined => {
  const found = state.participants.map(({ name }) => name)
  return found.length === names.length && names.every((name) => found.includes(name))
    ? undefined
    : new ParticipantMismatch({ found, available: names })
}

const problemOf = (error: unknown): { readonly tag: string; readonly message: string } => ({
  tag: Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" && error._tag !== ""
    ? error._tag
    : "Failure",
  message: messageOf(error)
})

/** Ends what is open where a dialogue broke off, and then the dialogue. */
const breakOff = (self: Performance, cause: Cause.Cause<Reason>): Stream.Stream<DialogueEvent, DialogueError> => {
  const reason = Result.getOrUndefined(Cause.findError(cause))
  const isInterrupted = Cause.hasInterruptsOnly(cause)
  const error = reason === undefined ? { ...problemOf(Cause.squash(cause)), tag: "Defect" } : problemOf(reason)
  const open = self.turn
  const turnEnd: ReadonlyArray<DialogueEvent> = open === undefined
    ? []
    : isInterrupted
    ? [{ _tag: "TurnInterrupted", ...open }]
    : [{ _tag: "TurnFailed", ...open, error, ...self.left }]
  const events = Stream.concat(
    Stream.map(Stream.fromIterable(turnEnd), (event) => tell(self, event)),
    Stream.suspend(() =>
      Stream.succeed(
        isInterrupted
          ? tell(self, { _tag: "DialogueInterrupted", state: self.state })
          : tell(self, { _tag: "DialogueFailed", error, state: self.state })
      )
    )
  )
  return Stream.concat(
    events,
    Stream.suspend(() =>
      Stream.failCause(Cause.map(cause, (reason) => new DialogueError({ state: self.state, reason })))
    )
  )
}

const play = (self: Performance): Stream.Stream<DialogueEvent, DialogueError, unknown> => {
  const commands = Stream.unfold(undefined, () => Effect.sync(() => self.hasEnded ? undefined : [self, undefined]))
  const started = Stream.succeed<DialogueEvent>({ _tag: "DialogueStarted", state: self.state })
  const checked = Stream.suspend((): Events => {
    const reason = mismatch(self)
    return reason === undefined ? Stream.flatMap(commands, perform) : Stream.fail(reason)
  })
  return Stream.concat(started, checked).pipe(
    Stream.map((event) => tell(self, event)),
    Stream.catchCause((cause) => breakOff(self, cause))
  )
}

const prepare = (dialogue: Any, state: State.DialogueState, take: Turn.Take): Performance => ({
  definition: definitionOf(dialogue),
  names: dialogue.participants.map(({ name }) => name),
  take,
  state,
  turn: undefined,
  left: { told: false },
  hasEnded: false
})

const runFrom = (
  dialogue: Any,
  state: State.DialogueState
): Effect.Effect<State.DialogueState, DialogueError, unknown> =>
  Effect.suspend(() => {
    const performance = prepare(dialogue, state, Turn.whole)
    return Effect.map(Stream.runDrain(play(performance)), () => performance.state)
  })

const isState = (from: Input | State.DialogueState): from is State.DialogueState =>
  typeof from === "object" && "transcript" in from

/**
 * Begins a dialogue by hand: its state once the user has said the first words, for `stream` and `resume`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const begin: {
  (opening: Input): <Name extends string, E, R>(self: Dialogue<Name, E, R>) => State.DialogueState
  <Name extends string, E, R>(self: Dialogue<Name, E, R>, opening: Input): State.DialogueState
} = dual(
  2,
  (self: Any, opening: Input): State.DialogueState => State.make(self.participants.map(({ name }) => name), opening)
)

/**
 * Lets the participants talk about what a user says to all of them, until the dialogue ends or an agent awaits approval.
 *
 * Fails with `DialogueError`, which holds the dialogue's state.
 *
 * @category running
 * @since 0.1.0
 */
export const run: {
  (opening: Input): <Name extends string, E, R>(
    self: Dialogue<Name, E, R>
  ) => Effect.Effect<State.DialogueState, DialogueError<AgentError | E>, R>
  <Name extends string, E, R>(
    self: Dialogue<Name, E, R>,
    opening: Input
  ): Effect.Effect<State.DialogueState, DialogueError<AgentError | E>, R>
} = dual(
  2,
  (self: Any, opening: Input) =>
    runFrom(self, begin(self, opening)) as Effect.Effect<State.DialogueState, DialogueError<never>>
)

/**
 * Goes on with a dialogue where it stopped: after an approval, a failure, an interruption, or a restart.
 *
 * An agent whose turn was under way goes on with that turn; it isn't told again what it was told. A dialogue that has
 * ended stays ended: `reopen` and `say` make one that goes on. Fails with `ParticipantMismatch` when the state is of a
 * dialogue between others.
 *
 * @category running
 * @since 0.1.0
 */
export const resume: {
  (state: State.DialogueState): <Name extends string, E, R>(
    self: Dialogue<Name, E, R>
  ) => Effect.Effect<State.DialogueState, DialogueError<AgentError | E>, R>
  <Name extends string, E, R>(
    self: Dialogue<Name, E, R>,
    state: State.DialogueState
  ): Effect.Effect<State.DialogueState, DialogueError<AgentError | E>, R>
} = dual(
  2,
  (self: Any, state: State.DialogueState) =>
    runFrom(self, state) as Effect.Effect<State.DialogueState, DialogueError<never>>
)

/**
 * Runs a dialogue on what a user says, or goes on with a state, and streams what happens: turns as they begin and end,
 * and every event of the agents' runs between, text as it arrives.
 *
 * The agents' models are asked to stream. The last event (`DialogueEnded`, `DialogueSuspended`, `DialogueFailed` or
 * `DialogueInterrupted`) holds the last state; the stream then ends as the dialogue did. `reduce` gives the state at any
 * time, also to a reader that is interrupted before that event. A reader that leaves interrupts the dialogue.
 *
 * @category running
 * @since 0.1.0
 */
export const stream: {
  (from: Input | State.DialogueState): <Name extends string, E, R>(
    self: Dialogue<Name, E, R>
  ) => Stream.Stream<DialogueEvent, DialogueError<AgentError | E>, R>
  <Name extends string, E, R>(
    self: Dialogue<Name, E, R>,
    from: Input | State.DialogueState
  ): Stream.Stream<DialogueEvent, DialogueError<AgentError | E>, R>
} = dual(
  (args) => isDialogue(args[0]),
  (self: Any, from: Input | State.DialogueState) =>
    Stream.suspend(() => play(prepare(self, isState(from) ? from : begin(self, from), Turn.streamed))) as Stream.Stream<
      DialogueEvent,
      DialogueError<never>
    >
)
