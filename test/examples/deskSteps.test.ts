/** Reading costs as much as a text is long: one that is twice as long costs about twice as many steps, whatever it says. */
import { assert, describe, it } from "@effect/vitest"
import { type Clause, messageOf, wishesOfOrders } from "../../examples/desk/model/message.ts"
import { read } from "../../examples/desk/model/reading.ts"

/** Does something with other built-in methods in the place of some. */
const within = (
  methods: ReadonlyArray<readonly [owner: object, name: string, method: unknown]>,
  f: () => unknown
): void => {
  const before = methods.map(([owner, name]) => [owner, name, Reflect.get(owner, name)] as const)
  for (const [owner, name, method] of methods) Reflect.set(owner, name, method)
  try {
    f()
  } finally {
    for (const [owner, name, method] of before) Reflect.set(owner, name, method)
  }
}

/** Counts what something does: runs of patterns, and elements that are copied. */
const stepsOf = (f: () => unknown): number => {
  let steps = 0
  const { exec } = RegExp.prototype
  const { slice } = Array.prototype
  within([
    [RegExp.prototype, "exec", function(this: RegExp, text: string) {
      steps++
      return exec.call(this, text)
    }],
    [Array.prototype, "slice", function(this: Array<unknown>, from?: number, to?: number) {
      const copied = slice.call(this, from, to)
      steps += copied.length
      return copied
    }]
  ], f)
  return steps
}

/** Counts how often clauses are looked at. */
const looksOf = (clauses: ReadonlyArray<Clause>): number => {
  let looks = 0
  wishesOfOrders(clauses.map((clause) =>
    new Proxy(clause, {
      get: (target, name: keyof Clause) => {
        looks++
        return target[name]
      }
    })
  ))
  return looks
}

const units = [
  "1,",
  ",",
  "1042,",
  "x,",
  "cancel,",
  "1042,cancel,",
  "pay,",
  "lamp,pay,",
  "pay,lamp,",
  "want. ",
  "where, ",
  "a and "
]

/** The longest text that the service takes, and one of half its length. */
const [half, whole] = [5000, 10_000] as const
const text = (unit: string, length: number) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length)

describe("A text of the longest length", () => {
  for (const unit of units) {
    it(`costs about twice what half of it costs: ${JSON.stringify(unit)}`, () => {
      const steps = (length: number) => stepsOf(() => read(text(unit, length)))
      assert.isBelow(steps(whole), 2.5 * steps(half) + 1000)
      const looks = (length: number) => looksOf(messageOf(text(unit, length)).clauses)
      assert.isBelow(looks(whole), 2.5 * looks(half) + 100)
    })
  }
})
