/**
 * A request of an agent to its model, as spans and metrics show it: which model, since when, and how it ended.
 *
 * The names of a provider and of its model come from the model itself, or from the services of `effect/ai/Model` beside it. Many models
 * have neither.
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
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Span } from "effect/Tracer"
import type { RequestUsage } from "../../domain/Usage.ts"
import * as NativeModel from "../../model/NativeModel.ts"
import { record } from "./RequestMetrics.ts"
import { type Keeping, Slot } from "./Slot.ts"

// Without their module: an import waits for each module of Effect that no other module imports.
const ProviderName = Context.Service<Model.ProviderName, string>("effect/ai/Model/ProviderName")
const ModelName = Context.Service<Model.ModelName, string>("effect/ai/Model/ModelName")

const namesIn = (context: Context.Context<never>): NativeModel.Names => ({
  provider: Context.getOrUndefined(context, ProviderName),
  model: Context.getOrUndefined(context, ModelName)
})

const named = new WeakMap<LanguageModel.LanguageModel, NativeModel.Names>()

/** A model behind one that counts requests, and the methods that the counting one was made with. */
interface Behind extends Pick<LanguageModel.LanguageModel, "generateText" | "streamText"> {
  readonly model: LanguageModel.LanguageModel
}

/** The models behind those that count requests. */
export const behind = new WeakMap<LanguageModel.LanguageModel, Behind>()

/**
 * Returns the model behind one that counts requests, or the model itself. If somebody has replaced a method of the counting model, it
 * returns the counting model, because the replacement must be asked.
 */
export const unmeasured = (model: LanguageModel.LanguageModel): LanguageModel.LanguageModel => {
  const found = behind.get(model)
  return found === undefined || found.generateText !== model.generateText || found.streamText !== model.streamText
    ? model
    : found.model
}

/** Marks models that count requests. What somebody makes of one, by a spread or with it as a prototype, has the mark too. */
export const counts = Symbol("troupe/agent/journal/counts")

/** A request of a loop under way, which the loop counts, and whether the first request that came of it has been made. */
export const RequestOfLoop = Context.Reference<{ isMade: boolean } | undefined>("troupe/agent/journal/RequestOfLoop", {
  defaultValue: () => undefined
})

/** Sends a request of a loop to a model. If the model is made of one that counts requests, that one doesn't count it again. */
export const send = <A, E, R>(model: LanguageModel.LanguageModel, request: Effect.Effect<A, E, R>): typeof request =>
  counts in model ? Effect.provideService(request, RequestOfLoop, { isMade: false }) : request

/** Returns the names of the model that is asked in a context, by itself or by one that measures it. */
const namesOf = (
  context: Context.Context<never>,
  asked = Context.getOrUndefined(context, LanguageModel.LanguageModel)
): NativeModel.Names => {
  if (asked === undefined) return namesIn(context)
  const model = unmeasured(asked)
  return NativeModel.of(model, context)?.names ?? named.get(model) ?? namesIn(context)
}

/** Keeps the names that a model's layer has. A model without names doesn't get the names of a model around it. */
export const keepNames = <A>(built: Context.Context<A>): Context.Context<A> => {
  const model = Context.getOrUndefined(built as Context.Context<never>, LanguageModel.LanguageModel)
  if (model !== undefined) named.set(model, namesIn(built as Context.Context<never>))
  return built
}

/** The content of a request, kept if spans record content. */
export interface SentContent {
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
}

/** The result of a request: its usage, and what the response says of itself. */
export interface Outcome {
  readonly usage?: RequestUsage | undefined
  readonly model?: string | undefined
  readonly finishReason?: Response.FinishReason | undefined
}

/** A request to a model. */
export class ModelRequest {
  readonly names: NativeModel.Names
  readonly sent: SentContent | undefined
  /** Its span, if that waits for its content. */
  #held: { readonly span: Span; readonly end: () => void } | undefined = undefined
  readonly #clock: Clock.Clock
  readonly #context: Context.Context<never>
  readonly #startedAt: number
  /** `before` is a request that may have asked the same model. */
  constructor(
    fiber: Fiber.Fiber<unknown, unknown>,
    clock: Clock.Clock,
    startedAt: number,
    before?: ModelRequest,
    sent?: SentContent,
    model?: LanguageModel.LanguageModel
  ) {
    const context = fiber.context as Context.Context<never>
    this.names = before !== undefined && before.#context === context ? before.names : namesOf(context, model)
    this.sent = sent
    this.#clock = clock
    this.#context = context
    this.#startedAt = startedAt
  }
  /** Keeps its span open until guardrails have decided which content it may have. */
  hold(span: Span, end: () => void): void {
    this.#held = { span, end }
  }
  /** Ends its span, if that waits, with the content. */
  release(content: Readonly<Record<string, string | undefined>>): void {
    if (this.#held === undefined) return
    const { end, span } = this.#held
    this.#held = undefined
    for (const [name, value] of Object.entries(content)) if (value !== undefined) span.attribute(name, value)
    end()
  }
  /** Records its metrics at its end, with the tag of what it failed with if it did. */
  end(outcome: Outcome, error?: string): void {
    const seconds = Math.max(0, this.#clock.currentTimeMillisUnsafe() - this.#startedAt) / 1000
    const { model, provider } = this.names
    record({ provider, model, response: outcome.model, error }, seconds, outcome.usage, this.#context)
  }
}

/** A request, and its result once it has ended. */
export interface LastRequest {
  readonly request: ModelRequest
  readonly outcome: Outcome | undefined
}

/** The last request of a loop, and the last one of the agent in control, which is another if an agent took over. */
const requests = new Slot<{ readonly latest: LastRequest; readonly own: LastRequest | undefined }>()

/** Returns the last request of the agent in control. */
export const lastRequestOf = (self: Keeping): LastRequest | undefined => requests.get(self)?.own

/** Begins a request of a loop. */
export const begin = (
  self: Keeping,
  fiber: Fiber.Fiber<unknown, unknown>,
  clock: Clock.Clock,
  startedAt: number,
  sent: SentContent | undefined
): ModelRequest => {
  const request = new ModelRequest(fiber, clock, startedAt, requests.get(self)?.latest.request, sent)
  const latest: LastRequest = { request, outcome: undefined }
  requests.set(self, { latest, own: latest })
  return request
}

/** Ends the last request of a loop. It ends once: a guardrail that blocks the answer doesn't fail the request. */
export const end = (self: Keeping, outcome: Outcome, error?: string): void => {
  const known = requests.get(self)
  if (known === undefined || known.latest.outcome !== undefined) return
  const { latest: { request }, latest, own } = known
  request.end(outcome, error)
  const ended: LastRequest = { request, outcome }
  requests.set(self, { latest: ended, own: own === latest ? ended : own })
}

/** Says which request is the last one of the agent in control. */
const setOwn = (self: Keeping, own: LastRequest | undefined): void => {
  const known = requests.get(self)
  if (known !== undefined) requests.set(self, { latest: known.latest, own })
}

/** Separates the requests of an agent that takes over from those before, until the returned function is called. */
export const tellApart = (self: Keeping): () => void => {
  const before = lastRequestOf(self)
  setOwn(self, undefined)
  return () => setOwn(self, before)
}
