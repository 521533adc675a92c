/**
 * How a program enters a mode: by `Mode.within`, which leaves it again, or by `Mode.enter`, which lets a scope leave it.
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
import { type Any as AnyMode, definitionOf } from "../../../modes/ModeType.ts"
import type { Roster } from "../../definition/AgentDefinition.ts"
import { prepare } from "../../definition/AgentModes.ts"
import { checkRosters, extend, rosterOf } from "../../definition/Roster.ts"
import * as AgentsBeside from "../../journal/AgentsBeside.ts"
import type { LiveMode } from "../../journal/LiveModes.ts"
import type * as Loop from "../../journal/Loop.ts"
import { withoutCallerServices } from "../CallerServices.ts"
import * as CheckMove from "./CheckMove.ts"
import * as EnterMode from "./EnterMode.ts"
import { encode } from "./ModeParams.ts"
import type { EnterResult } from "./SetUpMode.ts"

/** Returns the rosters of the agents that lead to a called one, whose handlers come from the same environment. */
const rostersAbove = ({ parent }: Loop.Loop): ReadonlyArray<Roster> =>
  parent === undefined ? [] : [parent.roster, ...rostersAbove(parent)]

/** Returns the conflict of names between a mode that is used alone and the agents that run in its environment, if there is one. */
const findTaken = (
  loop: Loop.Loop,
  mode: AnyMode,
  context: Context.Context<never>
): NameTaken | undefined => {
  try {
    const extended = extend(loop.roster, [mode])
    const handlers = Object.values(definitionOf(mode).toolkit?.tools ?? {}).map(({ id }) => id)
    const others = [...rostersAbove(loop), ...AgentsBeside.sharing(context, handlers).map(rosterOf)]
    if (others.length > 0) checkRosters([...others, extended])
    return undefined
  } catch (error) {
    return new NameTaken({ mode: mode.name, issue: messageOf(error) })
  }
}

/**
 * Enters a mode for a program: one that the agent has, or one that is used alone, with the services of the program. To be called within
 * an operation or a run.
 */
export const enter = (
  loop: Loop.Loop,
  mode: AnyMode,
  params: unknown,
  context: Context.Context<never>,
  result: EnterResult
): Effect.Effect<void, unknown, unknown> => {
  const entry = prepare(mode)
  const isOwn = loop.definition.modes.get(mode.name) === entry
  const obstacle = CheckMove.findObstacle(entry, ModeStack.top(EnterMode.seen(loop))) ??
    (isOwn ? undefined : findTaken(loop, mode, context))
  if (obstacle !== undefined) return Effect.fail(because(obstacle))
  const options = isOwn ? { result } : { context: withoutCallerServices(context), result }
  return Effect.flatMapEager(
    encode(entry, params),
    (params) => EnterMode.enter(loop, entry, params, options)
  )
}

type Leave = (
  open: LiveMode,
  exit: Exit.Exit<unknown, unknown>,
  recovers: boolean
) => Effect.Effect<Exit.Exit<unknown, unknown>>

const isIn = (cause: Cause.Cause<unknown>, error: unknown): boolean =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === error)

/**
 * Enters a mode, and returns how its program leaves it. If the mode was on top already and stayed, leaving does nothing.
 *
 * An interruption may come after the mode is entered and before the program has it; then the mode is left here. Failures other than the
 * set-up's own become what `toError` makes of them.
 */
export const leavable = (
  enter: (result: EnterResult) => Effect.Effect<void, unknown, unknown>,
  leave: Leave,
  toError: (error: unknown) => unknown = identity
): Effect.Effect<Entered, unknown, unknown> => {
  const result: EnterResult = { open: undefined, failed: undefined }
  const entered: Entered = {
    leave: (exit, recovers) => result.open === undefined ? Effect.succeed(exit) : leave(result.open, exit, recovers)
  }
  return Effect.matchCauseEffect(enter(result), {
    onSuccess: () => Effect.succeed(entered),
    onFailure: (cause) => {
      const { failed: own = Cause.empty } = result
      const failed = Exit.failCause(Cause.map(cause, (error) => isIn(own, error) ? error : toError(error)))
      return Effect.andThen(Effect.flatten(entered.leave(failed, false)), failed)
    }
  })
}
