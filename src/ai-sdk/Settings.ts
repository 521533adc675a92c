/**
 * Request settings: for a whole layer, or for the requests of an agent or a part of a program.
 *
 * @since 0.1.0
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from "@ai-sdk/provider"
import type * as AiError from "effect/ai/AiError"
import * as Context from "effect/Context"
import type { Timeouts } from "./Timeouts.ts"
import * as Wrong from "./Wrong.ts"

/**
 * Request settings, as in the provider interface of the AI SDK.
 *
 * A missing one is the provider's default. Values are sent as they are, and their ranges depend on the provider. A request with a value
 * of another kind fails with `InvalidRequestError`. If the model doesn't support one, its package leaves it out, and a warning is
 * logged.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  /** How many tokens an answer may have. */
  readonly maxOutputTokens?: number
  /** How much the model varies its answers. */
  readonly temperature?: number
  /** The share of probability among which the model chooses each token. */
  readonly topP?: number
  /** The number of most likely tokens among which the model chooses each token. */
  readonly topK?: number
  /** How much the model avoids tokens that it has used. */
  readonly presencePenalty?: number
  /** How much the model avoids tokens by how often it has used them. */
  readonly frequencyPenalty?: number
  /** Texts at which the answer ends. */
  readonly stopSequences?: ReadonlyArray<string>
  /** A number with which a model that supports it repeats its answers. */
  readonly seed?: number
  /** How much the model thinks. Models of specification 3 don't have it, and a warning is logged: use the options of their provider. */
  readonly reasoning?: NonNullable<LanguageModelV4CallOptions["reasoning"]>
  /** Headers that are sent with the request, besides those of the provider. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long to wait for the provider; `Timeouts` lists the defaults. */
  readonly timeouts?: Timeouts
  /** Options of single providers, by the provider's name: `{ openai: { store: false } }`. */
  readonly providerOptions?: SharedV4ProviderOptions
}

const none: Settings = {}

/**
 * Request settings of the requests that run with this reference; they override the layer's. Headers, time-outs and each provider's options are
 * merged by key; of other request settings the last one counts. One that is `undefined` overrides nothing.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentSettings = Context.Reference<Settings>("troupe/ai-sdk/CurrentSettings", {
  defaultValue: () => none
})

/**
 * Returns request settings as a context for an agent's `settings` option.
 *
 * @category constructors
 * @since 0.1.0
 */
export const settings = (settings: Settings): Context.Context<never> => Context.make(CurrentSettings, settings)

const kinds: Wrong.Kinds<Settings> = {
  maxOutputTokens: Wrong.number,
  temperature: Wrong.number,
  topP: Wrong.number,
  topK: Wrong.number,
  presencePenalty: Wrong.number,
  frequencyPenalty: Wrong.number,
  seed: Wrong.number,
  reasoning: Wrong.text,
  stopSequences: Wrong.texts,
  headers: Wrong.textsByName,
  providerOptions: Wrong.objectsByName
}

const limits: Wrong.Kinds<Timeouts> = { first: Wrong.duration, between: Wrong.duration, total: Wrong.duration }

/** Returns what is wrong with request settings, if anything. */
export const wrongIn = (settings: Settings | undefined): AiError.InvalidRequestError | undefined =>
  settings === none || settings === undefined
    ? undefined
    : Wrong.reasonIn("settings", settings, kinds) ?? Wrong.reasonIn("timeouts", settings.timeouts, limits)

/** Merges two objects by key. A value of the second that is `undefined` doesn't count. */
const merged = <A extends object>(under: A, upper: A): A => {
  const all = { ...under }
  for (const key in upper) if (upper[key] !== undefined) all[key] = upper[key]
  return all
}

type Headers = NonNullable<Settings["headers"]>

/** Merges headers. Upper case and lower case are the same in their names. */
const mergedHeaders = (under: Headers, upper: Headers): Headers => {
  const names = new Set(
    Object.keys(upper).filter((name) => upper[name] !== undefined).map((name) => name.toLowerCase())
  )
  return merged(Object.fromEntries(Object.entries(under).filter(([name]) => !names.has(name.toLowerCase()))), upper)
}

/** Merges request settings; those of the second override the first. */
export const over = (under: Settings, upper: Settings | undefined): Settings => {
  if (upper === undefined || Object.keys(upper).length === 0) return under
  const providerOptions: SharedV4ProviderOptions = { ...under.providerOptions }
  for (const [provider, options] of Object.entries(upper.providerOptions ?? {})) {
    providerOptions[provider] = merged(providerOptions[provider] ?? {}, options ?? {})
  }
  return {
    ...merged(under, upper),
    headers: mergedHeaders(under.headers ?? {}, upper.headers ?? {}),
    timeouts: merged(under.timeouts ?? {}, upper.timeouts ?? {}),
    providerOptions
  }
}
