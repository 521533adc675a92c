/**
 * Who looks after what. The agents hand over to each other in circles, so handoffs name their targets.
 */
import { Handoff } from "troupe"

export const toTriage = Handoff.to("triage", { reason: "Anything that no specialist looks after" })

export const toRefunds = Handoff.to("refunds", {
  reason: "Something is broken, was lost or is to go back, or money is to come back"
})

export const toOrders = Handoff.to("orders", {
  reason: "Where an order is and how it stands, cancelling it, changing its address"
})

export const toSales = Handoff.to("sales", {
  reason: "What we have and what it costs, recommendations, buying, shipping and paying"
})
