/**
 * What a log of a long run leads to: its state, and which message is being answered. It is the fold of the log's entries, and every
 * function here is pure.
 *
 * A long run is a plan or a dialogue on a cluster. Its agents have conversations of their own there, so its log holds only what goes on
 * between them, as steps, which are JSON.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { lazy } from "../../domain/Lazy.ts"
import { UnknownCall } from "../UnknownCall.ts"

/** How a kind of long run begins, how a step changes its state, and how both are read. Steps are JSON as they are. */
export interface Kind<State, Step> {
  readonly begin: State
  readonly take: (state: State, step: Step) => State
  readonly state: Schema.Codec<State, unknown>
  readonly step: Schema.Codec<Step, unknown>
}

/**
 * What is kept of a long run. `message` is the message that is being answered, and `unknown` are the calls since that message whose effect
 * is unknown. `forkOf` is the long run that is being forked into this one: until that is done, some agents' conversations may be missing.
 */
export interface Kept<State> {
  readonly state: State
  readonly unknown: ReadonlyArray<UnknownCall>
  readonly message: string | undefined
  readonly cancelled: ReadonlyArray<string>
  readonly steps: number
  readonly forkOf?: string | undefined
}

/** What an entry of the log says. A `state` stands for all before it. With `isWhole` the fork that began with `forkOf` is done. */
export interface Entry<State, Step> {
  readonly steps: ReadonlyArray<Step>
  readonly unknown?: ReadonlyArray<UnknownCall> | undefined
  readonly taken?: string | undefined
  readonly answered?: string | undefined
  readonly cancelled?: string | undefined
  readonly state?: State | undefined
  readonly forkOf?: string | undefined
  readonly isWhole?: true | undefined
}

/** What is kept of a long run to which nothing was said. */
export const begin = <State, Step>({ begin: state }: Kind<State, Step>): Kept<State> => ({
  state,
  unknown: [],
  message: undefined,
  cancelled: [],
  steps: 0
})

/** Adds an entry. A step that is repeated because its message was delivered again changes nothing. */
export const take = <State, Step>(
  kind: Kind<State, Step>,
  self: Kept<State>,
  entry: Entry<State, Step>
): Kept<State> => {
  const { answered, cancelled, steps, taken, unknown = [] } = entry
  const before = taken === undefined ? self.unknown : []
  const isNew = ({ callId }: UnknownCall) => !before.some((known) => known.callId === callId)
  const message = taken ?? self.message
  const withCancelled = cancelled === undefined ? self.cancelled : [...self.cancelled, cancelled]
  return {
    state: steps.reduce(kind.take, entry.state ?? self.state),
    unknown: [...before, ...unknown.filter(isNew)],
    message: message === answered ? undefined : message,
    cancelled: withCancelled.filter((key) => key !== answered),
    steps: self.steps + steps.length,
    forkOf: entry.isWhole === true ? undefined : entry.forkOf ?? self.forkOf
  }
}

const Text = Schema.optionalKey(Schema.String)

const shapes = lazy(() => ({
  entry: Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({
    steps: Schema.Array(Schema.Unknown),
    unknown: Schema.optionalKey(Schema.Array(UnknownCall)),
    taken: Text,
    answered: Text,
    cancelled: Text,
    state: Schema.optionalKey(Schema.Unknown),
    forkOf: Text,
    isWhole: Schema.optionalKey(Schema.Literal(true))
  }))),
  kept: Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({
    state: Schema.Unknown,
    unknown: Schema.Array(UnknownCall),
    message: Text,
    cancelled: Schema.Array(Schema.String),
    steps: Schema.Int,
    forkOf: Text
  })))
}))

const messageOf = (error: { readonly message: string }): string => error.message

const reading = <A>(schema: Schema.Codec<A, unknown>, json: unknown): Result.Result<A, string> =>
  Result.mapError(Schema.decodeUnknownResult(schema)(json), messageOf)

/** Reads a step, or says what can't be read. */
export const stepFromJson = <State, Step>({ step }: Kind<State, Step>, json: unknown): Result.Result<Step, string> =>
  reading(step, json)

/** Writes a step. Steps are JSON, as a `Kind` says; the type of any step has lost that. */
export const stepToJson = <Step>(step: Step): Schema.Json => step as Schema.Json

/** Writes an entry, or what is kept. */
export const toText = <State, Step>(
  { state: schema }: Kind<State, Step>,
  { state, ...value }: Entry<State, Step> | Kept<State>
): string => JSON.stringify(state === undefined ? value : { ...value, state: Schema.encodeSync(schema)(state) })

/** Reads an entry, or says what can't be read. */
export const entryFromText = <State, Step>(
  kind: Kind<State, Step>,
  text: string
): Result.Result<Entry<State, Step>, string> =>
  Result.gen(function*() {
    const { state, steps, ...entry } = yield* Result.mapError(shapes().entry(text), messageOf)
    return {
      ...entry,
      steps: yield* Result.all(steps.map((step) => stepFromJson(kind, step))),
      ...(state === undefined ? undefined : { state: yield* reading(kind.state, state) })
    }
  })

/** Reads a snapshot, or says what can't be read. */
export const fromText = <State, Step>(kind: Kind<State, Step>, text: string): Result.Result<Kept<State>, string> =>
  Result.gen(function*() {
    const { message, state, ...kept } = yield* Result.mapError(shapes().kept(text), messageOf)
    return { ...kept, message, state: yield* reading(kind.state, state) }
  })
