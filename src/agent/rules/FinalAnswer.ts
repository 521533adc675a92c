/**
 * What a state has as its agent's answer: the parameters of an accepted call of `final_answer`, or else the last text.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { NoOutput } from "../../domain/AgentOutput.ts"
import { lastAssistant, lastAssistantText, textOf } from "../../domain/conversation/Turns.ts"
import { acceptedCall, finalCalls } from "../../domain/FinalAnswer.ts"
import { isWithinLevels } from "../../domain/ForeignValue.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type { OutputCodec } from "../definition/OutputCodec.ts"

/** Checks whether the model's last turn gave a final answer that was accepted. */
export const isAccepted = ({ conversation: { turns } }: AgentState): boolean => acceptedCall(turns) !== undefined

/** Reads the answer of a state by the schema of its agent's answers. */
export const read = (codec: OutputCodec, state: AgentState): Result.Result<unknown, Schema.SchemaError> => {
  const accepted = acceptedCall(state.conversation.turns)
  if (accepted !== undefined) return codec.fromParams(accepted.params)
  const turn = lastAssistant(state.conversation)
  return codec.fromText(turn === undefined ? "" : textOf(turn))
}

/** Says why the final answer of the model's last turn was refused, if it gave one and it was. */
export const rejection = (codec: OutputCodec, state: AgentState): string | undefined => {
  if (isAccepted(state)) return undefined
  for (const call of finalCalls(state.conversation.turns)) {
    const decoded = codec.fromParams(call.params)
    if (call.state._tag === "Settled" && Result.isFailure(decoded)) return decoded.failure.message
  }
  return undefined
}

/** Reads a text as JSON. One that isn't, or is nested too deeply for a result, stays a text. */
const parse = (text: string): Schema.Json => {
  try {
    // `JSON.parse` returns JSON, or throws.
    const json = JSON.parse(text) as Schema.Json
    return isWithinLevels(json) ? json : text
  } catch {
    return text
  }
}

/** The output of a state whose run ended with an answer: the answer decoded by the agent's schema, or its text if there is no schema. */
export const outputOf = ({ agents, first }: Roster, state: AgentState): Result.Result<unknown, NoOutput> => {
  const fail = (issue: string): NoOutput => new NoOutput({ agent: state.agent, status: state.status._tag, issue })
  if (state.status._tag !== "Complete") return Result.fail(fail("the run hasn't ended with an answer"))
  const { output } = agents.get(state.agent) ?? first
  return output === undefined
    ? Result.succeed(lastAssistantText(state.conversation) ?? "")
    : Result.mapError(read(output, state), (error) => fail(error.message))
}

/**
 * Returns an answer in the form that other agents get, such as the caller of an agent: the output of the agent in control at the end, as
 * JSON, or the last text if that agent has no output.
 */
export const toResult = ({ agents }: Roster, state: AgentState): Schema.Json => {
  const codec = agents.get(state.agent)?.output
  const text = lastAssistantText(state.conversation) ?? ""
  if (codec === undefined) return text
  const accepted = acceptedCall(state.conversation.turns)
  return accepted === undefined ? parse(text) : codec.unwrap(accepted.params)
}
