/**
 * Modes in a session that has no store and no observers, and nothing else under way.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import { Agent, AgentState, Conversation, Mode, Session, SystemPrompt } from "troupe"
import { MockModel } from "troupe/testing"
import { recorded, tree } from "../agent/spans.ts"

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))
const assistant = Agent.make("assistant")
const withAssistant = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.provide(self, Layer.provideMerge(Session.layer(assistant), echo))

const here = Session.Session
const names = (state: AgentState.AgentState) => state.modes.map(({ name }) => name)
const reasonOf = <A>(exit: Exit.Exit<A, unknown>): string | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return Mode.isModeError(error) || Session.isSessionError(error) ? error.reason._tag : undefined
}

/** Adds a finalizer that runs with the services of whoever closes the scope, and not with those of this place. */
const finalize = (self: Effect.Effect<unknown>) =>
  Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, self))

describe("A mode of a session that nobody looks at", () => {
  it.effect("ends with its session, also in the middle of its set-up", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const session = yield* Scope.provide(Session.make(assistant), scope)
      const log: Array<string> = []
      const begun = yield* Deferred.make<void>()
      const mode = Mode.make("endless", {
        enter: () =>
          Effect.gen(function*() {
            yield* Effect.addFinalizer(() => Effect.sync(() => log.push("undone")))
            yield* Deferred.succeed(begun, undefined)
            return yield* Effect.never
          })
      })
      const entering = yield* Effect.forkChild(
        Effect.provideService(Effect.exit(Mode.within(Effect.void, mode)), Mode.Host, session)
      )
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, ["undone"])
      assert.strictEqual(reasonOf(yield* Fiber.join(entering)), "Unavailable")
      assert.deepStrictEqual(names(yield* session.state), [])
    }).pipe(Effect.provide(echo)))

  it.effect("isn't entered in a session that is closed", () =>
    Effect.gen(function*() {
      const session = yield* Effect.scoped(Session.make(assistant))
      let isEntered = false
      const mode = Mode.make("late", { enter: () => Effect.sync(() => isEntered = true) })
      const exit = yield* Effect.exit(Effect.provideService(Mode.within(Effect.void, mode), Mode.Host, session))
      assert.strictEqual(reasonOf(exit), "Unavailable")
      assert.isFalse(isEntered)
    }).pipe(Effect.provide(echo)))

  it.effect("knows the operations of other sessions around it: what would wait for its own end fails", () =>
    Effect.gen(function*() {
      const inner = yield* Session.make(assistant)
      const outer = yield* here
      const asks = Mode.make("asks", { enter: () => outer.fork })
      const enters = Mode.make("enters", {
        enter: () => Effect.provideService(Mode.within(Effect.void, asks), Mode.Host, inner)
      })
      assert.strictEqual(reasonOf(yield* Effect.exit(Mode.within(Effect.void, enters))), "ReentrantOperation")
    }).pipe(Effect.scoped, withAssistant))

  it.effect("lets what a set-up leaves behind mean the session, once it is entered", () =>
    Effect.gen(function*() {
      const session = yield* here
      const isFree = yield* Deferred.make<void>()
      const later: { fiber?: Fiber.Fiber<AgentState.AgentState, Mode.CallError> } = {}
      const mode = Mode.make("outlived", {
        enter: () =>
          Effect.gen(function*() {
            later.fiber = yield* Effect.forkDetach(
              Effect.andThen(Deferred.await(isFree), Effect.tap(Mode.call("Hi"), () => Mode.set("key", 1)))
            )
          })
      })
      const { conversation, modes } = yield* Mode.within(
        Effect.gen(function*() {
          yield* Deferred.succeed(isFree, undefined)
          yield* Fiber.join(later.fiber!)
          return yield* session.state
        }),
        mode
      )
      assert.deepStrictEqual(modes.map(({ values }) => values), [{ key: 1 }])
      assert.deepStrictEqual(conversation.turns.map(Conversation.textOf), ["Hi", "Re: Hi"])
    }).pipe(withAssistant))

  it.effect("lets what an undone set-up leaves behind ask the session again, later", () =>
    Effect.gen(function*() {
      const session = yield* here
      const isFree = yield* Deferred.make<void>()
      const later: { fiber?: Fiber.Fiber<AgentState.AgentState, unknown> } = {}
      const mode = Mode.make("undone", {
        enter: () =>
          Effect.andThen(
            finalize(Effect.map(
              Effect.forkDetach(Effect.andThen(Deferred.await(isFree), session.call("Later"))),
              (fiber) => {
                later.fiber = fiber
              }
            )),
            Effect.fail("no")
          )
      })
      assert.strictEqual(yield* Effect.flip(Mode.within(Effect.void, mode)), "no")
      yield* Deferred.succeed(isFree, undefined)
      assert.strictEqual(AgentState.text(yield* Fiber.join(later.fiber!)), "Re: Later")
    }).pipe(withAssistant))

  it.effect("keeps what undoes its set-up from waiting for its own end", () =>
    Effect.gen(function*() {
      const session = yield* here
      const asked: Array<string | undefined> = []
      const mode = Mode.make("undone", {
        enter: () =>
          Effect.andThen(
            finalize(Effect.map(Effect.exit(Effect.scoped(session.fork)), (exit) => asked.push(reasonOf(exit)))),
            Effect.fail("no")
          )
      })
      yield* Effect.flip(Mode.within(Effect.void, mode))
      assert.deepStrictEqual(asked, ["ReentrantOperation"])
    }).pipe(withAssistant))

  it.effect("has its set-up in a span, and what undoes it outside of that", () =>
    Effect.gen(function*() {
      const mode = Mode.make("undone", {
        enter: () =>
          Effect.gen(function*() {
            yield* Effect.addFinalizer(() => Effect.withSpan(Effect.void, "with the set-up's services"))
            yield* finalize(Effect.withSpan(Effect.void, "undoing"))
            yield* Effect.withSpan(Effect.void, "setting up")
            return yield* Effect.fail("no")
          })
      })
      const { spans } = yield* recorded(Mode.within(Effect.void, mode).pipe(Effect.withSpan("around")))
      assert.deepStrictEqual(tree(spans), [
        ["around", undefined],
        ["enter_mode undone", "around"],
        ["setting up", "enter_mode undone"],
        ["undoing", "around"],
        ["with the set-up's services", "enter_mode undone"]
      ])
    }).pipe(withAssistant))

  it.effect("is in the span around it, also where another was around the one before", () =>
    Effect.gen(function*() {
      const mode = Mode.make("mode", { enter: () => Effect.void })
      const once = Mode.within(Effect.void, mode)
      const { spans } = yield* recorded(
        Effect.andThen(Effect.andThen(once, Effect.withSpan(once, "first")), Effect.withSpan(once, "second"))
      )
      assert.deepStrictEqual(tree(spans), [
        ["enter_mode mode", undefined],
        ["exit_mode mode", undefined],
        ["first", undefined],
        ["enter_mode mode", "first"],
        ["exit_mode mode", "first"],
        ["second", undefined],
        ["enter_mode mode", "second"],
        ["exit_mode mode", "second"]
      ])
    }).pipe(withAssistant))

  it.effect("is set up by one thing that is done with the conversation, in a span that ends", () =>
    Effect.gen(function*() {
      const session = yield* here
      const mode = Mode.make("mode", { enter: () => SystemPrompt.append("Be brief.") })
      const { exit, spans } = yield* recorded(Mode.within(session.state, mode))
      assert.deepStrictEqual(
        Exit.map(exit, ({ modes, prompt }) => [modes.length, prompt.map(({ text }) => text)]),
        Exit.succeed([1, ["Be brief."]])
      )
      assert.deepStrictEqual(spans.map(({ name, status }) => [name, status._tag]), [
        ["enter_mode mode", "Ended"],
        ["exit_mode mode", "Ended"]
      ])
      assert.strictEqual(AgentState.text(yield* session.call("Hi")), "Re: Hi")
    }).pipe(withAssistant))

  it.effect("talks to the agent where that is all of its set-up", () =>
    Effect.gen(function*() {
      const session = yield* here
      yield* Mode.within(Effect.void, Mode.make("mode", { enter: () => Mode.call("Hi") }))
      assert.deepStrictEqual((yield* session.state).conversation.turns.map(Conversation.textOf), ["Hi", "Re: Hi"])
    }).pipe(withAssistant))

  it.effect("is undone where that fails, or there is nothing to run", () =>
    Effect.gen(function*() {
      const session = yield* here
      const wrong = Mode.make("wrong", { enter: () => Mode.configure({ tools: ["nobody"] }) })
      assert.strictEqual(reasonOf(yield* Effect.exit(Mode.within(Effect.void, wrong))), "UnknownSetting")
      const broken = Mode.make("broken", {
        enter: (): Effect.Effect<void> => {
          throw new Error("boom")
        }
      })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(Mode.within(Effect.void, broken))))
      assert.deepStrictEqual(names(yield* session.state), [])
      assert.strictEqual(AgentState.text(yield* session.call("Hi")), "Re: Hi")
    }).pipe(withAssistant))

  it.effect("is left at once where it is only set up, and leaves behind what persists", () =>
    Effect.gen(function*() {
      const session = yield* here
      yield* Mode.within(Effect.void, Mode.singleShot("once", SystemPrompt.append("Be brief.", { persist: true })))
      const { modes, prompt } = yield* session.state
      assert.deepStrictEqual([modes, prompt.map(({ text }) => text)], [[], ["Be brief."]])
      assert.strictEqual(AgentState.text(yield* session.call("Hi")), "Re: Hi")
    }).pipe(withAssistant))

  it.effect("waits for who looks on before its set-up runs", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const mode = Mode.make("mode", { enter: () => Effect.sync(() => log.push("set-up")) })
      yield* Agent.observe(
        Mode.within(Effect.void, mode),
        (event) => Effect.sync(() => void log.push(event._tag))
      )
      assert.deepStrictEqual(log, ["ModeEntering", "set-up", "ModeEntered", "ModeExiting", "ModeExited"])
    }).pipe(withAssistant))

  it.effect("comes after the modes that are still to be set up again, and not where these can't be", () => {
    let isDown = false
    const log: Array<string> = []
    const outer = Mode.make("outer", {
      enter: () => Effect.suspend(() => isDown ? Effect.die("down") : Effect.sync(() => log.push("outer")))
    })
    const inner = Mode.make("inner", { enter: () => Effect.sync(() => log.push("inner")) })
    const agent = Agent.make("assistant", { modes: [outer] })
    return Effect.gen(function*() {
      const state = yield* Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.enterMode("outer")))
      isDown = true
      log.length = 0
      const session = yield* Session.make(agent, { state })
      const entering = Effect.provideService(Mode.within(session.state, inner), Mode.Host, session)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(entering)))
      assert.deepStrictEqual(log, [])
      isDown = false
      assert.deepStrictEqual(names(yield* entering), ["outer", "inner"])
      assert.deepStrictEqual(log, ["outer", "inner"])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })
})

describe("A mode that was set up again", () => {
  it.effect("takes a piece of the prompt like one of its set-up's as another one", () => {
    const mode = Mode.make("mode", { enter: () => SystemPrompt.append("Be brief.") })
    const agent = Agent.make("assistant", { modes: [mode] })
    return Effect.gen(function*() {
      const state = yield* Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.enterMode("mode")))
      const session = yield* Session.make(agent, { state })
      yield* Effect.provideService(SystemPrompt.append("Be brief."), Mode.Host, session)
      assert.deepStrictEqual((yield* session.state).prompt.map(({ text }) => text), ["Be brief.", "Be brief."])
    }).pipe(Effect.scoped, Effect.provide(echo))
  })
})
