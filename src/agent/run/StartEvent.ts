/**
 * The event that a run starts or continues: what was said, which agent begins, and why the run fails at once, if it does.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Reason } from "../../domain/AgentError.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import * as Failure from "../journal/Failure.ts"
import * as Loop from "../journal/Loop.ts"
import * as Guard from "../perform/guard/Guard.ts"
import { Fail } from "../rules/Decision.ts"
import type { From } from "./RunStart.ts"

/** How a run begins: the agent that was picked for its input, and what is wrong with that or with the state, if anything is. */
export interface Start {
  readonly from: Pick<From, "input" | "isReopened">
  readonly picked: Exit.Exit<Definition, unknown>
  readonly mode: string | undefined
  readonly reason: Reason | undefined
}

/**
 * The agents that might read an input: the agent that was picked. If none could be picked, the agent in control and all others that could
 * have been.
 */
const readersOf = ({ definition, roster: { agents } }: Loop.Loop, { picked }: Start): ReadonlyArray<Definition> =>
  Exit.isSuccess(picked)
    ? [picked.value]
    : [definition, ...[...agents.values()].filter(({ name }) => name !== definition.name)]

/** Returns why a run fails as soon as it has started, if it does. */
const causeOf = ({ picked, reason }: Start): Cause.Cause<unknown> | undefined =>
  reason !== undefined ? Cause.fail(new Fail(reason)) : Exit.isFailure(picked) ? picked.cause : undefined

/**
 * Emits the event that a run starts or continues. Returns an effect if guardrails are asked before.
 *
 * A run that fails as soon as it has started (`cause`) is `Failed` from there on: nothing else in the state would say so if the process died
 * before the run's last event.
 */
export const tellStart = (
  loop: Loop.Loop,
  start: Start,
  cause = causeOf(start)
): Effect.Effect<void, never, unknown> | undefined => {
  const { from: { input, isReopened }, mode, picked, reason } = start
  const { definition } = loop
  // An input that isn't taken in doesn't change which agent is in control.
  const inControl = reason === undefined && Exit.isSuccess(picked) ? picked.value : definition
  const isTaken = input !== undefined && reason === undefined
  const error = cause === undefined || Cause.hasInterruptsOnly(cause)
    ? undefined
    : Failure.fromCause({ definition: inControl, step: isTaken ? 0 : loop.step }, cause)
  const started = (said?: Guard.Said) =>
    ({
      _tag: "RunStarted",
      ...said,
      ...(mode === undefined ? undefined : { mode }),
      ...(isReopened === true ? { isReopened } : undefined),
      ...(error === undefined ? undefined : { error })
    }) as const
  if (!isTaken) {
    Loop.emitStart(loop, inControl, started())
    return undefined
  }
  return Guard.emitInput(
    loop,
    readersOf(loop, start),
    input,
    () => Loop.foreseeStart(loop, inControl, started({ input })),
    (said) => Loop.emitStart(loop, inControl, started(said))
  )
}

/** Checks an input that no request will read because something failed before: the input is stored all the same. */
export const askAnyway = (
  loop: Loop.Loop,
  start: Start,
  cause: Cause.Cause<unknown>
): Effect.Effect<void, never, unknown> =>
  Cause.hasInterruptsOnly(cause) || loop.parent !== undefined
    ? Effect.void
    : Guard.askAnyway(loop, readersOf(loop, start))
