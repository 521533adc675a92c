/**
 * A user's own policy that decides who continues.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Policy from "./Policy.ts"

/**
 * Makes a policy that decides after an answer who continues, why and with what, as a function of the state with the answer.
 *
 * `decide` is called only when the run would otherwise end as `Complete`, and must depend on the state alone. If it returns `undefined`, or
 * the agent in control, the answer ends the run. Add other behaviour by `compose`: `explicit` offers handoffs to models, and
 * `mapConversation` changes what crosses.
 *
 * **Example** (By what the user asks)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Group, HandoffPolicy } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const members = { triage: Agent.make("triage"), north: Agent.make("north"), south: Agent.make("south") }
 *
 * const bySide = HandoffPolicy.make({
 *   names: ["north", "south"],
 *   decide: ({ agent, initialQuery = "" }) =>
 *     agent === "triage"
 *       ? { target: /snow/.test(initialQuery) ? "north" : "south", reason: "the weather", context: { urgent: false } }
 *       : undefined
 * })
 *
 * const program = Agent.run(Group.make(members, { start: "triage", policy: bySide }), "I need a snow plough").pipe(
 *   Effect.map(({ handoff, trail }) => ({ trail, context: handoff?.context })),
 *   Effect.provide(MockModel.layer(MockModel.repeat("Let me see.")))
 * )
 *
 * await Effect.runPromise(program) // => { trail: ["triage", "north"], context: { urgent: false } }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Name extends string, const Target extends Name>(options: {
  /** The agents that `decide` may name. */
  readonly names: ReadonlyArray<Name>
  /** Returns who takes over, or `undefined` if nobody does. It can't return an Effect. */
  readonly decide: (state: AgentState) => Policy.Decision<Target> | undefined
}): Policy.HandoffPolicy<Name> => Policy.make(options)
