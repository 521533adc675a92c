/**
 * What a state names and a definition lacks: agents, modes, and the tools of open calls.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Roster } from "../agent/definition/AgentDefinition.ts"
import { mismatches } from "../agent/rules/Mismatch.ts"
import type { AgentState } from "../domain/StateSchema.ts"

/**
 * Schema for what a definition lacks: an agent, a mode of an agent, or a tool of an agent that an open call names.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Missing = Schema.Struct({
  kind: Schema.Literals(["Agent", "Mode", "Tool"]),
  name: Schema.String,
  agent: Schema.String
})

/** What a definition lacks: an agent, a mode of `agent`, or a tool of `agent` that an open call names. */
export interface Missing extends Schema.Schema.Type<typeof Missing> {}

const kinds = { agent: "Agent", mode: "Mode", tool: "Tool" } as const

/** Returns what a state names and a definition lacks, in called agents too. */
export const missing = (roster: Roster, state: AgentState): ReadonlyArray<Missing> =>
  mismatches(roster, state).map(({ agent, missing, wanted }) => ({
    kind: kinds[missing],
    name: wanted,
    agent: missing === "agent" ? wanted : agent
  }))
