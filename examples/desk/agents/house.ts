/**
 * What holds for every agent of the desk.
 */
import { StopWhen } from "troupe"
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

export const limits = { stopWhen: StopWhen.maxSteps(12), maxInputLength: 10_000 } as const
