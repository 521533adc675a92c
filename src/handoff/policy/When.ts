/**
 * A handoff that a condition decides.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { type HandoffPolicy, make } from "./Policy.ts"

/**
 * Hands over to an agent when another one has answered and a predicate holds.
 *
 * The predicate is called with the state after an answer, only when the run would otherwise end as `Complete`. It must depend on that state
 * alone.
 *
 * @category constructors
 * @since 0.1.0
 */
export const when = <const Target extends string>(
  predicate: (state: AgentState) => boolean,
  target: Target,
  options?: {
    /** The reason, for the target's model and the state's `handoff`; none by default. */
    readonly reason?: string | undefined
  }
): HandoffPolicy<Target> =>
  make({
    names: [target],
    decide: (state) =>
      !Wanted.booleanAtOnce("The predicate of `HandoffPolicy.when`", predicate(state))
        ? undefined
        : { target, ...(options?.reason === undefined ? undefined : { reason: options.reason }) }
  })
