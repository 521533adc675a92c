/**
 * Entering modes, and setting up again what a state says is entered.
 *
 * The mode is on the stack while its set-up runs. One that fails or is interrupted is undone whole: its finalizers run, and the
 * state is what it was before.
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
import { decode, type ModeParams } from "./ModeParams.ts"
import { type EnterOptions, setUp } from "./SetUpMode.ts"

/** Gives the frame that is set up again next, while the mode around it is. */
export const nextFrame = ({ isChangingModes, live, state }: Loop.Loop): ModeFrame | undefined =>
  isChangingModes ? state.modes[live.open.length] : undefined

/** Gives the state as a mode sees it: while one is set up again, those above it aren't there yet. */
export const seen = (loop: Loop.Loop): AgentState => {
  const { live, state } = loop
  const height = live.open.length
  return nextFrame(loop) === undefined ? state : {
    ...state,
    modes: state.modes.slice(0, height),
    prompt: state.prompt.filter(({ mode }) => mode === undefined || mode < height)
  }
}

/** Enters in a set-up that resumes what the first one entered: it is set up again too. Nothing else has a place there. */
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

/** How many moves may come without a request to the model, and how many set-ups and clean-ups may be within each other. */
export const maxMoves = 32

/** Finds the modes whose set-ups and clean-ups are within each other without an end: one that enters its own mode, for example. */
const findCycle = ({ underway }: Loop.Loop, { mode }: ModeEntry): TransitionCycle | undefined => {
  const around: Array<string> = []
  for (let at = underway?.started; at !== undefined; at = at.below) {
    if (at.start._tag === "ModeEntering" || at.start._tag === "ModeExiting") around.unshift(at.start.name)
  }
  return around.length < maxMoves ? undefined : new TransitionCycle({ modes: [...around, mode.name], limit: maxMoves })
}

/** Checks whether a mode is on top and stays as it is if it is entered once more. */
const isThere = ({ live: { open } }: Loop.Loop, entry: ModeEntry): boolean =>
  entry.mode.whenOnTop === "stay" && open[open.length - 1]?.entry === entry

/** Enters a mode whose parameters were read, unless that changes nothing. To be called where it runs. */
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

/** Sets up again what a state says is entered and isn't live, from the bottom. To be called where it runs. */
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
    decode(entry, frame.params),
    (params) => Effect.flatMap(enter(loop, entry, params, { isResumed: true }), () => resume(loop))
  )
}
