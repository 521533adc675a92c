/** What fails in a mode: its set-up, what runs in it, its clean-up, and what it recovers from. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import { Agent, Mode, ModeTransition, Session, SystemPrompt } from "troupe"
import { MockModel } from "troupe/testing"
import { watch } from "../agent/watch.ts"
import { problems } from "../domain/legal.ts"
import {
  around,
  assistant,
  type Broken,
  broken,
  echo,
  held,
  left,
  type Log,
  modeEvents,
  names,
  outcome,
  reasons,
  settleDown,
  stateNow,
  telling,
  texts,
  told,
  withAssistant,
  write
} from "./lifecycle.ts"

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

describe("A session made from a state whose mode can't be set up again", () => {
  const one = Mode.make("one", { enter: () => Effect.void })
  const two = Mode.make("two", { enter: () => Effect.void })
  const stated = Effect.gen(function*() {
    const session = yield* Session.make(Agent.make("assistant", { modes: [one] }))
    return yield* session.enterMode("one")
  }).pipe(Effect.scoped, Effect.provide(echo))

  const attempts = (session: Session.Session) =>
    [
      ["enterMode", session.enterMode("two")],
      ["exitMode", session.exitMode()],
      ["Mode.enter", Effect.provideService(Mode.within(Effect.void, two), Mode.Host, session)]
    ] as const

  it.effect("fails operations on modes with a ModeError if its agent hasn't the mode", () =>
    Effect.gen(function*() {
      const state = yield* stated
      const session = yield* Session.make(Agent.make("assistant", { modes: [two] }), { state })
      for (const [operation, attempt] of attempts(session)) {
        const error = yield* Effect.flip(attempt)
        assert.instanceOf(error, Mode.ModeError)
        const reason = error._tag === "ModeError" ? error.reason : undefined
        assert.deepInclude(reason, { _tag: "Unavailable", operation })
        assert.include(error.message, "\"one\"")
        assert.strictEqual(reason?._tag === "Unavailable" && (reason.error as Error).name, "troupe/domain/AgentError")
      }
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("fails entering another mode with a ModeError that has what the set-up failed with", () =>
    Effect.gen(function*() {
      const state = yield* stated
      const broken = Mode.make("one", { enter: () => Effect.fail("boom" as const) })
      const session = yield* Session.make(Agent.make("assistant", { modes: [broken] }), { state })
      const entered = Effect.provideService(Mode.within(Effect.void, two), Mode.Host, session)
      const error = yield* Effect.flip(entered)
      assert.instanceOf(error, Mode.ModeError)
      assert.deepInclude(error.reason, { _tag: "Unavailable", operation: "Mode.enter", error: "boom" })
      assert.strictEqual(yield* Effect.flip(session.enterMode("one")), "boom")
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("names the operation that needs a mode", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("assistant"))
      const error = yield* Effect.flip(
        Effect.provideService(Mode.update("key", () => 1), Mode.Host, session)
      )
      assert.deepInclude(error.reason, { _tag: "NoMode", operation: "Mode.update" })
    }).pipe(Effect.scoped, Effect.provide(echo)))
})

describe("An observer that breaks", () => {
  for (const tag of ["ModeEntering", "ModeEntered", "ModeExiting", "ModeExited"] as const) {
    for (const name of ["outer", "inner", "once"]) {
      it.effect(`at ${tag} of "${name}" leaves no mode entered and nothing held`, () => {
        const held = new Set<string>()
        const log: Array<string> = []
        const mode = (name: string) =>
          Mode.make(name, {
            enter: () =>
              Effect.acquireRelease(
                Effect.sync(() => void held.add(name)),
                () => Effect.sync(() => void held.delete(name))
              ),
            exit: () => Effect.sync(() => void log.push(`left ${name}`))
          })
        const once = Mode.singleShot("once", Effect.sync(() => void log.push("once")))
        let isBroken = false
        const observed = Agent.observe((event) => {
          if (isBroken || event._tag !== tag || event.name !== name) return Effect.void
          isBroken = true
          return Effect.die("observer")
        })
        const agent = Agent.make("a", { modes: [mode("inner"), once] })
        return Effect.gen(function*() {
          const session = yield* Session.make(agent)
          const inside = Effect.andThen(session.enterMode("once"), session.enterMode("inner"))
          const { events, exit } = yield* watch(
            Mode.within(inside, mode("outer")).pipe(observed, Effect.provideService(Mode.Host, session))
          )
          assert.deepStrictEqual(reasons(exit), ["defect: observer"])
          assert.deepStrictEqual(names(yield* session.state), [])
          assert.deepStrictEqual([...held], [])
          const count = (tag: string) => events.filter(({ _tag }) => _tag === tag).length
          assert.strictEqual(count("ModeExiting"), count("ModeExited"))
          const undone = events.filter((event) => event._tag === "ModeFailed" && event.phase === "SetUp").length
          assert.strictEqual(count("ModeEntering"), count("ModeEntered") + undone)
          assert.strictEqual(log.length, count("ModeEntered"))
        }).pipe(Effect.scoped, Effect.provide(echo))
      })
    }
  }
})

describe("What is no Effect, or no mode", () => {
  it.effect("is a defect that says so, and nothing is entered", () =>
    Effect.gen(function*() {
      const log: Log = []
      const mode = telling(log, "mode")
      const cases = [
        [
          Mode.within(Promise.resolve(1) as never, mode),
          /What `Mode.within` runs must be an Effect, not a Promise: `Effect.promise`/
        ],
        [Mode.within(undefined as never, mode), /What `Mode.within` runs must be an Effect, not undefined/],
        [Mode.within(mode)(Promise.resolve(1) as never), /What `Mode.within` runs must be an Effect, not a Promise/],
        [
          Mode.within(Effect.void, "mode" as never),
          /The mode of `Mode.within` must be made by `Mode.make`; it is a string/
        ],
        [Mode.enter(undefined as never), /The mode of `Mode.enter` must be made by `Mode.make`; it is undefined/],
        [
          Agent.observe(Promise.resolve(1) as never, () => Effect.void),
          /What `Agent.observe` observes must be an Effect, not a Promise/
        ]
      ] as ReadonlyArray<readonly [Effect.Effect<unknown, unknown, Mode.Host | Scope.Scope>, RegExp]>
      for (const [effect, says] of cases) {
        const exit = yield* Effect.exit(effect)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.match(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "", says)
        assert.deepStrictEqual([log, names(yield* stateNow)], [[], []])
      }
    }).pipe(Effect.scoped, withAssistant))
})
