/**
 * The model of an agent itself, built once in each run and kept until its end.
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
import type { OwnModel, Plan } from "../../definition/AgentDefinition.ts"
import type { ModelLayer } from "../../definition/ModelLayer.ts"
import { CurrentOverrides, type Overrides } from "../../definition/Overrides.ts"
import { type Loop, Slot } from "../../journal/Loop.ts"
import * as MeasuredModel from "../../journal/MeasuredModel.ts"
import { keepNames } from "../../journal/ModelRequest.ts"
import { modelIn } from "../../rules/ModelInUse.ts"

/** Returns the layer of a plan's step. For a step with a context, it returns one only if an override replaces the model. */
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

/** The models that were built in a run, by their definitions, kept until the run's end, and whether one is being built. */
interface Models {
  readonly scope: Scope.Closeable
  readonly built: Map<OwnModel, Built>
  isBuilding: boolean
}

/** A built model: its service, and its plan if there is one. */
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

/** Checks whether the model of the agent in control is being built, so that nobody can talk to the agent yet. */
export const isBuilding = (loop: Loop): boolean => models.get(loop)?.isBuilding === true

/** Finds the plan of the model of the agent in control. An agent without a model uses its caller's. */
export const planOf = (loop: Loop): Plan | undefined => {
  const model = modelIn(loop.definition, loop.state)
  if (model !== undefined) return models.get(loop)?.built.get(model)?.plan
  return loop.parent === undefined ? undefined : planOf(loop.parent)
}

/** The model of an agent itself, if it has one. */
export type Model = OwnModel | undefined

/** Runs an effect with the own model of the agent in control, built once in a run. */
export const provide = <A>(
  loop: Loop,
  model: Model,
  use: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> => {
  if (model === undefined) {
    return around.get(loop) === undefined
      ? use
      : Effect.updateContext(use, (context: Context.Context<unknown>) => withoutLater(loop, context))
  }
  const models = modelsOf(loop)
  const built = models.built.get(model)
  // The model of a mode that a program entered is built with the program's services.
  const context = loop.live.open.findLast(({ entry }) => entry.model === model)?.context
  const needed = Effect.flatMap(CurrentOverrides, (overrides) => {
    // A model that is made with the one around the agent must not find itself there.
    const making = Effect.updateContext(
      build(model, models, overrides),
      (services: Context.Context<unknown>) => withoutLater(loop, services)
    )
    return context === undefined ? making : Effect.provideContext(making, context)
  })
  return Effect.flatMap(
    built === undefined ? needed : Effect.succeed(built),
    ({ context }) => Effect.provideContext(use, context)
  )
}

/** The model of the environment around a loop whose agent has a model of its own. */
const around = new Slot<{
  readonly model: LanguageModel.LanguageModel | undefined
  readonly later: LanguageModel.LanguageModel
}>()

/** Returns a context with the model of the environment, instead of one that was added to it. */
const withoutLater = <R>(loop: Loop, context: Context.Context<R>): Context.Context<R> => {
  const known = around.get(loop)
  if (known === undefined) return context
  const { later, model } = known
  if (Context.getOrUndefined(context as Context.Context<never>, LanguageModel.LanguageModel) !== later) return context
  const others = Context.omit(LanguageModel.LanguageModel)(context as Context.Context<never>)
  return (model === undefined ? others : Context.add(others, LanguageModel.LanguageModel, model)) as Context.Context<R>
}

/**
 * Adds the own model of the agent in control to a context, for those that ask it before the agent does or outside of its steps: guardrails,
 * set-ups of modes and instructions. It is built when it is first asked.
 */
export const addLater = <R>(loop: Loop, context: Context.Context<R>): Context.Context<R> => {
  if (modelIn(loop.definition, loop.state) === undefined) return context
  const ask = <A>(asking: Effect.Effect<A, unknown, unknown>) =>
    Effect.suspend(() => provide(loop, modelIn(loop.definition, loop.state), asking))
  const later = finding((model) => model, ask, (asking) => Stream.unwrap(ask(asking)))
  const model = Context.getOrUndefined(context as Context.Context<never>, LanguageModel.LanguageModel)
  around.set(loop, { model, later })
  return Context.add(context, LanguageModel.LanguageModel, later)
}

/** Releases the models that were built in a run, after `before` has run. Returns `undefined` if there is nothing to do. */
export const release = (
  loop: Loop,
  exit: Exit.Exit<unknown, unknown>,
  before?: Effect.Effect<void>
): Effect.Effect<void> | undefined => {
  const made = models.get(loop)
  if (made === undefined) return before
  models.set(loop, undefined)
  const closing = Scope.close(made.scope, exit)
  return before === undefined ? closing : Effect.andThen(before, closing)
}

/**
 * Makes a model that finds the model to ask at each request, with what `ask` and `read` provide.
 *
 * Only the caller and the model that is found know the types of a request, so this model passes requests and answers on without types.
 */
const finding = (
  choose: (model: LanguageModel.LanguageModel) => LanguageModel.LanguageModel,
  ask: <A>(asking: Effect.Effect<A, unknown, unknown>) => Effect.Effect<A, unknown, unknown>,
  read: <A>(
    asking: Effect.Effect<Stream.Stream<A, unknown, unknown>, unknown, unknown>
  ) => Stream.Stream<A, unknown, unknown>
): LanguageModel.LanguageModel => {
  // Requests and answers are passed on unchanged, so their types don't matter here.
  const found = Effect.map(LanguageModel.LanguageModel, (model) => choose(model) as unknown as MeasuredModel.Untyped)
  const model: MeasuredModel.Untyped = {
    generateText: (options) => ask(Effect.flatMap(found, (model) => model.generateText(options))) as never,
    generateObject: (options) => ask(Effect.flatMap(found, (model) => model.generateObject(options))) as never,
    streamText: (options) => read(Effect.map(found, (model) => model.streamText(options))) as never
  }
  return { [LanguageModel.TypeId]: LanguageModel.TypeId, ...model } as never
}

/**
 * Makes a model that follows a plan, for requests other than the agent's own: of its tools, called agents and instructions. A plan's types
 * don't know the types of requests either.
 */
const fromPlan = (
  plan: Plan,
  choose: (model: LanguageModel.LanguageModel) => LanguageModel.LanguageModel
): LanguageModel.LanguageModel =>
  finding(
    choose,
    (asking) => Effect.withExecutionPlan(asking as never, plan) as never,
    (asking) => Stream.withExecutionPlan(Stream.unwrap(asking) as never, plan) as never
  )

/** Makes such a model that counts each attempt under the name of the model that is asked. */
const measuredPlan = (plan: Plan): LanguageModel.LanguageModel =>
  MeasuredModel.pair(fromPlan(plan, (model) => model), fromPlan(plan, MeasuredModel.of))
