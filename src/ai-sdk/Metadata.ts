/**
 * A provider's metadata of a part, from the provider to `effect/ai` and back: a record by the provider's name.
 *
 * Data that `effect/ai` has no field for is added under `ai-sdk`.
 *
 * @since 0.1.0
 */
import type { SharedV4ProviderOptions } from "@ai-sdk/provider"
import type * as Response from "effect/ai/Response"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as Frozen from "./Frozen.ts"

/** The name under which this adapter adds its own metadata. */
export const ours = "ai-sdk"

/** Copies a value that is plain JSON. */
const copy = (value: unknown, levels: number): Schema.Json | undefined => {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : undefined
  if (typeof value !== "object" || levels === 0) return undefined
  const isList = Array.isArray(value)
  if (!isList && Object.getPrototypeOf(value) !== Object.prototype) return undefined
  const copied: Array<Schema.Json> | Record<string, Schema.Json> = isList ? [] : {}
  for (const key of Object.keys(value)) {
    const part = key === "__proto__" ? undefined : copy((value as Record<string, unknown>)[key], levels - 1)
    if (part === undefined) return undefined
    ;(copied as Record<string, Schema.Json>)[key] = part
  }
  return isList && Object.keys(copied).length !== value.length ? undefined : copied
}

/** Returns a value as JSON, without what JSON can't hold. Most values are plain JSON, which is only copied. */
export const toJson = (value: unknown): Schema.Json => {
  const plain = copy(value, 64)
  if (plain !== undefined) return plain
  try {
    // `JSON.parse` returns JSON, or throws.
    return JSON.parse(JSON.stringify(value) ?? "null") as Schema.Json
  } catch {
    return String(value)
  }
}

const isRecord = (value: unknown): value is SharedV4ProviderOptions[string] => Predicate.isObject(value)

/** Returns the metadata of a part, with what this adapter adds. */
export const toMetadata = (
  metadata: SharedV4ProviderOptions | undefined,
  added?: Readonly<Record<string, unknown>>
): { readonly metadata?: Response.ProviderMetadata } | undefined => {
  if (metadata === undefined && added === undefined) return undefined
  const all: Record<string, Schema.Json> = {}
  for (const [provider, value] of Object.entries(metadata ?? {})) if (isRecord(value)) all[provider] = toJson(value)
  if (added !== undefined) {
    const own: Record<string, Schema.Json> = {}
    for (const [name, value] of Object.entries(added)) own[name] = toJson(value)
    all[ours] = own
  }
  return Object.keys(all).length === 0 ? undefined : { metadata: all }
}

/** Returns the options of a part as its provider reads them. */
export const toProviderOptions = (
  options: Response.ProviderMetadata
): { readonly providerOptions: SharedV4ProviderOptions } | undefined => {
  let all: SharedV4ProviderOptions | undefined
  for (const provider in options) {
    const value: unknown = options[provider]
    if (provider !== ours && isRecord(value)) (all ??= {})[provider] = Frozen.copy(value)
  }
  return all === undefined ? undefined : { providerOptions: all }
}
