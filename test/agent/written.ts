/** Stores that remember what was written to them. */
import { Effect } from "effect"
import { KeyValueStore } from "effect/persistence"

/** A store in memory, and everything that was ever written to it. */
export const makeBacking = () => {
  const values = new Map<string, string>()
  const written: Array<string> = []
  const store = KeyValueStore.makeStringOnly({
    get: (key) => Effect.sync(() => values.get(key)),
    set: (key, value) =>
      Effect.sync(() => {
        values.set(key, value)
        written.push(value)
      }),
    remove: (key) => Effect.sync(() => void values.delete(key)),
    clear: Effect.sync(() => values.clear()),
    size: Effect.sync(() => values.size),
    keys: Effect.sync(() => [...values.keys()])
  })
  return { written, store }
}
