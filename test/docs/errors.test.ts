import { assert, describe, it } from "@effect/vitest"
import { classesOf, exported, reasons } from "./errorNames.ts"
import {
  isPublicModule,
  type Key,
  keysOf,
  makersOf,
  placeOf,
  publicNames,
  reached,
  undispatched
} from "./references.ts"
import { codes, read } from "./tables.ts"

const page = "docs/errors.md"

interface Row {
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

interface Table {
  readonly section: string
  readonly line: number
  readonly headers: ReadonlyArray<string>
  readonly rows: ReadonlyArray<Row>
}

const tables: ReadonlyArray<Table> = (() => {
  const found: Array<{ section: string; line: number; headers: ReadonlyArray<string>; rows: Array<Row> }> = []
  let section = ""
  let isInside = false
  for (const [i, text] of read(page).split("\n").entries()) {
    section = /^## (.+)$/.exec(text)?.[1] ?? section
    const cells = text.startsWith("|") ? text.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim()) : undefined
    if (cells === undefined) isInside = false
    else if (!isInside) {
      found.push({ section, line: i + 1, headers: cells, rows: [] })
      isInside = true
    } else if (!cells.every((cell) => /^-+$/.test(cell))) found.at(-1)!.rows.push({ line: i + 1, cells })
  }
  return found
})()

/** The tables of errors, without those that lead to them. */
const ofErrors = tables.filter(({ headers: [first] }) => first === "error" || first === "reason")

const namesOf = ({ cells: [first] }: Row): ReadonlyArray<string> => codes(first)

const named = (table: Table | undefined): ReadonlyArray<string> => table?.rows.flatMap(namesOf) ?? []

interface Section {
  readonly line: number
  readonly heading: string
  programs: string
}

/** The parts of a page that begin with a heading, by its anchor, with the code of their programs. */
const sections = (page: string): ReadonlyMap<string, Section> => {
  const found = new Map<string, Section>()
  let current: Section | undefined
  let fence: string | undefined
  for (const [i, text] of read(page).split("\n").entries()) {
    const [, ticks, language] = /^(`{3,})(\S*)/.exec(text) ?? []
    if (ticks !== undefined) fence = fence === undefined ? language : undefined
    else if (fence === "ts") current!.programs += `${text}\n`
    const heading = fence === undefined && ticks === undefined ? /^#+ (.+)$/.exec(text)?.[1] : undefined
    if (heading !== undefined) {
      current = { line: i + 1, heading, programs: "" }
      found.set(heading.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-"), current)
    }
  }
  return found
}

/** What a cell says that throws or returns an error: `AgentState.approve`, `deny` are two functions of a module. */
const sourcesOf = (cell: string): ReadonlyArray<string> => {
  let module = ""
  return codes(cell).flatMap((code) => {
    if (!/^\w+(\.\w+)?$/.test(code)) return []
    const [first = ""] = code.split(".")
    if (isPublicModule(first)) {
      module = first
      return [code]
    }
    return /^[a-z]\w*$/.test(code) ? [`${module}.${code}`] : []
  })
}

const unlisted = (name: string): ReadonlyArray<string> =>
  classesOf(name).map((key) => `${placeOf(key)} ${name} isn't in its table of ${page}`)

/** Says which errors of the code a table lacks, and which it has that aren't there. */
const differences = (
  expected: ReadonlyArray<string>,
  table: Table | undefined
): ReadonlyArray<string> => [
  ...expected.filter((name) => !named(table).includes(name)).flatMap(unlisted),
  ...(table?.rows ?? []).flatMap((row) =>
    namesOf(row).filter((name) => !expected.includes(name)).map((name) =>
      `${page}:${row.line} ${name} isn't in the code`
    )
  )
]

const tableOf = (section: string, first: string, at = 0): Table | undefined =>
  ofErrors.filter((table) => table.section === section && table.headers[0] === first)[at]

describe("docs/errors.md", () => {
  it.each([
    ["AgentError", reasons.AgentError],
    ["SessionError", reasons.SessionError],
    ["ModeError", reasons.ModeError],
    ["Plans and dialogues", reasons.DialogueError],
    ["Errors of a cluster", reasons.ConversationError]
  ])("has every reason in the table of %s, and no other", (section, expected) => {
    assert.isAbove(expected.length, 4)
    assert.deepStrictEqual(differences(expected, tableOf(section, "reason")), [])
  })

  it("has every error in a table", () => {
    assert.isAbove(exported.length, 90)
    const [first] = tables
    const all = new Set([
      ...ofErrors.flatMap(named),
      ...(first?.rows ?? []).flatMap(({ cells }) => cells.flatMap(codes))
    ])
    const missing = exported.filter((each) => !all.has(each.split(".")[1]!))
    assert.deepStrictEqual(missing.flatMap((each) => unlisted(each.split(".")[1]!)), [])
    assert.deepStrictEqual(
      ofErrors.flatMap(({ rows }) =>
        rows.flatMap((row) =>
          namesOf(row).filter((name) => classesOf(name).length === 0).map((name) =>
            `${page}:${row.line} ${name} isn't in the code`
          )
        )
      ),
      []
    )
  })

  it("says of each the cause, what is seen and what to do, in words", () => {
    assert.isAbove(ofErrors.length, 10)
    assert.deepStrictEqual(
      ofErrors.flatMap(({ headers, line, rows }) => [
        ...(headers.includes("cause") ? [] : [`${page}:${line} has no column "cause"`]),
        ...(headers.some((header) => /^what the (?:user|developer) sees$/.test(header))
          ? []
          : [`${page}:${line} has no column "what the user sees" or "what the developer sees"`]),
        ...(headers.includes("what to do") ? [] : [`${page}:${line} has no column "what to do"`]),
        ...rows.flatMap(({ cells, line }) => [
          ...(cells.length === headers.length ? [] : [`${page}:${line} has ${cells.length} cells`]),
          ...headers.flatMap((header, i) =>
            /\p{L}{2}/u.test(cells[i] ?? "") ? [] : [`${page}:${line} has no "${header}"`]
          )
        ])
      ]),
      []
    )
  })

  it("links each name to a section with a program that names it", () => {
    const problems: Array<string> = []
    const linked = new Map<string, Set<string>>()
    for (const { rows } of ofErrors) {
      for (const row of rows) {
        for (const name of namesOf(row)) {
          const where = `${page}:${row.line} ${name}`
          const [, file = "", anchor = ""] =
            new RegExp(`\\[\`${name}\`\\]\\(([\\w-]+\\.md)#([\\w-]+)\\)`).exec(row.cells[0]!)
              ?? []
          const section = file === "" ? undefined : sections(`docs/${file}`).get(anchor)
          linked.set(file, (linked.get(file) ?? new Set()).add(anchor))
          if (file === "") problems.push(`${where} has no link`)
          else if (section === undefined) problems.push(`${where}: docs/${file} has no heading #${anchor}`)
          else if (section.programs === "") problems.push(`${where}: docs/${file}#${anchor} has no program`)
          else if (!new RegExp(`\\b${name}\\b`).test(section.programs)) {
            problems.push(`${where}: no program of docs/${file}#${anchor} names it`)
          }
        }
      }
    }
    assert.deepStrictEqual(problems, [])
    // The other way round: a section that is about errors has a row that leads to it.
    for (const [file, anchors] of linked) {
      for (const [anchor, { heading, line }] of sections(`docs/${file}`)) {
        const [name = ""] = heading.split(" ")
        if (classesOf(name).length > 0 && !anchors.has(anchor)) {
          problems.push(`docs/${file}:${line} no row of ${page} leads to #${anchor}`)
        }
      }
    }
    assert.deepStrictEqual(problems, [])
  })

  const withSources = ofErrors.flatMap(({ headers, rows }) => {
    const at = headers.findIndex((header) => header === "thrown by" || header === "from")
    return at === -1 ? [] : rows.flatMap((row) =>
      namesOf(row).map((name) => {
        const sources = sourcesOf(row.cells[at]!)
        const listed = new Set(sources.flatMap(keysOf))
        // Of two classes of a name, those that the row is about.
        const made = classesOf(name).map((key) => makersOf(key))
          .filter((makers) => [...reached(makers)].some((key) => listed.has(key)))
          .flatMap((makers) => [...makers])
        return { where: `${page}:${row.line} ${name}`, name, sources, listed, made }
      })
    )
  })

  it("names only functions that may come to the error, as far as names in the code show it", () => {
    assert.isAbove(withSources.length, 35)
    assert.deepStrictEqual(undispatched, [])
    assert.deepStrictEqual(
      withSources.flatMap(({ made, name, sources, where }) => {
        const all = reached(made)
        return sources.length === 0
          ? [`${where} has no function that it comes from`]
          : sources.flatMap((source) => {
            const keys = keysOf(source)
            if (keys.length === 0) return [`${where}: ${source} isn't in the code`]
            return keys.some((key) => all.has(key)) ? [] : [`${where}: ${source} never comes to ${name}`]
          })
      }),
      []
    )
  })

  /** What makes an error that somebody gets in another way, and that another row has. */
  const elsewhere = new Map<Key, string>([
    ["src/cluster/long/Messages.ts#inPlace", "the reasons of a ConversationError"],
    ["src/domain/StateJson.ts#legal", "StoredStateUnreadable"]
  ])

  it("names for each place that makes an error a function that may come to it", () => {
    for (const key of elsewhere.keys()) assert.include(withSources.flatMap(({ made }) => made), key)
    assert.deepStrictEqual(
      withSources.flatMap(({ listed, made, where }) =>
        made.filter((maker) => !elsewhere.has(maker) && ![...reached([maker])].some((key) => listed.has(key)))
          .map((maker) => `${placeOf(maker)} makes it, but ${where} names no function that comes there`)
      ),
      []
    )
  })

  /** Errors of which names don't show everything: runs come to where they are made, after `Agent.make` has checked the same. */
  const inRuns = new Set([
    "NotAwaitingApproval",
    "NotAwaitingResult",
    "MalformedState",
    "UnknownMember",
    "InvalidParams",
    "DuplicateTool",
    "DuplicateHandoff",
    "DuplicateMode",
    "DuplicateAgent",
    "AmbiguousTool"
  ])

  it("names every public function that may come to the error, but for errors that runs may come to", () => {
    const unnamed = withSources.map(({ listed, made, name, where }) => {
      // What calls a function that is named, or an agent's own functions, throws what these throw.
      const found = reached(made, new Set([...listed, "src/agent/run/MakeAgent.ts#interpreter"]))
      return {
        name,
        problems: publicNames.filter(([each, key]) => found.has(key) && !listed.has(key) && !exported.includes(each))
          .map(([each, key]) => `${placeOf(key)} ${each} may come to it, and ${where} doesn't say so`)
      }
    })
    assert.deepStrictEqual(unnamed.flatMap(({ name, problems }) => inRuns.has(name) ? [] : problems), [])
    for (const name of inRuns) {
      assert.isTrue(
        unnamed.some((each) => each.name === name && each.problems.length > 0),
        `${name} needs no exception`
      )
    }
  })
})
