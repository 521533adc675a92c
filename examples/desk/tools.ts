/**
 * What the desk's agent can do: look orders up, follow parcels, and set things right.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { ToolPolicy } from "troupe"
import { likeness, Product, products } from "./catalogue.ts"
import * as Book from "./orders.ts"

const OrderNumber = Schema.String.annotate({ description: "The number of an order, such as 1042" })

/** A claim worth more than this, in euros, waits for a colleague's approval. */
export const approvalLimit = 150

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

export const TrackParcel = Tool.make("track_parcel", {
  description: "Says where the parcel of an order is",
  parameters: Schema.Struct({ order: OrderNumber }),
  success: Book.Parcel,
  failure: Schema.Union([Book.OrderNotFound, Book.NotOnItsWay])
})

export const SearchProducts = Tool.make("search_products", {
  description: "Finds products by words of their names",
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.Array(Product)
})

export const CancelOrder = ToolPolicy.set(
  Tool.make("cancel_order", {
    description: "Cancels an order that hasn't been shipped",
    parameters: Schema.Struct({ order: OrderNumber }),
    success: Book.Cancellation,
    failure: Schema.Union([Book.OrderNotFound, Book.NotCancellable])
  }),
  { exclusive: true }
)

export const StartReturn = ToolPolicy.set(
  Tool.make("start_return", {
    description: "Starts the return of an item that was delivered",
    parameters: Schema.Struct({ order: OrderNumber, sku: Schema.String }),
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
      order: OrderNumber,
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

export const Tools = Toolkit.make(
  FindOrder,
  FindOrdersOf,
  TrackParcel,
  SearchProducts,
  CancelOrder,
  StartReturn,
  OpenClaim
)

/** The tools' handlers, on the order book. */
export const layer = Tools.toLayer(Effect.gen(function*() {
  const orders = yield* Book.Orders
  return {
    find_order: ({ order }) => orders.find(order),
    find_orders_of: ({ email }) => orders.findByEmail(email),
    track_parcel: ({ order }) => orders.track(order),
    search_products: ({ query }) =>
      Effect.sync(() =>
        products
          .map((product) => ({ product, score: likeness(product.name, query) }))
          .filter(({ score }) => score > 0)
          .sort((one, other) => other.score - one.score)
          .map(({ product }) => product)
      ),
    cancel_order: ({ order }) => orders.cancel(order),
    start_return: ({ order, sku }) => orders.startReturn(order, sku),
    open_claim: (claim) => orders.openClaim(claim)
  }
}))
