/**
 * The law of the log: a state is the fold of all its events from the first, whatever is done to a session.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema, Scope, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import {
  Agent,
  type AgentEvent,
  AgentState,
  Group,
  HandoffPolicy,
  Mode,
  ModeTransition,
  Session,
  ToolPolicy
} from "troupe"
import { Laws, MockModel, MockResponse } from "troupe/testing"
import { times } from "../matrix.ts"

const small = (limit: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: limit }))

/** What is asked of a session next, and after how many turns of the runtime it is interrupted. */
const Asked = Schema.Struct({
  what: Schema.Literals([
    "call",
    "call",
    "call",
    "stream",
    "leave",
    "resume",
    "resume",
    "goOn",
    "approve",
    "edit",
    "deny",
    "give",
    "misgive",
    "giveUp",
    "invoke",
    "configure",
    "pin",
    "unpin",
    "schedule",
    "enterMode",
    "exitMode",
    "within",
    "enter",
    "fork"
  ]),
  says: Schema.Literals(["text", "look", "guard", "both", "help", "order", "fail", "crash", "move"]),
  mode: Schema.Literals(["plain", "cut", "forked", "broken"]),
  isInterrupted: Schema.Literals([false, false, true]),
  interruptedAfter: small(40)
})
type Asked = typeof Asked.Type

const Life = Schema.Array(Asked).check(Schema.isMinLength(1), Schema.isMaxLength(12))

const Look = Tool.make("look", { success: Schema.String })
const Guarded = Tool.make("guarded", {
  parameters: Schema.Struct({ at: Schema.optionalKey(Schema.String) }),
  success: Schema.String,
  needsApproval: true
})
const Crash = Tool.make("crash")
const Move = Tool.make("move")
const Order = Tool.make("order", { success: Schema.String })
const Tools = Toolkit.make(Look, Guarded, Order, Crash, Move)
const handlers = Tools.toLayer({
  look: () => Effect.as(Effect.repeat(Effect.yieldNow, { times: 3 }), "a tree"),
  guarded: ({ at = "home" }) => Effect.as(Effect.yieldNow, `opened at ${at}`),
  order: () => Effect.andThen(Effect.yieldNow, ToolPolicy.deferResult),
  crash: () => Effect.die("boom"),
  move: () => Effect.orDie(Mode.schedule(ModeTransition.push("plain")))
})

const modes = {
  plain: Mode.make("plain", { enter: () => Effect.andThen(Effect.yieldNow, Mode.set("key", 1)), isolation: "config" }),
  cut: Mode.make("cut", { enter: () => Effect.yieldNow, exit: () => Effect.yieldNow, isolation: "thread" }),
  forked: Mode.make("forked", { enter: () => Mode.set("key", 2), isolation: "fork" }),
  broken: Mode.make("broken", { enter: () => Effect.andThen(Effect.yieldNow, Effect.fail("no")) })
}

const modeOf = (name: keyof typeof modes): Mode.Mode<string, {}, unknown> => modes[name]

const helper = Agent.make("helper", { toolkit: Tools })
const desk = Agent.make("desk", {
  toolkit: Tools,
  agents: [Agent.asTool(helper)],
  modes: [modes.plain, modes.cut, modes.forked, modes.broken]
})
const clerk = Agent.make("clerk", { toolkit: Tools })
const alone = desk
const team = Group.make({ desk, clerk }, { start: "desk", policy: HandoffPolicy.sequential(["desk", "clerk"]) })

const overloaded = AiError.make({
  module: "Test",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})

const answers = {
  text: MockResponse.text("Well."),
  look: MockResponse.toolCall("look", {}),
  guard: MockResponse.toolCall("guarded", {}),
  both: MockResponse.all(MockResponse.toolCall("guarded", {}), MockResponse.toolCall("look", {})),
  help: MockResponse.all(
    MockResponse.toolCall("helper", { task: "guard" }),
    MockResponse.toolCall("helper", { task: "order" })
  ),
  order: MockResponse.all(MockResponse.toolCall("order", {}), MockResponse.toolCall("look", {})),
  fail: MockResponse.fail(overloaded),
  crash: MockResponse.toolCall("crash", {}),
  move: MockResponse.toolCall("move", {})
} as const

const model = MockModel.layer(MockModel.make(({ lastToolResults, lastUserText, toolNames }) =>
  Effect.as(
    Effect.yieldNow,
    lastToolResults.length > 0 || !(lastUserText in answers) ||
      (lastUserText === "help" && !toolNames.includes("helper"))
      ? MockResponse.text("Done.")
      : answers[lastUserText as keyof typeof answers]
  )
))

type Log = Array<AgentEvent.AgentEvent>

const isPiece = ({ _tag }: AgentEvent.AgentEvent): boolean => _tag.endsWith("Delta")

/** The state before each event of a log, and the one after the last. */
const statesOf = (log: Log): ReadonlyArray<AgentState.AgentState> => {
  const states = [AgentState.make("desk")]
  for (const event of log) states.push(AgentState.reduce(states[states.length - 1]!, event))
  return states
}

/** Holds a state to the log that led to it, and so each that a run ends with, and every move on the way to those that are listed. */
const isFold = (log: Log, state: AgentState.AgentState): void => {
  const states = statesOf(log)
  for (const [index, event] of log.entries()) {
    if ("state" in event && event.calls.length === 0) assert.deepStrictEqual(event.state, states[index + 1])
  }
  assert.deepStrictEqual(states[states.length - 1], state)
  assert.deepStrictEqual(Laws.illegalMoves(states), [])
}

/** Holds the ids of runs, and where the log stands at each start, to the log. */
const isNumbered = (log: Log): void => {
  const states = statesOf(log)
  const runs: Array<string> = []
  for (const [index, event] of log.entries()) {
    assert.notStrictEqual(event.run, "", event._tag)
    if (event._tag !== "RunStarted" || event.calls.length > 0) continue
    const earlier = log.slice(0, index).filter((event) => !isPiece(event))
    const before = states[index]!
    assert.deepStrictEqual(event.position, {
      turns: before.conversation.turns.length,
      steps: before.steps,
      events: earlier.length
    })
    const previous = earlier.findLast(({ _tag }) => _tag === "RunStarted")
    if (event.input !== undefined) assert.notInclude(runs, event.run)
    else if (previous !== undefined) assert.strictEqual(event.run, previous.run)
    runs.push(event.run)
  }
}

/** Lives a life, and holds each state in it to the events until then. */
const live = (self: typeof alone | typeof team, life: ReadonlyArray<Asked>) => {
  let log: Log = []
  const lived = Effect.gen(function*() {
    const session = yield* Session.make(self as typeof team)
    type Held = typeof session
    const scope = yield* Effect.scope
    const answered = (held: Held, answer: (callId: string) => Effect.Effect<unknown, unknown>) =>
      Effect.flatMap(held.state, (state) => {
        const [first] = AgentState.pendingApprovals(state)
        return first === undefined ? Effect.void : answer(first.callId)
      })
    const given = (held: Held, give: (callId: string) => Effect.Effect<unknown, unknown>) =>
      Effect.flatMap(held.state, (state) => {
        const [first] = AgentState.pendingResults(state)
        return first === undefined ? Effect.void : give(first.callId)
      })
    const operations: Record<
      Exclude<Asked["what"], "fork">,
      (held: Held, asked: Asked) => Effect.Effect<unknown, unknown>
    > = {
      call: (held, { says }) => held.call(says),
      stream: (held, { says }) => Stream.runDrain(held.stream(says)),
      goOn: (held, { says }) => Effect.andThen(Effect.exit(held.call(says === "text" ? "fail" : says)), held.resume),
      leave: (held, { says }) => Stream.runDrain(Stream.take(held.stream(says), 6)),
      resume: (held) => held.resume,
      approve: (held) => answered(held, (id) => held.approve(id)),
      edit: (held) => answered(held, (id) => held.approve(id, { params: { at: "work" } })),
      deny: (held) => answered(held, (id) => held.deny(id, "no")),
      give: (held) => given(held, (id) => held.giveResult(id, "It is here.")),
      misgive: (held) => given(held, (id) => held.giveResult(id, 7)),
      giveUp: (held) => given(held, (id) => held.giveFailure(id, "It is lost.")),
      invoke: (held, { says }) =>
        held.invoke(says === "crash" ? Crash : says === "order" ? Order : says === "guard" ? Guarded : Look, {}),
      configure: (held, { says }) => held.configure(says === "look" ? { tools: ["look"] } : { toolChoice: "auto" }),
      pin: (held, { interruptedAfter }) => held.pin(interruptedAfter % 4),
      unpin: (held, { interruptedAfter }) => held.unpin(interruptedAfter % 4),
      schedule: (held, { mode, says }) =>
        held.schedule(
          says === "text"
            ? ModeTransition.exit
            : says === "look"
            ? ModeTransition.switch(mode)
            : ModeTransition.push(mode)
        ),
      enterMode: (held, { mode }) => held.enterMode(mode),
      exitMode: (held) => held.exitMode(),
      within: (held, { mode, says }) =>
        Effect.provideService(Mode.within(held.call(says), modeOf(mode)), Mode.Host, held),
      enter: (held, { mode }) =>
        Effect.provideService(Mode.enter(modeOf(mode)), Mode.Host, held).pipe(Scope.provide(scope))
    }
    const perform = (held: Held, { what, ...asked }: Asked) =>
      what === "fork" ? Effect.void : operations[what](held, { what, ...asked })
    const doAll = (held: Held, asked: Asked) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.exit(perform(held, asked)), { startImmediately: true })
        if (asked.isInterrupted) {
          yield* Effect.repeat(Effect.yieldNow, { times: asked.interruptedAfter })
          yield* Fiber.interrupt(fiber)
        } else yield* Fiber.await(fiber)
        isFold(log, yield* held.state)
        isNumbered(log)
      })
    for (const [index, asked] of life.entries()) {
      if (asked.what !== "fork") {
        yield* doAll(session, asked)
        continue
      }
      const before = log
      log = [...before]
      yield* Effect.scoped(Effect.gen(function*() {
        const fork = yield* session.fork
        for (const next of life.slice(index + 1, index + 3)) {
          const fiber = yield* Effect.forkChild(Effect.exit(perform(fork, next)), { startImmediately: true })
          yield* Fiber.await(fiber)
          isFold(log, yield* fork.state)
        }
      }))
      log = before
      isFold(log, yield* session.state)
    }
    return session
  })
  return Effect.gen(function*() {
    const session = yield* Agent.observe(Effect.scoped(lived), (event) => Effect.sync(() => void log.push(event)))
    isFold(log, yield* session.state)
    isNumbered(log)
  }).pipe(Effect.provide(handlers), Effect.provide(Layer.fresh(model)))
}

describe("A session's log", () => {
  it.effect.prop("has all that its state is made of", [Life], ([life]) => live(alone, life), {
    arbitrary: { runs: times(100, 35) }
  })

  it.effect.prop("has all of a group's state", [Life], ([life]) => live(team, life), {
    arbitrary: { runs: times(100, 35) }
  })
})
