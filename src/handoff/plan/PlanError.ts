/**
 * The errors of a plan's run.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { listOf, messageOf } from "../../domain/Described.ts"
import { ErrorClass, showShortly, StateErrorClass } from "../../domain/ErrorClass.ts"
import { Results } from "./Results.ts"

const Attempt = Schema.Struct({ node: Schema.String, reason: Schema.Unknown })

/**
 * The error of a plan: the `node` that failed, the `reason`, and the `results` of all nodes that had ended.
 *
 * The `reason` is the error of the node or of an edge that leads to it, such as an `AgentError` with its state, `NoAnswer`, or
 * `TimeoutError` of Effect. So `Effect.catchReason("PlanError", "AgentError", …)` picks one. `fallbacks` lists what the node's fallbacks
 * failed with, by their names. `Plan.resume` continues from `results`.
 *
 * @category errors
 * @since 0.1.0
 */
export class PlanError<out E = unknown> extends StateErrorClass<PlanError>("troupe/handoff/Plan")("PlanError", {
  node: Schema.String,
  reason: Schema.Unknown,
  fallbacks: Schema.Array(Attempt),
  results: Results
}, ({ fallbacks, node, reason }) =>
  [
    `Node "${node}" failed: ${messageOf(reason)}`,
    ...fallbacks.map(({ node, reason }) => `its fallback "${node}" failed: ${messageOf(reason)}`)
  ].join("; "))
{
  declare readonly reason: E
  declare readonly fallbacks: ReadonlyArray<{ readonly node: string; readonly reason: E }>
  constructor(fields: Pick<PlanError<E>, "node" | "reason" | "fallbacks" | "results">, options?: Schema.MakeOptions) {
    super(fields, options)
    showShortly(
      this,
      "`reason` is the error of the node or of an edge into it; `results` has the outputs of the nodes that ended (`Plan.resume`)"
    )
  }
}

/**
 * Error for results that name a node which the plan doesn't have, or for a client of a cluster that asks for a node without an agent. On a
 * cluster, the answer's `error` has this tag too, if the plan lacks a node or a fallback that its stored state names.
 *
 * @category errors
 * @since 0.1.0
 */
export class PlanMismatch extends ErrorClass<PlanMismatch>("troupe/handoff/Plan")(
  "PlanMismatch",
  {
    node: Schema.String,
    available: Schema.Array(Schema.String)
  },
  ({ available, node }) => `"${node}" is none of these nodes: ${listOf(available)}`
) {}
