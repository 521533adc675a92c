/**
 * What holds for every agent of the desk.
 */
import { Guardrail, StopWhen } from "troupe"
import { today } from "../shop/orders.ts"

const house = [
  "You work at the support desk of Halden, a small shop for lamps, furniture and the like.",
  `Today is ${today}.`,
  "Ask for what is missing, one thing at a time.",
  "Never promise what a tool has not confirmed.",
  "Hand over what others look after, with the order's number where you know it."
]

/** Instructions of an agent: those of the house, and its own. */
export const instructions = (...own: ReadonlyArray<string>): string => [...house, ...own].join(" ")

/** No card's number gets to a model from a customer, or to a customer from a model. */
const noCards = Guardrail.pii({ kinds: ["card"], action: "mask" })

export const limits = {
  stopWhen: StopWhen.maxSteps(12),
  maxInputLength: 10_000,
  guardrails: { input: [noCards], output: [noCards, Guardrail.noSecrets] }
} as const
