/**
 * What can be done with conversations, whoever asks for it and wherever they are.
 */
import { Cause, Context, Duration, Effect, Layer, Schedule, Stream } from "effect"
import { AgentState, Trace } from "troupe"
import { Conversation } from "troupe/cluster"
import type * as Api from "../api/Conversations.ts"
import {
  ApprovalNotFound,
  ConversationBusy,
  ConversationNotFound,
  CursorAhead,
  CursorExpired,
  NothingToResume,
  TooManyRequests,
  Unavailable
} from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { type Row, Store } from "../store/Store.ts"
import { Agents } from "./Agents.ts"
import { Desk } from "./Desk.ts"
import { follow, type Numbered } from "./follow.ts"
import { Runs } from "./Runs.ts"
import { toTrace } from "./trace.ts"
import { outOfReach, storeAway, unavailableIn } from "./unavailable.ts"

type View = typeof Api.View.Type
type Summary = typeof Api.Summary.Type
type Approval = typeof Api.Approval.Type

/** What somebody decides about a call that awaits approval. */
export type Decision =
  | { readonly decision: "approve" }
  | { readonly decision: "deny"; readonly reason?: string }

/** Why something can't be done in a conversation. */
export type Refused = ConversationBusy | ConversationNotFound | TooManyRequests | Unavailable

export class Conversations extends Context.Service<Conversations, {
  readonly open: (tenant: string) => Effect.Effect<View, Unavailable>
  readonly list: (tenant: string) => Effect.Effect<ReadonlyArray<Summary>, Unavailable>
  readonly read: (tenant: string, id: string) => Effect.Effect<View, ConversationNotFound | Unavailable>
  readonly trace: (tenant: string, id: string) => Effect.Effect<string, ConversationNotFound | Unavailable>
  /** Says something, and gives the cursor before what comes of it. */
  readonly say: (tenant: string, id: string, text: string, key?: string) => Effect.Effect<number, Refused>
  readonly resume: (tenant: string, id: string) => Effect.Effect<number, Refused | NothingToResume>
  readonly resolve: (
    tenant: string,
    id: string,
    callId: string,
    decision: Decision
  ) => Effect.Effect<number, Refused | ApprovalNotFound>
  readonly cancel: (tenant: string, id: string) => Effect.Effect<View, Refused>
  readonly remove: (tenant: string, id: string) => Effect.Effect<void, Refused>
  /**
   * What happens after a cursor, each when it is pulled. It ends when the conversation is removed, the service shuts down, or the reader is
   * too far behind.
   */
  readonly events: (
    tenant: string,
    id: string,
    after: number
  ) => Effect.Effect<
    Stream.Stream<Numbered, { readonly message: string }>,
    ConversationNotFound | CursorAhead | CursorExpired | Unavailable
  >
}>()("backend/Conversations") {}

/** How long the instance that has a conversation may take: one that died is missed after some seconds, and another one has it then. */
const patience = Duration.seconds(20)

/** How often the service looks for what was begun in a conversation after its removal. */
const collecting = Duration.minutes(10)

/** How long a decision waits for the run that another one began. */
const deciding = Duration.seconds(2)

/** The calls that await a decision. */
const approvalsOf = (state: AgentState.AgentState): ReadonlyArray<Approval> =>
  AgentState.pendingApprovals(state).map(({ callId, name, params, path }) => ({ callId, name, params, path }))

const summaryOf = ({ createdAt, id, isRunning, title, updatedAt }: Row): Summary => ({
  id,
  title,
  createdAt,
  updatedAt,
  isRunning
})

/** Whether a run of the state would do something: an answer is missing, or calls that can run. */
const canGoOn = (state: AgentState.AgentState): boolean => {
  const { _tag } = AgentState.next(AgentState.reopen(state))
  return state.conversation.turns.length > 0 && _tag !== "Stop" && _tag !== "Await"
}

const reasonOf = (error: unknown): Conversation.Reason["_tag"] | undefined =>
  error instanceof Conversation.ConversationError ? error.reason._tag : undefined

const make = Effect.gen(function*() {
  const store = yield* Store
  const agents = yield* Agents
  const runs = yield* Runs
  const desk = yield* Desk
  const settings = yield* Settings
  const unavailable = unavailableIn(store)

  const away: Effect.Effect<never, Unavailable> = Effect.suspend(() =>
    store.isAway()
      ? Effect.fail(storeAway)
      : Effect.delay(away, "100 millis")
  )

  /** Asks a conversation, for a while, and only as long as the store isn't away. Instances that leave interrupt what they are asked. */
  const asked = <A, E extends { readonly message: string }, R>(self: Effect.Effect<A, E, R>) =>
    Effect.raceFirst(self, away).pipe(
      Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(outOfReach) }),
      Effect.catchCauseIf(Cause.hasInterruptsOnly, () => Effect.fail(outOfReach))
    )

  const reached = <A, R>(self: Effect.Effect<A, { readonly message: string }, R>): Effect.Effect<A, Unavailable, R> =>
    Effect.catch(self, (error) => error instanceof Unavailable ? Effect.fail(error) : unavailable(error))

  /** Finds a conversation of the tenant's. */
  const find = (tenant: string, id: string): Effect.Effect<Row, ConversationNotFound | Unavailable> =>
    Effect.flatMap(
      Effect.catch(store.read(tenant, id), unavailable),
      (row) => row === undefined ? Effect.fail(new ConversationNotFound({ conversation: id })) : Effect.succeed(row)
    )

  const viewOf = (id: string) => reached(asked(desk(id).view))

  /** A conversation as it is now. What changed since its state was read is told behind its cursor, too. */
  const read = Effect.fnUntraced(function*(tenant: string, id: string) {
    yield* find(tenant, id)
    const { cursor, isRunning, state } = yield* viewOf(id)
    const row = yield* find(tenant, id)
    return { ...summaryOf(row), isRunning, state, cursor, changes: row.changes, approvals: approvalsOf(state) }
  })

  const stop = (id: string) => reached(asked(desk(id).stop))

  /** Removes what is kept of a conversation. */
  const clear = (id: string) =>
    Effect.andThen(stop(id), Effect.andThen(reached(asked(desk(id).remove)), agents.forget(id)))

  /** What began behind a removal would be kept, and nobody would find it. A store that can't say so doesn't undo what was taken in. */
  const clearIfGone = (tenant: string, id: string) =>
    find(tenant, id).pipe(
      Effect.catchTag("Unavailable", () => Effect.void),
      Effect.tapErrorTag("ConversationNotFound", () => clear(id))
    )

  /** Removes what was begun in a conversation after its removal, if the instance died before it looked whether it was removed. */
  const collect = Effect.ignore(
    Effect.flatMap(
      store.orphans,
      (ids) => Effect.forEach(ids, (id) => Effect.ignore(clear(id)), { discard: true })
    )
  )
  yield* Effect.forkScoped(Effect.repeat(collect, Schedule.spaced(collecting)))

  /** Begins something, and gives the cursor before what comes of it. */
  const begin = (
    tenant: string,
    id: string,
    beginning: Conversation.Beginning,
    key?: string
  ): Effect.Effect<number, Refused | ApprovalNotFound> =>
    asked(runs.begin(
      tenant,
      id,
      Effect.tap(
        desk(id).begin(beginning, { key: key === undefined ? undefined : JSON.stringify(key) }),
        ({ isNew }) => isNew ? clearIfGone(tenant, id) : Effect.void
      )
    )).pipe(
      Effect.map(({ cursor }) => cursor),
      Effect.catch((error): Effect.Effect<never, Refused | ApprovalNotFound> =>
        error instanceof Unavailable || error instanceof TooManyRequests || error instanceof ConversationNotFound
          ? Effect.fail(error)
          : reasonOf(error) === "ConversationBusy"
          ? Effect.fail(new ConversationBusy({ conversation: id }))
          : reasonOf(error) === "NotAwaitingApproval"
          ? Effect.fail(new ApprovalNotFound({ call: "" }))
          : unavailable(error)
      )
    )

  const orBusy = (id: string) => () => Effect.fail(new ConversationBusy({ conversation: id }))

  /** Decides about a call that awaits it. A decision about another one may be under way: this one waits for it. */
  const decide = (
    tenant: string,
    id: string,
    callId: string,
    beginning: Conversation.Beginning
  ): Effect.Effect<number, Refused | ApprovalNotFound> => {
    const isAwaited = Effect.map(
      find(tenant, id),
      ({ approvals }) => approvals.some((approval) => approval.callId === callId)
    )
    const trying: Effect.Effect<number, Refused | ApprovalNotFound> = begin(tenant, id, beginning).pipe(
      Effect.catchTag(
        "ConversationBusy",
        (busy): Effect.Effect<number, Refused | ApprovalNotFound> =>
          Effect.flatMap(
            isAwaited,
            (isAwaited) => isAwaited ? Effect.delay(Effect.suspend(() => trying), "20 millis") : Effect.fail(busy)
          )
      )
    )
    return Effect.timeoutOrElse(trying, {
      duration: deciding,
      orElse: () => Effect.fail(new ConversationBusy({ conversation: id }))
    }).pipe(Effect.catchTag("ApprovalNotFound", () => Effect.fail(new ApprovalNotFound({ call: callId }))))
  }

  return Conversations.of({
    open: Effect.fnUntraced(function*(tenant) {
      yield* runs.open
      const row = yield* Effect.catch(store.create(tenant, crypto.randomUUID()), unavailable)
      const state = AgentState.make(agents.first)
      return { ...summaryOf(row), state, cursor: 0, changes: [], approvals: [] }
    }),
    list: (tenant) => Effect.map(Effect.catch(store.list(tenant), unavailable), (rows) => rows.map(summaryOf)),
    read,
    trace: Effect.fnUntraced(function*(tenant, id) {
      yield* find(tenant, id)
      const { cursor, state } = yield* viewOf(id)
      const all = (after: number): Effect.Effect<ReadonlyArray<Numbered>, { readonly message: string }> =>
        after >= cursor ? Effect.succeed([]) : desk(id).events({ after }).pipe(
          Stream.filter(({ piece }) => piece === undefined),
          Stream.takeUntil((told) => told.cursor >= cursor),
          Stream.map((told): Numbered => ({ number: told.cursor, event: told.event })),
          Stream.runCollect,
          Effect.catchIf(
            (error) => reasonOf(error) === "EventsGone",
            (error) =>
              error instanceof Conversation.ConversationError && error.reason._tag === "EventsGone"
                ? all(error.reason.until)
                : Effect.fail(error)
          )
        )
      const events = yield* Effect.catch(all(0), unavailable)
      return Trace.toMarkdown(toTrace(events.map(({ event }) => event), AgentState.make(agents.first), state))
    }),
    say: (tenant, id, text, key) =>
      Effect.gen(function*() {
        yield* find(tenant, id)
        return yield* runs.take(
          tenant,
          Effect.catchTag(begin(tenant, id, { _tag: "Say", input: text }, key), "ApprovalNotFound", orBusy(id))
        )
      }),
    resume: (tenant, id) =>
      Effect.gen(function*() {
        yield* find(tenant, id)
        const { isRunning, state } = yield* viewOf(id)
        if (isRunning) return yield* new ConversationBusy({ conversation: id })
        if (!canGoOn(state)) return yield* new NothingToResume({ conversation: id })
        return yield* runs.take(
          tenant,
          Effect.catchTag(begin(tenant, id, { _tag: "Resume" }), "ApprovalNotFound", orBusy(id))
        )
      }),
    resolve: (tenant, id, callId, decision) =>
      Effect.andThen(
        Effect.flatMap(find(tenant, id), ({ approvals, isRunning }): Effect.Effect<void, Refused | ApprovalNotFound> =>
          approvals.some((approval) =>
              approval.callId === callId
            )
            ? Effect.void
            : isRunning
            ? Effect.fail(new ConversationBusy({ conversation: id }))
            : Effect.fail(new ApprovalNotFound({ call: callId }))),
        runs.take(
          tenant,
          decide(
            tenant,
            id,
            callId,
            decision.decision === "approve"
              ? { _tag: "Approve", callId, together: true }
              : { _tag: "Deny", callId, reason: decision.reason ?? "a colleague decided against it", together: true }
          )
        )
      ),
    cancel: (tenant, id) => Effect.andThen(Effect.andThen(find(tenant, id), stop(id)), read(tenant, id)),
    remove: (tenant, id) => Effect.andThen(find(tenant, id), clear(id)),
    events: Effect.fnUntraced(function*(tenant, id, after) {
      yield* runs.open
      const row = yield* find(tenant, id)
      // The list has how many there were when something was taken in or answered last, and the conversation how many there are.
      if (after > row.events) {
        const { cursor: last } = yield* viewOf(id)
        if (after > last) return yield* new CursorAhead({ cursor: after, last })
      }
      // Where there are so many that some may be gone, the first event after the cursor says whether it is still kept.
      if (after < row.events && row.events > settings.keepEvents) {
        yield* Stream.runDrain(Stream.take(desk(id).events({ after }), 1)).pipe(
          Effect.catch((error): Effect.Effect<never, CursorExpired | Unavailable> =>
            error instanceof Conversation.ConversationError && error.reason._tag === "EventsGone"
              ? Effect.fail(new CursorExpired({ cursor: after, oldest: error.reason.until }))
              : unavailable(error)
          )
        )
      }
      return follow(desk(id), after, runs.closed)
    })
  })
})

export const layer = Layer.effect(Conversations, make)
