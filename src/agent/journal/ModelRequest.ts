/**
 * A request of an agent to its model, as spans and metrics tell it: who is asked, since when, and what came of it.
 *
 * A model says the names of its provider and of itself by the services of `effect/ai/Model`. Many models say neither.
 *
 * @since 0.1.0
 */
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Model from "effect/ai/Model"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import type { RequestUsage } from "../../domain/Usage.ts"
import { record } from "./RequestMetrics.ts"

// Without their module: an import waits for each module of Effect that no other brings along.
const ProviderName = Context.Service<Model.ProviderName, string>("effect/ai/Model/ProviderName")
const ModelName = Context.Service<Model.ModelName, string>("effect/ai/Model/ModelName")

/** What a model says of itself. */
interface ModelNames {
  readonly provider: string | undefined
  readonly model: string | undefined
}

const namesIn = (context: Context.Context<never>): ModelNames => ({
  provider: Context.getOrUndefined(context, ProviderName),
  model: Context.getOrUndefined(context, ModelName)
})

const named = new WeakMap<LanguageModel.LanguageModel, ModelNames>()

/** Gives the names of the model that is asked in a context. */
const namesOf = (context: Context.Context<never>): ModelNames => {
  const model = Context.getOrUndefined(context, LanguageModel.LanguageModel)
  return (model === undefined ? undefined : named.get(model)) ?? namesIn(context)
}

/** Keeps the names that come with a model. One that comes without any doesn't go by those of a model around it. */
export const keepNames = <A>(built: Context.Context<A>): Context.Context<A> => {
  const model = Context.getOrUndefined(built as Context.Context<never>, LanguageModel.LanguageModel)
  if (model !== undefined) named.set(model, namesIn(built as Context.Context<never>))
  return built
}

/** What a model is sent, kept if spans hold what was said. */
interface Sent {
  readonly prompt: Prompt.Prompt
  readonly toolkit: { readonly tools: Readonly<Record<string, Tool.Any>> }
}

/** What came of a request: what it used, and what the response says of itself. */
export interface Outcome {
  readonly usage?: RequestUsage | undefined
  readonly model?: string | undefined
  readonly finishReason?: Response.FinishReason | undefined
}

/** A request to a model. */
export class ModelRequest {
  readonly names: ModelNames
  readonly sent: Sent | undefined
  /** What came of it, once it has ended. */
  outcome: Outcome | undefined = undefined
  readonly #clock: Clock.Clock
  readonly #context: Context.Context<never>
  readonly #startedAt: number
  /** `before` is a request that may have asked the same model. */
  constructor(
    fiber: Fiber.Fiber<unknown, unknown>,
    clock: Clock.Clock,
    startedAt: number,
    before?: ModelRequest,
    sent?: Sent
  ) {
    const context = fiber.context as Context.Context<never>
    this.names = before !== undefined && before.#context === context ? before.names : namesOf(context)
    this.sent = sent
    this.#clock = clock
    this.#context = context
    this.#startedAt = startedAt
  }
  /** Ends it, with the tag of what it failed with if it did. It ends once: what was answered isn't failed by what looks at the answer. */
  end(outcome: Outcome, error?: string): void {
    if (this.outcome !== undefined) return
    this.outcome = outcome
    const seconds = Math.max(0, this.#clock.currentTimeMillisUnsafe() - this.#startedAt) / 1000
    const { model, provider } = this.names
    record({ provider, model, response: outcome.model, error }, seconds, outcome.usage, this.#context)
  }
}
