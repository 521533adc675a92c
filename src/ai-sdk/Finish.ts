/**
 * How an answer ends: its reason and its usage.
 *
 * @since 0.1.0
 */
import type {
  LanguageModelV3FinishReason,
  LanguageModelV3Usage,
  LanguageModelV4FinishReason,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  SharedV4Warning
} from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import { toMetadata } from "./Metadata.ts"
import { shown } from "./ShownHeaders.ts"

/** Reads a count of tokens. An impossible count is unknown. */
const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** Returns the usage. */
const toUsage = (
  { inputTokens, outputTokens }: LanguageModelV3Usage | LanguageModelV4Usage
): typeof Response.Usage.Encoded => ({
  inputTokens: {
    total: count(inputTokens.total),
    uncached: count(inputTokens.noCache),
    cacheRead: count(inputTokens.cacheRead),
    cacheWrite: count(inputTokens.cacheWrite)
  },
  outputTokens: {
    total: count(outputTokens.total),
    text: count(outputTokens.text),
    reasoning: count(outputTokens.reasoning)
  }
})

type FinishReason = LanguageModelV3FinishReason | LanguageModelV4FinishReason

const reasons = ["stop", "length", "content-filter", "tool-calls", "error", "other"] as const

const toReason = ({ raw, unified }: FinishReason): Response.FinishReason =>
  // Anthropic pauses while its own tools run, and expects to be asked to continue.
  raw === "pause_turn" ? "pause" : reasons.find((reason) => reason === unified) ?? "unknown"

/** How an answer ended, in the terms of the AI SDK. */
export interface Ending {
  readonly finishReason: FinishReason
  readonly usage: LanguageModelV3Usage | LanguageModelV4Usage
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined
}

/** Whether content and calls of the answer have arrived when it ends. */
export interface Come {
  calls: number
  isSpeaking: boolean
}

/** Checks whether the provider's content filter ended an answer. */
export const isFiltered = ({ finishReason: { unified } }: Ending): boolean => unified === "content-filter"

/**
 * Returns what is wrong with an answer, if anything: it ended with calls but has none, or it is empty and ended with an error, without a
 * reason, or by a content filter.
 */
export const issueOf = (ending: Ending, { calls, isSpeaking }: Come): AiError.AiErrorReason | undefined => {
  if (calls > 0) return undefined
  if (ending.finishReason.unified === "tool-calls") {
    return new AiError.InvalidOutputError({
      description: "The answer ended with calls, by its finish reason, but has none"
    })
  }
  if (isSpeaking) return undefined
  const { raw, unified } = ending.finishReason
  if (unified === "error") {
    return new AiError.InvalidOutputError({ description: `The answer is empty, and ended with "${raw ?? "error"}"` })
  }
  // A package reports `other` without a reason of the provider if it found no answer in the response.
  if (unified === "other" && raw === undefined) {
    return new AiError.InvalidOutputError({ description: "The answer is empty, and ended without a reason" })
  }
  return isFiltered(ending)
    ? new AiError.ContentPolicyError({ description: "The provider's content filter left nothing of the answer" })
    : undefined
}

/** Metadata of an answer: the provider's warnings, and the headers of its response. */
export interface Beside {
  readonly warnings: ReadonlyArray<SharedV4Warning>
  readonly headers: Readonly<Record<string, string>> | undefined
}

/** Returns the part that ends an answer. Its metadata holds, under `ai-sdk`, the provider's own reason, usage and warnings. */
export const finishPart = (
  { finishReason, providerMetadata, usage }: Ending,
  { headers, warnings }: Beside
): Response.FinishPartEncoded => {
  const added = {
    ...(finishReason.raw === undefined ? undefined : { finishReason: finishReason.raw }),
    ...(usage.raw === undefined ? undefined : { usage: usage.raw }),
    ...(warnings.length === 0 ? undefined : { warnings })
  }
  return {
    type: "finish",
    reason: toReason(finishReason),
    usage: toUsage(usage),
    ...(headers === undefined ? undefined : { response: { status: 200, headers: shown(headers) } }),
    ...toMetadata(providerMetadata, Object.keys(added).length === 0 ? undefined : added)
  }
}
