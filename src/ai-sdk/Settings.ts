/**
 * Settings of requests: of the layer, and for those that an agent, or a part of a program, makes.
 *
 * @since 0.1.0
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider"
import * as Context from "effect/Context"
import type { Timeouts } from "./Timeouts.ts"

/**
 * Settings of a request, as the provider interface of the AI SDK has them. What is missing is the provider's default.
 *
 * **Details**
 *
 * - `maxOutputTokens`, `temperature`, `topP`, `topK`, `presencePenalty`, `frequencyPenalty`, `stopSequences` and `seed` are
 *   given to the model as they are. Ranges depend on the provider.
 * - `reasoning` is how much the model thinks. Models of specification 3 don't know it; they have options of their provider.
 * - `headers` are sent with the request, beside those of the provider.
 * - `timeouts` are how long to wait for the provider. They have defaults.
 * - `providerOptions` are what only one provider knows, by its name: `{ openai: { store: false } }`.
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
 * Settings of the requests that are made with it, over those of the layer. Headers, time-outs and the options of each
 * provider are put together by their names, of the rest the last holds.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentSettings = Context.Reference<Settings>("troupe/ai-sdk/CurrentSettings", {
  defaultValue: () => ({})
})

/**
 * Gives settings as what an agent's `settings` are: a context that its requests run with.
 *
 * @category constructors
 * @since 0.1.0
 */
export const settings = (settings: Settings): Context.Context<never> => Context.make(CurrentSettings, settings)

/** Puts settings over others. */
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
