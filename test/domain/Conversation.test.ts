import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { Conversation } from "troupe"
import { times } from "../matrix.ts"
import { below, conversation, oneOf, settled, turn } from "./arbitraries.ts"
import { callsIn, deepFreeze, problems } from "./legal.ts"

const call = (id: string, state: Conversation.CallState = { _tag: "Pending" }): Conversation.Call => ({
  _tag: "Call",
  id,
  name: "search",
  params: {},
  state
})

const done: Conversation.Settled = { _tag: "Settled", outcome: "Succeeded", result: "found" }

const user = (text: string): Conversation.User => ({ _tag: "User", parts: [Conversation.text(text)] })

const assistant = (...parts: ReadonlyArray<Conversation.AssistantPart>): Conversation.Assistant => ({
  _tag: "Assistant",
  agent: "triage",
  parts,
  usage: {},
  finishReason: "stop"
})

const make = (...turns: ReadonlyArray<Conversation.Turn>) => Conversation.make(deepFreeze(turns))

type Operation = (self: Conversation.Conversation) => Conversation.Conversation

const operation: Arbitrary.Arbitrary<Operation> = oneOf<Operation>(
  Arbitrary.map(turn, (turn) => Conversation.append(turn)),
  Arbitrary.map(turn, (turn) => Conversation.append(turn)),
  Arbitrary.map(Arbitrary.schema(Schema.String), (text) => Conversation.appendUser(text)),
  Arbitrary.map(below(6), (n) => Conversation.truncate(n)),
  Arbitrary.map(below(6), (n) => Conversation.fork(n)),
  Arbitrary.map(
    Arbitrary.all([below(4), Arbitrary.schema(Conversation.CallState.cases.Settled)]),
    ([n, state]) => (self) => Conversation.updateCall(self, Conversation.callIds(self)[n] ?? "none", state)
  ),
  Arbitrary.map(
    below(4),
    (n) => (self) =>
      Conversation.updateCall(self, Conversation.callIds(self).at(-1 - n) ?? "none", { _tag: "AwaitingApproval" })
  )
)

const some = { arbitrary: { runs: times(50, 20) } } as const

describe("Conversation", () => {
  it.prop("stays legal through any sequence of operations", {
    start: conversation,
    operations: Arbitrary.array(operation, { maxLength: 12 })
  }, ({ operations, start }) => {
    operations.reduce((self, operation) => {
      const next = deepFreeze(operation(self))
      assert.deepStrictEqual(problems(next), [])
      return next
    }, start)
  })

  it.prop("is legal made of any turns", [Arbitrary.array(turn, { maxLength: 8 })], ([turns]) => {
    const made = Conversation.make(deepFreeze(turns))
    assert.deepStrictEqual(problems(made), [])
    assert.strictEqual(Conversation.count(made), turns.length)
  })

  it.prop("comes out the same when made of its own turns", [conversation], ([conversation]) => {
    assert.deepStrictEqual(Conversation.make(conversation.turns), conversation)
  }, some)

  it.prop(
    "comes out as if its turns were appended one by one",
    [Arbitrary.array(turn, { maxLength: 8 })],
    ([turns]) => {
      const appended = turns.reduce<Conversation.Conversation>(
        (self, turn) => Conversation.append(self, turn),
        Conversation.empty
      )
      assert.deepStrictEqual(Conversation.make(turns), appended)
    }
  )

  it("takes no longer for each turn where there are many, and where a model gives all calls one id", () => {
    const turns = Array.from({ length: 12_000 }, (_, at) => at % 2 === 0 ? user("Next?") : assistant(call("c", done)))
    const made = Conversation.make(turns)
    assert.deepStrictEqual(Conversation.callIds(made).slice(-1), ["c-6000"])
    const merged = Conversation.merge(made, make(...turns.slice(1)), { onDiverged: "append" })
    assert.deepStrictEqual(Conversation.callIds(Result.getOrThrow(merged)).slice(-1), ["c-6000-2"])
  })

  describe("append", () => {
    it("settles calls that the conversation leaves behind as interrupted", () => {
      const self = make(assistant(call("a"), call("b", done)), user("never mind"), assistant(call("c")))
      assert.deepStrictEqual(callsIn(self).map((call) => call.state), [
        {
          _tag: "Settled",
          outcome: "Interrupted",
          result: "The conversation went on before this call had a result."
        },
        done,
        { _tag: "Pending" }
      ])
    })

    it("lets a user speak while calls are open", () => {
      const self = make(assistant(call("a")), user("hurry"))
      assert.deepStrictEqual(Conversation.openCalls(self).map((call) => call.id), ["a"])
    })

    it("gives repeated and empty ids a number, within a turn and over turns", () => {
      const self = make(assistant(call("a", done), call("a", done), call("", done)), assistant(call("a"), call("")))
      assert.deepStrictEqual(Conversation.callIds(self), ["a", "a-2", "call", "a-3", "call-2"])
      const more = Conversation.append(self, assistant(call("a"), call("a-2")))
      assert.deepStrictEqual(Conversation.callIds(more).slice(-2), ["a-4", "a-2-2"])
    })

    it("keeps a turn whose ids are its own as it is", () => {
      const turn = assistant(call("a"))
      assert.strictEqual(Conversation.append(Conversation.empty, turn).turns[0]?._tag, "Assistant")
      assert.deepStrictEqual(Conversation.append(Conversation.empty, turn).turns, [turn])
    })

    it.prop("shares all turns before it", [settled, turn], ([self, turn]) => {
      const next = Conversation.append(self, turn)
      self.turns.forEach((before, index) => assert.strictEqual(next.turns[index], before))
      assert.strictEqual(Conversation.count(next), Conversation.count(self) + 1)
    }, some)

    it("takes a user's text, or parts", () => {
      const file = Conversation.file("image/png", "aGk=", { fileName: "a.png" })
      const self = Conversation.appendUser(Conversation.appendUser(Conversation.empty, "look"), [file])
      assert.deepStrictEqual(self.turns, [user("look"), { _tag: "User", parts: [file] }])
    })
  })

  describe("updateCall", () => {
    it("changes one open call of the last assistant turn", () => {
      const self = make(assistant(call("a"), call("b")), user("hm"))
      const next = Conversation.updateCall(self, "b", done)
      assert.deepStrictEqual(callsIn(next), [call("a"), call("b", done)])
      assert.deepStrictEqual(callsIn(self), [call("a"), call("b")])
    })

    it("leaves a settled, an earlier and an unknown call alone", () => {
      const self = make(assistant(call("a", done)), assistant(call("b", done), call("c")))
      for (const id of ["a", "b", "none", ""]) {
        assert.strictEqual(Conversation.updateCall(self, id, { _tag: "AwaitingApproval" }), self)
      }
    })
  })

  describe("truncate", () => {
    it("keeps the last turns, and doesn't begin with an answer", () => {
      const self = make(user("1"), assistant(), user("2"), assistant(), user("3"))
      assert.deepStrictEqual(Conversation.truncate(self, 3).turns, self.turns.slice(-3))
      assert.deepStrictEqual(Conversation.truncate(self, 2).turns, self.turns.slice(-1))
      assert.deepStrictEqual(Conversation.truncate(self, 0).turns, [])
      assert.deepStrictEqual(Conversation.truncate(self, -1).turns, [])
      for (const n of [0.5, Number.NaN]) assert.deepStrictEqual(Conversation.truncate(self, n).turns, [])
    })

    it("takes a user's turn without a word for no question", () => {
      const silent: Conversation.Turn = { _tag: "User", parts: [] }
      const self = make(user("1"), silent, assistant(), user("2"))
      assert.deepStrictEqual(Conversation.truncate(self, 3).turns, self.turns.slice(-1))
      const unasked = make(user("1"), silent, assistant())
      assert.deepStrictEqual(Conversation.truncate(unasked, 2).turns, unasked.turns.slice(-2))
    })

    it("keeps answers when nothing else is left", () => {
      const self = make(user("1"), assistant(), assistant())
      assert.deepStrictEqual(Conversation.truncate(self, 2).turns, self.turns.slice(-2))
    })

    it("keeps a conversation that is short enough as it is", () => {
      const self = make(assistant(), user("1"))
      assert.strictEqual(Conversation.truncate(self, 2), self)
      assert.strictEqual(Conversation.truncate(self, 9), self)
    })

    it.prop("keeps a whole end of the turns, at most as many", [conversation, below(6)], ([self, n]) => {
      const kept = Conversation.truncate(self, n).turns
      assert.isAtMost(kept.length, n)
      assert.deepStrictEqual(kept, kept.length === 0 ? [] : self.turns.slice(-kept.length))
    }, some)
  })

  it.prop("forks at a turn, and goes on from there as it did", [settled, below(6)], ([self, n]) => {
    const fork = Conversation.fork(self, n)
    assert.deepStrictEqual(fork.turns, self.turns.slice(0, n))
    assert.deepStrictEqual(self.turns.slice(n).reduce((fork, turn) => Conversation.append(fork, turn), fork), self)
  })

  it("forks before its beginning as nothing, and behind its end as itself", () => {
    const self = make(user("1"), assistant())
    assert.deepStrictEqual(Conversation.fork(self, -1).turns, [])
    assert.strictEqual(Conversation.fork(self, 2), self)
  })

  it("gives the turns of one agent", () => {
    const other = { ...assistant(), agent: "billing" }
    const self = make(assistant(), user("1"), other)
    assert.deepStrictEqual(Conversation.byAgent(self, "billing"), [other])
    assert.deepStrictEqual(Conversation.byAgent("nobody")(self), [])
  })

  it("tells the last words of a user from those of a summary and of Troupe", () => {
    const self = make(
      {
        _tag: "User",
        parts: [Conversation.text("one "), Conversation.file("text/plain", "aGk="), Conversation.text("two")]
      },
      assistant(Conversation.text("an answer"), { _tag: "Reasoning", text: "a thought" }, Conversation.text("!")),
      { _tag: "Summary", text: "earlier", of: 3 },
      { _tag: "Feedback", text: "not valid" }
    )
    assert.strictEqual(Conversation.lastUserText(self), "one two")
    assert.strictEqual(Conversation.lastAssistantText(self), "an answer!")
    assert.deepStrictEqual(self.turns.map(Conversation.textOf), ["one two", "an answer!", "earlier", "not valid"])
    assert.strictEqual(Conversation.lastUserText(Conversation.empty), undefined)
    assert.strictEqual(Conversation.lastAssistantText(Conversation.empty), undefined)
    assert.strictEqual(Conversation.lastAssistant(Conversation.empty), undefined)
  })

  it.prop("knows its open calls", [conversation], ([self]) => {
    const open = callsIn(self).filter((call) => call.state._tag !== "Settled")
    assert.deepStrictEqual(Conversation.openCalls(self), open)
    assert.strictEqual(Conversation.hasOpenCalls(self), open.length > 0)
    assert.deepStrictEqual(open.map(Conversation.isOpen), open.map(() => true))
    assert.deepStrictEqual(Conversation.callIds(self), callsIn(self).map((call) => call.id))
  }, some)

  it.prop("has a prompt exactly while no call is open, and names those that are", [conversation], ([self]) => {
    const prompt = Conversation.toPrompt(self)
    const open = Conversation.openCalls(self).map((call) => call.id)
    assert.strictEqual(Result.isSuccess(prompt), open.length === 0)
    if (Result.isFailure(prompt)) assert.deepStrictEqual([...prompt.failure.callIds], open)
  }, some)

  it("names the open calls in the error", () => {
    const error = Result.getOrThrow(
      Result.flip(Conversation.toPrompt(make(assistant(call("a"), call("b", done), call("c")))))
    )
    assert.strictEqual(error._tag, "OpenCalls")
    assert.strictEqual(error.message, `No prompt exists while calls are open: "a", "c"`)
  })
})
