/**
 * Choosing which turns a model is sent, as functions from turns to turns.
 *
 * Each keeps what stays, splits no turn, and gives a part of what it is given, in its order; only `withoutResults` puts shorter turns
 * in the place of others, and a function of a user's own any turns at all.
 *
 * @since 0.1.0
 */
import { memoize } from "effect/Function"
import { withUniqueIds } from "../CallIds.ts"
import { isSilent } from "../conversation/Sending.ts"
import { callIds, settleOpenCalls } from "../conversation/Turns.ts"
import type { Assistant, Turn } from "../StateSchema.ts"
import { hasRoom, type Room, tokensIn, type WindowTurn } from "./WindowTurn.ts"

/** Chooses which turns are sent, of turns that count for so many `tokens` together. */
export type Choose = (turns: ReadonlyArray<WindowTurn>, room: Room, tokens: number) => ReadonlyArray<WindowTurn>

/** How much of something has to go: at least what is too much, in whole steps. */
const surplusOf = (used: number, limit: number, atOnce: number): number =>
  !(used > limit) ? 0 : atOnce > 0 ? Math.ceil((used - limit) / atOnce) * atOnce : used - limit

/** Counts down what has to go. */
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

/** Leaves out the oldest turns, behind the first `spared` that could go. */
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

/** Leaves out turns in the middle: the first keep half of the room at most, the last the rest. */
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

/** What stands in the place of a result that is left out. */
const resultMarker = "[This result was left out to save room.]"

/** Gives a turn without the results of its calls. What a provider ran itself stays as it is. */
const withoutResult = memoize((turn: Assistant): Turn => ({
  ...turn,
  parts: turn.parts.map((part) => {
    if (part._tag !== "Call" || part.state._tag !== "Settled" || part.providerExecuted === true) return part
    const { modelOutput: _, ...state } = part.state
    return { ...part, state: { ...state, result: resultMarker } }
  })
}))

/** Puts a marker in the place of the results of calls, in the oldest turns first, as far as that makes them shorter. */
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

/** Puts turns back that stay, each before the first that was said after it. */
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

/** Makes turns legal that somebody made: their calls are settled, under ids that no other has. */
const legal = (chosen: ReadonlyArray<WindowTurn>, { count }: Room): ReadonlyArray<WindowTurn> => {
  const taken = new Set(callIds({ turns: chosen.flatMap(({ index, turn }) => index < 0 ? [] : [turn]) }))
  return chosen.map((each): WindowTurn => {
    if (each.index >= 0 || each.turn._tag !== "Assistant") return each
    const own = { ...each.turn, parts: withUniqueIds(each.turn.parts, taken) }
    const turn = settleOpenCalls({ turns: [own] }).turns[0] ?? own
    return { ...each, turn, tokens: count(turn) }
  })
}

/**
 * Chooses by any function of turns. What it leaves out and stays is put back, each turn comes once, and turns that it makes are made
 * legal.
 */
export const byFunction =
  (f: (turns: ReadonlyArray<WindowTurn>, room: Room) => ReadonlyArray<Turn>): Choose => (turns, room) => {
    const known = new Map(turns.map((each) => [each.turn, each]))
    const chosen = Array.from(
      new Set(f(turns, room)),
      (turn): WindowTurn => known.get(turn) ?? { turn, index: -1, tokens: room.count(turn), stays: undefined }
    )
    return legal(putBack(chosen, turns), room)
  }

/** Says how many turns were left out, where what is sent would begin with an answer. */
const noteOf = (left: number, { count }: Room): WindowTurn => {
  const turn: Turn = { _tag: "Feedback", text: `[${left === 1 ? "1 earlier turn" : `${left} earlier turns`} left out]` }
  return { turn, index: -1, tokens: count(turn), stays: "Open" }
}

/**
 * Gives turns a beginning that providers take, where another turn was the first: answers to questions that were left out go too,
 * and before one that stays stands a note.
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

/** What is sent, and what it counts for. */
export interface Sent {
  readonly sent: ReadonlyArray<WindowTurn>
  readonly tokens: number
  readonly hasRoom: boolean
}

/**
 * Gives what is sent of turns that were chosen: what begins as providers take it and has room, the oldest left out where that is
 * needed. Where it has none, it is what stays.
 */
export const fit = (
  chosen: ReadonlyArray<WindowTurn>,
  turns: ReadonlyArray<WindowTurn>,
  room: Room,
  tokens: number
): Sent => {
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
