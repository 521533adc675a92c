/**
 * The model that an agent brings itself, built once in each run.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Plan } from "./Definition.ts"
import type { Loop } from "./Loop.ts"

/** Builds each model of a plan at most once in the run that uses it. */
const preparePlan = Effect.fnUntraced(function*(plan: Plan) {
  const scope = yield* Effect.scope
  const steps: Array<ExecutionPlan.make.Step> = []
  for (const step of plan.steps) {
    const provide = Layer.isLayer(step.provide)
      ? Layer.effectContext(yield* Effect.cached(Layer.buildWithScope(step.provide, scope)))
      : step.provide
    steps.push({ ...step, provide } as ExecutionPlan.make.Step)
  }
  return ExecutionPlan.make(...steps as [ExecutionPlan.make.Step]) as Plan
})

/** Gives a loop the model that its agent brings, for as long as an effect runs. */
export const provide = <A>(
  loop: Loop,
  use: () => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> => {
  const { model } = loop.definition
  if (model === undefined) return use()
  if (model._tag === "Layer") return Effect.provide(Effect.suspend(use), model.layer)
  return Effect.scoped(Effect.flatMap(preparePlan(model.plan), (plan) => {
    loop.plan = plan
    return Effect.provideService(Effect.suspend(use), LanguageModel.LanguageModel, fromPlan(plan))
  }))
}

/** A model whose types are spent: what goes in and comes out is between its callers and the models of a plan. */
interface Untyped {
  readonly generateText: (options: unknown) => Effect.Effect<unknown, AiError.AiError, LanguageModel.LanguageModel>
  readonly generateObject: Untyped["generateText"]
  readonly streamText: (options: unknown) => Stream.Stream<unknown, AiError.AiError, LanguageModel.LanguageModel>
}

const planned: Effect.Effect<Untyped, never, LanguageModel.LanguageModel> = Effect.map(
  LanguageModel.LanguageModel,
  (model) => model as never
)

/** A model that falls back as a plan says, for all that isn't the agent's own request: its tools, agents, instructions. */
const fromPlan = (plan: Plan): LanguageModel.LanguageModel => {
  const model: Untyped = {
    generateText: (options) =>
      Effect.withExecutionPlan(Effect.flatMap(planned, (model) => model.generateText(options)), plan) as never,
    generateObject: (options) =>
      Effect.withExecutionPlan(Effect.flatMap(planned, (model) => model.generateObject(options)), plan) as never,
    streamText: (options) =>
      Stream.withExecutionPlan(Stream.unwrap(Effect.map(planned, (model) => model.streamText(options))), plan) as never
  }
  return { [LanguageModel.TypeId]: LanguageModel.TypeId, ...model } as never
}
