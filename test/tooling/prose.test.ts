import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { banned, findings, judge, look, shrink } from "../../scripts/prose.ts"

const said = (text: string, words: ReadonlyArray<string> = []) =>
  look("a.md", text, words).map(({ line, phrase }) => `${line} ${phrase}`)

describe("the check of prose", () => {
  it("finds turns of phrase that are read twice", () => {
    assert.deepStrictEqual(said("Tell\nwhoever it is. Where it fails, it stops."), ["2 whoever", "2 Where for if"])
    assert.deepStrictEqual(said("It goes where it must. # Where to look\n## Where to look"), [])
  })

  it("finds words that the ontology bans, but not in code or links", () => {
    assert.deepStrictEqual(said("A Hook, two hooks, `hook`, [a](hook.md), hook-like, hooked", ["hook"]), [
      "1 hook",
      "1 hook"
    ])
    assert.deepStrictEqual(said("```ts\nhook\n```\nhook", ["hook"]), ["4 hook"])
  })

  it("finds columns without a name", () => {
    assert.deepStrictEqual(said("| a | |\n|---|---|\n| b | |"), ["1 column without a name"])
    assert.deepStrictEqual(said("| a | b |\n|---|---|\n| c | |"), [])
  })

  it("reads what is banned from the ontology", () => {
    const words = banned(readFileSync("docs/ontology.md", "utf8"))
    assert.includeMembers([...words], ["hook", "swarm", "workflow", "human in the loop"])
    assert.notIncludeMembers([...words], ["message", "not", "---"])
  })

  it("allows what is allowed, names file and line of what is more, and wants what is less taken away", () => {
    const two = look("a.md", "whoever\nwhoever", [])
    assert.deepStrictEqual(judge(two, { "a.md": { whoever: 2 } }), [])
    assert.deepStrictEqual(judge(two, { "a.md": { whoever: 1 } }), [
      `a.md:1 says "whoever", 1 of which are allowed there`,
      `a.md:2 says "whoever", 1 of which are allowed there`
    ])
    assert.deepStrictEqual(judge(two, { "a.md": { whoever: 3 } }), [
      `a.md says "whoever" 2 times, and 3 are allowed: node scripts/prose.ts shrink`
    ])
  })

  it("shrinks what is allowed, and never adds to it", () => {
    const two = look("a.md", "whoever\nwhoever, what of it", [])
    assert.deepStrictEqual(shrink(two, { "a.md": { whoever: 3 }, "b.md": { whoever: 1 } }), { "a.md": { whoever: 2 } })
    assert.deepStrictEqual(shrink(two, { "a.md": { whoever: 1 } }), { "a.md": { whoever: 1 } })
  })

  it("finds nothing in the documentation that isn't allowed", () => {
    assert.deepStrictEqual(judge(findings(), JSON.parse(readFileSync("scripts/prose.json", "utf8"))), [])
  })
})
