/**
 * A session as the conversation that modes are entered in.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { isAgentError } from "../../domain/AgentError.ts"
import { messageOf } from "../../domain/Described.ts"
import { textNamed } from "../../domain/InvalidName.ts"
import * as ModeStack from "../../domain/ModeStack.ts"
import type { ModeTransition } from "../../domain/ModeTransition.ts"
import { OwnError } from "../../domain/OwnError.ts"
import type { SettingsChange } from "../../domain/Settings.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type CallError, configuring, type Operations, whatWasAdded } from "../../modes/Host.ts"
import { because, isModeError, type ModeError, NoMode, NotOnTop, Unavailable } from "../../modes/ModeError.ts"
import type { Input } from "../definition/Input.ts"
import { asAgentError } from "../journal/Failure.ts"
import { indexOfForeign } from "../journal/LiveModes.ts"
import type * as Loop from "../journal/Loop.ts"
import * as CheckMove from "../perform/mode/CheckMove.ts"
import * as EnterForProgram from "../perform/mode/EnterForProgram.ts"
import * as EnterMode from "../perform/mode/EnterMode.ts"
import * as LeaveMode from "../perform/mode/LeaveMode.ts"
import * as LeaveUnready from "../perform/mode/LeaveUnready.ts"
import { decode } from "../perform/mode/ModeParams.ts"
import * as RunHost from "../perform/mode/RunHost.ts"
import { Fail } from "../rules/Decision.ts"
import { look, nestedOrAlone, type OpenSession, runAlone, runAtEnd } from "./OpenSession.ts"
import { isSessionError } from "./SessionError.ts"

/** Runs an operation and returns the state after it: alone, or within a set-up or clean-up that requests it. */
const give = (
  session: OpenSession,
  name: string,
  f: (loop: Loop.Loop) => Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<AgentState, unknown> => {
  const done = (loop: Loop.Loop) => Effect.map(Effect.suspend(() => f(loop)), () => loop.state)
  return nestedOrAlone(session, done, runAlone(session, name, done))
}

/** The error of an operation that needs modes which can't be set up again. */
const notSetUp = (loop: Loop.Loop, operation: string, error: unknown): ModeError =>
  because(
    new Unavailable({
      operation,
      issue: messageOf(error instanceof Fail ? error.reason : error),
      error: asAgentError(loop, error)
    })
  )

/** Turns the failure of an agent that lacks the entered modes into a `ModeError` of the operation. */
const forModes = <A>(
  loop: Loop.Loop,
  operation: string,
  self: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> =>
  Effect.mapErrorEager(self, (error) => error instanceof Fail ? notSetUp(loop, operation, error) : error)

/**
 * Sets up again the modes that the state says are entered, before an operation. Fails with a `ModeError` if the agent doesn't have one of
 * them; the error of a set-up isn't changed.
 */
const resumeFor = (loop: Loop.Loop, operation: string): Effect.Effect<void, unknown, unknown> =>
  forModes(loop, operation, EnterMode.resume(loop))

/** Enters a mode by its name, on top of the others. It stays entered until it is left. */
export const enter = (
  session: OpenSession,
  name: string,
  params: Schema.Json | undefined
): Effect.Effect<AgentState, unknown> =>
  give(session, "enterMode", (loop) =>
    Effect.flatMapEager(resumeFor(loop, "enterMode"), () => {
      const entry = CheckMove.find(loop.definition, name, ModeStack.top(EnterMode.seen(loop)))
      return "_tag" in entry
        ? Effect.fail(because(entry))
        : Effect.flatMapEager(decode(entry, params ?? {}), (read) => EnterMode.enter(loop, entry, read, {}))
    }))

/** Leaves the innermost mode, which must have that name if one is given, even if it can't be set up again. Its clean-up may keep it. */
export const exit = (session: OpenSession, name: string | undefined): Effect.Effect<AgentState, unknown> =>
  runAlone(session, "exitMode", (loop) => {
    if (name !== undefined) textNamed("mode", name)
    const stack = ModeStack.names(loop.state)
    const top = stack.at(-1)
    if (top === undefined) return Effect.fail(because(new NoMode({ operation: "exitMode" })))
    if (name !== undefined && name !== top) return Effect.fail(because(new NotOnTop({ mode: name, stack })))
    const left = LeaveUnready.leaveTo(loop, stack.length - 1, { exit: Exit.void, isOver: false })
    return Effect.flatMap(forModes(loop, "exitMode", left), (exit) => Effect.as(exit, loop.state))
  })

/** Requests a move between modes, which is carried out before the model is asked next. */
export const schedule = (session: OpenSession, transition: ModeTransition): Effect.Effect<AgentState, unknown> =>
  give(session, "schedule", (loop) => RunHost.schedule(loop, transition))

/** Changes conversation settings of the agent in control. */
export const configure = (session: OpenSession, settings: SettingsChange): Effect.Effect<AgentState, unknown> =>
  give(session, "configure", (loop) => RunHost.adjust(loop, "configure", configuring(settings)))

/** Sets up the entered modes again, before anything else is done. A set-up that fails is tried again when the agent is asked. */
export const resume = (session: OpenSession): Effect.Effect<void> =>
  session.ref.value.modes.length === 0
    ? Effect.void
    : Effect.catchCause(runAlone(session, "resume", EnterMode.resume), () => Effect.void)

/**
 * Returns how many of the modes that are set up stay entered when a session ends. If not all entered modes are set up, all stay. In a
 * stored session the modes below the first one that is used alone stay: only the program that entered that mode could set it up again. Otherwise
 * none stays.
 */
const countStaying = ({ live, ref, store }: OpenSession): number => {
  if (live.open.length < ref.value.modes.length) return live.open.length
  const foreign = indexOfForeign(live)
  return store === undefined ? 0 : foreign < 0 ? live.open.length : foreign
}

/** Leaves modes when the session ends, and releases the resources of those that stay entered for the next session (`countStaying`). */
export const end = (session: OpenSession, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const staying = countStaying(session)
    if (session.live.open.length === 0) return Effect.void
    const leaving = runAtEnd(session, (loop) =>
      Effect.flatMap(
        LeaveMode.leaveTo(loop, staying, { exit, isOver: true }),
        (left) => Effect.flatMap(LeaveMode.suspend(loop, exit, left), (released) => whatWasAdded(released, exit))
      ))
    return Effect.orDie(leaving)
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

/** What modes can do with a session; `call` talks to its agent. */
export const operations = (
  session: OpenSession,
  call: (input: Input) => Effect.Effect<AgentState, unknown>
): Operations => ({
  state: SubscriptionRef.get(session.ref),
  modes: look(session, (loop) => Effect.succeed(RunHost.modesOf(loop))),
  systemPrompt: (instructions) => look(session, (loop) => RunHost.systemPrompt(loop, instructions)),
  adjust: (operation, make) =>
    Effect.mapError(
      runAlone(session, operation, (loop) => RunHost.adjust(loop, operation, make)),
      asModeError(operation)
    ),
  schedule: (transition) => Effect.asVoid(Effect.mapError(schedule(session, transition), asModeError("Mode.schedule"))),
  call: (input) => Effect.mapError(call(input), asCallError(session.agent.name)),
  enter: (mode, params, context, restore) =>
    EnterForProgram.leavable(
      (entrance) =>
        restore(runAlone(session, "enterMode", (loop) =>
          Effect.flatMapEager(
            // The type of `Mode.enter` has only its own mode's errors, so errors of the other modes become a `ModeError`.
            Effect.mapErrorEager(EnterMode.resume(loop), (error) =>
              isModeError(error) ? error : notSetUp(loop, "Mode.enter", error)),
            () =>
              EnterForProgram.enter(loop, mode, params, context, entrance)
          ))),
      (open, exit, recovers) =>
        Effect.catch(
          runAlone(session, "exitMode", (loop) => LeaveMode.leave(loop, open, { exit, isOver: true, recovers })),
          () => Effect.succeed(exit)
        ),
      asEnterError
    )
})
