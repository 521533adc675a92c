import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { mutables } from "../../scripts/mutable.ts"

const agent = join(import.meta.dirname, "../../src/agent")

/** Rooms whose functions change what they are working on, and keep nothing but what is made once. */
const working = /^(guardrail|trace)\//

/** What the code has, as `file name`. */
const inCode = globSync("**/*.ts", { cwd: agent }).flatMap((file) =>
  mutables(readFileSync(join(agent, file), "utf8"))
    .filter((name) => !working.test(file) || !name.includes("."))
    .map((name) => `${file} ${name}`)
)

const decision = join(import.meta.dirname, "../../docs/decisions/0022-what-stays-mutable.md")

/** The rows of the decision's tables: the file, the names, and why they aren't derived. */
const rows = readFileSync(decision, "utf8").split("\n").flatMap((line) => {
  const [, file, names, why] = /^\| `([^`]+\.ts)` \| (.+?) \| (.+) \|$/.exec(line) ?? []
  return file === undefined || names === undefined || why === undefined ? [] : [{ file, names, why }]
})

const inTables = rows.flatMap(({ file, names }) =>
  Array.from(names.matchAll(/`([^`]+)`/g), ([, name]) => `${file} ${name}`)
)

describe("What can change in src/agent", () => {
  it("stands in the tables of its decision, with its reason", () => {
    assert.deepStrictEqual(inCode.filter((each) => !inTables.includes(each)), [], "isn't in a table")
    assert.deepStrictEqual(inTables.filter((each) => !inCode.includes(each)), [], "isn't in the code")
    assert.deepStrictEqual(inTables.filter((each, at) => inTables.indexOf(each) !== at), [], "is there twice")
    for (const { file, why } of rows) assert.match(why, /^[A-Z].+\.$/, file)
  })

  it("is the fields that aren't read-only, and those that hold something that changes", () => {
    const source = `
      interface Kept { readonly a: string; b: number; readonly c: Array<string>; readonly d: ReadonlyArray<string> }
      type Literal = { e: string; readonly f: string }
      class Live {
        readonly g = 1
        #h = 2
        static #i = 0
        readonly j = new Map<string, string>()
        readonly k: Scope.Closeable | undefined
        readonly l: string[] = []
        m(): void {}
      }`
    assert.deepStrictEqual(mutables(source), [
      "Kept.b",
      "Kept.c",
      "Literal.e",
      "Live.h",
      "Live.i",
      "Live.j",
      "Live.k",
      "Live.l"
    ])
  })

  it("is the variables that a function changes which outlives the one around it", () => {
    const source = `
      const make = () => {
        let a = 0
        let b = 0
        const c = []
        const d = new Set()
        const e = []
        b++
        e.push(1)
        for (const each of [1]) b += each
        const sum = [1].map((each) => b += each)
        return { add: () => { a++; c.push(a) }, has: (x) => d.has(x), clear: () => d.clear(), sum }
      }
      export const inner = () => { const f = () => { let g = 0; return Effect.map(self, () => { g = 1 }) }; return f }`
    assert.deepStrictEqual(mutables(source).toSorted(), ["inner.g", "make.a", "make.c", "make.d"])
  })

  it("is what a module holds, but for what never changes", () => {
    const source = `
      let a = 0
      const b = new WeakMap<object, string>()
      const c: ReadonlySet<string> = new Set(["x"])
      const d = memoize((x: object) => x)
      const e = lazy(() => 1)
      const f = new Slot<string>()
      const g: Array<never> = []
      const h = 1
      export const i: Array<string> = ["x"]`
    assert.deepStrictEqual(mutables(source), ["a", "b", "d", "e", "f", "i"])
  })
})
