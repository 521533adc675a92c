/**
 * Who speaks next, as a function of the transcript.
 *
 * A choice is a function that returns a name, directly or in an Effect. If a choice made here finds nobody, the next participant in the
 * order speaks.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import { findMention } from "./Mention.ts"
import { lastSpeaker, type Transcript } from "./Transcript.ts"

/** A participant that may be chosen. */
export interface Candidate<out Name extends string = string> {
  readonly name: Name
  readonly description: string | undefined
}

/**
 * Returns the name of the participant who speaks next, directly or in an Effect.
 *
 * If the Effect fails, the dialogue fails with the reason `ChoiceFailed`; a name that isn't a participant's fails it with `UnknownSpeaker`.
 *
 * @category models
 * @since 0.1.0
 */
export type Choice<Name extends string, E = never, R = never> = (
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
) => Name | Effect.Effect<Name, E, R>

/** Chooses any participant, or one of the given names. */
type Chooser<Found extends string = never> = <Name extends string>(
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
) => Name | Found

/**
 * Chooses the participants in their order, and starts over after the last one.
 *
 * The participant after the last speaker is next, also in a dialogue that continues later.
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
 * Chooses the participant whom the last text mentions as `@name`, or whom a function of the transcript names. If nobody is named, the next
 * one in the order speaks.
 *
 * Of several mentions the last one counts. A speaker's mention of itself is ignored.
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
 * A predicate on the transcript, which returns directly or in an Effect.
 *
 * @category models
 * @since 0.1.0
 */
export type Predicate<E = never, R = never> = (transcript: Transcript) => boolean | Effect.Effect<boolean, E, R>

/** A predicate, and whom to choose if it holds. */
export type Case<Name extends string = string, E = unknown, R = unknown> = readonly [
  predicate: Predicate<E, R>,
  name: Name
]

type FailureOf<A> = A extends Effect.Effect<unknown, infer E, unknown> ? E : never
type ServicesOf<A> = A extends Effect.Effect<unknown, unknown, infer R> ? R : never
type CaseFailure<C extends Case> = FailureOf<ReturnType<C[0]>>
type CaseServices<C extends Case> = ServicesOf<ReturnType<C[0]>>

/**
 * Chooses by the first predicate that holds for the transcript. If none does, it chooses `otherwise`, or the next one in the order.
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
