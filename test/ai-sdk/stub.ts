/** Models of the provider interface that answer as a test says, for what no real client shows, and remember what they were asked. */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart
} from "@ai-sdk/provider"

export const finish = {
  finishReason: { unified: "stop", raw: "stop" },
  usage: {
    inputTokens: { total: 10, noCache: 6, cacheRead: 3, cacheWrite: 1 },
    outputTokens: { total: 5, text: 3, reasoning: 2 },
    raw: { total: 15 }
  }
} as const

type Generated = Partial<Omit<LanguageModelV4GenerateResult, "content">>

/** It fetches all addresses itself. */
const supportedUrls: Record<string, Array<RegExp>> = { "*/*": [/./] }
const about = { provider: "house.chat", modelId: "one", supportedUrls } as const

/** A model that gives each of these answers in turn. */
export const saying = (
  contents: ReadonlyArray<ReadonlyArray<LanguageModelV4Content>>,
  more: Generated = {},
  provider: string = about.provider
) => {
  const asked: Array<LanguageModelV4CallOptions> = []
  const model: LanguageModelV4 = {
    ...about,
    provider,
    specificationVersion: "v4",
    doGenerate: (options) => {
      asked.push(options)
      return Promise.resolve({ ...finish, warnings: [], ...more, content: [...contents[asked.length - 1] ?? []] })
    },
    doStream: () => Promise.reject(new Error("it isn't streamed"))
  }
  return { asked, model }
}

/** A model of specification 3 that gives each of these answers in turn. */
export const saying3 = (contents: ReadonlyArray<ReadonlyArray<LanguageModelV3Content>>) => {
  const asked: Array<LanguageModelV3CallOptions> = []
  const model: LanguageModelV3 = {
    ...about,
    specificationVersion: "v3",
    doGenerate: (options) => {
      asked.push(options)
      return Promise.resolve({ ...finish, warnings: [], content: [...contents[asked.length - 1] ?? []] })
    },
    doStream: () => Promise.reject(new Error("it isn't streamed"))
  }
  return { asked, model }
}

/** A model that throws, at once or as a rejection, or in the middle of a stream. */
export const throwing = (error: unknown, how: "rejects" | "throws" | "streams" = "rejects"): LanguageModelV4 => ({
  ...about,
  specificationVersion: "v4",
  doGenerate: () => {
    if (how === "throws") throw error
    return Promise.reject(error)
  },
  doStream: () =>
    Promise.resolve({
      stream: new ReadableStream({
        start: (controller) => {
          controller.enqueue({ type: "error", error })
          controller.close()
        }
      })
    })
})

/** A model that streams parts, each when it is asked for, and tells how many were, and how the stream ended. */
export const streaming = (parts: ReadonlyArray<LanguageModelV4StreamPart>) => {
  const seen = { pulled: 0, cancelled: false, signal: undefined as AbortSignal | undefined }
  const model: LanguageModelV4 = {
    ...about,
    specificationVersion: "v4",
    doGenerate: () => Promise.reject(new Error("it is streamed")),
    doStream: ({ abortSignal }) => {
      seen.signal = abortSignal
      return Promise.resolve({
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          pull: (controller) => {
            const part = parts[seen.pulled++]
            if (part === undefined) controller.close()
            else controller.enqueue(part)
          },
          cancel: () => {
            seen.cancelled = true
          }
        }, { highWaterMark: 0 }),
        response: { headers: { "x-request-id": "r1", "set-cookie": "secret" } }
      })
    }
  }
  return { model, seen }
}
