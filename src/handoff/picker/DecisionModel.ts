/**
 * An agent picked by a decision model.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as Decision from "effect/ai/Decision"
import type * as Model from "effect/ai/DecisionModel"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type AgentPicker, fromNames, type PickRequest } from "./Picker.ts"
import { choicesOf, instructionsOf, type ModelOptions, Question, questionOf } from "./Question.ts"

/** The modules of decision models take some milliseconds to load and few programs use them, so the first pick loads them. */
const modules = Effect.promise(() => Promise.all([import("effect/ai/Decision"), import("effect/ai/DecisionModel")]))

const definitionOf = <Name extends string>(
  { classify, make }: typeof Decision,
  names: ReadonlyArray<Name>,
  request: PickRequest,
  instructions: string | undefined
) =>
  make({
    input: Question,
    decisions: {
      agent: classify({
        instructions: instructionsOf(instructions),
        criteria: Object.fromEntries(
          choicesOf(names, request).map(([name, description]) => [name, description ?? null])
        ) as { readonly [N in Name]: string | null }
      })
    }
  })

/**
 * Lets the decision model choose among `names` and the fallback by the agents' descriptions.
 *
 * The model reads the texts of the last 10 turns that have any, who was in control last, and how the last run ended. A refusal, an unknown
 * name or an invalid answer picks the fallback. If the request fails otherwise, the run fails with its `AiError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const decisionModel = <const Name extends string, const Fallback extends string>(
  names: ReadonlyArray<Name>,
  options: ModelOptions<Fallback>
): AgentPicker<Name | Fallback, AiError.AiError, Model.DecisionModel> => {
  const { fallback, instructions } = options
  const choices: ReadonlyArray<Name | Fallback> = [...new Set([...names, fallback])]
  return fromNames(choices, (request) =>
    choices.length === 1
      ? Effect.succeed(fallback)
      : Effect.flatMap(modules, ([decision, model]) =>
        Effect.map(
          model.decideSettled(definitionOf(decision, choices, request, instructions), { input: questionOf(request) }),
          ({ outcomes }) => Result.isSuccess(outcomes.agent) ? outcomes.agent.success.label : fallback
        )))
}
