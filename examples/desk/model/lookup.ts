/**
 * How an order and its items are found: what the rules of refunds and orders have in common.
 */
import { Result } from "effect"
import * as Tools from "../agents/lookup.ts"
import { bestOf, kinds } from "../shop/catalogue.ts"
import * as Book from "../shop/orders.ts"
import { consult, type Exchange, type Move } from "./evidence.ts"
import { dayOf, itemsOf, list, the } from "./phrases.ts"
import type { Task } from "./reading.ts"
import { brokenDown, explain } from "./refusals.ts"
import { say } from "./rule.ts"
import type { Wish } from "./wishes.ts"

const asking: Partial<Record<Wish, string>> = {
  claim: "I'm sorry to hear that. Which order is it?",
  where: "I'll gladly find your parcel. Which order is it?",
  cancel: "I can do that as long as it hasn't left us. Which order is it?",
  return: "I can help with that. Which order is it?",
  warranty: "I'll look up how long the warranty runs. Which order is it?"
}

/** The order that a task is about, by number or by mail address. */
export const theOrder = (task: Task, calls: Exchange["calls"], isAgain: boolean): Result.Result<Book.Order, Move> =>
  Result.gen(function*() {
    if (task.order !== undefined) {
      const found = yield* consult(calls, Tools.FindOrder, { order: task.order })
      if (Result.isSuccess(found)) return found.success
      return yield* say(
        found.failure._tag === "NoAnswer" ? brokenDown(found.failure) : explain(found.failure)
      )
    }
    if (task.choice !== undefined) {
      return yield* say(`Which order do you mean, ${list(task.choice, "or")}?`)
    }
    if (task.email === undefined) {
      return yield* say(
        isAgain
          ? "Without the order I can't look anything up. The number has four digits and stands in your confirmation mail, such as 1042; the mail address that you ordered with will do as well. Do you have one of them?"
          : `${
            asking[task.wish] ?? "I'll look it up. Which order is it?"
          } Its number, or the mail address that you ordered with?`
      )
    }
    const { email } = task
    const found = yield* consult(calls, Tools.FindOrdersOf, { email })
    if (Result.isFailure(found)) return yield* say(brokenDown(found.failure))
    const orders = found.success
    if (orders.length === 0) {
      return yield* say(`I find no orders of ${email}. Is it another address, or do you have the number?`)
    }
    const meant = orders.length === 1
      ? orders
      : bestOf(orders.map((order) => ({ ...order, name: itemsOf(order.items) })), task.words)
    if (meant.length === 1) return meant[0]!
    return yield* say(
      `I find ${orders.length} orders of ${email}:\n${
        orders.map(({ items, order, placedOn }) => `  ${order}  ${itemsOf(items)}, of ${dayOf(placedOn)}`).join("\n")
      }\nWhich one is it?`
    )
  })

/** Makes sure that an order has the kind of thing in it that the customer speaks of, if any. */
export const checkKind = (task: Task, { items, order }: Book.Order): Result.Result<void, Move> => {
  const kind = kinds.find((kind) => new RegExp(`\\b${kind}s?\\b`).test(task.words))
  return kind === undefined || bestOf(items, task.words).length > 0
    ? Result.void
    : say(`I see no ${kind} in order ${order}, only: ${itemsOf(items)}. Which order is it?`)
}

/** The items of an order that a task is about. */
export const theItems = (task: Task, { items, order }: Book.Order): Result.Result<ReadonlyArray<Book.Item>, Move> => {
  if (items.length === 1 || wholeOrder.test(task.words)) return Result.succeed(items)
  const named = bestOf(items, task.words)
  return named.length === 1
    ? Result.succeed(named)
    : say(`Order ${order} has ${items.length} items. Which one is it, ${list(items.map(the), "or")}?`)
}

const wholeOrder = /\b(both|everything|all of (it|them)|(all|whole)( the)? (items|order))\b/

/** How an order stands, in words. */
export const statusOf = (status: Book.Status): string =>
  Book.Status.match(status, {
    Processing: ({ shipsOn }) => `is being packed and ships on ${dayOf(shipsOn)}`,
    InTransit: ({ dueOn }) => `is on its way and due on ${dayOf(dueOn)}`,
    Delivered: ({ on }) => `was delivered on ${dayOf(on)}`,
    Lost: ({ lastSeen }) => `is lost on its way, last seen on ${dayOf(lastSeen)}`,
    Cancelled: ({ on }) => `was cancelled on ${dayOf(on)}`,
    Returned: ({ on }) => `came back to us on ${dayOf(on)} and is refunded`
  })
