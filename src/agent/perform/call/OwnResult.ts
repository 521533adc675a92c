/**
 * A handler's own result, read from what the state has of its call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { RunTool } from "../../definition/AgentDefinition.ts"
import type { CallResult } from "./ToolCall.ts"

/** Returns a handler's own result or failure, decoded from the result of its call. If that doesn't decode, there is none any more. */
export const ownOf = (
  entry: RunTool,
  { outcome, result }: Pick<CallResult["settlement"], "outcome" | "result">
): Effect.Effect<Pick<CallResult, "own">> => {
  const { failureSchema, successSchema } = entry.tool
  const schema = outcome === "Succeeded" ? successSchema : failureSchema
  return Effect.matchCauseEager(Schema.decodeUnknownEffect(Schema.toCodecJson(schema))(result), {
    onFailure: () => ({}),
    onSuccess: (value) => ({ own: outcome === "Succeeded" ? Exit.succeed(value) : Exit.fail(value) })
  }) as Effect.Effect<Pick<CallResult, "own">>
}
