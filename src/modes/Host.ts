/**
 * The conversation that modes are entered in: a session, or a run of an agent.
 *
 * This floor is below the ones that hold conversations, so it declares here what they must provide.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import type { Adjustment } from "../domain/Adjustment.ts"
import type { AgentError } from "../domain/AgentError.ts"
import type { AgentState } from "../domain/AgentState.ts"
import type { ModeTransition } from "../domain/ModeTransition.ts"
import type { OwnError } from "../domain/OwnError.ts"
import type { UserPart } from "../domain/Part.ts"
import { merge, type SettingsChange } from "../domain/Settings.ts"
import { because, type ModeError, NoConversation } from "./ModeError.ts"
import type { Any, Definition } from "./ModeType.ts"

/**
 * What `Mode.call` and `SystemPrompt.render` may fail with. An error of the agent's own, such as that of a fatal tool, is in the `error` of
 * an `OwnError`.
 */
export type CallError = AgentError | OwnError | ModeError

/**
 * A mode that was entered. `leave` leaves it, and returns the final exit: that of the body, joined with the failure of the clean-up if
 * there was one. The exit is returned as a value, because failing with it could annotate its reasons with a span. If it `recovers`, the
 * mode may return something instead of a failure.
 */
export interface Entered {
  leave(exit: Exit.Exit<unknown, unknown>, recovers: boolean): Effect.Effect<Exit.Exit<unknown, unknown>>
}

/** Dies with what failed while a mode was left, without earlier failures. `toDefect` converts errors to defects. */
export const whatWasAdded = (
  left: Exit.Exit<unknown, unknown>,
  exit: Exit.Exit<unknown, unknown>,
  toDefect: (error: unknown) => unknown = identity
): Exit.Exit<void> => {
  const before: ReadonlyArray<unknown> = Exit.isFailure(exit) ? exit.cause.reasons : []
  const added = Exit.isFailure(left) ? left.cause.reasons.filter((reason) => !before.includes(reason)) : []
  const defects = added.map((reason) =>
    Cause.isFailReason(reason) ? Cause.makeDieReason(toDefect(reason.error)) : reason
  )
  return defects.length === 0 ? Exit.void : Exit.failCause(Cause.fromReasons(defects))
}

/** Makes an effect in an uninterruptible region as interruptible as its caller is. */
export type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Makes a change from the state that it changes. It is called when nothing else changes the conversation, so no change is based on a state
 * that another one has replaced.
 */
export type Adjust = (state: AgentState) => Effect.Effect<Adjustment, ModeError>

/** Changes conversation settings. */
export const configuring = (change: SettingsChange): Adjust => ({ settings }) =>
  Effect.succeed({ _tag: "SettingsChanged", settings: merge(settings, change) })

/**
 * What a conversation can do for the modes in it. `enter` takes the services of the program that enters, and must be called in an
 * uninterruptible region. If it fails or is interrupted, nothing is entered.
 */
export interface Operations {
  readonly state: Effect.Effect<AgentState>
  readonly modes: Effect.Effect<ReadonlyArray<Definition>>
  systemPrompt(instructions: string | undefined): Effect.Effect<string, CallError>
  adjust(operation: string, adjust: Adjust): Effect.Effect<void, ModeError>
  schedule(transition: ModeTransition): Effect.Effect<void, ModeError>
  call(input: string | ReadonlyArray<UserPart>): Effect.Effect<AgentState, CallError>
  enter(
    mode: Any,
    params: unknown,
    context: Context.Context<never>,
    restore: Restore
  ): Effect.Effect<Entered, unknown, unknown>
}

/** Marks what modes can be entered in. */
export const TypeId = "~troupe/modes/Host"

/** Something that modes can be entered in: a session is. */
export interface Enterable {
  readonly [TypeId]: Operations
}

/** The requirement of a conversation that modes can be entered in. */
export interface Host {
  readonly _: "troupe/modes/Host"
}

/**
 * The conversation that `Mode.enter` and `Mode.within` enter modes in.
 *
 * `Session.layer` provides it. A session from `Session.make` is one itself: `Effect.provideService(Mode.Host, session)`.
 *
 * @category services
 * @since 0.1.0
 */
export const Host: Context.Service<Host, Enterable> = Context.Service("troupe/modes/Host")

/** Uses the current conversation, if there is one. Everything that an agent runs has one, and so has a session. */
export const use = <A, E, R>(
  operation: string,
  f: (operations: Operations) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | ModeError, R> =>
  Effect.withFiber((fiber): Effect.Effect<A, E | ModeError, R> => {
    const host = Context.getOrUndefined(fiber.context, Host)
    return host === undefined ? Effect.fail(because(new NoConversation({ operation }))) : f(host[TypeId])
  })
