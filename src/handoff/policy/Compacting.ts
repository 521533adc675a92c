/**
 * Long conversations that cross as a summary and their last turns.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import { countOf } from "../../domain/InvalidLimit.ts"
import type { Conversation } from "../../domain/StateSchema.ts"
import { acknowledge } from "../../domain/Takeover.ts"
import { estimateTokens } from "../../domain/TokenEstimate.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { summarizable, summarized } from "../History.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import { type FailureOf, type OnFailure, onFailureOf } from "./MapConversation.ts"
import {
  type Any,
  type Crossing,
  type Error,
  type HandoffPolicy,
  internalsOf,
  make,
  type Names,
  type Services
} from "./Policy.ts"

/**
 * The size above which a conversation is too long: more turns, or more tokens by an estimate (a quarter of its bytes, 1,000 for a file). If
 * both are given, one is enough.
 *
 * @category models
 * @since 0.1.0
 */
export type Threshold =
  | { readonly turns: number; readonly tokens?: number | undefined }
  | { readonly turns?: number | undefined; readonly tokens: number }

/**
 * How a conversation is compacted.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompactingOptions<E, R, On extends OnFailure> {
  /** The size above which a conversation is compacted. */
  readonly over: Threshold
  /** How many of the last turns cross as they are. */
  readonly keep: number
  /** Returns an Effect of the summary of the turns that are replaced. Their calls are settled. */
  readonly summarize: (conversation: Conversation, crossing: Crossing) => Effect.Effect<string, E, R>
  /** What happens if the summary fails or is empty; `"keep"` by default: the conversation crosses as it is. */
  readonly onFailure?: On | undefined
}

/**
 * Error for a summary without words: it would delete the turns that it replaces. A run fails with it if `onFailure` is `"fail"`.
 *
 * @category errors
 * @since 0.1.0
 */
export class EmptySummary extends ErrorClass<EmptySummary>("troupe/handoff/HandoffPolicy")("EmptySummary", {
  from: Schema.String,
  to: Schema.String
}, ({ from, to }) => `The summary for the handoff from "${from}" to "${to}" is empty`) {}

const isOver = ({ tokens, turns }: Threshold, conversation: Conversation): boolean =>
  (turns !== undefined && conversation.turns.length > turns) ||
  (tokens !== undefined && estimateTokens(conversation) > tokens)

const compact = <E, R>(
  { keep, over, summarize }: CompactingOptions<E, R, OnFailure>,
  conversation: Conversation,
  crossing: Crossing
): Effect.Effect<Conversation, E | EmptySummary, R> => {
  const { turns } = acknowledge(conversation, crossing.request)
  const goes = summarizable(turns, turns.length - keep)
  // If only summaries would be replaced, they aren't summarized again.
  if (goes.every((turn) => turn._tag === "Summary") || !isOver(over, conversation)) return Effect.succeed(conversation)
  const summary = MaybeEffect.call(
    () => summarize({ turns: goes }, crossing),
    (text) => Wanted.text("`summarize` of `HandoffPolicy.compacting`", text)
  )
  return Effect.flatMap(summary, (text) =>
    text.trim() === ""
      ? Effect.fail(new EmptySummary({ from: crossing.from, to: crossing.to }))
      : Effect.succeed<Conversation>({ turns: summarized(text, turns, goes) }))
}

/**
 * Lets a long conversation cross as a summary and its last turns, after the transforms of `policy`.
 *
 * Pinned turns and what the user said last cross as they are, behind the summary. If a group has no other policy, give
 * `HandoffPolicy.compose()` as the policy.
 *
 * A conversation that isn't over the threshold, or has nothing to summarize, crosses as it is. So does one whose summary fails or is empty,
 * unless `onFailure` is `"fail"`: then the run fails with the summary's error or `EmptySummary`. Throws `InvalidLimit` if a size or `keep`
 * is neither a whole number from 0 on nor `Infinity`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const compacting: {
  <E, R, const On extends OnFailure = "keep">(
    options: CompactingOptions<E, R, On>
  ): <Policy extends Any>(
    policy: Policy
  ) => HandoffPolicy<Names<Policy>, Error<Policy> | FailureOf<On, E | EmptySummary>, Services<Policy> | R>
  <Policy extends Any, E, R, const On extends OnFailure = "keep">(
    policy: Policy,
    options: CompactingOptions<E, R, On>
  ): HandoffPolicy<Names<Policy>, Error<Policy> | FailureOf<On, E | EmptySummary>, Services<Policy> | R>
} = dual(2, (policy: Any, options: CompactingOptions<unknown, unknown, OnFailure>): Any => {
  const { keep, over: { tokens, turns } } = options
  countOf("keep", keep, 0)
  if (turns !== undefined) countOf("turns", turns, 0)
  if (tokens !== undefined) countOf("tokens", tokens, 0)
  const { transforms, ...rest } = internalsOf(policy)
  return make({
    ...rest,
    transforms: [...transforms, {
      apply: (conversation, crossing) => Effect.suspend(() => compact(options, conversation, crossing)),
      onFailure: onFailureOf(options.onFailure)
    }]
  })
})
