/**
 * What stands in a state in the place of what a guardrail didn't let pass as it was.
 *
 * @since 0.1.0
 */
import type { GuardrailSettled } from "./AgentEvent.ts"
import { lastAssistant, textOf } from "./Conversation.ts"
import { withTurns } from "./conversation/Summaries.ts"
import * as Part from "./Part.ts"
import type { AgentState, AssistantPart, Turn, User } from "./StateSchema.ts"
import { notOf } from "./Summarized.ts"

const withTurn = (self: AgentState, index: number, turn: Turn): AgentState => {
  const { summaries, turns } = self.conversation
  return { ...self, conversation: withTurns(notOf(summaries, index), turns.with(index, turn)) }
}

/** Puts words in the place of what a user said. The query that began the conversation is those words then, too. */
const withInput = (self: AgentState, index: number, parts: User["parts"]): AgentState => {
  const turn = self.conversation.turns[index]
  if (turn?._tag !== "User") return self
  const replaced: User = { ...turn, parts }
  const changed = withTurn(self, index, replaced)
  return self.initialQuery === textOf(turn) ? { ...changed, initialQuery: textOf(replaced) } : changed
}

/** Changes the parts of the model's last turn. */
const withParts = (
  self: AgentState,
  change: (parts: ReadonlyArray<AssistantPart>) => ReadonlyArray<AssistantPart>
): AgentState => {
  const turn = lastAssistant(self.conversation)
  return turn === undefined
    ? self
    : withTurn(self, self.conversation.turns.lastIndexOf(turn), { ...turn, parts: change(turn.parts) })
}

/** Puts a text in the place of all the text among parts, where the first of it stands. */
export const withText = (parts: ReadonlyArray<AssistantPart>, text: string): ReadonlyArray<AssistantPart> => {
  const at = parts.findIndex(({ _tag }) => _tag === "Text")
  const rest = parts.filter(({ _tag }) => _tag !== "Text")
  return text === "" ? rest : rest.toSpliced(at < 0 ? rest.length : at, 0, Part.text(text))
}

/** Gives a state in which something else stands where a guardrail looked. What doesn't fit changes nothing. */
export const putInPlace = (
  self: AgentState,
  replaced: NonNullable<GuardrailSettled["replaced"]>,
  callId: string | undefined
): AgentState => {
  if ("turn" in replaced) return withInput(self, replaced.turn, replaced.input)
  if ("answer" in replaced) return withParts(self, (parts) => withText(parts, replaced.answer))
  const { params } = replaced
  return withParts(
    self,
    (parts) =>
      parts.map((part) =>
        part._tag === "Call" && part.id === callId && part.state._tag === "Pending"
          ? { ...part, params }
          : part
      )
  )
}
