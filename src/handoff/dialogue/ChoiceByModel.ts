/**
 * A language model's choice of who speaks next.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import { type Candidate, roundRobin } from "./Choice.ts"
import { toText, type Transcript } from "./Transcript.ts"

/** Reads a name from a model's answer, which may be in upper or lower case, a mention, or in quotation marks and the like. */
const nameIn = <Name extends string>(answer: string, candidates: ReadonlyArray<Candidate<Name>>): Name | undefined => {
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
 * If the answer isn't a participant's name, the next one in the order speaks. If the request fails, the dialogue fails with the reason
 * `ChoiceFailed`.
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
  /** What the model is told before the list of participants; by default that it moderates, and chooses who speaks next. */
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
