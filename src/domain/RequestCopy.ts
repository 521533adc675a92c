/**
 * Copies of handoff requests that programs make: they can be stored, and share nothing with the original.
 *
 * @since 0.1.0
 */
import type { HandoffRequest } from "./AgentStatus.ts"
import { agentNamed } from "./InvalidName.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Wanted from "./Wanted.ts"

/** A request whose missing parts may be `undefined`. */
type Given =
  & { readonly [Key in keyof HandoffRequest]: HandoffRequest[Key] | undefined }
  & Pick<HandoffRequest, "target">

/**
 * Copies a request. Throws `InvalidName` if the target is empty, and a `TypeError` if a field that must be a text isn't one; `whose` names
 * the request.
 */
export const from = (whose: string, { callId, context, reason, target, tool }: Given): HandoffRequest => {
  const text = (key: keyof Given, given: string): string => Wanted.textGiven(`The \`${key}\` of ${whose}`, given)
  return {
    target: agentNamed(text("target", target)),
    ...(callId === undefined ? undefined : { callId: text("callId", callId) }),
    ...(tool === undefined ? undefined : { tool: text("tool", tool) }),
    ...(reason === undefined ? undefined : { reason: text("reason", reason) }),
    ...(context === undefined ? undefined : { context: JsonValue.fromUnknown(context) })
  }
}
