import { Context, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent } from "troupe"

/** What the tools work on. */
export class Orders extends Context.Service<Orders, {
  readonly statusOf: (id: number) => Effect.Effect<string>
}>()("desk/Orders") {
  static readonly layer = Layer.succeed(Orders, {
    statusOf: (id) => Effect.succeed(id === 7 ? "shipped on Monday" : "unknown")
  })
}

const FindOrder = Tool.make("find_order", {
  description: "Says where an order is",
  parameters: Schema.Struct({ id: Schema.Int }),
  success: Schema.String
})
const Tools = Toolkit.make(FindOrder)

export const ToolsLive = Tools.toLayer(Effect.gen(function*() {
  const orders = yield* Orders
  return { find_order: ({ id }) => orders.statusOf(id) }
}))

export const desk = Agent.make("desk", {
  instructions: "You help customers of a lamp shop. Be brief.",
  toolkit: Tools
})
