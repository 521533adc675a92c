/**
 * Dialogues as JSON documents, each of which says its version first.
 *
 * 1. `fromJson(toJson(state))` is the state, in every status.
 * 2. `version` is read before anything else: an unknown one is an error that names it.
 * 3. The states of the agents inside are documents of their own, read as `AgentState.fromJson` reads them.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import { lazy } from "../../domain/Lazy.ts"
import * as StateJson from "../../domain/StateJson.ts"
import * as VersionedJson from "../../domain/VersionedJson.ts"
import { DialogueState, Participant } from "./DialogueState.ts"

/**
 * The version that `toJson` writes.
 *
 * @category constants
 * @since 0.1.0
 */
export const version = 1

/**
 * Error for a document of a dialogue whose version this release doesn't know.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownVersion extends ErrorClass<UnknownVersion>("troupe/handoff/dialogue/DialogueJson")(
  "UnknownVersion",
  VersionedJson.unknownVersion,
  VersionedJson.unknownVersionMessage("A dialogue")
) {}

/**
 * Error for a document that isn't a dialogue: not JSON, cut short, of a wrong type at `path`, or contradicting itself there.
 *
 * @category errors
 * @since 0.1.0
 */
export class MalformedDialogue extends ErrorClass<MalformedDialogue>("troupe/handoff/dialogue/DialogueJson")(
  "MalformedDialogue",
  VersionedJson.malformed,
  VersionedJson.malformedMessage("a dialogue")
) {}

/**
 * Why a document can't be read as a dialogue. The unknown version may be the dialogue's or that of an agent's state in it.
 *
 * @category errors
 * @since 0.1.0
 */
export type DialogueJsonError = UnknownVersion | MalformedDialogue | StateJson.UnknownVersion

type ParticipantDocument = Omit<Participant, "state"> & { readonly state?: Schema.Json }

const codec = lazy(() => {
  const participant = Schema.Struct({ ...Participant.fields, state: Schema.optionalKey(Schema.Json) })
  const document = Schema.toCodecJson(
    Schema.Struct({ ...DialogueState.fields, participants: Schema.Array(participant) })
  )
  return {
    encode: Schema.encodeSync(document),
    decode: Schema.decodeUnknownResult(document),
    check: Schema.decodeUnknownResult(Schema.toType(DialogueState))
  }
})

/**
 * Returns a dialogue as a JSON document.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toJson = (self: DialogueState): Schema.Json =>
  codec().encode({
    ...self,
    participants: self.participants.map(({ state, ...rest }) =>
      state === undefined ? rest : { ...rest, state: StateJson.toJson(state) }
    )
  })

const malformed = (error: Schema.SchemaError): MalformedDialogue =>
  new MalformedDialogue(VersionedJson.problemIn(error.issue))

const fromParticipant = (
  { state, ...rest }: ParticipantDocument,
  index: number
): Result.Result<Participant, DialogueJsonError> =>
  state === undefined ? Result.succeed(rest) : Result.mapBoth(StateJson.fromJson(state), {
    onSuccess: (read) => ({ ...rest, state: read }),
    onFailure: (error) =>
      error._tag === "UnknownVersion" ? error : new MalformedDialogue({
        path: ["participants", index, "state", ...error.path],
        issue: error.issue
      })
  })

const reader: VersionedJson.Reader<DialogueState, DialogueJsonError> = {
  version,
  decode: (document) =>
    Result.gen(function*() {
      const read = yield* Result.mapError(codec().decode(document), malformed)
      const participants = yield* Result.all(read.participants.map(fromParticipant))
      return yield* Result.mapError(codec().check({ ...read, participants }), malformed)
    }),
  unknown: (error) => new UnknownVersion(error),
  malformed: (error) => new MalformedDialogue(error)
}

/**
 * Reads a dialogue from a JSON document, or from the text of one. Unknown keys are ignored.
 *
 * Fails with `UnknownVersion` if this release doesn't know the version of the document or of an agent's state in it, and with
 * `MalformedDialogue`, which names the path, if the document isn't JSON, is cut short, has a wrong type, or contradicts itself.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromJson = (document: unknown): Result.Result<DialogueState, DialogueJsonError> =>
  VersionedJson.read(reader, document)
