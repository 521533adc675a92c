/**
 * What people read where the desk has names: of agents, of tools, and of how calls stand.
 */
import * as Predicate from "effect/Predicate"
import type { CallStanding } from "./items.ts"
import type { Activity } from "./view.ts"

interface Agent {
  readonly name: string
  /** What it looks after. */
  readonly about: string
}

/** Words by names that models make up: a map has no `constructor` of its own, as a record has. */
const byName = <A>(words: Readonly<Record<string, A>>): ReadonlyMap<string, A> => new Map(Object.entries(words))

const agents = byName<Agent>({
  triage: { name: "Triage", about: "finds out what it is about" },
  refunds: { name: "Refunds", about: "returns, replacements and refunds" },
  orders: { name: "Orders", about: "orders and parcels on their way" },
  sales: { name: "Sales", about: "what we have and what it costs" }
})

/** What people call an agent. */
export const agentOf = (name: string): Agent => agents.get(name) ?? { name, about: "" }

type Params = Readonly<Record<string, unknown>>

/** A verb in its three forms, with what it is about. */
type Forms = readonly [base: string, ing: string, past: string, about: string]

const said = (u: unknown): string => typeof u === "string" ? u : JSON.stringify(u) ?? ""

/** An amount of euros, as the desk writes it. */
const euros = (u: unknown): string => typeof u === "number" ? `€${u.toFixed(2)}` : said(u)

const tools = byName<(params: Params) => Forms>({
  find_order: ({ order }) => ["look up", "looking up", "looked up", `order ${said(order)}`],
  find_orders_of: ({ email }) => ["look up", "looking up", "looked up", `the orders of ${said(email)}`],
  track_parcel: ({ order }) => ["track", "tracking", "tracked", `the parcel of order ${said(order)}`],
  cancel_order: ({ order }) => ["cancel", "cancelling", "cancelled", `order ${said(order)}`],
  start_return: ({ order }) => ["start", "starting", "started", `a return for order ${said(order)}`],
  open_claim: ({ amount, order, remedy }) => [
    "open",
    "opening",
    "opened",
    `a claim for a ${said(remedy)} of ${euros(amount)}, order ${said(order)}`
  ],
  search_products: ({ query }) => [
    "search",
    "searching",
    "searched",
    query === undefined || query === "" ? "the catalogue" : `the catalogue for “${said(query)}”`
  ],
  set_aside: ({ quantity, sku }) => ["set aside", "setting aside", "set aside", `${said(quantity)} × ${said(sku)}`],
  enter_supervised_refund_mode: ({ amount, order }) => [
    "ask for",
    "asking for",
    "asked for",
    `a colleague's check of a refund of ${euros(amount)}, order ${said(order)}`
  ],
  exit_current_mode: () => ["finish", "finishing", "finished", "the colleague's check"]
})

const formsOf = (name: string, params: unknown): Forms =>
  tools.get(name)?.(Predicate.isObject(params) ? params : {}) ?? ["call", "calling", "called", name]

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** A call and how it stands, in a line. */
export const phrase = (name: string, params: unknown, standing: CallStanding): string => {
  const [base, ing, past, about] = formsOf(name, params)
  switch (standing) {
    case "Pending":
      return `About to ${base} ${about}`
    case "Awaiting":
      return `Asks to ${base} ${about}`
    case "Running":
      return `${capital(ing)} ${about}`
    case "Succeeded":
      return `${capital(past)} ${about}`
    case "Failed":
      return `Couldn't ${base} ${about}`
    case "Denied":
      return `Wasn't allowed to ${base} ${about}`
    case "Interrupted":
      return `Was stopped while ${ing} ${about}`
  }
}

/** What is asked for, as a line goes on with it. */
export const request = (name: string, params: unknown): string => {
  const [base, , , about] = formsOf(name, params)
  return `${base} ${about}`
}

const modes = byName({ "supervised refund": "A colleague checks this refund" })

/** What a mode means to a customer; nothing if it means nothing to them. */
export const modeOf = (name: string): string | undefined => modes.get(name)

/** Whether a call moves between modes. */
export const isMove = (name: string): boolean => name === "exit_current_mode" || /^enter_\w+_mode$/.test(name)

const labels = byName({ order: "Order", sku: "Item", remedy: "Remedy", amount: "Amount" })

/** What somebody who decides about a call has to know of it. */
export const facts = (params: unknown): ReadonlyArray<readonly [label: string, value: string]> =>
  Predicate.isObject(params)
    ? Object.entries(params).map(([key, value]) => [
      labels.get(key) ?? capital(key.replaceAll("_", " ")),
      key === "amount" ? euros(value) : said(value)
    ])
    : [["Value", said(params)]]

/** What goes on, in a line; nothing where nothing does. */
export const activityText = (agent: string, activity: Activity): string => {
  const { name } = agentOf(agent)
  switch (activity._tag) {
    case "None":
      return ""
    case "Starting":
      return `${name} is reading…`
    case "Thinking":
      return `${name} is thinking…`
    case "Writing":
      return `${name} is writing…`
    case "Working":
      return `${name}: ${phrase(activity.tool, activity.params, "Running").toLowerCase()}…`
  }
}
