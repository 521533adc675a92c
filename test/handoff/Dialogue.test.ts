import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Option, Result, Schema, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Conversation, Dialogue, Group, Handoff, HandoffPolicy, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { deepFreeze } from "../domain/legal.ts"

const { all, toolCall } = MockResponse

const ada = Agent.make("ada", { description: "Counts things" })
const bob = Agent.make("bob")
const cid = Agent.make("cid", { description: "Doubts things" })

const overloaded = new AiError.AuthenticationError({ kind: "InvalidKey" })

/** Each agent numbers what it says. */
const counting = MockModel.make(({ agent, state }) =>
  `${agent} ${state?.conversation.turns.filter((turn) => turn._tag === "Assistant").length}`
)

const said = (state: Dialogue.DialogueState) => state.transcript.slice(1).map(Dialogue.textOf)
const speakers = (state: Dialogue.DialogueState) =>
  state.transcript.flatMap((entry) => entry._tag === "Agent" ? [entry.speaker] : [])
const reasonOf = (state: Dialogue.DialogueState) => state.status._tag === "Ended" ? state.status.reason : undefined
const stateOf = (state: Dialogue.DialogueState, name: string) => {
  const found = Dialogue.agentState(state, name)
  assert.isDefined(found)
  return found
}
const throughText = (state: Dialogue.DialogueState) =>
  deepFreeze(Result.getOrThrow(Dialogue.fromJson(JSON.stringify(Dialogue.toJson(state)))))

/** What each request to the models showed: whose, and each message with its role and text. */
const asked = Effect.map(MockModel.calls, (calls) =>
  calls.map(({ request }) => [
    request.agent,
    ...request.messages.map((message) =>
      `${message.role}: ${
        typeof message.content === "string"
          ? message.content
          : message.content.map((part) => part.type === "text" ? part.text : part.type).join("|")
      }`
    )
  ]))

/** Streams a dialogue to its end, whatever that is: its events, the states that they fold to, and how it ended. */
const watch = <Name extends string, E, R>(
  dialogue: Dialogue.Dialogue<Name, E, R>,
  from: string | Dialogue.DialogueState
) =>
  Effect.gen(function*() {
    const events: Array<Dialogue.DialogueEvent> = []
    const exit = yield* Dialogue.stream(dialogue, from).pipe(
      Stream.runForEach((event) => Effect.sync(() => void events.push(deepFreeze(event)))),
      Effect.exit
    )
    const last = events.reduce(Dialogue.reduce, Dialogue.begin(dialogue, ""))
    return { events, exit, last, tags: tagsOf(events) }
  })

const tagsOf = (events: ReadonlyArray<Dialogue.DialogueEvent>) =>
  events.flatMap((event) => event._tag === "TurnProgressed" ? [] : [event._tag])

const yes = MockModel.make(() => "Yes.")

const withModel = (handler: MockModel.Handler) => Effect.provide(MockModel.layer(handler))

const failureOf = <E>(exit: Exit.Exit<unknown, E>): E => {
  assert.isTrue(Exit.isFailure(exit))
  return Option.getOrThrow(Exit.findErrorOption(exit))
}

describe("What an agent sees", () => {
  it.effect("are the user's words as they are, the others' between their names, and its own as its answers", () =>
    Effect.gen(function*() {
      const state = yield* Dialogue.run(Dialogue.make(ada, bob, cid, { maxTurns: 5 }), "How many?")
      assert.deepStrictEqual(yield* asked, [
        ["ada", "user: How many?"],
        ["bob", "user: How many?|\n<message from=\"ada\">\nada 0\n</message>"],
        [
          "cid",
          "user: How many?|\n<message from=\"ada\">\nada 0\n</message>|\n<message from=\"bob\">\nbob 0\n</message>"
        ],
        [
          "ada",
          "user: How many?",
          "assistant: ada 0",
          "user: <message from=\"bob\">\nbob 0\n</message>|\n<message from=\"cid\">\ncid 0\n</message>"
        ],
        [
          "bob",
          "user: How many?|\n<message from=\"ada\">\nada 0\n</message>",
          "assistant: bob 0",
          "user: <message from=\"cid\">\ncid 0\n</message>|\n<message from=\"ada\">\nada 1\n</message>"
        ]
      ])
      assert.deepStrictEqual(said(state), ["ada 0", "bob 0", "cid 0", "ada 1", "bob 1"])
      assert.deepStrictEqual(
        state.transcript.map((entry) => entry._tag === "Agent" ? entry.turn : undefined),
        [undefined, 0, 1, 2, 3, 4]
      )
    }).pipe(withModel(counting)))

  it.effect("of the opening are its files too", () =>
    Effect.gen(function*() {
      const opening = [Conversation.text("What is it?"), Conversation.file("image/png", new Uint8Array([1, 2]))]
      const state = yield* Dialogue.run(Dialogue.make(ada, bob, { maxTurns: 2 }), opening)
      assert.deepStrictEqual((yield* asked)[1], [
        "bob",
        "user: What is it?|file|\n<message from=\"ada\">\nada 0\n</message>"
      ])
      assert.deepStrictEqual(throughText(state), state)
    }).pipe(withModel(counting)))

  it.effect("are words that begin a line of their own, whoever said what stands before them", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, { maxTurns: 2 })
      const first = yield* Dialogue.run(dialogue, [Conversation.text("Go"), Conversation.text(" on")])
      const picture = Conversation.file("image/png", new Uint8Array([1]))
      const second = Dialogue.say(Dialogue.say(first, "More!"), [
        picture,
        Conversation.text("And"),
        Conversation.text(" it!")
      ])
      yield* Dialogue.resume(dialogue, second)
      assert.deepStrictEqual((yield* asked).slice(1), [
        ["bob", "user: Go| on|\n<message from=\"ada\">\nada 0\n</message>"],
        [
          "ada",
          "user: Go| on",
          "assistant: ada 0",
          "user: <message from=\"bob\">\nbob 0\n</message>|\nMore!|file|\nAnd| it!"
        ],
        [
          "bob",
          "user: Go| on|\n<message from=\"ada\">\nada 0\n</message>",
          "assistant: bob 0",
          "user: More!|file|\nAnd| it!|\n<message from=\"ada\">\nada 1\n</message>"
        ]
      ])
      assert.deepStrictEqual(second.transcript.slice(-2).map(Dialogue.textOf), ["More!", "And it!"])
    }).pipe(withModel(counting)))

  it.effect("is that nobody else spoke, where it speaks again at once", () =>
    Effect.gen(function*() {
      const state = yield* Dialogue.run(Dialogue.make(ada, bob, { speaker: () => "ada", maxTurns: 2 }), "Hello")
      assert.deepStrictEqual((yield* asked)[1], ["ada", "user: Hello", "assistant: ada 0", `user: ${Dialogue.goOn}`])
      assert.deepStrictEqual(said(state), ["ada 0", "ada 1"])
      assert.isUndefined(Dialogue.agentState(state, "bob"))
    }).pipe(withModel(counting)))

  it.effect("is also that somebody said nothing", () =>
    Effect.gen(function*() {
      yield* Dialogue.run(Dialogue.make(ada, bob, { maxTurns: 3 }), "Hello")
      assert.deepStrictEqual((yield* asked)[2], [
        "ada",
        "user: Hello",
        "assistant: Hm.",
        "user: <message from=\"bob\">\n\n</message>"
      ])
    }).pipe(withModel(MockModel.queue("Hm.", "", "Bob?"))))
})

const Look = Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }), success: Schema.String })
const Looking = Toolkit.make(Look)
const looking = Looking.toLayer({ look: ({ at }) => Effect.succeed(`a ${at}`) })

describe("A turn", () => {
  it.effect("ends when the agent's own run does: its tools have run before anybody else speaks", () =>
    Effect.gen(function*() {
      const scout = Agent.make("scout", { toolkit: Looking })
      const state = yield* Dialogue.run(Dialogue.make(scout, bob, { maxTurns: 3 }), "Go")
      assert.deepStrictEqual(yield* asked, [
        ["scout", "user: Go"],
        ["scout", "user: Go", "assistant: Let me look.|tool-call", "tool: tool-result"],
        ["bob", "user: Go|\n<message from=\"scout\">\nI saw a tree.\n</message>"],
        [
          "scout",
          "user: Go",
          "assistant: Let me look.|tool-call",
          "tool: tool-result",
          "assistant: I saw a tree.",
          "user: <message from=\"bob\">\nNice.\n</message>"
        ]
      ])
      assert.deepStrictEqual(said(state), ["I saw a tree.", "Nice.", "Done."])
    }).pipe(
      Effect.provide(looking),
      withModel(MockModel.queue(
        all("Let me look.", toolCall("look", { at: "tree" })),
        "I saw a tree.",
        "Nice.",
        "Done."
      ))
    ))

  it.effect("says what was said beside the last calls, where nothing is said after them", () =>
    Effect.gen(function*() {
      const scout = Agent.make("scout", { toolkit: Looking })
      const state = yield* Dialogue.run(Dialogue.make(scout, bob, { maxTurns: 1 }), "Go")
      assert.deepStrictEqual(said(state), ["I see."])
    }).pipe(
      Effect.provide(looking),
      withModel(MockModel.queue(all("I see.", toolCall("look", { at: "tree" })), ""))
    ))

  it.effect("says a value as JSON, and not what an earlier turn said", () =>
    Effect.gen(function*() {
      const judge = Agent.make("judge", { output: Schema.Struct({ points: Schema.Int, on: Schema.Date }) })
      const state = yield* Dialogue.run(Dialogue.make(judge, bob, { maxTurns: 4 }), "Go")
      assert.deepStrictEqual(said(state), [
        "{\"points\":7,\"on\":\"2024-02-29T00:00:00.000Z\"}",
        "Fair.",
        "{\"points\":8,\"on\":\"2024-02-29T00:00:00.000Z\"}",
        ""
      ])
    }).pipe(withModel(MockModel.queue(
      all("I think so.", toolCall("final_answer", { points: 7, on: "2024-02-29T00:00:00.000Z" })),
      "Fair.",
      all(toolCall("final_answer", { points: 8, on: "2024-02-29T00:00:00.000Z" })),
      ""
    ))))

  it.effect("says a value in the JSON of its schema, whatever a program reads of it", () =>
    Effect.gen(function*() {
      const Counts = Schema.Struct({
        count: Schema.BigInt,
        size: Schema.NumberFromString,
        names: Schema.ReadonlySet(Schema.String),
        note: Schema.Option(Schema.String)
      })
      const counts = { count: "12345678901234567890", size: "5", names: ["a", "b"], note: { _tag: "None" } }
      for (const answer of [toolCall("final_answer", counts), JSON.stringify(counts)]) {
        const dialogue = Dialogue.make(Agent.make("clerk", { output: Counts }), bob, { maxTurns: 1 })
        const [heard = ""] = said(
          yield* Dialogue.run(dialogue, "Go").pipe(Effect.provide(MockModel.layer(MockModel.queue(answer))))
        )
        assert.deepStrictEqual(JSON.parse(heard), counts)
        const { last } = yield* watch(dialogue, "Go").pipe(Effect.provide(MockModel.layer(MockModel.queue(answer))))
        assert.deepStrictEqual(said(last), [heard])
      }
    }))

  it.effect("says a text without quotation marks, given by a call or as JSON", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { output: Schema.String })
      const state = yield* Dialogue.run(Dialogue.make(clerk, bob, { maxTurns: 3 }), "Go")
      assert.deepStrictEqual(said(state), ["Yes.", "5", "No."])
    }).pipe(withModel(MockModel.queue(toolCall("final_answer", { value: "Yes." }), "5", "\"No.\""))))
})

describe("Who speaks next", () => {
  const run = (speaker: Dialogue.Choice<"ada" | "bob" | "cid">, maxTurns = 4) =>
    Effect.map(Dialogue.run(Dialogue.make(ada, bob, cid, { speaker, maxTurns }), "Go, @bob"), speakers)

  it.effect("goes round in the order of the participants", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* run(Dialogue.roundRobin), ["ada", "bob", "cid", "ada"])
    }).pipe(withModel(counting)))

  it.effect("is whom the last text mentions", () =>
    Effect.gen(function*() {
      const answers = (texts: ReadonlyArray<string>) =>
        Effect.provide(run(Dialogue.byName(), texts.length + 1), MockModel.layer(MockModel.queue(...texts, "")))
      assert.deepStrictEqual(yield* answers(["@ada first, then @cid.", "Ask @ada!", "No."]), [
        "bob",
        "cid",
        "ada",
        "bob"
      ])
      assert.deepStrictEqual(yield* answers(["@adam and x@ada and @bob and @ada_1"]), ["bob", "cid"])
      assert.deepStrictEqual(yield* answers(["@ada @adam"]), ["bob", "ada"])
      assert.deepStrictEqual(yield* answers(["(@ada)"]), ["bob", "ada"])
    }))

  it.effect("is the one with the longer name where two are mentioned at once", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(Agent.make("ann"), Agent.make("ann-lee"), bob, {
        speaker: Dialogue.byName(),
        maxTurns: 2
      })
      assert.deepStrictEqual(speakers(yield* Dialogue.run(dialogue, "@ann-lee")), ["ann-lee", "bob"])
      assert.deepStrictEqual(speakers(yield* Dialogue.run(dialogue, "@ann")), ["ann", "ann-lee"])
    }).pipe(withModel(yes)))

  it.effect("is whom a function names, or the next one in the round", () =>
    Effect.gen(function*() {
      const choice = Dialogue.byName((transcript) => transcript.length === 2 ? "ada" : undefined)
      assert.deepStrictEqual(yield* run(choice), ["ada", "ada", "bob", "cid"])
    }).pipe(withModel(counting)))

  it.effect("is that of the first predicate that holds, then a given one, then the round", () =>
    Effect.gen(function*() {
      const cases = [
        [(transcript: Dialogue.Transcript) => transcript.length === 1, "cid"],
        [(transcript: Dialogue.Transcript) => Effect.succeed(transcript.length <= 2), "bob"]
      ] as const
      assert.deepStrictEqual(yield* run(Dialogue.byPredicate(cases, "ada")), ["cid", "bob", "ada", "ada"])
      assert.deepStrictEqual(yield* run(Dialogue.byPredicate(cases)), ["cid", "bob", "cid", "ada"])
    }).pipe(withModel(counting)))

  it.effect("is whom a model names, told all names, descriptions and words, and else goes round", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, cid, {
        speaker: Dialogue.byModel({ instructions: "Be fair." }),
        maxTurns: 5
      })
      const state = yield* Dialogue.run(dialogue, "Go")
      assert.deepStrictEqual(speakers(state), ["cid", "ada", "bob", "bob", "cid"])
      assert.deepStrictEqual((yield* asked).filter(([agent]) => agent === "")[1], [
        "",
        "system: Be fair.\n\n- ada: Counts things\n- bob\n- cid: Doubts things\n\n" +
        "Answer with one of these names and nothing else.",
        "user: Go\n<message from=\"cid\">\nYes.\n</message>"
      ])
    }).pipe(withModel(MockModel.byAgent({
      "": MockModel.queue("cid", "\"Ada.\"", "zed", " @Bob \n", "Cid or ada"),
      ada: yes,
      bob: yes,
      cid: yes
    }))))

  it.effect("that takes no part fails the dialogue, and names those who do", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, { speaker: () => "zed" as "ada" })
      const error = yield* Effect.flip(Dialogue.run(dialogue, "Go"))
      assert.strictEqual(error.reason._tag, "UnknownSpeaker")
      assert.deepStrictEqual(error.state, Dialogue.begin(dialogue, "Go"))
      assert.strictEqual(
        error.message,
        "\"zed\" was chosen to speak, but isn't a participant; available: \"ada\", \"bob\""
      )
    }).pipe(withModel(counting)))

  it("can't be told where two share a name", () => {
    const make = () => Dialogue.make(ada, bob, Agent.make("ada"))
    assert.throws(
      make,
      Dialogue.DuplicateParticipant,
      "A dialogue has two participants of the name \"ada\": rename one of them"
    )
  })
})

describe("A dialogue", () => {
  it.effect("ends after ten turns, or as many as are told", () =>
    Effect.gen(function*() {
      const turns = (options: Dialogue.Options<"ada" | "bob">) =>
        Effect.map(Dialogue.run(Dialogue.make(ada, bob, options), "Go"), (state) => {
          assert.deepStrictEqual(reasonOf(state), { _tag: "MaxTurnsReached", turns: said(state).length })
          return said(state).length
        })
      assert.strictEqual(yield* turns({}), 10)
      assert.strictEqual(yield* turns({ maxTurns: 3 }), 3)
      const endless = Dialogue.make(ada, bob, { maxTurns: Infinity, until: (transcript) => transcript.length > 300 })
      assert.strictEqual(said(yield* Dialogue.run(endless, "Go")).length, 300)
    }).pipe(withModel(counting)))

  it("takes no number of turns that can't be counted to", () => {
    for (const maxTurns of [0, -1, 1.5, Number.NaN, -Infinity]) {
      assert.throws(
        () => Dialogue.make(ada, bob, { maxTurns }),
        Dialogue.InvalidLimit,
        `"maxTurns" is ${maxTurns}, not a whole number from 1 on or Infinity`
      )
    }
  })

  it.effect("ends when a predicate holds of the transcript after a turn, with an Effect or not", () =>
    Effect.gen(function*() {
      for (
        const until of [
          (transcript: Dialogue.Transcript) => Dialogue.lastText(transcript).startsWith("bob"),
          (transcript: Dialogue.Transcript) => Effect.succeed(Dialogue.lastText(transcript).startsWith("bob"))
        ]
      ) {
        const state = yield* Dialogue.run(Dialogue.make(ada, bob, { until }), "bob?")
        assert.deepStrictEqual(reasonOf(state), { _tag: "UntilHeld" })
        assert.deepStrictEqual(said(state), ["ada 0", "bob 0"])
      }
    }).pipe(withModel(counting)))

  it.effect("ends after the turn in which an agent calls the stop tool", () =>
    Effect.gen(function*() {
      const done = Agent.make("done", { toolkit: Toolkit.make(Dialogue.StopTool) })
      const state = yield* Dialogue.run(Dialogue.make(ada, done, { until: () => false }), "Go")
      assert.deepStrictEqual(reasonOf(state), { _tag: "StopToolCalled", speaker: "done", tool: "end_dialogue" })
      assert.deepStrictEqual(said(state), ["Hello", "Hello", "Well?", "Goodbye"])
      const shorter = Dialogue.make(ada, done, { maxTurns: 2 })
      const again = yield* Dialogue.resume(shorter, Dialogue.say(state, "Stay!"))
      assert.deepStrictEqual(reasonOf(again), { _tag: "MaxTurnsReached", turns: 2 })
    }).pipe(
      Effect.provide(Dialogue.layerStopTool),
      withModel(MockModel.queue(
        "Hello",
        "Hello",
        "Well?",
        all("Bye", toolCall("end_dialogue", {})),
        "Goodbye",
        "Oh.",
        "So?"
      ))
    ))

  it.effect("ends by any tool that it names, if the call succeeds", () =>
    Effect.gen(function*() {
      const Hang = Tool.make("hang_up", { parameters: Schema.Struct({ why: Schema.String }), failure: Schema.String })
      const Kit = Toolkit.make(Hang)
      const done = Agent.make("done", { toolkit: Kit })
      const state = yield* Dialogue.run(Dialogue.make(ada, done, { stopTool: "hang_up" }), "Go").pipe(
        Effect.provide(Kit.toLayer({ hang_up: ({ why }) => why === "rude" ? Effect.fail("No!") : Effect.void }))
      )
      assert.deepStrictEqual(reasonOf(state), { _tag: "StopToolCalled", speaker: "done", tool: "hang_up" })
      assert.deepStrictEqual(said(state), ["Hello", "I can't.", "Well?", "Bye."])
    }).pipe(withModel(MockModel.queue(
      "Hello",
      toolCall("hang_up", { why: "rude" }),
      "I can't.",
      "Well?",
      toolCall("hang_up", { why: "late" }),
      "Bye."
    ))))

  it.effect("ends by a call that a handoff leaves behind, but not by that of an agent that was called", () =>
    Effect.gen(function*() {
      const Stop = Toolkit.make(Dialogue.StopTool)
      const closer = Agent.make("closer")
      for (const history of [Handoff.full, Handoff.lastUser, Handoff.none]) {
        const done = Agent.make("done", { toolkit: Stop, handoffs: [Handoff.to(closer, { history })] })
        const stopped = yield* Dialogue.run(Dialogue.make(ada, done, { maxTurns: 4 }), "Go").pipe(
          withModel(MockModel.byAgent({
            ada: MockModel.repeat("Hello"),
            done: MockModel.queue(toolCall("end_dialogue", {}), toolCall("handoff_to_closer", {})),
            closer: MockModel.repeat("Bye.")
          }))
        )
        assert.deepStrictEqual(reasonOf(stopped), { _tag: "StopToolCalled", speaker: "done", tool: "end_dialogue" })
        assert.deepStrictEqual(said(stopped), ["Hello", "Bye."])
      }
      const helper = Agent.make("helper", { toolkit: Stop })
      const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
      const called = yield* Dialogue.run(Dialogue.make(ada, boss, { maxTurns: 2 }), "Go").pipe(
        withModel(MockModel.byAgent({
          ada: MockModel.repeat("Hello"),
          boss: MockModel.queue(toolCall("helper", { task: "Stop." }), "It did."),
          helper: MockModel.queue(toolCall("end_dialogue", {}), "Done.")
        }))
      )
      assert.deepStrictEqual(reasonOf(called), { _tag: "MaxTurnsReached", turns: 2 })
    }).pipe(Effect.provide(Dialogue.layerStopTool)))

  it.effect("that ended goes on when the user says something, with who is next", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, cid, {
        maxTurns: 2,
        until: (transcript) => Dialogue.lastText(transcript) === "bob 0"
      })
      const first = deepFreeze(yield* Dialogue.run(dialogue, "Go"))
      assert.deepStrictEqual(reasonOf(first), { _tag: "UntilHeld" })
      assert.deepStrictEqual(yield* Dialogue.resume(dialogue, first), first)
      const second = yield* Dialogue.resume(dialogue, Dialogue.say(first, "More!"))
      assert.deepStrictEqual(said(second), ["ada 0", "bob 0", "More!", "cid 0", "ada 1"])
      assert.deepStrictEqual(reasonOf(second), { _tag: "MaxTurnsReached", turns: 2 })
      assert.deepStrictEqual((yield* asked).at(-1), [
        "ada",
        "user: Go",
        "assistant: ada 0",
        "user: <message from=\"bob\">\nbob 0\n</message>|\nMore!|\n<message from=\"cid\">\ncid 0\n</message>"
      ])
      const third = yield* Dialogue.resume(dialogue, Dialogue.reopen(second))
      assert.deepStrictEqual(speakers(third), ["ada", "bob", "cid", "ada", "bob", "cid"])
      const longer = Dialogue.make(ada, bob, cid, { maxTurns: 3 })
      assert.deepStrictEqual(speakers(yield* Dialogue.resume(longer, Dialogue.reopen(first))).length, 5)
    }).pipe(withModel(counting)))

  it.effect("goes on with what the user says also where its end wasn't decided yet", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, { until: (transcript) => transcript.length >= 2, maxTurns: 3 })
      const { events } = yield* watch(dialogue, "Go")
      const cut = events.slice(0, -1).reduce(Dialogue.reduce, Dialogue.begin(dialogue, ""))
      assert.deepStrictEqual(cut.status, { _tag: "Deciding" })
      assert.deepStrictEqual(Dialogue.reopen(cut).status, { _tag: "Deciding" })
      assert.deepStrictEqual(said(yield* Dialogue.resume(dialogue, cut)), ["ada 0"])
      assert.deepStrictEqual(said(yield* Dialogue.resume(dialogue, Dialogue.say(cut, "More!"))), [
        "ada 0",
        "More!",
        "bob 0"
      ])
    }).pipe(withModel(counting)))

  it.effect("isn't resumed between others", () =>
    Effect.gen(function*() {
      const state = Dialogue.begin(Dialogue.make(ada, bob), "Go")
      const { exit, tags } = yield* watch(Dialogue.make(ada, cid), state)
      assert.strictEqual(
        failureOf(exit).message,
        "The state is of a dialogue between \"ada\", \"bob\", this one is between \"ada\", \"cid\""
      )
      assert.deepStrictEqual(tags, ["DialogueStarted", "DialogueFailed"])
      const three = yield* Effect.flip(Dialogue.resume(Dialogue.make(ada, bob, cid), state))
      assert.strictEqual(three.reason._tag, "ParticipantMismatch")
      const wider = Dialogue.begin(Dialogue.make(ada, bob, cid), "Go")
      const two = yield* Effect.flip(Dialogue.resume(Dialogue.make(ada, bob), wider))
      assert.strictEqual(two.reason._tag, "ParticipantMismatch")
      yield* Dialogue.resume(Dialogue.make(bob, ada), state)
    }).pipe(withModel(counting)))
})

const Pay = Tool.make("pay", { parameters: Schema.Struct({ cents: Schema.Int }), needsApproval: true })
const Paying = Toolkit.make(Pay)
const payer = Agent.make("payer", { toolkit: Paying })

/** What an answer that is refused says of its call, and which calls wait. */
const foundOf = (answered: ReturnType<typeof Dialogue.deny>) =>
  Result.isFailure(answered) ? [answered.failure.found, answered.failure.awaiting] : undefined

describe("A result that comes later", () => {
  const script = MockModel.byAgent({
    ada: MockModel.queue("Pay me.", "Thanks?"),
    payer: MockModel.queue(toolCall("ship", {}, { id: "s1" }), "It is there.")
  })
  const Shipping = Toolkit.make(Tool.make("ship", { success: Schema.String }))
  const dialogue = Dialogue.make(ada, Agent.make("payer", { toolkit: Shipping }), { maxTurns: 3 })

  it.effect("stops the dialogue in the turn of its agent, and is given there", () =>
    Effect.gen(function*() {
      const stopped = throughText(yield* Dialogue.run(dialogue, "Go"))
      assert.deepStrictEqual(Dialogue.next(stopped), { _tag: "AwaitApproval", speaker: "payer" })
      assert.deepStrictEqual(Dialogue.pendingApprovals(stopped), [])
      assert.deepStrictEqual(Dialogue.pendingResults(stopped).map(({ callId, path }) => [callId, path]), [
        ["s1", ["payer"]]
      ])
      const unknown = Result.getOrThrow(Result.flip(Dialogue.giveFailure(stopped, "s2", "lost")))
      assert.deepStrictEqual([unknown.found, unknown.awaiting], ["Unknown", ["s1"]])
      const given = Result.getOrThrow(Dialogue.giveResult(stopped, "s1", "arrived"))
      const ended = yield* Dialogue.resume(dialogue, given)
      assert.deepStrictEqual(said(ended), ["Pay me.", "It is there.", "Thanks?"])
      assert.strictEqual(Result.getOrThrow(Dialogue.giveResult(ended, "s1", "arrived")), ended)
      const late = Result.getOrThrow(Result.flip(Dialogue.giveFailure(ended, "s1", "lost")))
      assert.deepStrictEqual([late.found, late.awaiting], ["Settled", []])
    }).pipe(Effect.provide(Shipping.toLayer({ ship: () => ToolPolicy.deferResult })), withModel(script)))
})

describe("An approval", () => {
  const script = MockModel.byAgent({
    ada: MockModel.queue("Pay me.", "Thanks?"),
    payer: MockModel.queue(all("Well…", toolCall("pay", { cents: 5 }, { id: "p1" })), "I tried.")
  })
  const dialogue = Dialogue.make(ada, payer, { maxTurns: 3 })

  it.effect("stops the dialogue in the turn, which goes on with the answer and says only then what was said", () =>
    Effect.gen(function*() {
      const paid: Array<number> = []
      const handled = Effect.provide(
        Paying.toLayer({ pay: ({ cents }) => Effect.sync(() => void paid.push(cents)) })
      )
      const { events, last: stopped, tags } = yield* handled(watch(dialogue, "Go"))
      assert.deepStrictEqual(tags, [
        "DialogueStarted",
        "SpeakerChosen",
        "TurnStarted",
        "TurnCompleted",
        "SpeakerChosen",
        "TurnStarted",
        "TurnSuspended",
        "DialogueSuspended"
      ])
      assert.deepStrictEqual(stopped.status, { _tag: "Speaking", speaker: "payer" })
      assert.deepStrictEqual(Dialogue.next(stopped), { _tag: "AwaitApproval", speaker: "payer" })
      assert.deepStrictEqual(said(stopped), ["Pay me."])
      assert.deepStrictEqual(events.at(-1), { _tag: "DialogueSuspended", state: stopped })
      assert.deepStrictEqual(yield* handled(Dialogue.resume(dialogue, stopped)), stopped)
      const read = throughText(stopped)
      assert.deepStrictEqual(read, stopped)
      assert.deepStrictEqual(Dialogue.pendingApprovals(read).map(({ callId, path }) => [callId, path]), [
        ["p1", ["payer"]]
      ])
      const approved = Result.getOrThrow(Dialogue.approve(read, "p1"))
      assert.deepStrictEqual(
        approved,
        Dialogue.withAgentState(read, "payer", Result.getOrThrow(AgentState.approve(stateOf(read, "payer"), "p1")))
      )
      const ended = yield* handled(Dialogue.resume(dialogue, throughText(approved)))
      assert.deepStrictEqual(paid, [5])
      assert.deepStrictEqual(said(ended), ["Pay me.", "I tried.", "Thanks?"])
      assert.deepStrictEqual((yield* asked).at(-2), [
        "payer",
        "user: Go|\n<message from=\"ada\">\nPay me.\n</message>",
        "assistant: Well…|tool-call",
        "tool: tool-result"
      ])
    }).pipe(withModel(script)))

  it.effect("is denied with a reason, and the user's words meanwhile wait for the next turn", () =>
    Effect.gen(function*() {
      const stopped = yield* Dialogue.run(dialogue, "Go")
      const denied = Dialogue.say(Result.getOrThrow(Dialogue.deny(stopped, "p1", "too much")), "Hurry!")
      const shorter = Dialogue.make(ada, payer, { maxTurns: 2 })
      const ended = yield* Dialogue.resume(shorter, denied)
      assert.deepStrictEqual(said(ended), ["Pay me.", "Hurry!", "I tried.", "Thanks?"])
      const [call] = Conversation.callsOf(Conversation.byAgent(stateOf(ended, "payer").conversation, "payer")[0]!)
      assert.isTrue(call?.state._tag === "Settled" && call.state.outcome === "Denied")
      assert.deepStrictEqual(
        (yield* asked).at(-1)?.at(-1),
        "user: Hurry!|\n<message from=\"payer\">\nI tried.\n</message>"
      )
    }).pipe(Effect.provide(Paying.toLayer({ pay: () => Effect.die("denied") })), withModel(script)))

  for (
    const [way, through] of [["at once", (state: Dialogue.DialogueState) => state], ["stored", throughText]] as const
  ) {
    it.effect(`reaches nobody else's call when it is given again: ids differ between participants, ${way}`, () => {
      const paid: Array<string> = []
      const Wages = Toolkit.make(
        Tool.make("pay", { parameters: Schema.Struct({ to: Schema.String }), needsApproval: true })
      )
      const clerk = Agent.make("clerk", { toolkit: Wages })
      const lead = Agent.make("lead", { agents: [Agent.asTool(clerk)] })
      const payers = Dialogue.make(lead, Agent.make("payer", { toolkit: Wages }), { maxTurns: 4 })
      const waiting = (state: Dialogue.DialogueState) => Dialogue.pendingApprovals(state).map(({ callId }) => callId)
      const approve = (state: Dialogue.DialogueState, id: string) =>
        Result.getOrElse(Dialogue.approve(state, id), () => state)
      const pay = (to: string) => toolCall("pay", { to }, { id: "p" })
      const script = MockModel.byAgent({
        lead: MockModel.queue(toolCall("clerk", { task: "Pay Eve." }, { id: "c" }), "Eve has it.", "Thanks."),
        clerk: MockModel.queue(pay("Eve"), "Paid."),
        payer: MockModel.queue(pay("Mallory"), pay("Trudy"), "Both have it.", "Yes.")
      })
      return Effect.gen(function*() {
        const first = through(yield* Dialogue.run(payers, "Pay all."))
        assert.deepStrictEqual(waiting(first), ["p"])
        const second = through(yield* Dialogue.resume(payers, approve(first, "p")))
        assert.deepStrictEqual([waiting(second), paid], [["p-2"], ["Eve"]])
        // The first answer again, and it is nobody's any more.
        assert.deepStrictEqual(yield* Dialogue.resume(payers, through(approve(second, "p"))), second)
        assert.deepStrictEqual(foundOf(Dialogue.approve(second, "p")), ["Settled", ["p-2"]])
        assert.deepStrictEqual(foundOf(Dialogue.deny(second, "p", "no")), ["Settled", ["p-2"]])
        assert.deepStrictEqual(foundOf(Dialogue.approve(second, "q")), ["Unknown", ["p-2"]])
        assert.deepStrictEqual(paid, ["Eve"])
        const third = through(yield* Dialogue.resume(payers, approve(second, "p-2")))
        assert.deepStrictEqual([waiting(third), paid], [["p-3"], ["Eve", "Mallory"]])
        // Streamed to the same place, as the fold of the events: its own state says all of it.
        const { last } = yield* watch(payers, approve(third, "p-3"))
        assert.deepStrictEqual([waiting(last), paid], [[], ["Eve", "Mallory", "Trudy"]])
        for (const id of ["p", "p-2", "p-3"]) {
          assert.deepStrictEqual(foundOf(Dialogue.approve(through(last), id)), ["Settled", []])
        }
        const ids = stateOf(last, "payer").conversation.turns.flatMap((turn) =>
          turn._tag === "Assistant" ? Conversation.callsOf(turn).map(({ id }) => id) : []
        )
        assert.deepStrictEqual(ids, ["p-2", "p-3"])
      }).pipe(
        Effect.provide(Wages.toLayer({ pay: ({ to }) => Effect.sync(() => void paid.push(to)) })),
        withModel(script)
      )
    })
  }

  it.effect("that denies once more changes nothing when the turn is over, and one that approves then fails as settled", () =>
    Effect.gen(function*() {
      const stopped = yield* Dialogue.run(dialogue, "Go")
      const ended = yield* Dialogue.resume(dialogue, Result.getOrThrow(Dialogue.deny(stopped, "p1", "no")))
      assert.strictEqual(Result.getOrThrow(Dialogue.deny(ended, "p1", "no")), ended)
      assert.deepStrictEqual(foundOf(Dialogue.approve(ended, "p1")), ["Settled", []])
    }).pipe(Effect.provide(Paying.toLayer({ pay: () => Effect.die("denied") })), withModel(script)))

  it("of a call that nobody made is refused", () => {
    const refused = Dialogue.approve(Dialogue.begin(dialogue, "Go"), "p1")
    assert.isTrue(Result.isFailure(refused) && refused.failure._tag === "NotAwaitingApproval")
  })
})

class Lost extends Schema.TaggedError<Lost>("test/Lost")("Lost", {}) {
  override get message() {
    return "It is lost."
  }
}

const Find = Tool.make("find", { failure: Lost })
const Finding = Toolkit.make(Find, Look)
const finder = Agent.make("finder", { toolkit: Finding, fatal: ["find"] })

describe("A failure", () => {
  const failing = {
    run: <Name extends string, E, R>(dialogue: Dialogue.Dialogue<Name, E, R>, from: string) =>
      Effect.flip(Effect.asVoid(Dialogue.run(dialogue, from))),
    stream: <Name extends string, E, R>(dialogue: Dialogue.Dialogue<Name, E, R>, from: string) =>
      Effect.flip(Stream.runDrain(Dialogue.stream(dialogue, from)))
  }

  for (const how of ["run", "stream"] as const) {
    it.effect(`of a model keeps all that was said, and the same agent is asked again (${how})`, () =>
      Effect.gen(function*() {
        const dialogue = Dialogue.make(ada, bob, { maxTurns: 3 })
        const error = yield* failing[how](dialogue, "Go")
        assert.isTrue(error.reason._tag === "AgentFailed" && error.reason.error._tag === "AgentError")
        assert.match(error.message, /^Agent "bob" failed in turn 1: The model of agent "bob" gave no answer/)
        assert.deepStrictEqual(said(error.state), ["Hello"])
        assert.strictEqual(stateOf(error.state, "bob").status._tag, "Failed")
        const ended = yield* Dialogue.resume(dialogue, throughText(error.state))
        assert.deepStrictEqual(said(ended), ["Hello", "Better now.", "Good."])
        const told = ["bob", "user: Go|\n<message from=\"ada\">\nHello\n</message>"]
        assert.deepStrictEqual((yield* asked).slice(1, 3), [told, told])
      }).pipe(withModel(MockModel.queue("Hello", MockResponse.fail(overloaded), "Better now.", "Good."))))

    it.effect(`of a fatal tool is the tool's own error, and what was done before stays done (${how})`, () =>
      Effect.gen(function*() {
        const dialogue = Dialogue.make(finder, bob, { maxTurns: 2 })
        const looked: Array<string> = []
        let finds = 0
        const handled = Effect.provide(Finding.toLayer({
          find: () => finds++ === 0 ? Effect.fail(new Lost()) : Effect.void,
          look: ({ at }) => Effect.sync(() => String(looked.push(at)))
        }))
        const error = yield* handled(failing[how](dialogue, "Go"))
        assert.isTrue(error.reason._tag === "AgentFailed" && error.reason.error._tag === "Lost")
        assert.strictEqual(error.message, "Agent \"finder\" failed in turn 0: It is lost.")
        assert.deepStrictEqual(error.state.status, { _tag: "Speaking", speaker: "finder" })
        const ended = yield* handled(Dialogue.resume(dialogue, throughText(error.state)))
        assert.deepStrictEqual(said(ended), ["It was lost.", "Pity."])
        assert.deepStrictEqual(looked, ["shelf"])
        assert.deepStrictEqual((yield* asked)[2], [
          "finder",
          "user: Go",
          "assistant: tool-call",
          "tool: tool-result",
          "assistant: tool-call",
          "tool: tool-result"
        ])
      }).pipe(withModel(MockModel.queue(
        toolCall("look", { at: "shelf" }),
        toolCall("find", {}),
        "It was lost.",
        "Pity."
      ))))

    it.effect(`of what is said to an agent leaves it to be told (${how})`, () =>
      Effect.gen(function*() {
        const short = Agent.make("short", { maxInputLength: 10 })
        const error = yield* failing[how](Dialogue.make(ada, short), "Go")
        assert.isTrue(error.reason._tag === "AgentFailed" && error.reason.error._tag === "AgentError")
        assert.deepStrictEqual(error.state.status, { _tag: "Chosen", speaker: "short" })
        const longer = Dialogue.make(ada, Agent.make("short"), { maxTurns: 2 })
        const ended = yield* Dialogue.resume(longer, throughText(error.state))
        assert.deepStrictEqual((yield* asked).at(-1), [
          "short",
          "user: Go|\n<message from=\"ada\">\nada 0\n</message>"
        ])
        assert.deepStrictEqual(said(ended), ["ada 0", "short 0"])
      }).pipe(withModel(counting)))

    it.effect(`of a model that can't be built is the layer's own (${how})`, () =>
      Effect.gen(function*() {
        const broken = Agent.withModel(bob, Layer.effectContext(Effect.fail(new Lost())))
        const error = yield* failing[how](Dialogue.make(ada, broken), "Go")
        assert.isTrue(error.reason._tag === "AgentFailed" && error.reason.error._tag === "Lost")
        assert.deepStrictEqual(said(error.state), ["ada 0"])
        const ended = yield* Dialogue.resume(Dialogue.make(ada, bob, { maxTurns: 2 }), error.state)
        assert.deepStrictEqual(said(ended), ["ada 0", "bob 0"])
      }).pipe(withModel(counting)))

    it.effect(`of the choice or of the end is told apart, and resumed where it was (${how})`, () =>
      Effect.gen(function*() {
        let fails = true
        const flaky = <A>(value: A) => Effect.suspend(() => fails ? Effect.fail(new Lost()) : Effect.succeed(value))
        const choosy = Dialogue.make(ada, bob, {
          speaker: (transcript) => transcript.length > 1 ? flaky("bob" as const) : "ada",
          maxTurns: 2
        })
        const unsure = Dialogue.make(ada, bob, { until: () => flaky(true) })
        const unchosen = yield* failing[how](choosy, "Go")
        const unended = yield* failing[how](unsure, "Go")
        assert.isTrue(unchosen.reason._tag === "ChoiceFailed" && unchosen.reason.error instanceof Lost)
        assert.strictEqual(unchosen.message, "The choice of the next speaker failed: It is lost.")
        assert.isTrue(unended.reason._tag === "UntilFailed" && unended.reason.error instanceof Lost)
        assert.strictEqual(unended.message, "The condition \"until\" of the dialogue failed: It is lost.")
        assert.deepStrictEqual(said(unchosen.state), ["ada 0"])
        fails = false
        assert.deepStrictEqual(said(yield* Dialogue.resume(choosy, throughText(unchosen.state))), ["ada 0", "bob 0"])
        assert.deepStrictEqual(said(yield* Dialogue.resume(unsure, throughText(unended.state))), ["ada 0"])
      }).pipe(withModel(counting)))
  }

  it.effect("ends what it broke off, in the events too", () =>
    Effect.gen(function*() {
      const { events, last, tags } = yield* watch(Dialogue.make(ada, bob), "Go")
      assert.deepStrictEqual(tags, [
        "DialogueStarted",
        "SpeakerChosen",
        "TurnStarted",
        "TurnFailed",
        "DialogueFailed"
      ])
      const [turn, dialogue] = events.slice(-2)
      assert.isTrue(turn?._tag === "TurnFailed" && turn.error.tag === "AgentFailed" && turn.told)
      assert.deepStrictEqual(dialogue?._tag === "DialogueFailed" ? dialogue.state : undefined, last)
    }).pipe(withModel(MockModel.queue(MockResponse.fail(overloaded)))))

  it.effect("that is a defect stays one, with the state in the events", () =>
    Effect.gen(function*() {
      const { events, exit, last, tags } = yield* watch(Dialogue.make(ada, bob), "Go")
      assert.isTrue(Exit.hasDies(exit))
      assert.deepStrictEqual(tags.slice(-2), ["TurnFailed", "DialogueFailed"])
      const end = events.at(-1)
      assert.strictEqual(end?._tag === "DialogueFailed" ? end.error.tag : "", "Defect")
      assert.deepStrictEqual(said(last), ["Hello"])
      assert.deepStrictEqual(last.status, { _tag: "Speaking", speaker: "bob" })
      const thrown = yield* Effect.exit(Dialogue.run(
        Dialogue.make(ada, bob, {
          speaker: () => {
            throw new Error("odd")
          }
        }),
        "Go"
      ))
      assert.isTrue(Exit.hasDies(thrown))
    }).pipe(withModel(MockModel.queue("Hello"))))
})

describe("An interruption", () => {
  const slow = MockModel.make(({ agent, callCount }) =>
    callCount === 2 ? MockResponse.delay("One two three", "1 minute") : `${agent}!`
  )

  it.effect("leaves what the events say, in which nothing is half said, and the turn goes on from there", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, { maxTurns: 3 })
      const events: Array<Dialogue.DialogueEvent> = []
      const fiber = yield* Dialogue.stream(dialogue, "Go").pipe(
        Stream.runForEach((event) => Effect.sync(() => void events.push(event))),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.interrupt(fiber)
      const last = events.reduce(Dialogue.reduce, Dialogue.begin(dialogue, ""))
      assert.deepStrictEqual(said(last), ["ada!"])
      assert.deepStrictEqual(last.status, { _tag: "Speaking", speaker: "bob" })
      const ended = yield* Dialogue.resume(dialogue, throughText(last))
      assert.deepStrictEqual(said(ended), ["ada!", "bob!", "ada!"])
      assert.deepStrictEqual((yield* asked)[2], (yield* asked)[1])
    }).pipe(withModel(slow)))

  it.effect("by a reader that leaves in the middle of a text is one too", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, { maxTurns: 2 })
      const events = yield* Dialogue.stream(dialogue, "Go").pipe(
        Stream.takeUntil((event) => event._tag === "TurnProgressed" && event.event._tag === "TextDelta"),
        Stream.runCollect
      )
      const last = events.reduce(Dialogue.reduce, Dialogue.begin(dialogue, ""))
      assert.deepStrictEqual(said(last), [])
      assert.deepStrictEqual(said(yield* Dialogue.resume(dialogue, last)), ["Of course.", "Yes."])
    }).pipe(withModel(MockModel.queue("One two three", "Of course.", "Yes."))))

  it.effect("from inside ends the turn and the dialogue in the events, and stays an interruption", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, Agent.make("quits", { instructions: () => Effect.interrupt }))
      const { events, exit, last, tags } = yield* watch(dialogue, "Go")
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(tags.slice(-3), ["TurnStarted", "TurnInterrupted", "DialogueInterrupted"])
      const end = events.at(-1)
      assert.deepStrictEqual(end?._tag === "DialogueInterrupted" ? end.state : undefined, last)
      assert.deepStrictEqual(said(last), ["ada 0"])
    }).pipe(withModel(counting)))
})

describe("A stream", () => {
  it.effect("tells of turns and of all that happens in the agents' runs between", () =>
    Effect.gen(function*() {
      const { events } = yield* watch(Dialogue.make(ada, bob, { maxTurns: 1 }), "Go")
      assert.deepStrictEqual(
        events.map((event) =>
          event._tag === "TurnProgressed"
            ? event.event._tag === "TextDelta" ? event.event.delta : event.event._tag
            : event._tag
        ),
        [
          "DialogueStarted",
          "SpeakerChosen",
          "TurnStarted",
          "RunStarted",
          "StepStarted",
          "ModelCallStarted",
          "One",
          " two",
          "ModelResponded",
          "StepCompleted",
          "RunCompleted",
          "TurnCompleted",
          "DialogueEnded"
        ]
      )
      assert.isTrue((yield* MockModel.calls).every(({ request }) => request.streaming))
    }).pipe(withModel(MockModel.queue("One two"))))

  it.effect("asks the models to stream, a run doesn't", () =>
    Effect.gen(function*() {
      yield* Dialogue.run(Dialogue.make(ada, bob, { maxTurns: 2 }), "Go")
      assert.isTrue((yield* MockModel.calls).every(({ request }) => !request.streaming))
    }).pipe(withModel(counting)))

  it.effect("of a dialogue that is run lets observers see the agents' runs", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      yield* Dialogue.run(Dialogue.make(ada, bob, { maxTurns: 2 }), "Go").pipe(
        Agent.observe((event) => Effect.sync(() => void (event._tag === "RunStarted" && seen.push(event.path[0]))))
      )
      assert.deepStrictEqual(seen, ["ada", "bob"])
    }).pipe(withModel(counting)))
})

class Floor extends Context.Service<Floor, "ada" | "bob">()("test/Floor") {}

describe("A choice", () => {
  it.effect("may need a service, which the run needs then", () =>
    Effect.gen(function*() {
      const dialogue = Dialogue.make(ada, bob, { speaker: () => Floor, maxTurns: 2 })
      const state = yield* Effect.provideService(Dialogue.run(dialogue, "Go"), Floor, "bob")
      assert.deepStrictEqual(speakers(state), ["bob", "bob"])
    }).pipe(withModel(counting)))
})

describe("A group that takes part", () => {
  const desk = Group.make({ triage: Agent.make("triage"), billing: Agent.make("billing") }, {
    name: "desk",
    start: "triage",
    policy: HandoffPolicy.explicit("billing", { reason: "Money" })
  })
  const dialogue = Dialogue.make(ada, desk, { maxTurns: 4 })
  const script = MockModel.byAgent({
    ada: MockModel.queue("I paid twice.", "When?"),
    triage: MockModel.queue(toolCall("handoff_to_billing", {})),
    billing: MockModel.queue("You get it back.", "Tomorrow.")
  })

  it.effect("speaks under its own name, whoever of it answers, and goes on with who did", () =>
    Effect.gen(function*() {
      const state = yield* Dialogue.run(dialogue, "Go")
      assert.deepStrictEqual(speakers(state), ["ada", "desk", "ada", "desk"])
      assert.deepStrictEqual(said(state), ["I paid twice.", "You get it back.", "When?", "Tomorrow."])
      assert.deepStrictEqual(stateOf(state, "desk").trail, ["triage", "billing"])
      assert.deepStrictEqual((yield* asked).at(-1)?.at(-1), "user: <message from=\"ada\">\nWhen?\n</message>")
      assert.deepStrictEqual(throughText(state), state)
    }).pipe(withModel(script)))

  it.effect("is the same streamed", () =>
    Effect.gen(function*() {
      const { last } = yield* watch(dialogue, "Go")
      const ran = yield* Effect.provide(Dialogue.run(dialogue, "Go"), Layer.fresh(MockModel.layer(script)))
      assert.deepStrictEqual(last, ran)
    }).pipe(withModel(script)))
})

describe("A document", () => {
  const state = Dialogue.begin(Dialogue.make(ada, bob), "Go")
  const json = () => JSON.parse(JSON.stringify(Dialogue.toJson(state)))
  const failure = (document: unknown) => {
    const read = Dialogue.fromJson(document)
    return Result.isFailure(read) ? read.failure : assert.fail("is read")
  }

  it("says its version first", () => {
    assert.strictEqual(json().version, Dialogue.version)
    const unknown = failure({ version: 2, participants: "?" })
    assert.isTrue(unknown._tag === "UnknownVersion" && unknown.found === "2")
    assert.strictEqual(unknown.message, "A dialogue of version 2 can't be read; known versions: 1")
    assert.match(failure({}).message, /^Not a dialogue at "\/version": Missing key/)
  })

  it("names the path of what is wrong", () => {
    const path = (document: unknown) => {
      const error = failure(document)
      return error._tag === "MalformedDialogue" ? error.path.join("/") : error._tag
    }
    assert.strictEqual(path("{"), "")
    assert.strictEqual(path(3), "")
    assert.strictEqual(path({ ...json(), turns: "many" }), "turns")
    assert.strictEqual(path({ ...json(), transcript: [{ _tag: "Agent" }] }), "transcript/0/speaker")
    const [first, second] = json().participants
    const agent = AgentState.toJson(AgentState.make("ada"))
    const withState = (state: unknown) => ({ ...json(), participants: [{ ...first, state }, second] })
    assert.isTrue(Result.isSuccess(Dialogue.fromJson(withState(agent))))
    assert.strictEqual(path(withState({ ...Object(agent), steps: -1 })), "participants/0/state/steps")
    assert.strictEqual(path(withState({ ...Object(agent), version: 7 })), "UnknownVersion")
  })

  it("doesn't contradict itself", () => {
    const path = (changes: object) => {
      const error = failure({ ...json(), ...changes })
      return error._tag === "MalformedDialogue" ? error.path.join("/") : error._tag
    }
    const user = json().transcript[0]
    const said = (speaker: string, turn: number) => ({ _tag: "Agent", speaker, turn, text: "" })
    assert.strictEqual(path({ participants: [{ name: "ada", heard: 0 }, { name: "ada", heard: 0 }] }), "participants")
    assert.strictEqual(
      path({ participants: [{ name: "ada", heard: 0 }, { name: "bob", heard: 2 }] }),
      "participants/1/heard"
    )
    assert.strictEqual(path({ transcript: [user, said("zed", 0)] }), "transcript/1/speaker")
    assert.strictEqual(path({ transcript: [user, said("ada", 1)] }), "transcript/1/turn")
    assert.strictEqual(path({ status: { _tag: "Chosen", speaker: "zed" } }), "status/speaker")
    assert.strictEqual(path({ status: { _tag: "Speaking", speaker: "ada" } }), "status/speaker")
    assert.strictEqual(path({ status: { _tag: "Deciding" } }), "status")
  })
})
