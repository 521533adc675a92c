/**
 * The runs of a session: an input, a continuation, and both as a stream.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type Input, partsOf } from "../definition/Input.ts"
import * as EventQueue from "../journal/EventQueue.ts"
import * as Run from "../run/Run.ts"
import { ask, type From, type FromOptions, goOn } from "../run/RunStart.ts"
import { nestedOrAlone, type OpenSession, operation } from "./OpenSession.ts"
import * as OperationQueue from "./OperationQueue.ts"
import type { SessionReceiver } from "./SessionReceiver.ts"

/** Options of a call: which agent answers; by default the one in control, or at the beginning the one that the group's picker picks. */
export type CallOptions = Pick<FromOptions, "control">

/** Chooses what a run starts from, once the operations before it are done. */
type Start = (session: OpenSession) => From

const asking = (input: Input, options: CallOptions | undefined): Start => ({ ref, roster }) =>
  ask(roster, input, { ...options, state: ref.value })

/** Only a failure is reopened: a complete state continues only if its answer doesn't fit, or a policy lets another agent follow. */
const resuming: Start = ({ ref: { value }, roster }) => ({
  ...goOn(roster, value),
  isReopened: value.status._tag === "Failed"
})

const running = (session: OpenSession, start: Start) => (receiver: SessionReceiver) =>
  Effect.withFiber((fiber) => {
    const from = start(session)
    receiver.stopOnFailure(fiber)
    return Effect.map(Run.run(session.roster, from, receiver, "Fail", session.live), () => session.ref.value)
  })

/** Sends an input, or continues without one, and streams the events of the run. */
export const stream = (
  session: OpenSession,
  input: Input | undefined,
  options?: CallOptions
): Stream.Stream<AgentEvent, unknown> =>
  Stream.unwrap(Effect.suspend(() => {
    const queue = EventQueue.make(Number.POSITIVE_INFINITY)
    const start = input === undefined ? resuming : asking(input, options)
    const streaming = operation(session, "stream", running(session, start), queue)
    return Effect.acquireRelease(
      OperationQueue.start(session.queue, streaming),
      (fiber) => Effect.andThen(queue.shutdown, Fiber.interrupt(fiber))
    ).pipe(Effect.as(Stream.fromPull(Effect.succeed(
      Effect.catchCause(queue.pull, (cause) => OperationQueue.exitOf(session.queue, streaming, Exit.failCause(cause)))
    ))))
  }))

const run = (session: OpenSession, name: string, start: Start) =>
  OperationQueue.run(session.queue, () => operation(session, name, running(session, start)))

/** Sends an input, within the operation under way if a mode's set-up or clean-up requests it. */
export const call = (session: OpenSession, input: Input, options?: CallOptions): Effect.Effect<AgentState, unknown> =>
  nestedOrAlone(
    session,
    (loop) => loop.runner.talk(loop, partsOf(input)),
    run(session, "call", asking(input, options))
  )

/** Continues where the state stopped; a failed run is reopened first. */
export const resume = (session: OpenSession): Effect.Effect<AgentState, unknown> => run(session, "resume", resuming)
