/**
 * How refunds does what it is asked to.
 */
import { Result } from "effect"
import { OpenClaim, StartReturn } from "../agents/refunds.ts"
import { approvalLimit } from "../agents/supervision.ts"
import * as Book from "../shop/orders.ts"
import { consult, together } from "./evidence.ts"
import { checkKind, statusOf, theItems, theOrder } from "./lookup.ts"
import { dayOf, euros, list } from "./phrases.ts"
import { explain, lost, nothingToClaim, notReturnable } from "./refusals.ts"
import { always, type Rule } from "./rule.ts"
import type { RefundsWish } from "./wishes.ts"

const claim: Rule = (task, calls, isAgain) =>
  Result.gen(function*() {
    const order = yield* theOrder(task, calls, isAgain)
    const { status } = order
    yield* checkKind(task, order)
    if (status._tag === "Lost" && task.remedy === undefined) return lost(order.order)
    if (status._tag !== "Delivered" && status._tag !== "Lost") return nothingToClaim(order.order, status)
    const items = status._tag === "Lost" ? order.items : yield* theItems(task, order)
    return yield* Result.fail(together(items.map(({ name, price, quantity, sku }) => {
      const amount = price * quantity
      const params = { order: order.order, sku, remedy: task.remedy ?? "replacement", amount }
      const remark = amount > approvalLimit
        ? `I'm sorry about the ${name}. A claim of ${
          euros(amount)
        } needs a colleague's approval, which I'm asking for now.`
        : undefined
      return Result.map(
        consult(calls, OpenClaim, params, remark),
        Result.match({
          onFailure: explain,
          onSuccess: ({ doneBy, id, remedy }) =>
            remedy === "refund"
              ? `I'm sorry about the ${name}. ${euros(amount)} go back to the account that you paid with, by ${
                dayOf(doneBy)
              }. Your claim is ${id}.`
              : `I'm sorry about the ${name}. A new one leaves us today and reaches you by ${
                dayOf(doneBy)
              }, at no cost; ${
                status._tag === "Lost"
                  ? "should the first parcel turn up, just refuse it"
                  : "you needn't send the old one back"
              }. Your claim is ${id}.`
        })
      )
    })))
  })

const giveBack: Rule = (task, calls, isAgain) =>
  Result.gen(function*() {
    const order = yield* theOrder(task, calls, isAgain)
    yield* checkKind(task, order)
    if (order.status._tag === "Lost") return yield* claim(task, calls, isAgain)
    if (order.status._tag !== "Delivered") return notReturnable(order.order, order.status)
    const items = yield* theItems(task, order)
    return yield* Result.fail(together(items.map(({ name, sku }) =>
      Result.map(
        consult(calls, StartReturn, { order: order.order, sku }),
        Result.match({
          onFailure: explain,
          onSuccess: ({ id, refund, sendBy }) =>
            `The return of the ${name} is open, under ${id}. I've mailed a label to ${order.email}: send it back by ${
              dayOf(sendBy)
            }, and ${euros(refund)} come back to you within five days of its arrival.`
        })
      )
    )))
  })

const charge: Rule = (task, calls, isAgain) =>
  Result.map(theOrder(task, calls, isAgain), ({ order, status, total }) => {
    const known = status._tag === "Cancelled" || status._tag === "Returned"
      ? `Order ${order} was ${status._tag.toLowerCase()} on ${dayOf(status.on)}, and ${
        euros(total)
      } go back to the account that you paid with, within five days of that.`
      : `Order ${order} comes to ${euros(total)}, and nothing of it has gone back so far.`
    return `${known} If your account says anything else, send its statement to help@halden.example, and a colleague sets it right.`
  })

const warrantyOf = ({ name, warrantyUntil }: Book.Item): string =>
  warrantyUntil === undefined
    ? `the ${name} has none`
    : warrantyUntil < Book.today
    ? `that of the ${name} ended on ${dayOf(warrantyUntil)}`
    : `the ${name} is covered until ${dayOf(warrantyUntil)}`

const warranty: Rule = (task, calls, isAgain) =>
  Result.map(theOrder(task, calls, isAgain), ({ items, order, status }) =>
    status._tag === "Delivered"
      ? `The warranty of order ${order}: ${list(items.map(warrantyOf), "and")}.`
      : `The warranty of order ${order} begins with its delivery; so far, it ${statusOf(status)}.`)

export const rules: Readonly<Record<RefundsWish, Rule>> = {
  claim,
  return: giveBack,
  charge,
  warranty,
  returns: always(
    `You have ${Book.returnDays} days from delivery to send anything back, free of charge. The money is with you within five days of its arrival here.`
  )
}
