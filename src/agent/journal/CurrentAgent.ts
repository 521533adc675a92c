/**
 * The agent that is running, as models, tool handlers and instructions can read it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type { AgentState } from "../../domain/StateSchema.ts"

/**
 * The agent that is running: its name and its state at the time of reading.
 *
 * `path` has the names from the outermost agent to this one: each called the next as a tool. `calls` are the ids of these calls.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunningAgent {
  readonly agent: string
  readonly path: readonly [string, ...Array<string>]
  readonly calls: ReadonlyArray<string>
  readonly state: AgentState
}

/**
 * The agent that is running, or `undefined` in code that no agent runs.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentAgent = Context.Reference<RunningAgent | undefined>("troupe/agent/CurrentAgent", {
  defaultValue: () => undefined
})
