/**
 * What awaits a decision in all conversations of a tenant.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Stream } from "effect"
import type * as Api from "../api/Approvals.ts"
import type { Unavailable } from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { Store, type StoreFailed } from "../store/Store.ts"
import { Runs } from "./Runs.ts"
import { unavailableIn } from "./unavailable.ts"

type Waiting = typeof Api.Waiting.Type

export class Approvals extends Context.Service<Approvals, {
  readonly waiting: (tenant: string) => Effect.Effect<ReadonlyArray<Waiting>, Unavailable>
  /**
   * What waits now, and again whenever that changes; nothing when it didn't for a while. It ends when the service shuts
   * down.
   */
  readonly changes: (
    tenant: string
  ) => Effect.Effect<Stream.Stream<ReadonlyArray<Waiting> | undefined, StoreFailed>, Unavailable>
}>()("backend/Approvals") {}

/** How often a reader looks whether the list has changed: runs of other instances change it, too. */
const polling = Duration.millis(300)

/** What waits, and what tells whether it still is that. */
interface Seen {
  readonly key: string
  readonly list: ReadonlyArray<Waiting>
}

const make = Effect.gen(function*() {
  const store = yield* Store
  const runs = yield* Runs
  const { heartbeat } = yield* Settings
  const unavailable = unavailableIn(store)

  const look = (tenant: string, before?: Seen): Effect.Effect<Seen, StoreFailed> =>
    Effect.map(store.awaiting(tenant), (rows) => {
      const list = rows.flatMap(({ approvals, id, title, updatedAt }) =>
        approvals.map((approval) => ({ ...approval, conversation: id, title, updatedAt }))
      )
      const key = list.map(({ callId, conversation, updatedAt }) =>
        `${conversation} ${callId} ${updatedAt.epochMilliseconds}`
      ).join("\n")
      return before?.key === key ? before : { key, list }
    })

  return Approvals.of({
    waiting: (tenant) => Effect.catch(Effect.map(look(tenant), ({ list }) => list), unavailable),
    changes: Effect.fnUntraced(function*(tenant) {
      yield* runs.open
      const first = yield* Effect.catch(look(tenant), unavailable)
      /** The list when it is another one, the old one when nothing happened for a while, none when the service closes. */
      const next = Effect.fnUntraced(function*(before: Seen) {
        const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(heartbeat)
        while (true) {
          const isClosing = yield* Effect.raceFirst(
            Effect.as(Effect.sleep(polling), false),
            Effect.as(runs.closed, true)
          )
          if (isClosing) return undefined
          const now = yield* look(tenant, before)
          if (now !== before || (yield* Clock.currentTimeMillis) >= until) return now
        }
      })
      const later = Stream.paginate(first, (before) =>
        Effect.map(
          next(before),
          (now) =>
            [now === undefined ? [] : [now === before ? undefined : now.list], Option.fromUndefinedOr(now)] as const
        ))
      return Stream.concat(Stream.succeed<ReadonlyArray<Waiting> | undefined>(first.list), later)
    })
  })
})

export const layer = Layer.effect(Approvals, make)
