/**
 * What a provider attaches to a part, on its way to `effect/ai` and back: the same record by the provider's name.
 *
 * What `effect/ai` has no place for goes along under a name of ours.
 *
 * @since 0.1.0
 */
import type { SharedV4ProviderOptions } from "@ai-sdk/provider"
import type * as Response from "effect/ai/Response"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** The name under which this adapter attaches something itself. */
export const own = "ai-sdk"

/** Gives a value as JSON, without what JSON has no place for. */
export const toJson = (value: unknown): Schema.Json => {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null") as Schema.Json
  } catch {
    return String(value)
  }
}

const isRecord = (value: unknown): value is SharedV4ProviderOptions[string] => Predicate.isObject(value)

/** Gives the metadata of a part, with what this adapter adds to it. */
export const toMetadata = (
  metadata: SharedV4ProviderOptions | undefined,
  added?: Readonly<Record<string, unknown>>
): { readonly metadata?: Response.ProviderMetadata } => {
  const all: Record<string, Schema.Json> = {}
  for (const [provider, value] of Object.entries(metadata ?? {})) if (isRecord(value)) all[provider] = toJson(value)
  if (added !== undefined) all[own] = toJson(added)
  return Object.keys(all).length === 0 ? {} : { metadata: all }
}

/** Gives the options of a part as its provider reads them. */
export const toProviderOptions = (
  options: Response.ProviderMetadata
): { readonly providerOptions?: SharedV4ProviderOptions } => {
  const all: SharedV4ProviderOptions = {}
  for (const [provider, value] of Object.entries(options)) {
    if (provider !== own && isRecord(value)) all[provider] = value
  }
  return Object.keys(all).length === 0 ? {} : { providerOptions: all }
}
