/**
 * The messages of a conversation, kept from request to request, and in a session from run to run, so that a step's cost depends only on its
 * new turns.
 *
 * The cache is compared with the conversation by the identity of turns, so it needs no invalidation when turns change.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import { beginWithUser, toMessages } from "../../../domain/Projection.ts"
import type { AgentState, Received, Turn } from "../../../domain/StateSchema.ts"
import { handedNote, isToldIn } from "../../../domain/Takeover.ts"
import { Projection } from "../../../model/Projection.ts"
import { type Loop, Slot } from "../../journal/Loop.ts"
import type { Entries } from "../window/WindowTurns.ts"
import { ByFirstTurn, held, type Kept, most } from "./KnownCaches.ts"
import * as LatestCaches from "./LatestCaches.ts"

/** How many turns make a small conversation. */
const few = 8

/** The turns whose messages are cached, and whether one of them tells the model what was handed over. */
interface Read {
  readonly turns: ReadonlyArray<Turn>
  readonly handoff: Received | undefined
  readonly isTold: boolean
}

const nothing: Read = { turns: [], handoff: undefined, isTold: false }

const noSystem = Prompt.makeMessage("system", { content: "" })

/** Checks whether one of the turns from `from` on says what was handed over. It looks at the last turn first. */
const isTold = (turns: ReadonlyArray<Turn>, from: number, handoff: Received): boolean => {
  for (let at = turns.length - 1; at >= from; at--) if (isToldIn(turns[at]!, handoff)) return true
  return false
}

/** The messages of the turns so far; `starts` says where the messages of each turn begin. */
export class PromptCache {
  readonly all: Projection
  starts: Array<number>
  /** The turns in the form of the agent's context window. */
  entries: Entries | undefined = undefined
  #read = nothing
  #system = noSystem
  /** The messages with an opening before them, if the first of them isn't a user's. */
  #opened: Projection | undefined = undefined

  constructor(all = new Projection(), starts: Array<number> = [], turns: ReadonlyArray<Turn> = []) {
    this.all = all
    this.starts = starts
    if (turns.length > 0) this.#read = { ...nothing, turns }
  }

  /** Counts the first turns that a conversation shares with the cached ones. */
  countCommon(turns: ReadonlyArray<Turn>): number {
    const { turns: known } = this.#read
    const most = Math.min(known.length, turns.length)
    let at = 0
    while (at < most && known[at] === turns[at]) at++
    return at
  }

  /** Returns a cache of the first turns, for another conversation that begins with them. */
  fork(count: number): PromptCache {
    const { turns } = this.#read
    return new PromptCache(
      this.all.fork(this.starts[count] ?? this.all.messages.length),
      this.starts.slice(0, count),
      turns.slice(0, count)
    )
  }

  /** Checks whether this is too large to be kept with a state that isn't running. */
  get isLarge(): boolean {
    return this.starts.length > few
  }

  /** Checks whether a conversation begins with the cached turns. */
  fits(turns: ReadonlyArray<Turn>): boolean {
    const { turns: known } = this.#read
    if (turns === known) return true
    for (let at = 0; at < known.length; at++) if (known[at] !== turns[at]) return false
    return true
  }

  /** Adds the turns that are new. */
  extend({ conversation: { turns }, handoff }: AgentState): void {
    const known = this.#read
    for (let at = known.turns.length; at < turns.length; at++) {
      const { length } = this.all.messages
      // A push onto an empty array makes room for 16 more, as in `Projection`.
      if (at === 0) this.starts = [length]
      else this.starts.push(length)
      this.all.add(toMessages(turns[at]!))
    }
    // Each turn is searched once for what was handed over.
    const isSame = handoff === known.handoff
    const isRead = handoff !== undefined &&
      (isSame && known.isTold || isTold(turns, isSame ? known.turns.length : 0, handoff))
    this.#read = { turns, handoff, isTold: isRead }
  }

  /** Returns what the agent in control was handed, if no turn says it. */
  handed(state: AgentState): string | undefined {
    return this.#read.isTold ? undefined : handedNote(state)
  }

  /** The messages of the whole conversation, as they are sent. */
  get projection(): Projection {
    const { messages } = this.all
    if (messages[0]?.role === "user") return this.all
    const opened = this.#opened
    if (opened === undefined || messages.length === 0) {
      return this.#opened = new Projection([...beginWithUser(messages)])
    }
    opened.add(messages.slice(opened.messages.length - 1))
    return opened
  }

  /** Returns the system message, if it has text: a new one if the text has changed, or if other messages follow it (`isOther`). */
  system(content: string, isOther = false): Prompt.SystemMessage | undefined {
    if (content === "") return undefined
    if (isOther || this.#system.content !== content) this.#system = Prompt.makeMessage("system", { content })
    return this.#system
  }
}

const caches = new Slot<Kept<PromptCache>>()

/**
 * Extends the cache that shares the most turns with a conversation, so that a run that continues a conversation, or a part of it, makes no
 * message twice.
 */
const forkOf = (turns: ReadonlyArray<Turn>): PromptCache => {
  const [first] = turns
  if (first === undefined) return new PromptCache()
  const alive = ByFirstTurn.of<PromptCache>(first).filter((kept) => held(kept) !== undefined)
  let best: PromptCache | undefined
  let common = 0
  for (const kept of alive) {
    const cache = held(kept)
    const count = cache?.countCommon(turns) ?? 0
    if (count <= common) continue
    best = cache
    common = count
  }
  const made = best?.fork(common) ?? new PromptCache()
  ByFirstTurn.set(first, [made, ...alive.slice(0, most - 1)])
  if (made.isLarge) ByFirstTurn.release(first, made)
  return made
}

/** Returns the cache of a loop's conversation, extended by its new turns. */
export const cacheFor = ({ live }: Loop, state: AgentState): PromptCache => {
  const { turns } = state.conversation
  const kept = caches.get(live)
  const before = kept === undefined ? undefined : held(kept)
  const cache = before?.fits(turns) === true ? before : forkOf(turns)
  if (cache !== kept) caches.set(live, cache)
  const wasLarge = cache.isLarge
  cache.extend(state)
  if (cache.isLarge && !wasLarge && turns[0] !== undefined) ByFirstTurn.release(turns[0], cache)
  return cache
}

/** Lets the cache of a session's conversation be referenced weakly until its next run, which makes it again if it was collected. */
export const rest = ({ live }: Loop): void => {
  // Most runs have no session, and nothing to look up.
  const kept = live.holder && caches.get(live)
  if (!(kept instanceof PromptCache) || !kept.isLarge) return
  const put = (weak: WeakRef<PromptCache> | undefined): void => {
    if (live.atWork === undefined && caches.get(live) === kept) caches.set(live, weak)
  }
  LatestCaches.use(live, { weaken: () => put(new WeakRef(kept)), drop: () => put(undefined) })
}
