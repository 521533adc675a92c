/**
 * The reasons to reject an input: it is empty or too long.
 *
 * @since 0.1.0
 */
import { InputRejected } from "../../domain/AgentError.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type { Definition, Roster } from "../definition/AgentDefinition.ts"
import { findMismatch } from "./Mismatch.ts"

/** The agent that takes an input, and how long the input may be. */
type Taker = Pick<Definition, "name" | "maxInputLength">

/** Providers refuse an empty input. */
export const emptyInput = ({ maxInputLength, name }: Taker, length = 0): InputRejected =>
  new InputRejected({ agent: name, issue: "Empty", length, limit: maxInputLength })

/** Returns why an input is rejected: it has neither a file nor a word, or its text is too long. */
export const findInputIssue = (taker: Taker, input: User["parts"]): InputRejected | undefined => {
  let length = 0
  let isEmpty = true
  for (const part of input) {
    if (part._tag === "File") isEmpty = false
    else {
      length += part.text.length
      isEmpty &&= part.text.trim() === ""
    }
  }
  if (isEmpty) return emptyInput(taker, length)
  const { maxInputLength: limit, name: agent } = taker
  return length > limit ? new InputRejected({ agent, issue: "TooLong", length, limit }) : undefined
}

/** Checks whether any agent of a roster could take an input in a state. If none could, the picker isn't asked. */
export const isTakeable = (
  { roster, state }: { readonly roster: Roster; readonly state: AgentState },
  input: User["parts"]
): boolean => {
  const maxInputLength = Math.max(...Array.from(roster.agents.values(), (agent) => agent.maxInputLength))
  return findMismatch(roster, state) === undefined &&
    findInputIssue({ name: roster.first.name, maxInputLength }, input) === undefined
}
