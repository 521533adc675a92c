/**
 * What goes wrong in an earlier implementation of modes, or was left open there, and holds here: a test for each, by the number
 * that it has in the catalogue of that implementation.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Mode, ModeTransition, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { problems } from "../domain/legal.ts"
import { ends, reasonOf, said, sent, stackOf } from "./sent.ts"

const echo = Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`)))

const answering = (...responses: ReadonlyArray<MockResponse.Input>) =>
  Effect.provide(MockModel.layer(MockModel.queue(...responses)))

/** Runs a test in a session of an agent, which modes can be entered in. */
const inSession = <Name extends string, Output, AgentE, AgentR, A, E, R>(
  agent: Agent.Agent<Name, Output, AgentE, AgentR>,
  test: (session: Session.Session) => Effect.Effect<A, E, R>
) => Effect.flatMap(Session.Session, test).pipe(Effect.provide(Session.layer(agent)))

/** Puts an effect into a mode without parameters. */
const within = (mode: Mode.Mode<string>) => <A, E, R>(self: Effect.Effect<A, E, R>) => Mode.within(self, mode)

const plain = (name: string, options: { readonly isolation?: "none" | "config" | "thread" | "fork" } = {}) =>
  Mode.make(name, { ...options, enter: () => Effect.void })

/** A mode that keeps a record of its set-up and its clean-up. */
const recorded = (log: Array<string>, name: string) =>
  Mode.make(name, {
    enter: () =>
      Effect.andThen(
        Effect.sync(() => log.push(`+${name}`)),
        Effect.addFinalizer(() => Effect.sync(() => log.push(`~${name}`)))
      ),
    exit: () => Effect.sync(() => void log.push(`-${name}`))
  })

const errorsOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.map((reason) =>
      Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : "interrupted"
    )
    : []

const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

const Say = Toolkit.make(Tool.make("say", { success: Schema.String }))
const Other = Toolkit.make(Tool.make("other", { success: Schema.String }))
const saying = Effect.provide(Say.toLayer({ say: () => Effect.succeed("said") }))
const othering = Effect.provide(Other.toLayer({ other: () => Effect.succeed("done") }))

describe("Registration and life cycle", () => {
  it.effect("M4, M5, G3: a mode needs no clean-up, and one of a single shot is left at once", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const shot = Mode.singleShot("shot", Effect.sync(() => log.push("shot")))
      const bare = Mode.make("bare", { enter: () => Effect.sync(() => log.push("bare")) })
      yield* inSession(Agent.make("a", { modes: [shot, bare] }), (session) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(stackOf(yield* session.enterMode("shot")), [])
          assert.deepStrictEqual(stackOf(yield* session.enterMode("bare")), ["bare"])
          assert.deepStrictEqual(stackOf(yield* session.exitMode()), [])
          assert.deepStrictEqual(log, ["shot", "bare"])
        }))
    }).pipe(echo))

  it.effect("M12: a fork of a conversation has the same modes, and is in those that it was in", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [plain("m"), plain("n")] }))
      yield* session.enterMode("m")
      const fork = yield* session.fork
      assert.deepStrictEqual(stackOf(yield* fork.enterMode("n")), ["m", "n"])
      assert.deepStrictEqual(stackOf(yield* session.exitMode()), [])
      assert.deepStrictEqual(stackOf(yield* fork.state), ["m", "n"])
    }).pipe(Effect.scoped, echo))

  it.effect("M19, G6: set-up and clean-up call the agent in moves that are asked for, and don't hang", () =>
    ends(Effect.gen(function*() {
      const talking = Mode.make("talking", {
        enter: () => Mode.call("In"),
        exit: () => Effect.asVoid(Mode.call("Out"))
      })
      yield* inSession(Agent.make("a", { modes: [talking] }), (session) =>
        Effect.gen(function*() {
          yield* session.schedule(ModeTransition.push("talking"))
          yield* session.call("One")
          yield* session.schedule(ModeTransition.exit)
          const state = yield* session.call("Two")
          assert.deepStrictEqual(
            said(state).filter((line) => line.startsWith("User")),
            ["User: In", "User: One", "User: Out", "User: Two"]
          )
          assert.deepStrictEqual(problems(state.conversation), [])
        }))
    })).pipe(echo))
})

describe("The stack", () => {
  it.effect("M25, G10: a mode that is on top can be entered again, and each is left in its turn", () =>
    Effect.gen(function*() {
      const m = Mode.make("m", { params: Schema.Struct({ n: Schema.Int }), enter: () => Effect.void })
      yield* inSession(Agent.make("a"), (session) => {
        const stack = Effect.map(session.state, stackOf)
        return Effect.gen(function*() {
          const both = Effect.all([stack, Mode.get("n")])
          const twice = Effect.all([Mode.within(both, m, { n: 2 }), both])
          const seen = yield* Effect.all([Mode.within(twice, m, { n: 1 }), stack]).pipe(within(plain("o")))
          assert.deepStrictEqual(seen, [[[["o", "m", "m"], 2], [["o", "m"], 1]], ["o"]])
          assert.deepStrictEqual(yield* stack, [])
        })
      })
    }).pipe(echo))

  it.effect("M26: a mode that is lower can be entered again", () =>
    inSession(
      Agent.make("a", { modes: [plain("m"), plain("n")] }),
      (session) =>
        Effect.gen(function*() {
          yield* session.enterMode("m")
          yield* session.enterMode("n")
          assert.deepStrictEqual(stackOf(yield* session.enterMode("m")), ["m", "n", "m"])
        })
    ).pipe(echo))

  it.effect("M27, G10: a bracket leaves what was entered in it, and its own mode alone where that was left before", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const modes = ["inner"].map((name) => recorded(log, name))
      yield* inSession(Agent.make("a", { modes }), (session) =>
        Effect.gen(function*() {
          yield* Mode.within(session.enterMode("inner"), recorded(log, "outer"))
          assert.deepStrictEqual(log, ["+outer", "+inner", "-inner", "~inner", "-outer", "~outer"])
          log.length = 0
          yield* session.enterMode("inner")
          yield* Mode.within(session.exitMode(), recorded(log, "outer"))
          assert.deepStrictEqual(log, ["+inner", "+outer", "-outer", "~outer"])
          assert.deepStrictEqual(stackOf(yield* session.state), ["inner"])
        }))
    }).pipe(echo))

  it.effect("M28, G10: fibers that enter modes side by side never leave each other's in the place of their own", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      yield* inSession(Agent.make("a"), (session) =>
        Effect.gen(function*() {
          const [first, second] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
          const a = yield* Effect.forkChild(Mode.within(Deferred.await(first), recorded(log, "a")))
          yield* settleDown
          const b = yield* Effect.forkChild(Mode.within(Deferred.await(second), recorded(log, "b")))
          yield* settleDown
          assert.deepStrictEqual(stackOf(yield* session.state), ["a", "b"])
          yield* Deferred.succeed(first, undefined)
          yield* Fiber.join(a)
          assert.deepStrictEqual(log, ["+a", "+b", "-b", "~b", "-a", "~a"])
          yield* session.call("Hello")
          yield* Deferred.succeed(second, undefined)
          yield* Fiber.join(b)
          assert.deepStrictEqual(log.length, 6)
          assert.deepStrictEqual(stackOf(yield* session.state), [])
        }))
    }).pipe(echo))
})

describe("Values", () => {
  it.effect("M32: a value that is set outside of any mode is a typed error", () =>
    inSession(Agent.make("a"), () =>
      Effect.gen(function*() {
        for (const outside of [Mode.set("k", 1), Mode.update("k", () => 1), Mode.get("k"), Mode.all, Mode.duration]) {
          assert.strictEqual(reasonOf(yield* Effect.flip(Effect.asVoid(outside)))._tag, "NoMode")
        }
      })).pipe(echo))

  it.effect("M33: what an inner mode does to a value that it reads from outside stays in it", () =>
    inSession(Agent.make("a"), () =>
      Effect.gen(function*() {
        yield* Mode.set("k", "outer")
        yield* Mode.within(
          Effect.gen(function*() {
            assert.strictEqual(yield* Mode.get("k"), "outer")
            yield* Mode.set("k", null)
            assert.strictEqual(yield* Mode.get("k"), null)
          }),
          plain("inner")
        )
        assert.strictEqual(yield* Mode.get("k"), "outer")
      }).pipe(within(plain("outer")))).pipe(echo))

  it.effect("M34: a value that is read or was given can't be changed from where it is held", () =>
    inSession(Agent.make("a"), () =>
      Effect.gen(function*() {
        const given = { list: [1] }
        yield* Mode.set("k", given)
        given.list.push(2)
        const read = (yield* Mode.get("k")) as { readonly list: Array<number> }
        assert.throws(() => read.list.push(3), TypeError)
        yield* Mode.within(Mode.update("k", (k) => ({ list: [...(k as typeof given).list, 4] })), plain("inner"))
        assert.deepStrictEqual(yield* Mode.get("k"), { list: [1] })
      }).pipe(within(plain("outer")))).pipe(echo))

  it.effect("M35, G8: a bracket hands its value out of a fork", () =>
    inSession(Agent.make("a"), (session) =>
      Effect.gen(function*() {
        const found = yield* Effect.andThen(session.call("Search"), (state) =>
          Effect.andThen(
            Mode.set("found", AgentState.text(state)),
            Mode.get("found")
          )).pipe(within(plain("fork", { isolation: "fork" })))
        assert.strictEqual(found, "Re: Search")
        assert.deepStrictEqual(said(yield* session.state), [])
      })).pipe(echo))
})

describe("Failures", () => {
  it.effect("M41: a set-up that fails is undone whole, what it said and what was to persist too", () =>
    Effect.gen(function*() {
      const broken = Mode.make("broken", {
        enter: () =>
          Effect.gen(function*() {
            yield* SystemPrompt.append("Stay.", { persist: true })
            yield* Mode.configure({ tools: [] })
            yield* Mode.call("Prepare")
            return yield* Effect.fail("no")
          })
      })
      yield* inSession(Agent.make("a", { toolkit: Say, modes: [broken] }), (session) =>
        Effect.gen(function*() {
          yield* session.call("Hello")
          const { modes, prompt, settings, conversation } = yield* session.state
          yield* Effect.exit(session.enterMode("broken"))
          const after = yield* session.state
          assert.deepStrictEqual(
            [after.modes, after.prompt, after.settings, after.conversation],
            [modes, prompt, settings, conversation]
          )
        }))
    }).pipe(echo, saying))

  it.effect("M42: a set-up that is interrupted leaves nothing on the stack", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const stuck = Mode.make("stuck", {
        enter: () => Effect.andThen(Effect.addFinalizer(() => Effect.sync(() => log.push("~"))), Effect.never)
      })
      yield* inSession(Agent.make("a"), (session) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(Mode.within(Effect.void, stuck))
          yield* settleDown
          assert.deepStrictEqual(stackOf(yield* session.state), ["stuck"])
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual(stackOf(yield* session.state), [])
          assert.deepStrictEqual(log, ["~"])
        }))
    }).pipe(echo))

  it.effect("M43, G1: the clean-up runs whole where the body fails, and is told how", () =>
    Effect.gen(function*() {
      const exits: Array<unknown> = []
      const m = Mode.make("m", {
        enter: () => Effect.addFinalizer((exit) => Effect.sync(() => exits.push(...errorsOf(exit)))),
        exit: (exit) => Effect.sync(() => void exits.push(...errorsOf(exit)))
      })
      yield* inSession(Agent.make("a"), () => Effect.exit(Mode.within(Effect.fail("body"), m)))
      assert.deepStrictEqual(exits, ["body", "body"])
    }).pipe(echo))

  it.effect("M47, M49, G2: a clean-up that fails is joined to the body's failure, which stays first, of one type or not", () =>
    Effect.gen(function*() {
      for (const error of ["clean-up", new TypeError("clean-up")]) {
        const m = Mode.make("m", { enter: () => Effect.void, exit: () => Effect.fail(error) })
        const exit = yield* inSession(Agent.make("a"), () => Effect.exit(Mode.within(Effect.fail("body"), m)))
        assert.deepStrictEqual(errorsOf(exit), ["body", error])
      }
    }).pipe(echo))
})

describe("Isolation", () => {
  it.effect("M54: a mode's own tools are gone once it was left, whatever its isolation", () =>
    Effect.gen(function*() {
      const isolations = ["none", "config", "thread", "fork"] as const
      const modes = isolations.map((isolation) =>
        Mode.make(isolation, { isolation, toolkit: Other, enter: () => Effect.void })
      )
      yield* inSession(Agent.make("a", { toolkit: Say, modes }), (session) =>
        Effect.forEach(isolations, (name) =>
          Effect.gen(function*() {
            yield* session.enterMode(name)
            yield* session.call("In")
            yield* session.exitMode()
            yield* session.call("Out")
          })))
      assert.deepStrictEqual(
        (yield* sent).map(({ tools }) =>
          tools
        ),
        isolations.flatMap(() => [["say", "other"], ["say"]])
      )
    }).pipe(echo, saying, othering))

  it.effect("M56, G7: what is said in a thread whose view was cut is kept, behind all that was cut", () =>
    inSession(
      Agent.make("a"),
      (session) =>
        Effect.gen(function*() {
          for (const text of ["One", "Two", "Three"]) yield* session.call(text)
          yield* Effect.gen(function*() {
            yield* Mode.updateView(({ turns }) => ({ turns: turns.slice(-2) }))
            yield* session.call("Four")
          }).pipe(within(plain("thread", { isolation: "thread" })))
          assert.deepStrictEqual((yield* sent).at(-1)?.messages, ["user: Three", "assistant: Re: Three", "user: Four"])
          assert.deepStrictEqual(
            said(yield* session.state),
            ["One", "Two", "Three", "Four"].flatMap((text) => [`User: ${text}`, `Assistant: Re: ${text}`])
          )
        })
    ).pipe(echo))

  it.effect("M58, G7: a fork of an empty history isolates", () =>
    inSession(
      Agent.make("a"),
      (session) =>
        Effect.gen(function*() {
          yield* Mode.within(session.call("Inside"), plain("fork", { isolation: "fork" }))
          const state = yield* session.state
          assert.deepStrictEqual(said(state), [])
          assert.strictEqual(state.initialQuery, undefined)
          yield* session.call("Outside")
          assert.deepStrictEqual((yield* sent)[1]?.messages, ["user: Outside"])
        })
    ).pipe(echo))

  it.effect("M60, G7: config and fork restore what was set; none and thread keep it", () =>
    Effect.gen(function*() {
      for (const isolation of ["none", "config", "thread", "fork"] as const) {
        yield* inSession(Agent.make("a", { toolkit: Say }), (session) =>
          Effect.gen(function*() {
            yield* session.configure({ toolChoice: "required" })
            yield* Mode.within(Mode.configure({ tools: [], toolChoice: "none" }), plain("m", { isolation }))
            assert.deepStrictEqual(
              (yield* session.state).settings,
              isolation === "none" || isolation === "thread"
                ? { tools: [], toolChoice: "none" }
                : { toolChoice: "required" }
            )
          }))
      }
    }).pipe(echo, saying))

  it.effect("M61: what is to persist outlives every mode but a fork", () =>
    Effect.gen(function*() {
      for (const isolation of ["none", "config", "thread", "fork"] as const) {
        const prompt = yield* inSession(Agent.make("a"), (session) =>
          Effect.gen(function*() {
            yield* Mode.within(SystemPrompt.append("Stay.", { persist: true }), plain("m", { isolation }))
            yield* session.call("Hello")
            return (yield* sent).at(-1)?.system
          }))
        assert.strictEqual(prompt, isolation === "fork" ? "" : "Stay.")
      }
    }).pipe(echo))

  it.effect("M64: a switch is checked where it would land, and a fork that a run leaves loses no question", () =>
    Effect.gen(function*() {
      const modes = [
        plain("thread", { isolation: "thread" }),
        Mode.make("fork", { isolation: "fork", enter: () => Effect.void }),
        plain("none")
      ]
      const Out = Toolkit.make(Tool.make("out", { success: Schema.String }))
      const out = Out.toLayer({
        out: () =>
          Effect.orDie(Effect.gen(function*() {
            const refused = yield* Effect.flip(Effect.asVoid(Mode.schedule(ModeTransition.switch("none"))))
            yield* Mode.schedule(ModeTransition.switch("thread"))
            return reasonOf(refused)._tag
          }))
      })
      yield* inSession(Agent.make("a", { toolkit: Out, modes }), (session) =>
        Effect.gen(function*() {
          yield* session.enterMode("thread")
          yield* session.enterMode("fork")
          const state = yield* session.call("The question")
          assert.deepStrictEqual(stackOf(state), ["thread", "thread"])
          assert.deepStrictEqual((yield* sent)[1]?.messages, ["user: The question"])
          assert.deepStrictEqual(said(state), ["User: The question", "Assistant: Done."])
        })).pipe(Effect.provide(out))
    }).pipe(answering(MockResponse.toolCall("out", {}), "Done.")))
})

describe("Transitions", () => {
  it.effect("M65: what a clean-up gives is a move that is taken", () =>
    Effect.gen(function*() {
      const first = Mode.make("first", {
        enter: () => Effect.void,
        exit: () => Effect.succeed(ModeTransition.switch("second"))
      })
      yield* inSession(Agent.make("a", { modes: [first, plain("second")] }), (session) =>
        Effect.gen(function*() {
          yield* session.enterMode("first")
          yield* session.exitMode()
          assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["second"])
        }))
    }).pipe(echo))

  const Go = Toolkit.make(Tool.make("go"))
  const going = Effect.provide(Go.toLayer({ go: () => Effect.orDie(Mode.schedule(ModeTransition.push("m"))) }))

  it.effect("M68, M69, M70, G5: a move is taken before the next request, of this run where there is one, or else of the next", () =>
    inSession(Agent.make("a", { toolkit: Go, modes: [plain("m"), plain("n")] }), (session) =>
      Effect.gen(function*() {
        yield* session.call("One")
        assert.deepStrictEqual((yield* sent).map(({ system }) => system), ["", "You are in mode \"m\"."])
        yield* session.schedule(ModeTransition.switch("n"))
        assert.deepStrictEqual(stackOf(yield* session.state), ["m"])
        yield* session.call("Two")
        assert.strictEqual((yield* sent)[2]?.system, "You are in mode \"n\".")
      })).pipe(going, answering(MockResponse.toolCall("go", {}), "Done.", "Done.")))

  it.effect("M72: a move that a clean-up asks for is taken with the next call, and only once", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const first = Mode.make("first", {
        enter: () => Effect.void,
        exit: () => Mode.schedule(ModeTransition.switch("second"))
      })
      yield* inSession(
        Agent.make("a", { modes: [first, recorded(log, "second")] }),
        (session) =>
          Effect.gen(function*() {
            yield* session.enterMode("first")
            yield* session.exitMode()
            assert.deepStrictEqual(log, [])
            yield* session.call("One")
            yield* session.call("Two")
            assert.deepStrictEqual(log, ["+second"])
          })
      )
    }).pipe(echo))
})

describe("Modes that a model enters", () => {
  it.effect("M74, M96, G4: the model's call pushes, and it can leave again", () =>
    Effect.gen(function*() {
      const research = Mode.make("research", { invokable: true, enter: () => Effect.void })
      const planning = Mode.make("planning", { invokable: true, enter: () => Effect.void })
      const { events, exit } = yield* watch(Agent.run(Agent.make("a", { modes: [research, planning] }), "Go"))
      assert.deepStrictEqual(stackOf(yield* exit), ["research"])
      assert.deepStrictEqual(ofTag(events, "ModeEntered").map(({ stack }) => stack), [
        ["research"],
        ["research", "planning"]
      ])
    }).pipe(answering(
      MockResponse.toolCall("enter_research_mode", {}),
      MockResponse.toolCall("enter_planning_mode", {}),
      MockResponse.toolCall("exit_current_mode", {}),
      "Done."
    )))

  it.effect("M97: isolation and narrowing hold for their tools, and restoring settings takes none of them away", () =>
    Effect.gen(function*() {
      const loose = Mode.make("loose", { invokable: true, enter: () => Effect.void })
      const narrow = Mode.make("narrow", { tools: ["say"], enter: () => Effect.void })
      yield* inSession(
        Agent.make("a", { toolkit: Say, modes: [loose, narrow, plain("config", { isolation: "config" })] }),
        (session) =>
          Effect.gen(function*() {
            yield* session.enterMode("config")
            yield* session.call("One")
            yield* session.exitMode()
            yield* session.call("Two")
            yield* session.enterMode("narrow")
            yield* session.call("Three")
          })
      )
      assert.deepStrictEqual((yield* sent).map(({ tools }) => tools), [["say"], ["say", "enter_loose_mode"], ["say"]])
    }).pipe(echo, saying))

  it("M101: what isn't a mode can't be given as one", () => {
    // @ts-expect-error a name is no mode
    assert.throws(() => Agent.make("a", { modes: ["research"] }))
    // @ts-expect-error nor is a function
    assert.throws(() => Agent.make("a", { modes: [() => Effect.void] }))
  })
})

describe("Looking on", () => {
  it.effect("M103: the mode around is the one below in the stack, and outside there is none", () =>
    inSession(Agent.make("a"), () =>
      Effect.gen(function*() {
        const names = Effect.all([Mode.name, Mode.stack])
        assert.deepStrictEqual(yield* names.pipe(within(plain("inner")), within(plain("outer"))), [
          "inner",
          ["outer", "inner"]
        ])
        assert.deepStrictEqual(yield* names, [undefined, []])
      })).pipe(echo))

  it.effect("M104: the duration of a mode passes with the clock", () =>
    inSession(Agent.make("a"), () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(
          Effect.andThen(Effect.sleep("90 seconds"), Mode.duration).pipe(within(plain("m")))
        )
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(Duration.toSeconds(yield* Fiber.join(fiber)), 90)
      })).pipe(echo))

  it.effect("M106, G11: a body that fails is told, and the exit has its start and its end", () =>
    Effect.gen(function*() {
      for (const failing of ["body", "clean-up", "both"]) {
        const m = Mode.make("m", {
          enter: () => Effect.void,
          exit: () => failing === "body" ? Effect.void : Effect.fail("clean-up")
        })
        const { events } = yield* watch(inSession(
          Agent.make("a"),
          () => Effect.exit(Mode.within(failing === "clean-up" ? Effect.void : Effect.fail("body"), m))
        ))
        const tags = events.map((event) => event._tag === "ModeFailed" ? event.phase : event._tag)
        assert.deepStrictEqual(tags, [
          "ModeEntering",
          "ModeEntered",
          ...(failing === "clean-up" ? [] : ["Body"]),
          "ModeExiting",
          ...(failing === "body" ? [] : ["CleanUp"]),
          "ModeExited"
        ])
      }
    }).pipe(echo))
})

describe("The system prompt", () => {
  it.effect("M110, M116, G9: all of it reaches the model: prepends, instructions, sections, the mode, appends", () =>
    Effect.gen(function*() {
      const m = Mode.make("m", {
        invokable: true,
        description: "What it is for.",
        enter: () =>
          Effect.gen(function*() {
            yield* SystemPrompt.append("Last.")
            yield* SystemPrompt.section("b", "Section b.")
            yield* SystemPrompt.section("a", "Section a.")
            yield* SystemPrompt.prepend("First.")
          })
      })
      yield* inSession(Agent.make("a", { instructions: "Base.", modes: [m] }), (session) =>
        Effect.gen(function*() {
          yield* session.enterMode("m")
          yield* session.call("Hello")
          yield* session.exitMode()
          yield* session.call("Hello")
        }))
      const prompt = [
        "First.",
        "Base.",
        "Section b.",
        "Section a.",
        "You are in mode \"m\". What it is for.",
        "Last."
      ].join("\n\n")
      assert.deepStrictEqual((yield* sent).map(({ system }) => system), [prompt, "Base."])
    }).pipe(echo))

  it.effect("M117: a mode without a description is told by its name", () =>
    Effect.gen(function*() {
      const m = Mode.make("m", { invokable: true, enter: () => Effect.void })
      yield* inSession(Agent.make("a", { modes: [m] }), (session) =>
        Effect.gen(function*() {
          yield* session.enterMode("m")
          yield* session.call("Hello")
          assert.strictEqual(yield* SystemPrompt.render("Base."), "Base.\n\nYou are in mode \"m\".")
        }))
      assert.strictEqual((yield* sent)[0]?.system, "You are in mode \"m\".")
    }).pipe(echo))

  it.effect("M118: what is to persist stays, also where it replaces a section that was there", () =>
    Effect.gen(function*() {
      yield* inSession(Agent.make("a"), (session) =>
        Effect.gen(function*() {
          yield* SystemPrompt.section("s", "Outside.")
          yield* Effect.gen(function*() {
            yield* SystemPrompt.section("s", "")
            yield* SystemPrompt.section("s", "Inside.", { persist: true })
            yield* SystemPrompt.append("Kept.", { persist: true })
            yield* SystemPrompt.append("Gone.")
          }).pipe(within(plain("m")))
          yield* session.call("Hello")
          const stored = Result.getOrThrow(AgentState.fromJson(AgentState.toJson(yield* session.state)))
          assert.deepStrictEqual(stored.prompt, (yield* session.state).prompt)
        }))
      assert.strictEqual((yield* sent)[0]?.system, "Inside.\n\nKept.")
    }).pipe(echo))
})
