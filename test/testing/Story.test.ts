import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Agent, type AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
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
    assert.deepStrictEqual(failure(Story.expectState(() => false)), [1, "StateDiffers", "the function gives false"])
    assert.deepStrictEqual(failure(Story.expectState(() => assert.fail("too late"))), [1, "StateDiffers", "too late"])
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

  const holds = (events: ReadonlyArray<AgentEvent.AgentEvent>, last: AgentState.AgentState) => {
    const first = events[0]?.path[0]
    const told = Story.tellOrThrow(AgentState.make(first ?? ""), ...events.map((event) => Story.event(event)))
    assert.deepStrictEqual(told, last)
  }

  it.effect.prop("holds of the events of every run", [Script], ([script]) =>
    Effect.gen(function*() {
      const { events, last } = yield* observe(Agent.stream(agentOf(script), input), start)
      holds(events, last)
    }).pipe(Effect.provide(environment(script))), { arbitrary: { runs: 50 } })

  it.effect.prop("holds of the events of every run that changes hands", [Scene], ([scene]) =>
    Effect.gen(function*() {
      const { events } = yield* observe(Agent.stream(runnableOf(scene), input), AgentState.make("a"))
      holds(events, events.reduce(AgentState.reduce, AgentState.make(events[0]?.path[0] ?? "")))
    }).pipe(Effect.provide(sceneEnvironment(scene))), { arbitrary: { runs: 50 } })
})
