/** Options, functions and fields that pages list by hand are those of the code. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AiError } from "effect/ai"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Troupe from "troupe"
import { AgentPicker, AgentState, ContextWindow, Conversation, Dialogue, Guardrail, Handoff } from "troupe"
import { HandoffPolicy, Mode, ModeTransition, Session, SystemPrompt } from "troupe"
import * as Cluster from "troupe/cluster"
import {
  ConversationArbitrary,
  ConversationRules,
  InstructionChain,
  Laws,
  MockModel,
  MockResponse
} from "troupe/testing"
import { root } from "../../scripts/examples.ts"
import { Settings } from "../../src/domain/Settings.ts"
import * as Choice from "../../src/handoff/dialogue/Choice.ts"
import * as ChoiceByModel from "../../src/handoff/dialogue/ChoiceByModel.ts"
import * as History from "../../src/handoff/History.ts"
import * as Instruction from "../../src/testing/chain/Instruction.ts"
import { codes, membersOf, names, optionsOf, read, rows } from "./tables.ts"

/** The names that the code of a column calls or names: `Mode.within(effect)` is `within`. */
const called = (page: string, headers: ReadonlyArray<string>, column = 0): ReadonlyArray<string> =>
  [
    ...new Set(
      rows(page, ...headers).flatMap((cells) => codes(cells[column])).map((code) =>
        /^(?:[\w]+\.)*(\w+)/.exec(code)?.[1] ?? code
      )
    )
  ].sort()

const functionsOf = (module: object, ...others: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.keys(module).filter((name) => !others.includes(name)).sort()

const isError = (value: unknown): boolean => typeof value === "function" && value.prototype instanceof Error

const isUpper = (name: string): boolean => /^[A-Z]/.test(name)

describe("tables of the documentation", () => {
  it.each([
    ["docs/agents-as-tools.md", "option", optionsOf("src/agent/definition/AgentTool.ts", "asTool")],
    ["docs/cluster.md", "option", membersOf("src/cluster/Conversation.ts", "Options")],
    ["docs/context.md", "option of `ContextWindow.make`", membersOf("src/agent/ContextWindow.ts", "Options")],
    ["docs/conversation-settings.md", "setting", Object.keys(Settings.fields)],
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
    assert.deepStrictEqual(names(page, header), [...members].sort())
  })

  it("docs/running.md says which option belongs to which function", () => {
    const listed = rows("docs/running.md", "function").map(([, , , options]) => options)
    assert.sameMembers([...new Set(listed)], ["`systemMessage`", "`control`", "none", "all three"])
    assert.lengthOf(membersOf("src/agent/run/RunStart.ts", "FromOptions"), 3)
  })

  it("docs/conversations.md has every kind of turn, with its fields", () => {
    const listed = rows("docs/conversations.md", "turn")
    assert.deepStrictEqual(
      listed.map(([turn]) => codes(turn)[0]).sort(),
      Object.keys(Conversation.Turn.cases).sort()
    )
    for (const [turn, , fields] of listed) {
      assert.sameMembers(
        [...codes(fields)],
        Object.keys(Conversation.Turn.cases[codes(turn)[0] as "User"].fields).filter((name) =>
          !["_tag", "pinned", "counted"].includes(name)
        )
      )
    }
  })

  it("docs/groups.md has every picker and every policy", () => {
    assert.deepStrictEqual(
      called("docs/groups.md", ["picker"]),
      functionsOf(AgentPicker, "isAgentPicker", "namesOf", "pick")
    )
    const policies = Object.entries(HandoffPolicy).filter(([name, value]) =>
      !isError(value) && !isUpper(name) && !["isHandoffPolicy", "internalsOf", "inTurn"].includes(name)
    ).map(([name]) => name)
    assert.deepStrictEqual(
      [...called("docs/groups.md", ["policy"]), ...called("docs/custom-policies.md", ["function"])].sort(),
      policies.sort()
    )
  })

  it("docs/handoff-history.md has every history", () => {
    const listed = rows("docs/handoff-history.md", "`history`").flatMap(([cell]) => codes(cell)).filter((code) =>
      code.startsWith("Handoff.")
    ).map((code) => /\.(\w+)/.exec(code)![1]!)
    assert.deepStrictEqual(
      listed.sort(),
      functionsOf(History).filter((name) => name in Handoff)
    )
  })

  it("docs/context.md has every strategy", () => {
    assert.deepStrictEqual(
      called("docs/context.md", ["strategy"]),
      Object.entries(ContextWindow).filter(([name, value]) => !isError(value) && name !== "adaptive" && name !== "make")
        .map(([name]) => name).sort()
    )
  })

  it("docs/guardrails.md and docs/built-in-guardrails.md have every function of Guardrail", () => {
    const functions = Object.entries(Guardrail).filter(([name, value]) =>
      !isError(value) && name !== "make" && name !== "isGuardrail"
    ).map(([name]) => name)
    assert.deepStrictEqual(
      [
        ...called("docs/guardrails.md", ["verdict"]),
        ...called("docs/guardrails.md", ["combinator"]),
        ...names("docs/built-in-guardrails.md", "guardrail")
      ].sort(),
      functions.sort()
    )
  })

  it("docs/guardrails.md has every stage", () => {
    assert.deepStrictEqual(
      names("docs/guardrails.md", "stage"),
      [...Troupe.AgentEvent.AgentEvent.cases.GuardrailSettled.fields.stage.literals].sort()
    )
  })

  it("docs/dialogues.md has every choice of who speaks, and every reason of an end", () => {
    const choosers = Object.entries({ ...Choice, ...ChoiceByModel }).filter(([name, value]) =>
      name in Dialogue && !isError(value) && !isUpper(name)
    ).map(([name]) => name).sort()
    const choices = rows("docs/dialogues.md", "`speaker`").flatMap(([cell]) => codes(cell)).flatMap((code) =>
      /^Dialogue\.(\w+)/.exec(code)?.[1] ?? []
    )
    assert.deepStrictEqual([...new Set(choices)].sort(), choosers)
    assert.deepStrictEqual(names("docs/dialogues.md", "`reason`"), Object.keys(Dialogue.EndReason.cases).sort())
  })

  it("docs/dialogue-runs.md says what ends which start", () => {
    assert.deepStrictEqual(
      Object.fromEntries(
        rows("docs/dialogue-runs.md", "starts").map(([start, ends]) => [codes(start)[0], codes(ends)])
      ),
      Dialogue.dialogueStarts
    )
  })

  it("docs/modes.md has every operation on modes and the system prompt", () => {
    const listed = called("docs/modes.md", ["operation"])
    const operations = Object.entries({ ...Mode, ...SystemPrompt }).filter(([name, value]) =>
      !isError(value) && !isUpper(name) && !["isMode", "isModeError", "make", "singleShot"].includes(name)
    ).map(([name]) => name)
    assert.deepStrictEqual(listed, [...operations, "enterMode", "exitMode"].sort())
  })

  it("docs/mode-moves.md has every move", () => {
    assert.deepStrictEqual(
      called("docs/mode-moves.md", ["move"]),
      Object.keys(ModeTransition.ModeTransition.cases).map((tag) => tag.toLowerCase()).sort()
    )
  })

  const reasonsOf = (union: { readonly members: ReadonlyArray<{ readonly identifier: string }> }) =>
    union.members.map(({ identifier }) => identifier.slice(identifier.lastIndexOf("/") + 1)).sort()

  it.each([
    ["docs/mode-lifecycle.md", reasonsOf(Mode.Reason)],
    ["docs/sessions.md", reasonsOf(Session.Reason)]
  ])("%s has every reason", (page, reasons) => {
    assert.isAbove(reasons.length, 5)
    assert.deepStrictEqual(names(page, "reason"), reasons)
  })

  it("docs/errors.md names every reason of a cluster's errors", () => {
    const page = read("docs/errors.md")
    for (const reason of reasonsOf(Cluster.Conversation.Reason)) assert.include(page, `\`${reason}\``)
  })

  it("docs/providers.md has every reason with which a request fails", () => {
    const listed = names("docs/providers.md", "reason")
    const made = globSync("src/ai-sdk/*.ts", { cwd: root }).flatMap((file) =>
      Array.from(read(file).matchAll(/\bnew AiError\.(\w+)\(/g), ([, name]) => name!)
    ).filter((name) => name !== "AiError")
    assert.isAbove(new Set(made).size, 10)
    assert.includeMembers([...listed], made)
    const known: ReadonlyArray<string | undefined> = AiError.AiErrorReason.members.map(({ identifier }) =>
      identifier.split("/").at(-1)
    )
    assert.includeMembers([...known], [...listed])
  })

  it("docs/providers.md has every setting of requests", () => {
    const [, listed] = /has settings for every request to the model:([^.]+)\./.exec(read("docs/providers.md")) ?? []
    assert.deepStrictEqual([...codes(listed)].sort(), [...membersOf("src/ai-sdk/Settings.ts", "Settings")].sort())
  })

  it("docs/sessions.md has every operation of a session", () => {
    assert.deepStrictEqual(called("docs/sessions.md", ["operation"]), membersOf("src/agent/Session.ts", "Session"))
  })

  it("docs/cluster.md has every method of a conversation's client", () => {
    assert.deepStrictEqual(
      called("docs/cluster.md", ["method of the client"]),
      [...membersOf("src/cluster/Client.ts", "Client"), ...membersOf("src/cluster/AtOnce.ts", "Client")].sort()
    )
  })

  it("docs/running.md has every function that runs agents", () => {
    const others = ["asTool", "failedState", "isAgent", "make", "observe", "withModel", "withModels"]
    assert.deepStrictEqual(
      called("docs/running.md", ["function"]),
      functionsOf(Troupe.Agent, ...others).filter((name) => !isUpper(name))
    )
  })

  it("docs/laws.md has every law, every arbitrary and the number of rules", () => {
    assert.deepStrictEqual(
      called("docs/laws.md", ["law"]),
      functionsOf(Laws, "LawBroken", "illegalMoves", "imbalances", "problems")
    )
    assert.deepStrictEqual(called("docs/laws.md", ["arbitrary"]), functionsOf(ConversationArbitrary))
    assert.lengthOf(ConversationRules.kinds, 4 + 14)
    assert.include(read("docs/laws.md").replaceAll("\n", " "), "empty messages, and fourteen more kinds")
  })

  it("docs/mock-models.md has every handler, response and function of a mock model", () => {
    const listed = [
      ...called("docs/mock-models.md", ["handler"]),
      ...called("docs/mock-models.md", ["function of `MockModel`"])
    ]
    assert.deepStrictEqual(
      [...listed, "when", "otherwise", "layer", "handlers"].sort(),
      functionsOf(MockModel).filter((name) => !isUpper(name))
    )
    assert.deepStrictEqual(called("docs/mock-models.md", ["function"]), functionsOf(MockResponse, "fromInput"))
  })

  it("docs/mock-provider.md has every message of a step, as JSON that a chain takes", () => {
    const table = rows("docs/mock-provider.md", "functions of `InstructionChain`")
    const others = ["make", "step", "error", "embed", "handler", "choose", "parse", "formatWarning"]
    assert.deepStrictEqual(
      table.flatMap(([functions]) => codes(functions)).sort(),
      functionsOf(InstructionChain, ...others).filter((name) => !isUpper(name))
    )
    const isMessage = Schema.is(Instruction.Message)
    for (const json of table.flatMap(([, cell]) => codes(cell)).filter((code) => code.startsWith("{"))) {
      assert.isTrue(isMessage(JSON.parse(json)), json)
    }
  })

  it("README.md has every entry point of the package", () => {
    const { exports }: { readonly exports: Readonly<Record<string, unknown>> } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8")
    )
    const isModule = (entry: string): boolean => /^\.\/[A-Z]/.test(entry)
    const points = Object.keys(exports).filter((entry) => !isModule(entry) && entry !== "./package.json")
    const listed = rows("README.md", "import from").map(([cell]) => codes(cell))
    assert.deepStrictEqual(listed.slice(0, -1).flat(), points.map((entry) => entry.replace(/^\./, "troupe")))
    assert.deepStrictEqual(
      Object.keys(exports).filter(isModule).map((entry) => entry.slice(2)).sort(),
      Object.keys(Troupe).sort()
    )
    for (const one of listed.at(-1)!.filter((name) => name !== "…")) {
      assert.property(exports, one.replace("troupe", "."))
    }
  })
})
