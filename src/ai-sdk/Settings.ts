/**
 * Settings of requests: for a whole layer, or for the requests of an agent or a part of a program.
 *
 * @since 0.1.0
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider"
import * as Context from "effect/Context"
import type { Timeouts } from "./Timeouts.ts"

/**
 * Settings of a request, as in the provider interface of the AI SDK. A missing setting is the provider's default.
 *
 * **Details**
 *
 * - `maxOutputTokens`, `temperature`, `topP`, `topK`, `presencePenalty`, `frequencyPenalty`, `stopSequences` and `seed` are sent to the
 *   model as they are. Ranges depend on the provider.
 * - `reasoning` is how much the model thinks. Models of specification 3 don't have it: use the options of their provider.
 * - `headers` are sent with the request, besides those of the provider.
 * - `timeouts` are how long to wait for the provider; `Timeouts` lists the defaults.
 * - `providerOptions` are options of single providers, by the provider's name: `{ openai: { store: false } }`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly stopSequences?: ReadonlyArray<string>
  readonly seed?: number
  readonly reasoning?: NonNullable<LanguageModelV4CallOptions["reasoning"]>
  readonly headers?: Readonly<Record<string, string>>
  readonly timeouts?: Timeouts
  readonly providerOptions?: SharedV4ProviderOptions
}

/**
 * Settings of the requests that run with this reference; they override the layer's. Headers, time-outs and each provider's options are
 * merged by key; of other settings the last one counts.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentSettings = Context.Reference<Settings>("troupe/ai-sdk/CurrentSettings", {
  defaultValue: () => ({})
})

/**
 * Returns settings as a context for an agent's `settings` option.
 *
 * @category constructors
 * @since 0.1.0
 */
export const settings = (settings: Settings): Context.Context<never> => Context.make(CurrentSettings, settings)

/** Merges settings; those of the second override the first. */
export const over = (under: Settings, upper: Settings): Settings => {
  if (Object.keys(upper).length === 0) return under
  const providerOptions: SharedV4ProviderOptions = { ...under.providerOptions }
  for (const [provider, options] of Object.entries(upper.providerOptions ?? {})) {
    providerOptions[provider] = { ...providerOptions[provider], ...options }
  }
  return {
    ...under,
    ...upper,
    headers: { ...under.headers, ...upper.headers },
    timeouts: { ...under.timeouts, ...upper.timeouts },
    providerOptions
  }
}
