/**
 * The live part of the entered modes: the scopes of their set-ups, in the order of the stack. A session keeps it from run to run.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import type * as Scope from "effect/Scope"
import type { ModeFrame } from "../../domain/StateSchema.ts"
import type { Enterable } from "../../modes/Host.ts"
import type { ModeEntry } from "../definition/AgentDefinition.ts"
import type { SetUpOperations } from "./OperationsUnderWay.ts"
import { Slot } from "./Slot.ts"

/**
 * A mode that is set up. `context` holds the services of the program, if the mode is used alone: the program entered it. `found` are
 * the values that a resumed set-up found.
 */
export interface LiveMode {
  readonly setUpIn: SetUpOperations
  readonly entry: ModeEntry
  readonly scope: Scope.Closeable
  readonly context: Context.Context<never> | undefined
  readonly found: ModeFrame["values"] | undefined
}

/**
 * The modes that are set up, the innermost last. `holder` is the session that keeps them beyond a run.
 *
 * `atWork` is the run that is under way: finalizers and fibers of set-ups refer to that one. `slots` hold caches that are good for later
 * runs too. While the scopes of modes are closed at the end of a run, the modes stay entered, but nothing can be said or entered any more.
 * No event says so, since the state doesn't change: `Loop.isLettingGo` looks at the scopes.
 */
export interface LiveModes {
  readonly open: Array<LiveMode>
  readonly holder: (() => Enterable) | undefined
  readonly slots: Array<unknown>
  atWork: Enterable | undefined
}

/** Makes the live part when no mode is set up. */
export const make = (holder: (() => Enterable) | undefined): LiveModes => ({
  open: [],
  holder,
  slots: Slot.places(),
  atWork: undefined
})

/** Finds the lowest mode that is used alone. Only the program that entered it can set it up again. */
export const indexOfForeign = ({ open }: LiveModes): number => open.findIndex(({ context }) => context !== undefined)
