/**
 * Summaries that a model writes.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import { instructions, recordOf } from "../domain/conversation/SummaryRecord.ts"
import * as Answer from "../domain/ModelAnswer.ts"
import type { Conversation } from "../domain/StateSchema.ts"
import type { RequestUsage } from "../domain/Usage.ts"

/**
 * Options of a summary by a model.
 *
 * @category models
 * @since 0.1.0
 */
export interface SummarizeOptions {
  /** What the model is told before the record of the turns; by default to write a summary that can stand for the turns. */
  readonly instructions?: string | undefined
}

/** A summary, and what a model used for it. `model` is the model's name, if the model said it. */
export interface Made {
  readonly text: string
  readonly usage?: RequestUsage
  readonly model?: string
}

/** Lets the `LanguageModel` in the context summarize a conversation. */
export const make = (
  conversation: Conversation,
  options: SummarizeOptions | undefined
): Effect.Effect<Made, AiError.AiError, LanguageModel.LanguageModel> =>
  Effect.map(
    LanguageModel.generateText({
      prompt: [
        { role: "system", content: options?.instructions ?? instructions },
        { role: "user", content: recordOf(conversation) }
      ]
    }),
    ({ content, text }) => {
      const { model, usage } = Answer.fromParts(content)
      return { text, usage, ...(model === undefined ? undefined : { model }) }
    }
  )

/**
 * Lets the `LanguageModel` in the context write a summary: for `Handoff.summary`, and for the `summarize` of `HandoffPolicy.compacting`.
 *
 * The model reads a record of the turns, one JSON value a line. In a run it is the model of the agent that hands over. Its usage isn't
 * counted in the state.
 *
 * **Example** (A model sums up for the next agent)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Conversation, Handoff } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const expert = Agent.make("expert")
 * const front = Agent.make("front", {
 *   handoffs: [Handoff.to(expert, { history: Handoff.summary(Handoff.summarizeByModel()) })]
 * })
 *
 * const model = MockModel.make(({ agent, system }) => {
 *   if (/Summarize/.test(system)) return "The lamp is broken."
 *   return agent === "front" ? MockResponse.toolCall("handoff_to_expert", {}) : "Try another bulb."
 * })
 *
 * const program = Agent.run(front, "My lamp is broken!").pipe(
 *   Effect.map(({ conversation }) => conversation.turns.map(Conversation.textOf)),
 *   Effect.provide(MockModel.layer(model))
 * )
 *
 * await Effect.runPromise(program) // => ["The lamp is broken.", "My lamp is broken!", "Try another bulb."]
 * ```
 *
 * @category history
 * @since 0.1.0
 */
export const summarizeByModel =
  (options?: SummarizeOptions) =>
  (conversation: Conversation): Effect.Effect<string, AiError.AiError, LanguageModel.LanguageModel> =>
    Effect.map(make(conversation, options), ({ text }) => text)
