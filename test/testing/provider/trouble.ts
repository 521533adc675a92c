/** What every client meets on its way: statuses, errors, streams that break. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { AiError } from "effect/ai"
import type { HttpServer } from "effect/http"
import { MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { served } from "./serve.ts"

type Asking<A> = Effect.Effect<A, never, MockProvider.MockProvider | HttpServer.HttpServer>

/** A client that tries again twice gets the answer to each of two questions, which it asks at once. */
export const triesAgain = (overloaded: number, client: Asking<(text: string) => Promise<string | null | undefined>>) =>
  it.effect("tries again what it may, and each body has its own sequence of statuses", () =>
    Effect.gen(function*() {
      const ask = yield* client
      const said = yield* Effect.promise(() => Promise.all([ask("one"), ask("two")]))
      assert.deepStrictEqual(said, ["one", "two"])
      const entries = yield* MockProvider.entries
      for (const text of ["one", "two"]) {
        const attempts = entries.filter(({ body }) => body.includes(text))
        assert.deepStrictEqual(attempts.map(({ by, status }) => [by, status]), [
          ["status 1 of 3", 429],
          ["status 2 of 3", overloaded],
          ["fallback", 200]
        ])
        assert.deepStrictEqual(attempts.map(({ headers }) => headers["x-stainless-retry-count"]), ["0", "1", "2"])
      }
    }).pipe(Effect.provide(served({
      status: [429, { status: overloaded, headers: { "retry-after": "0" } }, 200]
    }))))

/** Fails as it is asked to: by limits, quotas, keys, and otherwise by a status of its own. */
export const failing = (otherwise: MockResponse.Input) => {
  const fails = (text: string, reason: AiError.AiErrorReason) =>
    MockModel.when(({ lastUserText }) => lastUserText === text, MockResponse.fail(reason))
  return MockModel.conditional(
    fails("limited", new AiError.RateLimitError({ retryAfter: Duration.seconds(7) })),
    fails("quota", new AiError.QuotaExhaustedError({})),
    fails("key", new AiError.AuthenticationError({ kind: "InvalidKey" })),
    MockModel.otherwise(otherwise)
  )
}

/** A client hears a stream up to where it breaks. `hear` gives what it heard, and what the error is called. */
export const breaksOff = (error: string, client: Asking<() => Promise<ReadonlyArray<string>>>) =>
  it.effect("hears a stream up to where it breaks, by the connection or by an error of the provider", () =>
    Effect.gen(function*() {
      const hear = yield* client
      const [cut, broken, late] = yield* Effect.promise(async () => [await hear(), await hear(), await hear()])
      assert.deepStrictEqual(cut, ["one two", "terminated"])
      assert.deepStrictEqual(broken, ["one", error])
      assert.deepStrictEqual(late, ["one two three", "terminated"])
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ outcome }) => outcome), ["cut", "sent", "cut"])
    }).pipe(Effect.provide(served({
      handler: MockModel.queue(
        MockResponse.cut("one two three", 2),
        MockResponse.breakAfter("one two three", 1, new AiError.InternalProviderError({ description: "overloaded" })),
        MockResponse.cut("one two three", 9)
      )
    }))))

/** Puts together what a stream says, and how it broke off. */
export const hearing = async (
  pieces: () => AsyncIterable<string>,
  nameOf: (error: unknown) => string = (error) => (error as Error).message
): Promise<ReadonlyArray<string>> => {
  let heard = ""
  try {
    for await (const piece of pieces()) heard += piece
  } catch (error) {
    return [heard, nameOf(error)]
  }
  return [heard]
}
