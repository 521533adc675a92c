import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { Conversation } from "troupe"
import { times } from "../matrix.ts"
import { below, conversation, settled } from "./arbitraries.ts"
import { callsIn, problems } from "./legal.ts"

const user = (text: string) => Conversation.user(text)
const said = (text: string) => Conversation.assistant("a", text)

const done: Conversation.Settled = { _tag: "Settled", outcome: "Succeeded", result: "done" }
const asking = (...calls: ReadonlyArray<Conversation.Call>) => Conversation.assistant("a", calls)
const call = (id: string, state?: Conversation.CallState) => Conversation.call(id, "go", {}, state)

const texts = ({ turns }: Conversation.Conversation) => turns.map(Conversation.textOf)

const base = Conversation.make([user("one"), said("two")])
const add = (self: Conversation.Conversation, ...turns: ReadonlyArray<Conversation.Turn>) =>
  turns.reduce<Conversation.Conversation>((all, turn) => Conversation.append(all, turn), self)

const few = { arbitrary: { runs: times(40, 16) } } as const

describe("Conversation.edit", () => {
  it("lets the user say something else in the place of a turn", () => {
    const self = add(base, user("three"), said("four"))
    assert.deepStrictEqual(texts(Conversation.edit(self, 2, "drei")), ["one", "two", "drei"])
    assert.deepStrictEqual(texts(Conversation.edit(0, [Conversation.text("eins")])(self)), ["eins"])
    assert.deepStrictEqual(texts(Conversation.edit(self, 9, "five")), ["one", "two", "three", "four", "five"])
    for (const place of [-1, Number.NaN]) assert.deepStrictEqual(texts(Conversation.edit(self, place, "x")), ["x"])
  })

  it.prop("keeps the turns before it, and is legal", [conversation, below(8)], ([self, index]) => {
    const edited = Conversation.edit(self, index, "else")
    assert.deepStrictEqual(problems(edited), [])
    assert.deepStrictEqual(edited.turns, [...self.turns.slice(0, index), user("else")])
  }, few)
})

describe("Conversation.diff", () => {
  it("gives what is common, and what each has behind it", () => {
    const left = add(base, user("left"))
    const right = add(base, user("right"), said("well"))
    assert.deepStrictEqual(Conversation.diff(left, right), {
      common: 2,
      left: left.turns.slice(2),
      right: right.turns.slice(2)
    })
    assert.deepStrictEqual(Conversation.diff(base)(base), { common: 2, left: [], right: [] })
  })

  it("compares turns by what they say", () => {
    const again = Conversation.make([user("one"), said("two"), user("three")])
    assert.deepStrictEqual(Conversation.diff(base, again), { common: 2, left: [], right: [user("three")] })
  })

  it.prop("gives two conversations back", [conversation, conversation, below(6)], ([self, other, n]) => {
    const that: Conversation.Conversation = { turns: [...self.turns.slice(0, n), ...other.turns] }
    const { common, left, right } = Conversation.diff(self, that)
    // A pin makes no difference.
    const unpinned = (turns: ReadonlyArray<Conversation.Turn>) => turns.map((turn) => ({ ...turn, pinned: undefined }))
    const shared = self.turns.slice(0, common)
    assert.deepStrictEqual([...shared, ...left], self.turns)
    assert.deepStrictEqual(unpinned([...shared, ...right]), unpinned(that.turns))
    assert.isAtLeast(common, Math.min(n, self.turns.length))
  }, few)
})

describe("Conversation.merge", () => {
  const merged = (...args: Parameters<typeof Conversation.merge>) => Result.getOrThrow(Conversation.merge(...args))

  it("takes the fork where it alone went on, and the original where that alone did", () => {
    const further = add(base, user("three"))
    assert.deepStrictEqual(merged(base, further), further)
    assert.deepStrictEqual(merged(further, base), further)
    assert.deepStrictEqual(merged(base, base), base)
    assert.deepStrictEqual(Result.getOrThrow(Conversation.merge(further)(base)), further)
    assert.deepStrictEqual(Result.getOrThrow(Conversation.merge(further, undefined)(base)), further)
  })

  it("fails where both went on, and says how far", () => {
    const error = Result.getOrThrow(
      Result.flip(Conversation.merge(add(base, user("left")), add(base, user("right"), said("well"))))
    )
    assert.deepStrictEqual([error._tag, error.common, error.left, error.right], ["Diverged", 2, 1, 2])
    assert.strictEqual(
      error.message,
      "Both conversations continued after the 2 turns that they share, the original by 1 and the fork by 2 turns: merge with `onDiverged: \"append\"` to keep both"
    )
  })

  it("puts the fork's turns behind the original's, calls under ids of their own, where it is told to", () => {
    const left = add(base, user("left"), asking(call("c", done)))
    const right = add(base, user("right"), asking(call("c", done)))
    const both = merged(left, right, { onDiverged: "append" })
    assert.deepStrictEqual(texts(both), ["one", "two", "left", "", "right", ""])
    assert.deepStrictEqual(Conversation.callIds(both), ["c", "c-2"])
    const piped = Conversation.merge(right, { onDiverged: "append" })(left)
    assert.deepStrictEqual(Result.getOrThrow(piped), both)
  })

  it("takes a call as settled that is so in one of them", () => {
    const open = add(base, asking(call("c"), call("d")))
    const one = Conversation.updateCall(open, "c", done)
    const other = Conversation.updateCall(open, "d", done)
    for (const [left, right] of [[one, other], [other, one]] as const) {
      assert.deepStrictEqual(callsIn(merged(left, right)).map(({ state }) => state), [done, done])
    }
    const further = add(Conversation.updateCall(one, "d", done), said("so"))
    assert.deepStrictEqual(merged(open, further), further)
    assert.deepStrictEqual(merged(further, open), further)
  })

  it("doesn't choose between two results of one call", () => {
    const open = add(base, asking(call("c")))
    const failed: Conversation.Settled = { ...done, outcome: "Failed" }
    const [one, other] = [done, failed].map((state) => Conversation.updateCall(open, "c", state))
    assert.isTrue(Result.isFailure(Conversation.merge(one!, other!)))
  })

  it.prop("leaves any two conversations legal, and loses nothing", [settled, conversation, conversation], (
    [before, left, right]
  ) => {
    const of = ({ turns }: Conversation.Conversation) => add(before, ...turns)
    const [self, fork] = [of(left), of(right)]
    const both = merged(self, fork, { onDiverged: "append" })
    assert.deepStrictEqual(problems(both), [])
    const { common } = Conversation.diff(self, fork)
    assert.isAtLeast(both.turns.length, Math.max(self.turns.length, fork.turns.length))
    assert.isAtMost(both.turns.length, self.turns.length + fork.turns.length - common)
    assert.deepStrictEqual(merged(before, fork), fork)
    assert.deepStrictEqual(merged(self, before), self)
  }, few)
})
