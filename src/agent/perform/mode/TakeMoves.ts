/**
 * Moves between modes: whether one is possible, and taking those that are asked for before the model is asked.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ModeFailed } from "../../../domain/AgentError.ts"
import { isWithin } from "../../../domain/Isolation.ts"
import * as ModeTransition from "../../../domain/ModeTransition.ts"
import type { ModeFrame } from "../../../domain/StateSchema.ts"
import {
  because,
  isModeError,
  LessIsolated,
  NoMode,
  type Reason,
  TransitionCycle,
  UnknownMode
} from "../../../modes/ModeError.ts"
import type { Definition, ModeEntry } from "../../definition/AgentDefinition.ts"
import type { Loop } from "../../journal/Loop.ts"
import { Fail } from "../../rules/Decision.ts"
import * as EnterMode from "./EnterMode.ts"
import * as LeaveMode from "./LeaveMode.ts"
import { decode, type ModeParams } from "./ModeParams.ts"

/** Says why a mode can't be entered on top of others. */
export const findObstacle = ({ mode }: ModeEntry, around: ModeFrame | undefined): LessIsolated | undefined =>
  around === undefined || isWithin(mode.isolation, around.isolation) ? undefined : new LessIsolated({
    mode: mode.name,
    isolation: mode.isolation,
    around: around.name,
    aroundIsolation: around.isolation
  })

/** Finds a mode by its name, where it can be entered on top of others. */
export const find = (
  { modes }: Definition,
  name: string,
  around: ModeFrame | undefined
): ModeEntry | Exclude<Reason, { readonly _tag: "ParamsRejected" }> => {
  const entry = modes.get(name)
  return entry === undefined
    ? new UnknownMode({ mode: name, available: [...modes.keys()] })
    : findObstacle(entry, around) ?? entry
}

interface Target {
  readonly entry: ModeEntry
  readonly params: ModeParams
}

/** Finds what is to be entered, before anything is left: the mode, where it may land, and its parameters. */
const findTarget = (
  { definition, state }: Loop,
  { enter, to }: ModeTransition.Pending
): Effect.Effect<Target | undefined, unknown, unknown> => {
  if (enter === undefined) return Effect.succeed(undefined)
  const entry = find(definition, enter.name, state.modes[(to ?? state.modes.length) - 1])
  return "_tag" in entry
    ? Effect.fail(because(entry))
    : Effect.map(decode(entry, enter.params ?? {}), (params) => ({ entry, params }))
}

/** Fails where a move isn't possible. */
export const check = (
  loop: Loop,
  transition: ModeTransition.ModeTransition
): Effect.Effect<unknown, unknown, unknown> => {
  const height = loop.state.modes.length
  const pending = ModeTransition.pending(transition, height)
  if (pending === undefined) return Effect.void
  return transition._tag === "Exit" && height === 0
    ? Effect.fail(because(new NoMode({ operation: "exit" })))
    : findTarget(loop, pending)
}

/** Ends a run whose move isn't possible: nothing was left or entered, and the move isn't asked for any more. */
const refuse = (loop: Loop, { enter }: ModeTransition.Pending, error: unknown): Effect.Effect<never, unknown> => {
  if (!isModeError(error)) return Effect.fail(error)
  LeaveMode.takeBack(loop)
  return Effect.fail(
    new Fail(
      new ModeFailed({ agent: loop.definition.name, mode: enter?.name ?? "", issue: error.message })
    )
  )
}

const entered = (mode: string): string => `You are now in mode "${mode}".`

/** Takes one move, unless a clean-up on its way asks for another. A model that `goesOn` is told. */
const take = Effect.fnUntraced(function*(
  loop: Loop,
  pending: ModeTransition.Pending,
  before: number,
  goesOn: boolean
) {
  if (before >= EnterMode.maxMoves) {
    const modes = [
      ...loop.state.modes.map(({ name }) => name),
      ...(pending.enter === undefined ? [] : [pending.enter.name])
    ]
    return yield* refuse(loop, pending, because(new TransitionCycle({ modes, limit: EnterMode.maxMoves })))
  }
  const target = yield* Effect.catch(findTarget(loop, pending), (error) => refuse(loop, pending, error))
  if (pending.to !== undefined) {
    const why = { exit: Exit.void, isOver: false, note: goesOn ? LeaveMode.noteOfLeaving : undefined }
    const exit = yield* LeaveMode.leaveTo(loop, pending.to, why)
    if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
  }
  if (target === undefined || loop.state.transition !== pending) return
  const note = goesOn ? entered(target.entry.mode.name) : undefined
  yield* EnterMode.enter(loop, target.entry, target.params, { note })
})

/** Takes the moves that are asked for, until none is. `goesOn` says that it happens in a run, whose model is told. */
export const takeAll: (loop: Loop, goesOn: boolean) => Effect.Effect<void, unknown, unknown> = Effect.fnUntraced(
  function*(loop: Loop, goesOn: boolean) {
    for (let before = 0; loop.state.transition !== undefined; before++) {
      yield* take(loop, loop.state.transition, before, goesOn)
    }
  }
)
