import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Schema, type Tracer } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentEvent, AgentState, Handoff, Mode, ModeTransition, Session, Trace } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { attributesOf, recorded, tree } from "../agent/spans.ts"
import { ofTag, watch } from "../agent/watch.ts"
import { stackOf } from "./sent.ts"

type Event = AgentEvent.AgentEvent

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))

/** The events of modes, each as its tag, its mode and its stack. */
const lines = (events: ReadonlyArray<Event>): ReadonlyArray<string> =>
  events.flatMap((event) =>
    event._tag === "ModeTransitionRequested"
      ? [`${event._tag} ${event.transition._tag}`]
      : event._tag === "ModeFailed"
      ? [`${event._tag} ${event.name} ${event.phase} ${event.tag} [${event.stack}]`]
      : "name" in event && "stack" in event
      ? [`${event._tag} ${event.name} [${event.stack}]`]
      : []
  )

/** What is wrong with the starts and ends of modes, each inside the one before it that is open. */
const imbalances = (events: ReadonlyArray<Event>): ReadonlyArray<string> => {
  const open: Array<string> = []
  const found: Array<string> = []
  for (const event of events) {
    if (event._tag === "ModeEntering" || event._tag === "ModeExiting") {
      open.push(`${event._tag} ${event.path} ${event.name}`)
    }
    const start = event._tag === "ModeEntered" || (event._tag === "ModeFailed" && event.phase === "SetUp")
      ? "ModeEntering"
      : event._tag === "ModeExited"
      ? "ModeExiting"
      : undefined
    if (start === undefined) continue
    const { name, path } = event as AgentEvent.ModeEntered
    const started = open.pop()
    if (started !== `${start} ${path} ${name}`) found.push(`${event._tag} ${name} ends ${started ?? "nothing"}`)
  }
  return [...found, ...open.map((start) => `${start} has no end`)]
}

const causeOf = (exit: Exit.Exit<unknown, unknown>) => Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined

/** Does something with a session, and sees to it that its events are balanced and make up its state. */
const followed = <A, E, R, Output, F>(session: Session.Session<Output, F>, self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = yield* session.state
    const { events, exit } = yield* watch(self)
    assert.deepStrictEqual(imbalances(events), [])
    assert.deepStrictEqual(events.reduce(AgentState.reduce, before), yield* session.state)
    return { events, exit, lines: lines(events) }
  })

const m = Mode.make("m", {
  params: Schema.Struct({ topic: Schema.String }),
  enter: () => Effect.sleep("2 seconds"),
  exit: () => Effect.sleep("3 seconds")
})
const inner = Mode.make("inner", { enter: () => Effect.void })
const plain = Mode.make("plain", { enter: () => Effect.void })

describe("The events of a mode", () => {
  it.effect("name it, its stack and its parameters, and say how long it took by the clock", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [m, plain] }))
      yield* session.enterMode("plain")
      const fiber = yield* Effect.forkChild(followed(
        session,
        Mode.within(Effect.sleep("10 seconds"), m, { topic: "gold" }).pipe(Effect.provideService(Mode.Host, session))
      ))
      yield* TestClock.adjust("15 seconds")
      const { events } = yield* Fiber.join(fiber)
      const params = { topic: "gold" }
      assert.deepStrictEqual(
        events.map((event) =>
          Object.fromEntries(
            Object.entries(event).filter(([key]) => !["calls", "path", "run", "sequence", "step"].includes(key))
          )
        ),
        [
          { _tag: "ModeEntering", name: "m", params, isolation: "none", stack: ["plain", "m"], at: 0 },
          { _tag: "ModeEntered", name: "m", params, stack: ["plain", "m"], duration: 2_000, at: 2_000 },
          { _tag: "ModeExiting", name: "m", params, stack: ["plain", "m"], at: 12_000 },
          { _tag: "ModeExited", name: "m", params, stack: ["plain"], duration: 15_000, at: 15_000 }
        ]
      )
      for (const event of events) assert.deepStrictEqual(event.path, ["a"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("come in the order of the stack, and back", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a"))
      const { lines } = yield* followed(
        session,
        Mode.within(Mode.within(Effect.void, inner), plain).pipe(Effect.provideService(Mode.Host, session))
      )
      assert.deepStrictEqual(lines, [
        "ModeEntering plain [plain]",
        "ModeEntered plain [plain]",
        "ModeEntering inner [plain,inner]",
        "ModeEntered inner [plain,inner]",
        "ModeExiting inner [plain,inner]",
        "ModeExited inner [plain]",
        "ModeExiting plain [plain]",
        "ModeExited plain []"
      ])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a set-up that fails, and nothing of an exit", () =>
    Effect.gen(function*() {
      const broken = Mode.make("broken", { enter: () => Effect.fail(new Error("no key")) })
      const session = yield* Session.make(Agent.make("a", { modes: [broken, plain] }))
      yield* session.enterMode("plain")
      const { events, lines } = yield* followed(session, session.enterMode("broken"))
      assert.deepStrictEqual(lines, [
        "ModeEntering broken [plain,broken]",
        "ModeFailed broken SetUp Failure [plain,broken]"
      ])
      assert.strictEqual(ofTag(events, "ModeFailed")[0]?.message, "no key")
      assert.deepStrictEqual(stackOf(yield* session.state), ["plain"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a set-up that is interrupted, or dies", () =>
    Effect.gen(function*() {
      const stuck = Mode.make("stuck", { enter: () => Effect.never })
      const dying = Mode.make("dying", { enter: () => Effect.die("boom") })
      const session = yield* Session.make(Agent.make("a", { modes: [stuck, dying] }))
      const interrupted = yield* followed(
        session,
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(session.enterMode("stuck"))
          yield* Effect.repeat(Effect.yieldNow, { times: 50 })
          assert.deepStrictEqual(stackOf(yield* session.state), ["stuck"])
          yield* Fiber.interrupt(fiber)
        })
      )
      assert.deepStrictEqual(interrupted.lines, [
        "ModeEntering stuck [stuck]",
        "ModeFailed stuck SetUp Interrupted [stuck]"
      ])
      const died = yield* followed(session, session.enterMode("dying"))
      assert.deepStrictEqual(died.lines, ["ModeEntering dying [dying]", "ModeFailed dying SetUp Defect [dying]"])
      assert.deepStrictEqual(stackOf(yield* session.state), [])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a body that fails before the exit, of every mode around it", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a"))
      const { lines } = yield* followed(
        session,
        Mode.within(Mode.within(Effect.fail(new Error("body")), inner), plain).pipe(
          Effect.provideService(Mode.Host, session)
        )
      )
      assert.deepStrictEqual(lines.slice(4), [
        "ModeFailed inner Body Failure [plain,inner]",
        "ModeExiting inner [plain,inner]",
        "ModeExited inner [plain]",
        "ModeFailed plain Body Failure [plain]",
        "ModeExiting plain [plain]",
        "ModeExited plain []"
      ])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a body that is interrupted", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a"))
      const { lines } = yield* followed(
        session,
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(
            Mode.within(Effect.never, plain).pipe(Effect.provideService(Mode.Host, session))
          )
          yield* Effect.repeat(Effect.yieldNow, { times: 50 })
          yield* Fiber.interrupt(fiber)
        })
      )
      assert.deepStrictEqual(lines.slice(2), [
        "ModeFailed plain Body Interrupted [plain]",
        "ModeExiting plain [plain]",
        "ModeExited plain []"
      ])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a clean-up that fails between its exit's start and end, once for all that fails in it", () =>
    Effect.gen(function*() {
      const broken = Mode.make("broken", {
        enter: () => Effect.addFinalizer(() => Effect.die("finalizer")),
        exit: () => Effect.fail(new Error("clean-up"))
      })
      const session = yield* Session.make(Agent.make("a"))
      const { exit, lines } = yield* followed(
        session,
        Mode.within(Effect.void, broken).pipe(Effect.provideService(Mode.Host, session))
      )
      assert.deepStrictEqual(lines.slice(2), [
        "ModeExiting broken [broken]",
        "ModeFailed broken CleanUp Failure [broken]",
        "ModeExited broken []"
      ])
      assert.strictEqual(Exit.isFailure(exit) ? exit.cause.reasons.length : 0, 2)
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a recovery as an exit like any other, and one that fails as a clean-up's failure", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a"))
      const within = <R>(recover: () => Effect.Effect<number, string, R>) =>
        followed(
          session,
          Mode.within(Effect.fail("body"), Mode.make("m", { enter: () => Effect.void, recover })).pipe(
            Effect.provideService(Mode.Host, session)
          )
        )
      const recovered = yield* within(() => Effect.succeed(1))
      assert.deepStrictEqual(recovered.exit, Exit.succeed(1))
      assert.deepStrictEqual(recovered.lines.slice(2), [
        "ModeFailed m Body Failure [m]",
        "ModeExiting m [m]",
        "ModeExited m []"
      ])
      const failed = yield* within(() => Effect.fail("recovery"))
      assert.deepStrictEqual(
        Exit.isFailure(failed.exit) ? Cause.prettyErrors(failed.exit.cause).map(({ message }) => message) : [],
        ["body", "recovery"]
      )
      assert.deepStrictEqual(failed.lines.slice(2), [
        "ModeFailed m Body Failure [m]",
        "ModeExiting m [m]",
        "ModeFailed m CleanUp Failure [m]",
        "ModeExited m []"
      ])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a mode that is kept as an exit that it stayed from", () =>
    Effect.gen(function*() {
      const staying = Mode.make("m", { enter: () => Effect.void, exit: () => Effect.succeed(ModeTransition.stay) })
      const session = yield* Session.make(Agent.make("a", { modes: [staying] }))
      yield* session.enterMode("m")
      const { events, lines } = yield* followed(session, session.exitMode())
      assert.deepStrictEqual(lines, ["ModeExiting m [m]", "ModeTransitionRequested Stay", "ModeExited m [m]"])
      assert.isTrue(ofTag(events, "ModeExited")[0]?.isKept)
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a mode of a single shot as entered and left", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [Mode.singleShot("once", Effect.void)] }))
      const { lines } = yield* followed(session, session.enterMode("once"))
      assert.deepStrictEqual(lines, [
        "ModeEntering once [once]",
        "ModeEntered once [once]",
        "ModeExiting once [once]",
        "ModeExited once []"
      ])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell a move where it is asked for, and again where it is taken", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [plain, inner] }))
      yield* session.enterMode("plain")
      const asked = yield* followed(session, session.schedule(ModeTransition.switch("inner")))
      assert.deepStrictEqual(asked.lines, ["ModeTransitionRequested Switch"])
      const taken = yield* followed(session, session.call("Hello"))
      assert.deepStrictEqual(taken.lines, [
        "ModeExiting plain [plain]",
        "ModeExited plain []",
        "ModeEntering inner [inner]",
        "ModeEntered inner [inner]"
      ])
      const tags = taken.events.map(({ _tag }) => _tag)
      assert.isBelow(tags.indexOf("ModeEntered"), tags.indexOf("RunStarted"))
      assert.isBelow(tags.indexOf("RunStarted"), tags.indexOf("ModelCallStarted"))
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell that nothing was possible by nothing at all", () =>
    Effect.gen(function*() {
      const fork = Mode.make("fork", { isolation: "fork", enter: () => Effect.void })
      const session = yield* Session.make(Agent.make("a", { modes: [plain, fork, m] }))
      yield* session.enterMode("fork")
      for (
        const impossible of [
          session.enterMode("plain"),
          session.enterMode("nowhere"),
          session.enterMode("m", { topic: 1 }),
          session.exitMode("plain"),
          session.schedule(ModeTransition.push("plain"))
        ]
      ) {
        const { events, exit } = yield* followed(session, impossible)
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual(events, [])
      }
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("of all modes end when a session does", () =>
    Effect.gen(function*() {
      const { events } = yield* watch(Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(Agent.make("a", { modes: [plain, inner] }))
        yield* session.enterMode("plain")
        yield* session.enterMode("inner")
      })))
      assert.deepStrictEqual(imbalances(events), [])
      assert.deepStrictEqual(lines(events).slice(4), [
        "ModeExiting inner [plain,inner]",
        "ModeExited inner [plain]",
        "ModeExiting plain [plain]",
        "ModeExited plain []"
      ])
    }).pipe(Effect.provide(echo)))

  it.effect("tell modes that are entered in a set-up inside of it, and undone with it", () =>
    Effect.gen(function*() {
      const nesting = Mode.make("nesting", {
        enter: () => Effect.andThen(Mode.enter(inner), Effect.fail("too late")).pipe(Effect.orDie)
      })
      const session = yield* Session.make(Agent.make("a"))
      const { lines } = yield* followed(
        session,
        Mode.within(Effect.void, nesting).pipe(Effect.provideService(Mode.Host, session))
      )
      assert.deepStrictEqual(lines.map((line) => line.replace(/ \[.*/, "")), [
        "ModeEntering nesting",
        "ModeEntering inner",
        "ModeEntered inner",
        "ModeFailed inner Body Defect",
        "ModeExiting inner",
        "ModeExited inner",
        "ModeFailed nesting SetUp Defect"
      ])
      assert.deepStrictEqual(stackOf(yield* session.state), [])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("are undone with a set-up that entered another mode by name before it failed", () =>
    Effect.gen(function*() {
      const held: { session?: Session.Session<string, unknown> } = {}
      const nesting = Mode.make("nesting", {
        enter: () => Effect.andThen(Effect.suspend(() => held.session!.enterMode("inner")), Effect.fail("too late"))
      })
      const session = yield* Session.make(Agent.make("a", { modes: [nesting, inner] }))
      held.session = session
      const { exit } = yield* followed(session, session.enterMode("nesting"))
      assert.strictEqual(causeOf(exit), "too late")
      assert.deepStrictEqual(stackOf(yield* session.state), [])
      yield* session.enterMode("inner")
      assert.deepStrictEqual(stackOf(yield* session.exitMode()), [])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("tell that what a clean-up or a finalizer enters is left before the mode is", () =>
    Effect.gen(function*() {
      const held: { session?: Session.Session<string, unknown> } = {}
      const enterInner = Effect.suspend(() => Effect.orDie(held.session!.enterMode("inner")))
      const nesting = Mode.make("nesting", {
        enter: () => Effect.addFinalizer(() => enterInner),
        exit: () => Effect.asVoid(enterInner)
      })
      const session = yield* Session.make(Agent.make("a", { modes: [nesting, inner, plain] }))
      held.session = session
      yield* session.enterMode("plain")
      yield* session.enterMode("nesting")
      const { lines } = yield* followed(session, session.exitMode())
      const nested = [
        "ModeEntering inner [plain,nesting,inner]",
        "ModeEntered inner [plain,nesting,inner]",
        "ModeExiting inner [plain,nesting,inner]",
        "ModeExited inner [plain,nesting]"
      ]
      assert.deepStrictEqual(lines, [
        "ModeExiting nesting [plain,nesting]",
        ...nested,
        ...nested,
        "ModeExited nesting [plain]"
      ])
      assert.deepStrictEqual(stackOf(yield* session.state), ["plain"])
    }).pipe(Effect.scoped, Effect.provide(echo)))
})

const Go = Toolkit.make(Tool.make("go", { parameters: Schema.Struct({ to: Schema.String }) }))
const going = Go.toLayer({ go: ({ to }) => Effect.orDie(Mode.schedule(ModeTransition.push(to))) })

describe("In a run, the events of modes", () => {
  it.effect("are balanced where the run stops, and the mode stays entered", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { toolkit: Go, modes: [plain] })
      const { events, exit } = yield* watch(Agent.run(agent, "Hello"))
      assert.deepStrictEqual(stackOf(yield* exit), ["plain"])
      assert.deepStrictEqual(lines(events), [
        "ModeTransitionRequested Push",
        "ModeEntering plain [plain]",
        "ModeEntered plain [plain]"
      ])
      assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make("a")), yield* exit)
    }).pipe(
      Effect.provide(going),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("go", { to: "plain" }), "Done.")))
    ))

  it.effect("are balanced where a set-up fails the run", () =>
    Effect.gen(function*() {
      const broken = Mode.make("broken", { enter: () => Effect.fail("no") })
      const agent = Agent.make("a", { toolkit: Go, modes: [broken] })
      const { events, exit } = yield* watch(Agent.run(agent, "Hello"))
      assert.strictEqual(causeOf(exit), "no")
      assert.deepStrictEqual(lines(events).slice(1), [
        "ModeEntering broken [broken]",
        "ModeFailed broken SetUp Failure [broken]"
      ])
      assert.deepStrictEqual(events.at(-1)?._tag, "RunFailed")
    }).pipe(
      Effect.provide(going),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("go", { to: "broken" }), "Done.")))
    ))

  it.effect("are balanced where the run is interrupted in a set-up, or in a clean-up", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const slow = Mode.make("slow", {
        enter: () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never),
        exit: () => Deferred.await(go)
      })
      const agent = Agent.make("a", { toolkit: Go, modes: [slow] })
      const { events } = yield* watch(Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Agent.run(agent, "Hello"))
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(fiber)
      }))
      assert.deepStrictEqual(imbalances(events), [])
      assert.deepStrictEqual(lines(events).at(-1), "ModeFailed slow SetUp Interrupted [slow]")
      assert.deepStrictEqual(events.at(-1)?._tag, "RunInterrupted")
    }).pipe(
      Effect.provide(going),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("go", { to: "slow" }), "Done.")))
    ))

  it.effect("come before the handoff that leaves the modes, and end the modes of an agent that was called", () =>
    Effect.gen(function*() {
      const b = Agent.make("b", { modes: [plain] })
      const a = Agent.make("a", { toolkit: Go, modes: [plain], handoffs: [Handoff.to(b)] })
      const helper = Agent.make("helper", { toolkit: Go, modes: [plain] })
      const top = Agent.make("top", { agents: [Agent.asTool(helper), Agent.asTool(a)] })
      const { events, exit } = yield* watch(Agent.run(top, "Hello"))
      assert.strictEqual(AgentState.text(yield* exit), "Done.")
      assert.deepStrictEqual(imbalances(events), [])
      const told = events.flatMap((event) =>
        event._tag === "HandoffCompleted" || event._tag === "ModeEntered" || event._tag === "ModeExited"
          ? [`${event._tag} ${event.path.join("/")}`]
          : []
      )
      assert.deepStrictEqual(told, [
        "ModeEntered top/helper",
        "ModeExited top/helper",
        "ModeEntered top/a",
        "ModeExited top/a",
        "HandoffCompleted top/a"
      ])
    }).pipe(
      Effect.provide(going),
      Effect.provide(MockModel.layer(MockModel.byAgent({
        top: MockModel.queue(
          MockResponse.toolCall("helper", { task: "Help" }),
          MockResponse.toolCall("a", { task: "Help" }),
          "Done."
        ),
        helper: MockModel.queue(MockResponse.toolCall("go", { to: "plain" }), "Helped."),
        a: MockModel.queue(MockResponse.toolCall("go", { to: "plain" }), MockResponse.toolCall("handoff_to_b", {})),
        b: MockModel.queue("From b.")
      })))
    ))

  it.effect("survive JSON", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [m, plain] }))
      const fiber = yield* Effect.forkChild(followed(
        session,
        Effect.gen(function*() {
          yield* session.schedule(ModeTransition.push("m", { topic: "gold" }))
          yield* session.call("Hello")
          yield* session.exitMode()
        })
      ))
      yield* TestClock.adjust("5 seconds")
      const { events } = yield* Fiber.join(fiber)
      const Events = Schema.Array(AgentEvent.AgentEvent)
      const stored = JSON.parse(JSON.stringify(Schema.encodeSync(Events)(events)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Events)(stored), events)
    }).pipe(Effect.scoped, Effect.provide(echo)))
})

describe("The spans of modes", () => {
  it.effect("stand around set-up and clean-up, within the run or the caller's own", () =>
    Effect.gen(function*() {
      const traced = Mode.make("traced", {
        invokable: true,
        enter: () => Effect.withSpan(Effect.void, "setting up"),
        exit: () => Effect.withSpan(Effect.void, "cleaning up")
      })
      const session = yield* Session.make(Agent.make("a", { modes: [traced] }))
      const { spans } = yield* recorded(Effect.andThen(
        session.call("Hello"),
        Effect.withSpan(session.exitMode(), "caller")
      ))
      assert.deepStrictEqual(tree(spans), [
        ["invoke_agent a", undefined],
        ["chat", "invoke_agent a"],
        ["enter_mode traced", "invoke_agent a"],
        ["setting up", "enter_mode traced"],
        ["chat", "invoke_agent a"],
        ["caller", undefined],
        ["exit_mode traced", "caller"],
        ["cleaning up", "exit_mode traced"]
      ])
      assert.deepStrictEqual(attributesOf(spans[2]), {
        "gen_ai.operation.name": "enter_mode",
        "gen_ai.agent.name": "a",
        "troupe.mode.name": "traced"
      })
      assert.isTrue(spans.every((span) => span.status._tag === "Ended"))
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("enter_traced_mode", {}), "Done.")))
    ))

  it.effect("end with what ended them", () =>
    Effect.gen(function*() {
      const broken = Mode.make("broken", { enter: () => Effect.fail("no") })
      const session = yield* Session.make(Agent.make("a", { modes: [broken] }))
      const { spans } = yield* recorded(session.enterMode("broken"))
      assert.deepStrictEqual(
        spans.map(({ name, status }) => [name, status._tag === "Ended" && Exit.isFailure(status.exit)]),
        [["enter_mode broken", true]]
      )
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("of an exit end with what failed in the clean-up, and with nothing else", () =>
    Effect.gen(function*() {
      const mode = (name: string, exit: Effect.Effect<void, string>) =>
        Mode.make(name, { enter: () => Effect.addFinalizer(() => Effect.die("boom")), exit: () => exit })
      const fine = Mode.make("fine", { enter: () => Effect.void })
      const session = yield* Session.make(Agent.make("a"))
      const failing = mode("failing", Effect.fail("no"))
      const dying = mode("dying", Effect.void)
      const { spans } = yield* recorded(
        Mode.within(Mode.within(Mode.within(Effect.fail("body"), failing), dying), fine).pipe(
          Effect.provideService(Mode.Host, session),
          Effect.provideService(Agent.RecordContent, true)
        )
      )
      const endOf = (span: Tracer.Span) =>
        span.status._tag === "Ended" && Exit.isFailure(span.status.exit)
          ? Cause.prettyErrors(span.status.exit.cause).map(({ message }) => message)
          : []
      assert.deepStrictEqual(
        spans.filter(({ name }) => name.startsWith("exit_mode")).map((span) => [span.name, endOf(span)]),
        [["exit_mode failing", ["no"]], ["exit_mode dying", ["boom"]], ["exit_mode fine", []]]
      )
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("show what a set-up asks the model, inside of it", () =>
    Effect.gen(function*() {
      const talking = Mode.make("talking", { enter: () => Mode.call("Ready?") })
      const session = yield* Session.make(Agent.make("a", { modes: [talking] }))
      const { spans } = yield* recorded(session.enterMode("talking"))
      assert.deepStrictEqual(tree(spans), [
        ["enter_mode talking", undefined],
        ["invoke_agent a", "enter_mode talking"],
        ["chat", "invoke_agent a"]
      ])
    }).pipe(Effect.scoped, Effect.provide(echo)))
})

describe("A trace", () => {
  const traced = Effect.gen(function*() {
    const mode = Mode.make("research", {
      invokable: true,
      params: Schema.Struct({ topic: Schema.String }),
      isolation: "thread",
      enter: ({ topic }) => Effect.andThen(Mode.set("found", topic), Mode.call("Ready?")),
      exit: () => Effect.fail(new Error("no net"))
    })
    const session = yield* Session.make(Agent.make("a", { modes: [mode] }))
    const { events } = yield* watch(
      Effect.andThen(session.call("Hello"), Effect.exit(session.exitMode()))
    )
    return events
  }).pipe(
    Effect.scoped,
    Effect.provide(MockModel.layer(
      MockModel.queue(MockResponse.toolCall("enter_research_mode", { topic: "gold" }), "Ready.", "Done.")
    ))
  )

  it.effect("in Markdown shows modes that are asked for, entered, left and failing", () =>
    Effect.gen(function*() {
      const text = Trace.toMarkdown(yield* traced)
      for (
        const line of [
          "`a` asks for mode `research` on top",
          "enters mode `research` of isolation thread with `{\"topic\":\"gold\"}`",
          "\"found\"",
          "Ready?",
          "is in mode `research`",
          "leaves mode `research`",
          "mode `research` failed in its clean-up: `Failure`",
          "left mode `research` after 0 ms"
        ]
      ) assert.include(text, line)
    }))

  it.effect("in Mermaid shows modes as notes of their agent", () =>
    Effect.gen(function*() {
      const text = Trace.toMermaid(yield* traced).replaceAll("#58;", ":")
      const notes = text.split("\n").map((line) => line.trim()).filter((line) => /^note/i.test(line))
      assert.deepStrictEqual(notes.map((line) => line.replace(/^.*?: /, "")), [
        "mode research says: Ready?",
        "is in mode research",
        "mode research failed in its clean-up: Failure",
        "left mode research after 0 ms"
      ])
    }))
})
