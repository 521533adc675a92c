/**
 * An agent picked by a language model.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type AgentPicker, fromNames, type PickRequest } from "./Picker.ts"
import { choicesOf, instructionsOf, type ModelOptions, questionOf } from "./Question.ts"

const promptOf = (
  names: ReadonlyArray<string>,
  request: PickRequest,
  instructions: string | undefined
): Prompt.RawInput => {
  const agents = choicesOf(names, request).map(([name, description]) =>
    description === undefined ? `- ${name}` : `- ${name}: ${description}`
  )
  return [
    { role: "system", content: [instructionsOf(instructions), "", "Agents:", ...agents].join("\n") },
    { role: "user", content: JSON.stringify(questionOf(request)) }
  ]
}

/** Checks whether a model answered, but with something that can't be used. */
const isUnusable = ({ reason }: AiError.AiError): boolean =>
  reason._tag === "StructuredOutputError" || reason._tag === "InvalidOutputError"

/**
 * Lets the language model choose among `names` and the fallback by the agents' descriptions.
 *
 * The model reads the texts of the last 10 turns that have any, who was in control last, and how the last run ended. An unknown name, or an
 * answer that can't be read, picks the fallback. If the request fails otherwise, the run fails with its `AiError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const model = <const Name extends string, const Fallback extends string>(
  names: ReadonlyArray<Name>,
  options: ModelOptions<Fallback>
): AgentPicker<Name | Fallback, AiError.AiError, LanguageModel.LanguageModel> => {
  const { fallback, instructions } = options
  const choices: ReadonlyArray<Name | Fallback> = [...new Set([...names, fallback])]
  const schema = Schema.Struct({ agent: Schema.Literals(choices) })
  return fromNames(
    choices,
    (request) =>
      choices.length === 1 ? Effect.succeed(fallback) : LanguageModel.generateObject({
        prompt: promptOf(choices, request, instructions),
        schema,
        objectName: "choice"
      }).pipe(
        Effect.map(({ value }) => value.agent),
        Effect.catchIf(isUnusable, () => Effect.succeed(fallback))
      )
  )
}
