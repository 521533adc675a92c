/**
 * Enters modes, and sets up again the modes that a state says are entered.
 *
 * The mode is on the stack while its set-up runs. If the set-up fails or is interrupted, its finalizers run, and the state is as before. If
 * the mode was only set up again, it stays entered in the state.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { AgentMismatch } from "../../../domain/AgentError.ts"
import type { AgentState, ModeFrame } from "../../../domain/StateSchema.ts"
import { because, TransitionCycle, Unavailable } from "../../../modes/ModeError.ts"
import type { ModeEntry } from "../../definition/AgentDefinition.ts"
import type * as Loop from "../../journal/Loop.ts"
import { Fail } from "../../rules/Decision.ts"
import { asReason } from "./CheckMove.ts"
import { decode, type ModeParams } from "./ModeParams.ts"
import { type EnterOptions, setUp } from "./SetUpMode.ts"

/** Returns the frame that is set up again next, while the mode around it is being set up. */
export const nextFrame = ({ isChangingModes, live, state }: Loop.Loop): ModeFrame | undefined =>
  isChangingModes ? state.modes[live.open.length] : undefined

/** Returns the state as a mode sees it: while it is set up again, the modes above it don't exist yet. */
export const seen = (loop: Loop.Loop): AgentState => {
  const { live, state } = loop
  const height = live.open.length
  return nextFrame(loop) === undefined ? state : {
    ...state,
    modes: state.modes.slice(0, height),
    prompt: state.prompt.filter(({ mode }) => mode === undefined || mode < height)
  }
}

/** Enters a mode in a resumed set-up. Only a mode that the first set-up entered is possible, and it is set up again too. */
const enterAgain = (
  loop: Loop.Loop,
  entry: ModeEntry,
  frame: ModeFrame,
  options: EnterOptions
): Effect.Effect<void, unknown, unknown> =>
  frame.name === entry.mode.name
    ? Effect.flatMap(
      decode(entry, frame.params),
      (params) => enter(loop, entry, params, { ...options, isResumed: true })
    )
    : Effect.fail(because(
      new Unavailable({
        operation: `Entering mode "${entry.mode.name}"`,
        issue: `mode "${frame.name}" is entered in its place, and isn't set up again yet`,
        error: null
      })
    ))

/** How many moves may happen without a request to the model, and how deeply set-ups and clean-ups may be nested. */
export const maxMoves = 32

/** Finds the modes whose set-ups and clean-ups are nested without an end, such as a mode that enters itself. */
const findCycle = ({ underway }: Loop.Loop, { mode }: ModeEntry): TransitionCycle | undefined => {
  const around: Array<string> = []
  for (let at = underway?.started; at !== undefined; at = at.below) {
    if (at.start._tag === "ModeEntering" || at.start._tag === "ModeExiting") around.unshift(at.start.name)
  }
  return around.length < maxMoves ? undefined : new TransitionCycle({ modes: [...around, mode.name], limit: maxMoves })
}

/** Checks whether a mode is on top and stays unchanged if it is entered again. */
const isThere = ({ live: { open } }: Loop.Loop, entry: ModeEntry): boolean =>
  entry.mode.whenOnTop === "stay" && open.at(-1)?.entry === entry

/** Enters a mode whose parameters were read, unless that changes nothing. It must be called in the run or operation of the conversation. */
export const enter = (
  loop: Loop.Loop,
  entry: ModeEntry,
  params: ModeParams,
  options: EnterOptions
): Effect.Effect<void, unknown, unknown> => {
  if (options.isResumed !== true && isThere(loop, entry)) return Effect.void
  const cycle = findCycle(loop, entry)
  if (cycle !== undefined) return Effect.fail(because(cycle))
  const frame = options.isResumed === true ? undefined : nextFrame(loop)
  return frame === undefined ? setUp(loop, entry, params, options) : enterAgain(loop, entry, frame, options)
}

/**
 * Sets up again the modes that a state says are entered and that aren't live, from the bottom. It must be called in the run or operation.
 */
export const resume = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> => {
  const { definition, live, state } = loop
  const frame = state.modes[live.open.length]
  if (frame === undefined) return Effect.void
  const entry = definition.modes.get(frame.name)
  if (entry === undefined) {
    const available = [...definition.modes.keys()]
    const { name: agent } = definition
    return Effect.fail(new Fail(new AgentMismatch({ agent, missing: "mode", wanted: frame.name, available })))
  }
  return Effect.flatMapEager(
    Effect.mapErrorEager(decode(entry, frame.params), (error) => asReason(loop, frame.name, error)),
    (params) => Effect.flatMap(enter(loop, entry, params, { isResumed: true }), () => resume(loop))
  )
}
