/**
 * What was made of a conversation for requests, kept from one to the next, and in a session from one run to the next: a step costs what its
 * new turns do.
 *
 * What is kept is checked against the conversation by the identity of its turns, so nobody has to say when turns have changed.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import { beginWithUser, toMessages } from "../../../domain/Projection.ts"
import type { AgentState, Received, Turn } from "../../../domain/StateSchema.ts"
import { handedNote, isToldIn } from "../../../domain/Takeover.ts"
import { Projection } from "../../../model/Projection.ts"
import { type Loop, Slot } from "../../journal/Loop.ts"
import { ByFirstTurn, held, type Kept, most } from "./KnownCaches.ts"
import type { Entries } from "./WindowTurns.ts"

/** How many turns make a small conversation. */
const few = 8

/** The turns whose messages are there, and whether the model reads in one of them what was handed over. */
interface Read {
  readonly turns: ReadonlyArray<Turn>
  readonly handoff: Received | undefined
  readonly isTold: boolean
}

const nothing: Read = { turns: [], handoff: undefined, isTold: false }

const noSystem = Prompt.makeMessage("system", { content: "" })

/** Checks whether a turn from a place on says what was handed over: it is one of the last. */
const isTold = (turns: ReadonlyArray<Turn>, from: number, handoff: Received): boolean => {
  for (let at = turns.length - 1; at >= from; at--) if (isToldIn(turns[at]!, handoff)) return true
  return false
}

/** What was made of the turns so far; `starts` says where the messages of each turn begin. */
export class PromptCache {
  readonly all: Projection
  readonly starts: Array<number>
  /** The turns as the agent's context window knows them. */
  entries: Entries | undefined = undefined
  #read = nothing
  #system = noSystem
  /** The messages behind an opening, where the first of them isn't a user's. */
  #opened: Projection | undefined = undefined

  constructor(all = new Projection(), starts: Array<number> = [], turns: ReadonlyArray<Turn> = []) {
    this.all = all
    this.starts = starts
    if (turns.length > 0) this.#read = { ...nothing, turns }
  }

  /** Counts the turns that a conversation has in common with those that this was made of. */
  countCommon(turns: ReadonlyArray<Turn>): number {
    const { turns: known } = this.#read
    const most = Math.min(known.length, turns.length)
    let at = 0
    while (at < most && known[at] === turns[at]) at++
    return at
  }

  /** Gives what was made of the first turns, for another conversation that begins with them. */
  fork(count: number): PromptCache {
    const { turns } = this.#read
    return new PromptCache(
      this.all.fork(this.starts[count] ?? this.all.messages.length),
      this.starts.slice(0, count),
      turns.slice(0, count)
    )
  }

  /** Checks whether this is more than a state that rests may keep. */
  get isLarge(): boolean {
    return this.starts.length > few
  }

  /** Checks whether a conversation begins with the turns that this was made of. */
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
      this.starts.push(this.all.messages.length)
      this.all.add(toMessages(turns[at]!))
    }
    // Whether the model reads in a turn what was handed over is looked for once in each.
    const isSame = handoff === known.handoff
    const isRead = handoff !== undefined &&
      (isSame && known.isTold || isTold(turns, isSame ? known.turns.length : 0, handoff))
    this.#read = { turns, handoff, isTold: isRead }
  }

  /** What the agent in control was handed, if it can't read that in its conversation. */
  handed(state: AgentState): string | undefined {
    return this.#read.isTold ? undefined : handedNote(state)
  }

  /** The messages as they are sent where all are. */
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

  /** Gives a system message, if it says something: a new one if it is another, or if it `isOther` that follows it. */
  system(content: string, isOther = false): Prompt.SystemMessage | undefined {
    if (content === "") return undefined
    if (isOther || this.#system.content !== content) this.#system = Prompt.makeMessage("system", { content })
    return this.#system
  }
}

const caches = new Slot<Kept<PromptCache>>()

/**
 * Makes what is new of what is known of the conversation that has the most turns in common with this one: a run that goes on with a
 * conversation, or with a part of it, needs nothing made twice.
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
  ByFirstTurn.set(first, [made.isLarge ? new WeakRef(made) : made, ...alive.slice(0, most - 1)])
  return made
}

/** Gives what was made of a loop's conversation, with the turns that are new. */
export const cacheFor = ({ live }: Loop, state: AgentState): PromptCache => {
  const { turns } = state.conversation
  const kept = caches.get(live)
  const before = kept === undefined ? undefined : held(kept)
  const cache = before?.fits(turns) === true ? before : forkOf(turns)
  if (cache !== kept) caches.set(live, cache)
  const wasLarge = cache.isLarge
  cache.extend(state)
  if (cache.isLarge && !wasLarge && turns[0] !== undefined) ByFirstTurn.weaken(turns[0], cache)
  return cache
}

/** Lets go of what was made of a session's conversation until its next run: where memory is short, it is made again. */
export const rest = ({ live }: Loop): void => {
  const kept = caches.get(live)
  if (kept instanceof PromptCache && live.holder !== undefined && kept.isLarge) caches.set(live, new WeakRef(kept))
}
