/**
 * A conversation that is held here: under its lease, with a run under way or about to be.
 */
import { type Deferred, Effect } from "effect"
import { AgentEvent, AgentState } from "troupe"
import type { Change, Event } from "../api/Conversations.ts"
import type { Lease } from "../store/Store.ts"
import { withChange } from "./changes.ts"
import { titleAfter } from "./title.ts"
import type { Turn, Turns } from "./Turns.ts"

/** What is known here of a conversation while it is held. */
export interface Held {
  readonly tenant: string
  /** The state, what guardrails changed in it, and its last event's number, which change in one step; none before the first event. */
  seen:
    | { readonly state: AgentState.AgentState; readonly changes: ReadonlyArray<Change>; readonly cursor: number }
    | undefined
  /** Ends when a run begins. What is held without one is so for a moment. */
  readonly begun: Deferred.Deferred<void>
  /** Whether the run has ended, so that only its lease is still to be released. */
  isOver: boolean
  /** Whether somebody stopped the run, so that nobody goes on with it. */
  isCancelled: boolean
}

/** Leaves the state out that ends of runs have: it is the conversation's. */
const told = (event: AgentEvent.AgentEvent): Event => {
  if (!("state" in event)) return event
  const { state: _, ...rest } = event
  return rest
}

/** What nobody may hear of that could be lost: that a call has its result, or that somebody decided about it. */
const toldAfterSave: ReadonlySet<AgentEvent.AgentEvent["_tag"]> = new Set([
  "ToolCallSettled",
  "CallApproved",
  "CallDenied"
])

/**
 * Sees the events of a run that goes on from `state`: logs each one and folds it, in one step. The end of a run takes the
 * conversation out of flight in the same save as the state that it left. A run that was broken off stays in flight.
 *
 * That a call has its result is told when that is saved: a call whose result was told never runs again. A conversation that
 * isn't `isTitled` gets its title with the save of its first words. Before each step the run waits for its turn.
 */
export const observer = (
  held: Held,
  lease: Lease,
  turns: Turns,
  state: AgentState.AgentState,
  before: ReadonlyArray<Change>,
  isTitled: boolean
) => {
  let folded = state
  let changes = before
  let turn: Turn | undefined
  // Nothing interrupts an observer, so that a run which waits is let go of here: it ends at once, and tells its end.
  const take = Effect.exit(Effect.interruptible(Effect.map(turns.take, (begun) => {
    turn = begun
  })))
  return (event: AgentEvent.AgentEvent): Effect.Effect<void> =>
    Effect.suspend(() => {
      const isEnd = AgentEvent.isRunEnd(event)
      const awaitsSave = toldAfterSave.has(event._tag)
      const { number } = lease.log(told(event), awaitsSave ? "afterSave" : undefined)
      const after = AgentState.reduce(folded, event)
      const title = titleAfter(event, folded, after, isTitled)
      if (title !== undefined) lease.mark({ title })
      folded = after
      const changed = withChange(changes, event)
      if (changed !== changes) lease.mark({ changes: changed })
      changes = changed
      if (isEnd) lease.mark({ awaits: AgentState.pendingApprovals(folded).length > 0 })
      if (isEnd && (event._tag !== "RunInterrupted" || held.isCancelled)) lease.mark({ isInFlight: false })
      // The session shows the next event when the state with this one is saved.
      if (!awaitsSave) held.seen = { state: folded, changes, cursor: number }
      held.isOver ||= isEnd
      if (event.calls.length > 0) return Effect.void
      // Whoever wakes the run, at the end of a turn or at a timer, doesn't do its step for it.
      if (event._tag === "StepStarted") return Effect.andThen(take, Effect.yieldNow)
      if (event._tag === "StepCompleted" || isEnd) turn?.end()
      return Effect.void
    })
}
