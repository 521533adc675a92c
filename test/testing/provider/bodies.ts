/** Bodies that a provider takes and bodies that it refuses, each by what it is like. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { MockProvider } from "../../../src/testing/index.ts"
import { post } from "./serve.ts"

const send = (path: string, body: unknown) => Effect.promise(() => post(MockProvider.make().fetch, path, body))

/** Bodies that are answered. */
export const takes = (path: string, bodies: Readonly<Record<string, object>>) => {
  for (const [what, body] of Object.entries(bodies)) {
    it.effect(`is taken ${what}`, () =>
      Effect.gen(function*() {
        const response = yield* send(path, body)
        assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.clone().text()))
      }))
  }
}

/** Bodies that are refused, each with what `errorOf` makes of the error that is sent. */
export const refuses = <Said extends ReadonlyArray<unknown>>(
  path: string,
  bodies: Readonly<Record<string, readonly [body: unknown, ...Said]>>,
  errorOf: (said: Said, response: Response) => unknown
) => {
  for (const [what, [body, ...said]] of Object.entries(bodies)) {
    it.effect(`is refused ${what}`, () =>
      Effect.gen(function*() {
        const response = yield* send(path, body)
        assert.strictEqual(response.status, 400)
        assert.deepStrictEqual(yield* Effect.promise(() => response.json()), errorOf(said, response))
      }))
  }
}

/** What OpenAI says of a body, of which parameter and by which code. */
export type OpenAiSaid = [message: string, param?: string | null, code?: string | null]

/** The error of OpenAI's for a body. */
export const openAiError = ([message, param = null, code = null]: OpenAiSaid) => ({
  error: { message, type: "invalid_request_error", param, code }
})
