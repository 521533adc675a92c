/**
 * Entering modes by hand: for somebody who leaves them again, or lets a scope do so.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { messageOf } from "../../domain/Described.ts"
import * as ModeStack from "../../domain/ModeStack.ts"
import type { Entered } from "../../modes/Host.ts"
import { because, type ModeError, NameTaken } from "../../modes/ModeError.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import * as Loop from "../Loop.ts"
import { extend } from "../Roster.ts"
import { servicesOf } from "../session/Environment.ts"
import * as Entering from "./Entering.ts"
import type { Open } from "./Live.ts"
import { prepare } from "./ModeEntry.ts"
import * as Moving from "./Moving.ts"

/**
 * Enters a mode by hand: one that the agent has, or one that is used alone, with the services of whoever enters it. To be called
 * where it runs.
 */
export const enter = (
  loop: Loop.Loop,
  mode: ModeType.Any,
  params: unknown,
  context: Context.Context<never>,
  entrance: Entering.Entrance
): Effect.Effect<Open, unknown, unknown> => {
  const entry = prepare(mode)
  const isOwn = loop.definition.modes.get(mode.name) === entry
  const obstacle = Moving.findObstacle(entry, ModeStack.top(Entering.seen(loop)))
  if (obstacle !== undefined) return Effect.fail(because(obstacle))
  return Effect.flatMapEager(isOwn ? Effect.void : bring(loop, mode), () =>
    Effect.flatMapEager(
      Entering.encode(entry, params),
      (read) => Entering.enter(loop, entry, read, isOwn ? { entrance } : { context: servicesOf(context), entrance })
    ))
}

const isReadAtOnce = <A, E>(self: Effect.Effect<A, E, unknown>): self is Exit.Success<A, E> =>
  Exit.isExit(self) && Exit.isSuccess(self)

/** Begins to enter a mode by hand, where that takes no more than to set it up. Gives nothing elsewhere. */
export const beginToEnter = (
  loop: Loop.Loop,
  mode: ModeType.Any,
  params: unknown,
  entrance: Entering.Entrance,
  here: Entering.Here
): Entering.Begun | undefined => {
  const { definition, live, state } = loop
  const entry = prepare(mode)
  const isReady = definition.modes.get(mode.name) === entry && live.open.length === state.modes.length &&
    Moving.findObstacle(entry, ModeStack.top(state)) === undefined
  const read = isReady ? Entering.encode(entry, params) : undefined
  return read !== undefined && isReadAtOnce(read)
    ? Entering.beginToEnter(loop, entry, read.value, { entrance }, here)
    : undefined
}

type Leave = (
  open: Open,
  exit: Exit.Exit<unknown, unknown>,
  recovers: boolean,
  caller: Fiber.Fiber<unknown, unknown>
) => Effect.Effect<unknown, unknown>

/** A mode that somebody enters and leaves: `open` is what is live of it, as soon as it is entered. */
class Entrance implements Entered {
  open: Open | undefined = undefined
  readonly #leave: Leave
  constructor(leave: Leave) {
    this.#leave = leave
  }
  leave(
    exit: Exit.Exit<unknown, unknown>,
    recovers: boolean,
    caller: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<unknown, unknown> {
    return this.open === undefined ? exit : this.#leave(this.open, exit, recovers, caller)
  }
}

/**
 * Enters a mode for somebody who leaves it, or doesn't: an interruption may come when it is entered already, and before anybody
 * knows. To be called where it runs.
 */
export const enterFor = (
  caller: Fiber.Fiber<unknown, unknown>,
  enter: (entrance: Entering.Entrance) => Effect.Effect<Open, unknown, unknown>,
  leave: Leave
): Effect.Effect<Entered, unknown, unknown> => {
  const entrance = new Entrance(leave)
  return Effect.matchCauseEffectEager(enter(entrance), {
    onSuccess: () => Effect.succeed<Entered>(entrance),
    onFailure: (cause) => {
      const failed = Exit.failCause(cause)
      return Effect.andThen(entrance.leave(failed, false, caller), failed)
    }
  })
}

/** Gives the agents of a loop a mode that is used alone. */
const bring = (loop: Loop.Loop, mode: ModeType.Any): Effect.Effect<void, ModeError> =>
  Effect.try({
    try: () => Loop.putOnRoster(loop, extend(loop.roster, [mode])),
    catch: (error) => because(new NameTaken({ mode: mode.name, issue: messageOf(error) }))
  })
