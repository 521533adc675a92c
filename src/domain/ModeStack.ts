/**
 * Entering and leaving modes, as functions from state to state: the stack is a list of frames, the innermost last.
 *
 * 1. Leaving restores what the mode's isolation says. A set-up that failed is undone, except for the steps and tokens that it used.
 * 2. The conversation is legal after each of these functions, even if calls were open.
 * 3. A user's words that the current run still has to answer are kept, even if everything else is dropped.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import type * as Schema from "effect/Schema"
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

/** A mode to enter. Its parameters become its first values. */
export interface Entered {
  readonly name: string
  readonly isolation: Isolation.Isolation
  readonly params: Schema.Json
}

/** Returns the first values of a mode: its parameters. */
const firstValues = (params: Schema.Json): Schema.JsonObject =>
  // JSON that is neither a primitive nor an array is an object.
  typeof params === "object" && params !== null && !Array.isArray(params) ? params as Schema.JsonObject : {}

/** Returns the innermost mode. */
export const top = ({ modes }: Pick<AgentState, "modes">): ModeFrame | undefined => modes.at(-1)

/** Returns the names of the modes that are entered, the innermost last. */
export const names = ({ modes }: Pick<AgentState, "modes">): ReadonlyArray<string> => modes.map(({ name }) => name)

/** Returns the modes whose values can be read: from the top of the stack down to the first mode that reads nothing from outside. */
const readable = ({ modes }: Pick<AgentState, "modes">): ReadonlyArray<ModeFrame> =>
  modes.slice(Math.max(0, modes.findLastIndex(({ isolation }) => !Isolation.readsOutside(isolation))))

/** Returns all values that can be read. An inner mode's value hides an outer one's. */
export const values = (self: Pick<AgentState, "modes">): { readonly [key: string]: Schema.Json } =>
  Object.fromEntries(readable(self).flatMap((frame) => Object.entries(frame.values)))

/** Returns a value, from the innermost mode that has it. */
export const value = (self: Pick<AgentState, "modes">, key: string): Schema.Json | undefined => {
  const frame = readable(self).findLast((frame) => Object.hasOwn(frame.values, key))
  return frame?.values[key]
}

/** How many of the last entered modes a state names. A conversation may enter any number, and each save would otherwise hold them all. */
const maxHistory = 100

/** Returns the name of the mode that was entered before the innermost one, or, outside of any mode, the name of the last one. */
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

/** Checks whether entering a mode on top of `height` others completes the move that was requested. */
const isDue = (pending: ModeTransition.Pending | undefined, name: string, height: number): boolean =>
  pending?.enter?.name === name && (pending.to === undefined || pending.to === height)

/** Returns what leaving a mode restores. Written out, because picking fields by their names took most of the time of entering a mode. */
const beforeOf = ({ initialQuery, modeHistory, settings, transition }: AgentState): ModeFrame["before"] => ({
  ...(initialQuery === undefined ? undefined : { initialQuery }),
  ...(settings === undefined ? undefined : { settings }),
  ...(transition === undefined ? undefined : { transition }),
  ...(modeHistory === undefined ? undefined : { modeHistory })
})

/**
 * Enters a mode, at a time in epoch milliseconds. If that completes the requested move, the request is cleared.
 *
 * A mode that is less isolated than the mode around it isn't entered.
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
    before: beforeOf(self)
  }
  return {
    ...(isTaken ? withKey(self, "transition", undefined) : self),
    modes: [...self.modes, frame],
    modeHistory: [...modeHistory, name].slice(-maxHistory)
  }
}

/**
 * Sets a mode up again, with the frame's parameters as its schema decodes them now. Values that the mode has changed itself stay; the
 * others follow the new parameters.
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

/** Returns a turn whose calls have ids that aren't taken, and marks those as taken. */
const withOwnIds = (turn: Turn, taken: Set<string>): Turn => {
  const parts = turn._tag === "Assistant" ? withUniqueIds(turn.parts, taken) : undefined
  return turn._tag !== "Assistant" || parts === undefined || parts === turn.parts ? turn : { ...turn, parts }
}

/** Returns the turns of a mode as if none had been cut or edited. New calls get other ids than the hidden ones. */
const whole = ({ view }: ModeFrame, turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  if (view === undefined) return turns
  const hidden = settleOpenCalls({ turns: view.hidden })
  const taken = new Set(callIds(hidden))
  return [...hidden.turns, ...turns.slice(view.shown).map((turn) => withOwnIds(turn, taken))]
}

const isAssistant = (turn: Turn): boolean => turn._tag === "Assistant"

/** Returns the last `count` turns of a user. What a mode said doesn't count. */
const questions = (turns: ReadonlyArray<Turn>, count: number): ReadonlyArray<Turn> =>
  count <= 0 ? [] : turns.filter((turn) => turn._tag === "User" && turn.mode === undefined).slice(-count)

/** Returns the status of a state whose conversation has changed. A handoff that was requested is still requested. */
const restatus = ({ status }: AgentState, conversation: Conversation): AgentStatus.AgentStatus => {
  const implied = statusOf(conversation)
  if (status._tag !== "HandoffRequested") return implied
  const { callId, ...request } = status.request
  return callId !== undefined && callIds(conversation).includes(callId)
    ? status
    : AgentStatus.handoffRequested(request)
}

/** Returns the summaries of the first `count` of a mode's turns, as if none had been cut or edited. */
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

/** Sets an optional field of a state, or removes it. */
const withKey = <Key extends "initialQuery" | "modeHistory" | "settings" | "transition">(
  self: AgentState,
  key: Key,
  value: AgentState[Key] | undefined
): AgentState => {
  if (value === self[key]) return self
  if (value !== undefined) return { ...self, [key]: value }
  const { [key]: _, ...rest } = self
  // The removed key is optional.
  return rest as AgentState
}

/**
 * Returns the move that is still to be carried out once only `height` modes are entered, if its place in the stack still exists. A move
 * that enters on top of any stack always has a place.
 */
const stillPending = (pending: AgentState["transition"], height: number): AgentState["transition"] =>
  pending?.to === undefined || pending.to < height || (pending.to === height && pending.enter !== undefined)
    ? pending
    : undefined

/**
 * Leaves the innermost mode. If the run `goesOn` or ends with it (`endsRun`), even a fork keeps the user's words that the run answers; with
 * `endsRun` it keeps the model's last answer too.
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

/** Leaves modes during a run, the innermost first, until only `height` remain. */
export const leaveTo = (self: AgentState, height: number): AgentState =>
  self.modes.slice(height).reduce((state) => leave(state, true), self)

/**
 * Undoes what a set-up did, as if the mode had never been entered; the steps and tokens that it used still count. If the set-up was interrupted, the move that entered the mode
 * stays requested.
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

/** Notes a requested move; the latest wins. */
export const request = (self: AgentState, transition: ModeTransition.ModeTransition): AgentState =>
  withKey(self, "transition", stillPending(ModeTransition.pending(transition, self.modes.length), self.modes.length))

/** Counts the turns that a view can change: those before the turn whose calls are open. */
export const viewed = ({ conversation }: AgentState): number =>
  hasOpenCalls(conversation)
    ? conversation.turns.findLastIndex((turn) => turn._tag === "Assistant")
    : conversation.turns.length

/** Makes a conversation of turns, and gives calls other ids if theirs are taken. */
const makeBeside = (turns: ReadonlyArray<Turn>, takenIds: ReadonlyArray<string>): Conversation => {
  const taken = new Set(takenIds)
  return make(turns.map((turn) => withOwnIds(turn, taken)))
}

/** Replaces the turns that the innermost mode sees, if its isolation has a view. */
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

/** Applies a change by hand for the mode at a height, by default the innermost. Only the innermost mode's view can be changed. */
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

/** Returns the ids of all calls, including those in turns that a mode's view hides. */
export const allCallIds = (
  { conversation, modes }: Pick<AgentState, "conversation" | "modes">
): ReadonlyArray<string> => [
  ...callIds(conversation),
  ...modes.flatMap(({ view }) => view === undefined ? [] : callIds({ turns: view.hidden }))
]

/**
 * Checks whether the last thing the model did was to give a mode its answer by `final_answer`. Any other result still has to be read by the
 * model.
 */
const hasAnsweredMode = (turns: ReadonlyArray<Turn>): boolean => {
  const heard = turns.findLast((turn) => turn._tag !== "Assistant")
  return acceptedCall(turns) !== undefined && heard?._tag === "User" && heard.mode !== undefined
}

/** Tells the model that a mode was entered or left in a run, if the model would otherwise find nothing to answer. */
export const tell = (self: AgentState, note: string): AgentState => {
  const { conversation: { turns }, status: { _tag } } = self
  const isAnswered = _tag === "Complete" || (_tag === "InProgress" && (turns.length === 0 || hasAnsweredMode(turns)))
  if (!isAnswered) return self
  const conversation = appendUnchecked(self.conversation, { _tag: "Feedback", text: note })
  return { ...self, conversation, status: statusOf(conversation) }
}
