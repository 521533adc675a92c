/**
 * Finds the tool of a call anywhere in a state, and reads parameters that somebody gives instead of the model, or a result that comes
 * later.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { openCalls } from "../../domain/conversation/Turns.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { WaitingCall } from "../../domain/WaitingCall.ts"
import type { HandledTool, Roster, ToolEntry } from "./AgentDefinition.ts"

/** A call: the name of its tool, and the calls that lead to its agent. */
export type Placed = Pick<WaitingCall, "calls" | "name">

/** Finds the tool of a call. The `calls` lead to a state, and the tool belongs to the agent in control of that state. */
export const toolOf = (
  { agents }: Roster,
  { agent, conversation }: AgentState,
  { calls: [outer, ...calls], name }: Placed
): ToolEntry | undefined => {
  const tools = agents.get(agent)?.tools
  if (outer === undefined) return tools?.get(name)
  const call = openCalls(conversation).find(({ id }) => id === outer)
  const entry = call === undefined ? undefined : tools?.get(call.name)
  return entry?._tag === "Agent" && call?.state._tag === "Delegated"
    ? toolOf(entry.roster(), call.state.child, { calls, name })
    : undefined
}

/** Reads the parameters of a call, as running it would. Fails with what is wrong with them. */
export const readParams = (
  roster: Roster,
  state: AgentState,
  call: Placed,
  params: Schema.Json
): Effect.Effect<unknown, string, unknown> => {
  const entry = toolOf(roster, state, call)
  return entry === undefined || entry._tag === "Handoff"
    ? Effect.fail(`The agent has no tool "${call.name}".`)
    : Effect.mapErrorEager(entry.decode(params), ({ message }) => message)
}

/** Reads the parameters of a call, if that needs neither services nor time. */
export const readParamsAtOnce = (
  roster: Roster,
  state: AgentState,
  call: Placed,
  params: Schema.Json
): Result.Result<unknown, string> => {
  const read = readParams(roster, state, call, params)
  return Exit.isExit(read)
    ? Effect.runSync(Effect.result(read as Exit.Exit<unknown, string>))
    : Result.fail(
      "Their schema needs services or an effect, so they can't be checked here: approve without the agent, or by a session."
    )
}

/**
 * Reads a result that somebody gives for a call. Returns the value that a handler would have returned, and the JSON of that value. Fails
 * with what is wrong.
 */
export const readResult = (
  { decodeSuccess, encodeSuccess }: HandledTool,
  result: Schema.Json
): Effect.Effect<{ readonly value: unknown; readonly encoded: unknown }, string, unknown> =>
  Effect.mapErrorEager(
    Effect.flatMapEager(
      decodeSuccess(result),
      (value) => Effect.mapEager(encodeSuccess(value), (encoded) => ({ value, encoded }))
    ),
    ({ message }) => message
  )
