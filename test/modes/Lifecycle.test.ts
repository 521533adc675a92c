/**
 * The life of a mode: what is set up, what is cleaned up, in which order, and what is left of it, however it ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Option, Schema, Scope } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Agent, type AgentEvent, AgentState, Conversation, Mode, ModeTransition, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { callsIn, problems } from "../domain/legal.ts"
import { interruptAt } from "../handoff/interrupter.ts"

class Broken extends Schema.TaggedError<Broken>()("Broken", { what: Schema.String }) {}
const broken = (what: string) => Effect.fail(new Broken({ what }))

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))
const assistant = Agent.make("assistant", { instructions: "Be brief." })

/** Gives a program a session of an agent, and a model that repeats what it is told. */
const withAssistant = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.provide(self, Layer.provideMerge(Session.layer(assistant), echo))

/** Lets everything that can go on do so. */
const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

const texts = (state: AgentState.AgentState) => state.conversation.turns.map(Conversation.textOf)
const names = (state: AgentState.AgentState) => state.modes.map(({ name }) => name)
const stateNow = Effect.flatMap(Session.Session, (session) => session.state)

const reasonOf = <A>(exit: Exit.Exit<A, unknown>): string | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return Mode.isModeError(error) ? error.reason._tag : undefined
}

/** What of a cause somebody can see, in its order. */
const reasons = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<string> =>
  Exit.isSuccess(exit) ? [] : exit.cause.reasons.map((reason) =>
    Cause.isFailReason(reason)
      ? reason.error instanceof Broken ? reason.error.what : String(reason.error)
      : Cause.isDieReason(reason)
      ? `defect: ${String(reason.defect)}`
      : "interrupted"
  )

const outcome = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "success" : reasons(exit).join(" & ")

type Log = Array<string>
const write = (log: Log, line: string) => Effect.sync(() => void log.push(line))

/** A mode that writes down when its parts run, and how what ran in it ended. */
const telling = <const Name extends string>(log: Log, name: Name) =>
  Mode.make(name, {
    enter: Effect.fn(function*() {
      yield* Effect.addFinalizer((exit) => write(log, `${name} first finalizer: ${outcome(exit)}`))
      yield* write(log, `${name} set-up`)
      yield* Effect.addFinalizer((exit) => write(log, `${name} second finalizer: ${outcome(exit)}`))
    }),
    exit: (exit) => write(log, `${name} exit: ${outcome(exit)}`)
  })

/** What `telling` writes down of a mode in which all ended in a way. */
const told = (name: string, how: string) => [
  `${name} exit: ${how}`,
  `${name} second finalizer: ${how}`,
  `${name} first finalizer: ${how}`
]

const modeEvents = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) =>
    event._tag === "ModeFailed"
      ? [`ModeFailed ${event.name} ${event.phase} ${event.tag}`]
      : event._tag.startsWith("Mode") && "name" in event
      ? [`${event._tag} ${event.name}`]
      : []
  )

const around = (name: string) => [`ModeEntering ${name}`, `ModeEntered ${name}`]
const left = (name: string) => [`ModeExiting ${name}`, `ModeExited ${name}`]

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

describe("A mode of a single shot", () => {
  it.effect("is set up and left at once, finalizers included", () =>
    Effect.gen(function*() {
      const log: Log = []
      const shot = Mode.singleShot(
        "shot",
        Effect.gen(function*() {
          yield* write(log, `set-up in ${(yield* Mode.stack).join(" ")}`)
          yield* Mode.set("gone", true)
          yield* SystemPrompt.append("Gone.")
          yield* Effect.addFinalizer((exit) => write(log, `finalizer: ${outcome(exit)}`))
        })
      )
      const body = Effect.gen(function*() {
        yield* write(log, "body")
        assert.strictEqual(reasonOf(yield* Effect.exit(Mode.get("gone"))), "NoMode")
        return (yield* stateNow).prompt
      })
      const { events, exit } = yield* watch(Mode.within(body, shot))
      assert.deepStrictEqual(exit, Exit.succeed([]))
      assert.deepStrictEqual(log, ["set-up in shot", "finalizer: success", "body"])
      assert.deepStrictEqual(modeEvents(events), [...around("shot"), ...left("shot")])
    }).pipe(withAssistant))

  it.effect("that fails was never entered, and nothing runs in it", () =>
    Effect.gen(function*() {
      const log: Log = []
      const shot = Mode.singleShot("shot", Effect.andThen(Mode.set("n", 1), broken("shot")))
      const before = yield* stateNow
      const { events, exit } = yield* watch(Mode.within(write(log, "body"), shot))
      assert.deepStrictEqual(reasons(exit), ["shot"])
      assert.deepStrictEqual(log, [])
      assert.deepStrictEqual(modeEvents(events), ["ModeEntering shot", "ModeFailed shot SetUp Broken"])
      assert.deepStrictEqual(yield* stateNow, before)
    }).pipe(withAssistant))

  it.effect("can be entered by name, and by a move", () => {
    const shot = Mode.singleShot("shot", SystemPrompt.append("Shot.", { persist: true }))
    const agent = Agent.make("assistant", { modes: [shot] })
    return Effect.gen(function*() {
      const session = yield* Session.make(agent)
      const entered = yield* session.enterMode("shot")
      assert.deepStrictEqual(names(entered), [])
      assert.deepStrictEqual(entered.prompt.map(({ text }) => text), ["Shot."])
      yield* session.schedule(ModeTransition.push("shot"))
      const called = yield* session.call("Hi")
      assert.deepStrictEqual(names(called), [])
      assert.deepStrictEqual(texts(called), ["Hi", "Re: Hi"])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })
})

describe("Parameters", () => {
  const seen: Array<Date> = []
  const since = Mode.make("since", {
    params: Schema.Struct({ day: Schema.Date }),
    enter: ({ day }) => Effect.sync(() => void seen.push(day))
  })
  const agent = Agent.make("assistant", { modes: [since] })
  const day = new Date("2026-01-02T00:00:00.000Z")
  const json = { day: "2026-01-02T00:00:00.000Z" }

  it.effect("are values of the mode's own types by hand, JSON by name, and decoded in the set-up", () =>
    Effect.gen(function*() {
      seen.length = 0
      const session = yield* Session.make(agent)
      const inside = Mode.within(Effect.all([Mode.all, session.state]), since, { day })
      const [values, state] = yield* Effect.provideService(inside, Mode.Host, session)
      assert.deepStrictEqual(values, json)
      assert.deepStrictEqual(state.modes[0]!.params, json)
      const entered = yield* session.enterMode("since", json)
      assert.deepStrictEqual(entered.modes[0]!.values, json)
      assert.deepStrictEqual(seen, [day, day])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("that are wrong fail before anything runs, whoever gives them", () =>
    Effect.gen(function*() {
      seen.length = 0
      const session = yield* Session.make(agent)
      const before = yield* session.state
      const wrong = { day: "never" as unknown as Date }
      const body = Effect.sync(() => void seen.push(day))
      const { events, exit } = yield* watch(
        Effect.all([
          Effect.exit(Mode.within(body, since, wrong)),
          Effect.exit(Effect.scoped(Mode.enter(since, wrong))),
          Effect.exit(session.enterMode("since", { day: "never" })),
          Effect.exit(session.enterMode("since")),
          Effect.exit(session.schedule(ModeTransition.push("since", { day: 1 }))),
          Effect.exit(session.schedule(ModeTransition.switch("since")))
        ]).pipe(Effect.provideService(Mode.Host, session))
      )
      const reasons = (yield* exit).map((exit) => reasonOf<unknown>(exit))
      assert.deepStrictEqual(reasons, reasons.map(() => "ParamsRejected"))
      assert.deepStrictEqual(events, [])
      assert.deepStrictEqual(seen, [])
      assert.strictEqual(yield* session.state, before)
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("that a model gets wrong go back to it, and nothing runs", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const invokable = Mode.make("deep", {
        invokable: true,
        params: Schema.Struct({ depth: Schema.Int }),
        enter: ({ depth }) => Effect.sync(() => void asked.push(depth))
      })
      const { events, exit } = yield* watch(Agent.run(Agent.make("assistant", { modes: [invokable] }), "Hi"))
      const state = yield* exit
      assert.deepStrictEqual(state.modes.map(({ params }) => params), [{ depth: 3 }])
      assert.deepStrictEqual(asked, [3])
      assert.deepStrictEqual(ofTag(events, "ToolCallSettled").map(({ outcome }) => outcome), ["Failed", "Succeeded"])
      assert.deepStrictEqual(modeEvents(events), around("deep"))
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("enter_deep_mode", { depth: "very" }),
      MockResponse.toolCall("enter_deep_mode", { depth: 3 }),
      "Done."
    )))))
})

describe("Whose mode it is", () => {
  class Library extends Context.Service<Library, { readonly book: string }>()("test/Library") {}
  const reading = Mode.make("reading", {
    enter: () => Effect.flatMap(Library, ({ book }) => Mode.set("book", book)),
    exit: () => Effect.flatMap(Library, ({ book }) => SystemPrompt.append(book, { persist: true }))
  })
  const read = (session: Mode.Enterable) =>
    Mode.within(Mode.get("book"), reading).pipe(
      Effect.provideService(Mode.Host, session),
      Effect.provideService(Library, { book: "the caller's" })
    )
  const booksLeft = (session: Session.Session<unknown, unknown>) =>
    Effect.map(session.state, ({ prompt }) => prompt.map(({ text }) => text))

  it.effect("a mode that is used alone runs with the services of whoever enters it", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(assistant)
      assert.strictEqual(yield* read(session), "the caller's")
      assert.deepStrictEqual(yield* booksLeft(session), ["the caller's"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  for (
    const [whose, open] of [
      ["agent", Session.make(Agent.make("assistant", { modes: [reading] }))],
      ["session", Session.make(assistant, { modes: [reading] })]
    ] as const
  ) {
    it.effect(`a mode of the ${whose} runs with those that the session was made with, by value and by name`, () =>
      Effect.gen(function*() {
        const session = yield* open
        assert.strictEqual(yield* read(session), "the session's")
        const entered = yield* session.enterMode("reading")
        assert.deepStrictEqual(entered.modes.map(({ values }) => values), [{ book: "the session's" }])
        assert.deepStrictEqual(yield* booksLeft(session), ["the session's"])
      }).pipe(Effect.scoped, Effect.provideService(Library, { book: "the session's" }), Effect.provide(echo)))
  }

  it.effect("a mode that isn't known can't be entered by its name, and is known no more once it was left", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const byName = Effect.map(Effect.exit(session.enterMode("alone")), reasonOf)
      assert.strictEqual(yield* byName, "UnknownMode")
      const alone = Mode.make("alone", { enter: () => Effect.void })
      assert.deepStrictEqual(yield* Mode.within(Mode.within(Mode.stack, alone), alone), ["alone", "alone"])
      assert.strictEqual(yield* byName, "UnknownMode")
    }).pipe(withAssistant))
})

describe("Mode.enter", () => {
  it.effect("enters a mode that is left when the scope closes, in its place among the finalizers", () =>
    Effect.gen(function*() {
      const log: Log = []
      yield* Effect.scoped(Effect.gen(function*() {
        yield* Effect.addFinalizer(() => write(log, "before"))
        yield* Mode.enter(telling(log, "mode"))
        yield* Effect.addFinalizer(() => write(log, "after"))
        assert.deepStrictEqual(yield* Mode.stack, ["mode"])
      }))
      assert.deepStrictEqual(log, ["mode set-up", "after", ...told("mode", "success"), "before"])
      assert.deepStrictEqual(yield* Mode.stack, [])
    }).pipe(withAssistant))

  it.effect("tells the clean-up how the scope was closed", () =>
    Effect.gen(function*() {
      const log: Log = []
      const exit = yield* Effect.exit(Effect.scoped(Effect.andThen(Mode.enter(telling(log, "mode")), broken("scope"))))
      assert.deepStrictEqual(reasons(exit), ["scope"])
      assert.deepStrictEqual(log, ["mode set-up", ...told("mode", "scope")])
    }).pipe(withAssistant))

  it.effect("leaves what was entered above it before", () => {
    const log: Log = []
    const above = telling(log, "above")
    return Effect.gen(function*() {
      const session = yield* Session.make(assistant, { modes: [above] })
      yield* Effect.scoped(Effect.andThen(
        Effect.provideService(Mode.enter(telling(log, "below")), Mode.Host, session),
        session.enterMode("above")
      ))
      assert.deepStrictEqual(log.slice(2), [...told("above", "success"), ...told("below", "success")])
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })

  it.effect("makes a defect of a clean-up that fails", () =>
    Effect.gen(function*() {
      const mode = Mode.make("mode", { enter: () => Effect.void, exit: () => broken("clean-up") })
      const exit = yield* Effect.exit(Effect.scoped(Mode.enter(mode)))
      assert.deepStrictEqual(Exit.isFailure(exit) && exit.cause.reasons.map(({ _tag }) => _tag), ["Die"])
      assert.deepStrictEqual(yield* Mode.stack, [])
    }).pipe(withAssistant))

  it.effect("keeps the failure of the scope beside that of the clean-up, each once", () =>
    Effect.gen(function*() {
      const mode = Mode.make("mode", { enter: () => Effect.void, exit: () => broken("clean-up") })
      const exit = yield* Effect.exit(Effect.scoped(Effect.andThen(Mode.enter(mode), broken("scope"))))
      const seen = Exit.isFailure(exit) ? exit.cause.reasons : []
      const errors = seen.map((reason) =>
        Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : reason
      )
      assert.sameDeepMembers(errors, [new Broken({ what: "scope" }), new Broken({ what: "clean-up" })])
      assert.deepStrictEqual(yield* Mode.stack, [])
    }).pipe(withAssistant))

  it.effect("doesn't ask a mode to recover: the scope has failed all the same", () =>
    Effect.gen(function*() {
      const log: Log = []
      const mode = Mode.make("mode", { enter: () => Effect.void, recover: () => write(log, "recover") })
      const exit = yield* Effect.exit(Effect.scoped(Effect.andThen(Mode.enter(mode), broken("scope"))))
      assert.deepStrictEqual(reasons(exit), ["scope"])
      assert.deepStrictEqual(log, [])
    }).pipe(withAssistant))

  it.effect("has nothing to leave where somebody else did before", () => {
    const log: Log = []
    const mode = telling(log, "mode")
    return Effect.gen(function*() {
      const session = yield* Session.make(assistant, { modes: [mode] })
      yield* Effect.scoped(
        Effect.andThen(Effect.provideService(Mode.enter(mode), Mode.Host, session), session.exitMode("mode"))
      )
      assert.deepStrictEqual(log, ["mode set-up", ...told("mode", "success")])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })
})

describe("Mode.within", () => {
  it.effect("gives what the effect gives, out of every isolation", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.call("One")
      for (const isolation of ["none", "config", "thread", "fork"] as const) {
        const mode = Mode.make("mode", { isolation, enter: () => Effect.void })
        const inside = yield* Mode.within(Effect.map(session.call(isolation), texts), mode)
        assert.deepStrictEqual(inside.slice(-2), [isolation, `Re: ${isolation}`])
        assert.strictEqual((yield* session.state).conversation.turns.length, isolation === "fork" ? 8 : inside.length)
      }
    }).pipe(withAssistant))

  it.effect("stands behind the effect as well as around it", () =>
    Effect.gen(function*() {
      const topic = Mode.make("topic", { params: Schema.Struct({ of: Schema.String }), enter: () => Effect.void })
      const plain = Mode.make("plain", { enter: () => Effect.void })
      const here = Effect.all([Mode.stack, Mode.get("of")])
      assert.deepStrictEqual(
        yield* here.pipe(Mode.within(plain), Mode.within(topic, { of: "gold" })),
        [["topic", "plain"], "gold"]
      )
      // A service is an effect too.
      assert.strictEqual(yield* Session.Session.pipe(Mode.within(plain)), yield* Mode.within(Session.Session, plain))
    }).pipe(withAssistant))

  it.effect("is a bracket again each time that it runs", () =>
    Effect.gen(function*() {
      const log: Log = []
      const again = Mode.within(Effect.void, telling(log, "mode"))
      yield* again
      yield* again
      const once = ["mode set-up", ...told("mode", "success")]
      assert.deepStrictEqual(log, [...once, ...once])
    }).pipe(withAssistant))

  it.effect("fails with a typed error where there is no conversation to enter modes in", () =>
    Effect.gen(function*() {
      for (const operation of [Mode.name, Mode.stack, Mode.get("n"), SystemPrompt.append("Hi"), Mode.call("Hi")]) {
        assert.strictEqual(reasonOf(yield* Effect.exit<unknown, unknown, never>(operation)), "NoConversation")
      }
    }))

  it.effect("leaves what was entered by name above it, and was not left", () => {
    const log: Log = []
    return Effect.gen(function*() {
      const session = yield* Session.make(assistant, { modes: [telling(log, "above")] })
      const exit = yield* Effect.andThen(session.enterMode("above"), broken("body")).pipe(
        (self) => Mode.within(self, telling(log, "below")),
        Effect.provideService(Mode.Host, session),
        Effect.exit
      )
      assert.deepStrictEqual(reasons(exit), ["body"])
      assert.deepStrictEqual(log.slice(2), [...told("above", "body"), ...told("below", "body")])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })
})

describe("By name", () => {
  const plain = Mode.make("plain", { enter: () => Effect.void })
  const other = Mode.make("other", { enter: () => Effect.void })
  const agent = Agent.make("assistant", { modes: [plain, other] })

  it.effect("a mode is entered and left, the one on top only", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(agent)
      assert.deepStrictEqual(names(yield* session.enterMode("plain")), ["plain"])
      assert.deepStrictEqual(names(yield* session.enterMode("other")), ["plain", "other"])
      const before = yield* session.state
      const { events, exit } = yield* watch(session.exitMode("plain"))
      assert.strictEqual(reasonOf(exit), "NotOnTop")
      assert.deepStrictEqual(events, [])
      assert.strictEqual(yield* session.state, before)
      assert.deepStrictEqual(names(yield* session.exitMode("other")), ["plain"])
      assert.deepStrictEqual(names(yield* session.exitMode()), [])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("a mode that isn't there, or none that is entered, is a typed error before anything happens", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(agent)
      const before = yield* session.state
      const { events, exit } = yield* watch(Effect.all([
        Effect.exit(session.enterMode("unknown")),
        Effect.exit(session.exitMode()),
        Effect.exit(session.exitMode("plain"))
      ]))
      assert.deepStrictEqual((yield* exit).map(reasonOf), ["UnknownMode", "NoMode", "NoMode"])
      assert.deepStrictEqual(events, [])
      assert.strictEqual(yield* session.state, before)
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("a clean-up that fails is told, and the mode is left all the same", () => {
    const failing = Mode.make("failing", { enter: () => Effect.void, exit: () => broken("clean-up") })
    return Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("assistant", { modes: [plain, failing] }))
      yield* session.enterMode("plain")
      yield* session.enterMode("failing")
      const { events, exit } = yield* watch(session.exitMode())
      assert.deepStrictEqual(reasons(exit), ["clean-up"])
      assert.deepStrictEqual(modeEvents(events), [
        "ModeExiting failing",
        "ModeFailed failing CleanUp Broken",
        "ModeExited failing"
      ])
      assert.deepStrictEqual(names(yield* session.state), ["plain"])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })
})

describe("The same mode twice", () => {
  it.effect("makes two frames, each with its own values, that leave in their own order", () => {
    const log: Log = []
    const level = Mode.make("level", {
      params: Schema.Struct({ n: Schema.Int }),
      enter: ({ n }) => Effect.addFinalizer(() => write(log, `finalizer ${n}`)),
      exit: () => Effect.flatMap(Mode.all, ({ extra, n }) => write(log, `exit ${String(n)} ${String(extra)}`))
    })
    return Effect.gen(function*() {
      const seen = yield* Effect.gen(function*() {
        const inside = yield* Mode.within(
          Effect.andThen(Mode.set("extra", "inner"), Effect.all([Mode.stack, Mode.all])),
          level,
          { n: 2 }
        )
        return [inside, yield* Mode.stack, yield* Mode.all]
      }).pipe((self) => Mode.within(self, level, { n: 1 }))
      assert.deepStrictEqual(seen, [[["level", "level"], { n: 2, extra: "inner" }], ["level"], { n: 1 }])
      assert.deepStrictEqual(log, ["exit 2 inner", "finalizer 2", "exit 1 undefined", "finalizer 1"])
    }).pipe(withAssistant)
  })

  it.effect("leaves the frame that was entered there, also where the outer scope closes first", () => {
    const log: Log = []
    const level = Mode.make("level", {
      params: Schema.Struct({ n: Schema.Int }),
      enter: () => Effect.void,
      exit: () => Effect.flatMap(Mode.get("n"), (n) => write(log, `exit ${String(n)}`))
    })
    return Effect.gen(function*() {
      const [outer, inner] = [yield* Scope.make(), yield* Scope.make()]
      yield* Scope.provide(Mode.enter(level, { n: 1 }), outer)
      yield* Scope.provide(Mode.enter(level, { n: 2 }), inner)
      yield* Scope.close(outer, Exit.void)
      assert.deepStrictEqual(log, ["exit 2", "exit 1"])
      yield* Mode.within(Scope.close(inner, Exit.void), level, { n: 3 })
      assert.deepStrictEqual(log, ["exit 2", "exit 1", "exit 3"])
    }).pipe(withAssistant)
  })
})

/** All of a state that a mode can change. What an answer took was used all the same. */
const held = (
  { conversation, handoff, initialQuery, logs, modes, prompt, settings, status, transition }: AgentState.AgentState
) => ({
  conversation,
  handoff,
  initialQuery,
  logs,
  modes: modes.map(({ name, params, values, view }) => ({ name, params, values, view })),
  prompt,
  settings,
  status,
  transition
})

describe("What a set-up or clean-up enters by name and leaves entered", () => {
  const log: Log = []
  const above = telling(log, "above")
  const open = Session.layer(Agent.make("assistant", { modes: [above] }))
  const enterAbove = Effect.flatMap(Session.Session, (session) => session.enterMode("above"))

  it.effect("is left with what the set-up did, where that fails", () =>
    Effect.gen(function*() {
      log.length = 0
      const mode = Mode.make("mode", {
        enter: () =>
          Effect.andThen(
            Effect.addFinalizer(() => write(log, "mode finalizer")),
            Effect.andThen(enterAbove, broken("set-up"))
          )
      })
      const before = yield* stateNow
      const { events, exit } = yield* watch(Mode.within(Effect.void, mode))
      assert.deepStrictEqual(reasons(exit), ["set-up"])
      assert.deepStrictEqual(log, ["above set-up", ...told("above", "set-up"), "mode finalizer"])
      assert.deepStrictEqual(modeEvents(events).slice(-3), [...left("above"), "ModeFailed mode SetUp Broken"])
      assert.deepStrictEqual(held(yield* stateNow), held(before))
    }).pipe(Effect.provide(open), Effect.provide(echo)))

  it.effect("is left with the mode, where the clean-up entered it", () =>
    Effect.gen(function*() {
      log.length = 0
      const mode = Mode.make("mode", {
        enter: () => Effect.addFinalizer(() => write(log, "mode finalizer")),
        exit: () => Effect.asVoid(enterAbove)
      })
      const { events, exit } = yield* watch(Mode.within(Effect.succeed(1), mode))
      assert.deepStrictEqual(exit, Exit.succeed(1))
      assert.deepStrictEqual(log, ["above set-up", ...told("above", "success"), "mode finalizer"])
      assert.deepStrictEqual(modeEvents(events), [
        ...around("mode"),
        "ModeExiting mode",
        ...around("above"),
        ...left("above"),
        "ModeExited mode"
      ])
      assert.deepStrictEqual((yield* stateNow).modes, [])
    }).pipe(Effect.provide(open), Effect.provide(echo)))
})

describe("A set-up that doesn't succeed", () => {
  const failures = {
    "fails": [broken("set-up"), ["set-up"], "Broken"],
    "dies": [Effect.die("boom"), ["defect: boom"], "Defect"],
    "is interrupted": [Effect.interrupt, ["interrupted"], "Interrupted"]
  } as const
  for (const [how, [failure, seen, tag]] of Object.entries(failures)) {
    for (const isolation of ["none", "config", "thread", "fork"] as const) {
      it.effect(`leaves everything as it was: one of isolation "${isolation}" that ${how}`, () => {
        const log: Log = []
        const outer = Mode.make("outer", {
          isolation: "none",
          enter: Effect.fn(function*() {
            yield* Mode.set("n", 1)
            yield* SystemPrompt.section("topic", "Outer topic.")
            yield* SystemPrompt.append("Outer end.", { persist: true })
          })
        })
        const failing = Mode.make("failing", {
          isolation,
          enter: Effect.fn(function*() {
            yield* Effect.addFinalizer((exit) => write(log, `first finalizer: ${outcome(exit)}`))
            yield* Effect.addFinalizer(() =>
              Effect.orDie(Effect.andThen(
                SystemPrompt.prepend("Left behind.", { persist: true }),
                Effect.flatMap(Mode.stack, (stack) => write(log, `second finalizer in ${stack.join(" ")}`))
              ))
            )
            yield* Mode.set("n", 2)
            yield* SystemPrompt.section("topic", "Inner topic.", { persist: true })
            yield* SystemPrompt.append("Outer end.", { persist: true })
            yield* SystemPrompt.prepend("Inner start.", { persist: true })
            yield* Mode.configure({ tools: [], toolChoice: "none" })
            if (isolation === "thread" || isolation === "fork") {
              yield* Mode.updateView(({ turns }) => ({ turns: turns.slice(0, 1) }))
            }
            yield* Mode.call("In the set-up")
            yield* Mode.schedule(ModeTransition.exit)
            yield* failure
          }),
          exit: () => write(log, "exit")
        })
        return Effect.gen(function*() {
          const session = yield* Session.make(Agent.make("assistant", { instructions: "Be brief.", modes: [outer] }))
          yield* session.call("Before")
          yield* session.configure({ toolChoice: "auto" })
          const scheduled = ModeTransition.switch("outer")
          yield* session.enterMode("outer")
          yield* session.schedule(scheduled)
          const before = yield* session.state
          const { events, exit } = yield* watch(
            Effect.provideService(Mode.within(write(log, "body"), failing), Mode.Host, session)
          )
          assert.deepStrictEqual(reasons(exit), [...seen])
          assert.deepStrictEqual(log, ["second finalizer in outer failing", `first finalizer: ${seen[0]}`])
          assert.deepStrictEqual(modeEvents(events), ["ModeEntering failing", `ModeFailed failing SetUp ${tag}`])
          assert.deepStrictEqual(held(yield* session.state), held(before))
          yield* session.schedule(ModeTransition.stay)
          yield* session.call("After")
          const calls = (yield* MockModel.calls).map(({ request }) => request)
          const { messages, system } = calls.at(-1)!
          assert.strictEqual(
            system,
            "Be brief.\n\nOuter topic.\n\nYou are in mode \"outer\".\n\nOuter end."
          )
          assert.deepStrictEqual(messages.map(({ role }) => role), ["system", "user", "assistant", "user"])
        }).pipe(Effect.scoped, Effect.provide(echo))
      })
    }
  }

  it.effect("has the failures of its finalizers joined to its own", () =>
    Effect.gen(function*() {
      const failing = Mode.make("failing", {
        enter: () => Effect.andThen(Effect.addFinalizer(() => Effect.die("finalizer")), broken("set-up"))
      })
      const before = yield* stateNow
      assert.deepStrictEqual(
        reasons(yield* Effect.exit(Mode.within(Effect.void, failing))),
        ["set-up", "defect: finalizer"]
      )
      assert.deepStrictEqual(held(yield* stateNow), held(before))
    }).pipe(withAssistant))

  it.effect("inside another mode is a failure of that one's body", () =>
    Effect.gen(function*() {
      const log: Log = []
      const failing = Mode.make("failing", { enter: () => broken("set-up"), recover: () => Effect.succeed("never") })
      const exit = yield* Effect.exit(Mode.within(Mode.within(Effect.void, failing), telling(log, "outer")))
      assert.deepStrictEqual(reasons(exit), ["set-up"])
      assert.deepStrictEqual(log, ["outer set-up", ...told("outer", "set-up")])
    }).pipe(withAssistant))

  it.effect("can be tried again", () => {
    let attempts = 0
    const flaky = Mode.make("flaky", {
      enter: (): Effect.Effect<void, Broken | Mode.ModeError> =>
        ++attempts < 3 ? broken("set-up") : Mode.set("attempts", attempts)
    })
    return Effect.gen(function*() {
      assert.strictEqual(yield* Effect.retry(Mode.within(Mode.get("attempts"), flaky), { times: 5 }), 3)
    }).pipe(withAssistant)
  })
})

describe("A failure of what runs in a mode", () => {
  /** A mode whose parts all fail. */
  const failing = (log: Log, name: string) =>
    Mode.make(name, {
      enter: () =>
        Effect.addFinalizer((exit) =>
          Effect.andThen(write(log, `${name} finalizer: ${outcome(exit)}`), Effect.die(`${name} finalizer`))
        ),
      exit: (exit) => Effect.andThen(write(log, `${name} exit: ${outcome(exit)}`), broken(`${name} exit`))
    })

  it.effect("stays first in the Cause, with those of the clean-up behind it", () =>
    Effect.gen(function*() {
      const log: Log = []
      const { events, exit } = yield* watch(Mode.within(broken("body"), failing(log, "mode")))
      assert.deepStrictEqual(log, ["mode exit: body", "mode finalizer: body"])
      assert.deepStrictEqual(reasons(exit), ["body", "mode exit", "defect: mode finalizer"])
      assert.deepStrictEqual(modeEvents(events), [
        ...around("mode"),
        "ModeFailed mode Body Broken",
        "ModeExiting mode",
        "ModeFailed mode CleanUp Broken",
        "ModeExited mode"
      ])
    }).pipe(withAssistant))

  it.effect("is that of the clean-up where the body succeeds", () =>
    Effect.gen(function*() {
      const log: Log = []
      const exit = yield* Effect.exit(Mode.within(Effect.succeed(1), failing(log, "mode")))
      assert.deepStrictEqual(log, ["mode exit: success", "mode finalizer: success"])
      assert.deepStrictEqual(reasons(exit), ["mode exit", "defect: mode finalizer"])
      assert.deepStrictEqual(yield* Mode.stack, [])
    }).pipe(withAssistant))

  it.effect("lets the clean-ups of all modes around run, nested brackets", () =>
    Effect.gen(function*() {
      const log: Log = []
      const exit = yield* broken("body").pipe(
        (self) => Mode.within(self, failing(log, "inner")),
        (self) => Mode.within(self, failing(log, "middle")),
        (self) => Mode.within(self, telling(log, "outer")),
        Effect.exit
      )
      const inner = ["body", "inner exit", "defect: inner finalizer"]
      const all = [...inner, "middle exit", "defect: middle finalizer"]
      assert.deepStrictEqual(reasons(exit), all)
      assert.deepStrictEqual(log, [
        "outer set-up",
        "inner exit: body",
        "inner finalizer: body",
        `middle exit: ${inner.join(" & ")}`,
        `middle finalizer: ${inner.join(" & ")}`,
        ...told("outer", all.join(" & "))
      ])
      assert.deepStrictEqual((yield* stateNow).modes, [])
    }).pipe(withAssistant))

  it.effect("lets the clean-ups of all modes around run, at the end of a session", () => {
    const log: Log = []
    return Effect.gen(function*() {
      const scope = yield* Scope.make()
      const modes = [telling(log, "outer"), failing(log, "inner")] as const
      const session = yield* Session.make(assistant, { modes }).pipe(Scope.provide(scope))
      yield* session.enterMode("outer")
      yield* session.enterMode("inner")
      const exit = yield* Effect.exit(Scope.close(scope, Exit.void))
      const inner = ["inner exit", "defect: inner finalizer"]
      assert.deepStrictEqual(log, [
        "outer set-up",
        "inner exit: success",
        "inner finalizer: success",
        ...told("outer", inner.join(" & "))
      ])
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(Effect.provide(echo))
  })

  it.effect("of the agent reaches the bracket with its own type, and the conversation stays legal", () =>
    Effect.gen(function*() {
      const log: Log = []
      const session = yield* Session.Session
      const limited = Mode.within(session.call("Hi"), telling(log, "mode"))
      const exit = yield* Effect.exit(limited)
      assert.isTrue(Exit.isFailure(exit))
      assert.isTrue(log[1]!.startsWith("mode exit: "))
      assert.notInclude(log[1], "success")
      const state = yield* session.state
      assert.deepStrictEqual(names(state), [])
      assert.deepStrictEqual(problems(state.conversation), [])
      assert.deepStrictEqual(texts(yield* session.call("Again")), ["Hi", "Again", "Re: Again"])
    }).pipe(
      Effect.provide(Session.layer(assistant)),
      Effect.provide(
        MockModel.layer(
          MockModel.make(({ lastUserText }) => lastUserText === "Hi" ? Effect.die("down") : `Re: ${lastUserText}`)
        )
      )
    ))
})

describe("A mode that recovers", () => {
  const recovering = (log: Log) =>
    Mode.make("recovering", {
      enter: () => Effect.addFinalizer((exit) => write(log, `finalizer: ${outcome(exit)}`)),
      exit: (exit) => write(log, `exit: ${outcome(exit)}`),
      recover: (cause) =>
        Effect.as(
          write(log, `recover: ${outcome(Exit.failCause(cause))}`),
          `recovered from ${outcome(Exit.failCause(cause))}`
        )
    })

  it.effect("makes the bracket succeed, and is cleaned up as after the failure", () =>
    Effect.gen(function*() {
      const log: Log = []
      const { events, exit } = yield* watch(Mode.within(broken("body"), recovering(log)))
      assert.deepStrictEqual(exit, Exit.succeed("recovered from body"))
      assert.deepStrictEqual(log, ["recover: body", "exit: body", "finalizer: body"])
      assert.deepStrictEqual(modeEvents(events), [
        ...around("recovering"),
        "ModeFailed recovering Body Broken",
        ...left("recovering")
      ])
    }).pipe(withAssistant))

  it.effect("recovers from defects, and from the failures of modes inside", () =>
    Effect.gen(function*() {
      const log: Log = []
      assert.strictEqual(yield* Mode.within(Effect.die("boom"), recovering(log)), "recovered from defect: boom")
      const inner = Mode.make("inner", { enter: () => Effect.void, exit: () => broken("clean-up") })
      assert.strictEqual(
        yield* Mode.within(Mode.within(broken("body"), inner), recovering(log)),
        "recovered from body & clean-up"
      )
    }).pipe(withAssistant))

  it.effect("recovers for its own bracket alone: one that stands above isn't asked", () => {
    const log: Log = []
    const above = Mode.make("above", { enter: () => Effect.void, recover: () => write(log, "above") })
    return Effect.gen(function*() {
      const session = yield* Session.make(assistant, { modes: [above] })
      const inside = Effect.andThen(session.enterMode("above"), broken("body"))
      const plain = Mode.make("plain", { enter: () => Effect.void })
      const failed = yield* Effect.exit(Effect.provideService(Mode.within(inside, plain), Mode.Host, session))
      assert.deepStrictEqual(reasons(failed), ["body"])
      const recovered = Effect.provideService(Mode.within(inside, recovering(log)), Mode.Host, session)
      assert.strictEqual(yield* recovered, "recovered from body")
      assert.notInclude(log, "above")
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })

  it.effect("doesn't recover from the clean-up of a mode that is left with it, which lies outside of its bracket", () =>
    Effect.gen(function*() {
      const log: Log = []
      const above = Mode.make("above", { enter: () => Effect.void, exit: () => broken("clean-up") })
      const session = yield* Session.make(assistant, { modes: [above] })
      const enter = session.enterMode("above")
      const went = yield* Effect.exit(
        Effect.provideService(Mode.within(enter, recovering(log)), Mode.Host, session)
      )
      assert.deepStrictEqual(reasons(went), ["clean-up"])
      assert.deepStrictEqual(log, ["exit: clean-up", "finalizer: clean-up"])
      const failed = yield* Effect.exit(
        Effect.provideService(Mode.within(Effect.andThen(enter, broken("body")), recovering(log)), Mode.Host, session)
      )
      assert.deepStrictEqual(reasons(failed), ["body", "clean-up"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("recovers where its clean-up entered a mode, which is left with it and adds nothing", () =>
    Effect.gen(function*() {
      const log: Log = []
      const inner = Mode.make("inner", { enter: () => Effect.void })
      const mode = Mode.make("mode", {
        enter: () => Effect.void,
        exit: () => Effect.andThen(Mode.enter(inner), write(log, "exit")),
        recover: () => Effect.succeed("recovered")
      })
      for (const body of [broken("body"), Effect.die("boom"), Effect.interrupt]) {
        assert.strictEqual(yield* Mode.within(body, mode), "recovered")
        assert.deepStrictEqual((yield* stateNow).modes, [])
      }
      assert.deepStrictEqual(log, ["exit", "exit", "exit"])
    }).pipe(withAssistant))

  it.effect("isn't asked where nothing failed", () =>
    Effect.gen(function*() {
      const log: Log = []
      assert.strictEqual(yield* Mode.within(Effect.succeed(1), recovering(log)), 1)
      assert.deepStrictEqual(log, ["exit: success", "finalizer: success"])
    }).pipe(withAssistant))

  it.effect("keeps the failure, with its own behind it, where it fails itself", () =>
    Effect.gen(function*() {
      const log: Log = []
      const mode = Mode.make("mode", {
        enter: () => Effect.addFinalizer(() => write(log, "finalizer")),
        exit: () => write(log, "exit"),
        recover: () => broken("recover")
      })
      assert.deepStrictEqual(
        reasons(yield* Effect.exit(Mode.within(broken("body"), mode))),
        ["body", "recover"]
      )
      assert.deepStrictEqual(log, ["exit", "finalizer"])
    }).pipe(withAssistant))

  it.effect("doesn't recover from its own clean-up, and keeps what it recovered from before that", () =>
    Effect.gen(function*() {
      const mode = Mode.make("mode", {
        enter: () => Effect.addFinalizer(() => Effect.die("finalizer")),
        exit: () => broken("clean-up"),
        recover: () => Effect.succeed("recovered")
      })
      const finalizing = Mode.make("mode", {
        enter: () => Effect.addFinalizer(() => Effect.die("finalizer")),
        recover: () => Effect.succeed("recovered")
      })
      assert.deepStrictEqual(
        reasons(yield* Effect.exit(Mode.within(broken("body"), mode))),
        ["body", "clean-up", "defect: finalizer"]
      )
      assert.deepStrictEqual(
        reasons(yield* Effect.exit(Mode.within(broken("body"), finalizing))),
        ["body", "defect: finalizer"]
      )
      assert.deepStrictEqual(
        reasons(yield* Effect.exit(Mode.within(Effect.void, mode))),
        ["clean-up", "defect: finalizer"]
      )
    }).pipe(withAssistant))

  it.effect("keeps an interrupted fiber interrupted", () =>
    Effect.gen(function*() {
      const log: Log = []
      const fiber = yield* Effect.forkChild(Mode.within(Effect.never, recovering(log)), { startImmediately: true })
      yield* settleDown
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(log.slice(-2), ["exit: interrupted", "finalizer: interrupted"])
      assert.deepStrictEqual(yield* Mode.stack, [])
    }).pipe(withAssistant))
})

describe("A session that closes", () => {
  const sessionReason = (exit: Exit.Exit<unknown, unknown> | undefined): string | undefined => {
    const error = exit !== undefined && Exit.isFailure(exit)
      ? Option.getOrUndefined(Cause.findErrorOption(exit.cause))
      : undefined
    return Session.isSessionError(error)
      ? error.reason._tag
      : Mode.isModeError(error)
      ? error.reason._tag
      : undefined
  }

  it.effect("in the middle of a set-up undoes it, and the mode was never entered", () =>
    Effect.gen(function*() {
      const log: Log = []
      const slow = Mode.make("slow", {
        enter: () =>
          Effect.andThen(Effect.addFinalizer((exit) => write(log, `finalizer: ${outcome(exit)}`)), Effect.never),
        exit: () => write(log, "exit")
      })
      const scope = yield* Scope.make()
      const session = yield* Session.make(assistant, { modes: [slow] }).pipe(Scope.provide(scope))
      const byName = yield* Effect.forkChild(session.enterMode("slow"), { startImmediately: true })
      const inLine = yield* Effect.forkChild(
        Effect.provideService(Mode.within(write(log, "body"), slow), Mode.Host, session),
        { startImmediately: true }
      )
      yield* settleDown
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(sessionReason(yield* Fiber.await(byName)), "SessionClosed")
      assert.strictEqual(sessionReason(yield* Fiber.await(inLine)), "Unavailable")
      assert.deepStrictEqual(log, ["finalizer: interrupted"])
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(Effect.provide(echo)))

  it.effect("in the middle of a clean-up waits for its end", () =>
    Effect.gen(function*() {
      const log: Log = []
      const gate = yield* Deferred.make<void>()
      const slow = Mode.make("slow", {
        enter: () => Effect.addFinalizer(() => write(log, "finalizer")),
        exit: () => Effect.andThen(Deferred.await(gate), write(log, "exit"))
      })
      const scope = yield* Scope.make()
      const session = yield* Session.make(assistant, { modes: [slow] }).pipe(Scope.provide(scope))
      yield* session.enterMode("slow")
      yield* Effect.forkChild(session.exitMode("slow"), { startImmediately: true })
      yield* settleDown
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* settleDown
      assert.isUndefined(closing.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(log, ["exit", "finalizer"])
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(Effect.provide(echo)))

  it.effect("around a bracket leaves its mode, once, and the bracket gives what its body does", () =>
    Effect.gen(function*() {
      const log: Log = []
      const scope = yield* Scope.make()
      const session = yield* Session.make(assistant).pipe(Scope.provide(scope))
      const given = yield* Scope.close(scope, Exit.void).pipe(
        Effect.as("given"),
        (self) => Mode.within(self, telling(log, "mode")),
        Effect.provideService(Mode.Host, session)
      )
      assert.strictEqual(given, "given")
      assert.deepStrictEqual(log, ["mode set-up", ...told("mode", "success")])
    }).pipe(Effect.provide(echo)))
})

describe("A store that can't save", () => {
  it.effect("what entering a mode did leaves nothing set up", () => {
    const values = new Map<string, string>()
    let isBroken = false
    const store = KeyValueStore.makeStringOnly({
      get: (key) => Effect.sync(() => values.get(key)),
      set: (key, value) =>
        isBroken
          ? Effect.fail(new KeyValueStore.KeyValueStoreError({ method: "set", key, message: "The disk is full" }))
          : Effect.sync(() => void values.set(key, value)),
      remove: (key) => Effect.sync(() => void values.delete(key)),
      clear: Effect.sync(() => values.clear()),
      size: Effect.sync(() => values.size),
      keys: Effect.sync(() => [...values.keys()])
    })
    return Effect.gen(function*() {
      const log: Log = []
      const mode = telling(log, "mode")
      const session = yield* Session.make(assistant, { modes: [mode], store: Session.store("ada") })
      yield* session.call("Hi")
      isBroken = true
      const exit = yield* Effect.exit(
        Effect.provideService(Mode.within(write(log, "body"), mode), Mode.Host, session)
      )
      assert.strictEqual(reasonOf(exit), "Unavailable")
      assert.strictEqual(log[0], "mode set-up")
      assert.notInclude(log, "body")
      assert.lengthOf(log, 4)
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.succeed(KeyValueStore.KeyValueStore, store)),
      Effect.provide(echo)
    )
  })
})

describe("An interruption", () => {
  /** Runs something until nothing goes on by itself, interrupts it, and gives how it ended: it must end at once. */
  const interrupted = <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(self, { startImmediately: true })
      yield* settleDown
      assert.isUndefined(fiber.pollUnsafe(), "it hangs where it should")
      fiber.interruptUnsafe()
      yield* settleDown
      const exit = fiber.pollUnsafe()
      if (exit === undefined) return yield* Effect.die(new Error("It can't be interrupted"))
      return exit
    })

  const hanging = (log: Log) =>
    Mode.make("hanging", {
      enter: Effect.fn(function*() {
        yield* Effect.addFinalizer((exit) => write(log, `finalizer: ${outcome(exit)}`))
        yield* Mode.set("n", 1)
        yield* SystemPrompt.append("Never.", { persist: true })
        yield* Effect.never
      }),
      exit: () => write(log, "exit")
    })

  const entrances: {
    readonly [by: string]: (
      mode: Mode.Mode<"hanging", {}, Mode.ModeError>
    ) => Effect.Effect<unknown, unknown, Session.Session | Mode.Host>
  } = {
    "Mode.within": (mode) => Mode.within(Effect.void, mode),
    "Mode.enter": (mode) => Effect.scoped(Mode.enter(mode)),
    "Session.enterMode": () => Effect.flatMap(Session.Session, (session) => session.enterMode("hanging")),
    "a move": () =>
      Effect.gen(function*() {
        const session = yield* Session.Session
        yield* session.schedule(ModeTransition.push("hanging"))
        yield* Effect.ensuring(session.call("Hi"), Effect.orDie(session.schedule(ModeTransition.stay)))
      })
  }

  for (const [by, enter] of Object.entries(entrances)) {
    it.effect(`in the set-up, by ${by}: the mode was never entered`, () => {
      const log: Log = []
      const mode = hanging(log)
      return Effect.gen(function*() {
        const before = yield* stateNow
        const { events, exit } = yield* watch(interrupted(enter(mode)))
        assert.isTrue(Exit.hasInterrupts(yield* exit))
        assert.deepStrictEqual(log, ["finalizer: interrupted"])
        assert.deepStrictEqual(modeEvents(events), ["ModeEntering hanging", "ModeFailed hanging SetUp Interrupted"])
        const { modes, prompt } = yield* stateNow
        assert.deepStrictEqual([modes, prompt], [[], []])
        if (by !== "a move") assert.deepStrictEqual(held(yield* stateNow), held(before))
        const session = yield* Session.Session
        assert.strictEqual(AgentState.text(yield* session.call("Next")), "Re: Next")
      }).pipe(
        Effect.provide(Session.layer(Agent.make("assistant", { modes: [mode] }))),
        Effect.provide(echo)
      )
    })

    it.effect(`while it waits in line, by ${by}: nothing was begun`, () => {
      const log: Log = []
      const mode = hanging(log)
      const gate = Deferred.makeUnsafe<void>()
      const model = MockModel.layer(
        MockModel.make(({ lastUserText }) =>
          Effect.as(lastUserText === "Wait" ? Deferred.await(gate) : Effect.void, `Re: ${lastUserText}`)
        )
      )
      return Effect.gen(function*() {
        const session = yield* Session.Session
        const call = yield* Effect.forkChild(session.call("Wait"), { startImmediately: true })
        yield* settleDown
        const waiting = by === "a move" ? session.schedule(ModeTransition.push("hanging")) : enter(mode)
        const { events, exit } = yield* watch(interrupted(waiting))
        assert.isTrue(Exit.hasInterrupts(yield* exit))
        assert.deepStrictEqual(events, [])
        assert.deepStrictEqual(log, [])
        yield* Deferred.succeed(gate, undefined)
        const state = yield* Fiber.join(call)
        assert.deepStrictEqual([names(state), texts(state)], [[], ["Wait", "Re: Wait"]])
      }).pipe(
        Effect.provide(Session.layer(Agent.make("assistant", { modes: [mode] }))),
        Effect.provide(model)
      )
    })
  }

  it.effect("by a timeout ends a set-up that takes too long", () =>
    Effect.gen(function*() {
      const log: Log = []
      const fiber = yield* Effect.forkChild(
        Effect.timeoutOption(Mode.within(Effect.succeed(1), hanging(log)), "1 second")
      )
      yield* settleDown
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), Option.none())
      assert.deepStrictEqual(yield* Mode.stack, [])
    }).pipe(withAssistant))

  it.effect("in the body: the clean-up sees it, outer ones too, and the stack is empty", () =>
    Effect.gen(function*() {
      const log: Log = []
      const { events, exit } = yield* watch(interrupted(
        Mode.within(Mode.within(Effect.never, telling(log, "inner")), telling(log, "outer"))
      ))
      assert.isTrue(Exit.hasInterrupts(yield* exit))
      assert.deepStrictEqual(log.slice(2), [...told("inner", "interrupted"), ...told("outer", "interrupted")])
      assert.deepStrictEqual(modeEvents(events).slice(4), [
        "ModeFailed inner Body Interrupted",
        ...left("inner"),
        "ModeFailed outer Body Interrupted",
        ...left("outer")
      ])
      assert.deepStrictEqual((yield* stateNow).modes, [])
    }).pipe(withAssistant))

  it.effect("in a call to the agent, in the body: the conversation is legal, and the user's words are still there", () =>
    Effect.gen(function*() {
      const log: Log = []
      const session = yield* Session.Session
      const exit = yield* interrupted(Mode.within(session.call("Wait"), telling(log, "mode")))
      assert.isTrue(Exit.hasInterrupts(exit))
      assert.deepStrictEqual(log.slice(1), told("mode", "interrupted"))
      const state = yield* session.state
      assert.deepStrictEqual([names(state), texts(state), problems(state.conversation)], [[], ["Wait"], []])
    }).pipe(
      Effect.provide(Session.layer(assistant)),
      Effect.provide(MockModel.layer(MockModel.make(() => Effect.never)))
    ))

  for (const where of ["exit", "finalizer", "recover"] as const) {
    it.effect(`in the clean-up (${where}): it runs to its end, and so do those of the modes around`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const gate = yield* Deferred.make<void>()
        const part = (name: string) =>
          Effect.andThen(
            write(log, `${name} begins`),
            Effect.andThen(name === where ? Deferred.await(gate) : Effect.void, write(log, `${name} ends`))
          )
        const slow = Mode.make("slow", {
          enter: () => Effect.addFinalizer(() => part("finalizer")),
          exit: () => part("exit"),
          ...(where === "recover" ? { recover: () => part("recover") } : undefined)
        })
        const body = where === "recover" ? broken("body") : Effect.void
        const fiber = yield* Mode.within(Mode.within(body, slow), telling(log, "outer")).pipe(
          Effect.forkChild({ startImmediately: true })
        )
        yield* settleDown
        fiber.interruptUnsafe()
        yield* settleDown
        assert.isUndefined(fiber.pollUnsafe())
        assert.strictEqual(log.at(-1), `${where} begins`)
        yield* Deferred.succeed(gate, undefined)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
        assert.includeMembers(log, ["exit ends", "finalizer ends", "outer first finalizer: interrupted"])
        assert.deepStrictEqual((yield* stateNow).modes, [])
      }).pipe(withAssistant))
  }

  it.effect("while the way out waits in line: the mode is left once the session is free", () => {
    const gate = Deferred.makeUnsafe<void>()
    const model = MockModel.layer(
      MockModel.make(({ lastUserText }) => Effect.as(Deferred.await(gate), `Re: ${lastUserText}`))
    )
    return Effect.gen(function*() {
      const log: Log = []
      const session = yield* Session.Session
      const call = yield* Deferred.make<Fiber.Fiber<AgentState.AgentState, unknown>>()
      const fiber = yield* Effect.forkChild(session.call("Wait")).pipe(
        Effect.flatMap((fiber) => Deferred.succeed(call, fiber)),
        Effect.andThen(settleDown),
        (self) => Mode.within(self, telling(log, "mode")),
        Effect.andThen(Effect.never),
        Effect.forkChild({ startImmediately: true })
      )
      const calling = yield* Deferred.await(call)
      yield* settleDown
      yield* settleDown
      fiber.interruptUnsafe()
      yield* settleDown
      assert.isUndefined(fiber.pollUnsafe())
      assert.deepStrictEqual(log, ["mode set-up"])
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      yield* Fiber.await(calling)
      assert.deepStrictEqual(log.slice(1), told("mode", "success"))
      assert.deepStrictEqual((yield* session.state).modes, [])
    }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(model))
  })

  /** A mode with a resource: how many of them are open, and how often it was set up and cleaned up. */
  const counted = () => {
    const count = { open: 0, entered: 0, exited: 0 }
    const mode = (name: string) =>
      Mode.make(name, {
        invokable: true,
        enter: Effect.fn(function*() {
          yield* Effect.acquireRelease(Effect.sync(() => count.open++), () => Effect.sync(() => count.open--))
          yield* Effect.yieldNow
          yield* SystemPrompt.append(`In ${name}.`)
          yield* Mode.set("name", name)
          count.entered++
        }),
        exit: () => Effect.andThen(Effect.yieldNow, Effect.sync(() => void count.exited++))
      })
    return { count, mode }
  }

  /** Checks that what was told of modes begins and ends in pairs. */
  const unpaired = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
    const open: Array<string> = []
    const wrong: Array<string> = []
    let isEntering: string | undefined
    let isExiting: string | undefined
    for (const event of events) {
      switch (event._tag) {
        case "ModeEntering":
          if (isEntering !== undefined) wrong.push(`${event.name} is entered while ${isEntering} is`)
          isEntering = event.name
          break
        case "ModeEntered":
          if (isEntering !== event.name) wrong.push(`${event.name} entered without a beginning`)
          isEntering = undefined
          open.push(event.name)
          break
        case "ModeExiting":
          if (open.at(-1) !== event.name) wrong.push(`${event.name} is left and isn't on top`)
          isExiting = event.name
          break
        case "ModeExited":
          if (isExiting !== event.name) wrong.push(`${event.name} left without a beginning`)
          isExiting = undefined
          open.pop()
          break
        case "ModeFailed":
          if (event.phase !== "SetUp") break
          if (isEntering !== event.name) wrong.push(`${event.name} failed without a beginning`)
          isEntering = undefined
      }
    }
    if (isEntering !== undefined) wrong.push(`${isEntering} was never entered`)
    if (isExiting !== undefined) wrong.push(`${isExiting} was never left`)
    return { open, wrong }
  }

  const bodies = {
    "nested brackets around a call": (
      session: Session.Session,
      mode: (name: string) => Mode.Mode<string, {}, Mode.ModeError>
    ) => Mode.within(Mode.within(session.call("Hi"), mode("inner")), mode("outer")),
    "a scope around a call": (
      session: Session.Session,
      mode: (name: string) => Mode.Mode<string, {}, Mode.ModeError>
    ) =>
      Effect.scoped(Effect.gen(function*() {
        yield* Mode.enter(mode("mode"))
        return yield* session.call("Hi")
      }))
  }

  for (const [what, body] of Object.entries(bodies)) {
    for (const isWatched of [true, false]) {
      const watched = isWatched ? "while somebody looks on" : "while nobody does"
      it.effect(`at every operation of ${what}, ${watched}, leaves nothing entered and nothing open`, () =>
        Effect.gen(function*() {
          for (let at = 1;; at++) {
            const { count, mode } = counted()
            const session = yield* Session.Session
            const fork = yield* session.fork
            const events: Array<AgentEvent.AgentEvent> = []
            const running = Effect.provideService(body(fork as Session.Session, mode), Mode.Host, fork)
            const { exit, scheduler } = yield* interruptAt(
              isWatched ? Agent.observe(running, (event) => Effect.sync(() => void events.push(event))) : running,
              at
            )
            const state = yield* fork.state
            const where = `at ${at}`
            assert.deepStrictEqual([names(state), state.prompt, problems(state.conversation)], [[], [], []], where)
            assert.strictEqual(count.open, 0, where)
            if (isWatched) {
              assert.deepStrictEqual(unpaired(events), { open: [], wrong: [] }, where)
              assert.strictEqual(count.exited, ofTag(events, "ModeEntered").length, where)
            } else assert.include([0, 1], count.entered - count.exited, where)
            if (scheduler.ops < at) {
              assert.isTrue(Exit.isSuccess(exit))
              assert.strictEqual(count.exited, count.entered)
              assert.isAbove(at, 100)
              break
            }
            assert.isTrue(Exit.isSuccess(exit) || Exit.hasInterrupts(exit), where)
          }
        }).pipe(Effect.scoped, withAssistant))
    }
  }

  it.effect("at every operation of a run that moves between modes leaves what can go on, and holds nothing open", () => {
    const { count, mode } = counted()
    const agent = Agent.make("assistant", { modes: [mode("one"), mode("two")] })
    const hasLeft = (state: AgentState.AgentState) =>
      callsIn(state.conversation).some(({ name, state }) =>
        name === "exit_current_mode" && state._tag === "Settled" && state.outcome === "Succeeded"
      )
    const script = MockModel.layer(MockModel.make(({ state }) => {
      const top = names(state!).at(-1)
      if (top === "one" && hasLeft(state!)) return "Done."
      const tool = top === undefined ? "enter_one_mode" : top === "one" ? "enter_two_mode" : "exit_current_mode"
      return MockResponse.toolCall(tool, {})
    }))
    return Effect.gen(function*() {
      for (let at = 1;; at++) {
        const events: Array<AgentEvent.AgentEvent> = []
        const { exit, scheduler } = yield* interruptAt(
          Agent.run(agent, "Hi").pipe(Agent.observe((event) => Effect.sync(() => void events.push(event)))),
          at
        )
        const where = `at ${at}`
        const state = events.reduce(AgentState.reduce, AgentState.make("assistant"))
        assert.strictEqual(count.open, 0, where)
        assert.deepStrictEqual(unpaired(events), { open: names(state), wrong: [] }, where)
        assert.deepStrictEqual(problems(state.conversation), [], where)
        if (events.length > 0) {
          const resumed = yield* Agent.resume(agent, state)
          assert.deepStrictEqual([names(resumed), AgentState.text(resumed)], [["one"], "Done."], where)
          assert.strictEqual(count.open, 0, where)
        }
        if (scheduler.ops < at) {
          assert.isTrue(Exit.isSuccess(exit))
          assert.isAbove(at, 100)
          break
        }
      }
    }).pipe(Effect.provide(script))
  })
})
