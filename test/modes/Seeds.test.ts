/**
 * One test for each that the first specification of modes asks for, under the name that it has there:
 * `test_stack_returns_full_stack` is "stack returns full stack", in the group "Mode accessor".
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Duration, Effect, Exit, Layer, Option, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Conversation, Handoff, Mode, ModeTransition, Plan, Session, SystemPrompt } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ofTag, watch } from "../agent/watch.ts"
import { problems } from "../domain/legal.ts"

class Broken extends Schema.TaggedError<Broken>()("Broken", { what: Schema.String }) {}

const echo = MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`))
const assistant = Agent.make("assistant", { instructions: "Be brief." })

/** A session of an agent, and the model that answers it. */
const withAssistant = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.provide(self, Layer.provideMerge(Session.layer(assistant), echo))

const reasonOf = <A>(exit: Exit.Exit<A, unknown>): string | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return Mode.isModeError(error) ? error.reason._tag : undefined
}

const texts = (state: AgentState.AgentState) => state.conversation.turns.map(Conversation.textOf)
const names = (state: AgentState.AgentState) => state.modes.map(({ name }) => name)
const sent = (at: number) => Effect.map(MockModel.calls, (calls) => calls.at(at)!.request)
const stateNow = Effect.flatMap(Session.Session, (session) => session.state)

/** A mode that keeps a log of its way in and out. */
const logged = (log: Array<string>, name: string) =>
  Mode.make(name, {
    enter: () => Effect.sync(() => void log.push(`+${name}`)),
    exit: () => Effect.sync(() => void log.push(`-${name}`))
  })

const project = Mode.make("outer", {
  enter: Effect.fn(function*() {
    yield* Mode.set("project", "quantum")
    yield* Mode.set("depth", "shallow")
  })
})

const deep = Mode.make("inner", {
  enter: Effect.fn(function*() {
    yield* Mode.set("depth", "deep")
    yield* Mode.set("innerOnly", "data")
  })
})

const Search = Tool.make("search", { parameters: Schema.Struct({ query: Schema.String }), success: Schema.String })
const Searches = Toolkit.make(Search)
const Note = Tool.make("note", { parameters: Schema.Struct({ text: Schema.String }), success: Schema.String })
const Notes = Toolkit.make(Note)

const found = Searches.toLayer({ search: ({ query }) => Effect.succeed(`All about ${query}`) })
const noted = Notes.toLayer({ note: ({ text }) => Effect.orDie(Effect.map(Mode.name, (name) => `${name}: ${text}`)) })

describe("Mode accessor", () => {
  it.effect("name returns current mode", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* Mode.name)
      const seen = yield* Mode.within(
        Effect.gen(function*() {
          const before = yield* Mode.name
          const inside = yield* Mode.within(Mode.name, deep)
          return [before, inside, yield* Mode.name]
        }),
        project
      )
      assert.deepStrictEqual(seen, ["outer", "inner", "outer"])
      assert.isUndefined(yield* Mode.name)
    }).pipe(withAssistant))

  it.effect("stack returns full stack", () =>
    Effect.gen(function*() {
      const stack = Mode.within(Mode.within(Mode.within(Mode.stack, project), deep), project)
      assert.deepStrictEqual(yield* stack, ["outer", "inner", "outer"])
      assert.deepStrictEqual(yield* Mode.stack, [])
    }).pipe(withAssistant))

  it.effect("state inherits from outer", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Mode.within(Mode.within(Mode.get("project"), deep), project), "quantum")
      assert.deepStrictEqual(yield* Mode.within(Mode.within(Mode.all, deep), project), {
        project: "quantum",
        depth: "deep",
        innerOnly: "data"
      })
    }).pipe(withAssistant))

  it.effect("state shadows on write", () =>
    Effect.gen(function*() {
      const seen = yield* Mode.within(
        Effect.gen(function*() {
          const inside = yield* Mode.within(Effect.andThen(Mode.set("depth", "deepest"), Mode.get("depth")), deep)
          return [inside, yield* Mode.get("depth"), yield* Mode.get("innerOnly")]
        }),
        project
      )
      assert.deepStrictEqual(seen, ["deepest", "shallow", undefined])
    }).pipe(withAssistant))

  it.effect("duration tracks time", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 hour")
      const seen = yield* Mode.within(
        Effect.gen(function*() {
          yield* TestClock.adjust("3 seconds")
          const inside = yield* Mode.within(Effect.andThen(TestClock.adjust("2 seconds"), Mode.duration), deep)
          return [inside, yield* Mode.duration].map(Duration.toMillis)
        }),
        project
      )
      assert.deepStrictEqual(seen, [2000, 5000])
    }).pipe(withAssistant))

  it.effect("in mode checks full stack", () =>
    Effect.gen(function*() {
      const isIn = Effect.forEach(["outer", "inner", "other"], Mode.isIn)
      assert.deepStrictEqual(yield* Mode.within(Mode.within(isIn, deep), project), [true, true, false])
      assert.deepStrictEqual(yield* Mode.within(isIn, project), [true, false, false])
      assert.deepStrictEqual(yield* isIn, [false, false, false])
    }).pipe(withAssistant))

  it.effect("accessor outside mode returns none or raises", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* Mode.name)
      assert.deepStrictEqual(yield* Mode.stack, [])
      assert.isFalse(yield* Mode.isIn("outer"))
      const before = yield* stateNow
      for (
        const needy of [
          Mode.duration,
          Mode.all,
          Mode.get("depth"),
          Mode.set("depth", "deep"),
          Mode.update("depth", () => "deep"),
          Mode.updateView((conversation) => conversation)
        ]
      ) assert.strictEqual(reasonOf(yield* Effect.exit<unknown, Mode.ModeError, never>(needy)), "NoMode")
      assert.strictEqual(yield* stateNow, before)
    }).pipe(withAssistant))
})

describe("Mode execution", () => {
  it.effect("setup runs before yield", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      yield* Mode.within(Effect.sync(() => log.push("body")), logged(log, "mode"))
      assert.deepStrictEqual(log.slice(0, 2), ["+mode", "body"])
    }).pipe(withAssistant))

  it.effect("cleanup runs after yield", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const given = yield* Mode.within(Effect.sync(() => log.push("body")), logged(log, "mode"))
      assert.strictEqual(given, 2)
      assert.deepStrictEqual(log, ["+mode", "body", "-mode"])
    }).pipe(withAssistant))

  it.effect("cleanup runs on exception", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const failed = yield* Effect.exit(Mode.within(Effect.fail(new Broken({ what: "body" })), logged(log, "mode")))
      assert.deepStrictEqual(failed, Exit.fail(new Broken({ what: "body" })))
      const died = yield* Effect.exit(Mode.within(Effect.die("boom"), logged(log, "mode")))
      assert.deepStrictEqual(died, Exit.die("boom"))
      assert.deepStrictEqual(log, ["+mode", "-mode", "+mode", "-mode"])
    }).pipe(withAssistant))

  it.effect("single shot mode no cleanup", () =>
    Effect.gen(function*() {
      const simple = Mode.singleShot(
        "simple",
        Effect.andThen(SystemPrompt.append("Gone."), SystemPrompt.append("Stays.", { persist: true }))
      )
      const { events, exit } = yield* watch(Mode.within(Mode.stack, simple))
      assert.deepStrictEqual(exit, Exit.succeed([]))
      assert.deepStrictEqual(
        events.map(({ _tag }) => _tag).filter((tag) => tag.startsWith("Mode")),
        ["ModeEntering", "ModeEntered", "ModeExiting", "ModeExited"]
      )
      const session = yield* Session.Session
      yield* session.call("Hi")
      assert.strictEqual((yield* sent(-1)).system, "Be brief.\n\nStays.")
    }).pipe(withAssistant))

  it.effect("mode receives agent via di", () =>
    Effect.gen(function*() {
      const greeting = Mode.make("greeting", {
        enter: Effect.fn(function*() {
          const { agent } = (yield* Agent.CurrentAgent)!
          const state = yield* Mode.call(`I am ${agent}`)
          yield* Mode.set("answer", AgentState.text(state))
        })
      })
      assert.strictEqual(yield* Mode.within(Mode.get("answer"), greeting), "Re: I am assistant")
    }).pipe(withAssistant))

  it.effect("mode can inject dependencies", () => {
    class Library extends Context.Service<Library, { readonly book: string }>()("test/Library") {}
    const reading = Mode.make("reading", {
      enter: Effect.fn(function*() {
        yield* SystemPrompt.append(`Read ${(yield* Library).book}.`)
      })
    })
    return Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.enterMode("reading")
      yield* session.call("Hi")
      assert.include((yield* sent(0)).system, "Read Emma.")
    }).pipe(
      Effect.provide(Session.layer(Agent.make("reader", { modes: [reading] }))),
      Effect.provideService(Library, { book: "Emma" }),
      Effect.provide(echo)
    )
  })

  it.effect("mode can inject context values", () => {
    const Depth = Context.Reference("test/Depth", { defaultValue: () => 1 })
    const research = Mode.make("research", {
      params: Schema.Struct({ topic: Schema.String }),
      enter: ({ topic }) => Effect.flatMap(Depth, (depth) => Mode.set("about", `${topic} ${depth}`))
    })
    const about = Mode.within(Mode.get("about"), research, { topic: "quantum" })
    return Effect.gen(function*() {
      assert.strictEqual(yield* about, "quantum 1")
      assert.strictEqual(yield* Effect.provideService(about, Depth, 3), "quantum 3")
    }).pipe(withAssistant)
  })
})

describe("Mode stacking", () => {
  it.effect("modes stack correctly", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const stack = Effect.tap(Mode.stack, (stack) => Effect.sync(() => log.push(stack.join(" "))))
      const inner = Mode.within(stack, logged(log, "inner"))
      yield* Mode.within(Effect.andThen(Effect.andThen(stack, inner), stack), logged(log, "outer"))
      yield* stack
      assert.deepStrictEqual(log, ["+outer", "outer", "+inner", "outer inner", "-inner", "outer", "-outer", ""])
    }).pipe(withAssistant))

  it.effect("cleanup order is lifo", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const [outer, middle, inner] = ["outer", "middle", "inner"].map((name) => logged(log, name))
      yield* Effect.void.pipe((self) => Mode.within(self, inner!), (self) =>
        Mode.within(self, middle!), (self) =>
        Mode.within(self, outer!))
      assert.deepStrictEqual(log, ["+outer", "+middle", "+inner", "-inner", "-middle", "-outer"])
    }).pipe(withAssistant))

  it.effect("state inheritance", () =>
    Effect.gen(function*() {
      const seen = yield* Mode.within(
        Effect.gen(function*() {
          yield* Mode.set("project", "graphs")
          return yield* Mode.within(Mode.within(Mode.get("project"), deep), deep)
        }),
        project
      )
      assert.strictEqual(seen, "graphs")
    }).pipe(withAssistant))

  it.effect("state shadowing", () =>
    Effect.gen(function*() {
      const seen = yield* Mode.within(
        Effect.gen(function*() {
          const before = yield* Mode.get("depth")
          const inside = yield* Mode.within(Mode.all, deep)
          return { before, inside: inside["depth"], after: yield* Mode.all }
        }),
        project
      )
      assert.deepStrictEqual(seen, {
        before: "shallow",
        inside: "deep",
        after: { project: "quantum", depth: "shallow" }
      })
    }).pipe(withAssistant))

  it.effect("nested exception cleanup", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const failing = Mode.make("inner", {
        enter: () => Effect.void,
        exit: (exit) =>
          Effect.andThen(Effect.sync(() => void log.push(exit._tag)), Effect.fail(new Broken({ what: "clean-up" })))
      })
      const exit = yield* Effect.fail(new Broken({ what: "body" })).pipe(
        (self) => Mode.within(self, failing),
        (self) => Mode.within(self, logged(log, "outer")),
        Effect.exit
      )
      assert.deepStrictEqual(log, ["+outer", "Failure", "-outer"])
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        assert.deepStrictEqual(
          exit.cause.reasons.filter(Cause.isFailReason).map(({ error }) => error),
          [new Broken({ what: "body" }), new Broken({ what: "clean-up" })]
        )
      }
    }).pipe(withAssistant))
})

/** A session whose agent has one mode of an isolation; in it, an answer, a segment and a narrower choice of tools. */
const isolated = (isolation: "none" | "config" | "thread" | "fork") =>
  Effect.gen(function*() {
    const session = yield* Session.Session
    yield* session.call("before")
    const mode = Mode.make("mode", { isolation, enter: () => SystemPrompt.append("Stays.", { persist: true }) })
    const seen = yield* Mode.within(
      Effect.gen(function*() {
        if (isolation === "thread" || isolation === "fork") {
          yield* Mode.updateView(({ turns }) => ({ turns: turns.slice(1) }))
        }
        yield* session.configure({ tools: [] })
        yield* session.call("inside")
        return yield* sent(-1)
      }),
      mode
    )
    const after = yield* session.state
    assert.deepStrictEqual(problems(after.conversation), [])
    return {
      shown: seen.messages.filter(({ role }) => role !== "system").length,
      offered: seen.toolNames,
      texts: texts(after),
      settings: after.settings,
      prompt: after.prompt.map(({ text }) => text)
    }
  }).pipe(
    Effect.provide(Session.layer(Agent.make("clerk", { toolkit: Searches }))),
    Effect.provide(Layer.merge(found, echo))
  )

const before = ["before", "Re: before"]
const all = [...before, "inside", "Re: inside"]

describe("Mode isolation", () => {
  it.effect("isolation none shares all", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* isolated("none"), {
        shown: 3,
        offered: [],
        texts: all,
        settings: { tools: [] },
        prompt: ["Stays."]
      })
    }))

  it.effect("isolation thread preserves new messages", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* isolated("thread"), {
        shown: 3,
        offered: [],
        texts: all,
        settings: { tools: [] },
        prompt: ["Stays."]
      })
    }))

  it.effect("isolation fork complete isolation", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* isolated("fork"), {
        shown: 3,
        offered: [],
        texts: before,
        settings: undefined,
        prompt: []
      })
      const blind = Mode.make("fork", { isolation: "fork", enter: () => Effect.void })
      assert.deepStrictEqual(yield* Mode.within(Mode.within(Mode.all, blind), project).pipe(withAssistant), {})
    }))

  it.effect("isolation config shares messages", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* isolated("config"), {
        shown: 3,
        offered: [],
        texts: all,
        settings: undefined,
        prompt: ["Stays."]
      })
    }))

  it.effect("cannot reduce isolation in child", () =>
    Effect.gen(function*() {
      const levels = ["none", "config", "thread", "fork"] as const
      const seen = yield* Effect.forEach(levels, (outer, at) =>
        Effect.forEach(levels, (inner, below) =>
          Effect.gen(function*() {
            const log: Array<string> = []
            const mode = Mode.make("inner", {
              isolation: inner,
              enter: () =>
                Effect.sync(() => void log.push("set up"))
            })
            const around = Mode.make("outer", { isolation: outer, enter: () => Effect.void })
            const { events, exit } = yield* watch(Mode.within(Mode.within(Mode.stack, mode), around))
            if (below >= at) return assert.deepStrictEqual(exit, Exit.succeed(["outer", "inner"]))
            assert.strictEqual(reasonOf(exit), "LessIsolated")
            assert.deepStrictEqual(log, [])
            assert.deepStrictEqual(ofTag(events, "ModeEntering").map(({ name }) => name), ["outer"])
          })))
      assert.lengthOf(seen.flat(), 16)
    }).pipe(withAssistant))
})

describe("Mode transitions", () => {
  const writing = Mode.make("writing", {
    params: Schema.Struct({ tone: Schema.String }),
    enter: ({ tone }) => SystemPrompt.append(`Write in a ${tone} tone.`)
  })
  const moving = (transition: ModeTransition.ModeTransition, log: Array<string> = []) =>
    Mode.make("intake", {
      enter: () => Effect.sync(() => void log.push("+intake")),
      exit: () => Effect.as(Effect.sync(() => void log.push("-intake")), transition)
    })
  const base = Mode.make("base", { enter: () => Effect.void })

  it.effect("switch exits and enters", () => {
    const intake = moving(ModeTransition.switch("writing", { tone: "dry" }))
    return Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.enterMode("base")
      yield* session.enterMode("intake")
      assert.deepStrictEqual(names(yield* session.exitMode("intake")), ["base"])
      assert.deepStrictEqual(names(yield* session.call("Go")), ["base", "writing"])
      const request = yield* sent(0)
      assert.include(request.system, "Write in a dry tone.")
      assert.strictEqual(request.lastUserText, "Go")
    }).pipe(
      Effect.provide(Session.layer(Agent.make("assistant", { modes: [base, intake, writing] }))),
      Effect.provide(echo)
    )
  })

  it.effect("push stacks mode", () => {
    const log: Array<string> = []
    const intake = moving(ModeTransition.push("writing", { tone: "dry" }), log)
    return Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.enterMode("intake")
      assert.deepStrictEqual(names(yield* session.exitMode()), ["intake"])
      assert.deepStrictEqual(names(yield* session.call("Go")), ["intake", "writing"])
      assert.include((yield* sent(0)).system, "Write in a dry tone.")
      assert.deepStrictEqual(log, ["+intake", "-intake"])
    }).pipe(
      Effect.provide(Session.layer(Agent.make("assistant", { modes: [intake, writing] }))),
      Effect.provide(echo)
    )
  })

  it.effect("exit returns to parent", () => {
    const intake = moving(ModeTransition.exit)
    return Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.enterMode("base")
      yield* session.enterMode("intake")
      assert.deepStrictEqual(names(yield* session.exitMode()), ["base"])
      yield* session.schedule(ModeTransition.exit)
      assert.deepStrictEqual(names(yield* session.call("Go")), [])
    }).pipe(
      Effect.provide(Session.layer(Agent.make("assistant", { modes: [base, intake] }))),
      Effect.provide(echo)
    )
  })

  it.effect("scheduled switch applies next call", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.enterMode("base")
      yield* session.schedule(ModeTransition.push("writing", { tone: "loud" }))
      const scheduled = yield* session.schedule(ModeTransition.switch("writing", { tone: "dry" }))
      assert.deepStrictEqual(names(scheduled), ["base"])
      const after = yield* session.call("Go")
      assert.deepStrictEqual(after.modes.map(({ name, params }) => [name, params]), [["writing", { tone: "dry" }]])
      const request = yield* sent(0)
      assert.include(request.system, "Write in a dry tone.")
      assert.deepStrictEqual(texts(after), ["Go", "Re: Go"])
      assert.deepStrictEqual(names(yield* session.call("Again")), ["writing"])
    }).pipe(
      Effect.provide(Session.layer(Agent.make("assistant", { modes: [base, writing] }))),
      Effect.provide(echo)
    ))
})

describe("Invokable modes", () => {
  const planning = Mode.make("planning", {
    invokable: true,
    params: Schema.Struct({ goal: Schema.String }),
    description: "Plans before it acts.",
    enter: ({ goal }) => SystemPrompt.append(`Plan for ${goal}.`)
  })
  const hidden = Mode.make("hidden", { enter: () => Effect.void })

  it.effect("invokable generates tool", () =>
    Effect.gen(function*() {
      yield* Agent.run(Agent.make("assistant", { modes: [planning, hidden] }), "Hi")
      const { tools, toolNames } = yield* sent(0)
      assert.deepStrictEqual(toolNames, ["enter_planning_mode"])
      const schema = Tool.getJsonSchema(tools[0]!)
      assert.deepStrictEqual(Object.keys(schema["properties"] as object), ["goal"])
      assert.deepStrictEqual(schema["required"], ["goal"])
    }).pipe(Effect.provide(echo)))

  it.effect("generated tool schedules switch", () => {
    const drafting = Mode.make("drafting", {
      invokable: true,
      invocation: "switch",
      enter: () => Effect.void
    })
    return Effect.gen(function*() {
      const { events, exit } = yield* watch(Agent.run(Agent.make("assistant", { modes: [planning, drafting] }), "Hi"))
      const state = yield* exit
      assert.deepStrictEqual(names(state), ["drafting"])
      assert.deepStrictEqual(ofTag(events, "ModeTransitionRequested").map(({ transition }) => transition), [
        ModeTransition.push("planning", { goal: "peace" }),
        ModeTransition.switch("drafting", {})
      ])
      const order = events.map(({ _tag }) => _tag)
      assert.isBelow(order.indexOf("StepCompleted"), order.indexOf("ModeEntering"))
      const systems = (yield* MockModel.calls).map(({ request }) => request.system)
      assert.strictEqual(systems[0], "")
      assert.include(systems[1], "Plan for peace.")
      assert.notInclude(systems[2], "Plan for peace.")
      assert.deepStrictEqual(problems(state.conversation), [])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("enter_planning_mode", { goal: "peace" }),
      MockResponse.toolCall("enter_drafting_mode", {}),
      "Done."
    ))))
  })

  it.effect("custom tool name", () => {
    const mode = Mode.make("planning", { invokable: true, toolName: "think_first", enter: () => Effect.void })
    return Effect.gen(function*() {
      const state = yield* Agent.run(Agent.make("assistant", { modes: [mode] }), "Hi")
      assert.deepStrictEqual(names(state), ["planning"])
      assert.deepStrictEqual((yield* sent(0)).toolNames, ["think_first"])
      assert.deepStrictEqual((yield* sent(1)).toolNames, ["exit_current_mode"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("think_first", {}), "Done."))))
  })

  it.effect("tool includes description", () =>
    Effect.gen(function*() {
      yield* Agent.run(Agent.make("assistant", { modes: [planning] }), "Hi")
      const [tool] = (yield* sent(0)).tools
      assert.include(Tool.getDescription(tool!), "Plans before it acts.")
    }).pipe(Effect.provide(echo)))
})

describe("Modes integration", () => {
  const research = Mode.make("research", {
    params: Schema.Struct({ topic: Schema.String }),
    description: "Finds sources.",
    toolkit: Searches,
    enter: ({ topic }) =>
      Effect.andThen(SystemPrompt.prepend("Cite."), SystemPrompt.section("topic", `The topic is ${topic}.`))
  })
  const reviewing = Mode.make("reviewing", { toolkit: Notes, enter: () => Effect.void })

  it.effect("mode with real llm call", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const answered = yield* Mode.within(session.call("What is new?"), research, { topic: "quantum" })
      assert.strictEqual(AgentState.text(answered), "Re: What is new?")
      yield* session.call("And now?")
      const [inside, after] = (yield* MockModel.calls).map(({ request }) => request)
      assert.strictEqual(
        inside!.system,
        "Cite.\n\nBe brief.\n\nThe topic is quantum.\n\nYou are in mode \"research\". Finds sources."
      )
      assert.deepStrictEqual(inside!.toolNames, ["search"])
      assert.strictEqual(inside!.lastUserText, "What is new?")
      assert.strictEqual(after!.system, "Be brief.")
      assert.deepStrictEqual(after!.toolNames, [])
      assert.deepStrictEqual(after!.messages.map(({ role }) => role), ["system", "user", "assistant", "user"])
    }).pipe(withAssistant, Effect.provide(found)))

  it.effect("mode with tool execution", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const state = yield* Mode.within(session.call("Search"), research, { topic: "quantum" })
      assert.strictEqual(AgentState.text(state), "All about quantum")
      assert.deepStrictEqual(problems(state.conversation), [])
      assert.deepStrictEqual((yield* sent(1)).lastToolResults.map(({ result }) => result), ["All about quantum"])
    }).pipe(
      Effect.provide(Session.layer(assistant)),
      Effect.provide(found),
      Effect.provide(MockModel.layer(MockModel.conditional(
        MockModel.when(
          ({ lastToolResults }) => lastToolResults.length > 0,
          ({ lastToolResults }) => String(lastToolResults[0]!.result)
        ),
        MockModel.otherwise(MockResponse.toolCall("search", { query: "quantum" }))
      )))
    ))

  it.effect("stacked modes with tools", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const both = Mode.within(session.call("Both"), reviewing)
      const state = yield* Mode.within(both, research, { topic: "quantum" })
      assert.deepStrictEqual(problems(state.conversation), [])
      yield* Mode.within(session.call("One"), research, { topic: "quantum" })
      const requests = (yield* MockModel.calls).map(({ request }) => request)
      assert.deepStrictEqual(requests.map(({ toolNames }) => toolNames.toSorted()), [
        ["note", "search"],
        ["note", "search"],
        ["search"]
      ])
      assert.deepStrictEqual(requests[1]!.lastToolResults.map(({ result }) => result), [
        "All about quantum",
        "reviewing: read"
      ])
    }).pipe(
      Effect.provide(Session.layer(assistant)),
      Effect.provide(Layer.merge(found, noted)),
      Effect.provide(MockModel.layer(MockModel.queue(
        MockResponse.all(
          MockResponse.toolCall("search", { query: "quantum" }),
          MockResponse.toolCall("note", { text: "read" })
        ),
        "Both done.",
        "One done."
      )))
    ))

  it.effect("agent self switches mode", () => {
    const Escalate = Tool.make("escalate", { success: Schema.String })
    const Kit = Toolkit.make(Escalate)
    const escalation = Mode.make("escalation", {
      params: Schema.Struct({ topic: Schema.String }),
      enter: ({ topic }) => SystemPrompt.append(`Calm down about ${topic}.`)
    })
    return Effect.gen(function*() {
      const state = yield* Agent.run(Agent.make("clerk", { toolkit: Kit, modes: [escalation] }), "Help")
      assert.deepStrictEqual(names(state), ["escalation"])
      const [before, after] = (yield* MockModel.calls).map(({ request }) => request)
      assert.notInclude(before!.system, "Calm down")
      assert.include(after!.system, "Calm down about AI.")
      assert.deepStrictEqual(after!.lastToolResults.map(({ result }) => result), ["Will escalate."])
    }).pipe(
      Effect.provide(Kit.toLayer({
        escalate: () =>
          Effect.as(
            Effect.orDie(Mode.schedule(ModeTransition.switch("escalation", { topic: "AI" }))),
            "Will escalate."
          )
      })),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("escalate", {}), "There, there.")))
    )
  })

  it.effect("mode with structured output", () => {
    const Report = Schema.Struct({ title: Schema.String })
    const reporter = Agent.make("reporter", { output: Report, modes: [research] })
    return Effect.gen(function*() {
      const session = yield* Session.make(reporter)
      yield* session.enterMode("research", { topic: "quantum" })
      const state = yield* session.call("Report")
      assert.deepStrictEqual(AgentState.output(session, state), Result.succeed({ title: "Qubits" }))
      const request = yield* sent(0)
      assert.include(request.system, "The topic is quantum.")
      assert.deepStrictEqual(request.toolNames.toSorted(), ["final_answer", "search"])
    }).pipe(
      Effect.scoped,
      Effect.provide(found),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("final_answer", { title: "Qubits" }))))
    )
  })

  it.effect("mode in multi agent pipe", () => {
    const shouting = Mode.make("shouting", { invokable: true, enter: () => SystemPrompt.append("Shout.") })
    const reader = Agent.make("reader", { modes: [shouting] })
    const writer = Agent.make("writer", { modes: [shouting] })
    const plan = Plan.make({ nodes: [reader, writer], edges: [Plan.edge(reader, writer)] })
    return Effect.gen(function*() {
      assert.deepStrictEqual(yield* Plan.run(plan, "Read"), { writer: "READ" })
      const calls = (yield* MockModel.calls).map(({ request }) => [request.agent, request.system.includes("Shout.")])
      assert.deepStrictEqual(calls, [["reader", false], ["reader", true], ["writer", false]])
    }).pipe(Effect.provide(MockModel.layer(MockModel.conditional(
      MockModel.when(({ agent }) => agent === "writer", ({ lastUserText }) => lastUserText),
      MockModel.when(({ system }) => system.includes("Shout."), "READ"),
      MockModel.otherwise(MockResponse.toolCall("enter_shouting_mode", {}))
    ))))
  })

  it.effect("mode in multi agent pipe, by handoff", () => {
    const log: Array<string> = []
    const quiet = Mode.make("quiet", {
      enter: () => SystemPrompt.append("Whisper."),
      exit: () => Effect.sync(() => void log.push("-quiet"))
    })
    const writer = Agent.make("writer")
    const reader = Agent.make("reader", { modes: [quiet], handoffs: [Handoff.to(writer)] })
    return Effect.gen(function*() {
      const session = yield* Session.make(reader)
      yield* session.enterMode("quiet")
      const state = yield* session.call("Read")
      assert.strictEqual(state.agent, "writer")
      assert.deepStrictEqual(names(state), [])
      assert.deepStrictEqual(log, ["-quiet"])
      const calls = (yield* MockModel.calls).map(({ request }) => [request.agent, request.system.includes("Whisper.")])
      assert.deepStrictEqual(calls, [["reader", true], ["writer", false]])
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("handoff_to_writer", {}), "Written.")))
    )
  })
})

describe("Edge cases", () => {
  it.effect("empty stack", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const { events, exit } = yield* watch(session.exitMode())
      assert.strictEqual(reasonOf(exit), "NoMode")
      assert.strictEqual(reasonOf(yield* Effect.exit(session.exitMode("mode"))), "NoMode")
      assert.strictEqual(reasonOf(yield* Effect.exit(session.schedule(ModeTransition.exit))), "NoMode")
      assert.deepStrictEqual(events, [])
      assert.deepStrictEqual(yield* session.state, AgentState.make("assistant"))
    }).pipe(withAssistant))

  it.effect("deep stack", () =>
    Effect.gen(function*() {
      const depth = 50
      const log: Array<string> = []
      const levels = Array.from({ length: depth }, (_, at) => `level ${at}`)
      const session = yield* Session.Session
      const inside = Effect.gen(function*() {
        yield* session.call("Deep")
        return yield* Mode.stack
      })
      const stack = yield* levels.reduceRight<Effect.Effect<ReadonlyArray<string>, unknown, Mode.Host>>(
        (body, name, at) =>
          Mode.within(
            body,
            Mode.make(name, {
              enter: () => Effect.andThen(Mode.set("at", at), SystemPrompt.append(`At ${at}.`)),
              exit: () => Effect.map(Mode.get("at"), (at) => void log.push(`${name} at ${at}`))
            })
          ),
        inside
      )
      assert.deepStrictEqual(stack, levels)
      assert.deepStrictEqual(log, levels.map((name, at) => `${name} at ${at}`).toReversed())
      const { system } = yield* sent(0)
      assert.isTrue(system.endsWith(levels.map((_, at) => `At ${at}.`).join("\n\n")))
      const after = yield* session.state
      assert.deepStrictEqual([after.modes, after.prompt, texts(after)], [[], [], ["Deep", "Re: Deep"]])
    }).pipe(withAssistant))

  it.effect("rapid enter and exit", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let within = 0
      const mode = Mode.make("mode", {
        enter: () => Effect.andThen(SystemPrompt.append("In."), Effect.sync(() => log.push(`+${++within}`))),
        exit: () => Effect.sync(() => void log.push(`-${within--}`))
      })
      const session = yield* Session.Session
      const before = yield* session.state
      for (let turn = 0; turn < 100; turn++) yield* Mode.within(Effect.void, mode)
      assert.deepStrictEqual(log, Array.from({ length: 100 }, () => ["+1", "-1"]).flat())
      const { modeHistory, ...after } = yield* session.state
      assert.deepStrictEqual([after, modeHistory?.length], [before, 100])
      yield* session.call("Hi")
      assert.strictEqual((yield* sent(0)).system, "Be brief.")
    }).pipe(withAssistant))

  it.effect("rapid enter and exit, of several at once", () =>
    Effect.gen(function*() {
      const mode = Mode.make("mode", { enter: () => Effect.yieldNow, exit: () => Effect.yieldNow })
      const session = yield* Session.Session
      const { events, exit } = yield* watch(
        Effect.forEach(Array.from({ length: 20 }), () => Mode.within(Effect.yieldNow, mode), {
          concurrency: "unbounded",
          discard: true
        })
      )
      assert.deepStrictEqual(exit, Exit.void)
      assert.deepStrictEqual((yield* session.state).modes, [])
      assert.lengthOf(ofTag(events, "ModeEntered"), 20)
      assert.lengthOf(ofTag(events, "ModeExited"), 20)
    }).pipe(withAssistant))
})
