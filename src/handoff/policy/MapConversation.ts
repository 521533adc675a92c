/**
 * What a handoff makes of the conversation on its way.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { Conversation } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import { type Crossing, type HandoffPolicy, make, type Transform } from "./Policy.ts"

/**
 * What becomes of a handoff when a transform fails: with `"keep"` the conversation crosses as it was, and an event says
 * so; with `"fail"` the run ends.
 *
 * @category models
 * @since 0.1.0
 */
export type OnFailure = "keep" | "fail"

/** What a run may fail with by a transform that fails with `E`. */
export type FailureOf<On extends OnFailure, E> = On extends "fail" ? E : never

/** What a policy keeps of a choice. */
export const onFailureOf = (choice: OnFailure | undefined): Transform["onFailure"] =>
  choice === "fail" ? "Fail" : "Keep"

/**
 * Changes the conversation on its way at every handoff, no matter what asks for it: redacts, translates or enriches it.
 *
 * The function is given the conversation with the handoff's call settled, and gives another one or an effect of one. By
 * default a failure leaves the conversation as it was.
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
