import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Scope } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import {
  Agent,
  AgentError,
  AgentPicker,
  AgentState,
  Group,
  Handoff,
  Mode,
  ModeTransition,
  Session,
  SystemPrompt
} from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { callsIn } from "../domain/legal.ts"
import { ends, reasonOf, said, sent, stackOf } from "./sent.ts"

const echo = Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`)))

const Guarded = Toolkit.make(Tool.make("guarded", { success: Schema.String, needsApproval: true }))

/** A state as another process reads it. */
const throughJson = (state: AgentState.AgentState): AgentState.AgentState =>
  Result.getOrThrow(AgentState.fromJson(JSON.parse(JSON.stringify(AgentState.toJson(state)))))

/** Modes that keep a record of how they are entered and left. */
const recorder = () => {
  const log: Array<string> = []
  const mode = (
    name: string,
    options: { readonly isolation?: "none" | "thread" | "fork"; readonly invokable?: boolean } = {}
  ) =>
    Mode.make(name, {
      ...options,
      params: Schema.Struct({ n: Schema.optionalKey(Schema.Int) }),
      enter: ({ n }, { isResumed }) =>
        Effect.gen(function*() {
          log.push(`${isResumed ? "again" : "+"} ${name}${n === undefined ? "" : ` ${n}`}`)
          yield* Effect.addFinalizer(() => Effect.sync(() => log.push(`~ ${name}`)))
          if (isResumed) return
          yield* SystemPrompt.append(`Prompt of ${name}.`)
          yield* Mode.set(name, "set")
        }),
      exit: () => Effect.sync(() => void log.push(`- ${name}`))
    })
  return { log, mode }
}

/** An agent with modes, and the state of a session of it that was left in the middle of two of them. */
const inTwo = Effect.gen(function*() {
  const { log, mode } = recorder()
  const modes = [mode("outer", { isolation: "thread" }), mode("inner", { isolation: "fork" })]
  const agent = Agent.make("a", { instructions: "Be brief.", modes })
  const state = yield* Effect.scoped(Effect.gen(function*() {
    const session = yield* Session.make(agent)
    yield* session.call("Before")
    yield* session.enterMode("outer", { n: 1 })
    yield* session.call("In outer")
    yield* session.enterMode("inner", { n: 2 })
    return yield* session.call("In inner")
  }))
  log.length = 0
  return { log, agent, state }
})

const inside = [
  "Be brief.",
  "You are in mode \"inner\", inside \"outer\".",
  "Prompt of outer.",
  "Prompt of inner."
].join("\n\n")

describe("A state that was stored in modes", () => {
  it.effect("is JSON, and the same when it is read", () =>
    Effect.gen(function*() {
      const { state } = yield* inTwo
      assert.deepStrictEqual(throughJson(state), state)
    }).pipe(echo))

  it.effect("resumes in them in a session: each is told, from the bottom, and leaves as if nothing had been", () =>
    Effect.gen(function*() {
      const { agent, log, state } = yield* inTwo
      const before = yield* MockModel.calls
      const session = yield* Session.make(agent, { state: throughJson(state) })
      assert.deepStrictEqual(log, ["again outer 1", "again inner 2"])
      assert.deepStrictEqual(yield* session.state, state)
      yield* session.call("Again")
      assert.strictEqual((yield* sent)[before.length]?.system, inside)
      const values = yield* Mode.all.pipe(Effect.provideService(Mode.Host, session))
      assert.deepStrictEqual(values, { n: 2, inner: "set" })
      const outer = yield* session.exitMode()
      assert.deepStrictEqual(said(outer), [
        "User: Before",
        "Assistant: Re: Before",
        "User: In outer",
        "Assistant: Re: In outer"
      ])
      assert.deepStrictEqual(
        yield* Mode.all.pipe(Effect.provideService(Mode.Host, session)),
        { n: 1, outer: "set" }
      )
      const left = yield* session.exitMode()
      assert.deepStrictEqual(left.prompt, [])
      assert.deepStrictEqual(log.slice(2), ["- inner", "~ inner", "- outer", "~ outer"])
    }).pipe(Effect.scoped, echo))

  it.effect("resumes in them where the conversation is continued, and stays in them", () =>
    Effect.gen(function*() {
      const { agent, log, state } = yield* inTwo
      const before = yield* MockModel.calls
      const next = yield* Agent.continueConversation(agent, throughJson(state), "Next")
      assert.deepStrictEqual(log, ["again outer 1", "again inner 2", "~ inner", "~ outer"])
      assert.deepStrictEqual(stackOf(next), ["outer", "inner"])
      assert.strictEqual((yield* sent)[before.length]?.system, inside)
      assert.deepStrictEqual(next.prompt, state.prompt)
      const third = yield* Agent.continueConversation(agent, throughJson(next), "Third")
      assert.deepStrictEqual(third.modes, state.modes)
    }).pipe(echo))

  it.effect("resumes in them where a run goes on, and not where nothing is left of it", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { toolkit: Guarded, modes: [mode("m", { invokable: true })] })
      const waiting = yield* Agent.run(agent, "Go")
      assert.deepStrictEqual(log, ["+ m", "~ m"])
      assert.deepStrictEqual(stackOf(waiting), ["m"])
      const [call] = AgentState.pendingApprovals(waiting)
      const approved = Result.getOrThrow(AgentState.approve(throughJson(waiting), call!.callId))
      const { events, exit } = yield* watch(Agent.resume(agent, approved))
      const done = yield* exit
      assert.strictEqual(AgentState.text(done), "Done.")
      assert.deepStrictEqual((yield* sent).at(-1)?.messages.at(-1), "tool: \"m\"")
      assert.deepStrictEqual(log, ["+ m", "~ m", "again m", "~ m"])
      assert.isTrue(ofTag(events, "ModeEntering")[0]?.isResumed)
      yield* Agent.resume(agent, throughJson(done))
      assert.deepStrictEqual(log.length, 4)
    }).pipe(
      Effect.provide(Guarded.toLayer({ guarded: () => Effect.orDie(Effect.map(Mode.stack, (stack) => stack.join())) })),
      Effect.provide(MockModel.layer(MockModel.queue(
        MockResponse.toolCall("enter_m_mode", {}),
        MockResponse.toolCall("guarded", {}),
        "Done."
      )))
    ))

  it.effect("lets a set-up that resumes see its own mode on top", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const looking = (name: string) =>
        Mode.make(name, {
          params: Schema.Struct({ of: Schema.String }),
          enter: () =>
            Effect.gen(function*() {
              seen.push([yield* Mode.name, yield* Mode.stack, yield* Mode.get("of")])
            })
        })
      const agent = Agent.make("a", { modes: [looking("outer"), looking("inner")] })
      const state = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("outer", { of: "outer" })
        return yield* session.enterMode("inner", { of: "inner" })
      }))
      const first = seen.splice(0)
      yield* Session.make(agent, { state: throughJson(state) })
      assert.deepStrictEqual(seen, first)
    }).pipe(Effect.scoped, echo))

  it.effect("keeps for each mode what its set-up changes on resuming, and not for those above", () =>
    Effect.gen(function*() {
      const counting = (name: string) =>
        Mode.make(name, {
          enter: (_, { isResumed }) =>
            Effect.gen(function*() {
              yield* Mode.update("times", (times) => typeof times === "number" ? times + 1 : 1)
              if (isResumed) yield* SystemPrompt.append(`${name} again.`)
            })
        })
      const agent = Agent.make("a", { modes: [counting("outer"), counting("inner")] })
      const state = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("outer")
        return yield* session.enterMode("inner")
      }))
      assert.deepStrictEqual(state.modes.map(({ values }) => values), [{ times: 1 }, { times: 2 }])
      const session = yield* Session.make(agent, { state: throughJson(state) })
      const resumed = yield* session.state
      assert.deepStrictEqual(resumed.modes.map(({ values }) => values), [{ times: 2 }, { times: 3 }])
      yield* session.exitMode()
      yield* session.call("Hello")
      assert.strictEqual((yield* sent)[0]?.system, "You are in mode \"outer\".\n\nouter again.")
    }).pipe(Effect.scoped, echo))

  it.effect("has each piece of the prompt once, however often a set-up that adds it resumes", () =>
    Effect.gen(function*() {
      const naive = (name: string) =>
        Mode.make(name, {
          enter: () =>
            Effect.andThen(
              SystemPrompt.append(`${name}: cite.`),
              SystemPrompt.section("s", name, { persist: name === "inner" })
            )
        })
      const agent = Agent.make("a", { modes: [naive("outer"), naive("inner")] })
      const state = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("outer")
        return yield* session.enterMode("inner")
      }))
      const next = yield* Agent.continueConversation(agent, throughJson(state), "One")
      const last = yield* Agent.continueConversation(agent, throughJson(next), "Two")
      assert.deepStrictEqual(last.prompt, state.prompt)
    }).pipe(echo))

  it.effect("keeps its values where a set-up that resumes sets the first ones again", () =>
    Effect.gen(function*() {
      const counting = Mode.make("counting", {
        enter: (_, { isResumed }) =>
          Effect.gen(function*() {
            yield* Mode.set("depth", 1)
            yield* Mode.update("visits", (visits) => Number(visits ?? 0) + 1)
            if (!isResumed) return
            yield* Mode.set("back", 1)
            yield* Mode.set("back", 2)
          })
      })
      const agent = Agent.make("a", { modes: [counting] })
      const state = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("counting")
        yield* Mode.set("depth", 5).pipe(Effect.provideService(Mode.Host, session))
        return yield* session.state
      }))
      const session = yield* Session.make(agent, { state: throughJson(state) })
      const values = yield* Mode.all.pipe(Effect.provideService(Mode.Host, session))
      assert.deepStrictEqual(values, { depth: 5, visits: 2, back: 2 })
    }).pipe(Effect.scoped, echo))

  it.effect("resumes in a mode that another one's set-up enters, once, and leaves it with that", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const inner = Mode.make("inner", {
        params: Schema.Struct({ n: Schema.Int }),
        enter: ({ n }, { isResumed }) => Effect.sync(() => log.push(`${isResumed ? "again" : "+"} inner ${n}`)),
        exit: () => Effect.sync(() => void log.push("- inner"))
      })
      const outer = Mode.make("outer", {
        enter: () => Mode.enter(inner, { n: 1 }),
        exit: () => Effect.sync(() => void log.push("- outer"))
      })
      const top = Mode.make("top", { isolation: "fork", enter: () => Effect.void })
      const agent = Agent.make("a", { modes: [outer, inner, top] })
      const state = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("outer")
        return yield* session.enterMode("top")
      }))
      log.length = 0
      const session = yield* Session.make(agent, { state: throughJson(state) })
      assert.deepStrictEqual(stackOf(yield* session.state), ["outer", "inner", "top"])
      assert.deepStrictEqual(log, ["again inner 1"])
      yield* session.exitMode("top")
      yield* session.exitMode("inner")
      assert.deepStrictEqual(stackOf(yield* session.exitMode("outer")), [])
      assert.deepStrictEqual(log, ["again inner 1", "- inner", "- outer"])
    }).pipe(Effect.scoped, echo))

  it.effect("that names an unknown mode is a mismatch, and nothing runs", () =>
    Effect.gen(function*() {
      const { log, state } = yield* inTwo
      const { mode } = recorder()
      const other = Agent.make("a", { modes: [mode("outer")] })
      for (const run of [Agent.continueConversation(other, state, "Next"), Agent.resume(other, state)]) {
        const error = yield* Effect.flip(run)
        assert.strictEqual(reasonOf(error)._tag, "AgentMismatch")
        assert.match(reasonOf(error).message, /the mode "inner".*available: "outer"/)
      }
      const session = yield* Session.make(other, { state })
      assert.strictEqual(reasonOf(yield* Effect.flip(session.call("Next")))._tag, "AgentMismatch")
      assert.deepStrictEqual(stackOf(yield* session.state), ["outer", "inner"])
      assert.deepStrictEqual(log, [])
    }).pipe(Effect.scoped, echo))

  it.effect("whose set-up fails on resuming fails the call, stays in its modes, and can be tried again", () =>
    Effect.gen(function*() {
      let isDown = false
      const log: Array<string> = []
      const flaky = Mode.make("flaky", {
        enter: () =>
          Effect.gen(function*() {
            yield* Effect.addFinalizer(() => Effect.sync(() => log.push("~")))
            if (isDown) return yield* Effect.fail("down")
            log.push("+")
          })
      })
      const agent = Agent.make("a", { modes: [flaky] })
      const state = yield* Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.enterMode("flaky")))
      isDown = true
      log.length = 0
      const { events, exit } = yield* watch(Effect.flip(Agent.continueConversation(agent, state, "Next")))
      assert.strictEqual(yield* exit, "down")
      assert.deepStrictEqual(log, ["~"])
      const [failed] = ofTag(events, "ModeFailed")
      assert.deepStrictEqual([failed?.phase, failed?.isResumed], ["SetUp", true])
      const session = yield* Session.make(agent, { state })
      assert.strictEqual(yield* Effect.flip(session.call("Next")), "down")
      assert.deepStrictEqual(stackOf(yield* session.state), ["flaky"])
      isDown = false
      assert.deepStrictEqual(stackOf(yield* session.call("Again")), ["flaky"])
      assert.deepStrictEqual(log, ["~", "~", "~", "+"])
    }).pipe(Effect.scoped, echo))

  for (const isolation of ["none", "config", "thread", "fork"] as const) {
    it.effect(`whose set-up fails on resuming is left as without a restart: one of isolation "${isolation}"`, () =>
      Effect.gen(function*() {
        let isDown = false
        const log: Array<string> = []
        const flaky = Mode.make("flaky", {
          isolation,
          enter: () =>
            Effect.gen(function*() {
              if (isDown) return yield* Effect.fail("down")
              yield* Effect.addFinalizer(() => Effect.sync(() => log.push("~")))
              yield* SystemPrompt.append("Be careful.")
              yield* Mode.set("goal", "a shed")
            }),
          exit: () =>
            Effect.gen(function*() {
              log.push(String(yield* Mode.get("goal")), ...yield* Mode.stack)
              yield* Effect.ignore(Mode.call("Sum up."))
            })
        })
        const agent = Agent.make("a", { modes: [flaky] })
        const first = yield* Session.make(agent)
        yield* first.call("Before")
        yield* first.enterMode("flaky")
        const state = yield* first.call("In it")
        const left = yield* first.exitMode()
        assert.deepStrictEqual(log, ["a shed", "flaky", "~"])
        isDown = true
        log.length = 0
        const second = yield* Session.make(agent, { state: throughJson(state) })
        assert.strictEqual(yield* Effect.flip(second.call("Next")), "down")
        const again = yield* Session.make(agent, { state: throughJson(state) })
        const { events, exit } = yield* watch(again.exitMode("flaky"))
        assert.deepStrictEqual(yield* again.state, left)
        assert.deepStrictEqual(yield* exit, left)
        assert.deepStrictEqual(events.reduce(AgentState.reduce, state), left)
        assert.deepStrictEqual(log, ["a shed", "flaky"])
        assert.deepStrictEqual(
          events.flatMap((event) => /^Mode[A-Z]/.test(event._tag) ? [event._tag] : []),
          ["ModeEntering", "ModeFailed", "ModeExiting", "ModeExited"]
        )
        assert.strictEqual(AgentState.text(yield* again.call("After")), "Re: After")
        yield* second.exitMode()
        assert.strictEqual(AgentState.text(yield* second.call("After")), "Re: After")
      }).pipe(Effect.scoped, echo))
  }

  it.effect("leaves one after the other, whichever can't be set up, and what is left is stored", () =>
    Effect.gen(function*() {
      for (const broken of ["outer", "inner"]) {
        let isDown = false
        const log: Array<string> = []
        const mode = (name: string) =>
          Mode.make(name, {
            enter: (_, { isResumed }) =>
              Effect.gen(function*() {
                if (isDown && name === broken) return yield* Effect.fail("down")
                yield* Effect.addFinalizer(() => Effect.sync(() => log.push(`~ ${name}`)))
                log.push(`${isResumed ? "again" : "+"} ${name}`)
              }),
            exit: () => Effect.map(Mode.stack, (stack) => void log.push(`- ${stack.join("/")}`))
          })
        const agent = Agent.make("a", { modes: [mode("outer"), mode("inner")] })
        const options = { store: Session.store(broken) }
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* Session.make(agent, options)
          yield* session.enterMode("outer")
          yield* session.enterMode("inner")
        }))
        isDown = true
        log.length = 0
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* Session.make(agent, options)
          assert.deepStrictEqual(stackOf(yield* session.exitMode("inner")), ["outer"])
          assert.deepStrictEqual(stackOf((yield* Session.load(broken))!), ["outer"])
          if (broken === "outer") {
            // What remains is set up by what comes next, as soon as that is possible.
            assert.strictEqual(yield* Effect.flip(session.call("Hello")), "down")
            isDown = false
            yield* session.call("Hello")
          }
          yield* session.exitMode("outer")
          assert.strictEqual(AgentState.text(yield* session.call("Again")), "Re: Again")
          assert.deepStrictEqual(stackOf(yield* session.state), [])
        }))
        assert.deepStrictEqual(
          log,
          broken === "outer"
            ? ["- outer/inner", "again outer", "- outer", "~ outer"]
            : ["again outer", "- outer/inner", "- outer", "~ outer"]
        )
      }
    }).pipe(Effect.provide(KeyValueStore.layerMemory), echo))

  it.effect("is left if its set-up dies, which is reported, or if its parameters don't fit any more", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const first = Agent.make("a", { modes: [mode("outer")] })
      const state = yield* Effect.scoped(
        Effect.flatMap(Session.make(first), (session) => session.enterMode("outer", { n: 1 }))
      )
      const dying = Mode.make("outer", { enter: () => Effect.die("dead") })
      const session = yield* Session.make(Agent.make("a", { modes: [dying] }), { state })
      assert.strictEqual(yield* Effect.catchDefect(session.exitMode(), Effect.succeed), "dead")
      assert.deepStrictEqual(stackOf(yield* session.state), [])
      const strict = Mode.make("outer", { params: Schema.Struct({ n: Schema.String }), enter: () => Effect.void })
      const stricter = Agent.make("a", { modes: [strict, mode("next")] })
      const other = yield* Session.make(stricter, { state })
      for (const run of [other.call("Hello"), other.resume, Agent.continueConversation(stricter, state, "Hello")]) {
        const error: unknown = yield* Effect.flip(run)
        assert.isTrue(AgentError.isAgentError(error), "a run fails with nothing that its type doesn't name")
        assert.strictEqual(reasonOf(error)._tag, "ModeFailed")
        assert.match(reasonOf(error).message, /^Agent "a" can't enter mode "outer": /)
      }
      assert.strictEqual(reasonOf(yield* Effect.flip(other.enterMode("next")))._tag, "Unavailable")
      assert.deepStrictEqual(stackOf(yield* other.exitMode()), [])
    }).pipe(Effect.scoped, echo))

  it.effect("can be left although a move is requested that needs its set-up first", () =>
    Effect.gen(function*() {
      let isDown = false
      const flaky = Mode.make("flaky", { enter: () => isDown ? Effect.fail("down") : Effect.void })
      const agent = Agent.make("a", { modes: [flaky, recorder().mode("next")] })
      for (const move of [ModeTransition.exit, ModeTransition.switch("next"), ModeTransition.push("next")]) {
        isDown = false
        const state = yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* Session.make(agent)
          yield* session.enterMode("flaky")
          return yield* session.schedule(move)
        }))
        isDown = true
        const session = yield* Session.make(agent, { state })
        assert.strictEqual(yield* Effect.flip(session.call("Hello")), "down")
        assert.deepStrictEqual(stackOf(yield* session.exitMode()), [])
        const after = yield* session.call("Hello")
        assert.strictEqual(AgentState.text(after), "Re: Hello")
        assert.deepStrictEqual(stackOf(after), move._tag === "Exit" ? [] : ["next"])
      }
    }).pipe(Effect.scoped, echo))

  it.effect("may talk to the agent on resuming", () =>
    ends(Effect.gen(function*() {
      const talking = Mode.make("talking", {
        enter: (_, { isResumed }) => isResumed ? Mode.call("I am back") : Effect.void
      })
      const agent = Agent.make("a", { modes: [talking] })
      const state = yield* Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.enterMode("talking")))
      const next = yield* Agent.continueConversation(agent, state, "Next")
      assert.deepStrictEqual(said(next).slice(0, 3), ["User: I am back", "Assistant: Re: I am back", "User: Next"])
    })).pipe(echo))

  it.effect("keeps a move that is still to be taken", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { modes: [mode("one"), mode("two")] })
      const state = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("one")
        return yield* session.schedule(ModeTransition.switch("two", { n: 3 }))
      }))
      log.length = 0
      const next = yield* Agent.continueConversation(agent, throughJson(state), "Next")
      assert.deepStrictEqual(log, ["again one", "- one", "~ one", "+ two 3", "~ two"])
      assert.deepStrictEqual(stackOf(next), ["two"])
    }).pipe(echo))

  it.effect("isn't set up twice where its session takes another call", () =>
    Effect.gen(function*() {
      const { agent, log, state } = yield* inTwo
      const session = yield* Session.make(agent, { state })
      yield* session.call("One")
      yield* session.call("Two")
      assert.deepStrictEqual(log, ["again outer 1", "again inner 2"])
    }).pipe(Effect.scoped, echo))

  it.effect("resumes in modes that the session brings, and in those of its store", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const extra = mode("extra")
      const agent = Agent.make("a")
      const open = Session.make(agent, { store: Session.store("ada"), modes: [extra] })
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* open
        yield* session.enterMode("extra", { n: 7 })
        yield* session.call("Hello")
      }))
      assert.deepStrictEqual(log, ["+ extra 7", "~ extra"])
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* open
        assert.deepStrictEqual(stackOf(yield* session.state), ["extra"])
        assert.deepStrictEqual(stackOf(yield* session.exitMode("extra")), [])
      }))
      assert.deepStrictEqual(log.slice(2), ["again extra 7", "- extra", "~ extra"])
      const last = yield* Effect.scoped(Effect.flatMap(open, (session) => session.state))
      assert.deepStrictEqual(stackOf(last), [])
      assert.deepStrictEqual(log.length, 5)
    }).pipe(echo, Effect.provide(KeyValueStore.layerMemory)))
})

describe("A call that awaits approval", () => {
  const supervised = (name: string) => Mode.make(name, { toolkit: Guarded, enter: () => Effect.void })
  const one = supervised("one")
  const two = supervised("two")
  const handlers = Effect.provide(Guarded.toLayer({ guarded: () => Effect.succeed("done") }))
  const asks = Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("guarded", {}), "I see.")))

  it.effect("goes with the mode that has its tool, so that nobody can approve it in vain", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [one, two] }))
      yield* session.enterMode("one")
      const [call] = AgentState.pendingApprovals(yield* session.call("Go"))
      const left = yield* session.exitMode()
      assert.deepStrictEqual(AgentState.pendingApprovals(left), [])
      const approved = AgentState.approve(left, call!.callId)
      assert.isTrue(Result.isFailure(approved) && approved.failure.found === "Settled")
      const state = yield* session.resume
      assert.strictEqual(AgentState.text(state), "I see.")
      assert.include(JSON.stringify(state.conversation), "The mode of this tool was left before this had a result.")
    }).pipe(Effect.scoped, asks, handlers))

  it.effect("stays where another mode that is entered has its tool too", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(Agent.make("a", { modes: [one, two] }))
      yield* session.enterMode("one")
      yield* session.enterMode("two")
      yield* session.call("Go")
      const [call] = AgentState.pendingApprovals(yield* session.exitMode())
      yield* session.approve(call!.callId)
      assert.include(JSON.stringify((yield* session.resume).conversation), "done")
    }).pipe(Effect.scoped, asks, handlers))
})

describe("A conversation that is handed over", () => {
  const handing = MockModel.byAgent({
    a: MockModel.queue(MockResponse.toolCall("handoff_to_b", {})),
    b: MockModel.make(({ system }) => `From b: ${system}`)
  })

  it.effect("leaves the modes of its agent first, with their clean-ups, and then crosses", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const shared = mode("shared")
      const b = Agent.make("b", { instructions: "I am b.", modes: [shared] })
      const a = Agent.make("a", { modes: [shared, mode("own")], handoffs: [Handoff.to(b)] })
      const session = yield* Session.make(a)
      yield* session.enterMode("shared")
      yield* session.enterMode("own")
      const { events, exit } = yield* watch(session.call("Hello"))
      const state = yield* exit
      assert.deepStrictEqual(stackOf(state), [])
      assert.deepStrictEqual(log, ["+ shared", "+ own", "- own", "~ own", "- shared", "~ shared"])
      assert.strictEqual(AgentState.text(state), "From b: I am b.")
      const tags = events.map(({ _tag }) => _tag)
      assert.isBelow(tags.lastIndexOf("ModeExited"), tags.indexOf("HandoffCompleted"))
      for (const event of ofTag(events, "ModeExited")) assert.deepStrictEqual(event.path, ["a"])
    }).pipe(Effect.scoped, Effect.provide(MockModel.layer(handing))))

  it.effect("carries those that the target has too, from the bottom, where the handoff says so", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const shared = mode("shared")
      const b = Agent.make("b", { instructions: "I am b.", modes: [shared] })
      const a = Agent.make("a", { modes: [shared, mode("own")], handoffs: [Handoff.to(b, { carryModes: true })] })
      const session = yield* Session.make(a)
      yield* session.enterMode("shared", { n: 1 })
      yield* session.enterMode("own")
      yield* session.enterMode("shared", { n: 2 })
      const state = yield* session.call("Hello")
      assert.deepStrictEqual(state.modes.map(({ name, params }) => [name, params]), [["shared", { n: 1 }]])
      assert.deepStrictEqual(log.slice(3), ["- shared", "~ shared", "- own", "~ own"])
      assert.strictEqual(
        AgentState.text(state),
        "From b: I am b.\n\nYou are in mode \"shared\".\n\nPrompt of shared."
      )
      yield* session.exitMode()
      assert.deepStrictEqual(log.slice(7), ["- shared", "~ shared"])
    }).pipe(Effect.scoped, Effect.provide(MockModel.layer(handing))))

  it.effect("leaves modes that were entered in a run, or that resume in it", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const b = Agent.make("b")
      const a = Agent.make("a", { modes: [mode("own", { invokable: true })], handoffs: [Handoff.to(b)] })
      const first = yield* Agent.run(a, "Hello")
      assert.deepStrictEqual(log, ["+ own", "- own", "~ own"])
      assert.deepStrictEqual([first.agent, ...stackOf(first)], ["b"])
      log.length = 0
      const inMode = yield* Effect.scoped(Effect.flatMap(Session.make(a), (session) => session.enterMode("own")))
      log.length = 0
      const second = yield* Agent.continueConversation(a, throughJson(inMode), "Hello")
      assert.deepStrictEqual(log, ["again own", "- own", "~ own"])
      assert.deepStrictEqual([second.agent, ...stackOf(second)], ["b"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      a: MockModel.queue(
        MockResponse.toolCall("enter_own_mode", {}),
        MockResponse.toolCall("handoff_to_b", {}),
        MockResponse.toolCall("handoff_to_b", {})
      ),
      b: MockModel.make(() => "From b.")
    })))))

  it.effect("that can't be carried out leaves nothing", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const b = Agent.make("b")
      const a = Agent.make("a", { modes: [mode("own")], handoffs: [Handoff.to(b)], maxHandoffs: 0 })
      const session = yield* Session.make(a)
      yield* session.enterMode("own")
      assert.strictEqual(reasonOf(yield* Effect.flip(session.call("Hello")))._tag, "HandoffLimitReached")
      assert.deepStrictEqual(stackOf(yield* session.state), ["own"])
      assert.deepStrictEqual(log, ["+ own"])
    }).pipe(Effect.scoped, Effect.provide(MockModel.layer(handing))))

  it.effect("fails with a clean-up that does, and every mode is left", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const broken = Mode.make("broken", { enter: () => Effect.void, exit: () => Effect.fail("no net") })
      const a = Agent.make("a", { modes: [mode("outer"), broken], handoffs: [Handoff.to(Agent.make("b"))] })
      const session = yield* Session.make(a)
      yield* session.enterMode("outer")
      yield* session.enterMode("broken")
      assert.strictEqual(yield* Effect.flip(session.call("Hello")), "no net")
      const state = yield* session.state
      assert.deepStrictEqual([state.agent, ...stackOf(state)], ["a"])
      assert.deepStrictEqual(log, ["+ outer", "- outer", "~ outer"])
    }).pipe(Effect.scoped, Effect.provide(MockModel.layer(handing))))
})

describe("A group's picker", () => {
  it.effect("lets the agent go on whose modes the other doesn't have, and goes by its pick where it has them", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const shared = mode("shared")
      const team = Group.make(
        { a: Agent.make("a", { modes: [shared, mode("own")] }), b: Agent.make("b", { modes: [shared] }) },
        { start: AgentPicker.match([[/b/, "b"]], "a") }
      )
      const session = yield* Session.make(team)
      yield* session.call("Hello a")
      yield* session.enterMode("own")
      assert.strictEqual((yield* session.call("to b", { control: "first" })).agent, "a")
      yield* session.exitMode()
      yield* session.enterMode("shared")
      const state = yield* session.call("to b", { control: "first" })
      assert.deepStrictEqual([state.agent, ...stackOf(state)], ["b", "shared"])
      yield* session.exitMode()
      assert.strictEqual((yield* session.call("to a", { control: "first" })).agent, "a")
    }).pipe(Effect.scoped, echo))

  it.effect("and the first agent that is to begin again, likewise", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const b = Agent.make("b", { modes: [mode("own")] })
      const a = Agent.make("a", { handoffs: [Handoff.to(b)] })
      const session = yield* Session.make(a)
      yield* session.call("Hello")
      yield* session.enterMode("own")
      assert.strictEqual((yield* session.call("Next", { control: "first" })).agent, "b")
      yield* session.exitMode()
      assert.strictEqual((yield* session.call("Next", { control: "first" })).agent, "a")
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.byAgent({
        a: MockModel.queue(MockResponse.toolCall("handoff_to_b", {}), "From a."),
        b: MockModel.make(() => "From b.")
      })))
    ))
})

describe("What ends with others", () => {
  it.effect("an agent that was called answers with its answer, whatever its clean-up hears", () =>
    Effect.gen(function*() {
      const summing = Mode.make("summing", {
        invokable: true,
        enter: () => Effect.void,
        exit: () => Effect.asVoid(Mode.call("Sum up."))
      })
      const helper = Agent.make("helper", { description: "Helps.", modes: [summing] })
      const state = yield* Agent.run(Agent.make("boss", { agents: [Agent.asTool(helper)] }), "Go")
      const [call] = AgentState.text(state) === "Done."
        ? state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? turn.parts : [])
        : []
      assert.deepStrictEqual(
        call?._tag === "Call" && call.state._tag === "Settled" ? call.state.result : undefined,
        "Found."
      )
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      boss: MockModel.queue(MockResponse.toolCall("helper", { task: "Find it." }), "Done."),
      helper: MockModel.queue(MockResponse.toolCall("enter_summing_mode", {}), "Found.", "Summed up.")
    })))))

  it.effect("a mode that was left is left in what is stored too, where nothing cleans it up as where something does", () =>
    Effect.gen(function*() {
      const { mode } = recorder()
      const bare = Mode.make("bare", { enter: () => Effect.void })
      const agent = Agent.make("a", { modes: [bare] })
      const session = yield* Session.make(agent, { store: Session.store("kept") })
      for (const one of [mode("other"), bare]) {
        yield* Effect.provideService(Mode.within(session.call("Hello"), one, {}), Mode.Host, session)
        const stored = yield* Session.load("kept")
        assert.deepStrictEqual(stored, yield* session.state)
        assert.deepStrictEqual(stackOf(stored!), [])
      }
    }).pipe(Effect.scoped, Effect.provide(KeyValueStore.layerMemory), echo))

  it.effect("a mode that is used alone isn't stored beyond its session, which nobody could go on with", () =>
    Effect.gen(function*() {
      const { log, mode } = recorder()
      const agent = Agent.make("a", { modes: [mode("own")] })
      const options = { store: Session.store("kept") }
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent, options)
        yield* session.enterMode("own")
        // Its scope closes after that of the session.
        const entering = Effect.provideService(Mode.enter(mode("alone"), {}), Mode.Host, session)
        yield* Effect.provideService(entering, Scope.Scope, yield* Scope.make())
        yield* session.call("In both")
      }))
      assert.deepStrictEqual(log, ["+ own", "+ alone", "- alone", "~ alone", "~ own"])
      const session = yield* Session.make(agent, options)
      assert.strictEqual(AgentState.text(yield* session.call("Again")), "Re: Again")
      assert.deepStrictEqual(stackOf(yield* session.state), ["own"])
    }).pipe(Effect.scoped, Effect.provide(KeyValueStore.layerMemory), echo))

  it.effect("what its clean-up lets the agent do at the end of the session is saved before observers see it", () =>
    Effect.gen(function*() {
      const Notes = Toolkit.make(Tool.make("note"))
      const agent = Agent.make("a", { toolkit: Notes })
      const alone = Mode.make("alone", {
        enter: () => Effect.void,
        exit: () => Effect.asVoid(Effect.orDie(Mode.call("Note it.")))
      })
      const found: Array<string> = []
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent, { store: Session.store("kept") })
        const entering = Effect.provideService(Mode.enter(alone, {}), Mode.Host, session)
        yield* Effect.provideService(entering, Scope.Scope, yield* Scope.make())
      })).pipe(
        Agent.observe((event) =>
          event._tag !== "ToolCallSettled" ? Effect.void : Effect.map(Effect.orDie(Session.load("kept")), (stored) => {
            found.push(...callsIn(stored!.conversation).map(({ state }) => state._tag))
          })
        )
      )
      assert.deepStrictEqual(found, ["Settled"])
    }).pipe(
      Effect.provide([KeyValueStore.layerMemory, Toolkit.make(Tool.make("note")).toLayer({ note: () => Effect.void })]),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("note", {}), "Noted.")))
    ))
})
