/**
 * Models as values: for a mode, or for an agent's named models.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Context from "effect/Context"
import type * as ExecutionPlan from "effect/ExecutionPlan"
import type * as Layer from "effect/Layer"

/**
 * A model: a Layer, or an `ExecutionPlan` whose steps are models to fall back on. It has no type parameters, so that errors and needs are
 * inferred from the model itself.
 */
export type AnyModel = AnyLayer | AnyPlan

type Variance = Layer.Variance<LanguageModel.LanguageModel, unknown, unknown>

type AnyLayer = { readonly [TypeId in keyof Variance]: Pick<Variance[TypeId], "_ROut"> }

interface AnyPlan {
  readonly [ExecutionPlan.TypeId]: typeof ExecutionPlan.TypeId
  readonly steps: ReadonlyArray<{ readonly provide: Context.Context<LanguageModel.LanguageModel> | AnyLayer }>
}

/** What building a model may fail with. */
export type ModelError<M> = M extends Layer.Layer<infer _Out, infer E, infer _In> ? E
  : M extends ExecutionPlan.ExecutionPlan<infer Types> ? Types["error"]
  : never

/** What a model needs. */
export type ModelServices<M> = M extends Layer.Layer<infer _Out, infer _E, infer In> ? In
  : M extends ExecutionPlan.ExecutionPlan<infer Types> ? Types["requirements"]
  : never
