/**
 * The operations around a fiber. A request in them that would wait for their end is refused, or runs without waiting.
 *
 * Operations are those of sessions, and deliveries of an event to an observer or a store, which the run waits for.
 *
 * Finalizers and fibers that a mode's set-up starts outlive its operation. While an effect of that mode runs, they count as within its
 * operation; at other times they are within none.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import { atExit } from "./AtExit.ts"

/** An operation that is under way: others of its kind wait in `queue`. */
export interface OperationUnderWay {
  readonly queue: object
  readonly name: string
  isOver: boolean
}

/** The operations around a fiber, outermost first. */
export const CurrentOperations = Context.Reference<ReadonlyArray<OperationUnderWay>>(
  "troupe/agent/journal/OperationsUnderWay",
  {
    defaultValue: () => []
  }
)

/** Finds the operation of a queue that a fiber is in. A fiber that outlives the operation isn't in it any more. */
export const findAround = (
  fiber: Fiber.Fiber<unknown, unknown>,
  queue: object
): OperationUnderWay | undefined =>
  fiber.getRef(CurrentOperations).find((other) => other.queue === queue && !other.isOver)

/** Runs something as an operation of a queue, with the services that `view` returns. */
export const within = <A>(
  queue: object,
  name: string,
  self: Effect.Effect<A>,
  view: (services: Context.Context<never>) => Context.Context<never> = identity
): Effect.Effect<A> => {
  const operation: OperationUnderWay = { queue, name, isOver: false }
  const own = Effect.updateContext(
    self,
    (services: Context.Context<never>) =>
      Context.add(view(services), CurrentOperations, [...Context.get(services, CurrentOperations), operation])
  )
  return atExit(own, () => {
    operation.isOver = true
  })
}

/** The operations around a mode's set-up, for its finalizers and fibers. */
export interface SetUpOperations {
  operations: ReadonlyArray<OperationUnderWay> | undefined
}

/** Begins an effect of a mode, and returns the operations that count as around it until `endEffect`. */
export const beginEffect = (
  self: SetUpOperations,
  around: ReadonlyArray<OperationUnderWay>
): ReadonlyArray<OperationUnderWay> => {
  if (self.operations === undefined) return self.operations = around.map((operation) => ({ ...operation }))
  const within = self.operations.filter(({ queue }) => around.some((other) => other.queue === queue && !other.isOver))
  for (const operation of within) operation.isOver = false
  return within
}

/** Ends an effect of a mode. */
export const endEffect = (within: ReadonlyArray<OperationUnderWay>): void => {
  for (const operation of within) operation.isOver = true
}
