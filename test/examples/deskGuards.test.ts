import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assertInOrder } from "./deskText.ts"
import { bundle, run } from "./process.ts"

const main = bundle("examples/desk/main.ts")

describe.concurrent("the desk's guardrails", () => {
  it("let no card's number out that the order book has, and none of it stays in the conversation", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-desk-"))
    const file = join(folder, "conversation.json")
    const { code, stdout } = await run(main, ["--state", file, "Which card did I pay order 1042 with?"])
    assertInOrder(
      stdout,
      "→ find_order(order: \"1042\")",
      "! guardrail pii: has card in it",
      "orders: Order 1042 was paid with Visa [redacted card].\n",
      "— orders: complete"
    )
    assert.notMatch(stdout, /4111|1111/)
    const said = JSON.parse(readFileSync(file, "utf8")).conversation.turns.at(-1)
    assert.notInclude(JSON.stringify(said), "1111 1111")
    rmSync(folder, { recursive: true })
    assert.strictEqual(code, 0)
  })

  it("let none in that a customer writes, and the desk goes on", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-desk-"))
    const file = join(folder, "conversation.json")
    const words = "My card is 5555-5555-5555-4444. Where is order 1043?"
    const { stdout } = await run(main, ["--state", file, words])
    assertInOrder(stdout, "! guardrail pii: has card in it", "⇒ orders takes over", "orders: Order 1043")
    assert.notInclude(stdout, "5555")
    assert.include(readFileSync(file, "utf8"), "My card is [redacted card].")
    rmSync(folder, { recursive: true })
  })

  it("say nothing of what has a plain number in it", async () => {
    const { stdout } = await run(main, ["how did I pay for order 1046?"])
    assert.include(stdout, "orders: Order 1046 was paid with PayPal.\n")
    assert.notInclude(stdout, "guardrail")
  })
})
