/**
 * What a session consists of, and how its operations run: one at a time, with the session's services, and with its state kept up to date.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Any } from "../../handoff/Runnable.ts"
import { Host } from "../../modes/Host.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import type * as EventQueue from "../journal/EventQueue.ts"
import type { LiveModes } from "../journal/LiveModes.ts"
import type * as Loop from "../journal/Loop.ts"
import { RunServices } from "../journal/RunServices.ts"
import * as Telemetry from "../journal/Telemetry.ts"
import * as OwnModel from "../perform/ask/OwnModel.ts"
import { provideLoop } from "../perform/LoopServices.ts"
import { RunHost } from "../perform/mode/RunHost.ts"
import { outsideRun } from "../run/OutsideRun.ts"
import { makeLoop } from "../run/Run.ts"
import * as OperationQueue from "./OperationQueue.ts"
import type { SessionError } from "./SessionError.ts"
import { type Log, save, SessionReceiver } from "./SessionReceiver.ts"
import * as SessionServices from "./SessionServices.ts"
import type { OpenDocument } from "./Store.ts"

/** A session while its scope is open. */
export interface OpenSession {
  readonly agent: Any
  readonly roster: Roster
  readonly services: SessionServices.MergeServices
  readonly queue: OperationQueue.OperationQueue
  readonly ref: SubscriptionRef.SubscriptionRef<AgentState>
  readonly store: OpenDocument | undefined
  readonly live: LiveModes
  readonly log: Log
}

/**
 * Makes an operation from a task, and keeps the session's state up to date with its events. One that ends without a change still saves what
 * an earlier one couldn't save.
 */
export const operation = <A, E>(
  session: OpenSession,
  name: string,
  makeTask: (receiver: SessionReceiver) => Effect.Effect<A, E, unknown>,
  reader?: EventQueue.EventQueue
): OperationQueue.Operation<A, E | SessionError> => {
  const { services, store } = session
  const receiver = new SessionReceiver(session, reader)
  const task = makeTask(receiver)
  return {
    name,
    task: store === undefined
      ? task
      : Effect.andThen(
        store.check,
        Effect.tap(task, () => session.log.isBehind ? save(session, session.ref.value) : Effect.void)
      ),
    services,
    failure: () => receiver.failure,
    ...(reader === undefined ? undefined : { onExit: reader.end })
  }
}

/** Changes the conversation outside of any run, and saves the state if that has changed. */
const withoutRun =
  <A>(session: OpenSession, f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>) =>
  (receiver: SessionReceiver): Effect.Effect<A, unknown, unknown> =>
    Effect.withFiber((fiber) => {
      const { live, ref, store } = session
      const before = ref.value
      receiver.stopOnFailure(fiber)
      const changing = outsideRun(fiber, session.roster, before, receiver, live, f)
      return store === undefined ? changing : Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          Effect.exit(restore(changing)),
          (exit) => ref.value === before ? exit : Effect.andThen(save(session, ref.value), exit)
        )
      )
    })

/** Runs an operation on the conversation, alone and outside of any run. */
export const runAlone = <A>(
  session: OpenSession,
  name: string,
  f: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>
): Effect.Effect<A, unknown> =>
  OperationQueue.run(session.queue, () => operation(session, name, withoutRun(session, f)))

/** Reads the conversation as it is, while other operations may run. */
export const look = <A, E>(session: OpenSession, f: (loop: Loop.Loop) => Effect.Effect<A, E>): Effect.Effect<A, E> => {
  const looking = Effect.withFiber((fiber) => {
    const { live, log, ref, roster } = session
    const loop = makeLoop(new RunServices(fiber), roster, ref.value, undefined, undefined, live)
    const conversation = Telemetry.conversationOf({ conversation: log.session, session: log.session })
    const reading = provideLoop(loop, f(loop), conversation)
    return Effect.onExitPrimitive(reading, (exit) => OwnModel.release(loop, exit))
  })
  return SessionServices.provide(looking, session.services)
}

/** Changes the conversation after the queue is closed, and saves the state if that has changed. Nothing may interrupt it. */
export const runAtEnd = (
  session: OpenSession,
  f: (loop: Loop.Loop) => Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<unknown, unknown> => {
  const { live, ref, roster, services } = session
  const before = ref.value
  const receiver = new SessionReceiver(session, undefined)
  const changing = Effect.withFiber((fiber) => outsideRun(fiber, roster, before, receiver, live, f))
  const saving = Effect.suspend(() => ref.value === before ? Effect.void : save(session, ref.value))
  return Effect.flatMap(
    Effect.exit(SessionServices.provide(changing, services)),
    (exit) =>
      receiver.failure === undefined
        ? Effect.ensuring(exit, Effect.orDie(saving))
        : Effect.andThen(Effect.ignore(saving), Effect.fail(receiver.failure))
  )
}

/**
 * If a mode's set-up or clean-up requests it and no step is under way, runs within the operation under way. Otherwise it is an operation of
 * its own, `alone`.
 */
export const nestedOrAlone = <A, B>(
  session: OpenSession,
  nested: (loop: Loop.Loop) => Effect.Effect<A, unknown, unknown>,
  alone: Effect.Effect<B, unknown>
): Effect.Effect<A | B, unknown> =>
  Effect.withFiber((fiber): Effect.Effect<A | B, unknown> => {
    const host: unknown = Context.getOrUndefined(fiber.context, Host)
    const loop = host instanceof RunHost ? host.loopBetween(session.live, fiber) : undefined
    return loop === undefined ? alone : SessionServices.provide(nested(loop), session.services)
  })
