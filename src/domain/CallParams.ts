/**
 * Parameters that somebody gives for a call instead of the model's, read by the agent that has its tool.
 *
 * @since 0.1.0
 */
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { AgentState } from "./StateSchema.ts"

/**
 * The key of the function that reads the parameters of an agent's calls.
 *
 * @category constants
 * @since 0.1.0
 */
export const ReadParams = "~troupe/domain/CallParams"

/**
 * Reads parameters for a call of the tool of this name. `calls` lead from the state to the agent whose call it is. Fails with a text that
 * says what is wrong with them.
 */
export type ReadCall = (
  state: AgentState,
  call: { readonly calls: ReadonlyArray<string>; readonly name: string },
  params: Schema.Json
) => Result.Result<unknown, string>

/**
 * Anything that reads the parameters of calls: an agent or a group.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadsParams {
  readonly [ReadParams]: ReadCall
}
