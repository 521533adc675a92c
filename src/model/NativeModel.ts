/**
 * The port to models: what an agent's loop asks a model, and models that answer without the layer of `effect/ai` between.
 *
 * Any `LanguageModel` answers a loop. One that was made here also has a native way, which decodes each part at most once and reads only the
 * new messages of each prompt. It is found by the identity of the service. So if somebody wraps the service or replaces one of its methods,
 * the loop asks the changed service, without the native way.
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
 * A request to a model.
 *
 * - `prompt` is everything that is sent. It is made when it is first read.
 * - `projection` is the prompt without `system`, if the whole conversation is sent.
 * - `tools` are the offered tools.
 */
export interface Request extends Omit<LanguageModel.ProviderOptions, "span"> {
  readonly system: Prompt.SystemMessage | undefined
  readonly projection: Projection | undefined
  readonly span: Span | undefined
}

/**
 * Takes parts of an answer that arrive together. If it returns an effect, the effect runs before more parts are taken. The list may be
 * reused for these.
 */
export type Take = (
  parts: ReadonlyArray<Response.StreamPartEncoded>
) => Effect.Effect<void, AiError.AiError> | undefined

/** The name of a model, and the name of its provider by OpenTelemetry's conventions. */
export interface Names {
  readonly model: string | undefined
  readonly provider: string | undefined
}

/** The native way of a model: it returns an answer as its provider does, whole or piece by piece. */
export interface NativeModel {
  readonly generateText: (request: Request) => Effect.Effect<ReadonlyArray<Response.PartEncoded>, AiError.AiError>
  readonly streamText: (request: Request, take: Take) => Effect.Effect<void, AiError.AiError>
  /** The names of the model and of its provider, if they never change. */
  readonly names?: Names | undefined
}

/** A model's native way, and the methods that its service had when it was made. */
interface Known extends Pick<LanguageModel.LanguageModel, "generateText" | "streamText"> {
  readonly native: NativeModel
  readonly isSeen: boolean
}

const known = new WeakMap<LanguageModel.LanguageModel, Known>()

const isSeen = (context: Context.Context<never>): boolean =>
  Context.getOrUndefined(context, Telemetry.CurrentSpanTransformer) !== undefined

/** Makes a `LanguageModel` that also has a native way. Both send the same requests to the same provider. */
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
 * Returns the native way of a model, unless somebody has changed the model. If there is a `CurrentSpanTransformer`, it returns `undefined`,
 * because only `effect/ai` calls the transformer.
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
