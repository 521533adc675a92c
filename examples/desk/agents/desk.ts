/**
 * The support desk: triage and three specialists, who hold one conversation and hand it over to each other.
 */
import { Layer } from "effect"
import { Group } from "troupe"
import { Orders } from "../shop/orders.ts"
import { Shelf } from "../shop/shelf.ts"
import * as Lookup from "./lookup.ts"
import * as OrdersDesk from "./orders.ts"
import * as RefundsDesk from "./refunds.ts"
import * as SalesDesk from "./sales.ts"
import { triage } from "./triage.ts"

const { orders } = OrdersDesk
const { refunds } = RefundsDesk
const { sales } = SalesDesk

export const desk = Group.make({ triage, refunds, orders, sales }, {
  name: "desk",
  description: "Customer support of a small shop for lamps, furniture and the like",
  start: "triage"
})

/** The tools' handlers, on the order book and the shelf. */
export const layer = Layer.mergeAll(Lookup.layer, RefundsDesk.layer, OrdersDesk.layer, SalesDesk.layer).pipe(
  Layer.provide([Orders.layer, Shelf.layer])
)
