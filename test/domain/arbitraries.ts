/**
 * Random legal conversations, consistent states with the agents they called, and events aimed at them.
 *
 * Everything comes deeply frozen, so that each property also says that nothing is mutated.
 */
import { Arbitrary, Schema, Struct } from "effect"
import { AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
import { levels } from "../../src/domain/Isolation.ts"
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

const stateFields = Arbitrary.schema(
  AgentState.AgentState.mapFields(Struct.omit(["conversation", "modes", "prompt"]))
)

const frameFields = Arbitrary.schema(AgentState.ModeFrame.mapFields(Struct.omit(["view", "turns"])))

const frame: Arbitrary.Arbitrary<AgentState.ModeFrame> = Arbitrary.map(
  Arbitrary.all({
    fields: frameFields,
    turns: below(6),
    hidden: oneOf<ReadonlyArray<Conversation.Turn> | undefined>(
      one<ReadonlyArray<Conversation.Turn> | undefined>(undefined),
      Arbitrary.array(anyTurn, { maxLength: 3 })
    ),
    shown: below(3)
  }),
  ({ fields, hidden, shown, turns }) => ({
    ...fields,
    turns,
    ...(hidden === undefined ? undefined : { view: { hidden, shown } })
  })
)

const rawState = (depth: number): Arbitrary.Arbitrary<AgentState.AgentState> =>
  Arbitrary.map(
    Arbitrary.all({
      fields: stateFields,
      turns: rawTurns(depth),
      modes: Arbitrary.array(frame, { maxLength: 3 }),
      prompt: Arbitrary.array(Arbitrary.schema(AgentState.PromptSegment), { maxLength: 3 })
    }),
    ({ fields, modes, prompt, turns }) => ({ ...fields, modes, prompt, conversation: { turns } })
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

/** Settles all calls of turns that a mode hides, under ids of their own. */
const hidden = (turns: ReadonlyArray<Conversation.Turn>, prefix: string): ReadonlyArray<Conversation.Turn> =>
  legalized([...turns, Conversation.assistant("", "")], prefix).turns.slice(0, -1)

/** Puts the more isolated modes inside the less isolated. */
const stacked = (modes: ReadonlyArray<AgentState.ModeFrame>, prefix: string): ReadonlyArray<AgentState.ModeFrame> =>
  modes
    .toSorted((self, that) => levels.indexOf(self.isolation) - levels.indexOf(that.isolation))
    .map((frame, at) =>
      frame.view === undefined
        ? frame
        : { ...frame, view: { ...frame.view, hidden: hidden(frame.view.hidden, `${prefix}hidden-${at}-`) } }
    )

/** Gives each segment to a mode that is there, or to none. */
const owned = (
  prompt: ReadonlyArray<AgentState.PromptSegment>,
  height: number
): ReadonlyArray<AgentState.PromptSegment> =>
  prompt.map(({ mode, ...segment }) =>
    mode === undefined || height === 0 ? segment : { ...segment, mode: mode % height }
  )

/** Gives a state legal conversations, statuses that fit them, and modes that fit into each other. */
const consistent = (state: AgentState.AgentState, prefix: string): AgentState.AgentState => {
  const conversation = legalized(state.conversation.turns, prefix)
  const isOpen = Conversation.hasOpenCalls(conversation)
  const status = isOpen
    ? state.status._tag === "Failed" ? state.status : AgentStatus.waitingForTools
    : state.status._tag === "WaitingForTools"
    ? AgentStatus.inProgress
    : state.status
  const modes = stacked(state.modes, prefix)
  return { ...state, conversation, status, modes, prompt: owned(state.prompt, modes.length) }
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

const { ModeEntered, ModeEntering, ModeExited, ModeFailed, StateAdjusted } = AgentEvent.AgentEvent.cases

const moded = Arbitrary.schema(
  Schema.Union([ModeEntering, ModeEntered, ModeExited, ModeFailed, StateAdjusted])
)

/** An event, and where in a state to aim it: at which agent, at which call, and whether anywhere at all. */
const shot = Arbitrary.all({
  event: oneOf<AgentEvent.AgentEvent>(anyEvent, anyEvent, responded, moded),
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
  return "callId" in event ? { ...event, ...at, callId: id } : { ...event, ...at }
}

/** A state and events to take into it one after the other, each aimed at the state that it meets. */
export const shots: Arbitrary.Arbitrary<ReadonlyArray<Shot>> = Arbitrary.map(
  Arbitrary.array(shot, { maxLength: 8 }),
  deepFreeze
)
