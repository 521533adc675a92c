import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { banned, findings, judge, look, lookAtSource, shrink } from "../../scripts/prose.ts"

const said = (text: string, words: ReadonlyArray<string> = []) =>
  look("a.md", text, words).map(({ line, phrase }) => `${line} ${phrase}`)

const saidInSource = (source: string, words: ReadonlyArray<string> = []) =>
  lookAtSource("a.ts", source, words).map(({ line, phrase }) => `${line} ${phrase}`)

const words = (count: number): string => `${Array.from({ length: count }, () => "word").join(" ")}.`

describe("the check of prose", () => {
  it("finds turns of phrase that are read twice", () => {
    assert.deepStrictEqual(said("Tell\nwhoever it is. Where it fails, it stops."), ["2 whoever", "2 Where for if"])
    assert.deepStrictEqual(said("It goes where it must. # Where to look"), [])
    assert.deepStrictEqual(said("It continues where it stopped, and gives the agent a model."), [])
  })

  it("finds words that the ontology bans, but not in code or links", () => {
    assert.deepStrictEqual(said("A Hook, two hooks, `hook`, [a](hook.md), hook-like, hooked", ["hook"]), [
      "1 hook",
      "1 hook"
    ])
    assert.deepStrictEqual(said("```ts\nhook\n```\nhook", ["hook"]), ["4 hook"])
  })

  it("finds headings that ask a question, or whose subject is a pronoun", () => {
    for (
      const heading of ["What crosses", "Who begins", "When it ends", "One that leads", "Most of them", "How to add it"]
    ) {
      assert.deepStrictEqual(said(`Text\n\n## ${heading}`), ["3 heading that is a riddle"])
    }
    for (const heading of ["# Time-outs", "## Try it: a desk", "### Whatever holds", "## Results that come later"]) {
      assert.deepStrictEqual(said(heading), [])
    }
    assert.deepStrictEqual(said("What crosses\n\n```md\n## What crosses\n```"), [])
  })

  it("finds columns without a name", () => {
    assert.deepStrictEqual(said("| a | |\n|---|---|\n| b | |"), ["1 column without a name"])
    assert.deepStrictEqual(said("| a | b |\n|---|---|\n| c | |"), [])
    assert.deepStrictEqual(saidInSource("/**\n * | a | |\n * |---|---|\n * | b | |\n */\nconst a = 1"), [
      "2 column without a name"
    ])
  })

  it("finds turns of phrase in each kind of comment, but not in code, tags or examples", () => {
    const phrases = [
      ["whoever", "Tells whoever asks."],
      ["what of it", "Keeps what of it is new."],
      ["what of a", "Sends what of a state is new."],
      ["that is none", "A name that is none."],
      ["gone on with", "The run is gone on with."],
      ["dies of", "A run dies of it."],
      ["can't be is thrown", "What can't be is thrown."],
      ["somebody else's", "The fiber of somebody else."],
      ["Where for if", "It stops. Where it fails, it says so."],
      ["told for emitted", "Events are told by it."],
      ["where for if", "It counts from 1, 0 where it fails."],
      ["where for if", "It declines where there is no step."],
      ["where for if", "A graph, where each starts at once."],
      ["Gives for Returns", "Gives the names."],
      ["Gives for Returns", "Waits, and gives them."],
      ["brings along", "A model that an agent brings along."],
      ["but for", "All pass, but for the last."],
      ["that can't be", "Throws for a limit that can't be."],
      ["is thrown for throws", "An issue is thrown as an error."],
      ["hears of", "Nobody hears of it."],
      ["namesake", "It replaces its namesake."],
      ["of them that", "The last of them that fits."]
    ]
    for (const [phrase, sentence] of phrases) {
      assert.deepStrictEqual(saidInSource(`// ${sentence}`), [`1 ${phrase}`])
      assert.deepStrictEqual(saidInSource(`const a = 1\n/** ${sentence} */\nconst b = a`), [`2 ${phrase}`])
      assert.deepStrictEqual(saidInSource(`/**\n * One.\n *\n * ${sentence}\n */\nconst b = 1`), [`4 ${phrase}`])
    }
    assert.deepStrictEqual(saidInSource("const whoever = 1 // `whoever`"), [])
    assert.deepStrictEqual(
      saidInSource("/**\n * ```ts\n * whoever\n * ```\n * @category whoever\n */\nconst a = 1"),
      []
    )
  })

  it("finds them, and words that the ontology bans, in messages, which have spaces", () => {
    assert.deepStrictEqual(saidInSource("const a = 1\nconst b = `There is no ${a}: whoever asks`"), ["2 whoever"])
    assert.deepStrictEqual(saidInSource(`const a = "a hook failed"\nconst b = "hook"\n// a hook`, ["hook"]), [
      "3 hook",
      "1 hook"
    ])
  })

  it("finds sentences of pages that are too long, but no rows of tables", () => {
    assert.deepStrictEqual(said(`# A\n\n${words(20).slice(0, -1)}\n${words(26)}`), ["3 long sentence"])
    assert.deepStrictEqual(said(`${words(30)} **A** ${words(30)}\n\n- ${words(30)}`), [])
    assert.deepStrictEqual(said(`| ${words(50)} |`), [])
  })

  it("finds sentences of comments that are too long, over lines and by paragraphs and items", () => {
    assert.deepStrictEqual(saidInSource(`// ${words(45)}`), [])
    assert.deepStrictEqual(saidInSource(`// ${words(46)}`), ["1 long sentence"])
    assert.deepStrictEqual(
      saidInSource(`/**\n * One.\n * ${words(20).slice(0, -1)}\n * ${words(26)}\n */\nconst a = 1`),
      [
        "3 long sentence"
      ]
    )
    assert.deepStrictEqual(saidInSource(`/**\n * ${words(30).slice(0, -1)}\n *\n * ${words(30)}\n */\nconst a = 1`), [])
    assert.deepStrictEqual(saidInSource(`/**\n * - ${words(30).slice(0, -1)}\n * - ${words(30)}\n */\nconst a = 1`), [])
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

  it("allows less and less, and nothing in pages", () => {
    const allowed: Record<string, Record<string, number>> = JSON.parse(readFileSync("scripts/prose.json", "utf8"))
    assert.deepStrictEqual(Object.keys(allowed).filter((file) => !file.startsWith("src/")), [])
    const all = Object.values(allowed).flatMap((kinds) => Object.values(kinds)).reduce((sum, count) => sum + count, 0)
    assert.isAtMost(all, 50, "what is allowed may only get less: lower this number with it")
  })

  it("finds nothing in the documentation that isn't allowed", () => {
    assert.deepStrictEqual(judge(findings(), JSON.parse(readFileSync("scripts/prose.json", "utf8"))), [])
  })
})
