/** The desk with the model that the environment configures: which it is, and how it ends where it can't be used. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Option, Stream } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { configured } from "../../examples/desk/model/configured.ts"
import { served } from "../testing/provider/serve.ts"
import { bundle, run } from "./process.ts"

const desk = bundle("examples/desk/main.ts")

type Variables = Readonly<Record<string, string>>

const withVariables = (variables: Variables) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: variables }))

const openAi = { OPENAI_API_KEY: "right", OPENAI_MODEL: "house-1" }
const compatible = { OPENAI_BASE_URL: "http://house:1234/v1", OPENAI_MODEL: "house-1" }
const anthropic = { ANTHROPIC_API_KEY: "right", ANTHROPIC_MODEL: "house-1" }

const failed = (reason: AiError.AiErrorReason) => AiError.make({ module: "M", method: "m", reason })

describe("the desk's model", () => {
  it.effect("is embedded where none is configured, also where there is nothing but a key", () =>
    Effect.gen(function*() {
      for (const variables of [{}, { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" }, { ...openAi, OPENAI_MODEL: " " }]) {
        const { line } = yield* withVariables(variables)(configured)
        assert.deepStrictEqual(line, Option.none())
      }
    }))

  it.effect("is the one that is named, asked with the key over its provider's own protocol, and names itself", () =>
    Effect.gen(function*() {
      const asked: ReadonlyArray<readonly [Variables, string, string, string]> = [
        [openAi, "The model is house-1 of OpenAI.", "openai-responses", "authorization"],
        [
          { ...compatible, OPENAI_API_KEY: "right" },
          "The model is house-1 of http://house:1234/v1.",
          "openai-chat",
          "authorization"
        ],
        [anthropic, "The model is house-1 of Anthropic.", "anthropic-messages", "x-api-key"]
      ]
      for (const [variables, line, protocol, header] of asked) {
        const model = yield* withVariables(variables)(configured)
        assert.deepStrictEqual(model.line, Option.some(line))
        const { text } = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(Effect.provide(model.layer))
        assert.strictEqual(text, "Hello.")
        const entry = (yield* MockProvider.entries).at(-1)
        assert.strictEqual(entry?.protocol, protocol)
        assert.strictEqual(entry?.asked?.model, "house-1")
        assert.strictEqual(entry?.headers[header]?.replace("Bearer ", ""), "right")
        if (protocol === "openai-responses") assert.propertyVal(entry?.asked?.body, "store", false)
      }
    }).pipe(Effect.provide(MockProvider.layerFetch({ handler: MockModel.make(() => "Hello."), strict: true }))))

  it.effect("is waited for as long as the environment says", () =>
    Effect.gen(function*() {
      const cases = [
        ["MODEL_TIMEOUT_FIRST", "Hi", "nothing for 3s"],
        ["MODEL_TIMEOUT_BETWEEN", "Speak", "nothing for 3s"],
        ["MODEL_TIMEOUT_TOTAL", "Speak", "longer than 3s"]
      ] as const
      for (const [name, prompt, words] of cases) {
        const model = yield* withVariables({ ...openAi, [name]: "3 seconds" })(configured)
        const fiber = yield* Stream.runDrain(LanguageModel.streamText({ prompt })).pipe(
          Effect.flip,
          Effect.provide(model.layer),
          Effect.forkChild({ startImmediately: true })
        )
        for (let seconds = 0; seconds < 10 && fiber.pollUnsafe() === undefined; seconds++) {
          for (let turn = 0; turn < 10; turn++) yield* Effect.promise(() => new Promise(setImmediate))
          yield* TestClock.adjust("1 second")
        }
        assert.isDefined(fiber.pollUnsafe(), name)
        assert.include((yield* Fiber.join(fiber)).message, words, name)
      }
      const unreadable = yield* Effect.flip(withVariables({ ...openAi, MODEL_TIMEOUT_FIRST: "soon" })(configured))
      assert.strictEqual(
        unreadable.message,
        "MODEL_TIMEOUT_FIRST needs a time of 1 millis or more, of 24 days at most, such as MODEL_TIMEOUT_FIRST=\"5 minutes\""
      )
    }).pipe(Effect.provide(MockProvider.layerFetch({
      handler: MockModel.make(({ lastUserText }) =>
        lastUserText === "Speak" ? MockResponse.hang("one two", 1) : Effect.never
      )
    }))))

  it.effect("isn't guessed at", () =>
    Effect.gen(function*() {
      const issues: Record<string, Variables> = {
        "OPENAI_MODEL and ANTHROPIC_MODEL are both set. Unset one of them.": { ...openAi, ...anthropic },
        "OPENAI_MODEL is set, but neither OPENAI_API_KEY nor OPENAI_BASE_URL is.": { OPENAI_MODEL: "m" },
        "OPENAI_BASE_URL is no address of a server, such as http://localhost:11434/v1.": {
          ...openAi,
          OPENAI_BASE_URL: "http://user:secret@house/v1"
        },
        "ANTHROPIC_BASE_URL is no address of a server, such as http://localhost:11434/v1.": {
          ...anthropic,
          ANTHROPIC_BASE_URL: "house"
        },
        "ANTHROPIC_MODEL is set, but ANTHROPIC_API_KEY isn't.": { ANTHROPIC_MODEL: "m" }
      }
      for (const [issue, variables] of Object.entries(issues)) {
        const error = yield* Effect.flip(withVariables(variables)(configured))
        assert.strictEqual(error.message, issue)
      }
    }))

  it.effect("explains what is wrong with how it is configured, in a line, and nothing else", () =>
    Effect.gen(function*() {
      const { explain } = yield* withVariables(openAi)(configured)
      const lines = [
        new AiError.AuthenticationError({ kind: "InsufficientPermissions", description: "Not\n here." }),
        new AiError.QuotaExhaustedError({}),
        new AiError.RateLimitError({}),
        new AiError.InvalidRequestError({ description: "too long" })
      ].map((reason) => Option.getOrUndefined(explain(failed(reason))))
      assert.deepStrictEqual(lines, [
        "OpenAI doesn't allow this with the key in OPENAI_API_KEY: Not here.",
        "The account at OpenAI has nothing left to spend.",
        undefined,
        undefined
      ])
      const keyless = yield* withVariables(compatible)(configured)
      assert.deepStrictEqual(
        keyless.explain(failed(new AiError.AuthenticationError({ kind: "MissingKey" }))),
        Option.some("http://house:1234/v1 wants a key, and OPENAI_API_KEY isn't set.")
      )
    }))

  it.live(
    "is asked by the program, which ends in one line and 1 by a wrong key, an unknown model, and no host",
    () =>
      Effect.gen(function*() {
        const url = yield* MockProvider.url
        const base = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "right", OPENAI_MODEL: "house-1" }
        const ask = (env: Variables, ...args: ReadonlyArray<string>) =>
          Effect.promise(() => run(desk, ["Hello there", ...args], "", env))
        const [json, wrongKey, unknown, unreachable] = yield* Effect.all([
          ask(base, "--json"),
          ask({ ANTHROPIC_BASE_URL: `${url}/v1`, ANTHROPIC_API_KEY: "wrong", ANTHROPIC_MODEL: "house-1" }),
          ask({ ...base, OPENAI_MODEL: "house-9" }),
          ask({ ...base, OPENAI_BASE_URL: "http://127.0.0.1:9/v1" })
        ], { concurrency: 2 })
        const line = `The model is house-1 of ${url}/v1.\n`
        assert.deepStrictEqual([json.code, json.stderr], [0, line])
        for (const event of json.stdout.trimEnd().split("\n")) assert.property(JSON.parse(event), "_tag")
        assert.include(json.stdout, "How can I help?")
        assert.deepStrictEqual([wrongKey.code, unknown.code, unreachable.code], [1, 1, 1])
        assert.strictEqual(
          wrongKey.stderr,
          "desk: Anthropic refused the key in ANTHROPIC_API_KEY: invalid x-api-key\n"
        )
        assert.strictEqual(
          unknown.stderr,
          `desk: ${url}/v1 doesn't know the model "house-9" of OPENAI_MODEL: ` +
            "The model `house-9` does not exist or you do not have access to it.\n"
        )
        assert.match(unreachable.stderr, /^desk: http:\/\/127\.0\.0\.1:9\/v1 can't be reached: [^\n]+\n$/)
        assert.deepStrictEqual([wrongKey, unknown, unreachable].map(({ stdout }) => stdout), [
          "The model is house-1 of Anthropic.\n",
          `The model is house-9 of ${url}/v1.\n`,
          "The model is house-1 of http://127.0.0.1:9/v1.\n"
        ])
      }).pipe(Effect.provide(served({
        apiKey: "right",
        models: ["house-1"],
        handler: MockModel.make(() => "How can I help?")
      }))),
    60_000
  )
})
