import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Agent, type AgentEvent, AgentState, Session } from "troupe"
import { MockModel } from "troupe/testing"
import { desk, layer as tools } from "../../examples/desk/agents/desk.ts"
import * as Model from "../../examples/desk/model/model.ts"
import { nothing, plain, show } from "../../examples/desk/terminal.ts"
import { assertInOrder } from "./deskText.ts"
import { bundle, run } from "./process.ts"

const main = bundle("examples/desk/main.ts")
const words = "I want my money back for the cracked floor lamp, order 1047"

const converse = (...lines: ReadonlyArray<string>) => run(main, [], lines.map((line) => `${line}\n`).join(""))

const entered = "▸ refunds is in mode supervised refund\n"
const left = "◂ refunds left mode supervised refund\n"

describe("the desk's supervised refund", () => {
  it("is entered for a larger amount, waits for the colleague, and is left before anything else", async () => {
    const { code, stdout } = await converse(words, "y", "and where is 1043?")
    assertInOrder(
      stdout,
      "⇒ refunds takes over from triage",
      entered,
      "refunds: I'm sorry about the Fjord floor lamp. A claim of €249.00 needs a colleague's approval",
      "? open_claim(order: \"1047\", sku: \"LMP-FJO\", remedy: \"refund\", amount: 249) awaits approval\n",
      "— refunds: awaiting approval, 4 steps",
      "[y/N] y\n",
      entered,
      "✓ open_claim",
      left,
      "€249.00 go back to the account that you paid with, by 21 March. Your claim is C-1047-1.\n",
      "— refunds: complete, 6 steps",
      "⇒ orders takes over from refunds",
      "orders: Order 1043"
    )
    assert.strictEqual(code, 0)
  })

  it("is left where the colleague decides against it", async () => {
    const { stdout } = await run(main, ["--no", `${words}, and where is 1043?`])
    assertInOrder(
      stdout,
      entered,
      "awaits approval\n",
      entered,
      left,
      "refunds: I'm sorry, that was not approved: a colleague decided against it.",
      "⇒ orders takes over from refunds",
      "orders: Order 1043"
    )
    assert.notInclude(stdout, "✓ open_claim")
  })

  it("waits in a file until somebody decides", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-desk-"))
    const file = join(folder, "state.json")
    try {
      assertInOrder((await run(main, ["--state", file, words])).stdout, entered, "asks again, with --yes approves it")
      const { stdout } = await run(main, ["--state", file, "--yes"])
      assertInOrder(stdout, entered, "✓ open_claim", left, "Your claim is C-1047-1", "— refunds: complete")
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("isn't for replacements and small amounts", async () => {
    const { stdout } = await converse(
      "I want my money back for the broken lamp, order 1042",
      "The floor lamp of 1047 is cracked",
      "y"
    )
    assertInOrder(stdout, "Your claim is C-1042-1", "Your claim is C-1047-2")
    assert.notInclude(stdout, "mode")
  })

  it.effect("has fewer tools and a section of its own in the prompt, once, also where it goes on", () =>
    Effect.gen(function*() {
      const waiting = yield* Agent.run(desk, words)
      const [pending] = AgentState.pendingApprovals(waiting)
      assert.deepStrictEqual(waiting.modes.map(({ isolation, name, params }) => ({ isolation, name, params })), [
        { isolation: "config", name: "supervised refund", params: { order: "1047", amount: 249 } }
      ])
      const approved = yield* Effect.fromResult(AgentState.approve(waiting, pending!.callId))
      const state = yield* Agent.resume(desk, approved)
      assert.deepStrictEqual([state.modes, state.prompt, state.status._tag], [[], [], "Complete"])
      const requests = (yield* MockModel.calls).map(({ request }) => request).filter(({ agent }) => agent === "refunds")
      assert.deepStrictEqual(
        requests.map(({ system, toolNames }) => ({
          sections: system.split("A refund of 249 euros for order 1047").length - 1,
          isTold: system.includes("You are in mode \"supervised refund\""),
          isFree: toolNames.includes("handoff_to_sales") && toolNames.includes("start_return")
        })),
        [
          { sections: 0, isTold: false, isFree: true },
          { sections: 0, isTold: false, isFree: true },
          { sections: 1, isTold: true, isFree: false },
          { sections: 1, isTold: true, isFree: false },
          { sections: 0, isTold: false, isFree: true }
        ]
      )
    }).pipe(Effect.provide(Layer.mergeAll(Model.layer, tools))))

  it.effect("is left first where the customer has something else in mind", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(desk, { state: yield* Agent.run(desk, "Is 1035 under warranty?") })
      yield* session.enterMode("supervised refund", { order: "1035", amount: 200 })
      const state = yield* session.call("Where is 1043?")
      assert.deepStrictEqual([state.agent, state.modes, state.status._tag], ["orders", [], "Complete"])
      assert.match(AgentState.text(state), /^Order 1043/)
    }).pipe(Effect.scoped, Effect.provide(Layer.mergeAll(Model.layer, tools))))
})

describe("modes at the terminal", () => {
  const at = { path: ["refunds"] as const, calls: [], run: "", step: 0, sequence: 0, at: 0 }
  const mode = { name: "inner", params: {}, duration: 1 }
  const shown = (event: AgentEvent.AgentEvent): string => show(nothing, event, plain)[1]

  it("say where an agent is, what it has left, and what went wrong, and nothing of one that stays", () => {
    assert.strictEqual(
      shown({ _tag: "ModeEntered", ...at, ...mode, stack: ["outer", "inner"] }),
      "  ▸ refunds is in mode outer › inner\n"
    )
    assert.strictEqual(shown({ _tag: "ModeExited", ...at, ...mode, stack: ["outer"] }), "  ◂ refunds left mode inner\n")
    assert.strictEqual(shown({ _tag: "ModeExited", ...at, ...mode, stack: ["outer", "inner"], isKept: true }), "")
    assert.strictEqual(
      shown({
        _tag: "ModeFailed",
        ...at,
        name: "inner",
        params: {},
        stack: ["inner"],
        phase: "SetUp",
        tag: "Broken",
        message: "no key"
      }),
      "  ✗ mode inner: no key\n"
    )
  })
})
