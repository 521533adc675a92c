/**
 * How a handler ends without a result, which comes later.
 *
 * A handler's result has the type of its tool, so there is no value for this: the handler ends by a defect that the loop knows. Nothing
 * between the handler and the loop catches defects.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/** The defect of a handler whose result comes later. */
class ResultDeferred extends Error {
  override readonly name = "ResultDeferred"
  override readonly message =
    "`ToolPolicy.deferResult` ran outside of a tool's handler: only a handler can leave its result to others"
}

/** Ends a handler without a result. */
export const deferResult: Effect.Effect<never> = Effect.suspend(() => Effect.die(new ResultDeferred()))

/** Checks whether a handler ended without a result, and nothing else went wrong in it. */
export const isDeferred = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.length > 0 &&
  reasons.every((reason) => Cause.isDieReason(reason) && reason.defect instanceof ResultDeferred)
