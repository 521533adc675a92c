/**
 * What a user says, and what a run starts from.
 *
 * @since 0.1.0
 */
import * as AgentState from "../../domain/AgentState.ts"
import { text, type UserPart } from "../../domain/Part.ts"
import type { User } from "../../domain/StateSchema.ts"
import type * as Runnable from "../../handoff/Runnable.ts"
import type { Roster } from "./AgentDefinition.ts"

/**
 * What a run starts from: a state, and what the user says, if this isn't a run that goes on.
 *
 * With `isPicked` it is chosen anew who begins; otherwise the agent goes on that was in control.
 */
export interface From {
  readonly state: AgentState.AgentState
  readonly input: User["parts"] | undefined
  readonly isPicked: boolean
}

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

/**
 * Where a run starts: the state of the conversation that it continues, or a system message of a new one.
 *
 * With `control: "first"` the one that begins conversations begins, instead of the agent that was in control.
 */
export interface FromOptions {
  readonly systemMessage?: string | undefined
  readonly state?: AgentState.AgentState | undefined
  readonly control?: "current" | "first" | undefined
}

/** Gives what a run starts from: without a state a new conversation, and without an input the state as it is. */
export const startOf = (
  { first }: Roster,
  { input, state }: Runnable.From,
  options?: Pick<FromOptions, "control" | "systemMessage">
): From => ({
  state: state ?? AgentState.make(first.name, { systemMessage: options?.systemMessage }),
  input,
  isPicked: state === undefined || options?.control === "first"
})

/** Gives what a run starts from: an input, in a new conversation or in that of a state, or a state to go on with. */
export const begin = (
  roster: Roster,
  from: Input | AgentState.AgentState,
  options?: FromOptions
): From =>
  isState(from)
    ? startOf(roster, { state: from, input: undefined })
    : startOf(roster, { state: options?.state, input: partsOf(from) }, options)
