/**
 * What is wrong with a body, as its schema has it: the first thing, and where. Providers say it in their own words.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import type { Refusal } from "./Protocol.ts"

/** A step of the way into a body: a key, an index, or the case of a union that a tag tells. */
export type Step = PropertyKey | { readonly tag: string }

interface At {
  readonly at: ReadonlyArray<Step>
}

/** A field isn't there. */
interface Missing extends At {
  readonly _tag: "Missing"
}

/** A value is of another type. `expected` is the schema's own annotation, or else a type of JSON. */
interface Mistyped extends At {
  readonly _tag: "Mistyped"
  readonly expected: string
  readonly value: unknown
}

/** A value isn't one of a few. As a tag, it tells no case of a union. */
interface Unsupported extends At {
  readonly _tag: "Unsupported"
  readonly isTag: boolean
  readonly value: unknown
  readonly values: ReadonlyArray<string>
}

/** A list is empty. */
interface Empty extends At {
  readonly _tag: "Empty"
}

/** A value doesn't pass a check, which has a message of its own, and a title that may serve as a code. */
interface Unfit extends At {
  readonly _tag: "Unfit"
  readonly message: string
  readonly title: string | undefined
}

/** The first thing that is wrong with a body. */
export type Flaw = Missing | Mistyped | Unsupported | Empty | Unfit

/** What a value was to be, as the schema's own annotation has it, or else as a type of JSON. */
const expectedOf = (ast: SchemaAST.AST): string => {
  const own = ast.annotations?.expected
  if (typeof own === "string") return own
  switch (ast._tag) {
    case "Number":
      return "number"
    case "Boolean":
      return "boolean"
    case "Arrays":
      return ast.rest[0] !== undefined && expectedOf(ast.rest[0]) === "string" ? "list of strings" : "list"
    case "Objects":
      return ast.propertySignatures.length > 0 ? "object" : "dictionary"
    case "Union":
      return ast.types[0] === undefined ? "value" : expectedOf(ast.types[0])
    default:
      return "string"
  }
}

const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(membersOf) : [ast]

const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
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

/** The cases that a tag may mean. One that names it goes before one that takes any. */
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

/** The issue of a case, among those of a union. */
const issueOf = (issue: SchemaIssue.Issue, ast: SchemaAST.AST): SchemaIssue.Issue | undefined => {
  if ("ast" in issue && issue.ast === ast) return issue
  if (issue._tag !== "AnyOf") return undefined
  for (const each of issue.issues) {
    const found = issueOf(each, ast)
    if (found !== undefined) return found
  }
  return undefined
}

const tagsOf = (cases: ReadonlyArray<SchemaAST.Objects>, key: PropertyKey): ReadonlyArray<string> => {
  const types = cases.map((each) => typeOf(each, key))
  return [...new Set(types.flatMap((type) => type === undefined ? [] : literalsOf(type)))]
}

const ofCases = (
  issue: SchemaIssue.AnyOf,
  value: { readonly [key: PropertyKey]: unknown },
  at: ReadonlyArray<Step>
): Flaw | undefined => {
  let cases = membersOf(issue.ast).filter(SchemaAST.isObjects)
  let within = at
  for (let key = tagOf(cases); key !== undefined; key = tagOf(cases)) {
    const tag = value[key]
    const left = casesOf(cases, key, tag)
    if (left.length === 0) {
      const here = [...within, key]
      if (tag === undefined) return { _tag: "Missing", at: here }
      if (typeof tag !== "string") return { _tag: "Mistyped", at: here, expected: "string", value: tag }
      return { _tag: "Unsupported", isTag: true, at: here, value: tag, values: tagsOf(cases, key) }
    }
    within = [...within, { tag: String(tag ?? tagsOf(left, key)[0]) }]
    if (left.length === cases.length) break
    cases = left
  }
  const [only, ...others] = cases
  const found = only === undefined || others.length > 0 ? undefined : issueOf(issue, only)
  return found === undefined ? undefined : flawOf(found, value, within)
}

const ofUnion = (issue: SchemaIssue.AnyOf, value: unknown, at: ReadonlyArray<Step>): Flaw => {
  const flaw = Predicate.isReadonlyObject(value) ? ofCases(issue, value, at) : undefined
  if (flaw !== undefined) return flaw
  const values = literalsOf(issue.ast)
  if (typeof value === "string" && values.length > 0) return { _tag: "Unsupported", isTag: false, at, value, values }
  return issue.issues[0] === undefined
    ? { _tag: "Mistyped", at, expected: expectedOf(issue.ast), value }
    : flawOf(issue.issues[0], value, at)
}

/** The first flaw that an issue tells of. */
const flawOf = (issue: SchemaIssue.Issue, value: unknown, at: ReadonlyArray<Step>): Flaw => {
  switch (issue._tag) {
    case "Pointer": {
      if (issue.issue._tag === "MissingKey" && Array.isArray(value)) return { _tag: "Empty", at }
      const inner = issue.path.reduce<unknown>(
        (value, key) => Predicate.hasProperty(value, key) ? value[key] : undefined,
        value
      )
      return flawOf(issue.issue, inner, [...at, ...issue.path])
    }
    case "Composite":
      return flawOf(issue.issues[0], value, at)
    case "AnyOf":
      return ofUnion(issue, value, at)
    case "MissingKey":
      return { _tag: "Missing", at }
    case "Filter": {
      const { expected, title } = issue.filter.annotations ?? {}
      const message = "annotations" in issue.issue ? issue.issue.annotations?.message : undefined
      return typeof message === "string"
        ? { _tag: "Unfit", at, message, title }
        : { _tag: "Mistyped", at, expected: expected ?? "value", value }
    }
    case "InvalidType": {
      const values = literalsOf(issue.ast)
      return typeof value === "string" && values.length > 0
        ? { _tag: "Unsupported", isTag: false, at, value, values }
        : { _tag: "Mistyped", at, expected: expectedOf(issue.ast), value }
    }
    default:
      return { _tag: "Mistyped", at, expected: "value", value }
  }
}

/**
 * Makes what reads bodies by a schema that changes nothing, so that the body itself comes out, with all that the schema
 * leaves open. What doesn't fit is refused for its first flaw, and what fits may still be refused for what it means.
 */
export const reader = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  refuseFlaw: (flaw: Flaw) => Refusal,
  check: (body: S["Type"]) => Refusal | undefined
) => {
  const decode = SchemaParser.decodeUnknownResult(schema)
  return (body: unknown): Result.Result<S["Type"], Refusal> => {
    const decoded = decode(body)
    if (Result.isFailure(decoded)) return Result.fail(refuseFlaw(flawOf(decoded.failure, body, [])))
    Schema.asserts(schema, body)
    const refusal = check(body)
    return refusal === undefined ? Result.succeed(body) : Result.fail(refusal)
  }
}
