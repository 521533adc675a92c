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
import { begin, type From, type FromOptions } from "../run/RunStart.ts"
import { nestedOrAlone, type OpenSession, operation } from "./OpenSession.ts"
import * as OperationQueue from "./OperationQueue.ts"
import type { SessionReceiver } from "./SessionReceiver.ts"

/** Options of a call: which agent answers; by default the one last in control. */
export type CallOptions = Pick<FromOptions, "control">

const startOf = ({ ref, roster }: OpenSession, input: Input | undefined, options: CallOptions | undefined): From =>
  input === undefined
    ? { ...begin(roster, ref.value), isReopened: true }
    : begin(roster, input, { ...options, state: ref.value })

const running =
  (session: OpenSession, input: Input | undefined, options?: CallOptions) => (receiver: SessionReceiver) =>
    Effect.withFiber((fiber) => {
      const from = startOf(session, input, options)
      receiver.stopOnFailure(fiber)
      return Effect.map(Run.run(session.roster, from, receiver, "Fail", session.live), () => session.ref.value)
    })

/** Sends an input, and streams the events of the run. */
export const stream = (
  session: OpenSession,
  input: Input | undefined,
  options?: CallOptions
): Stream.Stream<AgentEvent, unknown> =>
  Stream.unwrap(Effect.suspend(() => {
    const queue = EventQueue.make(Number.POSITIVE_INFINITY)
    const streaming = operation(session, "stream", running(session, input, options), queue)
    return Effect.acquireRelease(
      OperationQueue.start(session.queue, streaming),
      (fiber) => Effect.andThen(queue.shutdown, Fiber.interrupt(fiber))
    ).pipe(Effect.as(Stream.fromPull(Effect.succeed(
      Effect.catchCause(queue.pull, (cause) => OperationQueue.exitOf(session.queue, streaming, Exit.failCause(cause)))
    ))))
  }))

const run = (session: OpenSession, name: string, input: Input | undefined, options?: CallOptions) =>
  OperationQueue.run(session.queue, () => operation(session, name, running(session, input, options)))

/** Sends an input, within the operation under way if a mode's set-up or clean-up requests it. */
export const call = (session: OpenSession, input: Input, options?: CallOptions): Effect.Effect<AgentState, unknown> =>
  nestedOrAlone(session, (loop) => loop.runner.talk(loop, partsOf(input)), run(session, "call", input, options))

/** Continues where the state stopped. */
export const resume = (session: OpenSession): Effect.Effect<AgentState, unknown> => run(session, "resume", undefined)
