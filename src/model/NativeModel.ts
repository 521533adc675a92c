/**
 * The port to models: what an agent's loop asks of one, and models that answer it without the layer of `effect/ai` between.
 *
 * Any `LanguageModel` answers a loop. One that was made here also has a native way, which decodes no part twice and looks through no
 * prompt from its beginning. It is found by the identity of the service: who wraps a service, or changes a method of it, is asked
 * and never passed by.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Span } from "effect/Tracer"
import type { Projection } from "./Projection.ts"

/**
 * What a model is asked.
 *
 * - `prompt` is all that is sent. It is made where it is read.
 * - `projection` is the prompt behind `system`, where all of a conversation is sent.
 * - `tools` are those that are offered.
 */
export interface Request extends Omit<LanguageModel.ProviderOptions, "span"> {
  readonly system: Prompt.SystemMessage | undefined
  readonly projection: Projection | undefined
  readonly span: Span | undefined
}

/** Takes parts of an answer that arrive together. Where it gives an effect, that runs before more are taken. */
export type Take = (
  parts: ReadonlyArray<Response.StreamPartEncoded>
) => Effect.Effect<void, AiError.AiError> | undefined

/** The name of a model, and the one that the conventions of OpenTelemetry have for its provider. */
export interface Names {
  readonly model: string | undefined
  readonly provider: string | undefined
}

/** The native way of a model: an answer as its provider gives it, whole or piece by piece. */
export interface NativeModel {
  readonly generateText: (request: Request) => Effect.Effect<ReadonlyArray<Response.PartEncoded>, AiError.AiError>
  readonly streamText: (request: Request, take: Take) => Effect.Effect<void, AiError.AiError>
  /** The names of the model and of its provider, where they are always the same. */
  readonly names?: Names | undefined
}

/** A model's native way, and what its service was when it was made. */
interface Known extends Pick<LanguageModel.LanguageModel, "generateText" | "streamText"> {
  readonly native: NativeModel
  readonly isSeen: boolean
}

const known = new WeakMap<LanguageModel.LanguageModel, Known>()

const isSeen = (context: Context.Context<never>): boolean =>
  Context.getOrUndefined(context, Telemetry.CurrentSpanTransformer) !== undefined

/** Makes a `LanguageModel` that also has a native way. Both ask the same provider the same. */
export const make = (
  { native, ...provider }: Parameters<typeof LanguageModel.make>[0] & { readonly native: NativeModel }
): Effect.Effect<LanguageModel.LanguageModel> =>
  Effect.flatMap(Effect.context<never>(), (context) =>
    Effect.map(LanguageModel.make(provider), (model) => {
      const { generateText, streamText } = model
      known.set(model, { native, isSeen: isSeen(context), generateText, streamText })
      return model
    }))

/**
 * Finds the native way of a model, unless somebody has changed the model. What a `CurrentSpanTransformer` is shown of an answer is
 * the business of `effect/ai`: where there is one, that is asked.
 */
export const of = (
  model: LanguageModel.LanguageModel,
  context: Context.Context<never>
): NativeModel | undefined => {
  const found = known.get(model)
  return found === undefined || found.isSeen || found.generateText !== model.generateText ||
      found.streamText !== model.streamText || isSeen(context)
    ? undefined
    : found.native
}
