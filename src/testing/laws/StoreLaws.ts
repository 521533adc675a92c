/**
 * The laws of a store of sessions.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Result from "effect/Result"
import * as Session from "../../agent/Session.ts"
import * as AgentState from "../../domain/AgentState.ts"
import { difference } from "./Difference.ts"
import { type Breach, breach } from "./LawBroken.ts"

const storeId = "troupe/laws"

/** Ids that a store may take for the same: one that doesn't tell cases apart, trims, or makes names of files of them. */
const near = ["troupe/LAWS", "troupe/laws ", "troupe_laws", "troupe/laws/x"]

/** Keys as a session's entries have them, which a store that cuts keys takes for the same. */
const keys = [1, 2, 32].map((at) => `${storeId}#${"0".repeat(22)}#${at}`)

/** Gives a breach if a store returns for one key what was written for another. Reading a session there might never come to an end. */
const confusion = Effect.gen(function*() {
  const { KeyValueStore } = yield* Effect.promise(() => import("effect/persistence/KeyValueStore"))
  const store = yield* KeyValueStore
  const removed = Effect.forEach(keys, store.remove, { discard: true })
  yield* removed
  for (const key of keys) {
    const found = yield* store.get(key)
    if (found !== undefined) return breach("each key has a value of its own", `"${key}" has that of "${found}"`)
    yield* store.set(key, key)
  }
  yield* removed
  return undefined
})

/** Gives the first law that a store breaks with a state. */
export const breachOf: (
  state: AgentState.AgentState
) => Effect.Effect<Breach | undefined, never, KeyValueStore.KeyValueStore> = Effect.fnUntraced(function*(state) {
  const store = Session.store(storeId)
  const program = Effect.gen(function*() {
    const confused = yield* confusion
    if (confused !== undefined) return confused
    yield* Session.remove(storeId)
    const [one, other] = [yield* store.open, yield* store.open]
    if (one.restored !== undefined) return breach("what is removed is gone", "a state is there")
    yield* one.save(state)
    const { restored } = yield* store.open
    const read = Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))
    const found = difference(restored, read)
    if (found !== undefined) return breach("what is saved is restored", found)
    for (const id of near) {
      const { restored } = yield* Session.store(id).open
      if (restored !== undefined) return breach("each id has a state of its own", `"${id}" has that of "${storeId}"`)
    }
    const late = yield* Effect.exit(other.save(AgentState.make("another")))
    if (Exit.isSuccess(late)) return breach("nothing is overwritten that a session hasn't seen", "it was")
    const next = AgentState.log(state, "again")
    const saving = yield* Effect.forkChild(one.save(next))
    while (saving.pollUnsafe() === undefined) {
      yield* Effect.yieldNow
      const opened = yield* Effect.exit(store.open)
      const isWhole = Exit.isSuccess(opened) &&
        [read, next].some((state) => difference(opened.value.restored, state) === undefined)
      if (isWhole) continue
      const issue = Exit.isSuccess(opened) ? "there was neither" : String(Cause.squash(opened.cause))
      return breach("a reader during a save finds the new state or the one before", issue)
    }
    yield* Fiber.join(saving)
    yield* Session.remove(storeId)
    return undefined
  })
  const exit = yield* Effect.exit(Effect.scoped(program))
  return Exit.isSuccess(exit) ? exit.value : breach("a store works", String(Cause.squash(exit.cause)))
})
