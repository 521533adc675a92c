/**
 * Runs an effect of a mode: its set-up, its clean-up or its finalizers. They run between steps, see the conversation, and may talk to the
 * agent, except for the finalizers of a mode that stays entered at the end of a run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Scope from "effect/Scope"
import * as Wanted from "../../../domain/Wanted.ts"
import { atExit } from "../../journal/AtExit.ts"
import type { LiveMode } from "../../journal/LiveModes.ts"
import { beginEffect, CurrentOperations, endEffect, type OperationUnderWay } from "../../journal/OperationsUnderWay.ts"

/** Adds services, such as a span. */
type View = (services: Context.Context<unknown>) => Context.Context<unknown>

/**
 * Runs an effect of a mode with the mode's services and scope, and what `view` adds. It must run in an uninterruptible region; the effect
 * itself may be interruptible.
 */
export const runModeEffect = <A>(
  { context, scope, setUpIn }: LiveMode,
  self: Effect.Effect<A, unknown, unknown>,
  view: View = identity
): Effect.Effect<A, unknown, unknown> => {
  let within: ReadonlyArray<OperationUnderWay> = []
  const seen = Effect.updateContext(self, (services: Context.Context<unknown>) => {
    const isFirst = setUpIn.operations === undefined
    within = beginEffect(setUpIn, Context.get(services, CurrentOperations))
    const own = Context.add(
      view(context === undefined ? services : Context.merge(services, context)),
      Scope.Scope,
      scope
    )
    return isFirst && within.length > 0 ? Context.add(own, CurrentOperations, within) : own
  })
  return atExit(seen, () => endEffect(within))
}

/**
 * Runs the Effect that a mode's function returns. If the function returns no Effect, or one that succeeds with another Effect or a Promise,
 * a defect names the function.
 */
export const ranBy = <A>(
  by: string,
  f: () => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> =>
  Effect.suspend(() => {
    const given = f()
    return Effect.isEffect(given)
      ? Effect.map(given, (value) => Wanted.value(`The Effect of ${by}`, value))
      : Effect.die(Wanted.mustReturn(by, "Effect", given))
  })
