/**
 * Tools of those who work on orders: finding one.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import * as Book from "../shop/orders.ts"

export const OrderNumber = Schema.String.annotate({ description: "The number of an order, such as 1042" })

export const FindOrder = Tool.make("find_order", {
  description: "Looks an order up by its number",
  parameters: Schema.Struct({ order: OrderNumber }),
  success: Book.Order,
  failure: Book.OrderNotFound
})

export const FindOrdersOf = Tool.make("find_orders_of", {
  description: "Lists the orders of a customer by mail address",
  parameters: Schema.Struct({ email: Schema.String }),
  success: Schema.Array(Book.Order)
})

export const Tools = Toolkit.make(FindOrder, FindOrdersOf)

export const layer = Tools.toLayer(Effect.gen(function*() {
  const orders = yield* Book.Orders
  return {
    find_order: ({ order }) => orders.find(order),
    find_orders_of: ({ email }) => orders.findByEmail(email)
  }
}))
