/**
 * The errors of a plan's run.
 *
 * @since 0.1.0
 */
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"
import { listOf, messageOf, showShortly } from "../../domain/Described.ts"
import { Results } from "./Results.ts"

const Attempt = Schema.Struct({ node: Schema.String, reason: Schema.Unknown })

/**
 * The error of a plan: the `node` that failed, the `reason`, and the `results` of all nodes that had ended.
 *
 * The `reason` is the node's own error, an `AgentError` with its state for an agent, or `TimeoutError` of Effect. So
 * `Effect.catchReason("PlanError", "AgentError", …)` picks one. `fallbacks` says what the fallbacks failed with, each by
 * its name, when the node had any. `Plan.resume` goes on from `results`.
 *
 * @category errors
 * @since 0.1.0
 */
export class PlanError<out E = unknown> extends Schema.TaggedError<PlanError>("troupe/handoff/Plan/PlanError")(
  "PlanError",
  {
    node: Schema.String,
    reason: Schema.Unknown,
    fallbacks: Schema.Array(Attempt),
    results: Results
  }
) {
  declare readonly reason: E
  declare readonly fallbacks: ReadonlyArray<{ readonly node: string; readonly reason: E }>

  override get message(): string {
    return [
      `Node "${this.node}" failed: ${messageOf(this.reason)}`,
      ...this.fallbacks.map(({ node, reason }) => `its fallback "${node}" failed: ${messageOf(reason)}`)
    ].join("; ")
  }
  /** The results of all nodes may be of any length. */
  constructor(
    fields: {
      readonly node: string
      readonly reason: E
      readonly fallbacks: PlanError<E>["fallbacks"]
      readonly results: Results
    },
    options?: Schema.MakeOptions
  ) {
    super(fields, options)
    showShortly(this, "`reason` is the node's own error; `results` has what the other nodes gave (`Plan.resume`)")
  }
  override [NodeInspectSymbol](): string {
    return this.stack ?? this.message
  }
}

/**
 * Error for results that name a node which the plan doesn't have.
 *
 * @category errors
 * @since 0.1.0
 */
export class PlanMismatch extends Schema.TaggedError<PlanMismatch>("troupe/handoff/Plan/PlanMismatch")("PlanMismatch", {
  node: Schema.String,
  available: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `The results name the node "${this.node}", which the plan doesn't have; available: ${listOf(this.available)}`
  }
}
