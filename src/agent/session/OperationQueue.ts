/**
 * The queue of a session's operations: one is under way at a time, and the others wait in the order they came.
 *
 * 1. An operation runs in a fiber of the session's scope, so closing the session ends it.
 * 2. If it is interrupted while it waits, it leaves the queue and the others stay as they are.
 * 3. If the operation under way asks for another, that fails: it would wait for its own end. A fiber that was started in an operation
 *    and outlives it may ask again. A fiber that a mode's set-up started is within an operation only while that
 *    operation runs an effect of that mode.
 * 4. Once the session is closed, whatever is under way, waits or comes later fails with `SessionClosed`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { CurrentOperations, type OperationUnderWay } from "../journal/OperationsUnderWay.ts"
import { because, ReentrantOperation, SessionClosed, type SessionError } from "./SessionError.ts"
import type { MergeServices } from "./SessionServices.ts"

/** The queue of a session. While it `isBusy`, an operation is under way, and the others have tickets. */
export interface OperationQueue {
  readonly agent: string
  readonly scope: Scope.Closeable
  readonly waiting: Array<Ticket>
  isBusy: boolean
  isClosed: boolean
}

/** The place of an operation in the queue: whether it was called, and how to wake it if it waits for that. */
interface Ticket {
  isCalled: boolean
  wake: () => void
}

/**
 * An operation that runs alone, with the caller's services, or with those that `services` makes of them. `failure` is the reason if the
 * operation stopped itself.
 */
export interface Operation<A, E> {
  readonly name: string
  readonly task: Effect.Effect<A, E, unknown>
  readonly services?: MergeServices
  readonly failure?: () => SessionError | undefined
  readonly onExit?: (exit: Exit.Exit<A, E | SessionError>) => Effect.Effect<void>
}

/** Makes a queue. Closing its scope waits until all that is under way or waits has ended. */
export const make = (agent: string): Effect.Effect<OperationQueue, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(
      Scope.make(),
      (scope): OperationQueue => ({ agent, scope, waiting: [], isBusy: false, isClosed: false })
    ),
    (queue) =>
      Effect.suspend(() => {
        queue.isClosed = true
        return Scope.close(queue.scope, Exit.void)
      })
  )

const closed = ({ agent }: OperationQueue, operation: string): SessionError =>
  because(new SessionClosed({ agent, operation }))

/** Returns the reason why an operation is refused here, if there is one. */
const findRefusal = (
  queue: OperationQueue,
  operation: string,
  around: ReadonlyArray<OperationUnderWay>
): SessionError | undefined => {
  const same = around.find((other) => other.queue === queue && !other.isOver)
  if (same !== undefined) {
    return because(new ReentrantOperation({ agent: queue.agent, operation, within: same.name }))
  }
  return queue.isClosed ? closed(queue, operation) : undefined
}

/** Calls the next operation. It is scheduled and not called here, so a long queue makes no deep stack. */
const callNext = (queue: OperationQueue, fiber: Fiber.Fiber<unknown, unknown>): void => {
  const next = queue.waiting.shift()
  if (next === undefined) {
    queue.isBusy = false
    return
  }
  next.isCalled = true
  fiber.currentDispatcher.scheduleTask(() => next.wake(), 0)
}

const untilCalled = (ticket: Ticket): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (ticket.isCalled) return resume(Effect.void)
    ticket.wake = () => resume(Effect.void)
  })

/** Forks an operation in the queue's scope. It begins at once if nothing is under way. */
const fork = <A, E>(
  queue: OperationQueue,
  { name, onExit, services, task }: Operation<A, E>,
  { context }: Fiber.Fiber<unknown, unknown>,
  around: ReadonlyArray<OperationUnderWay>
): Fiber.Fiber<A, E | SessionError> => {
  const underWay: OperationUnderWay = { queue, name, isOver: false }
  const ticket: Ticket = { isCalled: !queue.isBusy, wake: () => {} }
  if (queue.isBusy) queue.waiting.push(ticket)
  queue.isBusy = true
  const own = Context.add(
    services === undefined ? context as Context.Context<unknown> : services(context),
    CurrentOperations,
    [...around, underWay]
  )
  const alone = ticket.isCalled ? task : Effect.andThen(untilCalled(ticket), task)
  const fiber = Effect.runForkWith(own)(onExit === undefined ? alone : Effect.onExit(alone, onExit))
  // A fiber that has ended by now needs no scope.
  if (fiber.pollUnsafe() === undefined) Fiber.runIn(fiber, queue.scope)
  fiber.addObserver(() => {
    underWay.isOver = true
    if (ticket.isCalled) callNext(queue, fiber)
    else queue.waiting.splice(queue.waiting.indexOf(ticket), 1)
  })
  return fiber
}

/** Starts an operation for a caller, or returns why it is refused. */
const startFor = <A, E>(
  queue: OperationQueue,
  operation: Operation<A, E>,
  caller: Fiber.Fiber<unknown, unknown>
): Fiber.Fiber<A, E | SessionError> | SessionError => {
  const around = caller.getRef(CurrentOperations)
  return findRefusal(queue, operation.name, around) ?? fork(queue, operation, caller, around)
}

/**
 * Starts an operation, or puts it at the end of the queue. Interrupting the fiber ends it, or takes it out of the queue. To be run
 * where nothing can interrupt it.
 */
export const start = <A, E>(
  queue: OperationQueue,
  operation: Operation<A, E>
): Effect.Effect<Fiber.Fiber<A, E | SessionError>, SessionError> =>
  Effect.withFiber((caller) => {
    const started = startFor(queue, operation, caller)
    return Fiber.isFiber(started) ? Effect.succeed(started) : Effect.fail(started)
  })

/** Returns how an operation ended: with its own failure if it stopped itself, or with `SessionClosed` if closing interrupted it. */
export const exitOf = <A, E>(
  queue: OperationQueue,
  { failure, name }: Pick<Operation<A, E>, "failure" | "name">,
  exit: Exit.Exit<A, E | SessionError>
): Exit.Exit<A, E | SessionError> => {
  const why = failure?.()
  if (why !== undefined) return Exit.fail(why)
  return queue.isClosed && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    ? Exit.fail(closed(queue, name))
    : exit
}

/** Runs an operation once all earlier ones are done. */
export const run = <A, E>(
  queue: OperationQueue,
  make: () => Operation<A, E>
): Effect.Effect<A, E | SessionError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((caller) => {
      const operation = make()
      const started = startFor(queue, operation, caller)
      if (!Fiber.isFiber(started)) return Effect.fail(started)
      const exit = started.pollUnsafe()
      return exit === undefined
        ? Effect.flatMap(
          Effect.onInterrupt(restore(Fiber.await(started)), () => Fiber.interrupt(started)),
          (exit) => exitOf(queue, operation, exit)
        )
        : exitOf(queue, operation, exit)
    })
  )
