/** The clients of providers that have a wire format of their own, each with what it doesn't carry. */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock"
import { createCohere } from "@ai-sdk/cohere"
import { createGoogle } from "@ai-sdk/google"
import { createGroq } from "@ai-sdk/groq"
import { createMistral } from "@ai-sdk/mistral"
import { createOpenRouter } from "@openrouter/ai-sdk-provider"
import type { AiSdkModel } from "troupe/ai-sdk"
import { bedrock } from "./bedrock.ts"
import { groq, mistral, openRouter } from "./chat.ts"
import { cohere } from "./cohere.ts"
import { google } from "./google.ts"
import type { Wire } from "./Wire.ts"

export interface WireProvider {
  readonly wire: Wire
  readonly modelOf: (client: { readonly baseURL: string }) => AiSdkModel.AnyModel
  /** What is sent back of a thought that was signed. */
  readonly thoughts: ReadonlyArray<unknown>
  /** Which counts are known of a response without any of the kind, and then of one with some. */
  readonly counts: { readonly cached: readonly [number, number]; readonly reasoning: readonly [number, number] }
  /** Whether the package leaves out what a model says beside its calls. */
  readonly forgets?: boolean
}

const apiKey = "none"

const all = { cached: [30, 0], reasoning: [3, 0] } as const

export const wireProviders: Readonly<Record<string, WireProvider>> = {
  "Google": {
    wire: google,
    modelOf: (options) => createGoogle({ ...options, apiKey })("gemini-3-pro-preview"),
    thoughts: ["Paris, then.", "c2lnbmVk"],
    counts: all
  },
  "Mistral": {
    wire: mistral,
    modelOf: (options) => createMistral({ ...options, apiKey })("magistral-medium-latest"),
    thoughts: [{ type: "thinking", thinking: [{ type: "text", text: "Paris, then." }], closed: true }],
    counts: { cached: [30, 1], reasoning: [0, 2] }
  },
  "Groq": {
    wire: groq,
    modelOf: (options) => createGroq({ ...options, apiKey })("openai/gpt-oss-120b"),
    thoughts: ["Paris, then."],
    counts: all
  },
  "Cohere": {
    wire: cohere,
    modelOf: (options) => createCohere({ ...options, apiKey })("command-a-reasoning-08-2025"),
    thoughts: [],
    counts: { cached: [0, 2], reasoning: [0, 2] },
    forgets: true
  },
  "Bedrock": {
    wire: bedrock,
    modelOf: (options) =>
      createAmazonBedrock({ ...options, apiKey, region: "us-east-1" })("anthropic.claude-sonnet-4-5-20250929-v1:0"),
    thoughts: [{ text: "Paris, then.", signature: "c2lnbmVk" }],
    counts: { cached: [30, 0], reasoning: [0, 2] }
  },
  "OpenRouter": {
    wire: openRouter,
    modelOf: (options) => createOpenRouter({ ...options, apiKey }).chat("anthropic/claude-sonnet-5"),
    thoughts: [{
      type: "reasoning.text",
      text: "Paris, then.",
      format: "anthropic-claude-v1",
      index: 0,
      signature: "c2lnbmVk"
    }],
    counts: all
  }
}
