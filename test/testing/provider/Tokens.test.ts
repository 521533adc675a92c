import { assert, describe, it } from "@effect/vitest"
import { MockModel, MockProvider } from "troupe/testing"

const system = "s".repeat(40)
const question = "q".repeat(8)

const bodies = {
  "/v1/chat/completions": {
    messages: [{ role: "system", content: system }, { role: "user", content: question }]
  },
  "/v1/responses": { input: [{ role: "developer", content: system }, { role: "user", content: question }] },
  "/v1/messages": { system, max_tokens: 100, messages: [{ role: "user", content: question }] }
} as const

describe("The tokens of a request that a script says nothing of", () => {
  it("are a quarter of its characters, those of the system counted once, in each protocol", async () => {
    const provider = MockProvider.make({ handler: MockModel.make("ok") })
    for (const [path, body] of Object.entries(bodies)) {
      const response = await provider.fetch(`https://api.example.com${path}`, {
        method: "POST",
        headers: { "anthropic-version": "2023-06-01", "content-type": "application/json" },
        body: JSON.stringify({ model: "any", ...body })
      })
      const { usage } = await response.json() as { usage: { prompt_tokens?: number; input_tokens?: number } }
      assert.strictEqual(usage.prompt_tokens ?? usage.input_tokens, 12, path)
    }
  })
})
