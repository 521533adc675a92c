/**
 * The fold of a conversation's log: its state, what is under way, and which message is being answered. Every function here is pure.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import * as EventJson from "../domain/EventJson.ts"
import { lazy } from "../domain/Lazy.ts"
import * as StateJson from "../domain/StateJson.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import * as Underway from "../domain/Underway.ts"
import type { TextWriter } from "./StateText.ts"
import { UnknownCall } from "./UnknownCall.ts"

/** The event that was stored last. The events that recovery adds have its run and time, and later numbers. */
const Last = Schema.Struct({ run: Schema.String, sequence: Schema.Int, at: Schema.Int })

/**
 * What is stored of a conversation. `repeatable` are started calls that may run again. `message` is the message that is being answered, and
 * `unknown` are the calls since that message whose effect is unknown.
 */
export interface Kept {
  readonly state: AgentState
  readonly underway: Underway.Underway
  readonly repeatable: ReadonlySet<string>
  readonly unknown: ReadonlyArray<UnknownCall>
  readonly message: string | undefined
  readonly cancelled: ReadonlySet<string>
  readonly events: number
  readonly last: typeof Last.Type | undefined
}

/**
 * An entry of the log: the messages that it takes, answers or cancels, its events, the started calls that may run again, and a state that
 * replaces everything before it, if there is one.
 */
export interface Entry {
  readonly events: ReadonlyArray<EventJson.Stored>
  readonly repeatable?: ReadonlyArray<string> | undefined
  readonly taken?: string | undefined
  readonly answered?: string | undefined
  readonly cancelled?: string | undefined
  readonly state?: AgentState | undefined
}

/** Begins a conversation with a state. */
export const begin = (state: AgentState): Kept => ({
  state,
  underway: Underway.nothing,
  repeatable: new Set(),
  unknown: [],
  message: undefined,
  cancelled: new Set(),
  events: 0,
  last: undefined
})

const isInterrupted = (event: EventJson.Stored): event is Extract<AgentEvent, { readonly _tag: "ToolCallSettled" }> =>
  event._tag === "ToolCallSettled" && event.outcome === "Interrupted"

const without = <A>(set: ReadonlySet<A>, value: A): ReadonlySet<A> => {
  if (!set.has(value)) return set
  const others = new Set(set)
  others.delete(value)
  return others
}

/** Adds an event, without the state that it leads to. */
const takeEvent = (self: Kept, event: AgentEvent): Kept => {
  const { at, run, sequence } = event
  const start = Underway.startOf(self.underway, event)
  const ended = start?._tag === "ToolCallStarted" ? start : undefined
  const unknown = ended !== undefined && isInterrupted(event) && !self.repeatable.has(ended.callId)
    ? [...self.unknown, { callId: ended.callId, name: ended.name, path: ended.path }]
    : self.unknown
  return {
    ...self,
    underway: Underway.reduce(self.underway, event),
    repeatable: ended === undefined ? self.repeatable : without(self.repeatable, ended.callId),
    unknown,
    events: self.events + 1,
    last: { run, sequence, at }
  }
}

/** Adds an entry. `state` is the state that it leads to, if that is known already. */
export const take = (self: Kept, entry: Entry, state?: AgentState): Kept => {
  const { answered, cancelled, events, repeatable = [], taken } = entry
  let kept: Kept = entry.state === undefined
    ? self
    : { ...self, state: entry.state, underway: Underway.nothing, repeatable: new Set() }
  if (taken !== undefined) kept = { ...kept, message: taken, unknown: [] }
  if (repeatable.length > 0) kept = { ...kept, repeatable: new Set([...kept.repeatable, ...repeatable]) }
  if (cancelled !== undefined) kept = { ...kept, cancelled: new Set(kept.cancelled).add(cancelled) }
  // The events that end a run have no state here, and nothing here reads it.
  kept = events.reduce((kept, event) => takeEvent(kept, event as AgentEvent), kept)
  if (state === undefined) kept = { ...kept, state: events.reduce(EventJson.reduce, kept.state) }
  else kept = { ...kept, state }
  if (answered === undefined) return kept
  const message = kept.message === answered ? undefined : kept.message
  return { ...kept, message, cancelled: without(kept.cancelled, answered) }
}

/** Returns the calls that were started, aren't settled and may not run again. */
export const marks = ({ repeatable, underway }: Kept): ReadonlyArray<Underway.CallStart> =>
  Underway.places(underway).flatMap(({ running }) => running.filter(({ callId }) => !repeatable.has(callId)))

const Text = Schema.optionalKey(Schema.String)

const decoders = lazy(() => ({
  entry: Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({
    events: Schema.Unknown,
    repeatable: Schema.optionalKey(Schema.Array(Schema.String)),
    taken: Text,
    answered: Text,
    cancelled: Text,
    state: Schema.optionalKey(Schema.Unknown)
  }))),
  kept: Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({
    state: Schema.Unknown,
    starts: Schema.Unknown,
    repeatable: Schema.Array(Schema.String),
    unknown: Schema.Array(UnknownCall),
    message: Text,
    cancelled: Schema.Array(Schema.String),
    events: Schema.Int,
    last: Schema.optionalKey(Last)
  })))
}))

const messageOf = (error: { readonly message: string }): string => error.message

/** Encodes an entry. */
export const entryToText = ({ events, state, ...entry }: Entry): string =>
  JSON.stringify({
    ...entry,
    // The codec leaves out the state of an event that ends a run.
    events: EventJson.toJson(events as ReadonlyArray<AgentEvent>),
    ...(state === undefined ? undefined : { state: StateJson.toJson(state) })
  })

/** Decodes an entry. Fails with what is wrong in it. */
export const entryFromText = (text: string): Result.Result<Entry, string> =>
  Result.gen(function*() {
    const { events, state, ...entry } = yield* Result.mapError(decoders().entry(text), messageOf)
    return {
      ...entry,
      events: yield* EventJson.fromJson(events),
      ...(state === undefined ? undefined : { state: yield* Result.mapError(StateJson.fromJson(state), messageOf) })
    }
  })

/** Encodes a snapshot. It holds what is under way as the start events, oldest first. `states` writes the states of one conversation. */
export const toText = (
  { cancelled, repeatable, state, underway, ...kept }: Kept,
  states: TextWriter
): string => {
  const starts = Underway.places(underway).flatMap(Underway.startsIn)
  const others = JSON.stringify({
    ...kept,
    starts: EventJson.toJson(starts.sort((one, other) => one.sequence - other.sequence)),
    repeatable: [...repeatable],
    cancelled: [...cancelled]
  })
  return `{"state":${states.write(state)},${others.slice(1)}`
}

/** Decodes a snapshot. Fails with what is wrong in it. */
export const fromText = (text: string): Result.Result<Kept, string> =>
  Result.gen(function*() {
    const { cancelled, last, message, repeatable, starts, state, ...kept } = yield* Result.mapError(
      decoders().kept(text),
      messageOf
    )
    const events = yield* EventJson.fromJson(starts)
    return {
      ...kept,
      message,
      last,
      state: yield* Result.mapError(StateJson.fromJson(state), messageOf),
      underway: events.reduce((underway, event) => Underway.reduce(underway, event as AgentEvent), Underway.nothing),
      repeatable: new Set(repeatable),
      cancelled: new Set(cancelled)
    }
  })
