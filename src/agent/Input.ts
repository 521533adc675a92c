/**
 * What a user says, and what a run starts from.
 *
 * @since 0.1.0
 */
import * as AgentState from "../domain/AgentState.ts"
import { text, type UserPart } from "../domain/Part.ts"
import type { User } from "../domain/StateSchema.ts"
import type { Any } from "./AgentType.ts"
import type * as Run from "./Run.ts"

/**
 * What a user says: a text, or parts that may be files.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = string | ReadonlyArray<UserPart>

/** Gives an input as parts. */
export const partsOf = (input: Input): User["parts"] =>
  typeof input === "string" ? [text(input)] : input.map((part) => ({ ...part }))

/** Checks whether a run starts from a state, and not from an input. */
const isState = (from: Input | AgentState.AgentState): from is AgentState.AgentState =>
  typeof from === "object" && "conversation" in from

/** Gives what a run starts from: an input in a new conversation, or a state to go on with. */
export const begin = (
  agent: Any,
  from: Input | AgentState.AgentState,
  options?: Parameters<typeof AgentState.make>[1]
): Run.From =>
  isState(from)
    ? { state: from, input: undefined }
    : { state: AgentState.make(agent.name, { systemMessage: options?.systemMessage }), input: partsOf(from) }
