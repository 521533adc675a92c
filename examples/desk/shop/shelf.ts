/**
 * The shelf: what is set aside for customers until they have paid.
 */
import { Context, Effect, Layer, Ref, Schema } from "effect"
import { products } from "./catalogue.ts"
import { addDays, today } from "./orders.ts"

export const Reservation = Schema.Struct({
  id: Schema.String,
  item: Schema.String,
  quantity: Schema.Int,
  total: Schema.Finite,
  until: Schema.String
})

/** There is less than what was asked for: `left` of it. */
export class NotEnough extends Schema.TaggedError<NotEnough>()("NotEnough", {
  item: Schema.String,
  left: Schema.Int,
  restock: Schema.optionalKey(Schema.String)
}) {}

/** Days for which something stays set aside. */
const reservedDays = 3

export class Shelf extends Context.Service<Shelf, {
  setAside(sku: string, quantity: number): Effect.Effect<typeof Reservation.Type, NotEnough>
}>()("desk/Shelf") {
  static readonly layer = Layer.effect(
    Shelf,
    Effect.gen(function*() {
      const taken = yield* Ref.make<ReadonlyArray<{ readonly sku: string; readonly quantity: number }>>([])
      return Shelf.of({
        setAside: Effect.fn("Shelf.setAside")(function*(sku, quantity) {
          const product = products.find((product) => product.sku === sku)
          const others = yield* Ref.get(taken)
          const gone = others.reduce((sum, other) => other.sku === sku ? sum + other.quantity : sum, 0)
          const left = (product?.stock ?? 0) - gone
          if (product === undefined || left < quantity) {
            const restock = product?.restock
            return yield* new NotEnough({
              item: product?.name ?? sku,
              left: Math.max(0, left),
              ...(restock === undefined ? undefined : { restock })
            })
          }
          yield* Ref.set(taken, [...others, { sku, quantity }])
          return {
            id: `B-${others.length + 1}`,
            item: product.name,
            quantity,
            total: product.price * quantity,
            until: addDays(today, reservedDays)
          }
        })
      })
    })
  )
}
