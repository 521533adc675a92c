/**
 * The events of a conversation for a reader: those that are kept, from a number on, and then each that comes.
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
import type { AgentEvent } from "../domain/AgentEvent.ts"
import * as EventJson from "../domain/EventJson.ts"
import { lazy } from "../domain/Lazy.ts"
import type { Activation } from "./Activation.ts"
import { ConversationError, ConversationUnreadable } from "./ConversationError.ts"
import type * as Journal from "./Journal.ts"
import * as Kept from "./Kept.ts"
import type { Service } from "./store/Stored.ts"

/** How many entries are read at once. */
const pageSize = 64

const Piece = Schema.Struct({ epoch: Schema.Int, number: Schema.Int })
const Told = Schema.Struct({ cursor: Schema.Int, piece: Schema.optionalKey(Piece), events: Schema.Unknown })
const decode = lazy(() => Schema.decodeUnknownResult(Told))

/** Writes what is told, for a reader elsewhere. */
export const toJson = ({ cursor, event, piece }: Journal.Told): Schema.Json => ({
  cursor,
  ...(piece === undefined ? undefined : { piece: { ...piece } }),
  events: EventJson.toJson([event as AgentEvent])
})

const unreadable = (id: string) => (issue: string) =>
  new ConversationError({ reason: new ConversationUnreadable({ id, issue }) })

/** Reads what was told elsewhere. */
export const fromJson = (id: string, json: Schema.Json): Effect.Effect<Journal.Told, ConversationError> =>
  Effect.fromResult(Result.gen(function*() {
    const { events, ...told } = yield* Result.mapError(decode()(json), ({ message }) => message)
    const [event] = yield* EventJson.fromJson(events)
    return { ...told, event: event! }
  })).pipe(Effect.mapError(unreadable(id)))

/** A store that doesn't answer is asked again: a reader waits. */
const again = Schedule.spaced("1 second")

/** Streams the events behind a number that are kept until another. */
const past = (store: Service, id: string, after: number, until: number) =>
  Stream.paginate(after, (cursor) =>
    Effect.gen(function*() {
      const entries = yield* Effect.orDie(Effect.retry(store.read(id, cursor, pageSize), again))
      const told: Array<Journal.Told> = []
      for (const { lastEvent, text } of entries) {
        const { events } = yield* Effect.mapError(Effect.fromResult(Kept.entryFromText(text)), unreadable(id))
        const before = lastEvent - events.length
        events.forEach((event, at) => told.push({ cursor: before + at + 1, event }))
      }
      const last = entries.at(-1)?.lastEvent ?? until
      const next = last < until ? Option.some(last) : Option.none<number>()
      return [told.filter(({ cursor }) => cursor > after && cursor <= until), next] as const
    }))

/** Streams the events of a conversation behind a number, and goes on with each that comes. */
export const make = (
  activation: Activation,
  store: Service,
  id: string,
  after: number
): Stream.Stream<Journal.Told, ConversationError> =>
  Stream.unwrap(Effect.gen(function*() {
    const coming = yield* PubSub.subscribe(activation.told)
    const until = yield* activation.with(({ journal }) => Effect.sync(() => journal.kept.events))
    const now = Stream.fromSubscription(coming).pipe(
      Stream.filter(({ cursor, piece }) => piece !== undefined || (cursor > until && cursor > after))
    )
    return Stream.concat(past(store, id, after, until), now)
  }))
