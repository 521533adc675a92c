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
const entry = `${storeId}#${"0".repeat(22)}#`
const keys = [`${entry}1`, `${entry}2`, `${entry}32`] as const

const removal = "what is removed is gone"
const restoring = "what is saved is restored"
const wholeness = "a reader during a save finds the new state or the one before"

/**
 * Returns the first law that a store breaks with plain values. They are tried without a session, which might read for ever from a store
 * that confuses keys, and seldom overwrites a value.
 */
const breachOfValues = Effect.gen(function*() {
  const { KeyValueStore } = yield* Effect.promise(() => import("effect/persistence/KeyValueStore"))
  const store = yield* KeyValueStore
  const removed = Effect.forEach(keys, store.remove, { discard: true })
  yield* removed
  for (const [index, key] of keys.entries()) {
    const found = yield* store.get(key)
    if (found !== undefined) {
      return index === 0
        ? breach(removal, `"${key}" is still there`)
        : breach("each key has a value of its own", `"${key}" has that of "${found}"`)
    }
    yield* store.set(key, key)
    if ((yield* store.get(key)) !== key) return breach(restoring, `"${key}" has another value, or none`)
  }
  const [key] = keys
  const next = "0".repeat(1000)
  const setting = yield* Effect.forkChild(store.set(key, next))
  while (setting.pollUnsafe() === undefined) {
    yield* Effect.yieldNow
    const found = yield* store.get(key)
    if (found !== key && found !== next) {
      return breach(wholeness, `there was ${found === undefined ? "none" : "a part"}`)
    }
  }
  yield* Fiber.join(setting)
  yield* removed
  return undefined
})

/** Returns the first law that a store breaks with a state. */
export const breachOf: (
  state: AgentState.AgentState
) => Effect.Effect<Breach | undefined, never, KeyValueStore.KeyValueStore> = Effect.fnUntraced(function*(state) {
  const store = Session.store(storeId)
  const program = Effect.gen(function*() {
    const ofValues = yield* breachOfValues
    if (ofValues !== undefined) return ofValues
    yield* Session.remove(storeId)
    const [one, other] = [yield* store.open, yield* store.open]
    if (one.restored !== undefined) return breach(removal, "a state is there")
    yield* one.save(state)
    const { restored } = yield* store.open
    const read = Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))
    const found = difference(restored, read)
    if (found !== undefined) return breach(restoring, found)
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
      return breach(wholeness, issue)
    }
    yield* Fiber.join(saving)
    yield* Session.remove(storeId)
    return undefined
  })
  const exit = yield* Effect.exit(Effect.scoped(program))
  return Exit.isSuccess(exit) ? exit.value : breach("a store works", String(Cause.squash(exit.cause)))
})
