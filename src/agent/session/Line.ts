/**
 * Where the operations of a session wait: one is under way at a time, and the others follow in the order they came.
 *
 * 1. An operation runs in a fiber of the session's scope, so that closing the session ends it.
 * 2. One that is interrupted while it waits leaves the line as if it had never come.
 * 3. One that is asked for by the operation that is under way fails: it would wait for its own end. What was started in
 *    that operation and outlives it may ask again; what a mode's set-up started belongs to each part of the mode that runs.
 * 4. Whatever is under way, waits or comes later fails with `SessionClosed` once the session is closed.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { CurrentOperations, type Operation as UnderWay } from "../journal/Operations.ts"
import { because, ReentrantOperation, SessionClosed, type SessionError } from "./SessionError.ts"

/** The line of a session: one operation is under way where it `isTaken`, and the others wait in their order. */
export interface Line {
  readonly agent: string
  readonly scope: Scope.Closeable
  readonly waiting: Array<Turn>
  isTaken: boolean
  isClosed: boolean
}

/** The turn of an operation: whether it has come, and how to wake who waits for it. */
interface Turn {
  hasCome: boolean
  wake: () => void
}

/**
 * Something to be done alone, with the services of whoever asks for it, or with those that an `environment` makes of them.
 * `failure` says why it was stopped, where it was stopped from within.
 */
export interface Operation<A, E> {
  readonly name: string
  readonly task: Effect.Effect<A, E, unknown>
  readonly environment?: Environment
  readonly failure?: () => SessionError | undefined
  readonly onExit?: (exit: Exit.Exit<A, E | SessionError>) => Effect.Effect<void>
}

/** Gives the services that something runs with, of those of whoever asks for it. */
export type Environment = (caller: Context.Context<never>) => Context.Context<unknown>

/** Makes a line that is closed with its scope, when all that is under way or waits has ended. */
export const make = (agent: string): Effect.Effect<Line, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(
      Scope.make(),
      (scope): Line => ({ agent, scope, waiting: [], isTaken: false, isClosed: false })
    ),
    (line) =>
      Effect.suspend(() => {
        line.isClosed = true
        return Scope.close(line.scope, Exit.void)
      })
  )

const closed = ({ agent }: Line, operation: string): SessionError => because(new SessionClosed({ agent, operation }))

/** Says why an operation can't be asked for here. */
const findRefusal = (line: Line, operation: string, operations: ReadonlyArray<UnderWay>): SessionError | undefined => {
  const around = operations.find((place) => place.line === line && !place.isOver)
  if (around !== undefined) {
    const { agent } = line
    return because(new ReentrantOperation({ agent, operation, within: around.name }))
  }
  return line.isClosed ? closed(line, operation) : undefined
}

/** Passes the turn on. The next operation goes on by itself: a long line doesn't make a deep stack. */
const passOn = (line: Line, fiber: Fiber.Fiber<unknown, unknown>): void => {
  const next = line.waiting.shift()
  if (next === undefined) {
    line.isTaken = false
    return
  }
  next.hasCome = true
  fiber.currentDispatcher.scheduleTask(() => next.wake(), 0)
}

const waitFor = (turn: Turn): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (turn.hasCome) return resume(Effect.void)
    turn.wake = () => resume(Effect.void)
  })

/** Runs an operation in a fiber of the line's scope, at once where its turn has come. */
const begin = <A, E>(
  line: Line,
  { environment, name, onExit, task }: Operation<A, E>,
  { context }: Fiber.Fiber<unknown, unknown>,
  operations: ReadonlyArray<UnderWay>
): Fiber.Fiber<A, E | SessionError> => {
  const place: UnderWay = { line, name, isOver: false }
  const turn: Turn = { hasCome: !line.isTaken, wake: () => {} }
  if (line.isTaken) line.waiting.push(turn)
  line.isTaken = true
  const services = Context.add(
    environment === undefined ? context as Context.Context<unknown> : environment(context),
    CurrentOperations,
    [...operations, place]
  )
  const alone = turn.hasCome ? task : Effect.andThen(waitFor(turn), task)
  const fiber = Effect.runForkWith(services)(onExit === undefined ? alone : Effect.onExit(alone, onExit))
  // One that is done by now needs no scope.
  if (fiber.pollUnsafe() === undefined) Fiber.runIn(fiber, line.scope)
  fiber.addObserver(() => {
    place.isOver = true
    if (turn.hasCome) passOn(line, fiber)
    else line.waiting.splice(line.waiting.indexOf(turn), 1)
  })
  return fiber
}

/**
 * Starts an operation, or puts it at the end of the line. Interrupting the fiber ends it, or takes it out of the line. To be run
 * where nothing can interrupt it.
 */
export const start = <A, E>(
  line: Line,
  operation: Operation<A, E>
): Effect.Effect<Fiber.Fiber<A, E | SessionError>, SessionError> =>
  Effect.withFiber((caller) => {
    const operations = caller.getRef(CurrentOperations)
    const refusal = findRefusal(line, operation.name, operations)
    return refusal === undefined ? Effect.succeed(begin(line, operation, caller, operations)) : Effect.fail(refusal)
  })

/** Says how an operation ended: why it was stopped from within, or that the session was closed. */
export const ended = <A, E>(
  line: Line,
  { failure, name }: Pick<Operation<A, E>, "failure" | "name">,
  exit: Exit.Exit<A, E | SessionError>
): Exit.Exit<A, E | SessionError> => {
  const why = failure?.()
  if (why !== undefined) return Exit.fail(why)
  return line.isClosed && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    ? Exit.fail(closed(line, name))
    : exit
}

/** Does something alone, once all that came before is done. */
export const run = <A, E>(line: Line, make: () => Operation<A, E>): Effect.Effect<A, E | SessionError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const operation = make()
      return Effect.flatMap(start(line, operation), (fiber) => {
        const exit = fiber.pollUnsafe()
        return exit === undefined
          ? Effect.flatMap(
            Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber)),
            (exit) => ended(line, operation, exit)
          )
          : ended(line, operation, exit)
      })
    })
  )
