/**
 * The operations of sessions that run around something, so that one which would wait for its own end is refused.
 *
 * What a mode's set-up starts, finalizers and fibers, outlives the operation that it was started in. It counts as within each part of
 * the mode that runs, and as within none between them.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/** An operation of a session that is under way: `line` is where the session's operations wait. */
export interface Operation {
  readonly line: object
  readonly name: string
  isOver: boolean
}

/** The operations around something that runs, outermost first. */
export const CurrentOperations = Context.Reference<ReadonlyArray<Operation>>("troupe/agent/journal/Operations", {
  defaultValue: () => []
})

/** The operations that a mode's set-up ran in, as what it left behind knows them. */
export interface SetUpIn {
  operations: ReadonlyArray<Operation> | undefined
}

/** Begins a part of a mode, and returns the operations that what the set-up left behind is within meanwhile. */
export const beginPart = (self: SetUpIn, around: ReadonlyArray<Operation>): ReadonlyArray<Operation> => {
  if (self.operations === undefined) return self.operations = around.map((operation) => ({ ...operation }))
  const within = self.operations.filter(({ line }) => around.some((other) => other.line === line && !other.isOver))
  for (const operation of within) operation.isOver = false
  return within
}

/** Ends a part of a mode. */
export const endPart = (within: ReadonlyArray<Operation>): void => {
  for (const operation of within) operation.isOver = true
}
