/**
 * How the desk does what it is asked to, one rule for each wish.
 */
import { Result } from "effect"
import { bestOf, type Product, products } from "./catalogue.ts"
import { consult, type Exchange, type Move, together } from "./evidence.ts"
import { languageOf, sorryIn } from "./languages.ts"
import * as Book from "./orders.ts"
import { dayOf, euros, itemsOf, list, the } from "./phrases.ts"
import type { Task } from "./reading.ts"
import { brokenDown, explain, lost, nothingToClaim, notReturnable } from "./refusals.ts"
import * as Tools from "./tools.ts"
import type { Wish } from "./wishes.ts"

type Rule = (task: Task, calls: Exchange["calls"], isAgain: boolean) => Result.Result<string, Move>

const say = (text: string): Result.Result<never, Move> => Result.fail({ _tag: "Say", text })

// Finding the order and the item

const asking: Partial<Record<Wish, string>> = {
  claim: "I'm sorry to hear that. Which order is it?",
  where: "I'll gladly find your parcel. Which order is it?",
  cancel: "I can do that as long as it hasn't left us. Which order is it?",
  return: "I can help with that. Which order is it?",
  warranty: "I'll look up how long the warranty runs. Which order is it?"
}

/** The order that a task is about, by number or by mail address. */
const theOrder = (task: Task, calls: Exchange["calls"], isAgain: boolean): Result.Result<Book.Order, Move> =>
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

const kinds = new Set(products.map(({ kind }) => kind))

/** Makes sure that an order has the kind of thing in it that the customer speaks of, if any. */
const checkKind = (task: Task, { items, order }: Book.Order): Result.Result<void, Move> => {
  const kind = [...kinds].find((kind) => new RegExp(`\\b${kind}s?\\b`).test(task.words))
  return kind === undefined || bestOf(items, task.words).length > 0
    ? Result.void
    : say(`I see no ${kind} in order ${order}, only: ${itemsOf(items)}. Which order is it?`)
}

/** The items of an order that a task is about. */
const theItems = (task: Task, { items, order }: Book.Order): Result.Result<ReadonlyArray<Book.Item>, Move> => {
  if (items.length === 1 || wholeOrder.test(task.words)) return Result.succeed(items)
  const named = bestOf(items, task.words)
  return named.length === 1
    ? Result.succeed(named)
    : say(`Order ${order} has ${items.length} items. Which one is it, ${list(items.map(the), "or")}?`)
}

const wholeOrder = /\b(both|everything|all of (it|them)|(all|whole)( the)? (items|order))\b/

// Rules

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
      const remark = amount > Tools.approvalLimit
        ? `I'm sorry about the ${name}. A claim of ${
          euros(amount)
        } needs a colleague's approval, which I'm asking for now.`
        : undefined
      return Result.map(
        consult(calls, Tools.OpenClaim, params, remark),
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

const cancel: Rule = (task, calls, isAgain) =>
  Result.gen(function*() {
    const order = task.order ?? (yield* theOrder(task, calls, isAgain)).order
    const cancelled = yield* consult(calls, Tools.CancelOrder, { order })
    return Result.match(cancelled, {
      onFailure: explain,
      onSuccess: ({ refund }) =>
        `Order ${order} is cancelled. ${euros(refund)} go back to the account that you paid with, within five days.`
    })
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
        consult(calls, Tools.StartReturn, { order: order.order, sku }),
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

const where: Rule = (task, calls, isAgain) =>
  Result.gen(function*() {
    const { items, order, status } = yield* theOrder(task, calls, isAgain)
    switch (status._tag) {
      case "Processing":
        return `Order ${order} (${itemsOf(items)}) is being packed and ships on ${dayOf(status.shipsOn)}.`
      case "InTransit":
      case "Lost": {
        const tracked = yield* consult(calls, Tools.TrackParcel, { order })
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

const statusOf = (status: Book.Status): string =>
  Book.Status.match(status, {
    Processing: ({ shipsOn }) => `is being packed and ships on ${dayOf(shipsOn)}`,
    InTransit: ({ dueOn }) => `is on its way and due on ${dayOf(dueOn)}`,
    Delivered: ({ on }) => `was delivered on ${dayOf(on)}`,
    Lost: ({ lastSeen }) => `is lost on its way, last seen on ${dayOf(lastSeen)}`,
    Cancelled: ({ on }) => `was cancelled on ${dayOf(on)}`,
    Returned: ({ on }) => `came back to us on ${dayOf(on)} and is refunded`
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

const warrantyOf = ({ name, warrantyUntil }: Book.Item): string =>
  warrantyUntil === undefined
    ? `the ${name} has none`
    : warrantyUntil < Book.today
    ? `that of the ${name} ended on ${dayOf(warrantyUntil)}`
    : `the ${name} is covered until ${dayOf(warrantyUntil)}`

const warranty: Rule = (task, calls, isAgain) =>
  Result.gen(function*() {
    if (task.order === undefined && task.email === undefined && task.choice === undefined) {
      const query = task.words.trim()
      const found = bestOf(products, query).length === 0 ? [] : yield* search(query, calls)
      const terms = found.map(({ name, warranty }) =>
        warranty === 0 ? `${name}: no warranty` : `${name}: ${warranty} months`
      )
      return terms.length > 0
        ? `Our warranty, from the day of delivery:\n${terms.map((term) => `  ${term}`).join("\n")}`
        : "Lamps, electronics and clocks have a warranty of 24 months from delivery, chairs and desks of 60, bulbs and rugs of 12. For a date, tell me the order's number."
    }
    const { items, order, status } = yield* theOrder(task, calls, isAgain)
    if (status._tag !== "Delivered") {
      return `The warranty of order ${order} begins with its delivery; so far, it ${statusOf(status)}.`
    }
    return `The warranty of order ${order}: ${list(items.map(warrantyOf), "and")}.`
  })

const search = (query: string, calls: Exchange["calls"]): Result.Result<ReadonlyArray<Product>, Move> =>
  Result.flatMap(
    consult(calls, Tools.SearchProducts, { query }),
    (found) => Result.isSuccess(found) ? Result.succeed(found.success) : say(brokenDown(found.failure))
  )

const availability = ({ restock, stock }: Product): string =>
  stock > 0 ? `${stock} in stock` : restock === undefined ? "sold out" : `out of stock until ${dayOf(restock)}`

const common =
  /\b(how|much|is|are|the|a|an|do|does|you|have|has|in|stock|price|prices|of|for|what|cost|costs|i|am|i'm|looking|to|buy|want|your|available|availability|any|sell|can|please|it|and|there|still|would|like|me|recommend|carry|which|one|ones|it's|they|them|that|this|about|its)\b/g

const product: Rule = (task, calls) =>
  Result.gen(function*() {
    const query = task.words.replace(common, " ").replace(/[^a-z0-9' -]/g, " ").replace(/\s+/g, " ").trim()
    const range = `We have ${list([...kinds].map((kind) => `${kind}s`), "and")}.`
    if (query === "") return `${range} What are you looking for?`
    const found = yield* search(query, calls)
    const best = bestOf(found, query)
    const only = best[0]
    if (only === undefined) return `I find nothing like "${query}" in our catalogue. ${range}`
    return best.length === 1
      ? `${only.name}: ${euros(only.price)}, ${availability(only)}${
        only.warranty === 0 ? "" : `, with a warranty of ${only.warranty} months`
      }.`
      : `We have ${best.length} that fit:\n${
        best.map((product) => `  ${product.name}, ${euros(product.price)}, ${availability(product)}`).join("\n")
      }`
  })

const always = (text: string): Rule => () => Result.succeed(text)

const can =
  "I can find your parcel, cancel or return an order, take care of something that is broken, and tell you what we have."

/** How each wish is done. */
export const rules: Readonly<Record<Wish, Rule>> = {
  claim,
  cancel,
  return: giveBack,
  address,
  warranty,
  where,
  status,
  product,
  hours: always(
    "We answer here day and night. Our shop at Hafenstraße 8 in Lübeck is open from Monday to Friday, 9:00 to 18:00, and on Saturday until 14:00."
  ),
  shipping: always(
    "Shipping is €4.90, and free from €50.00 on. A parcel takes two to four working days in Germany and up to seven elsewhere in the EU."
  ),
  returns: always(
    `You have ${Book.returnDays} days from delivery to send anything back, free of charge. The money is with you within five days of its arrival here.`
  ),
  payment: always(
    "You can pay by card, PayPal or invoice; the invoice comes with the confirmation mail. If you were charged wrongly, write to help@halden.example."
  ),
  human: always(
    "Of course. Write to help@halden.example, or call +49 451 555 0142 from Monday to Friday, 9:00 to 18:00. If you tell me what it is about, I may be able to settle it right here."
  ),
  complaint: always("I'm sorry for the trouble. Tell me what went wrong and with which order, and I'll see to it."),
  thanks: always("You're welcome! If anything else comes up, I'm here."),
  bye: always("Thank you for writing, and have a good day!"),
  greeting: always(`Hello! ${can} What is it about?`),
  declined: always("All right, I'll leave it as it is. If anything else comes up, I'm here."),
  foreign: ({ words }) => Result.succeed(sorryIn(languageOf(words))),
  unclear: always(`I'm not sure what you mean. ${can} If it is about an order, its number helps, such as 1042.`)
}
