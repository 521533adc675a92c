import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { basename } from "node:path"
import { AgentStatus, Conversation, StopWhen } from "troupe"
import { root } from "../../scripts/examples.ts"
import { reasons } from "./errorNames.ts"
import { assertNames, called, functionsOf, membersOf, named, read, rows } from "./tables.ts"

describe("lists of the documentation", () => {
  it("README.md names every page", () => {
    const pages = globSync("docs/*.md", { cwd: root }).sort()
    assert.isAbove(pages.length, 20)
    assert.deepStrictEqual(
      Array.from(read("README.md").matchAll(/^\| \[[\w-]+\]\((docs\/[\w-]+\.md)\) \|/gm), ([, page]) => page!).sort(),
      pages
    )
  })

  it("docs/decisions/README.md has each decision with its number and its title", () => {
    const decisions = globSync("docs/decisions/0*.md", { cwd: root }).sort()
    assert.isAbove(decisions.length, 20)
    assert.deepStrictEqual(
      rows("docs/decisions/README.md", "number", "title").map(([number, title]) => [number, title]),
      decisions.map((file) => {
        const [, number, title] = /^# (\d+)\. (.+)$/m.exec(read(file)) ?? []
        return [number, `[${title}](${basename(file)})`]
      })
    )
  })

  it.each(globSync("docs/*.md", { cwd: root }).sort())(
    "%s says at its end what to read next",
    (page) => {
      const headings = Array.from(read(page).matchAll(/^#+ (.+)$/gm), ([, heading]) => heading)
      assert.strictEqual(headings.at(-1), "Next steps")
    }
  )

  it.each(["README.md", ...globSync("docs/*.md", { cwd: root }).sort()])(
    "%s shows a program or a table on its first screen, and a page to take instead before its second part",
    (page) => {
      const lines = read(page).split("\n")
      const block = (from: number) => {
        const isTable = lines[from]!.startsWith("|")
        const after = lines.findIndex((line, i) =>
          i > from && (isTable ? !line.startsWith("|") : line.startsWith("```"))
        )
        return isTable ? { last: after, long: after - from } : { last: after + 1, long: after - from - 1 }
      }
      const first = lines.findIndex((line) => line.startsWith("```") || line.startsWith("|"))
      assert.isTrue(first > 1, `${page} begins with neither a program nor a table, or says nothing before it`)
      // These pages begin with pictures or with a table that leads to programs, and their first program may be longer.
      const program = ["docs/cluster-errors.md", "docs/concepts.md", "docs/errors.md"].includes(page)
        ? -1
        : lines.indexOf("```ts")
      const { last } = block(first)
      assert.deepStrictEqual([
        ...(last > 36 ? [`${page}:${first + 1} ends in line ${last}, after the first screen of 36`] : []),
        ...[...new Set([first, program])].filter((from) => from >= 0 && block(from).long > 22).map((from) =>
          `${page}:${from + 1} has ${block(from).long} lines, more than the 22 of a smallest program`
        )
      ], [])
      const [, second = lines.length] = lines.flatMap((line, i) => line.startsWith("## ") ? [i] : [])
      assert.match(lines.slice(0, second).join(" "), /\]\((?:docs\/)?[\w-]+\.md/)
    }
  )

  it("docs/concepts.md shows the diagram that its program draws", () => {
    const page = read("docs/concepts.md")
    const shown = /^```mermaid\n([^`]+)\n```$/m.exec(page)?.[1]?.split("\n") ?? []
    assert.isAbove(shown.length, 20)
    const [, drawn = ""] = /^Trace\.toMermaid\(events\).*\n\/\/ => \[\n([^\]]+)\n\/\/ \]$/m.exec(page) ?? []
    assert.deepStrictEqual(shown, drawn.split("\n").map((line) => line.replace(/^\/\/ {3}["'](.*)["'],?$/, "$1")))
  })

  it("README.md and docs/agent-options.md have the defaults of Agent.make", () => {
    const source = read("src/agent/Agent.ts")
    const used = Object.fromEntries(
      Array.from(source.matchAll(/options\?\.(\w+) \?\? ([\d_]+)/g), ([, name, value]) => [name!, value!])
    )
    assert.hasAllKeys(used, ["maxHandoffs", "maxInputLength", "outputRetries", "toolConcurrency"])
    const steps = StopWhen.defaultCondition.steps
    const defaults = { ...used, stopWhen: `StopWhen.maxSteps(${steps})` }
    const options = rows("docs/agent-options.md", "option")
    for (const [name, value] of Object.entries(defaults)) {
      const row = options.find(([option]) => option === `\`${name}\``)
      assert.strictEqual(row?.[2], `\`${value}\``, `${row?.where} ${name}`)
    }
    const inReadme = { steps, handoffs: Number(used["maxHandoffs"]), calls: Number(used["toolConcurrency"]) }
    const found = rows("README.md", "what").flatMap(({ 0: what, 1: text, where }) => {
      const first = /^\w+/.exec(what!)?.[0] ?? ""
      if (!(first in inReadme)) return []
      assert.strictEqual(Number.parseInt(text!), inReadme[first as keyof typeof inReadme], where)
      return [first]
    })
    assert.sameMembers(found, Object.keys(inReadme))
  })

  it("docs/agent-errors.md has a section for each reason of an AgentError", () => {
    const sections = Array.from(read("docs/agent-errors.md").matchAll(/^## (\w+)$/gm), ([, name]) => name!)
    assert.deepStrictEqual(sections.sort(), [...reasons.AgentError].sort())
  })

  const statuses = Object.keys(AgentStatus.AgentStatus.cases).sort()

  it("docs/state.md has every status, and docs/running.md each with which a run succeeds", () => {
    assertNames([named("docs/state.md", "status", "what it means")], statuses)
    assertNames(
      [named("docs/running.md", "status", "why")],
      statuses.filter((status) => status !== "InProgress" && status !== "Failed")
    )
  })

  it("docs/conversations.md has every state of a call", () => {
    assertNames([named("docs/conversations.md", "state of a call")], Object.keys(Conversation.CallState.cases))
  })

  it("docs/limits.md has every condition of StopWhen", () => {
    // `evaluate` asks a condition and is none.
    assertNames([called("docs/limits.md", ["condition"])], functionsOf(StopWhen, "evaluate", "defaultCondition"))
  })

  it.each([
    ["option", "what it is", "src/agent/definition/AgentOptions.ts", "Options"],
    ["key", "value", "src/agent/definition/guardrail/AgentGuardrails.ts", "Guardrails"]
  ])("docs/agent-options.md has every %s of Agent.make", (first, second, file, name) => {
    assertNames([named("docs/agent-options.md", first, second)], membersOf(file, name))
  })
})
