/**
 * Refunds: takes things back, and replaces or refunds what is broken or was lost.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, ToolPolicy } from "troupe"
import * as Book from "../shop/orders.ts"
import { toOrders, toSales, toTriage } from "./handoffs.ts"
import { instructions, limits } from "./house.ts"
import * as Lookup from "./lookup.ts"
import { approvalLimit, supervisedRefund } from "./supervision.ts"

export const StartReturn = ToolPolicy.set(
  Tool.make("start_return", {
    description: "Starts the return of an item that was delivered",
    parameters: Schema.Struct({ order: Lookup.OrderNumber, sku: Schema.String }),
    success: Book.Return,
    failure: Schema.Union([
      Book.OrderNotFound,
      Book.ItemNotInOrder,
      Book.NotReturnable,
      Book.ReturnWindowOver,
      Book.AlreadyOpen
    ])
  }),
  { exclusive: true }
)

export const OpenClaim = ToolPolicy.set(
  Tool.make("open_claim", {
    description: "Replaces or refunds an item that is defective or was lost. `amount` is what was paid for it.",
    parameters: Schema.Struct({
      order: Lookup.OrderNumber,
      sku: Schema.String,
      remedy: Schema.Literals(["replacement", "refund"]),
      amount: Schema.Finite
    }),
    success: Book.Claim,
    failure: Schema.Union([
      Book.OrderNotFound,
      Book.ItemNotInOrder,
      Book.NothingToClaim,
      Book.WarrantyOver,
      Book.OutOfStock,
      Book.WrongAmount,
      Book.AlreadyOpen
    ]),
    needsApproval: ({ amount }) => amount > approvalLimit
  }),
  { exclusive: true }
)

const Tools = Toolkit.make(StartReturn, OpenClaim)

export const layer = Tools.toLayer(Effect.gen(function*() {
  const orders = yield* Book.Orders
  return {
    start_return: ({ order, sku }) => orders.startReturn(order, sku),
    open_claim: (claim) => orders.openClaim(claim)
  }
}))

export const refunds = Agent.make("refunds", {
  description: "Returns, replacements, refunds and warranties",
  instructions: instructions(
    "You look after returns, replacements, refunds and warranties.",
    "Look an order up before you speak about it.",
    "Where something is broken, offer to replace it first."
  ),
  toolkit: Toolkit.merge(Lookup.Tools, Tools),
  handoffs: [toOrders, toSales, toTriage],
  modes: [supervisedRefund],
  ...limits
})
