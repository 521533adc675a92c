/**
 * A line of a tape: an event as a run's log has it, with more fields for facts that an event lacks.
 *
 * A reader of events can read a tape: it ignores these fields.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AgentEvent } from "../../domain/AgentEvent.ts"
import { AssistantPart } from "../../domain/StateSchema.ts"
import { AskedSince } from "./Asked.ts"
import { InvalidTape } from "./CassetteError.ts"

/**
 * The facts that an event lacks: the request, the exact failure, and the part of an answer that had arrived. `retryAfter` is the failure's:
 * only one class of reasons has a field for it.
 */
export const Beside = Schema.Struct({
  asked: Schema.optionalKey(AskedSince),
  error: Schema.optionalKey(AiError.AiError),
  retryAfter: Schema.optionalKey(Schema.Duration),
  defect: Schema.optionalKey(Schema.Defect()),
  heard: Schema.optionalKey(Schema.Array(AssistantPart))
})

/** The facts that an event lacks. */
export interface Beside extends Schema.Schema.Type<typeof Beside> {}

/** A line of a tape. */
export interface Line {
  readonly event: AgentEvent
  readonly beside: Beside
}

const eventJson = Schema.toCodecJson(AgentEvent)
const besideJson = Schema.toCodecJson(Beside)

const encodeEvent = Schema.encodeSync(eventJson)
const encodeBeside = Schema.encodeSync(besideJson)
const decodeEvent = Schema.decodeUnknownResult(eventJson)
const decodeBeside = Schema.decodeUnknownResult(besideJson)

/** An encoded line, before it is written. */
export type Written = { readonly [field: string]: Schema.Json }

const waitOf = ({ error }: Beside): Pick<Beside, "retryAfter"> | undefined =>
  error?.retryAfter === undefined || error.reason._tag === "RateLimitError"
    ? undefined
    : { retryAfter: error.retryAfter }

/** Returns the facts, with `retryAfter` set on the reason of the failure: `AiError.retryAfter` reads it from any reason. */
const waiting = ({ error, retryAfter, ...beside }: Beside): Beside => {
  if (error === undefined) return beside
  if (retryAfter !== undefined) Object.assign(error.reason, { retryAfter })
  return { ...beside, error }
}

/** Encodes a line. */
export const encode = ({ beside, event }: Line): Written =>
  ({ ...encodeEvent(event) as object, ...encodeBeside({ ...beside, ...waitOf(beside) }) as object }) as Written

const parse = (text: string): Result.Result<unknown, { readonly message: string }> =>
  Result.try({ try: (): unknown => JSON.parse(text), catch: (error) => error as SyntaxError })

/** Reads the lines of a tape. Empty ones are skipped. */
export const read = (content: string, tape: string): Result.Result<ReadonlyArray<Line>, InvalidTape> => {
  const lines: Array<Line> = []
  for (const [index, text] of content.split("\n").entries()) {
    if (text.trim() === "") continue
    const line = Result.flatMap(
      parse(text),
      (json) => Result.all({ event: decodeEvent(json), beside: Result.map(decodeBeside(json), waiting) })
    )
    if (Result.isFailure(line)) {
      return Result.fail(new InvalidTape({ tape, line: index + 1, problem: line.failure.message }))
    }
    lines.push(line.success)
  }
  return Result.succeed(lines)
}
