import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Conversation } from "troupe"
import { times } from "../matrix.ts"
import { below, conversation } from "./arbitraries.ts"
import { problems } from "./legal.ts"

const call = Conversation.call("call-1", "find_order", { order: 1042 }, {
  _tag: "Settled",
  outcome: "Succeeded",
  result: { customer: "Mara" }
})

const talk = Conversation.make([
  Conversation.user([
    Conversation.text("Where is my Order?"),
    Conversation.file("image/png", "aGk=", { fileName: "lamp.png" })
  ]),
  Conversation.assistant("desk", [{ _tag: "Reasoning", text: "They want an order." }, call]),
  { _tag: "Feedback", text: "Answer in German." },
  Conversation.assistant("desk", [
    Conversation.text("Unterwegs."),
    { _tag: "Source", id: "1", title: "Tracking", url: "https://post.test/42" }
  ]),
  { _tag: "Summary", text: "An order was found.", of: 4 }
])

const places = (query: string | RegExp) => Conversation.search(talk, query).map(({ index }) => index)

const few = { arbitrary: { runs: times(30, 12) } } as const

describe("Conversation.search", () => {
  it("finds a text in all words of turns, whatever its case", () => {
    assert.deepStrictEqual(places("order"), [0, 1, 4])
    assert.deepStrictEqual(places("GERMAN"), [2])
    assert.deepStrictEqual(places("lamp.png"), [0])
    assert.deepStrictEqual(places("post.test"), [3])
    assert.deepStrictEqual(places("tracking"), [3])
  })

  it("finds the names, parameters and results of calls", () => {
    assert.deepStrictEqual(places("find_order"), [1])
    assert.deepStrictEqual(places("1042"), [1])
    assert.deepStrictEqual(places("mara"), [1])
  })

  it("finds what a pattern matches, however often it was used, and a text that isn't one as it is", () => {
    const pattern = /order/gi
    assert.deepStrictEqual([places(pattern), places(pattern)], [[0, 1, 4], [0, 1, 4]])
    assert.strictEqual(pattern.lastIndex, 0)
    assert.deepStrictEqual(places(/order/y), places(/order/))
    assert.deepStrictEqual(places(/^Where/), [0])
    assert.deepStrictEqual(places("("), [])
  })

  it("finds an empty text nowhere", () => {
    assert.deepStrictEqual(places(""), [])
    assert.deepStrictEqual(Conversation.search("x")(Conversation.empty), [])
  })

  it.prop("gives turns with their places", [conversation, Arbitrary.schema(Schema.String)], ([self, text]) => {
    for (const { index, turn } of Conversation.search(self, text)) assert.strictEqual(self.turns[index], turn)
  }, few)
})

describe("Conversation.filter", () => {
  it("keeps turns with their calls, by what they are or where they stand", () => {
    assert.deepStrictEqual(Conversation.filter(talk, ({ _tag }) => _tag === "Assistant").turns, [
      talk.turns[1]!,
      talk.turns[3]!
    ])
    assert.deepStrictEqual(Conversation.filter((_, index) => index > 3)(talk).turns, talk.turns.slice(4))
    assert.strictEqual(Conversation.filter(talk, () => true), talk)
  })

  it.prop("leaves any conversation legal", [conversation, Arbitrary.array(Arbitrary.schema(Schema.Boolean))], (
    [self, keep]
  ) => {
    assert.deepStrictEqual(problems(Conversation.filter(self, (_, index) => keep[index] ?? false)), [])
  }, few)
})

describe("Conversation.countByRole", () => {
  it("counts the turns of each side", () => {
    assert.deepStrictEqual(Conversation.countByRole(talk), { User: 1, Assistant: 2, Summary: 1, Feedback: 1 })
    assert.deepStrictEqual(Conversation.countByRole(Conversation.empty), {
      User: 0,
      Assistant: 0,
      Summary: 0,
      Feedback: 0
    })
  })

  it.prop("counts each turn once", [conversation], ([self]) => {
    const counts = Object.values(Conversation.countByRole(self))
    assert.strictEqual(counts.reduce((sum, count) => sum + count, 0), self.turns.length)
  }, few)
})

describe("Conversation.lastTurns", () => {
  it("gives the last turns, also where a conversation wouldn't begin with them", () => {
    assert.deepStrictEqual(Conversation.lastTurns(talk, 2), talk.turns.slice(3))
    assert.deepStrictEqual(Conversation.lastTurns(99)(talk), talk.turns)
    for (const none of [0, -1, Number.NaN, 0.5]) assert.deepStrictEqual(Conversation.lastTurns(talk, none), [])
  })

  it.prop("gives as many as there are", [conversation, below(8)], ([self, n]) => {
    assert.deepStrictEqual(Conversation.lastTurns(self, n), self.turns.slice(Math.max(0, self.turns.length - n)))
  }, few)
})
