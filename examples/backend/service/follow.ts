/**
 * The events of a conversation for a reader of this service.
 */
import { Effect, Stream } from "effect"
import type { Conversation } from "troupe/cluster"
import type { Event } from "../api/Conversations.ts"

/** An event with its number. A piece of an answer has that of the event before it. */
export interface Numbered {
  readonly number: number
  readonly event: Event
}

/** Streams what happens after a cursor. When the service closes, it ends with what is kept by then. */
export const follow = (
  chat: Pick<Conversation.Client, "events" | "view">,
  after: number,
  closed: Effect.Effect<void>
): Stream.Stream<Numbered, { readonly message: string }> =>
  Stream.suspend(() => {
    let last = after
    const told = (after: number) =>
      chat.events({ after }).pipe(
        Stream.map(({ cursor, event, piece }): Numbered => {
          if (piece === undefined) last = cursor
          return { number: cursor, event }
        })
      )
    const rest = Stream.unwrap(Effect.map(chat.view, ({ cursor }) =>
      cursor <= last ? Stream.empty : told(last).pipe(Stream.takeUntil(({ number }) =>
        number >= cursor
      ))))
    let isClosing = false
    const closing = Effect.map(closed, () =>
      void (isClosing = true))
    return Stream.concat(
      Stream.interruptWhen(told(after), closing),
      Stream.suspend(() => isClosing ? rest : Stream.empty)
    )
  })
