/** Values that tables have are those of the code: what an option may be, what holds without it, and what is computed. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { AgentEvent, ContextWindow, Handoff, ModeTransition } from "troupe"
import { Conversation } from "troupe/cluster"
import { root } from "../../scripts/examples.ts"
import { Isolation } from "../../src/domain/Isolation.ts"
import { assertNames, codes, inCode, named, read, rows } from "./tables.ts"

/** The texts of a union type that is written out in a file. */
const unionOf = (file: string, name: string): ReadonlyArray<string> =>
  new RegExp(`type ${name} = ((?:"\\w+"(?: \\| )?)+)`).exec(read(file))![1]!.match(/\w+/g)!

const quoted = (code: string): string | undefined => /^"(\w+)"$/.exec(code)?.[1]

const stages = AgentEvent.AgentEvent.cases.GuardrailSettled.fields.stage.literals

describe("values in tables", () => {
  it("docs/cassettes.md has every mode of a cassette", () => {
    const modes = unionOf("src/testing/Cassette.ts", "Mode")
    assert.lengthOf(modes, 3)
    assertNames([inCode(rows("docs/cassettes.md", "mode"), 0, quoted)], modes)
  })

  it("docs/guardrails.md has everything that a check may get", () => {
    assertNames([inCode(rows("docs/guardrails.md", "`on`"), 0, quoted)], ["text", ...stages])
  })

  it("docs/agent-options.md has every stage of guardrails", () => {
    assertNames([named("docs/agent-options.md", "key", "value")], [...stages, "releaseEarly"])
  })

  it("docs/cluster.md has every field and status of an answer", () => {
    const { fields } = Conversation.Answer
    assertNames([named("docs/cluster.md", "field", "meaning")], Object.keys(fields))
    const row = rows("docs/cluster.md", "field", "meaning").find(([field]) => field === "`status`")!
    for (const one of fields.status.literals) assert.include(codes(row[1]), one, row.where)
  })

  it("docs/context.md has the part of each size of context that is used", () => {
    const table = rows("docs/context.md", "tokens of the model's context")
    let above = 100
    for (const { 0: size, 1: part, where } of table) {
      const last = size === "more" ? 1_000_000 : Number(/^up to ([\d,]+)$/.exec(size!)![1]!.replaceAll(",", ""))
      for (const tokens of [above, last]) {
        const share = Number.parseInt(part!) / 100
        assert.strictEqual(ContextWindow.adaptive(tokens), Math.floor(tokens * share), `${where} ${tokens}`)
      }
      above = last + 1
    }
  })

  it("docs/mode-moves.md says of every move what it does when a clean-up returns it", () => {
    const moves = Object.keys(ModeTransition.ModeTransition.cases).map((tag) => tag.toLowerCase())
    assertNames([named("docs/mode-moves.md", "`exit` returns")], moves)
  })

  it("docs/modes.md has a column for each isolation", () => {
    const isolations = Isolation.literals.map((isolation) => `\`${isolation}\``)
    for (const row of rows("docs/modes.md", "what", ...isolations)) {
      assert.lengthOf(row, 1 + isolations.length, row.where)
    }
  })

  it("docs/providers.md has the default of each time-out", () => {
    const limits = /const limitsOf = \(\{ (.+) \}: Timeouts\)/.exec(read("src/ai-sdk/Timeouts.ts"))![1]!
    for (const { 0: field, 1: value, where } of rows("docs/providers.md", "field of `timeouts`")) {
      assert.include(limits, `${codes(field)[0]} = "${value}"`, where)
    }
  })

  it("docs/handoffs.md has the default name of a handoff's tool", () => {
    const row = rows("docs/handoffs.md", "option").find(([option]) => option === "`toolName`")!
    assert.strictEqual(row[2], `\`${Handoff.toolNameOf("<name>").replace(/_*name_*$/, "_<name>")}\``, row.where)
  })

  it("docs/backend-deployment.md has every file for a deployment", () => {
    assertNames(
      [inCode(rows("docs/backend-deployment.md", "file"), 0, (code) => code)],
      globSync("*", { cwd: `${root}/examples/backend/deploy` })
    )
  })
})
