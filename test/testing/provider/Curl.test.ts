/** What curl shows is what a client with a `fetch` of the provider's gets, to the letter. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { promisify } from "node:util"
import { MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { served } from "./serve.ts"

const hasCurl = spawnSync("curl", ["--version"]).error === undefined

const version = { "anthropic-version": "2023-06-01" }

const messages = [{ role: "user", content: "How warm is it?" }]

const cases: ReadonlyArray<readonly [path: string, body: object, headers: Readonly<Record<string, string>>]> = [
  ["chat/completions", { model: "gpt-5", messages }, {}],
  ["chat/completions", { model: "gpt-5", messages, stream: true }, {}],
  ["chat/completions", { model: "gpt-5", messages: [] }, {}],
  ["responses", { model: "gpt-5", input: "How warm is it?" }, {}],
  ["responses", { model: "gpt-5", input: "How warm is it?", stream: true }, {}],
  ["messages", { model: "claude-sonnet-5", max_tokens: 99, messages }, version],
  ["messages", { model: "claude-sonnet-5", max_tokens: 99, messages, stream: true }, version],
  ["messages", { model: "claude-sonnet-5", max_tokens: 99, messages }, {}],
  ["embeddings", {}, {}]
]

/** What curl prints, taken apart. */
const shown = (text: string) => {
  const [head = "", ...body] = text.split("\r\n\r\n")
  const [status = "", ...lines] = head.split("\r\n")
  const headers = new Headers(lines.map((line): [string, string] => {
    const [name = "", ...value] = line.split(": ")
    return [name, value.join(": ")]
  }))
  return { status: Number(status.split(" ")[1]), headers, body: body.join("\r\n\r\n") }
}

describe("curl", () => {
  it.effect.skipIf(!hasCurl)(
    "shows the status, headers and body of every kind of response",
    () =>
      Effect.gen(function*() {
        const url = yield* MockProvider.url
        const { fetch } = yield* MockProvider.MockProvider
        yield* Effect.promise(() =>
          Promise.all(cases.map(async ([path, asked, headers]) => {
            const body = JSON.stringify(asked)
            const options = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`])
            const { stdout } = await promisify(execFile)("curl", ["-sSNi", `${url}/v1/${path}`, "-d", body, ...options])
            const curled = shown(stdout)
            const fetched = await fetch(`http://mock/v1/${path}`, { method: "POST", headers, body })
            assert.deepStrictEqual([curled.status, curled.body], [fetched.status, await fetched.text()])
            for (const [name, value] of fetched.headers) assert.strictEqual(curled.headers.get(name), value)
          }))
        )
      }).pipe(Effect.provide(served({
        handler: MockModel.make(MockResponse.all("Let me see.", MockResponse.toolCall("get_weather", { city: "Rome" })))
      })))
  )
})
