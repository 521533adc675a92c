/**
 * How an open session writes to its store: an entry for each save, and now and then a new log that begins with the whole state.
 *
 * A new log begins when the entries of the log have four times as many characters as its base. So what a session writes is at most a
 * constant factor more than its events, however large its state is.
 *
 * A store may carry out a write and report it as failed. The session finds such a write by its text before it writes again, and then begins
 * a new log with its own state: what was reported as failed doesn't count, and readers meanwhile see a whole state.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Random from "effect/Random"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import * as EventJson from "../../domain/EventJson.ts"
import { toJson } from "../../domain/StateJson.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as IfAbsent from "./IfAbsent.ts"
import { because, type SessionError, StoreConflict } from "./SessionError.ts"
import * as StoredLog from "./StoredLog.ts"

/** How many characters of entries a log has at least before the next one begins. */
const minLogSize = 32_768

/**
 * How many failed writes are known at most. Each may have all that isn't saved yet, and a store may fail for long. An earlier one isn't in
 * the store, unless the store carries it out much later: it then counts as written by another session.
 */
const mostFailed = 8

/** A log that is written to. If it `isAhead`, it holds a save that was reported as failed, so the next save begins another log. */
interface OpenLog {
  readonly name: string
  readonly base: number
  readonly baseSize: number
  size: number
  recent: Array<ReadonlyArray<unknown>>
  next: string | undefined
  isAhead: boolean
}

const randomName = Effect.map(
  Effect.all([Random.nextInt, Random.nextInt]),
  (numbers) => numbers.map((number) => Math.abs(number).toString(36)).join("")
)

/** Makes the writer of a session, from what is stored of it. */
export const makeWriter = Effect.fnUntraced(function*(
  store: KeyValueStore.KeyValueStore,
  id: string,
  stored: StoredLog.Stored | undefined
) {
  const writer = yield* randomName
  let revision = stored?.revision ?? 0
  /** The head as it was read when the session was opened. While the session has no log, the head must still be this one. */
  const first = stored?.head
  /** The last head that was found to name a log in `known`. */
  let seen: string | undefined
  const known = new Set(stored?.logs.map(({ name }) => name))
  const last = stored?.logs.at(-1)
  /** Ended logs that the head may still name, or that are still to be removed. */
  const stale: Array<StoredLog.Extent> = stored === undefined ? [] : [...stored.ended, ...stored.logs.slice(0, -1)]
  let log: OpenLog | undefined = last === undefined ? undefined : {
    ...last,
    recent: [...last.recent],
    next: last.next,
    isAhead: false
  }
  /** The texts of the write under way and of the latest that failed since the last save, and how each is taken in if the store has it. */
  const failed = new Map<string, () => void>()

  const conflict = (found: number | undefined): Effect.Effect<never, SessionError> =>
    Effect.fail(because(new StoreConflict({ id, expected: revision, found })))

  const writing = Effect.mapError(StoredLog.unavailable(id, "write"))

  /** Takes in a write of this session that the store has now. Returns whether it wasn't taken in before. */
  const take = (text: string): boolean => {
    const takeIn = failed.get(text)
    if (takeIn === undefined) return false
    failed.clear()
    takeIn()
    return true
  }

  /** Takes in what the store has of a write that was reported as failed. Returns whether the text is one of this session. */
  const isOwn = (text: string): boolean => {
    if (!take(text)) return false
    if (log !== undefined) log.isAhead = true
    return true
  }

  /** Checks that the head names a log that this session has read or begun. A head that has passed isn't parsed again. */
  const checkHead = Effect.gen(function*() {
    const text = yield* StoredLog.get(store, id, id)
    if (log === undefined ? text === first : text !== undefined && text === seen) return
    if (text === undefined) return yield* conflict(undefined)
    if (isOwn(text)) return
    const head = yield* StoredLog.parseHead(id, text)
    if (head.version !== 2 || !known.has(head.log)) return yield* conflict(head.revision)
    seen = text
  })

  const check: Effect.Effect<void, SessionError> = Effect.gen(function*() {
    yield* checkHead
    if (log === undefined) return
    const { base, name, next } = log
    const mine = revision === base ? StoredLog.baseKey(id, name) : StoredLog.entryKey(id, name, revision)
    if ((yield* StoredLog.get(store, id, mine)) === undefined) return yield* conflict(base)
    const others = next === undefined ? StoredLog.entryKey(id, name, revision + 1) : StoredLog.baseKey(id, next)
    const found = yield* StoredLog.get(store, id, others)
    if (found === undefined) return
    yield* isOwn(found) ? check : conflict(revision + 1)
  })

  /** Notes a write before it is tried. */
  const note = (text: string, takeIn: () => void): void => {
    const [oldest] = failed.keys()
    if (failed.size >= mostFailed && oldest !== undefined) failed.delete(oldest)
    failed.set(text, takeIn)
  }

  /** Inserts a value that another session may insert at the same time. `takeIn` is what the session does once it is there. */
  const insert = (key: string, text: string, takeIn: () => void) =>
    Effect.suspend(() => {
      note(text, takeIn)
      return Effect.flatMap(
        writing(IfAbsent.insert(store, key, text)),
        (isInserted) => isInserted ? Effect.void : conflict(revision + 1)
      )
    })

  const removeLog = (log: StoredLog.Extent) =>
    Effect.map(
      StoredLog.removeLogs(store, id, [log]),
      () => void stale.splice(stale.indexOf(log), 1)
    )

  /** Names a log in the head, and removes the logs before it. What fails is done when the next log begins, in any session. */
  const moveHead = (to: OpenLog) =>
    Effect.gen(function*() {
      const head = StoredLog.headOf(to.name, to.base, writer, stale)
      const isStale = (found: string) => stale.some(({ name }) => found.includes(`"log":"${name}"`))
      if ((yield* store.modify(id, (found) => isStale(found) ? head : found)) !== head) return
      yield* Effect.forEach(stale.slice(), removeLog, { discard: true })
      // Every operation reads the head, so it is short again.
      const short = StoredLog.headOf(to.name, to.base, writer)
      yield* store.modify(id, (found) => found === head ? short : found)
    }).pipe(Effect.ignore)

  /** Begins a log with the whole state. The previous log is ended first, so that nobody appends to it any more. */
  const begin = Effect.fnUntraced(function*(state: AgentState) {
    const before = log
    // A seeded `Random` may repeat itself, a revision doesn't.
    const name = before?.next ?? `${yield* randomName}${(revision + 1).toString(36).padStart(4, "0")}`
    if (before !== undefined && before.next === undefined) {
      const end = JSON.stringify({ writer, next: name })
      yield* insert(StoredLog.entryKey(id, before.name, revision + 1), end, () => void (before.next = name))
      take(end)
    }
    const base = revision + 1
    const text = JSON.stringify({ revision: base, writer, state: toJson(state) })
    const begun: OpenLog = {
      name,
      base,
      baseSize: text.length,
      size: 0,
      recent: [],
      next: undefined,
      isAhead: false
    }
    const open = () => {
      known.add(name)
      log = begun
      revision = base
      if (before !== undefined) stale.push({ base: before.base, name: before.name, next: name, revision: base - 1 })
    }
    if (before !== undefined) {
      yield* insert(StoredLog.baseKey(id, name), text, open)
      take(text)
      return yield* moveHead(begun)
    }
    yield* insert(StoredLog.baseKey(id, name), text, () => {})
    const head = StoredLog.headOf(name, base, writer)
    if (first === undefined) yield* insert(id, head, open)
    else {
      note(head, open)
      const now = yield* writing(store.modify(id, (found) => found === first ? head : found))
      if (now !== head) return yield* conflict(now === undefined ? undefined : base)
    }
    take(head)
  })

  /** Appends events to the log. */
  const append = Effect.fnUntraced(function*(to: OpenLog, events: ReadonlyArray<AgentEvent>) {
    const entry = { writer, events: EventJson.toJson(events) as ReadonlyArray<unknown> }
    const text = JSON.stringify(entry)
    const key = StoredLog.entryKey(id, to.name, revision + 1)
    yield* insert(key, text, () => {
      revision++
      to.recent.push(entry.events)
      to.size += text.length
    })
    // In a log that was removed, no entry of another session makes the insert fail, so the head is checked too. If it can't be read, the
    // entry stays like any other that was reported as failed: another session may have read it, and may write behind it.
    yield* Effect.tapError(
      checkHead,
      ({ reason }) => reason._tag === "StoreUnavailable" ? Effect.void : Effect.ignore(store.remove(key))
    )
    take(text)
    const written = revision - to.base
    if (written % StoredLog.chunkSize !== 0) return
    const chunk = { events: to.recent.slice(-StoredLog.chunkSize).flat() }
    to.recent = []
    yield* Effect.ignore(
      store.set(StoredLog.chunkKey(id, to.name, written / StoredLog.chunkSize - 1), JSON.stringify(chunk))
    )
  })

  const write = Effect.fnUntraced(function*(state: AgentState, events: ReadonlyArray<AgentEvent>) {
    if (!isSettled() || events.length === 0 || log === undefined || log.next !== undefined) yield* check
    const to = log
    if (to === undefined || to.isAhead || to.next !== undefined || events.length === 0) return yield* begin(state)
    yield* append(to, events)
    // What was appended is saved. If a new log can't be begun now, a later save begins it.
    if (to.size > Math.max(minLogSize, 4 * to.baseSize)) yield* Effect.ignore(begin(state))
  })

  /** Checks whether the store surely has nothing but what was reported as saved. */
  const isSettled = (): boolean => failed.size === 0 && log?.isAhead !== true

  return { check, write, isSettled }
})
