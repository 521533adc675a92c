/**
 * The first thing in a body that doesn't fit its schema, and where. Providers say it in their own words.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { literalsOf, narrow, type Step, tagsOf } from "./Cases.ts"
import { type UnknownFields, unknownIn } from "./KnownFields.ts"
import type { Refusal } from "./Protocol.ts"

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

/** A value isn't one of those that are allowed. If it is a tag, no case of the union has it. */
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

/** The provider doesn't know fields. */
interface Unknown extends UnknownFields {
  readonly _tag: "Unknown"
}

/** The first thing that is wrong with a body. */
export type Flaw = Missing | Mistyped | Unsupported | Empty | Unfit | Unknown

/** The type that a value should have, by the schema's own annotation, or else a type of JSON. */
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

const ofCases = (
  issue: SchemaIssue.AnyOf,
  value: { readonly [key: PropertyKey]: unknown },
  at: ReadonlyArray<Step>
): Flaw | undefined => {
  const { at: within, cases, stuck } = narrow(issue.ast, value, at)
  if (stuck !== undefined) {
    const [here, tag] = [[...within, stuck], value[stuck]]
    if (tag === undefined) return { _tag: "Missing", at: here }
    if (typeof tag !== "string") return { _tag: "Mistyped", at: here, expected: "string", value: tag }
    return { _tag: "Unsupported", isTag: true, at: here, value: tag, values: tagsOf(cases, stuck) }
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

/** Returns the first flaw in an issue. */
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
 * Makes a function that reads bodies by a schema that changes nothing: it returns the body itself, with fields that the schema leaves open.
 * It refuses a body that doesn't fit, for its first flaw. It refuses unknown fields unless `takesUnknown` is set, and what `check` refuses.
 */
export const reader = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  refuseFlaw: (flaw: Flaw) => Refusal,
  check: (body: S["Type"]) => Refusal | undefined
) => {
  const decode = SchemaParser.decodeUnknownResult(schema)
  return (body: unknown, takesUnknown = false): Result.Result<S["Type"], Refusal> => {
    const decoded = decode(body)
    if (Result.isFailure(decoded)) return Result.fail(refuseFlaw(flawOf(decoded.failure, body, [])))
    Schema.asserts(schema, body)
    const unknown = takesUnknown ? undefined : unknownIn(schema.ast, body)
    const refusal = unknown === undefined ? check(body) : refuseFlaw({ _tag: "Unknown", ...unknown })
    return refusal === undefined ? Result.succeed(body) : Result.fail(refusal)
  }
}
