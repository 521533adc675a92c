/**
 * Triage: greets, finds out what it is about, and hands over to whoever looks after that.
 */
import { Agent } from "troupe"
import { toOrders, toRefunds, toSales } from "./handoffs.ts"
import { instructions, limits } from "./house.ts"

export const triage = Agent.make("triage", {
  description: "Greets customers and sends them to the right specialist",
  instructions: instructions(
    "Find out what the customer wants and hand over to the specialist for it.",
    "Answer small talk and questions about the house yourself."
  ),
  handoffs: [toRefunds, toOrders, toSales],
  ...limits
})
