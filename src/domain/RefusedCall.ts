/**
 * A call that guardrails refused: it is kept without its parameters, and marked so that no run carries it out.
 *
 * The mark is the text that the call is settled with. It is in the call's metadata, because the call is settled later, in its turn
 * (`docs/decisions/0008`).
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import type { Call } from "./StateSchema.ts"

/** What Troupe notes in a call's metadata. Metadata is JSON, so each field is checked where it is read. */
const troupeOf = ({ metadata }: Call) =>
  metadata?.["troupe"] as { readonly invoked?: Schema.Json; readonly refused?: Schema.Json } | undefined

/** Returns the words that a call is settled with, if guardrails refused it. */
export const refusedBecause = (call: Call): string | undefined => {
  const refused = troupeOf(call)?.refused
  return typeof refused === "string" ? refused : undefined
}

/** Checks whether a program made a call. */
export const isInvoked = (call: Call): boolean => troupeOf(call)?.invoked === true

/** Returns what is kept of a call that guardrails refused. */
export const refusedCall = (call: Call, refused: string): Call => ({
  ...call,
  params: {},
  metadata: { ...call.metadata, troupe: { ...(isInvoked(call) ? { invoked: true } : undefined), refused } }
})
