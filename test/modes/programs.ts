/**
 * Random programs over modes, as data: modes that set up, clean up, fail and move, and what a conversation goes through.
 */
import { Schema } from "effect"

const Move = Schema.Struct({
  to: Schema.Literals(["switch", "push", "push", "exit", "stay"]),
  mode: Schema.Literals(["a", "b", "c", "d", "d", "nobody"]),
  params: Schema.Literals(["none", "one", "one", "wrong"])
})
export type Move = typeof Move.Type

/** What a tool can do, and everybody else. */
const Simple = Schema.Union([
  Schema.Struct({
    _tag: Schema.Literal("Set"),
    key: Schema.Literals(["k", "n"]),
    value: Schema.Literals([2, 3, 4])
  }),
  Schema.Struct({
    _tag: Schema.Literal("Piece"),
    place: Schema.Literals(["prepend", "append", "section", "section"]),
    name: Schema.Literals(["s", "t"]),
    text: Schema.Literals(["one", "two", "three", ""]),
    persist: Schema.Boolean
  }),
  Schema.Struct({
    _tag: Schema.Literal("Configure"),
    settings: Schema.Literals(["act", "other", "all", "none", "choose", "auto", "wrong"])
  }),
  Schema.Struct({ _tag: Schema.Literal("View"), edit: Schema.Literals(["clear", "last", "summary", "double"]) }),
  Schema.Struct({ _tag: Schema.Literal("Schedule"), move: Move })
])
export type Simple = typeof Simple.Type

const OfTool = Schema.Union([
  Simple,
  Simple,
  Simple,
  Schema.Struct({ _tag: Schema.Literal("Refused"), what: Schema.Literals(["call", "within", "enterMode", "exitMode"]) })
])
export type OfTool = typeof OfTool.Type

/** One answer of the model: it asks for modes, and calls a tool. */
const Step = Schema.Struct({
  asks: Schema.Array(Schema.Literals(["exit", "a", "b", "c", "d"])).check(Schema.isMaxLength(2)),
  acts: Schema.Array(OfTool).check(Schema.isMaxLength(3))
})
export type Step = typeof Step.Type

const Say = Schema.Struct({
  _tag: Schema.Literal("Say"),
  text: Schema.Literals(["what", "why", "who", "how"]),
  steps: Schema.Array(Step).check(Schema.isMaxLength(3)),
  /** Whether the model answers at all. It hangs only where somebody waits to interrupt it. */
  model: Schema.Literals(["answers", "answers", "answers", "answers", "hangs", "hangs", "fails"])
})
export type Say = typeof Say.Type

/** What a set-up or a clean-up does. The modes that it enters come later in the book, so that there is an end. */
const Between = Schema.Union([
  Simple,
  Simple,
  Say,
  Schema.Struct({
    _tag: Schema.Literal("Inner"),
    place: Schema.Literals([0, 1, 2]),
    body: Schema.Array(Schema.Union([Simple, Say])).check(Schema.isMaxLength(2))
  }),
  Schema.Struct({ _tag: Schema.Literal("Above"), place: Schema.Literals([0, 1, 2]), isScoped: Schema.Boolean })
])
export type Between = typeof Between.Type

const End = Schema.Literals(["well", "well", "well", "well", "well", "well", "fail", "die", "interrupt"])

const page = <const Levels extends ReadonlyArray<"none" | "config" | "thread" | "fork">>(levels: Levels) =>
  Schema.Struct({
    isolation: Schema.Literals(levels),
    setUp: Schema.Array(Between).check(Schema.isMaxLength(3)),
    setUpEnds: End,
    cleanUp: Schema.Array(Between).check(Schema.isMaxLength(2)),
    cleanUpEnds: End,
    exit: Schema.Union([Schema.Literal("nothing"), Schema.Literal("nothing"), Move]),
    finalizer: Schema.Array(Simple).check(Schema.isMaxLength(2)),
    finalizerDies: Schema.Literals([false, false, false, false, false, true]),
    recovers: Schema.Literals(["no", "no", "yes", "fails"]),
    tools: Schema.Literals(["all", "all", "act"]),
    isInvokable: Schema.Boolean,
    invocation: Schema.Literals(["push", "switch"]),
    isDescribed: Schema.Boolean,
    isSingleShot: Schema.Literals([false, false, false, false, true])
  })

/** The modes of an agent, `a` to `d`, and two that are used alone. */
export const Book = Schema.Struct({
  a: page(["none", "config"]),
  b: page(["none", "config", "thread", "fork"]),
  c: page(["thread", "fork"]),
  d: page(["fork"]),
  x: page(["none", "config", "thread", "fork"]),
  y: page(["thread", "fork"])
})
export type Book = typeof Book.Type
export type Name = keyof Book
export type Page = Book[Name]

/** Gives the book as its modes are: one that is set up and left at once is nothing but its set-up. */
export const asMade = (book: Book): Book =>
  Object.fromEntries(
    Object.entries(book).map(([name, page]) => [
      name,
      page.isSingleShot
        ? { ...page, isolation: "none", isDescribed: false, tools: "all", isInvokable: false, exit: "nothing" }
        : page
    ])
  ) as unknown as Book

export const known: ReadonlyArray<Name> = ["a", "b", "c", "d"]
const all: ReadonlyArray<Name> = ["a", "b", "c", "d", "x", "y"]

/** The mode that stands some places behind another in the book. */
export const behind = (name: Name, place: number, among: ReadonlyArray<Name> = all): Name | undefined => {
  const rest = among.slice(among.includes(name) ? among.indexOf(name) + 1 : among.length)
  return rest.length === 0 ? undefined : rest[place % rest.length]
}

const leaves = [
  Simple,
  Simple,
  Simple,
  Say,
  Say,
  Say,
  Schema.Struct({
    _tag: Schema.Literal("Enter"),
    mode: Schema.Literals(["a", "b", "c", "d", "nobody"]),
    params: Schema.Literals(["none", "one", "wrong"])
  }),
  Schema.Struct({ _tag: Schema.Literal("Exit"), name: Schema.Literals(["", "", "a", "d"]) }),
  Schema.Struct({ _tag: Schema.Literal("Stop"), how: Schema.Literals(["fail", "die", "interrupt"]) })
] as const

interface Tree {
  readonly _tag: "Within" | "Caught" | "Cut"
  readonly mode: Name
  readonly params: "none" | "one"
  readonly isScoped: boolean
  readonly body: ReadonlyArray<Op>
}
export type Op = typeof leaves[number]["Type"] | Tree

const treeOf = (inside: Schema.Codec<Op>) =>
  Schema.Struct({
    _tag: Schema.Literals(["Within", "Within", "Within", "Caught", "Cut"]),
    mode: Schema.Literals(["a", "b", "c", "d", "x", "y"]),
    params: Schema.Literals(["none", "one"]),
    isScoped: Schema.Boolean,
    body: Schema.Array(inside).check(Schema.isMinLength(1), Schema.isMaxLength(4))
  })

const leaf: Schema.Codec<Op> = Schema.Union(leaves)
const branch = (inside: Schema.Codec<Op>): Schema.Codec<Op> =>
  Schema.Union([...leaves, ...Array.from({ length: 5 }, () => treeOf(inside))])

const Tree = branch(branch(branch(leaf)))

/** What a session goes through, and where another session goes on with what is left of it. */
export const Program = Schema.Array(
  Schema.Union([Tree, Tree, Tree, Tree, Schema.Struct({ _tag: Schema.Literal("Reopen") })])
).check(Schema.isMinLength(2), Schema.isMaxLength(6))
export type Program = typeof Program.Type

/** What is said to an agent, run by run. */
export const Talk = Schema.Array(Say).check(Schema.isMinLength(1), Schema.isMaxLength(4))

export const settingsOf = {
  act: { tools: ["act"] },
  other: { tools: ["other", "enter_a_mode"] },
  all: { tools: ["act", "other", "enter_a_mode", "enter_b_mode", "enter_c_mode", "enter_d_mode"] },
  none: { toolChoice: "none" },
  choose: { toolChoice: { oneOf: ["act"] } },
  auto: { toolChoice: "auto" },
  wrong: { tools: ["missing"] }
} as const

export const paramsOf = { none: {}, one: { n: 1 }, wrong: { n: "x" } } as const
