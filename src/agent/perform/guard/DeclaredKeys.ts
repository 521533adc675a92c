/**
 * The keys that a program's own schemas declare, in parameters and results of its tools and agents.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import { memoize } from "effect/Function"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** Keys that guardrails don't judge. */
export type DeclaredKeys = ReadonlySet<string>

/** No keys: guardrails judge all of them. */
export const none: DeclaredKeys = new Set()

const addKeys = (ast: SchemaAST.AST, keys: Set<string>, seen: Set<SchemaAST.AST>): void => {
  if (seen.has(ast)) return
  seen.add(ast)
  const addAll = (members: ReadonlyArray<SchemaAST.AST>): void => {
    for (const member of members) addKeys(member, keys, seen)
  }
  switch (ast._tag) {
    case "Objects":
      for (const { name } of ast.propertySignatures) keys.add(String(name))
      addAll([...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type))
      break
    case "Arrays":
      addAll([...ast.elements, ...ast.rest])
      break
    case "Union":
      addAll(ast.types)
      break
    case "Suspend":
      addKeys(ast.thunk(), keys, seen)
  }
}

/** Adds the names of properties in a JSON schema. */
const addNames = (schema: unknown, keys: Set<string>): void => {
  if (!Predicate.isObjectOrArray(schema)) return
  for (const [key, value] of Object.entries(schema)) {
    if (key === "properties" && Predicate.isObject(value)) { for (const name of Object.keys(value)) keys.add(name) }
    addNames(value, keys)
  }
}

const inJson = (...schemas: ReadonlyArray<Schema.Constraint>): DeclaredKeys => {
  const keys = new Set<string>()
  const seen = new Set<SchemaAST.AST>()
  for (const schema of schemas) addKeys(SchemaAST.toEncoded(Schema.toCodecJson(schema).ast), keys, seen)
  return keys
}

/** Returns the keys that the parameters of a tool have by their schema. */
export const ofParams: (tool: Tool.Any) => DeclaredKeys = /* #__PURE__ */ memoize((tool: Tool.Any) => {
  if (!Tool.isDynamic(tool) || tool.jsonSchema === undefined) return inJson(tool.parametersSchema)
  const keys = new Set<string>()
  addNames(tool.jsonSchema, keys)
  return keys
})

/** Returns the keys of a tool's results by its schemas. */
export const ofResult: (tool: Tool.Any) => DeclaredKeys = /* #__PURE__ */ memoize((tool: Tool.Any) =>
  inJson(tool.successSchema, tool.failureSchema)
)
