/**
 * Random legal conversations, consistent states with the agents they called, and events aimed at them.
 *
 * Everything comes deeply frozen, so that each property also says that nothing is mutated.
 */
import { Arbitrary, Schema, Struct } from "effect"
import { AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
import { deepFreeze, places } from "./legal.ts"

/** One of several arbitraries, each as likely as the others; a failure shrinks towards the first. */
export const oneOf = <A>(first: Arbitrary.Arbitrary<A>, ...rest: ReadonlyArray<Arbitrary.Arbitrary<A>>) =>
  Arbitrary.flatMap(below(rest.length + 1), (index): Arbitrary.Arbitrary<A> => rest[index - 1] ?? first)

/** A whole number from 0 to below `limit`. */
export const below = (limit: number): Arbitrary.Arbitrary<number> =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: limit - 1 })))

const one = <A>(value: A): Arbitrary.Arbitrary<A> => Arbitrary.map(Arbitrary.Constant(null), () => value)

const simpleStates: ReadonlyArray<Arbitrary.Arbitrary<Conversation.CallState>> = [
  Arbitrary.schema(Conversation.CallState.cases.Settled),
  one<Conversation.CallState>({ _tag: "Settled", outcome: "Succeeded", result: "done" }),
  one<Conversation.CallState>({ _tag: "AwaitingApproval" }),
  one<Conversation.CallState>({ _tag: "Approved" })
]

const callFields = Arbitrary.schema(Conversation.Call.mapFields(Struct.omit(["state"])))

const call = (depth: number): Arbitrary.Arbitrary<Conversation.Call> =>
  Arbitrary.map(
    Arbitrary.all({
      fields: callFields,
      state: oneOf<Conversation.CallState>(
        one<Conversation.CallState>({ _tag: "Pending" }),
        ...simpleStates,
        ...(depth > 0 ? [delegated(depth), delegated(depth)] : [])
      )
    }),
    ({ fields, state }) => ({ ...fields, state })
  )

const delegated = (depth: number): Arbitrary.Arbitrary<Conversation.CallState> =>
  Arbitrary.map(rawState(depth - 1), (child): Conversation.CallState => ({ _tag: "Delegated", child }))

const assistant = (depth: number, minCalls = 0): Arbitrary.Arbitrary<Conversation.Turn> => {
  const calls = Arbitrary.array(call(depth), { minLength: minCalls, maxLength: 3 })
  const others = Arbitrary.array(
    oneOf<Conversation.AssistantPart>(
      Arbitrary.schema(Conversation.Text),
      Arbitrary.schema(Conversation.Reasoning),
      Arbitrary.schema(Conversation.File),
      Arbitrary.schema(Conversation.Source),
      call(depth)
    ),
    { maxLength: 4 }
  )
  const fields = Arbitrary.schema(
    Schema.Struct(Struct.pick(Conversation.Turn.cases.Assistant.fields, ["usage", "finishReason"]))
  )
  return Arbitrary.map(
    Arbitrary.all({ calls, others, fields, agent: oneOf(one("triage"), one("billing")) }),
    ({ agent, calls, fields, others }) => ({ _tag: "Assistant", agent, parts: [...others, ...calls], ...fields })
  )
}

const anyTurn: Arbitrary.Arbitrary<Conversation.Turn> = oneOf<Conversation.Turn>(
  Arbitrary.schema(Conversation.Turn.cases.User),
  Arbitrary.schema(Conversation.Turn.cases.Summary),
  Arbitrary.schema(Conversation.Turn.cases.Feedback),
  assistant(0),
  assistant(0)
)

/** Any turns, and often an assistant's behind them that has calls to wait for, which users may speak behind. */
const rawTurns = (depth: number): Arbitrary.Arbitrary<ReadonlyArray<Conversation.Turn>> =>
  Arbitrary.map(
    Arbitrary.all({
      before: Arbitrary.array(anyTurn, { maxLength: 3 }),
      last: oneOf<ReadonlyArray<Conversation.Turn>>(
        one<ReadonlyArray<Conversation.Turn>>([]),
        ...Array.from({ length: 3 }, () => Arbitrary.map(assistant(depth, 1), (turn) => [turn]))
      ),
      after: Arbitrary.array(Arbitrary.schema(Conversation.Turn.cases.User), { maxLength: 1 })
    }),
    ({ after, before, last }) => [...before, ...last, ...after]
  )

const stateFields = Arbitrary.schema(AgentState.AgentState.mapFields(Struct.omit(["conversation"])))

const rawState = (depth: number): Arbitrary.Arbitrary<AgentState.AgentState> =>
  Arbitrary.map(
    Arbitrary.all({ fields: stateFields, turns: rawTurns(depth) }),
    ({ fields, turns }) => ({ ...fields, conversation: { turns } })
  )

/** Numbers the calls behind `prefix`, settles those that can't be open, and does the same in called agents. */
const legalized = (turns: ReadonlyArray<Conversation.Turn>, prefix: string): Conversation.Conversation => {
  const last = turns.findLastIndex((turn) => turn._tag === "Assistant")
  let calls = 0
  return {
    turns: turns.map((turn, index) =>
      turn._tag !== "Assistant" ? turn : {
        ...turn,
        parts: turn.parts.map((part): Conversation.AssistantPart => {
          if (part._tag !== "Call") return part
          const id = `${prefix}call-${++calls}`
          const canBeOpen = index === last && part.providerExecuted === undefined
          if (part.state._tag === "Settled") return { ...part, id }
          if (!canBeOpen) return { ...part, id, state: { _tag: "Settled", outcome: "Interrupted", result: null } }
          return part.state._tag === "Delegated"
            ? { ...part, id, state: { _tag: "Delegated", child: consistent(part.state.child, `${id}/`) } }
            : { ...part, id }
        })
      }
    )
  }
}

/** Gives a state legal conversations and statuses that fit them. */
const consistent = (state: AgentState.AgentState, prefix: string): AgentState.AgentState => {
  const conversation = legalized(state.conversation.turns, prefix)
  const isOpen = Conversation.hasOpenCalls(conversation)
  const status = isOpen
    ? state.status._tag === "Failed" ? state.status : AgentStatus.waitingForTools
    : state.status._tag === "WaitingForTools"
    ? AgentStatus.inProgress
    : state.status
  return { ...state, conversation, status }
}

/** Any turn, legal in itself or not. */
export const turn: Arbitrary.Arbitrary<Conversation.Turn> = Arbitrary.map(anyTurn, deepFreeze)

/** A legal conversation; the calls of its last assistant turn may be open, and may hold agents two deep. */
export const conversation: Arbitrary.Arbitrary<Conversation.Conversation> = Arbitrary.map(
  rawTurns(2),
  (turns) => deepFreeze(legalized(turns, ""))
)

/** A legal conversation without open calls. */
export const settled: Arbitrary.Arbitrary<Conversation.Conversation> = Arbitrary.map(
  rawTurns(0),
  (turns) =>
    deepFreeze(legalized([...turns, { _tag: "Assistant", agent: "", parts: [], usage: {}, finishReason: "stop" }], ""))
)

/** A state in any status, its calls in any state, called agents two deep. Call ids are unique in the whole of it. */
export const state: Arbitrary.Arbitrary<AgentState.AgentState> = Arbitrary.map(
  rawState(2),
  (state) => deepFreeze(consistent(state, ""))
)

const anyEvent = Arbitrary.schema(AgentEvent.AgentEvent)

const responded = Arbitrary.map(
  Arbitrary.all({
    event: Arbitrary.schema(AgentEvent.AgentEvent.cases.ModelResponded),
    turn: assistant(0)
  }),
  ({ event, turn }): AgentEvent.AgentEvent => ({ ...event, parts: turn._tag === "Assistant" ? turn.parts : [] })
)

/** An event, and where in a state to aim it: at which agent, at which call, and whether anywhere at all. */
const shot = Arbitrary.all({
  event: oneOf<AgentEvent.AgentEvent>(anyEvent, anyEvent, responded),
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
  return "callId" in event ? { ...event, ...at, callId: id } : { ...event, ...at }
}

/** A state and events to take into it one after the other, each aimed at the state that it meets. */
export const shots: Arbitrary.Arbitrary<ReadonlyArray<Shot>> = Arbitrary.map(
  Arbitrary.array(shot, { maxLength: 8 }),
  deepFreeze
)
