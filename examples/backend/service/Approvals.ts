/**
 * What awaits a decision in all conversations of a tenant.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Stream } from "effect"
import type * as Api from "../api/Approvals.ts"
import type { Unavailable } from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { type Row, Store, type StoreFailed } from "../store/Store.ts"
import { approvalsOf } from "./Conversations.ts"
import { Runs, unavailableIn } from "./Runs.ts"

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

/** Rows that are the same hold the same: each save touches its conversation. */
const keyOf = (rows: ReadonlyArray<Row>): string =>
  rows.map(({ id, updatedAt }) => `${id} ${updatedAt.epochMilliseconds}`).join("\n")

const make = Effect.gen(function*() {
  const store = yield* Store
  const runs = yield* Runs
  const { heartbeat } = yield* Settings
  const unavailable = unavailableIn(store)

  const waitingIn = (tenant: string) => ({ id }: Row) =>
    Effect.map(
      store.read(tenant, id),
      (saved): ReadonlyArray<Waiting> =>
        saved === undefined ? [] : approvalsOf(saved.state).map((approval) => ({
          ...approval,
          conversation: id,
          title: saved.row.title,
          updatedAt: saved.row.updatedAt
        }))
    )

  /** Reads the conversations that wait, unless they are as they were. */
  const look = Effect.fnUntraced(function*(tenant: string, before?: Seen) {
    const rows = yield* store.awaiting(tenant)
    const key = keyOf(rows)
    if (before?.key === key) return before
    const list = yield* Effect.forEach(rows, waitingIn(tenant), { concurrency: 4 })
    return { key, list: list.flat() }
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
