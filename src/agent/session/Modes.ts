/**
 * A session as the conversation that modes are entered in.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { isAgentError } from "../../domain/AgentError.ts"
import * as ModeStack from "../../domain/ModeStack.ts"
import type { ModeTransition } from "../../domain/ModeTransition.ts"
import { OwnError } from "../../domain/OwnError.ts"
import { merge, type Settings } from "../../domain/Settings.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type CallError, type Operations, whatWasAdded } from "../../modes/Host.ts"
import { because, isModeError, type ModeError, NoMode, NotOnTop, Unavailable } from "../../modes/ModeError.ts"
import type { Input } from "../definition/Input.ts"
import { indexOfForeign, type LiveMode } from "../journal/LiveModes.ts"
import type * as Loop from "../journal/Loop.ts"
import * as Entering from "../perform/mode/Entering.ts"
import * as EnteringByHand from "../perform/mode/EnteringByHand.ts"
import * as Leaving from "../perform/mode/Leaving.ts"
import * as LoopHost from "../perform/mode/LoopHost.ts"
import * as Moving from "../perform/mode/Moving.ts"
import type { Entrance } from "../perform/mode/SettingUp.ts"
import { atEnd, atOnce, beginFor, between, type Held, inTurn, inTurnFor } from "./Held.ts"
import { isSessionError } from "./SessionError.ts"

/** Does something and gives the state after it, in turn or in the middle of a set-up or clean-up. */
const give = (
  held: Held,
  name: string,
  f: (loop: Loop.Loop) => Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<AgentState, unknown> => {
  const done = (loop: Loop.Loop) => Effect.map(Effect.suspend(() => f(loop)), () => loop.state)
  return between(held, done, inTurn(held, name, done))
}

/** Enters a mode by its name, on top of the others. It stays entered until somebody leaves it. */
export const enter = (held: Held, name: string, params: Schema.Json | undefined): Effect.Effect<AgentState, unknown> =>
  give(held, "enterMode", (loop) =>
    Effect.flatMapEager(Entering.resume(loop), () => {
      const entry = Moving.find(loop.definition, name, ModeStack.top(Entering.seen(loop)))
      return "_tag" in entry
        ? Effect.fail(because(entry))
        : Effect.flatMapEager(Entering.decode(entry, params ?? {}), (read) => Entering.enter(loop, entry, read, {}))
    }))

/** Leaves the innermost mode, which must have that name if one is given. Its clean-up may keep it. */
export const exit = (held: Held, name: string | undefined): Effect.Effect<AgentState, unknown> =>
  inTurn(held, "exitMode", (loop) => {
    const stack = ModeStack.names(loop.state)
    const top = stack[stack.length - 1]
    if (top === undefined) return Effect.fail(because(new NoMode({ operation: "exitMode" })))
    if (name !== undefined && name !== top) return Effect.fail(because(new NotOnTop({ mode: name, stack })))
    const left = Effect.flatMapEager(
      Entering.resume(loop),
      () => Leaving.leaveTo(loop, stack.length - 1, { exit: Exit.void, isOver: false })
    )
    return Effect.flatMap(left, (exit) => Effect.as(exit, loop.state))
  })

/** Asks for a move between modes, which is taken with the next call. */
export const schedule = (held: Held, transition: ModeTransition): Effect.Effect<AgentState, unknown> =>
  give(held, "schedule", (loop) => LoopHost.schedule(loop, transition))

/** Changes settings of the agent in control. */
export const configure = (held: Held, settings: Settings): Effect.Effect<AgentState, unknown> =>
  give(
    held,
    "configure",
    (loop) => LoopHost.adjust(loop, { _tag: "SettingsChanged", settings: merge(loop.state.settings, settings) })
  )

/** Sets up again what is entered, before anything else is done. What fails is tried again when the agent is asked. */
export const resume = (held: Held): Effect.Effect<void> =>
  held.ref.value.modes.length === 0
    ? Effect.void
    : Effect.catchCause(inTurn(held, "resume", Entering.resume), () => Effect.void)

/**
 * Gives how many modes stay entered when a session ends: none, or in what is stored all but those from the lowest upwards that is
 * used alone, which nobody else could set up again.
 */
const countStaying = ({ live, ref, store }: Held): number => {
  if (live.open.length < ref.value.modes.length) return live.open.length
  const foreign = indexOfForeign(live)
  return store === undefined ? 0 : foreign < 0 ? live.open.length : foreign
}

/** Leaves all modes when the session ends. One that is stored keeps them, for the next session of its id. */
export const end = (held: Held, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { live, ref, store } = held
    const staying = countStaying(held)
    if (live.open.length === 0) return Effect.void
    const before = ref.value
    const leaving = atEnd(held, (loop) =>
      Effect.flatMap(
        Leaving.leaveTo(loop, staying, { exit, isOver: true }),
        (left) => Effect.ensuring(whatWasAdded(left, exit), Leaving.suspend(loop, exit))
      ))
    const save = Effect.suspend(() => store === undefined || ref.value === before ? Effect.void : store.save(ref.value))
    return Effect.orDie(Effect.ensuring(leaving, Effect.orDie(save)))
  })

const asModeError = (operation: string) => (error: unknown): ModeError =>
  isModeError(error)
    ? error
    : because(new Unavailable({ operation, issue: isSessionError(error) ? error.message : String(error), error }))

const asEnterError = (error: unknown): unknown => isSessionError(error) ? asModeError("Mode.enter")(error) : error

const asCallError = (agent: string) => (error: unknown): CallError =>
  isAgentError(error) || isModeError(error)
    ? error
    : isSessionError(error)
    ? asModeError("Mode.call")(error)
    : new OwnError({ agent, error })

type Caller = Fiber.Fiber<unknown, unknown>

/** What a session can do for the modes in it; `call` is how it talks to its agent. */
export const operations = (
  held: Held,
  call: (input: Input) => Effect.Effect<AgentState, unknown>
): Operations => {
  const leave = (open: LiveMode, exit: Exit.Exit<unknown, unknown>, recovers: boolean, caller: Caller) => {
    const why = { exit, isOver: true, recovers }
    const left = Leaving.isLeftAtOnce(held.live, open)
      ? atOnce(held, caller, "exitMode", (loop, spans) => Leaving.leaveAtOnce(loop, open, why, spans))
      : undefined
    return left ?? Effect.flatten(Effect.catch(
      inTurn(held, "exitMode", (loop) => Leaving.leave(loop, open, why)),
      () => Effect.succeed(exit)
    ))
  }
  return {
    state: SubscriptionRef.get(held.ref),
    adjust: (operation, adjustment) =>
      Effect.mapError(inTurn(held, operation, (loop) => LoopHost.adjust(loop, adjustment)), asModeError(operation)),
    schedule: (transition) => Effect.asVoid(Effect.mapError(schedule(held, transition), asModeError("Mode.schedule"))),
    call: (input) => Effect.mapError(call(input), asCallError(held.self.name)),
    enter: (mode, params, caller, restore) => {
      const enter = (entrance: Entrance) =>
        beginFor(
          held,
          caller,
          restore,
          "enterMode",
          (loop, here) => EnteringByHand.beginToEnter(loop, mode, params, caller.context, entrance, here)
        ) ?? inTurnFor(held, caller, restore, "enterMode", (loop) =>
          Effect.flatMapEager(
            Entering.resume(loop),
            () => EnteringByHand.enter(loop, mode, params, caller.context, entrance)
          ))
      return EnteringByHand.enterFor(caller, enter, leave, asEnterError)
    }
  }
}
