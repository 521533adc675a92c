/** The life of a mode: what is set up, what is cleaned up, in which order, and what a finalizer may do. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Option, Schema, Scope } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Mode, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { problems } from "../domain/legal.ts"
import {
  around,
  assistant,
  broken,
  echo,
  left,
  type Log,
  modeEvents,
  names,
  outcome,
  reasonOf,
  reasons,
  settleDown,
  stateNow,
  telling,
  texts,
  told,
  withAssistant,
  write
} from "./lifecycle.ts"

describe("Set-up and clean-up", () => {
  it.effect("run in this order: set-up, body, exit, finalizers last in first out", () =>
    Effect.gen(function*() {
      const log: Log = []
      yield* Mode.within(write(log, "body"), telling(log, "mode"))
      assert.deepStrictEqual(log, ["mode set-up", "body", ...told("mode", "success")])
    }).pipe(withAssistant))

  for (
    const [how, body, outcome] of [
      ["fails", broken("body"), "body"],
      ["dies", Effect.die("boom"), "defect: boom"],
      ["interrupts itself", Effect.interrupt, "interrupted"]
    ] as const
  ) {
    it.effect(`run where the body ${how}, and are told so`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const { events, exit } = yield* watch(Mode.within(body, telling(log, "mode")))
        assert.deepStrictEqual(log, ["mode set-up", ...told("mode", outcome)])
        assert.deepStrictEqual(reasons(exit), [outcome])
        const tag = how === "fails" ? "Broken" : how === "dies" ? "Defect" : "Interrupted"
        assert.deepStrictEqual(modeEvents(events), [...around("mode"), `ModeFailed mode Body ${tag}`, ...left("mode")])
        assert.deepStrictEqual((yield* stateNow).modes, [])
      }).pipe(withAssistant))
  }

  it.effect("run at the end of the session, the innermost mode first", () => {
    const log: Log = []
    const outer = telling(log, "outer")
    const inner = telling(log, "inner")
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const session = yield* Session.make(Agent.make("assistant", { modes: [outer, inner] })).pipe(Scope.provide(scope))
      yield* session.enterMode("outer")
      yield* session.enterMode("inner")
      log.length = 0
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, [...told("inner", "success"), ...told("outer", "success")])
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(Effect.provide(echo))
  })

  it.effect("run at the end of a session that is closed by a failure, and are told so", () => {
    const log: Log = []
    return Effect.gen(function*() {
      const exit = yield* Effect.gen(function*() {
        const session = yield* Session.make(Agent.make("assistant", { modes: [telling(log, "mode")] }))
        yield* session.enterMode("mode")
        return yield* broken("program")
      }).pipe(Effect.scoped, Effect.exit)
      assert.deepStrictEqual(log, ["mode set-up", ...told("mode", "program")])
      assert.deepStrictEqual(reasons(exit), ["program"])
    }).pipe(Effect.provide(echo))
  })

  it.effect("run at the end of a session whose agent is in the middle of a call, after that", () => {
    const log: Log = []
    const model = MockModel.layer(
      MockModel.make(() => Effect.onInterrupt(Effect.never, () => write(log, "call interrupted")))
    )
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const session = yield* Session.make(Agent.make("assistant", { modes: [telling(log, "mode")] })).pipe(
        Scope.provide(scope)
      )
      yield* session.enterMode("mode")
      const call = yield* Effect.forkChild(session.call("Hi"))
      yield* settleDown
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, ["mode set-up", "call interrupted", ...told("mode", "success")])
      assert.isTrue(Exit.isFailure(yield* Fiber.await(call)))
    }).pipe(Effect.provide(model))
  })

  it.effect("run only as far as finalizers go at the end of a session that is stored", () => {
    const log: Log = []
    const agent = Agent.make("assistant", { modes: [telling(log, "mode")] })
    const open = Session.make(agent, { store: Session.store("ada") })
    return Effect.gen(function*() {
      yield* Effect.scoped(Effect.flatMap(open, (session) => session.enterMode("mode")))
      assert.deepStrictEqual(log, [
        "mode set-up",
        "mode second finalizer: success",
        "mode first finalizer: success"
      ])
      log.length = 0
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* open
        assert.deepStrictEqual(log, ["mode set-up"])
        yield* session.exitMode("mode")
        assert.deepStrictEqual(log, ["mode set-up", ...told("mode", "success")])
      }))
    }).pipe(Effect.provide(KeyValueStore.layerMemory), Effect.provide(echo))
  })

  it.effect("run only as far as finalizers go at the end of a run: its state stays in the mode", () => {
    const log: Log = []
    const mode = Mode.make("mode", {
      invokable: true,
      enter: (_, { isResumed }) =>
        Effect.andThen(
          write(log, isResumed ? "set-up again" : "set-up"),
          Effect.addFinalizer(() => write(log, "finalizer"))
        ),
      exit: () => write(log, "exit")
    })
    const agent = Agent.make("assistant", { modes: [mode] })
    return Effect.gen(function*() {
      const state = yield* Agent.run(agent, "Hi")
      assert.deepStrictEqual(log, ["set-up", "finalizer"])
      assert.deepStrictEqual(names(state), ["mode"])
      const next = yield* Agent.continueConversation(agent, state, "Leave")
      assert.deepStrictEqual(log, ["set-up", "finalizer", "set-up again", "exit", "finalizer"])
      assert.deepStrictEqual(names(next), [])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("enter_mode_mode", {}),
      "Entered.",
      MockResponse.toolCall("exit_current_mode", {}),
      "Left."
    ))))
  })

  it.effect("run whole at the end of an agent that was called as a tool", () => {
    const log: Log = []
    const mode = Mode.make("mode", {
      invokable: true,
      enter: () => Effect.addFinalizer((exit) => write(log, `finalizer: ${outcome(exit)}`)),
      exit: (exit) => write(log, `exit: ${outcome(exit)}`)
    })
    const helper = Agent.make("helper", { modes: [mode] })
    const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
    return Effect.gen(function*() {
      const state = yield* Agent.run(boss, "Hi")
      assert.strictEqual(AgentState.text(state), "All done.")
      assert.deepStrictEqual(log, ["exit: success", "finalizer: success"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      boss: MockModel.queue(MockResponse.toolCall("helper", { task: "Help" }), "All done."),
      helper: MockModel.queue(MockResponse.toolCall("enter_mode_mode", {}), "Helped.")
    }))))
  })

  it.effect("see the mode on the stack, its parameters and its values, all of them", () => {
    const seen: Array<unknown> = []
    const look = (where: string) =>
      Effect.gen(function*() {
        seen.push([where, yield* Mode.name, yield* Mode.stack, yield* Mode.isIn("mode"), yield* Mode.all])
      })
    const mode = Mode.make("mode", {
      params: Schema.Struct({ topic: Schema.String }),
      enter: Effect.fn(function*() {
        yield* Effect.addFinalizer(() => Effect.orDie(look("finalizer")))
        yield* look("set-up")
        yield* Mode.set("n", 1)
      }),
      exit: () => look("exit"),
      recover: () => look("recover")
    })
    const outer = Mode.make("outer", { enter: () => Mode.set("from", "outside") })
    return Effect.gen(function*() {
      yield* Mode.within(
        Mode.within(Effect.andThen(Mode.set("n", 2), broken("body")), mode, { topic: "qubits" }),
        outer
      )
      const about = { from: "outside", topic: "qubits" }
      assert.deepStrictEqual(seen, [
        ["set-up", "mode", ["outer", "mode"], true, about],
        ["recover", "mode", ["outer", "mode"], true, { ...about, n: 2 }],
        ["exit", "mode", ["outer", "mode"], true, { ...about, n: 2 }],
        ["finalizer", "mode", ["outer", "mode"], true, { ...about, n: 2 }]
      ])
    }).pipe(withAssistant)
  })

  it.effect("may talk to the agent, in the mode, all of them", () => {
    const say = (text: string) => Effect.asVoid(Mode.call(text))
    const mode = Mode.make("mode", {
      enter: () => Effect.andThen(Effect.addFinalizer(() => Effect.orDie(say("finalizer"))), say("set-up")),
      exit: () => say("exit"),
      recover: () => say("recover")
    })
    return Effect.gen(function*() {
      yield* Mode.within(broken("body"), mode)
      const asked = (yield* MockModel.calls).map(({ request }) => [
        request.lastUserText,
        request.system.includes("You are in mode \"mode\".")
      ])
      assert.deepStrictEqual(asked, [["set-up", true], ["recover", true], ["exit", true], ["finalizer", true]])
      const { messages } = (yield* MockModel.calls).at(-1)!.request
      const state = yield* stateNow
      assert.lengthOf(messages, state.conversation.turns.length)
      const said = ["set-up", "recover", "exit", "finalizer"].flatMap((text) => [text, `Re: ${text}`])
      assert.deepStrictEqual(texts(state), said)
    }).pipe(withAssistant)
  })
})

/** A mode whose finalizer tries to talk to the agent and to enter a mode, and writes down where it is and what comes of it. */
const talkative = (log: Array<unknown>, name = "mode") => {
  const inner = Mode.make("inner", { enter: () => Effect.void })
  return Mode.make(name, {
    invokable: true,
    enter: Effect.fn(function*() {
      const host = yield* Mode.Host
      yield* Effect.addFinalizer(() =>
        Effect.gen(function*() {
          log.push(yield* Effect.orDie(Mode.stack))
          log.push(reasonOf(yield* Effect.exit(Mode.call("Anything else?"))))
          log.push(reasonOf(yield* Effect.exit(Effect.scoped(Mode.enter(inner)))))
          log.push(reasonOf(yield* Effect.exit(Mode.within(Effect.void, inner))))
        }).pipe(Effect.provideService(Mode.Host, host))
      )
    })
  })
}
const refusals = ["Unavailable", "Unavailable", "Unavailable"]

describe("A finalizer of a mode that stays entered", () => {
  it.effect("can't talk to the agent at the end of a run, whose answer stays the run's", () => {
    const log: Array<unknown> = []
    const agent = Agent.make("assistant", { modes: [talkative(log), talkative(log, "above")] })
    return Effect.gen(function*() {
      const { events, exit } = yield* watch(Agent.run(agent, "Hi"))
      const state = yield* exit
      assert.deepStrictEqual(log, [["mode", "above"], ...refusals, ["mode"], ...refusals])
      assert.strictEqual(AgentState.text(state), "Hello.")
      assert.deepStrictEqual(names(state), ["mode", "above"])
      assert.strictEqual((yield* MockModel.calls).length, 3)
      assert.deepStrictEqual(ofTag(events, "InputGiven"), [])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("enter_mode_mode", {}),
      MockResponse.toolCall("enter_above_mode", {}),
      "Hello.",
      "Nothing else."
    ))))
  })

  it.effect("leaves the user's question for whoever goes on after an interruption", () => {
    const log: Array<unknown> = []
    const agent = Agent.make("assistant", { modes: [talkative(log)] })
    return Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const model = MockModel.make(({ messages }) =>
        messages.length === 1
          ? Effect.succeed(MockResponse.toolCall("enter_mode_mode", {}))
          : log.length === 0
          ? Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
          : Effect.succeed(MockResponse.text("Re: Hi"))
      )
      let state: AgentState.AgentState | undefined
      const program = Effect.gen(function*() {
        const fiber = yield* Agent.run(agent, "Hi").pipe(
          Agent.observe((event) =>
            Effect.sync(() => {
              if (event._tag === "RunInterrupted") state = event.state
            })
          ),
          Effect.forkChild
        )
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(log, [["mode"], ...refusals])
        return yield* Agent.resume(agent, state!)
      })
      const resumed = yield* Effect.provide(program, MockModel.layer(model))
      assert.strictEqual(AgentState.text(resumed), "Re: Hi")
    })
  })

  it.effect("can't talk to the agent at the end of a session that is stored", () => {
    const log: Array<unknown> = []
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const calling = Mode.make("calling", {
        enter: () =>
          Effect.addFinalizer(() =>
            Effect.forEach(
              [session.call("Anything else?"), session.enterMode("mode")],
              (operation) =>
                Effect.map(
                  Effect.flip(Effect.asVoid(operation)),
                  (error) => log.push((error as Session.SessionError).reason._tag)
                )
            ).pipe(Effect.ignore)
          )
      })
      const session: Session.Session<string, unknown> = yield* Session.make(assistant, {
        modes: [talkative(log), calling],
        store: Session.store("desk")
      }).pipe(Scope.provide(scope))
      yield* session.enterMode("mode")
      yield* session.enterMode("calling")
      yield* session.call("Hi")
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, ["SessionClosed", "SessionClosed", ["mode"], ...refusals])
      assert.deepStrictEqual(texts(yield* session.state), ["Hi", "Re: Hi"])
    }).pipe(Effect.provide([echo, KeyValueStore.layerMemory]))
  })

  it.effect("may talk to the agent where the mode is left", () => {
    const log: Array<unknown> = []
    return Effect.gen(function*() {
      const state = yield* Effect.andThen(Mode.within(Effect.void, talkative(log)), stateNow)
      assert.deepStrictEqual(log, [["mode"], undefined, undefined, undefined])
      assert.deepStrictEqual(texts(state), ["Anything else?", "Re: Anything else?"])
    }).pipe(withAssistant)
  })
})

describe("A mode that is used alone in a run", () => {
  const outerOf = (inner: Mode.Mode<string>, log: Log) =>
    Mode.make("outer", {
      invokable: true,
      enter: (_, { isResumed }) => Effect.andThen(write(log, isResumed ? "outer again" : "outer"), Mode.enter(inner)),
      exit: () => write(log, "outer exit")
    })
  const model = MockModel.layer(MockModel.queue(MockResponse.toolCall("enter_outer_mode", {}), "Answer.", "Again."))

  for (const isolation of ["none", "thread", "fork"] as const) {
    it.effect(`is left at its end, which keeps its answer, and entered anew by whoever goes on: ${isolation}`, () => {
      const log: Log = []
      const alone = Mode.make("alone", {
        isolation,
        enter: () => Effect.andThen(write(log, "alone"), Effect.addFinalizer(() => write(log, "alone finalizer"))),
        exit: (exit) => write(log, `alone exit: ${outcome(exit)}`)
      })
      const agent = Agent.make("assistant", { modes: [outerOf(alone, log)] })
      return Effect.gen(function*() {
        const { events, exit } = yield* watch(Agent.run(agent, "Hi"))
        const state = yield* exit
        assert.deepStrictEqual(log, ["outer", "alone", "alone exit: success", "alone finalizer"])
        assert.deepStrictEqual(names(state), ["outer"])
        assert.deepStrictEqual([AgentState.text(state), state.status._tag], ["Answer.", "Complete"])
        assert.deepStrictEqual(problems(state.conversation), [])
        assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make("assistant")), state)
        log.length = 0
        const next = yield* Agent.continueConversation(agent, state, "More")
        assert.deepStrictEqual(log, ["outer again", "alone", "alone exit: success", "alone finalizer"])
        assert.deepStrictEqual(texts(next).slice(-2), ["More", "Again."])
        assert.deepStrictEqual(names(next), ["outer"])
      }).pipe(Effect.provide(model))
    })
  }

  it.effect("fails the run with a clean-up that does, as a defect, and its state says so", () => {
    const alone = Mode.make("alone", { enter: () => Effect.void, exit: () => Effect.die("boom") })
    const agent = Agent.make("assistant", { modes: [outerOf(alone, [])] })
    return Effect.gen(function*() {
      const { events, exit } = yield* watch(Agent.run(agent, "Hi"))
      assert.deepStrictEqual(reasons(exit), ["defect: boom"])
      const [failed] = ofTag(events, "RunFailed")
      assert.deepStrictEqual([failed?.state.status._tag, failed && names(failed.state)], ["Failed", ["outer"]])
    }).pipe(Effect.provide(model))
  })

  for (const isCalled of [false, true]) {
    it.effect(`stays entered where a finalizer dies at its end, which says so, and releases the others${isCalled ? ", where it was called" : ""}`, () => {
      const log: Log = []
      const broken = Mode.make("broken", {
        invokable: true,
        enter: () => Effect.addFinalizer(() => Effect.die("boom"))
      })
      const held = Mode.make("held", {
        invokable: true,
        enter: () => Effect.addFinalizer((exit) => write(log, `released: ${outcome(exit)}`))
      })
      const Pay = Toolkit.make(Tool.make("pay", { success: Schema.String, needsApproval: true }))
      const agent = Agent.make("assistant", { modes: [held, broken], toolkit: Pay })
      const boss = Agent.make("boss", { agents: [Agent.asTool(agent)] })
      return Effect.gen(function*() {
        const { events, exit } = yield* watch(Agent.run(isCalled ? boss : agent, "Hi"))
        assert.deepStrictEqual(reasons(exit), ["defect: boom"])
        assert.deepStrictEqual(log, ["released: success"])
        const ends = ofTag(events, "RunFailed").map(({ calls, error, path }) => [path.at(-1), calls.length, error.tag])
        assert.deepStrictEqual(
          ends,
          isCalled ? [["assistant", 1, "Defect"], ["boss", 0, "Defect"]] : [["assistant", 0, "Defect"]]
        )
        const failed = Agent.failedState(Option.getOrThrow(Exit.getCause(exit)))
        assert.deepStrictEqual(Option.map(failed, names), Option.some(isCalled ? [] : ["held", "broken"]))
      }).pipe(
        Effect.provide(Pay.toLayer({ pay: () => Effect.succeed("paid") })),
        Effect.provide(MockModel.layer(MockModel.byAgent({
          boss: MockModel.queue(MockResponse.toolCall("assistant", { task: "Hi" })),
          assistant: MockModel.queue(
            MockResponse.toolCall("enter_held_mode", {}),
            MockResponse.toolCall("enter_broken_mode", {}),
            MockResponse.toolCall("pay", {})
          )
        })))
      )
    })
  }

  it.effect("takes the call with it that awaits approval for a tool of its own", () => {
    const Pay = Toolkit.make(Tool.make("pay", { success: Schema.String, needsApproval: true }))
    const alone = Mode.make("alone", { isolation: "fork", enter: () => Effect.void, toolkit: Pay })
    const outer = Mode.make("outer", { invokable: true, enter: () => Mode.enter(alone) })
    const agent = Agent.make("assistant", { modes: [outer] })
    return Effect.gen(function*() {
      const state = yield* Agent.run(agent, "Hi")
      assert.deepStrictEqual(AgentState.pendingApprovals(state), [])
      assert.deepStrictEqual([names(state), state.status._tag], [["outer"], "InProgress"])
      assert.deepStrictEqual(problems(state.conversation), [])
      assert.strictEqual(AgentState.text(yield* Agent.resume(agent, state)), "Not paid.")
    }).pipe(
      Effect.provide(Pay.toLayer({ pay: () => Effect.succeed("paid") })),
      Effect.provide(MockModel.layer(MockModel.queue(
        MockResponse.toolCall("enter_outer_mode", {}),
        MockResponse.toolCall("pay", {}),
        "Not paid."
      )))
    )
  })

  it.effect("and a fork of an agent that was called leave its caller the answer", () => {
    const fork = Mode.make("fork", { isolation: "fork", invokable: true, enter: () => Effect.void })
    const helper = Agent.make("helper", { modes: [fork] })
    const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
    return Effect.gen(function*() {
      yield* Agent.run(boss, "Hi")
      const calls = yield* MockModel.calls
      assert.include(JSON.stringify(calls[calls.length - 1]?.request.messages), "Helped.")
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      boss: MockModel.queue(MockResponse.toolCall("helper", { task: "Help" }), "All done."),
      helper: MockModel.queue(MockResponse.toolCall("enter_fork_mode", {}), "Helped.")
    }))))
  })
})

describe("The agent that is running", () => {
  it.effect("is the one at work, also for a finalizer whose mode was entered before", () => {
    const seen: Array<unknown> = []
    const look = Effect.map(Agent.CurrentAgent, (running) => {
      seen.push([running?.agent, running?.path, running?.calls, running && texts(running.state)])
    })
    const mode = Mode.make("mode", { enter: () => Effect.andThen(look, Effect.addFinalizer(() => look)) })
    return Effect.gen(function*() {
      const session = yield* Session.make(assistant, { modes: [mode] })
      yield* session.enterMode("mode")
      yield* session.call("Hi")
      yield* session.exitMode()
      const seenAt = (turns: ReadonlyArray<string>) => ["assistant", ["assistant"], [], turns]
      assert.deepStrictEqual(seen, [seenAt([]), seenAt(["Hi", "Re: Hi"])])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })
})

describe("A fiber of a mode's scope", () => {
  const counting = Mode.make("counting", {
    enter: Effect.fn(function*() {
      yield* Mode.set("seconds", 0)
      const count = Mode.update("seconds", (seconds) => Number(seconds) + 1)
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep("1 second"), count)))
    })
  })

  it.effect("sees the values as they are now, and ends when the mode is left", () =>
    Effect.gen(function*() {
      const seen = yield* Mode.within(
        Effect.gen(function*() {
          yield* TestClock.adjust("2 seconds")
          const before = yield* Mode.get("seconds")
          yield* Mode.set("seconds", 10)
          yield* TestClock.adjust("3 seconds")
          return [before, yield* Mode.get("seconds")]
        }),
        counting
      )
      assert.deepStrictEqual(seen, [2, 13])
      const after = yield* stateNow
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* stateNow, after)
    }).pipe(withAssistant))

  it.effect("shares its values with a call that is under way", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const seen = yield* Mode.within(
        Effect.gen(function*() {
          const call = yield* Effect.forkChild(session.call("Wait"), { startImmediately: true })
          yield* TestClock.adjust("3 seconds")
          yield* Fiber.join(call)
          return yield* Mode.get("seconds")
        }),
        counting
      )
      assert.strictEqual(seen, 3)
      assert.strictEqual(AgentState.text(yield* session.state), "After 2 seconds.")
    }).pipe(
      Effect.provide(Session.layer(assistant)),
      Effect.provide(MockModel.layer(MockModel.make(() =>
        Effect.map(
          Effect.orDie(Effect.andThen(Effect.sleep("2500 millis"), Mode.get("seconds"))),
          (seconds) => `After ${String(seconds)} seconds.`
        )
      )))
    ))
})

describe("What a session can't do in the middle of a mode's set-up or clean-up", () => {
  const operations: { readonly [name: string]: (session: Session.Session) => Effect.Effect<unknown, unknown> } = {
    exitMode: (session) => session.exitMode(),
    resume: (session) => session.resume,
    approve: (session) => session.approve("a"),
    fork: (session) => Effect.scoped(session.fork)
  }
  for (const [name, operation] of Object.entries(operations)) {
    it.effect(`is a typed error, and doesn't wait for its own end: ${name}`, () =>
      Effect.gen(function*() {
        const session = yield* Session.Session
        const seen: Array<unknown> = []
        const attempt = (where: string) =>
          Effect.map(Effect.exit(operation(session)), (exit) => {
            const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
            seen.push([where, Session.isSessionError(error) ? error.reason._tag : exit._tag])
          })
        const mode = Mode.make("mode", {
          enter: () => Effect.andThen(Effect.addFinalizer(() => attempt("finalizer")), attempt("set-up")),
          exit: () => attempt("exit"),
          recover: () => attempt("recover")
        })
        const fiber = yield* Effect.forkDetach(Mode.within(broken("body"), mode), { startImmediately: true })
        yield* settleDown
        assert.deepStrictEqual(seen, [
          ["set-up", "ReentrantOperation"],
          ["recover", "ReentrantOperation"],
          ["exit", "ReentrantOperation"],
          ["finalizer", "ReentrantOperation"]
        ])
        yield* Fiber.join(fiber)
        yield* session.call("Hi")
      }).pipe(withAssistant))
  }
})
