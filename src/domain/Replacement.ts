/**
 * Replacing what guardrails have changed or blocked, everywhere in a state.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import type { GuardrailSettled } from "./AgentEvent.ts"
import { withTurns } from "./conversation/Summaries.ts"
import { lastAssistant, textOf } from "./conversation/Turns.ts"
import * as Part from "./Part.ts"
import { refusedCall } from "./RefusedCall.ts"
import type { AgentState, AssistantPart, Call, ModeFrame, Turn, User } from "./StateSchema.ts"
import { notOf } from "./Summarized.ts"

const withTurn = (self: AgentState, index: number, turn: Turn): AgentState => {
  const { summaries, turns } = self.conversation
  return { ...self, conversation: withTurns(notOf(summaries, index), turns.with(index, turn)) }
}

type Input = Extract<NonNullable<GuardrailSettled["replaced"]>, { readonly turn: number }>

const isSaid = (turn: Turn): turn is User => turn._tag === "User" && turn.mode === undefined

/** Checks whether the query that began the conversation comes from a turn, and from no earlier one. */
const isQuery = ({ conversation: { turns }, initialQuery }: AgentState, turn: User): boolean =>
  initialQuery !== undefined && turn === turns.find((turn) => isSaid(turn) && textOf(turn) === initialQuery)

/** Replaces turns also among those that a mode's view hides. */
const withHidden = ({ view, ...frame }: ModeFrame, turn: User, replaced: User): ModeFrame =>
  view === undefined
    ? frame
    : { ...frame, view: { ...view, hidden: view.hidden.map((each) => Equal.equals(each, turn) ? replaced : each) } }

/** Replaces what a user said: in the turn, in a mode's hidden copy of it, and in the query that began the conversation. */
const withInput = (self: AgentState, { blocked, input, turn: index }: Input): AgentState => {
  const turn = self.conversation.turns[index]
  if (turn?._tag !== "User") return self
  const replaced: User = { ...turn, parts: input, ...(blocked === undefined ? undefined : { blocked }) }
  const changed = withTurn(self, index, replaced)
  return {
    ...changed,
    ...(isQuery(self, turn) ? { initialQuery: textOf(replaced) } : undefined),
    modes: self.modes.length === 0 ? self.modes : self.modes.map((frame) => withHidden(frame, turn, replaced))
  }
}

/** Replaces all the text among parts by one text, at the place of the first. */
export const withText = (parts: ReadonlyArray<AssistantPart>, text: string): ReadonlyArray<AssistantPart> => {
  const at = parts.findIndex(({ _tag }) => _tag === "Text")
  const rest = parts.filter(({ _tag }) => _tag !== "Text")
  return text === "" ? rest : rest.toSpliced(at < 0 ? rest.length : at, 0, Part.text(text))
}

/** Checks whether a call hasn't run yet: it is pending, or approved as a program's calls are from the beginning. */
const isUnsettled = ({ state: { _tag } }: Call): boolean => _tag === "Pending" || _tag === "Approved"

/** Returns a state in which the value that a guardrail judged is replaced. A replacement that doesn't fit changes nothing. */
export const putInPlace = (
  self: AgentState,
  replaced: NonNullable<GuardrailSettled["replaced"]>,
  callId: string | undefined
): AgentState => {
  if ("turn" in replaced) return withInput(self, replaced)
  const turn = lastAssistant(self.conversation)
  if (turn === undefined) return self
  const parts = turn.parts.map((part) =>
    part._tag !== "Call" || part.id !== callId || !isUnsettled(part)
      ? part
      : replaced.refused === undefined
      ? { ...part, params: replaced.params }
      : refusedCall(part, replaced.refused)
  )
  return withTurn(self, self.conversation.turns.lastIndexOf(turn), { ...turn, parts })
}
