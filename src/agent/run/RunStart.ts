/**
 * What a run starts from: a state, and a user's input.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import { make } from "../../domain/Beginning.ts"
import { remediedKindOf } from "../../domain/Described.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type * as Runnable from "../../handoff/Runnable.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import { type Input, partsOf } from "../definition/Input.ts"

/**
 * What a run starts from. Without an input, a run continues its state; with `isReopened` a failed state is reopened first. With `isPicked`
 * the agent that begins is chosen anew; otherwise the agent in control continues.
 */
export interface From extends Pick<Runnable.From, "beside"> {
  readonly state: AgentState
  readonly input: User["parts"] | undefined
  readonly isPicked: boolean
  readonly isReopened?: boolean
}

/**
 * Where a run with an input starts: in a new conversation, or in that of a state. A run that continues a state without an input ignores
 * these options.
 */
export interface FromOptions {
  /**
   * A text for a new conversation, which the model reads after the agent's instructions; none by default. Ignored if there is a `state`.
   */
  readonly systemMessage?: string | undefined
  /** The state whose conversation the input continues; by default a new conversation begins. */
  readonly state?: AgentState | undefined
  /**
   * Who answers: `"current"` is the agent in control. `"first"` is the agent that begins conversations; in a group with a picker, the one
   * that is picked. By default `"first"` in a group with a picker whose conversation has no turns yet, else `"current"`. While calls or a handoff are open, or if that agent lacks an entered mode, the agent in control answers.
   */
  readonly control?: "current" | "first" | undefined
}

/**
 * Which agent answers, if a program doesn't say so. A state without turns names an agent although nobody was in control yet: a session has
 * such a state before its first run. So a picker is asked then.
 */
const usualControl = ({ picker }: Roster, { conversation }: AgentState): "current" | "first" =>
  picker !== undefined && conversation.turns.length === 0 ? "first" : "current"

/** Without a state, a run starts a new conversation. */
export const startOf = (
  roster: Roster,
  { beside, input, state }: Runnable.From,
  options?: Pick<FromOptions, "control" | "systemMessage">
): From => ({
  state: state ?? (options?.systemMessage === undefined ? roster.initial : make(roster.first.name, options)),
  input,
  beside,
  isPicked: state === undefined || (options?.control ?? usualControl(roster, state)) === "first"
})

const isState = (from: unknown): from is AgentState => Predicate.hasProperty(from, "conversation")

/** Untyped callers may pass anything, most often a `Result` instead of the state inside it. */
const refuse = (by: string, wanted: string, given: unknown): never => {
  throw new TypeError(`${by} takes ${wanted}, and was given ${remediedKindOf(given)}`)
}

/** Returns a state that a program gave, or throws. */
export const stateGiven = (by: string, given: AgentState): AgentState =>
  isState(given) ? given : refuse(by, "a state", given)

/** Starts a run from an input, in a new conversation or in that of a state. */
export const ask = (roster: Roster, input: Input, options?: FromOptions, wanted = "a text or parts"): From => {
  if (typeof input !== "string" && !Array.isArray(input)) refuse("A run", wanted, input)
  const state = options?.state === undefined ? undefined : stateGiven("A run", options.state)
  return startOf(roster, { state, input: partsOf(input) }, options)
}

/** Continues a state where it stopped. */
export const goOn = (roster: Roster, state: AgentState): From =>
  startOf(roster, { state: stateGiven("A run", state), input: undefined })

/** Starts a run from an input, or continues a state. */
export const begin = (roster: Roster, from: Input | AgentState, options?: FromOptions): From =>
  isState(from) ? goOn(roster, from) : ask(roster, from, options, "a state, a text or parts")
