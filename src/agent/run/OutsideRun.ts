/**
 * Steps and calls that are taken by hand: no run starts or ends.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type * as Delivery from "../journal/Delivery.ts"
import * as Failure from "../journal/Failure.ts"
import type { LiveModes } from "../journal/LiveModes.ts"
import * as Loop from "../journal/Loop.ts"
import { RunServices } from "../journal/RunServices.ts"
import * as Telemetry from "../journal/Telemetry.ts"
import * as OwnModel from "../perform/ask/OwnModel.ts"
import { runCalls } from "../perform/call/RunCalls.ts"
import type { CallResult } from "../perform/call/ToolCall.ts"
import { beginWork, endWork, provideLoop } from "../perform/LoopServices.ts"
import { Fail } from "../rules/Decision.ts"
import { findMismatch } from "../rules/Mismatch.ts"
import { closing, end } from "./EndRun.ts"
import { goOn, loopAt, makeLoop } from "./Run.ts"
import { finishStepping } from "./RunLoop.ts"

/** Takes one step: one answer of the model and the calls in it, the calls that are open, or a handoff. */
export const step = (roster: Roster, state: AgentState): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    const loop = makeLoop(new RunServices(fiber), roster, state, undefined, undefined)
    const taken = Effect.suspend(() => {
      const mismatch = findMismatch(roster, state)
      return mismatch === undefined ? goOn(loop, "Step") : Effect.fail(new Fail(mismatch))
    }).pipe(Effect.tap(() => finishStepping(loop)))
    const stepping = provideLoop(loop, Effect.onExitPrimitive(taken, (exit) => end(loop, exit)))
    return Effect.matchCauseEffect(Telemetry.inConversation(loop.journal, stepping), {
      onFailure: (cause) =>
        Effect.failCause(
          Failure.withStates(Cause.hasInterruptsOnly(cause) ? loop.state : Failure.failedBy(loop, cause), cause)
        ),
      onSuccess: () => Effect.succeed(loop.state)
    })
  })

/** Runs one open call by hand. */
export const runCall = (
  loop: Loop.Loop,
  callId: string,
  onAnswer: (answered: CallResult) => void
): Effect.Effect<void, unknown, unknown> =>
  closing(
    loop,
    Effect.as(Effect.suspend(() => runCalls(loop, [callId], onAnswer) ?? Effect.void), { _tag: "Finish" } as const)
  )

/**
 * Runs an effect in the loop of a called agent, with what each agent on the way there provides. As in a run, the nearest caller's model is
 * used if the called agent has none.
 */
const inCalled = <A, E>(place: Loop.Loop, self: Effect.Effect<A, E, unknown>): Effect.Effect<A, E, unknown> =>
  place.parent === undefined
    ? self
    : inCalled(
      place.parent,
      Effect.onExitPrimitive(provideLoop(place, self), (exit) => OwnModel.release(place, exit))
    )

/** Does something by hand in the agent that open calls lead to, if its definition is still known. */
export const atCalls = <A, E>(
  loop: Loop.Loop,
  calls: ReadonlyArray<string>,
  f: (place: Loop.Loop | undefined) => Effect.Effect<A, E, unknown>
): Effect.Effect<A, E, unknown> => {
  const place = loopAt(loop, calls)
  return place === undefined ? f(undefined) : inCalled(place, f(place))
}

/** Does something with a conversation by hand, in a fiber, and returns its result. No run starts. */
export const outsideRun = <A>(
  fiber: Fiber.Fiber<unknown, unknown>,
  roster: Roster,
  state: AgentState,
  receiver: Delivery.Receiver | undefined,
  live: LiveModes,
  f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> => {
  const loop = makeLoop(new RunServices(fiber), roster, state, receiver, receiver?.log?.run, live)
  const working = Effect.suspend(() => {
    beginWork(loop)
    return f(loop)
  })
  return Effect.onExitPrimitive(provideLoop(loop, working, Telemetry.conversationOf(loop.journal)), (exit) => {
    endWork(loop)
    return OwnModel.release(loop, exit, Loop.flushIfBehind(loop))
  })
}
