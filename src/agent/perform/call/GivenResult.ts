/**
 * A result that came from outside of the run: it is read, cut and judged as if the handler had just given it.
 *
 * The handler ended in an earlier run, so its services, retries and time-outs are over. A given failure is a text for the model. It doesn't
 * end the run, even if the tool is fatal, because it isn't the tool's typed error.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Struct from "effect/Struct"
import type { Given } from "../../../domain/DeferredResult.ts"
import type { Call } from "../../../domain/StateSchema.ts"
import type { HandledTool } from "../../definition/AgentDefinition.ts"
import { readResult } from "../../definition/CallTool.ts"
import type * as Loop from "../../journal/Loop.ts"
import { isJudgedResult, judgedBy } from "../../rules/JudgedCall.ts"
import { guardAt } from "../guard/Guard.ts"
import { shortened } from "./ResultLength.ts"
import { type CallResult, failed, refused, succeeded } from "./ToolCall.ts"

/** Reads a success by the tool's schema. A result that doesn't fit fails the call. */
const read = (
  loop: Loop.Loop,
  entry: HandledTool,
  { outcome, result }: Given
): Effect.Effect<CallResult, never, unknown> =>
  outcome === "Failed"
    ? Effect.succeed(failed(result))
    : Effect.matchEffect(readResult(entry, result), {
      onFailure: (issue) => refused(loop, entry, issue),
      onSuccess: ({ encoded, value }) => Effect.succeed(succeeded(entry, value, encoded))
    })

/**
 * Judges a result as soon as it is given, so that only what passed is kept. If no guardrail judges results, it is kept as given, and read
 * when the run continues.
 */
export const judge = (
  loop: Loop.Loop,
  call: Call,
  entry: HandledTool,
  given: Given
): Effect.Effect<Given, never, unknown> =>
  loop.definition.guardrails.toolResult.length === 0
    ? Effect.succeed(given)
    : Effect.map(readGiven(loop, call, entry, given), ({ settlement: { outcome, ...said } }) => ({
      ...said,
      outcome: outcome === "Succeeded" ? outcome : "Failed",
      ...judgedBy(loop.definition, "toolResult")
    }))

/** Returns the result of a call that was given one from outside. */
export const readGiven = (
  loop: Loop.Loop,
  call: Call,
  entry: HandledTool,
  given: Given
): Effect.Effect<CallResult, never, unknown> => {
  const settlement = Struct.omit(given, ["judged"])
  if (isJudgedResult(loop.definition, given)) return Effect.succeed({ settlement })
  const { maxLength } = entry.policy
  // What passed other guardrails was read and cut already, and a replacement may not fit the tool's schema.
  const answered: Effect.Effect<CallResult, never, unknown> = given.judged !== undefined
    ? Effect.succeed({ settlement })
    : Effect.map(
      read(loop, entry, given),
      (answered) =>
        maxLength === undefined ? answered : { ...answered, settlement: shortened(answered.settlement, maxLength) }
    )
  const guard = guardAt(loop.definition, "toolResult")
  return guard === undefined
    ? answered
    : Effect.flatMap(answered, (answered) => guard.judgeResult(loop, call, entry, answered))
}
