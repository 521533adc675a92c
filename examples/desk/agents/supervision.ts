/**
 * The mode in which refunds gives back larger amounts: fewer tools, a prompt of its own, and a colleague who decides.
 */
import { Schema } from "effect"
import { Mode, SystemPrompt } from "troupe"
import { FindOrder, OrderNumber } from "./lookup.ts"

/** A claim worth more than this, in euros, waits for a colleague's approval. */
export const approvalLimit = 150

/** The tools by which a model enters the mode, and by which it leaves any. */
export const entering = "enter_supervised_refund_mode"
export const leaving = "exit_current_mode"

export const supervisedRefund = Mode.make("supervised refund", {
  description: `Wanted for a refund of more than ${approvalLimit} euros; leave it when the claim is decided.`,
  params: Schema.Struct({ order: OrderNumber, amount: Schema.Finite }),
  isolation: "config",
  invokable: true,
  toolName: entering,
  tools: [FindOrder.name, "open_claim"],
  enter: ({ amount, order }) =>
    SystemPrompt.section(
      "supervision",
      `A refund of ${amount} euros for order ${order} is to be claimed, which a colleague approves or denies. Claim exactly that, do nothing else meanwhile, and don't promise that it will be approved.`
    )
})
