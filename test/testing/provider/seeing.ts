import { assert, it } from "@effect/vitest"
import { Effect, Struct } from "effect"
import type { HttpServer } from "effect/http"
import { MockModel, type MockProvider } from "../../../src/testing/index.ts"
import { saying, served } from "./serve.ts"

/** What a handler is to see of a request beside what is the same for every client. */
interface Expected {
  readonly toolNames: ReadonlyArray<string>
  readonly iteration: number
  /** Results since the model last spoke: id, name, whether it is a failure, and what it gave. */
  readonly results: ReadonlyArray<readonly [string, string, boolean, unknown]>
  readonly roles: ReadonlyArray<string>
}

/**
 * A client sends a brief system message, asks how warm it is in two pieces of text, chooses `get_weather`, and the handler
 * sees that.
 */
export const showsHandler = (
  client: Effect.Effect<() => Promise<unknown>, never, MockProvider.MockProvider | HttpServer.HttpServer>,
  { iteration, results, roles, toolNames }: Expected,
  more: (seen: MockModel.MockRequest) => void = () => {}
) =>
  it.effect("shows a handler what the client sent", () => {
    const requests: Array<MockModel.MockRequest> = []
    const handler = MockModel.make((request) => {
      requests.push(request)
      return "ok"
    })
    return Effect.gen(function*() {
      yield* Effect.promise(yield* client)
      const [seen] = requests
      if (seen === undefined) return assert.fail("the handler wasn't asked")
      assert.strictEqual(seen.system, "Be brief.")
      assert.strictEqual(seen.lastUserText, "How warm is it?")
      assert.deepStrictEqual(seen.toolChoice, { tool: "get_weather" })
      assert.deepStrictEqual(seen.toolNames, toolNames)
      assert.strictEqual(seen.iteration, iteration)
      assert.deepStrictEqual(
        seen.lastToolResults.map(({ id, isFailure, name, result }) => [id, name, isFailure, result] as const),
        results
      )
      assert.deepStrictEqual(seen.messages.map(({ role }) => role), roles)
      more(seen)
    }).pipe(Effect.provide(served({ handler })))
  })

/** The `fetch` of a provider whose model says ok to everything, and the requests that the model sees. */
export const watched = () => {
  const seen: Array<MockModel.MockRequest> = []
  const fetch = saying((request) => {
    seen.push(request)
    return "ok"
  })
  return { fetch, seen }
}

/** The prompt of a request as plain data: each message's role, and its text or parts. */
export const promptOf = (request: MockModel.MockRequest | undefined): unknown =>
  JSON.parse(JSON.stringify(
    request?.prompt.content.map(({ content, role }) => [
      role,
      typeof content === "string" ? content : content.map((part) => Struct.omit(part, ["~effect/ai/Prompt/Part"]))
    ])
  ))
