/**
 * Reading JSON documents that say their version first.
 *
 * @since 0.1.0
 */
import { format } from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as JsonValue from "./JsonValue.ts"

/** Fields of the error for a document whose version this release doesn't know. */
export const unknownVersion = { found: Schema.String, known: Schema.Array(Schema.Int) }

/** Fields of the error for a document that is malformed at a path. */
export const malformed = { path: Schema.Array(Schema.Union([Schema.String, Schema.Number])), issue: Schema.String }

/** The path of a problem in a document. */
type Path = ReadonlyArray<string | number>

/** Writes a path for a message. */
export const formatPath = (path: Path): string => path.length === 0 ? "/" : path.map((key) => `/${key}`).join("")

/** The message of the error for a document of an unknown version; `what` names the kind of document. */
export const unknownVersionMessage =
  (what: string) => ({ found, known }: Schema.Struct<typeof unknownVersion>["Type"]): string =>
    `${what} of version ${found} can't be read; known versions: ${known.join(", ")}`

/** The message of the error for a malformed document; `what` names the kind of document. */
export const malformedMessage = (what: string) => ({ issue, path }: Schema.Struct<typeof malformed>["Type"]): string =>
  `Not ${what} at "${formatPath(path)}": ${issue}`

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** Returns the first problem that a schema found, and its path. */
export const problemIn = (issue: SchemaIssue.Issue): { readonly path: Path; readonly issue: string } => {
  const [first] = formatIssue(issue).issues
  const path = (first?.path ?? []).map((key) => {
    const name = typeof key === "object" ? key.key : key
    return typeof name === "number" ? name : String(name)
  })
  return { path, issue: first?.message ?? "Expected plain data" }
}

/** The version that is read, and the errors for other documents. */
export interface Reader<A, E> {
  readonly version: number
  readonly decode: (document: object) => Result.Result<A, E>
  readonly unknown: (error: { readonly found: string; readonly known: ReadonlyArray<number> }) => E
  readonly malformed: (error: { readonly path: Path; readonly issue: string }) => E
}

/** Reads a document, or the text of one. The result shares nothing with it. */
export const read = <A, E>(reader: Reader<A, E>, document: unknown): Result.Result<A, E> => {
  const fail = (path: Path, issue: string) => Result.fail(reader.malformed({ path, issue }))
  let plain: unknown
  try {
    plain = typeof document === "string" ? JSON.parse(document) : JsonValue.detached(document)
  } catch (error) {
    return typeof document === "string"
      ? fail([], Predicate.isError(error) ? error.message : String(error))
      : fail([], tooDeep)
  }
  if (!Predicate.isObject(plain)) return fail([], "Expected an object")
  if (!Predicate.hasProperty(plain, "version")) return fail(["version"], "Missing key")
  if (plain.version !== reader.version) {
    return Result.fail(reader.unknown({ found: format(plain.version), known: [reader.version] }))
  }
  try {
    return reader.decode(plain)
  } catch {
    return fail([], tooDeep)
  }
}

/** The issue of a document that makes the schema itself throw: it is nested too deeply, or a getter in it throws. */
const tooDeep = "Expected plain data, not nested as deeply as this"
