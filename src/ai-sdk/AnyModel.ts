/**
 * Models of the AI SDK, in the supported specifications.
 *
 * @since 0.1.0
 */
import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import * as Predicate from "effect/Predicate"

/**
 * A language model of a provider of the AI SDK.
 *
 * A model of another specification doesn't type-check, and each request to it fails with `InvalidRequestError`.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyModel = LanguageModelV3 | LanguageModelV4

/** A model, or the value that an untyped program passed as one: it has a name, but no supported specification. */
export type Known = AnyModel | {
  readonly provider: string
  readonly modelId: string
  readonly specificationVersion?: undefined
}

const isModel = (u: unknown): u is AnyModel => Predicate.isObject(u) && typeof u["provider"] === "string"

/** Returns the model, or for any other value a stand-in whose name describes the value. */
export const known = (u: unknown): Known =>
  isModel(u) ? u : { provider: "unknown", modelId: typeof u === "string" ? u : "unknown" }

/** Checks whether a model has a supported specification. */
export const isSupported = (model: Known): model is AnyModel =>
  model.specificationVersion === "v3" || model.specificationVersion === "v4"

/** Returns the reason for a model whose specification isn't supported. */
export const unsupported = ({ specificationVersion }: { readonly specificationVersion?: unknown }) =>
  new AiError.InvalidRequestError({
    parameter: "specificationVersion",
    description: `The model's specificationVersion is ${
      specificationVersion === undefined ? "missing" : `"${String(specificationVersion)}"`
    }, and must be "v3" or "v4": pass a model that a provider's package makes, such as openai("gpt-5")`
  })
