import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema, Stream } from "effect"
import { Agent, AgentEvent, AgentState, Session } from "troupe"
import { type Change, Event, View } from "../../examples/backend/api/Conversations.ts"
import type { Item } from "../../examples/backend/page/items.ts"
import { countOf, place, type Sent } from "../../examples/backend/page/sent.ts"
import { awaiting, catchUp, decided, fromView, type Shown, take } from "../../examples/backend/page/view.ts"
import { activityText } from "../../examples/backend/page/words.ts"
import { withChange } from "../../examples/backend/service/changes.ts"
import { desk, layer as tools } from "../../examples/desk/agents/desk.ts"
import { entering, leaving } from "../../examples/desk/agents/supervision.ts"
import * as Model from "../../examples/desk/model/model.ts"

type ToldEvent = typeof Event.Encoded

const encodeEvent = Schema.encodeSync(Schema.toCodecJson(Event))
const encodeView = Schema.encodeSync(Schema.toCodecJson(View))

/** A conversation as the service would give it. */
const read = (state: AgentState.AgentState, isRunning = false, changes: ReadonlyArray<Change> = []): Shown =>
  fromView(
    encodeView({
      id: "00000000-0000-0000-0000-000000000000",
      title: "",
      createdAt: DateTime.makeUnsafe(0),
      updatedAt: DateTime.makeUnsafe(0),
      isRunning,
      cursor: 0,
      state,
      approvals: AgentState.pendingApprovals(state),
      changes
    }) as typeof View.Encoded
  )

const fresh = AgentState.make("triage")

/** The events of a run as they are streamed, and the state that it ends in. */
const run = (state: AgentState.AgentState, input: string | undefined) =>
  Effect.gen(function*() {
    const events: Array<ToldEvent> = []
    const states = [input === undefined ? state : AgentState.reopen(state)]
    let changes: ReadonlyArray<Change> = []
    let last = state
    const stream = input === undefined ? Agent.stream(desk, state) : Agent.stream(desk, input, { state })
    yield* Stream.runForEach(stream, (event) =>
      Effect.sync(() => {
        if (AgentEvent.isRunEnd(event)) last = event.state
        changes = withChange(changes, event)
        events.push(encodeEvent(event) as ToldEvent)
        states.push(AgentState.reduce(states.at(-1)!, event))
      }))
    return { changes, events, state: last, states }
  }).pipe(Effect.provide(Layer.mergeAll(Model.layer, tools)))

/** What somebody decides of a call, with the event that tells it. */
const decide = (state: AgentState.AgentState, callId: string, decision: "approve" | "deny") =>
  Effect.gen(function*() {
    const events: Array<ToldEvent> = []
    const session = yield* Session.make(desk, { state })
    yield* (decision === "approve" ? session.approve(callId) : session.deny(callId, "too much")).pipe(
      Agent.observe((event) => Effect.sync(() => events.push(encodeEvent(event) as ToldEvent)))
    )
    return { events, state: yield* session.state }
  }).pipe(Effect.scoped, Effect.provide(Layer.mergeAll(Model.layer, tools)))

/** What of it a reload shows too. Why a call was denied isn't shown before. */
const lasting = (shown: Shown) => ({
  agent: shown.agent,
  modes: shown.modes,
  standing: shown.standing,
  items: shown.items.filter(({ kind }) => kind !== "remark").map((item) => {
    const { key: _, ...rest } = item
    return rest.kind === "call" && rest.standing === "Denied" ? { ...rest, result: undefined } : rest
  })
})

const brief = (item: Item): string => {
  switch (item.kind) {
    case "said":
      return `> ${item.text}`
    case "answer":
      return `${item.agent}: ${item.text.slice(0, 24)}${item.isOpen ? "…" : ""}`
    case "call":
      return `${item.name} ${item.standing}`
    case "handoff":
      return `${item.from} → ${item.to}`
    case "remark":
      return `! ${item.text}`
  }
}

const words = "My card is 4111 1111 1111 1111, and I want my money back for the cracked floor lamp, order 1047"

describe("what wasn't sent", () => {
  const said = (key: string): Item => ({ kind: "said", key, text: key })
  const remark: Item = { kind: "remark", key: "remark", text: "a limit" }
  const sent = (key: string, after: number, isFailed = true): Sent => ({
    kind: "sent",
    key,
    text: key,
    isFailed,
    after
  })
  const placed = (items: ReadonlyArray<Item>, ...sent: ReadonlyArray<Sent>) => place(items, sent).map(({ key }) => key)

  it("stands where it was said, and what is being sent at the end", () => {
    const items = [said("a"), said("b"), remark, said("c")]
    assert.strictEqual(countOf(items), 3)
    assert.deepStrictEqual(placed(items, sent("x", 0), sent("y", 2), sent("z", 1, false)), [
      "x",
      "a",
      "b",
      "remark",
      "y",
      "c",
      "z"
    ])
    assert.deepStrictEqual(placed(items, sent("x", 3)), ["a", "b", "remark", "c", "x"])
  })

  it("stands there too when the conversation was read again, without its remarks", () => {
    assert.deepStrictEqual(placed([said("a"), said("b"), said("c")], sent("x", 2), sent("y", 9)), [
      "a",
      "b",
      "x",
      "c",
      "y"
    ])
  })
})

describe("what the page shows", () => {
  it.effect("is the same by the events of a conversation as by reading it, whatever was decided", () =>
    Effect.gen(function*() {
      for (const decision of ["approve", "deny"] as const) {
        let state = fresh
        let shown = read(state)
        let changes: ReadonlyArray<Change> = []
        const hear = Effect.fnUntraced(function*(input: string | undefined) {
          const next = yield* run(state, input)
          state = next.state
          shown = next.events.reduce(take, shown)
          changes = [...changes, ...next.changes]
          assert.deepStrictEqual(lasting(shown), lasting(read(state, false, changes)), `${decision}: ${input}`)
        })
        yield* hear("Hello")
        yield* hear(words)
        const [pending] = AgentState.pendingApprovals(state)
        assert.isDefined(pending)
        assert.deepStrictEqual(awaiting(shown).map(({ name }) => name), ["open_claim"])
        // Whoever decided sees it at once, and others by its event.
        const told = yield* decide(state, pending!.callId, decision)
        state = told.state
        const next = told.events.reduce(take, shown)
        assert.deepStrictEqual(next, decided(shown, pending!.callId, decision))
        assert.deepStrictEqual(told.events.reduce(take, next), next)
        assert.deepStrictEqual([next.standing._tag, awaiting(next)], ["Running", []])
        shown = next
        yield* hear(undefined)
        assert.deepStrictEqual(changes.map(({ guardrail, turn }) => [guardrail, turn]), [["pii", 2]])
        yield* hear("Please cancel order 1043, and find me a lamp under 100 euros")
        assert.deepStrictEqual(shown.items.filter(({ kind }) => kind !== "answer").map(brief), [
          "> Hello",
          "> My card is [redacted card], and I want my money back for the cracked floor lamp, order 1047",
          "triage → refunds",
          "find_order Succeeded",
          `${entering} Succeeded`,
          decision === "approve" ? "open_claim Succeeded" : "open_claim Denied",
          `${leaving} Succeeded`,
          "> Please cancel order 1043, and find me a lamp under 100 euros",
          "refunds → orders",
          "cancel_order Failed",
          "orders → sales",
          "search_products Succeeded"
        ])
      }
    }))

  it.effect("grows piece by piece while an agent writes, and is whole and the same item when it has", () =>
    Effect.gen(function*() {
      const { events } = yield* run(fresh, "Hello")
      const shown = events.reduce<ReadonlyArray<Shown>>((all, event) => [...all, take(all.at(-1)!, event)], [
        read(fresh)
      ])
      const answers = shown.flatMap(({ items }) => items.filter((item) => item.kind === "answer"))
      const texts = answers.map(({ text }) => text)
      assert.isAbove(new Set(texts).size, 3)
      assert.isTrue(texts.every((text, index) => text.startsWith(texts[index - 1] ?? "")))
      assert.deepStrictEqual([answers.at(0)?.isOpen, answers.at(-1)?.isOpen], [true, false])
      assert.strictEqual(new Set(answers.map(({ key }) => key)).size, 1)
      const activities = shown.map(({ activity, agent }) => activityText(agent, activity))
      assert.includeMembers(activities, ["", "Triage is reading…", "Triage is thinking…", "Triage is writing…"])
      assert.strictEqual(activities.at(-1), "")
    }))

  it.effect("is the same where the conversation was read in between, also in the middle of an answer", () =>
    Effect.gen(function*() {
      const { events, states } = yield* run(fresh, words)
      const whole = events.reduce<ReadonlyArray<Shown>>((all, event) => [...all, take(all.at(-1)!, event)], [
        read(fresh)
      ])
      const texts = ({ items }: Shown) => items.filter(({ kind }) => kind !== "remark" && kind !== "said").map(brief)
      // From the first thing that is kept of the run on, and before its end.
      for (let at = 1; at < events.length; at++) {
        const found = events.slice(0, at).reduce(catchUp, read(states[at]!, true))
        assert.deepStrictEqual(texts(found), texts(whole[at]!), `after ${events[at - 1]?._tag}`)
        const ended = events.slice(at).reduce(take, found)
        assert.deepStrictEqual(texts(ended), texts(whole.at(-1)!))
        assert.deepStrictEqual([ended.standing, ended.modes, ended.agent], [
          { _tag: "Awaiting" },
          ["supervised refund"],
          "refunds"
        ])
      }
    }))

  it.effect("is the same where the conversation was read between two runs, while the next message was being taken in", () =>
    Effect.gen(function*() {
      const one = yield* run(fresh, "Hello")
      const two = yield* run(one.state, words)
      const found = one.events.reduce(catchUp, read(one.state, true))
      assert.deepStrictEqual([found.standing._tag, found.activity._tag], ["Running", "Starting"])
      assert.deepStrictEqual(
        lasting(two.events.reduce(take, found)),
        lasting(read(two.state, false, two.changes))
      )
    }))

  const at = { path: ["refunds"] as const, calls: [], step: 0, sequence: 0, at: 0 }
  const told = (...events: ReadonlyArray<ToldEvent>) => events.reduce(take, read(fresh, true))
  const delta = (delta: string): ToldEvent => ({ _tag: "TextDelta", ...at, delta })

  it("takes back what was withdrawn, what a failed attempt had said, and what was interrupted", () => {
    const said = told(delta("The key is "), delta("sk-"))
    assert.deepStrictEqual(said.items.map(brief), ["refunds: The key is sk-…"])
    const after = (event: ToldEvent) => take(said, event).items.map(brief)
    assert.deepStrictEqual(after({ _tag: "TextWithdrawn", ...at, reason: "has a secret in it" }), [
      "! What was said is taken back: has a secret in it"
    ])
    assert.deepStrictEqual(
      after({ _tag: "ModelCallFailed", ...at, attempt: 0, tag: "RateLimitError", message: "slow down" }),
      [
        "! The model gave no answer: slow down"
      ]
    )
    assert.deepStrictEqual(after({ _tag: "RunInterrupted", ...at }), [])
    assert.strictEqual(take(said, { _tag: "RunInterrupted", ...at }).standing._tag, "Stopped")
  })

  it("shows nothing of an answer that was sent back", () => {
    const parts = [{ _tag: "Text" as const, text: "No." }]
    const responded: ToldEvent = { _tag: "ModelResponded", ...at, parts, usage: {}, finishReason: "stop" }
    assert.deepStrictEqual(told(delta("No"), responded).items.map(brief), ["refunds: No."])
    assert.deepStrictEqual(told(delta("No"), { ...responded, feedback: "Be kind." }).items, [])
  })

  it("says what a guardrail made of the user's words, or that they were withheld", () => {
    const begun: ToldEvent = { _tag: "RunStarted", ...at, input: [{ _tag: "Text", text: "secret" }] }
    const settled = (
      replaced: { turn: number; input: []; blocked?: { guardrail: string; reason: string } }
    ): ToldEvent => ({
      _tag: "GuardrailSettled",
      ...at,
      guardrail: "pii",
      stage: "input",
      started: 0,
      verdict: "Block",
      reason: "has a card in it",
      replaced,
      duration: 0
    })
    const blocked = told(begun, settled({ turn: 0, input: [], blocked: { guardrail: "pii", reason: "no cards" } }))
    assert.deepStrictEqual(blocked.items.map((item) => item.kind === "said" && [item.text, item.remark]), [
      ["[withheld]", "no cards"]
    ])
  })

  it("knows which modes are on, one within the other", () => {
    const modesAfter = (...events: ReadonlyArray<ToldEvent>) => told(...events).modes
    const inner = { ...at, name: "inner", params: {} }
    const entered: ToldEvent = { _tag: "ModeEntered", ...inner, stack: ["outer", "inner"], duration: 0 }
    const failed: ToldEvent = {
      _tag: "ModeFailed",
      ...inner,
      stack: ["outer", "inner"],
      phase: "SetUp",
      tag: "Broken",
      message: "no key"
    }
    assert.deepStrictEqual(modesAfter(entered), ["outer", "inner"])
    assert.deepStrictEqual(
      modesAfter(entered, { _tag: "ModeExited", ...inner, stack: ["outer"], duration: 0 }),
      ["outer"]
    )
    assert.deepStrictEqual(modesAfter(failed), ["outer"])
    assert.deepStrictEqual(modesAfter(entered, { ...failed, isResumed: true }), ["outer", "inner"])
    assert.deepStrictEqual(modesAfter(entered, { ...failed, phase: "CleanUp" }), ["outer", "inner"])
  })

  it("says why a run failed, and that it can go on", () => {
    const error = { tag: "ModelCallFailed", message: "no answer", agent: "refunds", step: 0 }
    assert.deepStrictEqual(told(delta("x"), { _tag: "RunFailed", ...at, error }).standing, {
      _tag: "Failed",
      error: "ModelCallFailed",
      message: "no answer"
    })
    const stopped = read({
      ...fresh,
      conversation: { turns: [{ _tag: "User", parts: [{ _tag: "Text", text: "Hi" }] }] }
    })
    assert.deepStrictEqual([stopped.standing._tag, read(fresh).standing._tag], ["Stopped", "Idle"])
  })

  it("shows a call of an agent below while it waits, and waits for all that wait", () => {
    const nested = { ...at, path: ["refunds", "clerk"] as const, calls: ["outer"], callId: "inner", name: "pay" }
    const waiting = told(
      { _tag: "ApprovalRequested", ...nested, params: {} },
      { _tag: "ApprovalRequested", ...at, callId: "other", name: "pay", params: {} },
      { _tag: "RunCompleted", ...at }
    )
    assert.deepStrictEqual(awaiting(waiting).map(({ agent, callId }) => [agent, callId]), [
      ["clerk", "inner"],
      ["refunds", "other"]
    ])
    assert.strictEqual(waiting.standing._tag, "Awaiting")
    const one = decided(waiting, "other", "approve")
    assert.deepStrictEqual([one.standing._tag, decided(one, "inner", "deny").standing._tag], ["Awaiting", "Running"])
    assert.deepStrictEqual(take(one, { _tag: "ToolCallStarted", ...nested, params: {} }).items.map(brief), [
      "pay Pending"
    ])
    // A denied call of an agent below never starts, and waits no longer.
    const none = take(one, { _tag: "CallDenied", ...nested, reason: "no" })
    assert.deepStrictEqual([none.items.map(brief), none.standing._tag], [["pay Pending"], "Running"])
  })
})
