/**
 * Random states whose parts fit together.
 *
 * @since 0.1.0
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as AgentState from "../../domain/AgentState.ts"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import * as Conversation from "../../domain/Conversation.ts"
import * as ForgottenIds from "../../domain/ForgottenIds.ts"
import { levels } from "../../domain/Isolation.ts"
import { fits, type Summarized } from "../../domain/Summarized.ts"
import { below, ofSchema, one, oneOf } from "./Choice.ts"
import { assistantOf, type Legalize, legalized, turnOf, type TurnOptions, turnsOf } from "./Turns.ts"

/**
 * Options of random states.
 *
 * **Details**
 *
 * - `statuses` are the statuses that there may be, all by default. A state with open calls is `WaitingForTools` or `Failed`. If
 *   `statuses` lacks `WaitingForTools`, only failed states have open calls. If the other options allow no calls (as with `maxTurns: 1`, unless `anyOrder`
 *   is set), a state is `InProgress` instead of `WaitingForTools`.
 * - `maxModes` is how many modes may be entered, 3 by default.
 * - `depth` is how deep called agents may be nested in open calls, 1 by default; with 0 there are none.
 * - `TurnOptions` says what the other fields are.
 *
 * @category models
 * @since 0.1.0
 */
export interface StateOptions extends TurnOptions {
  readonly statuses?: ReadonlyArray<AgentStatus.AgentStatus["_tag"]>
  readonly maxModes?: number
  readonly depth?: number
}

const stateFields = ofSchema(
  AgentState.AgentState.mapFields(Struct.omit(["conversation", "forgotten", "modes", "prompt", "status"]))
)

const { Failed, HandoffRequested } = AgentStatus.AgentStatus.cases

const statusesOf = ({ statuses }: StateOptions): Arbitrary.Arbitrary<AgentStatus.AgentStatus> => {
  const all: ReadonlyArray<readonly [AgentStatus.AgentStatus["_tag"], Arbitrary.Arbitrary<AgentStatus.AgentStatus>]> = [
    ["InProgress", one<AgentStatus.AgentStatus>(AgentStatus.inProgress)],
    ["WaitingForTools", one<AgentStatus.AgentStatus>(AgentStatus.waitingForTools)],
    ["HandoffRequested", ofSchema(HandoffRequested)],
    ["Complete", one<AgentStatus.AgentStatus>(AgentStatus.complete)],
    ["Failed", ofSchema(Failed)]
  ]
  const [first, ...rest] = all.flatMap(([tag, status]) =>
    statuses === undefined || statuses.includes(tag) ? [status] : []
  )
  return oneOf(first ?? one<AgentStatus.AgentStatus>(AgentStatus.inProgress), ...rest)
}

const frameFields = ofSchema(AgentState.ModeFrame.mapFields(Struct.omit(["view", "turns"])))

const frameOf = (options: StateOptions): Arbitrary.Arbitrary<AgentState.ModeFrame> =>
  Arbitrary.map(
    Arbitrary.all({
      fields: frameFields,
      turns: below(6),
      hidden: oneOf<ReadonlyArray<Conversation.Turn> | undefined>(
        one<ReadonlyArray<Conversation.Turn> | undefined>(undefined),
        Arbitrary.array(turnOf(options), { maxLength: 3 })
      ),
      shown: below(3)
    }),
    ({ fields, hidden, shown, turns }) => ({
      ...fields,
      turns,
      ...(hidden === undefined ? undefined : { view: { hidden, shown } })
    })
  )

const childrenOf = (options: StateOptions, depth: number) =>
  depth > 0
    ? Arbitrary.map(rawState(options, depth - 1), (child): Conversation.CallState => ({ _tag: "Delegated", child }))
    : undefined

/** A summary of some first turns. It may be of more turns than a conversation has. */
const summary: Arbitrary.Arbitrary<Summarized> = Arbitrary.map(
  Arbitrary.all({ text: ofSchema(Schema.String), upTo: below(6), except: below(6) }),
  ({ except, text, upTo }) => ({ text, upTo, except: except < upTo ? [except] : [] })
)

/** Adds to a conversation the summaries that fit its turns. */
const summarized = (
  { turns }: Conversation.Conversation,
  all: ReadonlyArray<Summarized>
): Conversation.Conversation => {
  const summaries: Array<Summarized> = []
  for (const each of all) if (fits(each, summaries.at(-1), turns.length)) summaries.push(each)
  return summaries.length === 0 ? { turns } : { turns, summaries }
}

/** Returns as many forgotten ids as a state has retired ones, if these are at least three. */
const forgetting = ({ retired = [] }: Pick<AgentState.AgentState, "retired">) =>
  retired.length < 3 ? undefined : { forgotten: ForgottenIds.forget(undefined, retired, 0) }

/** Random states whose parts don't fit yet. */
const rawState = (options: StateOptions, depth: number): Arbitrary.Arbitrary<AgentState.AgentState> =>
  Arbitrary.map(
    Arbitrary.all({
      fields: stateFields,
      status: statusesOf(options),
      turns: turnsOf(options, childrenOf(options, depth)),
      summaries: Arbitrary.array(summary, { maxLength: 2 }),
      asked: Arbitrary.array(assistantOf(options, undefined, 1), { minLength: 1, maxLength: 1 }),
      modes: Arbitrary.array(frameOf(options), { maxLength: options.maxModes ?? 3 }),
      prompt: Arbitrary.array(ofSchema(AgentState.PromptSegment), { maxLength: 3 })
    }),
    ({ asked, fields, modes, prompt, status, summaries, turns }) => ({
      ...fields,
      ...forgetting(fields),
      status,
      modes,
      prompt,
      conversation: { turns: status._tag === "WaitingForTools" ? waiting(turns, asked, options) : turns, summaries }
    })
  )

/**
 * Appends an assistant turn with an open call if the last one has none, in place of the last turn if there is no room for more. Without
 * `anyOrder` a user speaks before it. Changes nothing if the options allow no assistant turn.
 */
const waiting = (
  turns: ReadonlyArray<Conversation.Turn>,
  asked: ReadonlyArray<Conversation.Turn>,
  options: StateOptions
): ReadonlyArray<Conversation.Turn> => {
  const last = turns.findLast((turn) => turn._tag === "Assistant")
  const isOpen = last?.parts.some((part) =>
    part._tag === "Call" && part.state._tag !== "Settled" && part.providerExecuted === undefined
  )
  const maxTurns = Math.max(options.minTurns ?? 0, options.maxTurns ?? 6)
  const begins = options.anyOrder !== true
  const least = begins ? 2 : 1
  if (isOpen === true || maxTurns < least || options.turns?.includes("Assistant") === false) return turns
  const before = begins && turns.length === 0 ? [Conversation.user("?")] : turns
  return [...before.slice(0, maxTurns - 1), ...asked.map(opened)]
}

const opened = (turn: Conversation.Turn): Conversation.Turn => {
  if (turn._tag !== "Assistant") return turn
  const at = turn.parts.findIndex((part) => part._tag === "Call")
  return {
    ...turn,
    parts: turn.parts.map((part, index) => {
      if (part._tag !== "Call" || index !== at) return part
      const { providerExecuted: _, ...call } = part
      return { ...call, state: { _tag: "Pending" } }
    })
  }
}

/** Makes turns legal, and settles every call of theirs. */
export const settledTurns = (
  turns: ReadonlyArray<Conversation.Turn>,
  prefix: string
): ReadonlyArray<Conversation.Turn> =>
  legalized([...turns, Conversation.assistant("", "")], prefix, (child) => child).turns.slice(0, -1)

/** Puts the more isolated modes inside the less isolated. */
const stacked = (modes: ReadonlyArray<AgentState.ModeFrame>, prefix: string): ReadonlyArray<AgentState.ModeFrame> =>
  modes
    .toSorted((self, that) => levels.indexOf(self.isolation) - levels.indexOf(that.isolation))
    .map((frame, at) =>
      frame.view === undefined
        ? frame
        : { ...frame, view: { ...frame.view, hidden: settledTurns(frame.view.hidden, `${prefix}hidden-${at}-`) } }
    )

/** Assigns each segment to a mode that is entered, or to none. */
const owned = (
  prompt: ReadonlyArray<AgentState.PromptSegment>,
  height: number
): ReadonlyArray<AgentState.PromptSegment> =>
  prompt.map(({ mode, ...segment }) =>
    mode === undefined || height === 0 ? segment : { ...segment, mode: mode % height }
  )

/** Gives states legal conversations, statuses that fit them, and modes that fit into each other. */
const consistentBy = ({ statuses }: StateOptions): Legalize => {
  const waits = statuses === undefined || statuses.includes("WaitingForTools")
  const consistent: Legalize = (state, prefix) => {
    const { status } = state
    const { summaries = [], turns } = state.conversation
    const legal = waits || status._tag === "Failed"
      ? legalized(turns, prefix, consistent)
      : { turns: settledTurns(turns, prefix) }
    const conversation = summarized(legal, summaries)
    const modes = stacked(state.modes, prefix)
    return {
      ...state,
      conversation,
      status: status._tag === "Failed"
        ? status
        : Conversation.hasOpenCalls(conversation)
        ? AgentStatus.waitingForTools
        : status._tag === "WaitingForTools"
        ? AgentStatus.inProgress
        : status,
      modes,
      prompt: owned(state.prompt, modes.length)
    }
  }
  return consistent
}

/** Random states. Call ids are unique in the whole of each. */
export const stateOf = (options: StateOptions): Arbitrary.Arbitrary<AgentState.AgentState> => {
  const consistent = consistentBy(options)
  return Arbitrary.map(rawState(options, options.depth ?? 1), (state) => consistent(state, ""))
}

/** Random legal conversations; the calls of the last assistant turn may be open, and hold agents `depth` deep. */
export const conversationOf = (options: TurnOptions, depth: number): Arbitrary.Arbitrary<Conversation.Conversation> =>
  Arbitrary.map(turnsOf(options, childrenOf(options, depth)), (turns) => legalized(turns, "", consistentBy(options)))
