/**
 * Random agents over a small toolkit, and random scripts for their models: data first, then what it stands for.
 *
 * A script's turn depends on the state alone (how often the model has answered), not on a queue, so that a run can be
 * cut anywhere and go on in another process.
 */
import { Effect, Layer, Schema } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, type AgentState, Guardrail, StopWhen, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

class Broken extends Schema.TaggedError<Broken>("test/Broken")("Broken", { why: Schema.String }) {}

const Add = Tool.make("add", {
  parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
  success: Schema.Finite
})
const Slow = Tool.make("slow", { parameters: Schema.Struct({ turns: Schema.Int }), success: Schema.Date })
const Break = Tool.make("break", { failure: Broken })
const Alone = ToolPolicy.set(Tool.make("alone", { success: Schema.NullOr(Schema.String) }), { exclusive: true })
const Guarded = Tool.make("guarded", { success: Schema.String, needsApproval: true })
const Later = Tool.make("later", { success: Schema.String })

/** The tools of a script's agents. */
export const Tools = Toolkit.make(Add, Slow, Break, Alone, Guarded, Later)

const toolsLayer = (crashes: boolean) =>
  Tools.toLayer({
    add: ({ a, b }) => Effect.succeed(a + b),
    slow: ({ turns }) =>
      Effect.as(Effect.repeat(Effect.yieldNow, { times: Math.abs(turns % 3) }), new Date(Math.abs(turns % 3))),
    break: () => crashes ? Effect.die("it can't be") : Effect.fail(new Broken({ why: "it was old" })),
    alone: () => Effect.succeed(null),
    guarded: () => Effect.succeed("opened"),
    later: () => Effect.andThen(Effect.yieldNow, ToolPolicy.deferResult)
  })

const params: Readonly<Record<string, unknown>> = {
  add: { a: 1, b: 2 },
  slow: { turns: 2 },
  final_answer: { answer: "42" }
}

const Call = Schema.Struct({
  _tag: Schema.Literal("Call"),
  tool: Schema.Literals([
    "add",
    "slow",
    "slow",
    "break",
    "break",
    "alone",
    "guarded",
    "later",
    "helper",
    "final_answer",
    "nothing"
  ]),
  id: Schema.Literals(["own", "own", "a", "b", ""]),
  params: Schema.Literals(["good", "good", "wrong", "none"])
})

const Text = Schema.Struct({
  _tag: Schema.Literal("Text"),
  text: Schema.Literals(["It is warm.", "", " ", "{\"answer\":\"42\"}", "Is it 22 °C? 🌡️ Yes."])
})

const Reasoning = Schema.Struct({
  _tag: Schema.Literal("Reasoning"),
  text: Schema.Literals(["Let me think.", "", "Well, well."])
})

/** A call that the provider makes itself, once somebody agrees. */
const Asked = Schema.Struct({
  _tag: Schema.Literal("Asked"),
  id: Schema.Literals(["own", "own", "a"])
})

const small = (limit: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: limit }))

/** One answer of a model. `fails` is rare, and nothing of the answer arrives then. */
const Turn = Schema.Struct({
  parts: Schema.Array(Schema.Union([Call, Call, Text, Text, Reasoning, Asked])).check(Schema.isMaxLength(5)),
  finish: Schema.Literals(["", "", "", "stop", "length", "content-filter", "pause", "tool-calls", "other"]),
  usage: Schema.Literals(["none", "some", "all"]),
  chunks: small(9),
  fails: small(15)
})

export type Turn = typeof Turn.Type

/** What the models of an agent and of the one that it calls say, and what the agent is like. */
export const Script = Schema.Struct({
  turns: Schema.Array(Turn).check(Schema.isMaxLength(5)),
  helper: Schema.Array(Turn).check(Schema.isMaxLength(2)),
  agent: Schema.Struct({
    steps: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })),
    stop: Schema.Literals(["", "add", "slow", "text", "land", "calls"]),
    hasHelper: Schema.Boolean,
    task: Schema.Literals(["help", "help", "", "help me", "bad"]),
    hasOutput: Schema.Boolean,
    break: Schema.Literals(["fail", "fail", "fatal", "crash"]),
    concurrency: Schema.Literals([1, 2, "unbounded"]),
    isPrompted: Schema.Boolean
  })
})

export type Script = typeof Script.Type

const errors: ReadonlyArray<AiError.AiErrorReason> = [
  new AiError.InternalProviderError({ description: "overloaded" }),
  new AiError.AuthenticationError({ kind: "InvalidKey" })
]

const usages = { none: {}, some: { input: 10 }, all: { input: 10, output: 5, reasoning: 2, cached: 4 } }

/** The response of a turn. Calls without an id of their own are named after their place. */
const response = (turn: Turn, place: string, task: string): MockResponse.MockResponse => {
  const good: typeof params = { ...params, helper: { task } }
  const said = turn.parts.map((part, index) => {
    switch (part._tag) {
      case "Text":
        return MockResponse.text(part.text)
      case "Reasoning":
        return MockResponse.reasoning(part.text)
      case "Asked":
        return MockResponse.approvalRequest("mcp.search", { for: "it" }, {
          id: part.id === "own" ? `${place}.${index}` : part.id
        })
      case "Call": {
        const given = part.params === "good" ? good[part.tool] ?? {} : part.params === "wrong" ? { a: "one" } : {}
        return MockResponse.toolCall(part.tool, given, { id: part.id === "own" ? `${place}.${index}` : part.id })
      }
    }
  })
  let made = MockResponse.withUsage(MockResponse.all(...said), usages[turn.usage])
  if (turn.finish !== "") made = MockResponse.withFinishReason(made, turn.finish)
  if (turn.chunks > 0) made = MockResponse.chunked(made, turn.chunks)
  const error = errors[turn.fails]
  // An error behind the beginning of an answer has a price in a stream alone, so that streams would differ from whole answers.
  return error === undefined ? made : MockResponse.fail(error)
}

const answered = (state: AgentState.AgentState | undefined): number =>
  state?.conversation.turns.filter((turn) => turn._tag === "Assistant").length ?? 0

/** The model of a script: the same answer to the same state, in any process. */
const modelLayer = (script: Script) =>
  MockModel.layer(MockModel.make((request) => {
    const index = answered(request.state)
    const turn = (request.agent === "helper" ? script.helper : script.turns)[index]
    return turn === undefined ? "{\"answer\":\"done\"}" : response(turn, `${request.agent}${index}`, script.agent.task)
  }))

/** All that a run of a script's agent needs, made anew. */
export const environment = (script: Script) =>
  Layer.fresh(Layer.mergeAll(modelLayer(script), toolsLayer(script.agent.break === "crash")))

const stops = {
  "": [],
  add: [StopWhen.toolCalled("add")],
  slow: [StopWhen.all(StopWhen.toolCalled("slow"), StopWhen.tokens(20))],
  text: [StopWhen.satisfies((state) => state.steps > 1 && state.usage.input.known > 15)],
  land: [StopWhen.maxSteps(2, { onExhausted: "finish" })],
  calls: [StopWhen.toolCalls(2, { onExhausted: "finish" })]
}

const helperLimits: Record<string, StopWhen.LimitOptions> = { land: { onExhausted: "finish" } }

const polite = Guardrail.make("polite", (text) => text === "bad" ? Guardrail.block("rude") : Guardrail.pass)

/** The agent of a script. Of the tasks of a script, its helper takes one. */
export const agentOf = ({ agent }: Script) => {
  const helper = Agent.make("helper", {
    toolkit: Tools,
    stopWhen: StopWhen.maxSteps(2, helperLimits[agent.stop]),
    maxInputLength: 5,
    guardrails: { input: [polite] }
  })
  return Agent.make("main", {
    ...(agent.isPrompted ? { instructions: (state: AgentState.AgentState) => `Step ${state.steps}.` } : undefined),
    toolkit: Tools,
    agents: agent.hasHelper ? [Agent.asTool(helper)] : [],
    fatal: agent.break === "fatal" ? ["break"] : [],
    stopWhen: StopWhen.any(StopWhen.maxSteps(agent.steps), ...stops[agent.stop]),
    toolConcurrency: agent.concurrency,
    ...(agent.hasOutput ? { output: Schema.Struct({ answer: Schema.String }) } : undefined)
  })
}
