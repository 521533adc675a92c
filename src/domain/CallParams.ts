/**
 * Parameters of a call that somebody gives in the model's place, read by those who know its tool.
 *
 * @since 0.1.0
 */
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { AgentState } from "./StateSchema.ts"

/**
 * Names the function by which something that has tools reads the parameters of a call.
 *
 * @category constants
 * @since 0.1.0
 */
export const ReadParams = "~troupe/domain/CallParams"

/**
 * Reads parameters for a call of a tool by its name. `calls` lead from the state to the agent whose call it is. Fails with what is
 * wrong with the parameters.
 */
export type ReadCall = (
  state: AgentState,
  call: { readonly calls: ReadonlyArray<string>; readonly name: string },
  params: Schema.Json
) => Result.Result<unknown, string>

/**
 * Something that reads the parameters of calls: an agent.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadsParams {
  readonly [ReadParams]: ReadCall
}
