import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import * as ToolName from "../../src/domain/ToolName.ts"
import { below, oneOf } from "./arbitraries.ts"

const of = (text: string): string => ToolName.from("handoff_to_", text)

const letter = Arbitrary.map(below(10), (index) => Array.from("aäßжд店長退款")[index] ?? " ")

const letters = Arbitrary.map(Arbitrary.array(letter, { maxLength: 5 }), (all) => all.join(""))

describe("The name of a tool", () => {
  it.prop("is one that providers take, whatever it is made of, and always the same", [
    oneOf(Arbitrary.schema(Schema.String), letters)
  ], ([text]) => {
    for (const [beginning, ending] of [["handoff_to_", ""], ["enter_", "_mode"], ["", ""]] as const) {
      for (const name of [text, text.repeat(30)]) {
        const tool = ToolName.from(beginning, name, ending)
        assert.isTrue(ToolName.isValid(tool), tool)
        assert.isTrue(tool.startsWith(beginning.slice(0, -1)) && tool.endsWith(ending), tool)
        assert.strictEqual(ToolName.from(beginning, name, ending), tool)
      }
    }
  })

  it.prop("tells names of other scripts apart", [letters, letters], ([one, other]) => {
    const bare = (text: string): string => text.normalize("NFKD").replaceAll(/[\u0300-\u036f]/g, "")
    if (bare(one) !== bare(other)) assert.notStrictEqual(of(one), of(other))
  })

  it("is readable as far as it can be", () => {
    assert.strictEqual(of("refunds"), "handoff_to_refunds")
    assert.strictEqual(of("the boss"), "handoff_to_the_boss")
    assert.strictEqual(of("a.b-c_d"), "handoff_to_a_b-c_d")
    assert.strictEqual(of("Café Zoë"), "handoff_to_Cafe_Zoe")
    assert.match(of("店長"), /^handoff_to_[0-9a-z]{1,7}$/)
    assert.match(of("退款 desk"), /^handoff_to_desk_[0-9a-z]{1,7}$/)
    assert.match(of("!!!"), /^handoff_to_[0-9a-z]{1,7}$/)
    assert.strictEqual(ToolName.from("enter_", "deep research", "_mode"), "enter_deep_research_mode")
  })

  it("tells long names apart that begin alike", () => {
    const long = "the desk of the department of ".repeat(4)
    assert.notStrictEqual(of(`${long}one`), of(`${long}two`))
    assert.match(of(`${long}one`), /^handoff_to_the_desk_of_the_department_of_the_desk_of_the_[0-9a-z]+$/)
  })
})
