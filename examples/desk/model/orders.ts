/**
 * How orders does what it is asked to.
 */
import { Result } from "effect"
import { CancelOrder, TrackParcel } from "../agents/orders.ts"
import * as Book from "../shop/orders.ts"
import { consult } from "./evidence.ts"
import { statusOf, theOrder } from "./lookup.ts"
import { dayOf, euros, itemsOf } from "./phrases.ts"
import { explain } from "./refusals.ts"
import type { Rule } from "./rule.ts"
import type { OrdersWish } from "./wishes.ts"

const cancel: Rule = (task, calls, isAgain) =>
  Result.gen(function*() {
    const order = task.order ?? (yield* theOrder(task, calls, isAgain)).order
    const cancelled = yield* consult(calls, CancelOrder, { order })
    return Result.match(cancelled, {
      onFailure: explain,
      onSuccess: ({ refund }) =>
        `Order ${order} is cancelled. ${euros(refund)} go back to the account that you paid with, within five days.`
    })
  })

const where: Rule = (task, calls, isAgain) =>
  Result.gen(function*() {
    const { items, order, status } = yield* theOrder(task, calls, isAgain)
    switch (status._tag) {
      case "Processing":
        return `Order ${order} (${itemsOf(items)}) is being packed and ships on ${dayOf(status.shipsOn)}.`
      case "InTransit":
      case "Lost": {
        const tracked = yield* consult(calls, TrackParcel, { order })
        if (Result.isFailure(tracked)) return explain(tracked.failure)
        const { at, carrier, dueOn, isLost, lastSeen, tracking } = tracked.success
        return isLost
          ? `I'm sorry: ${carrier} saw order ${order} (${tracking}) last at ${at}, on ${
            dayOf(lastSeen ?? Book.today)
          }, and has given it up as lost. Would you like a replacement or a refund?`
          : `Order ${order} (${
            itemsOf(items)
          }) is on its way with ${carrier}, tracking number ${tracking}. It was last seen at ${at} and is due on ${
            dayOf(dueOn ?? Book.today)
          }.`
      }
      case "Delivered":
        return /\b(not|never|n't|didn't|haven't|hasn't|isn't)\b/.test(task.words)
          ? `Order ${order} was delivered on ${
            dayOf(status.on)
          }, says the carrier. Please look with your neighbours and at the usual places; if it isn't there by tomorrow, write to help@halden.example and a colleague starts an inquiry.`
          : `Order ${order} (${itemsOf(items)}) was delivered on ${dayOf(status.on)}.`
      case "Cancelled":
        return `Order ${order} was cancelled on ${dayOf(status.on)}, so nothing is on its way.`
      case "Returned":
        return `Order ${order} came back to us on ${dayOf(status.on)} and is refunded.`
    }
  })

const status: Rule = (task, calls, isAgain) =>
  Result.map(
    theOrder(task, calls, isAgain),
    ({ items, order, status }) => `Order ${order} (${itemsOf(items)}) ${statusOf(status)}. What can I do about it?`
  )

const address: Rule = (task, calls, isAgain) =>
  Result.map(theOrder(task, calls, isAgain), ({ order, status }) =>
    status._tag === "Processing"
      ? `I can't change the address of an order, but order ${order} hasn't left us yet. Shall I cancel it instead?`
      : `Order ${order} ${statusOf(status)}, so its address can't be changed any more.`)

const paid: Rule = (task, calls, isAgain) =>
  Result.map(theOrder(task, calls, isAgain), ({ order, paidWith }) => `Order ${order} was paid with ${paidWith}.`)

export const rules: Readonly<Record<OrdersWish, Rule>> = { cancel, address, paid, where, status }
