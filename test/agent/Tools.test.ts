import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Logger, Option, Result, Schema } from "effect"
import { AiError, Prompt, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, type AgentEvent, AgentState, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "./balanced.ts"
import { callOf, makeGauge, ofTag, told, toldOf, watch } from "./watch.ts"

const { all, toolCall } = MockResponse

class Refused extends Schema.TaggedError<Refused>("test/Refused")("Refused", { why: Schema.String }) {}

/** Runs to the end while the clock goes on. */
const inTime = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self)
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

/** The calls of one turn, then an answer. */
const turn = (...calls: ReadonlyArray<MockResponse.MockResponse>) =>
  MockModel.layer(MockModel.queue(all(...calls), "Done."))

const legal = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  assert.deepStrictEqual(imbalances(events), [])
  const end = events[events.length - 1]
  assert.isTrue(end !== undefined && "state" in end)
  const state = end !== undefined && "state" in end ? end.state : AgentState.make("none")
  assert.deepStrictEqual(events.reduce(AgentState.reduce, AgentState.make(state.agent)), state)
  assert.deepStrictEqual(Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state)))), state)
  return state
}

const Wait = Tool.make("wait", { parameters: Schema.Struct({ ms: Schema.Finite }), success: Schema.Finite })
const Alone = ToolPolicy.set(
  Tool.make("alone", { parameters: Schema.Struct({ ms: Schema.Finite }), success: Schema.Finite }),
  { exclusive: true }
)
const Waiting = Toolkit.make(Wait, Alone)

const waiting = (gauge: ReturnType<typeof makeGauge>) =>
  Waiting.toLayer({
    wait: ({ ms }, { toolCallId = "" }) => gauge.run(toolCallId, Effect.as(Effect.sleep(ms), ms)),
    alone: ({ ms }, { toolCallId = "" }) => gauge.run(toolCallId, Effect.as(Effect.sleep(ms), ms))
  })

describe("Calls of a turn", () => {
  const responses = Array.from(
    { length: 10 },
    (_, index) => toolCall("wait", { ms: 1000 - 50 * index }, { id: `w${index}` })
  )
  const ids = responses.map((_, index) => `w${index}`)

  for (const [concurrency, most] of [[1, 1], [3, 3], [undefined, 10], ["unbounded", 10]] as const) {
    it.effect(`run ${concurrency ?? "ten"} at once and settle in their order, whichever ends first`, () =>
      Effect.gen(function*() {
        const gauge = makeGauge()
        const agent = Agent.make("a", {
          toolkit: Waiting,
          ...(concurrency === undefined ? undefined : { toolConcurrency: concurrency })
        })
        const { events } = yield* inTime(watch(Agent.run(agent, "Go"))).pipe(
          Effect.provide([turn(...responses), waiting(gauge)])
        )
        legal(events)
        assert.strictEqual(gauge.most, most)
        assert.deepStrictEqual(ofTag(events, "ToolCallSettled").map((event) => event.callId), ids)
        assert.deepStrictEqual(
          ofTag(events, "ToolCallSettled").map((event) => event.result),
          ids.map((_, index) => 1000 - 50 * index)
        )
        if (most === 10) assert.deepStrictEqual(gauge.log.slice(10), ids.toReversed().map((id) => `-${id}`))
      }))
  }

  it.effect("are a hundred, and each has its own result", () =>
    Effect.gen(function*() {
      const gauge = makeGauge()
      const agent = Agent.make("a", { toolkit: Waiting, toolConcurrency: "unbounded" })
      const many = Array.from({ length: 100 }, (_, index) => toolCall("wait", { ms: 1 + (index * 37) % 100 }))
      yield* Effect.gen(function*() {
        const { events } = yield* inTime(watch(Agent.run(agent, "Go")))
        assert.strictEqual(AgentState.text(legal(events)), "Done.")
        assert.deepStrictEqual(
          (yield* told).map(({ result }) => result),
          many.map((_, index) => 1 + (index * 37) % 100)
        )
      }).pipe(Effect.provide([turn(...many), waiting(gauge)]))
      assert.strictEqual(gauge.most, 100)
    }))

  it.effect("of an exclusive tool run alone, between those before and those after", () =>
    Effect.gen(function*() {
      const gauge = makeGauge()
      const agent = Agent.make("a", { toolkit: Waiting })
      const calls = [["wait", "a", 30], ["wait", "b", 10], ["alone", "x", 20], ["alone", "y", 5], ["wait", "c", 20], [
        "wait",
        "d",
        10
      ]] as const
      const responses = calls.map(([name, id, ms]) => toolCall(name, { ms }, { id }))
      const { events } = yield* inTime(watch(Agent.run(agent, "Go"))).pipe(
        Effect.provide([turn(...responses), waiting(gauge)])
      )
      legal(events)
      assert.deepStrictEqual(gauge.log.join(" "), "+a +b -b -a +x -x +y -y +c +d -d -c")
      assert.deepStrictEqual(ofTag(events, "ToolCallSettled").map((event) => event.callId), [
        "a",
        "b",
        "x",
        "y",
        "c",
        "d"
      ])
    }))

  it.effect("of one id are told apart", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { toolkit: Waiting })
      yield* Effect.gen(function*() {
        const { events } = yield* inTime(watch(Agent.run(agent, "Go")))
        legal(events)
        assert.deepStrictEqual(yield* told, [
          { id: "same", isFailure: false, result: 1 },
          { id: "same-2", isFailure: false, result: 2 },
          { id: "call", isFailure: false, result: 3 }
        ])
      }).pipe(Effect.provide([
        turn(
          toolCall("wait", { ms: 1 }, { id: "same" }),
          toolCall("wait", { ms: 2 }, { id: "same" }),
          toolCall("wait", { ms: 3 }, { id: "" })
        ),
        waiting(makeGauge())
      ]))
    }))
})

const Strict = Tool.make("strict", {
  parameters: Schema.Struct({ count: Schema.Int, at: Schema.Struct({ city: Schema.String }) })
})
const Throws = Tool.make("throws", { failure: Refused })
const Returns = Tool.make("returns", { failure: Refused, failureMode: "return" })
const Mute = Tool.make("mute")
const Limited = Tool.make("limited")
const Slow = ToolPolicy.set(Tool.make("slow"), { timeout: "1 second" })
const Liar = Tool.make("liar", { success: Schema.Struct({ celsius: Schema.Finite }) })
const Fine = Tool.make("fine", { success: Schema.String })
const Failing = Toolkit.make(Strict, Throws, Returns, Mute, Limited, Slow, Liar, Fine)

const handlers = Failing.of({
  strict: () => Effect.void,
  throws: () => Effect.fail(new Refused({ why: "sold out" })),
  returns: () => Effect.fail(new Refused({ why: "closed" })),
  mute: () => Effect.fail("no words" as never),
  limited: () => Effect.fail(new AiError.RateLimitError({})),
  slow: () => Effect.never,
  liar: () => Effect.succeed({ celsius: "warm" } as never),
  fine: () => Effect.succeed("fine")
})

describe("A call that fails", () => {
  const calls = [
    toolCall("nothing", {}, { id: "unknown" }),
    toolCall("strict", { count: 1.5, at: { city: 7 } }, { id: "params" }),
    toolCall("throws", {}, { id: "throws" }),
    toolCall("returns", {}, { id: "returns" }),
    toolCall("mute", {}, { id: "mute" }),
    toolCall("limited", {}, { id: "limited" }),
    toolCall("slow", {}, { id: "slow" }),
    toolCall("liar", {}, { id: "liar" }),
    toolCall("fine", {}, { id: "fine" })
  ]
  const withHandlers = Effect.runSync(Failing.pipe(Effect.provide(Failing.toLayer(handlers))))
  const silent = Logger.layer([])

  for (
    const [kind, agent] of [
      ["the environment", Agent.make("a", { toolkit: Failing })],
      ["its toolkit", Agent.make("a", { toolkit: withHandlers })]
    ] as const
  ) {
    it.effect(`tells the model what was wrong, and the run goes on, with handlers of ${kind}`, () =>
      Effect.gen(function*() {
        const { events } = yield* inTime(watch(Agent.run(agent, "Go")))
        const state = legal(events)
        assert.strictEqual(state.status._tag, "Complete")
        assert.deepStrictEqual(
          ofTag(events, "ToolCallSettled").map((event) => [event.callId, event.outcome]),
          calls.map((_, index) => {
            const id = ["unknown", "params", "throws", "returns", "mute", "limited", "slow", "liar", "fine"][index]
            return [id, id === "fine" ? "Succeeded" : "Failed"]
          })
        )
        const results = yield* told
        assert.deepStrictEqual(results.map(({ isFailure }) => isFailure), [...Array(8).fill(true), false])
        assert.deepStrictEqual(
          yield* toldOf("unknown"),
          `There is no tool "nothing". Available tools: strict, throws, returns, mute, limited, slow, liar, fine.`
        )
        const params = yield* toldOf("params")
        assert.match(String(params), /^The parameters of "strict" are wrong: .*integer[^]*at \["count"\]/)
        assert.deepStrictEqual(yield* toldOf("throws"), { _tag: "Refused", why: "sold out" })
        assert.deepStrictEqual(yield* toldOf("returns"), { _tag: "Refused", why: "closed" })
        assert.match(String(yield* toldOf("mute")), /no words/)
        assert.match(String(yield* toldOf("limited")), /^The tool "limited" failed: .*[Rr]ate limit/)
        assert.strictEqual(yield* toldOf("slow"), "The tool \"slow\" timed out.")
        assert.strictEqual(yield* toldOf("liar"), "The result of tool \"liar\" doesn't fit its schema.")
        assert.strictEqual(yield* toldOf("fine"), "fine")
        assert.deepStrictEqual(
          ofTag(events, "ToolCallStarted").map((event) => event.callId),
          ["throws", "returns", "mute", "limited", "slow", "liar", "fine"]
        )
      }).pipe(Effect.provide([turn(...calls), Failing.toLayer(handlers), silent])))
  }

  it.effect("by the name of something that every object has", () =>
    Effect.gen(function*() {
      const names = ["toString", "__proto__", "constructor", "hasOwnProperty", "", "final_answer", "troupe_no_tool"]
      yield* Effect.gen(function*() {
        for (const agent of [Agent.make("a", { toolkit: Failing }), Agent.make("bare")]) {
          const { events } = yield* watch(Agent.run(agent, "Go"))
          assert.strictEqual(legal(events).status._tag, "Complete")
          const list = agent.name === "bare"
            ? "There are no tools."
            : "Available tools: strict, throws, returns, mute, limited, slow, liar, fine."
          assert.deepStrictEqual(
            (yield* told).map(({ result }) => result),
            names.map((name) => `There is no tool "${name}". ${list}`)
          )
        }
      }).pipe(
        Effect.provide([
          MockModel.layer(MockModel.make((request) =>
            request.iteration === 0 ? all(...names.map((name) => toolCall(name, { a: 1 }))) : "Done."
          )),
          Failing.toLayer(handlers)
        ])
      )
    }))

  it.effect("by its parameters, where they aren't what any tool takes", () =>
    Effect.gen(function*() {
      const odd = [null, undefined, 7, "{\"count\":1}", [], { count: "1" }, {}]
      yield* Effect.gen(function*() {
        const { events } = yield* watch(Agent.run(Agent.make("a", { toolkit: Failing }), "Go"))
        assert.strictEqual(legal(events).status._tag, "Complete")
        const results = yield* told
        assert.strictEqual(results.length, odd.length)
        for (const { result } of results) assert.match(String(result), /^The parameters of "strict" are wrong: /)
      }).pipe(Effect.provide([turn(...odd.map((params) => toolCall("strict", params))), Failing.toLayer(handlers)]))
    }))
})

describe("The result of a call", () => {
  const Result = <S extends Schema.Top>(name: string, success: S) => Tool.make(name, { success })
  const Values = Toolkit.make(
    Result("nothing", Schema.Void),
    Result("date", Schema.Struct({ at: Schema.Date })),
    Result("bytes", Schema.Uint8Array),
    Result("map", Schema.ReadonlyMap(Schema.String, Schema.Date)),
    Result("nan", Schema.Number),
    Result("absent", Schema.UndefinedOr(Schema.String)),
    Result("some", Schema.Option(Schema.Date)),
    Result("none", Schema.OptionFromNullOr(Schema.String)),
    Result("any", Schema.Any),
    Result("unknown", Schema.Unknown),
    Tool.dynamic("dynamic"),
    Tool.make("picture", {
      success: Schema.Struct({ png: Schema.Uint8Array, width: Schema.Int }),
      toModelOutput: ({ png, width }) => [
        Prompt.makePart("text", { text: `${width} pixels wide` }),
        Prompt.makePart("file", { mediaType: "image/png", data: png })
      ]
    })
  )
  const at = new Date("2024-02-29T12:00:00Z")
  const circle: { self?: unknown } = {}
  circle.self = circle
  const results = Values.of({
    nothing: () => Effect.void,
    date: () => Effect.succeed({ at }),
    bytes: () => Effect.succeed(new Uint8Array([1, 2, 3])),
    map: () => Effect.succeed(new Map([["leap", at]])),
    nan: () => Effect.succeed(NaN),
    absent: () => Effect.succeed(undefined),
    some: () => Effect.succeed(Option.some(at)),
    none: () => Effect.succeed(Option.none()),
    any: () => Effect.succeed({ at, gone: undefined }),
    unknown: () => Effect.succeed(circle),
    dynamic: () => Effect.succeed({ list: [undefined, 1], gone: undefined }),
    picture: () => Effect.succeed({ png: new Uint8Array([137, 80]), width: 4 })
  })
  const names = [
    "nothing",
    "date",
    "bytes",
    "map",
    "nan",
    "absent",
    "some",
    "none",
    "any",
    "unknown",
    "dynamic"
  ] as const
  const withHandlers = Effect.runSync(Effect.provide(Values, Values.toLayer(results)))

  for (
    const [kind, agent] of [
      ["the environment", Agent.make("a", { toolkit: Values })],
      ["its toolkit", Agent.make("a", { toolkit: withHandlers })]
    ] as const
  ) {
    it.effect(`is JSON in the state, whatever the handler gave, with handlers of ${kind}`, () =>
      Effect.gen(function*() {
        const { events } = yield* watch(Agent.run(agent, "Go"))
        const state = legal(events)
        const day = "2024-02-29T12:00:00.000Z"
        assert.deepStrictEqual(
          names.map((name) => {
            const call = callOf(state, name)?.state
            return call?._tag === "Settled" ? call.result : undefined
          }),
          [
            null,
            { at: day },
            "AQID",
            [["leap", day]],
            "NaN",
            null,
            { _tag: "Some", value: day },
            null,
            { at: day },
            "The result of tool \"unknown\" doesn't fit its schema.",
            { list: [null, 1] }
          ]
        )
        assert.strictEqual(yield* toldOf("map"), (yield* told).find((result) => result.id === "map")?.result)
      }).pipe(
        Effect.provide([
          turn(...names.map((name) => toolCall(name, {}, { id: name }))),
          Values.toLayer(results),
          Logger.layer([])
        ])
      ))

    it.effect(`is what the tool says for the model, and its own in the state, with handlers of ${kind}`, () =>
      Effect.gen(function*() {
        const { events } = yield* watch(Agent.run(agent, "Go"))
        const call = callOf(legal(events), "p")?.state
        assert.deepStrictEqual(call?._tag === "Settled" ? call.result : undefined, { png: "iVA=", width: 4 })
        const calls = yield* MockModel.calls
        const [read] = calls[1]?.request.lastToolResults ?? []
        const [text, file] = read?.modelOutput ?? []
        assert.strictEqual(text?.type === "text" ? text.text : "", "4 pixels wide")
        assert.deepStrictEqual(file?.type === "file" ? file.data : "", new Uint8Array([137, 80]))
      }).pipe(Effect.provide([turn(toolCall("picture", {}, { id: "p" })), Values.toLayer(results)])))
  }
})

describe("A handler", () => {
  class Shop extends Context.Service<Shop, string>()("test/Shop") {}
  class Customer extends Context.Service<Customer, string>()("test/Customer") {}
  const Buy = Tool.make("buy", { parameters: Schema.Struct({ at: Schema.Date }), success: Schema.String })
    .addDependency(
      Customer
    )
  const Who = Tool.make("who", { success: Schema.Unknown })
  const Kit = Toolkit.make(Buy, Who)
  const layer = Kit.toLayer(Effect.gen(function*() {
    const shop = yield* Shop
    return Kit.of({
      buy: ({ at }) =>
        Effect.gen(function*() {
          return `${yield* Customer} bought at ${shop} and ${yield* Shop} in ${at.getUTCFullYear()}`
        }) as Effect.Effect<string, never, Customer>,
      who: () =>
        Effect.map(Agent.CurrentAgent, (running) => ({
          agent: running?.agent,
          path: running?.path,
          calls: running?.calls,
          status: running?.state.status._tag,
          asked: running === undefined ? undefined : AgentState.text(running.state)
        }))
    })
  })).pipe(Layer.provide(Layer.succeed(Shop, "the corner")))

  it.effect("has the services of its layer and those that its tool depends on, and parameters as values", () =>
    Effect.gen(function*() {
      for (const toolkit of [Kit, yield* Kit]) {
        yield* Agent.run(Agent.make("a", { toolkit }), "Go")
        assert.strictEqual(yield* toldOf("b"), "Ada bought at the corner and the corner in 2024")
      }
    }).pipe(
      Effect.provide([
        MockModel.layer(
          MockModel.make((request) =>
            request.iteration > 0 ? "Done." : toolCall("buy", { at: "2024-02-29T00:00:00Z" }, { id: "b" })
          )
        ),
        layer
      ]),
      Effect.provideService(Customer, "Ada")
    ))

  it.effect("sees the agent that called: its name, path and state", () =>
    Effect.gen(function*() {
      const inner = Agent.make("inner", { toolkit: Kit })
      const outer = Agent.make("outer", { toolkit: Kit, agents: [Agent.asTool(inner)] })
      const seen = yield* Agent.run(outer, "Go").pipe(
        Effect.andThen(MockModel.calls),
        Effect.provide([
          MockModel.layer(MockModel.byAgent({
            outer: MockModel.queue(
              all("Both.", toolCall("who", {}), toolCall("inner", { task: "say who" }, { id: "i" })),
              "Done."
            ),
            inner: MockModel.queue(all("Me.", toolCall("who", {})), "Inner done.")
          })),
          layer
        ])
      )
      const results = seen.flatMap(({ request }) => request.lastToolResults.map(({ result }) => result))
      assert.deepStrictEqual(results, [
        { agent: "inner", path: ["outer", "inner"], calls: ["i"], status: "WaitingForTools", asked: "Me." },
        { agent: "outer", path: ["outer"], calls: [], status: "WaitingForTools", asked: "Both." },
        "Inner done."
      ])
    }).pipe(Effect.provideService(Customer, "Ada")))

  it.effect("that dies is a defect, and the last event holds a legal state of it", () =>
    Effect.gen(function*() {
      const gauge = makeGauge()
      const Bomb = Toolkit.make(Tool.make("bomb"), Wait)
      const agent = Agent.make("a", { toolkit: Bomb })
      const { events, exit } = yield* inTime(watch(Agent.run(agent, "Go"))).pipe(Effect.provide([
        turn(
          toolCall("wait", { ms: 1 }, { id: "before" }),
          toolCall("bomb", {}, { id: "bomb" }),
          toolCall("wait", { ms: 5000 }, { id: "after" })
        ),
        Bomb.toLayer({
          bomb: () => Effect.andThen(Effect.sleep(10), Effect.die(new Error("boom"))),
          wait: ({ ms }, { toolCallId = "" }) => gauge.run(toolCallId, Effect.as(Effect.sleep(ms), ms))
        })
      ]))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.strictEqual(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "", "Error: boom")
      const state = legal(events)
      assert.strictEqual(events[events.length - 1]?._tag, "RunFailed")
      assert.deepStrictEqual(state.status._tag === "Failed" ? state.status.error.tag : "", "Defect")
      assert.deepStrictEqual(
        ofTag(events, "ToolCallSettled").map((event) => [event.callId, event.outcome]),
        [["before", "Succeeded"], ["bomb", "Failed"], ["after", "Interrupted"]]
      )
      assert.deepStrictEqual(gauge.log, ["+before", "+after", "-before", "-after"])
      const resumed = yield* Agent.resume(agent, AgentState.reopen(state)).pipe(
        Effect.provide([
          MockModel.layer(MockModel.queue("I see.")),
          Bomb.toLayer({ bomb: () => Effect.void, wait: () => Effect.succeed(1) })
        ])
      )
      assert.strictEqual(AgentState.text(resumed), "I see.")
    }))

  it.effect("that throws instead of giving an Effect is a defect", () =>
    Effect.gen(function*() {
      const { events, exit } = yield* watch(Agent.run(Agent.make("a", { toolkit: Failing }), "Go"))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      legal(events)
    }).pipe(Effect.provide([
      turn(toolCall("fine", {})),
      Failing.toLayer({
        ...handlers,
        fine: () => {
          throw new Error("thrown")
        }
      })
    ])))

  it.effect("that isn't there is a defect that names its tool", () =>
    Effect.gen(function*() {
      const run: Effect.Effect<unknown, unknown, unknown> = Agent.run(Agent.make("a", { toolkit: Failing }), "Go")
      const { events, exit } = yield* watch(run as Effect.Effect<unknown, unknown, MockModel.MockModel>)
      assert.strictEqual(
        Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "",
        "Error: No handler of tool \"fine\" was provided"
      )
      legal(events)
    }).pipe(Effect.provide(turn(toolCall("fine", {})))))
})

describe("A fatal tool", () => {
  const Charge = ToolPolicy.set(
    Tool.make("charge", { parameters: Schema.Struct({ cents: Schema.Int }), failure: Refused }),
    { timeout: "1 second" }
  )
  const Kit = Toolkit.make(Charge, Wait)
  const agent = Agent.make("a", { toolkit: Kit, fatal: ["charge"] })
  const layer = (charge: Effect.Effect<void, Refused | AiError.AiErrorReason>) =>
    Kit.toLayer({ charge: () => charge, wait: ({ ms }) => Effect.as(Effect.sleep(ms), ms) })
  const calls = [
    toolCall("wait", { ms: 500 }, { id: "before" }),
    toolCall("charge", { cents: 100 }, { id: "charge" }),
    toolCall("wait", { ms: 900 }, { id: "after" })
  ]

  for (const mode of ["error", "return"] as const) {
    it.effect(`ends the run with its own error, once the other calls are settled (failure mode "${mode}")`, () =>
      Effect.gen(function*() {
        const Charge2 = Tool.make("charge", {
          parameters: Charge.parametersSchema,
          failure: Refused,
          failureMode: mode
        })
        const Kit = Toolkit.make(Charge2, Wait)
        const fatal = Agent.make("a", { toolkit: Kit, fatal: ["charge"] })
        const own = Effect.runSync(Effect.provide(
          Kit,
          Kit.toLayer({
            charge: () => Effect.fail(new Refused({ why: "no money" })),
            wait: ({ ms }) => Effect.as(Effect.sleep(ms), ms)
          })
        ))
        for (const self of [fatal, Agent.make("a", { toolkit: own, fatal: ["charge"] })]) {
          const { events, exit } = yield* inTime(watch(Effect.flip(Agent.run(self, "Go")))).pipe(
            Effect.provide([turn(...calls), layer(Effect.fail(new Refused({ why: "no money" })))])
          )
          assert.deepStrictEqual(exit, Exit.succeed(new Refused({ why: "no money" })))
          const state = legal(events)
          assert.deepStrictEqual(
            ofTag(events, "ToolCallSettled").map((event) => [event.callId, event.outcome, event.result]),
            [
              ["before", "Succeeded", 500],
              ["charge", "Failed", { _tag: "Refused", why: "no money" }],
              ["after", "Succeeded", 900]
            ]
          )
          assert.deepStrictEqual(state.status._tag === "Failed" ? state.status.error.tag : "", "Refused")
        }
      }))
  }

  for (const mode of ["error", "return"] as const) {
    for (
      const [what, failure, error] of [
        [
          "an `AiError`",
          AiError.AiError,
          AiError.make({ module: "Model", method: "ask", reason: new AiError.RateLimitError({}) })
        ],
        ["the reason of one", AiError.RateLimitError, new AiError.RateLimitError({})]
      ] as const
    ) {
      it.effect(`ends the run with ${what} that it declares (failure mode "${mode}")`, () =>
        Effect.gen(function*() {
          const Summarize = Tool.make("summarize", { failure: failure as typeof AiError.AiError, failureMode: mode })
          const Kit = Toolkit.make(Summarize)
          const live = Kit.toLayer({ summarize: () => Effect.fail(error as never) })
          const own = yield* Effect.provide(Kit, live)
          const encoded = Schema.encodeUnknownSync(Schema.toCodecJson(failure as typeof AiError.AiError))(error)
          for (const toolkit of [Kit, own]) {
            const environment = Layer.merge(turn(toolCall("summarize", {})), live)
            const self = Agent.make("a", { toolkit, fatal: ["summarize"] })
            const { events, exit } = yield* watch(Effect.flip(Agent.run(self, "Go"))).pipe(Effect.provide(environment))
            assert.deepStrictEqual(exit, Exit.succeed(error) as never)
            assert.deepStrictEqual(ofTag(events, "ToolCallSettled").map(({ result }) => result), [encoded as never])
            const patient = yield* watch(Agent.run(Agent.make("a", { toolkit }), "Go")).pipe(
              Effect.provide(environment)
            )
            assert.strictEqual(legal(patient.events).status._tag, "Complete")
            assert.deepStrictEqual(ofTag(patient.events, "ToolCallSettled").map(({ result }) => result), [
              encoded as never
            ])
          }
        }))
    }
  }

  it.effect("isn't fatal where its parameters are wrong, it times out, or AI fails it", () =>
    Effect.gen(function*() {
      for (
        const [charge, cents] of [
          [Effect.void, "many"],
          [Effect.never, 100],
          [Effect.fail(new AiError.RateLimitError({})), 100]
        ] as const
      ) {
        const { events } = yield* inTime(watch(Agent.run(agent, "Go"))).pipe(
          Effect.provide([turn(toolCall("charge", { cents })), layer(charge)])
        )
        assert.strictEqual(legal(events).status._tag, "Complete")
        assert.deepStrictEqual(ofTag(events, "ToolCallSettled").map((event) => event.outcome), ["Failed"])
      }
    }))

  it.effect("leaves a state behind that can be reopened, so that the model reads of the failure", () =>
    Effect.gen(function*() {
      const failed = yield* inTime(Agent.settle(agent, "Go"))
      assert.strictEqual(failed.status._tag, "Failed")
      const state = yield* inTime(Agent.resume(agent, AgentState.reopen(failed)))
      assert.strictEqual(AgentState.text(state), "Done.")
      assert.deepStrictEqual(yield* toldOf("charge"), { _tag: "Refused", why: "no money" })
    }).pipe(Effect.provide([turn(...calls), layer(Effect.fail(new Refused({ why: "no money" })))])))
})

describe("Preliminary results", () => {
  const Dig = Tool.make("dig", { success: Schema.Struct({ depth: Schema.Int, at: Schema.Date }) })
  const Kit = Toolkit.make(Dig)
  const at = new Date(0)
  const layer = Kit.toLayer({
    dig: Effect.fnUntraced(function*(_, { preliminary }) {
      for (const depth of [1, 2]) yield* preliminary({ depth, at })
      yield* Effect.forkDetach(Effect.andThen(Effect.sleep(100), preliminary({ depth: 99, at })))
      return { depth: 3, at }
    })
  })
  const own = Effect.runSync(Effect.provide(Kit, layer))

  for (
    const [kind, agent] of [
      ["the environment", Agent.make("a", { toolkit: Kit })],
      ["its toolkit", Agent.make("a", { toolkit: own })]
    ] as const
  ) {
    it.effect(`are events, and only the last one settles the call, with handlers of ${kind}`, () =>
      Effect.gen(function*() {
        const { events } = yield* watch(Agent.run(agent, "Go"))
        yield* TestClock.adjust("1 second")
        const state = legal(events)
        const time = "1970-01-01T00:00:00.000Z"
        assert.deepStrictEqual(
          ofTag(events, "ToolCallProgressed").map((event) => event.result),
          [{ depth: 1, at: time }, { depth: 2, at: time }]
        )
        assert.deepStrictEqual(yield* told, [{ id: "d", isFailure: false, result: { depth: 3, at: time } }])
        assert.strictEqual(AgentState.text(state), "Done.")
      }).pipe(Effect.provide([turn(toolCall("dig", {}, { id: "d" })), layer])))
  }
})

describe("Tools of other kinds", () => {
  const ByJson = Tool.dynamic("by_json", {
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
    success: Schema.String
  })
  const BySchema = Tool.dynamic("by_schema", {
    parameters: Schema.Struct({ n: Schema.Finite }),
    success: Schema.Finite
  })
  const Search = Tool.providerDefined({
    id: "acme.search",
    customName: "acme_search",
    providerName: "search",
    parameters: Schema.Struct({ query: Schema.String }),
    success: Schema.Struct({ hits: Schema.Int })
  })(undefined)
  const Shell = Tool.providerDefined({
    id: "acme.shell",
    customName: "acme_shell",
    providerName: "shell",
    requiresHandler: true,
    parameters: Schema.Struct({ command: Schema.String }),
    success: Schema.String
  })({})
  const Kit = Toolkit.make(ByJson, BySchema, Search, Shell)
  const agent = Agent.make("a", { toolkit: Kit })
  const layer = Kit.toLayer({
    by_json: (params) => Effect.succeed(JSON.stringify(params)),
    by_schema: ({ n }) => Effect.succeed(n + 1),
    acme_shell: ({ command }) => Effect.succeed(`$ ${command}`)
  })

  it.effect("are run: dynamic ones and a provider's with a handler", () =>
    Effect.gen(function*() {
      const { events } = yield* watch(Agent.run(agent, "Go"))
      legal(events)
      assert.deepStrictEqual((yield* told).map(({ id, result }) => [id, result]), [
        ["j", "{\"anything\":[1]}"],
        ["s", 2],
        ["w", yield* toldOf("w")],
        ["p", "$ ls"]
      ])
      assert.match(String(yield* toldOf("w")), /^The parameters of "by_schema" are wrong/)
    }).pipe(Effect.provide([
      turn(
        toolCall("by_json", { anything: [1] }, { id: "j" }),
        toolCall("by_schema", { n: 1 }, { id: "s" }),
        toolCall("by_schema", { n: "1" }, { id: "w" }),
        toolCall("acme_shell", { command: "ls" }, { id: "p" })
      ),
      layer
    ])))

  it.effect("are the provider's to run: a call arrives with its result, which isn't run again", () =>
    Effect.gen(function*() {
      const { events } = yield* watch(Agent.run(agent, "Go"))
      const state = legal(events)
      assert.strictEqual(AgentState.text(state), "Found.")
      assert.strictEqual((yield* MockModel.calls).length, 1)
      assert.deepStrictEqual(callOf(state, "p")?.state, { _tag: "Settled", outcome: "Succeeded", result: { hits: 3 } })
      assert.deepStrictEqual(callOf(state, "f")?.state._tag === "Settled" && callOf(state, "f")?.state, {
        _tag: "Settled",
        outcome: "Failed",
        result: { type: "execution-denied", reason: "no" }
      } as never)
      assert.deepStrictEqual(ofTag(events, "ToolCallStarted"), [])
    }).pipe(Effect.provide([
      MockModel.layer(MockModel.queue(all(
        MockResponse.providerCall("acme_search", { query: "a" }, { hits: 3 }, { id: "p" }),
        MockResponse.providerCall("acme_search", { query: "b" }, { type: "execution-denied", reason: "no" }, {
          id: "f",
          isFailure: true
        }),
        "Found."
      ))),
      layer
    ])))

  it.effect("are the provider's to run: a call without result isn't left open, and one by mistake isn't a defect", () =>
    Effect.gen(function*() {
      const { events } = yield* watch(Agent.run(agent, "Go"))
      const state = legal(events)
      assert.strictEqual(state.status._tag, "Complete")
      assert.deepStrictEqual(callOf(state, "lost")?.state, {
        _tag: "Settled",
        outcome: "Interrupted",
        result: "The provider gave no result for this call."
      })
      assert.strictEqual(yield* toldOf("ours"), "The tool \"acme_search\" is the provider's to run, and it didn't.")
    }).pipe(Effect.provide([
      MockModel.layer(MockModel.queue(
        all(
          {
            _tag: "MockResponse",
            parts: [{
              type: "tool-call",
              id: "lost",
              name: "acme_search",
              params: { query: "a" },
              providerExecuted: true
            }]
          },
          toolCall("acme_search", { query: "b" }, { id: "ours" })
        ),
        "Done."
      )),
      layer
    ])))

  it.effect("have any name, that of a prototype too", () =>
    Effect.gen(function*() {
      const Odd = Toolkit.make(
        Tool.make("__proto__", { success: Schema.String }),
        Tool.make("toString", { success: Schema.String })
      )
      yield* Effect.gen(function*() {
        yield* Agent.run(Agent.make("a", { toolkit: Odd }), "Go")
        assert.deepStrictEqual((yield* told).map(({ result }) => result), ["proto", "string"])
        assert.deepStrictEqual((yield* MockModel.calls)[0]?.request.toolNames, ["__proto__", "toString"])
      }).pipe(Effect.provide([
        turn(toolCall("__proto__", {}), toolCall("toString", {})),
        Odd.toLayer({ ["__proto__"]: () => Effect.succeed("proto"), toString: () => Effect.succeed("string") } as never)
      ]))
    }))

  it("can't share a name", () => {
    const child = Agent.make("wait")
    assert.throws(() => Agent.make("a", { toolkit: Waiting, agents: [Agent.asTool(child)] }), Agent.DuplicateTool)
    assert.throws(
      () => Agent.make("a", { agents: [Agent.asTool(child), Agent.asTool(Agent.make("b"), { name: "wait" })] }),
      "Agent \"a\" has two tools of the name \"wait\": rename one of them"
    )
    const Final = Toolkit.make(Tool.make("final_answer"))
    assert.throws(() => Agent.make("a", { toolkit: Final, output: Schema.String }), Agent.DuplicateTool)
    Agent.make("a", { toolkit: Final })
  })
})
