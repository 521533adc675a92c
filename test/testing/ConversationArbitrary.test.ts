import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { LanguageModel, type Prompt, Tool, Toolkit } from "effect/ai"
import { AgentState, AgentStatus, Conversation } from "troupe"
import { ConversationArbitrary, ConversationRules, MockModel, type MockResponse } from "troupe/testing"
import { places, problems } from "../domain/legal.ts"
import { times } from "../matrix.ts"

const sample = <A>(arbitrary: Arbitrary.Arbitrary<A>, count = times(80, 40)) =>
  Arbitrary.sampleEffect(arbitrary, { count, size: 12, seed: 3 })

/** What is left of a failure that was found by a property. */
const shrunk = <A>(arbitrary: Arbitrary.Arbitrary<A>, property: (value: A) => boolean) =>
  Effect.map(Arbitrary.checkEffect(arbitrary, property, { runs: 120, size: 12, seed: 5 }), (result) => {
    if (result._tag !== "Falsified") return assert.fail(result._tag)
    return result.shrunkInput
  })

const callsOf = ({ turns }: Conversation.Conversation) =>
  turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : [])

const tags = (values: Iterable<string>) => [...new Set(values)].toSorted()

const Tools = Toolkit.make(
  Tool.make("look", {
    parameters: Schema.Struct({ at: Schema.String, since: Schema.FiniteFromString }),
    success: Schema.String
  }),
  Tool.make("wait")
)

describe("Random conversations", () => {
  const conversation = ConversationArbitrary.conversation

  it.effect.prop("are legal, and frozen", [conversation({ depth: 2 })], ([conversation]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(problems(conversation), [])
      assert.isTrue(Object.isFrozen(conversation.turns))
      const again = yield* Schema.decodeEffect(Conversation.Conversation)(
        yield* Schema.encodeEffect(Conversation.Conversation)(conversation)
      )
      assert.deepStrictEqual(again, conversation)
    }), { arbitrary: { runs: times(30, 12) } })

  it.effect("have as many turns as they may", () =>
    Effect.gen(function*() {
      const counts = (yield* sample(conversation({ minTurns: 2, maxTurns: 4 }))).map(Conversation.count)
      assert.deepStrictEqual(tags(counts.map(String)), ["2", "3", "4"])
      const free = (yield* sample(conversation())).map(Conversation.count)
      assert.deepStrictEqual(tags(free.map(String)), ["0", "1", "2", "3", "4", "5", "6"])
      const least = (yield* sample(conversation({ minTurns: 9 }))).map(Conversation.count)
      assert.deepStrictEqual(tags(least.map(String)), ["9"])
    }))

  it.effect("have as many calls as they may, of the tools and by the agents that there are", () =>
    Effect.gen(function*() {
      const most = (maxCalls?: number) =>
        Effect.map(sample(conversation(maxCalls === undefined ? {} : { maxCalls })), (all) =>
          Math.max(
            ...all.flatMap(({ turns }) =>
              turns.map((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn).length : 0)
            )
          ))
      assert.strictEqual(yield* most(0), 0)
      assert.strictEqual(yield* most(1), 1)
      assert.strictEqual(yield* most(5), 5)
      assert.strictEqual(yield* most(), 3)
      const named = yield* sample(conversation({ tools: ["a", "b"], agents: ["x", "y"], depth: 0 }))
      assert.deepStrictEqual(tags(named.flatMap(callsOf).map(({ name }) => name)), ["a", "b"])
      const speakers = named.flatMap(({ turns }) =>
        turns.flatMap((turn) => turn._tag === "Assistant" ? [turn.agent] : [])
      )
      assert.deepStrictEqual(tags(speakers), ["x", "y"])
    }))

  it.effect("have the turns and the parts that they may have", () =>
    Effect.gen(function*() {
      const turnsOf = (all: ReadonlyArray<Conversation.Conversation>) =>
        tags(all.flatMap(({ turns }) => turns.map(({ _tag }) => _tag)))
      const partsOf = (all: ReadonlyArray<Conversation.Conversation>) =>
        tags(all.flatMap(({ turns }) =>
          turns.flatMap((turn) => turn._tag === "Assistant" ? turn.parts.map(({ _tag }) => _tag) : [])
        ))
      const all = yield* sample(conversation())
      assert.deepStrictEqual(turnsOf(all), ["Assistant", "Feedback", "Summary", "User"])
      assert.deepStrictEqual(partsOf(all), ["Call", "File", "Reasoning", "Source", "Text"])
      assert.deepStrictEqual(turnsOf(yield* sample(conversation({ turns: ["Summary"] }))), ["Summary", "User"])
      assert.deepStrictEqual(
        turnsOf(yield* sample(conversation({ turns: ["Assistant"], anyOrder: true }))),
        ["Assistant"]
      )
      assert.deepStrictEqual(partsOf(yield* sample(conversation({ parts: ["Text", "Call"] }))), ["Call", "Text"])
      assert.deepStrictEqual(partsOf(yield* sample(conversation({ parts: ["Source"] }))), ["Source"])
    }))

  it.effect("begin with a user and think first, unless their order is any", () =>
    Effect.gen(function*() {
      const orders = (all: ReadonlyArray<Conversation.Conversation>) => ({
        first: tags(all.flatMap(({ turns }) => turns.slice(0, 1).map(({ _tag }) => _tag))),
        thoughts: all.some(({ turns }) =>
          turns.some((turn) =>
            turn._tag === "Assistant" && turn.parts.length > 1 &&
            turn.parts[turn.parts.length - 1]?._tag === "Reasoning" &&
            turn.parts.some(({ _tag }) => _tag === "Text")
          )
        )
      })
      assert.deepStrictEqual(orders(yield* sample(conversation())), { first: ["User"], thoughts: false })
      assert.deepStrictEqual(orders(yield* sample(conversation({ anyOrder: true }), 300)), {
        first: ["Assistant", "Feedback", "Summary", "User"],
        thoughts: true
      })
    }))

  it.effect("have open calls where they may, and called agents as deep as they may", () =>
    Effect.gen(function*() {
      const depths = (all: ReadonlyArray<Conversation.Conversation>) =>
        Math.max(...all.flatMap((conversation) =>
          places({ ...AgentState.make("a"), conversation }).map(({ calls }) => calls.length)
        ))
      assert.isFalse((yield* sample(conversation({ open: false }))).some(Conversation.hasOpenCalls))
      assert.isTrue((yield* sample(conversation({ open: true }))).some(Conversation.hasOpenCalls))
      assert.strictEqual(depths(yield* sample(conversation({ depth: 0 }))), 0)
      assert.strictEqual(depths(yield* sample(conversation())), 1)
      assert.strictEqual(depths(yield* sample(conversation({ depth: 2 }), times(400, 160))), 2)
    }))

  it.effect("shrink to what fails", () =>
    Effect.gen(function*() {
      const one = yield* shrunk(conversation(), (conversation) => callsOf(conversation).length === 0)
      assert.strictEqual(callsOf(one).length, 1)
      assert.isAtMost(one.turns.length, 3)
    }))
})

describe("Random states", () => {
  const state = ConversationArbitrary.state

  it.effect.prop("are legal, and survive JSON", [state({ depth: 2 })], ([state]) =>
    Effect.gen(function*() {
      for (const place of places(state)) assert.deepStrictEqual(problems(place.state.conversation), [])
      assert.isTrue(Object.isFrozen(state.usage))
      const text = JSON.stringify(AgentState.toJson(state))
      // Node 26 reads some keys that are lone surrogates as others.
      if (JSON.stringify(JSON.parse(text)) !== text) return
      const again = yield* Effect.fromResult(AgentState.fromJson(JSON.parse(text)))
      assert.deepStrictEqual(again, state)
    }), { arbitrary: { runs: times(30, 12) } })

  it.effect("have the statuses, the modes and the depth that they may have", () =>
    Effect.gen(function*() {
      const made = yield* sample(state())
      const statuses = (all: ReadonlyArray<AgentState.AgentState>) => tags(all.map(({ status }) => status._tag))
      const every = Object.keys(AgentStatus.moves)
      assert.deepStrictEqual(statuses(made), every.toSorted())
      for (const status of every as ReadonlyArray<AgentStatus.AgentStatus["_tag"]>) {
        const expected = status === "WaitingForTools" ? { statuses: [status], minTurns: 1 } : { statuses: [status] }
        assert.deepStrictEqual(statuses(yield* sample(state(expected))), [status])
      }
      const none = yield* sample(state({ statuses: ["WaitingForTools"], maxTurns: 0 }))
      assert.deepStrictEqual(statuses(none), ["InProgress"])
      const modes = (all: ReadonlyArray<AgentState.AgentState>) => Math.max(...all.map(({ modes }) => modes.length))
      assert.strictEqual(modes(yield* sample(state({ maxModes: 0 }))), 0)
      assert.strictEqual(modes(made), 3)
      const depths = (all: ReadonlyArray<AgentState.AgentState>) =>
        Math.max(...all.flatMap((state) => places(state).map(({ calls }) => calls.length)))
      assert.strictEqual(depths(yield* sample(state({ depth: 0 }))), 0)
      assert.strictEqual(depths(made), 1)
      assert.strictEqual(depths(yield* sample(state({ depth: 2 }), times(400, 160))), 2)
    }))

  it.effect("begin with a user unless turns come in any order, also where calls are open", () =>
    Effect.gen(function*() {
      const first = (all: ReadonlyArray<AgentState.AgentState>) =>
        tags(all.map(({ conversation: { turns } }) => turns[0]?._tag ?? "none"))
      const statuses = ["WaitingForTools"] as const
      for (const maxTurns of [2, 3, 6]) {
        const waiting = yield* sample(state({ statuses, maxTurns }))
        assert.deepStrictEqual(first(waiting), ["User"])
        assert.deepStrictEqual(tags(waiting.map(({ status }) => status._tag)), ["WaitingForTools"])
        assert.isAtMost(Math.max(...waiting.map(({ conversation: { turns } }) => turns.length)), maxTurns)
      }
      const single = yield* sample(state({ statuses, maxTurns: 1 }))
      assert.deepStrictEqual(first(single), ["User", "none"])
      assert.deepStrictEqual(tags(single.map(({ status }) => status._tag)), ["InProgress"])
      const anyOrder = yield* sample(state({ statuses, maxTurns: 1, anyOrder: true }))
      assert.deepStrictEqual(first(anyOrder), ["Assistant"])
      assert.deepStrictEqual(first(yield* sample(state())), ["User", "none"])
    }))

  it.effect("have conversations as the options say", () =>
    Effect.gen(function*() {
      const all = yield* sample(state({ maxTurns: 2, maxCalls: 1, tools: ["a"] }))
      assert.strictEqual(Math.max(...all.map(({ conversation }) => conversation.turns.length)), 2)
      assert.deepStrictEqual(tags(all.flatMap(({ conversation }) => callsOf(conversation)).map(({ name }) => name)), [
        "a"
      ])
    }))

  it.effect("shrink to what fails", () =>
    Effect.gen(function*() {
      const one = yield* shrunk(state(), (state) => AgentState.next(state)._tag !== "RunCalls")
      assert.isAtMost(one.conversation.turns.length, 3)
      assert.strictEqual(one.modes.length, 0)
    }))
})

describe("Random prompts", () => {
  it.prop("keep the default policy", [ConversationArbitrary.prompt()], ([prompt]) => {
    assert.deepStrictEqual(ConversationRules.check(prompt), [])
    assert.isTrue(Object.isFrozen(prompt.content))
  }, { arbitrary: { runs: times(30, 12) } })

  it.effect("begin with a system message where they shall, and have turns as the options say", () =>
    Effect.gen(function*() {
      const firsts = (all: ReadonlyArray<Prompt.Prompt>) => tags(all.map(({ content }) => content[0]?.role ?? "none"))
      assert.deepStrictEqual(firsts(yield* sample(ConversationArbitrary.prompt())), ["system", "user"])
      assert.deepStrictEqual(firsts(yield* sample(ConversationArbitrary.prompt({ system: true }))), ["system"])
      assert.deepStrictEqual(firsts(yield* sample(ConversationArbitrary.prompt({ system: false }))), ["user"])
      const short = yield* sample(ConversationArbitrary.prompt({ system: false, maxTurns: 1 }))
      assert.strictEqual(Math.max(...short.map(({ content }) => content.length)), 1)
    }))

  for (const kind of ConversationRules.kinds) {
    it.prop(
      `break ${kind} and no other rule, where that is asked for`,
      [ConversationArbitrary.violating(kind)],
      ([{ messages, policy }]) => {
        const found = ConversationRules.check(messages, policy)
        assert.deepStrictEqual(found.map(({ kind }) => kind), [kind], ConversationRules.format(found))
      },
      { arbitrary: { runs: times(30, 12) } }
    )
  }

  it.effect("break a rule in prompts as the options say", () =>
    Effect.gen(function*() {
      const broken = (options?: ConversationArbitrary.PromptOptions) =>
        sample(ConversationArbitrary.violating("UnknownToolResponse", options), 40)
      const roles = (yield* broken({ system: true, maxTurns: 1 })).map(({ messages }) =>
        messages.map(({ role }) => role).join()
      )
      assert.deepStrictEqual(tags(roles), ["system,user,assistant,tool"])
      assert.isAbove(Math.max(...(yield* broken()).map(({ messages }) => messages.length)), 4)
    }))

  it.effect("shrink to what breaks", () =>
    Effect.gen(function*() {
      for (const kind of ConversationRules.kinds) {
        const { messages, policy } = yield* shrunk(
          ConversationArbitrary.violating(kind),
          ({ messages, policy }) => ConversationRules.check(messages, policy).length === 0
        )
        assert.isAtMost(messages.length, 5, kind)
        assert.strictEqual(ConversationRules.check(messages, policy).length, 1)
      }
    }))
})

describe("Random scripts", () => {
  const script = (options?: ConversationArbitrary.ScriptOptions) => ConversationArbitrary.script(Tools, options)
  const toolCalls = (script: ConversationArbitrary.Script) =>
    script.flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool-call" ? [part] : []))
  const some = (
    scripts: ReadonlyArray<ConversationArbitrary.Script>,
    is: (said: MockResponse.MockResponse) => boolean
  ) => scripts.some((script) => script.some(is))

  it.effect.prop(
    "call tools with parameters that fit",
    [script({ minAnswers: 1 })],
    ([answers]) =>
      Effect.gen(function*() {
        for (const answer of answers) {
          const { toolCalls } = yield* LanguageModel.generateText({
            prompt: "Look.",
            toolkit: Tools,
            disableToolCallResolution: true
          }).pipe(Effect.provide(MockModel.layer(MockModel.queue(answer))))
          assert.strictEqual(toolCalls.length, answer.parts.filter(({ type }) => type === "tool-call").length)
        }
      }),
    { arbitrary: { runs: times(40, 15) } }
  )

  it.effect("fit tools that JSON schema alone describes, too", () =>
    Effect.gen(function*() {
      const Size = Schema.Struct({ size: Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 5 })) })
      const Remote = Toolkit.make(Tool.dynamic("remote", {
        description: "Described by JSON schema alone",
        parameters: {
          type: "object",
          properties: { size: { type: "integer", minimum: 3, maximum: 5 } },
          required: ["size"],
          additionalProperties: false
        },
        success: Schema.Unknown
      }))
      const calls = (yield* sample(ConversationArbitrary.script(Remote), 20)).flatMap(toolCalls)
      assert.isAbove(calls.length, 0)
      for (const { params } of calls) assert.isTrue(Schema.is(Size)(params), JSON.stringify(params))
    }))

  it.effect("are as the options say", () =>
    Effect.gen(function*() {
      const free = yield* sample(script())
      const lengths = (all: ReadonlyArray<ConversationArbitrary.Script>) => tags(all.map(({ length }) => `${length}`))
      assert.deepStrictEqual(lengths(free), ["0", "1", "2", "3", "4"])
      assert.deepStrictEqual(lengths(yield* sample(script({ minAnswers: 2, maxAnswers: 3 }))), ["2", "3"])
      const most = (all: ReadonlyArray<ConversationArbitrary.Script>) =>
        Math.max(...all.flatMap((script) => script.map((answer) => toolCalls([answer]).length)))
      assert.strictEqual(most(free), 2)
      assert.strictEqual(most(yield* sample(script({ maxCalls: 0 }))), 0)
      assert.strictEqual(most(yield* sample(script({ maxCalls: 4 }))), 4)
      const texts = (yield* sample(script({ texts: ["a", "b"] })))
        .flatMap((script) =>
          script.flatMap(({ parts }) => parts.flatMap((part) => part.type === "text" ? [part.text] : []))
        )
      assert.deepStrictEqual(tags(texts), ["a", "b"])
      const reasons = (said: MockResponse.MockResponse) => said.parts.some(({ type }) => type === "reasoning")
      assert.isTrue(some(free, reasons))
      assert.isFalse(some(yield* sample(script({ reasons: false })), reasons))
      assert.isTrue(some(free, ({ usage }) => usage !== undefined))
      assert.isFalse(some(yield* sample(script({ usage: false })), ({ usage }) => usage !== undefined))
      assert.isTrue(some(free, ({ chunks }) => chunks !== undefined))
      assert.isFalse(some(yield* sample(script({ chunked: false })), ({ chunks }) => chunks !== undefined))
      assert.isFalse(some(free, ({ failure }) => failure !== undefined))
      assert.isTrue(some(yield* sample(script({ failures: true })), ({ failure }) => failure !== undefined))
      assert.deepStrictEqual(tags(free.flatMap(toolCalls).map(({ name }) => name)), ["look", "wait"])
      const misfits = (yield* sample(script({ misfits: true }))).flatMap(toolCalls)
      assert.deepStrictEqual(tags(misfits.map(({ name }) => name)), ["look", "nothing_of_the_kind", "wait"])
      assert.isTrue(misfits.some(({ params }) => Object.hasOwn(Object(params), "wrong")))
    }))

  it.effect("shrink to what fails", () =>
    Effect.gen(function*() {
      const one = yield* shrunk(script({ failures: true }), (script) => toolCalls(script).length < 2)
      assert.strictEqual(toolCalls(one).length, 2)
      assert.isAtMost(one.length, 2)
    }))
})
