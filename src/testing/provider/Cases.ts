/**
 * The cases of unions in bodies, told apart by their tags.
 *
 * @since 0.1.0
 */
import * as SchemaAST from "effect/SchemaAST"

/** A step of the way into a body: a key, an index, or the case of a union, given by its tag. */
export type Step = PropertyKey | { readonly tag: string }

/** The schemas that a value may be of. */
export const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(membersOf) : [ast]

/** The literals that a value may be. */
export const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  membersOf(ast).flatMap((member) => SchemaAST.isLiteral(member) ? [String(member.literal)] : [])

/** Whether a key's type may tell cases apart: it is of literals, or any string. */
const isTag = (ast: SchemaAST.AST | undefined): ast is SchemaAST.AST =>
  ast !== undefined &&
  membersOf(ast).every((member) =>
    SchemaAST.isLiteral(member) || SchemaAST.isString(member) || SchemaAST.isNull(member)
  )

const typeOf = ({ propertySignatures }: SchemaAST.Objects, key: PropertyKey): SchemaAST.AST | undefined =>
  propertySignatures.find(({ name }) => name === key)?.type

/** The key that tells cases apart: literals of one of them aren't those of another. */
const tagOf = (cases: ReadonlyArray<SchemaAST.Objects>): PropertyKey | undefined =>
  cases[0]?.propertySignatures.map(({ name }) => name).find((key) => {
    const types = cases.map((each) => typeOf(each, key))
    return types.every(isTag) && new Set(types.map((type) => literalsOf(type).join())).size > 1
  })

/** The cases that a tag may mean: those with this tag among their literals or, if there are none, those that accept any string. */
const casesOf = (cases: ReadonlyArray<SchemaAST.Objects>, key: PropertyKey, tag: unknown) => {
  const takes = (accepts: (type: SchemaAST.AST) => boolean) =>
    cases.filter((each) => {
      const type = typeOf(each, key)
      return type !== undefined && accepts(type)
    })
  if (tag === undefined) return takes(({ context }) => context?.isOptional === true)
  if (tag === null) return takes((type) => membersOf(type).some(SchemaAST.isNull))
  if (typeof tag !== "string") return []
  const named = takes((type) => literalsOf(type).includes(tag))
  return named.length > 0 ? named : takes((type) => membersOf(type).some(SchemaAST.isString))
}

/** The tags of cases. */
export const tagsOf = (cases: ReadonlyArray<SchemaAST.Objects>, key: PropertyKey): ReadonlyArray<string> => {
  const types = cases.map((each) => typeOf(each, key))
  return [...new Set(types.flatMap((type) => type === undefined ? [] : literalsOf(type)))]
}

/** The cases that a value may be of, by their tags, with the way to it. `stuck` is the key of a tag that no case has. */
export const narrow = (
  union: SchemaAST.Union,
  value: { readonly [key: PropertyKey]: unknown },
  at: ReadonlyArray<Step>
) => {
  let cases: ReadonlyArray<SchemaAST.Objects> = membersOf(union).filter(SchemaAST.isObjects)
  let within = at
  for (let key = tagOf(cases); key !== undefined; key = tagOf(cases)) {
    const tag = value[key]
    const left = casesOf(cases, key, tag)
    if (left.length === 0) return { cases, at: within, stuck: key }
    within = [...within, { tag: String(tag ?? tagsOf(left, key)[0]) }]
    if (left.length === cases.length) break
    cases = left
  }
  return { cases, at: within, stuck: undefined }
}
