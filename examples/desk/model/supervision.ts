/**
 * When refunds enters the mode of supervised refunds, and when it leaves it.
 */
import { Schema } from "effect"
import { OpenClaim } from "../agents/refunds.ts"
import { approvalLimit, entering, leaving } from "../agents/supervision.ts"
import type { Move, Wanted } from "./evidence.ts"

const Refund = Schema.Struct({ order: Schema.String, remedy: Schema.Literal("refund"), amount: Schema.Finite })
const isRefund: (params: unknown) => params is typeof Refund.Type = Schema.is(Refund)

const refundOf = ({ name, params }: Wanted): typeof Refund.Type | undefined => {
  const claimed: unknown = params
  return name === OpenClaim.name && isRefund(claimed) && claimed.amount > approvalLimit ? claimed : undefined
}

/** Puts the way into the mode before a claim that needs it, and the way out before all else. */
export const supervise = (move: Move, isSupervised: boolean): Move => {
  const calls = move._tag === "Call" ? move.calls : []
  const refunds = calls.flatMap((call) => refundOf(call) ?? [])
  const others = calls.filter((call) => refundOf(call) === undefined)
  const [refund] = refunds
  if (isSupervised) {
    return refund === undefined
      ? { _tag: "Call", calls: [{ name: leaving, params: {} }] }
      : { ...move, _tag: "Call", calls: calls.filter((call) => refundOf(call) !== undefined) }
  }
  if (refund === undefined) return move
  if (others.length > 0) return { _tag: "Call", calls: others }
  const amount = refunds.reduce((sum, { amount }) => sum + amount, 0)
  return { _tag: "Call", calls: [{ name: entering, params: { order: refund.order, amount } }] }
}
