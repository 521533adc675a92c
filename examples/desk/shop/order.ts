/**
 * An order: what it holds, how it stands, and why something can't be done about it.
 */
import { Schema } from "effect"

/** The desk's calendar stands still, so that the same question gets the same answer any day. */
export const today = "2026-03-16"

/** Days in which an item may be sent back, counted from its delivery. */
export const returnDays = 30

const Day = Schema.String

export const Status = Schema.TaggedUnion({
  Processing: { shipsOn: Day },
  InTransit: { carrier: Schema.String, tracking: Schema.String, at: Schema.String, dueOn: Day },
  Delivered: { on: Day },
  Lost: { carrier: Schema.String, tracking: Schema.String, at: Schema.String, lastSeen: Day },
  Cancelled: { on: Day },
  Returned: { on: Day }
})
export type Status = typeof Status.Type

export const Item = Schema.Struct({
  sku: Schema.String,
  name: Schema.String,
  quantity: Schema.Int,
  price: Schema.Finite,
  warrantyUntil: Schema.optionalKey(Day)
})
export interface Item extends Schema.Schema.Type<typeof Item> {}

export const Order = Schema.Struct({
  order: Schema.String,
  customer: Schema.String,
  email: Schema.String,
  placedOn: Day,
  items: Schema.Array(Item),
  total: Schema.Finite,
  paidWith: Schema.String,
  status: Status
})
export interface Order extends Schema.Schema.Type<typeof Order> {}

export const Parcel = Schema.Struct({
  order: Schema.String,
  carrier: Schema.String,
  tracking: Schema.String,
  at: Schema.String,
  isLost: Schema.Boolean,
  dueOn: Schema.optionalKey(Day),
  lastSeen: Schema.optionalKey(Day)
})
export interface Parcel extends Schema.Schema.Type<typeof Parcel> {}

export const Return = Schema.Struct({ id: Schema.String, item: Schema.String, refund: Schema.Finite, sendBy: Day })
export const Claim = Schema.Struct({
  id: Schema.String,
  item: Schema.String,
  remedy: Schema.Literals(["replacement", "refund"]),
  amount: Schema.Finite,
  doneBy: Day
})
export const Cancellation = Schema.Struct({ order: Schema.String, refund: Schema.Finite })

export class OrderNotFound extends Schema.TaggedError<OrderNotFound>()("OrderNotFound", { order: Schema.String }) {}
export class ItemNotInOrder extends Schema.TaggedError<ItemNotInOrder>()("ItemNotInOrder", {
  order: Schema.String,
  sku: Schema.String
}) {}
export class NotOnItsWay extends Schema.TaggedError<NotOnItsWay>()("NotOnItsWay", {
  order: Schema.String,
  status: Status
}) {}
export class NotCancellable extends Schema.TaggedError<NotCancellable>()("NotCancellable", {
  order: Schema.String,
  status: Status
}) {}
export class NotReturnable extends Schema.TaggedError<NotReturnable>()("NotReturnable", {
  order: Schema.String,
  status: Status
}) {}
export class ReturnWindowOver extends Schema.TaggedError<ReturnWindowOver>()("ReturnWindowOver", {
  order: Schema.String,
  deliveredOn: Day,
  lastDay: Day
}) {}
export class AlreadyOpen extends Schema.TaggedError<AlreadyOpen>()("AlreadyOpen", {
  order: Schema.String,
  item: Schema.String,
  id: Schema.String
}) {}
export class NothingToClaim extends Schema.TaggedError<NothingToClaim>()("NothingToClaim", {
  order: Schema.String,
  status: Status
}) {}
export class WarrantyOver extends Schema.TaggedError<WarrantyOver>()("WarrantyOver", {
  order: Schema.String,
  item: Schema.String,
  until: Schema.optionalKey(Day)
}) {}
export class OutOfStock extends Schema.TaggedError<OutOfStock>()("OutOfStock", {
  item: Schema.String,
  restock: Schema.optionalKey(Day)
}) {}
export class WrongAmount extends Schema.TaggedError<WrongAmount>()("WrongAmount", {
  order: Schema.String,
  amount: Schema.Finite,
  paid: Schema.Finite
}) {}
