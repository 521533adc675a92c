/** The program of the AI SDK on `docs/coming-from.md` does what the page says, as the page shows it. */
import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../../scripts/examples.ts"
import { run } from "../examples/process.ts"
import { read } from "./tables.ts"

const page = "docs/coming-from.md"

/** The program's imports, and a mock model that asks for the refund, and is done once it has read the result. */
const before = `import { tool, ToolLoopAgent } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { z } from "zod"

const answer = (unified, part) => ({
  content: [part],
  finishReason: { unified, raw: undefined },
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  warnings: []
})
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) =>
    JSON.stringify(prompt).includes("Order 7 is refunded.")
      ? answer("stop", { type: "text", text: "It is done." })
      : answer("tool-calls", { type: "tool-call", toolCallId: "a", toolName: "refund", input: '{"order":7}' })
})
`

describe(page, () => {
  it("shows a program of the AI SDK that comes to the same end as the program in Troupe", async () => {
    const text = read(page)
    const [, shown = ""] = /^## The AI SDK\n\n```text\n([^]*?)^```$/m.exec(text) ?? []
    const line = text.slice(0, text.indexOf(shown)).split("\n").length
    const [, claimed] = /^await Effect\.runPromise\(program\) \/\/ => "(.+)"$/m.exec(text) ?? []
    // Each line has the number that it has on the page, so that an error names it.
    const gap = "\n".repeat(line - before.split("\n").length)
    const directory = mkdtempSync(join(root, ".examples-"))
    const program = join(directory, "coming-from.md.mjs")
    try {
      writeFileSync(program, `${before}${gap}${shown}`)
      const { code, stderr, stdout } = await run(program)
      const where = `${page}:${line}: ${stderr.replaceAll(program, page)}`
      assert.deepStrictEqual({ code, stdout }, { code: 0, stdout: `${claimed}\n` }, where)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
