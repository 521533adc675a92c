import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Conversation } from "troupe"
import * as Choosing from "../../src/domain/window/Choosing.ts"
import { openFrom, type Room, type WindowTurn } from "../../src/domain/window/WindowTurn.ts"
import { times } from "../matrix.ts"
import { below, settled, turn } from "./arbitraries.ts"
import { problems } from "./legal.ts"

const user = (text: string) => Conversation.user(text)
const said = (text: string) => Conversation.assistant("a", text)
const called = (id: string, result: unknown, name = "go") =>
  Conversation.assistant("a", [
    Conversation.call(id, name, {}, { _tag: "Settled", outcome: "Succeeded", result: result as string })
  ])

/** Each turn counts for 10, a result that is left out for 4. */
const count = (turn: Conversation.Turn): number => JSON.stringify(turn).includes("was left out") ? 4 : 10

const entries = (
  turns: ReadonlyArray<Conversation.Turn>,
  stays: ReadonlyArray<number> = []
): ReadonlyArray<WindowTurn> =>
  turns.map((turn, index) => ({
    turn,
    index,
    tokens: count(turn),
    stays: stays.includes(index) ? "Pinned" : undefined
  }))

const roomOf = (room: Partial<Room>): Room => ({
  tokens: Infinity,
  turns: Infinity,
  count,
  atOnce: { tokens: 0, turns: 0 },
  ...room
})

const tokensOf = (turns: ReadonlyArray<WindowTurn>) => turns.reduce((sum, { tokens }) => sum + tokens, 0)

const chosen = (choose: Choosing.Choose, turns: ReadonlyArray<WindowTurn>, room: Partial<Room>) =>
  choose(turns, roomOf(room), tokensOf(turns)).map(({ index }) => index)

const fitted = (chosen: ReadonlyArray<WindowTurn>, turns: ReadonlyArray<WindowTurn>, room: Partial<Room>) => {
  const { hasRoom, sent, tokens } = Choosing.fit(chosen, turns, roomOf(room), tokensOf(chosen))
  assert.strictEqual(tokens, tokensOf(sent))
  return { hasRoom, texts: sent.map(({ turn }) => Conversation.textOf(turn)) }
}

const eight = ["1", "2", "3", "4", "5", "6", "7", "8"].map((text, at) => at % 2 === 0 ? user(text) : said(text))

describe("oldestFirst", () => {
  it("leaves out no more than it has to, by tokens, by turns, and by both", () => {
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight), { tokens: 50 }), [3, 4, 5, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight), { tokens: 55 }), [3, 4, 5, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight), { turns: 3 }), [5, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight), { tokens: 50, turns: 3 }), [5, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight), { tokens: 20, turns: 3 }), [6, 7])
    const all = entries(eight)
    assert.strictEqual(Choosing.oldestFirst(all, roomOf({ tokens: 80, turns: 8 }), 80), all)
  })

  it("keeps what stays, wherever it is, and more than there is room for if it must", () => {
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight, [0, 2]), { turns: 4 }), [0, 2, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight, [0, 2, 7]), { turns: 1 }), [0, 2, 7])
    assert.deepStrictEqual(chosen(Choosing.oldestFirst, entries(eight, [0, 2, 7]), { tokens: -5 }), [0, 2, 7])
  })

  it("leaves more out at once where it is told to, so that the beginning stays the same for a while", () => {
    const starts = [4, 5, 6, 7, 8, 9, 10].map((length) => {
      const turns = entries(Array.from({ length }, (_, at) => user(String(at))))
      return chosen(Choosing.oldestFirst, turns, { turns: 5, atOnce: { tokens: 0, turns: 3 } })[0]
    })
    assert.deepStrictEqual(starts, [0, 0, 3, 3, 3, 6, 6])
  })
})

describe("middleOut", () => {
  it("keeps the first and the last turns", () => {
    assert.deepStrictEqual(chosen(Choosing.middleOut, entries(eight), { turns: 4 }), [0, 1, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.middleOut, entries(eight), { turns: 5 }), [0, 1, 5, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.middleOut, entries(eight), { tokens: 40 }), [0, 1, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.middleOut, entries(eight), { turns: 1 }), [7])
    assert.deepStrictEqual(chosen(Choosing.middleOut, entries(eight, [7]), { turns: 1 }), [7])
  })

  it("never gives a turn twice, and all where there is room", () => {
    const all = entries(eight)
    assert.strictEqual(Choosing.middleOut(all, roomOf({ turns: 8 }), 80), all)
    assert.deepStrictEqual(chosen(Choosing.middleOut, entries(eight.slice(0, 3)), { tokens: 20 }), [0, 2])
  })

  it("gives half of what is free to the first turns, beside what stays", () => {
    assert.deepStrictEqual(chosen(Choosing.middleOut, entries(eight, [3, 7]), { turns: 6 }), [0, 1, 3, 5, 6, 7])
    const long = entries(eight).with(0, { turn: eight[0]!, index: 0, tokens: 30, stays: undefined })
    assert.deepStrictEqual(chosen(Choosing.middleOut, long, { tokens: 50 }), [3, 4, 5, 6, 7])
  })
})

describe("recentTurns", () => {
  it("keeps the last turns and what stays, however much room there is", () => {
    assert.deepStrictEqual(chosen(Choosing.recentTurns(3), entries(eight), {}), [5, 6, 7])
    assert.deepStrictEqual(chosen(Choosing.recentTurns(1), entries(eight, [0]), {}), [0, 7])
    assert.deepStrictEqual(chosen(Choosing.recentTurns(0), entries(eight, [6, 7]), {}), [6, 7])
    assert.deepStrictEqual(chosen(Choosing.recentTurns(9), entries(eight), {}), [0, 1, 2, 3, 4, 5, 6, 7])
  })
})

describe("withoutResults", () => {
  const turns = [user("1"), called("a", "A"), called("b", "B"), said("4"), called("c", "C")]
  const results = (all: ReadonlyArray<WindowTurn>) =>
    all.flatMap(({ turn }) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : []).map(({ state }) =>
      state._tag === "Settled" ? state.result : undefined
    )
  const marker = "[This result was left out to save room.]"

  it("replaces the oldest results, as many as it has to, and leaves out no turn", () => {
    const once = Choosing.withoutResults(entries(turns), roomOf({ tokens: 45 }), 50)
    assert.deepStrictEqual(results(once), [marker, "B", "C"])
    assert.deepStrictEqual(once.map(({ index }) => index), [0, 1, 2, 3, 4])
    assert.strictEqual(tokensOf(once), 44)
    const more = Choosing.withoutResults(entries(turns), roomOf({ tokens: 39 }), 50)
    assert.deepStrictEqual(results(more), [marker, marker, "C"])
    const again = Choosing.withoutResults(entries(turns), roomOf({ tokens: 45 }), 50)
    assert.strictEqual(again[1]!.turn, once[1]!.turn)
    assert.strictEqual(once[2]!.turn, turns[2])
  })

  it("leaves what stays, and what a provider ran, as it is", () => {
    const all = Choosing.withoutResults(entries(turns, [4]), roomOf({ tokens: 1 }), 50)
    assert.deepStrictEqual(results(all), [marker, marker, "C"])
    const own = Conversation.assistant("a", [
      {
        ...Conversation.call("p", "search", {}, { _tag: "Settled", outcome: "Succeeded", result: "found" }),
        providerExecuted: true
      }
    ])
    assert.deepStrictEqual(results(Choosing.withoutResults(entries([own]), roomOf({ tokens: 1 }), 10)), ["found"])
  })

  it("makes nothing longer, and does nothing for a limit of turns", () => {
    const room = roomOf({ tokens: 1, count: () => 10 })
    assert.deepStrictEqual(results(Choosing.withoutResults(entries(turns), room, 50)), ["A", "B", "C"])
    const all = entries(turns)
    assert.strictEqual(Choosing.withoutResults(all, roomOf({ turns: 2 }), 50), all)
  })

  it("says that a call failed which did, without what it said", () => {
    const failed = Conversation.assistant("a", [
      Conversation.call("f", "go", {}, {
        _tag: "Settled",
        outcome: "Failed",
        result: "boom",
        modelOutput: [{ type: "text", text: "boom" }] as never
      })
    ])
    const [made] = Choosing.withoutResults(entries([failed]), roomOf({ tokens: 1 }), 10)
    assert.deepStrictEqual(made!.turn._tag === "Assistant" ? made!.turn.parts : [], [
      Conversation.call("f", "go", {}, { _tag: "Settled", outcome: "Failed", result: marker })
    ])
  })
})

describe("byFunction", () => {
  const indexes = (f: Parameters<typeof Choosing.byFunction>[0], all: ReadonlyArray<WindowTurn>) =>
    Choosing.byFunction(f)(all, roomOf({}), tokensOf(all)).map(({ index }) => index)

  it("puts back what stays, in its place, and takes a turn once", () => {
    const all = entries(eight, [1, 4, 7])
    assert.deepStrictEqual(indexes((turns) => turns.slice(2, 4).map(({ turn }) => turn), all), [1, 2, 3, 4, 7])
    assert.deepStrictEqual(indexes(() => [], all), [1, 4, 7])
    assert.deepStrictEqual(indexes(() => [eight[0]!, eight[0]!], entries(eight)), [0])
    assert.deepStrictEqual(indexes(() => [eight[3]!, eight[2]!], entries(eight)), [3, 2])
  })

  it("counts turns that it makes, and makes them legal", () => {
    const turns = [user("1"), called("c", "C"), user("3")]
    const open = Conversation.assistant("a", [Conversation.call("c", "go", {}), Conversation.call("d", "go", {})])
    const made = Choosing.byFunction(() => [turns[0]!, turns[1]!, open])(entries(turns, [2]), roomOf({}), 30)
    assert.deepStrictEqual(problems({ turns: made.map(({ turn }) => turn) }), [])
    assert.deepStrictEqual(Conversation.callIds({ turns: made.map(({ turn }) => turn) }), ["c", "c-2", "d"])
    assert.isFalse(Conversation.hasOpenCalls({ turns: made.map(({ turn }) => turn) }))
    assert.deepStrictEqual(made.map(({ index, tokens }) => [index, tokens]), [[0, 10], [1, 10], [-1, 10], [2, 10]])
  })

  it.prop("gives legal turns and keeps what stays, whatever it is", [
    settled,
    Arbitrary.array(turn, { maxLength: 3 }),
    Arbitrary.array(Arbitrary.schema(Schema.Boolean), { maxLength: 6 }),
    below(6)
  ], ([{ turns }, others, keep, pinned]) => {
    const all = entries(turns, [pinned])
    const made = Choosing.byFunction((given) => [
      ...given.flatMap(({ turn }, at) => keep[at] === true ? [turn, turn] : []),
      ...others
    ])(all, roomOf({}), tokensOf(all))
    const given = made.map(({ turn }) => turn)
    if (made.some(({ index }) => index < 0)) {
      assert.deepStrictEqual(problems({ turns: given }), [])
      assert.isFalse(Conversation.hasOpenCalls({ turns: given }))
    }
    if (all[pinned] !== undefined && made.every(({ index }) => index >= 0)) assert.include(made, all[pinned])
  }, { arbitrary: { runs: times(40, 16) } })
})

describe("fit", () => {
  it("doesn't begin with the answer to a question that was left out", () => {
    const all = entries(eight)
    assert.deepStrictEqual(fitted(all.slice(3), all, {}), { hasRoom: true, texts: ["5", "6", "7", "8"] })
    assert.deepStrictEqual(fitted(all, all, {}).texts, ["1", "2", "3", "4", "5", "6", "7", "8"])
    const answered = entries([said("0"), ...eight])
    assert.deepStrictEqual(fitted(answered.slice(0, 2), answered, {}).texts, ["0", "1"])
  })

  it("says what was left out before an answer that stays", () => {
    const all = entries(eight, [3])
    assert.deepStrictEqual(fitted(all.slice(3), all, {}), {
      hasRoom: true,
      texts: ["[3 earlier turns left out]", "4", "5", "6", "7", "8"]
    })
    assert.deepStrictEqual(fitted(all.slice(1), all, {}).texts[0], "3")
    const first = entries(eight, [1])
    assert.deepStrictEqual(fitted(first.slice(1), first, {}).texts.slice(0, 2), ["[1 earlier turn left out]", "2"])
  })

  it("looks behind turns without words", () => {
    const silent = Conversation.user([])
    const all = entries([user("1"), said("2"), silent, said("4"), user("5")])
    assert.deepStrictEqual(fitted(all.slice(2), all, {}).texts, ["", "5"])
  })

  it("leaves out the oldest where there is still too much, and makes room for what it says", () => {
    const all = entries(eight, [1])
    assert.deepStrictEqual(fitted(all, all, { turns: 4 }), {
      hasRoom: true,
      texts: ["[5 earlier turns left out]", "2", "7", "8"]
    })
    assert.deepStrictEqual(fitted(all, all, { tokens: 40 }).texts.length, 4)
    assert.deepStrictEqual(fitted(all.slice(2), all, { turns: 3 }).texts, ["7", "8"])
  })

  it("gives what stays where even that has no room", () => {
    const all = entries(eight, [1, 7])
    assert.deepStrictEqual(fitted(all, all, { turns: 2 }), {
      hasRoom: false,
      texts: ["[6 earlier turns left out]", "2", "8"]
    })
    assert.deepStrictEqual(fitted(all, all, { tokens: 0 }).hasRoom, false)
  })
})

describe("openFrom", () => {
  const from = (...turns: ReadonlyArray<Conversation.Turn>) => openFrom(turns)
  it("finds what the model is asked about", () => {
    assert.strictEqual(from(user("1"), said("2"), user("3")), 2)
    assert.strictEqual(from(user("1"), said("2"), user("3"), user("4")), 2)
    assert.strictEqual(from(user("1"), called("a", "A")), 1)
    assert.strictEqual(from(user("1"), called("a", "A"), called("b", "B"), user("4")), 2)
    assert.strictEqual(from(user("1"), { ...said("2"), finishReason: "pause" }), 1)
    assert.strictEqual(from(user("1"), said("2")), 2)
    assert.strictEqual(from(user("1"), user("2")), 0)
    assert.strictEqual(from(), 0)
  })
})
