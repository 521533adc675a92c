/**
 * What happened, before it has its place and time.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "./AgentEvent.ts"

/** The fields of an event that recording it fills in: its run, where and when it happened, and its number. */
export type Envelope = Pick<AgentEvent, "run" | "path" | "calls" | "step" | "sequence" | "at">

type OmitEnvelope<Event> = Event extends AgentEvent ? Omit<Event, keyof Envelope> : never

/** What happened, before it has its place and time. */
export type Happening = OmitEnvelope<AgentEvent>

/** How a call ended, before its event is recorded. */
export type Settlement = Omit<Extract<Happening, { readonly _tag: "ToolCallSettled" }>, "_tag">

/** Makes the event of what happened. */
export const toEvent = (happening: Happening, { at, calls, path, run, sequence, step }: Envelope): AgentEvent =>
  ({
    _tag: happening._tag,
    run,
    path,
    calls,
    step,
    sequence,
    at,
    // The spread is last: it is of objects of many shapes, and before the other fields it would take ten times as long.
    ...(happening as Omit<Happening, "_tag">)
    // TypeScript doesn't see that the fields of a happening and its envelope are those of the event with its tag.
  }) as AgentEvent
