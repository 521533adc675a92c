/**
 * How a session is laid out in a `KeyValueStore`: a state, and the events of each save since then.
 *
 * | key | value |
 * |---|---|
 * | the id | the head: which log the session is in. Before version 2 it was the whole state. |
 * | the id, the log | the base: the state that the log begins with |
 * | the id, the log, a revision | an entry: the events of one save, or the name of the next log |
 * | the id, the log, a number and `c` | a chunk: the events of 32 entries, which are read at once |
 *
 * 1. Entries are inserted, never overwritten: if two sessions write the same revision, a store that compares and sets lets only one do it.
 * 2. A log ends with an entry that names the next one. Nothing is appended to it then. The base of the next log is inserted too.
 * 3. A state is the base and the fold of all events behind it. A base stands in for events, so nothing depends on where logs end.
 * 4. The head is changed after the base of its log is there, and a log is removed after the head has left it. If a reader finds the same
 *    head before and after reading, it has read a whole state. The head names the logs that are being removed, so none is forgotten if
 *    that fails.
 * 5. A session is removed in the same way: its head first names no log but those to be removed, and goes last.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { fold } from "../../domain/EventJson.ts"
import { lazy } from "../../domain/Lazy.ts"
import { fromJson, legal } from "../../domain/StateJson.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { because, type SessionError, StoredStateUnreadable, StoreUnavailable } from "./SessionError.ts"

/** How many entries a chunk has. */
export const chunkSize = 32

const Revision = { revision: Schema.Int, writer: Schema.String }

const Ended = Schema.Struct({
  name: Schema.String,
  base: Schema.Int,
  revision: Schema.Int,
  next: Schema.optionalKey(Schema.String)
})

const Head = Schema.Union([
  Schema.Struct({ version: Schema.Literal(1), ...Revision, state: Schema.Unknown }),
  Schema.Struct({
    version: Schema.Literal(2),
    ...Revision,
    log: Schema.String,
    ended: Schema.optionalKey(Schema.Array(Ended))
  })
])

/** The head of a session: the name of its log, and earlier logs that perhaps still have to be removed. In version 1 it holds the state. */
export type Head = typeof Head.Type

const Base = Schema.Struct({ ...Revision, state: Schema.Unknown })

const Entry = Schema.Union([
  Schema.Struct({ writer: Schema.String, next: Schema.String }),
  Schema.Struct({ writer: Schema.String, events: Schema.Array(Schema.Unknown) })
])

const Chunk = Schema.Struct({ events: Schema.Array(Schema.Unknown) })

const decoders = lazy(() => ({
  version: Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({ version: Schema.Unknown }))),
  head: Schema.decodeUnknownResult(Schema.fromJsonString(Head)),
  base: Schema.decodeUnknownResult(Schema.fromJsonString(Base)),
  entry: Schema.decodeUnknownResult(Schema.fromJsonString(Entry)),
  chunk: Schema.decodeUnknownResult(Schema.fromJsonString(Chunk))
}))

/** Writes the head of a session whose log begins at a revision. `ended` are the logs before it that are to be removed. */
export const headOf = (log: string, revision: number, writer: string, ended: ReadonlyArray<Extent> = []): string => {
  const left = ended.map(({ base, name, next, revision }) => ({ name, base, revision, next }))
  return JSON.stringify({ version: 2, revision, writer, log, ...(left.length === 0 ? undefined : { ended: left }) })
}

/** Stands in the head of a session that is being removed, instead of the name of a log. No log has this name. */
const removed = ""

/** Writes the head of a session that is being removed, which names what is left of it. */
export const headOfRemoved = (logs: ReadonlyArray<Extent>): string => headOf(removed, 0, removed, logs)

/** Returns the key of a log's base. */
export const baseKey = (id: string, log: string): string => `${id}#${log}`

/** Returns the key of the entry for a revision. */
export const entryKey = (id: string, log: string, revision: number): string => `${baseKey(id, log)}#${revision}`

/** Returns the key of a log's chunk, counted from 0. */
export const chunkKey = (id: string, log: string, at: number): string => `${baseKey(id, log)}#${at}c`

/**
 * Checks whether a value that a session writes under a key may change the state that readers find. Values with new events do, and so
 * does the whole state with which a log begins. Values that only say which log is read or comes next, and copies of earlier events, don't. A store that keeps something beside the state must update it with
 * each value for which this returns `true`, and with no other.
 *
 * @category guards
 * @since 0.1.0
 */
export const showsState = (id: string, key: string, value: string): boolean =>
  key !== id && !/#\d+c$/.test(key) && !/^\{"writer":"[^"]*","next":/.test(value)

/** A log: its first revision, its last one, and the next log if it was ended. */
export interface Extent {
  readonly name: string
  readonly base: number
  readonly revision: number
  readonly next?: string | undefined
}

/** A log of a session as it was read. */
interface Log extends Extent {
  /** How many characters its base has. */
  readonly baseSize: number
  /** The events of the entries behind the last chunk. */
  readonly recent: ReadonlyArray<ReadonlyArray<unknown>>
  /** How many characters its entries have. */
  readonly size: number
}

/**
 * What is stored of a session: the head as it was read, the earlier logs that perhaps still have to be removed (`ended`), the log that the
 * head names and those after it (`logs`), and the state that they lead to.
 */
export interface Stored {
  readonly head: string
  readonly ended: ReadonlyArray<Extent>
  readonly revision: number
  readonly logs: ReadonlyArray<Log>
  readonly state: AgentState
}

/** Makes the error of a failed store operation. */
export const unavailable =
  (id: string, operation: StoreUnavailable["operation"]) => (error: KeyValueStore.KeyValueStoreError): SessionError =>
    because(new StoreUnavailable({ id, operation, issue: error.message, error }))

const unreadable = (id: string) => (issue: string | { readonly message: string }): SessionError =>
  because(new StoredStateUnreadable({ id, issue: typeof issue === "string" ? issue : issue.message }))

const readable = <A>(id: string, read: Result.Result<A, string | { readonly message: string }>) =>
  Effect.fromResult(Result.mapError(read, unreadable(id)))

/** Reads the value of a key. */
export const get = (store: KeyValueStore.KeyValueStore, id: string, key: string) =>
  Effect.mapError(store.get(key), unavailable(id, "read"))

/** The versions of heads that can be read. */
const versions: ReadonlyArray<unknown> = [1, 2]

/** Reads the head of a session. */
export const parseHead = (id: string, text: string): Effect.Effect<Head, SessionError> =>
  Effect.flatMap(readable(id, decoders().version(text)), ({ version }) =>
    versions.includes(version)
      ? readable(id, decoders().head(text))
      : Effect.fail(
        unreadable(id)(`A session of version ${format(version)} can't be read; known versions: ${versions.join(", ")}`)
      ))

/** Reads the values of numbered keys, several at a time, until one is missing. */
const getAll = Effect.fnUntraced(function*(
  store: KeyValueStore.KeyValueStore,
  id: string,
  first: number,
  atOnce: number,
  key: (n: number) => string
) {
  const found: Array<string> = []
  for (let wanted = atOnce;; wanted = chunkSize) {
    const keys = Array.from({ length: wanted }, (_, at) => key(first + found.length + at))
    const texts = yield* Effect.forEach(keys, (key) => get(store, id, key), { concurrency: "unbounded" })
    for (const text of texts) {
      if (text === undefined) return found
      found.push(text)
    }
  }
})

/** Reads the log of a name, and the state that it leads to. Returns `undefined` if its base is missing. */
const readLog = Effect.fnUntraced(function*(store: KeyValueStore.KeyValueStore, id: string, name: string) {
  const text = yield* get(store, id, baseKey(id, name))
  if (text === undefined) return undefined
  const base = yield* readable(id, decoders().base(text))
  let state = yield* readable(id, fromJson(base.state))
  const chunks = yield* getAll(store, id, 0, 2, (at) => chunkKey(id, name, at))
  const first = base.revision + chunks.length * chunkSize
  const entries = yield* getAll(store, id, first + 1, 8, (revision) => entryKey(id, name, revision))
  for (const chunk of chunks) {
    const { events } = yield* readable(id, decoders().chunk(chunk))
    state = yield* readable(id, fold(state, events))
  }
  const recent: Array<ReadonlyArray<unknown>> = []
  let next: string | undefined
  for (const text of entries) {
    const entry = yield* readable(id, decoders().entry(text))
    if ("next" in entry) {
      next = entry.next
      break
    }
    state = yield* readable(id, fold(state, entry.events))
    recent.push(entry.events)
  }
  if (first + recent.length > base.revision) state = yield* readable(id, legal(state))
  const size = [...chunks, ...entries].reduce((size, text) => size + text.length, 0)
  const log: Log = {
    name,
    base: base.revision,
    baseSize: text.length,
    recent,
    size,
    revision: first + recent.length,
    next
  }
  return { log, state }
})

/** Reads logs, beginning with one: the next log is read if its base exists. Logs that lead back to one of them can't be read. */
const readLogs = Effect.fnUntraced(function*(store: KeyValueStore.KeyValueStore, id: string, first: string) {
  const logs: Array<Log> = []
  let state: AgentState | undefined
  for (let name: string | undefined = first; name !== undefined; name = logs.at(-1)?.next) {
    const read: { readonly log: Log; readonly state: AgentState } | undefined = yield* readLog(store, id, name)
    if (read === undefined) break
    logs.push(read.log)
    const { next } = read.log
    if (logs.some(({ name }) => name === next)) {
      return yield* Effect.fail(unreadable(id)(`The log "${name}" leads back to the log "${next}"`))
    }
    state = read.state
  }
  return state === undefined ? undefined : { logs, state }
})

const attempt = Effect.fnUntraced(function*(store: KeyValueStore.KeyValueStore, id: string, text: string) {
  const head = yield* parseHead(id, text)
  if (head.version === 1) {
    const state = yield* readable(id, fromJson(head.state))
    return { head: text, ended: [], revision: head.revision, logs: [], state } satisfies Stored
  }
  if (head.log === removed) {
    return yield* Effect.fail(unreadable(id)("It wasn't removed whole: `Session.remove` removes the rest"))
  }
  const read = yield* readLogs(store, id, head.log)
  if (read === undefined) return yield* Effect.fail(unreadable(id)(`The log "${head.log}" is missing`))
  const { ended = [] } = head
  return { head: text, ended, revision: read.logs.at(-1)!.revision, ...read } satisfies Stored
})

/**
 * Reads what is stored of a session. If the head changed meanwhile, the logs that were read may have been removed, so everything is read
 * again.
 */
export const read = Effect.fnUntraced(function*(store: KeyValueStore.KeyValueStore, id: string) {
  for (;;) {
    const head = yield* get(store, id, id)
    if (head === undefined) return undefined
    const stored = yield* Effect.result(attempt(store, id, head))
    if ((yield* get(store, id, id)) === head) return yield* Effect.fromResult(stored)
  }
})

/**
 * Returns all logs of a session with this head, even if their state can't be read. If the base of a log can't be read, the entries are
 * looked for from the revision where the log begins according to the head, or to the log before it.
 */
export const logsIn = Effect.fnUntraced(function*(store: KeyValueStore.KeyValueStore, id: string, text: string) {
  const head = Result.getOrUndefined(decoders().head(text))
  if (head === undefined || head.version === 1) return []
  const logs: Array<Extent> = [...head.ended ?? []]
  let name: string | undefined = head.log === removed ? undefined : head.log
  let revision = head.revision
  while (name !== undefined && !logs.some((log) => log.name === name)) {
    const log: string = name
    const base: string | undefined = yield* get(store, id, baseKey(id, log))
    const read = base === undefined ? undefined : Result.getOrUndefined(decoders().base(base))
    if (read !== undefined) revision = read.revision
    const chunks = yield* getAll(store, id, 0, 2, (at) => chunkKey(id, log, at))
    const first = revision + chunks.length * chunkSize
    const entries = yield* getAll(store, id, first + 1, 8, (at) => entryKey(id, log, at))
    const last = first + entries.length
    logs.push({ base: revision, name, next: undefined, revision: last })
    const end = entries.length === 0 ? undefined : Result.getOrUndefined(decoders().entry(entries.at(-1)!))
    name = end !== undefined && "next" in end ? end.next : undefined
    revision = last
  }
  return logs
})

/** Returns all keys of a log. */
const keysOf = (id: string, { base, name, next, revision }: Extent) => {
  const last = next === undefined ? revision : revision + 1
  const entries = Array.from({ length: last - base }, (_, at) => entryKey(id, name, base + at + 1))
  const chunks = Array.from({ length: Math.floor((last - base) / chunkSize) }, (_, at) => chunkKey(id, name, at))
  return [baseKey(id, name), ...entries, ...chunks]
}

/** Removes all values of logs. */
export const removeLogs = (
  store: KeyValueStore.KeyValueStore,
  id: string,
  logs: ReadonlyArray<Extent>
): Effect.Effect<void, KeyValueStore.KeyValueStoreError> =>
  Effect.forEach(new Set(logs.flatMap((log) => keysOf(id, log))), (key) => store.remove(key), {
    discard: true,
    concurrency: 16
  })
