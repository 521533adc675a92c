/** Reads the tables of pages, and the names in the code that they must have. */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync, type TSSignature, Visitor } from "oxc-parser"
import { root } from "../../scripts/examples.ts"

export const read = (file: string): string => readFileSync(join(root, file), "utf8")

/** The rows of the tables of a page whose first columns have these headers, as cells. */
export const rows = (page: string, ...headers: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const found: Array<ReadonlyArray<string>> = []
  let isInside = false
  for (const line of read(page).split("\n")) {
    const cells = line.startsWith("|") ? line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim()) : undefined
    if (cells === undefined) isInside = false
    else if (isInside && !/^-+$/.test(cells[0]!)) found.push(cells)
    else if (headers.every((header, i) => cells[i] === header)) isInside = true
  }
  return found
}

/** What stands in code in a cell. */
export const codes = (cell: string | undefined): ReadonlyArray<string> =>
  Array.from((cell ?? "").matchAll(/`([^`]+)`/g), ([, code]) => code!)

/** The names of the first column, where `length({ max })` is named `length`. */
export const names = (page: string, ...headers: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(rows(page, ...headers).flatMap(([cell]) => codes(cell)).map((code) => /^\w+/.exec(code)?.[0] ?? code))]
    .sort()

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
  assert.isAbove(members.length, 1, `${file} has no options of ${name}`)
  return members
}
