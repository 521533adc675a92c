/**
 * Content of a provider that `effect/ai` has no part for, kept so that it can be sent back.
 *
 * A reasoning part without text carries it in its metadata. Conversations keep reasoning with its metadata, and other providers ignore
 * metadata that they don't know.
 *
 * @since 0.1.0
 */
import type { LanguageModelV4Message } from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Predicate from "effect/Predicate"
import { toData } from "./FileData.ts"
import { copy } from "./Frozen.ts"
import { ours, toMetadata, toProviderOptions } from "./Metadata.ts"

type Assistant = Extract<LanguageModelV4Message, { readonly role: "assistant" }>["content"][number]

/** A part as it is sent back, without its provider's metadata. Data of files is text. */
type Sent = { readonly type: Assistant["type"] } & Readonly<Record<string, unknown>>

/** Returns a part that carries another one. */
export const carry = (
  sent: Sent,
  metadata: Parameters<typeof toMetadata>[0]
): Response.ReasoningPartEncoded => ({ type: "reasoning", text: "", ...toMetadata(metadata, { carries: sent }) })

const isCarrying = (options: unknown): options is { readonly carries: Sent } =>
  Predicate.hasProperty(options, "carries")

/** Returns the part that a part carries, as it is sent back. */
export const carried = ({ options }: Prompt.ReasoningPart | Prompt.FilePart): Assistant | undefined => {
  const mine = options[ours]
  if (!isCarrying(mine)) return undefined
  const { data, ...sent } = copy(mine.carries)
  return {
    ...sent,
    ...(typeof data === "string" ? { data: toData(data) } : undefined),
    ...toProviderOptions(options)
  } as Assistant
}
