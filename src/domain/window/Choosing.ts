/**
 * Choosing which turns a model is sent, as functions from turns to turns.
 *
 * Each keeps the turns that must stay, splits no turn, and returns some of its turns in their order. Only `withoutResults` replaces turns
 * by shorter ones, and a user's own function may return any turns.
 *
 * @since 0.1.0
 */
import { memoize } from "effect/Function"
import { withUniqueIds } from "../CallIds.ts"
import { isSilent } from "../conversation/Sending.ts"
import { callIds, settleOpenCalls } from "../conversation/Turns.ts"
import { counted } from "../Described.ts"
import type { Assistant, Turn } from "../StateSchema.ts"
import * as Wanted from "../Wanted.ts"
import { hasRoom, type Room, tokensIn, type WindowTurn } from "./WindowTurn.ts"

/** Chooses which turns are sent; `tokens` is the sum of all turns' tokens. */
export type Choose = (turns: ReadonlyArray<WindowTurn>, room: Room, tokens: number) => ReadonlyArray<WindowTurn>

/** How much has to go: at least the excess, rounded up to whole steps. */
const surplusOf = (used: number, limit: number, atOnce: number): number =>
  !(used > limit) ? 0 : atOnce > 0 ? Math.ceil((used - limit) / atOnce) * atOnce : used - limit

/** Counts down how much still has to go. */
class Surplus {
  tokens: number
  turns: number
  constructor(turns: ReadonlyArray<WindowTurn>, room: Room, tokens: number) {
    this.tokens = surplusOf(tokens, room.tokens, room.atOnce.tokens)
    this.turns = surplusOf(turns.length, room.turns, room.atOnce.turns)
  }
  get isLeft(): boolean {
    return this.tokens > 0 || this.turns > 0
  }
  drop({ tokens }: WindowTurn): void {
    this.tokens -= tokens
    this.turns--
  }
}

/** Leaves out the oldest turns that may be left out, but spares the first `spared` of these. */
const dropOldest = (turns: ReadonlyArray<WindowTurn>, surplus: Surplus, spared: number): ReadonlyArray<WindowTurn> => {
  if (!surplus.isLeft) return turns
  const kept: Array<WindowTurn> = []
  let at = 0
  for (let free = 0; at < turns.length && surplus.isLeft; at++) {
    const each = turns[at]!
    if (each.stays === undefined && ++free > spared) surplus.drop(each)
    else kept.push(each)
  }
  return kept.length === 0 ? turns.slice(at) : kept.concat(turns.slice(at))
}

/** Leaves out the oldest turns, as many as have to go. */
export const oldestFirst: Choose = (turns, room, tokens) => dropOldest(turns, new Surplus(turns, room, tokens), 0)

/** Leaves out turns in the middle: the first turns get at most half of the room, the last turns the rest. */
export const middleOut: Choose = (turns, room, tokens) => {
  const free = turns.filter(({ stays }) => stays === undefined)
  const half = {
    tokens: (room.tokens - tokens + tokensIn(free)) / 2,
    turns: (room.turns - turns.length + free.length) / 2
  }
  let head = 0
  for (let used = 0; head < free.length && head + 1 <= half.turns; head++) {
    used += free[head]!.tokens
    if (used > half.tokens) break
  }
  return dropOldest(turns, new Surplus(turns, room, tokens), head)
}

/** Keeps the last `count` turns. */
export const recentTurns = (count: number): Choose => (turns) =>
  turns.length <= count
    ? turns
    : turns.filter(({ stays }, at) => stays !== undefined || at >= turns.length - count)

/** The marker for a result that is left out. */
const resultMarker = "[This result was left out to save room.]"

/** Returns a turn without the results of its calls. Calls that a provider ran stay as they are. */
const withoutResult = memoize((turn: Assistant): Turn => ({
  ...turn,
  parts: turn.parts.map((part) => {
    if (part._tag !== "Call" || part.state._tag !== "Settled" || part.providerExecuted === true) return part
    const { modelOutput: _, ...state } = part.state
    return { ...part, state: { ...state, result: resultMarker } }
  })
}))

/** Replaces results of calls by a marker if that is shorter, in the oldest turns first. */
export const withoutResults: Choose = (turns, room, tokens) => {
  const surplus = new Surplus(turns, room, tokens)
  if (!(surplus.tokens > 0)) return turns
  return turns.map((each): WindowTurn => {
    if (surplus.tokens <= 0 || each.stays !== undefined || each.turn._tag !== "Assistant") return each
    const turn = withoutResult(each.turn)
    const tokens = room.count(turn)
    if (tokens >= each.tokens) return each
    surplus.tokens -= each.tokens - tokens
    return { turn, index: each.index, tokens, stays: undefined }
  })
}

/** Puts back the turns that must stay, each before the first turn that was said after it. */
const putBack = (
  chosen: ReadonlyArray<WindowTurn>,
  turns: ReadonlyArray<WindowTurn>
): ReadonlyArray<WindowTurn> => {
  const taken = new Set(chosen)
  const all = [...chosen]
  for (const each of turns) {
    if (each.stays === undefined || taken.has(each)) continue
    const at = all.findIndex(({ index }) => index > each.index)
    all.splice(at < 0 ? all.length : at, 0, each)
  }
  return all
}

/** Makes the turns legal that a program's function made: settles their calls, and gives the calls unique ids. */
const legal = (chosen: ReadonlyArray<WindowTurn>, { count }: Room): ReadonlyArray<WindowTurn> => {
  const taken = new Set(callIds({ turns: chosen.flatMap(({ index, turn }) => index < 0 ? [] : [turn]) }))
  return chosen.map((each): WindowTurn => {
    if (each.index >= 0 || each.turn._tag !== "Assistant") return each
    const own = { ...each.turn, parts: withUniqueIds(each.turn.parts, taken) }
    const turn = settleOpenCalls({ turns: [own] }).turns[0] ?? own
    return { ...each, turn, tokens: count(turn) }
  })
}

const made = (turn: Turn, { count }: Room): WindowTurn => ({ turn, index: -1, tokens: count(turn), stays: undefined })

/**
 * Chooses by any function of turns. Turns that must stay are put back, repeated turns are dropped, and turns that the function made are
 * made legal.
 */
export const byFunction =
  (f: (turns: ReadonlyArray<WindowTurn>, room: Room) => ReadonlyArray<Turn>): Choose => (turns, room) => {
    const known = new Map(turns.map((each) => [each.turn, each]))
    const chosen = Array.from(
      new Set(f(turns, room)),
      (turn): WindowTurn => known.get(turn) ?? made(Wanted.turn("The strategy of a context window", turn), room)
    )
    return legal(putBack(chosen, turns), room)
  }

/** The note that says how many turns were left out, sent if the rest would begin with an answer. */
const noteOf = (left: number, { count }: Room): WindowTurn => {
  const turn: Turn = { _tag: "Feedback", text: `[${counted(left, "earlier turn")} left out]` }
  return { turn, index: -1, tokens: count(turn), stays: "Open" }
}

/**
 * Makes turns begin as providers require, if the first turns were left out: it also leaves out answers whose questions were left out, and
 * puts a note before an answer that must stay.
 */
const begin = (
  chosen: ReadonlyArray<WindowTurn>,
  turns: ReadonlyArray<WindowTurn>,
  room: Room
): { readonly kept: ReadonlyArray<WindowTurn>; readonly note: WindowTurn | undefined } => {
  if (chosen[0] === turns[0]) return { kept: chosen, note: undefined }
  const silent: Array<WindowTurn> = []
  let at = 0
  for (; at < chosen.length; at++) {
    const each = chosen[at]!
    if (isSilent(each.turn)) silent.push(each)
    else if (each.turn._tag !== "Assistant" || each.stays !== undefined) break
  }
  const kept = at === 0 ? chosen : silent.concat(chosen.slice(at))
  return {
    kept,
    note: chosen[at]?.turn._tag === "Assistant" ? noteOf(turns.length - kept.length, room) : undefined
  }
}

/** The turns that are sent, and how many tokens they count for. */
export interface SentTurns {
  readonly sent: ReadonlyArray<WindowTurn>
  readonly tokens: number
  readonly hasRoom: boolean
}

/**
 * Returns which of the chosen turns are sent: they begin as providers require and fit into the room, without the oldest if necessary. If
 * nothing fits, the turns that must stay are sent.
 */
export const fit = (
  chosen: ReadonlyArray<WindowTurn>,
  turns: ReadonlyArray<WindowTurn>,
  room: Room,
  tokens: number
): SentTurns => {
  let reserved: WindowTurn | undefined
  for (let isFirst = true;; isFirst = false) {
    const narrowed = reserved === undefined
      ? room
      : { ...room, tokens: room.tokens - reserved.tokens, turns: room.turns - 1 }
    const { kept, note } = begin(isFirst ? chosen : oldestFirst(chosen, narrowed, tokens), turns, room)
    const sent = note === undefined ? kept : [note, ...kept]
    const used = sent === chosen ? tokens : tokensIn(sent)
    const isIn = hasRoom(sent, used, room)
    if (isIn || (!isFirst && (note === undefined || note.tokens <= (reserved?.tokens ?? -1)))) {
      return { sent, tokens: used, hasRoom: isIn }
    }
    reserved = note ?? reserved
  }
}
