/**
 * A call that guardrails refused before the state held it: it is kept without its parameters, with the words that it is settled with.
 *
 * The words stand in the call's metadata, because the call is settled later, in its turn (`docs/decisions/0008`).
 *
 * @since 0.1.0
 */
import type { Call } from "../../domain/StateSchema.ts"

/** Returns the words that a call is settled with, if guardrails refused it. */
export const refusedBecause = ({ metadata }: Call): string | undefined => {
  // Metadata is JSON; the field is checked below.
  const refused = (metadata?.["troupe"] as { readonly refused?: unknown } | undefined)?.refused
  return typeof refused === "string" ? refused : undefined
}

/** Returns what is kept of a call that guardrails refused. */
export const refusedCall = (call: Call, refused: string): Call => ({
  ...call,
  params: {},
  metadata: { ...call.metadata, troupe: { refused } }
})
