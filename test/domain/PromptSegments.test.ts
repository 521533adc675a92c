import { assert, describe, it } from "@effect/vitest"
import { AgentEvent, AgentState } from "troupe"
import type { Isolation } from "../../src/domain/Isolation.ts"
import { render } from "../../src/domain/PromptSegments.ts"
import { deepFreeze } from "./legal.ts"

const { ModeEntering, ModeExited, ModeFailed, StateAdjusted } = AgentEvent.AgentEvent.cases
const here = { path: ["desk"] as const, calls: [], step: 0, sequence: 0, at: 0 }
const about = (name: string) => ({ ...here, name, stack: [name], params: null })

const enter = (name: string, isolation: Isolation = "none") => ModeEntering.make({ ...about(name), isolation })
const exit = (name: string) => ModeExited.make({ ...about(name), duration: 0 })
const fail = (name: string) => ModeFailed.make({ ...about(name), phase: "SetUp", tag: "Oops", message: "no" })

type Persist = "persist" | undefined
const lasting = (persist: Persist) => persist === undefined ? undefined : { persist: true } as const

const prepend = (text: string, persist?: Persist) =>
  StateAdjusted.make({
    ...here,
    adjustment: { _tag: "SegmentAdded", segment: { place: "prepend", text, ...lasting(persist) } }
  })
const append = (text: string, persist?: Persist) =>
  StateAdjusted.make({
    ...here,
    adjustment: { _tag: "SegmentAdded", segment: { place: "append", text, ...lasting(persist) } }
  })
const section = (name: string, text: string, persist?: Persist) =>
  StateAdjusted.make({
    ...here,
    adjustment: { _tag: "SegmentAdded", segment: { place: "section", name, text, ...lasting(persist) } }
  })

const after = (...events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  deepFreeze(events).reduce((self, event) => deepFreeze(AgentState.reduce(self, event)), AgentState.make("desk"))

/** What is sent, in one line, with the instructions `I` in the middle. */
const sent = (...events: ReadonlyArray<AgentEvent.AgentEvent>): string =>
  render(after(...events).prompt, ["I"]).replaceAll("\n\n", " ")

describe("The system text", () => {
  it("is prepends, instructions, sections and appends, each in the order in which they came", () => {
    const events = [append("a1"), section("z", "s1"), prepend("p1"), section("b", "s2"), append("a2"), prepend("p2")]
    assert.strictEqual(sent(...events), "p1 p2 I s1 s2 a1 a2")
    assert.strictEqual(sent(...events.toReversed()), "p2 p1 I s2 s1 a2 a1")
    assert.strictEqual(
      sent(enter("o"), append("outer"), prepend("outer"), enter("i"), append("inner"), prepend("inner")),
      "outer inner I outer inner"
    )
  })

  it("has an empty line between its pieces, and nothing for those that are empty or missing", () => {
    const { prompt } = after(append("a"), prepend(""), section("s", "s"))
    assert.strictEqual(render(prompt, ["I", undefined, "", "M"], "E"), "I\n\nM\n\ns\n\nE\n\na")
    assert.strictEqual(render(prompt, [undefined]), "s\n\na")
    assert.strictEqual(render([], []), "")
  })

  it("has the innermost mode's section, in whatever order they are", () => {
    const section = { place: "section", name: "s" } as const
    const inner = { ...section, text: "inner", mode: 0 }
    assert.strictEqual(render([{ ...section, text: "outer" }, inner], []), "inner")
    assert.strictEqual(render([inner, { ...section, text: "outer" }], []), "inner")
  })

  it("has each section once: a later one of its name takes its place", () => {
    assert.strictEqual(sent(section("a", "1"), section("b", "2"), section("a", "3")), "I 3 2")
    assert.lengthOf(after(section("a", "1"), section("a", "2")).prompt, 1)
    assert.strictEqual(sent(append("x"), append("x")), "I x x")
  })
})

describe("The pieces of a mode", () => {
  it("go with it, each mode's its own", () => {
    const inside = [append("base"), enter("o"), append("o"), enter("i"), prepend("i"), section("s", "i")]
    assert.strictEqual(sent(...inside), "i I i base o")
    assert.strictEqual(sent(...inside, exit("i")), "I base o")
    assert.strictEqual(sent(...inside, exit("i"), append("o2")), "I base o o2")
    assert.strictEqual(sent(...inside, exit("i"), append("o2"), exit("o")), "I base")
  })

  it("outlive it, and the modes around it, where they persist", () => {
    const inside = [
      enter("o"),
      append("o"),
      enter("m"),
      enter("i"),
      prepend("p", "persist"),
      section("s", "s", "persist"),
      append("a", "persist"),
      append("i")
    ]
    assert.strictEqual(sent(...inside, exit("i")), "p I s o a")
    assert.strictEqual(sent(...inside, exit("i"), exit("m")), "p I s o a")
    assert.strictEqual(sent(...inside, exit("i"), exit("m"), exit("o")), "p I s a")
    const { prompt } = after(...inside, exit("i"), exit("m"), exit("o"))
    assert.deepStrictEqual(prompt.map(({ mode }) => mode), [undefined, undefined, undefined])
  })

  it("don't outlive a fork around them, though they outlive the mode", () => {
    const inside = [append("base"), enter("f", "fork"), enter("g", "fork"), append("g", "persist")]
    assert.strictEqual(sent(...inside, exit("g")), "I base")
    const thread = [
      append("base"),
      enter("t", "thread"),
      append("t", "persist"),
      enter("f", "fork"),
      append("f", "persist")
    ]
    assert.strictEqual(sent(...thread, exit("f")), "I base t")
    assert.strictEqual(sent(...thread, exit("f"), exit("t")), "I base t")
  })

  it("hide the sections of their names that are outside, also when they are empty", () => {
    const inside = [
      section("a", "outer a"),
      section("b", "outer b"),
      enter("m"),
      section("a", "inner a"),
      section("b", "")
    ]
    assert.strictEqual(sent(...inside), "I inner a")
    assert.strictEqual(sent(...inside, enter("i"), section("b", "b again")), "I inner a b again")
    assert.strictEqual(sent(...inside, exit("m")), "I outer a outer b")
  })

  it("stay empty only where they hide others, and are gone for good where they persist", () => {
    const removed = section("a", "")
    assert.lengthOf(after(section("a", "1"), removed, removed).prompt, 0)
    assert.lengthOf(after(enter("m"), section("a", "1"), removed).prompt, 0)
    assert.strictEqual(sent(section("a", "1"), section("b", "2"), removed, section("a", "3")), "I 2 3")
    const inside = [section("a", "outer"), enter("m"), section("a", "inner"), enter("i")]
    assert.strictEqual(sent(...inside, removed), "I")
    assert.strictEqual(sent(...inside, removed, exit("i")), "I inner")
    assert.strictEqual(sent(...inside, exit("i"), removed, exit("m")), "I outer")
    const persisting = [...inside, section("a", "", "persist"), exit("i")]
    assert.strictEqual(sent(...persisting), "I")
    assert.lengthOf(after(...persisting).prompt, 2)
    assert.lengthOf(after(...persisting, exit("m")).prompt, 0)
  })

  it("without words are as empty ones", () => {
    assert.strictEqual(sent(append(" \n"), section("a", "outer"), section("b", "\t")), "I outer")
    assert.lengthOf(after(section("a", "1"), section("a", " ")).prompt, 0)
    assert.strictEqual(sent(section("a", "outer"), enter("m"), section("a", " ")), "I")
  })

  it("take the places of sections outside for good, where they persist", () => {
    const inside = [section("a", "outer"), section("b", "b"), enter("m"), section("a", "inner", "persist")]
    assert.strictEqual(sent(...inside), "I inner b")
    assert.strictEqual(sent(...inside, exit("m")), "I inner b")
    assert.lengthOf(after(...inside, exit("m")).prompt, 2)
    assert.strictEqual(sent(...inside, section("a", "passing"), exit("m")), "I outer b")
    assert.strictEqual(sent(section("a", "outer"), enter("m"), section("a", "", "persist"), exit("m")), "I")
  })

  it("are undone with a set-up that failed, also those that persist", () => {
    const inside = [
      section("a", "outer"),
      enter("o"),
      append("o"),
      enter("m"),
      section("a", "m", "persist"),
      append("m")
    ]
    assert.strictEqual(sent(...inside, fail("m")), "I outer o")
    const nested = [enter("m"), enter("i"), append("i", "persist"), exit("i"), append("m", "persist")]
    assert.strictEqual(sent(...nested, fail("m")), "I")
  })
})
