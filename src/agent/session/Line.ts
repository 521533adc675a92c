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
import * as Semaphore from "effect/Semaphore"
import { because, ReentrantOperation, SessionClosed, type SessionError } from "./SessionError.ts"

/** The line of a session: whoever has the permit is under way. */
export interface Line {
  readonly agent: string
  readonly permit: Semaphore.Semaphore
  readonly scope: Scope.Closeable
  isClosed: boolean
}

/** Something to be done alone. `failure` says why it was stopped, where it was stopped from within. */
export interface Operation<A, E, R> {
  readonly name: string
  readonly task: Effect.Effect<A, E, R>
  readonly failure?: () => SessionError | undefined
  readonly onExit?: (exit: Exit.Exit<A, E | SessionError>) => Effect.Effect<void>
}

/** An operation that is under way, known to all that it runs. */
export interface Place {
  readonly line: Line
  readonly operation: string
  isOver: boolean
}

/** The operations around something that runs, outermost first. */
export const CurrentPlaces = Context.Reference<ReadonlyArray<Place>>("troupe/agent/session/Line", {
  defaultValue: () => []
})

/** The operations that a mode's set-up runs in, as what it leaves behind knows them: finalizers, fibers. */
export interface Stage {
  places: ReadonlyArray<Place> | undefined
}

/** Runs a part of a mode. While it does, what the set-up left behind is within the operations that this part runs in. */
export const onStage = <A, E, R>(stage: Stage, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const around = fiber.getRef(CurrentPlaces)
    if (stage.places === undefined) {
      stage.places = around.map((place) => ({ ...place }))
      return Effect.ensuring(Effect.provideService(self, CurrentPlaces, stage.places), endAll(stage.places))
    }
    const within = stage.places.filter(({ line }) => around.some((place) => place.line === line && !place.isOver))
    for (const place of within) place.isOver = false
    return within.length === 0 ? self : Effect.ensuring(self, endAll(within))
  })

const endAll = (places: ReadonlyArray<Place>): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const place of places) place.isOver = true
  })

/** Makes a line that is closed with its scope, when all that is under way or waits has ended. */
export const make = (agent: string): Effect.Effect<Line, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(
      Scope.make(),
      (scope): Line => ({ agent, permit: Semaphore.makeUnsafe(1), scope, isClosed: false })
    ),
    (line) =>
      Effect.suspend(() => {
        line.isClosed = true
        return Scope.close(line.scope, Exit.void)
      })
  )

const closed = ({ agent }: Line, operation: string): SessionError => because(new SessionClosed({ agent, operation }))

/** Starts an operation, or puts it at the end of the line. Interrupting the fiber ends it, or takes it out of the line. */
export const start = <A, E, R>(
  line: Line,
  { name, onExit, task }: Operation<A, E, R>
): Effect.Effect<Fiber.Fiber<A, E | SessionError>, SessionError, R> =>
  Effect.withFiber((fiber) => {
    const places = fiber.getRef(CurrentPlaces)
    const around = places.find((place) => place.line === line && !place.isOver)
    if (around !== undefined) {
      const { agent } = line
      return Effect.fail(because(new ReentrantOperation({ agent, operation: name, within: around.operation })))
    }
    if (line.isClosed) return Effect.fail(closed(line, name))
    const place: Place = { line, operation: name, isOver: false }
    const alone = Effect.ensuring(
      task,
      Effect.sync(() => {
        place.isOver = true
      })
    )
    const inLine = Effect.provideService(line.permit.withPermit(alone), CurrentPlaces, [...places, place])
    return Effect.forkIn(onExit === undefined ? inLine : Effect.onExit(inLine, onExit), line.scope, {
      startImmediately: true
    })
  })

/** Says how an operation ended: why it was stopped from within, or that the session was closed. */
export const ended = <A, E>(
  line: Line,
  { failure, name }: Pick<Operation<A, E, unknown>, "failure" | "name">,
  exit: Exit.Exit<A, E | SessionError>
): Exit.Exit<A, E | SessionError> => {
  const why = failure?.()
  if (why !== undefined) return Exit.fail(why)
  return line.isClosed && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    ? Exit.fail(closed(line, name))
    : exit
}

/** Does something alone, once all that came before is done. */
export const run = <A, E, R>(line: Line, operation: Operation<A, E, R>): Effect.Effect<A, E | SessionError, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(start(line, operation), (fiber) =>
      Effect.flatMap(
        Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber)),
        (exit) => ended(line, operation, exit)
      ))
  )
