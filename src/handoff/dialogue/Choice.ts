/**
 * Who speaks next, as a function of the transcript.
 *
 * A choice is a function that gives a name, with an Effect or without. Those that are made here know what to do where
 * they find nobody: they go round.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import { findMention } from "./Mention.ts"
import { lastSpeaker, type Transcript } from "./Transcript.ts"

/** One who may be chosen. */
export interface Candidate<out Name extends string = string> {
  readonly name: Name
  readonly description: string | undefined
}

/**
 * Gives the name of the one who speaks next.
 *
 * @category models
 * @since 0.1.0
 */
export type Choice<Name extends string, E = never, R = never> = (
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
) => Name | Effect.Effect<Name, E, R>

/** Chooses one of any participants, or one of some names. */
type Chooser<Found extends string = never> = <Name extends string>(
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
) => Name | Found

/**
 * Chooses the participants in their order, and begins anew after the last one.
 *
 * The one behind the last speaker is next, so a dialogue that goes on later goes on with whose turn it is.
 *
 * @category choices
 * @since 0.1.0
 */
export const roundRobin: Chooser = (transcript, candidates) => {
  const last = lastSpeaker(transcript)
  const index = candidates.findIndex(({ name }) => name === last)
  return candidates[(index + 1) % candidates.length]!.name
}

/**
 * Chooses whom the last text mentions as `@name`, or whom a function of the transcript names. Where nobody is named it
 * goes round.
 *
 * Of several mentions the last one counts, and nobody chooses themselves by one.
 *
 * **Example** (The participant that is asked answers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const [ada, bob, cid] = [Agent.make("ada"), Agent.make("bob"), Agent.make("cid")]
 * const talk = Dialogue.make(ada, bob, cid, { speaker: Dialogue.byName(), maxTurns: 3 })
 *
 * const program = Dialogue.run(talk, "Who has the key?").pipe(
 *   Effect.provide(MockModel.layer(MockModel.queue("Ask @cid.", "I gave it to @bob.", "Here it is.")))
 * )
 *
 * const { transcript } = await Effect.runPromise(program)
 *
 * transcript.flatMap((entry) => entry._tag === "Agent" ? [entry.speaker] : []) // => ["ada", "cid", "bob"]
 * ```
 *
 * @category choices
 * @since 0.1.0
 */
export const byName: {
  (): Chooser
  <const Found extends string>(find: (transcript: Transcript) => Found | undefined): Chooser<Found>
} =
  <Found extends string>(find?: (transcript: Transcript) => Found | undefined): Chooser<Found> =>
  (transcript, candidates) =>
    (find === undefined ? findMention(transcript, candidates.map(({ name }) => name)) : find(transcript)) ??
      roundRobin(transcript, candidates)

/**
 * A predicate on the transcript, with an Effect or without.
 *
 * @category models
 * @since 0.1.0
 */
export type Predicate<E = never, R = never> = (transcript: Transcript) => boolean | Effect.Effect<boolean, E, R>

/** A predicate, and whom to choose where it holds. */
export type Case<Name extends string = string, E = unknown, R = unknown> = readonly [
  predicate: Predicate<E, R>,
  name: Name
]

type FailureOf<A> = A extends Effect.Effect<unknown, infer E, unknown> ? E : never
type ServicesOf<A> = A extends Effect.Effect<unknown, unknown, infer R> ? R : never
type CaseFailure<C extends Case> = FailureOf<ReturnType<C[0]>>
type CaseServices<C extends Case> = ServicesOf<ReturnType<C[0]>>

/**
 * Chooses by the first predicate that holds of the transcript. Where none does it chooses `otherwise`, or goes round.
 *
 * **Example** (A judge after every second turn)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const [ada, bob, judge] = [Agent.make("ada"), Agent.make("bob"), Agent.make("judge")]
 * const debate = Dialogue.make(ada, bob, judge, {
 *   speaker: Dialogue.byPredicate([
 *     [(transcript) => transcript.length % 3 === 0, "judge"],
 *     [(transcript) => Dialogue.lastSpeaker(transcript) === "ada", "bob"]
 *   ], "ada"),
 *   maxTurns: 4
 * })
 *
 * const program = Dialogue.run(debate, "Tea or coffee?").pipe(
 *   Effect.provide(MockModel.layer(MockModel.queue("Tea.", "Coffee.", "Reasons!", "It is warm.")))
 * )
 *
 * const { transcript } = await Effect.runPromise(program)
 *
 * transcript.flatMap((entry) => entry._tag === "Agent" ? [entry.speaker] : []) // => ["ada", "bob", "judge", "ada"]
 * ```
 *
 * @category choices
 * @since 0.1.0
 */
export const byPredicate = <const Cases extends ReadonlyArray<Case>, const Otherwise extends string = never>(
  cases: Cases,
  otherwise?: Otherwise
): <Name extends string>(
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
) => Effect.Effect<Name | Cases[number][1] | Otherwise, CaseFailure<Cases[number]>, CaseServices<Cases[number]>> =>
(transcript, candidates) =>
  Effect.map(
    Effect.findFirst(cases, ([predicate]) =>
      MaybeEffect.call(
        () => predicate(transcript),
        (holds) => Wanted.boolean("A predicate of `Dialogue.byPredicate`", holds)
      )),
    (found) => found._tag === "Some" ? found.value[1] : otherwise ?? roundRobin(transcript, candidates)
  ) as Effect.Effect<never>
