/**
 * What models were sent in a run, computed from its log by applying its events to a state, one after another.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Equal from "effect/Equal"
import { type AgentEvent, isRunEnd } from "../../domain/AgentEvent.ts"
import { make } from "../../domain/Beginning.ts"
import { madeOf } from "../../domain/conversation/Summaries.ts"
import { recordOf } from "../../domain/conversation/SummaryRecord.ts"
import { at } from "../../domain/Delegated.ts"
import { beginWithUser, toMessages } from "../../domain/Projection.ts"
import { reduceAt } from "../../domain/Reducer.ts"
import type { AgentState, Conversation, Turn } from "../../domain/StateSchema.ts"

/** The messages of each request, by its place in the log. */
type Requests = Map<number, ReadonlyArray<Prompt.Message>>

const made = new WeakMap<Turn, ReadonlyArray<Prompt.Message>>()

/** Returns the messages of a turn, the very same for each request that has it. */
const messagesOf = (turn: Turn): ReadonlyArray<Prompt.Message> => {
  const messages = made.get(turn) ?? toMessages(turn)
  made.set(turn, messages)
  return messages
}

/** Applies the events of a run to a state. Returns the conversation at its end, and what was sent on the way. */
const play = (
  events: ReadonlyArray<AgentEvent>,
  offset: number,
  from: AgentState
): { readonly last: Conversation; readonly requests: Requests } => {
  const requests: Requests = new Map()
  let state = from
  for (const [index, event] of events.entries()) {
    if (event._tag === "ModelCallStarted") {
      const asking = at(state, event.calls)
      // What a context window made of turns isn't in a log.
      const isWhole = event.window === undefined || event.window.left === 0
      if (asking !== undefined && isWhole) {
        requests.set(offset + index, beginWithUser(asking.conversation.turns.flatMap(messagesOf)))
      }
    }
    // If a function of the program made the summary, the log has no request to a model for it.
    if (event._tag === "ConversationSummarized" && event.usage !== undefined) {
      const conversation = at(state, event.calls)?.conversation
      if (conversation !== undefined) {
        const content = recordOf(madeOf(conversation.turns, event, conversation.summaries?.at(-1)))
        requests.set(offset + index, [Prompt.userMessage({ content: [Prompt.textPart({ text: content })] })])
      }
    }
    if (!isRunEnd(event)) state = reduceAt(state, event, 0)
  }
  return { last: state.conversation, requests }
}

/** What was sent in one run, or nothing if the log doesn't say what the run began with. */
const requestsOfRun = (events: ReadonlyArray<AgentEvent>, offset: number): Requests => {
  const [first] = events
  if (first?._tag !== "RunStarted") return new Map()
  const agent = first.path[0]
  const end = events.findLast(isRunEnd)
  const fresh = play(events, offset, make(agent))
  if (end === undefined) return first.input === undefined ? new Map() : fresh.requests
  const { summaries = [], turns } = end.state.conversation
  if (Equal.equals(fresh.last.turns, turns)) return fresh.requests
  const told = events.flatMap((event) =>
    event._tag === "ConversationSummarized" && event.calls.length === 0 ? [event] : []
  )
  const earlier = summaries.filter(({ text, upTo }) => !told.some((each) => each.upTo === upTo && each.text === text))
  const conversation = {
    turns: turns.slice(0, Math.max(0, turns.length - fresh.last.turns.length)),
    ...(earlier.length === 0 ? undefined : { summaries: earlier })
  }
  const later = play(events, offset, make(agent, { conversation }))
  return Equal.equals(later.last.turns, turns) ? later.requests : new Map()
}

/** Returns what models were sent in the runs of a log, by the place of each request. */
export const requestsOf = (events: ReadonlyArray<AgentEvent>): Requests => {
  const starts = events.flatMap((event, index) =>
    event._tag === "RunStarted" && event.calls.length === 0 ? [index] : []
  )
  const all: Requests = new Map()
  for (const [index, start] of starts.entries()) {
    for (const [place, messages] of requestsOfRun(events.slice(start, starts[index + 1]), start)) {
      all.set(place, messages)
    }
  }
  return all
}
