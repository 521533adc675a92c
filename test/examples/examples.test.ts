import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { promisify } from "node:util"
import { run } from "./process.ts"

/** The comment at the end of an example that says what it prints. */
const expected = (source: string): string | undefined => {
  const [, output] = source.split("\n// Output:\n")
  return output?.replace(/^\/\/ ?/gm, "")
}

const examples = readdirSync("examples").filter((name) => name.endsWith(".ts"))

describe.concurrent("examples", () => {
  it("are there", () => {
    const names = ["weather", "approval", "subagent", "streaming", "guarded-desk", "daily-report"]
    assert.includeMembers(examples, names.map((name) => `${name}.ts`))
  })

  it("run by tsx without a flag", async () => {
    const path = "examples/weather.ts"
    const env = { ...process.env, NODE_OPTIONS: undefined }
    const { stdout } = await promisify(execFile)("node_modules/.bin/tsx", [path], { env })
    assert.strictEqual(stdout, expected(readFileSync(path, "utf8")))
  })

  for (const name of examples) {
    it(`${name} prints what it says`, async () => {
      const path = `examples/${name}`
      const { code, stderr, stdout } = await run(path)
      assert.strictEqual(stderr, "")
      assert.strictEqual(stdout, expected(readFileSync(path, "utf8")))
      assert.strictEqual(code, 0)
    })
  }
})
