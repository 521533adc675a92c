import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Console,
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  Result,
  Schema,
  Scope,
  Stream
} from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import {
  Agent,
  type AgentEvent,
  AgentState,
  AgentStatus,
  ContextWindow,
  Conversation,
  Group,
  Guardrail,
  HandoffPolicy,
  Session,
  StopWhen,
  ToolPolicy
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { problems } from "../domain/legal.ts"
import { watch } from "./watch.ts"

class Refused extends Schema.TaggedError<Refused>()("Refused", { why: Schema.String }) {}

const Add = Tool.make("add", {
  parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
  success: Schema.Finite
})
const Later = Tool.make("later", { parameters: Schema.Struct({ than: Schema.Date }), success: Schema.Date })
const Refuse = Tool.make("refuse", { failure: Refused })
const Guarded = Tool.make("guarded", { success: Schema.String, needsApproval: true })
const Never = ToolPolicy.set(Tool.make("never"), { timeout: "1 second" })
const Crash = Tool.make("crash")
const Positive = Tool.make("positive", { parameters: Schema.Struct({ n: Schema.Int.check(Schema.isGreaterThan(0)) }) })
const Tools = Toolkit.make(Add, Later, Refuse, Guarded, Never, Crash, Positive)

const handlers = Tools.toLayer({
  add: ({ a, b }) => Effect.succeed(a + b),
  later: ({ than }) => Effect.succeed(new Date(than.getTime() + 1)),
  refuse: () => Effect.fail(new Refused({ why: "it was old" })),
  guarded: () => Effect.succeed("opened"),
  never: () => Effect.never,
  crash: () => Effect.die("boom"),
  positive: () => Effect.void
})

const assistant = Agent.make("assistant")
const clerk = Agent.make("clerk", { toolkit: Tools, fatal: ["refuse"] })

const overloaded = AiError.make({
  module: "Test",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})

/** Lets everything that can go on do so. */
const settleDown = Effect.repeat(Effect.yieldNow, { times: 50 })

/** A model that answers with what it was told, once the gate for that is open, and a record of what it was told. */
const makeGates = () => {
  const asked: Array<string> = []
  const gates = new Map<string, Deferred.Deferred<void>>()
  const gate = (text: string) => {
    const known = gates.get(text) ?? Deferred.makeUnsafe<void>()
    gates.set(text, known)
    return known
  }
  const most = { asking: 0, at: 0 }
  const model = MockModel.layer(MockModel.make(({ lastUserText }) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        asked.push(lastUserText)
        most.at = Math.max(most.at, ++most.asking)
      }),
      () => Effect.as(Deferred.await(gate(lastUserText)), `Re: ${lastUserText}`),
      () => Effect.sync(() => most.asking--)
    )
  ))
  return { asked, most, model, open: (text: string) => Deferred.succeed(gate(text), undefined) }
}

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))

/** The reason of a session's error. */
const reasonOf = <A>(exit: Exit.Exit<A, unknown>): Session.Reason | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return Session.isSessionError(error) ? error.reason : undefined
}

const texts = (state: AgentState.AgentState) => state.conversation.turns.map(Conversation.textOf)

describe("A session", () => {
  it.effect("sends in each run the messages of the runs before, and others once its conversation is another", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a"))
      yield* session.call("One")
      yield* session.call("Two")
      const other = yield* Session.make(Agent.make("a"), { state: yield* session.state })
      yield* other.call("Three")
      const [one, two, three] = (yield* MockModel.calls).map(({ request }) => request.messages)
      assert.strictEqual(two!.length, 3)
      assert.strictEqual(two![0], one![0])
      assert.deepStrictEqual(three![0], one![0])
      assert.notStrictEqual(three![0], one![0])
    }).pipe(Effect.scoped, Effect.provide(MockModel.layer(MockModel.repeat("Yes.")))))

  it.effect("holds one conversation over its calls", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.call("One")
      const last = yield* session.call("Two")
      assert.deepStrictEqual(texts(last), ["One", "Re: One", "Two", "Re: Two"])
      assert.strictEqual(yield* session.state, last)
      assert.deepStrictEqual(
        last,
        yield* Agent.runMultiTurn(assistant, ["One", "Two"])
      )
    }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(echo)))

  it.effect("begins with a state that it is given", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(assistant, "One")
      const session = yield* Session.make(assistant, { state })
      assert.strictEqual(yield* session.state, state)
      assert.deepStrictEqual(texts(yield* session.call("Two")), ["One", "Re: One", "Two", "Re: Two"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("shows the first state, then each that a run goes through, and ends when it is closed", () =>
    Effect.gen(function*() {
      const seen = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(clerk)
        const fiber = yield* Stream.runCollect(session.changes).pipe(Effect.forkDetach)
        const slow = yield* session.changes.pipe(
          Stream.mapEffect((state) => Effect.as(settleDown, state)),
          Stream.runCollect,
          Effect.forkDetach
        )
        yield* settleDown
        yield* session.call("Add")
        const late = yield* Stream.runHead(session.changes)
        assert.strictEqual(Option.getOrThrow(late), yield* session.state)
        return [fiber, slow]
      }))
      const [fast, slow] = yield* Effect.forEach(seen, Fiber.join)
      const states = yield* Stream.runCollect(Agent.states(clerk, "Add"))
      assert.deepStrictEqual(fast, [AgentState.make("clerk"), ...states])
      assert.deepStrictEqual(slow, fast)
    }).pipe(
      Effect.provide(handlers),
      Effect.provide(MockModel.layer(MockModel.conditional(
        MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, "Three."),
        MockModel.otherwise(MockResponse.toolCall("add", { a: 1, b: 2 }, { id: "a" }))
      )))
    ))

  it.effect("has changes to show after it was closed", () =>
    Effect.gen(function*() {
      const session = yield* Effect.scoped(Effect.tap(Session.make(assistant), (session) => session.call("Hello")))
      const last = yield* session.state
      assert.deepStrictEqual(yield* Stream.runCollect(session.changes), [last])
    }).pipe(Effect.provide(echo)))

  it.effect("does one thing at a time, in the order it was asked", () =>
    Effect.gen(function*() {
      const { asked, model, most, open } = makeGates()
      yield* Effect.gen(function*() {
        const session = yield* Session.make(assistant)
        const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
        for (const text of ["1", "2", "3", "4"]) {
          fibers.push(
            yield* Effect.forkChild(
              text === "3" ? Stream.runDrain(session.stream(text)) : session.call(text),
              { startImmediately: true }
            )
          )
        }
        for (const text of ["4", "3", "2", "1"]) {
          yield* settleDown
          assert.deepStrictEqual(asked, ["1"])
          yield* open(text)
        }
        yield* Effect.forEach(fibers, Fiber.join)
        assert.deepStrictEqual(asked, ["1", "2", "3", "4"])
        assert.strictEqual(most.at, 1)
        assert.deepStrictEqual(texts(yield* session.state), ["1", "Re: 1", "2", "Re: 2", "3", "Re: 3", "4", "Re: 4"])
      }).pipe(Effect.scoped, Effect.provide(model))
    }))

  it.effect("lets one that waits be interrupted and the others go on", () =>
    Effect.gen(function*() {
      const { asked, model, open } = makeGates()
      yield* Effect.gen(function*() {
        const session = yield* Session.make(assistant)
        const [first, second, third] = yield* Effect.forEach(["1", "2", "3"], (text) =>
          Effect.forkChild(session.call(text), { startImmediately: true }))
        yield* settleDown
        yield* Fiber.interrupt(second!)
        yield* Effect.forEach(["1", "2", "3"], open)
        yield* Fiber.join(first!)
        yield* Fiber.join(third!)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(second!)))
        assert.deepStrictEqual(asked, ["1", "3"])
        assert.deepStrictEqual(texts(yield* session.state), ["1", "Re: 1", "3", "Re: 3"])
      }).pipe(Effect.scoped, Effect.provide(model))
    }))

  it.effect("keeps the state that an interrupted call leaves, and goes on from there", () =>
    Effect.gen(function*() {
      const { model, open } = makeGates()
      yield* Effect.gen(function*() {
        const session = yield* Session.make(assistant)
        const events: Array<AgentEvent.AgentEvent> = []
        const fiber = yield* session.call("1").pipe(
          Agent.observe((event) => Effect.sync(() => events.push(event))),
          Effect.forkChild
        )
        yield* settleDown
        yield* Fiber.interrupt(fiber)
        const end = events.at(-1)
        assert.isTrue(end?._tag === "RunInterrupted")
        const state = yield* session.state
        assert.deepStrictEqual(end !== undefined && "state" in end ? end.state : undefined, state)
        assert.strictEqual(state.status._tag, "InProgress")
        yield* open("1")
        assert.deepStrictEqual(texts(yield* session.resume), ["1", "Re: 1"])
        yield* open("2")
        assert.deepStrictEqual(texts(yield* session.call("2")), ["1", "Re: 1", "2", "Re: 2"])
      }).pipe(Effect.scoped, Effect.provide(model))
    }))

  it.effect("keeps the state of a failure, and goes on by a call or by being resumed", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(assistant)
      const error = yield* Effect.flip(session.call("1"))
      assert.strictEqual(error._tag, "AgentError")
      const failed = yield* session.state
      assert.strictEqual(failed.status._tag, "Failed")
      assert.deepStrictEqual(error._tag === "AgentError" ? error.state : undefined, failed)
      assert.deepStrictEqual(texts(yield* session.resume), ["1", "First."])
      yield* Effect.flip(session.call("2"))
      assert.deepStrictEqual(texts(yield* session.call("3")), ["1", "First.", "2", "3", "Third."])
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.queue(
        MockResponse.fail(overloaded),
        "First.",
        MockResponse.fail(overloaded),
        "Third."
      )))
    ))

  it.effect("has nothing to resume where the run has its answer", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(assistant)
      const state = yield* session.call("1")
      const resumed = yield* session.resume
      assert.deepStrictEqual(resumed.conversation, state.conversation)
      assert.strictEqual(resumed.status._tag, "Complete")
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("lets a group's agent in control go on, or the first begin again", () =>
    Effect.gen(function*() {
      const desk = Group.make({ triage: Agent.make("triage"), billing: Agent.make("billing") }, {
        start: "triage",
        policy: HandoffPolicy.explicit("billing")
      })
      const session = yield* Session.make(desk)
      assert.strictEqual((yield* session.call("Money")).agent, "billing")
      assert.strictEqual((yield* session.call("More money")).agent, "billing")
      assert.strictEqual((yield* session.call("Other", { control: "first" })).agent, "triage")
      yield* Stream.runDrain(session.stream("Money"))
      assert.strictEqual((yield* session.state).agent, "billing")
      yield* Stream.runDrain(session.stream("Other", { control: "first" }))
      assert.strictEqual((yield* session.state).agent, "triage")
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.conditional(
        MockModel.when(
          ({ agent, lastUserText }) => agent === "triage" && lastUserText === "Money",
          MockResponse.toolCall("handoff_to_billing", {})
        ),
        MockModel.otherwise("Yes.")
      )))
    ))

  it.effect("runs with the services it was made with, in view of the caller's observers", () =>
    Effect.gen(function*() {
      const events: Array<AgentEvent.AgentEvent> = []
      const session = yield* Session.make(assistant).pipe(
        Agent.observe(() => Effect.die("the place where it was made looks on")),
        Effect.provide(MockModel.layer(MockModel.queue("Its own.", "Its own again.")))
      )
      const state = yield* session.call("Who?").pipe(
        Effect.provide(MockModel.layer(MockModel.queue("The caller's."))),
        Agent.observe((event) => Effect.sync(() => events.push(event)))
      )
      assert.strictEqual(AgentState.text(state), "Its own.")
      assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make("assistant")), state)
      yield* session.stream("Who?").pipe(
        Stream.runDrain,
        Effect.provide(MockModel.layer(MockModel.queue("The caller's.")))
      )
      assert.strictEqual(AgentState.text(yield* session.state), "Its own again.")
    }).pipe(Effect.scoped))

  it.effect("speaks on the console of the caller, not on that of the place where it was made", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const consoleOf = (whose: string): Console.Console => ({
        ...globalThis.console,
        log: (text: string) => said.push(`${whose}: ${text}`)
      })
      const Say = Toolkit.make(Tool.make("say", { success: Schema.String }))
      const session = yield* Session.make(Agent.make("speaker", { toolkit: Say })).pipe(
        Effect.provide(Say.toLayer({ say: () => Effect.as(Console.log("hello"), "said") })),
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("say", {}), "Done."))),
        Effect.provideService(Console.Console, consoleOf("the place"))
      )
      yield* session.call("Speak").pipe(Effect.provideService(Console.Console, consoleOf("the caller")))
      assert.deepStrictEqual(said, ["the caller: hello"])
    }).pipe(Effect.scoped))

  it.effect("isn't confused by other agents that its handlers run", () =>
    Effect.gen(function*() {
      const Ask = Toolkit.make(Tool.make("ask", { success: Schema.String }))
      const boss = Agent.make("boss", { toolkit: Ask })
      const session = yield* Session.make(boss).pipe(
        Effect.provide(Ask.toLayer({
          ask: () =>
            Effect.gen(function*() {
              const other = yield* Session.make(assistant)
              yield* Agent.run(assistant, "Alone")
              return AgentState.text(yield* other.call("Inner"))
            }).pipe(Effect.scoped, Effect.orDie, Effect.provide(echo))
        }))
      )
      const last = yield* session.call("Outer").pipe(
        Agent.observe(() => Effect.void)
      )
      assert.deepStrictEqual(texts(last), ["Outer", "", "Done: Re: Inner"])
      assert.deepStrictEqual(yield* session.state, last)
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.conditional(
        MockModel.when(
          ({ agent }) => agent === "assistant",
          ({ lastUserText }) => `Re: ${lastUserText}`
        ),
        MockModel.when(
          ({ lastToolResults }) => lastToolResults.length > 0,
          ({ lastToolResults }) => `Done: ${String(lastToolResults[0]?.result)}`
        ),
        MockModel.otherwise(MockResponse.toolCall("ask", {}))
      )))
    ))

  it.effect("of a hundred at once sees none of the others", () =>
    Effect.gen(function*() {
      const states = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, n) => n),
        (n) =>
          Effect.gen(function*() {
            const session = yield* Session.make(assistant)
            yield* Effect.forEach(["a", "b"], (text) => session.call(`${n}${text}`), { concurrency: 2 })
            return texts(yield* session.state)
          }).pipe(Effect.scoped),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        states,
        states.map((_, n) => [`${n}a`, `Re: ${n}a`, `${n}b`, `Re: ${n}b`])
      )
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) =>
      Effect.as(Effect.yieldNow, `Re: ${lastUserText}`)
    )))))
})

describe("Session.stream", () => {
  it.effect("tells what Agent.stream tells, and has each event in the state before its reader", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const seen: Array<AgentEvent.AgentEvent> = []
      let folded = AgentState.make("clerk")
      yield* session.stream("Add").pipe(
        Stream.runForEachArray((events) =>
          Effect.gen(function*() {
            for (const event of events) {
              folded = AgentState.reduce(folded, event)
              seen.push(event)
            }
            const state = yield* session.state
            assert.isTrue(state.conversation.turns.length >= folded.conversation.turns.length)
          })
        )
      )
      assert.deepStrictEqual(folded, yield* session.state)
      // The session keeps the log from its beginning, and each run has an id of its own.
      const alike = (event: AgentEvent.AgentEvent) => ({
        ...event,
        run: "",
        ...(event._tag === "RunStarted" ? { position: { turns: 0, steps: 0 } } : undefined)
      })
      assert.deepStrictEqual(
        seen.map(alike),
        (yield* Stream.runCollect(Agent.stream(clerk, "Add"))).map(alike)
      )
      assert.isTrue(seen.some((event) => event._tag === "TextDelta"))
    }).pipe(
      Effect.scoped,
      Effect.provide(handlers),
      Effect.provide(MockModel.layer(MockModel.conditional(
        MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, "Three."),
        MockModel.otherwise(MockResponse.toolCall("add", { a: 1, b: 2 }, { id: "a" }))
      )))
    ))

  it.effect("asks the model to stream, where a call doesn't", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(assistant)
      yield* session.call("1")
      yield* Stream.runDrain(session.stream("2"))
      const calls = yield* MockModel.calls
      assert.deepStrictEqual(calls.map(({ request }) => request.streaming), [false, true])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("stops the run of a reader that leaves, and lets the next one go on", () =>
    Effect.gen(function*() {
      const { model, open } = makeGates()
      yield* Effect.gen(function*() {
        const session = yield* Session.make(assistant)
        yield* session.stream("1").pipe(
          Stream.takeUntil((event) => event._tag === "ModelCallStarted"),
          Stream.runDrain
        )
        const state = yield* session.state
        assert.deepStrictEqual(texts(state), ["1"])
        assert.strictEqual(state.status._tag, "InProgress")
        yield* open("2")
        assert.deepStrictEqual(texts(yield* session.call("2")), ["1", "2", "Re: 2"])
      }).pipe(Effect.scoped, Effect.provide(model))
    }))

  it.effect("goes on without an input", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(assistant)
      const exit = yield* Effect.exit(Stream.runDrain(session.stream("1")))
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual((yield* session.state).status._tag, "Failed")
      const events = yield* Stream.runCollect(session.stream())
      assert.strictEqual(events.at(-1)?._tag, "RunCompleted")
      assert.deepStrictEqual(texts(yield* session.state), ["1", "First."])
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.fail(overloaded), "First.")))
    ))

  it.effect("lets a reader call the session in the middle of a long answer", () =>
    Effect.gen(function*() {
      const long = "long ".repeat(500)
      const session = yield* Session.make(assistant)
      const heard: Array<string> = []
      yield* session.stream("1").pipe(
        Stream.takeUntil((event) => event._tag === "TextDelta"),
        Stream.runForEach((event) =>
          event._tag === "TextDelta"
            ? Effect.map(session.call("2"), (state) => heard.push(...texts(state)))
            : Effect.void
        )
      )
      assert.deepStrictEqual(heard.map((text) => text.trim()), [
        "1",
        `Re: 1 ${long}`.trim(),
        "2",
        `Re: 2 ${long}`.trim()
      ])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText} ${"long ".repeat(500)}`))
      )
    ))
})

describe("Approvals in a session", () => {
  const model = MockModel.layer(MockModel.conditional(
    MockModel.when(
      ({ lastToolResults }) => lastToolResults.length > 0,
      ({ lastToolResults }) => lastToolResults.map(({ result }) => String(result)).join(", ")
    ),
    MockModel.otherwise(MockResponse.all(
      MockResponse.toolCall("guarded", {}, { id: "a" }),
      MockResponse.toolCall("guarded", {}, { id: "b" })
    ))
  ))

  it.effect("are answered one by one, and nothing runs until the session is resumed", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const waiting = yield* session.call("Open it")
      assert.strictEqual(waiting.status._tag, "WaitingForTools")
      const approved = yield* session.approve("a")
      assert.strictEqual(yield* session.state, approved)
      assert.deepStrictEqual(AgentState.pendingApprovals(approved).map(({ callId }) => callId), ["b"])
      const denied = yield* session.deny("b", "not now")
      assert.deepStrictEqual(
        denied,
        Result.getOrThrow(Result.flatMap(AgentState.approve(waiting, "a"), AgentState.deny("b", "not now")))
      )
      assert.strictEqual((yield* MockModel.calls).length, 1)
      const done = yield* session.resume
      assert.strictEqual(AgentState.text(done), "opened, This call was denied: not now")
    }).pipe(Effect.scoped, Effect.provide(handlers), Effect.provide(model)))

  it.effect("of a call that awaits none fail, and change nothing", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const state = yield* session.call("Open it")
      const error = yield* Effect.flip(session.approve("c"))
      assert.strictEqual(error._tag, "NotAwaitingApproval")
      assert.strictEqual((yield* Effect.flip(session.deny("c", "no")))._tag, "NotAwaitingApproval")
      assert.strictEqual(yield* session.state, state)
    }).pipe(Effect.scoped, Effect.provide(handlers), Effect.provide(model)))

  it.effect("leave words that come before them waiting", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      yield* session.call("Open it")
      const more = yield* session.call("Please")
      assert.strictEqual(AgentState.pendingApprovals(more).length, 2)
      yield* session.approve("a")
      yield* session.approve("b")
      assert.deepStrictEqual(texts(yield* session.resume), ["Open it", "", "Please", "opened, opened"])
    }).pipe(Effect.scoped, Effect.provide(handlers), Effect.provide(model)))
})

describe("Closing a session", () => {
  it.effect("interrupts what runs, turns away what waits and what comes later", () =>
    Effect.gen(function*() {
      const { asked, model } = makeGates()
      const scope = yield* Scope.make()
      const session = yield* Session.make(assistant).pipe(Scope.provide(scope), Effect.provide(model))
      const running = yield* Effect.forkChild(session.call("1"), { startImmediately: true })
      const waiting = yield* Effect.forkChild(session.call("2"), { startImmediately: true })
      const streaming = yield* Effect.forkChild(Stream.runDrain(session.stream("3")), { startImmediately: true })
      yield* settleDown
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(texts(yield* session.state), ["1"])
      assert.strictEqual((yield* session.state).status._tag, "InProgress")
      const later = yield* Effect.forEach(
        [
          session.call("4"),
          session.resume,
          session.approve("a"),
          session.fork,
          session.invoke(Add, { a: 1, b: 2 }),
          Stream.runDrain(session.stream("5"))
        ] as ReadonlyArray<Effect.Effect<unknown, unknown, Scope.Scope>>,
        Effect.exit
      )
      for (
        const exit of [
          yield* Fiber.await(running),
          yield* Fiber.await(waiting),
          yield* Fiber.await(streaming),
          ...later
        ]
      ) {
        assert.strictEqual(reasonOf(exit)?._tag, "SessionClosed")
      }
      assert.deepStrictEqual(asked, ["1"])
    }).pipe(Effect.scoped))

  it.effect("lets nothing begin that waited, though what ran ends at the same time", () =>
    Effect.gen(function*() {
      const { asked, model, open } = makeGates()
      const scope = yield* Scope.make()
      const session = yield* Session.make(assistant).pipe(Scope.provide(scope), Effect.provide(model))
      const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
      for (let n = 1; n <= 20; n++) {
        fibers.push(yield* Effect.forkChild(session.call(`${n}`), { startImmediately: true }))
      }
      yield* settleDown
      yield* open("1")
      yield* Scope.close(scope, Exit.void)
      const [first, ...others] = yield* Effect.forEach(fibers, Fiber.await)
      assert.isDefined(first)
      for (const exit of others) assert.strictEqual(reasonOf(exit)?._tag, "SessionClosed")
      assert.deepStrictEqual(asked, ["1"])
      assert.strictEqual((yield* session.state).conversation.turns[0]?._tag, "User")
      assert.isTrue(texts(yield* session.state).every((text) => text.endsWith("1")))
    }))

  it.effect("tells the reader of a stream that was only just asked for", () =>
    Effect.gen(function*() {
      const { model } = makeGates()
      const scope = yield* Scope.make()
      const session = yield* Session.make(assistant).pipe(Scope.provide(scope), Effect.provide(model))
      const fiber = yield* Effect.forkChild(Stream.runDrain(session.stream("1")), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(reasonOf(yield* Fiber.await(fiber))?._tag, "SessionClosed")
    }))

  it.effect("stops a stream that is read, with the same error", () =>
    Effect.gen(function*() {
      const { model } = makeGates()
      const scope = yield* Scope.make()
      const session = yield* Session.make(assistant).pipe(Scope.provide(scope), Effect.provide(model))
      const events: Array<string> = []
      const fiber = yield* session.stream("1").pipe(
        Stream.runForEach((event) => Effect.sync(() => events.push(event._tag))),
        Effect.forkChild
      )
      yield* settleDown
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(reasonOf(yield* Fiber.await(fiber))?._tag, "SessionClosed")
      assert.strictEqual(events.at(-1), "RunInterrupted")
    }))
})

describe("A session that is called by what it runs", () => {
  const Ask = Toolkit.make(Tool.make("ask", { success: Schema.String }))
  const boss = Agent.make("boss", { toolkit: Ask })
  const model = MockModel.layer(MockModel.conditional(
    MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, "Done."),
    MockModel.otherwise(MockResponse.toolCall("ask", {}))
  ))

  /** Runs a session whose one tool does something with the session. */
  const within = <A>(use: (session: Session.Session<string, never>) => Effect.Effect<A, unknown, Scope.Scope>) =>
    Effect.gen(function*() {
      const seen: Array<Exit.Exit<A, unknown>> = []
      const self = Deferred.makeUnsafe<Session.Session<string, never>>()
      const session = yield* Session.make(boss).pipe(
        Effect.provide(Ask.toLayer({
          ask: () =>
            Effect.as(
              Effect.map(Effect.exit(Effect.scoped(Effect.flatMap(Deferred.await(self), use))), (exit) =>
                seen.push(exit)),
              "asked"
            )
        }))
      )
      yield* Deferred.succeed(self, session)
      const state = yield* session.call("Go")
      return { session, exit: seen[0]!, state }
    })

  const operations: Record<
    string,
    (session: Session.Session<string, never>) => Effect.Effect<unknown, unknown, Scope.Scope>
  > = {
    call: (session) => session.call("Again"),
    stream: (session) => Stream.runDrain(session.stream("Again")),
    resume: (session) => session.resume,
    approve: (session) => session.approve("a"),
    deny: (session) => session.deny("a", "no"),
    invoke: (session) => session.invoke(Add, { a: 1, b: 2 }),
    fork: (session) => session.fork,
    pin: (session) => session.pin(0)
  }

  it.effect.each(Object.keys(operations))("by %s is told so, and goes on", (name) =>
    Effect.gen(function*() {
      const { exit, state } = yield* within(operations[name]!)
      const reason = reasonOf(exit)
      assert.strictEqual(reason?._tag, "ReentrantOperation")
      assert.deepStrictEqual(
        reason?._tag === "ReentrantOperation" ? [reason.operation, reason.within] : [],
        [name, "call"]
      )
      assert.deepStrictEqual(texts(state), ["Go", "", "Done."])
    }).pipe(Effect.scoped, Effect.provide(model)))

  it.effect("through another session is told so too", () =>
    Effect.gen(function*() {
      const { exit } = yield* within((session) =>
        Effect.gen(function*() {
          const inner = yield* Session.make(boss).pipe(
            Effect.provide(Ask.toLayer({ ask: () => Effect.as(Effect.orDie(session.call("Round")), "asked") }))
          )
          return yield* Effect.catchDefect(inner.call("Inner"), Effect.fail)
        }).pipe(Effect.provide(model))
      )
      assert.strictEqual(reasonOf(exit)?._tag, "ReentrantOperation")
    }).pipe(Effect.scoped, Effect.provide(model)))

  it.effect("is told so though it was made by what another session runs", () =>
    Effect.gen(function*() {
      const { exit } = yield* within(() =>
        Effect.gen(function*() {
          const self = Deferred.makeUnsafe<Session.Session<string, never>>()
          const inner = yield* Session.make(boss).pipe(
            Effect.provide(Ask.toLayer({
              ask: () =>
                Effect.as(Effect.orDie(Effect.flatMap(Deferred.await(self), ({ call }) => call("Again"))), "asked")
            }))
          )
          yield* Deferred.succeed(self, inner)
          return yield* Effect.catchDefect(inner.call("Inner"), Effect.fail)
        }).pipe(Effect.provide(model))
      )
      assert.strictEqual(reasonOf(exit)?._tag, "ReentrantOperation")
    }).pipe(Effect.scoped, Effect.provide(model)))

  it.effect("can be read, and called by what outlives the call that began it", () =>
    Effect.gen(function*() {
      const go = Deferred.makeUnsafe<void>()
      const { exit, session } = yield* within((session) =>
        Effect.gen(function*() {
          const later = yield* Effect.forkDetach(Effect.andThen(Deferred.await(go), session.call("Later")))
          return { later, state: yield* session.state }
        })
      )
      assert.isTrue(Exit.isSuccess(exit) && exit.value.state.status._tag === "WaitingForTools")
      yield* Deferred.succeed(go, undefined)
      const state = Exit.isSuccess(exit) ? yield* Fiber.join(exit.value.later) : undefined
      assert.strictEqual(state, yield* session.state)
    }).pipe(Effect.scoped, Effect.provide(model)))
})

describe("Session.pin", () => {
  const guide = Agent.make("guide", { contextWindow: ContextWindow.make({ maxTurns: 2 }) })
  const lastSent = Effect.map(
    MockModel.calls,
    (calls) =>
      calls.at(-1)!.request.messages.map(({ content }) =>
        typeof content === "string" ? content : content.map((part) => part.type === "text" ? part.text : "").join("")
      )
  )
  const pinsOf = ({ conversation }: AgentState.AgentState) =>
    conversation.turns.flatMap(({ pinned }, at) => pinned === true ? [at] : [])

  it.effect("keeps a turn in what requests send until its pin is taken off", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(guide)
      yield* session.call("1")
      assert.deepStrictEqual(pinsOf(yield* session.pin(0)), [0])
      assert.strictEqual((yield* session.state).status._tag, "Complete")
      yield* session.call("2")
      yield* session.call("3")
      assert.deepStrictEqual(yield* lastSent, ["1", "3"])
      assert.deepStrictEqual(pinsOf(yield* session.unpin(0)), [])
      yield* session.call("4")
      assert.deepStrictEqual(yield* lastSent, ["4"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("is an event, unless it changes nothing", () => {
    const log: Array<AgentEvent.AgentEvent> = []
    return Effect.gen(function*() {
      const session = yield* Session.make(guide)
      const before = yield* session.call("1")
      log.length = 0
      for (const turn of [1, 1, 2, -1, 0.5]) yield* session.pin(turn)
      const pinned = yield* session.unpin(0)
      const adjustments = log.flatMap((event) => event._tag === "StateAdjusted" ? [event.adjustment] : [])
      assert.deepStrictEqual(adjustments, [{ _tag: "TurnPinned", turn: 1, isPinned: true }])
      assert.deepStrictEqual(log.reduce(AgentState.reduce, before), pinned)
      assert.deepStrictEqual(pinned.conversation, Conversation.pin(before.conversation, 1))
      const unpinned = yield* session.unpin(1)
      assert.deepStrictEqual(log.reduce(AgentState.reduce, before), unpinned)
      assert.deepStrictEqual(unpinned, before)
    }).pipe(
      Effect.scoped,
      Agent.observe((event) => Effect.sync(() => void log.push(event))),
      Effect.provide(echo)
    )
  })
})

describe("Session.fork", () => {
  it.effect("gives a session that shares nothing but what came before", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(assistant)
      yield* session.call("1")
      const scope = yield* Scope.make()
      const fork = yield* Scope.provide(session.fork, scope)
      yield* Effect.all([session.call("2"), fork.call("3")], { concurrency: 2 })
      assert.deepStrictEqual(texts(yield* session.state), ["1", "Re: 1", "2", "Re: 2"])
      assert.deepStrictEqual(texts(yield* fork.state), ["1", "Re: 1", "3", "Re: 3"])
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(reasonOf(yield* Effect.exit(fork.call("4")))?._tag, "SessionClosed")
      assert.deepStrictEqual(texts(yield* session.call("4")).slice(-1), ["Re: 4"])
    }).pipe(Effect.scoped, Effect.provide(echo)))

  it.effect("waits for the call that is under way", () =>
    Effect.gen(function*() {
      const { model, open } = makeGates()
      yield* Effect.gen(function*() {
        const session = yield* Session.make(assistant)
        yield* Effect.forkChild(session.call("1"), { startImmediately: true })
        const forking = yield* Effect.forkChild(session.fork, { startImmediately: true })
        yield* settleDown
        assert.isUndefined(forking.pollUnsafe())
        yield* open("1")
        assert.deepStrictEqual(texts(yield* (yield* Fiber.join(forking)).state), ["1", "Re: 1"])
      }).pipe(Effect.scoped, Effect.provide(model))
    }))
})

describe("Session.invoke", () => {
  const model = MockModel.layer(
    MockModel.make(({ lastToolResults }) => `I read ${JSON.stringify(lastToolResults.map(({ result }) => result))}.`)
  )
  const provided = <A, E, R>(self: Effect.Effect<A, E, R>) =>
    self.pipe(Effect.scoped, Effect.provide(handlers), Effect.provide(model))

  it.effect("gives what the handler gives, and records the call with its result", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      yield* session.call("Hello")
      const before = yield* session.state
      const { events, exit } = yield* watch(session.invoke(Add, { a: 1, b: 2 }))
      assert.deepStrictEqual(exit, Exit.succeed(3))
      const state = yield* session.state
      assert.deepStrictEqual(state.conversation.turns.at(-1), {
        _tag: "Assistant",
        agent: "clerk",
        parts: [{
          _tag: "Call",
          id: "invoked",
          name: "add",
          params: { a: 1, b: 2 },
          state: { _tag: "Settled", outcome: "Succeeded", result: 3 },
          metadata: { troupe: { invoked: true } }
        }],
        usage: {},
        finishReason: "tool-calls"
      })
      assert.deepStrictEqual(problems(state.conversation), [])
      const run = { ...before.run, calls: { add: 1 }, succeeded: ["add"] }
      assert.deepStrictEqual([state.steps, state.usage, state.run], [before.steps, before.usage, run])
      assert.strictEqual(state.status._tag, "InProgress")
      assert.deepStrictEqual(events.map((event) => event._tag), [
        "StepStarted",
        "ToolInvoked",
        "ToolCallStarted",
        "ToolCallSettled",
        "StepCompleted"
      ])
      assert.strictEqual((yield* MockModel.calls).length, 1)
      assert.strictEqual(AgentState.text(yield* session.call("And?")), "I read [3].")
    }).pipe(provided))

  it.effect("gives each call an id of its own, and lets the model go on from the result", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      yield* session.call("Hello")
      yield* session.invoke(Add, { a: 1, b: 2 })
      yield* session.invoke(Add, { a: 3, b: 4 })
      const state = yield* session.resume
      assert.deepStrictEqual(Conversation.callIds(state.conversation), ["invoked", "invoked-2"])
      assert.strictEqual(AgentState.text(state), "I read [7].")
      assert.deepStrictEqual(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))), Result.succeed(state))
    }).pipe(provided))

  it.effect("writes and reads values as their schemas say", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const date = yield* session.invoke(Later, { than: new Date(10) })
      assert.deepStrictEqual(date, new Date(11))
      const call = Conversation.callsOf(Conversation.lastAssistant((yield* session.state).conversation)!)[0]
      assert.deepStrictEqual(call?.params, { than: "1970-01-01T00:00:00.010Z" })
    }).pipe(provided))

  it.effect("fails with the tool's own error, also of one that is fatal, and the session goes on", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const error = yield* Effect.flip(session.invoke(Refuse, {}))
      assert.deepStrictEqual(error, new Refused({ why: "it was old" }))
      const state = yield* session.state
      assert.strictEqual(state.status._tag, "InProgress")
      const call = Conversation.callsOf(Conversation.lastAssistant(state.conversation)!)[0]
      assert.isTrue(call?.state._tag === "Settled" && call.state.outcome === "Failed")
    }).pipe(provided))

  it.effect("runs a tool after the last answer that a limit allows, and also while that answer is missing", () =>
    Effect.gen(function*() {
      const stopWhen = StopWhen.maxSteps(1, { onExhausted: "finish" })
      const hurried = Agent.make("clerk", { toolkit: Tools, stopWhen })
      const session = yield* Session.make(hurried)
      const landed = yield* session.call("Add")
      assert.deepStrictEqual([landed.status._tag, landed.run.landing], ["Complete", 1])
      assert.strictEqual(yield* session.invoke(Add, { a: 1, b: 2 }), 3)
      const { run } = yield* session.state
      assert.deepStrictEqual([run.landing, run.calls], [1, { add: 2 }])
      // The limit still holds for the model.
      assert.deepStrictEqual(
        Exit.isFailure(yield* Effect.exit(session.resume)) && (yield* session.state).status,
        AgentStatus.failed({
          tag: "StepLimitReached",
          message: "Agent \"clerk\" reached its limit of 1 step",
          agent: "clerk",
          step: 1
        })
      )

      const failing = yield* Session.make(hurried)
      yield* Effect.flip(failing.call("Add"))
      assert.strictEqual(yield* failing.invoke(Add, { a: 1, b: 2 }), 3)
      assert.strictEqual(AgentState.text(yield* failing.resume), "Done.")
      assert.deepStrictEqual(
        (yield* MockModel.calls).map(({ request }) => request.toolNames.length),
        [7, 0, 7, 0, 0]
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(handlers),
      Effect.provide(MockModel.layer(MockModel.queue(
        MockResponse.toolCall("add", { a: 1, b: 1 }),
        "Done.",
        MockResponse.toolCall("add", { a: 1, b: 1 }),
        MockResponse.fail(overloaded),
        "Done."
      )))
    ))

  it.effect("needs no approval: whoever invokes a tool approves of it", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      assert.strictEqual(yield* session.invoke(Guarded, {}), "opened")
    }).pipe(provided))

  it.effect("keeps the tool's policy, and says so where there is no result", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const fiber = yield* Effect.forkChild(session.invoke(Never, {}))
      yield* settleDown
      yield* TestClock.adjust("1 second")
      const reason = reasonOf(yield* Fiber.await(fiber))
      assert.strictEqual(reason?._tag, "CallUnanswered")
      assert.strictEqual(
        reason?.message,
        "Call \"invoked\" of tool \"never\" has no result from its handler: The tool \"never\" timed out."
      )
      assert.deepStrictEqual(problems((yield* session.state).conversation), [])
      assert.strictEqual((yield* session.state).status._tag, "InProgress")
    }).pipe(provided))

  it.effect("has the words of guardrails that refuse the error of a fatal tool", () => {
    const Refuse = Tool.make("refuse", { failure: Schema.String })
    const Kit = Toolkit.make(Refuse)
    const refuser = Agent.make("refuser", {
      toolkit: Kit,
      fatal: ["refuse"],
      guardrails: { toolResult: [Guardrail.make("no", () => Guardrail.block("secret"))] }
    })
    return Effect.gen(function*() {
      const session = yield* Session.make(refuser)
      const reason = reasonOf(yield* Effect.exit(session.invoke(Refuse, {})))
      assert.strictEqual(reason?._tag, "CallUnanswered")
      assert.include(reason?.message, "secret")
    }).pipe(
      Effect.scoped,
      Effect.provide(Kit.toLayer({ refuse: () => Effect.fail("broken") })),
      Effect.provide(MockModel.layer(MockModel.queue()))
    )
  })

  it.effect("of a tool that the agent doesn't have, or of wrong parameters, is refused and not recorded", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const state = yield* session.state
      const unknown = Tool.make("unknown")
      const other = Tool.make("add", { success: Schema.String })
      for (const tool of [unknown, other]) {
        const reason = reasonOf(yield* Effect.exit(session.invoke(tool, {})))
        assert.deepStrictEqual(
          reason,
          new Session.ToolNotFound({
            agent: "clerk",
            tool: tool.name,
            available: ["add", "later", "refuse", "guarded", "never", "crash", "positive"]
          })
        )
        assert.match(
          reason?.message ?? "",
          tool === unknown ? /has no tool "unknown"/ : /^The tool "add" .* has other schemas/
        )
      }
      const rejected = reasonOf(yield* Effect.exit(session.invoke(Positive, { n: 0 })))
      assert.strictEqual(rejected?._tag, "ParametersRejected")
      assert.strictEqual(yield* session.state, state)
    }).pipe(provided))

  it.effect("is refused while calls are open", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk).pipe(
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("guarded", {}, { id: "g" }))))
      )
      const state = yield* session.call("Open")
      assert.deepStrictEqual(
        reasonOf(yield* Effect.exit(session.invoke(Add, { a: 1, b: 2 }))),
        new Session.CallsOpen({ tool: "add", callIds: ["g"] })
      )
      assert.strictEqual(yield* session.state, state)
    }).pipe(provided))

  it.effect("that is interrupted or crashes leaves a settled call", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(clerk)
      const fiber = yield* Effect.forkChild(session.invoke(Never, {}))
      yield* settleDown
      yield* Fiber.interrupt(fiber)
      const crashed = yield* Effect.exit(session.invoke(Crash, {}))
      assert.isTrue(Exit.isFailure(crashed) && Cause.hasDies(crashed.cause))
      const { conversation, status } = yield* session.state
      const outcomes = conversation.turns.flatMap((turn) =>
        turn._tag === "Assistant"
          ? Conversation.callsOf(turn).map(({ state }) => state._tag === "Settled" ? state.outcome : state._tag)
          : []
      )
      assert.deepStrictEqual(outcomes, ["Interrupted", "Failed"])
      assert.strictEqual(status._tag, "InProgress")
      assert.strictEqual(yield* session.invoke(Add, { a: 1, b: 1 }), 2)
    }).pipe(provided))
})

describe("Session.layer", () => {
  const failing = MockModel.layer(MockModel.queue(
    MockResponse.toolCall("refuse", {}),
    MockResponse.toolCall("refuse", {}),
    MockResponse.fail(overloaded)
  ))

  it.effect("puts an error of the agent's own into one that says whose it is", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const own = new Session.OwnError({ agent: "clerk", error: new Refused({ why: "it was old" }) })
      assert.deepStrictEqual(yield* Effect.flip(session.call("1")), own)
      assert.strictEqual((yield* session.state).status._tag, "Failed")
      assert.strictEqual(own.message, "Agent \"clerk\" failed: Refused")
      assert.deepStrictEqual(yield* Effect.flip(Stream.runDrain(session.stream("2"))), own)
      assert.strictEqual((yield* Effect.flip(session.call("3")))._tag, "AgentError")
      assert.deepStrictEqual(yield* Effect.flip(session.invoke(Refuse, {})), new Refused({ why: "it was old" }))
    }).pipe(Effect.provide(Session.layer(clerk)), Effect.provide(handlers), Effect.provide(failing)))

  it.effect("serves a service of one's own, whose errors keep their types", () => {
    class Desk extends Context.Service<Desk, Session.Of<typeof clerk>>()("test/Desk") {}
    return Effect.gen(function*() {
      const desk = yield* Desk
      const why = yield* desk.call("1").pipe(Effect.catchTag("Refused", (error) => Effect.succeed(error.why)))
      assert.strictEqual(why, "it was old")
    }).pipe(
      Effect.provide(Layer.effect(Desk, Session.make(clerk))),
      Effect.provide(handlers),
      Effect.provide(failing)
    )
  })

  it.effect("reads the answer of an agent with an output", () =>
    Effect.gen(function*() {
      const counter = Agent.make("counter", {
        output: Schema.Struct({ n: Schema.Finite }),
        stopWhen: StopWhen.maxSteps(2)
      })
      const session = yield* Session.make(counter)
      const state = yield* session.call("Count")
      assert.deepStrictEqual(AgentState.output(session, state), Result.succeed({ n: 3 }))
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("final_answer", { n: 3 }))))
    ))
})
