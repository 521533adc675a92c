/**
 * How a long run is forked: its log first, then its agents' conversations, and at last a mark that all are there.
 *
 * Until the mark is there, the fork can't be read. If a runner dies before, the next one forks what is missing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as PubSub from "effect/PubSub"
import { ConversationError, ConversationExists } from "../ConversationError.ts"
import type * as Held from "../Held.ts"
import type { Told } from "../Journal.ts"
import { unavailable } from "../LogWriter.ts"
import type { Service } from "../store/Stored.ts"
import { persist } from "./Asking.ts"
import type { Child, LongRun, Place } from "./LongRun.ts"
import * as StepLog from "./StepLog.ts"
import * as Steps from "./Steps.ts"

/** Where a long run is held, and how its agents' conversations are reached. `childOf` takes the long run's own id. */
export interface Options {
  readonly id: string
  readonly entityId: string
  readonly store: Service
  readonly childOf: (entityId: string, place: Place) => Child
}

/** The fork: the long run's own id, and the id of its log. */
export interface Target {
  readonly to: string
  readonly toId: string
}

/** Begins another long run with a state, and its agents' conversations. If one can't be forked, nothing of the others stays. */
export const make = Effect.fnUntraced(function*<State, Step>(
  { conversations, kind }: Pick<LongRun<State, Step>, "conversations" | "kind">,
  { childOf, entityId, id, store }: Options,
  told: PubSub.PubSub<Told<Step>>,
  { key, state, to, toId }: Target & { readonly key: string; readonly state: State }
): Effect.fn.Return<void, Held.Failure> {
  const forked: Array<Place> = []
  const text = Steps.toText(kind, { steps: [], state, forkOf: id })
  const isNew = yield* Effect.mapError(store.create(toId, `${id}/${key}`, text), unavailable(id, "write"))
  // The target comes first: if it exists, its agents' conversations are its own, also those that are still empty.
  if (!isNew) return yield* Effect.fail(new ConversationError({ reason: new ConversationExists({ id: to }) }))
  const [, more] = yield* Effect.mapError(store.read(toId, -1, 2), unavailable(id, "read"))
  // A runner that died has done it, and somebody may have the new long run: claiming that would stop what runs in it.
  if (more !== undefined) return
  const opening = StepLog.open(kind, { id: toId, store, told })
  const undo = Effect.andThen(
    Effect.forEach(forked, (place) => Effect.ignore(persist(childOf(to, place).remove)), { discard: true }),
    Effect.mapError(store.remove(toId), unavailable(id, "remove"))
  )
  yield* Effect.forEach(
    conversations(state),
    (place) =>
      Effect.map(
        persist(childOf(entityId, place).fork(`${to}${place.suffix}`, { key: `fork/${key}/${to}` })),
        () => forked.push(place)
      ),
    { discard: true }
  ).pipe(Effect.tapError(() =>
    // What somebody has begun there, after removing the fork, isn't the fork's.
    Effect.flatMap(opening, ({ isEmpty, kept }) => isEmpty || kept.forkOf !== undefined ? undo : Effect.void)
  ))
  const copy = yield* opening
  // Somebody has removed it meanwhile, but not the conversations that were forked after that.
  if (copy.isEmpty) return yield* undo
  if (copy.kept.forkOf !== undefined) yield* copy.append({ steps: [], isWhole: true })
})
