import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, type Schema } from "effect"
import { AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
import type { Adjustment } from "../../src/domain/Adjustment.ts"
import { type Isolation, levels } from "../../src/domain/Isolation.ts"
import * as ModeStack from "../../src/domain/ModeStack.ts"
import * as ModeTransition from "../../src/domain/ModeTransition.ts"
import type { Settings } from "../../src/domain/Settings.ts"
import { times } from "../matrix.ts"
import { below } from "./arbitraries.ts"
import { deepFreeze, problems } from "./legal.ts"

const events = AgentEvent.AgentEvent.cases
const here = { path: ["desk"] as const, calls: [], step: 0, sequence: 0, at: 1000 }

const entering = (name: string, isolation: Isolation, params: Schema.Json = null, at = 1000) =>
  events.ModeEntering.make({ ...here, at, name, stack: [name], params, isolation })
/** A mode is left between runs, or with a note in a run that goes on. */
const exited = (name: string, note?: string) =>
  events.ModeExited.make({
    ...here,
    name,
    stack: [],
    params: null,
    duration: 0,
    ...(note === undefined ? undefined : { note })
  })
const entered = (name: string, note: string) =>
  events.ModeEntered.make({ ...here, name, stack: [name], params: null, duration: 0, note })
const failed = (name: string, phase: "SetUp" | "Body" | "CleanUp" = "SetUp") =>
  events.ModeFailed.make({ ...here, name, stack: [name], params: null, phase, tag: "Oops", message: "no" })
const requested = (transition: ModeTransition.ModeTransition) =>
  events.ModeTransitionRequested.make({ ...here, transition })

const adjusted = (adjustment: Adjustment) => events.StateAdjusted.make({ ...here, adjustment })
const set = (key: string, value: Schema.Json) => adjusted({ _tag: "ValueSet", key, value })
const settings = (settings: Settings) => adjusted({ _tag: "SettingsChanged", settings })
const viewed = (...turns: ReadonlyArray<Conversation.Turn>) => adjusted({ _tag: "ViewChanged", turns })
const appended = (text: string, persist?: true) =>
  adjusted({ _tag: "SegmentAdded", segment: { place: "append", text, ...(persist && { persist }) } })

const asked = (text: string) => events.RunStarted.make({ ...here, input: [Conversation.text(text)] })
/** What a mode says in a run of its own, and in the run under way. */
const askedByMode = (text: string, mode = "m") =>
  events.RunStarted.make({ ...here, input: [Conversation.text(text)], mode })
const saidByMode = (text: string, mode = "m") =>
  events.InputGiven.make({ ...here, input: [Conversation.text(text)], mode })
const responded = (parts: ReadonlyArray<Conversation.AssistantPart>) =>
  events.ModelResponded.make({ ...here, parts, usage: {}, finishReason: "stop" })
const answered = (text: string) => responded([Conversation.text(text)])
const called = (...ids: ReadonlyArray<string>) => responded(ids.map((id) => Conversation.call(id, "look", {})))
const settled = (callId: string) =>
  events.ToolCallSettled.make({ ...here, callId, name: "look", outcome: "Succeeded", result: "found", duration: 0 })

const throughJson = (state: AgentState.AgentState) => Result.getOrThrow(AgentState.fromJson(AgentState.toJson(state)))

/** Takes an event into a state that is legal, and sees that it stays so and survives JSON. */
const take = (self: AgentState.AgentState, event: AgentEvent.AgentEvent): AgentState.AgentState => {
  const next = deepFreeze(AgentState.reduce(self, deepFreeze(event)))
  assert.deepStrictEqual(problems(next.conversation), [])
  assert.deepStrictEqual(throughJson(next), next)
  return next
}

const empty = deepFreeze(AgentState.make("desk"))
const from = (state: AgentState.AgentState, ...events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.reduce(take, state)
const after = (...events: ReadonlyArray<AgentEvent.AgentEvent>) => from(empty, ...events)

/** The turns of a state in short: texts, and calls with where they stand. */
const turns = ({ conversation }: AgentState.AgentState): ReadonlyArray<string> =>
  conversation.turns.map((turn) =>
    turn._tag !== "Assistant" || Conversation.callsOf(turn).length === 0
      ? Conversation.textOf(turn)
      : Conversation.callsOf(turn).map(({ id, state }) => `${id}:${state._tag}`).join()
  )

const texts = ({ prompt }: AgentState.AgentState) => prompt.map(({ text }) => text)

describe("A mode of each isolation", () => {
  const before = after(asked("Q1"), answered("A1"), settings({ model: "small" }))
  const inside = (isolation: Isolation) =>
    from(
      before,
      entering("m", isolation, { topic: "x" }),
      asked("Q2"),
      answered("A2"),
      settings({ model: "large", tools: ["look"] }),
      appended("scoped"),
      appended("kept", true),
      set("found", 1)
    )

  it.each(levels.map((isolation) => [isolation] as const))(
    "shows all that was said, and what is new: %s",
    (isolation) => {
      assert.deepStrictEqual(turns(inside(isolation)), ["Q1", "A1", "Q2", "A2"])
      assert.deepStrictEqual(inside(isolation).settings, { model: "large", tools: ["look"] })
      assert.deepStrictEqual(ModeStack.values(inside(isolation)), { topic: "x", found: 1 })
    }
  )

  it.each<[Isolation, ReadonlyArray<string>]>([
    ["none", ["Q1", "A1", "Q2", "A2"]],
    ["config", ["Q1", "A1", "Q2", "A2"]],
    ["thread", ["Q1", "A1", "Q2", "A2"]],
    ["fork", ["Q1", "A1"]]
  ])("leaves of what is new, once it is left: %s", (isolation, kept) => {
    assert.deepStrictEqual(turns(from(inside(isolation), exited("m"))), kept)
  })

  it.each<[Isolation, Settings]>([
    ["none", { model: "large", tools: ["look"] }],
    ["config", { model: "small" }],
    ["thread", { model: "large", tools: ["look"] }],
    ["fork", { model: "small" }]
  ])("leaves of the settings, once it is left: %s", (isolation, kept) => {
    assert.deepStrictEqual(from(inside(isolation), exited("m")).settings, kept)
    const unset = after(entering("m", isolation), settings({ model: "large" }), exited("m"))
    const stays = isolation === "none" || isolation === "thread"
    assert.deepStrictEqual(unset.settings, stays ? { model: "large" } : undefined)
  })

  it.each<[Isolation, ReadonlyArray<string>]>([
    ["none", ["kept"]],
    ["config", ["kept"]],
    ["thread", ["kept"]],
    ["fork", []]
  ])("leaves of the prompt, once it is left: %s", (isolation, kept) => {
    const left = from(inside(isolation), exited("m"))
    assert.deepStrictEqual(texts(left), kept)
    for (const segment of left.prompt) assert.notProperty(segment, "mode")
  })

  it.each<[Isolation, Schema.Json | undefined]>([
    ["none", "outer"],
    ["config", "outer"],
    ["thread", "outer"],
    ["fork", undefined]
  ])("reads of the values around it: %s", (isolation, read) => {
    const state = after(entering("o", "none", { a: "outer" }), entering("m", isolation))
    assert.strictEqual(ModeStack.value(state, "a"), read)
    assert.deepStrictEqual(ModeStack.values(state), read === undefined ? {} : { a: read })
  })

  it.each<[Isolation, ReadonlyArray<string>, ReadonlyArray<string>]>([
    ["none", ["Q1", "A1", "Q2"], ["Q1", "A1", "Q2"]],
    ["config", ["Q1", "A1", "Q2"], ["Q1", "A1", "Q2"]],
    ["thread", ["edited", "Q2"], ["Q1", "A1", "Q2"]],
    ["fork", ["edited", "Q2"], ["Q1", "A1"]]
  ])("has a view or none, and what is behind it comes back: %s", (isolation, seen, left) => {
    const state = from(before, entering("m", isolation), viewed(Conversation.user("edited")), asked("Q2"))
    assert.deepStrictEqual(turns(state), seen)
    assert.deepStrictEqual(turns(from(state, exited("m"))), left)
  })

  it("can't be inside of one that is more isolated", () => {
    for (const [outer, around] of levels.entries()) {
      for (const [inner, isolation] of levels.entries()) {
        const state = after(entering("o", around))
        const next = take(state, entering("i", isolation))
        if (inner < outer) assert.strictEqual(next, state)
        else assert.deepStrictEqual(ModeStack.names(next), ["o", "i"])
      }
    }
  })
})

describe("Modes", () => {
  it("are left the innermost first, also those of one name", () => {
    const state = after(
      entering("a", "none", { n: 1 }, 10),
      entering("b", "none"),
      entering("a", "config", { n: 2 }, 30)
    )
    assert.deepStrictEqual(ModeStack.names(state), ["a", "b", "a"])
    assert.deepStrictEqual(state.modes.map(({ enteredAt }) => enteredAt), [10, 1000, 30])
    assert.deepStrictEqual(ModeStack.top(state)?.params, { n: 2 })
    assert.deepStrictEqual(ModeStack.names(from(state, exited("a"))), ["a", "b"])
    assert.deepStrictEqual(from(state, exited("a"), exited("b")).modes, state.modes.slice(0, 1))
  })

  it("stay as they are when one is resumed, is kept, or fails in its body or clean-up", () => {
    const state = after(entering("m", "fork", { a: 1 }), asked("Q"))
    const resumed = { ...entering("m", "fork", { a: 1 }, 5000), isResumed: true } as const
    assert.strictEqual(take(state, resumed), state)
    assert.strictEqual(take(state, { ...failed("m"), isResumed: true }), state)
    assert.strictEqual(take(state, { ...exited("m"), isKept: true }), state)
    assert.strictEqual(take(state, failed("m", "Body")), state)
    assert.strictEqual(take(state, failed("m", "CleanUp")), state)
  })

  it("that aren't there can't be left or undone, nor have values, and the state stays as it is", () => {
    for (const event of [exited("m"), failed("m"), set("a", 1), viewed()]) assert.strictEqual(take(empty, event), empty)
  })

  it("are left and undone by their names alone, and only on top", () => {
    const state = after(entering("a", "none"), entering("b", "fork"))
    for (const name of ["a", "c"]) {
      assert.strictEqual(take(state, exited(name)), state)
      assert.strictEqual(take(state, failed(name)), state)
    }
  })

  it("are in the states of called agents too", () => {
    const inside = { path: ["desk", "clerk"] as const, calls: ["c"] }
    const state = after(
      asked("Q"),
      called("c"),
      { ...asked("inner Q"), ...inside },
      { ...entering("m", "fork"), ...inside },
      { ...answered("inner A"), ...inside }
    )
    assert.deepStrictEqual(state.modes, [])
    const child = (self: AgentState.AgentState) => {
      const call = Conversation.callsOf(Conversation.lastAssistant(self.conversation)!)[0]
      return call?.state._tag === "Delegated" ? call.state.child : assert.fail("not delegated")
    }
    assert.deepStrictEqual(ModeStack.names(child(state)), ["m"])
    const left = child(from(state, { ...exited("m"), ...inside }))
    assert.deepStrictEqual([turns(left), left.modes], [["inner Q"], []])
  })

  it("are told to a model that would find nothing to answer, and to no other", () => {
    const complete = after(asked("Q"), answered("A"), entering("m", "none"))
    assert.deepStrictEqual(turns(from(complete, entered("m", "in m"))), ["Q", "A", "in m"])
    assert.strictEqual(from(complete, entered("m", "in m")).status._tag, "InProgress")
    assert.deepStrictEqual(turns(from(complete, exited("m", "m was left"))), ["Q", "A", "m was left"])
    const waiting = after(asked("Q"), entering("m", "none"))
    assert.strictEqual(take(waiting, entered("m", "in m")), waiting)
    const calling = from(waiting, called("c"))
    assert.strictEqual(take(calling, entered("m", "in m")), calling)
    assert.strictEqual(take(complete, events.ModeEntered.make({ ...entered("m", ""), note: "x" })).logs, complete.logs)
  })

  it("are left without a change of where a run stands, where its conversation is the same", () => {
    const error = { tag: "x", message: "", agent: "desk", step: 0 }
    for (const isolation of levels) {
      const inside = after(asked("Q"), entering("m", isolation))
      const ends = [
        events.RunFailed.make({ ...here, error, state: empty }),
        events.RunCompleted.make({ ...here, state: empty })
      ]
      for (const end of ends) {
        const ended = from(inside, end)
        assert.deepStrictEqual(from(ended, exited("m")).status, ended.status)
      }
    }
  })

  it("are left with a failed run as it is, also where turns that were hidden come back", () => {
    const error = { tag: "x", message: "", agent: "desk", step: 0 }
    const inside = after(asked("Q"), answered("A"), entering("m", "thread"), viewed(), asked("R"))
    const left = from(inside, events.RunFailed.make({ ...here, error, state: empty }), exited("m"))
    assert.deepStrictEqual(turns(left), ["Q", "A", "R"])
    assert.deepStrictEqual(left.status, AgentStatus.failed(error))
  })

  it("aren't told to whom a handoff waits for", () => {
    const request = events.HandoffRequested.make({ ...here, request: { target: "billing" } })
    const state = after(entering("m", "none"), request)
    assert.strictEqual(take(state, entered("m", "in m")), state)
  })

  it("are told where nothing at all is left to answer", () => {
    const fork = after(entering("m", "fork"), askedByMode("note"), called("c"), settled("c"), exited("m", "m was left"))
    assert.deepStrictEqual(turns(fork), ["m was left"])
    const cut = after(asked("Q"), called("c"), settled("c"), entering("m", "thread"), viewed(), entered("m", "in m"))
    assert.deepStrictEqual(turns(cut), ["in m"])
    assert.deepStrictEqual(turns(from(cut, exited("m", "m was left"))), ["Q", "c:Settled", "in m"])
  })

  it("go along when another agent takes over; its settings, and moves that were asked for, don't", () => {
    const state = after(
      appended("of the desk"),
      settings({ model: "small" }),
      asked("Q"),
      entering("m", "fork", { a: 1 }),
      settings({ model: "large" }),
      appended("of the mode"),
      called("h", "l"),
      requested(ModeTransition.exit),
      events.HandoffRequested.make({ ...here, request: { target: "billing", callId: "h" } })
    )
    const request = { target: "billing", callId: "h" }
    const over = from(state, events.HandoffCompleted.make({ ...here, request }))
    assert.deepStrictEqual([over.agent, ModeStack.names(over), ModeStack.value(over, "a")], ["billing", ["m"], 1])
    assert.deepStrictEqual([over.settings, over.transition, texts(over)], [undefined, undefined, ["of the mode"]])
    const left = from(over, exited("m", "left"))
    assert.deepStrictEqual([left.settings, turns(left), left.initialQuery], [undefined, ["Q"], "Q"])
  })

  it("drop what is new since a conversation crossed that is shorter than they found it", () => {
    const request = { target: "billing" }
    const conversation = Conversation.make([Conversation.user("crossed")])
    const over = after(
      asked("Q1"),
      answered("A1"),
      entering("m", "fork"),
      events.HandoffRequested.make({ ...here, request }),
      events.HandoffCompleted.make({ ...here, request, conversation })
    )
    assert.deepStrictEqual(turns(from(over, called("c"), exited("m"))), ["crossed"])
  })

  it("have no view any more of a conversation that didn't cross", () => {
    const request = { target: "billing", callId: "h" }
    const state = after(
      asked("Q1"),
      answered("A1"),
      entering("m", "thread"),
      viewed(Conversation.user("cut")),
      asked("Q2"),
      called("h"),
      events.HandoffRequested.make({ ...here, request })
    )
    const conversation = Conversation.make([Conversation.user("crossed")])
    const over = from(state, events.HandoffCompleted.make({ ...here, request, conversation }))
    assert.deepStrictEqual(turns(from(over, exited("m"))), ["crossed"])
    const whole = from(state, events.HandoffCompleted.make({ ...here, request }))
    assert.deepStrictEqual(turns(whole), ["cut", "Q2", "h:Settled"])
    assert.deepStrictEqual(turns(from(whole, exited("m"))), ["Q1", "A1", "Q2", "h:Settled"])
  })
})

describe("A fork", () => {
  it("isolates an empty history too", () => {
    const left = after(entering("m", "fork"), asked("Q"), answered("A"), exited("m"))
    assert.deepStrictEqual(left.conversation, Conversation.empty)
    assert.deepStrictEqual(left.status, AgentStatus.inProgress)
    assert.notProperty(left, "initialQuery")
  })

  it("gives back the first question, where there was one before", () => {
    const left = after(asked("first"), answered("A"), entering("m", "fork"), asked("second"), exited("m"))
    assert.strictEqual(left.initialQuery, "first")
    const goesOn = after(asked("first"), answered("A"), entering("m", "fork"), asked("second"), exited("m", "left"))
    assert.strictEqual(goesOn.initialQuery, "first")
    assert.strictEqual(after(entering("m", "fork"), asked("Q"), exited("m", "left")).initialQuery, "Q")
  })

  it("keeps the question that the run under way answers, asked inside of it", () => {
    const inside = [entering("m", "fork"), asked("old"), answered("A"), asked("Q"), called("c"), settled("c")]
    assert.deepStrictEqual(turns(after(...inside, exited("m", "left"))), ["Q"])
    assert.deepStrictEqual(turns(after(...inside, answered("A2"), exited("m", "left"))), ["Q"])
    assert.deepStrictEqual(turns(after(...inside, exited("m"))), [])
  })

  it("keeps the question that was asked before it once", () => {
    const left = after(asked("Q"), called("c"), settled("c"), entering("m", "fork"), answered("A"), exited("m", "left"))
    assert.deepStrictEqual(turns(left), ["Q", "c:Settled"])
    assert.strictEqual(AgentState.next(left)._tag, "AskModel")
  })

  it("keeps the words that came while calls were open, inside, before, and both", () => {
    const inside = after(entering("m", "fork"), asked("Q"), called("c"), asked("and hurry"), asked("please"))
    assert.deepStrictEqual(turns(from(inside, exited("m", "left"))), ["Q", "and hurry", "please"])
    const before = after(
      asked("Q"),
      called("c"),
      asked("and hurry"),
      entering("m", "fork"),
      settled("c"),
      answered("A")
    )
    assert.deepStrictEqual(turns(from(before, exited("m", "left"))), ["Q", "c:Settled", "and hurry"])
    const both = after(asked("Q"), called("c"), entering("m", "fork"), asked("and hurry"), settled("c"), answered("A"))
    assert.deepStrictEqual(turns(from(both, exited("m", "left"))), ["Q", "c:Settled", "and hurry"])
  })

  it("keeps no question of an earlier run in its place", () => {
    const state = after(asked("Q1"), called("c"), asked("hurry"), settled("c"), answered("A1"), entering("m", "fork"))
    const left = from(state, asked("Q2"), called("d"), exited("m", "left"))
    assert.deepStrictEqual(turns(left), ["Q1", "c:Settled", "hurry", "A1", "Q2"])
  })

  it("doesn't take what a mode said for a user's question", () => {
    const said = after(entering("m", "fork"), asked("Q"), saidByMode("think"), answered("A"), saidByMode("again"))
    assert.deepStrictEqual(turns(from(said, exited("m", "left"))), ["Q"])
    const ran = after(asked("Q"), answered("A"), entering("m", "fork"), askedByMode("think"), called("c"))
    assert.deepStrictEqual(turns(from(ran, exited("m", "left"))), ["Q", "A", "left"])
    const own = after(entering("m", "fork"), asked("Q"), answered("A"), askedByMode("think"), called("c"))
    assert.deepStrictEqual(turns(from(own, exited("m", "left"))), ["left"])
    assert.strictEqual(after(askedByMode("think")).initialQuery, undefined)
    assert.strictEqual(after(askedByMode("think"), asked("Q")).initialQuery, "Q")
  })

  it("keeps questions out of forks in forks, each where it was asked", () => {
    const state = after(
      asked("Q"),
      entering("o", "fork"),
      called("c"),
      asked("in o"),
      entering("i", "fork"),
      asked("in i"),
      settled("c"),
      answered("A")
    )
    const inner = from(state, exited("i", "left"))
    assert.deepStrictEqual(turns(inner), ["Q", "c:Settled", "in o", "in i"])
    assert.deepStrictEqual(turns(from(inner, exited("o", "left"))), ["Q", "in o", "in i"])
  })

  it("gives back what its view hid", () => {
    const state = after(
      asked("Q1"),
      answered("A1"),
      entering("m", "fork"),
      viewed(Conversation.user("other")),
      asked("Q2")
    )
    assert.deepStrictEqual(turns(state), ["other", "Q2"])
    assert.deepStrictEqual(turns(from(state, exited("m", "left"))), ["Q1", "A1", "Q2"])
    const hidden = after(entering("m", "fork"), asked("Q"), viewed(Conversation.user("other")))
    assert.deepStrictEqual(turns(from(hidden, exited("m", "left"))), ["Q"])
  })
})

describe("A mode that is left in the middle of a turn", () => {
  const request = { target: "billing", callId: "a", reason: "money" }
  const awaiting = events.ApprovalRequested.make({ ...here, callId: "a", name: "look", params: {} })
  const handing = events.HandoffRequested.make({ ...here, request })

  it.each<[string, ReadonlyArray<AgentEvent.AgentEvent>]>([
    ["with open calls", []],
    ["with a call that awaits approval", [awaiting]],
    ["with a handoff that was asked for", [handing]]
  ])("%s leaves a legal state, whatever its isolation", (_what, waiting) => {
    for (const isolation of levels) {
      for (const note of [undefined, "left"]) {
        const inside = after(
          asked("Q0"),
          answered("A0"),
          entering("m", isolation),
          asked("Q"),
          called("a", "b"),
          ...waiting
        )
        const left = from(inside, exited("m", note))
        if (isolation === "fork") assert.isFalse(Conversation.hasOpenCalls(left.conversation))
        else assert.deepStrictEqual([left.conversation, left.status], [inside.conversation, inside.status])
        const undone = from(inside, failed("m"))
        assert.deepStrictEqual(turns(undone), ["Q0", "A0"])
      }
    }
  })

  it("with calls that were open before leaves them open, or settled", () => {
    const open = after(asked("Q"), called("a", "b"), awaiting, entering("m", "fork"))
    assert.deepStrictEqual(turns(from(open, exited("m"))), ["Q", "a:AwaitingApproval,b:Pending"])
    const left = from(open, settled("b"), asked("hurry"), exited("m", "left"))
    assert.deepStrictEqual(turns(left), ["Q", "a:AwaitingApproval,b:Settled", "hurry"])
    assert.strictEqual(left.status._tag, "WaitingForTools")
  })

  it("still hands over, by no call where that was dropped", () => {
    const asks = [asked("Q"), called("a"), handing]
    const inside = after(entering("m", "fork"), ...asks, exited("m", "left"))
    assert.deepStrictEqual(inside.status, AgentStatus.handoffRequested({ target: "billing", reason: "money" }))
    assert.deepStrictEqual(turns(inside), ["Q"])
    const before = after(...asks, entering("m", "thread"), viewed(), exited("m", "left"))
    assert.deepStrictEqual(before.status, AgentStatus.handoffRequested(request))
  })

  it("keeps its open calls through a view", () => {
    const state = after(asked("Q"), called("a"), settled("a"), called("b"), asked("hurry"), entering("m", "thread"))
    const cut = from(state, viewed(Conversation.user("cut")))
    assert.deepStrictEqual(turns(cut), ["cut", "b:Pending", "hurry"])
    assert.strictEqual(cut.status._tag, "WaitingForTools")
    const left = from(cut, settled("b"), answered("A"), exited("m"))
    assert.deepStrictEqual(turns(left), ["Q", "a:Settled", "b:Settled", "hurry", "A"])
  })
})

describe("The view of a thread", () => {
  const before = after(asked("Q1"), answered("A1"), asked("Q2"), answered("A2"), entering("m", "thread"))

  it("may be cut and edited again and again: new turns stay behind the originals", () => {
    const state = from(
      before,
      viewed(Conversation.user("Q2"), Conversation.assistant("desk", "A2")),
      asked("Q3"),
      answered("A3"),
      viewed(Conversation.user("edited Q3")),
      asked("Q4"),
      viewed(),
      asked("Q5"),
      answered("A5")
    )
    assert.deepStrictEqual(turns(state), ["Q5", "A5"])
    assert.deepStrictEqual(turns(from(state, exited("m"))), ["Q1", "A1", "Q2", "A2", "Q3", "A3", "Q4", "Q5", "A5"])
  })

  it("may have more turns than there were", () => {
    const more = ["1", "2", "3", "4", "5"].map((text) => Conversation.user(text))
    const state = from(before, viewed(...more), asked("Q3"))
    assert.deepStrictEqual(turns(state), ["1", "2", "3", "4", "5", "Q3"])
    assert.deepStrictEqual(turns(from(state, exited("m"))), ["Q1", "A1", "Q2", "A2", "Q3"])
  })

  it("is a mode's own: that of a thread in a thread goes first", () => {
    const inner = from(
      before,
      viewed(Conversation.user("outer")),
      asked("Q3"),
      entering("i", "thread"),
      viewed(),
      answered("A3"),
      viewed(Conversation.user("inner"))
    )
    assert.deepStrictEqual(turns(inner), ["inner"])
    const outer = from(inner, asked("Q4"), exited("i"))
    assert.deepStrictEqual(turns(outer), ["outer", "Q3", "A3", "Q4"])
    assert.deepStrictEqual(turns(from(outer, exited("m"))), ["Q1", "A1", "Q2", "A2", "Q3", "A3", "Q4"])
  })

  it("stays what it was through a fork inside", () => {
    const state = from(
      before,
      viewed(Conversation.user("cut")),
      entering("f", "fork"),
      viewed(),
      asked("Q3"),
      answered("A3")
    )
    const left = from(state, exited("f"))
    assert.deepStrictEqual(turns(left), ["cut"])
    assert.deepStrictEqual(turns(from(left, exited("m"))), ["Q1", "A1", "Q2", "A2"])
  })

  it("is made legal: calls are settled, and have ids of their own", () => {
    const turn = Conversation.assistant("desk", [Conversation.call("c", "look", {})])
    const state = from(before, asked("Q3"), called("c"), viewed(turn, turn, Conversation.user("edited")))
    assert.deepStrictEqual(turns(state), ["c-2:Settled", "c-3:Settled", "edited", "c:Pending"])
  })

  it("hides calls whose ids aren't given again", () => {
    const state = after(
      asked("Q"),
      called("c"),
      settled("c"),
      entering("m", "thread"),
      viewed(),
      asked("Q2"),
      called("c")
    )
    const left = from(state, exited("m"))
    assert.strictEqual(new Set(Conversation.callIds(left.conversation)).size, 2)
    assert.deepStrictEqual(turns(state), ["Q2", "c-2:Pending"])
    assert.deepStrictEqual(turns(from(state, settled("c-2"), exited("m"))), ["Q", "c:Settled", "Q2", "c-2:Settled"])
    const hides = after(asked("Q"), called("c"), settled("c"), entering("m", "thread"), viewed())
    assert.deepStrictEqual([turns(hides), ModeStack.allCallIds(hides)], [[], ["c"]])
  })

  it("shares with the conversation after it the turns that weren't edited", () => {
    const left = from(before, viewed(), asked("Q3"), called("c"), settled("c"), exited("m"))
    before.conversation.turns.forEach((turn, at) => assert.strictEqual(left.conversation.turns[at], turn))
  })
})

describe("A set-up that failed", () => {
  const before = after(
    asked("Q"),
    answered("A"),
    settings({ model: "small" }),
    entering("o", "none", { a: 1 }),
    appended("outer"),
    requested(ModeTransition.push("later"))
  )

  it.each(levels.map((isolation) => [isolation] as const))("is undone whole: %s", (isolation) => {
    const state = from(
      before,
      entering("m", isolation, { a: 2 }),
      set("b", 3),
      settings({ model: "large" }),
      appended("scoped"),
      appended("kept", true),
      askedByMode("Set up"),
      answered("Done"),
      entering("i", isolation),
      appended("kept from inside", true),
      exited("i"),
      viewed(Conversation.user("cut")),
      requested(ModeTransition.switch("elsewhere")),
      failed("m")
    )
    const { modes, run: _, steps: _steps, usage, ...rest } = state
    const { modes: _modes, run: _run, steps, usage: _usage, ...expected } = before
    assert.deepStrictEqual(rest, expected)
    assert.deepStrictEqual(modes.map(({ name, values }) => [name, values]), [["o", { a: 1 }]])
    assert.deepStrictEqual([steps, state.steps, usage.requests], [1, 2, 2])
  })

  it("is undone in an empty conversation too", () => {
    const { initialQuery, conversation } = after(entering("m", "none"), asked("Q"), answered("A"), failed("m"))
    assert.deepStrictEqual([initialQuery, conversation.turns], [undefined, []])
  })
})

describe("Values", () => {
  const state = after(
    entering("a", "none", { x: 1, y: 1 }),
    entering("b", "none", { y: 2 }),
    set("z", [1, { deep: true }])
  )

  it("fall through to the modes around, and inner ones hide outer ones", () => {
    assert.deepStrictEqual(["x", "y", "z", "none"].map((key) => ModeStack.value(state, key)), [
      1,
      2,
      [1, { deep: true }],
      undefined
    ])
    assert.deepStrictEqual(ModeStack.values(state), { x: 1, y: 2, z: [1, { deep: true }] })
  })

  it("are written to the innermost mode, and what they hid comes back", () => {
    const written = from(state, set("x", "inner"))
    assert.strictEqual(ModeStack.value(written, "x"), "inner")
    assert.deepStrictEqual(ModeStack.values(from(written, exited("b"))), { x: 1, y: 1 })
    assert.deepStrictEqual(ModeStack.values(from(written, exited("b"), exited("a"))), {})
  })

  it("that are null hide too", () => {
    assert.strictEqual(ModeStack.value(from(state, set("x", null)), "x"), null)
  })

  it("don't cross a fork, in either direction", () => {
    const fork = from(state, entering("f", "fork", { own: 1 }), entering("g", "fork", { inner: 1 }))
    assert.deepStrictEqual(ModeStack.values(fork), { inner: 1 })
    assert.strictEqual(ModeStack.value(fork, "own"), undefined)
    const around = from(fork, exited("g"))
    assert.deepStrictEqual(ModeStack.values(around), { own: 1 })
    assert.deepStrictEqual(ModeStack.values(from(around, set("x", 9), exited("f"))), ModeStack.values(state))
  })

  it("begin with the parameters, where those have keys", () => {
    for (const params of ["text", ["list"], null, 5]) {
      assert.deepStrictEqual(ModeStack.values(after(entering("m", "none", params))), {})
      assert.deepStrictEqual(ModeStack.top(after(entering("m", "none", params)))?.params, params)
    }
    const hidden = after(entering("m", "none", { a: 1 }), set("a", 2))
    assert.deepStrictEqual([hidden.modes[0]?.params, hidden.modes[0]?.values], [{ a: 1 }, { a: 2 }])
  })

  it("may have any key", () => {
    const odd = after(entering("m", "none", JSON.parse(`{"__proto__":1}`)), set("toString", 2), entering("i", "none"))
    assert.deepStrictEqual(["__proto__", "toString", "constructor"].map((key) => ModeStack.value(odd, key)), [
      1,
      2,
      undefined
    ])
    assert.deepStrictEqual(Object.keys(ModeStack.values(odd)), ["__proto__", "toString"])
  })
})

describe("A move that is asked for", () => {
  const two = after(entering("a", "none"), entering("b", "none"))

  it.each<[string, ModeTransition.ModeTransition, ModeTransition.Pending | undefined]>([
    ["a switch leaves the mode on top", ModeTransition.switch("c", { n: 1 }), {
      to: 1,
      enter: { name: "c", params: { n: 1 } }
    }],
    ["a push leaves none, and has no height", ModeTransition.push("c"), { enter: { name: "c" } }],
    ["an exit leaves the mode on top", ModeTransition.exit, { to: 1 }],
    ["staying is no move", ModeTransition.stay, undefined]
  ])("%s", (_what, transition, pending) => {
    assert.deepStrictEqual(take(two, requested(transition)).transition, pending)
  })

  it("goes no further down than the bottom", () => {
    assert.deepStrictEqual(after(requested(ModeTransition.switch("c"))).transition, { to: 0, enter: { name: "c" } })
    assert.strictEqual(after(requested(ModeTransition.exit)).transition, undefined)
  })

  it("is the latest, and staying takes it back", () => {
    const state = from(two, requested(ModeTransition.push("c")), requested(ModeTransition.switch("d")))
    assert.deepStrictEqual(state.transition, { to: 1, enter: { name: "d" } })
    assert.notProperty(from(state, requested(ModeTransition.stay)), "transition")
  })

  it("is done once the mode is entered in its place", () => {
    const pushed = from(two, requested(ModeTransition.push("c")), entering("c", "none"))
    assert.notProperty(pushed, "transition")
    const higher = from(two, requested(ModeTransition.push("c")), entering("d", "none"), entering("c", "none"))
    assert.notProperty(higher, "transition")
    const switched = from(two, requested(ModeTransition.switch("c")), exited("b"))
    assert.deepStrictEqual(switched.transition, { to: 1, enter: { name: "c" } })
    assert.notProperty(from(switched, entering("c", "none")), "transition")
    assert.notProperty(from(two, requested(ModeTransition.exit), exited("b")), "transition")
  })

  it("isn't done by another mode, or by the mode elsewhere", () => {
    const asks = requested(ModeTransition.switch("c"))
    for (const name of ["c", "d"]) {
      assert.deepStrictEqual(from(two, asks, entering(name, "none")).transition, { to: 1, enter: { name: "c" } })
    }
  })

  it("is dropped when its place is gone", () => {
    assert.notProperty(from(two, requested(ModeTransition.switch("c")), exited("b"), exited("a")), "transition")
    const exit = from(two, requested(ModeTransition.exit), exited("b"))
    assert.notProperty(from(exit, exited("a")), "transition")
  })

  it("on top stays whatever is entered and left", () => {
    const asks = requested(ModeTransition.push("c"))
    for (const events of [[exited("b")], [exited("b"), exited("a")], [entering("d", "none")]]) {
      assert.deepStrictEqual(from(two, asks, ...events).transition, { enter: { name: "c" } })
    }
  })

  it("comes back with the set-up that failed, unless it was to that", () => {
    const asks = requested(ModeTransition.push("c"))
    assert.notProperty(from(two, asks, entering("c", "none"), failed("c")), "transition")
    const taken = from(two, asks, entering("x", "none"), requested(ModeTransition.stay))
    assert.notProperty(taken, "transition")
    assert.deepStrictEqual(from(taken, failed("x")).transition, { enter: { name: "c" } })
  })
})

describe("A state in modes, read from JSON", () => {
  const state = after(
    entering("a", "thread", { a: 1 }),
    appended("x"),
    entering("b", "fork"),
    requested(ModeTransition.exit)
  )
  /** Where and why a document isn't read: it is written without its schema, which would refuse it too. */
  const issueOf = ({ modes, prompt, transition }: AgentState.AgentState) => {
    const document: object = JSON.parse(JSON.stringify(AgentState.toJson(state)))
    const error = Result.getOrThrow(Result.flip(AgentState.fromJson({ ...document, modes, prompt, transition })))
    return error._tag === "MalformedState" ? [error.path.join("/"), error.issue] : assert.fail(error.message)
  }

  it("can't have a mode that is less isolated than the one around it", () => {
    assert.deepStrictEqual(issueOf({ ...state, modes: state.modes.toReversed() }), [
      "modes/1/isolation",
      "Expected a mode at least as isolated as the one around it"
    ])
  })

  it("can't have a segment of a mode that isn't there", () => {
    assert.deepStrictEqual(issueOf({ ...state, prompt: [{ place: "append", text: "x", mode: 2 }] }), [
      "prompt/0/mode",
      "Expected the place of an entered mode"
    ])
    assert.deepStrictEqual(issueOf({ ...state, modes: [] }), ["prompt/0/mode", "Expected the place of an entered mode"])
  })

  it("can't have a move to below the bottom, or a mode without a name", () => {
    assert.strictEqual(issueOf({ ...state, transition: { to: -1 } })[0], "transition/to")
    assert.strictEqual(issueOf({ ...state, transition: { to: 0, enter: { name: "" } } })[0], "transition/enter/name")
    assert.strictEqual(issueOf({ ...state, modes: [{ ...state.modes[0]!, name: "" }] })[0], "modes/0/name")
  })
})

describe("Any way through modes", () => {
  interface Move {
    readonly kind: number
    readonly pick: number
  }

  /** What each move is in the state that it meets. Words, and calls now and then, are numbered. */
  const kinds: ReadonlyArray<
    (self: AgentState.AgentState, pick: number, at: number) => AgentEvent.AgentEvent | undefined
  > = [
    (_, pick) => entering(`m${pick % 3}`, levels[pick % 4]!, pick > 2 ? { [`k${pick}`]: pick } : pick),
    (_, pick) => entering(`m${pick % 3}`, "fork"),
    (self, pick) => exited(ModeStack.top(self)?.name ?? "none", pick > 1 ? "left" : undefined),
    (self) => exited(ModeStack.top(self)?.name ?? "none", "left"),
    (self, pick) => pick > 3 ? failed(ModeStack.top(self)?.name ?? "none") : undefined,
    (self, pick) => pick > 2 ? entered(ModeStack.top(self)?.name ?? "none", "in") : undefined,
    (_, __, at) => asked(`word ${at}`),
    (_, __, at) => asked(`word ${at}`),
    (self, pick, at) =>
      self.modes.length === 0 ? undefined : pick > 2 ? askedByMode(`mode ${at}`) : saidByMode(`mode ${at}`),
    (_, pick, at) => called(`c${pick % 2}`, `d${at}`),
    (_, __, at) => answered(`answer ${at}`),
    (self, pick) => pickOpen(self, pick, (id) => settled(id)),
    (self, pick) => pickOpen(self, pick, (id) => settled(id)),
    (self, pick) =>
      pickOpen(self, pick, (callId) => events.ApprovalRequested.make({ ...here, callId, name: "look", params: {} })),
    (self, pick) =>
      pickOpen(
        self,
        pick,
        (callId) =>
          events.HandoffRequested.make({ ...here, request: { target: "billing", ...(pick > 1 && { callId }) } })
      ),
    (self) =>
      self.status._tag === "HandoffRequested"
        ? events.HandoffCompleted.make({ ...here, request: self.status.request })
        : undefined,
    (_, pick, at) => events.ToolInvoked.make({ ...here, callId: pick > 2 ? "c0" : `e${at}`, name: "look", params: {} }),
    (self, pick) => viewed(...self.conversation.turns.slice(pick)),
    (self, pick) => viewed(...self.conversation.turns.slice(0, pick), Conversation.user("edited")),
    (_, pick) => set(`k${pick}`, pick),
    (_, pick) => settings(pick === 0 ? {} : { model: `model ${pick}` }),
    (_, pick, at) => appended(`segment ${at}`, pick % 2 === 0 ? true : undefined),
    (_, pick) =>
      adjusted({
        _tag: "SegmentAdded",
        segment: { place: "section", name: `s${pick % 2}`, text: `${pick}`, ...(pick > 2 && { persist: true }) }
      }),
    (_, pick) =>
      requested(
        [
          ModeTransition.stay,
          ModeTransition.exit,
          ModeTransition.push("m1"),
          ModeTransition.switch("m2", pick)
        ][pick % 4]!
      ),
    (self) => events.RunCompleted.make({ ...here, state: self }),
    (self, pick) =>
      pick > 3
        ? events.RunFailed.make({ ...here, state: self, error: { tag: "x", message: "", agent: "desk", step: 0 } })
        : undefined
  ]

  const pickOpen = (
    { conversation }: AgentState.AgentState,
    pick: number,
    make: (id: string) => AgentEvent.AgentEvent
  ): AgentEvent.AgentEvent | undefined => {
    const open = Conversation.openCalls(conversation)
    const call = open[pick % Math.max(1, open.length)]
    return call === undefined ? undefined : make(call.id)
  }

  const moves = Arbitrary.array(Arbitrary.all({ kind: below(kinds.length), pick: below(6) }), {
    minLength: 5,
    maxLength: 40
  })

  const walk = (
    moves: ReadonlyArray<Move>,
    onEvent: (event: AgentEvent.AgentEvent, before: AgentState.AgentState, state: AgentState.AgentState) => void
  ): AgentState.AgentState =>
    moves.reduce((self, { kind, pick }, at) => {
      const event = kinds[kind]!(self, pick, at)
      if (event === undefined) return self
      const next = take(self, { ...event, path: [self.agent], at })
      onEvent(event, self, next)
      return next
    }, empty)

  const leaveAll = (self: AgentState.AgentState): AgentState.AgentState => {
    const name = ModeStack.top(self)?.name
    return name === undefined ? self : leaveAll(take(self, exited(name, "left")))
  }

  it.prop("leaves a state that is legal and the same after JSON", [moves], ([moves]) => {
    walk(moves, (_, __, state) => {
      state.modes.forEach(({ isolation }, at) =>
        assert.isAtLeast(levels.indexOf(isolation), levels.indexOf(state.modes[at - 1]?.isolation ?? "none"))
      )
      for (const { mode } of state.prompt) assert.isBelow(mode ?? -1, state.modes.length)
      assert.isAtMost(state.transition?.to ?? 0, state.modes.length)
    })
  }, { arbitrary: { runs: times(120, 40) } })

  it.prop("loses no words of a user that the run under way has to answer", [moves], ([moves]) => {
    let words: ReadonlyArray<string> = []
    const state = walk(moves, (event, before) => {
      const isWaiting = ["WaitingForTools", "HandoffRequested"].includes(before.status._tag)
      if (event._tag === "RunStarted") {
        const word = event.mode === undefined && event.input !== undefined
          ? event.input.map((part) => "text" in part ? part.text : "")
          : []
        words = [...isWaiting ? words : [], ...word]
      }
      // What is left between runs, and a set-up that is undone, take what was said in them along.
      if (event._tag === "ModeFailed" || (event._tag === "ModeExited" && event.note === undefined)) words = []
    })
    const left = turns(leaveAll(state))
    for (const word of words) assert.include(left, word)
  }, { arbitrary: { runs: times(150, 50) } })

  it.prop("comes back to what was before, once a fork is left", [moves], ([moves]) => {
    const before = after(asked("Q"), answered("A"), settings({ model: "small" }), appended("before"))
    const inside = moves.reduce((self, { kind, pick }, at) => {
      const event = kinds[kind]!(self, pick, at)
      if (event === undefined || event._tag === "HandoffCompleted") return self
      if (self.modes.length === 1 && ["ModeExited", "ModeFailed"].includes(event._tag)) return self
      return take(self, { ...event, path: [self.agent], at })
    }, take(before, entering("fork", "fork")))
    const left = inside.modes.reduceRight((self, { name }) => take(self, exited(name)), inside)
    assert.deepStrictEqual(left.conversation, before.conversation)
    assert.deepStrictEqual(left.settings, before.settings)
    assert.deepStrictEqual(left.prompt, before.prompt)
    assert.strictEqual(left.initialQuery, before.initialQuery)
    assert.deepStrictEqual(left.modes, [])
  }, { arbitrary: { runs: times(100, 35) } })
})
