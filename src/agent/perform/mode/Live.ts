/**
 * What is live of the modes in a state: the scopes of their set-ups, in the order of the stack.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import type * as Scope from "effect/Scope"
import type { Enterable } from "../../../modes/Host.ts"
import type { ModeEntry } from "../../definition/AgentDefinition.ts"
import type { Stage } from "../../session/Line.ts"

/**
 * A mode that is set up. `context` are the services of whoever entered it by hand, `stage` the operations it is set up in. It `isResuming`
 * while it is set up again.
 */
export interface Open {
  readonly stage: Stage
  readonly entry: ModeEntry
  readonly scope: Scope.Closeable
  readonly context: Context.Context<never> | undefined
  isResuming: boolean
}

/**
 * The modes that are set up. `isHeld` says that somebody holds them beyond a run. `moves` counts the moves between modes since
 * the model was asked, and `between` the set-ups and clean-ups that run at this time: no step is under way then. While modes are
 * let go of (`isLettingGo`) they stay entered, and nothing can be said or entered any more.
 *
 * `atWork` is the run that is under way where they are held beyond one, and `holder` whoever holds them.
 */
export interface Live {
  readonly open: Array<Open>
  readonly isHeld: boolean
  moves: number
  between: number
  isLettingGo: boolean
  atWork: Enterable | undefined
  holder: Enterable | undefined
}

/** Makes what is live where nothing is. */
export const make = (isHeld: boolean): Live => ({
  open: [],
  isHeld,
  moves: 0,
  between: 0,
  isLettingGo: false,
  atWork: undefined,
  holder: undefined
})
