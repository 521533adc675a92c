/**
 * What happened, before it has its place and time.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "./AgentEvent.ts"

/** Fields that recording an event fills in: whose it is, where it happened, when, and its number. */
type Envelope = "run" | "path" | "calls" | "step" | "sequence" | "at"

type OmitEnvelope<Event> = Event extends AgentEvent ? Omit<Event, Envelope> : never

/** What happened, before it has its place and time. */
export type Happening = OmitEnvelope<AgentEvent>

/** How a call ended, before its event is recorded. */
export type Settlement = Omit<Extract<Happening, { readonly _tag: "ToolCallSettled" }>, "_tag">
