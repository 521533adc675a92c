/**
 * Running dialogues: to their end, or as a stream.
 *
 * `run` does the same as `stream`, but doesn't ask the agents' models to stream.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Stream from "effect/Stream"
import type { AgentError } from "../../domain/AgentError.ts"
import type { DialogueError } from "./DialogueError.ts"
import type { DialogueEvent } from "./DialogueEvent.ts"
import { type DialogueState, make } from "./DialogueState.ts"
import { type Any, type Dialogue, isDialogue } from "./DialogueType.ts"
import { play, prepare } from "./Loop.ts"
import type { Input } from "./Transcript.ts"
import * as Turn from "./Turn.ts"

type Failure<E> = DialogueError<AgentError | E>

/** A function that runs a dialogue. The dialogue is its first argument, or is piped. */
interface Runs<Args extends ReadonlyArray<unknown>> {
  (...args: Args): <Name extends string, E, R>(
    self: Dialogue<Name, E, R>
  ) => Effect.Effect<DialogueState, Failure<E>, R>
  <Name extends string, E, R>(
    self: Dialogue<Name, E, R>,
    ...args: Args
  ): Effect.Effect<DialogueState, Failure<E>, R>
}

const isState = (from: Input | DialogueState): from is DialogueState => typeof from === "object" && "transcript" in from

/**
 * Returns the state of a new dialogue, in which the user has said the first words; `stream` and `resume` take it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const begin: {
  (opening: Input): <Name extends string, E, R>(self: Dialogue<Name, E, R>) => DialogueState
  <Name extends string, E, R>(self: Dialogue<Name, E, R>, opening: Input): DialogueState
} = dual(2, (self: Any, opening: Input) => make(self.participants.map(({ name }) => name), opening))

/**
 * Lets the participants talk about what a user says to all of them, until the dialogue ends or a call awaits approval or its result.
 *
 * Fails with `DialogueError`, which holds the dialogue's state.
 *
 * @category running
 * @since 0.1.0
 */
export const run: Runs<[opening: Input]> = dual(
  2,
  // `Runs` says what the untyped implementation fails with and needs.
  (self: Any, opening: Input) => resume(self, begin(self, opening)) as never
)

/**
 * Continues a dialogue where it stopped: after an approval, a result, a failure, an interruption, or a restart.
 *
 * An agent whose turn was under way continues that turn, and isn't told anything twice. If its run failed, its state in the
 * `DialogueState` is reopened first. A dialogue that has ended is returned as it is: `reopen` and `say` make one that continues.
 *
 * Fails with `DialogueError`; its reason is `ParticipantMismatch` if the state belongs to a dialogue with other participants.
 *
 * **Example** (Another day, with another word)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const debate = Dialogue.make(Agent.make("ada"), Agent.make("bob"), { maxTurns: 2 })
 *
 * const program = Effect.gen(function*() {
 *   const first = yield* Dialogue.run(debate, "Tea or coffee?")
 *   const stored = JSON.stringify(Dialogue.toJson(first))
 *   const read = yield* Effect.fromResult(Dialogue.fromJson(stored))
 *   return yield* Dialogue.resume(debate, Dialogue.say(read, "Or water?"))
 * }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Tea.", "Coffee.", "Water!", "Water, then."))))
 *
 * const { transcript } = await Effect.runPromise(program)
 *
 * transcript.map(Dialogue.textOf)
 * // => ["Tea or coffee?", "Tea.", "Coffee.", "Or water?", "Water!", "Water, then."]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const resume: Runs<[state: DialogueState]> = dual(2, (self: Any, state: DialogueState) =>
  Effect.suspend(() => {
    const performance = prepare(self, state, Turn.whole)
    return Effect.map(Stream.runDrain(play(performance)), () => performance.state)
  }) as never)

/**
 * Runs a dialogue on what a user says, or continues a state, and streams events: turns as they begin and end, and every event of the
 * agents' runs between, text as it arrives.
 *
 * The agents' models are asked to stream. The last event (`DialogueEnded`, `DialogueSuspended`, `DialogueFailed` or
 * `DialogueInterrupted`) holds the last state. After a `DialogueFailed` the stream fails with the `DialogueError`, or with the defect
 * that ended the dialogue. `reduce` returns the state at any time, even if the reader is interrupted before the last event. A reader that
 * leaves interrupts the dialogue.
 *
 * **Example** (Words as they arrive)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const debate = Dialogue.make(Agent.make("ada"), Agent.make("bob"), { maxTurns: 2 })
 *
 * const program = Dialogue.stream(debate, "Tea or coffee?").pipe(
 *   Stream.map((event) =>
 *     event._tag === "TurnStarted"
 *       ? `${event.speaker}:`
 *       : event._tag === "TurnProgressed" && event.event._tag === "TextDelta"
 *       ? event.event.delta
 *       : ""
 *   ),
 *   Stream.filter((text) => text !== ""),
 *   Stream.runCollect,
 *   Effect.provide(MockModel.layer(MockModel.queue("Tea, please.", "Never.")))
 * )
 *
 * await Effect.runPromise(program) // => ["ada:", "Tea,", " please.", "bob:", "Never."]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const stream: {
  (
    from: Input | DialogueState
  ): <Name extends string, E, R>(self: Dialogue<Name, E, R>) => Stream.Stream<DialogueEvent, Failure<E>, R>
  <Name extends string, E, R>(
    self: Dialogue<Name, E, R>,
    from: Input | DialogueState
  ): Stream.Stream<DialogueEvent, Failure<E>, R>
} = dual(
  (args) => isDialogue(args[0]),
  (self: Any, from: Input | DialogueState) =>
    Stream.suspend(() => play(prepare(self, isState(from) ? from : begin(self, from), Turn.streamed))) as never
)
