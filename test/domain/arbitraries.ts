/**
 * Random events aimed at random states, and what the properties of this project have in common.
 *
 * Everything comes deeply frozen, so that each property also says that nothing is mutated.
 */
import { Arbitrary, Schema } from "effect"
import { AgentEvent, type AgentState, type Conversation } from "troupe"
import { ConversationArbitrary } from "troupe/testing"
import { below, ofSchema, oneOf } from "../../src/testing/arbitrary/Choice.ts"
import { assistantOf, turnOf } from "../../src/testing/arbitrary/Turns.ts"
import { deepFreeze, places } from "./legal.ts"

export { below, oneOf }

const anyOrder = { anyOrder: true } as const

/** Any turn, legal in itself or not. */
export const turn: Arbitrary.Arbitrary<Conversation.Turn> = Arbitrary.map(turnOf(anyOrder), deepFreeze)

/** A legal conversation; the calls of its last assistant turn may be open, and may hold agents two deep. */
export const conversation = ConversationArbitrary.conversation({ depth: 2, ...anyOrder })

/** A legal conversation without open calls. */
export const settled = ConversationArbitrary.conversation({ open: false, ...anyOrder })

/** A state in any status, its calls in any state, called agents two deep. Call ids are unique in the whole of it. */
export const state = ConversationArbitrary.state({ depth: 2, ...anyOrder })

const assistant = assistantOf(anyOrder, undefined)

const anyEvent = ofSchema(AgentEvent.AgentEvent)

const responded = Arbitrary.map(
  Arbitrary.all({
    event: ofSchema(AgentEvent.AgentEvent.cases.ModelResponded),
    turn: assistant
  }),
  ({ event, turn }): AgentEvent.AgentEvent => ({ ...event, parts: turn._tag === "Assistant" ? turn.parts : [] })
)

const { ConversationSummarized, ModeEntered, ModeEntering, ModeExited, ModeFailed, StateAdjusted } =
  AgentEvent.AgentEvent.cases

const moded = ofSchema(
  Schema.Union([ModeEntering, ModeEntered, ModeExited, ModeFailed, StateAdjusted])
)

const summarized = ofSchema(ConversationSummarized)

/** An event, and where in a state to aim it: at which agent, at which call, and whether anywhere at all. */
const shot = Arbitrary.all({
  event: oneOf<AgentEvent.AgentEvent>(anyEvent, anyEvent, responded, moded, summarized),
  place: below(4),
  call: below(6),
  misses: below(5)
})

interface Shot {
  readonly event: AgentEvent.AgentEvent
  readonly place: number
  readonly call: number
  readonly misses: number
}

/** Aims an event at an agent and a call of a state; every fifth stays as random as it was. */
export const aim = (state: AgentState.AgentState, { call, event, misses, place }: Shot): AgentEvent.AgentEvent => {
  const all = places(state)
  const target = all[place % all.length]
  if (target === undefined || misses === 0) return event
  const ids = target.state.conversation.turns.flatMap((turn) =>
    turn._tag === "Assistant" ? turn.parts.flatMap((part) => part._tag === "Call" ? [part.id] : []) : []
  )
  const id = ids[ids.length - 1 - (call % Math.max(1, ids.length))] ?? "none"
  const at = { path: target.path, calls: target.calls }
  if (event._tag === "RunStarted" && misses === 1) {
    return { ...event, path: [...target.path, "called"], calls: [...target.calls, id] }
  }
  if (event._tag === "ModelResponded" && misses === 1) {
    return { ...event, ...at, parts: event.parts.map((part) => part._tag === "Call" ? { ...part, id } : part) }
  }
  if (event._tag === "ModeExited" || event._tag === "ModeFailed") {
    return { ...event, ...at, name: target.state.modes.at(-1)?.name ?? event.name }
  }
  if (event._tag === "ConversationSummarized") {
    const upTo = event.upTo % (target.state.conversation.turns.length + 2)
    return { ...event, ...at, upTo, except: call % 2 === 0 || upTo < 2 ? [] : [call % upTo] }
  }
  return "callId" in event ? { ...event, ...at, callId: id } : { ...event, ...at }
}

/** A state and events to take into it one after the other, each aimed at the state that it meets. */
export const shots: Arbitrary.Arbitrary<ReadonlyArray<Shot>> = Arbitrary.map(
  Arbitrary.array(shot, { maxLength: 8 }),
  deepFreeze
)
