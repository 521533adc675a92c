/**
 * Entering modes by hand: for somebody who leaves them again, or lets a scope do so.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import { messageOf } from "../../../domain/Described.ts"
import * as ModeStack from "../../../domain/ModeStack.ts"
import type { Entered } from "../../../modes/Host.ts"
import { because, NameTaken } from "../../../modes/ModeError.ts"
import type * as ModeType from "../../../modes/ModeType.ts"
import type { ModeEntry } from "../../definition/AgentDefinition.ts"
import { prepare } from "../../definition/AgentModes.ts"
import { extend } from "../../definition/Roster.ts"
import type { LiveMode } from "../../journal/LiveModes.ts"
import type * as Loop from "../../journal/Loop.ts"
import { withoutCallerServices } from "../CallerServices.ts"
import * as EnterMode from "./EnterMode.ts"
import type { EnterOptions, EnterResult, ModeParams } from "./SetUpMode.ts"
import * as TakeMoves from "./TakeMoves.ts"

/** A mode that can be entered, with the parameters that were read for it. */
interface Found {
  readonly entry: ModeEntry
  readonly params: ModeParams
  readonly options: EnterOptions
}

/**
 * Gives what is entered by hand: a mode that the agent has, or one that is used alone, with the services of whoever enters it.
 */
const find = (
  loop: Loop.Loop,
  mode: ModeType.Any,
  params: unknown,
  context: Context.Context<never>,
  result: EnterResult
): Effect.Effect<Found, unknown, unknown> => {
  const entry = prepare(mode)
  const isOwn = loop.definition.modes.get(mode.name) === entry
  const obstacle = TakeMoves.findObstacle(entry, ModeStack.top(EnterMode.seen(loop))) ??
    (isOwn ? undefined : findTaken(loop, mode))
  if (obstacle !== undefined) return Effect.fail(because(obstacle))
  const options = isOwn ? { result } : { context: withoutCallerServices(context), result }
  return Effect.mapEager(EnterMode.encode(entry, params), (params) => ({ entry, params, options }))
}

/** Says why the agents of a loop can't have a mode that isn't their own. */
const findTaken = (loop: Loop.Loop, mode: ModeType.Any): NameTaken | undefined => {
  try {
    extend(loop.roster, [mode])
    return undefined
  } catch (error) {
    return new NameTaken({ mode: mode.name, issue: messageOf(error) })
  }
}

/** Enters a mode by hand. To be called where it runs. */
export const enter = (
  loop: Loop.Loop,
  mode: ModeType.Any,
  params: unknown,
  context: Context.Context<never>,
  result: EnterResult
): Effect.Effect<LiveMode, unknown, unknown> =>
  Effect.flatMapEager(
    find(loop, mode, params, context, result),
    ({ entry, options, params }) => EnterMode.enter(loop, entry, params, options)
  )

type Leave = (
  open: LiveMode,
  exit: Exit.Exit<unknown, unknown>,
  recovers: boolean
) => Effect.Effect<unknown, unknown>

/** A mode that somebody enters and leaves. */
class EnteredMode implements EnterResult, Entered {
  open: LiveMode | undefined = undefined
  failed: Cause.Cause<unknown> | undefined = undefined
  readonly #leave: Leave
  constructor(leave: Leave) {
    this.#leave = leave
  }
  leave(
    exit: Exit.Exit<unknown, unknown>,
    recovers: boolean
  ): Effect.Effect<unknown, unknown> {
    return this.open === undefined ? exit : this.#leave(this.open, exit, recovers)
  }
}

const isIn = (cause: Cause.Cause<unknown>, error: unknown): boolean =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === error)

/**
 * Enters a mode for somebody who leaves it, or doesn't: an interruption may come when it is entered already, and before anybody
 * knows. What goes wrong, beside its set-up, is told by `toError`. To be called where it runs.
 */
export const enterFor = (
  enter: (result: EnterResult) => Effect.Effect<LiveMode, unknown, unknown>,
  leave: Leave,
  toError: (error: unknown) => unknown = identity
): Effect.Effect<Entered, unknown, unknown> => {
  const result = new EnteredMode(leave)
  return Effect.matchCauseEffectEager(enter(result), {
    onSuccess: () => Effect.succeed<Entered>(result),
    onFailure: (cause) => {
      const { failed: own = Cause.empty } = result
      const failed = Exit.failCause(Cause.map(cause, (error) => isIn(own, error) ? error : toError(error)))
      return Effect.andThen(result.leave(failed, false), failed)
    }
  })
}
