/**
 * How a service talks to a conversation: what can't be taken in at once is refused, and what is taken in is in the log.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as RunId from "../agent/journal/RunId.ts"
import * as Beginning from "./Beginning.ts"
import { type ClusterError, type Keyed, wherever } from "./Client.ts"
import type { ConversationError } from "./ConversationError.ts"
import type * as Protocol from "./Protocol.ts"

/** What a service asks of a conversation. `X` is what the cluster, or the connection to it, can fail with. */
export interface Client<out X = ClusterError> {
  /**
   * Begins something if nothing is under way, and returns once it is in the log. Its run continues even if the caller leaves. What a user
   * says is stored after the guardrails have checked it, in the form that they let pass.
   *
   * Fails with `ConversationError`: its `reason` is `ConversationBusy` if something is under way, `NotAwaitingApproval` if the call doesn't
   * await approval, and `ParametersRejected` if its tool can't read the `params` or a guardrail refuses them. It is `NotBegun` if the key was
   * cancelled, or the run failed, was stopped or was interrupted before anything was stored.
   */
  readonly begin: (
    beginning: Beginning.Beginning,
    options?: Keyed
  ) => Effect.Effect<Beginning.Begun, ConversationError | X>

  /**
   * Cancels what is under way, whichever message it is, and returns once it has stopped. Returns `false` if nothing was under way. If a
   * message of `begin` still waits for another one, both are cancelled. The waiting message is stored first, so `resume` continues it later.
   * If `around` holds its run back, its `begin` fails with `NotBegun`, and can be sent again with the same key.
   */
  readonly stop: Effect.Effect<boolean, ConversationError | X>

  /** Returns the stored state, the number of its last event, and whether something is under way. */
  readonly view: Effect.Effect<Beginning.View, ConversationError | X>
}

/** The requests of a conversation's entity to one of its ids. */
export type Requests = ReturnType<Effect.Success<Protocol.NamedConversation["client"]>>

/** Talks to a conversation by its requests. */
export const make = (id: string, requests: Requests): Client => ({
  begin: (beginning, options) =>
    Effect.flatMap(
      options?.key === undefined ? Effect.map(Random.Random, RunId.make) : Effect.succeed(options.key),
      (key) => wherever(Effect.suspend(() => requests.Begin({ key, beginning: Beginning.toJson(beginning) })))
    ),
  stop: wherever(Effect.suspend(() => requests.Stop())),
  view: Effect.flatMap(
    wherever(Effect.suspend(() => requests.View())),
    (json) => Beginning.viewFromJson(id, json)
  )
})
