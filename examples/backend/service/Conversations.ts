/**
 * What can be done with conversations, whoever asks for it.
 */
import { Context, Effect, Layer, Option, Stream } from "effect"
import { AgentState, Session, Trace } from "troupe"
import type * as Api from "../api/Conversations.ts"
import {
  ApprovalNotFound,
  ConversationNotFound,
  CursorExpired,
  NothingToResume,
  type Unavailable
} from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { type Numbered, type Row, type Saved, Store, type StoreFailed } from "../store/Store.ts"
import { Agents } from "./Agents.ts"
import type { Held } from "./Held.ts"
import { type NotHeld, Runs, unavailableIn, type Work } from "./Runs.ts"
import { toTrace } from "./trace.ts"

type View = typeof Api.View.Type
type Summary = typeof Api.Summary.Type
type Approval = typeof Api.Approval.Type

/** What somebody decides about a call that awaits approval. */
export type Decision =
  | { readonly decision: "approve" }
  | { readonly decision: "deny"; readonly reason?: string }

/** Events that follow each other. */
export type Page = ReadonlyArray<Numbered>

export class Conversations extends Context.Service<Conversations, {
  readonly open: (tenant: string) => Effect.Effect<View, Unavailable>
  readonly list: (tenant: string) => Effect.Effect<ReadonlyArray<Summary>, Unavailable>
  readonly read: (tenant: string, id: string) => Effect.Effect<View, ConversationNotFound | Unavailable>
  readonly trace: (tenant: string, id: string) => Effect.Effect<string, ConversationNotFound | Unavailable>
  /** Says something, and gives the cursor before what comes of it. */
  readonly say: (tenant: string, id: string, text: string, key?: string) => Effect.Effect<number, NotHeld>
  readonly resume: (tenant: string, id: string) => Effect.Effect<number, NotHeld | NothingToResume>
  readonly resolve: (
    tenant: string,
    id: string,
    callId: string,
    decision: Decision
  ) => Effect.Effect<number, NotHeld | ApprovalNotFound>
  readonly cancel: (tenant: string, id: string) => Effect.Effect<View, NotHeld>
  readonly remove: (tenant: string, id: string) => Effect.Effect<void, NotHeld>
  /**
   * What happens after a cursor, page by page, each when it is pulled; an empty one where nothing did for a while. It ends
   * when the conversation is removed, the service shuts down, or the reader is too far behind.
   */
  readonly events: (
    tenant: string,
    id: string,
    after: number
  ) => Effect.Effect<Stream.Stream<Page, StoreFailed>, ConversationNotFound | CursorExpired | Unavailable>
}>()("backend/Conversations") {}

const pageSize = 200

/** The calls that await a decision. */
export const approvalsOf = (state: AgentState.AgentState): ReadonlyArray<Approval> =>
  AgentState.pendingApprovals(state).map(({ callId, name, params, path }) => ({ callId, name, params, path }))

/** Where a conversation is held here, that tells whether it runs. */
const summaryOf = ({ createdAt, id, isInFlight, title, updatedAt }: Row, held: Held | undefined): Summary => ({
  id,
  title,
  createdAt,
  updatedAt,
  isRunning: held?.seen === undefined ? isInFlight : !held.isOver
})

/** Whether a run of the state would do something: an answer is missing, or calls that can run. */
const canGoOn = (state: AgentState.AgentState): boolean => {
  const { _tag } = AgentState.next(AgentState.reopen(state))
  return state.conversation.turns.length > 0 && _tag !== "Stop" && _tag !== "Await"
}

const make = Effect.gen(function*() {
  const store = yield* Store
  const agents = yield* Agents
  const runs = yield* Runs
  const settings = yield* Settings
  const unavailable = unavailableIn(store)

  /** Finds a conversation of the tenant's. */
  const find = (tenant: string, id: string): Effect.Effect<Saved, ConversationNotFound | Unavailable> =>
    Effect.flatMap(
      Effect.catch(store.read(tenant, id), unavailable),
      (saved) =>
        saved === undefined ? Effect.fail(new ConversationNotFound({ conversation: id })) : Effect.succeed(saved)
    )

  /** A conversation as it is now: one that is held here, or was when it was read, is further than what is kept of it. */
  const view = ({ cursor, row, state }: Saved, before?: Held): View => {
    const current = runs.find(row.id)
    const held = current?.seen === undefined ? before ?? current : current
    const seen = held?.seen
    const now = seen !== undefined && seen.cursor > cursor ? seen : { state, cursor, changes: row.changes }
    return { ...summaryOf(row, held), ...now, approvals: approvalsOf(now.state) }
  }

  const read = (tenant: string, id: string) =>
    Effect.suspend(() => {
      const before = runs.find(id)
      return Effect.map(find(tenant, id), (saved) => view(saved, before))
    })

  /** Pages of events after a number, until there are none. */
  const pages = (id: string, after: number): Stream.Stream<Numbered, StoreFailed> =>
    Stream.paginate(after, (after) =>
      Effect.map(
        Effect.catchTag(
          store.events(id, after, pageSize),
          "EventsGone",
          ({ oldest }) =>
            store.events(id, oldest, pageSize).pipe(Effect.catchTag("EventsGone", () => Effect.succeed([])))
        ),
        (page) => [page, Option.map(Option.fromUndefinedOr(page.at(-1)), ({ number }) => number)] as const
      ))

  const saying = (text: string, key: string | undefined): Work<never> =>
    Effect.fnUntraced(function*({ accept, run, saved, session }) {
      if (key !== undefined && (yield* store.hasMessage(saved.row.id, key))) return yield* accept
      yield* run(yield* session, key === undefined ? {} : { messageKey: key }, text)
    })

  const resuming: Work<NothingToResume> = (holding) => {
    const { row, state } = holding.saved
    return row.isInFlight || canGoOn(state)
      ? runs.resume(holding)
      : Effect.fail(new NothingToResume({ conversation: row.id }))
  }

  const resolving = (callId: string, decision: Decision): Work<ApprovalNotFound> =>
    Effect.fnUntraced(function*({ lease, run, saved, session, watch }) {
      const pending = AgentState.pendingApprovals(saved.state)
      if (!pending.some((approval) => approval.callId === callId)) return yield* new ApprovalNotFound({ call: callId })
      const isLast = pending.length === 1
      // In the same save as the decision: whoever finds it goes on.
      if (isLast) lease.mark({ isInFlight: true })
      const opened = yield* session
      const deciding = decision.decision === "approve"
        ? opened.approve(callId)
        : opened.deny(callId, decision.reason ?? "a colleague decided against it")
      yield* watch(opened, deciding).pipe(
        Effect.catchIf((error) => !Session.isSessionError(error), () => new ApprovalNotFound({ call: callId }))
      )
      if (isLast) yield* run(opened, {})
    })

  /** Takes a conversation out of flight whose run has ended without saying so, and does something while nothing runs. */
  const stopped = (after: Effect.Effect<void, StoreFailed>): Work<never> =>
    Effect.fnUntraced(function*({ lease, saved }) {
      if (saved.row.isInFlight) {
        lease.mark({ isInFlight: false })
        yield* lease.flush
      }
      yield* after
    })

  /** Stops what is under way, wherever that is, and does something while nothing is. */
  const stop = (tenant: string, id: string, after: Effect.Effect<void, StoreFailed> = Effect.void) =>
    Effect.gen(function*() {
      const saved = yield* find(tenant, id)
      const held = runs.find(id)
      if (saved.row.isInFlight || (held !== undefined && !held.isOver)) {
        yield* Effect.catch(store.cancel(id), unavailable)
      }
      yield* runs.start(tenant, id, stopped(after), { patience: 10_000, outlasts: true, isExempt: true })
    })

  return Conversations.of({
    open: Effect.fnUntraced(function*(tenant) {
      yield* runs.open
      return view(yield* Effect.catch(store.create(tenant, crypto.randomUUID(), agents.fresh), unavailable))
    }),
    list: (tenant) =>
      Effect.map(
        Effect.catch(store.list(tenant), unavailable),
        (rows) => rows.map((row) => summaryOf(row, runs.find(row.id)))
      ),
    read,
    trace: Effect.fnUntraced(function*(tenant, id) {
      const saved = yield* find(tenant, id)
      const events = yield* Effect.catch(Stream.runCollect(pages(id, 0)), unavailable)
      return Trace.toMarkdown(toTrace(events.map(({ event }) => event), agents.fresh, view(saved).state))
    }),
    say: Effect.fnUntraced(function*(tenant, id, text, key) {
      // What is repeated is answered while the run of it is under way, too.
      if (key !== undefined && runs.find(id) !== undefined) {
        const { cursor } = yield* find(tenant, id)
        if (yield* Effect.catch(store.hasMessage(id, key), unavailable)) return cursor
      }
      return yield* runs.start(tenant, id, saying(text, key))
    }),
    resume: (tenant, id) => runs.start(tenant, id, resuming),
    resolve: (tenant, id, callId, decision) => runs.start(tenant, id, resolving(callId, decision)),
    cancel: (tenant, id) => Effect.andThen(stop(tenant, id), read(tenant, id)),
    remove: (tenant, id) => Effect.andThen(stop(tenant, id, store.remove(tenant, id)), agents.forget(id)),
    events: Effect.fnUntraced(function*(tenant, id, after) {
      yield* runs.open
      yield* find(tenant, id)
      const next = (after: number) => store.events(id, after, pageSize)
      const first = yield* next(after).pipe(
        Effect.catchTags({
          EventsGone: ({ cursor, oldest }) => Effect.fail(new CursorExpired({ cursor, oldest })),
          StoreFailed: unavailable
        })
      )
      /** The next page: an empty one where nothing happened for a while, none where nothing more can come, or it is gone. */
      const later = Effect.fnUntraced(function*(cursor: number) {
        const waiting = yield* next(cursor)
        if (waiting.length > 0) return waiting
        const isClosing = yield* Effect.as(store.awaitEvents(id, cursor), false).pipe(
          Effect.raceFirst(Effect.as(Effect.sleep(settings.heartbeat), false)),
          Effect.raceFirst(Effect.as(runs.closed, true))
        )
        const page = yield* next(cursor)
        return page.length === 0 && isClosing ? undefined : page
      }, Effect.catchTag("EventsGone", () => Effect.undefined))
      return Stream.paginate({ cursor: after, page: first as Page | undefined }, (at) =>
        Effect.gen(function*() {
          const page = at.page ?? (yield* later(at.cursor))
          if (page === undefined) return [[], Option.none()] as const
          return [[page], Option.some({ cursor: page.at(-1)?.number ?? at.cursor, page: undefined })] as const
        }))
    })
  })
})

export const layer = Layer.effect(Conversations, make)
