/**
 * Content that `effect/ai` has no part for, on its way from a provider and back to it.
 *
 * It is carried by a reasoning part without text: whoever keeps a conversation keeps its reasoning, with what its provider
 * attached, and whoever doesn't know the provider passes it over.
 *
 * @since 0.1.0
 */
import type { LanguageModelV4Message } from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Predicate from "effect/Predicate"
import { toData } from "./FileData.ts"
import { ours, toMetadata, toProviderOptions } from "./Metadata.ts"

type Assistant = Extract<LanguageModelV4Message, { readonly role: "assistant" }>["content"][number]

/** A part as it is sent back, apart from what its provider attached to it. Data of files is text. */
type Sent = { readonly type: Assistant["type"] } & Readonly<Record<string, unknown>>

/** Gives a part in which another is carried. */
export const carry = (
  sent: Sent,
  metadata: Parameters<typeof toMetadata>[0]
): Response.ReasoningPartEncoded => ({ type: "reasoning", text: "", ...toMetadata(metadata, { carries: sent }) })

const isCarrying = (options: unknown): options is { readonly carries: Sent } =>
  Predicate.hasProperty(options, "carries")

/** Gives what a part carries, as it is sent back. */
export const carried = ({ options }: Prompt.ReasoningPart | Prompt.FilePart): Assistant | undefined => {
  const mine = options[ours]
  if (!isCarrying(mine)) return undefined
  const { data, ...sent } = mine.carries
  return {
    ...sent,
    ...(typeof data === "string" ? { data: toData(data) } : undefined),
    ...toProviderOptions(options)
  } as Assistant
}
