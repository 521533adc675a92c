/**
 * What others hold or make, and a state must not share, choke on, or keep silent about.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, ExecutionPlan, Exit, Layer, Option, Result, Schema, Stream } from "effect"
import { AiError, LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import {
  Agent,
  AgentEvent,
  AgentState,
  type AgentStatus,
  Conversation,
  Group,
  Guardrail,
  Handoff,
  HandoffPolicy,
  Mode,
  ModeTransition,
  Session,
  StopWhen,
  SystemPrompt
} from "troupe"
import { MockModel, MockResponse, Story } from "troupe/testing"

const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))

const textOf = (state: AgentState.AgentState): string => JSON.stringify(AgentState.toJson(state))

const callsOf = (state: AgentState.AgentState): ReadonlyArray<Conversation.Call> =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : [])

describe("A state shares nothing with", () => {
  const Keep = Toolkit.make(Tool.make("keep", {
    parameters: Schema.Struct({ value: Schema.Json }),
    success: Schema.Json,
    needsApproval: true
  }))
  const keeper = Agent.make("keeper", { toolkit: Keep })

  it.effect("handlers that change their parameters, and their results later", () =>
    Effect.gen(function*() {
      const kept: Array<Array<string>> = []
      const tools = Keep.toLayer({
        keep: ({ value }) =>
          Effect.sync(() => {
            const list = (value as { readonly list: Array<string> }).list
            list.push("changed")
            kept.push(list)
            return list
          })
      })
      const asked = yield* Agent.run(keeper, "Keep it").pipe(
        Effect.provide([tools, model(MockResponse.toolCall("keep", { value: { list: ["given"] } }))])
      )
      const approved = Result.getOrThrow(AgentState.approve(asked, "call_1"))
      const before = [textOf(asked), textOf(approved)]
      const done = yield* Agent.resume(keeper, approved).pipe(Effect.provide([tools, model("Kept.")]))
      const after = textOf(done)
      kept[0]!.push("later")
      assert.deepStrictEqual([textOf(asked), textOf(approved)], before)
      assert.strictEqual(textOf(done), after)
      const [call] = callsOf(done)
      assert.deepStrictEqual(call?.params, { value: { list: ["given"] } })
      assert.deepStrictEqual(call?.state._tag === "Settled" && call.state.result, ["given", "changed"])
    }))

  it.effect("the parts that a user gave", () =>
    Effect.gen(function*() {
      const parts = [{ ...Conversation.text("Hello") }]
      const state = yield* Agent.run(Agent.make("greeter"), parts).pipe(Effect.provide(model("Hi.")))
      parts.push(Conversation.text("Again"))
      Object.assign(parts[0]!, { text: "Changed" })
      assert.strictEqual(AgentState.text(state), "Hi.")
      assert.strictEqual(Conversation.lastUserText(state.conversation), "Hello")
    }))
})

describe("What a program gives in a place for data", () => {
  const cycle: Record<string, unknown> = { a: 1 }
  cycle["again"] = cycle
  const shown: ReadonlyArray<readonly [given: unknown, kept: Schema.Json]> = [
    [{ at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    [new Map([["a", 1]]), [["a", 1]]],
    [cycle, { a: 1, again: "[cycle]" }],
    [12n, "12"],
    [null, null]
  ]
  const desk = (decision: unknown) =>
    Group.make({ b: Agent.make("b"), c: Agent.make("c") }, {
      start: "b",
      policy: HandoffPolicy.make({
        names: ["b", "c"],
        decide: ({ agent }) => agent === "b" ? decision as HandoffPolicy.Decision<"c"> : undefined
      })
    })
  const asked = AgentState.ask(AgentState.make("b"), "Go", 0)
  const stored = (state: AgentState.AgentState) =>
    assert.deepStrictEqual(AgentState.fromJson(textOf(state)), Result.succeed(state))

  it.effect("of a policy's decision is kept as JSON, as a copy, in events too", () =>
    Effect.gen(function*() {
      const encode = Schema.encodeSync(Schema.toCodecJson(AgentEvent.AgentEvent))
      const run = (decision: unknown) =>
        Agent.run(desk(decision), "Go").pipe(
          Agent.observe((event) => Effect.sync(() => encode(event))),
          Effect.provide(model("Yes.", "No."))
        )
      for (const [context, kept] of shown) {
        const state = yield* run({ target: "c", context })
        assert.deepStrictEqual(state.handoff?.context, kept)
        stored(state)
      }
      stored(yield* run({ target: "c", reason: undefined, context: undefined }))
      const context = { urgent: true }
      const state = yield* run({ target: "c", context })
      context.urgent = false
      assert.deepStrictEqual(state.handoff, { from: "b", context: { urgent: true } })
    }))

  it("of a handoff by hand is kept as JSON, as a copy, at a whole millisecond", () => {
    for (const [context, kept] of shown) {
      const request = { target: "c", context: context as Schema.Json }
      const state = Handoff.buildHandoffState(asked, undefined, request, { at: 1.5 })
      assert.deepStrictEqual(state.handoff?.context, kept)
      stored(state)
    }
    const context = { urgent: true }
    const state = Handoff.buildHandoffState(asked, undefined, { target: "c", context })
    context.urgent = false
    assert.deepStrictEqual(state.handoff?.context, { urgent: true })
    for (const at of [Number.NaN, Infinity]) {
      assert.throws(
        () => Handoff.buildHandoffState(asked, undefined, { target: "c" }, { at }),
        `"at" is ${at}, not a time`
      )
      assert.throws(() => AgentState.ask(asked, "Go", at), `"at" is ${at}, not a time`)
    }
  })

  const five = 5 as never
  const calling = [Story.userSays("Ship it."), Story.modelAnswers([Conversation.call("c1", "ship", {})])] as const
  const awaiting = (last: Story.Step) => Story.tellOrThrow(AgentState.make("b"), ...calling, last)

  it("and must be a text, is refused there, by its name", () => {
    const request = (given: object) => () =>
      Handoff.buildHandoffState(asked, undefined, { target: "c", ...given } as AgentStatus.HandoffRequest)
    const places: ReadonlyArray<readonly [run: () => unknown, said: string]> = [
      [() => AgentState.log(asked, five), "A line of the logs must be a text, not a number"],
      [() => AgentState.make(five), "The name of an agent must be a text, not a number"],
      [() => AgentState.make(""), "The name of an agent can't be empty"],
      [() => AgentState.make("b", { systemMessage: five }), "`systemMessage` must be a text, not a number"],
      [request({ reason: 5 }), "The `reason` of a handoff's request must be a text, not a number"],
      [request({ target: 5 }), "The `target` of a handoff's request must be a text, not a number"],
      [request({ target: "" }), "The name of an agent can't be empty"],
      [
        () => AgentState.giveFailure(awaiting(Story.resultComesLater("c1")), "c1", { no: "way" } as never),
        "The reason why a call failed must be a text, not an object"
      ],
      [
        () => AgentState.deny(awaiting(Story.approvalIsRequested("c1")), "c1", five),
        "The reason of a denial must be a text, not a number"
      ],
      [() => AgentState.approve(asked, five), "The id of a call must be a text, not a number"],
      [() => AgentState.deny(asked, five, "No."), "The id of a call must be a text, not a number"],
      [() => AgentState.giveResult(asked, five, 1), "The id of a call must be a text, not a number"],
      [() => AgentState.giveFailure(asked, five, "No."), "The id of a call must be a text, not a number"],
      [() => ModeTransition.push(five), "The name of a mode must be a text, not a number"],
      [() => ModeTransition.switch(five), "The name of a mode must be a text, not a number"],
      [() => Mode.make(five, { enter: () => Effect.void }), "The name of a mode must be a text, not a number"],
      [
        () => Mode.make("m", { toolName: five, enter: () => Effect.void }),
        "The name of a tool must be a text, not a number"
      ],
      [() => Guardrail.make(five, () => Guardrail.pass), "The name of a guardrail must be a text, not a number"],
      [() => Session.store(five), "The id of a session must be a text, not a number"],
      [() => Handoff.to(five), "The name of an agent must be a text, not undefined"],
      [() => Handoff.to("c", { toolName: five }), "The name of a tool must be a text, not a number"],
      [() => Agent.asTool(Agent.make("c"), { name: five }), "The name of a tool must be a text, not a number"],
      [() => StopWhen.toolCalled(five), "The name of a tool must be a text, not a number"],
      [() => Conversation.pin(asked.conversation, "0" as never), "The place of a turn must be a number, not a string"],
      [() => Conversation.unpin(asked.conversation, "0" as never), "The place of a turn must be a number, not a string"]
    ]
    for (const [run, said] of places) assert.throws(run, said)
  })

  it("and is missing in a part, is left out; of a wrong type, it is refused by its name", () => {
    const none = undefined as never
    const made: ReadonlyArray<Conversation.UserPart> = [
      Conversation.file("image/png", "AAAA", { fileName: none, metadata: none }),
      { _tag: "File", mediaType: "image/png", data: "AAAA", fileName: none, metadata: none },
      Conversation.text("Hi", none),
      { _tag: "Text", text: "Hi", metadata: none }
    ]
    const answer: ReadonlyArray<Conversation.AssistantPart> = [
      { _tag: "Reasoning", text: "Hm.", metadata: none },
      { _tag: "Source", id: "1", title: "A", url: none, mediaType: none, fileName: none, metadata: none }
    ]
    const usage = { input: 1, output: none }
    const conversation = Conversation.make([
      Conversation.user(made),
      Conversation.assistant("b", answer, { usage }),
      Conversation.user("Go on.")
    ])
    stored(AgentState.make("b", { conversation }))
    stored(AgentState.ask(asked, made, 0))
    stored(Story.tellOrThrow(AgentState.make("b"), Story.userSays(made), Story.modelAnswers("Yes.")))
    const wrong = [null, 5, {}, [], Promise.resolve("a")].map((given) => given as never)
    const metadata = [null, 5, "a", []].map((given) => given as never)
    for (const fileName of wrong) {
      assert.throws(() => Conversation.file("image/png", "AAAA", { fileName }), `A file is wrong at "/fileName"`)
      for (const part of [made[1]!, answer[1]!]) {
        assert.throws(
          () => Conversation.assistant("b", [{ ...part, fileName } as never]),
          `Part 0 of an answer is wrong at "/fileName": Expected string`
        )
      }
      const input = [made[0]!, { ...made[1]!, fileName }]
      for (
        const run of [
          () => Conversation.user(input),
          () => AgentState.ask(asked, input, 0),
          () => AgentState.editAt(asked, 0, input),
          () => Story.tell(AgentState.make("b"), Story.userSays(input))
        ]
      ) assert.throws(run, `Part 1 of an input is wrong at "/fileName": Expected string`)
      assert.throws(() => Conversation.assistant(fileName, "Hi"), `The turn of an assistant is wrong at "/agent"`)
      assert.throws(() => Conversation.call(fileName, "ship", {}), "The id of a call must be a text")
      assert.throws(() => Conversation.call("c1", fileName, {}), "The name of a call must be a text")
    }
    for (const given of metadata) {
      const said = `is wrong at "/metadata": Expected object`
      assert.throws(() => Conversation.text("Hi", given), `A text ${said}`)
      assert.throws(() => Conversation.file("a/b", "AAAA", { metadata: given }), `A file ${said}`)
      for (const part of made) {
        assert.throws(() => Conversation.user([{ ...part, metadata: given }]), `Part 0 of an input ${said}`)
      }
    }
    for (const data of [new Uint16Array(1), new DataView(new ArrayBuffer(1)), 5, null]) {
      assert.throws(() => Conversation.file("a/b", data as never), `A file is wrong at "/data"`)
    }
    for (
      const [options, said] of [
        [{ usage: { input: "1" } }, "/usage/input"],
        [{ usage: 5 }, "/usage"],
        [{ finishReason: "done" }, "/finishReason"]
      ] as const
    ) {
      assert.throws(
        () => Conversation.assistant("b", "Hi", options as never),
        `The turn of an assistant is wrong at "${said}"`
      )
    }
    assert.throws(
      () => Conversation.assistant("b", five),
      "`answer` of `Conversation.assistant` must be a list of parts, not a number"
    )
  })

  it.effect("and is what the model reads of a result, is kept, or ends the run with a defect that names the tool", () =>
    Effect.gen(function*() {
      const run = (output: unknown) => {
        const Camera = Toolkit.make(
          Tool.make("shoot", { success: Schema.String, toModelOutput: () => output as ReadonlyArray<Prompt.TextPart> })
        )
        return Agent.run(Agent.make("b", { toolkit: Camera }), "Go").pipe(
          Effect.provide(Camera.toLayer({ shoot: () => Effect.succeed("done") })),
          Effect.provide(model(MockResponse.toolCall("shoot", {}), "Done."))
        )
      }
      const image = { type: "file", mediaType: "image/png", data: "AAAA" }
      const none = { fileName: undefined, options: undefined }
      stored(yield* run([{ ...image, ...none }, { type: "text", text: "Hi", options: { a: new Date(0) } }]))
      const wrong: ReadonlyArray<readonly [output: unknown, said: string]> = [
        [
          [{ type: "text", text: 5 }],
          `Part 0 of \`toModelOutput\` of tool "shoot" is wrong at "/text": Expected string`
        ],
        [[{ type: "text" }], "is wrong at \"/text\": Missing key"],
        [[{ ...image, fileName: null }], "is wrong at \"/fileName\""],
        [[{ ...image, data: 5 }], "is wrong at \"/data\""],
        [[image, { type: "sound" }], "Part 1 of `toModelOutput` of tool \"shoot\" is wrong"],
        [[null], "Part 0 of `toModelOutput` of tool \"shoot\" is wrong"],
        [[{ type: "text", text: "Hi", options: 5 }], "is wrong at \"/options\""],
        [Promise.resolve([]), "`toModelOutput` of tool \"shoot\" must return a list of parts, not a Promise"],
        ["Hi", "`toModelOutput` of tool \"shoot\" must return a list of parts, not a string"]
      ]
      for (const [output, said] of wrong) {
        const defect = Cause.squash(yield* Effect.flip(Effect.sandbox(run(output))))
        assert.instanceOf(defect, TypeError, said)
        assert.include(String(defect), said)
      }
    }))

  it("in an imported prompt is refused by its name, if it has a wrong type", () => {
    const imported = (role: "user" | "assistant", ...content: ReadonlyArray<unknown>) =>
      Conversation.fromPrompt(
        Prompt.fromMessages([{ ...Prompt.makeMessage("user", { content: [] }), role, content }] as never)
      )
    const file = Prompt.makePart("file", { mediaType: "a/b", data: "AAAA" })
    const text = Prompt.makePart("text", { text: "Hi" })
    const call = Prompt.makePart("tool-call", { id: "c1", name: "ship", params: {}, providerExecuted: false })
    const none = { fileName: undefined, options: undefined }
    const { conversation } = imported("user", { ...file, ...none }, { ...text, ...none })
    stored(AgentState.make("b", { conversation }))
    for (
      const [part, said] of [
        [{ ...file, fileName: null }, `A part of message 0 is wrong at "/fileName": Expected string`],
        [{ ...file, data: 5 }, `A part of message 0 is wrong at "/data"`],
        [{ ...file, mediaType: 5 }, `A part of message 0 is wrong at "/mediaType": Expected string`],
        [{ ...text, text: 5 }, `A part of message 0 is wrong at "/text": Expected string`],
        [{ ...call, id: 5 }, "The id of a call in message 0 must be a text, not a number"],
        [{ ...call, name: 5 }, "The name of a call in message 0 must be a text, not a number"]
      ] as const
    ) assert.throws(() => imported("assistant", part), said)
    assert.throws(
      () => Conversation.fromPrompt(Prompt.empty, { agent: five }),
      "The name of an agent must be a text, not a number"
    )
  })

  it.effect("and must be a text or a setting, ends what was given it, by its name", () =>
    Effect.gen(function*() {
      const inSession = (f: (session: Session.Session) => Effect.Effect<unknown, unknown, Mode.Host>) =>
        Effect.gen(function*() {
          const session = yield* Session.Session
          const exit = yield* Effect.exit(f(session))
          stored(yield* session.state)
          return yield* exit
        }).pipe(Effect.provide(Session.layer(Agent.make("b"))), Effect.provide(model("Yes.")))
      const decided = (decision: unknown) => Effect.provide(Agent.run(desk(decision), "Go"), model("Yes."))
      const focus = Mode.make("focus", { enter: () => Effect.void })
      const configured = (settings: unknown) => inSession(() => Mode.configure(settings as {}))
      const places: ReadonlyArray<readonly [run: Effect.Effect<unknown, unknown>, said: string]> = [
        [decided({ target: "c", reason: 5 }), "The `reason` of a policy's decision must be a text, not a number"],
        [decided({ target: "" }), "The name of an agent can't be empty"],
        [decided(null), "`decide` of `HandoffPolicy.make` must return a decision, not null"],
        [inSession(() => SystemPrompt.append(five)), "The text of `SystemPrompt.append` must be a text, not a number"],
        [
          inSession(() => SystemPrompt.section("a", five)),
          "The text of `SystemPrompt.section` must be a text, not a number"
        ],
        [
          inSession(() => SystemPrompt.remove(five)),
          "The name of the section of `SystemPrompt.remove` must be a text, not a number"
        ],
        [
          inSession(() => Effect.scoped(Effect.andThen(Mode.enter(focus), Mode.set(five, 1)))),
          "The key of `Mode.set` must be a text, not a number"
        ],
        [configured({ toolChoice: "sometimes" }), "Not conversation settings at \"/toolChoice\": Expected \"auto\""],
        [configured({ toolChoice: null }), "Not conversation settings at \"/toolChoice\""],
        [configured({ tools: [5] }), "Not conversation settings at \"/tools/0\""],
        [configured({ model: 5 }), "Not conversation settings at \"/model\""],
        [configured(null), "Not conversation settings at \"/\""],
        [
          inSession((session) => session.configure({ toolChoice: five })),
          "Not conversation settings at \"/toolChoice\""
        ],
        [
          inSession((session) => session.giveFailure("c1", five)),
          "The reason why a call failed must be a text, not a number"
        ],
        [inSession((session) => session.approve(five)), "The id of a call must be a text, not a number"],
        [inSession((session) => session.pin("0" as never)), "The place of a turn must be a number, not a string"],
        [inSession((session) => session.enterMode(five)), "The name of a mode must be a text, not a number"],
        [
          inSession((session) => Effect.scoped(Effect.andThen(Mode.enter(focus), session.exitMode(five)))),
          "The name of a mode must be a text, not a number"
        ],
        [
          inSession((session) => session.schedule({ _tag: "Go" } as never)),
          "`schedule` takes a move of `ModeTransition`, and was given an object"
        ],
        [
          inSession((session) => session.schedule({ _tag: "Push", name: 5 } as never)),
          "The name of a mode must be a text, not a number"
        ],
        [
          inSession((session) => session.invoke("look" as never, {} as never)),
          "`invoke` takes a tool, and was given a string"
        ],
        [inSession((session) => session.call(asked as never)), "A run takes a text or parts, and was given an object"],
        [
          inSession((session) => session.call(undefined as never)),
          "A run takes a text or parts, and was given undefined"
        ],
        [
          Agent.continueConversation(Agent.make("b"), asked, asked as never).pipe(Effect.provide(model("Yes."))),
          "A run takes a text or parts, and was given an object"
        ],
        [
          Agent.resume(Agent.make("b"), "{}" as never).pipe(Effect.provide(model("Yes."))),
          "A run takes a state, and was given a string"
        ],
        [
          Effect.scoped(Session.make(Agent.make("b"), { state: Result.succeed(asked) as never })).pipe(
            Effect.provide(model())
          ),
          "A session takes a state, and was given a Result"
        ],
        [inSession((session) => session.exitMode(five)), "The name of a mode must be a text, not a number"],
        [
          inSession((session) => session.schedule({ _tag: "Push", name: five })),
          "The name of a mode must be a text, not a number"
        ],
        [
          inSession((session) => session.schedule(five)),
          "`schedule` takes a move of `ModeTransition`, and was given a number"
        ],
        [
          inSession(() => Mode.schedule({ _tag: "Switch", name: five })),
          "The name of a mode must be a text, not a number"
        ],
        [
          inSession((session) => session.approve(five, { params: {} })),
          "The id of a call must be a text, not a number"
        ],
        [inSession((session) => session.deny(five, "No.")), "The id of a call must be a text, not a number"],
        [inSession((session) => session.giveResult(five, 1)), "The id of a call must be a text, not a number"],
        [inSession((session) => session.giveFailure(five, "No.")), "The id of a call must be a text, not a number"],
        [
          Effect.provide(Session.load(five), KeyValueStore.layerMemory),
          "The id of a session must be a text, not a number"
        ],
        [
          Effect.provide(Session.remove(five), KeyValueStore.layerMemory),
          "The id of a session must be a text, not a number"
        ]
      ]
      for (const [run, said] of places) {
        const exit = yield* Effect.exit(run)
        const defect = Exit.isFailure(exit) ? Result.getOrUndefined(Cause.findDefect(exit.cause)) : undefined
        assert.instanceOf(defect, Error, said)
        assert.include(defect instanceof Error ? defect.message : "", said)
      }
    }))
})

describe("A state survives JSON", () => {
  const Anything = Toolkit.make(Tool.make("anything", { parameters: Schema.Unknown, success: Schema.Any }))
  const odd = { nan: Number.NaN, none: undefined, big: 12n, at: new Date(0), zero: -0 }

  it.effect("with parameters and results that aren't JSON", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(Agent.make("taker", { toolkit: Anything }), "Take it").pipe(
        Effect.provide([
          Anything.toLayer({ anything: () => Effect.succeed({ inner: odd.at }) }),
          model(MockResponse.toolCall("anything", odd), "Taken.")
        ])
      )
      const read = Result.getOrThrow(AgentState.fromJson(textOf(state)))
      assert.deepStrictEqual(read, state)
      const [call] = callsOf(state)
      assert.deepStrictEqual(call?.params, { nan: "NaN", big: "12", at: "1970-01-01T00:00:00.000Z", zero: 0 })
      assert.deepStrictEqual(call?.state._tag === "Settled" && call.state.result, { inner: "1970-01-01T00:00:00.000Z" })
    }))

  it.effect("when its clock has fractions, as its events do", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1500 micros")
      const encode = Schema.encodeSync(Schema.toCodecJson(AgentEvent.AgentEvent))
      const state = yield* Agent.run(Agent.make("timer"), "Now").pipe(
        Agent.observe((event) => Effect.sync(() => encode(event))),
        Effect.provide(model("Now."))
      )
      assert.strictEqual(state.run.startedAt, 1)
      assert.deepStrictEqual(AgentState.fromJson(textOf(state)), Result.succeed(state))
      const asked = AgentState.ask(AgentState.make("timer"), "Now", 1.5)
      assert.deepStrictEqual(AgentState.fromJson(textOf(asked)), Result.succeed(asked))
    }))
})

describe("An error without a message", () => {
  class Boom extends Schema.TaggedError<Boom>()("Boom", { level: Schema.Int }) {}
  const Explode = Toolkit.make(Tool.make("explode", { failure: Boom }))
  const Coded = Toolkit.make(Tool.make("coded", { failure: Schema.Struct({ code: Schema.Int }) }))

  it.effect("of a called agent is told by its tag", () =>
    Effect.gen(function*() {
      const child = Agent.make("child", { toolkit: Explode, fatal: ["explode"] })
      const parent = Agent.make("parent", { agents: [Agent.asTool(child)] })
      const state = yield* Agent.run(parent, "Go").pipe(
        Effect.provide(Explode.toLayer({ explode: () => Effect.fail(new Boom({ level: 3 })) })),
        Effect.provide(MockModel.layer(MockModel.byAgent({
          parent: MockModel.queue(MockResponse.toolCall("child", { task: "Explode" }), "It exploded."),
          child: MockModel.queue(MockResponse.toolCall("explode", {}))
        })))
      )
      const [call] = callsOf(state)
      assert.strictEqual(call?.state._tag === "Settled" && call.state.result, `Agent "child" failed: Boom`)
    }))

  it.effect("and without a tag is told by what it is made of", () =>
    Effect.gen(function*() {
      const state = yield* Agent.settle(Agent.make("coder", { toolkit: Coded, fatal: ["coded"] }), "Go").pipe(
        Effect.provide(Coded.toLayer({ coded: () => Effect.fail({ code: 7 }) })),
        Effect.provide(model(MockResponse.toolCall("coded", {})))
      )
      assert.deepStrictEqual(
        state.status._tag === "Failed" && [state.status.error.tag, state.status.error.message],
        ["Failure", `{"code":7}`]
      )
    }))

  it.effect("whose tag is empty leaves a state that can be stored", () =>
    Effect.gen(function*() {
      const agent = Agent.make("tagged", { instructions: () => Effect.fail({ _tag: "" }) })
      const state = yield* Agent.settle(agent, "Go").pipe(Effect.provide(model("Never.")))
      assert.deepStrictEqual(AgentState.fromJson(textOf(state)), Result.succeed(state))
    }))
})

describe("A plan of models", () => {
  const overloaded = new AiError.InternalProviderError({ description: "overloaded" })

  it.effect("serves called agents, handlers and instructions too, and falls back for them", () =>
    Effect.gen(function*() {
      const Ask = Toolkit.make(Tool.make("ask", { success: Schema.String }))
      const child = Agent.make("child", { toolkit: Ask })
      const ask = LanguageModel.generateText({ prompt: "Who?" }).pipe(Effect.map((response) => response.text))
      const parent = Agent.make("parent", {
        agents: [Agent.asTool(child)],
        instructions: () => Effect.orDie(ask)
      }).pipe(Agent.withModel(ExecutionPlan.make(
        { provide: model(...Array.from({ length: 20 }, () => MockResponse.fail(overloaded))) },
        {
          provide: MockModel.layer(
            MockModel.make(({ agent, lastToolResults, messages }) =>
              messages.length === 1 && messages[0]?.role === "user" && messages[0].content.length === 1 &&
                messages[0].content[0]?.type === "text" && messages[0].content[0].text === "Who?"
                ? "You are kind."
                : lastToolResults.length > 0
                ? `${agent} is done.`
                : MockResponse.toolCall(agent === "parent" ? "child" : "ask", agent === "parent" ? { task: "Ask" } : {})
            )
          )
        }
      )))
      const state = yield* Agent.run(parent, "Hello").pipe(
        Effect.provide(Ask.toLayer({ ask: () => Effect.succeed("nobody") }))
      )
      assert.strictEqual(AgentState.text(state), "parent is done.")
      const [call] = callsOf(state)
      assert.strictEqual(call?.state._tag === "Settled" && call.state.result, "child is done.")
    }))

  it.effect("that can't be built at all fails the run with what it failed with", () =>
    Effect.gen(function*() {
      const failure = AiError.make({ module: "Test", method: "make", reason: overloaded })
      const agent = Agent.withModel(
        Agent.make("asker"),
        ExecutionPlan.make({ provide: Layer.effect(LanguageModel.LanguageModel, Effect.fail(failure)) })
      )
      const exit = yield* Effect.exit(Agent.run(agent, "Hello"))
      assert.deepStrictEqual(
        exit._tag === "Failure" && Option.getOrUndefined(Agent.failedState(exit.cause))?.status._tag,
        "Failed"
      )
      const error = yield* Effect.flip(Agent.run(agent, "Hello"))
      assert.isTrue(AiError.isAiError(error))
    }))
})

describe("A state that has ended", () => {
  const agent = Agent.make("asker")
  const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
  const asked = (response: MockResponse.Input) => Agent.settle(agent, "Hello").pipe(Effect.provide(model(response)))

  for (const [status, response] of [["Complete", "Hi."], ["Failed", MockResponse.fail(overloaded)]] as const) {
    it.effect(`as ${status} is the same value once it is resumed, and nothing happens`, () =>
      Effect.gen(function*() {
        const ended = yield* asked(response)
        assert.strictEqual(ended.status._tag, status)
        yield* TestClock.adjust("1 minute")
        const events: Array<string> = []
        yield* Effect.gen(function*() {
          assert.strictEqual(yield* Agent.resume(agent, ended), ended)
          assert.strictEqual(yield* Agent.settle(agent, ended), ended)
          assert.strictEqual(yield* Agent.step(agent, ended), ended)
        }).pipe(Agent.observe(({ _tag }) => Effect.sync(() => events.push(_tag))), Effect.provide(model()))
        assert.deepStrictEqual(events, [])
        assert.deepStrictEqual(yield* Stream.runCollect(Agent.stream(agent, ended)).pipe(Effect.provide(model())), [])
        assert.deepStrictEqual(yield* Stream.runCollect(Agent.states(agent, ended)).pipe(Effect.provide(model())), [])
        const other = yield* Effect.flip(Agent.resume(Agent.make("other"), ended).pipe(Effect.provide(model())))
        assert.strictEqual(other.reason._tag, "AgentMismatch")
      }))
  }

  it.effect("is continued if its answer doesn't fit the agent's output", () =>
    Effect.gen(function*() {
      const typed = Agent.make("asker", { output: Schema.Struct({ n: Schema.Finite }) })
      const done = yield* Agent.resume(typed, yield* asked("Hi.")).pipe(
        Effect.provide(model(MockResponse.toolCall("final_answer", { n: 1 })))
      )
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(typed, done)), { n: 1 })
    }))

  it.effect("isn't changed by a session's resume either, unless it failed", () =>
    Effect.gen(function*() {
      const ended = yield* asked("Hi.")
      const session = yield* Session.make(agent, { state: ended })
      const failed = yield* Session.make(agent, { state: yield* asked(MockResponse.fail(overloaded)) })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* session.resume, ended)
      assert.deepStrictEqual(yield* Stream.runCollect(session.stream()), [])
      assert.strictEqual(AgentState.text(yield* session.call("Again")), "Again.")
      assert.strictEqual(AgentState.text(yield* failed.resume), "Hello.")
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `${lastUserText}.`)))
    ))

  it.effect("answers the call of its caller, without another run", () =>
    Effect.gen(function*() {
      const boss = Agent.make("boss", { agents: [Agent.asTool(agent)] })
      const said = MockModel.layer(MockModel.byAgent({
        boss: MockModel.conditional(
          MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, "Done."),
          MockModel.otherwise(MockResponse.toolCall("asker", { task: "Ask" }))
        ),
        asker: MockModel.queue("Hi.")
      }))
      const begun = AgentState.make("boss")
      const events = yield* Stream.runCollect(Agent.stream(boss, "Go")).pipe(Effect.provide(said))
      const at = events.findIndex(({ _tag, calls }) => _tag === "RunCompleted" && calls.length > 0)
      const again = yield* Stream.runCollect(
        Agent.stream(boss, events.slice(0, at + 1).reduce(AgentState.reduce, begun))
      ).pipe(Effect.provide(said))
      assert.deepStrictEqual(again.flatMap(({ _tag, calls }) => calls.length > 0 ? [_tag] : []), [])
      const last = again[again.length - 1]
      assert.isTrue(last?._tag === "RunCompleted" && AgentState.text(last.state) === "Done.")
    }))
})
