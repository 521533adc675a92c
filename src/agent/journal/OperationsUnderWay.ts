/**
 * The operations of sessions around a fiber, so that one which would wait for its own end is refused.
 *
 * Finalizers and fibers that a mode's set-up starts outlive its operation. While an effect of that mode runs, they count as within its
 * operation; at other times they are within none.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/** An operation of a session that is under way: `queue` is where the session's operations wait. */
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

/** The operations that a mode's set-up ran in, as its finalizers and fibers know them. */
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
