/** The clients of providers that agents are run through: those of the current specification, and those of the one before. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { createAnthropic as createAnthropic3 } from "ai-sdk-anthropic-3"
import { createOpenAI as createOpenAI3 } from "ai-sdk-openai-3"
import { Effect, Layer } from "effect"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockProvider } from "troupe/testing"

export type Protocol = "openai-chat" | "openai-responses" | "anthropic-messages"

/** How a client is made. */
export interface Client {
  readonly baseURL: string
  readonly apiKey?: string
  readonly fetch?: MockProvider.Provider["fetch"]
}

export interface Provider {
  readonly protocol: Protocol
  readonly specification: "v3" | "v4"
  readonly modelOf: (client: Client) => AiSdkModel.AnyModel
  /** Whether the model says what it thinks, and whether that is signed by it. */
  readonly reasons: boolean
  readonly signs: boolean
}

const client = ({ apiKey = "none", baseURL, fetch }: Client) => ({
  apiKey,
  baseURL,
  ...(fetch === undefined ? undefined : { fetch })
})

const chat = { protocol: "openai-chat", reasons: false, signs: false } as const
const responses = { protocol: "openai-responses", reasons: true, signs: false } as const
const anthropic = { protocol: "anthropic-messages", reasons: true, signs: true } as const

export const providers: Readonly<Record<string, Provider>> = {
  "OpenAI's chat completions": {
    ...chat,
    specification: "v4",
    modelOf: (options) => createOpenAI(client(options)).chat("gpt-5")
  },
  "OpenAI's responses": {
    ...responses,
    specification: "v4",
    modelOf: (options) => createOpenAI(client(options)).responses("gpt-5")
  },
  "Anthropic": {
    ...anthropic,
    specification: "v4",
    modelOf: (options) => createAnthropic(client(options))("claude-sonnet-5")
  },
  "what is compatible with OpenAI": {
    ...chat,
    specification: "v4",
    reasons: true,
    modelOf: (options) =>
      createOpenAICompatible({
        name: "house",
        includeUsage: true,
        supportsStructuredOutputs: true,
        ...client(options)
      })("gpt-5")
  },
  "OpenAI's chat completions, by specification 3": {
    ...chat,
    specification: "v3",
    modelOf: (options) => createOpenAI3(client(options)).chat("gpt-5")
  },
  "OpenAI's responses, by specification 3": {
    ...responses,
    specification: "v3",
    modelOf: (options) => createOpenAI3(client(options)).responses("gpt-5")
  },
  "Anthropic, by specification 3": {
    ...anthropic,
    specification: "v3",
    modelOf: (options) => createAnthropic3(client(options))("claude-sonnet-4-5")
  }
}

/** The model of a provider that is served on this machine. */
const modelOf = ({ modelOf }: Provider, options?: Omit<Client, "baseURL">) =>
  Effect.map(MockProvider.url, (url) => modelOf({ baseURL: `${url}/v1`, ...options }))

/** The model of a provider that is served on this machine, as a layer. */
export const layerOf = (provider: Provider, options?: AiSdkModel.Options) =>
  Layer.unwrap(Effect.map(modelOf(provider), (model) => AiSdkModel.layer(model, options)))
