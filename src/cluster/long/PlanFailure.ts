/**
 * What a plan on a cluster fails with, besides the errors of its nodes.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Failure } from "../../domain/AgentStatus.ts"
import { listOf, messageOf, tagOf } from "../../domain/Described.ts"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import * as ForeignValue from "../../domain/ForeignValue.ts"
import { AgentStopped } from "./Remote.ts"

/**
 * Error of a node whose output isn't JSON, so that no other process could continue with that output. `places` are the parts of the output
 * that aren't JSON.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutputNotJson extends ErrorClass<OutputNotJson>("troupe/cluster")("OutputNotJson", {
  node: Schema.String,
  places: Schema.Array(Schema.String)
}, ({ node, places }) => `The output of node "${node}" isn't JSON at ${listOf(places)}`) {}

/**
 * Error of a plan with an effect that was interrupted, or whose process ended, before it was done.
 *
 * Whether it took effect is unknown, so only `resume`, or a `retry` of its own after a `timeout`, starts it again. A node that is `idempotent`
 * never has this error: it starts again at once.
 *
 * @category errors
 * @since 0.1.0
 */
export class EffectUnknown extends ErrorClass<EffectUnknown>("troupe/cluster")(
  "EffectUnknown",
  {
    node: Schema.String
  },
  ({ node }) => `"${node}" was interrupted, or its process ended, before it was done: whether it took effect is unknown`
) {}

/** Returns an output as JSON. Fields without a value are left out. */
export const outputToJson = (node: string, output: unknown): Result.Result<Schema.Json | undefined, OutputNotJson> => {
  if (output === undefined) return Result.succeed(undefined)
  const { changes, json } = ForeignValue.toJson(output)
  const lost = changes.filter(({ path, was }) => was !== "undefined" || typeof path.at(-1) !== "string")
  return lost.length === 0
    ? Result.succeed(json)
    : Result.fail(new OutputNotJson({ node, places: lost.map(({ path, was }) => `${path.join(".")} (${was})`) }))
}

/** Describes what the node at a place failed with, as plain data. */
export const failureOf = (place: string, error: unknown): Failure =>
  error instanceof AgentStopped
    ? error.failure
    : { tag: tagOf(error) ?? "Failure", message: messageOf(error), agent: place, step: 0 }
