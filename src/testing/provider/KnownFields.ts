/**
 * Which fields of a body a provider knows.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as SchemaAST from "effect/SchemaAST"
import { membersOf, narrow, type Step } from "./Cases.ts"

/** Makes an annotation of a struct. Besides the struct's own fields the provider knows only these, which nothing here reads. */
export const knowing = (...names: ReadonlyArray<string>): { readonly knows: ReadonlyArray<string> } => ({
  knows: names
})

/** Fields of one object that the provider doesn't know, with the way to the first of them. */
export interface UnknownFields {
  readonly at: ReadonlyArray<Step>
  readonly names: ReadonlyArray<string>
}

/** The first that is found, if any. */
const first = <A>(
  values: ReadonlyArray<A>,
  check: (value: A, index: number) => UnknownFields | undefined
): UnknownFields | undefined => {
  for (const [index, value] of values.entries()) {
    const flaw = check(value, index)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

/** The first fields of a body that the provider doesn't know, in a body that fits. */
export const unknownIn = (
  ast: SchemaAST.AST,
  value: unknown,
  at: ReadonlyArray<Step> = []
): UnknownFields | undefined => {
  if (Array.isArray(value)) {
    const list = membersOf(ast).find(SchemaAST.isArrays)
    const element = list?.rest[0] ?? list?.elements[0]
    return element === undefined ? undefined : first(value, (each, index) => unknownIn(element, each, [...at, index]))
  }
  if (!Predicate.isReadonlyObject(value)) return undefined
  if (SchemaAST.isUnion(ast)) {
    const { at: within, cases } = narrow(ast, value, at)
    return cases.length === 1 ? unknownIn(cases[0]!, value, within) : undefined
  }
  if (!SchemaAST.isObjects(ast)) return undefined
  const known = ast.annotations?.["knows"]
  const fields = ast.propertySignatures.map(({ name }) => name)
  const names = Array.isArray(known)
    ? Object.keys(value).filter((name) => !fields.includes(name) && !known.includes(name))
    : []
  if (names[0] !== undefined) return { at: [...at, names[0]], names }
  return first(ast.propertySignatures, ({ name, type }) => unknownIn(type, value[name], [...at, name]))
}
