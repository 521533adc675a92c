/**
 * The events that are missing in a log whose writer died: the ends of what was under way.
 *
 * 1. A started call that may not run again is settled as interrupted: whether it took effect is unknown.
 * 2. A call that may run again, or that wasn't started, stays open, unless its message was cancelled.
 * 3. The run is interrupted at the time of its last event, and can be continued.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import { at as stateAt } from "../domain/Delegated.ts"
import { type Happening, toEvent } from "../domain/Happening.ts"
import { reduceAt } from "../domain/Reducer.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import * as Underway from "../domain/Underway.ts"
import type * as Kept from "./Kept.ts"

/** The result that the model reads for a call whose effect is unknown. */
const unknown = (name: string): string =>
  `The process that ran "${name}" ended before it had a result: whether it took effect is unknown.`

const cancelled = "The run was cancelled before this had a result."

/** The ends of started calls that may run again: they are suspended. */
const suspensions = (repeated: ReadonlyArray<Underway.CallStart>): ReadonlyArray<Happening> =>
  repeated.map(({ callId, name }) => ({ _tag: "ToolCallSuspended", callId, name }))

/** Returns the missing ends in one agent of the run. */
const endsIn = (kept: Kept.Kept, place: Underway.Place, state: AgentState, isCancelled: boolean, at: number) => {
  const own = stateAt(state, place.calls)
  if (own === undefined) return []
  const repeated = isCancelled ? [] : place.running.filter(({ callId }) => kept.repeatable.has(callId))
  const running = place.running.filter((start) => !repeated.includes(start))
  const isMarked = (callId: string) => running.some((start) => start.callId === callId && !kept.repeatable.has(callId))
  const why: Underway.Why = {
    tag: "Interrupted",
    message: cancelled,
    ...(isCancelled ? undefined : { keepsOpen: true as const })
  }
  const closing = Underway.closing({ ...place, running }, own, Underway.nothingFinished, why, at)
  return [...suspensions(repeated), ...closing].map((happening): Happening =>
    happening._tag === "ToolCallSettled" && isMarked(happening.callId)
      ? { ...happening, result: unknown(happening.name) }
      : happening
  )
}

/** Returns the missing events, those of called agents before those of their callers. */
export const missing = (kept: Kept.Kept): ReadonlyArray<AgentEvent> => {
  const { last, message, underway } = kept
  if (last === undefined) return []
  const isCancelled = message !== undefined && kept.cancelled.has(message)
  const places = Underway.places(underway).toSorted((one, other) => other.calls.length - one.calls.length)
  const { at, run } = last
  let { sequence } = last
  let state = kept.state
  const events: Array<AgentEvent> = []
  for (const place of places) {
    const first = Underway.startsIn(place).at(-1)
    const before = stateAt(state, place.calls)
    if (first === undefined || before === undefined) continue
    const step = place.step ?? first.step
    const path = Arr.append(first.path.slice(0, -1), before.agent)
    const tell = (happening: Happening) => {
      const { calls } = place
      const event = toEvent(happening, { run, path, calls, step, sequence: ++sequence, at })
      state = reduceAt(state, event, 0)
      events.push(event)
    }
    for (const happening of endsIn(kept, place, state, isCancelled, at)) tell(happening)
    const own = stateAt(state, place.calls)
    if (own !== undefined && Underway.latest(place, "RunStarted") !== undefined) {
      tell({ _tag: "RunInterrupted", state: own })
    }
  }
  return events
}
