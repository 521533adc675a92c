/** Functions that pages list by hand are those of the code. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  Agent,
  AgentPicker,
  AgentState,
  ContextWindow,
  Dialogue,
  Handoff,
  HandoffPolicy,
  Mode,
  SystemPrompt
} from "troupe"
import {
  ConversationArbitrary,
  ConversationRules,
  InstructionChain,
  Laws,
  MockModel,
  MockResponse,
  Story
} from "troupe/testing"
import * as Choice from "../../src/handoff/dialogue/Choice.ts"
import * as ChoiceByModel from "../../src/handoff/dialogue/ChoiceByModel.ts"
import * as History from "../../src/handoff/History.ts"
import * as Instruction from "../../src/testing/chain/Instruction.ts"
import { assertNames, called, calledOf, codes, functionsOf, membersOf, named, read, rows } from "./tables.ts"

describe("tables of the documentation", () => {
  it("docs/groups.md has every picker and every policy", () => {
    assertNames([called("docs/groups.md", ["picker"])], functionsOf(AgentPicker, "isAgentPicker", "namesOf", "pick"))
    assertNames(
      [called("docs/groups.md", ["policy"]), called("docs/custom-policies.md", ["function"])],
      functionsOf(HandoffPolicy, "isHandoffPolicy", "internalsOf", "inTurn")
    )
  })

  it("docs/handoff-history.md has every history", () => {
    assertNames(
      [calledOf("Handoff", "docs/handoff-history.md", ["`history`"])],
      Object.keys(History).filter((name) => name in Handoff)
    )
  })

  it("docs/context.md has every strategy", () => {
    assertNames([called("docs/context.md", ["strategy"])], functionsOf(ContextWindow, "adaptive", "make"))
  })

  it("docs/dialogues.md has every choice of who speaks, and every reason of an end", () => {
    assertNames(
      [calledOf("Dialogue", "docs/dialogues.md", ["`speaker`"])],
      functionsOf({ ...Choice, ...ChoiceByModel }).filter((name) => name in Dialogue)
    )
    assertNames([named("docs/dialogues.md", "`reason`")], Object.keys(Dialogue.EndReason.cases))
  })

  it("docs/modes.md has every operation on modes and the system prompt", () => {
    assertNames(
      [called("docs/modes.md", ["operation"])],
      [
        ...functionsOf({ ...Mode, ...SystemPrompt }, "isMode", "isModeError", "make", "singleShot"),
        "enterMode",
        "exitMode"
      ]
    )
  })

  it("docs/sessions.md has every operation of a session", () => {
    assertNames([called("docs/sessions.md", ["operation"])], membersOf("src/agent/Session.ts", "Session"))
  })

  it("docs/cluster.md has every method of a conversation's client", () => {
    assertNames(
      [called("docs/cluster.md", ["method of the client"])],
      [...membersOf("src/cluster/Client.ts", "Client"), ...membersOf("src/cluster/AtOnce.ts", "Client")]
    )
  })

  it("docs/running.md has every function that runs agents", () => {
    const others = ["asTool", "failedState", "isAgent", "make", "observe", "withModel", "withModels"]
    assertNames([called("docs/running.md", ["function"])], functionsOf(Agent, ...others))
  })

  it("docs/laws.md has every law, every arbitrary and the number of rules", () => {
    assertNames([called("docs/laws.md", ["law"])], functionsOf(Laws, "illegalMoves", "imbalances", "problems"))
    assertNames([called("docs/laws.md", ["arbitrary"])], functionsOf(ConversationArbitrary))
    assert.lengthOf(ConversationRules.kinds, 4 + 14)
    assert.include(read("docs/laws.md").replaceAll("\n", " "), "empty messages, and fourteen more kinds")
  })

  it("docs/laws.md has every step of a story", () => {
    assertNames(
      [called("docs/laws.md", ["step"])],
      functionsOf(Story, "tell", "tellOrThrow", "commandTitle", "decisionTitle")
    )
  })

  it("docs/approvals.md and docs/later-results.md have every function on calls that wait", () => {
    const waiting = [/^(approve|deny|pendingApprovals)$/, /^(give|pendingResults)/] as const
    const ofState = (kind: RegExp) => functionsOf(AgentState).filter((name) => kind.test(name))
    assertNames([calledOf("AgentState", "docs/approvals.md", ["function"])], ofState(waiting[0]))
    assertNames([calledOf("AgentState", "docs/later-results.md", ["function"])], ofState(waiting[1]))
  })

  it("docs/plans.md has every function that makes a node", () => {
    assertNames([calledOf("Plan", "docs/plans.md", ["to make a node of"], 1)], ["agent", "node"])
  })

  it("docs/conversation-settings.md has every function that reads the system prompt", () => {
    const reading = functionsOf(SystemPrompt, "append", "prepend", "section", "remove")
    assertNames([calledOf("SystemPrompt", "docs/conversation-settings.md", ["to read"], 1)], reading)
  })

  it("docs/agent-options.md has every function that gives an agent models", () => {
    const giving = functionsOf(Agent).filter((name) => name.startsWith("with"))
    assertNames([calledOf("Agent", "docs/agent-options.md", ["function"])], giving)
  })

  it("docs/mock-models.md has every field of a condition", () => {
    const pattern = rows("docs/mock-models.md", "condition").find(([condition]) => condition!.startsWith("a pattern"))
    assert.sameMembers(
      [...codes(/^all its fields hold: (.*)/.exec(pattern![1]!)![1])],
      [...membersOf("src/testing/handler/Conditional.ts", "Pattern")],
      pattern!.where
    )
  })

  it("docs/mock-models.md has every handler, response and function of a mock model", () => {
    assertNames(
      [called("docs/mock-models.md", ["handler"]), called("docs/mock-models.md", ["function of `MockModel`"])],
      functionsOf(MockModel, "when", "otherwise", "layer", "handlers")
    )
    assertNames([called("docs/mock-models.md", ["function"])], functionsOf(MockResponse, "fromInput"))
  })

  it("docs/mock-provider.md has every message of a step, as JSON that a chain takes", () => {
    const headers = ["functions of `InstructionChain`"]
    const others = ["make", "step", "error", "embed", "handler", "choose", "parse", "formatWarning"]
    assertNames([called("docs/mock-provider.md", headers)], functionsOf(InstructionChain, ...others))
    const isMessage = Schema.is(Instruction.Message)
    for (const { 1: cell, where } of rows("docs/mock-provider.md", ...headers)) {
      for (const json of codes(cell).filter((code) => code.startsWith("{"))) {
        assert.isTrue(isMessage(JSON.parse(json)), `${where} ${json}`)
      }
    }
  })
})
