import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AgentEvent, AgentState } from "troupe"
import { assertInOrder } from "./deskText.ts"
import { bundle, run, runAtTerminal, runUnread } from "./process.ts"

const source = "examples/desk/main.ts"
const desk = bundle(source)

const ask = (...args: ReadonlyArray<string>) => run(desk, args)
const converse = (lines: ReadonlyArray<string>, ...args: ReadonlyArray<string>) =>
  run(desk, args, lines.map((line) => `${line}\n`).join(""))

const hasEscape = (text: string): boolean => text.includes("\u001b")

const decodeEvent = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toCodecJson(AgentEvent.AgentEvent)))

describe.concurrent("the desk", () => {
  it("looks the order up and replaces what arrived broken", async () => {
    // As `npm start` starts it.
    const { code, stderr, stdout } = await run(source, ["My lamp arrived broken, order 1042"])
    assertInOrder(
      stdout,
      "→ find_order(order: \"1042\")\n",
      "✓ find_order (",
      "→ open_claim(order: \"1042\", sku: \"LMP-AUR\", remedy: \"replacement\", amount: 89)\n",
      "✓ open_claim (",
      "I'm sorry about the Aurora desk lamp. A new one leaves us today",
      "— refunds: complete, 4 steps, tokens: "
    )
    assert.isFalse(hasEscape(stdout))
    assert.strictEqual(stderr, "")
    assert.strictEqual(code, 0)
  })

  it("works on several orders, explains what can't be done, and says so where there is no such order", async () => {
    const { stdout } = await converse([
      "Cancel 1044 and tell me where 1043 and 1045 are",
      "Please cancel order 1043",
      "order 9999 never arrived"
    ])
    assertInOrder(
      stdout,
      "cancel_order (",
      "Order 1044 is cancelled. €199.00",
      "due on 18 March",
      "given it up as lost",
      "✗ cancel_order (failed, ",
      "NotCancellable",
      "has left us already",
      "✗ find_order (failed, ",
      "OrderNotFound order: \"9999\"",
      "I can't find an order 9999"
    )
  })

  it("asks for what is missing and understands the answer, line by line", async () => {
    const { code, stdout } = await converse(["My lamp is broken", "", "1042", "thanks", "exit", "hello"])
    assertInOrder(
      stdout,
      "triage> My lamp is broken\n",
      "Which order is it?",
      "— refunds: complete, 2 steps,",
      "refunds> 1042\n",
      "→ open_claim(order: \"1042\"",
      "I'm sorry about the Aurora desk lamp",
      "You're welcome!",
      "refunds> exit\n"
    )
    assert.notInclude(stdout, "hello")
    assert.strictEqual(code, 0)
  })

  it("stops for an approval and says how to go on", async () => {
    const { code, stdout } = await ask("The floor lamp of order 1047 is cracked")
    assertInOrder(
      stdout,
      "needs a colleague's approval",
      "? open_claim(order: \"1047\", sku: \"LMP-FJO\", remedy: \"replacement\", amount: 249) awaits approval\n",
      "— refunds: awaiting approval, 3 steps,",
      "open_claim (call_3) awaits approval: run with --yes to approve it, or with --no to deny it\n"
    )
    assert.notInclude(stdout, "→ open_claim")
    assert.strictEqual(code, 0)
  })

  it("goes on when it is approved, and when it is denied", async () => {
    const words = "The floor lamp of order 1047 is cracked"
    const [approved, denied] = await Promise.all([ask(words, "--yes"), ask("--no", words)])
    assertInOrder(
      approved.stdout,
      "— refunds: awaiting approval",
      "✓ open_claim",
      "Your claim is C-1047-1",
      "— refunds: complete, 4 steps"
    )
    assertInOrder(
      denied.stdout,
      "— refunds: awaiting approval",
      "that was not approved",
      "— refunds: complete, 4 steps"
    )
    assert.notInclude(denied.stdout, "→ open_claim")
  })

  it("takes the next line for an approval, and what is no answer for a no and the customer's next words", async () => {
    const [yes, other] = await Promise.all([
      converse(["My chair broke, order 1031, I want a refund", "y"]),
      converse(["My chair broke, order 1031", "where is 1043"])
    ])
    assertInOrder(yes.stdout, "[y/N] y\n", "✓ open_claim", "€429.00 go back")
    assertInOrder(other.stdout, "[y/N] where is 1043\n", "not approved", "due on 18 March")
  })

  it("keeps the conversation in a file, where an approval can wait", async () => {
    const folder = mkdtempSync(join(tmpdir(), "desk-"))
    try {
      const file = join(folder, "state.json")
      await ask("--state", file, "The floor lamp of order 1047 is cracked")
      assert.strictEqual(JSON.parse(readFileSync(file, "utf8")).status._tag, "WaitingForTools")
      const resumed = await ask(`--state=${file}`, "--yes")
      assertInOrder(resumed.stdout, "✓ open_claim", "— refunds: complete, 4 steps")
      assertInOrder((await ask("--state", file, "and where is 1043?")).stdout, "due on 18 March")
      assert.strictEqual(JSON.parse(readFileSync(file, "utf8")).conversation.turns.length, 10)

      const nowhere = join(folder, "none", "state.json")
      const unkept = await ask("--state", nowhere, "hi")
      assert.deepStrictEqual(unkept, {
        code: 1,
        stdout: "",
        stderr: `desk: Can't keep the conversation in "${nowhere}": there is no folder "${join(folder, "none")}"\n`
      })

      writeFileSync(file, "{\"version\":1}")
      const broken = await ask("--state", file, "hi")
      assert.match(
        broken.stderr,
        /^desk: Can't read the conversation in ".*state\.json": Not a state at "\/\w+": .*\n$/
      )
      assert.strictEqual(broken.code, 1)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }, 60_000)

  it("prints events as JSON, whose fold is the last state", async () => {
    const { stderr, stdout } = await ask("--json", "Where are 1043 and 9999?")
    const events = stdout.trimEnd().split("\n").map((line) => decodeEvent(line))
    const last = events.at(-1)
    assert.strictEqual(last?._tag, "RunCompleted")
    assert.deepStrictEqual(
      events.reduce(AgentState.reduce, AgentState.make("triage")),
      last?._tag === "RunCompleted" ? last.state : undefined
    )
    assert.deepStrictEqual(events.map(({ sequence }) => sequence), events.map((_, index) => index))
    assert.strictEqual(stderr, "")
  })

  it("ends quietly when nobody reads on", async () => {
    const { code, stderr } = await runUnread(desk, ["--json"], "Where is 1043?\n".repeat(50))
    assert.strictEqual(stderr, "")
    assert.strictEqual(code, 0)
  })

  it("names what is wrong with the command line in one line", async () => {
    const [flag, empty] = await Promise.all([ask("--nope"), ask("")])
    assert.deepStrictEqual(flag, { code: 2, stdout: "", stderr: "desk: Unknown option '--nope'. Try --help.\n" })
    assert.deepStrictEqual(empty, { code: 2, stdout: "", stderr: "desk: There is nothing to answer. Try --help.\n" })
  })

  it("fails in one line where there is too much to read", async () => {
    const { code, stderr, stdout } = await ask("broken ".repeat(2000))
    assert.strictEqual(stderr, "desk: Agent \"triage\" was given an input of 14000 characters; its limit is 10000\n")
    assertInOrder(stdout, "— triage: failed: InputRejected, 0 steps")
    assert.strictEqual(code, 1)
  })

  it("says nothing where nothing is said", async () => {
    assert.deepStrictEqual(await converse([]), { code: 0, stdout: "", stderr: "" })
    const help = await ask("--help")
    assert.deepInclude(help, { code: 0, stderr: "" })
    // npm's own lines would come before those of JSON.
    assert.include(help.stdout, "npm start --silent -- --json")
  })

  it("shows control characters instead of obeying them", async () => {
    const { stdout } = await converse(["do you sell \u001b[31mred\u0007 \u009b2J\u202ethings"])
    assert.include(stdout, "triage> do you sell ␛[31mred␇ 2Jthings")
    assert.isFalse(hasEscape(stdout))
  })
})

const plain = { NO_COLOR: "1" }

describe.concurrent("the desk at a terminal", () => {
  it("converses, asks for approvals, and ends at Ctrl-D", async () => {
    const { code, stdout } = await runAtTerminal(desk, [], [
      ["> ", "My lamp is broken\r"],
      ["> ", "1031\r"],
      ["> ", "sorry, 1047, the floor lamp\r"],
      ["[y/N] ", "y\r"],
      ["Your claim is C-1047-1", ""],
      ["> ", "\u0004"]
    ])
    assertInOrder(stdout, "Halden's support desk", "Which order is it?", "I see no lamp in order 1031", "C-1047-1")
    assert.isTrue(hasEscape(stdout))
    assert.strictEqual(code, 0)
  })

  it("asks again for an approval until it is answered", async () => {
    const { stdout } = await runAtTerminal(desk, ["The floor lamp of order 1047 is cracked"], [
      ["[y/N] ", "maybe\r"],
      ["[y/N] ", "y\r"],
      ["Your claim is C-1047-1", ""]
    ], plain)
    assertInOrder(stdout, "[y/N] maybe", "Please answer \"y\" or \"n\".", "[y/N] y", "Your claim is C-1047-1")
    assert.notInclude(stdout, "not approved")
  })

  it("says at Ctrl-D how to go on with what awaits approval", async () => {
    const folder = mkdtempSync(join(tmpdir(), "desk-"))
    try {
      const file = join(folder, "state.json")
      const script = [["> ", "The floor lamp of order 1047 is cracked\r"], ["[y/N] ", "\u0004"], ["> ", ""]] as const
      const kept = await runAtTerminal(desk, ["--state", file], script, plain)
      assert.include(kept.stdout, `awaits approval: npm start -- --state "${file}" asks again, with --yes approves it`)
      const answers = [["[y/N] ", "y\r"], ["C-1047-1", ""], ["> ", "\u0004"]] as const
      const again = await runAtTerminal(desk, ["--state", file], answers, plain)
      assertInOrder(again.stdout, "[y/N] y", "✓ open_claim", "Your claim is C-1047-1")
      const lost = await runAtTerminal(desk, [], script, plain)
      assert.include(lost.stdout, "nothing keeps this conversation; begin one with --state FILE to decide later")
    } finally {
      rmSync(folder, { recursive: true })
    }
  }, 60_000)

  it("stops in the middle of an answer at Ctrl-C", async () => {
    const { code, stdout } = await runAtTerminal(desk, [], [["> ", "hi\r"], ["Hello!", "\u0003"]], { NO_COLOR: "1" })
    assertInOrder(stdout, "Hello!", "— triage: interrupted, 1 step, tokens: 174 in, 36 out")
    assert.notInclude(stdout, "tell you what we have")
    assert.notInclude(stdout, "    at ")
    assert.isFalse(hasEscape(stdout))
    assert.strictEqual(code, 130)
  })

  it("ends at Ctrl-C while it waits for words", async () => {
    const { code, stdout } = await runAtTerminal(desk, [], [["> ", "\u0003"]])
    assert.notInclude(stdout, "    at ")
    assert.strictEqual(code, 130)
  })
})
