/** How modes end with a session that closes, a store that can't save, and an interruption. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Agent, type AgentEvent, AgentState, Mode, ModeTransition, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { callsIn, problems } from "../domain/legal.ts"
import { interruptAt } from "../handoff/interrupter.ts"
import { times } from "../matrix.ts"
import {
  assistant,
  broken,
  echo,
  held,
  left,
  type Log,
  modeEvents,
  names,
  outcome,
  reasonOf,
  settleDown,
  stateNow,
  telling,
  texts,
  told,
  withAssistant,
  write
} from "./lifecycle.ts"

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
          for (let at = 1;; at += times(1, 3)) {
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
      for (let at = 1;; at += times(1, 3)) {
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
