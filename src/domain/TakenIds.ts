/**
 * The call ids that aren't given again in a state's life: somebody may still hold an answer to a call that is gone.
 *
 * 1. The ids in a state are taken: those of all its calls, of turns that a mode hides, and of the agents that answer open calls.
 * 2. A removed call leaves its id in `retired`. Calls are removed when the call of their agent is settled, when their turns don't cross a
 *    handoff, and when a mode or a fork drops them. Beyond 1,000, ids move from `retired` to `forgotten`, which always takes the same room.
 * 3. A call keeps its model's id if that was certainly never given. Otherwise a number is appended: the first free one if the id is known
 *    by name, as in `p-2`, or one above all numbers so far if the id may have been forgotten, as in `p-n7`.
 * 4. Which ids are taken depends on the state alone, and in a dialogue on the other participants' states too. So a run that stopped and
 *    continues gives the same ids as one that never stopped.
 *
 * @since 0.1.0
 */
import * as CallIds from "./CallIds.ts"
import { callIds, callsOf, lastAssistant } from "./conversation/Turns.ts"
import { at } from "./Delegated.ts"
import * as ForgottenIds from "./ForgottenIds.ts"
import type { AgentState, Turn } from "./StateSchema.ts"

const numbered = /-n(\d{1,15})$/

/** Returns the number that was appended to an id, or 0. */
const numberOf = (id: string): number => id.includes("-n") ? Number(numbered.exec(id)?.[1] ?? 0) : 0

/**
 * How far the number in a new id may be above the highest number so far. It may be above, because an event from elsewhere may have an id
 * that another state gave. Without a limit, a model could write an id with so high a number that no number is above it.
 */
const maxAhead = 1_000_000

/** Call ids that are known by name. */
class Named {
  readonly names = new Set<string>()
  /** The highest number in any of them. */
  last = 0
  add(id: string): void {
    this.names.add(id)
    this.last = Math.max(this.last, numberOf(id))
  }
}

/**
 * The ids of the calls in a conversation's settled turns, kept from run to run, so that a run reads only the turns that are new.
 *
 * It is compared with the turns by their identity, so it needs no invalidation when turns change.
 */
export class SettledIds {
  #turns: ReadonlyArray<Turn> = []
  #count = 0
  #ids = new Named()
  /** Reads the turns before a place. They are settled: nothing but an edit of the conversation changes them. */
  read(turns: ReadonlyArray<Turn>, upTo: number): Named {
    let isSame = this.#count <= upTo
    for (let at = 0; isSame && at < this.#count; at++) isSame = this.#turns[at] === turns[at]
    if (!isSame) {
      this.#ids = new Named()
      this.#count = 0
    }
    for (const id of callIds({ turns: turns.slice(this.#count, upTo) })) this.#ids.add(id)
    this.#turns = turns
    this.#count = upTo
    return this.#ids
  }
}

/** Ids that no call may be given any more: those that are known by name, and those that may have been forgotten. */
export class TakenIds extends Named implements CallIds.Taken {
  forgotten: ForgottenIds.Bits | undefined = undefined
  /** The ids in turns that were settled before, if somebody keeps those. */
  settled: Named | undefined = undefined
  /** The ids that are known by name, here and in `settled`. */
  readonly #named = { has: (id: string): boolean => this.names.has(id) || this.settled?.names.has(id) === true }
  has(id: string): boolean {
    if (this.#named.has(id)) return true
    const number = numberOf(id)
    if (number > 0) return number <= this.last || number > this.last + maxAhead
    return this.forgotten !== undefined && ForgottenIds.mayHave(this.forgotten, id)
  }
  another(id: string): string {
    const next = this.#named.has(id) ? CallIds.counted(this.#named, id) : undefined
    return next === undefined || this.has(next) ? `${id}-n${this.last + 1}` : next
  }
  addForgotten(ids: ForgottenIds.ForgottenIds): void {
    this.forgotten = ForgottenIds.read(ids, this.forgotten)
    this.last = Math.max(this.last, ids.last)
  }
}

/** Returns the ids that no call may be given any more. `settled` keeps those of settled turns for the next time. */
export const of = (state: AgentState, into: TakenIds = new TakenIds(), settled?: SettledIds): TakenIds => {
  const { conversation: { turns }, modes } = state
  const from = settled === undefined ? 0 : Math.max(0, turns.findLastIndex(({ _tag }) => _tag === "Assistant"))
  if (settled !== undefined) {
    into.settled = settled.read(turns, from)
    into.last = Math.max(into.last, into.settled.last)
  }
  for (const id of callIds({ turns: from === 0 ? turns : turns.slice(from) })) into.add(id)
  for (const { view } of modes) {
    if (view !== undefined) {
      for (const id of callIds({ turns: view.hidden })) into.add(id)
    }
  }
  for (const id of state.retired ?? []) into.add(id)
  for (const id of state.retiredBefore ?? []) into.add(id)
  if (state.forgotten !== undefined) into.addForgotten(state.forgotten)
  const turn = lastAssistant(state.conversation)
  for (const call of turn === undefined ? [] : callsOf(turn)) {
    if (call.state._tag === "Delegated") of(call.state.child, into)
  }
  return into
}

/** How many ids `retired` holds at most: each save holds them all. */
const maxRetired = 1000

/** Keeps ids of calls that are gone from a state, in one order, whichever of two agents ended first. */
export const retire = (
  self: AgentState,
  gone: ReadonlyArray<string>,
  forgotten?: ForgottenIds.Bits,
  last = 0
): AgentState => {
  if (gone.length === 0 && forgotten === undefined) return self
  const { forgotten: before, retired: known = [], retiredBefore = [], ...rest } = self
  const all = [...retiredBefore, ...known, ...gone]
  const retired = (all.length <= maxRetired ? all : gone.slice(0, maxRetired)).sort()
  const named = { ...rest, ...(retired.length === 0 ? undefined : { retired }) }
  const left = all.length <= maxRetired ? [] : [...retiredBefore, ...known, ...gone.slice(maxRetired)]
  if (left.length === 0 && forgotten === undefined) {
    return before === undefined
      ? named
      : { ...named, forgotten: before }
  }
  const bits = before === undefined ? forgotten : ForgottenIds.read(before, forgotten)
  const highest = left.reduce((highest, id) => Math.max(highest, numberOf(id)), Math.max(last, before?.last ?? 0))
  return { ...named, forgotten: ForgottenIds.forget(bits, left, highest) }
}

/** Keeps all ids of an agent that was called from a state: its calls are gone. */
export const retireAll = (self: AgentState, child: AgentState): AgentState => {
  const { forgotten, last, names } = of(child)
  return retire(self, [...names], forgotten, last)
}

/** Keeps the ids of the calls that a change removed from a state. */
export const keep = (before: AgentState, after: AgentState): AgentState => {
  if (after.conversation === before.conversation && before.modes.every(({ view }) => view === undefined)) return after
  const { names: still } = of(after)
  const { forgotten, last, names } = of(before)
  const gone = [...names].filter((id) => !still.has(id))
  return hasCalledForgotten(before) ? retire(after, gone, forgotten, last) : retire(after, gone)
}

/** Checks whether an agent that answers an open call has forgotten ids: it may be gone itself. */
const hasCalledForgotten = ({ conversation }: AgentState): boolean => {
  const turn = lastAssistant(conversation)
  return turn !== undefined &&
    callsOf(turn).some(({ state }) =>
      state._tag === "Delegated" && (state.child.forgotten !== undefined || hasCalledForgotten(state.child))
    )
}

/** Checks whether a state has forgotten ids that it knew by name, in an agent that calls lead to or in those above it. */
export const hasForgotten = (before: AgentState, after: AgentState, calls: ReadonlyArray<string>): boolean =>
  before.forgotten !== after.forgotten ||
  calls.some((_, index) => {
    const path = calls.slice(0, index + 1)
    return at(before, path)?.forgotten !== at(after, path)?.forgotten
  })
