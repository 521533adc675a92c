/** Reads the tables of pages, and the names in the code that they must have. */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync, type TSSignature, Visitor } from "oxc-parser"
import { root } from "../../scripts/examples.ts"

export const read = (file: string): string => readFileSync(join(root, file), "utf8")

/** A row of a table as cells, with its place: `docs/page.md:12`. */
export interface Row extends ReadonlyArray<string> {
  readonly where: string
}

/** What stands in tables, and where the first of them begins. */
export interface Found<Entry> extends ReadonlyArray<Entry> {
  readonly where: string
}

/** A name with the place where it is written. */
export interface Name {
  readonly name: string
  readonly where: string
}

const placed = <Entry>(where: string, entries: ReadonlyArray<Entry>): Found<Entry> =>
  Object.assign([...entries], { where })

/** The rows of the tables of a page whose first columns have these headers, as cells. */
export const rows = (page: string, ...headers: ReadonlyArray<string>): Found<Row> => {
  const found: Array<Row> = []
  let where: string | undefined
  let isInside = false
  for (const [i, line] of read(page).split("\n").entries()) {
    const here = `${page}:${i + 1}`
    const cells = line.startsWith("|") ? line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim()) : undefined
    if (cells === undefined) isInside = false
    else if (isInside && !/^-+$/.test(cells[0]!)) found.push(Object.assign(cells, { where: here }))
    else if (headers.every((header, i) => cells[i] === header)) {
      where ??= here
      isInside = true
    }
  }
  assert(where !== undefined && found.length > 0, `${page} has no table "${headers.join(" | ")}"`)
  return placed(where, found)
}

/** What stands in code in a cell. */
export const codes = (cell: string | undefined): ReadonlyArray<string> =>
  Array.from((cell ?? "").matchAll(/`([^`]+)`/g), ([, code]) => code!)

/** The names in code of some rows, where `nameOf` says which name a piece of code has, if any. */
export const inCode = (
  found: Found<Row>,
  column: number,
  nameOf: (code: string) => string | undefined
): Found<Name> =>
  placed(
    found.where,
    found.flatMap((row) =>
      codes(row[column]).flatMap((code) => {
        const name = nameOf(code)
        return name === undefined ? [] : [{ where: row.where, name }]
      })
    )
  )

/** The names of the first column, where `length({ max })` is named `length`. */
export const named = (page: string, ...headers: ReadonlyArray<string>): Found<Name> =>
  inCode(rows(page, ...headers), 0, (code) => /^\w+/.exec(code)?.[0] ?? code)

/** The names that the code of a column calls or names last: `Mode.within(effect)` is `within`. */
export const called = (page: string, headers: ReadonlyArray<string>, column = 0): Found<Name> =>
  inCode(rows(page, ...headers), column, (code) => /^(?:\w+\.)*(\w+)/.exec(code)?.[1] ?? code)

/** The names that the code of a column takes from a module: of `Mode`, `Mode.within(effect)` is `within`. */
export const calledOf = (module: string, page: string, headers: ReadonlyArray<string>, column = 0): Found<Name> =>
  inCode(rows(page, ...headers), column, (code) => new RegExp(`^${module}\\.(\\w+)`).exec(code)?.[1])

/** Asserts that tables together have these names and no others. */
export const assertNames = (tables: ReadonlyArray<Found<Name>>, members: ReadonlyArray<string>): void => {
  assert.isNotEmpty(members)
  const listed = tables.flat()
  assert.deepStrictEqual(
    [
      ...listed.flatMap(({ where, name }) =>
        members.includes(name) ? [] : [`${where} has "${name}", the code doesn't`]
      ),
      ...members.flatMap((member) =>
        listed.some(({ name }) => name === member) ? [] : [`${tables[0]!.where} lacks "${member}", which the code has`]
      )
    ],
    []
  )
}

const namesOf = (members: ReadonlyArray<TSSignature>): ReadonlyArray<string> =>
  members.flatMap((member) =>
    (member.type === "TSPropertySignature" || member.type === "TSMethodSignature") && member.key.type === "Identifier"
      ? [member.key.name]
      : []
  ).sort()

/** The members of an interface, without those that it inherits. */
export const membersOf = (file: string, name: string): ReadonlyArray<string> => {
  let members: ReadonlyArray<string> = []
  new Visitor({
    TSInterfaceDeclaration: ({ body, id }) => {
      if (id.name === name) members = namesOf(body.body)
    }
  }).visit(parseSync(file, read(file)).program)
  assert.isAbove(members.length, 1, `${file} has no interface ${name}`)
  return members
}

/** The options of a function whose parameter `options` has its type written out. */
export const optionsOf = (file: string, name: string): ReadonlyArray<string> => {
  let members: ReadonlyArray<string> = []
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      if (id.type !== "Identifier" || id.name !== name || init?.type !== "ArrowFunctionExpression") return
      for (const param of init.params) {
        if (param.type !== "Identifier" || param.name !== "options") continue
        const type = param.typeAnnotation?.typeAnnotation
        if (type?.type === "TSTypeLiteral") members = namesOf(type.members)
      }
    }
  }).visit(parseSync(file, read(file)).program)
  assert.isNotEmpty(members, `${file} has no options of ${name}`)
  return members
}

/** The functions and constants of a module, without errors, schemas and those that are named. */
export const functionsOf = (module: object, ...others: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.keys(module).filter((name) => /^[a-z]/.test(name) && !others.includes(name))
