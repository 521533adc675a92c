import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { AgentEvent, AgentState } from "troupe"
import { assertInOrder } from "./deskText.ts"
import { bundle, run } from "./process.ts"

const desk = bundle("examples/desk/main.ts")

const converse = (lines: ReadonlyArray<string>, ...args: ReadonlyArray<string>) =>
  run(desk, args, lines.map((line) => `${line}\n`).join(""))

/** Who was in control at the end of each run, and in what order control changed hands. */
const control = (stdout: string): { readonly ended: ReadonlyArray<string>; readonly taken: ReadonlyArray<string> } => ({
  ended: [...stdout.matchAll(/^— (\w+): /gm)].map(([, name]) => name!),
  taken: [...stdout.matchAll(/^ {2}⇒ (\w+) takes over from (\w+)/gm)].map(([, to, from]) => `${from} → ${to}`)
})

const decodeEvent = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toCodecJson(AgentEvent.AgentEvent)))

describe("the desk's handoffs", () => {
  it("show who takes over and why, who speaks, and who is in control at the end", async () => {
    const { stdout } = await run(desk, ["My lamp arrived broken, order 1042"])
    assertInOrder(
      stdout,
      "  ⇒ refunds takes over from triage: something is broken or was lost (order: \"1042\")\n",
      "  → find_order(",
      "\nrefunds: I'm sorry about the Aurora desk lamp",
      "\n— refunds: complete, 4 steps"
    )
    assert.notInclude(stdout, "handoff_to_")
  })

  it("reach every specialist, go on to another and back to triage as the wish changes, and are not made for small talk", async () => {
    const { code, stdout } = await converse([
      "hello",
      "asdf qwer",
      "thanks",
      "I want to return order 1038",
      "thank you",
      "where is 1043?",
      "cancel 1044",
      "do you have rugs?",
      "I'll take one",
      "when are you open?"
    ])
    assert.deepStrictEqual(control(stdout), {
      ended: ["triage", "triage", "triage", "refunds", "refunds", "orders", "orders", "sales", "sales", "triage"],
      taken: ["triage → refunds", "refunds → orders", "orders → sales", "sales → triage"]
    })
    assertInOrder(
      stdout,
      "triage> hello\ntriage: Hello! I can",
      "triage> asdf qwer\ntriage: I'm not sure what you mean",
      "triage> thanks\ntriage: You're welcome!",
      "✓ start_return",
      "\nrefunds: The return of the Nord kettle is open",
      "refunds> thank you\nrefunds: You're welcome!",
      "refunds> where is 1043?\n",
      "✓ track_parcel",
      "\norders: Order 1043",
      "orders> cancel 1044\n  → cancel_order",
      "\nsales: Hav wool rug: €320.00",
      "→ set_aside(sku: \"RUG-HAV\", quantity: 1)",
      "\nsales: I've set the Hav wool rug aside",
      "\ntriage: We answer here day and night"
    )
    assert.strictEqual(code, 0)
  })

  it("let each answer its part of what was said at once", async () => {
    const { stdout } = await run(desk, ["When are you open, where is 1043, and what does the Nord kettle cost?"])
    assertInOrder(
      stdout,
      "triage: We answer here day and night",
      "⇒ orders takes over from triage: where an order is (order: \"1043\")",
      "\norders: Order 1043",
      "⇒ sales takes over from orders: what we have",
      "\nsales: Nord kettle: €59.00",
      "\n— sales: complete, 6 steps"
    )
  })

  it("come before an approval and after it, in one conversation", async () => {
    const { stdout } = await converse(["The floor lamp of order 1047 is cracked", "y", "and where is 1043?"])
    assertInOrder(
      stdout,
      "⇒ refunds takes over from triage",
      "refunds: I'm sorry about the Fjord floor lamp. A claim of €249.00 needs a colleague's approval",
      "— refunds: awaiting approval, 3 steps",
      "[y/N] y\n",
      "✓ open_claim",
      "Your claim is C-1047-1",
      "— refunds: complete, 4 steps",
      "refunds> and where is 1043?",
      "⇒ orders takes over from refunds",
      "orders: Order 1043"
    )
  })

  it("go with what an offer means: a return is the business of refunds", async () => {
    const { stdout } = await converse(["cancel 1038", "yes please"])
    assertInOrder(
      stdout,
      "orders: Order 1038 was delivered on 24 February, so it can't be cancelled any more. Shall I start a return instead?",
      "⇒ refunds takes over from orders: a return or a refund (order: \"1038\")",
      "refunds: The return of the Nord kettle is open"
    )
  })

  it("lead to a sensible answer about an order that there isn't", async () => {
    const { stdout } = await converse(["My lamp is broken, order 7777", "1042"])
    assertInOrder(
      stdout,
      "⇒ refunds takes over from triage",
      "OrderNotFound order: \"7777\"",
      "refunds: I can't find an order 7777",
      "refunds> 1042\n",
      "Your claim is C-1042-1"
    )
  })

  it("are events, requested by a call of the model and completed", async () => {
    const { stdout } = await run(desk, ["--json", "Where is 1043?"])
    const events = stdout.trimEnd().split("\n").map((line) => decodeEvent(line))
    const handoffs = events.filter(({ _tag }) => _tag.startsWith("Handoff"))
    const request = {
      target: "orders",
      callId: "call_1",
      reason: "where an order is",
      tool: "handoff_to_orders",
      context: { order: "1043" }
    }
    assert.deepStrictEqual(
      handoffs.map((event) =>
        event._tag === "HandoffRequested" || event._tag === "HandoffCompleted" ? [event._tag, event.request] : []
      ),
      [["HandoffRequested", request], ["HandoffCompleted", request]]
    )
    const last = events.at(-1)
    assert.deepStrictEqual(last?._tag === "RunCompleted" ? last.state.trail : [], ["triage", "orders"])
    assert.strictEqual(last?._tag === "RunCompleted" && AgentState.text(last.state).slice(0, 10), "Order 1043")
  })

  it("print what the README shows", async () => {
    const [, shown] = readFileSync("README.md", "utf8").match(/```text\n(.*?⇒ refunds.*?)```/s) ?? []
    assert.isDefined(shown, "The README shows no output of the desk")
    const { stdout } = await run(desk, ["My lamp arrived broken, order 1042"])
    const withoutTimes = (text: string | undefined) => text?.replace(/\((under )?[\d.]+ (ms|s)\)/g, "(time)")
    assert.strictEqual(withoutTimes(stdout), withoutTimes(shown))
  })
})
