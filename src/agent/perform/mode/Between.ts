/**
 * What runs between steps: the set-ups and clean-ups of modes. They see the conversation, and may talk to the agent.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Scope from "effect/Scope"
import type { LiveMode } from "../../journal/LiveModes.ts"
import { beginPart, CurrentOperations, endPart, type Operation } from "../../journal/Operations.ts"

/** Gives the services of what runs with a view of its own. */
type View = (services: Context.Context<unknown>) => Context.Context<unknown>

/** A part of a mode that runs between steps, from where it sees its services until it ends. */
export class Part {
  readonly #mode: LiveMode
  #within: ReadonlyArray<Operation> = []
  constructor(mode: LiveMode) {
    this.#mode = mode
  }
  /** Begins the part, and gives its services: those that `view` makes of what is there and of the mode's own. */
  begin(
    services: Context.Context<unknown>,
    view: View = identity,
    operations = Context.get(services, CurrentOperations)
  ): Context.Context<unknown> {
    const { context, scope, setUpIn } = this.#mode
    const isFirst = setUpIn.operations === undefined
    const within = this.#within = beginPart(setUpIn, operations)
    const own = Context.add(
      view(context === undefined ? services : Context.merge(services, context)),
      Scope.Scope,
      scope
    )
    return isFirst && within.length > 0 ? Context.add(own, CurrentOperations, within) : own
  }
  end(): void {
    endPart(this.#within)
  }
}

/**
 * Runs what a mode is cleaned up by, with services of its own. To be run where nothing can interrupt it; what it runs may let itself be
 * interrupted.
 */
export const between = <A>(
  mode: LiveMode,
  self: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> => {
  const part = new Part(mode)
  const seen = Effect.updateContext(self, (services: Context.Context<unknown>) => part.begin(services))
  return Effect.onExitPrimitive(seen, () => {
    part.end()
    return undefined
  }, true)
}
