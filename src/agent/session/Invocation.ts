/**
 * A call that a program makes in the place of a model: how it is recorded, and what came of it.
 *
 * The call stands in an assistant turn of the agent in control, as one of the model's would. What makes it honest is that
 * the turn used nothing, that it counts as no step, and that the call says `{ troupe: { invoked: true } }` in its metadata.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { withUniqueIds } from "../../domain/CallIds.ts"
import { append, callsOf, lastAssistant, openCalls } from "../../domain/Conversation.ts"
import * as JsonValue from "../../domain/JsonValue.ts"
import { withConversation } from "../../domain/Reducer.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import type { Codec } from "../Codec.ts"
import type { Roster } from "../Definition.ts"
import * as TakenIds from "../TakenIds.ts"
import {
  because,
  CallsOpen,
  CallUnanswered,
  ParametersRejected,
  type SessionError,
  ToolNotFound
} from "./SessionError.ts"

/** Says why a tool can't be invoked in a state: its agent doesn't have it, or calls are open. */
export const findRefusal = (roster: Roster, state: AgentState, tool: Tool.Any): SessionError | undefined => {
  const definition = roster.agents.get(state.agent)
  const entry = definition?.tools.get(tool.name)
  const isSame = entry?._tag === "Handled" && entry.tool.parametersSchema === tool.parametersSchema &&
    entry.tool.successSchema === tool.successSchema && entry.tool.failureSchema === tool.failureSchema
  if (!isSame) {
    const handled = [...definition?.tools.values() ?? []].filter((entry) => entry._tag === "Handled")
    const available = handled.map((entry) => entry.tool.name)
    return because(new ToolNotFound({ agent: state.agent, tool: tool.name, available }))
  }
  const open = openCalls(state.conversation)
  return open.length === 0
    ? undefined
    : because(new CallsOpen({ tool: tool.name, callIds: open.map((call) => call.id) }))
}

/** Gives parameters as the JSON that a model would have written. */
export const encode = (tool: Tool.Any, params: unknown): Effect.Effect<Schema.Json, SessionError, unknown> =>
  Tool.isDynamic(tool) && tool.jsonSchema !== undefined
    ? Effect.sync(() => JsonValue.fromUnknown(params))
    : Effect.matchEffect((Schema.encodeUnknownEffect(Schema.toCodecJson(tool.parametersSchema)) as Codec)(params), {
      onSuccess: (json) => Effect.succeed(JsonValue.fromUnknown(json)),
      onFailure: (error) => Effect.fail(because(new ParametersRejected({ tool: tool.name, issue: error.message })))
    })

/** Records a call that is about to run, with an id of its own. Whoever invokes a tool approves of the call. */
export const record = (
  state: AgentState,
  tool: Tool.Any,
  params: Schema.Json
): { readonly state: AgentState; readonly callId: string } => {
  const call: Call = {
    _tag: "Call",
    id: "invoked",
    name: tool.name,
    params,
    state: { _tag: "Approved" },
    metadata: { troupe: { invoked: true } }
  }
  const parts = withUniqueIds([call], TakenIds.of(state.conversation))
  const conversation = append(state.conversation, {
    _tag: "Assistant",
    agent: state.agent,
    parts,
    usage: {},
    finishReason: "tool-calls"
  })
  return { state: withConversation(state, conversation), callId: (parts[0] as Call).id }
}

/** Gives what a handler gave, or says that the call was settled without it. */
export const resultOf = (
  state: AgentState,
  tool: Tool.Any,
  callId: string,
  own: Exit.Exit<unknown, unknown> | undefined
): Effect.Effect<unknown, unknown> => {
  if (own !== undefined) return own
  const turn = lastAssistant(state.conversation)
  const call = turn === undefined ? undefined : callsOf(turn).find((call) => call.id === callId)
  const settled = call?.state._tag === "Settled" ? call.state : undefined
  const result = settled?.result ?? "it wasn't settled"
  return Effect.fail(because(
    new CallUnanswered({
      tool: tool.name,
      callId,
      outcome: settled?.outcome ?? "Interrupted",
      issue: typeof result === "string" ? result : JSON.stringify(result)
    })
  ))
}
