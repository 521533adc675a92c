/**
 * What was made of a conversation for requests, kept from one to the next, and in a session from one run to the next: a step costs what its
 * new turns do.
 *
 * What is kept is checked against the conversation by the identity of its turns, so nobody has to say when turns have changed.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import { toMessages } from "../../../domain/Projection.ts"
import type { AgentState, Received, Turn } from "../../../domain/StateSchema.ts"
import { handedNote, isToldIn } from "../../../domain/Takeover.ts"
import { type Loop, Slot } from "../../journal/Loop.ts"
import type { Entries } from "./WindowTurns.ts"

/** The turns whose messages are there, and whether the model reads in one of them what was handed over. */
interface Read {
  readonly turns: ReadonlyArray<Turn>
  readonly handoff: Received | undefined
  readonly isTold: boolean
}

const nothing: Read = { turns: [], handoff: undefined, isTold: false }

const noSystem = Prompt.makeMessage("system", { content: "" })

/** The messages of the turns so far, behind the place of the system message; `starts` says where those of each turn begin. */
export class PromptCache {
  readonly messages: Array<Prompt.Message> = [noSystem]
  readonly starts: Array<number> = []
  /** The turns as the agent's context window knows them. */
  entries: Entries | undefined = undefined
  #read = nothing

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
      this.starts.push(this.messages.length)
      this.messages.push(...toMessages(turns[at]!))
    }
    // Whether the model reads in a turn what was handed over is looked for once in each.
    const isSame = handoff === known.handoff
    const isTold = handoff !== undefined &&
      (isSame && known.isTold || turns.slice(isSame ? known.turns.length : 0).some((turn) => isToldIn(turn, handoff)))
    this.#read = { turns, handoff, isTold }
  }

  /** What the agent in control was handed, if it can't read that in its conversation. */
  handed(state: AgentState): string | undefined {
    return this.#read.isTold ? undefined : handedNote(state)
  }

  /** Puts the system message in its place, anew if it is another, or if it `isOther` that follows it. */
  setSystem(content: string, isOther = false): void {
    if (isOther || this.messages[0]!.content !== content) {
      this.messages[0] = Prompt.makeMessage("system", { content })
    }
  }
}

const caches = new Slot<PromptCache>()

/** Gives what was made of a loop's conversation, with the turns that are new. */
export const cacheFor = ({ live }: Loop, state: AgentState): PromptCache => {
  const known = caches.get(live)
  const cache = known?.fits(state.conversation.turns) === true ? known : new PromptCache()
  if (cache !== known) caches.set(live, cache)
  cache.extend(state)
  return cache
}
