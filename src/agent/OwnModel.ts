/**
 * The model that an agent brings itself, built once in each run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Layer from "effect/Layer"
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
    return use()
  }))
}
