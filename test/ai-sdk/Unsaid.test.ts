/** What the text of an error never says: the request, the conversation, and the headers of the response. */
import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { inspect } from "node:util"
import { Agent, AgentError } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockResponse } from "troupe/testing"
import { providers } from "./providers.ts"
import { throwing } from "./stub.ts"

const secrets = /the instructions|what Ada asked|cookie-value|requestBodyValues|key-in-url/i

const assistant = Agent.make("assistant", { instructions: "These are the instructions." })

const ways = {
  "at once": Agent.run(assistant, "This is what Ada asked."),
  "streamed": Stream.runDrain(Agent.stream(assistant, "This is what Ada asked."))
}

/** Responses as HTTP/2 has them: without a reason phrase. */
const responses: Readonly<Record<string, readonly [status: number, body: string]>> = {
  "nothing": [500, ""],
  "a page": [502, "<html>Bad gateway</html>"],
  "a page that asks for a key": [401, "<html>Sign in</html>"],
  "JSON of another form": [400, "{\"oops\":{\"why\":1}}"],
  "an unusual status": [418, ""]
}

for (const [what, { modelOf }] of Object.entries(providers)) {
  describe(`An error of ${what}`, () => {
    for (const [name, [status, body]] of Object.entries(responses)) {
      it.effect(`says neither request nor headers if the response is ${name}`, () =>
        Effect.gen(function*() {
          const headers = { "set-cookie": "session=cookie-value", "content-type": "text/html" }
          const fetch = () => Promise.resolve(new Response(body, { status, headers }))
          const layer = AiSdkModel.layer(modelOf({ baseURL: "https://house/v1", fetch }))
          for (const run of Object.values(ways)) {
            const exit = yield* Effect.exit(Effect.provide(run, layer))
            const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
            if (!(error instanceof AgentError.AgentError) || error.reason._tag !== "ModelCallFailed") {
              return assert.fail(String(error))
            }
            const { reason } = error.reason.error
            assert.notMatch(inspect(reason, { depth: 20 }), secrets)
            assert.notMatch(JSON.stringify(error.state.status), secrets)
            assert.isBelow(reason.message.length, 400)
            if (status > 401 && body === "") assert.include(reason.message, `status ${status}`)
          }
        }))
    }
  })
}

const request = { url: "https://ada:key-in-url@house/v1?key=key-in-url", requestBodyValues: "the instructions" }
const call = (options: object) =>
  new APICallError({ message: "", ...request, responseHeaders: { "set-cookie": "cookie-value" }, ...options })
const gone = Object.assign(new Error("gone"), { code: "ECONNRESET" })
const data = { messages: ["the instructions"] }

const errors: Readonly<Record<string, unknown>> = {
  "without a message": call({ statusCode: 503 }),
  "of a connection": call({ cause: gone }),
  "of a connection, in another": new Error("wrapped", { cause: call({ cause: gone }) }),
  "of a body that broke": call({ statusCode: 200, cause: gone }),
  "of a body that isn't JSON": call({
    statusCode: 200,
    cause: new JSONParseError({ text: "the instructions", cause: new SyntaxError("x") })
  }),
  "of data that doesn't fit": new TypeValidationError({ value: data, cause: { issues: [{ path: ["a", 0] }] } }),
  "of data": new InvalidResponseDataError({ data }),
  "without anything known": { data },
  "with a long text": new Error(`${"long ".repeat(1000)} the instructions`)
}

describe("An error of a provider's package", () => {
  for (const [what, error] of Object.entries(errors)) {
    for (const how of ["rejects", "streams"] as const) {
      it.effect(`${what} (${how}) says nothing of the request`, () =>
        Effect.gen(function*() {
          const asking = how === "streams"
            ? Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))
            : LanguageModel.generateText({ prompt: "Hi" })
          const { reason } = yield* Effect.flip(Effect.provide(asking, AiSdkModel.layer(throwing(error, how))))
          assert.notMatch(inspect(reason, { depth: 20 }), secrets)
          assert.isBelow(reason.message.length, 1300)
          assert.isAbove(reason.message.length, 10)
        }))
    }
  }

  it.effect("says where data doesn't fit", () =>
    Effect.gen(function*() {
      const { reason } = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
        Effect.flip,
        Effect.provide(AiSdkModel.layer(throwing(errors["of data that doesn't fit"])))
      )
      assert.include(reason.message, "\"a.0\"")
    }))
})

const Sums = Toolkit.make(Tool.make("sum"))

it.effect("a handler that dies of an error without a message leaves its name in the state, and no field of it", () =>
  Effect.gen(function*() {
    const exit = yield* Agent.run(Agent.make("clerk", { toolkit: Sums }), "Go").pipe(
      Effect.provide(Sums.toLayer({ sum: () => Effect.die(call({})) })),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("sum", {})))),
      Effect.exit
    )
    const failed = Exit.isFailure(exit) ? Option.getOrUndefined(Agent.failedState(exit.cause)) : undefined
    assert.deepInclude(failed?.status, {
      error: { tag: "Defect", message: "AI_APICallError", agent: "clerk", step: 0 }
    })
    assert.notMatch(JSON.stringify(failed), secrets)
  }))
