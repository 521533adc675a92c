/**
 * In which conversation something runs, so that it isn't asked to wait for itself.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ConversationError, WaitsForItself } from "./ConversationError.ts"

/** The conversation that runs this, by the name of its entity and its id. */
export const Within = Context.Reference<string | undefined>("troupe/cluster/Within", {
  defaultValue: () => undefined
})

/** Fails if a conversation's own run would wait for that conversation: its messages are handled one after the other. */
export const notWithin = (address: string) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Within, (within): Effect.Effect<A, E | ConversationError, R> =>
    within === address
      ? Effect.fail(new ConversationError({ reason: new WaitsForItself({ conversation: address }) }))
      : self)
