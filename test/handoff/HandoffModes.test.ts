import { assert, describe, it } from "@effect/vitest"
import { type Cause, Deferred, Effect, Fiber, Option, Schema } from "effect"
import { Agent, AgentState, Conversation, Handoff, Mode, Session } from "troupe"
import { MockResponse } from "troupe/testing"
import { stackOf } from "../modes/sent.ts"
import { checked, handlers, handTo, Kit, models, outcomes, requests, sign, throughText } from "./scripted.ts"

const { all } = MockResponse
const b = Agent.make("b", { instructions: "You are b." })
const enter = MockResponse.toolCall("enter_own_mode", {}, { id: "e" })

class Mute extends Schema.TaggedError<Mute>("test/Mute")("Mute", {}) {}

const own = (isolation: "none" | "fork" = "none") =>
  Mode.make("own", { isolation, invokable: true, enter: () => Effect.void })

const texts = ({ conversation }: AgentState.AgentState): ReadonlyArray<string> =>
  conversation.turns.map((turn) => `${turn._tag}: ${Conversation.textOf(turn)}`)

const failedIn = (cause: Cause.Cause<unknown>): AgentState.AgentState =>
  throughText(AgentState.reopen(Option.getOrThrow(Agent.failedState(cause))))

describe("A handoff that leaves modes", () => {
  it.effect("says by which call it was asked for, and the target reads that there alone", () =>
    Effect.gen(function*() {
      const a = Agent.make("a", { modes: [own()], handoffs: [Handoff.to(b)] })
      const { events, state } = yield* checked(Agent.run(a, "Hi"), "a")
      assert.deepStrictEqual(stackOf(state), [])
      assert.deepStrictEqual(state.handoff, { from: "a", callId: "h", tool: "handoff_to_b", reason: "sums" })
      assert.deepStrictEqual(state.run.calls, { enter_own_mode: 1 })
      assert.deepStrictEqual((yield* requests)[2]?.system, "You are b.")
      assert.deepStrictEqual(
        events.map(({ _tag }) => _tag).filter((tag) => /Handoff|ModeExit/.test(tag)),
        ["HandoffRequested", "ModeExiting", "ModeExited", "HandoffCompleted"]
      )
    }).pipe(Effect.provide(models({ a: [enter, handTo("b", { reason: "sums" }, "h")], b: ["Done."] }))))

  it.effect("is tried again when what crosses, or a clean-up, failed", () =>
    Effect.gen(function*() {
      for (const fails of ["history", "clean-up"]) {
        let isMute = true
        const part = (name: string) =>
          Effect.suspend(() => isMute && name === fails ? Effect.fail(new Mute()) : Effect.succeed("short"))
        const mode = Mode.make("own", {
          invokable: true,
          enter: () => Effect.void,
          exit: () => Effect.asVoid(part("clean-up"))
        })
        const a = Agent.make("a", {
          modes: [mode],
          handoffs: [Handoff.to(b, { history: Handoff.summary(() => part("history")) })]
        })
        const last = yield* Effect.gen(function*() {
          const state = failedIn(yield* Effect.flip(Effect.sandbox(Agent.run(a, "Hi"))))
          assert.deepStrictEqual([state.agent, ...stackOf(state)], ["a"])
          assert.deepStrictEqual(outcomes(state.conversation).at(-1), ["handoff_to_b", "Pending"])
          isMute = false
          return (yield* checked(Agent.resume(a, state), state)).state
        }).pipe(Effect.provide(models({ a: [enter, handTo("b")], b: ["Done."] })))
        assert.deepStrictEqual(texts(last), ["Summary: short", "User: Hi", "Assistant: Done."])
      }
    }))

  it.effect("is the model's to ask for again when it failed after a fork had dropped its call", () =>
    Effect.gen(function*() {
      let isMute = true
      const history = Handoff.summary(() => isMute ? Effect.fail(new Mute()) : Effect.succeed("short"))
      const a = Agent.make("a", { modes: [own("fork")], handoffs: [Handoff.to(b, { history })] })
      const state = failedIn(yield* Effect.flip(Effect.sandbox(Agent.run(a, "Hi"))))
      assert.strictEqual(AgentState.next(state)._tag, "AskModel")
      isMute = false
      const { state: last } = yield* checked(Agent.resume(a, state), state)
      assert.deepStrictEqual(texts(last), ["Summary: short", "User: Hi", "Assistant: Done."])
    }).pipe(Effect.provide(models({ a: [enter, handTo("b"), handTo("b")], b: ["Done."] }))))

  it.effect("is what it says, also if the run stopped when the mode that it was asked for in had dropped its call", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      let isSlow = true
      const history = Handoff.summary(() =>
        isSlow ? Effect.andThen(Deferred.succeed(begun, undefined), Effect.never) : Effect.succeed("short")
      )
      const a = Agent.make("a", { modes: [own("fork")], handoffs: [Handoff.to(b, { history })] })
      const run = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Agent.run(a, "Hi", { systemMessage: "Be kind." }))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        return yield* Fiber.join(fiber)
      })
      const { state } = yield* checked(run, AgentState.make("a", { systemMessage: "Be kind." }))
      assert.strictEqual(state.status._tag, "HandoffRequested")
      isSlow = false
      const { state: last } = yield* checked(Agent.resume(a, throughText(state)), throughText(state))
      assert.deepStrictEqual(texts(last), ["Summary: short", "User: Hi", "Assistant: Done."])
      assert.notProperty(last, "systemMessage")
    }).pipe(Effect.provide(models({ a: [enter, handTo("b")], b: ["Done."] }))))

  it.effect("carries what a mode hides of the conversation where all of it crosses, and forgets it elsewhere", () =>
    Effect.gen(function*() {
      const left = (history: Handoff.History) =>
        Effect.gen(function*() {
          const thread = Mode.make("thread", {
            isolation: "thread",
            enter: () => Mode.updateView(Conversation.truncate(0))
          })
          const target = Agent.make("b", { modes: [thread] })
          const a = Agent.make("a", { modes: [thread], handoffs: [Handoff.to(target, { history, carryModes: true })] })
          const session = yield* Session.make(a)
          yield* session.call("One")
          const before = yield* session.enterMode("thread")
          const { events } = yield* checked(session.call("Two"), before)
          const completed = events.find(({ _tag }) => _tag === "HandoffCompleted")!
          return { isWhole: !("conversation" in completed), texts: texts(yield* session.exitMode()) }
        }).pipe(Effect.scoped, Effect.provide(models({ a: ["1.", handTo("b")], b: ["2."] })))
      assert.deepStrictEqual([yield* left(Handoff.full), yield* left(Handoff.lastUser)], [
        { isWhole: true, texts: ["User: One", "Assistant: 1.", "User: Two", "Assistant: ", "Assistant: 2."] },
        { isWhole: false, texts: ["User: Two", "Assistant: 2."] }
      ])
    }))

  it.effect("waits while a clean-up talks to the agent, or invokes a tool", () =>
    Effect.gen(function*() {
      let session: Session.Session<string, unknown> | undefined
      const said: Array<unknown> = []
      const talking = Mode.make("talking", {
        enter: () => Effect.void,
        exit: () =>
          Effect.gen(function*() {
            const { status } = yield* Mode.call("Sum up")
            const worked = yield* Effect.suspend(() => session!.invoke(Kit.tools.work, { what: "w" }))
            said.push(status._tag, worked)
          }).pipe(Effect.orDie)
      })
      const a = Agent.make("a", { toolkit: Kit, modes: [talking], handoffs: [Handoff.to(b)] })
      const made = session = yield* Session.make(a)
      const before = yield* made.enterMode("talking")
      const { state } = yield* checked(made.call("Hello"), before)
      assert.deepStrictEqual(said, ["Complete", "w!"])
      assert.deepStrictEqual([state.agent, AgentState.text(state), ...stackOf(state)], ["b", "From b."])
      assert.deepStrictEqual(outcomes(state.conversation), [["handoff_to_b", "HandedOff"], ["work", "Succeeded"]])
      assert.deepStrictEqual(state.run.calls, { work: 1 })
    }).pipe(
      Effect.scoped,
      Effect.provide([models({ a: [handTo("b"), "summed up"], b: ["From b."] }), handlers])
    ))

  it.effect("of a called agent counts for no budget, though a clean-up talks to the agent", () =>
    Effect.gen(function*() {
      const talking = Mode.make("own", {
        invokable: true,
        enter: () => Effect.void,
        exit: () => Effect.asVoid(Effect.orDie(Mode.call("Sum up")))
      })
      const a = Agent.make("a", { modes: [talking], handoffs: [Handoff.to(b)] })
      const { events, state } = yield* checked(
        Agent.run(Agent.make("boss", { agents: [Agent.asTool(a)] }), "Hi"),
        "boss"
      )
      assert.include(
        events.flatMap((event) => event._tag === "ToolCallSettled" ? [`${event.name} ${event.outcome}`] : []),
        "handoff_to_b HandedOff"
      )
      assert.deepStrictEqual(state.run.calls, { enter_own_mode: 1, a: 1 })
    }).pipe(Effect.provide(models({
      boss: [MockResponse.toolCall("a", { task: "Help" }, { id: "a" }), "Done."],
      a: [enter, handTo("b"), "Summed up."],
      b: ["From b."]
    }))))

  it.effect("waits while a set-up that resumes talks to the agent", () =>
    Effect.gen(function*() {
      const chatty = Mode.make("own", {
        invokable: true,
        enter: (_, { isResumed }) => isResumed ? Effect.asVoid(Mode.call("Anything else?")) : Effect.void
      })
      const a = Agent.make("a", { toolkit: Kit, modes: [chatty], handoffs: [Handoff.to(b)] })
      const { state } = yield* checked(Agent.run(a, "Hi"), "a")
      const approved = yield* Effect.fromResult(AgentState.approve(throughText(state), "sign"))
      const { state: last } = yield* checked(Agent.resume(a, approved), approved)
      assert.deepStrictEqual([last.agent, AgentState.text(last)], ["b", "From b."])
    }).pipe(Effect.provide([
      models({ a: [enter, all(sign, handTo("b", {}, "h")), "No.", "No."], b: ["From b."] }),
      handlers
    ])))
})
