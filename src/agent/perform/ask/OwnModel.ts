/**
 * The model that an agent brings itself, built once in each run and kept until its end.
 *
 * @since 0.1.0
 */
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ModelLayer, OwnModel, Plan } from "../../definition/AgentDefinition.ts"
import { CurrentOverrides, type Overrides } from "../../definition/Overrides.ts"
import { type Loop, Slot } from "../../journal/Loop.ts"
import * as MeasuredModel from "../../journal/MeasuredModel.ts"
import { keepNames } from "../../journal/ModelRequest.ts"
import { modelIn } from "../../rules/ModelInUse.ts"

/** Gives the layer of a step of a plan, and of a context where something stands in for it. */
const layerOf = ({ provide }: Plan["steps"][number], { model }: Overrides): ModelLayer | undefined => {
  if (!Context.isContext(provide)) return model?.(provide) ?? provide
  return model?.(Layer.succeedContext(provide))
}

/** Builds each model of a plan at most once in the run that uses it. */
const preparePlan = Effect.fnUntraced(function*(plan: Plan, scope: Scope.Scope, overrides: Overrides) {
  const steps: Array<ExecutionPlan.make.Step> = []
  for (const step of plan.steps) {
    const layer = layerOf(step, overrides)
    const provide = layer === undefined
      ? keepNames(step.provide as Context.Context<never>)
      : Layer.effectContext(yield* Effect.cached(Effect.map(Layer.buildWithScope(layer, scope), keepNames)))
    steps.push({ ...step, provide } as ExecutionPlan.make.Step)
  }
  return ExecutionPlan.make(...steps as [ExecutionPlan.make.Step]) as Plan
})

const build = (
  model: OwnModel,
  models: Models,
  overrides: Overrides
): Effect.Effect<Built, unknown, unknown> => {
  const { built, scope } = models
  const making: Effect.Effect<Built, unknown, unknown> = model._tag === "Layer"
    ? Effect.map(
      Layer.buildWithScope(overrides.model?.(model.layer) ?? model.layer, scope),
      (context) => ({ context: MeasuredModel.within(keepNames(context)) as Context.Context<never>, plan: undefined })
    )
    : Effect.map(preparePlan(model.plan, scope, overrides), (plan) => ({
      context: Context.make(LanguageModel.LanguageModel, measuredPlan(plan)) as Context.Context<never>,
      plan
    }))
  models.isBuilding = true
  return Effect.onExit(making, (exit) =>
    Effect.sync(() => {
      models.isBuilding = false
      if (Exit.isSuccess(exit)) built.set(model, exit.value)
    }))
}

/** The models that were built in a run, kept until its end, by what they were built from, and whether one is being built. */
interface Models {
  readonly scope: Scope.Closeable
  readonly built: Map<OwnModel, Built>
  isBuilding: boolean
}

/** A model that was built: as a service, and the plan behind it if there is one. */
interface Built {
  readonly context: Context.Context<never>
  readonly plan: Plan | undefined
}

const models = new Slot<Models>()

const modelsOf = (loop: Loop): Models => {
  const known = models.get(loop)
  if (known !== undefined) return known
  const made: Models = { scope: Scope.makeUnsafe(), built: new Map(), isBuilding: false }
  models.set(loop, made)
  return made
}

/** Checks whether the agent in control waits for a model that is being built: nobody can talk to it until that is there. */
export const isBuilding = (loop: Loop): boolean => models.get(loop)?.isBuilding === true

/** Finds the plan by which the model of the agent in control falls back. An agent without a model asks its caller's. */
export const planOf = (loop: Loop): Plan | undefined => {
  const model = modelIn(loop.definition, loop.state)
  if (model !== undefined) return models.get(loop)?.built.get(model)?.plan
  return loop.parent === undefined ? undefined : planOf(loop.parent)
}

/** A model that an agent brings, if it brings one. */
export type Model = OwnModel | undefined

/** Runs an effect with a model that the agent in control brings, which is built once in a run. */
export const provide = <A>(
  loop: Loop,
  model: Model,
  use: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> => {
  if (model === undefined) return use
  const models = modelsOf(loop)
  const built = models.built.get(model)
  // The model of a mode that a program entered is built with the program's services.
  const context = loop.live.open.findLast(({ entry }) => entry.model === model)?.context
  const needed = Effect.flatMap(CurrentOverrides, (overrides) => {
    const making = build(model, models, overrides)
    return context === undefined ? making : Effect.provideContext(making, context)
  })
  return Effect.flatMap(
    built === undefined ? needed : Effect.succeed(built),
    ({ context }) => Effect.provideContext(use, context)
  )
}

/** Lets go of the models that were built in a run, after something else. */
export const release = (
  loop: Loop,
  exit: Exit.Exit<unknown, unknown>,
  before: Effect.Effect<void>
): Effect.Effect<void> => {
  const made = models.get(loop)
  models.set(loop, undefined)
  return made === undefined ? before : Effect.andThen(before, Scope.close(made.scope, exit))
}

const planned = (choose: (model: LanguageModel.LanguageModel) => LanguageModel.LanguageModel) =>
  Effect.map(LanguageModel.LanguageModel, (model) => choose(model) as unknown as MeasuredModel.Untyped)

/** A model that falls back as a plan says, for all that isn't the agent's own request: its tools, agents, instructions. */
const fromPlan = (
  plan: Plan,
  choose: (model: LanguageModel.LanguageModel) => LanguageModel.LanguageModel
): LanguageModel.LanguageModel => {
  const found = planned(choose)
  const model: MeasuredModel.Untyped = {
    generateText: (options) =>
      Effect.withExecutionPlan(Effect.flatMap(found, (model) => model.generateText(options)) as never, plan) as never,
    generateObject: (options) =>
      Effect.withExecutionPlan(Effect.flatMap(found, (model) => model.generateObject(options)) as never, plan) as never,
    streamText: (options) =>
      Stream.withExecutionPlan(
        Stream.unwrap(Effect.map(found, (model) => model.streamText(options))) as never,
        plan
      ) as never
  }
  return { [LanguageModel.TypeId]: LanguageModel.TypeId, ...model } as never
}

/** Counts each attempt, by the names of the model that is asked. */
const measuredPlan = (plan: Plan): LanguageModel.LanguageModel =>
  MeasuredModel.pair(fromPlan(plan, (model) => model), fromPlan(plan, MeasuredModel.of))
