/** What providers throw of which no client shows a response: the errors of the AI SDK, of runtimes, and of streams. */
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  NoSuchProviderReferenceError,
  TypeValidationError,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Stream } from "effect"
import { type AiError, LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import { AiSdkModel } from "troupe/ai-sdk"
import { saying, throwing } from "./stub.ts"

const call = (options: Partial<ConstructorParameters<typeof APICallError>[0]>) =>
  new APICallError({ message: "failed", url: "https://house/v1", requestBodyValues: {}, ...options })

const refusal = (statusCode: number, body: unknown, more: object = {}) =>
  call({ statusCode, responseBody: JSON.stringify(body), ...more })

/** An error of which nothing can be read. */
const trap = (): object => {
  const read = () => {
    throw new Error("trap")
  }
  return new Proxy({}, { has: read, get: read })
}

const coded = (code: string, message = "broken"): Error => Object.assign(new Error(message), { code })
const named = (name: string): Error => Object.assign(new Error("stopped"), { name })

/** What Google says of a limit that holds for a minute: the same words as for a quota that is spent. */
const google = (retryDelay: string) => ({
  error: {
    code: 429,
    message: "You exceeded your current quota, please check your plan and billing details.",
    status: "RESOURCE_EXHAUSTED",
    details: [
      { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId: "RequestsPerMinute" }] },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }
    ]
  }
})

/** An error as the AI Gateway's package throws it: the response stands in its cause. */
const viaGateway = (statusCode: number, responseHeaders: Readonly<Record<string, string>>) =>
  Object.assign(new Error("Slow down", { cause: refusal(statusCode, {}, { responseHeaders }) }), {
    statusCode,
    type: "rate_limit_exceeded"
  })

type Expected = readonly [tag: AiError.AiErrorReason["_tag"], isRetryable: boolean, more?: object]

const rejected: ReadonlyArray<readonly [what: string, error: unknown, ...Expected]> = [
  ["a key that isn't there", new LoadAPIKeyError({ message: "no key" }), "AuthenticationError", false, {
    kind: "MissingKey",
    description: "no key"
  }],
  ["what throws whatever is read of it", trap(), "UnknownError", false, { description: "The error can't be read" }],
  ["a text that is cut, not within a character", new Error(`a${"😀".repeat(600)}`), "UnknownError", false, {
    description: `a${"😀".repeat(499)}…`
  }],
  ["a setting that isn't there", new LoadSettingError({ message: "no region" }), "InvalidRequestError", false],
  [
    "a model that isn't there",
    new NoSuchModelError({ modelId: "x", modelType: "languageModel" }),
    "InvalidRequestError",
    false,
    {
      parameter: "model"
    }
  ],
  [
    "a file that isn't there",
    new NoSuchProviderReferenceError({ provider: "x", reference: {} }),
    "InvalidRequestError",
    false
  ],
  ["an argument", new InvalidArgumentError({ argument: "topK", message: "too large" }), "InvalidRequestError", false, {
    parameter: "topK",
    description: "too large"
  }],
  ["a prompt", new InvalidPromptError({ prompt: [], message: "empty" }), "InvalidUserInputError", false],
  ["what a provider can't", new UnsupportedFunctionalityError({ functionality: "pdf" }), "InvalidRequestError", false],
  ["arguments of a tool", new TypeValidationError({ value: 1, cause: "wrong" }), "InvalidRequestError", false],
  ["no content", new NoContentGeneratedError(), "InvalidOutputError", true],
  ["no body", new EmptyResponseBodyError(), "InvalidResponseError", false],
  ["data", new InvalidResponseDataError({ data: 1 }), "InvalidResponseError", false],
  ["no connection", call({ cause: coded("ECONNREFUSED"), isRetryable: true }), "NetworkError", true, {
    reason: "TransportError",
    url: "https://house/v1",
    description: "failed"
  }],
  [
    "no connection to an address that holds a key",
    call({ url: "https://ada:secret@house/v1?secret#secret", cause: coded("ECONNREFUSED") }),
    "NetworkError",
    true,
    { url: "https://house/v1" }
  ],
  [
    "an address that is none, and holds a key",
    call({ url: "//ada:secret@house/v1#secret", cause: coded("ERR_INVALID_URL") }),
    "NetworkError",
    false,
    { reason: "InvalidUrlError", url: "//house/v1" }
  ],
  ["a connection that broke", new TypeError("terminated"), "NetworkError", true],
  ["a socket that broke", new Error("x", { cause: coded("UND_ERR_SOCKET") }), "NetworkError", true],
  ["a time-out of the client", named("TimeoutError"), "NetworkError", true],
  ["an abortion by somebody else", named("AbortError"), "NetworkError", true],
  ["an address that is none", coded("ERR_INVALID_URL"), "NetworkError", false, { reason: "InvalidUrlError" }],
  ["a body that broke", call({ statusCode: 200, cause: new TypeError("terminated") }), "NetworkError", true],
  [
    "a body that can't be read",
    call({ statusCode: 200, cause: new JSONParseError({ text: "<html>", cause: "x" }) }),
    "InvalidResponseError",
    false
  ],
  ["a defect of the provider's code", new RangeError("out of it"), "UnknownError", false, { description: "out of it" }],
  ["nothing", undefined, "UnknownError", false],
  ["a text", "oops", "UnknownError", false, { description: "oops" }],
  [
    "a list, as Google's",
    refusal(400, [{ error: { message: "no", status: "INVALID_ARGUMENT" } }]),
    "InvalidRequestError",
    false,
    {
      description: "no"
    }
  ],
  [
    "Google's word for a key",
    refusal(400, { error: { message: "API key not valid.", status: "INVALID_ARGUMENT" } }),
    "AuthenticationError",
    false
  ],
  [
    "Google's limit",
    refusal(429, { error: { message: "Quota exceeded", status: "RESOURCE_EXHAUSTED" } }),
    "RateLimitError",
    true
  ],
  ["Google's limit of a minute", refusal(429, google("36.5s")), "RateLimitError", true, {
    retryAfter: Duration.millis(36_500)
  }],
  ["Google's limit, in a list", refusal(429, [google("2s")]), "RateLimitError", true, {
    retryAfter: Duration.seconds(2)
  }],
  ["Google's trouble", refusal(503, google("4s")), "InternalProviderError", true, { retryAfter: Duration.seconds(4) }],
  [
    "what its package says may go well later",
    refusal(425, {}, { isRetryable: true, responseHeaders: { "retry-after": "3" } }),
    "InternalProviderError",
    true,
    {
      retryAfter: Duration.seconds(3)
    }
  ],
  ["a gateway's limit", viaGateway(429, { "retry-after": "3" }), "RateLimitError", true, {
    retryAfter: Duration.seconds(3),
    http: { response: { status: 429, headers: { "retry-after": "3" } }, body: "{}" }
  }],
  [
    "a limit for a second and a half",
    refusal(429, {}, { responseHeaders: { "Retry-After": "1.5" } }),
    "RateLimitError",
    true,
    {
      retryAfter: Duration.millis(1500)
    }
  ],
  ["Azure's filter", refusal(400, { error: { code: "content_filter", message: "x" } }), "ContentPolicyError", false],
  [
    "a prompt that was flagged",
    refusal(400, { error: { code: "invalid_prompt", message: "It was flagged." } }),
    "ContentPolicyError",
    false
  ],
  ["a bill that isn't paid", refusal(402, { error: "Insufficient balance" }), "QuotaExhaustedError", false],
  ["a quota that is spent", refusal(429, { error: { code: "insufficient_quota" } }), "QuotaExhaustedError", false],
  ["a parameter", refusal(400, { error: { message: "bad", param: "temperature" } }), "InvalidRequestError", false, {
    parameter: "temperature"
  }],
  ["a model's name", refusal(404, { error: { code: "model_not_found", message: "x" } }), "InvalidRequestError", false, {
    parameter: "model"
  }],
  [
    "no JSON at all",
    call({ statusCode: 502, responseBody: "<html>Bad gateway", message: "Bad Gateway" }),
    "InternalProviderError",
    true
  ],
  ["a server that says never again", refusal(500, {}, { isRetryable: false }), "UnknownError", false],
  ["a refusal that says try again", refusal(424, {}, { isRetryable: true }), "InternalProviderError", true],
  ["a time-out of a gateway", Object.assign(new Error("slow"), { statusCode: 408 }), "InternalProviderError", true],
  ["an error of a gateway", Object.assign(new Error("busy"), { statusCode: 503 }), "InternalProviderError", true]
]

const inStream: ReadonlyArray<readonly [what: string, error: unknown, ...Expected]> = [
  [
    "OpenAI's words",
    { type: "server_error", code: null, message: "The server had an error" },
    "InternalProviderError",
    true,
    {
      description: "The server had an error"
    }
  ],
  ["Anthropic's words", { type: "overloaded_error", message: "Overloaded" }, "InternalProviderError", true],
  ["a limit", { type: "rate_limit_error", message: "slow" }, "RateLimitError", true],
  ["Google's limit of a minute", google("36s"), "RateLimitError", true, { retryAfter: Duration.seconds(36) }],
  ["a key", { type: "authentication_error", message: "invalid x-api-key" }, "AuthenticationError", false],
  ["a permission", { type: "permission_error", message: "no" }, "AuthenticationError", false, {
    kind: "InsufficientPermissions"
  }],
  ["a bad request", { type: "invalid_request_error", message: "no" }, "InvalidRequestError", false],
  ["a quota", { code: "insufficient_quota", message: "no" }, "QuotaExhaustedError", false],
  ["a policy", { code: "content_filter", type: "invalid_request_error", message: "no" }, "ContentPolicyError", false],
  ["a status", { message: "busy", statusCode: 429, isRetryable: true }, "RateLimitError", true],
  ["a chunk that can't be read", new JSONParseError({ text: "{", cause: "x" }), "InvalidResponseError", false],
  ["a chunk that doesn't fit", new TypeValidationError({ value: 1, cause: "x" }), "InvalidResponseError", false],
  ["a text", "oops", "InternalProviderError", true, { description: "oops" }],
  ["what throws whatever is read of it", trap(), "UnknownError", false, { description: "The error can't be read" }],
  ["what nobody knows", { what: 1 }, "InternalProviderError", true, { description: "The error has no message" }]
]

const ask = { prompt: "Hi" } as const

const long = "9".repeat(400)

/** What providers say of waiting, and how long that is, if it is a time that somebody can wait for. */
const waits: ReadonlyArray<
  readonly [headers: Readonly<Record<string, string>>, expected: Duration.Duration | undefined]
> = [
  [{ "retry-after": "0" }, Duration.zero],
  [{ "retry-after": "-5" }, undefined],
  [{ "retry-after": "NaN" }, undefined],
  [{ "retry-after": "1e3" }, undefined],
  [{ "retry-after": long }, undefined],
  [{ "retry-after": "9".repeat(300) }, undefined],
  [{ "retry-after-ms": long, "retry-after": "2" }, Duration.seconds(2)],
  [{ "retry-after": "Thu, 01 Jan 1970 00:00:10 GMT" }, Duration.zero],
  [{ "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, Duration.millis(Date.UTC(9999, 11, 31, 23, 59, 59) - 30_000)],
  [{ "retry-after": "Thu, 99 Jan 1970 00:00:10 GMT" }, undefined]
]

describe("A failure of a model of the AI SDK", () => {
  it.effect("says how long to wait if that is a time that can come", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("30 seconds")
      const retryAfterOf = (error: unknown) =>
        LanguageModel.generateText(ask).pipe(
          Effect.flip,
          Effect.map(({ retryAfter }) => retryAfter),
          Effect.provide(AiSdkModel.layer(throwing(error)))
        )
      for (const [responseHeaders, expected] of waits) {
        const wait = yield* retryAfterOf(refusal(429, {}, { responseHeaders }))
        assert.deepStrictEqual(wait, expected, JSON.stringify(responseHeaders).slice(0, 60))
      }
      assert.isUndefined(yield* retryAfterOf(refusal(429, google(`${long}s`))))
    }))

  for (const [what, error, tag, isRetryable, more = {}] of rejected) {
    it.effect(`that comes of ${what} is an ${tag}`, () =>
      Effect.gen(function*() {
        for (const how of ["rejects", "throws"] as const) {
          const failed = yield* LanguageModel.generateText(ask).pipe(
            Effect.flip,
            Effect.provide(AiSdkModel.layer(throwing(error, how)))
          )
          assert.deepStrictEqual([failed.reason._tag, failed.isRetryable], [tag, isRetryable])
          assert.deepInclude(failed.reason, more)
          assert.strictEqual(failed.module, "AiSdkModel")
        }
      }))
  }

  for (const [what, error, tag, isRetryable, more = {}] of inStream) {
    it.effect(`in a stream by ${what} is an ${tag}`, () =>
      Effect.gen(function*() {
        const failed = yield* LanguageModel.streamText(ask).pipe(
          Stream.runDrain,
          Effect.flip,
          Effect.provide(AiSdkModel.layer(throwing(error, "streams")))
        )
        assert.deepStrictEqual([failed.reason._tag, failed.isRetryable], [tag, isRetryable])
        assert.deepInclude(failed.reason, more)
        assert.strictEqual(failed.method, "streamText")
      }))
  }

  it.effect("holds the response, apart from its cookies", () =>
    Effect.gen(function*() {
      const responseHeaders = { "X-Request-Id": "r1", "set-cookie": "secret" }
      const { reason } = yield* LanguageModel.generateText(ask).pipe(
        Effect.flip,
        Effect.provide(AiSdkModel.layer(throwing(refusal(500, { error: {} }, { responseHeaders }))))
      )
      assert.deepStrictEqual("http" in reason ? reason.http : undefined, {
        response: { status: 500, headers: { "x-request-id": "r1" } },
        body: "{\"error\":{}}"
      })
    }))

  it.effect("is that of a specification that isn't known, at once and streamed, and the model isn't asked", () =>
    Effect.gen(function*() {
      const { asked, model } = saying([])
      for (
        const [specificationVersion, words] of [["v2", "is \"v2\", and must be"], [
          undefined,
          "is missing, and must be"
        ]] as const
      ) {
        const other = { ...model, specificationVersion } as unknown as AiSdkModel.AnyModel
        const layer = AiSdkModel.layer(other)
        for (
          const asking of [
            LanguageModel.generateText(ask),
            Stream.runDrain(LanguageModel.streamText(ask))
          ]
        ) {
          const { isRetryable, reason } = yield* Effect.provide(Effect.flip(asking), layer)
          assert.deepInclude(reason, { _tag: "InvalidRequestError", parameter: "specificationVersion" })
          assert.include(reason.message, words)
          assert.isFalse(isRetryable)
        }
      }
      assert.lengthOf(asked, 0)
    }))

  it.effect("is that of a setting whose value can't be used, of a layer and of its context, and the model isn't asked", () =>
    Effect.gen(function*() {
      const { asked, model } = saying([])
      const wrong: ReadonlyArray<readonly [settings: object, parameter: string, words: string]> = [
        [
          { timeouts: { first: "soon" } },
          "timeouts.first",
          "must be a duration, such as \"2 minutes\". It is \"soon\""
        ],
        [{ timeouts: { total: NaN } }, "timeouts.total", "must be a duration"],
        [null as never, "settings", "must be an object"],
        ["fast" as never, "settings", "must be an object"],
        [{ timeouts: { between: -5 } }, "timeouts.between", "must be a duration"],
        [{ timeouts: "5 minutes" }, "timeouts", "must be an object"],
        [{ stopSequences: "END" }, "stopSequences", "must be a list of texts. It is \"END\""],
        [{ headers: { authorization: ["secret"] } }, "headers", "must be an object of texts"],
        [{ headers: "secret" }, "headers", "must be an object of texts"],
        [{ providerOptions: { house: "secret" } }, "providerOptions", "must be an object of objects"],
        [{ temperature: NaN }, "temperature", "must be a finite number. It is NaN"],
        [{ reasoning: 3 }, "reasoning", "must be a text. It is 3"],
        [{ maxOutputTokens: "100" }, "maxOutputTokens", "must be a finite number. It is \"100\""]
      ]
      const options: typeof wrong = [
        [{ download: null }, "download", "must be an object"],
        [{ download: { fetch: "fetch" } }, "download.fetch", "must be a function"],
        [{ download: { maxBytes: NaN } }, "download.maxBytes", "must be a number of at least 0. It is NaN"],
        [{ download: { timeout: "soon" } }, "download.timeout", "must be a duration"]
      ]
      const requests = [LanguageModel.generateText(ask), Stream.runDrain(LanguageModel.streamText(ask))]
      for (const [given, parameter, words] of [...wrong, ...options]) {
        for (const request of requests) {
          const ofLayer = Effect.provide(request, AiSdkModel.layer(model, given))
          const ofContext = request.pipe(
            Effect.provideContext(AiSdkModel.settings(given)),
            Effect.provide(AiSdkModel.layer(model))
          )
          for (const asking of options.some(([each]) => each === given) ? [ofLayer] : [ofLayer, ofContext]) {
            const { isRetryable, reason } = yield* Effect.flip(asking)
            assert.deepInclude(reason, { _tag: "InvalidRequestError", parameter })
            assert.include(reason.message, words)
            assert.notInclude(reason.message, "secret")
            assert.isFalse(isRetryable)
          }
        }
      }
      assert.lengthOf(asked, 0)
    }))

  it.effect("is a sentence for what isn't a model: a name, or nothing", () =>
    Effect.gen(function*() {
      for (const given of ["openai/gpt-5", undefined, null, {}]) {
        const model = given as unknown as AiSdkModel.AnyModel
        for (const layer of [AiSdkModel.layer(model), AiSdkModel.model(model)]) {
          const { reason } = yield* Effect.flip(Effect.provide(LanguageModel.generateText(ask), layer))
          assert.strictEqual(reason._tag, "InvalidRequestError")
          assert.include(reason.message, "pass a model that a provider's package makes, such as openai(\"gpt-5\")")
        }
      }
    }))
})
