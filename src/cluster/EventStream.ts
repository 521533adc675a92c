/**
 * The events of a conversation for a reader: the stored ones after a number, and then each new one.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { lazy } from "../domain/Lazy.ts"
import { ConversationError, ConversationUnreadable, EventsGone } from "./ConversationError.ts"
import type * as Journal from "./Journal.ts"
import type { Service } from "./store/Stored.ts"

/** How many entries are read at a time. */
const pageSize = 64

const Piece = Schema.Struct({ epoch: Schema.Int, number: Schema.Int })
const Told = Schema.Struct({
  cursor: Schema.Int,
  piece: Schema.optionalKey(Piece),
  events: Schema.Tuple([Schema.Unknown])
})
const decode = lazy(() => Schema.decodeUnknownResult(Told))

/** Encodes what a reader is told, for a reader on another machine. */
export const toJson = <Event>(
  { cursor, event, piece }: Journal.Told<Event>,
  eventToJson: (event: Event) => Schema.Json
): Schema.Json => ({
  cursor,
  ...(piece === undefined ? undefined : { piece: { ...piece } }),
  events: [eventToJson(event)]
})

const unreadable = (id: string) => (issue: string) =>
  new ConversationError({ reason: new ConversationUnreadable({ id, issue }) })

/** Decodes what another machine told. */
export const fromJson = <Event>(
  id: string,
  json: Schema.Json,
  eventFromJson: (json: unknown) => Result.Result<Event, string>
): Effect.Effect<Journal.Told<Event>, ConversationError> =>
  Effect.fromResult(Result.gen(function*() {
    const { events: [event], ...told } = yield* Result.mapError(decode()(json), ({ message }) => message)
    return { ...told, event: yield* eventFromJson(event) }
  })).pipe(Effect.mapError(unreadable(id)))

/** If the store doesn't answer, it is asked again while the reader waits. */
const again = Schedule.spaced("1 second")

/** Where events come from: the log in the store, how its entries are read, and what its owner tells. */
export interface Source<Event> {
  readonly id: string
  readonly store: Service
  readonly eventsOf: (text: string) => Result.Result<ReadonlyArray<Event>, string>
  readonly told: PubSub.PubSub<Journal.Told<Event>>
  /** How many events are stored. */
  readonly count: Effect.Effect<number, ConversationError>
  /** The pieces since the last stored event. */
  readonly pieces?: () => ReadonlyArray<Journal.Told<Event>>
}

const gone = (id: string, until: number) =>
  Effect.fail(new ConversationError({ reason: new EventsGone({ id, until }) }))

/** Streams the stored events after one number, up to another. */
const past = <Event>({ eventsOf, id, store }: Source<Event>, after: number, until: number) =>
  Stream.paginate(after, (cursor) =>
    Effect.gen(function*() {
      const entries = yield* Effect.orDie(Effect.retry(store.read(id, cursor, pageSize), again))
      const told: Array<Journal.Told<Event>> = []
      let expected = cursor
      for (const { lastEvent, text } of entries) {
        const events = yield* Effect.mapError(Effect.fromResult(eventsOf(text)), unreadable(id))
        const before = lastEvent - events.length
        if (before > expected) return yield* gone(id, before)
        expected = lastEvent
        events.forEach((event, at) => told.push({ cursor: before + at + 1, event }))
      }
      if (entries.length === 0 && cursor < until) return yield* gone(id, until)
      const last = entries.at(-1)?.lastEvent ?? until
      const next = last < until ? Option.some(last) : Option.none<number>()
      return [told.filter(({ cursor }) => cursor > after && cursor <= until), next] as const
    }))

/** Streams the stored events after a number, and then each new one. */
export const make = <Event>(
  source: Source<Event>,
  after: number
): Stream.Stream<Journal.Told<Event>, ConversationError> =>
  Stream.unwrap(Effect.gen(function*() {
    const coming = yield* PubSub.subscribe(source.told)
    const until = yield* source.count
    // A reader that comes while a model writes first gets the pieces so far.
    const pieces = source.pieces?.().filter(({ cursor }) => cursor === until) ?? []
    const last = pieces.at(-1)?.piece
    const isNew = ({ cursor, piece }: Journal.Told<Event>): boolean =>
      piece === undefined
        ? cursor > until && cursor > after
        : cursor >= until && (last === undefined || piece.epoch !== last.epoch || piece.number > last.number)
    const now = Stream.filter(Stream.fromSubscription(coming), isNew)
    return Stream.concat(Stream.concat(past(source, after, until), Stream.fromIterable(pieces)), now)
  }))
