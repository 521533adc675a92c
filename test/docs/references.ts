/**
 * Which declarations of `src` refer to which, as far as names show it: a function refers to what it names, so it may come to what that does.
 *
 * 1. Types don't count, and what a declaration says anywhere counts, in a function that it returns too.
 * 2. Calls that go by a value, such as the interpreter that an agent holds, aren't seen. `dispatched` lists those that matter.
 */
import { globSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { type Node, parseSync, type Program, Visitor } from "oxc-parser"
import { root } from "../../scripts/examples.ts"
import { read } from "./tables.ts"

/** A declaration at the top of a file, such as `src/handoff/Group.ts#make`. */
export type Key = `${string}#${string}`

interface Named {
  readonly file: string
  readonly name: string
}

interface Module {
  readonly file: string
  /** What the names of imports stand for; `*` is a whole module. */
  readonly imports: ReadonlyMap<string, Named>
  readonly exports: ReadonlyMap<string, Named>
  /** The files all of whose names this one exports. */
  readonly wholes: ReadonlyArray<string>
  readonly declared: ReadonlyMap<string, Node>
}

const fileOf = (from: string, specifier: string): string | undefined =>
  specifier.startsWith(".") ? relative(root, join(root, dirname(from), specifier)) : undefined

const declarations = (node: Node): ReadonlyArray<readonly [string, Node]> => {
  switch (node.type) {
    case "ExportNamedDeclaration":
      return node.declaration === null ? [] : declarations(node.declaration)
    case "VariableDeclaration":
      return node.declarations.flatMap((each): ReadonlyArray<readonly [string, Node]> =>
        each.id.type === "Identifier" ? [[each.id.name, each]] : []
      )
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return node.id === null ? [] : [[node.id.name, node]]
    default:
      return []
  }
}

const moduleOf = (file: string): Module => {
  const { module, program } = parseSync(file, read(file))
  const imports = new Map<string, Named>()
  for (const { entries, moduleRequest } of module.staticImports) {
    const from = fileOf(file, moduleRequest.value)
    if (from === undefined) continue
    for (const { importName, isType, localName } of entries) {
      if (!isType) imports.set(localName.value, { file: from, name: importName.name ?? "*" })
    }
  }
  const exports = new Map<string, Named>()
  const wholes: Array<string> = []
  for (const { entries } of module.staticExports) {
    for (const { exportName, importName, isType, localName, moduleRequest } of entries) {
      if (isType) continue
      const from = moduleRequest === null ? undefined : fileOf(file, moduleRequest.value)
      if (exportName.name === null) {
        if (from !== undefined) wholes.push(from)
      } else if (moduleRequest === null) {
        exports.set(exportName.name, { file, name: localName.name ?? exportName.name })
      } else if (from !== undefined) {
        exports.set(exportName.name, { file: from, name: importName.name ?? "*" })
      }
    }
  }
  return { file, imports, exports, wholes, declared: new Map(program.body.flatMap(declarations)) }
}

const modules: ReadonlyMap<string, Module> = new Map(
  globSync("src/**/*.ts", { cwd: root }).map((file) => [file, moduleOf(file)] as const)
)

const namesOf = (file: string): ReadonlyArray<string> => {
  const { exports, wholes } = modules.get(file)!
  return [...exports.keys(), ...wholes.flatMap(namesOf)]
}

/** Finds the declaration that a name of a file stands for. */
const resolve = (file: string, name: string): Key | undefined => {
  const { declared, exports, imports, wholes } = modules.get(file)!
  const exported = exports.get(name)
  if (exported !== undefined && exported.file !== file) return resolve(exported.file, exported.name)
  const local = exported?.name ?? name
  if (declared.has(local)) return `${file}#${local}`
  const imported = imports.get(local)
  if (imported !== undefined && imported.name !== "*") return resolve(imported.file, imported.name)
  const whole = wholes.find((each) => namesOf(each).includes(name))
  return whole === undefined ? undefined : resolve(whole, name)
}

/** Finds the declaration that an identifier, or a member of a module, stands for in a file. */
const meant = ({ declared, file, imports }: Module, node: Node): Key | undefined => {
  if (node.type === "Identifier") {
    if (declared.has(node.name)) return `${file}#${node.name}`
    const imported = imports.get(node.name)
    return imported === undefined || imported.name === "*" ? undefined : resolve(imported.file, imported.name)
  }
  if (node.type !== "MemberExpression" || node.object.type !== "Identifier" || node.property.type !== "Identifier") {
    return undefined
  }
  const imported = imports.get(node.object.name)
  return imported?.name === "*" ? resolve(imported.file, node.property.name) : undefined
}

const users = new Map<Key, Set<Key>>()
const makers = new Map<Key, Set<Key>>()

const add = (to: Map<Key, Set<Key>>, key: Key | undefined, by: Key): void => {
  if (key !== undefined && key !== by) to.set(key, (to.get(key) ?? new Set()).add(by))
}

for (const module of modules.values()) {
  for (const [name, node] of module.declared) {
    const by: Key = `${module.file}#${name}`
    const declaration: Program = {
      type: "Program",
      body: [node as Program["body"][number]],
      sourceType: "module",
      hashbang: null,
      start: 0,
      end: 0
    }
    new Visitor({
      Identifier: (node) => add(users, meant(module, node), by),
      MemberExpression: (node) => add(users, meant(module, node), by),
      NewExpression: ({ callee }) => add(makers, meant(module, callee), by)
    }).visit(declaration)
  }
}

/** What calls what by the functions that an agent holds, because a lower floor can't import what runs agents. */
const dispatched: ReadonlyArray<readonly [to: Key, by: Key]> = [
  ["src/agent/definition/Roster.ts#check", "src/handoff/Group.ts#make"],
  ["src/agent/definition/Roster.ts#checkTogether", "src/handoff/Runnable.ts#checkTogether"],
  ["src/agent/rules/FinalAnswer.ts#outputOf", "src/domain/AgentOutput.ts#output"]
]

/** The declaration whose value an agent holds. */
const interpreter: Key = "src/agent/run/MakeAgent.ts#interpreter"

/** Those of `dispatched` that agents don't hold. */
export const undispatched = dispatched.filter(([to]) => users.get(to)?.has(interpreter) !== true)

for (const [to, by] of dispatched) add(users, to, by)

/** The declarations that make an instance of a class. */
export const makersOf = (key: Key): ReadonlySet<Key> => makers.get(key) ?? new Set()

/** These declarations and all that refer to them, directly or by others. What refers to them only by one of `through` isn't found. */
export const reached = (keys: Iterable<Key>, through: ReadonlySet<Key> = new Set()): ReadonlySet<Key> => {
  const found = new Set(keys)
  for (const key of found) {
    if (!through.has(key)) { for (const user of users.get(key) ?? []) found.add(user) }
  }
  return found
}

/** The public modules, such as `Agent`, and the files that define them: `Conversation` has two. */
const publicModules: ReadonlyMap<string, ReadonlyArray<string>> = (() => {
  const found = new Map<string, Array<string>>()
  for (const entry of ["src/index.ts", "src/testing/index.ts", "src/cluster/index.ts"]) {
    for (const [name, { file }] of modules.get(entry)!.exports) found.set(name, [...(found.get(name) ?? []), file])
  }
  return found
})()

export const isPublicModule = (name: string): boolean => publicModules.has(name)

/** All names of public modules, such as `Agent.make`, with their declarations. */
export const publicNames: ReadonlyArray<readonly [name: string, key: Key]> = [...publicModules].flatMap((
  [module, files]
) =>
  files.flatMap((file) =>
    namesOf(file).flatMap((name) => {
      const key = resolve(file, name)
      return key === undefined ? [] : [[`${module}.${name}`, key] as const]
    })
  )
)

/** The declarations of a public name, or of all names of a public module. */
export const keysOf = (name: string): ReadonlyArray<Key> =>
  publicNames.flatMap(([each, key]) => each === name || each.startsWith(`${name}.`) ? [key] : [])

/** The line of a declaration, as `file:line`. */
export const placeOf = (key: Key): string => {
  const [file = "", name = ""] = key.split("#")
  const { start = 0 } = modules.get(file)?.declared.get(name) ?? {}
  return `${file}:${read(file).slice(0, start).split("\n").length}`
}
