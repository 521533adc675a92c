/**
 * The turns of a conversation in the form of a context window, kept from request to request, so that a step's cost depends only on its new
 * turns.
 *
 * @since 0.1.0
 */
import { memoize } from "effect/Function"
import { counted } from "../../../domain/Described.ts"
import type { Received, Turn } from "../../../domain/StateSchema.ts"
import { covers, type Summarized, weightOf } from "../../../domain/Summarized.ts"
import { isToldIn } from "../../../domain/Takeover.ts"
import { isOpen, openFrom, type Stays, type WindowTurn } from "../../../domain/window/WindowTurn.ts"
import type { Counter } from "./TokenCounter.ts"

/**
 * The limits of the correction by a provider's report. A factor below the lower limit would let too many tokens pass if a provider reports
 * too few.
 */
const ratios = { minimum: 0.5, maximum: 4 }

interface Entry extends WindowTurn {
  tokens: number
  stays: Stays | undefined
}

/** Returns the turn that is sent instead of those that a summary covers. */
const turnOf = memoize((summary: Summarized): Turn => {
  const of = weightOf(summary)
  return {
    _tag: "Summary",
    text: `[Summary of ${counted(of, "turn")} before this]\n${summary.text}`,
    of
  }
})

/** The turns of one conversation, for one agent. */
export class Entries {
  readonly agent: string
  readonly counter: Counter | undefined
  readonly all: Array<Entry> = []
  /** The tokens of all turns. */
  tokens = 0
  /** The turns that were sent last. */
  last: ReadonlyArray<WindowTurn> = []
  #ratio = 1
  #flagged: ReadonlyArray<Entry> = []
  readonly #pinned: Array<Entry> = []
  /** The turns of users, and of modes in their place. */
  readonly #asked: Array<Entry> = []

  constructor(agent: string, counter: Counter | undefined) {
    this.agent = agent
    this.counter = counter
  }

  /**
   * The factor that corrects estimates: the tokens that the provider reported for this agent's last request, divided by their estimate. It
   * is 1 if tokens are counted.
   */
  get ratio(): number {
    return this.counter?.by === "estimate" ? this.#ratio : 1
  }

  /** Adds new turns, and updates which ones must stay. `inputs` is how many of the user's last turns the run answers. */
  update(turns: ReadonlyArray<Turn>, inputs: number): void {
    for (let index = this.all.length; index < turns.length; index++) this.#add(turns[index]!, index)
    for (const entry of this.#flagged) entry.stays = entry.turn.pinned === true ? "Pinned" : undefined
    const flagged = this.all.slice(openFrom(turns)).filter(({ index, turn }) => isOpen(turn, index, turns.length))
    for (const entry of flagged) entry.stays = "Open"
    let left = Math.max(1, inputs)
    for (let at = this.#asked.length - 1; at >= 0 && left > 0; at--) {
      const entry = this.#asked[at]!
      const isLast = at === this.#asked.length - 1
      if (entry.turn._tag === "User" && entry.turn.mode === undefined) left--
      else if (!isLast) continue
      if (entry.stays === "Open") continue
      entry.stays = "Asked"
      flagged.push(entry)
    }
    this.#flagged = flagged
  }

  #add(turn: Turn, index: number): void {
    const tokens = this.counter?.turn(turn) ?? 0
    const entry: Entry = { turn, index, tokens, stays: turn.pinned === true ? "Pinned" : undefined }
    this.all.push(entry)
    this.tokens += tokens
    if (turn.pinned === true) this.#pinned.push(entry)
    if (turn._tag === "User") this.#asked.push(entry)
    if (turn._tag !== "Assistant" || turn.agent !== this.agent) return
    const { counted = 0, usage: { input = 0 } } = turn
    if (counted > 0 && input > 0) {
      this.#ratio = Math.min(ratios.maximum, Math.max(ratios.minimum, input / counted))
    }
  }

  /** Returns what is sent if there is room: all turns, or a summary and the turns that it doesn't cover. */
  base(summary: Summarized | undefined): ReadonlyArray<WindowTurn> {
    if (summary === undefined) return this.all
    const turn = turnOf(summary)
    const early = new Set([
      ...summary.except.map((index) => this.all[index]!),
      ...[...this.#pinned, ...this.#flagged].filter(({ index }) => index < summary.upTo)
    ])
    return [
      { turn, index: -1, tokens: this.counter?.turn(turn) ?? 0, stays: "Summary" },
      ...Array.from(early).sort((self, that) => self.index - that.index),
      ...this.all.slice(summary.upTo)
    ]
  }

  /** Checks whether a turn is sent unchanged. */
  isWhole(each: WindowTurn): boolean {
    return this.all[each.index] === each
  }

  /** Counts the last turns that are sent unchanged and without a gap, which are most of them. */
  tailOf(chosen: ReadonlyArray<WindowTurn>): number {
    const { all } = this
    let count = 0
    while (count < chosen.length && chosen[chosen.length - 1 - count] === all[all.length - 1 - count]) count++
    return count
  }

  /** Returns which turns a summary covers once more turns are summarized. */
  extend(summary: Summarized | undefined, goes: ReadonlyArray<WindowTurn>): Omit<Summarized, "text"> {
    const gone = new Set(goes.map(({ index }) => index))
    const upTo = goes.reduce((most, { index }) => Math.max(most, index + 1), summary?.upTo ?? 0)
    const except: Array<number> = []
    for (let index = 0; index < upTo; index++) {
      if (!gone.has(index) && (summary === undefined || !covers(summary, index))) except.push(index)
    }
    return { upTo, except }
  }

  /** Checks whether the turns that are sent say what was handed over. */
  isTold(handoff: Received, chosen: ReadonlyArray<WindowTurn>): boolean {
    return chosen === this.all || chosen.some(({ turn }) => isToldIn(turn, handoff))
  }
}
