/**
 * The answer of a state as a value.
 *
 * @since 0.1.0
 */
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"
import type { AgentState } from "./StateSchema.ts"

/**
 * Error for a state that holds no answer: its run hasn't ended with one, or what it ended with doesn't decode.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoOutput extends ErrorClass<NoOutput>("troupe/domain/AgentOutput")("NoOutput", {
  agent: Schema.String,
  status: Schema.String,
  issue: Schema.String
}, ({ agent, issue, status }) => `The state of agent "${agent}" (${status}) holds no output: ${issue}`) {}

/**
 * The key of the function that reads an agent's answer from a state.
 *
 * @category constants
 * @since 0.1.0
 */
export const ReadOutput = "~troupe/domain/AgentOutput"

/**
 * Anything whose answers have a type: an agent or a group.
 *
 * @category models
 * @since 0.1.0
 */
export interface GivesOutput<out Output> {
  readonly [ReadOutput]: (state: AgentState) => Result.Result<Output, NoOutput>
}

/**
 * Returns the answer of a state: the value that the agent's `output` schema decodes, or the text if the agent has no such schema.
 *
 * Fails with `NoOutput` if the status isn't `Complete`, or if the answer doesn't fit the schema of the agent in control. Given the agent
 * alone, it returns a function of the state, for `Effect.map` and pipes.
 *
 * @category getters
 * @since 0.1.0
 */
export const output: {
  <Output>(agent: GivesOutput<Output>): (state: AgentState) => Result.Result<Output, NoOutput>
  <Output>(agent: GivesOutput<Output>, state: AgentState): Result.Result<Output, NoOutput>
} =
  // The overloads say what is returned with a state and without one.
  (<Output>(agent: GivesOutput<Output>, state?: AgentState) =>
    state === undefined ? agent[ReadOutput] : agent[ReadOutput](state)) as typeof output
