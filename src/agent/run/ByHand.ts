/**
 * Steps and calls that are taken by hand: no run starts or ends.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type * as Delivery from "../journal/Delivery.ts"
import * as Failure from "../journal/Failure.ts"
import { Halt } from "../journal/Halt.ts"
import * as Loop from "../journal/Loop.ts"
import { Surroundings } from "../journal/Surroundings.ts"
import { runCalls } from "../perform/call/RunCalls.ts"
import type { Answered } from "../perform/call/ToolCall.ts"
import { inView } from "../perform/InView.ts"
import type { Live } from "../perform/mode/Live.ts"
import * as Correction from "../rules/Corrections.ts"
import { findMismatch } from "../rules/Mismatch.ts"
import { conclude, finish } from "./Drive.ts"
import { close, end } from "./EndRun.ts"
import { goOn, makeRoot } from "./Play.ts"

/** Concludes a step, so that a state which is `Complete` needs nothing: no handoff that the policy wants either. */
const endByHand = Effect.fnUntraced(function*(loop: Loop.Loop) {
  const { _tag } = loop.state.status
  if (_tag !== "Complete" && Correction.wrongAnswer(loop) !== undefined) return
  const conclusion = conclude(loop)
  if (conclusion === undefined) return
  const isHandingOver = yield* finish(loop, conclusion)
  if (!isHandingOver && _tag === "InProgress") loop.state = { ...loop.state, status: AgentStatus.complete }
})

/** Takes one step: one answer of the model and the calls in it, the calls that are open, or a handoff. */
export const step = (roster: Roster, state: AgentState): Effect.Effect<AgentState, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    const loop = Loop.make(makeRoot(new Surroundings(fiber), state, undefined), undefined, undefined, roster, state)
    const taken = Effect.suspend(() => {
      const mismatch = findMismatch(roster, state)
      return mismatch === undefined ? goOn(loop, "Step") : Effect.fail(new Halt(mismatch))
    }).pipe(Effect.tap(() => endByHand(loop)))
    return Effect.matchCauseEffect(inView(loop, Effect.onExit(taken, (exit) => end(loop, exit))), {
      onFailure: (cause) => {
        if (!Cause.hasInterruptsOnly(cause)) {
          loop.state = Failure.failedBy(loop, cause)
        }
        return Effect.failCause(Failure.withStates(loop, cause))
      },
      onSuccess: () => Effect.succeed(loop.state)
    })
  })

/** Runs one open call by hand. Fails where a fatal tool does. */
export const runCall = (
  loop: Loop.Loop,
  callId: string,
  onAnswer: (answered: Answered) => void
): Effect.Effect<void, unknown, unknown> =>
  Effect.onExit(
    Effect.as(runCalls(loop, [callId], onAnswer), "Ended" as const),
    (exit) => {
      close(loop, exit)
      return loop.root.flush
    }
  )

/** Makes the loop of a conversation in which something is done by hand. */
export const loopByHand = (
  surroundings: Surroundings,
  roster: Roster,
  state: AgentState,
  receiver: Delivery.Receiver | undefined,
  live: Live
): Loop.Loop => Loop.make(makeRoot(surroundings, state, receiver), undefined, undefined, roster, state, live)

/** Does something with a conversation by hand, in a fiber, and gives what that gives. No run starts. */
export const byHand = <A>(
  fiber: Fiber.Fiber<unknown, unknown>,
  roster: Roster,
  state: AgentState,
  receiver: Delivery.Receiver | undefined,
  live: Live,
  f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown, unknown> => {
  const loop = loopByHand(new Surroundings(fiber), roster, state, receiver, live)
  const { root } = loop
  const working = Effect.suspend(() => {
    live.atWork = loop.host
    return f(loop)
  })
  return Effect.onExitPrimitive(inView(loop, working), () => {
    live.atWork = undefined
    return root.isBehind() ? root.flush : undefined
  })
}
