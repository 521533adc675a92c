import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Fiber, Option, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Agent, AgentState, AgentStatus, Conversation, Handoff, Mode, StopWhen } from "troupe"
import { MockResponse } from "troupe/testing"
import { deepFreeze } from "../domain/legal.ts"
import {
  checked,
  failing,
  handlers,
  handTo,
  Kit,
  models,
  outcomes,
  read,
  replayable,
  requests,
  throughText,
  work
} from "./scripted.ts"

const { all, withUsage } = MockResponse

const texts = ({ turns }: Conversation.Conversation): ReadonlyArray<string> =>
  turns.map((turn) => `${turn._tag}: ${Conversation.textOf(turn)}`)

const b = Agent.make("b", { instructions: "You are b." })
const request = { target: "b", callId: "h", reason: "sums", context: { order: 1 } }

/** A state of two questions that asks for a handoff. */
const source: AgentState.AgentState = deepFreeze({
  ...AgentState.make("a", {
    systemMessage: "Be kind.",
    conversation: Conversation.make([
      Conversation.user("Question 1"),
      Conversation.assistant("a", "Answer 1"),
      Conversation.user("Question 2"),
      Conversation.assistant("a", [
        Conversation.text("One moment."),
        Conversation.call("h", "handoff_to_b", { reason: "sums", context: { order: 1 } })
      ])
    ])
  }),
  initialQuery: "Question 1",
  status: AgentStatus.handoffRequested(request),
  steps: 2,
  modes: [{
    name: "m",
    isolation: "none",
    params: null,
    values: {},
    enteredAt: 0,
    turns: 0,
    before: {}
  }],
  prompt: [{ place: "append", text: "A piece of a." }],
  logs: ["before"]
})

describe("The state of the agent that takes over", () => {
  it("has the whole conversation, in which the call is settled and names the target", () => {
    const target = Handoff.buildHandoffState(source, Handoff.to(b), request)
    assert.strictEqual(Conversation.count(target.conversation), 4)
    assert.deepStrictEqual(target.conversation.turns.slice(0, 3), source.conversation.turns.slice(0, 3))
    const [call] = Conversation.callsOf(Conversation.lastAssistant(target.conversation)!)
    assert.deepStrictEqual(call?.state, {
      _tag: "Settled",
      outcome: "HandedOff",
      result: { handoff: "b", ack: true, reason: "sums", context: { order: 1 } }
    })
  })

  it("has the last user turn alone, where the context isn't preserved", () => {
    const target = Handoff.buildHandoffState(source, Handoff.to(b, { preserveContext: false }), request)
    assert.deepStrictEqual(target.conversation.turns, [Conversation.user("Question 2")])
  })

  it("carries query, steps, usage, trail and logs on, and nothing that was the source's own", () => {
    const target = Handoff.buildHandoffState(source, Handoff.to(b), request)
    const { conversation: _, ...rest } = target
    assert.deepStrictEqual(rest, {
      version: 1,
      agent: "b",
      status: AgentStatus.inProgress,
      initialQuery: "Question 1",
      steps: 2,
      usage: source.usage,
      run: {
        ...source.run,
        handoffs: 1,
        before: { steps: 0, elapsed: 0, usage: source.run.usage },
        sharing: [{ agent: "a" }]
      },
      trail: ["a", "b"],
      handoff: { from: "a", callId: "h", reason: "sums", context: { order: 1 } },
      modes: [],
      prompt: [],
      logs: ["before", "Agent \"a\" handed over to \"b\": sums"]
    })
    assert.deepStrictEqual(throughText(target), target)
  })

  it("has the source's system message where it is transferred", () => {
    const build = (transferSystemMessage: boolean) =>
      Handoff.buildHandoffState(source, Handoff.to(b, { transferSystemMessage }), request).systemMessage
    assert.deepStrictEqual([build(true), build(false)], ["Be kind.", undefined])
    const { systemMessage: _, ...silent } = source
    const target = Handoff.buildHandoffState(silent, Handoff.to(b, { transferSystemMessage: true }), request)
    assert.notProperty(target, "systemMessage")
  })

  it("has what an effect made, where it is given that", () => {
    const handoff = Handoff.to(b, { history: Handoff.summary(() => Effect.succeed("short")) })
    const made = Conversation.make([Conversation.user("short")])
    assert.deepStrictEqual(Handoff.buildHandoffState(source, handoff, request, made).conversation, made)
    const whole = Handoff.buildHandoffState(source, Handoff.to(b), request)
    assert.deepStrictEqual(Handoff.buildHandoffState(source, handoff, request).conversation, whole.conversation)
  })

  it("counts the time that the run took until then, and none where nobody says the time", () => {
    const ran = { ...source, run: { ...source.run, startedAt: 100, elapsed: 7 } }
    const build = (options?: Handoff.TakeoverOptions) =>
      Handoff.buildHandoffState(ran, Handoff.to(b), request, options).run.before?.elapsed
    assert.deepStrictEqual([build({ at: 130 }), build(), build({})], [37, 7, 7])
  })

  it("is in the modes that the target has too, where they are carried and it is known", () => {
    const m = Mode.make("m", { enter: () => Effect.void })
    const b = Agent.make("b", { modes: [m] })
    const build = (handoff: Parameters<typeof Handoff.buildHandoffState>[1], options?: Handoff.TakeoverOptions) =>
      Handoff.buildHandoffState(source, handoff, request, options).modes.map(({ name }) => name)
    const options = { carryModes: true }
    assert.deepStrictEqual(build(Handoff.to(b, options)), ["m"])
    assert.deepStrictEqual(build(Handoff.suspend("b", () => b, options)), ["m"])
    assert.deepStrictEqual(build(Handoff.to("b", options)), [])
    assert.deepStrictEqual(build(Handoff.to("b", options), { target: b }), ["m"])
    assert.deepStrictEqual(build(Handoff.to("b", options), { target: ["m"] }), ["m"])
    assert.deepStrictEqual(build(Handoff.to(b)), [])
    assert.deepStrictEqual(build(undefined, { target: b }), [])
  })

  it("keeps all but the modes where no handoff, but a policy, says what crosses", () => {
    const target = Handoff.buildHandoffState(source, undefined, { target: "b" })
    assert.deepStrictEqual(
      [target.systemMessage, Conversation.count(target.conversation), target.modes, target.handoff],
      ["Be kind.", 4, [], { from: "a" }]
    )
  })

  for (
    const [name, history] of [
      ["full", Handoff.full],
      ["lastUser", Handoff.lastUser],
      ["lastTurns", Handoff.lastTurns(2)],
      ["none", Handoff.none]
    ] as const
  ) {
    it.effect(`is what the run makes of it: ${name}`, () =>
      Effect.gen(function*() {
        const handoff = Handoff.to(b, { history, transferSystemMessage: true })
        const a = Agent.make("a", { toolkit: Kit, handoffs: [handoff] })
        const states = yield* Stream.runCollect(Agent.states(a, "Question", { systemMessage: "Be kind." }))
        const index = states.findIndex(({ agent }) => agent === "b")
        const before = states[index - 1]!
        assert.strictEqual(before.status._tag, "HandoffRequested")
        if (before.status._tag !== "HandoffRequested") return
        assert.deepStrictEqual(states[index], Handoff.buildHandoffState(before, handoff, before.status.request))
      }).pipe(Effect.provide([
        models({
          a: [work("w"), all(work("x"), withUsage(handTo("b", { reason: "r" }), { input: 7, output: 1 }))],
          b: ["Done."]
        }),
        handlers
      ])))
  }
})

describe("What crosses", () => {
  /** The target's first request and its last state, after three questions and a call of the last. */
  const cross = <E = never, R = never>(options: Handoff.Options<Handoff.Parameters, unknown, E, R>) =>
    Effect.gen(function*() {
      const a = Agent.make("a", { instructions: "You are a.", handoffs: [Handoff.to(b, options)] })
      const earlier = yield* Agent.runMultiTurn(a, ["One?", "Two?"])
      const { state } = yield* checked(Agent.continueConversation(a, earlier, "Three?"), earlier)
      assert.strictEqual(AgentState.text(state), "Done.")
      return { state, read: yield* read(3) }
    }).pipe(Effect.provide(models({
      a: ["1.", "2.", handTo("b", { reason: "sums", context: { order: 1 } })],
      b: ["Done."]
    })))
  const note = "Agent \"a\" handed this conversation over to you.\nReason: sums\nContext: {\"order\":1}"

  it.effect("is all, with the reason and the context in the call", () =>
    Effect.gen(function*() {
      const { read, state } = yield* cross({})
      assert.deepStrictEqual(read, [
        "system: You are b.",
        "user: One?",
        "assistant: 1.",
        "user: Two?",
        "assistant: 2.",
        "user: Three?",
        "assistant: tool-call",
        "tool: tool-result"
      ])
      assert.deepStrictEqual(outcomes(state.conversation), [["handoff_to_b", "HandedOff"]])
    }))

  it.effect("is the last user turn, with reason and context beside the target's instructions", () =>
    Effect.gen(function*() {
      for (const options of [{ preserveContext: false }, { history: Handoff.lastUser }]) {
        const { read } = yield* cross(options)
        assert.deepStrictEqual(read, [`system: You are b.\n\n${note}`, "user: Three?"])
      }
    }))

  it.effect("is a number of last turns", () =>
    Effect.gen(function*() {
      const { read } = yield* cross({ history: Handoff.lastTurns(3) })
      assert.deepStrictEqual(read, [
        "system: You are b.",
        "user: Three?",
        "assistant: tool-call",
        "tool: tool-result"
      ])
    }))

  it.effect("keeps the user's words before turns that are all an assistant's", () =>
    Effect.gen(function*() {
      const { read } = yield* cross({ history: Handoff.lastTurns(1) })
      assert.deepStrictEqual(read.slice(1), ["user: Three?", "assistant: tool-call", "tool: tool-result"])
    }))

  it.effect("is nothing but who handed over, why and with what", () =>
    Effect.gen(function*() {
      for (const history of [Handoff.none, Handoff.lastTurns(0)]) {
        const { read, state } = yield* cross({ history })
        assert.deepStrictEqual(read, ["system: You are b.", `user: ${note}`])
        assert.deepStrictEqual(texts(state.conversation), [`Feedback: ${note}`, "Assistant: Done."])
      }
    }))

  it.effect("is a summary, and the last user turn", () =>
    Effect.gen(function*() {
      const { state } = yield* cross({
        history: Handoff.summary((conversation) => Effect.succeed(`${Conversation.count(conversation)} turns`))
      })
      assert.deepStrictEqual(state.conversation.turns.slice(0, 2), [
        { _tag: "Summary", text: "6 turns", of: 5 },
        Conversation.user("Three?")
      ])
    }))

  it("keeps pinned turns and the user's own words out of a summary", () => {
    const asked = Conversation.pin(
      Conversation.make([
        Conversation.user("I'm allergic to nuts."),
        Conversation.assistant("a", "Noted."),
        Conversation.user("What can I eat?"),
        { _tag: "User", parts: [Conversation.text("Look it up.")], mode: "research" },
        Conversation.user("")
      ]),
      0
    )
    const history = Handoff.summary(() => Effect.succeed("short"))
    assert.deepStrictEqual(Effect.runSync(history.change(asked)).turns, [
      { _tag: "Summary", text: "short", of: 3 },
      asked.turns[0]!,
      asked.turns[2]!
    ])
    const pinned = Conversation.pin(Conversation.make([Conversation.user("Hello")]), 0)
    assert.deepStrictEqual(Effect.runSync(history.change(pinned)).turns, pinned.turns)
  })

  it.effect("is all where the summary is empty", () =>
    Effect.gen(function*() {
      const { state } = yield* cross({ history: Handoff.summary(() => Effect.succeed(" ")) })
      assert.strictEqual(Conversation.count(state.conversation), 7)
    }))

  it.effect("stands for all turns that a summary stood for before", () =>
    Effect.gen(function*() {
      const history = Handoff.summary(() => Effect.succeed("short"))
      const c = Agent.make("c")
      const b = Agent.make("b", { handoffs: [Handoff.to(c, { history })] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b, { history })] })
      const before = yield* Agent.runMultiTurn(a, ["One?", "Two?"])
      const { state } = yield* checked(Agent.continueConversation(a, before, "Three?"), before)
      assert.deepStrictEqual(state.conversation.turns[0], { _tag: "Summary", text: "short", of: 6 })
    }).pipe(Effect.provide(models({ a: ["1.", "2.", handTo("b")], b: [handTo("c")], c: ["Done."] }))))

  it.effect("is whatever a function makes of it, in which the call is settled already", () =>
    Effect.gen(function*() {
      const { read } = yield* cross({
        history: (conversation) =>
          Effect.succeed(Conversation.make([
            Conversation.user(outcomes(conversation).join()),
            ...conversation.turns.slice(0, 1)
          ]))
      })
      assert.deepStrictEqual(read.slice(1), ["user: handoff_to_b,HandedOff", "user: One?"])
    }))

  it.effect("is legal, whatever a function makes of it, and no later call repeats an id in it", () =>
    Effect.gen(function*() {
      const call = (id: string) => Conversation.assistant("z", [Conversation.call(id, "work", { what: id })])
      const target = Agent.make("b", { toolkit: Kit })
      const a = Agent.make("a", {
        handoffs: [Handoff.to(target, {
          history: () => Effect.succeed({ turns: [call("same"), Conversation.user("Go on."), call("same"), call("x")] })
        })]
      })
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual(outcomes(state.conversation).map(([, outcome]) => outcome), [
        "Interrupted",
        "Interrupted",
        "Interrupted",
        "Succeeded"
      ])
    }).pipe(Effect.provide([models({ a: [handTo("b")], b: [work("same"), "Done."] }), handlers])))

  it.effect("may be an own matter of two handoffs to one target", () =>
    Effect.gen(function*() {
      const a = Agent.make("a", {
        handoffs: [Handoff.to(b), Handoff.to(b, { toolName: "afresh", history: Handoff.lastUser })]
      })
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual(texts(state.conversation), ["User: Hi", "Assistant: Done."])
    }).pipe(Effect.provide(models({ a: [MockResponse.toolCall("afresh", {})], b: ["Done."] }))))
})

describe("The target's system message", () => {
  const desk = (options: Handoff.Options<Handoff.Parameters, unknown, never, never>) =>
    Effect.gen(function*() {
      const b = Agent.make("b", {
        instructions: ({ handoff, systemMessage }) =>
          Effect.succeed(`You are b, by ${handoff?.from}, ${handoff?.reason}, ${systemMessage ?? "no message"}.`)
      })
      const a = Agent.make("a", { instructions: "You are a.", handoffs: [Handoff.to(b, options)] })
      yield* Agent.run(a, "Hi", { systemMessage: "Be kind." })
      return (yield* requests).map(({ system }) => system)
    }).pipe(Effect.provide(models({ a: [handTo("b", { reason: "sums" })], b: ["Done."] })))

  it.effect("is made of its own instructions, which see the reason, and of nothing of the source's", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* desk({}), ["You are a.\n\nBe kind.", "You are b, by a, sums, no message."])
    }))

  it.effect("has the source's system message beside them where that is transferred", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* desk({ transferSystemMessage: true }), [
        "You are a.\n\nBe kind.",
        "You are b, by a, sums, Be kind..\n\nBe kind."
      ])
    }))

  it.effect("says to the one that goes on in later runs what it was handed, and to nobody after it", () =>
    Effect.gen(function*() {
      const c = Agent.make("c", { instructions: "You are c." })
      const b = Agent.make("b", { instructions: "You are b.", handoffs: [Handoff.to(c)] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b, { preserveContext: false })] })
      const first = yield* Agent.run(a, "Hi")
      yield* Agent.continueConversation(a, throughText(first), "More")
      const told = "You are b.\n\nAgent \"a\" handed this conversation over to you.\nReason: sums"
      assert.deepStrictEqual((yield* requests).map(({ system }) => system), ["", told, told, "You are c."])
    }).pipe(Effect.provide(models({
      a: [handTo("b", { reason: "sums" })],
      b: ["Done.", handTo("c")],
      c: ["Done."]
    }))))
})

describe("A history that takes an effect", () => {
  class Mute extends Schema.TaggedError<Mute>("test/Mute")("Mute", {}) {}
  const script = { a: [all(work("w"), handTo("b", {}, "h"))], b: ["Done."] }
  const environment = [replayable(script), handlers] as const
  const withHistory = <E = never, R = never>(history: Handoff.History<E, R>) =>
    Agent.make("a", { toolkit: Kit, handoffs: [Handoff.to(b, { history })] })

  it.effect("fails the run with its own error, and is tried again once the state is reopened", () =>
    Effect.gen(function*() {
      let isMute = true
      const a = withHistory(Handoff.summary(() => isMute ? Effect.fail(new Mute()) : Effect.succeed("short")))
      const cause = yield* Effect.flip(Effect.sandbox(Agent.run(a, "Hi")))
      const error = Option.getOrThrow(Cause.findErrorOption(cause))
      assert.strictEqual(error._tag, "Mute")
      const state = throughText(Option.getOrThrow(Agent.failedState(cause)))
      assert.strictEqual(state.status._tag === "Failed" && state.status.error.tag, "Mute")
      assert.deepStrictEqual(outcomes(state.conversation), [["work", "Succeeded"], ["handoff_to_b", "Pending"]])
      isMute = false
      const { state: last } = yield* checked(Agent.resume(a, AgentState.reopen(state)), AgentState.reopen(state))
      assert.deepStrictEqual(texts(last.conversation), ["Summary: short", "User: Hi", "Assistant: Done."])
    }).pipe(Effect.provide([...environment])))

  it.effect("ends whatever it started where it fails or breaks down", () =>
    Effect.gen(function*() {
      for (const effect of [Effect.fail(new Mute()), Effect.die("a bug")]) {
        const { events, state } = yield* checked(Agent.run(withHistory(Handoff.summary(() => effect)), "Hi"), "a").pipe(
          Effect.provide([...environment])
        )
        assert.strictEqual(state.status._tag, "Failed")
        assert.deepStrictEqual(events.slice(-2).map(({ _tag }) => _tag), ["HandoffSuspended", "RunFailed"])
      }
    }))

  it.effect("can be interrupted: the state asks for the handoff still, and is resumed", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const never = withHistory(Handoff.summary(() => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)))
      const fiber = yield* Effect.forkChild(
        checked(
          Effect.gen(function*() {
            const run = yield* Effect.forkChild(Agent.run(never, "Hi"))
            yield* Deferred.await(begun)
            yield* Fiber.interrupt(run)
            return yield* Fiber.join(run)
          }),
          "a"
        ).pipe(Effect.provide([...environment]))
      )
      const { events, state } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        state.status,
        AgentStatus.handoffRequested({ target: "b", callId: "h", tool: "handoff_to_b" })
      )
      assert.deepStrictEqual(events.slice(-3).map(({ _tag }) => _tag), [
        "StepCompleted",
        "HandoffSuspended",
        "RunInterrupted"
      ])
      const again = yield* checked(Agent.resume(withHistory(Handoff.full), throughText(state)), state).pipe(
        Effect.provide([...environment])
      )
      assert.strictEqual(again.state.agent, "b")
    }))

  it.effect("takes its time, which the target's limit doesn't count", () =>
    Effect.gen(function*() {
      const target = Agent.make("b", { stopWhen: StopWhen.duration("5 seconds") })
      const a = Agent.make("a", {
        handoffs: [Handoff.to(target, {
          history: Handoff.summary(() => Effect.delay(Effect.succeed("short"), "10 seconds"))
        })]
      })
      const fiber = yield* Effect.forkChild(checked(Agent.run(a, "Hi"), "a"))
      yield* TestClock.adjust("10 seconds")
      const { state } = yield* Fiber.join(fiber)
      assert.deepStrictEqual([state.status._tag, state.run.elapsed, state.run.before?.elapsed], ["Complete", 1e4, 1e4])
    }).pipe(Effect.provide(models({ a: [handTo("b")], b: ["Done."] }))))

  it.effect("isn't begun where the run may not change hands, or nobody is there", () =>
    Effect.gen(function*() {
      let ran = 0
      const history = Handoff.summary(() => Effect.sync(() => `${++ran}`))
      const limited = Agent.make("a", { maxHandoffs: 0, handoffs: [Handoff.to(b, { history })] })
      const lost = Agent.make("a", { handoffs: [Handoff.to("b", { history })] })
      const reasons = [yield* failing(Agent.run(limited, "Hi")), yield* failing(Agent.run(lost, "Hi"))]
      assert.deepStrictEqual(reasons.map(({ reason }) => reason._tag), ["HandoffLimitReached", "HandoffTargetNotFound"])
      assert.strictEqual(ran, 0)
    }).pipe(Effect.provide(models({ a: [handTo("b"), handTo("b")] }))))
})
