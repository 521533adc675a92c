/**
 * The order book: what was ordered, what became of it, and what may still be done about it.
 */
import { Context, Effect, Layer, Ref } from "effect"
import { type Product, products } from "./catalogue.ts"
import {
  AlreadyOpen,
  type Cancellation,
  type Claim,
  type Item,
  ItemNotInOrder,
  NotCancellable,
  NothingToClaim,
  NotOnItsWay,
  NotReturnable,
  type Order,
  OrderNotFound,
  OutOfStock,
  type Parcel,
  type Return,
  returnDays,
  ReturnWindowOver,
  Status,
  today,
  WarrantyOver,
  WrongAmount
} from "./order.ts"

export * from "./order.ts"

/** A day, some days later. */
export const addDays = (day: string, days: number): string => {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() + days)
  return date.toISOString().slice(0, 10)
}

const addMonths = (day: string, months: number): string => {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + months)
  return date.toISOString().slice(0, 10)
}

const product = (sku: string): Product => products.find((product) => product.sku === sku)!

const { Cancelled, Delivered, InTransit, Lost, Processing, Returned } = Status.cases

const order = (
  order: string,
  [customer, email, paidWith]: readonly [string, string, string],
  placedOn: string,
  lines: ReadonlyArray<readonly [sku: string, quantity: number]>,
  status: Status
): Order => {
  const items = lines.map(([sku, quantity]): Item => {
    const { name, price, warranty } = product(sku)
    return {
      sku,
      name,
      quantity,
      price,
      ...(status._tag === "Delivered" && warranty > 0 ? { warrantyUntil: addMonths(status.on, warranty) } : undefined)
    }
  })
  const total = items.reduce((sum, item) => sum + item.price * item.quantity, 0)
  return { order, customer, email, placedOn, items, total, paidWith, status }
}

/** The book is as careless as many are: it has the numbers of cards in it. */
const mara = ["Mara Lindqvist", "mara@example.com", "Visa 4111 1111 1111 1111"] as const
const jonas = ["Jonas Okafor", "jonas@example.com", "Mastercard 5555-5555-5555-4444"] as const
const priya = ["Priya Nair", "priya@example.com", "an invoice"] as const
const tom = ["Tom Becker", "tom@example.com", "PayPal"] as const

const orderBook: ReadonlyArray<Order> = [
  order("1027", tom, "2023-05-02", [["KTL-NOR", 1]], Delivered.make({ on: "2023-05-06" })),
  order("1031", priya, "2025-11-20", [["CHR-LOO", 1]], Delivered.make({ on: "2025-11-27" })),
  order("1035", jonas, "2026-01-08", [["SPK-ROO", 1], ["MUG-MIS", 1]], Delivered.make({ on: "2026-01-12" })),
  order("1038", mara, "2026-02-20", [["KTL-NOR", 1]], Delivered.make({ on: "2026-02-24" })),
  order("1040", tom, "2026-02-22", [["CSH-DUN", 2]], Returned.make({ on: "2026-03-09" })),
  order("1042", mara, "2026-03-06", [["LMP-AUR", 1]], Delivered.make({ on: "2026-03-12" })),
  order(
    "1043",
    jonas,
    "2026-03-10",
    [["CLK-TIK", 1], ["MUG-MIS", 2]],
    InTransit.make({
      carrier: "Nordpost",
      tracking: "NP-558-201",
      at: "the sorting centre in Lübeck",
      dueOn: "2026-03-18"
    })
  ),
  order("1044", jonas, "2026-03-15", [["HDP-WRE", 1]], Processing.make({ shipsOn: "2026-03-17" })),
  order(
    "1045",
    priya,
    "2026-02-18",
    [["RUG-HAV", 1]],
    Lost.make({
      carrier: "Nordpost",
      tracking: "NP-557-940",
      at: "the depot in Kiel",
      lastSeen: "2026-02-23"
    })
  ),
  order("1046", tom, "2026-03-01", [["DSK-BIR", 1]], Cancelled.make({ on: "2026-03-02" })),
  order("1047", priya, "2026-03-03", [["LMP-FJO", 1], ["BLB-EMB", 2]], Delivered.make({ on: "2026-03-09" })),
  order("1048", mara, "2026-03-16", [["DSK-BIR", 1], ["CSH-DUN", 1]], Processing.make({ shipsOn: "2026-03-19" }))
]

/** Orders as the desk's tools see them. */
export class Orders extends Context.Service<Orders, {
  find(order: string): Effect.Effect<Order, OrderNotFound>
  findByEmail(email: string): Effect.Effect<ReadonlyArray<Order>>
  track(order: string): Effect.Effect<Parcel, OrderNotFound | NotOnItsWay>
  cancel(order: string): Effect.Effect<typeof Cancellation.Type, OrderNotFound | NotCancellable>
  startReturn(order: string, sku: string): Effect.Effect<
    typeof Return.Type,
    OrderNotFound | ItemNotInOrder | NotReturnable | ReturnWindowOver | AlreadyOpen
  >
  openClaim(claim: {
    readonly order: string
    readonly sku: string
    readonly remedy: "replacement" | "refund"
    readonly amount: number
  }): Effect.Effect<
    typeof Claim.Type,
    OrderNotFound | ItemNotInOrder | NothingToClaim | WarrantyOver | OutOfStock | WrongAmount | AlreadyOpen
  >
}>()("desk/Orders") {
  static readonly layer = Layer.effect(
    Orders,
    Effect.gen(function*() {
      const book = yield* Ref.make(new Map(orderBook.map((order) => [order.order, order])))
      /** Returns and claims by order and item: nothing is given back twice. */
      const cases = yield* Ref.make<ReadonlyMap<string, string>>(new Map())

      const find = Effect.fn("Orders.find")(function*(number: string) {
        const order = (yield* Ref.get(book)).get(number)
        return order ?? (yield* new OrderNotFound({ order: number }))
      })

      const findItem = Effect.fnUntraced(function*(number: string, sku: string) {
        const order = yield* find(number)
        const item = order.items.find((item) => item.sku === sku)
        if (item === undefined) return yield* new ItemNotInOrder({ order: number, sku })
        const open = (yield* Ref.get(cases)).get(`${number}/${sku}`)
        if (open !== undefined) return yield* new AlreadyOpen({ order: number, item: item.name, id: open })
        return { order, item }
      })

      const open = (kind: "R" | "C", number: string, sku: string) =>
        Ref.modify(cases, (cases) => {
          const id = `${kind}-${number}-${cases.size + 1}`
          return [id, new Map(cases).set(`${number}/${sku}`, id)]
        })

      return Orders.of({
        find,
        findByEmail: Effect.fn("Orders.findByEmail")(function*(email) {
          return [...(yield* Ref.get(book)).values()].filter((order) => order.email === email.toLowerCase())
        }),
        track: Effect.fn("Orders.track")(function*(number) {
          const { status } = yield* find(number)
          if (status._tag === "InTransit") return { order: number, isLost: false, ...without(status) }
          if (status._tag === "Lost") return { order: number, isLost: true, ...without(status) }
          return yield* new NotOnItsWay({ order: number, status })
        }),
        cancel: Effect.fn("Orders.cancel")(function*(number) {
          const order = yield* find(number)
          if (order.status._tag !== "Processing") {
            return yield* new NotCancellable({ order: number, status: order.status })
          }
          const cancelled: Order = { ...order, status: Cancelled.make({ on: today }) }
          yield* Ref.update(book, (book) => new Map(book).set(number, cancelled))
          return { order: number, refund: order.total }
        }),
        startReturn: Effect.fn("Orders.startReturn")(function*(number, sku) {
          const { item, order } = yield* findItem(number, sku)
          if (order.status._tag !== "Delivered") {
            return yield* new NotReturnable({ order: number, status: order.status })
          }
          const lastDay = addDays(order.status.on, returnDays)
          if (today > lastDay) {
            return yield* new ReturnWindowOver({ order: number, deliveredOn: order.status.on, lastDay })
          }
          const id = yield* open("R", number, sku)
          return { id, item: item.name, refund: item.price * item.quantity, sendBy: addDays(today, 14) }
        }),
        openClaim: Effect.fn("Orders.openClaim")(function*({ amount, order: number, remedy, sku }) {
          const { item, order } = yield* findItem(number, sku)
          if (order.status._tag !== "Delivered" && order.status._tag !== "Lost") {
            return yield* new NothingToClaim({ order: number, status: order.status })
          }
          if (order.status._tag === "Delivered") {
            const until = item.warrantyUntil ?? addDays(order.status.on, returnDays)
            if (today > until) return yield* new WarrantyOver({ order: number, item: item.name, until })
          }
          const paid = item.price * item.quantity
          if (amount !== paid) return yield* new WrongAmount({ order: number, amount, paid })
          const { restock, stock } = product(sku)
          if (remedy === "replacement" && stock < item.quantity) {
            return yield* new OutOfStock({ item: item.name, ...(restock === undefined ? undefined : { restock }) })
          }
          const id = yield* open("C", number, sku)
          return { id, item: item.name, remedy, amount, doneBy: addDays(today, remedy === "refund" ? 5 : 3) }
        })
      })
    })
  )
}

const without = <A extends { readonly _tag: string }>({ _tag, ...fields }: A): Omit<A, "_tag"> => fields
