/** Answers in JSON: what handlers see of the schema that a request has for them, and what clients make of an answer. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema"
import { assert, describe, it } from "@effect/vitest"
import { generateText, jsonSchema, type LanguageModel, Output } from "ai"
import { Effect, Schema } from "effect"
import { MockModel, MockProvider } from "../../../src/testing/index.ts"
import { anthropicOf, openaiOf, post, saying } from "./serve.ts"

const schema = {
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "array", items: { $ref: "#/$defs/day" } }
  },
  required: ["city", "days"],
  additionalProperties: false,
  $defs: {
    day: {
      type: "object",
      properties: { celsius: { type: "integer" } },
      required: ["celsius"],
      additionalProperties: false
    }
  }
} as const

const Forecast = Schema.Struct({
  city: Schema.String,
  days: Schema.Array(Schema.Struct({ celsius: Schema.Int }))
})

type Fetch = MockProvider.Provider["fetch"]

const prompt = "Forecast as json"

const messages = [{ role: "user" as const, content: prompt }]

const generated = async (model: LanguageModel) => {
  const { output } = await generateText({
    model,
    prompt,
    output: Output.object({ schema: jsonSchema<typeof Forecast.Type>(schema) }),
    maxRetries: 0
  })
  return output
}

/** What each client makes of an answer by the schema. */
const clients: Readonly<Record<string, (fetch: Fetch) => Promise<unknown>>> = {
  "OpenAI's for chat completions": async (fetch) => {
    const { choices: [choice] } = await openaiOf(fetch).chat.completions.parse({
      model: "gpt-5",
      messages,
      response_format: { type: "json_schema", json_schema: { name: "forecast", schema, strict: true } }
    })
    return JSON.parse(choice?.message.content ?? "")
  },
  "OpenAI's for responses": async (fetch) => {
    const { output_text } = await openaiOf(fetch).responses.create({
      model: "gpt-5",
      input: prompt,
      text: { format: { type: "json_schema", name: "forecast", schema, strict: true } }
    })
    return JSON.parse(output_text)
  },
  "Anthropic's": async (fetch) => {
    const { parsed_output } = await anthropicOf(fetch).messages.parse({
      model: "claude-sonnet-5",
      max_tokens: 100,
      messages,
      output_config: { format: jsonSchemaOutputFormat({ ...schema, title: "forecast" }) }
    })
    return parsed_output
  },
  "the Vercel AI SDK's for chat completions": (fetch) =>
    generated(createOpenAI({ apiKey: "none", baseURL: "http://mock/v1", fetch }).chat("gpt-5")),
  "the Vercel AI SDK's for responses": (fetch) =>
    generated(createOpenAI({ apiKey: "none", baseURL: "http://mock/v1", fetch }).responses("gpt-5")),
  "the Vercel AI SDK's for Anthropic": (fetch) =>
    generated(createAnthropic({ apiKey: "none", baseURL: "http://mock/v1", fetch })("claude-sonnet-5"))
}

describe("an answer in JSON", () => {
  for (const [what, ask] of Object.entries(clients)) {
    it.effect(`is asked for by a schema that a handler sees, and comes to ${what} client`, () =>
      Effect.gen(function*() {
        const seen: Array<MockModel.MockRequest> = []
        const handler = MockModel.tap(MockModel.fromSchemas({ seed: 1 }), {
          before: (request) => void seen.push(request)
        })
        const provider = MockProvider.make({ handler, strict: true })
        const forecast = yield* Effect.promise(() => ask(provider.fetch))
        assert.isTrue(Schema.is(Forecast)(forecast), JSON.stringify(forecast))
        const format = seen[0]?.responseFormat
        if (format?.type !== "json") return assert.fail("it asks for a text")
        if (!what.startsWith("the Vercel")) assert.strictEqual(format.objectName, "forecast")
        const fits = Schema.is(format.schema)
        assert.isTrue(fits({ city: "Rome", days: [{ celsius: 30 }] }))
        assert.isFalse(fits({ city: "Rome", days: [{ celsius: "30" }] }))
        assert.isFalse(fits({ city: "Rome" }))
      }))
  }

  const formatOf = async (path: string, body: object) => {
    let seen: MockModel.MockRequest["responseFormat"] | undefined
    const fetch = saying(({ responseFormat }) => {
      seen = responseFormat
      return "{}"
    })
    const limit = path === "messages" ? { max_tokens: 9 } : undefined
    const response = await post(fetch, path, { model: "any", ...limit, ...body })
    assert.strictEqual(response.status, 200, await response.text())
    return seen
  }

  it.effect("may be any object, by name or because its schema can't be read", () =>
    Effect.promise(async () => {
      const dynamic = { type: "object", $dynamicRef: "#node" }
      const formats = [
        await formatOf("chat/completions", { messages, response_format: { type: "json_object" } }),
        await formatOf("responses", { input: prompt, text: { format: { type: "json_object" } } }),
        await formatOf("chat/completions", {
          messages,
          response_format: { type: "json_schema", json_schema: { name: "any" } }
        }),
        await formatOf("responses", {
          input: prompt,
          text: { format: { type: "json_schema", name: "dynamic", schema: dynamic } }
        })
      ]
      assert.deepStrictEqual(formats.map((format) => format?.type === "json" && format.objectName), [
        "json_object",
        "json_object",
        "any",
        "dynamic"
      ])
      for (const format of formats) {
        if (format?.type !== "json") return assert.fail("it asks for a text")
        assert.deepStrictEqual([{ a: [1] }, [1]].map((value) => Schema.is(format.schema)(value)), [true, false])
      }
    }))

  it.effect("is no matter where a text is asked for", () =>
    Effect.promise(async () => {
      const text = { type: "text" } as const
      assert.deepStrictEqual(await formatOf("chat/completions", { messages, response_format: text }), text)
      assert.deepStrictEqual(await formatOf("responses", { input: prompt, text: { format: text } }), text)
      assert.deepStrictEqual(await formatOf("responses", { input: prompt, text: {} }), text)
      assert.deepStrictEqual(await formatOf("messages", { messages, output_config: { effort: "low" } }), text)
    }))
})
