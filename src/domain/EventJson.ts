/**
 * Events as JSON, and the state that they lead to.
 *
 * The end of a run is stored without its state, which is the fold of the events up to this one.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AgentEvent } from "./AgentEvent.ts"
import { lazy } from "./Lazy.ts"
import { reduceAt } from "./Reducer.ts"
import type { AgentState } from "./StateSchema.ts"
import { problemIn } from "./VersionedJson.ts"

const codec = lazy(() => {
  const { RunCompleted, RunFailed, RunInterrupted, ...others } = AgentEvent.cases
  const { state: _completed, ...completed } = RunCompleted.fields
  const { state: _failed, ...failed } = RunFailed.fields
  const { state: _interrupted, ...interrupted } = RunInterrupted.fields
  const ends = [Schema.Struct(completed), Schema.Struct(failed), Schema.Struct(interrupted)] as const
  const events = Schema.toCodecJson(Schema.Array(Schema.Union([...Object.values(others), ...ends])))
  return { encode: Schema.encodeSync(events), decode: Schema.decodeUnknownResult(events) }
})

/** Writes events as JSON. */
// The codec encodes to JSON.
export const toJson = (events: ReadonlyArray<AgentEvent>): Schema.Json => codec().encode(events) as Schema.Json

/** An event as it was stored: the end of a run has no state. */
export type Stored<E extends AgentEvent = AgentEvent> = E extends { readonly state: unknown } ? Omit<E, "state"> : E

/** Reads events that were written as JSON, or says what in them can't be read. */
export const fromJson = (events: unknown): Result.Result<ReadonlyArray<Stored>, string> =>
  Result.mapError(codec().decode(events), ({ issue }) => {
    const { issue: what, path } = problemIn(issue)
    return `${what} at "events/${path.join("/")}"`
  }) as Result.Result<ReadonlyArray<Stored>, string>

/** Takes an event that was stored into the state before it. `reduceAt` doesn't read the state in an event, so a stored event is enough. */
// `reduceAt` reads no state in an event, and a stored event lacks nothing else.
export const reduce = (state: AgentState, event: Stored): AgentState => reduceAt(state, event as AgentEvent, 0)

/** Takes events that were written as JSON into the state before them, or says what in them can't be read. */
export const fold = (state: AgentState, events: unknown): Result.Result<AgentState, string> =>
  Result.map(fromJson(events), (events) => events.reduce(reduce, state))
