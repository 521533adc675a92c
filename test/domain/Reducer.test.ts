import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { AgentEvent, AgentState, AgentStatus, Conversation, Usage } from "troupe"
import { Laws } from "troupe/testing"
import { times } from "../matrix.ts"
import { aim, shots, state } from "./arbitraries.ts"
import { callsIn, deepFreeze, places, problems } from "./legal.ts"

type Fields<Tag extends AgentEvent.AgentEvent["_tag"]> = Omit<
  Extract<AgentEvent.AgentEvent, { readonly _tag: Tag }>,
  "_tag" | "run" | "path" | "calls" | "step" | "sequence" | "at"
>

const events = AgentEvent.AgentEvent.cases

/** Where and when the events of a story happen: in `desk`, at one time. */
const here = { path: ["desk"] as const, calls: [], step: 0, sequence: 0, at: 1000 }
/** In the agent `billing`, which answers the call `ask` of `desk`. */
const inBilling = { ...here, path: ["desk", "billing"] as const, calls: ["ask"] }
/** In the agent `bank`, which answers the call `check` of `billing`. */
const inBank = { ...here, path: ["desk", "billing", "bank"] as const, calls: ["ask", "check"] }

const said = (text: string) => [Conversation.text(text)]

const call = (id: string, state: Conversation.CallState = { _tag: "Pending" }): Conversation.Call => ({
  _tag: "Call",
  id,
  name: "search",
  params: { q: id },
  state
})

const responded = (
  parts: Fields<"ModelResponded">["parts"],
  at: typeof here | typeof inBilling | typeof inBank = here
) => events.ModelResponded.make({ ...at, parts, usage: { input: 10, output: 1 }, finishReason: "stop" })

const started = (text: string, at: typeof here | typeof inBilling | typeof inBank = here) =>
  events.RunStarted.make({ ...at, input: said(text) })

const settled = (callId: string, at: typeof here | typeof inBilling | typeof inBank = here) =>
  events.ToolCallSettled.make({ ...at, callId, name: "search", outcome: "Succeeded", result: "found", duration: 5 })

const after = (...events: ReadonlyArray<AgentEvent.AgentEvent>): AgentState.AgentState =>
  deepFreeze(events).reduce(
    (self, event) => deepFreeze(AgentState.reduce(self, event)),
    deepFreeze(AgentState.make("desk"))
  )

const stateOf = (self: AgentState.AgentState, id: string) =>
  callsIn(self.conversation).find((call) => call.id === id)?.state

/** Who was in control before an event: nobody before the first run of a conversation. */
const trailBefore = (self: AgentState.AgentState, event: AgentEvent.AgentEvent): ReadonlyArray<string> =>
  event._tag === "RunStarted" && self.conversation.turns.length === 0 ? [] : self.trail

describe("AgentState.reduce", () => {
  it.prop("takes any event into any state and keeps every conversation legal", [state, shots], ([state, shots]) => {
    shots.reduce((self, shot) => {
      const next = deepFreeze(AgentState.reduce(self, deepFreeze(aim(self, shot))))
      assert.deepStrictEqual(problems(next.conversation), [])
      return next
    }, state)
  }, { arbitrary: { runs: times(120, 40) } })

  it.prop("makes states that survive JSON", [state, shots], ([state, shots]) => {
    const reduced = shots.reduce((self, shot) => AgentState.reduce(self, aim(self, shot)), state)
    const read = Result.getOrThrow(AgentState.fromJson(AgentState.toJson(reduced)))
    assert.deepStrictEqual(read, reduced)
  })

  it.prop(
    "forgets no usage and no log, and no turn unless another agent takes over or a mode has it",
    [state, shots],
    ([state, shots]) => {
      shots.reduce((self, shot) => {
        const event = aim(self, shot)
        const next = AgentState.reduce(self, event)
        assert.isAtLeast(next.steps, self.steps)
        assert.isAtLeast(next.usage.requests, self.usage.requests)
        assert.deepStrictEqual(next.logs.slice(0, self.logs.length), self.logs)
        const isModes = ["ModeExited", "ModeFailed", "StateAdjusted"].includes(event._tag)
        if (!isModes && (event._tag !== "HandoffCompleted" || event.conversation === undefined)) {
          assert.isAtLeast(next.conversation.turns.length, self.conversation.turns.length)
        }
        const changes = event.calls.length === 0 && next.agent !== self.agent
        if (changes) assert.include(["HandoffCompleted", "RunStarted"], event._tag)
        assert.deepStrictEqual(next.trail, changes ? [...trailBefore(self, event), next.agent] : self.trail)
        return next
      }, state)
    }
  )

  it.prop("changes nothing by what only tells of progress", [state, shots], ([state, shots]) => {
    const silent = new Set<AgentEvent.AgentEvent["_tag"]>([
      "TextDelta",
      "ReasoningDelta",
      "ToolParamsDelta",
      "ToolCallProgressed",
      "ToolCallStarted",
      "ToolCallSuspended",
      "StepStarted",
      "StepCompleted",
      "ModelCallStarted",
      "ModelCallFailed",
      "TransformFailed",
      "HandoffSuspended",
      "ModeExiting"
    ])
    for (const shot of shots) {
      // An answer that was blocked has its price.
      const isPriced = "usage" in shot.event && shot.event.usage !== undefined
      const isEnd = shot.event._tag === "StepCompleted" && shot.event.endsRun === true
      if (silent.has(shot.event._tag) && !isPriced && !isEnd) {
        assert.strictEqual(AgentState.reduce(state, aim(state, shot)), state)
      }
    }
  })

  it.prop("takes a summary that stands for more than the last, and changes nothing else", [state, shots], (
    [state, shots]
  ) => {
    for (const shot of shots) {
      const event = aim(state, shot)
      if (event._tag !== "ConversationSummarized" || event.calls.length > 0) continue
      const { conversation, run, usage } = AgentState.reduce(state, event)
      assert.strictEqual(conversation.turns, state.conversation.turns)
      const before = state.conversation.summaries ?? []
      const { except, text, upTo } = event
      const [more, last] = [upTo - except.length, before.at(-1)]
      const isInOrder = except.every((place, at) => place < upTo && place > (except[at - 1] ?? -1))
      const fits = text.trim() !== "" && isInOrder && upTo <= conversation.turns.length && more > 0 &&
        (last === undefined || (upTo >= last.upTo && more > last.upTo - last.except.length))
      assert.deepStrictEqual(conversation.summaries ?? [], fits ? [...before, { text, upTo, except }] : before)
      assert.strictEqual(AgentState.reduce({ ...state, conversation, run, usage }, event).conversation, conversation)
    }
  })

  it.prop("counts each answer of a model once for every agent on its path", [state, shots], ([state, shots]) => {
    for (const shot of shots) {
      const event = aim(state, shot)
      if (event._tag !== "ModelResponded" && event._tag !== "ConversationSummarized") continue
      const next = AgentState.reduce(state, event)
      if (next === state) continue
      const steps = event._tag === "ModelResponded" ? 1 : 0
      const before = places(state)
      for (const place of places(next)) {
        const isOnPath = place.calls.every((id, depth) => event.calls[depth] === id)
        const old = before.find((other) => other.calls.join() === place.calls.join())?.state
        if (old === undefined) continue
        assert.strictEqual(place.state.steps - old.steps, isOnPath ? steps : 0)
        assert.strictEqual(place.state.run.steps - old.run.steps, isOnPath ? steps : 0)
        const spent = isOnPath && event.usage !== undefined ? Usage.add(old.usage, event.usage) : old.usage
        assert.deepStrictEqual(place.state.usage, spent)
        const isOwn = isOnPath && place.calls.length === event.calls.length
        assert.strictEqual(place.state.run.iteration - old.run.iteration, isOwn ? steps : 0)
      }
    }
  })

  describe("tells how a run goes", () => {
    it("begins with what a user said", () => {
      const state = after(started("Where is my order?"))
      assert.deepStrictEqual(AgentState.next(state), { _tag: "AskModel" })
      assert.strictEqual(state.initialQuery, "Where is my order?")
      assert.strictEqual(Conversation.lastUserText(state.conversation), "Where is my order?")
      assert.strictEqual(state.run.startedAt, 1000)
    })

    it("ends with an answer", () => {
      const state = after(
        started("Hi"),
        responded(said("Hello.")),
        events.RunCompleted.make({
          ...here,
          at: 1500,
          state: AgentState.make("desk")
        })
      )
      assert.deepStrictEqual(AgentState.next(state), { _tag: "Stop" })
      assert.strictEqual(AgentState.text(state), "Hello.")
      assert.strictEqual(state.steps, 1)
      assert.strictEqual(state.run.elapsed, 500)
      assert.strictEqual(Usage.exact(state.usage.input), 10)
      assert.strictEqual(Usage.exact(state.usage.cached), undefined)
    })

    it("ends where a condition finished it before an answer, but not before what it waits for", () => {
      const completed = events.RunCompleted.make({ ...here, state: AgentState.make("desk") })
      assert.deepStrictEqual(after(started("Hi"), completed).status, AgentStatus.complete)
      assert.deepStrictEqual(
        after(started("Hi"), responded([call("a")]), completed).status,
        AgentStatus.waitingForTools
      )
    })

    it("runs calls, and asks the model once all are settled", () => {
      const asked = after(started("Hi"), responded([...said("I look."), call("a"), call("b")]))
      assert.deepStrictEqual(AgentState.next(asked), { _tag: "RunCalls", callIds: ["a", "b"] })
      const half = AgentState.reduce(asked, settled("b"))
      assert.deepStrictEqual(AgentState.next(half), { _tag: "RunCalls", callIds: ["a"] })
      assert.deepStrictEqual(AgentState.next(AgentState.reduce(half, settled("a"))), { _tag: "AskModel" })
    })

    it("stops where a call awaits approval, and goes on once it has it", () => {
      const asked = after(
        started("Hi"),
        responded([call("a")]),
        events.ApprovalRequested.make({ ...here, callId: "a", name: "search", params: {} })
      )
      assert.deepStrictEqual(AgentState.next(asked), { _tag: "Await" })
      const approved = Result.getOrThrow(AgentState.approve(asked, "a"))
      assert.deepStrictEqual(AgentState.next(approved), { _tag: "RunCalls", callIds: ["a"] })
      assert.deepStrictEqual(AgentState.next(AgentState.reduce(approved, settled("a"))), { _tag: "AskModel" })
    })

    it("ends with what a provider's own tool found", () => {
      const web: Conversation.Call = {
        ...call("web", { _tag: "Settled", outcome: "Succeeded", result: [] }),
        providerExecuted: true
      }
      assert.deepStrictEqual(after(started("Hi"), responded([web, ...said("Found.")])).status, AgentStatus.complete)
    })

    it("asks again where a provider paused", () => {
      const paused = events.ModelResponded.make({ ...here, parts: said("…"), usage: {}, finishReason: "pause" })
      assert.deepStrictEqual(AgentState.next(after(started("Hi"), paused)), { _tag: "AskModel" })
    })

    it("asks again with what Troupe had to say", () => {
      const state = after(
        started("Hi"),
        responded(said("Hello.")),
        events.FeedbackGiven.make({ ...here, text: "Answer in JSON." })
      )
      assert.deepStrictEqual(AgentState.next(state), { _tag: "AskModel" })
      assert.strictEqual(state.run.corrections, 1)
      assert.strictEqual(Conversation.lastUserText(state.conversation), "Hi")
    })

    it("sends an answer back from the moment that it holds it", () => {
      const refused = events.ModelResponded.make({
        ...here,
        parts: said("Hello."),
        usage: {},
        finishReason: "stop",
        feedback: "In JSON."
      })
      const state = after(started("Hi"), refused)
      assert.deepStrictEqual(AgentState.next(state), { _tag: "AskModel" })
      assert.deepStrictEqual(state.conversation.turns[2], { _tag: "Feedback", text: "In JSON." })
      assert.strictEqual(state.run.corrections, 1)
    })

    it("lets a user speak while a call is open", () => {
      const state = after(started("Hi"), responded([call("a")]), started("Hurry"))
      assert.deepStrictEqual(AgentState.next(state), { _tag: "RunCalls", callIds: ["a"] })
      assert.deepStrictEqual(AgentState.next(AgentState.reduce(state, settled("a"))), { _tag: "AskModel" })
    })

    it("keeps the first question, and counts the next run anew", () => {
      const state = after(started("One"), responded(said("1")), started("Two"), responded(said("2")))
      assert.strictEqual(state.initialQuery, "One")
      assert.strictEqual(state.steps, 2)
      assert.strictEqual(state.run.steps, 1)
      assert.strictEqual(state.usage.requests, 2)
      assert.strictEqual(state.run.usage.requests, 1)
    })

    it("goes on with a run that was stopped, its time before that kept", () => {
      const stopped = after(
        started("Hi"),
        responded([call("a")]),
        events.RunInterrupted.make({ ...here, at: 1300, state: AgentState.make("desk") }),
        events.RunStarted.make({ ...here, at: 9000 }),
        settled("a"),
        events.RunInterrupted.make({ ...here, at: 9200, state: AgentState.make("desk") })
      )
      assert.strictEqual(stopped.run.elapsed, 500)
      assert.strictEqual(stopped.run.steps, 1)
      assert.deepStrictEqual(AgentState.next(stopped), { _tag: "AskModel" })
    })

    it("ends with an error, and goes on where it was when it is reopened", () => {
      const error = { tag: "StepLimitReached", message: "too long", agent: "desk", step: 1 }
      const failed = after(
        started("Hi"),
        responded([call("a")]),
        events.RunFailed.make({ ...here, error, state: AgentState.make("desk") })
      )
      assert.deepStrictEqual(failed.status, { _tag: "Failed", error })
      assert.deepStrictEqual(AgentState.next(failed), { _tag: "Stop" })
      const reopened = AgentState.reopen(failed)
      assert.deepStrictEqual(AgentState.next(reopened), { _tag: "RunCalls", callIds: ["a"] })
      assert.strictEqual(AgentState.reopen(reopened), reopened)
    })
  })

  describe("follows the agents that were called", () => {
    const called = [started("Hi"), responded([call("ask"), call("other")]), started("An invoice", inBilling)]

    it("makes their state when their run starts", () => {
      const state = after(...called)
      assert.deepStrictEqual(places(state).map((place) => place.path.join("/")), ["desk", "desk/billing"])
      assert.strictEqual(places(state)[1]?.state.initialQuery, "An invoice")
      assert.deepStrictEqual(AgentState.next(state), { _tag: "RunCalls", callIds: ["ask", "other"] })
    })

    it("counts what they use up the path, three deep", () => {
      const state = after(
        ...called,
        responded([call("check")], inBilling),
        started("A transfer", inBank),
        responded([call("deep")], inBank)
      )
      assert.deepStrictEqual(
        places(state).map(({ state }) => [state.agent, state.steps, state.run.iteration, state.usage.requests]),
        [["desk", 3, 1, 3], ["billing", 2, 1, 2], ["bank", 1, 1, 1]]
      )
    })

    it("settles their calls, then the call that they answer", () => {
      const inside = after(...called, responded([call("check")], inBilling), settled("check", inBilling))
      assert.deepStrictEqual(places(inside)[1]?.state.status, AgentStatus.inProgress)
      assert.strictEqual(stateOf(inside, "ask")?._tag, "Delegated")
      const answered = AgentState.reduce(inside, settled("ask"))
      assert.deepStrictEqual(stateOf(answered, "ask"), { _tag: "Settled", outcome: "Succeeded", result: "found" })
    })

    it("keeps them when the run stops in them", () => {
      const state = after(
        ...called,
        responded([call("check")], inBilling),
        events.ApprovalRequested.make({ ...inBilling, callId: "check", name: "search", params: {} }),
        events.ToolCallSuspended.make({ ...here, callId: "ask", name: "search" }),
        settled("other")
      )
      assert.deepStrictEqual(AgentState.next(state), { _tag: "Await" })
      assert.deepStrictEqual(AgentState.pendingApprovals(state).map((pending) => pending.callId), ["check"])
    })
  })

  describe("leaves a state alone where an event doesn't fit", () => {
    const asked = after(started("Hi"), responded([call("a"), call("b")]), settled("a"))

    it.each<[string, AgentEvent.AgentEvent]>([
      ["a second result", settled("a")],
      ["a result of no call", settled("none")],
      [
        "an approval for a call that is settled",
        events.ApprovalRequested.make({ ...here, callId: "a", name: "", params: {} })
      ],
      ["an event of an agent that wasn't called", responded(said("Hi"), inBilling)],
      ["an event of an agent whose run didn't start", responded(said("Hi"), { ...inBilling, calls: ["b"] })],
      ["a run in a call that is settled", started("Hi", { ...inBilling, calls: ["a"] })]
    ])("%s", (_what, event) => {
      assert.strictEqual(AgentState.reduce(asked, event), asked)
    })

    it("a call that was approved doesn't wait again", () => {
      const request = events.ApprovalRequested.make({ ...here, callId: "b", name: "search", params: {} })
      const approved = Result.getOrThrow(AgentState.approve(AgentState.reduce(asked, request), "b"))
      assert.strictEqual(AgentState.reduce(approved, request), approved)
    })

    it("an agent that was called isn't forgotten for an approval", () => {
      const called = AgentState.reduce(asked, started("Hi", { ...inBilling, calls: ["b"] }))
      const request = events.ApprovalRequested.make({ ...here, callId: "b", name: "search", params: {} })
      assert.strictEqual(AgentState.reduce(called, request), called)
    })

    it("a call whose result comes later waits once, and takes one result", () => {
      const waits = events.ResultAwaited.make({ ...here, callId: "b", name: "search", params: {} })
      const given = events.ResultGiven.make({ ...here, callId: "b", name: "search", outcome: "Succeeded", result: 1 })
      assert.strictEqual(AgentState.reduce(asked, given), asked)
      const waiting = AgentState.reduce(asked, waits)
      assert.deepStrictEqual(stateOf(waiting, "b"), { _tag: "AwaitingResult" })
      assert.strictEqual(AgentState.reduce(waiting, waits), waiting)
      assert.strictEqual(AgentState.reduce(waiting, started("Hi", { ...inBilling, calls: ["b"] })), waiting)
      const answered = AgentState.reduce(waiting, given)
      assert.strictEqual(AgentState.reduce(answered, { ...given, result: 2 }), answered)
      assert.strictEqual(AgentState.reduce(answered, waits), answered)
      assert.strictEqual(AgentState.reduce(answered, started("Hi", { ...inBilling, calls: ["b"] })), answered)
    })

    it("no agent answers a call that waits for approval", () => {
      const request = events.ApprovalRequested.make({ ...here, callId: "b", name: "search", params: {} })
      const waiting = AgentState.reduce(asked, request)
      assert.strictEqual(AgentState.reduce(waiting, started("Hi", { ...inBilling, calls: ["b"] })), waiting)
    })
  })

  describe("makes the moves that are listed, and no other", () => {
    /** Every state of a story, which makes no other move. */
    const told = (...events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<AgentStatus.AgentStatus["_tag"]> => {
      const states = events.map((_, at) => after(...events.slice(0, at + 1)))
      assert.deepStrictEqual(Laws.illegalMoves([AgentState.make("desk"), ...states]), [])
      return states.map(({ status }) => status._tag)
    }
    const fork = { ...here, name: "aside", stack: ["aside"], params: {} }

    it("waits for a tool that a program invokes behind an answer", () => {
      const invoked = events.ToolInvoked.make({ ...here, callId: "c", name: "search", params: {} })
      assert.deepStrictEqual(told(started("Hi"), responded(said("Hello.")), invoked), [
        "InProgress",
        "Complete",
        "WaitingForTools"
      ])
    })

    it("has its answer where a fork is left whose call waits for approval", () => {
      const request = events.ApprovalRequested.make({ ...here, callId: "a", name: "search", params: {} })
      assert.deepStrictEqual(
        told(
          started("Hi"),
          responded(said("Hello.")),
          events.ModeEntering.make({ ...fork, isolation: "fork" }),
          started("Aside"),
          responded([call("a")]),
          request,
          events.ModeExited.make({ ...fork, stack: [], duration: 0 })
        ),
        ["InProgress", "Complete", "Complete", "InProgress", "WaitingForTools", "WaitingForTools", "Complete"]
      )
    })

    it("fails behind an answer, and asks for its model again", () => {
      const error = { tag: "OutputInvalid", message: "", agent: "desk", step: 0 }
      const failed = events.RunFailed.make({ ...here, error, state: AgentState.make("desk") })
      const reopened = events.RunStarted.make({ ...here, isReopened: true })
      assert.deepStrictEqual(told(started("Hi"), responded(said("Hello.")), failed, reopened), [
        "InProgress",
        "Complete",
        "Failed",
        "Complete"
      ])
    })

    it("leaves out an event that would make another", () => {
      const requested = after(
        started("Hi"),
        responded([call("a")]),
        events.HandoffRequested.make({ ...here, request: { target: "other", callId: "a" } })
      )
      assert.strictEqual(AgentState.reduce(requested, responded(said("Hello."))), requested)
      const error = { tag: "Defect", message: "", agent: "desk", step: 0 }
      const failed = after(started("Hi"), events.RunFailed.make({ ...here, error, state: AgentState.make("desk") }))
      const request = events.HandoffRequested.make({ ...here, request: { target: "other" } })
      assert.strictEqual(AgentState.reduce(failed, request), failed)
    })
  })

  it("keeps the first call that ends its run until the run has ended, is begun anew or goes on by hand", () => {
    const fatal = { tag: "Refused", message: "no money" }
    const fails = (callId: string, fatal: Fields<"ToolCallSettled">["fatal"]) =>
      events.ToolCallSettled.make({
        ...here,
        callId,
        name: "search",
        outcome: "Failed",
        result: "no",
        duration: 0,
        ...(fatal === undefined ? undefined : { fatal })
      })
    const open = after(started("Hi"), responded([call("a"), call("b")]), fails("a", fatal))
    assert.deepStrictEqual(open.run.fatal, { callId: "a", name: "search", reason: fatal })
    assert.deepStrictEqual(AgentState.next(open), { _tag: "RunCalls", callIds: ["b"] })
    const both = AgentState.reduce(open, fails("b", { guardrail: "g", reason: "no" }))
    assert.strictEqual(both.run.fatal, open.run.fatal)
    assert.deepStrictEqual(AgentState.next(both), { _tag: "FailRun", fatal: open.run.fatal! })
    assert.deepStrictEqual(Result.getOrThrow(AgentState.fromJson(AgentState.toJson(both))), both)
    // It is of no call that was settled before.
    assert.strictEqual(AgentState.reduce(both, fails("a", fatal)), both)
    const error = { ...fatal, agent: "desk", step: 0 }
    const failed = AgentState.reduce(both, events.RunFailed.make({ ...here, error, state: both }))
    assert.isUndefined(failed.run.fatal)
    assert.strictEqual(AgentState.next(failed)._tag, "Stop")
    for (
      const on of [
        AgentState.reopen({ ...both, status: failed.status }),
        AgentState.reopen(failed),
        AgentState.reduce(both, started("And now?")),
        AgentState.ask(both, "And now?", 0)
      ]
    ) assert.strictEqual(AgentState.next(on)._tag, "AskModel")
    const invoked = AgentState.reduce(
      both,
      events.ToolInvoked.make({ ...here, callId: "c", name: "search", params: {} })
    )
    assert.strictEqual(AgentState.next(invoked)._tag, "RunCalls")
    assert.isUndefined(invoked.run.fatal)
  })

  it("ends by hand where a step had all that it wanted", () => {
    const ends = events.StepCompleted.make({ ...here, endsRun: true })
    assert.deepStrictEqual(after(started("Hi"), ends).status, AgentStatus.complete)
    const waiting = after(started("Hi"), responded([call("a")]))
    assert.strictEqual(AgentState.reduce(waiting, ends), waiting)
  })

  it("gives calls ids of their own where an answer repeats them", () => {
    const state = after(started("Hi"), responded([call("a"), call("a")]), settled("a"), responded([call("a")]))
    assert.deepStrictEqual(Conversation.callIds(state.conversation), ["a", "a-2", "a-3"])
  })
})

describe("AgentState", () => {
  it("begins with nothing but a name", () => {
    const state = AgentState.make("desk", { systemMessage: "The customer is called Ada." })
    assert.strictEqual(state.systemMessage, "The customer is called Ada.")
    assert.deepStrictEqual(state.conversation, Conversation.empty)
    assert.deepStrictEqual(state.usage, Usage.empty)
    assert.deepStrictEqual(state.trail, ["desk"])
    assert.strictEqual(AgentState.text(state), "")
    assert.deepStrictEqual(AgentState.next(state), { _tag: "AskModel" })
  })

  it("logs lines in their order", () => {
    const state = deepFreeze(AgentState.make("desk"))
    assert.deepStrictEqual(AgentState.log(AgentState.log("two")(AgentState.log(state, "one")), "three").logs, [
      "one",
      "two",
      "three"
    ])
  })

  it.prop("is reopened only where a run ended, to where its conversation stands", [state], ([state]) => {
    const reopened = AgentState.reopen(state)
    if (!AgentStatus.isTerminal(state.status)) assert.strictEqual(reopened, state)
    else {
      assert.strictEqual(reopened.status._tag === "WaitingForTools", Conversation.hasOpenCalls(state.conversation))
      assert.strictEqual(reopened.conversation, state.conversation)
      assert.notStrictEqual(reopened.status._tag, "Failed")
    }
  })
})
