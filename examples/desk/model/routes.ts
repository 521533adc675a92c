/**
 * Who looks after which wish, and why a customer is handed over.
 */
import type { desk } from "../agents/desk.ts"
import * as Handoffs from "../agents/handoffs.ts"
import type { Wanted } from "./evidence.ts"
import * as Orders from "./orders.ts"
import type { Task } from "./reading.ts"
import * as Refunds from "./refunds.ts"
import type { Rule } from "./rule.ts"
import * as Sales from "./sales.ts"
import * as Triage from "./triage.ts"
import type { SmallTalk, Wish } from "./wishes.ts"

export type Agent = keyof typeof desk.agents

type Rules = { readonly [W in Wish]?: Rule }

const agents: { readonly [Name in Agent]: { readonly rules: Rules; readonly handoff: { readonly toolName: string } } } =
  {
    triage: { rules: Triage.rules, handoff: Handoffs.toTriage },
    refunds: { rules: Refunds.rules, handoff: Handoffs.toRefunds },
    orders: { rules: Orders.rules, handoff: Handoffs.toOrders },
    sales: { rules: Sales.rules, handoff: Handoffs.toSales }
  }

const reasons: Readonly<Record<Exclude<Wish, SmallTalk>, string>> = {
  claim: "something is broken or was lost",
  return: "a return or a refund",
  charge: "what was charged or paid back",
  warranty: "a question about a warranty",
  returns: "how returns work",
  cancel: "an order is to be cancelled",
  address: "the address of an order is to be changed",
  where: "where an order is",
  paid: "what an order was paid with",
  status: "how an order stands",
  product: "what we have",
  recommend: "a recommendation",
  buy: "something to buy",
  terms: "which warranty our products have",
  shipping: "what shipping costs",
  payment: "how to pay",
  hours: "when and where we are open",
  human: "somebody to talk to",
  greeting: "what we can do",
  foreign: "another language than English",
  unclear: "something that isn't clear"
}

/** How an agent does what is wished, if it does: its own wishes, and small talk. */
export const ruleOf = (agent: Agent, wish: Wish): Rule | undefined =>
  ({ ...Triage.smallTalk, ...agents[agent].rules } as Rules)[wish]

/** A handoff to be made. */
export interface Route {
  readonly target: Agent
  readonly call: Wanted
}

/** The handoff to whoever looks after a task. */
export const routeOf = ({ email, order, wish }: Task): Route | undefined => {
  const target = (Object.keys(agents) as Array<Agent>).find((name) => wish in agents[name].rules)
  if (target === undefined) return undefined
  const context = order !== undefined ? { order } : email !== undefined ? { email } : undefined
  const params = { reason: reasons[wish as keyof typeof reasons], ...(context === undefined ? undefined : { context }) }
  return { target, call: { name: agents[target].handoff.toolName, params } }
}
