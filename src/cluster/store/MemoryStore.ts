/**
 * Conversations in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Append, Claimed, Service, StoredEntry } from "./Stored.ts"

interface Row {
  epoch: number
  origin: string | undefined
  snapshot: StoredEntry | undefined
  readonly log: Array<Omit<Append, "id" | "epoch"> & { isRemoved?: boolean }>
  readonly answers: Map<string, string | undefined>
}

/** Makes a store that is empty. */
export const make = (): Service => {
  const rows = new Map<string, Row>()
  let epochs = 0
  const rowOf = (id: string): Row => {
    const row = rows.get(id) ??
      { epoch: 0, origin: undefined, snapshot: undefined, log: [], answers: new Map() }
    rows.set(id, row)
    return row
  }
  return {
    claim: (id) =>
      Effect.sync((): Claimed => {
        const row = rowOf(id)
        row.epoch = ++epochs
        const { epoch, snapshot } = row
        const from = snapshot?.revision ?? 0
        const entries = row.log.flatMap(({ isRemoved, revision, text }) =>
          revision > from && isRemoved !== true ? [{ revision, text }] : []
        )
        return { epoch, snapshot, entries }
      }),
    append: ({ epoch, id, ...entry }) =>
      Effect.sync(() => {
        const row = rows.get(id)
        if (row?.epoch !== epoch || row.log.length + 1 !== entry.revision) return false
        row.log.push(entry)
        if (entry.answered !== undefined) row.answers.set(entry.answered, entry.answer)
        return true
      }),
    saveSnapshot: (id, epoch, snapshot) =>
      Effect.sync(() => {
        const row = rows.get(id)
        if (row?.epoch === epoch) row.snapshot = snapshot
      }),
    shorten: (id, epoch, until) =>
      Effect.sync(() => {
        const row = rows.get(id)
        if (row?.epoch !== epoch || (row.snapshot?.revision ?? 0) < until.revision) return
        row.log.forEach((entry, at) => {
          const isGone = entry.revision <= until.revision && entry.lastEvent <= until.event
          if (isGone) row.log[at] = { ...entry, text: "", isRemoved: true }
        })
      }),
    find: (id, key) =>
      Effect.sync(() => {
        const row = rows.get(id)
        const entry = row?.log.find(({ taken }) => taken === key)
        return {
          taken: entry === undefined ? undefined : { lastEvent: entry.lastEvent, text: entry.text },
          answer: row?.answers.get(key)
        }
      }),
    read: (id, after, limit) =>
      Effect.sync(() =>
        (rows.get(id)?.log ?? [])
          .filter(({ isRemoved, lastEvent }) => lastEvent > after && isRemoved !== true).slice(0, limit)
      ),
    create: (id, origin, text) =>
      Effect.sync(() => {
        const row = rowOf(id)
        if (row.origin === origin) return true
        if (row.log.length > 0 || row.origin !== undefined) return false
        row.epoch = ++epochs
        row.origin = origin
        row.log.push({ revision: 1, text, lastEvent: 0, taken: undefined, answered: undefined, answer: undefined })
        return true
      }),
    remove: (id) => Effect.sync(() => void rows.delete(id))
  }
}
