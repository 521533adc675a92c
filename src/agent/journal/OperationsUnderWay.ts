/**
 * The operations of sessions that run around something, so that one which would wait for its own end is refused.
 *
 * What a mode's set-up starts, finalizers and fibers, outlives the operation that it was started in. It counts as within each part of
 * the mode that runs, and as within none between them.
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

/** The operations around something that runs, outermost first. */
export const CurrentOperations = Context.Reference<ReadonlyArray<OperationUnderWay>>(
  "troupe/agent/journal/Operations",
  {
    defaultValue: () => []
  }
)

/** The operations that a mode's set-up ran in, as what it left behind knows them. */
export interface SetUpOperations {
  operations: ReadonlyArray<OperationUnderWay> | undefined
}

/** Begins a part of a mode, and returns the operations that what the set-up left behind is within meanwhile. */
export const beginEffect = (
  self: SetUpOperations,
  around: ReadonlyArray<OperationUnderWay>
): ReadonlyArray<OperationUnderWay> => {
  if (self.operations === undefined) return self.operations = around.map((operation) => ({ ...operation }))
  const within = self.operations.filter(({ queue }) => around.some((other) => other.queue === queue && !other.isOver))
  for (const operation of within) operation.isOver = false
  return within
}

/** Ends a part of a mode. */
export const endEffect = (within: ReadonlyArray<OperationUnderWay>): void => {
  for (const operation of within) operation.isOver = true
}
