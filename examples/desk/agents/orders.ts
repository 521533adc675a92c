/**
 * Orders: says where they are and how they stand, and cancels them as long as that can be.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, ToolPolicy } from "troupe"
import * as Book from "../shop/orders.ts"
import { toRefunds, toSales, toTriage } from "./handoffs.ts"
import { instructions, limits } from "./house.ts"
import * as Lookup from "./lookup.ts"

export const TrackParcel = Tool.make("track_parcel", {
  description: "Says where the parcel of an order is",
  parameters: Schema.Struct({ order: Lookup.OrderNumber }),
  success: Book.Parcel,
  failure: Schema.Union([Book.OrderNotFound, Book.NotOnItsWay])
})

export const CancelOrder = ToolPolicy.set(
  Tool.make("cancel_order", {
    description: "Cancels an order that hasn't been shipped",
    parameters: Schema.Struct({ order: Lookup.OrderNumber }),
    success: Book.Cancellation,
    failure: Schema.Union([Book.OrderNotFound, Book.NotCancellable])
  }),
  { exclusive: true }
)

const Tools = Toolkit.make(TrackParcel, CancelOrder)

export const layer = Tools.toLayer(Effect.gen(function*() {
  const orders = yield* Book.Orders
  return {
    track_parcel: ({ order }) => orders.track(order),
    cancel_order: ({ order }) => orders.cancel(order)
  }
}))

export const orders = Agent.make("orders", {
  description: "Orders and parcels: where they are, how they stand, cancelling",
  instructions: instructions(
    "You look after orders on their way: where they are, how they stand, cancelling, addresses.",
    "Look an order up before you speak about it."
  ),
  toolkit: Toolkit.merge(Lookup.Tools, Tools),
  handoffs: [toRefunds, toSales, toTriage],
  ...limits
})
