/**
 * Who speaks next, as a function of the transcript.
 *
 * A choice is a function that gives a name, with an Effect or without. Those that are made here know what to do where
 * they find nobody: they go round.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import { lastSpeaker, lastText, toText, type Transcript } from "./Transcript.ts"

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

/**
 * Chooses the participants in their order, and begins anew after the last one.
 *
 * The one behind the last speaker is next, so a dialogue that goes on later goes on with whose turn it is.
 *
 * @category choices
 * @since 0.1.0
 */
export const roundRobin = <Name extends string>(
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
): Name => {
  const last = lastSpeaker(transcript)
  const index = candidates.findIndex(({ name }) => name === last)
  return candidates[(index + 1) % candidates.length]!.name
}

const isWordCharacter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_]/u.test(character)

/** Gives the last place where a text mentions a name, or -1. */
const lastMention = (text: string, name: string): number => {
  const mention = `@${name}`
  let at = text.lastIndexOf(mention)
  while (at >= 0 && (isWordCharacter(text[at - 1]) || isWordCharacter(text[at + mention.length]))) {
    at = at === 0 ? -1 : text.lastIndexOf(mention, at - 1)
  }
  return at
}

const findMention = <Name extends string>(
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
): Name | undefined => {
  const text = lastText(transcript)
  const last = transcript[transcript.length - 1]
  const speaker = last?._tag === "Agent" ? last.speaker : undefined
  let found: { readonly name: Name; readonly at: number } | undefined
  for (const { name } of candidates) {
    const at = name === speaker ? -1 : lastMention(text, name)
    const isFurther = found === undefined || at > found.at || (at === found.at && name.length > found.name.length)
    if (at >= 0 && isFurther) found = { name, at }
  }
  return found?.name
}

/**
 * Chooses whom the last text mentions as `@name`, or whom a function of the transcript names. Where nobody is named it
 * goes round.
 *
 * Of several mentions the last one counts, and nobody chooses themselves by one.
 *
 * **Example** (Whoever is asked answers)
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
  (): <Name extends string>(transcript: Transcript<Name>, candidates: ReadonlyArray<Candidate<Name>>) => Name
  <const Found extends string>(
    find: (transcript: Transcript) => Found | undefined
  ): <Name extends string>(transcript: Transcript<Name>, candidates: ReadonlyArray<Candidate<Name>>) => Name | Found
} =
  <Found extends string>(find?: (transcript: Transcript) => Found | undefined) =>
  <Name extends string>(transcript: Transcript<Name>, candidates: ReadonlyArray<Candidate<Name>>): Name | Found =>
    (find === undefined ? findMention(transcript, candidates) : find(transcript)) ?? roundRobin(transcript, candidates)

/**
 * A predicate on the transcript, with an Effect or without.
 *
 * @category models
 * @since 0.1.0
 */
export type Predicate<E = never, R = never> = (transcript: Transcript) => boolean | Effect.Effect<boolean, E, R>

/** Gives what a predicate says, as an Effect. What it throws is a defect. */
const holds = <E, R>(predicate: Predicate<E, R>, transcript: Transcript): Effect.Effect<boolean, E, R> =>
  Effect.suspend(() => {
    const answer = predicate(transcript)
    return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
  })

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
  (<Name extends string>(transcript: Transcript<Name>, candidates: ReadonlyArray<Candidate<Name>>) =>
    Effect.map(
      Effect.findFirst(cases, ([predicate]) => holds(predicate, transcript)),
      (found) => found._tag === "Some" ? found.value[1] : otherwise ?? roundRobin(transcript, candidates)
    )) as ReturnType<typeof byPredicate<Cases, Otherwise>>

/** Reads a name off a model's answer: the name, whatever its case, as a mention, or with marks around it. */
const nameIn = <Name extends string>(
  answer: string,
  candidates: ReadonlyArray<Candidate<Name>>
): Name | undefined => {
  const bare = (text: string): string => text.trim().replace(/^["'`*@]+|["'`*.]+$/g, "").toLowerCase()
  return candidates.find(({ name }) => name === answer.trim())?.name ??
    candidates.find(({ name }) => name.toLowerCase() === bare(answer))?.name
}

const question = (instructions: string, candidates: ReadonlyArray<Candidate>): string =>
  [
    instructions,
    "",
    ...candidates.map(({ description, name }) => description === undefined ? `- ${name}` : `- ${name}: ${description}`),
    "",
    "Answer with one of these names and nothing else."
  ].join("\n")

/**
 * Asks a `LanguageModel` who speaks next, by the participants' names and descriptions and the whole transcript.
 *
 * An answer that is no participant's name goes round instead. A model that gives no answer fails the dialogue.
 *
 * **Example** (A model that moderates)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Dialogue } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const doctor = Agent.make("doctor", { description: "Knows illnesses" })
 * const lawyer = Agent.make("lawyer", { description: "Knows contracts" })
 * const advice = Dialogue.make(doctor, lawyer, { speaker: Dialogue.byModel(), maxTurns: 1 })
 *
 * const program = Dialogue.run(advice, "May my landlord do this?").pipe(
 *   Effect.provide(MockModel.layer(MockModel.conditional(
 *     MockModel.when(({ system }) => system.includes("- lawyer: Knows contracts"), "lawyer"),
 *     MockModel.otherwise(({ agent }) => `The ${agent} says no.`)
 *   )))
 * )
 *
 * const { transcript } = await Effect.runPromise(program)
 *
 * Dialogue.lastText(transcript) // => "The lawyer says no."
 * ```
 *
 * @category choices
 * @since 0.1.0
 */
export const byModel = (options?: {
  readonly instructions?: string | undefined
}): <Name extends string>(
  transcript: Transcript<Name>,
  candidates: ReadonlyArray<Candidate<Name>>
) => Effect.Effect<Name, AiError.AiError, LanguageModel.LanguageModel> => {
  const instructions = options?.instructions ?? "You moderate a conversation. Choose who speaks next."
  return (transcript, candidates) =>
    Effect.map(
      LanguageModel.generateText({
        prompt: [
          { role: "system", content: question(instructions, candidates) },
          { role: "user", content: [{ type: "text", text: toText(transcript) }] }
        ]
      }),
      ({ text }) => nameIn(text, candidates) ?? roundRobin(transcript, candidates)
    )
}
