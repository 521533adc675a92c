/**
 * States as JSON documents, each of which says its version first.
 *
 * 1. `fromJson(toJson(state))` is the state, in every status.
 * 2. `version` is read before anything else: an older version is migrated, an unknown one is an error that names it.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"
import * as JsonValue from "./JsonValue.ts"
import { lazy } from "./Lazy.ts"
import { AgentState, type Conversation, Turn } from "./StateSchema.ts"
import { Summarized } from "./Summarized.ts"
import * as VersionedJson from "./VersionedJson.ts"

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
export class UnknownVersion extends ErrorClass<UnknownVersion>("troupe/domain/StateJson")(
  "UnknownVersion",
  VersionedJson.unknownVersion,
  VersionedJson.unknownVersionMessage("A state")
) {}

/**
 * Error for a document that isn't a state: not JSON, cut short, or of a wrong type at `path`.
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
  return { encode: Schema.encodeSync(document), decode: Schema.decodeUnknownResult(document) }
})

/**
 * Returns a state as a JSON document that shares nothing with it.
 *
 * @category conversions
 * @since 0.1.0
 */
// The codec encodes to JSON.
export const toJson = (self: AgentState): Schema.Json => JsonValue.detached(codec().encode(self)) as Schema.Json

/** The codecs of a state's parts. They check nothing: only a legal state becomes a part of another one. */
const codecsOfParts = lazy(() => {
  const { conversation: _, ...fields } = AgentState.fields
  return {
    turn: Schema.encodeSync(Schema.toCodecJson(Turn)),
    others: Schema.encodeSync(Schema.toCodecJson(Schema.Struct(fields))),
    summaries: Schema.encodeSync(Schema.toCodecJson(Schema.Array(Summarized)))
  }
})

/**
 * Writes the texts of one conversation's states. A settled turn is encoded once, so that a text costs what is new in it.
 *
 * What was written is compared with the turns by their identity, so it needs no invalidation when turns change.
 */
export class TextWriter {
  #turns: ReadonlyArray<Turn> = []
  #count = 0
  #text = ""

  /** Returns the text of `toJson` of a state, with the conversation behind the other keys. */
  write({ conversation, ...others }: AgentState): string {
    const codecs = codecsOfParts()
    const { summaries } = conversation
    const summarized = summaries === undefined ? "" : `,"summaries":${JSON.stringify(codecs.summaries(summaries))}`
    const first = JSON.stringify(codecs.others(others)).slice(0, -1)
    return `${first},"conversation":{"turns":[${this.#write(conversation)}]${summarized}}}`
  }

  #write({ turns }: Conversation): string {
    const settled = Math.max(0, turns.findLastIndex(({ _tag }) => _tag === "Assistant"))
    let isSame = this.#count <= settled
    for (let at = 0; isSame && at < this.#count; at++) isSame = this.#turns[at] === turns[at]
    if (!isSame) {
      this.#count = 0
      this.#text = ""
    }
    this.#text = joined(this.#text, textOf(turns.slice(this.#count, settled)))
    this.#turns = turns
    this.#count = settled
    return joined(this.#text, textOf(turns.slice(settled)))
  }
}

const joined = (one: string, other: string): string => one === "" || other === "" ? one + other : `${one},${other}`

const textOf = (turns: ReadonlyArray<Turn>): string =>
  turns.map((turn) => JSON.stringify(codecsOfParts().turn(turn))).join(",")

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
 * Fails with `UnknownVersion` when this release doesn't know the document's version, and with `MalformedState`, which
 * names the path, when the document is cut short or has a wrong type.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromJson = (document: unknown): Result.Result<AgentState, UnknownVersion | MalformedState> =>
  VersionedJson.read(reader, document)
