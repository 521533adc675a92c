/**
 * What a state names and a definition lacks: agents, modes, and the tools of open calls.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Roster } from "../agent/definition/AgentDefinition.ts"
import { openCalls } from "../domain/Conversation.ts"
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

/** Returns what a state names and a definition lacks, in called agents too. */
export const missing = ({ agents }: Roster, state: AgentState): ReadonlyArray<Missing> => {
  const { agent, conversation, modes } = state
  const definition = agents.get(agent)
  if (definition === undefined) return [{ kind: "Agent", name: agent, agent }]
  return [
    ...modes.flatMap(({ name }): ReadonlyArray<Missing> =>
      definition.modes.has(name) ? [] : [{ kind: "Mode", name, agent }]
    ),
    ...openCalls(conversation).flatMap(({ name, state }): ReadonlyArray<Missing> => {
      const entry = definition.tools.get(name)
      if (entry === undefined) return [{ kind: "Tool", name, agent }]
      return entry._tag === "Agent" && state._tag === "Delegated" ? missing(entry.roster(), state.child) : []
    })
  ]
}
