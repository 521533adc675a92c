/**
 * Turns and their calls: functions that make, change and read a conversation.
 *
 * Every function here keeps a conversation legal and changes none of its arguments.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import { withUniqueIds } from "../CallIds.ts"
import * as Fits from "../Fits.ts"
import * as JsonValue from "../JsonValue.ts"
import * as Part from "../Part.ts"
import * as PartCopy from "../PartCopy.ts"
import { withJson } from "../PartFields.ts"
import {
  type Assistant,
  type AssistantPart,
  type Call,
  CallState,
  type Conversation,
  type Settled,
  Turn,
  type User
} from "../StateSchema.ts"
import * as Summarized from "../Summarized.ts"
import * as Wanted from "../Wanted.ts"
import { isQuestion } from "./Sending.ts"
import { withTurns } from "./Summaries.ts"

/**
 * The conversation without turns.
 *
 * @category constants
 * @since 0.1.0
 */
export const empty: Conversation = Object.freeze({ turns: Object.freeze([]) })

/**
 * Makes a user turn: from a text, or from parts.
 *
 * @category constructors
 * @since 0.1.0
 */
export const user = (input: string | ReadonlyArray<Part.UserPart>): User => ({
  _tag: "User",
  parts: PartCopy.fromInput(input)
})

/** What an assistant's turn says beside its parts. */
const checkTurn = Fits.check(() => {
  const { agent, finishReason, usage } = Turn.cases.Assistant.fields
  return Schema.Struct({ agent, finishReason, usage })
})

const checkState = Fits.check(() => CallState)

/** Copies the state of a call with JSON as its result. The state of a called agent stays as it is. */
const stateOf = (state: CallState): CallState => {
  if (state._tag === "Delegated") return state
  if (!("result" in state)) return checkState("The state of a call", Fits.withoutUndefined(state))
  const { modelOutput } = state
  const result = JsonValue.fromUnknown(state.result)
  const read = modelOutput === undefined ? undefined : PartCopy.fromOutput("`modelOutput` of a call", modelOutput)
  return checkState("The state of a call", withJson({ ...state, result, modelOutput: read }))
}

/**
 * Makes an assistant turn of an agent: from a text, or from parts.
 *
 * Its usage is unknown unless given. Its finish reason is by default `"tool-calls"` if it has calls, and `"stop"` otherwise.
 *
 * @category constructors
 * @since 0.1.0
 */
export const assistant = (
  agent: string,
  answer: string | ReadonlyArray<AssistantPart>,
  options?: {
    readonly usage?: Assistant["usage"] | undefined
    readonly finishReason?: Assistant["finishReason"] | undefined
  }
): Assistant => {
  const parts = typeof answer === "string"
    ? [Part.text(answer)]
    : Wanted.partsGiven("`answer` of `Conversation.assistant`", answer).map((part, at) =>
      isCall(part) ? part : PartCopy.from(`Part ${at} of an answer`, part)
    )
  const said = checkTurn("The turn of an assistant", {
    agent,
    usage: Fits.withoutUndefined(options?.usage ?? {}),
    finishReason: options?.finishReason ?? (parts.some(isCall) ? "tool-calls" : "stop")
  })
  return { _tag: "Assistant", agent, parts, usage: said.usage, finishReason: said.finishReason }
}

/**
 * Makes a call, which is pending unless its state is given. `params` are copied as JSON.
 *
 * @category constructors
 * @since 0.1.0
 */
export const call = (id: string, name: string, params: Call["params"], state?: CallState): Call => ({
  _tag: "Call",
  id: Wanted.textGiven("The id of a call", id),
  name: Wanted.textGiven("The name of a call", name),
  params: JsonValue.fromUnknown(params),
  state: state === undefined ? { _tag: "Pending" } : stateOf(state)
})

/**
 * Checks whether a call still waits for its result.
 *
 * @category guards
 * @since 0.1.0
 */
export const isOpen = (call: Call): boolean => call.state._tag !== "Settled"

const isCall = (part: AssistantPart): part is Call => part._tag === "Call"

/**
 * Returns the calls of an assistant turn, in the model's order.
 *
 * @category getters
 * @since 0.1.0
 */
export const callsOf = (turn: Assistant): ReadonlyArray<Call> => turn.parts.filter(isCall)

const lastAssistantIndex = (turns: ReadonlyArray<Turn>): number => {
  let index = turns.length - 1
  while (index >= 0 && turns[index]!._tag !== "Assistant") index--
  return index
}

/**
 * Returns the last assistant turn, or `undefined` if there is none.
 *
 * @category getters
 * @since 0.1.0
 */
export const lastAssistant = (self: Conversation): Assistant | undefined => {
  const index = lastAssistantIndex(self.turns)
  return index < 0 ? undefined : self.turns[index] as Assistant
}

/**
 * Returns the calls that still wait for their results, in the model's order.
 *
 * @category getters
 * @since 0.1.0
 */
export const openCalls = (self: Conversation): ReadonlyArray<Call> => {
  const turn = lastAssistant(self)
  return turn === undefined ? [] : callsOf(turn).filter(isOpen)
}

/**
 * Checks whether any call of a conversation still waits for its result.
 *
 * @category guards
 * @since 0.1.0
 */
export const hasOpenCalls = (self: Conversation): boolean => {
  const turn = lastAssistant(self)
  return turn !== undefined && turn.parts.some((part) => part._tag === "Call" && part.state._tag !== "Settled")
}

/**
 * Sets the state of an open call. Does nothing if the call is settled, or isn't in the last assistant turn.
 *
 * @category combinators
 * @since 0.1.0
 */
export const updateCall: {
  (id: string, state: CallState): (self: Conversation) => Conversation
  (self: Conversation, id: string, state: CallState): Conversation
} = dual(
  3,
  (self: Conversation, id: string, state: CallState): Conversation =>
    changeCall(self, id, (call) => ({ ...call, state }))
)

/** Changes an open call of the last assistant turn. Does nothing if there is no open call of this id. */
export const changeCall = (self: Conversation, id: string, change: (call: Call) => Call): Conversation => {
  const index = lastAssistantIndex(self.turns)
  const turn = self.turns[index] as Assistant | undefined
  const at = turn?.parts.findIndex((part) => part._tag === "Call" && part.id === id && isOpen(part)) ?? -1
  if (turn === undefined || at < 0) return self
  const parts = turn.parts.slice()
  parts[at] = change(parts[at] as Call)
  const turns = self.turns.slice()
  turns[index] = { ...turn, parts }
  return withTurns(self.summaries, turns)
}

/** The result that the model reads for a call that was open when its conversation continued without it. */
const abandoned: Settled = Object.freeze({
  _tag: "Settled",
  outcome: "Interrupted",
  result: "The conversation went on before this call had a result."
})

const settleOpen = (turn: Assistant): Assistant =>
  turn.parts.some((part) => isCall(part) && isOpen(part))
    ? { ...turn, parts: turn.parts.map((part) => isCall(part) && isOpen(part) ? { ...part, state: abandoned } : part) }
    : turn

/** Settles the calls of the last assistant turn that are still open as `Interrupted`. */
export const settleOpenCalls = (self: Conversation): Conversation => {
  const last = lastAssistantIndex(self.turns)
  const turn = self.turns[last] as Assistant | undefined
  const settled = turn === undefined ? undefined : settleOpen(turn)
  if (settled === undefined || settled === turn) return self
  const turns = self.turns.slice()
  turns[last] = settled
  return withTurns(self.summaries, turns)
}

/**
 * Returns the ids of all calls.
 *
 * @category getters
 * @since 0.1.0
 */
export const callIds = (self: Conversation): ReadonlyArray<string> =>
  self.turns.flatMap((turn) => turn._tag === "Assistant" ? callsOf(turn).map((call) => call.id) : [])

/**
 * Copies a list of turns with one more.
 *
 * `concat` copies a long list in one piece, and leaves no unused room behind the copy. For a short list the call of `concat` costs more than
 * the copy. `toSpliced` is up to 100 times as slow for lists that V8 takes for lists with holes, such as those of `flat`. `[turn]` has no
 * unused room, while `[...turns, turn]` has room for 16 more: many conversations have one turn while they wait for a model.
 */
const withOneMore = (turns: ReadonlyArray<Turn>, turn: Turn): Array<Turn> =>
  turns.length === 0 ? [turn] : turns.length < 32 ? [...turns, turn] : turns.concat([turn])

/** Appends a turn as `append` does, but doesn't check the ids of its calls: they must be unique already. */
export const appendUnchecked = (self: Conversation, turn: Turn): Conversation => {
  const last = turn._tag === "Assistant" ? lastAssistantIndex(self.turns) : -1
  const turns = withOneMore(self.turns, turn)
  if (last >= 0) turns[last] = settleOpen(turns[last] as Assistant)
  return withTurns(self.summaries, turns)
}

/**
 * Appends a turn.
 *
 * An assistant turn behind open calls settles them as `Interrupted`. Its calls get new ids if theirs are taken.
 *
 * @category combinators
 * @since 0.1.0
 */
export const append: {
  (turn: Turn): (self: Conversation) => Conversation
  (self: Conversation, turn: Turn): Conversation
} = dual(2, (self: Conversation, turn: Turn): Conversation =>
  appendUnchecked(
    self,
    turn._tag === "Assistant" ? { ...turn, parts: withUniqueIds(turn.parts, new Set(callIds(self))) } : turn
  ))

/**
 * Appends what a user says.
 *
 * @category combinators
 * @since 0.1.0
 */
export const appendUser: {
  (input: string | ReadonlyArray<Part.UserPart>): (self: Conversation) => Conversation
  (self: Conversation, input: string | ReadonlyArray<Part.UserPart>): Conversation
} = dual(
  2,
  (self: Conversation, input: string | ReadonlyArray<Part.UserPart>): Conversation => appendUnchecked(self, user(input))
)

/** Appends turns one after the other, and gives calls other ids if theirs are taken. The list of turns is copied once. */
export const appendAll = (self: Conversation, added: ReadonlyArray<Turn>): Conversation => {
  if (added.length === 0) return self
  const taken = new Set(callIds(self))
  const turns = self.turns.slice()
  let last = lastAssistantIndex(turns)
  for (const turn of added) {
    if (turn._tag === "Assistant") {
      if (last >= 0) turns[last] = settleOpen(turns[last] as Assistant)
      last = turns.length
    }
    turns.push(turn._tag === "Assistant" ? { ...turn, parts: withUniqueIds(turn.parts, taken) } : turn)
  }
  return withTurns(self.summaries, turns)
}

/**
 * Makes a conversation from turns, appended in their order.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (turns: ReadonlyArray<Turn>): Conversation => appendAll(empty, turns)

/**
 * Joins the text among parts of a turn.
 *
 * @category getters
 * @since 0.1.0
 */
export const textIn = (parts: ReadonlyArray<AssistantPart>): string =>
  parts.reduce((text, part) => part._tag === "Text" ? text + part.text : text, "")

/**
 * Joins the text of a turn.
 *
 * @category getters
 * @since 0.1.0
 */
export const textOf = (turn: Turn): string =>
  turn._tag === "Summary" || turn._tag === "Feedback" ? turn.text : textIn(turn.parts)

/**
 * Returns the text of the last user turn, or `undefined` if there is none. What a mode said in the user's place counts too.
 *
 * @category getters
 * @since 0.1.0
 */
export const lastUserText = (self: Conversation): string | undefined => {
  const turn = self.turns.findLast((turn) => turn._tag === "User")
  return turn === undefined ? undefined : textOf(turn)
}

/**
 * Returns the text of the last assistant turn, or `undefined` if no assistant spoke.
 *
 * @category getters
 * @since 0.1.0
 */
export const lastAssistantText = (self: Conversation): string | undefined => {
  const turn = lastAssistant(self)
  return turn === undefined ? undefined : textOf(turn)
}

/**
 * Returns the turns of one agent.
 *
 * @category getters
 * @since 0.1.0
 */
export const byAgent: {
  (agent: string): (self: Conversation) => ReadonlyArray<Assistant>
  (self: Conversation, agent: string): ReadonlyArray<Assistant>
} = dual(
  2,
  (self: Conversation, agent: string): ReadonlyArray<Assistant> =>
    self.turns.filter((turn): turn is Assistant => turn._tag === "Assistant" && turn.agent === agent)
)

/**
 * Counts turns.
 *
 * @category getters
 * @since 0.1.0
 */
export const count = (self: Conversation): number => self.turns.length

/**
 * Keeps the last `n` turns.
 *
 * A conversation shouldn't begin with the answer to a question that was cut. So the turns before the first question are dropped too, and
 * fewer than `n` turns may remain. A question is a user turn with words or a file, or a summary or feedback with words. If there is no
 * question, all `n` stay. If any turn is
 * dropped, `summaries` are too.
 *
 * @category combinators
 * @since 0.1.0
 */
export const truncate: {
  (n: number): (self: Conversation) => Conversation
  (self: Conversation, n: number): Conversation
} = dual(2, (self: Conversation, n: number): Conversation => {
  const kept = n >= 1 ? self.turns.slice(-n) : []
  if (kept.length === self.turns.length) return self
  const start = kept.findIndex(isQuestion)
  return { turns: start <= 0 ? kept : kept.slice(start) }
})

/**
 * Takes the first `n` turns as a new conversation, to continue differently from there. Summaries that cover later turns are dropped.
 *
 * @category combinators
 * @since 0.1.0
 */
export const fork: {
  (n: number): (self: Conversation) => Conversation
  (self: Conversation, n: number): Conversation
} = dual(
  2,
  (self: Conversation, n: number): Conversation => {
    if (n >= self.turns.length) return self
    const turns = self.turns.slice(0, Math.max(0, n))
    return withTurns(Summarized.within(self.summaries, turns.length), turns)
  }
)
