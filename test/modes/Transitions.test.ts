import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentError, AgentState, Handoff, Mode, ModeTransition, Session, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { problems } from "../domain/legal.ts"
import { ends, reasonOf, said, sent, stackOf } from "./sent.ts"

const Log = Toolkit.make(
  Tool.make("go", { parameters: Schema.Struct({ to: Schema.String }), success: Schema.String }),
  Tool.make("where", { success: Schema.String })
)

/** Makes a tool that asks for a push, a switch or a way out, and one that says where it runs. */
const tools = Log.toLayer({
  go: ({ to }) =>
    Effect.orDie(Effect.gen(function*() {
      yield* Mode.schedule(
        to === "" ? ModeTransition.exit : to[0] === "+" ? ModeTransition.push(to.slice(1)) : ModeTransition.switch(to)
      )
      return (yield* Mode.stack).join(">")
    })),
  where: () => Effect.orDie(Effect.map(Mode.stack, (stack) => stack.join(">")))
})

const Guarded = Toolkit.make(Tool.make("guarded", { success: Schema.String, needsApproval: true }))

const go = (to: string) => MockResponse.toolCall("go", { to })

/** Modes that keep a record of what happens to them. */
const recorder = () => {
  const log: Array<string> = []
  const mode = (
    name: string,
    options: {
      readonly transition?: ModeTransition.ModeTransition
      readonly isolation?: "none" | "config" | "thread" | "fork"
    } = {}
  ) =>
    Mode.make(name, {
      isolation: options.isolation,
      enter: () =>
        Effect.andThen(
          Effect.sync(() => log.push(`+${name}`)),
          Effect.addFinalizer(() => Effect.sync(() => log.push(`~${name}`)))
        ),
      exit: () =>
        Effect.sync(() => {
          log.push(`-${name}`)
          return options.transition
        })
    })
  return { log, mode }
}

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))

describe("What a clean-up gives", () => {
  for (const transition of [undefined, ModeTransition.exit]) {
    it.effect(`leaves the mode where it is ${transition === undefined ? "nothing" : "a way out"}`, () =>
      Effect.gen(function*() {
        const { log, mode } = recorder()
        const session = yield* Session.make(Agent.make("a", { modes: [mode("m", transition ? { transition } : {})] }))
        yield* session.enterMode("m")
        const state = yield* session.exitMode()
        assert.deepStrictEqual(stackOf(state), [])
        assert.strictEqual(state.transition, undefined)
        assert.deepStrictEqual(log, ["+m", "-m", "~m"])
        assert.deepStrictEqual(stackOf(yield* session.call("Hello")), [])
      }).pipe(Effect.scoped, Effect.provide(echo)))
  }

  it.effect("leaves the mode and enters another before the next request, where it is to switch", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const first = mode("first", { transition: ModeTransition.switch("second") })
      const session = yield* Session.make(Agent.make("a", { modes: [mode("around"), first, mode("second")] }))
      yield* session.enterMode("around")
      yield* session.enterMode("first")
      const left = yield* session.exitMode()
      assert.deepStrictEqual(stackOf(left), ["around"])
      assert.deepStrictEqual(log, ["+around", "+first", "-first", "~first"])
      const state = yield* session.call("Hello")
      assert.deepStrictEqual(stackOf(state), ["around", "second"])
      assert.deepStrictEqual(log, ["+around", "+first", "-first", "~first", "+second"])
      assert.deepStrictEqual((yield* sent).map(({ messages }) => messages), [["user: Hello"]])
      assert.match((yield* sent)[0]!.system, /mode "second"/)
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("gives the other mode its parameters", () =>
    Effect.gen(function*() {
      const second = Mode.make("second", { params: Schema.Struct({ at: Schema.Date }), enter: () => Effect.void })
      const first = Mode.make("first", {
        enter: () => Effect.void,
        exit: () => Effect.succeed(ModeTransition.switch("second", { at: "2026-01-02T00:00:00.000Z" }))
      })
      const session = yield* Session.make(Agent.make("a", { modes: [first, second] }))
      yield* session.enterMode("first")
      yield* session.exitMode()
      const state = yield* session.call("Hello")
      assert.deepStrictEqual(state.modes[0]?.params, { at: "2026-01-02T00:00:00.000Z" })
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("keeps the mode where it is to stay, with what is live of it", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const session = yield* Session.make(
        Agent.make("a", { modes: [mode("m", { transition: ModeTransition.stay })] })
      )
      yield* session.enterMode("m")
      const { events } = yield* watch(session.exitMode())
      assert.deepStrictEqual(stackOf(yield* session.state), ["m"])
      assert.deepStrictEqual(log, ["+m", "-m"])
      assert.isTrue(ofTag(events, "ModeExited")[0]?.isKept)
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["m"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("keeps the mode and enters another above it, where it is to push", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const first = mode("first", { transition: ModeTransition.push("second") })
      const session = yield* Session.make(Agent.make("a", { modes: [first, mode("second")] }))
      yield* session.enterMode("first")
      assert.deepStrictEqual(stackOf(yield* session.exitMode()), ["first"])
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["first", "second"])
      assert.deepStrictEqual(log, ["+first", "-first", "+second"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("can't keep a mode whose bracket is over", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const staying = mode("staying", { transition: ModeTransition.stay })
      const pushing = mode("pushing", { transition: ModeTransition.push("second") })
      const agent = Agent.make("a", { modes: [staying, pushing, mode("second")] })
      const session = yield* Session.make(agent)
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* Mode.within(Effect.succeed(1), staying), 1)
        assert.deepStrictEqual(stackOf(yield* session.state), [])
        yield* Effect.scoped(Mode.enter(pushing))
        assert.deepStrictEqual(stackOf(yield* session.state), [])
        assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["second"])
        assert.deepStrictEqual(log, [
          "+staying",
          "-staying",
          "~staying",
          "+pushing",
          "-pushing",
          "~pushing",
          "+second"
        ])
      }).pipe(Effect.provideService(Mode.Host, session))
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("can't keep a mode whose session ends", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { modes: [mode("m", { transition: ModeTransition.stay })] })
      yield* Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.enterMode("m")))
      assert.deepStrictEqual(log, ["+m", "-m", "~m"])
    }).pipe(Effect.provide(echo)))

  it.effect("keeps the mode on a move that is asked for, and takes that back", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { modes: [mode("m", { transition: ModeTransition.stay }), mode("n")] })
      const session = yield* Session.make(agent)
      yield* session.enterMode("m")
      yield* session.schedule(ModeTransition.switch("n"))
      const state = yield* session.call("Hello")
      assert.deepStrictEqual(stackOf(state), ["m"])
      assert.strictEqual(state.transition, undefined)
      assert.deepStrictEqual(log, ["+m", "-m"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("wins over the move that leaves the mode, as the latest", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", {
        modes: [mode("m", { transition: ModeTransition.switch("o") }), mode("n"), mode("o")]
      })
      const session = yield* Session.make(agent)
      yield* session.enterMode("m")
      yield* session.schedule(ModeTransition.switch("n"))
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["o"])
      assert.deepStrictEqual(log, ["+m", "-m", "~m", "+o"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is checked at once, like any move: the mode is left, and the next call is nobody's to fail", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const strict = Mode.make("strict", { params: Schema.Struct({ n: Schema.Int }), enter: () => Effect.void })
      const modes = [
        mode("typo", { transition: ModeTransition.switch("nowhere") }),
        mode("kept", { transition: ModeTransition.push("nowhere") }),
        mode("wrong", { transition: ModeTransition.switch("strict", { n: "one" }) }),
        mode("open", { isolation: "fork", transition: ModeTransition.switch("strict", { n: 1 }) }),
        mode("fork", { isolation: "fork" }),
        strict
      ]
      const session = yield* Session.make(Agent.make("a", { modes }))
      const tagOf = (name: string) =>
        Effect.andThen(session.enterMode(name), Effect.map(Effect.flip(session.exitMode()), reasonOf)).pipe(
          Effect.map(({ _tag }) => _tag)
        )
      assert.strictEqual(yield* tagOf("typo"), "UnknownMode")
      assert.strictEqual(yield* tagOf("kept"), "UnknownMode")
      assert.strictEqual(yield* tagOf("wrong"), "ParamsRejected")
      yield* session.enterMode("fork")
      assert.strictEqual(yield* tagOf("open"), "LessIsolated")
      const state = yield* session.exitMode()
      assert.deepStrictEqual([stackOf(state), state.transition], [[], undefined])
      assert.deepStrictEqual(said(yield* session.call("Hello")), ["User: Hello", "Assistant: Re: Hello"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is checked where a bracket ends, a move leaves the mode, or an agent hands over", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const typo = mode("typo", { transition: ModeTransition.switch("nowhere") })
      const desk = Agent.make("desk")
      const agent = Agent.make("a", { modes: [typo], handoffs: [Handoff.to(desk)] })
      const session = yield* Session.make(agent)
      const bracket = Mode.within(Effect.void, typo).pipe(Effect.provideService(Mode.Host, session))
      assert.strictEqual(reasonOf(yield* Effect.flip(bracket))._tag, "UnknownMode")
      yield* session.enterMode("typo")
      yield* session.schedule(ModeTransition.exit)
      const error = yield* Effect.flip(session.call("Hello"))
      assert.instanceOf(error, AgentError.AgentError)
      assert.strictEqual(reasonOf(error)._tag, "ModeFailed")
      assert.match(reasonOf(error).message, /no mode "nowhere"/)
      assert.deepStrictEqual(stackOf(yield* session.state), [])
      yield* session.enterMode("typo")
      assert.strictEqual(reasonOf(yield* Effect.flip(session.call("Hand over")))._tag, "ModeFailed")
      assert.deepStrictEqual(stackOf(yield* session.state), [])
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("handoff_to_desk", {}))))
    ))

  it.effect("is taken back by a handoff, which an event says", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const desk = Agent.make("desk", { modes: [mode("next")] })
      const first = mode("first", { transition: ModeTransition.switch("next") })
      const Ask = Toolkit.make(Tool.make("ask"))
      const agent = Agent.make("a", { modes: [first, mode("next")], toolkit: Ask, handoffs: [Handoff.to(desk)] })
      const asking = Ask.toLayer({ ask: () => Effect.orDie(Mode.schedule(ModeTransition.push("next"))) })
      for (const isEntered of [true, false]) {
        const session = yield* Effect.provide(Session.make(agent), asking)
        if (isEntered) yield* session.enterMode("first")
        const { events, exit } = yield* watch(session.call(isEntered ? "Hand over" : "Ask and hand over"))
        const state = yield* exit
        assert.deepStrictEqual([state.agent, state.transition, stackOf(state)], ["desk", undefined, []])
        assert.deepStrictEqual(
          events.flatMap((event) =>
            event._tag === "ModeTransitionRequested"
              ? [event.transition._tag]
              : event._tag === "HandoffCompleted"
              ? [event._tag]
              : []
          ),
          [isEntered ? "Switch" : "Push", "Stay", "HandoffCompleted"]
        )
      }
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.byAgent({
        a: MockModel.make(({ lastUserText }) =>
          lastUserText === "Hand over"
            ? MockResponse.toolCall("handoff_to_desk", {})
            : MockResponse.all(MockResponse.toolCall("ask", {}), MockResponse.toolCall("handoff_to_desk", {}))
        ),
        desk: MockModel.make(() => "Here.")
      })))
    ))

  describe("is the error of the run that it fails", () => {
    const heard: Array<unknown> = []
    const hear = (exit: Exit.Exit<unknown, unknown>) =>
      Effect.sync(() => void heard.push(Exit.isFailure(exit) ? Cause.squash(exit.cause) : "nothing"))
    const typo = recorder().mode("typo", { transition: ModeTransition.switch("nowhere") })
    const outer = Mode.make("outer", {
      invokable: true,
      enter: () => Effect.addFinalizer(hear),
      exit: hear
    })
    const assertHeard = (...tags: Array<unknown>) =>
      assert.deepStrictEqual(
        heard.splice(0).map((error) => AgentError.isAgentError(error) ? error.reason._tag : error),
        tags
      )

    it.effect("for the modes around it", () =>
      Effect.gen(function*() {
        const session = yield* Session.make(Agent.make("a", { modes: [typo, outer] }))
        yield* session.enterMode("outer")
        yield* session.schedule(ModeTransition.exit)
        yield* session.enterMode("typo")
        assert.strictEqual(reasonOf(yield* Effect.flip(session.call("Hello")))._tag, "ModeFailed")
        assertHeard("ModeFailed", "ModeFailed")
      }).pipe(Effect.scoped, Effect.provide(echo)))

    it.effect("for what is let go of at its end, and as a defect where that is when it fails", () => {
      const around = Mode.make("around", { invokable: true, enter: () => Mode.enter(typo) })
      const run = (mode: typeof outer | typeof around, last: MockResponse.Input) =>
        Agent.run(Agent.make("a", { modes: [mode], stopWhen: StopWhen.maxSteps(2) }), "Hello").pipe(
          Effect.onExit(hear),
          Effect.exit,
          Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall(`enter_${mode.name}_mode`, {}), last)))
        )
      return Effect.gen(function*() {
        yield* run(outer, MockResponse.toolCall("another", {}))
        assertHeard("StepLimitReached", "StepLimitReached")
        const exit = yield* run(around, "Done.")
        assert.deepStrictEqual(Exit.isFailure(exit) && exit.cause.reasons.map(({ _tag }) => _tag), ["Die"])
        assertHeard("ModeFailed")
      })
    })
  })

  for (
    const [what, wish, stack, note] of [
      ["stays", ModeTransition.stay, ["kept"], "You are still in mode \"kept\"."],
      ["pushes", ModeTransition.push("next"), ["kept", "next"], "You are now in mode \"next\"."]
    ] as const
  ) {
    it.effect(`lets a run answer its user where a clean-up talks to the agent and ${what}`, () =>
      Effect.gen(function*() {
        const { mode } = recorder()
        const kept = Mode.make("kept", {
          invokable: true,
          enter: () => Effect.void,
          exit: () => Effect.as(Mode.call("Sum up."), wish)
        })
        const agent = Agent.make("a", { toolkit: Log, modes: [kept, mode("next")] })
        const { events, exit } = yield* watch(Agent.run(agent, "Question"))
        const state = yield* exit
        assert.deepStrictEqual(stackOf(state), stack)
        assert.deepStrictEqual(said(state), [
          "User: Question",
          "Assistant: <enter_kept_mode>",
          "Assistant: <exit_current_mode>",
          "User: Sum up.",
          "Assistant: The sum.",
          `Feedback: ${note}`,
          "Assistant: The answer."
        ])
        assert.deepStrictEqual(ofTag(events, "ModeExited").map(({ isKept }) => isKept), [true])
        assert.deepStrictEqual(problems(state.conversation), [])
        assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make("a")), state)
      }).pipe(
        Effect.provide(tools),
        Effect.provide(MockModel.layer(MockModel.queue(
          MockResponse.toolCall("enter_kept_mode", {}),
          MockResponse.toolCall("exit_current_mode", {}),
          "The sum.",
          "The answer."
        )))
      ))
  }

  it.effect("tells nothing of a mode that stays where there is something to answer", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const session = yield* Session.make(Agent.make("a", { modes: [mode("m", { transition: ModeTransition.stay })] }))
      yield* session.enterMode("m")
      yield* session.schedule(ModeTransition.exit)
      assert.deepStrictEqual(said(yield* session.call("Hello")), ["User: Hello", "Assistant: Re: Hello"])
    }).pipe(Effect.scoped, Effect.provide(echo)))
})

describe("A move that is asked for", () => {
  it.effect("from the session changes nothing until the next call, and is taken before its request", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const session = yield* Session.make(Agent.make("a", { modes: [mode("m"), mode("n")] }))
      const asked = yield* session.schedule(ModeTransition.push("m"))
      assert.deepStrictEqual(stackOf(asked), [])
      assert.deepStrictEqual(asked.transition, { enter: { name: "m" } })
      assert.deepStrictEqual(log, [])
      assert.deepStrictEqual(stackOf(yield* session.call("One")), ["m"])
      yield* session.schedule(ModeTransition.push("n"))
      assert.deepStrictEqual(stackOf(yield* session.call("Two")), ["m", "n"])
      yield* session.schedule(ModeTransition.exit)
      assert.deepStrictEqual(stackOf(yield* session.call("Three")), ["m"])
      yield* session.schedule(ModeTransition.switch("n"))
      const state = yield* session.call("Four")
      assert.deepStrictEqual(stackOf(state), ["n"])
      assert.strictEqual(state.transition, undefined)
      assert.deepStrictEqual(log, ["+m", "+n", "-n", "~n", "-m", "~m", "+n"])
      assert.deepStrictEqual(
        (yield* sent).map(({ system }) => system),
        [
          "You are in mode \"m\".",
          "You are in mode \"n\", inside \"m\".",
          "You are in mode \"m\".",
          "You are in mode \"n\"."
        ]
      )
      assert.deepStrictEqual(said(state), [
        "User: One",
        "Assistant: Re: One",
        "User: Two",
        "Assistant: Re: Two",
        "User: Three",
        "Assistant: Re: Three",
        "User: Four",
        "Assistant: Re: Four"
      ])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is replaced by the latest, and taken back by one that stays", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const session = yield* Session.make(Agent.make("a", { modes: [mode("m"), mode("n")] }))
      yield* session.schedule(ModeTransition.push("m"))
      yield* session.schedule(ModeTransition.push("n"))
      assert.deepStrictEqual(stackOf(yield* session.call("One")), ["n"])
      yield* session.schedule(ModeTransition.push("m"))
      yield* session.schedule(ModeTransition.stay)
      assert.deepStrictEqual(stackOf(yield* session.call("Two")), ["n"])
      assert.deepStrictEqual(log, ["+n"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("by a tool is taken once the tools of the step are settled, before the next request", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { toolkit: Log, modes: [mode("m")], toolConcurrency: 1 })
      const { events, exit } = yield* watch(Agent.run(agent, "Go"))
      const state = yield* exit
      assert.deepStrictEqual(stackOf(state), ["m"])
      assert.deepStrictEqual(log, ["+m", "~m"])
      const requests = yield* sent
      assert.deepStrictEqual(requests.map(({ system }) => system), ["", "You are in mode \"m\"."])
      assert.deepStrictEqual(requests[1]?.messages.slice(2), ["tool: \"\" \"\""])
      assert.deepStrictEqual(
        events.map(({ _tag }) => _tag).filter((tag) => /^(Mode(?!l)|ToolCallS|ModelCall|Step)/.test(tag)),
        [
          "StepStarted",
          "ModelCallStarted",
          "ToolCallStarted",
          "ModeTransitionRequested",
          "ToolCallSettled",
          "ToolCallStarted",
          "ToolCallSettled",
          "StepCompleted",
          "ModeEntering",
          "ModeEntered",
          "StepStarted",
          "ModelCallStarted",
          "StepCompleted"
        ]
      )
    }).pipe(
      Effect.provide(tools),
      Effect.provide(MockModel.layer(
        MockModel.queue(MockResponse.all(go("+m"), MockResponse.toolCall("where", {})), "Done.")
      ))
    ))

  it.effect("by several tools of a step is the last one's, and none of the others is entered", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { toolkit: Log, modes: [mode("m"), mode("n")], toolConcurrency: 1 })
      assert.deepStrictEqual(stackOf(yield* Agent.run(agent, "Go")), ["n"])
      assert.deepStrictEqual(log, ["+n", "~n"])
    }).pipe(
      Effect.provide(tools),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.all(go("+m"), go("+n")), "Done.")))
    ))

  it.effect("by a tool of a run that ends with the step waits for the next call", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { toolkit: Log, modes: [mode("m")], stopWhen: StopWhen.toolCalled("go") })
      const state = yield* Agent.run(agent, "Go")
      assert.deepStrictEqual(stackOf(state), [])
      assert.deepStrictEqual(state.transition, { enter: { name: "m" } })
      assert.deepStrictEqual(log, [])
      const stored = Result.getOrThrow(AgentState.fromJson(AgentState.toJson(state)))
      const next = yield* Agent.continueConversation(agent, stored, "Next")
      assert.deepStrictEqual(stackOf(next), ["m"])
      assert.strictEqual((yield* sent)[1]?.system, "You are in mode \"m\".")
    }).pipe(Effect.provide(tools), Effect.provide(MockModel.layer(MockModel.queue(go("+m"), "Done.")))))

  it.effect("on top lands on whatever is there when it is taken, and leaves nothing", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { modes: [mode("m"), mode("n"), mode("o")] })
      const session = yield* Session.make(agent)
      yield* session.schedule(ModeTransition.push("n"))
      yield* session.enterMode("m")
      assert.deepStrictEqual(stackOf(yield* session.call("One")), ["m", "n"])
      yield* session.schedule(ModeTransition.push("o"))
      yield* session.exitMode()
      assert.deepStrictEqual(stackOf(yield* session.call("Two")), ["m", "o"])
      assert.deepStrictEqual(log, ["+m", "+n", "-n", "~n", "+o"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  for (const [how, leave] of [["by hand", undefined], ["in a run", ModeTransition.exit]] as const) {
    it.effect(`on top by a clean-up outlives its mode, which is left ${how}`, () =>
      Effect.gen(function*() {
        const { log, mode } = recorder()
        const asking = Mode.make("asking", {
          enter: () => Effect.void,
          exit: () => Mode.schedule(ModeTransition.push("next"))
        })
        const session = yield* Session.make(Agent.make("a", { modes: [mode("m"), asking, mode("next")] }))
        yield* session.enterMode("m")
        yield* session.enterMode("asking")
        yield* (leave === undefined ? session.exitMode() : session.schedule(leave))
        assert.deepStrictEqual(stackOf(yield* session.call("One")), ["m", "next"])
        assert.deepStrictEqual(log, ["+m", "+next"])
      }).pipe(Effect.scoped, Effect.provide(echo)))
  }

  it.effect("on top is checked against what is there when it is taken", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { modes: [mode("plain"), mode("fork", { isolation: "fork" })] })
      const session = yield* Session.make(agent)
      yield* session.schedule(ModeTransition.push("plain"))
      yield* session.enterMode("fork")
      const error = yield* Effect.flip(session.call("One"))
      assert.strictEqual(reasonOf(error)._tag, "ModeFailed")
      assert.deepStrictEqual(stackOf(yield* session.state), ["fork"])
      assert.deepStrictEqual(log, ["+fork"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("by a set-up is taken before the first request in it", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const first = Mode.make("first", {
        enter: () => Mode.schedule(ModeTransition.switch("second")),
        exit: () => Effect.sync(() => void log.push("-first"))
      })
      const session = yield* Session.make(Agent.make("a", { modes: [first, mode("second")] }))
      assert.deepStrictEqual(stackOf(yield* session.enterMode("first")), ["first"])
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["second"])
      assert.deepStrictEqual(log, ["-first", "+second"])
      assert.strictEqual((yield* sent).length, 1)
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("fails the run where a clean-up on the way does: the mode is left, and the move is taken by the next call", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const failing = Mode.make("failing", { enter: () => Effect.void, exit: () => Effect.fail("stuck") })
      const session = yield* Session.make(Agent.make("a", { modes: [failing, mode("next")] }))
      yield* session.enterMode("failing")
      yield* session.schedule(ModeTransition.switch("next"))
      assert.strictEqual(yield* Effect.flip(session.call("One")), "stuck")
      const { modes, status, transition } = yield* session.state
      assert.deepStrictEqual([modes, status._tag, transition], [[], "Failed", { to: 0, enter: { name: "next" } }])
      assert.deepStrictEqual(log, [])
      assert.deepStrictEqual(stackOf(yield* session.call("Two")), ["next"])
      assert.deepStrictEqual((yield* sent).map(({ messages }) => messages), [["user: One", "user: Two"]])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("by a clean-up is taken with the next call", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const first = Mode.make("first", {
        enter: () => Effect.void,
        exit: () => Mode.schedule(ModeTransition.switch("second"))
      })
      const session = yield* Session.make(Agent.make("a", { modes: [first, mode("second")] }))
      yield* session.enterMode("first")
      assert.deepStrictEqual(stackOf(yield* session.exitMode()), [])
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["second"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("must be possible: the mode is known, its parameters fit, and there is one to leave", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const strict = Mode.make("strict", { params: Schema.Struct({ n: Schema.Int }), enter: () => Effect.void })
      const session = yield* Session.make(Agent.make("a", { modes: [mode("m"), strict] }))
      const refused = (transition: ModeTransition.ModeTransition) =>
        Effect.map(Effect.flip(session.schedule(transition)), (error) => reasonOf(error)._tag)
      yield* session.enterMode("m")
      yield* session.schedule(ModeTransition.push("strict", { n: 1 }))
      const before = yield* session.state
      assert.strictEqual(yield* refused(ModeTransition.switch("nowhere")), "UnknownMode")
      assert.strictEqual(yield* refused(ModeTransition.push("strict", { n: "one" })), "ParamsRejected")
      assert.strictEqual(yield* session.state, before)
      yield* session.exitMode()
      assert.strictEqual(yield* refused(ModeTransition.exit), "NoMode")
      assert.deepStrictEqual(log, ["+m", "-m", "~m"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is checked against the isolation that it would land in, before anything is left", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", {
        modes: [
          mode("none"),
          mode("config", { isolation: "config" }),
          mode("thread", { isolation: "thread" }),
          mode("fork", { isolation: "fork" })
        ]
      })
      const session = yield* Session.make(agent)
      yield* session.enterMode("thread")
      yield* session.enterMode("fork")
      log.length = 0
      for (const transition of [ModeTransition.push("thread"), ModeTransition.switch("config")]) {
        const { events, exit } = yield* watch(Effect.flip(session.schedule(transition)))
        assert.strictEqual(reasonOf(yield* exit)._tag, "LessIsolated")
        assert.deepStrictEqual(events, [])
      }
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["thread", "fork"])
      assert.deepStrictEqual(log, [])
      yield* session.schedule(ModeTransition.switch("thread"))
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["thread", "thread"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("that became impossible since ends the run, and nothing is left", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { modes: [mode("m"), mode("loose")] })
      const session = yield* Session.make(agent)
      yield* session.enterMode("m")
      const { transition, ...state } = yield* session.schedule(ModeTransition.switch("loose"))
      assert.isDefined(transition)
      const tampered: AgentState.AgentState = { ...state, transition: { to: 0, enter: { name: "gone" } } }
      log.length = 0
      const error = yield* Effect.flip(Agent.continueConversation(agent, tampered, "Hello"))
      assert.strictEqual(reasonOf(error)._tag, "ModeFailed")
      assert.deepStrictEqual(log, ["+m", "~m"])
      assert.deepStrictEqual(stackOf((error as { readonly state: AgentState.AgentState }).state), ["m"])
      assert.deepStrictEqual(yield* sent, [])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("whose set-up fails fails the call, is not asked for again, and leaves a state that goes on", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const broken = Mode.make("broken", { enter: () => Effect.fail("no") })
      const session = yield* Session.make(Agent.make("a", { modes: [mode("m"), broken] }))
      yield* session.enterMode("m")
      yield* session.schedule(ModeTransition.switch("broken"))
      assert.strictEqual(yield* Effect.flip(session.call("Hello")), "no")
      const state = yield* session.state
      assert.deepStrictEqual(stackOf(state), [])
      assert.strictEqual(state.transition, undefined)
      assert.deepStrictEqual(log, ["+m", "-m", "~m"])
      assert.deepStrictEqual(said(yield* session.call("Again")), ["User: Hello", "User: Again", "Assistant: Re: Again"])
    }).pipe(Effect.scoped, Effect.provide(echo)))
})

/** A mode that talks to the agent on its way in and out, by `Mode.call`. */
const Talking = Mode.make("talking", {
  invokable: true,
  enter: () => Mode.call("Prepare"),
  exit: () => Effect.asVoid(Mode.call("Sum up"))
})

const talked = ["User: Prepare", "Assistant: Re: Prepare", "User: Sum up", "Assistant: Re: Sum up"]

describe("Set-up and clean-up may call the agent", () => {
  it.effect("where the mode is entered and left by hand", () =>
    ends(Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [Talking] }))
      yield* session.enterMode("talking")
      assert.deepStrictEqual(said(yield* session.exitMode()), talked)
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("where the mode is a bracket, or lasts as long as a scope", () =>
    ends(Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [Talking] }))
      yield* Effect.gen(function*() {
        yield* Mode.within(session.call("Hello"), Talking)
        yield* Effect.scoped(Mode.enter(Talking))
      }).pipe(Effect.provideService(Mode.Host, session))
      assert.deepStrictEqual(said(yield* session.state), [
        "User: Prepare",
        "Assistant: Re: Prepare",
        "User: Hello",
        "Assistant: Re: Hello",
        "User: Sum up",
        "Assistant: Re: Sum up",
        ...talked
      ])
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("by their session's own call as well", () =>
    ends(Effect.gen(function*() {
      let session: Session.Session<string, never> | undefined
      const call = (text: string) => Effect.suspend(() => session!.call(text))
      const mode = Mode.make("talking", {
        enter: () => Effect.orDie(call("Prepare")),
        exit: () => Effect.asVoid(Effect.orDie(call("Sum up")))
      })
      session = yield* Session.make(Agent.make("a", { modes: [mode] }))
      yield* session.enterMode("talking")
      assert.deepStrictEqual(said(yield* session.exitMode()), talked)
      yield* session.schedule(ModeTransition.push("talking"))
      yield* session.call("Hello")
      yield* session.schedule(ModeTransition.exit)
      assert.deepStrictEqual(said(yield* session.call("Bye")).slice(talked.length), [
        "User: Prepare",
        "Assistant: Re: Prepare",
        "User: Hello",
        "Assistant: Re: Hello",
        "User: Sum up",
        "Assistant: Re: Sum up",
        "User: Bye",
        "Assistant: Re: Bye"
      ])
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("where the session moves between calls", () =>
    ends(Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [Talking] }))
      yield* session.schedule(ModeTransition.push("talking"))
      assert.deepStrictEqual(said(yield* session.call("Hello")), [
        "User: Prepare",
        "Assistant: Re: Prepare",
        "User: Hello",
        "Assistant: Re: Hello"
      ])
      yield* session.schedule(ModeTransition.exit)
      const state = yield* session.call("Bye")
      assert.deepStrictEqual(said(state).slice(4), [
        "User: Sum up",
        "Assistant: Re: Sum up",
        "User: Bye",
        "Assistant: Re: Bye"
      ])
      assert.deepStrictEqual(problems(state.conversation), [])
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("before a call is heard, so that the user's words are the last", () =>
    ends(Effect.gen(function*() {
      const agent = Agent.make("a", { modes: [Talking] })
      const moved = yield* Session.make(agent)
      yield* moved.schedule(ModeTransition.push("talking"))
      const state = yield* moved.call("What is 2+2?")
      assert.strictEqual(AgentState.text(state), "Re: What is 2+2?")
      assert.strictEqual(state.initialQuery, "What is 2+2?")
      assert.strictEqual(state.run.iteration, 1)
      const entered = yield* Session.make(agent)
      yield* entered.enterMode("talking")
      const same = yield* entered.call("What is 2+2?")
      assert.deepStrictEqual([state.conversation, state.run], [same.conversation, same.run])
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("and where that fails, or takes too long, the user's words are kept", () =>
    ends(Effect.gen(function*() {
      const failing = Mode.make("failing", { enter: () => Effect.fail("no") })
      const hanging = Mode.make("hanging", { enter: () => Effect.never })
      const session = yield* Session.make(Agent.make("a", { modes: [failing, hanging] }))
      yield* session.schedule(ModeTransition.push("failing"))
      const exit = yield* Effect.exit(session.call("One"))
      assert.isTrue(Exit.isFailure(exit))
      const failed = yield* session.state
      assert.deepStrictEqual([failed.status._tag, said(failed)], ["Failed", ["User: One"]])
      yield* session.schedule(ModeTransition.push("hanging"))
      const fiber = yield* Effect.forkChild(session.call("Two"), { startImmediately: true })
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      yield* Fiber.interrupt(fiber)
      const cut = yield* session.state
      assert.deepStrictEqual([stackOf(cut), said(cut)], [[], ["User: One", "User: Two"]])
      assert.strictEqual(cut.transition?.enter?.name, "hanging")
      yield* session.schedule(ModeTransition.stay)
      assert.strictEqual(AgentState.text(yield* session.resume), "Re: Two")
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("while words that wait behind an open call are heard first", () =>
    ends(Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { toolkit: Guarded, modes: [Talking] }))
      yield* session.call("One")
      yield* session.schedule(ModeTransition.push("talking"))
      const state = yield* session.call("Two")
      assert.deepStrictEqual([stackOf(state), said(state)], [[], ["User: One", "Assistant: <guarded>", "User: Two"]])
      assert.strictEqual(AgentState.pendingApprovals(state).length, 1)
    })).pipe(
      Effect.scoped,
      Effect.provide(Guarded.toLayer({ guarded: () => Effect.succeed("done") })),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("guarded", {}))))
    ))

  const answers = MockModel.layer(MockModel.make(({ iteration, lastToolResults, lastUserText, state }) => {
    const text = state?.conversation.turns.findLast((turn) => turn._tag !== "Assistant")
    if (text?._tag === "User" && text.mode !== undefined) return `Re: ${lastUserText}`
    if (iteration === 0) return go("+talking")
    const isLast = lastToolResults.length === 0 && lastUserText.startsWith("Mode")
    return isLast ? "Done." : go("")
  }))

  it.effect("where a tool moves within a run", () =>
    ends(Effect.gen(function*() {
      const agent = Agent.make("a", { toolkit: Log, modes: [Talking] })
      const state = yield* Agent.run(agent, "Hello")
      assert.deepStrictEqual(said(state), [
        "User: Hello",
        "Assistant: <go>",
        "User: Prepare",
        "Assistant: Re: Prepare",
        "Feedback: You are now in mode \"talking\".",
        "Assistant: <go>",
        "User: Sum up",
        "Assistant: Re: Sum up",
        "Feedback: Mode \"talking\" was left.",
        "Assistant: Done."
      ])
      assert.deepStrictEqual(state.status, { _tag: "Complete" })
    })).pipe(Effect.provide(tools), Effect.provide(answers)))

  it.effect("where the model moves by its own tools", () =>
    ends(Effect.gen(function*() {
      const agent = Agent.make("a", { modes: [Talking] })
      const state = yield* Agent.run(agent, "Hello")
      assert.deepStrictEqual(said(state), [
        "User: Hello",
        "Assistant: <enter_talking_mode>",
        "User: Prepare",
        "Assistant: prepared",
        "Feedback: You are now in mode \"talking\".",
        "Assistant: <exit_current_mode>",
        "User: Sum up",
        "Assistant: summed up",
        "Feedback: Mode \"talking\" was left.",
        "Assistant: Done."
      ])
    })).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("enter_talking_mode", {}),
      "prepared",
      MockResponse.toolCall("exit_current_mode", {}),
      "summed up",
      "Done."
    )))))

  it.effect("where a handoff leaves the mode", () =>
    ends(Effect.gen(function*() {
      const b = Agent.make("b")
      const a = Agent.make("a", { modes: [Talking], handoffs: [Handoff.to(b)] })
      const session = yield* Session.make(a)
      yield* session.enterMode("talking")
      const state = yield* session.call("Hello")
      assert.strictEqual(state.agent, "b")
      assert.deepStrictEqual(stackOf(state), [])
      assert.deepStrictEqual(said(state).slice(0, 6), [
        "User: Prepare",
        "Assistant: prepared",
        "User: Hello",
        "Assistant: <handoff_to_b>",
        "User: Sum up",
        "Assistant: summed up"
      ])
      assert.strictEqual(AgentState.text(state), "From b.")
    })).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.byAgent({
        a: MockModel.queue("prepared", MockResponse.toolCall("handoff_to_b", {}), "summed up"),
        b: MockModel.queue("From b.")
      })))
    ))

  it.effect("where an agent that was called as a tool is in the mode", () =>
    ends(Effect.gen(function*() {
      const helper = Agent.make("helper", { modes: [Talking] })
      const a = Agent.make("a", { agents: [Agent.asTool(helper)] })
      const { events, exit } = yield* watch(Agent.run(a, "Hello"))
      assert.strictEqual(AgentState.text(yield* exit), "Done.")
      assert.deepStrictEqual(ofTag(events, "ModeExited").map(({ name, path }) => [name, ...path]), [
        ["talking", "a", "helper"]
      ])
    })).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      a: MockModel.queue(MockResponse.toolCall("helper", { task: "Help" }), "Done."),
      helper: MockModel.queue(MockResponse.toolCall("enter_talking_mode", {}), "prepared", "Helped.", "summed up")
    })))))

  it.effect("where the session ends", () =>
    ends(Effect.gen(function*() {
      yield* Effect.scoped(Effect.flatMap(
        Session.make(Agent.make("a", { modes: [Talking] })),
        (session) => session.enterMode("talking")
      ))
      assert.deepStrictEqual((yield* sent).map(({ messages }) => messages.at(-1)), ["user: Prepare", "user: Sum up"])
    })).pipe(Effect.provide(echo)))

  it.effect("where answers have a schema, and the user's question is answered after what the mode asked", () =>
    ends(Effect.gen(function*() {
      const agent = Agent.make("a", { modes: [Talking], output: Schema.Struct({ n: Schema.Int }) })
      const state = yield* Agent.run(agent, "Hello")
      assert.deepStrictEqual(said(state), [
        "User: Hello",
        "Assistant: <enter_talking_mode>",
        "User: Prepare",
        "Assistant: <final_answer>",
        "Feedback: You are now in mode \"talking\".",
        "Assistant: <final_answer>"
      ])
      assert.deepStrictEqual(Result.getOrThrow(AgentState.output(agent, state)), { n: 2 })
    })).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("enter_talking_mode", {}),
      MockResponse.toolCall("final_answer", { n: 1 }),
      MockResponse.toolCall("final_answer", { n: 2 })
    )))))

  it.effect("and a model that leaves a mode which cut what was said there reads the result of that, and no note", () =>
    ends(Effect.gen(function*() {
      const cutting = Mode.make("cutting", {
        invokable: true,
        isolation: "thread",
        enter: () =>
          Effect.andThen(
            Mode.call("Prepare"),
            Mode.updateView(({ turns }) => ({ turns: turns.slice(0, 1) }))
          )
      })
      const state = yield* Agent.run(Agent.make("a", { modes: [cutting] }), "Hello")
      assert.deepStrictEqual(said(state), [
        "User: Hello",
        "Assistant: <enter_cutting_mode>",
        "User: Prepare",
        "Assistant: Ready",
        "Assistant: <exit_current_mode>",
        "Assistant: Done"
      ])
    })).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("enter_cutting_mode", {}),
      "Ready",
      MockResponse.toolCall("exit_current_mode", {}),
      "Done"
    )))))

  it.effect("while a tool that tries is told to ask for a move instead", () =>
    ends(Effect.gen(function*() {
      const Try = Toolkit.make(Tool.make("attempt", { success: Schema.String }))
      const agent = Agent.make("a", { toolkit: Try })
      const handler = Try.toLayer({
        attempt: () => Effect.orDie(Effect.map(Effect.flip(Mode.call("Nested")), (error) => reasonOf(error)._tag))
      })
      const state = yield* Effect.provide(Agent.run(agent, "Hello"), handler)
      assert.deepStrictEqual((yield* sent)[1]?.messages.at(-1), "tool: \"StepUnderWay\"")
      assert.strictEqual(AgentState.text(state), "Done.")
    })).pipe(
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("attempt", {}), "Done.")))
    ))
})

describe("A cycle of moves", () => {
  const to = (name: string, other: string) =>
    Mode.make(name, { enter: () => Mode.schedule(ModeTransition.switch(other)) })

  it.effect("that never lets the model speak ends in a typed error", () =>
    ends(Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [to("a", "b"), to("b", "a")] }))
      yield* session.schedule(ModeTransition.push("a"))
      const error = yield* Effect.flip(session.call("Hello"))
      assert.strictEqual(reasonOf(error)._tag, "ModeFailed")
      assert.match(
        reasonOf(error).message,
        /More than 32 nested set-ups and clean-ups, or moves without a request to the model/
      )
      assert.deepStrictEqual(yield* sent, [])
      const state = yield* session.state
      assert.strictEqual(state.transition, undefined)
      assert.strictEqual(stackOf(state).length, 1)
      assert.deepStrictEqual(said(yield* session.call("Again")), ["User: Hello", "User: Again", "Assistant: Re: Again"])
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("of modes that push each other ends so too", () =>
    ends(Effect.gen(function*() {
      const endless = Mode.make("endless", { enter: () => Mode.schedule(ModeTransition.push("endless")) })
      const session = yield* Session.make(Agent.make("a", { modes: [endless] }))
      yield* session.enterMode("endless")
      const error = yield* Effect.flip(session.call("Hello"))
      assert.strictEqual(reasonOf(error)._tag, "ModeFailed")
      assert.strictEqual(stackOf(yield* session.state).length, 33)
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("that ends at a move that only leaves a mode says so, and names no mode to enter", () =>
    ends(Effect.gen(function*() {
      const restless = Mode.make("restless", {
        enter: () => Mode.schedule(ModeTransition.exit),
        exit: () => Effect.succeed(ModeTransition.switch("restless"))
      })
      const session = yield* Session.make(Agent.make("a", { modes: [restless] }))
      yield* session.enterMode("restless")
      const error = yield* Effect.flip(session.call("Hello"))
      assert.match(reasonOf(error).message, /^Agent "a" can't leave its mode: More than 32 /)
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("that lets the model speak meets the limit of steps", () =>
    ends(Effect.gen(function*() {
      const speaking = (name: string, other: string) =>
        Mode.make(name, {
          enter: () => Effect.andThen(Mode.call("Prepare"), Mode.schedule(ModeTransition.switch(other)))
        })
      const agent = Agent.make("a", {
        modes: [speaking("a", "b"), speaking("b", "a")],
        stopWhen: StopWhen.maxSteps(5)
      })
      const scheduled = { ...AgentState.make("a"), transition: { enter: { name: "a" } } }
      const error = yield* Effect.flip(Agent.resume(agent, AgentState.ask(scheduled, "Hello", 0)))
      assert.strictEqual(reasonOf(error)._tag, "StepLimitReached")
      assert.strictEqual((yield* sent).length, 5)
      const session = yield* Session.make(agent)
      yield* session.schedule(ModeTransition.push("a"))
      assert.strictEqual(reasonOf(yield* Effect.flip(session.call("Hello")))._tag, "ModeFailed")
      assert.strictEqual((yield* sent).length, 5 + 32)
    })).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is counted anew after each request", () =>
    ends(Effect.gen(function*() {
      const { mode } = recorder()
      const session = yield* Session.make(Agent.make("a", { modes: [mode("m"), mode("n")] }))
      yield* Effect.forEach(Array.from({ length: 40 }), (_, index) =>
        Effect.andThen(
          session.schedule(ModeTransition.switch(index % 2 === 0 ? "m" : "n")),
          session.call("Hello")
        ))
      assert.deepStrictEqual(stackOf(yield* session.state), ["n"])
    })).pipe(Effect.scoped, Effect.provide(echo)))
})

describe("What is no move", () => {
  const notMoves: ReadonlyArray<unknown> = [
    undefined,
    null,
    "stay",
    3,
    {},
    { _tag: "Leave" },
    { _tag: "Switch" },
    Promise.resolve()
  ]
  const own = Mode.make("own", { enter: () => Effect.void })

  it.effect("is refused where a program asks for it, and leaves the move that was asked for before", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [own] }))
      yield* session.schedule(ModeTransition.push("own"))
      for (const given of notMoves) {
        for (const asking of [session.schedule(given as never), Mode.schedule(given as never)]) {
          const exit = yield* Effect.exit(Effect.provideService(asking, Mode.Host, session))
          assert.include(
            Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "",
            "TypeError: `schedule` takes a move"
          )
        }
      }
      assert.deepStrictEqual((yield* session.state).transition, { enter: { name: "own" } })
      for (
        const naming of [
          session.enterMode(3 as never),
          Effect.andThen(session.enterMode("own"), session.exitMode(3 as never))
        ]
      ) {
        const exit = yield* Effect.exit(naming)
        assert.include(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "", "must be a text, not a number")
      }
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("leaves nothing of it in the state", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [own] }))
      yield* session.schedule(Object.assign({ next: () => 1 }, ModeTransition.push("own")))
      assert.deepStrictEqual((yield* session.state).transition, { enter: { name: "own" } })
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is a failure of the clean-up that returns it and means one, which names the mode", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const mode = (value: unknown) =>
        Mode.make("mode", {
          enter: () => Effect.addFinalizer(() => Effect.sync(() => log.push("released"))),
          exit: () => Effect.succeed(value as undefined)
        })
      const leaving = (value: unknown) =>
        Effect.gen(function*() {
          const session = yield* Session.make(Agent.make("a", { modes: [mode(value), own] }))
          yield* session.enterMode("mode")
          const exit = yield* Effect.exit(session.exitMode())
          assert.deepStrictEqual(stackOf(yield* session.state), [])
          return Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : ""
        })
      for (const value of ["own", { _tag: "Leave" }, { _tag: "Switch" }, { _tag: "Push", name: 3 }]) {
        assert.match(
          yield* leaving(value),
          /^TypeError: `exit` of mode "mode" must return a move of `ModeTransition`, not an? (string|object)/
        )
      }
      // A function that returns `void` may give anything.
      for (const value of [undefined, null, 3, true, [], {}]) assert.strictEqual(yield* leaving(value), "")
      assert.lengthOf(log, 10)
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is a failure of the clean-up that returns it, if reading it is one, and the mode is left all the same", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const mode = Mode.make("mode", {
        enter: () => Effect.addFinalizer(() => Effect.sync(() => log.push("released"))),
        exit: () =>
          Effect.succeed({
            get _tag(): "Stay" {
              throw new Error("unreadable")
            }
          })
      })
      const session = yield* Session.make(Agent.make("a"))
      const within = Mode.within(Effect.void, mode).pipe(Effect.provideService(Mode.Host, session))
      const { events, exit } = yield* watch(within)
      assert.include(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "", "unreadable")
      assert.deepStrictEqual([log, stackOf(yield* session.state)], [["released"], []])
      assert.strictEqual(ofTag(events, "ModeExited").length, 1)
    }).pipe(Effect.scoped, Effect.provide(echo)))
})
