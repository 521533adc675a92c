/**
 * States as JSON documents, each of which says its version first.
 *
 * 1. `fromJson(toJson(state))` is the state, in every status.
 * 2. `version` is read before anything else: an unknown one is an error that names it.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"
import * as JsonValue from "./JsonValue.ts"
import { lazy } from "./Lazy.ts"
import { AgentState } from "./StateSchema.ts"
import * as VersionedJson from "./VersionedJson.ts"

/**
 * The version that `toJson` writes.
 *
 * @category constants
 * @since 0.1.0
 */
export const version = 1

/**
 * Error for a document whose version this release doesn't know. `found` is that version as text.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownVersion extends ErrorClass<UnknownVersion>("troupe/domain/StateJson")(
  "UnknownVersion",
  VersionedJson.unknownVersion,
  VersionedJson.unknownVersionMessage("A state")
) {}

/**
 * Error for a document that isn't a state: not JSON, cut short, or of a wrong type or illegal at `path`, such as a repeated id of a call.
 *
 * @category errors
 * @since 0.1.0
 */
export class MalformedState extends ErrorClass<MalformedState>("troupe/domain/StateJson")(
  "MalformedState",
  VersionedJson.malformed,
  VersionedJson.malformedMessage("a state")
) {}

const codec = lazy(() => {
  const document = Schema.toCodecJson(AgentState)
  return {
    encode: Schema.encodeSync(document),
    decode: Schema.decodeUnknownResult(document),
    check: Schema.decodeUnknownResult(Schema.toType(AgentState))
  }
})

/** Returns a state that was folded from stored events, or says why it is illegal: somebody may have changed the events. */
export const legal = (self: AgentState): Result.Result<AgentState, MalformedState> =>
  Result.mapBoth(codec().check(self), {
    onSuccess: () => self,
    onFailure: (error) => new MalformedState(VersionedJson.problemIn(error.issue))
  })

/**
 * Returns a state as a JSON document that shares nothing with it.
 *
 * Throws a `SchemaError` for an illegal state that was made by hand, such as one whose status contradicts its conversation.
 *
 * @category conversions
 * @since 0.1.0
 */
// The codec encodes to JSON.
export const toJson = (self: AgentState): Schema.Json => JsonValue.detached(codec().encode(self)) as Schema.Json

const reader: VersionedJson.Reader<AgentState, UnknownVersion | MalformedState> = {
  version,
  decode: (document) =>
    Result.mapError(codec().decode(document), (error) => new MalformedState(VersionedJson.problemIn(error.issue))),
  unknown: (error) => new UnknownVersion(error),
  malformed: (error) => new MalformedState(error)
}

/**
 * Reads a state from a JSON document, or from the text of one. The state shares nothing with the document. Unknown keys are
 * ignored.
 *
 * Fails with `UnknownVersion` if this release doesn't know the document's version, and with `MalformedState`, which names the path, if the
 * document isn't JSON, is cut short, has a wrong type, or holds an illegal state.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromJson = (document: unknown): Result.Result<AgentState, UnknownVersion | MalformedState> =>
  VersionedJson.read(reader, document)
