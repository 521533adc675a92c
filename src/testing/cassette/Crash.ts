/**
 * What runs beside a call that crashes: the other calls of its turn, and the requests and calls of the agents that answer them.
 *
 * A crash ends what runs beside it. If a tape has the end of such a request or call after the crash, the end came too late for the run. So
 * in a replay the request or call never ends. A log needs no such change: it has only what the run was given.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import type { Asking, Entries, ModelEntry, ToolEntry } from "./Entry.ts"

type Entry = ModelEntry | ToolEntry

const isWithin = (inner: Asking, outer: Asking): boolean =>
  Equal.equals(inner.path.slice(0, outer.path.length), outer.path) &&
  Equal.equals(inner.calls.slice(0, outer.calls.length), outer.calls)

/** Returns the ids of all calls of a call's turn. */
const turnOf = ({ models }: Entries, call: ToolEntry): ReadonlySet<string> => {
  const idsIn = ({ answer }: ModelEntry): ReadonlyArray<string> =>
    answer._tag === "ModelResponded" ? answer.parts.flatMap((part) => part._tag === "Call" ? [part.id] : []) : []
  const turn = models.findLast((entry) =>
    entry.at < call.at && entry.calls.length === call.calls.length && isWithin(entry, call) &&
    idsIn(entry).includes(call.callId)
  )
  return new Set(turn === undefined ? [] : idsIn(turn))
}

/** Returns the requests and calls that ran at the same time as a call. */
export const beside = (entries: Entries, call: ToolEntry): ReadonlyArray<Entry> => {
  const turn = turnOf(entries, call)
  const depth = call.calls.length
  return [...entries.models, ...entries.tools].filter((entry) =>
    entry !== call && isWithin(entry, call) &&
    (entry.calls.length > depth ? turn.has(entry.calls[depth]!) : "callId" in entry && turn.has(entry.callId))
  )
}

/** Removes from a tape the ends of requests and calls that a crash had already ended. */
export const cutOff = (entries: Entries): Entries => {
  if (!entries.isTape) return entries
  const late = new Set(
    entries.tools.flatMap((call) =>
      call.outcome._tag === "Died" ? beside(entries, call).filter(({ at }) => at > call.at) : []
    )
  )
  return late.size === 0 ? entries : {
    isTape: true,
    models: entries.models.map((entry) => late.has(entry) ? { ...entry, answer: { _tag: "Hangs", heard: [] } } : entry),
    tools: entries.tools.map((entry) => late.has(entry) ? { ...entry, outcome: { _tag: "Hangs" } } : entry)
  }
}
