/**
 * Entering and leaving modes, as functions from state to state: the stack is a list of frames, the innermost last.
 *
 * 1. Leaving gives back what the mode's isolation says; a set-up that failed is undone whole, as if it had never been.
 * 2. The conversation is legal after each of them, whatever was open.
 * 3. The words of a user that a run under way still has to answer stay, also where everything else is dropped.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import type * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { Adjustment } from "./Adjustment.ts"
import { countToAnswer } from "./AgentAnswer.ts"
import * as AgentStatus from "./AgentStatus.ts"
import { withUniqueIds } from "./CallIds.ts"
import { pin, unpin } from "./conversation/Pin.ts"
import { withTurns as withSummaries } from "./conversation/Summaries.ts"
import { appendUnchecked, callIds, hasOpenCalls, make, settleOpenCalls, textOf } from "./conversation/Turns.ts"
import { acceptedCall } from "./FinalAnswer.ts"
import { statusOf } from "./ImpliedStatus.ts"
import * as Isolation from "./Isolation.ts"
import * as ModeTransition from "./ModeTransition.ts"
import * as PromptSegments from "./PromptSegments.ts"
import type { AgentState, Conversation, ModeFrame, Turn } from "./StateSchema.ts"
import { within } from "./Summarized.ts"

/** What is entered: the first values of a mode are its parameters. */
export interface Entered {
  readonly name: string
  readonly isolation: Isolation.Isolation
  readonly params: Schema.Json
}

/** Gives the first values of a mode: its parameters. */
const firstValues = (params: Schema.Json): Schema.JsonObject =>
  typeof params === "object" && params !== null && !Array.isArray(params) ? params as Schema.JsonObject : {}

/** Gives the innermost mode. */
export const top = ({ modes }: Pick<AgentState, "modes">): ModeFrame | undefined => modes[modes.length - 1]

/** Gives the names of the modes that are entered, the innermost last. */
export const names = ({ modes }: Pick<AgentState, "modes">): ReadonlyArray<string> => modes.map(({ name }) => name)

/** Gives the modes whose values can be read: those down to the innermost that reads nothing from outside. */
const readable = ({ modes }: Pick<AgentState, "modes">): ReadonlyArray<ModeFrame> =>
  modes.slice(Math.max(0, modes.findLastIndex(({ isolation }) => !Isolation.readsOutside(isolation))))

/** Gives all values that can be read, those of inner modes before those of outer ones. */
export const values = (self: Pick<AgentState, "modes">): { readonly [key: string]: Schema.Json } =>
  Object.fromEntries(readable(self).flatMap((frame) => Object.entries(frame.values)))

/** Gives a value: the innermost mode's that has it. */
export const value = (self: Pick<AgentState, "modes">, key: string): Schema.Json | undefined => {
  const frame = readable(self).findLast((frame) => Object.hasOwn(frame.values, key))
  return frame?.values[key]
}

/**
 * How many of the modes that were entered a state names: the last ones. A conversation may enter any number, and each save would hold
 * them all.
 */
const maxHistory = 100

/** Gives the name of the mode that was entered before the innermost one, or before now outside of any. */
export const previous = (self: Pick<AgentState, "modes" | "modeHistory">): string | undefined => {
  const frame = top(self)
  return (frame === undefined ? self : frame.before).modeHistory?.at(-1)
}

const withTop = (self: AgentState, frame: ModeFrame): AgentState => ({
  ...self,
  modes: self.modes.with(self.modes.length - 1, frame)
})

/** Sets a value of the innermost mode. */
const setValue = (self: AgentState, key: string, json: Schema.Json): AgentState => {
  const frame = top(self)
  return frame === undefined ? self : withTop(self, { ...frame, values: { ...frame.values, [key]: json } })
}

/** Checks whether a move that is asked for is done by entering a mode on top of `height` others. */
const isDue = (pending: ModeTransition.Pending | undefined, name: string, height: number): boolean =>
  pending?.enter?.name === name && (pending.to === undefined || pending.to === height)

/**
 * Enters a mode, at a time in epoch milliseconds. The move that this was, if it was one, is done.
 *
 * One that is less isolated than the mode around it isn't entered.
 */
export const enter = (self: AgentState, { isolation, name, params }: Entered, at: number): AgentState => {
  if (!Isolation.isWithin(isolation, top(self)?.isolation)) return self
  const { modeHistory = [], transition } = self
  const isTaken = isDue(transition, name, self.modes.length)
  const frame: ModeFrame = {
    name,
    isolation,
    params,
    values: firstValues(params),
    enteredAt: at,
    turns: self.conversation.turns.length,
    before: Struct.pick(self, ["initialQuery", "settings", "transition", "modeHistory"])
  }
  return {
    ...(isTaken ? withKey(self, "transition", undefined) : self),
    modes: [...self.modes, frame],
    modeHistory: [...modeHistory, name].slice(-maxHistory)
  }
}

/**
 * Sets a mode up again, whose parameters are what its schema made of the frame's. A value that came with a parameter which isn't one
 * any more goes with it.
 */
export const resume = (
  self: AgentState,
  { params, stack }: { readonly params: Schema.Json; readonly stack: ReadonlyArray<string> }
): AgentState => {
  const at = stack.length - 1
  const frame = self.modes[at]
  if (frame === undefined || Equal.equals(frame.params, params)) return self
  const before = firstValues(frame.params)
  const kept = Object.entries(frame.values).filter(([key, value]) =>
    !Object.hasOwn(before, key) || !Equal.equals(before[key], value)
  )
  const values = { ...firstValues(params), ...Object.fromEntries(kept) }
  return { ...self, modes: self.modes.with(at, { ...frame, params, values }) }
}

/** Gives a turn whose calls have other ids than those that are taken, and takes them. */
const withOwnIds = (turn: Turn, taken: Set<string>): Turn => {
  const parts = turn._tag === "Assistant" ? withUniqueIds(turn.parts, taken) : undefined
  return turn._tag !== "Assistant" || parts === undefined || parts === turn.parts ? turn : { ...turn, parts }
}

/** Gives the turns of a mode as if none had been cut or edited. New calls don't get in the way of those that were hidden. */
const whole = ({ view }: ModeFrame, turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  if (view === undefined) return turns
  const hidden = settleOpenCalls({ turns: view.hidden })
  const taken = new Set(callIds(hidden))
  return [...hidden.turns, ...turns.slice(view.shown).map((turn) => withOwnIds(turn, taken))]
}

const isAssistant = (turn: Turn): boolean => turn._tag === "Assistant"

/** Gives the last `count` turns of a user. What a mode said is no user's. */
const questions = (turns: ReadonlyArray<Turn>, count: number): ReadonlyArray<Turn> =>
  count <= 0 ? [] : turns.filter((turn) => turn._tag === "User" && turn.mode === undefined).slice(-count)

/** Gives the status of a state whose conversation is another. A handoff that it asked for is still asked for. */
const restatus = ({ status }: AgentState, conversation: Conversation): AgentStatus.AgentStatus => {
  const implied = statusOf(conversation)
  if (status._tag !== "HandoffRequested") return implied
  const { callId, ...request } = status.request
  return callId !== undefined && callIds(conversation).includes(callId)
    ? status
    : AgentStatus.handoffRequested(request)
}

/** Gives the texts that stand for the first `count` of a mode's turns as if none had been cut or edited. */
const wholeSummaries = ({ view }: ModeFrame, { summaries }: Conversation, count: number): Conversation["summaries"] =>
  within(view === undefined ? summaries : view.summaries, count)

const withTurns = (self: AgentState, turns: ReadonlyArray<Turn>, summaries: Conversation["summaries"]): AgentState => {
  const { conversation } = self
  const isSame = turns === conversation.turns || (turns.length === conversation.turns.length &&
    turns.every((turn, at) => Equal.equals(turn, conversation.turns[at])))
  if (isSame) return self
  const changed = withSummaries(summaries, turns)
  return { ...self, conversation: changed, status: restatus(self, changed) }
}

/** Sets what a state may lack, or takes it out. */
const withKey = <Key extends "initialQuery" | "modeHistory" | "settings" | "transition">(
  self: AgentState,
  key: Key,
  value: AgentState[Key] | undefined
): AgentState => {
  if (value === self[key]) return self
  const { [key]: _, ...rest } = self
  return { ...(rest as AgentState), ...(value === undefined ? undefined : { [key]: value }) }
}

/**
 * Gives the move that is still to be taken once only `height` modes are entered, if its place is still there: one on top of
 * whatever is there always has a place.
 */
const stillPending = (pending: AgentState["transition"], height: number): AgentState["transition"] =>
  pending?.to === undefined || pending.to < height || (pending.to === height && pending.enter !== undefined)
    ? pending
    : undefined

/**
 * Leaves the innermost mode. While a run goes on, the user's words that it answers stay; where that ends the run, so does what
 * the model said last.
 */
export const leave = (self: AgentState, goesOn: boolean, endsRun = false): AgentState => {
  const frame = top(self)
  if (frame === undefined) return self
  const height = self.modes.length - 1
  const { isolation } = frame
  const all = whole(frame, self.conversation.turns)
  const drops = Isolation.dropsMessages(isolation)
  const inside = drops ? all.slice(frame.turns) : []
  const asked = goesOn || endsRun ? questions(inside, self.run.inputs ?? 1) : []
  const answer = endsRun ? all.slice(frame.turns, countToAnswer(all)).slice(-1).filter(isAssistant) : []
  let left: AgentState = {
    ...self,
    modes: self.modes.slice(0, height),
    prompt: PromptSegments.leave(self.prompt, frame, height)
  }
  left = withKey(left, "transition", stillPending(self.transition, height))
  if (Isolation.restoresSettings(isolation)) left = withKey(left, "settings", frame.before.settings)
  if (!drops) {
    left = withTurns(left, all, wholeSummaries(frame, self.conversation, all.length))
    return self.status._tag === "Failed" ? { ...left, status: self.status } : left
  }
  const first = asked[0]
  left = withKey(left, "initialQuery", frame.before.initialQuery ?? (first === undefined ? undefined : textOf(first)))
  const kept = all.slice(0, frame.turns)
  return withTurns(left, [...kept, ...asked, ...answer], wholeSummaries(frame, self.conversation, kept.length))
}

/** Leaves modes while a run goes on, the innermost first, until `height` are left. */
export const leaveTo = (self: AgentState, height: number): AgentState =>
  self.modes.slice(height).reduce((state) => leave(state, true), self)

/**
 * Undoes all that a set-up did: the mode was never entered. The move that this was, if it was one, is still asked for where the
 * set-up was interrupted.
 */
export const undo = (self: AgentState, isInterrupted: boolean): AgentState => {
  const frame = top(self)
  if (frame === undefined) return self
  const height = self.modes.length - 1
  const { initialQuery, modeHistory, settings, transition: before } = frame.before
  const transition = isInterrupted || !isDue(before, frame.name, height) ? before : undefined
  const undone = {
    ...withKey(self, "modeHistory", modeHistory),
    modes: self.modes.slice(0, height),
    prompt: PromptSegments.undo(self.prompt, height)
  }
  const kept = whole(frame, self.conversation.turns).slice(0, frame.turns)
  return withTurns(
    withKey(withKey(withKey(undone, "transition", transition), "settings", settings), "initialQuery", initialQuery),
    kept,
    wholeSummaries(frame, self.conversation, kept.length)
  )
}

/** Notes a move that is asked for; the latest wins. */
export const request = (self: AgentState, transition: ModeTransition.ModeTransition): AgentState =>
  withKey(self, "transition", stillPending(ModeTransition.pending(transition, self.modes.length), self.modes.length))

/** Counts the turns that a view is of: all but those from the turn on whose calls are open. */
export const viewed = ({ conversation }: AgentState): number =>
  hasOpenCalls(conversation)
    ? conversation.turns.findLastIndex((turn) => turn._tag === "Assistant")
    : conversation.turns.length

/** Makes a conversation of turns whose calls have other ids than some that are taken. */
const makeBeside = (turns: ReadonlyArray<Turn>, takenIds: ReadonlyArray<string>): Conversation => {
  const taken = new Set(takenIds)
  return make(turns.map((turn) => withOwnIds(turn, taken)))
}

/** Shows other turns in the place of those that the innermost mode sees, if its isolation has a view. */
const view = (self: AgentState, turns: ReadonlyArray<Turn>): AgentState => {
  const frame = top(self)
  if (frame === undefined || !Isolation.hasView(frame.isolation)) return self
  const at = viewed(self)
  const rest = self.conversation.turns.slice(at)
  const shown = settleOpenCalls(makeBeside(turns, callIds({ turns: rest }))).turns
  const hidden = whole(frame, self.conversation.turns.slice(0, at))
  const summaries = wholeSummaries(frame, self.conversation, hidden.length)
  const view = { hidden, shown: shown.length, ...(summaries === undefined ? undefined : { summaries }) }
  return withTurns(withTop(self, { ...frame, view }), [...shown, ...rest], undefined)
}

/** Takes a change by hand into a state: the innermost mode's, or that of the one at a height, which keeps its view. */
export const adjust = (self: AgentState, adjustment: Adjustment, at = self.modes.length - 1): AgentState => {
  const above = self.modes.slice(at + 1)
  if (above.length === 0) return adjustTop(self, adjustment)
  if (adjustment._tag === "ViewChanged") return self
  const adjusted = adjustTop({ ...self, modes: self.modes.slice(0, at + 1) }, adjustment)
  return { ...adjusted, modes: [...adjusted.modes, ...above] }
}

const adjustTop = (self: AgentState, adjustment: Adjustment): AgentState => {
  switch (adjustment._tag) {
    case "ValueSet":
      return setValue(self, adjustment.key, adjustment.value)
    case "SegmentAdded":
      return { ...self, prompt: PromptSegments.add(self, adjustment.segment) }
    case "SettingsChanged":
      return withKey(self, "settings", adjustment.settings)
    case "ViewChanged":
      return view(self, adjustment.turns)
    case "TurnPinned":
      return { ...self, conversation: (adjustment.isPinned ? pin : unpin)(self.conversation, adjustment.turn) }
  }
}

/** Gives the ids of all calls, those of turns that a mode's view hides included. */
export const allCallIds = (
  { conversation, modes }: Pick<AgentState, "conversation" | "modes">
): ReadonlyArray<string> => [
  ...callIds(conversation),
  ...modes.flatMap(({ view }) => view === undefined ? [] : callIds({ turns: view.hidden }))
]

/** Checks whether the model last gave a mode the answer that it asked for, by `final_answer`. Any other result is still to be read. */
const hasAnsweredMode = (turns: ReadonlyArray<Turn>): boolean => {
  const heard = turns.findLast((turn) => turn._tag !== "Assistant")
  return acceptedCall(turns) !== undefined && heard?._tag === "User" && heard.mode !== undefined
}

/** Adds what the model is told when a mode was entered or left in a run, where it would find nothing to answer. */
export const tell = (self: AgentState, note: string): AgentState => {
  const { conversation: { turns }, status: { _tag } } = self
  const isAnswered = _tag === "Complete" || (_tag === "InProgress" && (turns.length === 0 || hasAnsweredMode(turns)))
  if (!isAnswered) return self
  const conversation = appendUnchecked(self.conversation, { _tag: "Feedback", text: note })
  return { ...self, conversation, status: statusOf(conversation) }
}
