/** How programs enter modes: by a scope, within an effect, by name, once more, and with which parameters. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Schema, Scope } from "effect"
import { Agent, Mode, ModeTransition, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import {
  around,
  assistant,
  Broken,
  broken,
  echo,
  held,
  left,
  type Log,
  modeEvents,
  names,
  outcome,
  reasonOf,
  reasons,
  stateNow,
  telling,
  texts,
  told,
  withAssistant,
  write
} from "./lifecycle.ts"

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
