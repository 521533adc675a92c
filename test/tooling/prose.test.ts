import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { findings, judge, look, lookAtSource, pages, shrink, sources } from "../../scripts/prose.ts"
import { banned, bans, named } from "../../scripts/prosePhrases.ts"

const said = (text: string, words: ReadonlyArray<string> = [], named: ReadonlyArray<string> = []) =>
  look("a.md", text, bans(words, named)).map(({ line, phrase }) => `${line} ${phrase}`)

const saidInSource = (source: string, words: ReadonlyArray<string> = [], file = "a.ts") =>
  lookAtSource(file, source, bans(words)).map(({ line, phrase }) => `${line} ${phrase}`)

const settings = (text: string) => said(text, ["settings"], ["request settings", "conversation settings"])

const ontology = readFileSync("docs/ontology.md", "utf8")

/** Each operation that has the name, by the file that declares it. */
const resumes = [
  ["src/agent/run/RunAgent.ts", "resume"],
  ["src/agent/Session.ts", "resume"],
  ["src/cluster/Client.ts", "resume"],
  ["src/handoff/dialogue/RunDialogue.ts", "resume"],
  ["src/handoff/plan/RunPlan.ts", "resume"]
] as const

const words = (count: number): string => `${Array.from({ length: count }, () => "word").join(" ")}.`

describe("the check of prose", () => {
  it("finds turns of phrase that are read twice", () => {
    assert.deepStrictEqual(said("Tell\nwhoever it is. Where it fails, it stops."), ["2 whoever", "2 Where for if"])
    assert.deepStrictEqual(said("It goes where it must. # Where to look"), [])
    assert.deepStrictEqual(said("It continues where it stopped, and gives the agent a model."), [])
  })

  it("finds words that the ontology bans, but not in code or links", () => {
    assert.deepStrictEqual(said("A Hook, two hooks, `hook`, [a](hook.md), hook-like, unhook", ["hook"]), [
      "1 hook",
      "1 hook"
    ])
    assert.deepStrictEqual(said("```ts\nhook\n```\nhook", ["hook"]), ["4 hook"])
  })

  it("finds other forms of the words, and several words with others between them, also over the end of a line", () => {
    assert.deepStrictEqual(said("It resolved, resolving.\nResolution", ["resolve"]), ["1 resolve", "1 resolve"])
    const restart = ["restart … run"]
    for (
      const text of ["Restart runs", "restarts the run", "It restarted an agent's failed\n  run", "restarting\nrun"]
    ) {
      assert.deepStrictEqual(said(text, restart), ["1 restart … run"])
    }
    assert.deepStrictEqual(said("Restart the process. A run continues", restart), [])
    assert.deepStrictEqual(said("Restart one and two and three runs", restart), [])
    assert.deepStrictEqual(saidInSource("/**\n * One.\n * To restart\n * the run.\n */\nconst a = 1", restart), [
      "3 restart … run"
    ])
  })

  it("finds a word that stands alone, but not in a longer word of the ontology", () => {
    assert.deepStrictEqual(settings("Settings. Your\nsettings, a conversation's settings"), [
      "1 settings",
      "2 settings",
      "2 settings"
    ])
    assert.deepStrictEqual(settings("Request settings, conversation\n  settings, `settings`, [a](settings.md)"), [])
  })

  it("finds the singular of a plural, but not the verb", () => {
    assert.deepStrictEqual(settings("Its\nsetting. A [setting](a.md), each setting's, | setting |"), [
      "2 settings",
      "2 settings",
      "2 settings",
      "2 settings"
    ])
    assert.deepStrictEqual(settings("A request setting, [conversation\n  setting](a.md), `setting`, resetting"), [])
    assert.deepStrictEqual(settings("Setting up a mode, by setting a limit\nand setting\nthe model"), [])
  })

  it("finds headings that ask a question, or whose subject is a pronoun", () => {
    for (
      const heading of [
        "What crosses",
        "Who begins",
        "When it ends",
        "One that leads",
        "Most of them",
        "How to add it",
        "One thing at a time",
        "12. What has passed"
      ]
    ) {
      assert.deepStrictEqual(said(`Text\n\n## ${heading}`), ["3 heading that is a riddle"])
    }
    for (
      const heading of [
        "# Time-outs",
        "## Try it: a desk",
        "### Whatever holds",
        "# 2. Results that come later",
        "## Everything"
      ]
    ) {
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
      ["gone on with", "The run is gone on with it."],
      ["dies of", "A run dies of it."],
      ["can't be is thrown", "What can't be is thrown."],
      ["somebody else's", "The fiber of somebody else."],
      ["Where for if", "It stops. Where it fails, it says so."],
      ["told for emitted", "Events are told by it."],
      ["told for emitted", "An answer is told once it has passed."],
      ["where for if", "It counts from 1, 0 where it fails."],
      ["where for if", "It declines where there is no step."],
      ["where for if", "A graph, where each starts at once."],
      ["Gives for Returns", "Gives the names."],
      ["Gives for Returns", "Waits, and gives them."],
      ["brings along", "A model that an agent brings along."],
      ["brings along", "Each agent brings its own interpreter along, and more."],
      ["no … but for only", "The model gave no text but calls."],
      ["but for", "All pass, but for the last."],
      ["that can't be", "Throws for a limit that can't be."],
      ["is thrown for throws", "An issue is thrown as an error."],
      ["hears of", "Nobody hears of it."],
      ["namesake", "It replaces its namesake."],
      ["of them that", "The last of them that fits."],
      ["Where for if", "- Where one fails, all do."],
      ["where for if", "It stops where nobody can continue."],
      ["where for if", "It continues where a call has died."],
      ["clause away from its noun", "The agent continues that was in control."],
      ["clause away from its noun", "All turns are kept that the model read."],
      ["two prepositions", "An agent that it handed over to in."],
      ["that no … in", "After each answer that no tool was called in."],
      ["that is none", "A group is nobody."],
      ["is no for isn't a", "A limit that is no whole number."],
      ["where for when", "Limits throw where they are set."],
      ["the latter", "Only the latter counts."],
      ["does neither", "One that does neither stays."],
      ["alike for in the same way", "Both run alike."]
    ]
    for (const [phrase, sentence] of phrases) {
      assert.deepStrictEqual(saidInSource(`// ${sentence}`), [`1 ${phrase}`])
      assert.deepStrictEqual(saidInSource(`const a = 1\n/** ${sentence} */\nconst b = a`), [`2 ${phrase}`])
      assert.deepStrictEqual(saidInSource(`/**\n * One.\n *\n * ${sentence}\n */\nconst b = 1`), [`4 ${phrase}`])
    }
    for (
      const plain of [
        "At each place where a call has died.",
        "It brings a model, and takes tools along. The model gave no answer, but the run continues.",
        "A run that is stored continues. There is no answer, and there are none.",
        "Is it no longer there? The cases that nobody thought of.",
        "The letters look alike; the text that it is made of."
      ]
    ) assert.deepStrictEqual(saidInSource(`// ${plain}`), [])
    assert.deepStrictEqual(saidInSource("const whoever = 1 // `whoever`"), [])
    assert.deepStrictEqual(
      saidInSource("/**\n * ```ts\n * whoever\n * ```\n * @category whoever\n */\nconst a = 1"),
      []
    )
  })

  it("finds them, and words that the ontology bans, in messages, which have spaces", () => {
    assert.deepStrictEqual(saidInSource("const a = 1\nconst b = `There is no ${a}: whoever asks`"), ["2 whoever"])
    assert.deepStrictEqual(saidInSource(`const a = "a hook failed"\nconst b = "hook"\n// a hook`, ["hook"]), [
      "1 hook",
      "3 hook"
    ])
  })

  it("finds them over what a template fills in, and by the line of a message that has several", () => {
    assert.deepStrictEqual(saidInSource("const a = 1\nconst b = `gave no ${a} but ${a}`"), ["2 no … but for only"])
    assert.deepStrictEqual(saidInSource("const a = 1\nconst b = `one\n${a} two\nwhoever asks\n${a}`"), ["4 whoever"])
    assert.deepStrictEqual(saidInSource("const a = 'one\\ntwo, whoever asks'"), ["1 whoever"])
  })

  it("doesn't take values in quotes, and texts that others say, for messages", () => {
    assert.deepStrictEqual(saidInSource(`const a = 'use "hook" or "fork"' // "hook"`, ["hook"]), ["1 hook"])
    const source = `const a = "a hook of others"\n// a hook`
    for (const folder of ["src/agent/guardrail/detect", "src/testing/provider"]) {
      assert.deepStrictEqual(saidInSource(source, ["hook"], `${folder}/a.ts`), ["2 hook"])
    }
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

  it("reads what is banned from the ontology, without an exception", () => {
    const words = banned(ontology)
    assert.includeMembers([...words], ["hook", "swarm", "workflow", "human in the loop", "settings", "restart … run"])
    assert.notIncludeMembers([...words], ["not", "---"])
    const patterns = bans(words, named(ontology))
    for (const word of words) {
      const found = look("a.md", `It is ${word.replace("…", "the")}.`, patterns).map(({ phrase }) => phrase)
      assert.include(found, word)
    }
  })

  it("has one sense for each word: one that has a row isn't banned in another", () => {
    const words = new Set(named(ontology))
    assert.deepStrictEqual(banned(ontology).filter((word) => words.has(word)), [])
  })

  it("reads decisions, the changelog, and the sources of the library and the command line too", () => {
    assert.includeMembers([...pages()], ["CHANGELOG.md", "docs/errors.md", "docs/decisions/0001-toolchain.md"])
    assert.includeMembers([...sources()], ["src/agent/Agent.ts", "bin/troupe.ts"])
  })

  it("has one sense of resume: each doc comment says it, and when the state is reopened", () => {
    for (const [file, name] of resumes) {
      const comment =
        [...readFileSync(file, "utf8").matchAll(/\/\*\*(?:(?!\*\/)[^])*\*\/\s*(?:export const|readonly) (\w+)/g)]
          .find((found) => found[1] === name)?.[0] ?? ""
      const sentence = comment.replaceAll(/\s+\* /g, " ")
      assert.match(sentence, /Continues[^.:;]* where (?:it|the state) stopped/, file)
      assert.match(sentence, /reopen/, file)
    }
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
    assert.isAtMost(all, 0, "what is allowed may only get less, and nothing is left")
  })

  it("finds nothing in the documentation that isn't allowed", () => {
    assert.deepStrictEqual(judge(findings(), JSON.parse(readFileSync("scripts/prose.json", "utf8"))), [])
  })
})
