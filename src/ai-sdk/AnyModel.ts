/**
 * Models of the AI SDK, in the specifications that can be used.
 *
 * @since 0.1.0
 */
import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import * as Predicate from "effect/Predicate"

/**
 * A language model of a provider of the AI SDK.
 *
 * One of another specification doesn't type-check, and each request to it fails with `InvalidRequestError`.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyModel = LanguageModelV3 | LanguageModelV4

/** A model, or what a program without types gave for one: that has a name and no specification that can be used. */
export type Known = AnyModel | {
  readonly provider: string
  readonly modelId: string
  readonly specificationVersion?: undefined
}

const isModel = (u: unknown): u is AnyModel => Predicate.isObject(u) && typeof u["provider"] === "string"

/** Takes what isn't a model at all for one that is named by what it is. */
export const known = (u: unknown): Known =>
  isModel(u) ? u : { provider: "unknown", modelId: typeof u === "string" ? u : "unknown" }

/** Checks whether a model has a specification that can be used. */
export const isSupported = (model: Known): model is AnyModel =>
  model.specificationVersion === "v3" || model.specificationVersion === "v4"

/** Says which specification a model has that can't be used. */
export const unsupported = ({ specificationVersion }: { readonly specificationVersion?: unknown }) =>
  new AiError.InvalidRequestError({
    parameter: "specificationVersion",
    description:
      `A model that a provider's package makes is needed, such as openai("gpt-5"). One of the AI SDK's specification ${
        specificationVersion === undefined ? "that doesn't say which" : `"${String(specificationVersion)}"`
      } can't be used: it has to be "v3" or "v4"`
  })
