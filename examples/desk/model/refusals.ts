/**
 * Why something can't be done, in words for the customer.
 */
import { Match } from "effect"
import * as Book from "../shop/orders.ts"
import type { NotEnough } from "../shop/shelf.ts"
import type { NoAnswer } from "./evidence.ts"
import { dayOf } from "./phrases.ts"

export const lost = (order: string): string =>
  `Order ${order} seems to be lost on its way. Would you like a replacement or a refund?`

const notCancellable = (order: string, status: Book.Status): string =>
  Book.Status.match(status, {
    Processing: () => `Order ${order} can't be cancelled right now.`,
    InTransit: ({ dueOn }) =>
      `Order ${order} has left us already, so I can't cancel it any more. It is due on ${
        dayOf(dueOn)
      }: refuse it at the door, or send it back within ${Book.returnDays} days, and you get your money back.`,
    Delivered: ({ on }) =>
      `Order ${order} was delivered on ${
        dayOf(on)
      }, so it can't be cancelled any more. Shall I start a return instead?`,
    Lost: () => lost(order),
    Cancelled: ({ on }) => `Order ${order} is cancelled already, since ${dayOf(on)}. There is nothing left to do.`,
    Returned: ({ on }) => `Order ${order} came back to us on ${dayOf(on)} and is refunded.`
  })

export const notReturnable = (order: string, status: Book.Status): string =>
  Book.Status.match(status, {
    Processing: ({ shipsOn }) =>
      `Order ${order} hasn't left us yet; it ships on ${dayOf(shipsOn)}. Shall I cancel it instead?`,
    InTransit: ({ dueOn }) =>
      `Order ${order} is still on its way and due on ${
        dayOf(dueOn)
      }. Once it is there you have ${Book.returnDays} days to send it back.`,
    Delivered: () => `Order ${order} can't be returned right now.`,
    Lost: () => lost(order),
    Cancelled: ({ on }) => `Order ${order} was cancelled on ${dayOf(on)}, so there is nothing to send back.`,
    Returned: ({ on }) => `Order ${order} came back to us on ${dayOf(on)} already and is refunded.`
  })

export const nothingToClaim = (order: string, status: Book.Status): string =>
  Book.Status.match(status, {
    Processing: ({ shipsOn }) =>
      `Order ${order} hasn't left us yet, it ships on ${dayOf(shipsOn)}. Could you check the number?`,
    InTransit: ({ dueOn }) =>
      `Order ${order} is still on its way and due on ${dayOf(dueOn)}. Could you check the number?`,
    Delivered: () => `There is nothing to claim for order ${order}.`,
    Lost: () => lost(order),
    Cancelled: ({ on }) =>
      `Order ${order} was cancelled on ${dayOf(on)} and never left us. Could you check the number?`,
    Returned: ({ on }) => `Order ${order} came back to us on ${dayOf(on)} already and is refunded.`
  })

type Failure =
  | Book.OrderNotFound
  | Book.ItemNotInOrder
  | Book.NotOnItsWay
  | Book.NotCancellable
  | Book.NotReturnable
  | Book.ReturnWindowOver
  | Book.AlreadyOpen
  | Book.NothingToClaim
  | Book.WarrantyOver
  | Book.OutOfStock
  | Book.WrongAmount
  | NotEnough

/** What a tool's refusal means for the customer. */
export const explain: (failure: Failure | NoAnswer) => string = Match.type<Failure | NoAnswer>().pipe(
  Match.tagsExhaustive({
    OrderNotFound: ({ order }) =>
      `I can't find an order ${order}. The number has four digits and stands in your confirmation mail. Could you check it?`,
    ItemNotInOrder: ({ order }) => `Order ${order} doesn't have that item. Could you check the number?`,
    NotOnItsWay: ({ order }) => `There is no parcel on its way for order ${order}.`,
    NotCancellable: ({ order, status }) => notCancellable(order, status),
    NotReturnable: ({ order, status }) => notReturnable(order, status),
    ReturnWindowOver: ({ deliveredOn, lastDay, order }) =>
      `Order ${order} was delivered on ${dayOf(deliveredOn)}, and its ${Book.returnDays} days for returns ended on ${
        dayOf(lastDay)
      }, so I can't take it back. If something is wrong with it, tell me what: that may be covered by the warranty.`,
    AlreadyOpen: ({ id, item, order }) =>
      `The ${item} of order ${order} is being taken care of already, under ${id}. There is nothing more you need to do.`,
    NothingToClaim: ({ order, status }) => nothingToClaim(order, status),
    WarrantyOver: ({ item, until }) =>
      `I'm sorry, the warranty of the ${item} ended${
        until === undefined ? "" : ` on ${dayOf(until)}`
      }, so I can neither replace nor refund it.`,
    OutOfStock: ({ item, restock }) =>
      `I'm sorry about the ${item}. I can't replace it at once: it is out of stock${
        restock === undefined ? "" : ` until ${dayOf(restock)}`
      }. Would you like a refund instead?`,
    WrongAmount: ({ order }) => `The amount doesn't match what was paid for order ${order}, so I stopped there.`,
    NotEnough: ({ item, left, restock }) =>
      left > 0
        ? `There ${left === 1 ? "is" : "are"} only ${left} of the ${item} left. How many would you like?`
        : `I'm sorry, the ${item} is ${
          restock === undefined ? "sold out" : `out of stock until ${dayOf(restock)}`
        }, so I can't set one aside.`,
    NoAnswer: (failure) => brokenDown(failure)
  })
)

export const stuck = "I'm sorry, I couldn't get that done just now. Please try again in a moment."

export const brokenDown = ({ isDenied, reason }: NoAnswer): string =>
  isDenied
    ? `I'm sorry, that was not approved: ${
      reason.replace(/^This call was denied: /, "").replace(/\.$/, "")
    }. Write to help@halden.example if you would like somebody to look at it again.`
    : stuck
