/**
 * What users' callbacks may ask for: whatever it is, it works or fails with a type, and everything ends.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect, type Exit, Fiber, Layer, Schema } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentEvent, AgentState, Mode, ModeTransition, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { some } from "../matrix.ts"
import {
  Attempts,
  grounds,
  ofConversation,
  ofSession,
  type Operation,
  type Played,
  program,
  warmUp
} from "./callbacks.ts"

type Ground = typeof grounds[number]

beforeAll(warmUp)

/** How many turns of the scheduler everything may take: each program that ends takes far fewer. */
const turns = 20_000

/** Plays a program until it and all that it left has ended, or for so many turns of the scheduler. */
const play = (ground: Ground, attempts: Attempts) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(program(ground, attempts))
    const isUnderWay = () => [fiber, ...attempts.fibers].some((fiber) => fiber.pollUnsafe() === undefined)
    for (let turn = 0; turn < turns && isUnderWay(); turn++) yield* Effect.yieldNow
    const exit = fiber.pollUnsafe()
    const played: Played = exit?._tag === "Success" ? exit.value : { events: [], states: [] }
    const end = exit === undefined
      ? ["the program has no end"]
      : exit._tag === "Failure"
      ? [`the program: ${String(exit)}`]
      : isUnderWay()
      ? ["what it left has no end"]
      : []
    // What goes on would go on beside the next one.
    fiber.interruptUnsafe()
    for (const fiber of attempts.fibers) fiber.interruptUnsafe()
    return { played, failures: [...attempts.failures, ...end] }
  })

/** Says where a state isn't the fold of the events before it. */
const unfolded = ({ events, states }: Played): ReadonlyArray<string> => {
  const fold = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
    events.reduce(AgentState.reduce, AgentState.make("desk"))
  const ended = [...new Set(events.map(({ run }) => run))].map((run) => {
    const own = events.filter((event) => event.run === run)
    const last = own[own.length - 1]
    return { state: last !== undefined && AgentEvent.isRunEnd(last) ? last.state : undefined, before: own }
  })
  const given = states.map(([state, count]) => ({ state, before: events.slice(0, count) }))
  return (states.length > 0 ? given : ended).flatMap(({ before, state }) =>
    JSON.stringify(state) === JSON.stringify(fold(before)) ? [] : [`${before.length} events`]
  )
}

const named = (operations: Readonly<Record<string, Operation>>) => Object.entries(operations)

const observersOf = ({ events }: Played) => [...new Set(events.map(({ _tag }) => `observer of ${_tag}`))]

/** What agents and modes are made of. */
const parts = [
  "instructions",
  "instructions of a called agent",
  "handler",
  "handler beside others",
  "handler of a called agent",
  "handler whose result comes later",
  "needsApproval",
  "a tool's retry",
  "an agent's retry",
  "toModelOutput",
  "guardrail on input",
  "guardrail on output",
  "guardrail on toolCall",
  "guardrail on toolResult",
  "guardrail on handoff",
  "set-up of m",
  "clean-up of m",
  "finalizer of m",
  "layer of a model",
  "model",
  "history",
  "transform",
  "strategy",
  "summarizer",
  "when",
  "stopWhen",
  "policy"
]

/** Events of what only a session does here, or of streams that it holds. */
const onlyInSessions = [
  "ToolInvoked",
  "ReasoningDelta",
  "ToolParamsDelta",
  "CallApproved",
  "CallDenied",
  "ResultGiven",
  "ModeFailed"
]

const placesOf: { readonly [Where in Ground]: ReadonlyArray<string> } = {
  run: ["picker"],
  session: ["picker", "set-up of alone", "clean-up of alone", "finalizer of alone", "recovery of alone", "reader"],
  "session, from outside": [],
  "stored session": ["store", "reader"],
  "stored session, from outside": ["store"]
}

describe.each(grounds)("In a %s", (ground) => {
  const operations = [...named(ofConversation), ...(ground === "run" ? [] : named(ofSession))]

  it.effect("whatever a callback asks for ends, and so does all around it", () =>
    Effect.gen(function*() {
      const { failures, played } = yield* play(ground, new Attempts("nowhere", []))
      assert.deepStrictEqual(failures, [])
      assert.deepStrictEqual(unfolded(played), [])
      const seen = observersOf(played)
      const unseen = Object.keys(AgentEvent.AgentEvent.cases).filter((tag) => !seen.includes(`observer of ${tag}`))
      assert.deepStrictEqual(unseen, ground === "run" ? onlyInSessions : [])
      const own = ground.startsWith("stored") ? observersOf(played) : [...observersOf(played), ...parts]
      const places = [...own, ...placesOf[ground]].map((place, at) => ({ at, place }))
      for (const { at, place } of some(places, 8, grounds.indexOf(ground) % 8)) {
        // Each begins with another one, as what one does is in the way of the next.
        const first = (at * 7) % operations.length
        const attempts = new Attempts(place, [...operations.slice(first), ...operations.slice(0, first)])
        const { failures, played } = yield* play(ground, attempts)
        assert.deepStrictEqual(failures, [], place)
        assert.deepStrictEqual(unfolded(played), [], place)
        assert.isAbove(attempts.times, 0, `${place} comes up`)
      }
    }), 60_000)
})

const assistant = Agent.make("assistant", { instructions: "Be brief." })
const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))

/** Lets an observer of one kind of event do something, and keeps how it ended and what was seen. */
const answering = (tag: AgentEvent.AgentEvent["_tag"], self: Effect.Effect<unknown, unknown>) => {
  const reasons: Array<string> = []
  const seen: Array<AgentEvent.AgentEvent> = []
  const observer: Agent.Observer = (event) => {
    seen.push(event)
    return event._tag !== tag ? Effect.void : Effect.map(Effect.exit(self), (exit) => void reasons.push(reasonOf(exit)))
  }
  return { reasons, seen, tags: () => seen.map(({ _tag }) => _tag), observer }
}

const reasonOf = (exit: Exit.Exit<unknown, unknown>): string => {
  const error = exit._tag === "Failure" ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error : undefined
  return Mode.isModeError(error) || Session.isSessionError(error) ? error.reason._tag : exit._tag
}

/** Gives how a program ended, or fails if it goes on for ever. */
const ended = <A, E>(self: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(self)
    for (let turn = 0; turn < turns && fiber.pollUnsafe() === undefined; turn++) yield* Effect.yieldNow
    if (fiber.pollUnsafe() === undefined) assert.fail("the program has no end")
    return yield* Fiber.join(fiber)
  })

describe("An observer", () => {
  it.effect("changes the conversation at once: the request of a step has what its start was answered with", () =>
    Effect.gen(function*() {
      const { observer, reasons, seen, tags } = answering(
        "StepStarted",
        Effect.andThen(SystemPrompt.append("Cite."), Mode.configure({ toolChoice: "auto" }))
      )
      const [state, [call]] = yield* ended(
        Effect.zip(Agent.observe(Agent.run(assistant, "Hi"), observer), MockModel.calls).pipe(Effect.provide(echo))
      )
      assert.deepStrictEqual(reasons, ["Success"])
      assert.strictEqual(call?.request.system, "Be brief.\n\nCite.")
      assert.deepStrictEqual(tags().slice(0, 5), [
        "RunStarted",
        "StepStarted",
        "StateAdjusted",
        "StateAdjusted",
        "ModelCallStarted"
      ])
      assert.deepStrictEqual(seen.reduce(AgentState.reduce, AgentState.make("assistant")), state)
    }))

  it.effect("changes the conversation at once when a request has failed: before its step ends", () =>
    Effect.gen(function*() {
      const { observer, tags } = answering("ModelCallFailed", SystemPrompt.append("Cite."))
      const refused = AiError.make({
        module: "test",
        method: "generateText",
        reason: new AiError.InternalProviderError({ description: "refused" })
      })
      yield* ended(
        Agent.observe(Agent.settle(assistant, "Hi"), observer).pipe(
          Effect.provide(MockModel.layer(MockModel.queue(MockResponse.fail(refused))))
        )
      )
      assert.deepStrictEqual(tags().slice(3), ["ModelCallFailed", "StateAdjusted", "StepCompleted", "RunFailed"])
    }))

  const other = Mode.make("n", { enter: () => Effect.void })
  const refused = [
    ["a change", "StateAdjusted", SystemPrompt.append("again")],
    ["a move", "ModeTransitionRequested", SystemPrompt.append("again")],
    ["a move with another", "ModeTransitionRequested", Mode.schedule(ModeTransition.push("m"))],
    ["the end of a run", "RunCompleted", SystemPrompt.append("late")],
    ["a set-up by talking", "ModeEntering", Mode.call("Psst.")],
    ["a set-up by another mode", "ModeEntering", Effect.scoped(Mode.enter(other)) as Effect.Effect<void>]
  ] as const
  it.effect.each(refused)(
    "is refused, and told so, where it would answer %s",
    ([, tag, operation]) =>
      Effect.gen(function*() {
        const { observer, reasons, seen } = answering(tag, operation)
        const mode = Mode.make("m", { invokable: true, enter: () => SystemPrompt.append("In m.") })
        const agent = Agent.make("assistant", { modes: [mode] })
        const state = yield* ended(
          Agent.observe(Agent.run(agent, "Hi"), observer).pipe(
            Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("enter_m_mode", {}), "Done.")))
          )
        )
        assert.deepStrictEqual(reasons, ["Unavailable"])
        assert.strictEqual(state.status._tag, "Complete")
        assert.deepStrictEqual(seen.reduce(AgentState.reduce, AgentState.make("assistant")), state)
      })
  )

  it.effect("can't have the session do what would wait for the observer, in a set-up either", () =>
    Effect.gen(function*() {
      const mode = Mode.make("m", { enter: () => SystemPrompt.append("In m.") })
      const { reasons } = yield* ended(
        Effect.gen(function*() {
          const session = yield* Session.Session
          const answered = answering("StateAdjusted", session.call("Psst."))
          yield* Agent.observe(session.enterMode("m"), answered.observer)
          return answered
        }).pipe(Effect.provide(Session.layer(Agent.make("assistant", { modes: [mode] }))), Effect.provide(echo))
      )
      assert.deepStrictEqual(reasons, ["ReentrantOperation"])
    }))

  it.effect("is told so by a session that it reaches in an operation of another one", () =>
    Effect.gen(function*() {
      const Ask = Toolkit.make(Tool.make("ask", { success: Schema.String }))
      const reasons = yield* ended(
        Effect.gen(function*() {
          const inner = yield* Session.make(assistant)
          const { observer, reasons } = answering("StepStarted", inner.call("Again"))
          const ask = Agent.observe(inner.call("Inner"), observer)
          const outer = yield* Session.make(Agent.make("boss", { toolkit: Ask })).pipe(
            Effect.provide(Ask.toLayer({ ask: () => Effect.as(Effect.orDie(ask), "asked") })),
            Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("ask", {}), "Done.")))
          )
          yield* outer.call("Go")
          return reasons
        }).pipe(Effect.scoped, Effect.provide(echo))
      )
      assert.deepStrictEqual(reasons, ["ReentrantOperation"])
    }))

  it.effect("changes the agent whose event it sees, and not the one that was made around it", () =>
    Effect.gen(function*() {
      const helper = Agent.make("helper")
      const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
      const observer: Agent.Observer = (event) =>
        event._tag === "StepStarted" ? Effect.orDie(SystemPrompt.append(event.path.join("/"))) : Effect.void
      const [around, systems] = yield* ended(
        Effect.gen(function*() {
          const session = yield* Session.Session
          yield* Agent.observe(Agent.run(boss, "Go"), observer).pipe(
            Effect.provide(MockModel.layer(MockModel.conditional(
              MockModel.when(({ agent }) => agent === "helper", ({ system }) => system),
              MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, ({ system }) => system),
              MockModel.otherwise(MockResponse.toolCall("helper", { task: "Help." }))
            ))),
            Effect.tap((state) =>
              Effect.sync(() => texts.push(AgentState.text(state), JSON.stringify(state.conversation)))
            )
          )
          return [yield* session.state, texts] as const
        }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(echo))
      )
      assert.deepStrictEqual(around.prompt, [])
      assert.strictEqual(systems[0], "boss\n\nboss")
      assert.include(systems[1], "\"boss/helper\"")
    }))
  const texts: Array<string> = []

  it.effect("changes an interrupted run until its end is told, and that has the change", () =>
    Effect.gen(function*() {
      const Stall = Toolkit.make(Tool.make("stall", { success: Schema.String }))
      const stalled = Deferred.makeUnsafe<void>()
      const { observer, reasons, seen } = answering("ToolCallSettled", SystemPrompt.append("Interrupted."))
      const run = Agent.observe(Agent.run(Agent.make("assistant", { toolkit: Stall }), "Hi"), observer).pipe(
        Effect.provide(
          Stall.toLayer({ stall: () => Effect.andThen(Deferred.succeed(stalled, undefined), Effect.never) })
        ),
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("stall", {}))))
      )
      yield* ended(Effect.raceFirst(run, Deferred.await(stalled)))
      const end = seen[seen.length - 1]
      assert.deepStrictEqual(reasons, ["Success"])
      assert.strictEqual(end?._tag, "RunInterrupted")
      assert.deepStrictEqual(end !== undefined && "state" in end && end.state.prompt.map(({ text }) => text), [
        "Interrupted."
      ])
    }))

  it.effect("isn't shown the runs that it starts itself", () =>
    Effect.gen(function*() {
      const { observer, reasons, tags } = answering(
        "RunStarted",
        Effect.provide(Agent.run(assistant, "Note it."), echo)
      )
      yield* ended(Effect.provide(Agent.observe(Agent.run(assistant, "Hi"), observer), echo))
      assert.deepStrictEqual(reasons, ["Success"])
      assert.strictEqual(tags().filter((tag) => tag === "RunStarted").length, 1)
    }))

  it.effect("that leaves a fiber behind lets that go on as anybody else's", () =>
    Effect.gen(function*() {
      const go = Deferred.makeUnsafe<void>()
      const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
      const later = Effect.map(
        Effect.forkDetach(Effect.andThen(Deferred.await(go), SystemPrompt.append("Later."))),
        (fiber) => void fibers.push(fiber)
      )
      const { observer, tags } = answering(
        "StateAdjusted",
        Effect.suspend(() => fibers.length === 0 ? later : Effect.void)
      )
      const Wait = Toolkit.make(Tool.make("wait", { success: Schema.String }))
      const wait = Effect.suspend(() =>
        Effect.as(Effect.andThen(Deferred.succeed(go, undefined), Effect.forEach(fibers, Fiber.await)), "waited")
      )
      const state = yield* ended(
        Agent.observe(Agent.run(Agent.make("assistant", { toolkit: Wait, instructions: () => first }), "Hi"), observer)
          .pipe(
            Effect.provide(Wait.toLayer({ wait: () => wait })),
            Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("wait", {}), "Done.")))
          )
      )
      assert.deepStrictEqual(state.prompt.map(({ text }) => text), ["First.", "Later."])
      assert.strictEqual(tags().filter((tag) => tag === "StateAdjusted").length, 2)
    }))
  const first = Effect.suspend(() =>
    Effect.as(isFirst() ? Effect.orDie(SystemPrompt.append("First.")) : Effect.void, "Be brief.")
  )
  let count = 0
  const isFirst = () => count++ === 0
})

describe("A mode that enters itself", () => {
  const inside = (mode: Mode.Mode<"m", {}, Mode.ModeError, Mode.Host>) => Effect.ignore(Mode.within(Effect.void, mode))
  const places = {
    "set-up": () => {
      const mode: Mode.Mode<"m", {}, Mode.ModeError, Mode.Host> = Mode.make("m", { enter: () => inside(mode) as never })
      return mode
    },
    "clean-up": () => {
      const mode: Mode.Mode<"m", {}, Mode.ModeError, Mode.Host> = Mode.make("m", {
        enter: () => Effect.void,
        exit: () => inside(mode) as never
      })
      return mode
    }
  }
  it.effect.each(Object.entries(places))(
    "on its way is told that this has no end: in its %s",
    ([, make]) =>
      Effect.gen(function*() {
        const events: Array<AgentEvent.AgentEvent> = []
        const program = Effect.gen(function*() {
          const session = yield* Session.Session
          yield* Mode.within(Effect.void, make())
          return yield* session.state
        }).pipe(
          Agent.observe((event) => Effect.sync(() => void events.push(event))),
          Effect.provide(Layer.provideMerge(Session.layer(assistant), echo))
        )
        assert.deepStrictEqual((yield* ended(program)).modes, [])
        assert.strictEqual(events.filter(({ _tag }) => _tag === "ModeEntering").length, 32)
      })
  )
})

describe("A clean-up whose model hangs", () => {
  const hanging = MockModel.layer(MockModel.conditional(
    MockModel.when(({ lastUserText }) => lastUserText === "Sum up.", () => Effect.never),
    MockModel.otherwise("Done.")
  ))
  const bounded = Effect.timeout(Mode.call("Sum up."), "10 seconds")
  const modes = {
    "clean-up": Mode.make("m", { enter: () => Effect.void, exit: () => Effect.asVoid(bounded) }),
    finalizer: Mode.make("m", { enter: () => Effect.addFinalizer(() => Effect.ignore(bounded)) })
  }
  it.effect.each(Object.entries(modes))(
    "ends by a time-out of its own: a %s",
    ([where, mode]) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkDetach(
          Effect.gen(function*() {
            const session = yield* Session.Session
            const left = yield* Effect.exit(Mode.within(Effect.void, mode))
            return { left, state: yield* session.call("Hi") }
          }).pipe(Effect.provide(Layer.provideMerge(Session.layer(assistant), hanging)))
        )
        yield* TestClock.adjust("1 minute")
        const { left, state } = yield* Fiber.join(fiber)
        assert.strictEqual(left._tag, where === "finalizer" ? "Success" : "Failure")
        assert.deepStrictEqual(state.modes, [])
        assert.strictEqual(AgentState.text(state), "Done.")
      })
  )
})

describe("A mode outside of any conversation", () => {
  it.effect.each(["Mode.enter", "Mode.within"])("says what gives it one: %s", (operation) =>
    Effect.gen(function*() {
      const mode = Mode.make("m", { enter: () => Effect.void })
      const entering = operation === "Mode.enter" ? Effect.scoped(Mode.enter(mode)) : Mode.within(Effect.void, mode)
      const error = yield* Effect.flip(entering as Effect.Effect<void, Mode.ModeError>)
      assert.strictEqual(error.reason._tag, "NoConversation")
      assert.include(error.message, operation)
      assert.include(error.message, "Session.layer")
    }))
})
