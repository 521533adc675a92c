/** What providers refuse and how they break, as the errors that agents see, through each client over a socket. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Schedule, Stream } from "effect"
import { AiError } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentError, AgentState } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { served } from "../testing/provider/serve.ts"
import { layerOf, type Protocol, providers } from "./providers.ts"

const assistant = Agent.make("assistant")

const ways = {
  "at once": Agent.run(assistant, "Hello"),
  "streamed": Stream.runDrain(Agent.stream(assistant, "Hello"))
}

/** The reason for which a run failed in its only request. */
const reasonOf = (exit: Exit.Exit<unknown, unknown>): AiError.AiErrorReason => {
  const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  if (!(error instanceof AgentError.AgentError) || error.reason._tag !== "ModelCallFailed") {
    return assert.fail(`the run didn't fail by its model: ${String(error)}`)
  }
  assert.strictEqual(error.reason.attempts, 1)
  return error.reason.error.reason
}

type Status = MockProvider.Status

const openAi = (status: number, error: Readonly<Record<string, string>>): Status => ({ status, body: { error } })
const anthropic = (status: number, error: Readonly<Record<string, string>>): Status => ({
  status,
  body: { type: "error", error }
})

interface Refusal {
  readonly status: Status | Readonly<Record<"openai" | "anthropic", Status>>
  readonly tag: AiError.AiErrorReason["_tag"]
  readonly isRetryable: boolean
  readonly more?: (reason: AiError.AiErrorReason) => void
}

/** A key that the provider doesn't take, or not for that. */
const unauthenticated = (kind: AiError.AuthenticationError["kind"], status: Refusal["status"]): Refusal => ({
  status,
  tag: "AuthenticationError",
  isRetryable: false,
  more: (reason) => assert.propertyVal(reason, "kind", kind)
})

/** A limit of requests that was met, with what is known of when to come back. */
const limited = (headers: Readonly<Record<string, string>>, retryAfter?: Duration.Duration): Refusal => ({
  status: { status: 429, headers },
  tag: "RateLimitError",
  isRetryable: true,
  more: (reason) =>
    retryAfter === undefined
      ? assert.notProperty(reason, "retryAfter")
      : assert.deepPropertyVal(reason, "retryAfter", retryAfter)
})

const invalid = (status: number): Refusal => ({ status, tag: "InvalidRequestError", isRetryable: false })

/** What is the provider's own fault, or passes. */
const broken = (status: number): Refusal => ({ status, tag: "InternalProviderError", isRetryable: true })

const refusals: Readonly<Record<string, Refusal>> = {
  "a bad request": invalid(400),
  "a wrong key": unauthenticated("InvalidKey", 401),
  "an expired key": unauthenticated("ExpiredKey", {
    openai: openAi(401, { code: "token_expired", message: "Your token has expired." }),
    anthropic: anthropic(401, { type: "authentication_error", message: "OAuth token has expired." })
  }),
  "no key": unauthenticated("MissingKey", {
    openai: openAi(401, { type: "invalid_request_error", message: "You didn't provide an API key." }),
    anthropic: anthropic(401, { type: "authentication_error", message: "x-api-key header is required" })
  }),
  "what isn't allowed": unauthenticated("InsufficientPermissions", 403),
  "an unknown model": invalid(404),
  "too large a request": invalid(413),
  "an account with nothing left": {
    status: {
      openai: openAi(429, { type: "insufficient_quota", code: "insufficient_quota", message: "You exceeded it." }),
      anthropic: anthropic(400, {
        type: "invalid_request_error",
        message: "Your credit balance is too low to access the Anthropic API."
      })
    },
    tag: "QuotaExhaustedError",
    isRetryable: false
  },
  "words against the policy": {
    status: {
      openai: openAi(400, { type: "invalid_request_error", code: "content_policy_violation", message: "Not that." }),
      anthropic: anthropic(400, {
        type: "invalid_request_error",
        message: "Output blocked by content filtering policy"
      })
    },
    tag: "ContentPolicyError",
    isRetryable: false
  },
  "too many requests, with the seconds to wait": limited({ "retry-after": "7" }, Duration.seconds(7)),
  "too many requests, with the time at which to come back": limited(
    { "retry-after": "Thu, 01 Jan 1970 00:02:00 GMT" },
    Duration.seconds(90)
  ),
  "too many requests, with the milliseconds to wait": limited(
    { "retry-after-ms": "125", "retry-after": "1" },
    Duration.millis(125)
  ),
  "too many requests, without a word on waiting": limited({ "retry-after": "in 5" }),
  "a request that took too long": broken(408),
  "a conflict": broken(409),
  "a broken server": broken(500),
  "a server that is gone for a while": broken(503),
  "an overloaded server": broken(529)
}

const isOpenAi = (protocol: Protocol): boolean => protocol !== "anthropic-messages"

const statusOf = ({ status }: Refusal, protocol: Protocol): Status =>
  typeof status === "object" && "openai" in status ? status[isOpenAi(protocol) ? "openai" : "anthropic"] : status

for (const [what, provider] of Object.entries(providers)) {
  const { modelOf, protocol } = provider

  describe(`a run with ${what}, over a socket`, () => {
    it.effect("fails once by the reason for which it was refused, at once and streamed", () =>
      Effect.gen(function*() {
        yield* TestClock.adjust("30 seconds")
        for (const [name, refusal] of Object.entries(refusals)) {
          const status = statusOf(refusal, protocol)
          for (const [how, run] of Object.entries(ways)) {
            yield* Effect.gen(function*() {
              const reason = reasonOf(yield* Effect.exit(Effect.provide(run, layerOf(provider))))
              assert.strictEqual(reason._tag, refusal.tag, `${name}, ${how}`)
              assert.strictEqual(reason.isRetryable, refusal.isRetryable, `${name}, ${how}`)
              refusal.more?.(reason)
              const http = "http" in reason ? reason.http : undefined
              assert.strictEqual(http?.response?.status, typeof status === "number" ? status : status.status)
              assert.include(http?.body, `"message"`)
              assert.lengthOf(yield* MockProvider.entries, 1)
            }).pipe(Effect.provide(served({ status: [status] })))
          }
        }
      }), 60_000)

    it.effect("fails by what breaks a stream: an error of the provider, its limit, and the connection", () =>
      Effect.gen(function*() {
        const tags: Array<unknown> = []
        for (let at = 0; at < 3; at++) {
          const reason = reasonOf(yield* Effect.exit(Effect.provide(ways.streamed, layerOf(provider))))
          tags.push([reason._tag, reason.isRetryable])
        }
        assert.deepStrictEqual(tags, [
          ["InternalProviderError", true],
          ["RateLimitError", true],
          ["NetworkError", true]
        ])
      }).pipe(Effect.provide(served({
        handler: MockModel.queue(
          MockResponse.breakAfter("one two three", 2, new AiError.InternalProviderError({ description: "overloaded" })),
          MockResponse.breakAfter("one two three", 2, new AiError.RateLimitError({})),
          MockResponse.cut("one two three", 2)
        )
      }))))

    it.effect("fails by what isn't there, and by what isn't an answer", () =>
      Effect.gen(function*() {
        const page = () => Promise.resolve(new Response("<html>Sign in</html>", { headers: { "x-by": "proxy" } }))
        const reading = (options: Parameters<typeof modelOf>[0]) =>
          Effect.map(
            Effect.exit(Effect.provide(ways["at once"], AiSdkModel.layer(modelOf(options)))),
            reasonOf
          )
        const unreachable = yield* reading({ baseURL: "http://127.0.0.1:1/v1" })
        assert.strictEqual(unreachable._tag, "NetworkError")
        assert.propertyVal(unreachable, "reason", "TransportError")
        assert.isTrue(unreachable.isRetryable)
        const wrong = yield* reading({ baseURL: "http://127.0.0.1:99999/v1" })
        assert.deepStrictEqual([wrong._tag, "reason" in wrong && wrong.reason], ["NetworkError", "InvalidUrlError"])
        const unparseable = yield* reading({ baseURL: "http://house/v1", fetch: page })
        assert.strictEqual(unparseable._tag, "InvalidResponseError")
        assert.isFalse(unparseable.isRetryable)
      }))

    for (const status of [429, 503, 529]) {
      it.effect(`asks again when it was told to, and not before: ${status}`, () =>
        Effect.gen(function*() {
          const patient = Schedule.recurs(2).pipe(
            Schedule.setInputType<AiError.AiError>(),
            Schedule.modifyDelay(({ input }) => Effect.succeed(input.retryAfter ?? Duration.zero))
          )
          const fiber = yield* Agent.run(Agent.make("assistant", { retry: patient }), "Hello").pipe(
            Effect.provide(layerOf(provider)),
            Effect.forkChild({ startImmediately: true })
          )
          while (fiber.pollUnsafe() === undefined) {
            yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
            if ((yield* MockProvider.entries).length > 0) yield* TestClock.adjust("1 second")
          }
          const exit = fiber.pollUnsafe()
          assert.isTrue(exit !== undefined && Exit.isSuccess(exit) && AgentState.text(exit.value) === "Hello")
          const [first, second] = yield* MockProvider.entries
          assert.deepStrictEqual([first?.status, second?.status], [status, 200])
          assert.isAtLeast(second!.arrivedAt - first!.arrivedAt, 7000)
        }).pipe(Effect.provide(served({ status: [{ status, headers: { "retry-after": "7" } }, 200] }))))
    }
  })
}
