/**
 * Modes side by side: of conversations that know nothing of each other, and of fibers that share one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Latch, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Mode, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { sent, stackOf } from "./sent.ts"

const assistant = Agent.make("assistant", { instructions: "Be brief." })

/** A mode that says in the prompt and in its values whose it is. */
const research = Mode.make("research", {
  params: Schema.Struct({ topic: Schema.String }),
  enter: ({ topic }) => SystemPrompt.append(`About ${topic}.`)
})

const inSession = <A, E, R>(session: Mode.Enterable, self: Effect.Effect<A, E, R>) =>
  Effect.provideService(self, Mode.Host, session)

/** Lets whoever comes wait until so many have come. */
const makeGathering = (count: number) => {
  const all = Latch.makeUnsafe(false)
  let here = 0
  return Effect.suspend(() => {
    if (++here === count) all.openUnsafe()
    return all.await
  })
}

/** What a conversation knows of itself in the middle of a mode. */
const seen = Effect.gen(function*() {
  return { stack: yield* Mode.stack, topic: yield* Mode.get("topic"), all: yield* Mode.all }
})

describe("Sessions side by side", () => {
  it.effect("don't see each other's modes, prompts and values, also while both are in the middle of a call", () =>
    Effect.gen(function*() {
      const gathering = makeGathering(2)
      const model = MockModel.layer(MockModel.make(({ system }) => Effect.as(gathering, system)))
      yield* Effect.gen(function*() {
        const [first, second] = [yield* Session.make(assistant), yield* Session.make(assistant)]
        const one = inSession(
          first,
          Mode.within(Effect.zip(first.call("Hello"), seen), research, { topic: "quantum" })
        )
        const [[state, within], other] = yield* Effect.all([one, second.call("Hello")], { concurrency: 2 })
        assert.strictEqual(AgentState.text(state), "Be brief.\n\nYou are in mode \"research\".\n\nAbout quantum.")
        assert.strictEqual(AgentState.text(other), "Be brief.")
        assert.deepStrictEqual(within, { stack: ["research"], topic: "quantum", all: { topic: "quantum" } })
        assert.deepStrictEqual(stackOf(other), [])
        assert.deepStrictEqual(other.prompt, [])
        const none = yield* Effect.flip(inSession(second, Mode.get("topic")))
        assert.strictEqual(none.reason._tag, "NoMode")
      }).pipe(Effect.scoped, Effect.provide(model))
    }))

  it.effect("don't see each other's modes where there are a thousand, all of them entered at once", () =>
    Effect.gen(function*() {
      const count = 1_000
      const gathering = makeGathering(count)
      const left: Array<number> = []
      const numbered = Mode.make("numbered", {
        params: Schema.Struct({ n: Schema.Int }),
        enter: Effect.fn(function*({ n }) {
          yield* Effect.addFinalizer(() => Effect.sync(() => left.push(n)))
          yield* SystemPrompt.append(`${n}`)
          if (n % 2 === 0) yield* Mode.set("isEven", true)
        })
      })
      const numbering = Agent.make("numbering", { modes: [numbered] })
      const model = MockModel.layer(MockModel.make(({ system }) => Effect.as(gathering, system)))
      const one = (n: number) =>
        Effect.scoped(Effect.gen(function*() {
          const session = yield* Session.make(numbering)
          yield* session.enterMode("numbered", { n })
          const state = yield* session.call("Who are you?")
          const all = yield* inSession(session, Mode.all)
          const after = yield* session.exitMode()
          return {
            said: AgentState.text(state),
            stack: stackOf(state),
            all,
            prompt: after.prompt,
            after: stackOf(after)
          }
        }))
      const numbers = Array.from({ length: count }, (_, n) => n)
      const all = yield* Effect.forEach(numbers, one, { concurrency: "unbounded" }).pipe(Effect.provide(model))
      assert.deepStrictEqual(
        all,
        numbers.map((n) => ({
          said: `You are in mode "numbered".\n\n${n}`,
          stack: ["numbered"],
          all: n % 2 === 0 ? { n, isEven: true } : { n },
          prompt: [],
          after: []
        }))
      )
      assert.deepStrictEqual(left.toSorted((a, b) => a - b), numbers)
    }))

  it.effect("run a mode that is used alone with the services of whoever enters it", () =>
    Effect.gen(function*() {
      class Tenant extends Context.Service<Tenant, string>()("test/Tenant") {}
      const Lookup = Toolkit.make(Tool.make("lookup", { success: Schema.String, dependencies: [Tenant] }))
      const log: Array<string> = []
      const say = (what: string) => Effect.flatMap(Tenant, (tenant) => Effect.sync(() => log.push(`${what} ${tenant}`)))
      const serving = Mode.make("serving", {
        enter: Effect.fn(function*() {
          yield* SystemPrompt.append(`You serve ${yield* Tenant}.`)
          yield* Effect.addFinalizer(() => Effect.orDie(say("~")))
          yield* say("+")
        }, Effect.orDie),
        exit: () => Effect.orDie(Effect.asVoid(say("-"))),
        toolkit: Lookup
      })
      const gathering = makeGathering(2)
      const model = MockModel.layer(MockModel.make(({ lastToolResults, system }) =>
        lastToolResults.length === 0
          ? MockResponse.toolCall("lookup", {})
          : Effect.as(gathering, `${system} ${lastToolResults.map(({ result }) => String(result)).join()}`)
      ))
      const lookup = (by: string) =>
        Lookup.toLayer({ lookup: () => Effect.map(Tenant, (tenant) => `${tenant}, looked up by ${by}`) })
      const one = (tenant: string) =>
        Effect.gen(function*() {
          const session = yield* Effect.provide(Session.make(assistant), [
            Layer.succeed(Tenant, "the house"),
            lookup("the house")
          ])
          const state = yield* inSession(session, Mode.within(session.call("Who?"), serving)).pipe(
            Effect.provide([Layer.succeed(Tenant, tenant), lookup(tenant.toLowerCase())])
          )
          return AgentState.text(state)
        })
      const said = yield* Effect.all([one("Ada"), one("Bob")], { concurrency: 2 }).pipe(
        Effect.scoped,
        Effect.provide(model)
      )
      const told = (tenant: string) =>
        `Be brief.\n\nYou are in mode "serving".\n\nYou serve ${tenant}. ${tenant}, looked up by ${tenant.toLowerCase()}`
      assert.deepStrictEqual(said, [told("Ada"), told("Bob")])
      for (const tenant of ["Ada", "Bob"]) {
        assert.deepStrictEqual(log.filter((line) => line.endsWith(tenant)), [
          `+ ${tenant}`,
          `- ${tenant}`,
          `~ ${tenant}`
        ])
      }
    }))

  it.effect("keep their own modes where one runs inside the other's", () =>
    Effect.gen(function*() {
      const Ask = Toolkit.make(Tool.make("ask", { success: Schema.String }))
      const Where = Toolkit.make(Tool.make("where", { success: Schema.String }))
      const where = Effect.orDie(Effect.map(Mode.stack, (stack) => stack.join(" > ") || "nowhere"))
      const call = (tool: string) =>
        MockModel.make(({ lastToolResults }) =>
          lastToolResults.length === 0
            ? MockResponse.toolCall(tool, {})
            : lastToolResults.map(({ result }) => String(result)).join()
        )
      const outer = Agent.make("outer", { toolkit: Ask })
      const inner = Agent.make("inner", { toolkit: Where })
      yield* Effect.gen(function*() {
        const asked = yield* Session.make(inner).pipe(
          Effect.provide([Where.toLayer({ where: () => where }), MockModel.layer(call("where"))])
        )
        const asking = yield* Session.make(outer).pipe(Effect.provide([
          Ask.toLayer({
            ask: () =>
              Effect.orDie(Effect.gen(function*() {
                const state = yield* asked.call("Where are you?")
                return `${yield* where}; the other: ${AgentState.text(state)}`
              }))
          }),
          MockModel.layer(call("ask"))
        ]))
        const state = yield* inSession(
          asking,
          Mode.within(asking.call("Ask"), research, { topic: "quantum" })
        )
        assert.strictEqual(AgentState.text(state), "research; the other: nowhere")
        const both = yield* inSession(
          asked,
          Mode.within(asking.call("Ask"), research, { topic: "bees" })
        )
        assert.strictEqual(AgentState.text(both), "nowhere; the other: research")
      }).pipe(Effect.scoped)
    }))

  it.effect("share nothing after a fork: each leaves its own modes, with a set-up of its own", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const logging = Mode.make("logging", {
        enter: (_, { isResumed }) =>
          Effect.andThen(
            Effect.sync(() => log.push(isResumed ? "again" : "entered")),
            Effect.addFinalizer(() => Effect.sync(() => log.push("closed")))
          )
      })
      const logger = Agent.make("logger", { modes: [logging] })
      yield* Effect.gen(function*() {
        const session = yield* Session.make(logger)
        yield* session.enterMode("logging")
        const forked = yield* session.fork
        assert.deepStrictEqual(log, ["entered", "again"])
        assert.deepStrictEqual(stackOf(yield* forked.exitMode()), [])
        assert.deepStrictEqual(log, ["entered", "again", "closed"])
        assert.deepStrictEqual(stackOf(yield* session.state), ["logging"])
      }).pipe(Effect.scoped, Effect.provide(MockModel.layer(MockModel.queue())))
      assert.deepStrictEqual(log, ["entered", "again", "closed", "closed"])
    }))
})

describe("Runs side by side", () => {
  it.effect("of one agent enter its modes each for itself", () =>
    Effect.gen(function*() {
      const gathering = makeGathering(3)
      const researcher = Agent.make("researcher", {
        modes: [
          Mode.make("research", {
            params: Schema.Struct({ topic: Schema.String }),
            invokable: true,
            enter: ({ topic }) => SystemPrompt.append(`About ${topic}.`)
          })
        ]
      })
      const model = MockModel.layer(MockModel.make(({ lastUserText, system }) =>
        system === "" ? MockResponse.toolCall("enter_research_mode", { topic: lastUserText }) : Effect.as(
          gathering,
          system
        )
      ))
      const topics = ["bees", "quantum", "tea"]
      const states = yield* Effect.forEach(topics, (topic) =>
        Agent.run(researcher, topic), { concurrency: 3 }).pipe(
          Effect.provide(model)
        )
      assert.deepStrictEqual(
        states.map((state) => [AgentState.text(state), state.modes.map(({ params }) => params)]),
        topics.map((topic) => [`You are in mode "research".\n\nAbout ${topic}.`, [{ topic }]])
      )
    }))
})

describe("Fibers that share a session", () => {
  /** Modes that record what happens to them. */
  const recorder = () => {
    const log: Array<string> = []
    const mode = (name: string) =>
      Mode.make(name, {
        enter: () =>
          Effect.andThen(
            Effect.sync(() => log.push(`+${name}`)),
            Effect.addFinalizer((exit) => Effect.sync(() => log.push(`~${name} ${exit._tag}`)))
          ),
        exit: (exit) => Effect.sync(() => void log.push(`-${name} ${exit._tag}`))
      })
    return { log, mode }
  }
  const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))

  it.effect("share its modes: what one enters, the other is in", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const isIn = yield* Deferred.make<void>()
      const isDone = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(Mode.within(
        Effect.andThen(Deferred.succeed(isIn, undefined), Deferred.await(isDone)),
        research,
        { topic: "quantum" }
      ))
      yield* Deferred.await(isIn)
      assert.strictEqual(yield* Mode.get("topic"), "quantum")
      yield* session.call("Hello")
      yield* Deferred.succeed(isDone, undefined)
      yield* Fiber.join(fiber)
      yield* session.call("Hello again")
      assert.deepStrictEqual((yield* sent).map(({ system }) => system), [
        "Be brief.\n\nYou are in mode \"research\".\n\nAbout quantum.",
        "Be brief."
      ])
    }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(echo)))

  it.effect("leave a mode that nothing cleans up when what is under way in it is over", () =>
    Effect.gen(function*() {
      const gate = Latch.makeUnsafe(false)
      const session = yield* Session.make(assistant).pipe(
        Effect.provide(MockModel.layer(MockModel.make(() => Effect.as(gate.await, "Late."))))
      )
      const calling = yield* Deferred.make<Fiber.Fiber<AgentState.AgentState, unknown>>()
      const call = Effect.forkDetach(session.call("Hello"), { startImmediately: true })
      const leaving = yield* Effect.forkChild(
        inSession(
          session,
          Mode.within(
            Effect.flatMap(call, (fiber) => Deferred.succeed(calling, fiber)),
            research,
            { topic: "quantum" }
          )
        ),
        { startImmediately: true }
      )
      const called = yield* Deferred.await(calling)
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      assert.isUndefined(leaving.pollUnsafe())
      assert.deepStrictEqual(stackOf(yield* session.state), ["research"])
      yield* gate.open
      assert.deepStrictEqual(stackOf(yield* Fiber.join(called)), ["research"])
      yield* Fiber.join(leaving)
      assert.deepStrictEqual(stackOf(yield* session.state), [])
    }).pipe(Effect.scoped))

  it.effect("leave in the order of the stack: who leaves the lower mode leaves those above it first, once each", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const entered = { lower: yield* Deferred.make<void>(), upper: yield* Deferred.make<void>() }
      const done = { lower: yield* Deferred.make<void>(), upper: yield* Deferred.make<void>() }
      const { events } = yield* watch(Effect.gen(function*() {
        const lower = yield* Effect.forkChild(Mode.within(
          Effect.andThen(Deferred.succeed(entered.lower, undefined), Deferred.await(done.lower)),
          mode("lower")
        ))
        yield* Deferred.await(entered.lower)
        const upper = yield* Effect.forkChild(Mode.within(
          Effect.andThen(Deferred.succeed(entered.upper, undefined), Effect.as(Deferred.await(done.upper), "upper's")),
          mode("upper")
        ))
        yield* Deferred.await(entered.upper)
        assert.deepStrictEqual(yield* Mode.stack, ["lower", "upper"])
        yield* Deferred.succeed(done.lower, undefined)
        yield* Fiber.join(lower)
        assert.deepStrictEqual(yield* Mode.stack, [])
        assert.deepStrictEqual(log, [
          "+lower",
          "+upper",
          "-upper Success",
          "~upper Success",
          "-lower Success",
          "~lower Success"
        ])
        yield* Deferred.succeed(done.upper, undefined)
        assert.strictEqual(yield* Fiber.join(upper), "upper's")
      }))
      assert.strictEqual(log.length, 6)
      assert.deepStrictEqual(ofTag(events, "ModeExited").map(({ name }) => name), ["upper", "lower"])
    }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(echo)))

  it.effect("leave nothing behind when one is interrupted in the other's mode", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const isIn = yield* Deferred.make<void>()
      const state = yield* Mode.within(
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(
            Mode.within(Effect.andThen(Deferred.succeed(isIn, undefined), Effect.never), mode("upper"))
          )
          yield* Deferred.await(isIn)
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual(yield* Mode.stack, ["lower"])
          return yield* Effect.flatMap(Session.Session, (session) => session.call("Hello"))
        }),
        mode("lower")
      )
      assert.deepStrictEqual(stackOf(state), ["lower"])
      assert.deepStrictEqual(log, [
        "+lower",
        "+upper",
        "-upper Failure",
        "~upper Failure",
        "-lower Success",
        "~lower Success"
      ])
    }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(echo)))

  it.effect("enter and leave one at a time, however many there are, and the stack is never torn", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const session = yield* Session.Session
      const one = (n: number) => Mode.within(session.call(`${n}`), mode(`m${n}`))
      const { events } = yield* watch(Effect.forEach(Array.from({ length: 40 }, (_, n) => n), one, { concurrency: 40 }))
      const state = yield* session.state
      assert.deepStrictEqual([stackOf(state), state.prompt, state.conversation.turns.length], [[], [], 80])
      // Each event names the stack that the one before it left.
      let stack: ReadonlyArray<string> = []
      for (const event of events) {
        if (event._tag === "ModeEntered") {
          assert.deepStrictEqual(event.stack, [...stack, event.name])
          stack = event.stack
        } else if (event._tag === "ModeExited") {
          assert.deepStrictEqual([...event.stack, event.name], stack)
          stack = event.stack
        }
      }
      assert.deepStrictEqual(stack, [])
      for (const sign of ["+", "-", "~"]) {
        assert.strictEqual(new Set(log.filter((line) => line.startsWith(sign))).size, 40)
      }
      assert.strictEqual(log.length, 120)
    }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(echo)))

  it.effect("lose no change of the other's, though each change waits for the same call", () => {
    const isAsked = Latch.makeUnsafe(false)
    const mayAnswer = Latch.makeUnsafe(false)
    const answer = Effect.as(Effect.andThen(isAsked.open, mayAnswer.await), "Seen.")
    const counting = Mode.make("counting", { isolation: "thread", enter: () => Mode.set("n", 0) })
    const Look = Toolkit.make(Tool.make("look"))
    return Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.enterMode("counting")
      const start = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.forkChild(self, { startImmediately: true })
      const call = yield* start(session.call("Hello"))
      yield* isAsked.await
      const changes = yield* Effect.forEach([
        ...Array.from({ length: 10 }, () => Mode.update("n", (n) => Number(n) + 1)),
        Mode.configure({ tools: ["look"] }),
        Mode.configure({ toolChoice: "none" }),
        Mode.updateView((conversation) => conversation)
      ], start)
      yield* mayAnswer.open
      yield* Fiber.joinAll([call, ...changes])
      assert.strictEqual(yield* Mode.get("n"), 10)
      const { conversation, settings } = yield* session.state
      assert.deepStrictEqual(settings, { tools: ["look"], toolChoice: "none" })
      assert.strictEqual(conversation.turns.length, 2)
    }).pipe(
      Effect.provide(Session.layer(Agent.make("assistant", { modes: [counting], toolkit: Look }))),
      Effect.provide(Look.toLayer({ look: () => Effect.void })),
      Effect.provide(MockModel.layer(MockModel.make(() => answer)))
    )
  })

  it.effect("are told that the mode of a change was left before it", () => {
    const isAsked = Latch.makeUnsafe(false)
    const mayAnswer = Latch.makeUnsafe(false)
    const answer = Effect.as(Effect.andThen(isAsked.open, mayAnswer.await), "Seen.")
    return Effect.gen(function*() {
      const session = yield* Session.Session
      const start = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.forkChild(self, { startImmediately: true })
      const within = yield* start(Mode.within(session.call("Hello"), Mode.make("short", { enter: () => Effect.void })))
      yield* isAsked.await
      const leaving = yield* start(session.exitMode())
      const late = yield* start(Mode.set("n", 1))
      yield* mayAnswer.open
      yield* Fiber.joinAll([within, leaving])
      assert.strictEqual((yield* Effect.flip(Fiber.join(late))).reason._tag, "NoMode")
    }).pipe(Effect.provide(Session.layer(assistant)), Effect.provide(MockModel.layer(MockModel.make(() => answer))))
  })
})
