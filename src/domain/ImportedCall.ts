/**
 * The calls of a foreign prompt as calls of a conversation, each in the state that the prompt implies.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import { deniedState } from "./DeniedCall.ts"
import { jsonOf, metadataOf, resultOf } from "./ImportedPart.ts"
import type { Asked, LocatedPart, PairedCall } from "./Pairing.ts"
import type { Report } from "./Repair.ts"
import type { Call, CallState, Settled } from "./StateSchema.ts"
import * as Wanted from "./Wanted.ts"

export const dropResponse = ({ message, part }: NonNullable<Asked["response"]>, report: Report): void => {
  const { approvalId, approved, reason } = part
  const why = reason === undefined ? undefined : { reason }
  report({ _tag: "ApprovalResponseDropped", message, approvalId, approved, ...why })
}

export const dropApproval = ({ request, response }: Asked, report: Report): void => {
  if (request !== undefined) {
    const { message, part: { approvalId, toolCallId: id } } = request
    report({ _tag: "ApprovalRequestDropped", message, approvalId, id })
  }
  if (response !== undefined) dropResponse(response, report)
}

export const dropResult = (
  tag: "OrphanedResultDropped" | "DoubledResultDropped",
  result: LocatedPart<Prompt.ToolResultPart>,
  report: Report
): void => {
  const { id, isFailure, name } = result.part
  report({ _tag: tag, message: result.message, id, name, isFailure, ...resultOf(result, id, report) })
}

const interrupted: Settled = Object.freeze({
  _tag: "Settled",
  outcome: "Interrupted",
  result: "The history that this call comes from has no result of it."
})

/** The approval of a call that counts: the first that was answered, or else the first request. */
const askedOf = ({ approvals }: PairedCall): Asked | undefined =>
  approvals.find(({ response }) => response !== undefined) ?? approvals[0]

const dropReason = (
  { message, part: { reason } }: NonNullable<Asked["response"]>,
  id: string,
  report: Report
): void => {
  if (reason !== undefined) report({ _tag: "ApprovalReasonDropped", message, id, reason })
}

/** Returns the state of a call without a result, by its approvals. */
const stateOfOpen = (call: PairedCall, id: string, canWait: boolean, report: Report): CallState => {
  const asked = askedOf(call)
  const response = asked?.response
  const isUsed = asked !== undefined && (canWait || response?.part.approved === false)
  for (const each of call.approvals) {
    if (!isUsed || each !== asked) dropApproval(each, report)
  }
  if (!isUsed) {
    report({ _tag: "MissingResultSettled", message: call.message, id })
    return interrupted
  }
  if (response === undefined) return { _tag: "AwaitingApproval" }
  const { approved, reason } = response.part
  if (!approved) return deniedState(reason, false)
  if (!asked.isSure) {
    dropResponse(response, report)
    return { _tag: "AwaitingApproval" }
  }
  dropReason(response, id, report)
  return { _tag: "Approved" }
}

/**
 * Returns the state of a provider's own call that the provider asked an approval for. An answer to the request settles the call, in any
 * turn, and is sent to the provider again. Nobody will answer a request of an earlier turn any more, so its call is interrupted.
 */
const stateOfAsked = (call: PairedCall, asked: Asked, id: string, isInLastTurn: boolean, report: Report): CallState => {
  const { response } = asked
  for (const each of call.approvals) if (each !== asked) dropApproval(each, report)
  if (response === undefined) {
    if (isInLastTurn) return { _tag: "AwaitingApproval" }
    report({ _tag: "MissingResultSettled", message: call.message, id })
    return interrupted
  }
  const { approved, reason } = response.part
  if (!approved) return deniedState(reason, true)
  dropReason(response, id, report)
  return { _tag: "Settled", outcome: "Succeeded", result: "Approved" }
}

const stateOf = (call: PairedCall, id: string, canWait: boolean, report: Report): CallState => {
  if (call.result === undefined) return stateOfOpen(call, id, canWait, report)
  const { message, part } = call.result
  for (const each of call.approvals) dropApproval(each, report)
  if (call.isMoved) report({ _tag: "ResultMoved", message, id })
  if (part.name !== call.part.name) {
    report({ _tag: "ResultNameReplaced", message, id, name: part.name, replacement: call.part.name })
  }
  if (part.providerExecuted !== call.part.providerExecuted) report({ _tag: "ProviderExecutionAssumed", message, id })
  return { _tag: "Settled", outcome: part.isFailure ? "Failed" : "Succeeded", ...resultOf(call.result, id, report) }
}

/** Drafts a call from its message; `finish` completes it once all ids are known. */
export const draft = (call: PairedCall): Call => ({
  _tag: "Call",
  id: Wanted.textGiven(`The id of a call in message ${call.message}`, call.part.id),
  name: Wanted.textGiven(`The name of a call in message ${call.message}`, call.part.name),
  params: null,
  state: { _tag: "Pending" },
  ...(call.part.providerExecuted || call.result?.part.providerExecuted === true
    ? { providerExecuted: true }
    : undefined)
})

/** Finishes a drafted call, whose id is unique by now, with its parameters and its state. */
export const finish = (self: Call, call: PairedCall, isInLastTurn: boolean, report: Report): Call => {
  const { message, part } = call
  const { id } = self
  const asked = self.providerExecuted === true && call.result === undefined ? askedOf(call) : undefined
  if (id !== part.id) report({ _tag: "CallIdReplaced", message, id: part.id, replacement: id })
  return {
    ...self,
    params: jsonOf(part.params, { message, id, field: "params" }, report, {}),
    ...(asked === undefined
      ? { state: stateOf(call, id, isInLastTurn && self.providerExecuted !== true, report) }
      : {
        state: stateOfAsked(call, asked, id, isInLastTurn, report),
        approvalId: (asked.request ?? asked.response).part.approvalId
      }),
    ...metadataOf(part.options, { message, id }, report)
  }
}
