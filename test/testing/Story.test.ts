import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  Agent,
  type AgentEvent,
  AgentState,
  AgentStatus,
  Conversation,
  Group,
  Guardrail,
  HandoffPolicy,
  StopWhen
} from "troupe"
import { Story } from "troupe/testing"
import { input, observe } from "../agent/laws.ts"
import { agentOf, environment, Script } from "../agent/scripts.ts"
import { environment as sceneEnvironment, runnableOf, Scene } from "../handoff/rosters.ts"

const start = AgentState.make("main")
const call = (id: string, state?: Conversation.CallState) => Conversation.call(id, "look", {}, state)

/** Where a story fails, and why. */
const failure = (...steps: ReadonlyArray<Story.Step>) => {
  const error = Result.getOrThrow(Result.flip(Story.tell(start, ...steps)))
  return [error.step, error.reason, error.issue]
}

describe("Story", () => {
  it("gives the state of all that happened", () => {
    const state = Story.tellOrThrow(
      start,
      Story.expectCommand("AskModel"),
      Story.userSays("Look, and open."),
      Story.modelAnswers([call("a"), call("b")], { usage: { input: 3 } }),
      Story.expectState({ status: AgentStatus.waitingForTools, steps: 1 }),
      Story.approvalIsRequested("b"),
      Story.expectCommand({ _tag: "RunCalls", callIds: ["a"] }),
      Story.toolAnswers("a", "a tree"),
      Story.expectCommand("Await"),
      Story.approve("b"),
      Story.expectCommand({ _tag: "RunCalls", callIds: ["b"] }),
      Story.toolAnswers("b", "stuck", { outcome: "Failed" }),
      Story.modelAnswers("A tree."),
      Story.expectCommand({ _tag: "Stop" }),
      Story.expectState((state) => assert.strictEqual(AgentState.text(state), "A tree."))
    )
    assert.deepStrictEqual(
      Conversation.callsOf(state.conversation.turns[1] as Conversation.Assistant).map((
        { name, state }
      ) => [name, state]),
      [
        ["look", { _tag: "Settled", outcome: "Succeeded", result: "a tree" }],
        ["look", { _tag: "Settled", outcome: "Failed", result: "stuck" }]
      ]
    )
    assert.strictEqual(state.usage.input.known, 3)
  })

  it("may end while an approval is pending, and goes on when it is denied", () => {
    const asked = [Story.userSays("Open."), Story.modelAnswers([call("a")]), Story.approvalIsRequested("a")]
    assert.isTrue(Result.isSuccess(Story.tell(start, ...asked)))
    const edited = Story.tellOrThrow(
      start,
      ...asked,
      Story.approve("a", { params: { at: "home" } }),
      Story.toolAnswers("a", "open"),
      Story.modelAnswers("Done.")
    )
    assert.deepStrictEqual(Conversation.search(edited.conversation, "home").map(({ index }) => index), [1])
    assert.strictEqual(Story.approve("a", { params: { at: "home" } }).title, `"a" is approved with {"at":"home"}`)
    assert.deepStrictEqual(failure(...asked, Story.deny("a", "no")), [
      4,
      "CommandUnanswered",
      "the story ends, and AskModel is unanswered"
    ])
  })

  it("may end where the run is interrupted", () => {
    const [interrupted, asked] = [Story.event({ _tag: "RunInterrupted", state: start }), Story.userSays("Hi.")]
    assert.isTrue(Result.isSuccess(Story.tell(start, asked, interrupted)))
    assert.strictEqual(failure(interrupted, asked)[1], "CommandUnanswered")
    const at = { path: ["main", "helper"], calls: ["a"] } as const
    const called = [Story.modelAnswers([call("a")]), Story.event({ _tag: "RunStarted", input: [], ...at })]
    const inside = Story.event({ _tag: "RunInterrupted", state: start, ...at })
    assert.strictEqual(failure(asked, ...called, inside)[1], "CommandUnanswered")
    assert.strictEqual(failure(asked, inside)[1], "EventIgnored")
  })

  it("fails while a command is unanswered", () => {
    assert.deepStrictEqual(failure(Story.userSays("Hi.")), [
      1,
      "CommandUnanswered",
      "the story ends, and AskModel is unanswered"
    ])
    assert.deepStrictEqual(
      failure(
        Story.userSays("Hi."),
        Story.modelAnswers([call("a"), call("b")]),
        Story.toolAnswers("b", null)
      ),
      [3, "CommandUnanswered", "the story ends, and RunCalls of \"a\" is unanswered"]
    )
    assert.deepStrictEqual(
      failure(Story.modelAnswers("Bye."), Story.event({ _tag: "HandoffRequested", request: { target: "b" } })),
      [2, "CommandUnanswered", "the story ends, and HandOver to \"b\" is unanswered"]
    )
    assert.deepStrictEqual(failure(), [0, "CommandUnanswered", "the story ends, and AskModel is unanswered"])
  })

  it("fails at the step that isn't as expected, and shows it among the others", () => {
    assert.deepStrictEqual(failure(Story.modelAnswers([call("a")]), Story.expectCommand("AskModel")), [
      2,
      "CommandDiffers",
      "the state needs RunCalls of \"a\""
    ])
    assert.deepStrictEqual(
      failure(Story.modelAnswers([call("a")]), Story.expectCommand({ _tag: "RunCalls", callIds: ["b"] })),
      [2, "CommandDiffers", "the state needs RunCalls of \"a\""]
    )
    assert.deepStrictEqual(failure(Story.expectState({ agent: "main", steps: 2 })), [
      1,
      "StateDiffers",
      "steps is 0, and 2 is expected"
    ])
    assert.deepStrictEqual(failure(Story.expectState(() => false)), [1, "StateDiffers", "the function returns false"])
    assert.deepStrictEqual(failure(Story.expectState(() => assert.fail("too late"))), [1, "StateDiffers", "too late"])
    // Nobody awaits or runs what these return, so they would hold of any state.
    for (const unrun of [Promise.resolve(false), Effect.sync(() => false), Effect.fail("too late")]) {
      assert.deepStrictEqual(failure(Story.expectState(() => unrun)), [
        1,
        "StateDiffers",
        "a story awaits no Promise and runs no Effect, but the function returns one"
      ])
    }
    assert.throws(
      () =>
        Story.tellOrThrow(
          start,
          Story.userSays("Hi."),
          Story.modelAnswers([call("a")]),
          Story.expectCommand("AskModel"),
          Story.toolAnswers("a", 1)
        ),
      [
        "The story fails at step 3: the state needs RunCalls of \"a\"",
        "  1. the user says \"Hi.\"",
        "  2. the model answers call \"a\" of look",
        "> 3. expect AskModel",
        "  4. the tool answers \"a\""
      ].join("\n")
    )
  })

  it("fails where something doesn't fit", () => {
    assert.deepStrictEqual(failure(Story.modelAnswers("A."), Story.modelAnswers("B.")), [
      2,
      "EventUnasked",
      "the model answers, and nobody asked it: the state needs Stop"
    ])
    assert.deepStrictEqual(
      failure(Story.event({
        _tag: "ModelResponded",
        path: ["main", "helper"],
        calls: ["a"],
        parts: [],
        usage: {},
        finishReason: "stop"
      })),
      [1, "EventUnasked", "the model answers, and nobody asked it: the agent wasn't called"]
    )
    for (const step of [Story.toolAnswers("a", 1), Story.approvalIsRequested("a")]) {
      const [at, reason] = failure(Story.modelAnswers([call("b")]), step)
      assert.deepStrictEqual([at, reason], [2, "EventIgnored"])
    }
    assert.deepStrictEqual(failure(Story.approve("a")).slice(0, 2), [1, "ChangeRefused"])
    assert.deepStrictEqual(failure(Story.deny("a", "no")).slice(0, 2), [1, "ChangeRefused"])
  })

  it("fails where steps are in no open call, or expect something of an agent that isn't called yet or any more", () => {
    const asked = [Story.userSays("Look."), Story.modelAnswers([call("a")])]
    const expected = [
      Story.expectState({ agent: "main" }),
      Story.expectCommand({ _tag: "RunCalls", callIds: ["a"] }),
      Story.expectDecision("RunCalls")
    ]
    for (const step of [...expected, Story.timePasses("1 second")]) {
      assert.deepStrictEqual(failure(...asked, Story.inCall("nope", step)), [
        3,
        "NotCalled",
        `no open call has the id "nope"`
      ])
    }
    const inA = (...steps: ReadonlyArray<Story.Step>) => failure(...asked, Story.inCall("a", ...steps))
    for (const step of expected) {
      assert.deepStrictEqual(inA(step), [3, "NotCalled", `no agent is at work in call "a"`])
      assert.deepStrictEqual(inA(Story.userSays("Look."), Story.inCall("b", step)).slice(1), [
        "NotCalled",
        `no open call has the id "b"`
      ])
    }
    Story.tellOrThrow(
      start,
      ...asked,
      Story.inCall("a", Story.userSays("Look."), Story.expectCommand("AskModel"), Story.expectState({ steps: 0 })),
      Story.toolAnswers("a", "a tree"),
      Story.modelAnswers("A tree.")
    )
    const after = failure(...asked, Story.toolAnswers("a", "a tree"), Story.inCall("a", Story.expectState({})))
    assert.deepStrictEqual(after.slice(1), ["NotCalled", `no open call has the id "a"`])
  })

  it("tells of a called agent by its path and its calls", () => {
    const at = { path: ["main", "helper"], calls: ["a"] } as const
    const state = Story.tellOrThrow(
      start,
      Story.userSays("Ask somebody."),
      Story.modelAnswers([call("a")]),
      Story.event({ _tag: "RunStarted", input: [], ...at }),
      Story.expectCommand({ _tag: "RunCalls", callIds: ["a"] }),
      Story.event({ _tag: "ModelResponded", parts: [], usage: {}, finishReason: "stop", ...at }),
      Story.toolAnswers("a", "Nothing."),
      Story.modelAnswers("Nothing.")
    )
    assert.strictEqual(state.steps, 3)
  })

  const holds = (
    agent: Agent.Runnable<string, unknown, unknown, unknown>,
    events: ReadonlyArray<AgentEvent.AgentEvent>,
    last: AgentState.AgentState
  ) => {
    const state = AgentState.make(events[0]?.path[0] ?? "")
    const steps = events.map((event) => Story.event(event))
    assert.deepStrictEqual(Story.tellOrThrow(state, ...steps), last)
    assert.deepStrictEqual(Story.tellOrThrow({ agent, state }, ...steps), last)
  }

  it.effect.prop("holds of the events of every run", [Script], ([script]) =>
    Effect.gen(function*() {
      const { events, last } = yield* observe(Agent.stream(agentOf(script), input), start)
      holds(agentOf(script), events, last)
    }).pipe(Effect.provide(environment(script))), { arbitrary: { runs: 50 } })

  it.effect.prop("holds of the events of every run that changes hands", [Scene], ([scene]) =>
    Effect.gen(function*() {
      const { events } = yield* observe(Agent.stream(runnableOf(scene), input), AgentState.make("a"))
      holds(runnableOf(scene), events, events.reduce(AgentState.reduce, AgentState.make(events[0]?.path[0] ?? "")))
    }).pipe(Effect.provide(sceneEnvironment(scene))), { arbitrary: { runs: 50 } })
})

describe("Story of an agent", () => {
  const finish = { onExhausted: "finish" } as const
  const Look = Toolkit.make(Tool.make("look", { success: Schema.String }))
  const City = Schema.Struct({ city: Schema.String })
  const never = Guardrail.make("never", () => Guardrail.pass)

  /** Where a story of an agent fails, and why. */
  const failureOf = (given: Story.Given, ...steps: ReadonlyArray<Story.Step>) => {
    const { issue, reason, step } = Result.getOrThrow(Result.flip(Story.tell(given, ...steps)))
    return [step, reason, issue]
  }

  it("tells a limit of steps", () => {
    const agent = Agent.make("main", { toolkit: Look, stopWhen: StopWhen.maxSteps(1) })
    const state = Story.tellOrThrow(
      agent,
      Story.userSays("Look."),
      Story.expectDecision("AskModel"),
      Story.modelAnswers([call("a")]),
      Story.expectDecision({ _tag: "RunCalls", callIds: ["a"] }),
      Story.toolAnswers("a", "a tree"),
      Story.expectDecision({ _tag: "Fail", tag: "StepLimitReached" }),
      Story.expectDecision("Finish")
    )
    assert.deepStrictEqual(state.status._tag === "Failed" && state.status.error, {
      tag: "StepLimitReached",
      message: `Agent "main" reached its limit of 1 step`,
      agent: "main",
      step: 0
    })
  })

  it("tells a budget that leaves a last answer, and gives up the agents that would ask on", () => {
    const helper = Agent.make("helper", { toolkit: Look })
    const agent = Agent.make("main", { agents: [Agent.asTool(helper)], stopWhen: StopWhen.maxSteps(2, finish) })
    const state = Story.tellOrThrow(
      agent,
      Story.userSays("Ask the helper."),
      Story.modelAnswers([Conversation.call("a", "helper", { task: "look" })]),
      Story.inCall("a", Story.userSays("look"), Story.modelAnswers([call("b")]), Story.toolAnswers("b", "a tree")),
      Story.expectDecision({ _tag: "GiveUpCalls", callIds: ["a"] }),
      Story.expectDecision("GiveLastAnswer"),
      Story.expectDecision("AskModel"),
      Story.modelAnswers("A tree, I think."),
      Story.expectDecision("Finish")
    )
    assert.strictEqual(AgentState.text(state), "A tree, I think.")
    assert.strictEqual(state.status._tag, "Complete")
    const limited = Agent.make("main", { toolkit: Look, stopWhen: StopWhen.maxSteps(1, finish) })
    const looked = [Story.userSays("Look."), Story.modelAnswers([call("a")]), Story.toolAnswers("a", "a tree")]
    const differs = Story.tell(limited, ...looked, Story.expectDecision("AskModel"))
    assert(Result.isFailure(differs))
    assert.include(
      differs.failure.message,
      `decides on GiveLastAnswer (Agent "main" reached its limit of 1 step. Answer now, with what you have`
    )
  })

  it("sends a wrong answer back as often as the agent allows", () => {
    const agent = Agent.make("main", { output: City, outputRetries: 1 })
    const told = [Story.userSays("Where?"), Story.modelAnswers("Paris")]
    const right = Story.tellOrThrow(agent, ...told, Story.modelAnswers(`{"city":"Paris"}`))
    assert.deepStrictEqual(Result.getOrThrow(AgentState.output(agent, right)), { city: "Paris" })
    Story.tellOrThrow(
      agent,
      ...told,
      Story.expectDecision("SendBack"),
      Story.modelAnswers("Rome"),
      Story.expectDecision({ _tag: "Fail", tag: "OutputInvalid" })
    )
  })

  const a = Agent.make("a", { description: "Asks." })
  const b = Agent.make("b", { description: "Answers." })
  const policy = HandoffPolicy.sequential(["a", "b"])

  it("tells what the policy of a group wants", () => {
    const group = Group.make({ a, b }, { start: "a", policy })
    const state = Story.tellOrThrow(
      group,
      Story.userSays("Go on."),
      Story.modelAnswers("I have asked."),
      Story.expectDecision("RequestHandoff"),
      Story.targetTakesOver(),
      Story.modelAnswers("I have answered.")
    )
    assert.deepStrictEqual(state.trail, ["a", "b"])
    assert.strictEqual(state.status._tag, "Complete")
  })

  it("tells a limit of handoffs", () => {
    const c = Agent.make("c", { description: "Sums up." })
    const all = HandoffPolicy.sequential(["a", "b", "c"])
    Story.tellOrThrow(
      Group.make({ a, b, c }, { start: "a", policy: all, maxHandoffs: 1 }),
      Story.userSays("Go on."),
      Story.modelAnswers("I have asked."),
      Story.targetTakesOver(),
      Story.modelAnswers("I have answered."),
      Story.expectDecision({ _tag: "RequestHandoff", request: { target: "c", reason: "Step 2 of 3 is done" } }),
      Story.expectDecision({ _tag: "Fail", tag: "HandoffLimitReached" })
    )
  })

  it("suspends an agent that a limit of its caller keeps from asking", () => {
    const helper = Agent.make("helper", { toolkit: Look })
    const agent = Agent.make("main", { agents: [Agent.asTool(helper)], stopWhen: StopWhen.maxSteps(2) })
    const state = Story.tellOrThrow(
      agent,
      Story.userSays("Ask the helper."),
      Story.modelAnswers([Conversation.call("a", "helper", { task: "look" })]),
      Story.inCall(
        "a",
        Story.userSays("look"),
        Story.modelAnswers([call("b")]),
        Story.toolAnswers("b", "a tree"),
        Story.expectDecision("Suspend")
      ),
      Story.expectDecision({ _tag: "Fail", tag: "StepLimitReached" })
    )
    assert.deepStrictEqual(AgentState.at(state, ["a"])?.status, AgentStatus.inProgress)
    Story.tellOrThrow(
      agent,
      Story.userSays("Ask the helper."),
      Story.modelAnswers([Conversation.call("a", "helper", { task: "look" })]),
      Story.inCall(
        "a",
        Story.userSays("look"),
        Story.event({ _tag: "StepStarted", path: ["main", "helper"], calls: ["a"] }),
        Story.expectDecision("AskModel"),
        Story.modelAnswers("A tree.")
      ),
      Story.toolAnswers("a", "A tree."),
      Story.expectDecision({ _tag: "Fail", tag: "StepLimitReached" })
    )
  })

  it("tells a limit of time", () =>
    void Story.tellOrThrow(
      Agent.make("main", { toolkit: Look, stopWhen: StopWhen.duration("1 minute") }),
      Story.userSays("Look."),
      Story.modelAnswers([call("a")]),
      Story.timePasses("2 minutes"),
      Story.toolAnswers("a", "a tree"),
      Story.expectDecision({ _tag: "Fail", tag: "BudgetExceeded" })
    ))

  it("lets a guardrail send an answer back, and block it when nobody may try again", () => {
    const agent = Agent.make("main", { guardrails: { output: [never] }, outputRetries: 1 })
    const state = Story.tellOrThrow(
      agent,
      Story.userSays("Hi."),
      Story.modelAnswers("Bad."),
      Story.guardrailSays("output", Guardrail.retry("Be good.")),
      Story.modelAnswers("Worse."),
      Story.guardrailSays("output", Guardrail.retry("Be good.")),
      Story.expectDecision({ _tag: "Fail", tag: "GuardrailBlocked" })
    )
    assert.deepStrictEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant", "Feedback"])
    assert.strictEqual(state.steps, 2)
  })

  it("lets guardrails replace an answer, and take out what is said beside calls", () => {
    const agent = Agent.make("main", { toolkit: Look, guardrails: { output: [never] } })
    const state = Story.tellOrThrow(
      agent,
      Story.userSays("Look."),
      Story.modelAnswers([Conversation.text("Damn."), call("a")]),
      Story.guardrailSays("output", Guardrail.block("rude")),
      Story.toolAnswers("a", "a tree"),
      Story.modelAnswers("A damn tree."),
      Story.guardrailSays("output", Guardrail.replace("A tree.", "rude"))
    )
    assert.deepStrictEqual(Conversation.search(state.conversation, /damn/i), [])
    assert.strictEqual(AgentState.text(state), "A tree.")
  })

  it("fails a call that a guardrail blocks, and hides a result", () => {
    const agent = Agent.make("main", {
      toolkit: Look,
      guardrails: {
        toolCall: [Guardrail.make("calls", () => Guardrail.pass, { on: "toolCall" })],
        toolResult: [Guardrail.make("results", () => Guardrail.pass, { on: "toolResult" })]
      }
    })
    const state = Story.tellOrThrow(
      agent,
      Story.userSays("Look."),
      Story.modelAnswers([call("a"), call("b")]),
      Story.guardrailSays("toolCall", Guardrail.block("not there")),
      Story.toolAnswers("b", "a secret"),
      Story.guardrailSays("toolResult", Guardrail.block("secret")),
      Story.expectDecision("AskModel"),
      Story.modelAnswers("Nothing.")
    )
    const turn = state.conversation.turns[1]
    assert.deepStrictEqual(
      turn?._tag === "Assistant" ? Conversation.callsOf(turn).map(({ state }) => state) : [],
      [
        { _tag: "Settled", outcome: "Failed", result: `Guardrail "calls" blocked this call: not there` },
        { _tag: "Settled", outcome: "Failed", result: `Guardrail "results" blocked the result of "look": secret` }
      ]
    )
  })

  it("blocks what a user says, and what a policy wants", () => {
    const guardrails = {
      input: [never],
      handoff: [Guardrail.make("handoffs", () => Guardrail.pass, { on: "handoff" })]
    }
    const guarded = Agent.make("a", { description: "Asks.", guardrails })
    const blocked = { _tag: "Fail", tag: "GuardrailBlocked" } as const
    const state = Story.tellOrThrow(
      guarded,
      Story.userSays("My secret."),
      Story.guardrailSays("input", Guardrail.block("secret")),
      Story.expectDecision(blocked)
    )
    assert.deepStrictEqual(Conversation.search(state.conversation, "secret"), [])
    const told = [Story.userSays("Go on."), Story.modelAnswers("I have asked.")]
    const group = Group.make({ a: guarded, b }, { start: "a", policy })
    Story.tellOrThrow(
      group,
      ...told,
      Story.expectDecision("RequestHandoff"),
      Story.guardrailSays("handoff", Guardrail.block("not now")),
      Story.expectDecision(blocked)
    )
    const passed = Story.tellOrThrow(
      group,
      ...told,
      Story.guardrailSays("handoff", Guardrail.replace({ target: "b", reason: "a better one" }, "better")),
      Story.expectDecision("HandOver"),
      Story.targetTakesOver(),
      Story.modelAnswers("Done.")
    )
    assert.strictEqual(passed.agent, "b")
    assert.deepStrictEqual(failureOf(group, ...told).slice(0, 2), [2, "DecisionUnanswered"])
  })

  it("fails if a decision is unanswered or another one is expected", () => {
    const agent = Agent.make("main", { toolkit: Look, stopWhen: StopWhen.maxSteps(1) })
    const message = `StepLimitReached: Agent "main" reached its limit of 1 step`
    const told = [Story.userSays("Look."), Story.modelAnswers([call("a")]), Story.toolAnswers("a", "a tree")]
    assert.deepStrictEqual(failureOf(agent, ...told), [
      3,
      "DecisionUnanswered",
      `the story ends, and Fail (${message}) is unanswered`
    ])
    assert.deepStrictEqual(failureOf(agent, ...told, Story.expectDecision("AskModel")), [
      4,
      "DecisionDiffers",
      `the agent decides on Fail (${message})`
    ])
    assert.deepStrictEqual(failureOf(agent, ...told, Story.modelAnswers("A tree.")), [
      4,
      "DecisionUnanswered",
      `the run ends before that: Fail (${message})`
    ])
    assert.deepStrictEqual(failureOf(agent, Story.userSays("Look."), Story.toolAnswers("a", 1)).slice(0, 2), [
      2,
      "EventIgnored"
    ])
    assert.deepStrictEqual(failureOf(agent, Story.modelAnswers("A tree."))[1], "DecisionUnanswered")
    assert.deepStrictEqual(failureOf(start, Story.expectDecision("AskModel"))[1], "DecisionDiffers")
    assert.deepStrictEqual(failureOf(agent, Story.userSays("")).slice(0, 2), [1, "DecisionUnanswered"])
  })

  it("fails if a guardrail has nothing to look at", () => {
    const agent = Agent.make("main", { toolkit: Look, guardrails: { output: [never] } })
    const says = (stage: "input" | "output", options?: Story.GuardrailOptions) =>
      Story.guardrailSays(stage, Guardrail.pass, options)
    const asked = Story.userSays("Look.")
    const [, reason, issue] = failureOf(start, asked, says("output"))
    assert.deepStrictEqual([reason, issue], ["EventUnasked", "only an agent has guardrails: tell the story of one"])
    for (
      const steps of [
        [asked, says("input")],
        [asked, says("output")],
        [asked, Story.modelAnswers("Hi."), says("output", { guardrail: "other" })],
        [asked, Story.modelAnswers([call("a")]), says("output")]
      ]
    ) assert.deepStrictEqual(failureOf(agent, ...steps).slice(0, 2), [steps.length, "EventUnasked"])
  })

  it("tells of a fatal tool: the run fails once the other calls are settled, and its caller reads the error", () => {
    const Pay = Tool.make("pay", { failure: Schema.String })
    const payer = Agent.make("payer", {
      toolkit: Toolkit.make(Pay),
      fatal: ["pay"],
      guardrails: { toolResult: [Guardrail.make("strict", () => Guardrail.pass, { on: "toolResult" })] }
    })
    const pays = [
      Story.userSays("Pay"),
      Story.modelAnswers([Conversation.call("a", "pay", {}), Conversation.call("b", "pay", {})]),
      Story.toolAnswers("a", "no money", { fatal: { tag: "Failure", message: "no money" } })
    ]
    const failed = Story.tellOrThrow(
      payer,
      ...pays,
      Story.expectDecision({ _tag: "RunCalls", callIds: ["b"] }),
      Story.toolAnswers("b", "paid"),
      Story.expectCommand("FailRun"),
      Story.expectDecision({ _tag: "Fail", tag: "Failure", message: "no money" })
    )
    assert.deepStrictEqual(
      failed.status,
      AgentStatus.failed({ tag: "Failure", message: "no money", agent: "payer", step: 0 })
    )
    assert.strictEqual(AgentState.next(AgentState.reopen(failed))._tag, "AskModel")
    const blocked = Story.tellOrThrow(
      payer,
      ...pays,
      Story.guardrailSays("toolResult", Guardrail.block("a secret")),
      Story.toolAnswers("b", "paid"),
      Story.expectDecision({ _tag: "Fail", tag: "GuardrailBlocked" })
    )
    assert.strictEqual(blocked.status._tag, "Failed")
    const unanswered = Story.tell(payer, ...pays, Story.toolAnswers("b", "paid"), Story.modelAnswers("Fine."))
    assert.strictEqual(Result.getOrThrow(Result.flip(unanswered)).reason, "DecisionUnanswered")
  })

  it("goes on with a state", () => {
    const agent = Agent.make("main", { stopWhen: StopWhen.maxSteps(1) })
    const first = Story.tellOrThrow(agent, Story.userSays("Hi."), Story.modelAnswers("Hello."))
    const state = Story.tellOrThrow({ agent, state: first }, Story.userSays("And?"), Story.modelAnswers("Well."))
    assert.strictEqual(state.steps, 2)
  })
})
