/**
 * The agent of the support desk.
 */
import { Agent, StopWhen } from "troupe"
import { today } from "./orders.ts"
import { Tools } from "./tools.ts"

export const desk = Agent.make("desk", {
  description: "Customer support of a small shop for lamps, furniture and the like",
  instructions: [
    "You are the support desk of Halden, a small shop for lamps, furniture and the like.",
    `Today is ${today}.`,
    "Look an order up before you speak about it. Ask for what is missing, one thing at a time.",
    "Never promise what a tool has not confirmed."
  ].join(" "),
  toolkit: Tools,
  stopWhen: StopWhen.maxSteps(12),
  maxInputLength: 10_000
})
