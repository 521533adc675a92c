/**
 * Changing the conversation when it crosses a handoff.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { Conversation } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import { type Crossing, type HandoffPolicy, make, type Transform } from "./Policy.ts"

/**
 * What happens if a transform fails: with `"keep"`, the default, the conversation crosses without it and the event `TransformFailed` says
 * so; with `"fail"` the run fails with its error.
 *
 * @category models
 * @since 0.1.0
 */
export type OnFailure = "keep" | "fail"

/** What a run may fail with if a transform fails with `E`. */
export type FailureOf<On extends OnFailure, E> = On extends "fail" ? E : never

/** The internal form of `onFailure`. */
export const onFailureOf = (choice: OnFailure | undefined): Transform["onFailure"] =>
  choice === "fail" ? "Fail" : "Keep"

/**
 * Changes the conversation at every handoff, a model's or a policy's: redacts, translates or enriches it.
 *
 * The function is called with the conversation, in which the handoff's call is settled, and returns another one, directly or in an Effect.
 * By default a failed Effect leaves the conversation unchanged; with `onFailure: "fail"` the run fails with its error.
 *
 * @category constructors
 * @since 0.1.0
 */
export const mapConversation = <E = never, R = never, const On extends OnFailure = "keep">(
  f: (conversation: Conversation, crossing: Crossing) => Conversation | Effect.Effect<Conversation, E, R>,
  options?: { readonly onFailure?: On | undefined }
): HandoffPolicy<never, FailureOf<On, E>, R> =>
  make({
    names: [],
    transforms: [{
      apply: (conversation, crossing) =>
        MaybeEffect.call(
          () => f(conversation, crossing),
          (made) => Wanted.conversation("`HandoffPolicy.mapConversation`", made)
        ),
      onFailure: onFailureOf(options?.onFailure)
    }]
  })
