import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Tool } from "effect/ai"
import {
  Agent,
  ContextWindow,
  Dialogue,
  Group,
  Guardrail,
  Handoff,
  HandoffPolicy,
  Mode,
  Plan,
  Session,
  StopWhen,
  ToolPolicy,
  Trace
} from "troupe"
import { ClusterDialogue, ClusterPlan, Conversation } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"

describe("An agent", () => {
  it("can't be with a number that is no limit", () => {
    const options = { maxHandoffs: 0, outputRetries: 0, toolConcurrency: 1, maxInputLength: 1 }
    for (const [option, least] of Object.entries(options)) {
      for (const limit of [least - 1, 1.5, Number.NaN]) {
        assert.throws(
          () => Agent.make("a", { [option]: limit }),
          Agent.InvalidLimit,
          `"${option}" is ${limit}, not a whole number from ${least} on or Infinity`
        )
      }
      Agent.make("a", { [option]: least })
      Agent.make("a", { [option]: Infinity })
    }
    Agent.make("a", { toolConcurrency: "unbounded" })
  })

  it.effect("of any name is a tool that providers take", () =>
    Effect.gen(function*() {
      const tools = ["店長", "the desk", "Zoë", "writer"].map((name) => Agent.asTool(Agent.make(name)))
      for (const { name } of tools) assert.match(name, /^[\w-]{1,64}$/)
      assert.strictEqual(new Set(tools.map(({ name }) => name)).size, 4)
      assert.strictEqual(tools[3]!.name, "writer")
      assert.throws(() => Agent.asTool(Agent.make("a"), { name: "has space" }), Agent.InvalidName)
      const desk = Agent.asTool(Agent.make("the desk"))
      yield* Agent.run(Agent.make("boss", { agents: [desk], toolChoice: { tool: "the desk" } }), "Go")
      const [call] = yield* MockModel.calls
      assert.deepStrictEqual(call?.request.toolChoice, { tool: "the_desk" })
    }).pipe(Effect.provide(MockModel.layer(MockModel.repeat(MockResponse.text("Done."))))))
})

describe("Guardrails", () => {
  it.each<[string, unknown, string]>([
    ["a stage that there isn't", { inputs: [Guardrail.length({ max: 5 })] }, "inputs"],
    ["a list instead of stages", [Guardrail.length({ max: 5 })], "0"]
  ])("of %s are refused, because they would never be asked", (_, guardrails, key) => {
    assert.throws(
      () => Agent.make("a", { guardrails: guardrails as never }),
      TypeError,
      `\`guardrails\` of agent "a" has "${key}", which isn't a stage: use \`input\`, \`output\`, \`toolCall\`, \`toolResult\`, \`handoff\``
    )
  })
})

describe("A mode", () => {
  it.each<[string, unknown, string]>([
    ["agents", [Agent.make("b")], "`agents[0]` of agent \"a\" must be made by `Agent.asTool`; it is an object"],
    [
      "handoffs",
      [Handoff.to(Agent.make("b")), undefined],
      "`handoffs[1]` of agent \"a\" must be made by `Handoff.to`; it is undefined"
    ],
    ["modes", [() => {}], "`modes[0]` of agent \"a\" must be made by `Mode.make`; it is a function"],
    [
      "guardrails",
      { output: [() => {}] },
      "`guardrails.output[0]` of agent \"a\" must be made by `Guardrail.make`; it is a function"
    ]
  ])("have members that were made for them: %s", (option, given, message) => {
    assert.throws(() => Agent.make("a", { [option]: given } as never), message)
  })

  it("can't be of an isolation or an invocation that isn't there", () => {
    const enter = () => Effect.void
    assert.throws(
      () => Mode.make("m", { isolation: "Fork" as never, enter }),
      Mode.InvalidOption,
      `"isolation" of mode "m" is "Fork", not one of: none, config, thread, fork`
    )
    assert.throws(
      () => Mode.make("m", { invocation: "pop" as never, enter }),
      Mode.InvalidOption,
      "not one of: push, switch"
    )
  })

  it("has a tool of its own in any script", () => {
    const modes = ["調査", "執筆"].map((name) => Mode.make(name, { invokable: true, enter: () => Effect.void }))
    Agent.make("a", { modes })
  })
})

/** An option, what makes something with it, and values that make no sense, or that do. */
type Row = readonly [
  option: string,
  make: (value: never) => unknown,
  wrong: ReadonlyArray<unknown>,
  right: ReadonlyArray<unknown>
]

const numbers = [Number.NaN, -1, 1.5, "3"]
const durations = [Number.NaN, -1, "", "soon"]
const words = ["", "Wrong", 1]
const names = ["", "has space", "x".repeat(65)]

const a = Agent.make("a")
const b = Agent.make("b")
const plan = Plan.make({ nodes: [a] })
const tool = Tool.make("t")
const enter = () => Effect.void
const judged = () => Effect.succeed(Guardrail.pass)
const summarize = () => Effect.succeed("Summary")
const sequential = HandoffPolicy.sequential(["a", "b"])

const rows: Readonly<Record<string, ReadonlyArray<Row>>> = {
  InvalidLimit: [
    ["maxHandoffs", (maxHandoffs) => Agent.make("a", { maxHandoffs }), numbers, [0, Infinity]],
    ["outputRetries", (outputRetries) => Agent.make("a", { outputRetries }), numbers, [0, Infinity]],
    ["toolConcurrency", (toolConcurrency) => Agent.make("a", { toolConcurrency }), [...numbers, 0], [1, Infinity]],
    ["maxInputLength", (maxInputLength) => Agent.make("a", { maxInputLength }), [...numbers, 0], [1, Infinity]],
    ["maxHandoffs of a group", (maxHandoffs) => Group.make({ a }, { start: "a", maxHandoffs }), numbers, [0, Infinity]],
    ["maxTurns of a dialogue", (maxTurns) => Dialogue.make(a, b, { maxTurns }), [...numbers, 0], [1, Infinity]],
    ["timeout of a node", (timeout) => Plan.agent(a, { timeout }), [...durations, 0], [1, "1 second", Infinity]],
    [
      "timeout of an effect's node",
      (timeout) => Plan.node("n", Effect.void, { timeout }),
      [...durations, 0],
      [1, "1 second", Infinity]
    ],
    ["maxSteps", StopWhen.maxSteps, numbers, [0, Infinity]],
    ["tokens", StopWhen.tokens, numbers, [0, Infinity]],
    ["toolCalls", StopWhen.toolCalls, numbers, [0, Infinity]],
    ["duration", StopWhen.duration, durations, [0, "1 second", Infinity]],
    ["cost", (limit) => StopWhen.cost({ limit, prices: {} }), [Number.NaN, -1, "3"], [0, 1.5]],
    ["maxLength of a result", (maxLength) => ToolPolicy.set(tool, { maxLength }), numbers, [0, Infinity]],
    ["timeout of a tool", (timeout) => ToolPolicy.set(tool, { timeout }), [...durations, 0], [1, "1 second", Infinity]],
    ["maxLength of a chain", (maxLength) => HandoffPolicy.chain(["a", "b"], { maxLength }), numbers, [0, Infinity]],
    [
      "turns of compacting",
      (turns) => HandoffPolicy.compacting(sequential, { over: { turns }, keep: 1, summarize }),
      numbers,
      [0, Infinity]
    ],
    [
      "tokens of compacting",
      (tokens) => HandoffPolicy.compacting(sequential, { over: { tokens }, keep: 1, summarize }),
      numbers,
      [0, Infinity]
    ],
    [
      "keep of compacting",
      (keep) => HandoffPolicy.compacting(sequential, { over: { turns: 1 }, keep, summarize }),
      numbers,
      [0, Infinity]
    ],
    ["maxLength of a diagram", (maxLength) => Trace.toMermaid([], { maxLength }), numbers, [0, Infinity]],
    ["maxLength of a file", (maxLength) => Trace.toFile(Effect.void, "f", { maxLength }), numbers, [0, Infinity]],
    ["maxLength of Markdown", (maxLength) => Trace.toMarkdown([], { maxLength }), numbers, [0, Infinity]]
  ],
  InvalidPlan: [
    ["nodes", (nodes) => Plan.make({ nodes }), [[]], [[a]]],
    ["concurrency", (concurrency) => Plan.make({ nodes: [a], concurrency }), [...numbers.slice(0, 3), 0], [1, Infinity]]
  ],
  InvalidWindow: [
    ["maxTokens", (maxTokens) => ContextWindow.make({ maxTokens }), [...numbers.slice(0, 3), 0, Infinity], [1]],
    ["reserve", (reserve) => ContextWindow.make({ maxTokens: 9, reserve }), [...numbers, 9, Infinity], [0, 8]],
    ["maxTurns", (maxTurns) => ContextWindow.make({ maxTurns }), [...numbers, 0, Infinity], [1]],
    ["target", (target) => ContextWindow.make({ maxTokens: 9, target }), [...numbers, 0, Infinity], [0.5, 1]],
    ["recentTurns", ContextWindow.recentTurns, [...numbers, Infinity], [0, 1]],
    ["nothing", () => ContextWindow.make({} as never), [undefined], []]
  ],
  InvalidOption: [
    ["min", (min) => Guardrail.length({ min }), [...numbers, Infinity], [0]],
    ["max", (max) => Guardrail.length({ max }), [...numbers, Infinity], [0]],
    ["min above max", () => Guardrail.length({ min: 2, max: 1 }), [undefined], []],
    ["match", (match) => Guardrail.regex(/a/, { match }), words, ["required", "forbidden"]],
    ["action of pii", (action) => Guardrail.pii({ action }), [...words, "maskk"], ["mask", "block"]],
    ["kinds of pii", (kinds) => Guardrail.pii({ kinds }), [[], [""], ["emial"]], [["email"]]],
    ["action of secrets", (action) => Guardrail.secrets({ action }), words, ["mask", "block"]],
    ["kinds of secrets", (kinds) => Guardrail.secrets({ kinds }), [[], [""]], []],
    ["action of profanity", (action) => Guardrail.profanity({ words: ["x"], action }), words, ["mask", "block"]],
    ["words of profanity", (words) => Guardrail.profanity({ words }), [[], [""], [" "]], [["x"]]],
    ["allow", (allow) => Guardrail.topic({ allow }), [{}, { x: [] }, { x: [""] }], [{ x: ["x"] }]],
    ["deny", (deny) => Guardrail.topic({ deny }), [{}, { x: [] }, { x: [" "] }, undefined], [{ x: ["x"] }]],
    ["tone", (allow) => Guardrail.tone({ allow }), [["rude"]], [["formal"]]],
    ["threshold of injections", (threshold) => Guardrail.promptInjection({ threshold }), words, ["high"]],
    ["categories", (categories) => Guardrail.promptInjection({ categories }), [[], [""]], []],
    ["threshold of a judge", (threshold) => Guardrail.safety({ threshold }), [...numbers, Infinity], [0, 1]],
    ["maxToolCalls", Guardrail.maxToolCalls, [...numbers, Infinity], [0, 1]],
    ["name of maxToolCalls", (name) => Guardrail.maxToolCalls(1, name), [""], ["t", undefined]],
    ["toolAllowList", Guardrail.toolAllowList, ["t", [""], ["t", ""]], [[], ["t"]]],
    ["noRepeat", Guardrail.noRepeat, [...numbers, 0, Infinity], [1]],
    ["on", (on) => Guardrail.make("g", judged, { on }), words, ["input", "text"]],
    ["mode", (mode) => Guardrail.make("g", judged, { mode }), words, ["blocking", "parallel"]],
    ["onError", (onError) => Guardrail.make("g", judged, { onError }), words, ["block", "pass"]],
    ["timeout", (timeout) => Guardrail.make("g", judged, { timeout }), [...durations, 0], [1, "1 second", Infinity]],
    ["isolation", (isolation) => Mode.make("m", { isolation, enter }), words, ["fork"]],
    ["invocation", (invocation) => Mode.make("m", { invocation, enter }), words, ["push", "switch"]],
    ["whenOnTop", (whenOnTop) => Mode.make("m", { whenOnTop, enter }), words, ["push", "stay"]]
  ],
  InvalidName: [
    ["an agent", (name) => Agent.make(name), [""], ["店長", "the desk"]],
    ["a mode", (name) => Mode.make(name, { enter }), [""], ["調査"]],
    ["a guardrail", (name) => Guardrail.make(name, judged), [""], ["検査"]],
    ["an agent's tool", (name) => Agent.asTool(a, { name }), names, ["t"]],
    ["a mode's tool", (toolName) => Mode.make("m", { toolName, enter }), names, ["t"]],
    ["a handoff's tool", (toolName) => Handoff.to(a, { toolName }), names, ["t"]],
    ["the tool that ends a dialogue", (stopTool) => Dialogue.make(a, b, { stopTool }), names, ["t"]],
    ["the tool of toolCalled", StopWhen.toolCalled, [""], ["t"]],
    ["the tool of toolCalls", (name) => StopWhen.toolCalls(name, 1), [""], ["t"]],
    ["a stored session", (id) => Session.store(id), [""], ["卓 7", "#"]],
    ["a conversation", (name) => Conversation.make(name, a), ["", "a/b"], ["卓 7", "a.b", "a%2Fb"]],
    ["a plan on a cluster", (name) => ClusterPlan.make(name, plan), ["", "a/b"], ["卓 7"]],
    ["a dialogue on a cluster", (name) => ClusterDialogue.make(name, Dialogue.make(a, b)), ["", "/"], ["卓 7"]]
  ],
  UnknownMember: [["start", (start) => Group.make({ a }, { start }), ["", "zoe"], ["a"]]]
}

describe("An option that makes no sense", () => {
  const each = Object.entries(rows).flatMap(([tag, rows]) =>
    rows.map(([option, ...row]) => [option, tag, ...row] as const)
  )
  it.each(each)("fails when it is set: %s", (_, tag, make, wrong, right) => {
    for (const value of wrong) {
      let error: unknown
      try {
        make(value as never)
      } catch (thrown) {
        error = thrown
      }
      assert.strictEqual((error as { readonly _tag?: string } | undefined)?._tag, tag, String(value))
      assert.instanceOf(error, Error)
      assert.isAbove(error.message.length, 10)
    }
    for (const value of right) make(value as never)
  })
})
