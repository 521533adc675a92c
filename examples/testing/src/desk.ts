import { Context, Effect, Schedule, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Handoff, StopWhen } from "troupe"

/** The shop's own service, over a database. */
export class Orders extends Context.Service<Orders, {
  readonly find: (id: number) => Effect.Effect<string>
  readonly refund: (id: number) => Effect.Effect<void>
}>()("shop/Orders") {}

export const Tools = Toolkit.make(
  Tool.make("find_order", {
    description: "Says what was ordered and when it was sent",
    parameters: Schema.Struct({ id: Schema.Int }),
    success: Schema.String
  }),
  Tool.make("refund", {
    description: "Pays an order back",
    parameters: Schema.Struct({ id: Schema.Int }),
    success: Schema.String,
    needsApproval: true
  })
)

export const ToolsLive = Tools.toLayer(Effect.gen(function*() {
  const orders = yield* Orders
  return {
    find_order: ({ id }) => orders.find(id),
    refund: ({ id }) => Effect.as(orders.refund(id), `Order ${id} is paid back.`)
  }
}))

export const refunds = Agent.make("refunds", {
  description: "Refunds orders that were broken or never came",
  instructions: "Look the order up before you refund it.",
  toolkit: Tools,
  stopWhen: StopWhen.maxSteps(5)
})

export const desk = Agent.make("desk", {
  instructions: "You help customers of a lamp shop. Be brief.",
  handoffs: [Handoff.to(refunds, { reason: "The customer wants money back" })],
  retry: Schedule.recurs(1)
})

/** What the shop's route answers. */
export const answer = (question: string) =>
  Agent.run(desk, question).pipe(
    Effect.map((state) =>
      state.status._tag === "Complete" ? AgentState.text(state) : "A colleague decides, and writes to you."
    ),
    Effect.catchTag("AgentError", () => Effect.succeed("Please try again later."))
  )
