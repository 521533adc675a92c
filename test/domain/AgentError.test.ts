import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AiError } from "effect/ai"
import { AgentError, AgentEvent, AgentState, AgentStatus } from "troupe"

const agent = "triage"

const error = new AiError.AiError({
  module: "LanguageModel",
  method: "generateText",
  reason: new AiError.RateLimitError({})
})

describe("AgentError", () => {
  it.each<[AgentError.Reason, string]>([
    [
      new AgentError.ModelCallFailed({ agent, step: 2, attempts: 1, error }),
      `The model of agent "triage" gave no answer in step 3 after 1 attempt: ${error.message}`
    ],
    [
      new AgentError.ModelCallFailed({ agent, step: 0, attempts: 3, error }),
      `The model of agent "triage" gave no answer in step 1 after 3 attempts: ${error.message}`
    ],
    [
      new AgentError.StepLimitReached({ agent, limit: 20, steps: 20 }),
      `Agent "triage" reached its limit of 20 steps`
    ],
    [
      new AgentError.BudgetExceeded({ agent, budget: "tokens", limit: 100, used: 120 }),
      `Agent "triage" used 120 of 100 tokens`
    ],
    [
      new AgentError.BudgetExceeded({ agent, budget: "duration", limit: 100, used: 120 }),
      `Agent "triage" ran for 120 of 100 ms`
    ],
    [
      new AgentError.InputRejected({ agent, issue: "Empty", length: 0, limit: 10 }),
      `Agent "triage" was given an empty input`
    ],
    [
      new AgentError.InputRejected({ agent, issue: "TooLong", length: 11, limit: 10 }),
      `Agent "triage" was given an input of 11 characters; its limit is 10`
    ],
    [
      new AgentError.OutputInvalid({ agent, corrections: 2, issue: "Missing key" }),
      `The answer of agent "triage" doesn't fit its output schema after 2 corrections: Missing key`
    ],
    [
      new AgentError.GuardrailBlocked({ agent: "a", guardrail: "pii", stage: "output", reason: "a key" }),
      `Guardrail "pii" of agent "a" blocked the output: a key`
    ],
    [
      new AgentError.ToolFailed({ agent, tool: "pay", callId: "c", error: { tag: "Refused", message: "no money" } }),
      `The fatal tool "pay" of agent "triage" failed: no money`
    ],
    [
      new AgentError.HandoffTargetNotFound({ agent, target: "biling", available: ["billing", "tech"] }),
      `Agent "triage" can't hand over to "biling"; available: "billing", "tech"`
    ],
    [
      new AgentError.HandoffTargetNotFound({ agent, target: "billing", available: [] }),
      `Agent "triage" can't hand over to "billing"; available: none`
    ],
    [
      new AgentError.HandoffTargetNotFound({ agent, target: "ghost", available: ["tech"], group: "desk" }),
      `The picker of group "desk" chose "ghost", which isn't there; available: "tech"`
    ],
    [
      new AgentError.HandoffLimitReached({ limit: 2, trail: ["triage", "billing", "triage"] }),
      "The run reached its limit of 2 handoffs: triage → billing → triage"
    ],
    [
      new AgentError.AgentMismatch({ agent, missing: "tool", wanted: "refund", available: ["search"] }),
      `The state names the tool "refund", which agent "triage" doesn't have; available: "search"`
    ],
    [
      new AgentError.ModeFailed({ agent, mode: "research", issue: "no such mode" }),
      `Agent "triage" can't enter mode "research": no such mode`
    ],
    [
      new AgentError.ModeFailed({ agent, mode: "", issue: "no end" }),
      `Agent "triage" can't leave its mode: no end`
    ]
  ])("names the thing: %s", (reason, message) => {
    assert.strictEqual(reason.message, message)
    const state = AgentState.make(agent)
    const error = new AgentError.AgentError({ state, reason })
    assert.strictEqual(error.message, message)
    assert.strictEqual(error.state, state)
    assert.isTrue(AgentError.isAgentError(error))
    assert.isFalse(AgentError.isAgentError(reason))
  })

  it.effect("lets one reason be caught, with the state beside it", () =>
    Effect.gen(function*() {
      const state = {
        ...AgentState.make(agent),
        status: AgentStatus.failed({ tag: "StepLimitReached", message: "", agent, step: 1 })
      }
      const reason = new AgentError.StepLimitReached({ agent, limit: 1, steps: 1 })
      const caught = yield* Effect.fail(new AgentError.AgentError({ state, reason })).pipe(
        Effect.catchReason("AgentError", "StepLimitReached", (reason, error) =>
          Effect.succeed([reason.limit, error.state.status._tag]))
      )
      assert.deepStrictEqual(caught, [1, "Failed"])
    }))
})

describe("AgentEvent", () => {
  it("says of each start what ends it, and nothing ends two kinds of start", () => {
    const ends = Object.values(AgentEvent.starts).flat()
    assert.strictEqual(new Set(ends).size, ends.length)
    const tags = new Set<string>(Object.keys(AgentEvent.AgentEvent.cases))
    for (const tag of [...ends, ...Object.keys(AgentEvent.starts)]) assert.isTrue(tags.has(tag), tag)
  })

  it("has an end for everything that is told to start", () => {
    const started = Object.keys(AgentEvent.AgentEvent.cases).filter((tag) => tag.endsWith("Started"))
    const others = ["HandoffRequested", "ModeEntering", "ModeExiting"]
    assert.deepStrictEqual(Object.keys(AgentEvent.starts).sort(), [...started, ...others].sort())
  })
})
