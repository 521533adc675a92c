/** Tables of events are those of the code: their names, their fields, what ends which, and which change a state. */
import { assert, describe, it } from "@effect/vitest"
import { parseSync, Visitor } from "oxc-parser"
import { AgentEvent } from "troupe"
import { assertNames, codes, named, read, rows } from "./tables.ts"

const tags = Object.keys(AgentEvent.AgentEvent.cases) as ReadonlyArray<AgentEvent.AgentEvent["_tag"]>
const common = rows("docs/events.md", "field", "what it is").flatMap(([cell]) => codes(cell))

/** The events that the reducer answers with the state that it was given. */
const unreduced = (): ReadonlyArray<string> => {
  const found: Array<string> = []
  new Visitor({
    SwitchStatement: ({ cases }) => {
      const at = cases.findIndex(({ test }) => test?.type === "Literal" && test.value === "StepStarted")
      if (at === -1) return
      for (const { test } of cases.slice(at)) {
        if (test?.type === "Literal" && typeof test.value === "string") found.push(test.value)
      }
      const [returned, ...more] = cases.at(-1)?.consequent ?? []
      assert.isEmpty(more)
      assert.isTrue(returned?.type === "ReturnStatement" && returned.argument?.type === "Identifier")
    }
  }).visit(parseSync("Reducer.ts", read("src/domain/Reducer.ts")).program)
  return found.sort()
}

describe("tables of events", () => {
  it("docs/events.md has every event, with its own fields", () => {
    assertNames([named("docs/events.md", "event")], tags)
    for (const { 0: event, 2: own, where } of rows("docs/events.md", "event")) {
      const fields = Object.entries(AgentEvent.AgentEvent.cases[codes(event)[0] as "RunStarted"].fields)
      assert.sameMembers(
        [...codes(own)],
        fields.filter(([name]) => name !== "_tag" && !common.includes(name))
          .map(([name, { ast }]) => ast.context?.isOptional === true ? `${name}?` : name),
        where
      )
    }
    for (const name of common) for (const tag of tags) assert.property(AgentEvent.AgentEvent.cases[tag].fields, name)
  })

  it("docs/events.md says of fields in which events they are", () => {
    for (const { 0: fields, 1: events, where } of rows("docs/events.md", "field", "in")) {
      for (const field of codes(fields)) {
        const having = tags.filter((tag) => field in AgentEvent.AgentEvent.cases[tag].fields)
        assert.isNotEmpty(having, `${where}: no event has the field ${field}`)
        if (events === "several") assert.isAbove(having.length, 1, where)
        for (const event of codes(events)) assert.include<string>(having, event, `${where} ${field}`)
      }
    }
  })

  it("docs/events.md says which events change no state", () => {
    const same = unreduced()
    assert.isNotEmpty(same)
    for (const { 0: event, 3: changes, where } of rows("docs/events.md", "event")) {
      assert.strictEqual(changes === "no", same.includes(codes(event)[0]!), where)
    }
  })

  it("docs/events.md says what ends which start", () => {
    const ends: Readonly<Record<string, ReadonlyArray<string>>> = AgentEvent.starts
    assertNames([named("docs/events.md", "starts")], Object.keys(ends))
    for (const { 0: start, 1: listed, where } of rows("docs/events.md", "starts")) {
      assert.sameMembers(
        codes(listed).filter((code) => tags.some((tag) => tag === code)),
        [...ends[codes(start)[0]!]!],
        where
      )
    }
  })

  it("docs/handoff-states.md has every event of handoffs", () => {
    const ofHandoffs = tags.filter((tag) => tag.startsWith("Handoff") || tag.startsWith("Transform"))
    assertNames([named("docs/handoff-states.md", "event")], ofHandoffs)
  })
})
