/**
 * States as JSON documents, each of which says its version first.
 *
 * 1. `fromJson(toJson(state))` is the state, in every status.
 * 2. `version` is read before anything else: an older version is migrated, an unknown one is an error that names it.
 *
 * @since 0.1.0
 */
import { format } from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as JsonValue from "./JsonValue.ts"
import { lazy } from "./Lazy.ts"
import { AgentState } from "./StateSchema.ts"

/**
 * The version that `toJson` writes.
 *
 * @category constants
 * @since 0.1.0
 */
export const version = 1

/**
 * Error for a document whose version this release doesn't know.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownVersion extends Schema.TaggedError<UnknownVersion>("troupe/domain/StateJson/UnknownVersion")(
  "UnknownVersion",
  { found: Schema.String, known: Schema.Array(Schema.Int) }
) {
  override get message(): string {
    return `A state of version ${this.found} can't be read; known versions: ${this.known.join(", ")}`
  }
}

/**
 * Error for a document that isn't a state: not JSON, cut short, or of a wrong type at `path`.
 *
 * @category errors
 * @since 0.1.0
 */
export class MalformedState extends Schema.TaggedError<MalformedState>("troupe/domain/StateJson/MalformedState")(
  "MalformedState",
  { path: Schema.Array(Schema.Union([Schema.String, Schema.Number])), issue: Schema.String }
) {
  override get message(): string {
    return `Not a state at "${
      this.path.length === 0 ? "/" : this.path.map((key) => `/${key}`).join("")
    }": ${this.issue}`
  }
}

const codec = lazy(() => {
  const document = Schema.toCodecJson(AgentState)
  return { encode: Schema.encodeSync(document), decode: Schema.decodeUnknownResult(document) }
})
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const malformed = (issue: SchemaIssue.Issue): MalformedState => {
  const [first] = formatIssue(issue).issues
  const path = (first?.path ?? []).map((key) => {
    const name = typeof key === "object" ? key.key : key
    return typeof name === "number" ? name : String(name)
  })
  return new MalformedState({ path, issue: first?.message ?? "Expected a state" })
}

/**
 * Gives a state as a JSON document, of which the state holds nothing.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toJson = (self: AgentState): Schema.Json => JsonValue.detached(codec().encode(self)) as Schema.Json

const parse = (text: string): Result.Result<unknown, MalformedState> =>
  Result.try({
    try: () => JSON.parse(text),
    catch: (error) => new MalformedState({ path: [], issue: Predicate.isError(error) ? error.message : String(error) })
  })

const fromDocument = (document: unknown): Result.Result<AgentState, UnknownVersion | MalformedState> => {
  if (!Predicate.isObject(document)) {
    return Result.fail(new MalformedState({ path: [], issue: "Expected an object" }))
  }
  if (!Predicate.hasProperty(document, "version")) {
    return Result.fail(new MalformedState({ path: ["version"], issue: "Missing key" }))
  }
  if (document.version !== version) {
    return Result.fail(new UnknownVersion({ found: format(document.version), known: [version] }))
  }
  return Result.mapError(codec().decode(document), (error) => malformed(error.issue))
}

/**
 * Reads a state from a JSON document, of which it holds nothing then, or from the text of one. Keys that a state doesn't have are left
 * out.
 *
 * Fails with `UnknownVersion` when this release doesn't know the document's version, and with `MalformedState`, which
 * names the path, when the document is cut short or has a wrong type.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromJson = (document: unknown): Result.Result<AgentState, UnknownVersion | MalformedState> => {
  try {
    return typeof document === "string"
      ? Result.flatMap(parse(document), fromDocument)
      : fromDocument(JsonValue.detached(document))
  } catch {
    // What the schema's own machinery can't take: a document made of nothing but depth, or of getters.
    return Result.fail(new MalformedState({ path: [], issue: "Expected plain data, not nested as deeply as this" }))
  }
}
