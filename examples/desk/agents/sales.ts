/**
 * Sales: says what there is and what it costs, recommends, and sets things aside for who wants to buy them.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, ToolPolicy } from "troupe"
import { find, Product } from "../shop/catalogue.ts"
import { NotEnough, Reservation, Shelf } from "../shop/shelf.ts"
import { toOrders, toRefunds, toTriage } from "./handoffs.ts"
import { instructions, limits } from "./house.ts"

export const SearchProducts = Tool.make("search_products", {
  description: "Finds products by words of their names: all of them, where there are no words",
  parameters: Schema.Struct({
    query: Schema.String,
    maxPrice: Schema.optionalKey(Schema.Finite.annotate({ description: "In euros" }))
  }),
  success: Schema.Array(Product)
})

export const SetAside = ToolPolicy.set(
  Tool.make("set_aside", {
    description: "Sets items aside for a customer who wants to buy them",
    parameters: Schema.Struct({ sku: Schema.String, quantity: Schema.Int }),
    success: Reservation,
    failure: NotEnough
  }),
  { exclusive: true }
)

const Tools = Toolkit.make(SearchProducts, SetAside)

export const layer = Tools.toLayer(Effect.gen(function*() {
  const shelf = yield* Shelf
  return {
    search_products: ({ maxPrice, query }) => Effect.sync(() => find(query, maxPrice)),
    set_aside: ({ quantity, sku }) => shelf.setAside(sku, quantity)
  }
}))

export const sales = Agent.make("sales", {
  description: "What we have, prices, recommendations and buying",
  instructions: instructions(
    "You look after what we sell: what there is, prices, recommendations, buying, shipping and paying.",
    "Name only products that a search has found."
  ),
  toolkit: Tools,
  handoffs: [toRefunds, toOrders, toTriage],
  ...limits
})
