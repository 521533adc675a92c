/** Options, fields, cases and reasons that pages list by hand are those of the code. */
import { assert, describe, it } from "@effect/vitest"
import { AiError } from "effect/ai"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Troupe from "troupe"
import { AgentState, Conversation, Dialogue, Mode, ModeTransition, Session } from "troupe"
import * as Cluster from "troupe/cluster"
import { InstructionChain } from "troupe/testing"
import { root } from "../../scripts/examples.ts"
import { Settings } from "../../src/domain/Settings.ts"
import { assertNames, called, codes, membersOf, named, optionsOf, read, rows } from "./tables.ts"

describe("tables of the documentation", () => {
  it.each([
    ["docs/agents-as-tools.md", "option", optionsOf("src/agent/definition/AgentTool.ts", "asTool")],
    ["docs/cluster.md", "option", membersOf("src/cluster/Conversation.ts", "Options")],
    ["docs/context.md", "option of `ContextWindow.make`", membersOf("src/agent/ContextWindow.ts", "Options")],
    ["docs/conversation-settings.md", "conversation setting", Object.keys(Settings.fields)],
    ["docs/groups.md", "option", optionsOf("src/handoff/Group.ts", "make")],
    ["docs/handoffs.md", "option", membersOf("src/handoff/Handoff.ts", "Options")],
    ["docs/handoff-states.md", "option", membersOf("src/handoff/HandoffState.ts", "TakeoverOptions")],
    ["docs/laws.md", "option", [
      ...new Set([
        ...membersOf("src/testing/laws/LawBroken.ts", "Options"),
        ...membersOf("src/testing/Laws.ts", "RunOptions"),
        ...membersOf("src/testing/Laws.ts", "GuardrailOptions")
      ])
    ]],
    ["docs/mcp.md", "option of `McpToolkit.make`", membersOf("src/agent/definition/McpToolkit.ts", "Options")],
    ["docs/mock-models.md", "field", membersOf("src/testing/MockRequest.ts", "MockRequest")],
    ["docs/mock-provider.md", "option", membersOf("src/testing/MockProvider.ts", "Options")],
    [
      "docs/mock-provider.md",
      "field of a step",
      Object.keys(InstructionChain.Step.fields).filter((name) => name !== "id" && name !== "id_message")
    ],
    ["docs/modes.md", "option of `Mode.make`", membersOf("src/modes/ModeType.ts", "Options")],
    ["docs/plans.md", "option of a node", membersOf("src/handoff/plan/Node.ts", "Policy")],
    ["docs/providers.md", "field of `timeouts`", membersOf("src/ai-sdk/Timeouts.ts", "Timeouts")],
    ["docs/running.md", "option of a run", membersOf("src/agent/run/RunStart.ts", "FromOptions")],
    ["docs/sessions.md", "option", membersOf("src/agent/Session.ts", "Options")],
    ["docs/state.md", "field", Object.keys(AgentState.AgentState.fields)],
    ["docs/tool-errors.md", "option", membersOf("src/agent/definition/ToolPolicy.ts", "ToolPolicy")]
  ])("%s has every %s", (page, header, members) => {
    assertNames([named(page, header)], members)
  })

  it("docs/running.md says which option belongs to which function", () => {
    const allowed = ["`systemMessage`", "`control`", "none", "`systemMessage`, `state`, `control`"]
    for (const { 3: options, where } of rows("docs/running.md", "function")) assert.include(allowed, options, where)
    assert.lengthOf(membersOf("src/agent/run/RunStart.ts", "FromOptions"), 3)
  })

  it("docs/conversations.md has every kind of turn, with its fields", () => {
    assertNames([named("docs/conversations.md", "turn")], Object.keys(Conversation.Turn.cases))
    for (const { 0: turn, 2: fields, where } of rows("docs/conversations.md", "turn")) {
      assert.sameMembers(
        [...codes(fields)],
        Object.keys(Conversation.Turn.cases[codes(turn)[0] as "User"].fields).filter((name) =>
          !["_tag", "pinned", "counted"].includes(name)
        ),
        where
      )
    }
  })

  it("docs/dialogue-runs.md says what ends which start", () => {
    const ends: Readonly<Record<string, ReadonlyArray<string>>> = Dialogue.dialogueStarts
    assertNames([named("docs/dialogue-runs.md", "starts")], Object.keys(ends))
    for (const row of rows("docs/dialogue-runs.md", "starts")) {
      assert.sameMembers([...codes(row[1])], [...ends[codes(row[0])[0]!]!], row.where)
    }
  })

  it("docs/mode-moves.md has every move", () => {
    const moves = Object.keys(ModeTransition.ModeTransition.cases).map((tag) => tag.toLowerCase())
    assertNames([called("docs/mode-moves.md", ["move"])], moves)
  })

  const reasonsOf = (union: { readonly members: ReadonlyArray<{ readonly identifier: string }> }) =>
    union.members.map(({ identifier }) => identifier.slice(identifier.lastIndexOf("/") + 1)).sort()

  it.each([
    ["docs/mode-lifecycle.md", reasonsOf(Mode.Reason)],
    ["docs/sessions.md", reasonsOf(Session.Reason)]
  ])("%s has every reason", (page, reasons) => {
    assert.isAbove(reasons.length, 5)
    assertNames([named(page, "reason")], reasons)
  })

  it("docs/errors.md names every reason of a cluster's errors", () => {
    const page = read("docs/errors.md")
    for (const reason of reasonsOf(Cluster.Conversation.Reason)) assert.include(page, `\`${reason}\``)
  })

  it("docs/providers.md has every reason with which a request fails", () => {
    const listed = named("docs/providers.md", "reason")
    const made = globSync("src/ai-sdk/*.ts", { cwd: root }).flatMap((file) =>
      Array.from(read(file).matchAll(/\bnew AiError\.(\w+)\(/g), ([, name]) => name!)
    ).filter((name) => name !== "AiError")
    assert.isAbove(new Set(made).size, 10)
    const known: ReadonlyArray<string | undefined> = AiError.AiErrorReason.members.map(({ identifier }) =>
      identifier.split("/").at(-1)
    )
    for (const { where, name } of listed) assert.include(known, name, where)
    // An agent's own requests fail with some that this package doesn't make.
    assertNames([listed], [...new Set([...made, ...listed.map(({ name }) => name)])])
  })

  it("docs/providers.md has every setting of requests", () => {
    const [, listed] =
      /has request settings, for every request to the model:([^.]+)\./.exec(read("docs/providers.md")) ?? []
    assert.deepStrictEqual([...codes(listed)].sort(), [...membersOf("src/ai-sdk/Settings.ts", "Settings")].sort())
  })

  it("README.md has every entry point of the package", () => {
    const { exports }: { readonly exports: Readonly<Record<string, unknown>> } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8")
    )
    const isModule = (entry: string): boolean => /^\.\/[A-Z]/.test(entry)
    const points = Object.keys(exports).filter((entry) => entry !== "./package.json")
    assert.sameMembers(
      points.filter(isModule).map((entry) => entry.slice(2)),
      Object.keys(Troupe)
    )
    // Its last row has some of the modules, and a "…" for the others.
    const listed = rows("README.md", "import from")
    for (const { 0: cell, where } of listed) {
      for (const one of codes(cell)) {
        if (one !== "…") assert.include(points, one.replace("troupe", "."), where)
      }
    }
    for (const point of points.filter((point) => !isModule(point))) {
      const entry = point.replace(".", "troupe")
      assert.isTrue(listed.some(([cell]) => codes(cell).includes(entry)), `${listed.where} lacks "${entry}"`)
    }
  })
})
