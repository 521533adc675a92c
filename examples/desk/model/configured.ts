/**
 * The model that the environment configures, through the AI SDK's packages; without one, the embedded model.
 *
 * Such a package is loaded where its provider is configured, and not before.
 */
import { Config, Effect, type Layer, Option, Record, Redacted, Result, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { AiSdkModel } from "troupe/ai-sdk"
import { type BadSetting, time } from "../settings.ts"
import * as Embedded from "./model.ts"

/** The variables of the environment that configure a model. */
export const help = `OPENAI_API_KEY and OPENAI_MODEL        a model of OpenAI
  OPENAI_BASE_URL and OPENAI_MODEL       a model of a server compatible with OpenAI, such as
                                         http://localhost:11434/v1; add OPENAI_API_KEY if it wants one
  ANTHROPIC_API_KEY and ANTHROPIC_MODEL  a model of Anthropic; ANTHROPIC_BASE_URL is another address for it
  MODEL_TIMEOUT_FIRST, _BETWEEN, _TOTAL  how long to wait for a streamed answer to begin ("5 minutes"), for its next
                                         part ("2 minutes"), and for all of any answer ("15 minutes")`

/** Error for an environment that doesn't say which model is meant. */
export class UnclearModel extends Schema.TaggedError<UnclearModel>()("UnclearModel", { issue: Schema.String }) {
  override get message(): string {
    return this.issue
  }
}

/** The model that is used. */
export interface Configured {
  readonly layer: Layer.Layer<LanguageModel.LanguageModel>
  /** Names a real model, in a line. */
  readonly line: Option.Option<string>
  /** Says in a line why a real model can't be used as it is configured: its key, its name, its address. */
  readonly explain: (error: AiError.AiError) => Option.Option<string>
}

/** A model of a provider, as the environment has it. */
interface Wanted {
  readonly who: string
  readonly model: string
  readonly key: Redacted.Redacted | undefined
  readonly url: string | undefined
  /** The variables that hold the key, the name and the address. */
  readonly names: { readonly key: string; readonly model: string; readonly url: string }
  readonly make: (fetch: typeof globalThis.fetch) => Promise<AiSdkModel.AnyModel>
}

/** A variable, where it says anything. */
const variable = (name: string): Config.Config<string | undefined> =>
  Config.map(Config.option(Config.String(name)), (value) => {
    const text = Option.getOrElse(value, () => "").trim()
    return text === "" ? undefined : text
  })

const variables = (name: "OPENAI" | "ANTHROPIC") => {
  const names = { key: `${name}_API_KEY`, model: `${name}_MODEL`, url: `${name}_BASE_URL` }
  return Config.map(
    Config.all({
      key: Config.map(variable(names.key), (key) => key === undefined ? undefined : Redacted.make(key)),
      model: variable(names.model),
      url: variable(names.url)
    }),
    (values) => ({ ...values, names })
  )
}

type Values = Config.Success<ReturnType<typeof variables>>

const secret = ({ key }: Values) => key === undefined ? undefined : { apiKey: Redacted.value(key) }

/** An address as it may be shown. */
const shown = (url: string): string => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  return parsed === undefined ? url : `${parsed.origin}${parsed.pathname}`
}

const openAi = (values: Values, model: string): Wanted => ({
  ...values,
  model,
  who: "OpenAI",
  make: async (fetch) => (await import("@ai-sdk/openai")).createOpenAI({ ...secret(values), fetch })(model)
})

const compatible = (values: Values, model: string, baseURL: string): Wanted => ({
  ...values,
  model,
  who: shown(baseURL),
  make: async (fetch) =>
    (await import("@ai-sdk/openai-compatible")).createOpenAICompatible({
      name: "compatible",
      baseURL,
      includeUsage: true,
      fetch,
      ...secret(values)
    })(model)
})

const anthropic = (values: Values, model: string): Wanted => ({
  ...values,
  model,
  who: "Anthropic",
  make: async (fetch) =>
    (await import("@ai-sdk/anthropic")).createAnthropic({
      fetch,
      ...secret(values),
      ...(values.url === undefined ? undefined : { baseURL: values.url })
    })(model)
})

/** Checks whether requests can go to an address. A key goes into a variable of its own, where nobody is shown it. */
const isAddress = (url: string): boolean => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  return parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.username === "" && parsed.password === ""
}

const unclear = (issue: string) => Result.fail(new UnclearModel({ issue }))

/** Which model is wanted. A key alone wants none: it may be there for something else. */
const choose = (ofOpenAi: Values, ofAnthropic: Values): Result.Result<Wanted | undefined, UnclearModel> => {
  for (const { names, url } of [ofOpenAi, ofAnthropic]) {
    if (url !== undefined && !isAddress(url)) {
      return unclear(`${names.url} is no address of a server, such as http://localhost:11434/v1.`)
    }
  }
  if (ofOpenAi.model !== undefined && ofAnthropic.model !== undefined) {
    return unclear("OPENAI_MODEL and ANTHROPIC_MODEL are both set. Unset one of them.")
  }
  if (ofOpenAi.model !== undefined) {
    if (ofOpenAi.url !== undefined) return Result.succeed(compatible(ofOpenAi, ofOpenAi.model, ofOpenAi.url))
    if (ofOpenAi.key !== undefined) return Result.succeed(openAi(ofOpenAi, ofOpenAi.model))
    return unclear("OPENAI_MODEL is set, but neither OPENAI_API_KEY nor OPENAI_BASE_URL is.")
  }
  if (ofAnthropic.model !== undefined) {
    if (ofAnthropic.key !== undefined) return Result.succeed(anthropic(ofAnthropic, ofAnthropic.model))
    return unclear("ANTHROPIC_MODEL is set, but ANTHROPIC_API_KEY isn't.")
  }
  return Result.succeed(undefined)
}

/** What a provider said, behind what we say. */
const saying = (said: string | undefined): string => said === undefined || said === "" ? "." : `: ${said}`

/** Why a model can't be used as it is configured, if that is what an error says. */
const explain = ({ key, model, names, url, who }: Wanted, { reason }: AiError.AiError): string | undefined => {
  const said = saying("description" in reason ? reason.description : undefined)
  switch (reason._tag) {
    case "AuthenticationError":
      return key === undefined
        ? `${who} wants a key, and ${names.key} isn't set${said}`
        : reason.kind === "InsufficientPermissions"
        ? `${who} doesn't allow this with the key in ${names.key}${said}`
        : `${who} refused the key in ${names.key}${said}`
    case "QuotaExhaustedError":
      return `The account at ${who} has nothing left to spend.`
    case "NetworkError":
      return `${who} can't be reached${url === undefined || who === shown(url) ? "" : ` at ${shown(url)}`}${said}`
    case "InvalidRequestError":
      return reason.http?.response?.status === 404
        ? `${who} doesn't know the model "${model}" of ${names.model}${said}`
        : undefined
    default:
      return undefined
  }
}

const none = Option.none<string>()

/** How long to wait for the model, as far as the environment says it. */
const timeouts = Effect.map(
  Effect.all({
    first: time("MODEL_TIMEOUT_FIRST", "5 minutes", "1 milli"),
    between: time("MODEL_TIMEOUT_BETWEEN", "2 minutes", "1 milli"),
    total: time("MODEL_TIMEOUT_TOTAL", "15 minutes", "1 milli")
  }),
  Record.getSomes
)

/** The model that the environment configures, or else the embedded one. */
export const configured: Effect.Effect<Configured, UnclearModel | BadSetting | Config.ConfigError> = Effect.gen(
  function*() {
    const fetch = yield* FetchHttpClient.Fetch
    const wanted = yield* Effect.fromResult(choose(yield* variables("OPENAI"), yield* variables("ANTHROPIC")))
    if (wanted === undefined) return { layer: Embedded.layer, line: none, explain: () => none }
    const { make, model, who } = wanted
    const made = yield* Effect.promise(() => make(fetch))
    return {
      // What customers say isn't left with the provider.
      layer: AiSdkModel.layer(made, { providerOptions: { openai: { store: false } }, timeouts: yield* timeouts }),
      line: Option.some(`The model is ${model} of ${who}.`),
      explain: (error) =>
        Option.map(Option.fromUndefinedOr(explain(wanted, error)), (line) => line.replace(/\s+/g, " ").trim())
    }
  }
)
