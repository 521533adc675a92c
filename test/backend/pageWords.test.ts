import { assert, describe, it } from "@effect/vitest"
import { agentOf, facts, isMove, modeOf, phrase } from "../../examples/backend/page/words.ts"
import { desk } from "../../examples/desk/agents/desk.ts"
import { FindOrder, FindOrdersOf } from "../../examples/desk/agents/lookup.ts"
import { CancelOrder, TrackParcel } from "../../examples/desk/agents/orders.ts"
import { OpenClaim, StartReturn } from "../../examples/desk/agents/refunds.ts"
import { SearchProducts, SetAside } from "../../examples/desk/agents/sales.ts"
import { entering, leaving, supervisedRefund } from "../../examples/desk/agents/supervision.ts"

describe("the page's words", () => {
  it("are there for every agent and tool of the desk", () => {
    for (const agent of Object.values(desk.agents)) assert.notStrictEqual(agentOf(agent.name).about, "", agent.name)
    for (
      const tool of [
        FindOrder,
        FindOrdersOf,
        TrackParcel,
        CancelOrder,
        StartReturn,
        OpenClaim,
        SearchProducts,
        SetAside
      ]
    ) {
      assert.notStrictEqual(phrase(tool.name, {}, "Succeeded"), `Called ${tool.name}`)
    }
    assert.isTrue(
      [entering, leaving].every((name) => isMove(name) && phrase(name, {}, "Running") !== `Calling ${name}`)
    )
    assert.strictEqual(phrase("other", {}, "Failed"), "Couldn't call other")
  })

  it("say of modes what they mean to a customer, and nothing of those that mean nothing to them", () => {
    assert.strictEqual(modeOf(supervisedRefund.name), "A colleague checks this refund")
    assert.isUndefined(modeOf("constructor"))
    for (const name of [entering, leaving]) {
      for (const standing of ["Pending", "Running", "Succeeded", "Failed", "Denied", "Interrupted"] as const) {
        assert.notMatch(phrase(name, { order: "1047", amount: 249 }, standing), /mode|supervised/)
      }
    }
  })

  it("say how a call stands, and what is to be decided", () => {
    const params = { order: "1047", sku: "LMP-FJO", remedy: "refund", amount: 249 }
    assert.strictEqual(
      phrase("open_claim", params, "Awaiting"),
      "Asks to open a claim for a refund of €249.00, order 1047"
    )
    assert.deepStrictEqual(facts(params), [
      ["Order", "1047"],
      ["Item", "LMP-FJO"],
      ["Remedy", "refund"],
      ["Amount", "€249.00"]
    ])
  })

  it("take names of any kind for what they are", () => {
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      assert.strictEqual(phrase(name, {}, "Succeeded"), `Called ${name}`)
      assert.deepStrictEqual(agentOf(name), { name, about: "" })
    }
    const params: unknown = JSON.parse(`{ "constructor": 1, "__proto__": 2 }`)
    assert.deepStrictEqual(facts(params), [["Constructor", "1"], ["  proto  ", "2"]])
  })
})
