/**
 * Checks whether a move between modes is possible: its mode exists, is isolated enough for its place, and accepts the parameters.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { ModeFailed } from "../../../domain/AgentError.ts"
import { remediedKindOf } from "../../../domain/Described.ts"
import { textNamed } from "../../../domain/InvalidName.ts"
import { isWithin } from "../../../domain/Isolation.ts"
import * as ModeTransition from "../../../domain/ModeTransition.ts"
import type { ModeFrame } from "../../../domain/StateSchema.ts"
import { because, isModeError, LessIsolated, NoMode, type Reason, UnknownMode } from "../../../modes/ModeError.ts"
import type { Definition, ModeEntry } from "../../definition/AgentDefinition.ts"
import type { Loop } from "../../journal/Loop.ts"
import { Fail } from "../../rules/Decision.ts"
import { decode, type ModeParams } from "./ModeParams.ts"

/** Returns why a mode can't be entered on top of others. */
export const findObstacle = ({ mode }: ModeEntry, around: ModeFrame | undefined): LessIsolated | undefined =>
  around === undefined || isWithin(mode.isolation, around.isolation) ? undefined : new LessIsolated({
    mode: mode.name,
    isolation: mode.isolation,
    around: around.name,
    aroundIsolation: around.isolation
  })

/** Finds a mode by its name, if it can be entered on top of others. */
export const find = (
  { modes }: Definition,
  name: string,
  around: ModeFrame | undefined
): ModeEntry | Exclude<Reason, { readonly _tag: "ParamsRejected" }> => {
  const entry = modes.get(textNamed("mode", name))
  return entry === undefined
    ? new UnknownMode({ mode: name, available: [...modes.keys()] })
    : findObstacle(entry, around) ?? entry
}

/** The mode to enter. */
export interface Target {
  readonly entry: ModeEntry
  readonly params: ModeParams
}

/** Finds the mode to enter and its parameters, before any mode is left. */
export const findTarget = (
  { definition, state }: Loop,
  { enter, to }: ModeTransition.Pending
): Effect.Effect<Target | undefined, unknown, unknown> => {
  if (enter === undefined) return Effect.succeed(undefined)
  const entry = find(definition, enter.name, state.modes[(to ?? state.modes.length) - 1])
  return "_tag" in entry
    ? Effect.fail(because(entry))
    : Effect.map(decode(entry, enter.params ?? {}), (params) => ({ entry, params }))
}

/**
 * Makes the reason of a run that ends because a mode can't be entered or left. It is for what Troupe refuses: what the mode's own code fails
 * with, even a `ModeError`, must not get here, because it keeps its type.
 */
export const asReason = ({ definition }: Loop, mode: string | undefined, error: unknown): unknown =>
  isModeError(error)
    ? new Fail(new ModeFailed({ agent: definition.name, mode: mode ?? "", issue: error.message }))
    : error

type Move = ModeTransition.ModeTransition

const withParams = (transition: Move, { json: params }: ModeParams): Move =>
  "name" in transition && transition.params !== undefined ? { ...transition, params } : transition

/** Returns a move with only the parameters that its mode declares, since a state keeps them until the move is carried out. */
export const declared = (entry: ModeEntry, transition: Move): Effect.Effect<Move, unknown, unknown> =>
  Effect.mapEager(
    decode(entry, "name" in transition ? transition.params ?? {} : {}),
    (params) => withParams(transition, params)
  )

/** Returns a move that a program asks for. Throws if the value isn't a move, because it could be neither carried out nor stored. */
export const given = (asked: unknown): Move => {
  if (Predicate.hasProperty(asked, "name")) textNamed("mode", asked.name as string)
  const move = ModeTransition.read(asked)
  if (move !== undefined) return move
  throw new TypeError(`\`schedule\` takes a move of \`ModeTransition\`, and was given ${remediedKindOf(asked)}`)
}

/** Returns a requested move, or fails if it isn't possible. */
export const check = (loop: Loop, transition: Move): Effect.Effect<Move, unknown, unknown> => {
  const height = loop.state.modes.length
  const pending = ModeTransition.pending(transition, height)
  if (pending === undefined) return Effect.succeed(transition)
  return transition._tag === "Exit" && height === 0
    ? Effect.fail(because(new NoMode({ operation: "exit" })))
    : Effect.map(
      findTarget(loop, pending),
      (target) => target === undefined ? transition : withParams(transition, target.params)
    )
}

/** Returns a move that a clean-up requests in a run, or fails if it isn't possible. */
export const checkInRun = (loop: Loop, transition: Move): Effect.Effect<Move, unknown, unknown> =>
  Effect.mapError(
    check(loop, transition),
    (error) => asReason(loop, "name" in transition ? transition.name : undefined, error)
  )
