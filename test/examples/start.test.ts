import { assert, describe, it } from "@effect/vitest"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { listen } from "../../bin/listen.ts"
import { run, start } from "./process.ts"

/** A provider on this machine that asks for the order and then says what it read. */
const provider = async (): Promise<{ readonly env: Readonly<Record<string, string>>; readonly close: () => void }> => {
  const { fetch } = MockProvider.make({
    handler: MockModel.conditional(
      MockModel.when(
        ({ lastToolResults }) => lastToolResults.length > 0,
        ({ lastToolResults }) => `It was ${String(lastToolResults[0]?.result)}.`
      ),
      MockModel.otherwise(MockResponse.toolCall("find_order", { id: 7 }))
    )
  })
  const { close, url } = await listen(fetch, { host: "127.0.0.1", port: 0 })
  return { env: { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${url}/v1` }, close }
}

describe("the project of docs/start.md", () => {
  it("answers on the command line", async () => {
    const { close, env } = await provider()
    const { stderr, stdout } = await run("examples/start/src/main.ts", ["Where is order 7?"], "", env)
    close()
    assert.strictEqual(stderr, "")
    assert.strictEqual(stdout, "It was shipped on Monday.\n")
  })

  it("answers over HTTP", async () => {
    const { close, env } = await provider()
    const server = start("examples/start/src/server.ts", [], { ...env, PORT: "0" })
    const url = await new Promise<string>((resolve) => {
      let said = ""
      server.stdout.setEncoding("utf8").on("data", (text: string) => {
        const [found] = /http:\/\/[^\s"]+/.exec(said += text) ?? []
        if (found !== undefined) resolve(found.replace("0.0.0.0", "127.0.0.1"))
      })
    })
    const response = await fetch(`${url}/ask`, { method: "POST", body: "Where is order 7?" })
    assert.strictEqual(await response.text(), "It was shipped on Monday.")
    server.kill()
    close()
  })
})
