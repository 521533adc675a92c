/**
 * Summaries in place of turns: made by an effect, or by a model that reads a record of the turns.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Conversation } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../../handoff/MaybeEffect.ts"
import * as SummaryByModel from "../../handoff/SummaryByModel.ts"
import type { ModelLayer } from "../definition/ModelLayer.ts"
import type { EmptySummary } from "../definition/window/EmptySummary.ts"
import type { Step, Summarize } from "../definition/window/WindowType.ts"
import { fromSteps, type Strategy } from "./Strategy.ts"

type SummarizeOptions = SummaryByModel.SummarizeOptions

type Words<E, R> = (conversation: Conversation) => Effect.Effect<string, E, R>

const isLayer = (u: ModelLayer | SummarizeOptions | undefined): u is ModelLayer => Layer.isLayer(u)

const told = (options: SummarizeOptions | undefined): Summarize => (conversation) =>
  SummaryByModel.make(conversation, options)

const stepBy = (
  by: Words<unknown, unknown> | ModelLayer | SummarizeOptions | undefined,
  options: SummarizeOptions | undefined
): Step => {
  if (typeof by === "function") {
    const summarize: Summarize = (conversation) =>
      MaybeEffect.call(
        () => by(conversation),
        (text) => Wanted.text("The function of `ContextWindow.summarize`", text)
      ).pipe(Effect.map((text) => ({ text })))
    return { _tag: "Summarize", summarize, model: undefined }
  }
  return isLayer(by)
    ? { _tag: "Summarize", summarize: told(options), model: { _tag: "Layer", layer: by } }
    : { _tag: "Summarize", summarize: told(by), model: undefined }
}

/**
 * Sends a summary in the place of the oldest turns.
 *
 * **Details**
 *
 * If too much would be sent, so many of the oldest turns are summarized that what is sent fills half of the window; the window's `target`
 * sets another share. Your function makes the summary by an Effect, or a model writes it: that of a Layer, which a run builds once, or by
 * default the agent's own. The function or the model gets a conversation: the last summary, if there is one, and the turns that go.
 *
 * The event `ConversationSummarized` has the summary, and the state keeps it beside the turns (`docs/decisions/0009`). Later requests
 * and runs send it again. When more turns must go, a new summary is made of the last one and those turns.
 *
 * If the Effect or the Layer fails, the run fails with that error, and with an `AiError` if the model fails. A summary without words fails
 * the run with `EmptySummary`. These errors hold no state: `Agent.settle` returns it.
 *
 * @category strategies
 * @since 0.1.0
 */
export const summarize: {
  <E, R>(by: (conversation: Conversation) => Effect.Effect<string, E, R>): Strategy<E | EmptySummary, R>
  <E, R>(
    by: Layer.Layer<LanguageModel.LanguageModel, E, R>,
    options?: SummarizeOptions
  ): Strategy<E | AiError.AiError | EmptySummary, R>
  (options?: SummarizeOptions): Strategy<AiError.AiError | EmptySummary, LanguageModel.LanguageModel>
} = (
  by?: Words<unknown, unknown> | ModelLayer | SummarizeOptions,
  options?: SummarizeOptions
): Strategy<never, never> => fromSteps([stepBy(by, options)])
